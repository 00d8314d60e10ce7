/* sweep_csv.c: prints a sweep as comma-separated values, one line per
 * variant. */
#include <string.h>

#include "base/columns.h"
#include "base/strings.h"
#include "sweep/sweep_parts.h"

static void put_value(const Sweep *s, const char *text, FILE *out)
{
    const char *plain = plain_text(s->arena, text);
    if (strpbrk(plain, ",\"\n"))
        put_csv_text(plain, out);
    else
        fputs(plain, out);
}

static void put_csv_row(const Sweep *s, const Row *r, FILE *out)
{
    const bool refused = r->state == RowRefused;
    put_value(s, r->variant->spec, out);
    for (int i = 0; i < s->axes.n; i++) {
        fputc(',', out);
        put_value(s, r->variant->value[i], out);
    }
    for (int i = 0; i < s->columns.n; i++) {
        fputc(',', out);
        if (!refused)
            put_value(s, column_exact(s->arena, &s->columns.at[i], r), out);
    }
    fprintf(out, ",%d,", r->pareto);
    put_value(s, refused ? r->message : "", out);
    fputc(',', out);
    put_value(s, r->note ? r->note : "", out);
    fputc('\n', out);
}

void sweep_csv(const Sweep *s, FILE *out)
{
    const int *order = rows_sorted(s);
    fputs("spec", out);
    for (int i = 0; i < s->axes.n; i++)
        fprintf(out, ",%s", s->axes.at[i].key);
    for (int i = 0; i < s->columns.n; i++)
        fprintf(out, ",%s", s->columns.at[i].json);
    fputs(",front,error,note\n", out);
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[order[i]].state != RowNew)
            put_csv_row(s, &s->rows.at[order[i]], out);
}
