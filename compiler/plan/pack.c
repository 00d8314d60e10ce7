/* pack.c: selects the weights to pack, their layouts and their offsets.
 *
 * A block holds weights that a kernel reads as one matrix or vector: the root
 * of a Const expression (a Weight, a Scale of a weight, a Stack of several
 * weights) in the layout that its reader needs. An embedding table that a
 * product also reads is packed once, in panels, and look-ups read the panels.
 */
#include "plan/plan_parts.h"

#include "spec/arithmetic.h"

#include <string.h>

#include <xxhash.h>

/* Finds the blocks of a layer. Layer -1 holds the weights outside layers of all
 * stacks. */
static LayerBlocks *find_layer(const Plan *p, Stack stack, int layer)
{
    const int key[] = { layer < 0 ? StackNone : (int)stack, layer };
    const int i = index_find_key(&p->layers, key, sizeof key);
    return i < 0 ? NULL : &p->layer.at[i];
}

const LayerBlocks *plan_layer(const Plan *p, Stack stack, int layer)
{
    return find_layer(p, stack, layer);
}

/* ---- biases of scores, by distance ---- */

/* Returns the root of a node's biases. ALiBi's table has no node, so its root
 * is a negative number that depends on the entry. */
static int bias_root(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    if (n->bias == BiasAlibi)
        return -1 - (int)n->entry;
    return n->in[n->op == OpAttention ? 3 : 1];
}

static PackLayout bias_layout(const Node *n)
{
    return n->bias == BiasAlibi ? PackRows : PackDistance;
}

/* True if two nodes that read the same table add the same biases. Layers may
 * derive different biases from it. */
static bool same_biases(const Node *a, const Node *b)
{
    return a->slope == b->slope && a->heads == b->heads
        && a->max_distance == b->max_distance
        && a->bidirectional == b->bidirectional;
}

int plan_bias_block(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    int i = p->root_blocks[bias_root(p, node) + PlanRoots];
    while (i >= 0
           && (p->block.at[i].layout != bias_layout(n)
               || !same_biases(node_at(p, p->block.at[i].reader), n)))
        i = p->block.at[i].of_root;
    return i;
}

static int64_t longest(const Plan *p, Entry entry)
{
    const Spec *s = p->g->spec;
    return s->side[entry == EntryDecode ? SideDecoder : SideEncoder].max_len;
}

int64_t bias_width(const Block *b)
{
    return 2 * b->distances - 1;
}

/* Returns the name of a root's block in the emitted struct, e.g.
 * "self_attn_qkv". */
static const char *field_name(Plan *p, int root)
{
    if (root < 0)
        return root == -1 - (int)EntryDecode ? "alibi_decoder" : "alibi";
    while (node_at(p, root)->op == OpScale)
        root = node_at(p, root)->in[0];
    return local_name(p->arena_, node_at(p, root));
}

static bool has_field(const Plan *p, const LayerBlocks *l, const char *name)
{
    for (int i = l ? l->first : -1; i >= 0; i = p->block.at[i].of_layer)
        if (!strcmp(p->block.at[i].field, name))
            return true;
    return false;
}

/* Returns b->field, with a number if another block of the struct has that
 * name. */
static const char *unique_field(Plan *p, const Block *b)
{
    const LayerBlocks *l = find_layer(p, b->stack, b->layer);
    const char *name = b->field;
    for (int k = 2; has_field(p, l, name); k++)
        name = arena_printf(p->arena_, "%s%d", b->field, k);
    return name;
}

static int64_t block_bytes(const Block *b)
{
    int64_t numbers = 0;
    switch (b->layout) {
    case PackPanels:
        return round16(b->columns) * dtype_column_bytes(b->dtype, b->k);
    case PackRows:     numbers = b->columns * round16(b->k); break;
    case PackDistance: numbers = b->k * round16(bias_width(b)); break;
    case PackVector:   numbers = round16(b->columns); break;
    }
    return numbers * (int64_t)dtype_number_bytes(b->dtype);
}

/* Adds block i to the lists of its root and its layer. */
static void list_block(Plan *p, Block *b, int i)
{
    LayerBlocks *l = find_layer(p, b->stack, b->layer);
    b->of_root = p->root_blocks[b->root + PlanRoots];
    p->root_blocks[b->root + PlanRoots] = i;
    b->of_layer = -1;
    if (l) {
        p->block.at[l->last].of_layer = i;
        l->last = i;
        return;
    }
    int *key = arena_alloc(p->arena_, 2 * sizeof *key);
    key[0] = b->layer < 0 ? StackNone : (int)b->stack;
    key[1] = b->layer;
    index_add_key(p->arena_, &p->layers, key, 2 * sizeof *key, p->layer.n);
    vec_push(p->arena_, &p->layer, ((LayerBlocks){ b->stack, b->layer, i, i }));
}

/* Adds to `key` the names and scales of the weights in a Const expression.
 * Returns true if another layer shares one of these weights. */
static bool add_weights(Plan *p, int node, double scale, Buffer *key)
{
    const Node *n = node_at(p, node);
    bool shared = false;
    if (n->op == OpScale)
        return add_weights(p, n->in[0], scale * n->scale, key);
    for (int k = 0; k < n->nin; k++)
        shared |= add_weights(p, n->in[k], scale, key);
    for (int64_t e = 0; n->op == OpWeight && (e == 0 || e < n->parts); e++) {
        const char *ours = weight_part(p->arena_, n, e);
        const char *name = spec_packed_name(p->arena_, p->g->spec, ours);
        buffer_add(key, name, strlen(name) + 1);
        buffer_add(key, (const char *)&scale, sizeof scale);
        shared |= name != ours;
    }
    return shared;
}

/* Returns the index of the first block with the same weights as `b`. If there
 * is none, that is the index `b` will get. */
static int first_of_same(Plan *p, const Block *b)
{
    Buffer key = { .arena = p->arena_ };
    buffer_add(&key, (const char *)&b->layout, sizeof b->layout);
    if (b->root < 0 || !add_weights(p, b->root, 1, &key))
        return p->block.n;
    return index_add_key(p->arena_, &p->block_weights, key.at, (size_t)key.n,
                         p->block.n);
}

static void push_block(Plan *p, Block b)
{
    b.field = field_name(p, b.root);
    b.field = unique_field(p, &b);
    b.bytes = block_bytes(&b);
    b.same = first_of_same(p, &b);
    if (b.same < p->block.n) {
        b.at = p->block.at[b.same].at;
    } else {
        b.at = p->pack.bytes;
        p->pack.bytes += (b.bytes + 63) / 64 * 64;
    }
    list_block(p, &b, p->block.n);
    vec_push(p->arena_, &p->block, b);
}

/* Returns the columns of one expert's weights, padded to full panels. */
static int64_t part_columns(const Node *n)
{
    return round16(n->type.dim[1].c);
}

static void add_block(Plan *p, int root, int reader, PackLayout layout)
{
    const Node *n = node_at(p, root), *r = node_at(p, reader);
    if (plan_block(p, root, layout) >= 0)
        return;
    const bool made = n->op == OpScale || n->op == OpStack;
    const int64_t parts = n->parts > 0 ? n->parts : 1;
    const bool vector = layout == PackVector;
    const Node *home = made ? r : n; /* the node whose layer's struct holds the
                                      * block */
    push_block(p, (Block){ .root = root,
                           .layout = layout,
                           .dtype = dtype_of(n->type),
                           .columns = n->parts ? parts * part_columns(n)
                                               : n->type.dim[0].c,
                           .k = vector ? 1 : matrix_columns(n->type),
                           .stack = home->stack,
                           .layer = home->layer });
}

static void add_bias_block(Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int root = bias_root(p, node);
    const int64_t length = longest(p, n->entry);
    if (plan_bias_block(p, node) >= 0)
        return;
    Block b = { .root = root,
                .layout = bias_layout(n),
                .reader = node,
                .stack = StackNone,
                .layer = -1,
                .distances = length };
    b.columns = n->op == OpAttention ? n->heads : n->type.dim[0].c;
    b.k = 2 * length - 1;
    if (n->bias == BiasRelative) {
        b.columns = node_at(p, root)->type.dim[0].c; /* number of buckets */
        b.k = node_at(p, root)->type.dim[1].c;       /* number of heads */
        b.stack = node_at(p, root)->stack;
        b.layer = node_at(p, root)->layer;
    }
    push_block(p, b);
}

/* Returns the layout in which a node reads input k. Weights of integers and of
 * bf16x2 are always in panels, even if they are only looked up. */
static PackLayout wanted(const Plan *p, const Node *n, int k)
{
    const Type type = node_at(p, n->in[k])->type;
    const bool columns = has_product(n) || n->op == OpDepthwise;
    if (is_product(n) && k == 2)
        return PackVector;
    if ((columns && k == 1) || dtype_is_integer(dtype_of(type))
        || dtype_of(type) == DtypeBf16x2)
        return PackPanels;
    return type.rank == 2 && !node_at(p, n->in[k])->parts ? PackRows
                                                          : PackVector;
}

static bool is_const(const Plan *p, int node)
{
    return node >= 0 && op_info[node_at(p, node)->op].op_class == ClassConst;
}

static bool is_const_expr(const Plan *p, int node)
{
    if (node < 0)
        return false;
    const Node *n = node_at(p, node);
    return is_const(p, node)
        || (n->op == OpScale && is_const_expr(p, n->in[0]));
}

static bool packed_in_panels(const Plan *p, int root)
{
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        if (has_product(n) && n->in[1] == root)
            return true;
    }
    return false;
}

/* Adds blocks for the constants that a node reads. If `shared` is set, adds
 * only those outside layers. */
static void collect_node(Plan *p, int node, bool shared)
{
    const Node *n = node_at(p, node);
    if (n->bias)
        add_bias_block(p, node);
    for (int k = 0; k < n->nin; k++) {
        if (!is_const_expr(p, n->in[k])
            || (n->bias && n->in[k] == bias_root(p, node))
            || (shared && node_at(p, n->in[k])->layer >= 0))
            continue;
        PackLayout layout = wanted(p, n, k);
        if (n->op == OpEmbed && k == 0 && packed_in_panels(p, n->in[k]))
            layout = PackPanels;
        add_block(p, n->in[k], node, layout);
    }
}

/* First collects the constants outside layers that layers read, so that these
 * are not among the blocks of a layer, and similar layers have the same
 * layout. */
static void collect_blocks(Plan *p)
{
    for (int i = 0; i < p->g->nodes.n; i++)
        if (node_at(p, i)->layer >= 0 && !is_const_expr(p, i))
            collect_node(p, i, true);
    for (int i = 0; i < p->g->nodes.n; i++)
        if (!is_const_expr(p, i))
            collect_node(p, i, false);
}

/* ---- the packer's list ---- */

typedef VEC(PackItem) ItemList;

/* Sets the source tensor of an item. A vector is packed as a row, so its groups
 * are along columns. */
static void read_from(Plan *p, PackItem *it, const Node *n, const char *name)
{
    it->name = spec_packed_name(p->arena_, p->g->spec, name);
    spec_file_tensor(p->arena_, p->g->spec, name, &it->from);
    it->from.taps = n->taps;
    if (it->layout == PackVector) {
        it->from.by_columns = true;
        it->from.transposed = false;
    }
}

static void rotary_item(Plan *p, const Node *n, PackItem *it)
{
    const size_t pairs = (size_t)it->k / 2;
    double *rate = arena_alloc(p->arena_, pairs * sizeof *rate);

    it->table = TableRotary;
    it->factor = spec_rotary(n->spec, it->k, it->rows, rate);
    it->rate = rate;
    if (n->part == PartQuery)
        it->growth = spec_query_growth(n->spec, &it->length);
}

static PackItem item_of(Plan *p, const Block *b, int node, double scale,
                        int64_t first, const char *name)
{
    const Node *n = node_at(p, node);
    const Spec *s = p->g->spec;
    PackItem it = { .layout = b->layout,
                    .at = b->at,
                    .first = first,
                    .columns = b->columns,
                    .dtype = b->dtype,
                    .scale = (float)scale,
                    .scaled = scale < 1 || scale > 1,
                    .flushed = row_formats[s->arithmetic].kernel
                            && !dtype_is_integer(b->dtype)
                            && row_formats[s->arithmetic].groups == b->dtype };
    if (b->layout == PackVector) {
        it.rows = 1;
        it.k = n->type.dim[n->type.rank - 1].c;
    } else {
        it.rows = matrix_rows(n->type);
        it.k = matrix_columns(n->type);
    }
    if (n->op == OpRotaryTable) {
        rotary_item(p, n, &it);
    } else if (n->op == OpSinusoid) {
        it.table = TableSinusoid;
        it.base = s->pos_base;
        it.position = s->pos_first;
        it.halves = s->pos_layout == LayoutHalves;
        it.tensor2tensor = s->pos_exponent == ExponentTensor2tensor;
    } else {
        read_from(p, &it, n, name);
    }
    return it;
}

static int64_t flatten(Plan *p, const Block *b, int node, double scale,
                       int64_t first, ItemList *list)
{
    const Node *n = node_at(p, node);
    if (n->op == OpScale)
        return flatten(p, b, n->in[0], scale * n->scale, first, list);
    if (n->op == OpStack) {
        for (int k = 0; k < n->nin; k++)
            first = flatten(p, b, n->in[k], scale, first, list);
        return first;
    }
    for (int64_t e = 0; e == 0 || e < n->parts; e++) {
        const PackItem it = item_of(p, b, node, scale, first,
                                    weight_part(p->arena_, n, e));
        vec_push(p->arena_, list, it);
        first += n->parts ? part_columns(n) : n->type.dim[0].c;
    }
    return first;
}

/* Adds an item for a table of biases. ALiBi's table has no tensor; the others
 * are computed from one. */
static void bias_item(Plan *p, const Block *b, ItemList *list)
{
    const Node *r = node_at(p, b->reader);
    PackItem it = { .layout = b->layout,
                    .at = b->at,
                    .columns = b->columns,
                    .rows = b->columns,
                    .k = b->k,
                    .scale = 1,
                    .length = b->distances };
    if (r->bias == BiasAlibi) {
        it.table = TableAlibi;
        it.factor = r->slope;
    } else {
        read_from(p, &it, node_at(p, b->root), node_at(p, b->root)->name);
        it.rows = r->buckets;
        it.max_distance = r->max_distance;
        it.bidirectional = r->bidirectional;
    }
    vec_push(p->arena_, list, it);
}

static void mark_aliases(Plan *p, const ItemList *list)
{
    Index names = { 0 };
    for (int i = 0; i < list->n; i++)
        if (list->at[i].name)
            list->at[i].alias = index_add(p->arena_, &names, list->at[i].name,
                                          i)
                             != i;
}

/* Hashes the names, shapes, formats, layouts, offsets and folded scales of all
 * items. Tilings are not included, so that one file of packed weights serves
 * every tile, vector width and compiler. */
static uint64_t hash_items(const ItemList *list, int64_t bytes)
{
    XXH64_hash_t h = XXH64(&bytes, sizeof bytes, 1);
    for (int i = 0; i < list->n; i++) {
        const PackItem *it = &list->at[i];
        const int64_t v[] = {
            it->layout,       it->dtype,         it->rows,    it->k,
            it->at,           it->first,         it->columns, it->position,
            it->halves,       it->tensor2tensor, it->table,   it->length,
            it->max_distance, it->bidirectional
        };
        h = XXH64(v, sizeof v, h);
        h = XXH64(&it->scale, sizeof it->scale, h);
        h = XXH64(&it->base, sizeof it->base, h);
        h = XXH64(&it->factor, sizeof it->factor, h);
        if (it->dtype == DtypeBf16) { /* layouts before and now */
            const int64_t group = dtype_stored(it->dtype, 1);
            h = XXH64(&group, sizeof group, h);
        }
        if (it->flushed)
            h = XXH64(&it->flushed, sizeof it->flushed, h);
        if (it->growth > 0)
            h = XXH64(&it->growth, sizeof it->growth, h);
        if (it->rate)
            h = XXH64(it->rate, (size_t)it->k / 2 * sizeof *it->rate, h);
        if (it->name)
            h = XXH64(it->name, strlen(it->name), h);
    }
    return h;
}

/* Returns the number of elements of all weights. Weights that layers share
 * count once. */
static int64_t count_parameters(const Plan *p)
{
    const Graph *g = p->g;
    Index names = { 0 };
    int64_t sum = 0;
    index_reserve(p->arena_, &names, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        int64_t e = n->op == OpWeight
                 && index_add(p->arena_, &names,
                              spec_packed_name(p->arena_, g->spec, n->name), i)
                        == i;
        for (int k = 0; k < n->type.rank && e; k++)
            e *= n->type.dim[k].c;
        sum += e;
    }
    return sum;
}

void plan_pack(Plan *p)
{
    ItemList list = { 0 };
    const int roots = p->g->nodes.n + PlanRoots;
    p->root_blocks = arena_alloc(p->arena_,
                                 (size_t)roots * sizeof *p->root_blocks);
    for (int i = 0; i < roots; i++)
        p->root_blocks[i] = -1;
    collect_blocks(p);
    for (int i = 0; i < p->block.n; i++) {
        const Block *b = &p->block.at[i];
        if (b->same < i)
            continue;
        if (b->distances)
            bias_item(p, b, &list);
        else
            flatten(p, b, b->root, 1.0, 0, &list);
    }
    mark_aliases(p, &list);
    p->pack.name = p->g->spec->name;
    p->pack.item = list.at;
    p->pack.count = list.n;
    p->pack.dtype = dtype_word[p->g->spec->dtype.default_dtype];
    p->pack.hash = hash_items(&list, p->pack.bytes);
    p->parameters = count_parameters(p);
}
