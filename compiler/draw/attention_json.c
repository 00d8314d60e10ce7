/* attention_json.c: prints attention weights as JSON: the tokens, and an object
 * per chosen layer and head, with a row of weights per query. */
#include <math.h>

#include "base/put_json.h"
#include "draw/draw.h"

static void tokens_json(Buffer *out, const AttentionPicture *p, int side)
{
    buffer_printf(out, ",\n \"%s\": [", p->side[side]);
    for (int i = 0; i < p->n[side]; i++) {
        buffer_printf(out, "%s", i ? ", " : "");
        json_quote(out, p->label[side][i], -1);
    }
    buffer_add(out, "]", 1);
}

/* Adds a row of weights. Nine digits are enough to restore a float. JSON has no
 * NaN, so a masked weight is null. */
static void row_json(Buffer *out, const float *w, int n)
{
    for (int j = 0; j < n; j++)
        buffer_printf(out, isnan(w[j]) ? "%snull" : "%s%.9g", j ? ", " : "[",
                      w[j] > 0 ? (double)w[j] : 0.0);
    buffer_add(out, "]", 1);
}

static void put_head(Buffer *out, const AttentionPicture *p,
                     const AttentionMap *m, int head)
{
    int rows = p->n[m->side[0]], columns = p->n[m->side[1]];
    int first = p->query >= 0 ? p->query : 0;
    int end = p->query >= 0 ? first + 1 : rows;
    buffer_printf(out, "{");
    json_put_text(out, "name", m->name);
    json_put_count(out, "layer", m->layer);
    json_put_count(out, "head", head);
    json_put_text(out, "queries", p->side[m->side[0]]);
    json_put_text(out, "keys", p->side[m->side[1]]);
    json_put_count(out, "first_query", first);
    buffer_printf(out, ",\n   \"weights\": [");
    for (int i = first; i < end; i++) {
        buffer_printf(out, "%s    ", i > first ? ",\n" : "\n");
        row_json(out,
                 m->weight
                     + ((size_t)head * (size_t)rows + (size_t)i)
                           * (size_t)columns,
                 columns);
    }
    buffer_add(out, "]}", 2);
}

const char *attention_json(Arena *a, const AttentionPicture *p)
{
    Buffer out = { .arena = a };
    const char *before = ",\n \"attention\": [\n  ";
    buffer_printf(&out, "{\"model\": \"%s\"", p->model);
    for (int side = 0; side < 2; side++)
        tokens_json(&out, p, side);
    for (int i = 0; i < p->maps; i++)
        for (int h = 0; h < attention_heads(p, &p->map[i]); h++) {
            buffer_printf(&out, "%s", before);
            put_head(&out, p, &p->map[i], h + (p->head >= 0 ? p->head : 0));
            before = ",\n  ";
        }
    buffer_add(&out, "]}\n", 3);
    return out.at;
}
