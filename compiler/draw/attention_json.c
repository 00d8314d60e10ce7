/* attention_json.c: attention weights as JSON: the tokens, and an object for
 * each layer and head that was chosen, with a row of weights for each query. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "draw/draw.h"

static void tokens_json(FILE *out, const AttentionPicture *p, int side)
{
    fprintf(out, ",\n \"%s\": [", p->side[side]);
    for (int i = 0; i < p->n[side]; i++) {
        fprintf(out, "%s\"", i ? ", " : "");
        for (const char *s = p->label[side][i]; *s; s++)
            fprintf(out, strchr("\"\\", *s) ? "\\%c" : "%c", *s);
        fputc('"', out);
    }
    fputc(']', out);
}

/* Nine digits: the same float when it is read. JSON has no NaN. */
static void row_json(FILE *out, const float *w, int n)
{
    for (int j = 0; j < n; j++)
        fprintf(out, isnan(w[j]) ? "%snull" : "%s%.9g", j ? ", " : "[",
                w[j] > 0 ? (double)w[j] : 0.0);
    fputc(']', out);
}

static void put_head(FILE *out, const AttentionPicture *p,
                     const AttentionMap *m, int head)
{
    int rows = p->n[m->side[0]], columns = p->n[m->side[1]];
    int first = p->query >= 0 ? p->query : 0;
    int end = p->query >= 0 ? first + 1 : rows;
    fprintf(out,
            "{\"name\": \"%s\", \"layer\": %d, \"head\": %d, "
            "\"queries\": \"%s\", \"keys\": \"%s\", \"first_query\": %d,\n"
            "   \"weights\": [",
            m->name, m->layer, head, p->side[m->side[0]], p->side[m->side[1]],
            first);
    for (int i = first; i < end; i++) {
        fputs(i > first ? ",\n    " : "\n    ", out);
        row_json(out,
                 m->weight
                     + ((size_t)head * (size_t)rows + (size_t)i)
                           * (size_t)columns,
                 columns);
    }
    fputs("]}", out);
}

char *attention_json(const AttentionPicture *p, size_t *size)
{
    char *text = NULL;
    const char *before = ",\n \"attention\": [\n  ";
    FILE *out = open_memstream(&text, size);
    if (!out)
        fail(ExitResource, "out of memory for attention weights");
    fprintf(out, "{\"model\": \"%s\"", p->model);
    for (int side = 0; side < 2; side++)
        tokens_json(out, p, side);
    for (int i = 0; i < p->maps; i++)
        for (int h = 0; h < attention_heads(p, &p->map[i]); h++) {
            fputs(before, out);
            put_head(out, p, &p->map[i], h + (p->head >= 0 ? p->head : 0));
            before = ",\n  ";
        }
    fputs("]}\n", out);
    if (fclose(out) != 0)
        fail(ExitResource, "out of memory for attention weights");
    return text;
}
