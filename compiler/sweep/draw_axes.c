/* draw_axes.c: selects the quantities in the picture of a sweep: those of
 * --axes or, by default, the varied fields. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep_draw.h"

enum { MostPanels = 36 };

/* ---- options ---- */
static int find_axis(const Sweep *s, const char *name)
{
    for (int i = 0; i < s->axes.n; i++)
        if (!strcmp(s->axes.at[i].key, name))
            return i;
    return -1;
}

void draw_read(Sweep *s)
{
    const char *list = s->options->axes;
    s->drawn_axis = -1;
    if (s->options->layers && s->options->svg)
        columns_read(s->arena, "latency", "--svg", &s->drawn, &s->fields);
    if (!list)
        return;
    if (!s->options->svg)
        fail(ExitUsage, "--axes says what --svg draws: give --svg FILE");
    const size_t n = strcspn(list, ",");
    s->drawn_axis = find_axis(s, arena_strndup(s->arena, list, n));
    if (s->drawn_axis >= 0 && !list[n])
        fail(ExitUsage, "--axes %s: a column too: --axes=%s,latency",
             quote(list), s->axes.at[s->drawn_axis].key);
    columns_read(s->arena, s->drawn_axis >= 0 ? list + n + 1 : list, "--axes",
                 &s->drawn, &s->fields);
    if (s->drawn.n > (s->drawn_axis >= 0 ? 1 : 2))
        fail(ExitUsage, "--axes takes two names: parameters,latency");
}

/* ---- measures ---- */
static double number_of(const char *text)
{
    char *end;
    const double x = strtod(text, &end);
    return *text && !*end && isfinite(x) ? x : NAN;
}

double measure_get(const Measure *m, const Row *r)
{
    if (r->state == RowRefused || r->state == RowNew)
        return NAN;
    if (m->axis >= 0)
        return number_of(r->variant->value[m->axis]);
    if (!m->c)
        return NAN;
    return m->c->word ? number_of(m->c->word(r, m->c->which))
                      : m->c->get(r, m->c->which);
}

UnitKind measure_kind(const Measure *m)
{
    return m->axis < 0 && m->c ? m->c->kind : UnitWord;
}

static Measure of_column(const SweepColumn *c)
{
    Measure m = { .name = c->name, .axis = -1, .c = c };
    column_ends(c, &m.low, &m.high);
    return m;
}

static Measure of_axis(const Sweep *s, int axis)
{
    return (Measure){ .name = s->axes.at[axis].key, .axis = axis };
}

static bool any_number(const Sweep *s, const SweepColumn *c)
{
    const Measure m = { .axis = -1, .c = c };
    for (int i = 0; i < s->rows.n; i++)
        if (!isnan(measure_get(&m, &s->rows.at[i])))
            return true;
    return false;
}

/* Returns the nth of the reported columns that have numbers. */
static Measure nth_column(const Sweep *s, int n)
{
    for (int i = 0; i < s->columns.n; i++) {
        const SweepColumn *c = &s->columns.at[i];
        if (c->get && any_number(s, c) && n-- == 0)
            return of_column(c);
    }
    return (Measure){ .axis = -1 };
}

/* ---- view ---- */
static bool all_numbers(const Axis *x)
{
    for (int i = 0; i < x->value.n; i++)
        if (isnan(number_of(x->value.at[i])))
            return false;
    return true;
}

bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y)
{
    bool same = x->variant->spec == y->variant->spec;
    for (int i = 0; i < s->axes.n; i++)
        same = same
            && (i == axis || s->options->zip
                || x->variant->value[i] == y->variant->value[i]);
    return same;
}

const char *row_name(const Sweep *s, Arena *a, const Row *r)
{
    const char *name = variant_text(a, &s->axes, r->variant);
    return s->options->nspecs > 1 && s->axes.n > 0
             ? arena_printf(a, "%s %s", r->variant->label, name)
             : name;
}

const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r)
{
    const char *name = s->options->nspecs > 1 ? r->variant->label : "";
    for (int i = 0; i < s->axes.n; i++)
        if (i != axis && s->axes.at[i].value.n > 1)
            name = arena_printf(a, "%s%s%s %s", name, *name ? ", " : "",
                                s->axes.at[i].key, r->variant->value[i]);
    return name;
}

/* Returns the axis over which lines are drawn, which is the last one with
 * numbers; -1 if there is none, or if more than two axes vary. */
static int line_axis(const Sweep *s)
{
    int axis = -1, varied = s->options->nspecs > 1, panels = 1;
    for (int i = 0; i < s->axes.n; i++) {
        varied += s->axes.at[i].value.n > 1;
        if (s->axes.at[i].value.n > 1 && all_numbers(&s->axes.at[i]))
            axis = i;
    }
    if (axis < 0 || varied > 2 || (s->options->zip && s->axes.n > 1))
        return -1;
    panels = s->rows.n / s->axes.at[axis].value.n;
    return panels <= MostPanels ? axis : -1;
}

View view_choose(const Sweep *s)
{
    const Columns *drawn = &s->drawn, *pareto = &s->pareto;
    const int axis = s->drawn_axis >= 0 ? s->drawn_axis
                   : drawn->n == 2      ? -1
                                        : line_axis(s);
    View v = { .lines = axis >= 0 };
    v.x = axis >= 0     ? of_axis(s, axis)
        : drawn->n == 2 ? of_column(&drawn->at[0])
        : pareto->n     ? of_column(&pareto->at[0])
                        : nth_column(s, 0);
    v.y = drawn->n  ? of_column(&drawn->at[drawn->n - 1])
        : pareto->n ? of_column(&pareto->at[1])
                    : nth_column(s, axis >= 0 ? 0 : 1);
    return v;
}

/* ---- check ---- */

/* True if the row has this number, or may have it after a run. */
static bool can_have(const Sweep *s, const Measure *m)
{
    for (int i = 0; i < s->rows.n; i++) {
        const Row *r = &s->rows.at[i];
        if (!isnan(measure_get(m, r)))
            return true;
        if (m->c && m->c->needs == NeedsTimes && m->c->get
            && r->state == RowPlanned
            && (m->c->which >= WorkKinds || r->work[m->c->which].there))
            return true;
    }
    return false;
}

static void check_measure(const Sweep *s, const Measure *m)
{
    if (m->axis < 0 && !m->c)
        fail(ExitUsage, "--svg: there are no two columns of numbers to draw: "
                        "--axes=parameters,flops");
    if (!can_have(s, m))
        fail(ExitUsage,
             "--svg: no variant has a number in %s: --axes names "
             "two that have",
             quote(m->name));
}

void draw_check(const Sweep *s)
{
    int panels = 0;
    bool any = false;
    for (int i = 0; i < s->rows.n; i++)
        any |= s->rows.at[i].state != RowRefused;
    if (!any) /* the errors are reported at the end */
        return;
    const View v = view_choose(s);
    check_measure(s, &v.x);
    check_measure(s, &v.y);
    for (int i = 0; v.lines && i < s->rows.n; i++) {
        int k = 0;
        while (!same_panel(s, v.x.axis, &s->rows.at[k], &s->rows.at[i]))
            k++;
        panels += k == i;
    }
    if (panels > MostPanels)
        fail(ExitUsage,
             "--axes %s: %d panels, one for each combination of "
             "the others: at most %d are drawn: two columns make "
             "a scatter",
             quote(s->options->axes), panels, MostPanels);
}
