/* plan.c: from a graph to what is emitted: where each value lives, which
 * nodes make one function (a region), how weights are packed. The pieces:
 *   plan.c        values, order, regions, caches
 *   pack.c   blocks of packed weights
 *   tasks.c  what is tuned: tasks and their tilings
 *   arena.c  slots of the arena and their offsets
 *   report.c what `attnc plan` prints                                       */
#include "plan/parts.h"

#include <ctype.h>
#include <string.h>

int64_t round16(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Rows that lie a multiple of 4 KiB apart would share the same few places of an
 * L1 cache, where a tile reads as many rows as there are.                    */
int64_t row_stride(int64_t columns)
{
    const int64_t n = round16(columns);
    return n % 1024 == 0 ? n + 16 : n;
}

Dtype dtype_of(Type t)
{
    return t.elem == ElemBf16 ? DtypeBf16 : DtypeF32;
}

Sym row_sym(Type t)
{
    return t.dim[t.rank == 3 ? 1 : 0].sym;
}

int64_t linear4_at(Linear4 l, int64_t rows, int64_t sequences, int64_t parts)
{
    return l.c0 + l.rows * rows + l.sequences * sequences + l.parts * parts;
}

/* The node whose memory holds the value of `node`. */
int owner_of(const Plan *p, int node)
{
    return p->value[node].place == PlaceView ? p->value[node].base : node;
}

static bool emits_code(const Node *n)
{
    if (n->entry == EntryNone)               /* evaluated by the packer */
        return false;
    switch (op_info[n->op].op_class) {
    case ClassRow: case ClassHead: case ClassSink: return true;
    case ClassState: return n->op == OpAppend;
    default: return false;
    }
}

bool plan_is_group_row(const Plan *p, int node)
{
    const Node *n = &p->g->nodes.at[node];
    return op_info[n->op].op_class == ClassRow && n->type.rank == 2
        && n->op != OpEmbed && n->op != OpPosition && n->op != OpRotate
        && n->op != OpFirstRow;
}

/* ---- values ---- */

static Value view_of(const Plan *p, int node)
{
    const Node *n = &p->g->nodes.at[node];
    const Value in = p->value[n->in[0]];
    Value v = in;
    v.place = PlaceView;
    v.base = owner_of(p, n->in[0]);
    if (n->op == OpSlice)
        v.column += n->first;
    if (n->op == OpSplit)
        v.head_stride = n->type.dim[2].c;
    return v;
}

static Value arena_value(const Node *n)
{
    const Type *t = &n->type;
    Value v = { .place = PlaceArena, .base = -1, .slot = -1 };
    if (t->rank == 2) {
        v.stride = row_stride(t->dim[1].c);
    } else if (t->rank == 3 && t->dim[2].sym != SymNone) {   /* scores */
        v.head_stride = (t->dim[2].c + ATTN_PAGE - 1) / ATTN_PAGE * ATTN_PAGE;
        v.stride = v.head_stride * t->dim[0].c;
    } else if (t->rank == 3) {                               /* heads */
        v.head_stride = t->dim[2].c;
        v.stride = row_stride(t->dim[0].c * t->dim[2].c);
    }
    return v;
}

static Value place_node(const Plan *p, int i)
{
    const Node *n = &p->g->nodes.at[i];
    Value v = { .place = PlaceNone, .base = -1, .slot = -1 };
    if (n->entry == EntryNone)
        return v;
    switch (op_info[n->op].op_class) {
    case ClassConst:
        return v;
    case ClassSource:
        v.place = PlaceInput;
        v.stride = n->type.rank == 2 ? n->type.dim[1].c : 1;
        return v;
    case ClassView:
        return view_of(p, i);
    case ClassState:
        v.place = PlaceCache;
        return v;
    case ClassSink:
        v.place = PlaceOutput;
        v.stride = n->type.dim[1].c;
        return v;
    case ClassRow: case ClassHead:
        return arena_value(n);
    }
    return v;
}

/* ---- regions ---- */

/* A node's name without the stack and layer it is in, as a C identifier. */
const char *local_name(Arena *a, const Node *n)
{
    const char *s = n->name;
    if (n->layer >= 0) {
        const char *digit = s;
        while (*digit && !(digit > s && digit[-1] == '.'
                           && isdigit((unsigned char)*digit)))
            digit++;
        const char *dot = strchr(digit, '.');
        if (dot)
            s = dot + 1;
    }
    char *id = arena_strdup(a, s);
    for (char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return id;
}

/* "self_attn" of encoder.0.self_attn.k.heads, "" of q.heads. */
static const char *sublayer(Arena *a, const Node *n)
{
    const char *local = local_name(a, n), *attn = strstr(local, "attn_");
    return attn ? arena_strndup(a, local, (size_t)(attn - local) + 4) : "";
}

static const char *joined(Arena *a, const char *first, const char *second)
{
    return *first ? arena_printf(a, "%s_%s", first, second) : second;
}

static const char *before(Arena *a, const char *s, const char *end)
{
    const char *at = strstr(s, end);
    return at ? arena_strndup(a, s, (size_t)(at - s)) : s;
}

/* What a value is called in emitted C: after the weight that made it, or after
 * its part of the layer: self_attn_qkv, self_attn_keys, self_attn, norm1.    */
static const char *label_of(const Plan *p, int node)
{
    const Node *n = &p->g->nodes.at[node];
    Arena *a = p->arena_;
    switch (n->op) {
    case OpMatmul: case OpLinear:
        return n->layer < 0 ? local_name(a, n)
            : p->block.at[plan_block(p, n->in[1], PackPanels)].field;
    case OpPages: case OpAppend:
        return joined(a, sublayer(a, n),
                      n->part == PartKey ? "keys" : "values");
    case OpAttention:
        return *sublayer(a, n) ? sublayer(a, n) : "attention";
    case OpRotate:
        return before(a, local_name(a, n), "_rotated");
    case OpOutput:
        return "output";
    default:
        return local_name(a, n);
    }
}

const char *value_label(const Plan *p, int node)
{
    return p->label[node];
}

static void label_values(Plan *p)
{
    p->label = arena_alloc(p->arena_,
                           (size_t)p->g->nodes.n * sizeof *p->label);
    for (int i = 0; i < p->g->nodes.n; i++)
        if (emits_code(&p->g->nodes.at[i]))
            p->label[i] = label_of(p, i);
}

static const char *last_word(const char *label)
{
    const char *at = strrchr(label, '_');
    return at ? at + 1 : label;
}

static const char *in_stack(const Plan *p, const Node *n, const char *label)
{
    const char *stack = n->stack[0] ? n->stack
        : n->entry == EntryEncode ? "encode" : "decode";
    return strncmp(label, stack, strlen(stack))
        ? arena_printf(p->arena_, "%s_%s", stack, label) : label;
}

const char *step_name(const Plan *p, int node)
{
    return in_stack(p, &p->g->nodes.at[node], value_label(p, node));
}

static const char *region_name(Plan *p, const Region *r)
{
    const Node *nodes = p->g->nodes.at;
    const int node = p->order.at[r->first];
    const Node *first = &nodes[node];
    const char *label = value_label(p, node);
    if (first->op == OpPages || first->op == OpAppend)
        label = joined(p->arena_, sublayer(p->arena_, first),
                       r->count == 2 ? "pages" : last_word(label));
    if (r->row_block) {
        label = last_word(label);
        for (int i = 1; i < r->count; i++)
            label = arena_printf(p->arena_, "%s_%s", label,
                last_word(value_label(p, p->order.at[r->first + i])));
    }
    return in_stack(p, first, label);
}

/* Keys and values of one attention go to their pages in one function. */
static bool pages_pair(const Node *a, const Node *b)
{
    return a->op == b->op && (a->op == OpAppend || a->op == OpPages)
        && a->layer == b->layer && !strcmp(a->stack, b->stack)
        && a->part == PartKey && b->part == PartValue;
}

static bool joins(const Plan *p, const Region *r, int node)
{
    const Node *nodes = p->g->nodes.at;
    const int last = p->order.at[r->first + r->count - 1];
    const Node *a = &nodes[last], *b = &nodes[node];
    if (a->entry != b->entry)
        return false;
    if (pages_pair(a, b))
        return r->count == 1;
    return plan_is_group_row(p, last) && plan_is_group_row(p, node)
        && !p->keep_all && a->layer == b->layer && !strcmp(a->stack, b->stack)
        && row_sym(a->type) == row_sym(b->type);
}

static void make_regions(Plan *p)
{
    const Graph *g = p->g;
    Region r = { .count = 0 };
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        p->region_of[i] = -1;
        if (!emits_code(n))
            continue;
        if (r.count && joins(p, &r, i)) {
            r.count++;
            r.row_block = plan_is_group_row(p, i);
        } else {
            if (r.count)
                vec_push(p->arena_, &p->region, r);
            r = (Region){ .first = p->order.n, .count = 1, .entry = n->entry,
                          .by_rows = plan_is_group_row(p, i)
                                  || n->op == OpOutput,
                          .stack = n->stack, .layer = n->layer };
        }
        p->region_of[i] = p->region.n;
        vec_push(p->arena_, &p->order, i);
    }
    if (r.count)
        vec_push(p->arena_, &p->region, r);
    for (int i = 0; i < p->region.n; i++)
        p->region.at[i].name = region_name(p, &p->region.at[i]);
}

/* ---- caches ---- */

static void size_caches(Plan *p)
{
    const Graph *g = p->g;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpAppend)
            continue;
        const int64_t d = n->type.dim[2].c;
        if (n->part == PartKey) {
            p->d_k[n->cache] = d;
            p->blocks[n->cache] += n->type.dim[0].c;
        } else {
            p->v_panels[n->cache] = round16(d) / 16;
        }
    }
    for (int c = 0; c < 2; c++)
        p->page_floats[c] = p->blocks[c] * block_floats(p, c);
}

/* Floats of one (layer, head) of a page: its keys, then its values. */
int64_t block_floats(const Plan *p, int cache)
{
    return ATTN_PAGE * (p->d_k[cache] + 16 * p->v_panels[cache]);
}

/* Offset of a cached operand in a page: its layer's first head. */
int64_t cache_offset(const Plan *p, const Node *n)
{
    const int64_t at = n->layer * n->type.dim[0].c * block_floats(p, n->cache);
    return n->part == PartKey ? at : at + ATTN_PAGE * p->d_k[n->cache];
}

/* ---- all together ---- */

/* Is NAME_open, or another function of a model, the core's, the compiler's or a
 * C library's? All else in an emitted file is never called so.              */
static bool taken(const char *name)
{
    static const char *const libraries[] = {
        "dbm", "fts", "fts64", "iconv", "mq", "pidfd", "re_syntax", "sem",
        "shm", "svcerr", NULL
    };
    for (int i = 0; libraries[i]; i++)
        if (!strcmp(name, libraries[i]))
            return true;
    return *name == '_' || !strcmp(name, "attn") || !strncmp(name, "attn_", 5);
}

/* The model's name as C has it; where that is taken, model_ is put in front,
 * and in front of those that are called so already.                         */
const char *plan_prefix(Arena *a, const char *name)
{
    const bool digit = isdigit((unsigned char)name[0]);
    char *s = arena_printf(a, digit ? "m_%s" : "%s", name);
    for (char *c = s; *c; c++)
        *c = (char)(isalnum((unsigned char)*c)
                    ? tolower((unsigned char)*c) : '_');
    const char *last = s;
    while (!strncmp(last, "model_", 6))
        last += 6;
    return taken(last) ? arena_printf(a, "model_%s", s) : s;
}

Plan *plan_model(Arena *a, const Graph *g, const Target *t, Choices choices,
                 bool keep_all)
{
    Plan *p = arena_alloc(a, sizeof *p);
    const size_t n = (size_t)g->nodes.n;
    *p = (Plan){ .g = g, .arena_ = a, .target = *t,
                 .choices = choices, .keep_all = keep_all };
    p->prefix = plan_prefix(a, g->spec->name);
    p->value = arena_alloc(a, n * sizeof *p->value);
    p->region_of = arena_alloc(a, n * sizeof *p->region_of);
    if (!p->target.row_block)
        p->target.row_block = RowBlock;
    for (int i = 0; i < g->nodes.n; i++)
        p->value[i] = place_node(p, i);
    plan_pack(p);
    p->few = t->few_mr && p->pack.bytes > t->few_bytes;
    size_caches(p);
    label_values(p);
    make_regions(p);
    plan_tasks(p);
    p->scratch = plan_scratch(p);
    plan_arena(p);
    return p;
}
