/* arena_layout.c: places the values of one call of an entry in its arena.
 *
 * A slot is arena memory shared by values whose lifetimes do not overlap. The
 * size of a slot is per row of the batch, page of keys, sequence, or part
 * (thread); blocks of rows never leave their part. If the op allows it, a value
 * overwrites an operand that is not read again; otherwise it takes the free
 * slot that must grow least. So a layer's output is where its input was, and
 * all layers can share one function. */
#include "plan/plan_parts.h"

#include <string.h>

/* ---- who reads what ---- */

static void find_reads(Plan *p)
{
    const int n = p->g->nodes.n;
    p->reads = arena_alloc(p->arena_, (size_t)n * sizeof *p->reads);
    for (int i = 0; i < n; i++)
        p->reads[i] = (Reads){ .first = -1, .last = -1 };
    for (int o = 0; o < p->order.n; o++) {
        const Node *reader = node_at(p, p->order.at[o]);
        for (int k = 0; k < reader->nin; k++) {
            if (reader->in[k] < 0)
                continue;
            const int owner = owner_of(p, reader->in[k]);
            Reads *r = &p->reads[owner];
            r->first = r->first < 0 ? o : r->first;
            r->last = o;
            r->elsewhere |= !same_layer(reader, node_at(p, owner));
        }
    }
    for (int i = 0; i < n; i++) { /* values that are read back after the call */
        if (!p->keep_all && !node_at(p, i)->keep)
            continue;
        const int routes = graph_routes(p->g, i);
        p->reads[owner_of(p, i)].last = p->order.n;
        if (routes >= 0)
            p->reads[routes].last = p->order.n;
    }
}

static bool all_readers_in(const Plan *p, int node, int region)
{
    const Reads *r = &p->reads[node];
    return r->first < 0
        || (p->region_of[p->order.at[r->first]] == region
            && p->region_of[p->order.at[r->last]] == region);
}

static int64_t pages_unit(const Node *n)
{
    const int64_t d = n->type.dim[2].c;
    return n->type.dim[0].c * ATTN_PAGE * (n->part == PartKey ? d : round16(d));
}

static SlotKind slot_kind(const Plan *p, int node, int until)
{
    const Region *r = &p->region.at[p->region_of[node]];
    if (node_at(p, node)->op == OpPackKv)
        return SlotPages;
    if (node_at(p, node)->op == OpRoutes)
        return SlotRoutes;
    if (row_sym(node_at(p, node)->type) == SymS)
        return SlotSequences;
    return r->row_block && until < p->order.n
                && all_readers_in(p, node, p->region_of[node])
             ? SlotParts
             : SlotRows;
}

/* True if a tile adds only part of each sum at a time, and so reads the result
 * again. */
static bool sums_wait(const Plan *p, int node)
{
    const Task *t = plan_task(p, TaskMatmul, node);
    return t && t->tiling.k < task_shape(p, t).k;
}

/* True if the node's value may overwrite `operand`, which nothing reads after
 * this node. Each element must be read before it is written. */
static bool in_place(const Plan *p, int node, int operand)
{
    const Node *n = node_at(p, node);
    const Value *v = &p->value[node], *o = &p->value[operand];
    const int in = owner_of(p, operand);
    if (v->stride != o->stride || v->head_stride != o->head_stride || o->column)
        return false;
    switch (op_info[n->op].in_place) {
    case InPlaceNo:       return false;
    case InPlaceElements:
    case InPlaceRows:     return true;
    case InPlaceResidual:
        return n->has_residual && owner_of(p, n->in[3]) == in
            && owner_of(p, n->in[0]) != in && !sums_wait(p, node)
            && !adds_terms(p, node);
    }
    return false;
}

static int reuse_operand(const Plan *p, int node, int place, SlotKind kind)
{
    const Node *n = node_at(p, node);
    for (int k = n->nin - 1; k >= 0; k--) {
        const int in = n->in[k] < 0 ? -1 : owner_of(p, n->in[k]);
        if (in < 0 || p->value[in].place != PlaceArena)
            continue;
        const Slot *s = &p->slot.at[p->value[in].slot];
        if (s->kind == kind && s->until == place && in_place(p, node, n->in[k]))
            return p->value[in].slot;
    }
    return -1;
}

/* Returns the stride of a value. Negative if its rows are sorted by expert,
 * because such rows are read in any order. */
static int64_t slot_stride(const Plan *p, int node)
{
    const int64_t stride = p->value[node].stride;
    return graph_routes(p->g, node) >= 0 ? -stride : stride;
}

/* True if the region of `place` reads the last value of `s` with another
 * stride. A region reads later rows of a slot after it writes earlier ones,
 * which is safe only if the strides are equal. */
static bool read_in_region(const Plan *p, const Slot *s, int place)
{
    const int64_t stride = slot_stride(p, p->order.at[place]);
    return s->kind == SlotRows && s->until >= 0 && s->stride != stride
        && p->region_of[p->order.at[s->until]]
               == p->region_of[p->order.at[place]];
}

static int best_free(const Plan *p, Entry entry, SlotKind kind, int64_t unit,
                     int place)
{
    int best = -1;
    int64_t best_growth = 0, best_waste = 0;
    for (int k = 0; k < p->shared.n; k++) {
        const int i = p->shared.at[k];
        const Slot *s = &p->slot.at[i];
        if (s->entry != entry || s->kind != kind || s->until >= place
            || read_in_region(p, s, place))
            continue;
        const int64_t growth = unit > s->unit ? unit - s->unit : 0;
        const int64_t waste = s->unit > unit ? s->unit - unit : 0;
        if (best < 0 || growth < best_growth
            || (growth == best_growth && waste < best_waste)) {
            best = i;
            best_growth = growth;
            best_waste = waste;
        }
    }
    return best;
}

/* Returns the floats that the value needs per unit of a slot of kind `kind`. */
static int64_t value_unit(const Plan *p, int node, SlotKind kind)
{
    if (kind == SlotPages)
        return pages_unit(node_at(p, node));
    const int64_t stride = p->value[node].stride;
    if (kind == SlotRoutes)
        return round16(stride);
    return kind == SlotParts
             ? stride * region_block(p, &p->region.at[p->region_of[node]])
             : stride * p->value[node].times;
}

static void assign(Plan *p, int place)
{
    const int node = p->order.at[place];
    if (p->value[node].place != PlaceArena)
        return;
    const Node *n = node_at(p, node);
    int until = p->reads[node].last;
    if (until < place)
        until = place; /* nothing reads the value */
    const SlotKind kind = slot_kind(p, node, until);
    const int64_t unit = value_unit(p, node, kind);
    const bool keep = until == p->order.n;
    int s = p->value[node].slot; /* a value that is read after the call has its
                                  * own slot */
    if (!keep)
        s = reuse_operand(p, node, place, kind);
    if (s < 0 && !keep)
        s = best_free(p, n->entry, kind, unit, place);
    if (s < 0) {
        const Slot fresh = { .kind = kind, .entry = n->entry, .unit = unit };
        s = p->slot.n;
        vec_push(p->arena_, &p->slot, fresh);
        if (!keep)
            vec_push(p->arena_, &p->shared, s);
    }
    if (p->slot.at[s].unit < unit)
        p->slot.at[s].unit = unit;
    if (kind == SlotRoutes && p->slot.at[s].fixed < round16(n->experts))
        p->slot.at[s].fixed = round16(n->experts);
    p->slot.at[s].stride = slot_stride(p, node);
    p->slot.at[s].until = until;
    p->value[node].slot = s;
}

/* Assigns slots twice. The second pass starts with the sizes from the first, so
 * that all layers choose the same slots. */
static void assign_all(Plan *p)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < p->slot.n; i++)
            p->slot.at[i].until = -1;
        for (int o = 0; o < p->order.n; o++)
            assign(p, o);
    }
}

/* ---- names ---- */

/* Marks the slots of values that pass from layer to layer. All these values are
 * named x, so that the code of all layers is alike. */
static void mark_streams(Plan *p)
{
    for (int o = 0; o < p->order.n && !p->keep_all; o++) {
        const int node = p->order.at[o];
        if (p->value[node].slot >= 0 && p->reads[node].elsewhere
            && node_at(p, node)->type.rank == 2)
            p->slot.at[p->value[node].slot].stream = true;
    }
}

typedef struct {   /* names of one entry */
    Index slot;    /* name -> the only slot whose values have it */
    Index value;   /* "label slot" -> a value with that name */
    Index number;  /* label -> index in `next` */
    VEC(int) next; /* next number to try after the label */
} Names;

/* Returns `label`, followed by a number (2 or more) if a value of another slot
 * already has that name. */
static const char *free_name(Plan *p, Names *names, const char *label, int node)
{
    const int at = index_add(p->arena_, &names->number, label, names->next.n);
    const int slot = p->value[node].slot, known = names->slot.list.n;
    const char *name = label;
    if (at == names->next.n)
        vec_push(p->arena_, &names->next, 2);
    while (index_add(p->arena_, &names->slot, name, slot) != slot)
        name = arena_printf(p->arena_, "%s%d", label, names->next.at[at]++);
    if (names->slot.list.n > known)
        vec_push(p->arena_, &p->named, node);
    return name;
}

static void name_values(Plan *p)
{
    Names names[3] = { 0 };
    mark_streams(p);
    for (int o = 0; o < p->order.n; o++) {
        const int node = p->order.at[o];
        Value *v = &p->value[node];
        if (v->slot < 0)
            continue;
        const Slot *s = &p->slot.at[v->slot];
        Names *in = &names[s->entry];
        const char *label = s->stream ? "x" : value_label(p, node);
        const int like = index_add(p->arena_, &in->value,
                                   arena_printf(p->arena_, "%s %d", label,
                                                v->slot),
                                   node);
        v->name = like == node ? free_name(p, in, label, node)
                               : p->value[like].name;
    }
}

/* Returns the size of a slot. The pages of sequence s begin at start[s] /
 * ATTN_PAGE + s. Because ceil(len / ATTN_PAGE) <= len / ATTN_PAGE + 1, one page
 * for every ATTN_PAGE rows and one for each sequence are enough for any
 * batch. */
static AffineSize unit_floats(SlotKind kind, int64_t unit)
{
    switch (kind) {
    case SlotRoutes:
    case SlotRows:   return (AffineSize){ .rows = unit };
    case SlotPages:
        return (AffineSize){ .rows = round16(unit / ATTN_PAGE),
                             .sequences = unit };
    case SlotSequences: return (AffineSize){ .sequences = unit };
    case SlotParts:     return (AffineSize){ .parts = unit };
    }
    return (AffineSize){ 0 };
}

AffineSize value_floats(const Plan *p, int node)
{
    const SlotKind kind = p->slot.at[p->value[node].slot].kind;
    AffineSize size = unit_floats(kind, value_unit(p, node, kind));
    if (kind == SlotRoutes)
        size.c0 = round16(node_at(p, node)->experts);
    return size;
}

/* Returns the floats after the last slot that AMX may read: it loads 16 rows at
 * a time, so up to 15 lie after the end of a value. */
static int64_t rows_read_over(const Plan *p, Entry entry)
{
    int64_t most = 0;
    for (int o = 0; o < p->order.n && p->target.amx; o++) {
        const int node = p->order.at[o];
        const bool rounded = elem_arithmetic(node_at(p, node)->type.elem)
                          != ArithmeticF32;
        if (rounded && node_at(p, node)->entry == entry
            && p->value[node].stride > most)
            most = p->value[node].stride;
    }
    return 15 * most;
}

static void place_slots(Plan *p)
{
    for (int e = EntryEncode; e <= EntryDecode; e++) {
        AffineSize at = { 0 };
        for (int i = 0; i < p->slot.n; i++) {
            Slot *s = &p->slot.at[i];
            if (s->entry != (Entry)e)
                continue;
            s->at = at;
            const AffineSize size = unit_floats(s->kind, s->unit);
            at.c0 += s->fixed;
            at.rows += size.rows;
            at.sequences += size.sequences;
            at.parts += size.parts;
        }
        at.c0 += rows_read_over(p, (Entry)e);
        at.parts += p->scratch;
        at.sequences += p->scan[e];
        p->arena[e] = at;
    }
}

/* Finds the largest scan of each entry. Scans run in sequence, so they share
 * its memory. */
static void find_scans(Plan *p)
{
    for (int o = 0; o < p->order.n; o++) {
        const int node = p->order.at[o];
        const Node *n = node_at(p, node);
        const int64_t all = n->op == OpRecurrent ? scan_floats(p, node).all : 0;
        if (all > p->scan[n->entry])
            p->scan[n->entry] = all;
    }
}

void plan_arena(Plan *p)
{
    find_scans(p);
    find_reads(p);
    assign_all(p);
    place_slots(p);
    name_values(p);
}
