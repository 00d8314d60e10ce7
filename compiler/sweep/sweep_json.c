/* sweep_json.c: a sweep as one JSON object. */
#include <string.h>

#include "base/strings.h"
#include "sweep/sweep_parts.h"

static void put_key(Buffer *b, const char *key)
{
    buffer_printf(b, ", ");
    json_quote(b, key, -1);
    buffer_printf(b, ": ");
}

static void put_text(Buffer *b, const char *key, const char *text)
{
    put_key(b, key);
    if (text)
        json_quote(b, text, -1);
    else
        buffer_printf(b, "null");
}

static void put_column(const Sweep *s, Buffer *b, const SweepColumn *c,
                       const Row *r)
{
    const char *text = column_exact(s->arena, c, r);
    if (!*text)
        text = NULL;
    if (c->word || !text) {
        put_text(b, c->json, text);
        return;
    }
    put_key(b, c->json);
    buffer_printf(b, "%s", text);
}

static void put_json_row(const Sweep *s, Buffer *b, const Row *r)
{
    buffer_printf(b, "  {\"spec\": ");
    json_quote(b, r->variant->spec, -1);
    for (int i = 0; i < s->axes.n; i++) {
        buffer_printf(b, i ? ", " : ", \"values\": {");
        json_quote(b, s->axes.at[i].key, -1);
        buffer_printf(b, ": ");
        json_quote(b, r->variant->value[i], -1);
    }
    buffer_printf(b, s->axes.n ? "}" : "");
    if (r->state == RowRefused) {
        put_text(b, "error", r->message);
    } else {
        for (int i = 0; i < s->columns.n; i++)
            put_column(s, b, &s->columns.at[i], r);
        put_key(b, "front");
        buffer_printf(b, r->front ? "true" : "false");
    }
    if (r->note)
        put_text(b, "note", r->note);
    buffer_printf(b, "}");
}

void sweep_json(const Sweep *s, FILE *out)
{
    Buffer b = { .arena = s->arena };
    const int *order = rows_sorted(s);
    const char *between = "";
    if (s->times) {
        fputs("{\"machine\": ", out);
        machine_json(s->machine, out);
        fputs(",\n", out);
    }
    fputs(s->times ? " \"rows\": [\n" : "{\"rows\": [\n", out);
    for (int i = 0; i < s->rows.n; i++) {
        const Row *r = &s->rows.at[order[i]];
        if (r->state == RowNew)
            continue;
        buffer_printf(&b, "%s", between);
        put_json_row(s, &b, r);
        between = ",\n";
    }
    fprintf(out, "%s]}\n", b.n ? b.at : "");
}
