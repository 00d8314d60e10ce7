/* arena_picture.c: computes when each value of a call is in the arena, and at
 * which offset.
 *
 * Consecutive layers whose steps use the same memory at the same times are
 * drawn once. A value of the first layer then stands for the same value in all
 * of them, with the longest lifetime among them. */
#include <math.h>

#include "draw/arena_picture.h"

static const Node *step_node(const ArenaPicture *d, int place)
{
    return node_at(d->p, d->p->order.at[place]);
}

static int64_t bytes_at(const ArenaPicture *d, AffineSize size)
{
    return 4 * affine_at(size, d->rows, d->sequences, 1);
}

static bool in_arena(const ArenaPicture *d, int place)
{
    return d->p->value[d->p->order.at[place]].place == PlaceArena;
}

static int64_t place_of(const ArenaPicture *d, int place)
{
    const int slot = d->p->value[d->p->order.at[place]].slot;
    return bytes_at(d, d->p->slot.at[slot].at);
}

/* ---- layers ---- */

/* Returns the end of the layer that begins at `place` in the order. */
static int end_of(const ArenaPicture *d, int place)
{
    const Node *n = step_node(d, place);
    int end = place + 1;
    while (n->layer >= 0 && end < d->p->order.n
           && step_node(d, end)->entry == n->entry
           && same_layer(step_node(d, end), n))
        end++;
    return end;
}

/* Returns the place of a value's last reader, counted from the beginning of the
 * layer; order.n if the reader comes after it. */
static int dies(const ArenaPicture *d, int place, int begin, int end)
{
    const int last = d->p->reads[d->p->order.at[place]].last;
    return last >= end ? d->p->order.n : last - begin;
}

static bool alike(const ArenaPicture *d, int a, int a_end, int b, int b_end)
{
    if (step_node(d, a)->layer < 0 || step_node(d, b)->layer < 0
        || step_node(d, a)->stack != step_node(d, b)->stack
        || b_end - b != a_end - a)
        return false;
    for (int i = 0; i < a_end - a; i++)
        if (step_node(d, a + i)->op != step_node(d, b + i)->op
            || in_arena(d, a + i) != in_arena(d, b + i)
            || (in_arena(d, a + i)
                && (place_of(d, a + i) != place_of(d, b + i)
                    || dies(d, a + i, a, a_end) != dies(d, b + i, b, b_end))))
            return false;
    return true;
}

/* Makes a step for each place in the order. A layer that is equal to the one
 * before gets no steps of its own. */
static void make_steps(ArenaPicture *d)
{
    int begin = 0, end = 0; /* range of the layer being drawn */
    for (int o = 0, next; o < d->p->order.n; o = next) {
        const Node *n = step_node(d, o);
        next = end_of(d, o);
        if (n->entry != d->entry) {
            for (int i = o; i < next; i++)
                d->column[i] = -1;
            continue;
        }
        if (end > begin && alike(d, begin, end, o, next)) {
            d->layers.at[d->layers.n - 1].count++;
            for (int i = o; i < next; i++)
                d->column[i] = d->column[begin + i - o];
            continue;
        }
        begin = o;
        end = next;
        if (n->layer >= 0)
            vec_push(d->arena, &d->layers,
                     ((ArenaLayers){
                         n->stack,
                         n->layer,
                         1,
                         { d->step.n, d->step.n + next - o - 1 } }));
        for (int i = o; i < next; i++) {
            d->column[i] = d->step.n;
            vec_push(d->arena, &d->step, d->p->order.at[i]);
        }
    }
}

/* ---- times ---- */
static const ArenaLayers *layers_at(const ArenaPicture *d, int step)
{
    for (int i = 0; i < d->layers.n; i++)
        if (d->layers.at[i].step[0] <= step && step <= d->layers.at[i].step[1])
            return &d->layers.at[i];
    return NULL;
}

/* Returns the step at which a value ends: in the middle of the step that reads
 * it last or, if that is not drawn, after the drawn layers. */
static double ends_at(const ArenaPicture *d, int place)
{
    const int last = d->p->reads[d->p->order.at[place]].last;
    if (last < 0)
        return d->column[place] + 1;
    if (last >= d->p->order.n || d->column[last] < 0)
        return d->step.n;
    const ArenaLayers *l = layers_at(d, d->column[last]);
    const Node *reader = step_node(d, last);
    const bool later = l && reader->layer > l->first
                    && !same_layer(reader, step_node(d, place));
    return later ? l->step[1] + 1 : d->column[last] + 0.5;
}

static ArenaValue *value_at(ArenaPicture *d, int node)
{
    for (int i = 0; i < d->value.n; i++)
        if (d->value.at[i].node == node)
            return &d->value.at[i];
    return NULL;
}

static void make_values(ArenaPicture *d)
{
    for (int o = 0; o < d->p->order.n; o++) {
        if (d->column[o] < 0 || !in_arena(d, o))
            continue;
        const int node = d->step.at[d->column[o]];
        const int64_t bytes = bytes_at(d,
                                       value_floats(d->p, d->p->order.at[o]));
        ArenaValue *v = value_at(d, node);
        if (!v) {
            vec_push(d->arena, &d->value,
                     ((ArenaValue){ node, d->column[o] + 0.5, 0, place_of(d, o),
                                    bytes }));
            v = &d->value.at[d->value.n - 1];
        }
        v->to = fmax(v->to, ends_at(d, o));
        d->apart += bytes;
    }
}

static void find_peak(ArenaPicture *d)
{
    for (int s = 0; s < d->step.n; s++) {
        const Node *n = node_at(d->p, d->step.at[s]);
        int64_t sum = n->op == OpAttention ? d->scratch : 0;
        for (int i = 0; i < d->value.n; i++) {
            const ArenaValue *v = &d->value.at[i];
            if (v->from < s + 0.75 && v->to > s + 0.75)
                sum += v->bytes;
        }
        if (sum > d->most) {
            d->most = sum;
            d->peak = s;
        }
    }
}

ArenaPicture arena_picture(Arena *a, const Plan *p, Entry entry)
{
    const Spec *s = p->g->spec;
    const bool search = entry == EntryDecode && has_entry(p, EntryEncode);
    ArenaPicture d = { .arena = a,
                       .p = p,
                       .entry = entry,
                       .rows = search ? s->search_beam : report_rows(p, entry),
                       .sequences = search ? s->search_beam : 1 };
    d.column = arena_alloc(a, (size_t)(p->order.n + 1) * sizeof *d.column);
    d.scratch = 4 * p->scratch;
    d.bytes = bytes_at(&d, p->arena[entry]);
    d.apart = d.scratch;
    make_steps(&d);
    make_values(&d);
    find_peak(&d);
    return d;
}
