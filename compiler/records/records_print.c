/* records_print.c: prints records as a table grouped by host, as JSON, or as
 * comma-separated values. */
#include <string.h>

#include "base/table.h"
#include "base/strings.h"
#include "records/records.h"

/* ---- table ---- */
enum { TextColumns = 5, Columns = 9 };
static const char *const heads[Columns] = { "op",       "shape",   "dtype",
                                            "epilogue", "tile",    "a run",
                                            "gain",     "samples", "spread" };

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

static void cells(Arena *a, const Record *r, const char *cell[Columns])
{
    const double gain = r->ns > 0 ? r->usual_ns / r->ns : 1;
    cell[0] = task_word[r->key.kind];
    cell[1] = or_dash(r->key.shape);
    cell[2] = dtype_word[r->key.dtype];
    cell[3] = or_dash(r->key.epilogue);
    cell[4] = or_dash(tiling_text(a, &r->tiling));
    cell[5] = seconds_text(a, 1e-9 * r->ns);
    cell[6] = arena_printf(a, "%.2fx", gain);
    cell[7] = arena_printf(a, "%d", r->samples);
    cell[8] = arena_printf(a, "%.1f %%", 100 * r->spread);
}

static void put_row(Arena *a, const char *const cell[Columns],
                    const TableFit *fit, FILE *out)
{
    for (int c = 0; c < Columns; c++)
        if (fit[c].shown)
            fprintf(out, c < TextColumns ? "  %-*s" : "  %*s", fit[c].width - 2,
                    cut_middle(a, cell[c], fit[c].width - 2));
}

/* Fits the columns to the terminal: shortens the tiles, then drops columns. */
static void fit_columns(const int width[Columns], FILE *out, TableFit *fit)
{
    static const int rank[Columns] = { 0, 0, 4, 3, 1, 2, 0, 6, 5 };
    enum { Tile = 4, LeastTile = 16 };
    for (int c = 0; c < Columns; c++)
        fit[c] = (TableFit){ width[c] + 2, rank[c], true };
    const int whole = fit[Tile].width, room = table_room(out);
    if (room > 0 && whole > LeastTile + 2)
        fit[Tile].width = LeastTile + 2;
    const int left = table_fit(fit, Columns, room);
    if (left > 0)
        fit[Tile].width += left < whole - fit[Tile].width
                             ? left
                             : whole - fit[Tile].width;
}

/* Prints all records of the host that the record at `first` has. */
static void put_group(const Records *r, Arena *a, int first, FILE *out)
{
    const Host *host = &r->at.at[first].host;
    const char *cell[Columns];
    int width[Columns];
    TableFit fit[Columns];
    for (int c = 0; c < Columns; c++)
        width[c] = (int)strlen(heads[c]);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            fit_columns(width, out, fit);
            fputs(paint(out, PaintHead), out);
            put_row(a, heads, fit, out);
            fprintf(out, "%s\n", paint(out, PaintEnd));
        }
        for (int i = first; i < r->at.n; i++) {
            if (!host_same(host, &r->at.at[i].host))
                continue;
            cells(a, &r->at.at[i], cell);
            for (int c = 0; c < Columns && pass == 0; c++)
                if (width[c] < (int)strlen(cell[c]))
                    width[c] = (int)strlen(cell[c]);
            if (pass == 1) {
                put_row(a, cell, fit, out);
                fputc('\n', out);
            }
        }
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

static void put_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    fputs("\",", out);
}

void records_csv(const Records *r, FILE *out)
{
    Arena *a = arena_new();
    fputs("cpu,caches,isa,threads,compiler,op,shape,dtype,epilogue,tile,ns,"
          "usual_ns,samples,spread\n",
          out);
    for (int i = 0; i < r->at.n; i++) {
        const Record *at = &r->at.at[i];
        put_text(at->host.cpu, out);
        put_text(at->host.caches, out);
        put_text(at->host.isa, out);
        fprintf(out, "%d,", at->host.threads);
        put_text(at->host.compiler, out);
        put_text(task_word[at->key.kind], out);
        put_text(at->key.shape, out);
        put_text(dtype_word[at->key.dtype], out);
        put_text(at->key.epilogue, out);
        put_text(tiling_text(a, &at->tiling), out);
        fprintf(out, "%.9g,%.9g,%d,%.9g\n", at->ns, at->usual_ns, at->samples,
                at->spread);
    }
    arena_free(a);
}
