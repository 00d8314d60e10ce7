/* plain_values.c: finds the addresses of values in plain C. Each name of the
 * plan is an array in struct state with the maximum number of rows. Keys and
 * values, which the optimised file stores in pages, are stored row by row, one
 * layer after the other. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <string.h>

/* ---- arrays ---- */

const char *plain_member(Plain *p, const char *name, const char *type,
                         int64_t rows, const char *rows_text, int64_t columns,
                         const char *comment)
{
    Arena *a = p->g.a;
    const int at = index_add(a, &p->state_names, name, p->state.n);
    const StateMember m = {
        .name = name,
        .type = type,
        .size = rows * columns,
        .comment = comment,
        .extents = rows == 1 ? arena_printf(a, "[%lld]", (long long)columns)
                             : arena_printf(a, "[%s * %lld]", rows_text,
                                            (long long)columns),
    };
    if (at == p->state.n) {
        vec_push(a, &p->state, m);
        return name;
    }
    StateMember *before = &p->state.at[at];
    if (strcmp(before->type, type))
        return plain_member(p, arena_printf(a, "%s_%c", name, type[0]), type,
                            rows, rows_text, columns, comment);
    if (before->size < m.size)
        *before = m;
    return name;
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
    const StateMember m = {
        .name = "source_rows", .type = "int", .extents = "", .comment = "n"
    };
    index_add(p->g.a, &p->state_names, m.name, p->state.n);
    vec_push(p->g.a, &p->state, m);
}

static const char *const elem_type[] = {
    [ElemF32] = "float",
    [ElemI32] = "int",
    [ElemQ8] = "int8_t",
    [ElemQ15] = "int16_t",
};

void emit_plain_state(Plain *p, Emit *e)
{
    put(e, p->cache.n ? "/* Computed values; keys and values last from call to "
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

int64_t plain_columns(const Node *n)
{
    const Type *t = &n->type;
    return t->rank == 3 ? t->dim[0].c * t->dim[2].c
         : t->rank == 2 ? t->dim[1].c
                        : 1;
}

static const char *times(Plain *p, const char *rows, int64_t n)
{
    return n > 1 ? arena_printf(p->g.a, "%s * %lld", rows, (long long)n) : rows;
}

const char *plain_rows(Plain *p, Type t)
{
    const Sym sym = row_sym(t);
    if (sym == SymR || sym == SymS)
        return "1";
    if (sym == SymT && p->decode_rows == 1)
        return arena_printf(p->g.a, "%lld", (long long)row_times(t));
    if (sym == SymM)
        return "keys";
    p->uses.rows = true;
    return times(p, "rows", row_times(t));
}

const char *plain_bound(Plain *p, Type t)
{
    switch (row_sym(t)) {
    case SymR:
    case SymS: return "1";
    case SymM: return "MAX_TARGET";
    case SymT:
        return p->decode_rows == 1
                 ? arena_printf(p->g.a, "%lld", (long long)row_times(t))
                 : times(p, "ROWS", row_times(t));
    default: return times(p, "MAX_SOURCE", row_times(t));
    }
}

int64_t plain_most(const Plain *p, Type t)
{
    const Spec *s = p->g.p->g->spec;
    switch (row_sym(t)) {
    case SymR:
    case SymS: return 1;
    case SymM: return s->side[SideDecoder].max_len;
    case SymT: return p->decode_rows * row_times(t);
    default:   return s->side[SideEncoder].max_len * row_times(t);
    }
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

static const char *const input_name[] = {
    [BatchIds] = "ids",     [BatchTypes] = "types", [BatchInput] = "input",
    [BatchQuery] = "query", [BatchKey] = "key",     [BatchValue] = "value",
};

/* Returns the array with this name, for values with the type of the node. */
static const char *array_for(Plain *p, const Node *n, const char *name)
{
    const char *shape = print_type(p->g.a, n->type);
    return plain_member(p, name, elem_type[n->type.elem],
                        plain_most(p, n->type), plain_bound(p, n->type),
                        plain_columns(n), strchr(shape, '['));
}

const char *plain_sum(Plain *p, int node)
{
    return arena_printf(p->g.a, "s->%s",
                        array_for(p, node_at(p->g.p, node), p->sum[node]));
}

const char *plain_value(Plain *p, int node)
{
    const int owner = plain_owner(p, node);
    const Node *n = node_at(p->g.p, owner);
    if (n->op == OpInput && n->entry == EntryDecode && p->decode_rows == 1)
        return n->member == BatchTypes ? "&type" : "&id";
    if (n->op == OpInput)
        return input_name[n->member];
    if (p->kept_by[owner] >= 0)
        return plain_kept_rows(p, p->kept_by[owner]);
    if (n->op == OpAppend || n->op == OpRecall)
        return plain_kept(p, owner);
    if (!p->name[owner])
        die("plain: %s has no name", n->name);
    const char *member = array_for(p, n, p->name[owner]);
    if (n->type.elem == ElemQ8 || n->type.elem == ElemQ15)
        plain_member(p, arena_printf(p->g.a, "%s_scale", member), "float",
                     plain_most(p, n->type), plain_bound(p, n->type), 1, "");
    return arena_printf(p->g.a, "s->%s", member);
}

/* ---- keys and values ---- */

static const Node *other_part(const Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    for (int i = 0; i < p->g.p->g->nodes.n; i++) {
        const Node *m = node_at(p->g.p, i);
        if (m->op == OpAppend && m->cache == n->cache && m->place == n->place
            && m->part != n->part)
            return m;
    }
    return NULL;
}

/* Returns the index of the cache whose rows have these widths. Adds it if it
 * does not exist. */
static int cache_for(Plain *p, int of, int64_t keys, int64_t values)
{
    int same = 0;
    for (int i = 0; i < p->cache.n; i++) {
        const PlainCache *c = &p->cache.at[i];
        if (c->of == of && c->columns[PartKey] == keys
            && c->columns[PartValue] == values)
            return i;
        same += c->of == of;
    }
    const char *stem = of == CacheSelf ? "self" : "cross";
    const char *tail = same ? arena_printf(p->g.a, "%d", same + 1) : "";
    PlainCache c = { .of = of, .columns = { keys, values } };
    c.name[PartKey] = arena_printf(p->g.a, "%s_keys%s", stem, tail);
    c.name[PartValue] = arena_printf(p->g.a, "%s_values%s", stem, tail);
    vec_push(p->g.a, &p->cache, c);
    return p->cache.n - 1;
}

bool plain_made_in_cache(const Plain *p, int node)
{
    return p->kept_by[node] >= 0;
}

const char *plain_kept_rows(Plain *p, int node)
{
    const char *to = plain_kept(p, node);
    if (node_at(p->g.p, node)->entry != EntryDecode)
        return to;
    p->uses.past = true;
    return arena_printf(p->g.a, "%s + past * %lld", to,
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

/* Finds values that are only written to a cache, and so can be computed
 * there. */
static void find_made_in_cache(Plain *p)
{
    const Graph *g = p->g.p->g;
    p->kept_by = arena_alloc(p->g.a, (size_t)g->nodes.n * sizeof *p->kept_by);
    for (int i = 0; i < g->nodes.n; i++)
        p->kept_by[i] = -1;
    for (int i = 0; i < g->nodes.n; i++) {
        if (node_at(p->g.p, i)->op != OpAppend)
            continue;
        const int owner = plain_owner(p, node_at(p->g.p, i)->in[0]);
        const Node *n = node_at(p->g.p, owner);
        if (n->op != OpSlice && n->op != OpInput && read_once(p, owner)
            && !(n->op == OpLinear && n->has_residual))
            p->kept_by[owner] = i;
    }
}

void plain_find_caches(Plain *p)
{
    find_made_in_cache(p);
    const Graph *g = p->g.p->g;
    const size_t n = (size_t)g->nodes.n;
    p->cache_of = arena_alloc(p->g.a, n * sizeof *p->cache_of);
    p->place = arena_alloc(p->g.a, n * sizeof *p->place);
    int last = -1; /* the last cache write whose other part, keys or values, is
                    * still to come */
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *at = node_at(p->g.p, i);
        if (at->op == OpRecall) {
            p->cache_of[i] = p->cache_of[at->in[0]];
            p->place[i] = p->place[at->in[0]];
        }
        if (at->op != OpAppend)
            continue;
        const Node *other = other_part(p, i);
        if (!other)
            die("%s has no other part", at->name);
        const bool key = at->part == PartKey;
        if (last >= 0 && same_layer(node_at(p->g.p, last), at)
            && node_at(p->g.p, last)->part != at->part) {
            p->cache_of[i] = p->cache_of[last];
            p->place[i] = p->place[last];
            last = -1;
            continue;
        }
        const int c = cache_for(p, g->cache[at->cache].of,
                                plain_columns(key ? at : other),
                                plain_columns(key ? other : at));
        p->cache_of[i] = c;
        p->place[i] = p->cache.at[c].layers++;
        last = i;
    }
}

const char *plain_kept(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const PlainCache *c = &p->cache.at[p->cache_of[node]];
    const bool self = c->of == CacheSelf;
    const Side side = self ? SideDecoder : SideEncoder;
    const char *layers = layers_text(&p->g, StackDecoder, (int)c->layers);
    const long long columns = c->columns[n->part];
    const char *length = self ? "MAX_TARGET" : "MAX_SOURCE";
    const char *name = c->name[n->part];
    if (index_find(&p->state_names, name) < 0) {
        const StateMember m = {
            .name = name,
            .type = "float",
            .extents = arena_printf(p->g.a, "[%s][%s * %lld]", layers, length,
                                    columns),
            .comment = arena_printf(p->g.a, "[%s, %lld]", self ? "p+t" : "n",
                                    columns),
            .size = c->layers * columns * p->g.p->g->spec->side[side].max_len,
        };
        index_add(p->g.a, &p->state_names, name, p->state.n);
        vec_push(p->g.a, &p->state, m);
    }
    return arena_printf(p->g.a, "s->%s[%s]", name,
                        plain_number(p, self ? NumberSelf : NumberCross));
}

const char *plain_number(Plain *p, int number)
{
    static const char *const name[] = {
        [NumberWeights] = "l",
        [NumberLayer] = "number",
        [NumberSelf] = "self",
        [NumberCross] = "cross",
    };
    if (p->same_numbers[number])
        number = NumberWeights;
    p->uses.number[number] = true;
    return name[number];
}

const char *plain_past(Plain *p, int node)
{
    if (node_at(p->g.p, node)->entry != EntryDecode)
        return "0";
    p->uses.past = true;
    return "past";
}
