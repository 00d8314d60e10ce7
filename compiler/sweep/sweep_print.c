/* sweep_print.c: prints a sweep as a text or Markdown table. CSV and JSON have
 * the same numbers, with all digits. */
#include <string.h>

#include "base/console.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/strings.h"
#include "sweep/sweep_parts.h"

enum { LeastMessage = 40 };

typedef struct { /* a column of the table: an axis, the spec, or a figure */
    const char *head;
    int axis;             /* index of the axis; -1: the spec */
    const SweepColumn *c; /* the figure; NULL: an axis, or the spec */
} Cell;
typedef VEC(Cell) Cells;

typedef struct {
    const Sweep *s;
    Cells cells;
    TextTable text;
    int first; /* index of the first figure among the cells */
} Table;

/* ---- cells ---- */

/* True if the row has a value in the column, or may get one. */
static bool will_have(const SweepColumn *c, const Row *r)
{
    const bool work = c->which < WorkKinds ? r->work[c->which].there
                                           : row_main(r) != NULL;
    return r->state != RowRefused
        && (c->needs == NeedsTimes
                ? r->state == RowTimed ? column_has(c, r) : work
                : column_has(c, r));
}

/* True if any row has a value or may get one. Other columns are hidden. */
static bool any_has(const Sweep *s, const SweepColumn *c)
{
    for (int i = 0; i < s->rows.n; i++)
        if (will_have(c, &s->rows.at[i]))
            return true;
    return false;
}

static void find_cells(Table *t)
{
    const Sweep *s = t->s;
    if (s->options->nspecs > 1 || s->axes.n == 0)
        vec_push(s->arena, &t->cells, ((Cell){ "spec", -1, NULL }));
    for (int i = 0; i < s->axes.n; i++)
        vec_push(s->arena, &t->cells, ((Cell){ s->axes.at[i].key, i, NULL }));
    t->first = t->cells.n;
    for (int i = 0; i < s->columns.n; i++)
        if (any_has(s, &s->columns.at[i]))
            vec_push(s->arena, &t->cells,
                     ((Cell){ s->columns.at[i].head, 0, &s->columns.at[i] }));
}

static const char *cell_text(const Table *t, const Cell *c, const Row *r)
{
    if (c->c)
        return column_text(t->s->arena, c->c, r);
    return plain_text(t->s->arena, c->axis < 0 ? r->variant->label
                                               : r->variant->value[c->axis]);
}

static bool any_words(const Table *t, const Cell *c)
{
    bool words = c->c && c->c->needs == NeedsTimes && c->c->kind == UnitWord;
    for (int i = 0; i < t->s->rows.n; i++) {
        const Row *r = &t->s->rows.at[i];
        if (!c->c || r->state != RowRefused)
            words |= !strchr("-.0123456789", *cell_text(t, c, r));
    }
    return words;
}

static Table new_table(const Sweep *s, FILE *out, bool markdown)
{
    Table t = { .s = s };
    find_cells(&t);
    t.text = text_table(s->arena, out, markdown, t.cells.n);
    for (int i = 0; i < t.cells.n; i++) {
        const Cell *c = &t.cells.at[i];
        table_widen(&t.text, i, c->head);
        for (int k = 0; k < s->rows.n; k++)
            if (!c->c || s->rows.at[k].state != RowRefused)
                table_widen(&t.text, i, cell_text(&t, c, &s->rows.at[k]));
        t.text.left[i] = any_words(&t, c);
        t.text.fit[i].rank = c->c ? c->c->rank : 0;
    }
    table_fit(t.text.fit, t.cells.n, markdown ? 0 : table_room(out));
    return t;
}

/* ---- rows ---- */
static void put_head(const Table *t)
{
    FILE *out = t->text.out;
    const bool seen = !t->text.markdown;
    fprintf(out, "%s%s", seen ? paint(out, PaintHead) : "|", seen ? "  " : "");
    for (int i = 0; i < t->cells.n; i++)
        table_cell(&t->text, i, t->cells.at[i].head);
    fprintf(out, "%s\n", seen ? paint(out, PaintEnd) : "");
    table_rule(&t->text);
}

/* Prints why the variant is rejected, in place of the figures. */
static void put_message(const Table *t, const Row *r)
{
    FILE *out = t->text.out;
    const char *text = plain_text(t->s->arena, r->message);
    int used = 2;
    if (t->text.markdown) {
        fprintf(out, " %s |", text);
        for (int i = t->first + 1; i < t->cells.n; i++)
            fputs(" |", out);
        return;
    }
    for (int i = 0; i < t->first; i++)
        used += t->text.fit[i].width;
    const int room = table_room(out) - used - 1;
    if (table_room(out) > 0)
        text = cut_middle(t->s->arena, text,
                          room > LeastMessage ? room : LeastMessage);
    fprintf(out, "  %s", text);
}

static void put_row(const Table *t, const Row *r)
{
    const bool markdown = t->text.markdown;
    fputs(markdown ? "|" : r->pareto ? "* " : "  ", t->text.out);
    for (int i = 0; i < t->cells.n; i++) {
        const Cell *c = &t->cells.at[i];
        if (i == t->first && r->state == RowRefused)
            break;
        const char *text = cell_text(t, c, r);
        if (r->pareto && markdown && i == t->first)
            text = arena_printf(t->s->arena, "**%s**", text);
        table_cell(&t->text, i, text);
    }
    if (r->state == RowRefused)
        put_message(t, r);
    fputc('\n', t->text.out);
}

/* ---- notes ---- */
static bool reported_before(const Sweep *s, int row)
{
    for (int i = 0; i < row; i++)
        if (s->rows.at[i].note
            && !strcmp(s->rows.at[i].note, s->rows.at[row].note))
            return true;
    return false;
}

/* Prints each warning once, with the number of variants that caused it. */
static void put_notes(const Sweep *s, FILE *out)
{
    for (int i = 0; i < s->rows.n; i++) {
        const char *note = s->rows.at[i].note;
        int n = 0;
        if (!note || reported_before(s, i))
            continue;
        for (int k = i; k < s->rows.n; k++)
            n += s->rows.at[k].note && !strcmp(s->rows.at[k].note, note);
        fputc('\n', out);
        put_wrapped(out, 0, 4,
                    arena_printf(s->arena, "%d of %d: %s", n, s->rows.n,
                                 plain_text(s->arena, note)));
    }
}

static void put_pareto(const Sweep *s, bool markdown, FILE *out)
{
    bool any = false;
    for (int i = 0; i < s->rows.n; i++)
        any |= s->rows.at[i].pareto;
    if (any)
        fprintf(out,
                "\n%s: none is better in %s and as good in %s, or the other "
                "way round\n",
                markdown ? "bold" : "*", s->pareto.at[0].name,
                s->pareto.at[1].name);
}

/* Prints the options of the measured workload and, with --predict, the error of
 * predictions on this machine. */
static void put_workload(const Sweep *s, FILE *out)
{
    const char *text = workload_text(s, s->arena);
    if (*text)
        fprintf(out, "\nworkload: %s\n", text);
    if (s->options->predict && s->speeds.missed > 0)
        put_wrapped(out, 0, 4,
                    arena_printf(s->arena,
                                 "predicted times: of %d that were measured "
                                 "here, half were missed by less than %.0f %%, "
                                 "one in ten by more than %.0f %%",
                                 s->speeds.times, 100 * s->speeds.missed,
                                 100 * s->speeds.missed_most));
}

static void put_sweep(const Sweep *s, bool markdown, FILE *out)
{
    const Table t = new_table(s, out, markdown);
    const int *order = rows_sorted(s);
    put_head(&t);
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[order[i]].state != RowNew)
            put_row(&t, &s->rows.at[order[i]]);
    put_pareto(s, markdown, out);
    put_workload(s, out);
    put_notes(s, out);
}

/* ---- live ---- */
struct Live {
    Table table;
    int lines; /* number of lines printed */
};

static void put_live(Sweep *s, const Row *r)
{
    terminal_clear();
    if (r)
        put_row(&s->live->table, r);
    else
        put_head(&s->live->table);
    s->live->lines++;
    fflush(s->out);
}

/* A column that has no values yet is as wide as its heading. */
void live_head(Sweep *s)
{
    const bool table = s->options->format == BenchTable;
    if (!table || !terminal_rewrites(console_shown(s->out)))
        return;
    s->live = arena_alloc(s->arena, sizeof *s->live);
    s->live->table = new_table(s, s->out, false);
    put_live(s, NULL);
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[i].state >= RowTimed)
            put_live(s, &s->rows.at[i]);
}

void live_row(Sweep *s, const Row *r)
{
    if (s->live)
        put_live(s, r);
}

/* Clears the lines of live_head() and the rows, if all are still visible, so
 * that the report replaces them. */
void live_end(Sweep *s)
{
    const int rows = s->live ? terminal_lines(console_shown(s->out)) : 0;
    if (!s->live)
        return;
    terminal_clear();
    if (s->live->lines < rows)
        fprintf(s->out, "\x1b[%dA\x1b[J", s->live->lines);
    else
        fputc('\n', s->out);
    s->live = NULL;
}

void sweep_print(const Sweep *s, FILE *out)
{
    const BenchFormat format = s->options->format;
    if (s->options->layers && format != BenchJson && format != BenchCsv) {
        compare_print(s, out);
        return;
    }
    switch (format) {
    case BenchJson:     sweep_json(s, out); return;
    case BenchCsv:      sweep_csv(s, out); return;
    case BenchMarkdown: put_sweep(s, true, out); return;
    case BenchTable:    put_sweep(s, false, out);
    }
}
