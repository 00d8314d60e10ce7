/* difference.c: compares two lists of facts. Facts are matched by key, so an
 * inserted operation does not shift the others. */
#include <string.h>

#include "diff/diff.h"

typedef struct {
    Difference *to;
    const Facts *side[2];
    Index names[2];  /* index of each variant's facts by identity */
    Index layers[2]; /* each variant's layers by name: "encoder. 5" */
    bool *done;      /* [facts of b]: true if already listed */
} Walk;

static const char *identity(Arena *a, const Fact *f)
{
    return arena_printf(a, "%d %d %s", (int)f->kind, f->layer, f->key);
}

bool same_number(const Fact *a, const Fact *b)
{
    return !(a->number < b->number) && !(a->number > b->number);
}

static bool same_fact(const Fact *a, const Fact *b)
{
    return strcmp(a->text, b->text) == 0 && strcmp(a->type, b->type) == 0
        && same_number(a, b);
}

bool only_shape(const Change *c)
{
    return c->a && c->b && strcmp(c->a->text, c->b->text) == 0;
}

static bool is_measure(FactKind kind)
{
    return kind == FactCost || kind == FactTime;
}

static bool same_side(const Fact *a, const Fact *b)
{
    return !a || !b ? a == b : strcmp(a->key, b->key) == 0 && same_fact(a, b);
}

/* If both are the same change, in two layers, adds the layer of `of` to `c`.
 * Otherwise returns false. */
static bool joins(Arena *a, Change *c, const Change *of)
{
    const Fact *f = of->a ? of->a : of->b;
    if (f->layer < 0 || c->layers.n == 0 || c->whole != of->whole
        || !same_side(c->a, of->a) || !same_side(c->b, of->b))
        return false;
    vec_push(a, &c->layers, f->layer);
    return true;
}

/* Returns the name of the fact's layer, e.g. "encoder. 5". */
static const char *layer_of(Arena *a, const Fact *f)
{
    const char *hole = strstr(f->key, "{i}");
    return arena_printf(a, "%.*s %d", hole ? (int)(hole - f->key) : 0, f->key,
                        f->layer);
}

static void add_change(Walk *w, const Fact *a, const Fact *b)
{
    Difference *to = w->to;
    const Fact *f = a ? a : b;
    const bool differs = !a || !b || !same_fact(a, b);
    if (f->kind != FactTime && differs)
        to->same = false;
    if (!differs && !is_measure(f->kind))
        return;
    Change c = { .a = a, .b = b };
    if (f->layer >= 0 && (!a || !b))
        c.whole = index_find(&w->layers[!!a], layer_of(to->arena, f)) < 0;
    for (int i = 0; i < to->of[f->kind].n; i++)
        if (joins(to->arena, &to->of[f->kind].at[i], &c))
            return;
    if (f->layer >= 0)
        vec_push(to->arena, &c.layers, f->layer);
    vec_push(to->arena, &to->of[f->kind], c);
}

/* Returns the fact in variant `side` that has the same identity as `f`, or
 * NULL. */
static const Fact *other(const Walk *w, int side, const Fact *f)
{
    const int at = index_find(&w->names[side], identity(w->to->arena, f));
    return at < 0 ? NULL : &w->side[side]->at.at[at];
}

static void walk(Walk *w)
{
    const Facts *a = w->side[0], *b = w->side[1];
    int j = 0;
    for (int i = 0; i < a->at.n; i++) {
        const Fact *f = &a->at.at[i], *to = other(w, 1, f);
        /* first lists the facts that only b has, up to the next one that both
         * have */
        for (; to && j < b->at.n && b->at.at[j].kind <= f->kind; j++) {
            const Fact *own = &b->at.at[j];
            if (!w->done[j] && other(w, 0, own))
                break;
            if (!w->done[j])
                add_change(w, NULL, own);
            w->done[j] = true;
        }
        add_change(w, f, to);
        if (to)
            w->done[to - b->at.at] = true;
    }
    for (j = 0; j < b->at.n; j++)
        if (!w->done[j])
            add_change(w, NULL, &b->at.at[j]);
}

/* ---- fields ---- */
static Change *field_change(Difference *d, const char *key)
{
    for (int i = 0; i < d->of[FactField].n; i++) {
        Change *c = &d->of[FactField].at[i];
        if (strcmp((c->a ? c->a : c->b)->key, key) == 0)
            return c;
    }
    return NULL;
}

static const Fact *renamed(Arena *a, const Fact *f, const char *key)
{
    Fact *copy = f ? arena_alloc(a, sizeof *copy) : NULL;
    if (copy) {
        *copy = *f;
        copy->key = key;
    }
    return copy;
}

static bool alike(const Fact *a, const Fact *b)
{
    return !a || !b ? a == b : strcmp(a->text, b->text) == 0;
}

/* Replaces the changes of all parts of a key by one change if they are equal,
 * e.g. h.encoder and h.decoder by h. */
static void join_parts(Difference *d, const char *key, const char *const *part)
{
    Change *first = field_change(d, part[0]);
    for (int i = 0; part[i]; i++) {
        const Change *c = field_change(d, part[i]);
        if (!c || !alike(c->a, first->a) || !alike(c->b, first->b))
            return;
    }
    first->a = renamed(d->arena, first->a, key);
    first->b = renamed(d->arena, first->b, key);
    for (int i = 1; part[i]; i++) {
        const Change *c = field_change(d, part[i]);
        const int at = (int)(c - d->of[FactField].at);
        memmove(d->of[FactField].at + at, d->of[FactField].at + at + 1,
                (size_t)(d->of[FactField].n - at - 1) * sizeof *c);
        d->of[FactField].n--;
    }
}

static void add_to_index(Walk *w, int side, int i)
{
    Arena *a = w->to->arena;
    const Fact *f = &w->side[side]->at.at[i];
    index_add(a, &w->names[side], identity(a, f), i);
    if (f->kind != FactNode)
        return;
    w->to->nodes[side]++;
    if (f->layer >= 0)
        index_add(a, &w->layers[side], layer_of(a, f), f->layer);
}

void facts_differ(Difference *to, const Facts *a, const Facts *b)
{
    Walk w = { .to = to, .side = { a, b } };
    const char *key;
    to->same = true;
    for (int s = 0; s < 2; s++) {
        const Facts *f = w.side[s];
        index_reserve(to->arena, &w.names[s], f->at.n);
        for (int i = 0; i < f->at.n; i++)
            add_to_index(&w, s, i);
    }
    w.done = arena_alloc(to->arena, (size_t)b->at.n + 1);
    walk(&w);
    for (int i = 0; (key = spec_field_key(i)) != NULL; i++)
        if (spec_field_parts(i))
            join_parts(to, key, spec_field_parts(i));
}
