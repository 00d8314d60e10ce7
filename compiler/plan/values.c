/* values.c: decides where the value of each node is stored (place, rows,
 * strides), and how caches are laid out. */
#include "plan/plan_parts.h"

#include <string.h>

const Node *node_at(const Plan *p, int i)
{
    return &p->g->nodes.at[i];
}

bool is_product(const Node *n)
{
    return n->op == OpMatmul || n->op == OpLinear;
}

bool gives_heads(const Node *n)
{
    return n->op == OpAttention || n->op == OpContext;
}

bool has_product(const Node *n)
{
    return is_product(n) || n->op == OpRecurrent;
}

ScanFloats scan_floats(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int64_t d = n->type.dim[1].c;
    ScanFloats s = { .state = row_stride(d),
                     .cell = n->cell == CellLstm ? row_stride(d) : 0,
                     .sums = row_stride(cell_gates(n->cell) * d) };
    s.all = 2 * s.state + s.cell + s.sums + ATTN_PANEL;
    return s;
}

Epilogue epilogue_of(const Plan *p, int product)
{
    const Node *n = node_at(p, product);
    Epilogue ep = {
        .dtype = dtype_of(node_at(p, n->in[1])->type),
        .arithmetic = elem_arithmetic(node_at(p, n->in[0])->type.elem),
    };
    if (n->op != OpLinear)
        return ep;
    ep.act = n->act;
    ep.parts = (n->has_bias ? EpBias : 0) | (n->act != ActNone ? EpAct : 0)
             | (n->has_residual ? EpResidual : 0);
    return ep;
}

int64_t round16(int64_t n)
{
    return (n + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

/* Returns a stride that is not a multiple of 4 KiB, because otherwise the rows
 * of a tile would compete for the same few sets of an L1 cache. */
int64_t row_stride(int64_t columns)
{
    const int64_t n = round16(columns);
    return n % 1024 == 0 ? n + ATTN_PANEL : n;
}

/* Returns the floats of a row that an arithmetic reads: its planes, in full
 * groups, and the row's scale if it has one; row_stride() pads the sum. */
static int64_t quantized_stride(Arithmetic a, int64_t k)
{
    const RowFormat *f = &row_formats[a];
    const int64_t bytes = f->planes * f->bytes * dtype_stored(f->groups, k);
    return row_stride(bytes / 4 + f->scaled);
}

Dtype dtype_of(Type t)
{
    return elem_dtype(t.elem);
}

Sym row_sym(Type t)
{
    return t.dim[t.rank == 3 ? 1 : 0].sym;
}

int64_t row_times(Type t)
{
    const int64_t times = t.dim[t.rank == 3 ? 1 : 0].times;
    return times > 0 ? times : 1;
}

int64_t affine_at(AffineSize l, int64_t rows, int64_t sequences, int64_t parts)
{
    return l.c0 + l.rows * rows + l.sequences * sequences + l.parts * parts;
}

int plan_block(const Plan *p, int root, PackLayout layout)
{
    int i = p->root_blocks[root + PlanRoots];
    while (i >= 0 && p->block.at[i].layout != layout)
        i = p->block.at[i].of_root;
    return i;
}

int owner_of(const Plan *p, int node)
{
    return p->value[node].place == PlaceView ? p->value[node].base : node;
}

bool emits_code(const Node *n)
{
    if (n->entry == EntryNone) /* the packer evaluates the node */
        return false;
    switch (op_info[n->op].op_class) {
    case ClassRow:
    case ClassPosition:
    case ClassHead:
    case ClassSink:     return true;
    case ClassState:    return n->op == OpAppend;
    default:            return false;
    }
}

/* ---- where a value lives ---- */

static Value view_of(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
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
    v.times = row_times(*t);
    if (n->op == OpRoutes) {
        v.stride = t->dim[1].c;
    } else if (elem_arithmetic(t->elem) != ArithmeticF32) {
        v.stride = quantized_stride(elem_arithmetic(t->elem), t->dim[1].c);
    } else if (t->rank == 2) {
        v.stride = row_stride(t->dim[1].c);
    } else if (t->rank == 3 && t->dim[2].sym != SymNone) { /* attention
                                                              scores */
        v.head_stride = (t->dim[2].c + ATTN_PAGE - 1) / ATTN_PAGE * ATTN_PAGE;
        v.stride = v.head_stride * t->dim[0].c;
    } else if (t->rank == 3) { /* rows divided into heads */
        v.head_stride = t->dim[2].c;
        v.stride = row_stride(t->dim[0].c * t->dim[2].c);
    }
    return v;
}

static Value place_of(const Plan *p, int i)
{
    const Node *n = node_at(p, i);
    Value v = { .place = PlaceNone, .base = -1, .slot = -1 };
    if (n->entry == EntryNone)
        return v;
    switch (op_info[n->op].op_class) {
    case ClassConst: return v;
    case ClassSource:
        v.place = PlaceInput;
        v.stride = n->type.rank == 2 ? n->type.dim[1].c : 1;
        return v;
    case ClassView:  return view_of(p, i);
    case ClassState: v.place = PlaceCache; return v;
    case ClassSink:
        v.place = PlaceOutput;
        v.stride = n->type.dim[1].c;
        return v;
    case ClassRow:
    case ClassPosition:
    case ClassHead:     return arena_value(n);
    }
    return v;
}

void plan_values(Plan *p)
{
    const int n = p->g->nodes.n;
    p->value = arena_alloc(p->arena_, (size_t)n * sizeof *p->value);
    for (int i = 0; i < n; i++)
        p->value[i] = place_of(p, i);
}

/* ---- caches ---- */

/* Returns the floats that store so many columns of a page's keys or values. */
static int64_t stored_floats(const struct attn_cache_layout *c, int64_t columns)
{
    return ATTN_PAGE * columns * attn_cache_element(c) / (int64_t)sizeof(float);
}

int64_t keys_floats(const Plan *p, int cache)
{
    return stored_floats(&p->cache[cache], p->cache[cache].d_k);
}

int64_t block_floats(const Plan *p, int cache)
{
    const struct attn_cache_layout *c = &p->cache[cache];
    return keys_floats(p, cache) + stored_floats(c, ATTN_PANEL * c->v_panels)
         + 2 * scales_floats(p, cache);
}

int64_t scales_floats(const Plan *p, int cache)
{
    return ATTN_PAGE * attn_cache_scale(&p->cache[cache])
         / (int64_t)sizeof(float);
}

int64_t widened_floats(const Plan *p)
{
    int64_t most = 0;
    for (int i = 0; i < p->g->caches; i++) {
        const struct attn_cache_layout *c = &p->cache[i];
        const int64_t floats = ATTN_PAGE * (c->d_k + ATTN_PANEL * c->v_panels);
        if (c->format != ATTN_CACHE_F32 && floats > most)
            most = floats;
    }
    return most;
}

int64_t place_floats(const Plan *p, int cache)
{
    return p->g->cache[cache].form.h_kv * block_floats(p, cache);
}

int64_t page_floats(const Plan *p, int cache)
{
    return p->cache[cache].page_bytes / (int64_t)sizeof(float);
}

int64_t states_offset(const Plan *p, int cache)
{
    return page_floats(p, cache) - round16(2 * p->cache[cache].states);
}

/* Places the states of each layer in a page. All layers get the same space, so
 * that they share code. */
static void place_states(Plan *p, int cache)
{
    const size_t nodes = (size_t)p->g->nodes.n;
    const Side side = cache == CacheSelf ? SideDecoder : SideEncoder;
    const int64_t layers = p->g->spec->side[side].N;
    struct attn_cache_layout *c = &p->cache[cache];
    int64_t *end = arena_alloc(p->arena_, (size_t)layers * sizeof *end);
    if (!p->state_at)
        p->state_at = arena_alloc(p->arena_, nodes * sizeof *p->state_at);
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        if (!n->state || n->cache != cache)
            continue;
        p->state_at[i] = end[n->layer];
        end[n->layer] += n->state;
        if (end[n->layer] > p->layer_state[cache])
            p->layer_state[cache] = end[n->layer];
    }
    c->states = layers * p->layer_state[cache];
    c->page_bytes += round16(2 * c->states) * (int64_t)sizeof(float);
    if (c->blocks == 0 && c->states > 0 && cache == CacheSelf)
        c->window = 2; /* a row reads only the previous row's state */
}

void plan_caches(Plan *p)
{
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        if (n->op != OpAppend)
            continue;
        const CacheForm form = p->g->cache[n->cache].form;
        struct attn_cache_layout *c = &p->cache[n->cache];
        c->d_k = form.d_k;
        c->v_panels = round16(form.d_v) / ATTN_PANEL;
        c->window = form.window;
        if (c->blocks < (n->place + 1) * form.h_kv)
            c->blocks = (n->place + 1) * form.h_kv;
    }
    for (int c = 0; c < p->g->caches; c++) {
        p->cache[c].of = p->g->cache[c].of;
        p->cache[c].format = p->g->spec->cache_store;
        p->cache[c].page_bytes = p->cache[c].blocks * block_floats(p, c)
                               * (int64_t)sizeof(float);
    }
    place_states(p, CacheSelf);
    place_states(p, CacheCross);
}

bool has_entry(const Plan *p, Entry entry)
{
    for (int i = 0; i < p->region.n; i++)
        if (p->region.at[i].entry == entry)
            return true;
    return false;
}
