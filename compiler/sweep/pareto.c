/* pareto.c: finds the Pareto front for two columns, and sorts the rows. */
#include <math.h>
#include <stdlib.h>

#include "sweep/sweep_parts.h"

/* Returns a value of the column such that less is better: negated if more is
 * better. */
static double column_value(const SweepColumn *c, const Row *r)
{
    const double x = c->get(r, c->which);
    return c->better > 0 ? -x : x;
}

static bool has_both(const Sweep *s, const Row *r)
{
    return column_has(&s->pareto.at[0], r) && column_has(&s->pareto.at[1], r);
}

/* True if x is better than y in one column and not worse in the other. */
static bool beats(const Sweep *s, const Row *x, const Row *y)
{
    const SweepColumn *c = s->pareto.at;
    const double x0 = column_value(&c[0], x), y0 = column_value(&c[0], y);
    const double x1 = column_value(&c[1], x), y1 = column_value(&c[1], y);
    return x0 <= y0 && x1 <= y1 && (x0 < y0 || x1 < y1);
}

void front_mark(Sweep *s)
{
    for (int i = 0; s->pareto.n == 2 && i < s->rows.n; i++) {
        Row *r = &s->rows.at[i];
        r->pareto = has_both(s, r);
        for (int k = 0; r->pareto && k < s->rows.n; k++) {
            const Row *other = &s->rows.at[k];
            r->pareto = !has_both(s, other) || !beats(s, other, r);
        }
    }
}

/* Returns the better end of the value's interval. */
static double hoped(const SweepColumn *c, const Row *r)
{
    const RowWork *w = row_main(r);
    const double error = w && w->time.n > 0 ? summary_error(&w->time) : 0;
    const double x = column_value(c, r);
    return c->needs == NeedsTimes ? x - fabs(x) * (error < 0 ? 1 : error) : x;
}

bool front_near(const Sweep *s, const Row *r)
{
    const SweepColumn *c = s->pareto.at;
    if (s->pareto.n != 2 || !has_both(s, r))
        return false;
    const double x0 = hoped(&c[0], r), x1 = hoped(&c[1], r);
    for (int i = 0; i < s->rows.n; i++) {
        const Row *y = &s->rows.at[i];
        if (y == r || !has_both(s, y))
            continue;
        const double y0 = column_value(&c[0], y), y1 = column_value(&c[1], y);
        if (y0 <= x0 && y1 <= x1 && (y0 < x0 || y1 < x1))
            return false;
    }
    return true;
}

/* ---- order ---- */
typedef struct {
    int row;
    bool refused;
    double key;
} Ranked;

static int by_key(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->refused != y->refused)
        return x->refused - y->refused;
    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (x->key < y->key || x->key > y->key)
        return x->key < y->key ? -1 : 1;
    return x->row - y->row;
}

int *rows_sorted(const Sweep *s)
{
    const size_t n = (size_t)s->rows.n;
    const SweepColumn *c = s->sort.n ? &s->sort.at[0] : NULL;
    Ranked *ranked = arena_alloc(s->arena, n * sizeof *ranked);
    int *order = arena_alloc(s->arena, n * sizeof *order);
    for (size_t i = 0; i < n; i++) {
        const Row *r = &s->rows.at[i];
        const bool numbers = c && c->get && column_has(c, r);
        ranked[i] = (Ranked){ (int)i, r->state == RowRefused,
                              numbers ? column_value(c, r) : NAN };
    }
    qsort(ranked, n, sizeof *ranked, by_key);
    for (size_t i = 0; i < n; i++)
        order[i] = ranked[i].row;
    return order;
}
