/* plan_arena.c: memory of the values inside one call of an entry.
 *
 * A slot is arena memory that values use in turn. Slots are measured in rows
 * of the batch, in pages of keys, or in parts (threads): blocks of rows that
 * never leave their part. A value takes the free slot that must grow least,
 * or the slot of an operand that dies as it is computed, where the op allows
 * it; so the output of a layer lands where its input was, and all layers are
 * one function.                                                             */
#include "plan_parts.h"

#include <string.h>

static const Node *node_at(const Plan *p, int i)
{
    return &p->g->nodes.at[i];
}

bool reads(const Plan *p, int i, int owner)
{
    const Node *n = node_at(p, i);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] >= 0 && owner_of(p, n->in[k]) == owner)
            return true;
    return false;
}

/* Last place in `order` that reads the value; kept values are read at the
 * end.                                                                      */
static int last_use(const Plan *p, int node)
{
    bool keep = p->keep_all;
    for (int i = 0; i < p->g->nodes.n; i++)
        keep |= node_at(p, i)->keep && owner_of(p, i) == node;
    if (keep)
        return p->order.n;
    int last = -1;
    for (int o = 0; o < p->order.n; o++)
        if (reads(p, p->order.at[o], node))
            last = o;
    return last;
}

static bool all_readers_in(const Plan *p, int node, int region)
{
    for (int o = 0; o < p->order.n; o++)
        if (reads(p, p->order.at[o], node)
            && p->region_of[p->order.at[o]] != region)
            return false;
    return true;
}

static int64_t pages_unit(const Node *n)
{
    const int64_t d = n->type.dim[2].c;
    return n->type.dim[0].c * ATTN_PAGE
        * (n->part == PartKey ? d : round16(d));
}

static SlotKind slot_kind(const Plan *p, int node, int until)
{
    const Region *r = &p->region.at[p->region_of[node]];
    if (node_at(p, node)->op == OpPages)
        return SlotPages;
    if (row_sym(node_at(p, node)->type) == SymS)
        return SlotSequences;
    return r->row_block && until < p->order.n
        && all_readers_in(p, node, p->region_of[node]) ? SlotParts : SlotRows;
}

/* Is a product's value read again, as blocks of its sums are added? */
static bool sums_wait(const Plan *p, int node)
{
    const Task *t = plan_task(p, TaskMatmul, node);
    return t && t->tiling.k < task_shape(p, t).k;
}

/* May the node's value overwrite that of `in`, which dies here? Each element
 * must be read before it is written, and never again.                       */
static bool in_place(const Plan *p, int node, int operand)
{
    const Node *n = node_at(p, node);
    const Value *v = &p->value[node], *o = &p->value[operand];
    const int in = owner_of(p, operand);
    if (v->stride != o->stride || v->head_stride != o->head_stride
        || o->column)
        return false;
    switch (n->op) {
    case OpBias: case OpScale: case OpAdd: case OpMul: case OpActivate:
    case OpGate: case OpNorm: case OpAddNorm: case OpHeadNorm: case OpRotate:
    case OpSoftcap: case OpScoreBias: case OpMask: case OpSoftmax:
    case OpL2Norm:
        return true;
    case OpLinear:
        return n->has_residual && owner_of(p, n->in[3]) == in
            && owner_of(p, n->in[0]) != in && !sums_wait(p, node);
    default:
        return false;
    }
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

/* A region that walks blocks of rows reads later rows of a slot after it has
 * written earlier ones, which does no harm where both have the same stride. */
static bool read_in_region(const Plan *p, const Slot *s, int place)
{
    const int64_t stride = p->value[p->order.at[place]].stride;
    return s->kind == SlotRows && s->until >= 0 && s->stride != stride
        && p->region_of[p->order.at[s->until]]
           == p->region_of[p->order.at[place]];
}

static int best_free(const Plan *p, Entry entry, SlotKind kind, int64_t unit,
                     int place)
{
    int best = -1;
    int64_t best_growth = 0, best_waste = 0;
    for (int i = 0; i < p->slot.n; i++) {
        const Slot *s = &p->slot.at[i];
        if (s->entry != entry || s->kind != kind || s->kept
            || s->until >= place || read_in_region(p, s, place))
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

static void assign(Plan *p, int place)
{
    const int node = p->order.at[place];
    if (p->value[node].place != PlaceArena)
        return;
    const Node *n = node_at(p, node);
    int until = last_use(p, node);
    if (until < place)
        until = place;                      /* nobody reads it */
    const SlotKind kind = slot_kind(p, node, until);
    int64_t unit = p->value[node].stride;
    if (kind == SlotPages)
        unit = pages_unit(n);
    if (kind == SlotParts)
        unit *= region_rows(p, &p->region.at[p->region_of[node]]);
    const bool keep = until == p->order.n;
    int s = p->value[node].slot;            /* a kept value has its own */
    if (!keep)
        s = reuse_operand(p, node, place, kind);
    if (s < 0 && !keep)
        s = best_free(p, n->entry, kind, unit, place);
    if (s < 0) {
        const Slot fresh = { .kind = kind, .entry = n->entry, .unit = unit,
                             .kept = keep };
        s = p->slot.n;
        vec_push(p->arena_, &p->slot, fresh);
    }
    if (p->slot.at[s].unit < unit)
        p->slot.at[s].unit = unit;
    p->slot.at[s].stride = p->value[node].stride;
    p->slot.at[s].until = until;
    p->value[node].slot = s;
}

/* The second round starts from the sizes of the first: all layers then find
 * the slots alike.                                                          */
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

/* Is the value read outside of its layer? */
static bool leaves_layer(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    for (int o = 0; o < p->order.n; o++) {
        const Node *r = node_at(p, p->order.at[o]);
        if (reads(p, p->order.at[o], node)
            && (r->layer != n->layer || strcmp(r->stack, n->stack)))
            return true;
    }
    return false;
}

/* Another value of this name that lives in another slot. */
static bool name_taken(const Plan *p, int before, const char *name, int slot)
{
    for (int o = 0; o < before; o++) {
        const Value *v = &p->value[p->order.at[o]];
        if (v->name && !strcmp(v->name, name) && v->slot != slot
            && p->slot.at[v->slot].entry == p->slot.at[slot].entry)
            return true;
    }
    return false;
}

/* What flows through the layers is x, whichever layer made it, so that all
 * layers read alike; other values have names of their own, also where they
 * use the same memory in turn.                                              */
static void name_values(Plan *p)
{
    for (int o = 0; o < p->order.n; o++) {
        const int node = p->order.at[o];
        if (p->value[node].slot >= 0 && leaves_layer(p, node)
            && node_at(p, node)->type.rank == 2)
            p->slot.at[p->value[node].slot].stream |= !p->keep_all;
    }
    for (int o = 0; o < p->order.n; o++) {
        Value *v = &p->value[p->order.at[o]];
        if (v->slot < 0)
            continue;
        const char *label = p->slot.at[v->slot].stream
            ? "x" : value_label(p, p->order.at[o]);
        v->name = label;
        for (int k = 2; name_taken(p, o, v->name, v->slot); k++)
            v->name = arena_printf(p->arena_, "%s%d", label, k);
    }
}

/* Pages of sequence s begin at start[s]/64 + s: rows/64 + sequences cover
 * every batch, since ceil(len/64) <= floor sums + 1.                        */
static void place_slots(Plan *p)
{
    for (int e = EntryEncode; e <= EntryDecode; e++) {
        Linear4 at = { 0 };
        for (int i = 0; i < p->slot.n; i++) {
            Slot *s = &p->slot.at[i];
            if (s->entry != (Entry)e)
                continue;
            s->at = at;
            if (s->kind == SlotRows) {
                at.rows += s->unit;
            } else if (s->kind == SlotPages) {
                at.rows += round16(s->unit / ATTN_PAGE);
                at.sequences += s->unit;
            } else if (s->kind == SlotSequences) {
                at.sequences += s->unit;
            } else {
                at.parts += s->unit;
            }
        }
        at.parts += p->scratch;
        p->arena[e] = at;
    }
}

void plan_arena(Plan *p)
{
    assign_all(p);
    place_slots(p);
    name_values(p);
}
