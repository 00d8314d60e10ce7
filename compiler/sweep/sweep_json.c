/* sweep_json.c: prints a sweep as one JSON object. */
#include "base/put_json.h"
#include "sweep/sweep_parts.h"

static void put_column(const Sweep *s, Buffer *b, const SweepColumn *c,
                       const Row *r)
{
    const char *text = column_exact(s->arena, c, r);
    if (!*text)
        text = NULL;
    if (c->word || !text) {
        json_put_text(b, c->json, text);
        return;
    }
    json_put_key(b, c->json);
    buffer_printf(b, "%s", text);
}

static void put_json_row(const Sweep *s, Buffer *b, const Row *r)
{
    buffer_printf(b, "  {");
    json_put_text(b, "spec", r->variant->spec);
    for (int i = 0; i < s->axes.n; i++) {
        buffer_printf(b, i ? "" : ", \"values\": {");
        json_put_text(b, s->axes.at[i].key, r->variant->value[i]);
    }
    buffer_printf(b, s->axes.n ? "}" : "");
    if (r->state == RowRefused) {
        json_put_text(b, "error", r->message);
    } else {
        for (int i = 0; i < s->columns.n; i++)
            put_column(s, b, &s->columns.at[i], r);
        json_put_flag(b, "front", r->pareto);
    }
    if (r->note)
        json_put_text(b, "note", r->note);
    buffer_printf(b, "}");
}

void sweep_json(const Sweep *s, FILE *out)
{
    Buffer b = { .arena = s->arena };
    const int *order = rows_sorted(s);
    const char *between = "";
    buffer_printf(&b, "{");
    if (s->times) {
        json_put_key(&b, "machine");
        machine_json(s->machine, &b);
        buffer_printf(&b, ",\n ");
    }
    buffer_printf(&b, "\"rows\": [\n");
    for (int i = 0; i < s->rows.n; i++) {
        const Row *r = &s->rows.at[order[i]];
        if (r->state == RowNew)
            continue;
        buffer_printf(&b, "%s", between);
        put_json_row(s, &b, r);
        between = ",\n";
    }
    fprintf(out, "%s]}\n", b.at);
}
