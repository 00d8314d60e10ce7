/* plain_values.c: finds the addresses of values in plain C. Each name of the
 * plan is an array in struct state with the maximum number of rows. Keys and
 * values, which the optimised file stores in pages, are stored row by row,
 * layer after layer. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <string.h>

/* ---- arrays ---- */

/* Adds an array. If the state already has an array with this name, enlarges it
 * if necessary. */
static StateMember *add_member(Plain *p, StateMember m)
{
    const int at = index_add(p->g.a, &p->state_names, m.name, p->state.n);
    if (at == p->state.n)
        vec_push(p->g.a, &p->state, m);
    else if (p->state.at[at].size < m.size
             && !strcmp(p->state.at[at].type, m.type))
        p->state.at[at] = m;
    return &p->state.at[at];
}

const char *plain_member(Plain *p, const char *name, const char *type,
                         int64_t rows, const char *rows_text, int64_t columns,
                         const char *comment)
{
    Arena *a = p->g.a;
    const StateMember m = {
        .name = name,
        .type = type,
        .size = rows * columns,
        .comment = comment,
        .extents = rows == 1 ? arena_printf(a, "[%lld]", (long long)columns)
                             : arena_printf(a, "[%s * %lld]", rows_text,
                                            (long long)columns),
    };
    if (!strcmp(add_member(p, m)->type, type))
        return name;
    return plain_member(p, arena_printf(a, "%s_%c", name, type[0]), type, rows,
                        rows_text, columns, comment);
}

/* True if the state has an array with this name but another size. */
static bool other_size(const Plain *p, const char *name, int64_t size)
{
    const int at = index_find(&p->state_names, name);
    return at >= 0 && p->state.at[at].size != size;
}

const char *plain_left(Plain *p, int node, const char *base, int64_t n,
                       const char *comment)
{
    Arena *a = p->g.a;
    const Node *of = node_at(p->g.p, node);
    const Side side = of->entry == EntryDecode ? SideDecoder : SideEncoder;
    const int64_t layers = p->g.p->g->spec->side[side].N;
    const char *name = base;
    for (int k = 2; other_size(p, name, layers * n); k++)
        name = arena_printf(a, "%s%d", base, k);
    plain_member(p, name, "float", layers,
                 layers_text(&p->g, of->stack, (int)layers), n, comment);
    return arena_printf(a, "s->%s + %s * %lld", name,
                        plain_number(p, NumberLayer), (long long)n);
}

void plain_source_rows(Plain *p)
{
    add_member(p, (StateMember){ .name = "source_rows",
                                 .type = "int",
                                 .extents = "",
                                 .comment = "n" });
}

static const char *const elem_type[] = {
    [ElemF32] = "float",          [ElemI32] = "int",
    [ElemQ8] = "int8_t",          [ElemQ15] = "int16_t",
    [ElemBf16DpRow] = "uint16_t", [ElemBf16AmxRow] = "uint16_t",
    [ElemBf16x3Row] = "uint32_t",
};

void emit_plain_state(Plain *p, Emit *e)
{
    bool kept = false;
    for (int i = 0; i < p->g.p->order.n; i++)
        kept |= node_at(p->g.p, p->g.p->order.at[i])->op == OpAppend;
    put(e, kept ? "/* Computed values; keys and values last from call to "
                  "call. */\n"
                  "struct state {\n"
                : "/* Computed values. */\n"
                  "struct state {\n");
    for (int i = 0; i < p->state.n; i++) {
        const StateMember *m = &p->state.at[i];
        const char *start = arena_printf(p->g.a, "%s %s%s;", m->type, m->name,
                                         m->extents);
        let(e, "line", *m->comment ? "%-52s /* %s */" : "%s", start,
            m->comment);
        put(e, "$line\n");
    }
    put(e, "};\n\n");
}

/* ---- rows ---- */

const char *plain_integer(Arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

int64_t plain_columns(const Node *n)
{
    const Type *t = &n->type;
    return t->rank == 3 ? t->dim[0].c * t->dim[2].c
         : t->rank == 2 ? t->dim[1].c
                        : 1;
}

static const char *times(const Plain *p, const char *rows, int64_t n)
{
    return n > 1 ? arena_printf(p->g.a, "%s * %lld", rows, (long long)n) : rows;
}

const char *plain_rows(Plain *p, Type t)
{
    const Sym sym = row_sym(t);
    if (sym == SymR || sym == SymS)
        return "1";
    if (sym == SymT && p->decode_rows == 1)
        return plain_integer(p->g.a, row_times(t));
    if (sym == SymM)
        return "keys";
    p->g.uses.rows = true;
    return times(p, "rows", row_times(t));
}

/* Returns the maximum of plain_rows(), and sets *text to it in C, e.g.
 * "MAX_SOURCE * 2". */
static int64_t most_rows(const Plain *p, Type t, const char **text)
{
    const SpecSide *side = p->g.p->g->spec->side;
    const Sym sym = row_sym(t);
    const int64_t by = row_times(t);
    *text = sym == SymR || sym == SymS ? "1"
          : sym == SymM                ? "MAX_TARGET"
          : sym == SymT && p->decode_rows == 1
              ? plain_integer(p->g.a, by)
              : times(p, sym == SymT ? "ROWS" : "MAX_SOURCE", by);
    return sym == SymR || sym == SymS ? 1
         : sym == SymM                ? side[SideDecoder].max_len
         : sym == SymT                ? by * p->decode_rows
                                      : by * side[SideEncoder].max_len;
}

/* ---- values ---- */

int plain_owner(const Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    while (n->op == OpSplit || n->op == OpMerge || n->op == OpPackKv
           || n->op == OpRoutes || n->op == OpOutput) {
        node = n->in[0];
        n = node_at(p->g.p, node);
    }
    return node;
}

/* Returns C for the array with this name, which holds values like the
 * node's. */
static const char *array_for(Plain *p, const Node *n, const char *name)
{
    const char *shape = strchr(print_type(p->g.a, n->type), '['), *text;
    const Elem elem = n->type.elem;
    const int64_t rows = most_rows(p, n->type, &text);
    name = plain_member(p, name, elem_type[elem], rows, text, plain_columns(n),
                        shape);
    if (elem == ElemQ8 || elem == ElemQ15)
        plain_member(p, arena_printf(p->g.a, "%s_scale", name), "float", rows,
                     text, 1, "");
    return arena_printf(p->g.a, "s->%s", name);
}

const char *plain_sum(Plain *p, int node)
{
    return array_for(p, node_at(p->g.p, node), p->sum[node]);
}

const char *plain_value(Plain *p, int node)
{
    const int owner = plain_owner(p, node);
    const Node *n = node_at(p->g.p, owner);
    if (n->op == OpInput && n->entry == EntryDecode && p->decode_rows == 1)
        return n->member == BatchTypes ? "&type" : "&id";
    if (n->op == OpInput)
        return batch_member[n->member];
    if (p->kept_by[owner] >= 0)
        return plain_kept_rows(p, p->kept_by[owner]);
    if (n->op == OpAppend || n->op == OpRecall)
        return plain_kept(p, owner);
    if (!p->name[owner])
        die("plain: %s has no name", n->name);
    return array_for(p, n, p->name[owner]);
}

/* ---- keys and values ---- */

static bool is_self(const Plain *p, const Node *n)
{
    return p->g.p->cache[n->cache].of == CacheSelf;
}

/* Returns the first cache of the same kind with rows of the same width. The
 * layers of both share an array, whatever their windows are. */
static int alike(const Graph *g, int cache)
{
    const Cache *c = &g->cache[cache], *d = g->cache;
    while (d->of != c->of
           || (g->spec->cache_store == StoreInt8 /* a scale for each head */
               && d->form.h_kv != c->form.h_kv)
           || d->form.h_kv * d->form.d_k != c->form.h_kv * c->form.d_k
           || d->form.h_kv * d->form.d_v != c->form.h_kv * c->form.d_v)
        d++;
    return (int)(d - g->cache);
}

int64_t plain_place(const Plain *p, const Node *n)
{
    const Graph *g = p->g.p->g;
    int64_t place = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *m = node_at(p->g.p, i);
        if (m->op != OpAppend || m->part != n->part
            || alike(g, m->cache) != alike(g, n->cache))
            continue;
        if (m->cache == n->cache && m->place == n->place)
            break;
        place++;
    }
    return place;
}

const char *plain_kept_rows(Plain *p, int node)
{
    const char *to = plain_kept(p, node);
    if (node_at(p->g.p, node)->entry != EntryDecode)
        return to;
    return arena_printf(p->g.a, "%s + %s * %lld", to, plain_past(p, node),
                        (long long)plain_columns(node_at(p->g.p, node)));
}

/* True if exactly one node reads the value, directly or through views. */
static bool read_once(const Plain *p, int node)
{
    const Graph *g = p->g.p->g;
    int reader = graph_sole_reader(g, node);
    while (reader >= 0
           && op_info[node_at(p->g.p, reader)->op].op_class == ClassView)
        reader = graph_sole_reader(g, reader);
    return reader >= 0;
}

void plain_find_kept(Plain *p)
{
    const Graph *g = p->g.p->g;
    p->kept_by = arena_alloc(p->g.a, (size_t)g->nodes.n * sizeof *p->kept_by);
    for (int i = 0; i < g->nodes.n; i++)
        p->kept_by[i] = -1;
    for (int i = 0; i < g->nodes.n; i++) {
        if (node_at(p->g.p, i)->op != OpAppend
            || g->spec->cache_store != StoreF32) /* append rounds */
            continue;
        const int owner = plain_owner(p, node_at(p->g.p, i)->in[0]);
        const Node *n = node_at(p->g.p, owner);
        if (n->op != OpSlice && n->op != OpInput && read_once(p, owner)
            && !(n->op == OpLinear && n->has_residual))
            p->kept_by[owner] = i;
    }
}

/* Returns the name of a cache's array: "self_keys", or e.g. "cross_values2" for
 * the encoder's second width. */
static const char *kept_name(const Plain *p, const Node *n)
{
    const Graph *g = p->g.p->g;
    const int first = alike(g, n->cache);
    int number = 1;
    for (int i = 0; i < first; i++)
        number += g->cache[i].of == g->cache[first].of && alike(g, i) == i
               && g->cache[i].layers > 0;
    return arena_printf(p->g.a, number > 1 ? "%s_%s%d" : "%s_%s",
                        is_self(p, n) ? "self" : "cross",
                        n->part == PartKey ? "keys" : "values", number);
}

/* Returns C for a layer's rows of `columns` in the array that keeps them from
 * call to call. */
static const char *kept_array(Plain *p, const Node *n, const char *name,
                              long long columns)
{
    Arena *a = p->g.a;
    const Graph *g = p->g.p->g;
    const bool self = is_self(p, n);
    int64_t layers = 0;
    for (int i = 0; i < g->caches; i++)
        layers += alike(g, i) == alike(g, n->cache) ? g->cache[i].layers : 0;
    add_member(p, (StateMember){
                      .name = name,
                      .type = "float",
                      .extents = arena_printf(
                          a, "[%s][%s * %lld]",
                          layers_text(&p->g, StackDecoder, (int)layers),
                          self ? "MAX_TARGET" : "MAX_SOURCE", columns),
                      .comment = arena_printf(a, "[%s, %lld]",
                                              self ? "p+t" : "n", columns) });
    return arena_printf(a, "s->%s[%s]", name,
                        plain_number(p, self ? NumberSelf : NumberCross));
}

const char *plain_kept(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return kept_array(p, n, kept_name(p, n), plain_columns(n));
}

const char *plain_kept_scales(Plain *p, int node, bool new)
{
    Arena *a = p->g.a;
    const Node *n = node_at(p->g.p, node);
    const long long heads = n->type.dim[0].c;
    const char *name = arena_printf(a, "%s_scales", kept_name(p, n));
    const char *to = kept_array(p, n, name, heads);
    if (!new || n->entry != EntryDecode)
        return to;
    return arena_printf(a, "%s + %s * %lld", to, plain_past(p, node), heads);
}

const char *const plain_numbers[LoopNumbers] = {
    [NumberWeights] = "l",
    [NumberLayer] = "number",
    [NumberSelf] = "self",
    [NumberCross] = "cross",
};

const char *plain_number(Plain *p, int number)
{
    if (p->same_numbers[number])
        number = NumberWeights;
    p->g.uses.number[number] = true;
    return plain_numbers[number];
}

const char *plain_past(Plain *p, int node)
{
    if (node_at(p->g.p, node)->entry != EntryDecode)
        return "0";
    p->g.uses.past = true;
    return "past";
}
