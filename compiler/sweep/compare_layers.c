/* compare_layers.c: prints Table 1 of the paper for the variants of a sweep. A
 * line is a kind of layer at all lengths: its formulas, its times, and the
 * exponent with which its time grows with the length. */
#include <math.h>
#include <string.h>

#include "base/strings.h"
#include "base/table.h"
#include "sweep/sweep_draw.h"

/* number of the largest lengths from which the exponent is fitted, because
 * other costs dominate at small lengths */
enum { PowerPoints = 4 };

int compare_axis(const Sweep *s)
{
    for (int i = 0; i < s->axes.n; i++)
        if (s->axes.at[i].kind == AxisLengths)
            return i;
    return -1;
}

static double length_of(const Sweep *s, const Row *r)
{
    const Axis *x = &s->axes.at[compare_axis(s)];
    return (double)axis_number(x, r->variant->value[compare_axis(s)]);
}

/* ---- exponents ---- */

/* Returns the slope of the least-squares line through the logarithms of the
 * last PowerPoints points; x is ascending. NAN if there are fewer than two
 * points. */
static double slope(const double *x, const double *y, int n)
{
    const int from = n > PowerPoints ? n - PowerPoints : 0;
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (int i = from; i < n; i++) {
        mx += log(x[i]) / (n - from);
        my += log(y[i]) / (n - from);
    }
    for (int i = from; i < n; i++) {
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    }
    return xx > 0 ? xy / xx : NAN;
}

int compare_line(const Sweep *s, int first, const Row **to)
{
    const int axis = compare_axis(s);
    int n = 0;
    for (int i = 0; i < s->rows.n; i++) {
        const Row *r = &s->rows.at[i];
        if (!same_panel(s, axis, &s->rows.at[first], r))
            continue;
        if (i < first)
            return 0;
        int at = n++;
        for (; at > 0 && length_of(s, to[at - 1]) > length_of(s, r); at--)
            to[at] = to[at - 1];
        to[at] = r;
    }
    return n;
}

static double line_exponent(Sweep *s, const Row *const *row, int n)
{
    double *x = arena_alloc(s->arena, (size_t)n * sizeof *x + 1);
    double *y = arena_alloc(s->arena, (size_t)n * sizeof *y + 1);
    int known = 0;
    for (int i = 0; i < n; i++) {
        const RowWork *w = row[i]->state == RowTimed ? row_main(row[i]) : NULL;
        if (!w || w->time.n == 0)
            continue;
        x[known] = length_of(s, row[i]);
        y[known++] = w->time.p50;
    }
    return slope(x, y, known);
}

void compare_exponents(Sweep *s)
{
    const Row **line = arena_alloc(s->arena,
                                   (size_t)s->rows.n * sizeof *line + 1);
    for (int i = 0; i < s->rows.n; i++)
        s->rows.at[i].exponent = NAN;
    for (int i = 0; i < s->rows.n && compare_axis(s) >= 0; i++) {
        const int n = compare_line(s, i, line);
        const double exponent = line_exponent(s, line, n);
        for (int k = 0; k < n; k++)
            s->rows.at[line[k] - s->rows.at].exponent = exponent;
    }
}

/* ---- table ---- */
typedef VEC(const char *) Texts;
typedef struct { /* [lines][columns]: texts of the cells */
    const Sweep *s;
    Texts head;
    VEC(Texts) line;
} Table;

const char *compare_name(const Sweep *s, const Row *r)
{
    const char *text = s->options->nspecs > 1 ? r->variant->label : "";
    for (int i = 0; i < s->axes.n; i++)
        if (i != compare_axis(s))
            text = arena_printf(s->arena, "%s%s%s", text, *text ? " " : "",
                                plain_text(s->arena, r->variant->value[i]));
    return *text ? text : r->variant->label;
}

/* True if the table has a column per length for this figure. Other figures are
 * those at the largest length. */
static bool each_length(const SweepColumn *c)
{
    return c->needs == NeedsTimes && c->kind == UnitSeconds;
}

/* True if the table has this column. It omits the ends of a time's interval,
 * which --format=csv prints. */
static bool is_shown(const SweepColumn *c)
{
    return !each_length(c) || !strcmp(c->name, "latency");
}

static void put_line(Table *t, const Row *const *row, int n)
{
    const Sweep *s = t->s;
    const Row *last = row[n - 1];
    Texts to = { 0 };
    vec_push(s->arena, &to, compare_name(s, last));
    if (last->state == RowRefused) {
        vec_push(s->arena, &to, plain_text(s->arena, last->message));
        vec_push(s->arena, &t->line, to);
        return;
    }
    for (int i = 0; i < s->columns.n; i++) {
        const SweepColumn *c = &s->columns.at[i];
        for (int k = each_length(c) ? 0 : n - 1; is_shown(c) && k < n; k++)
            vec_push(s->arena, &to, column_text(s->arena, c, row[k]));
    }
    vec_push(s->arena, &t->line, to);
}

static void put_heads(Table *t, const Row *const *row, int n)
{
    const Sweep *s = t->s;
    const int axis = compare_axis(s);
    vec_push(s->arena, &t->head, "layer");
    for (int i = 0; i < s->columns.n; i++) {
        const SweepColumn *c = &s->columns.at[i];
        if (is_shown(c) && !each_length(c))
            vec_push(s->arena, &t->head, c->head);
        for (int k = 0; is_shown(c) && each_length(c) && k < n; k++)
            vec_push(s->arena, &t->head,
                     arena_printf(s->arena, "ms %s",
                                  row[k]->variant->value[axis]));
    }
}

static void put_texts(const TextTable *t, const Texts *row)
{
    fputs(t->markdown ? "|" : "", t->out);
    for (int i = 0; i < row->n; i++)
        if (t->markdown || i == 0 || row->n == t->n)
            table_cell(t, i, row->at[i]);
        else
            fprintf(t->out, "  %s", row->at[i]); /* why it is rejected */
    for (int i = row->n; t->markdown && i < t->n; i++)
        fputs(" |", t->out);
    fputc('\n', t->out);
}

/* Prints a table with left-aligned names and formulas. */
static void put_table(const Table *t, FILE *out)
{
    const bool markdown = t->s->options->format == BenchMarkdown;
    TextTable text = text_table(t->s->arena, out, markdown, t->head.n);
    for (int i = 0; i < text.n; i++) {
        text.left[i] = i <= 1;
        table_widen(&text, i, t->head.at[i]);
        for (int k = 0; k < t->line.n; k++)
            if (t->line.at[k].n == text.n)
                table_widen(&text, i, t->line.at[k].at[i]);
    }
    put_texts(&text, &t->head);
    table_rule(&text);
    for (int i = 0; i < t->line.n; i++)
        put_texts(&text, &t->line.at[i]);
}

static void put_note(const Sweep *s, const char *most, int lengths, FILE *out)
{
    const char *text = arena_printf(s->arena,
                                    "\nOperations, sequential ones, path and "
                                    "FLOPs are of one layer at n = %s.",
                                    most);
    if (s->times)
        text = arena_printf(s->arena,
                            "%s Times are of a call; they grow as that power "
                            "of n over the longest %d lengths.",
                            text,
                            lengths < PowerPoints ? lengths : PowerPoints);
    put_wrapped(out, 0, 0,
                arena_printf(s->arena, "%s Workload: %s.", text,
                             workload_text(s, s->arena)));
}

void compare_print(const Sweep *s, FILE *out)
{
    Table t = { .s = s };
    const Row **line = arena_alloc(s->arena,
                                   (size_t)s->rows.n * sizeof *line + 1);
    const int lengths = compare_line(s, 0, line);
    const char *most = line[lengths - 1]->variant->value[compare_axis(s)];
    put_heads(&t, line, lengths);
    for (int i = 0; i < s->rows.n; i++) {
        const int n = compare_line(s, i, line);
        if (n > 0)
            put_line(&t, line, n);
    }
    put_table(&t, out);
    put_note(s, most, lengths, out);
}
