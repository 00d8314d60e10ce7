/* records_print.c: prints records as a table with a group per host, as JSON, or
 * as comma-separated values. */
#include <string.h>

#include "base/table.h"
#include "base/strings.h"
#include "records/records.h"

/* ---- table ---- */
enum { TextColumns = 5, Columns = 9 };
static const char *const heads[Columns] = { "op",       "shape",   "dtype",
                                            "epilogue", "tile",    "a run",
                                            "gain",     "samples", "spread" };

static void cells(Arena *a, const Record *r, const char *cell[Columns])
{
    const double gain = r->ns > 0 ? r->usual_ns / r->ns : 1;
    cell[0] = task_word[r->key.kind];
    cell[1] = r->key.shape;
    cell[2] = dtype_word[r->key.dtype];
    cell[3] = r->key.epilogue;
    cell[4] = tiling_text(a, &r->tiling);
    cell[5] = seconds_text(a, 1e-9 * r->ns);
    cell[6] = arena_printf(a, "%.2fx", gain);
    cell[7] = arena_printf(a, "%d", r->samples);
    cell[8] = arena_printf(a, "%.1f %%", 100 * r->spread);
}

static void put_row(const TextTable *t, const char *const cell[Columns])
{
    fputs("  ", t->out);
    for (int c = 0; c < Columns; c++)
        table_cell(t, c, cut_middle(t->arena, cell[c], t->fit[c].width - 2));
}

/* Fits the columns to the terminal: shortens tiles, then drops columns. */
static void fit_columns(TextTable *t)
{
    static const int rank[Columns] = { 0, 0, 4, 3, 1, 2, 0, 6, 5 };
    enum { Tile = 4, LeastTile = 16 };
    TableFit *tile = &t->fit[Tile];
    const int whole = tile->width, room = table_room(t->out);
    for (int c = 0; c < Columns; c++)
        t->fit[c].rank = rank[c];
    if (room > 0 && whole > LeastTile + 2)
        tile->width = LeastTile + 2;
    const int left = table_fit(t->fit, Columns, room);
    if (left > 0)
        tile->width += left < whole - tile->width ? left : whole - tile->width;
}

/* Prints all records of the host of record `first`. */
static void put_group(const Records *r, Arena *a, int first, FILE *out)
{
    const Host *host = &r->at.at[first].host;
    const char *cell[Columns];
    TextTable t = text_table(a, out, false, Columns);
    for (int i = first; i < r->at.n; i++)
        if (host_same(host, &r->at.at[i].host)) {
            cells(a, &r->at.at[i], cell);
            for (int c = 0; c < Columns; c++)
                table_widen(&t, c, cell[c]);
        }
    for (int c = 0; c < Columns; c++) {
        t.left[c] = c < TextColumns;
        table_widen(&t, c, heads[c]);
    }
    fit_columns(&t);
    fputs(paint(out, PaintHead), out);
    put_row(&t, heads);
    fprintf(out, "%s\n", paint(out, PaintEnd));
    for (int i = first; i < r->at.n; i++)
        if (host_same(host, &r->at.at[i].host)) {
            cells(a, &r->at.at[i], cell);
            put_row(&t, cell);
            fputc('\n', out);
        }
}

void records_table(const Records *r, FILE *out)
{
    Arena *a = arena_new();
    for (int i = 0, groups = 0; i < r->at.n; i++) {
        bool shown = false;
        for (int k = 0; k < i && !shown; k++)
            shown = host_same(&r->at.at[k].host, &r->at.at[i].host);
        if (shown)
            continue;
        fprintf(out, "%s%s\n", groups++ ? "\n" : "",
                host_text(a, &r->at.at[i].host));
        put_group(r, a, i, out);
    }
    arena_free(a);
}

/* ---- JSON, CSV ---- */
void records_json(const Records *r, FILE *out)
{
    Arena *a = arena_new();
    fputs("[", out);
    for (int i = 0; i < r->at.n; i++)
        fprintf(out, "%s\n%s", i ? "," : "", record_line(a, &r->at.at[i]));
    fputs("\n]\n", out);
    arena_free(a);
}

void records_csv(const Records *r, FILE *out)
{
    Arena *a = arena_new();
    columns_csv(record_columns, KeyColumns, NULL, out);
    fputs(",tile,", out);
    columns_csv(record_columns + KeyColumns, TimeColumns, NULL, out);
    for (int i = 0; i < r->at.n; i++) {
        const Record *at = &r->at.at[i];
        fputc('\n', out);
        columns_csv(record_columns, KeyColumns, at, out);
        fputc(',', out);
        put_csv_text(tiling_text(a, &at->tiling), out);
        fputc(',', out);
        columns_csv(record_columns + KeyColumns, TimeColumns, at, out);
    }
    fputc('\n', out);
    arena_free(a);
}
