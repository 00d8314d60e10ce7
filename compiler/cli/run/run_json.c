/* run_json.c: prints the answers of attnc run and attnc score as JSON, one
 * object per answer. */
#include "cli/run/answering.h"

#include "base/put_json.h"

/* Begins an object: {"line": 1, and "error" if `why` is not NULL. */
static Buffer *begin_object(struct program *p, int64_t line, const char *why)
{
    Buffer *b = &p->of->object;
    b->n = 0;
    buffer_add(b, "{", 1);
    json_put_count(b, "line", line);
    if (why)
        json_put_text(b, "error", why);
    return b;
}

/* Prints {"line": 1, "answers": [{"tokens": [3, 2], "text": "AH", "score":
 * -0.5}]}. */
void answers_json(struct program *p, int64_t part,
                  const struct attn_hypothesis *h, int64_t found)
{
    const void *target = p->ids ? NULL : p->target.block;
    const char *why = p->bad[part] ? p->of->why[part] : p->why;
    Buffer *b = begin_object(p, p->last[part],
                             p->bad[part] || found < 0 ? why : NULL);
    buffer_printf(b, ", \"answers\": [");
    for (int64_t i = 0; i < found; i++) {
        buffer_printf(b, i ? ", {" : "{");
        json_tokens(b, target, h[i].tokens, h[i].n);
        json_put_number(b, "score", (double)h[i].score, 7);
        buffer_printf(b, "}");
    }
    printf("%s]}", b->at);
}

/* Prints {"line": 1, "rows": [[0.5, -1], [2, 0.25]]}; NaN and infinity become
 * null. */
void rows_json(struct program *p, int64_t part, const float *x, int64_t rows)
{
    const int64_t columns = p->m->output_columns;
    const bool blocks = p->m->kind == ATTN_ATTENTION;
    const bool bad = blocks ? !x : p->bad[part];
    Buffer *b = begin_object(p, p->last[part],
                             bad ? p->of->why[blocks ? 0 : part] : NULL);
    buffer_printf(b, ", \"rows\": [");
    for (int64_t i = 0; i < rows; i++) {
        buffer_printf(b, i ? ", [" : "[");
        for (int64_t j = 0; j < columns; j++) {
            buffer_add(b, ", ", j ? 2 : 0);
            json_number(b, (double)x[i * columns + j], 9);
        }
        buffer_add(b, "]", 1);
    }
    printf("%s]}", b->at);
}

/* Prints {"line": 1, "log_probability": -1.5, "tokens": [3, 2],
 * "log_probabilities": [-0.5, -1]}, or "error" instead of the last three. */
void score_json(struct program *p, const struct score_pair *x, double sum,
                const float *scores)
{
    Buffer *b = begin_object(p, p->last[p->parts],
                             scores ? NULL : p->of->why[p->parts]);
    if (scores) {
        json_put_number(b, "log_probability", sum, 7);
        json_ids(b, "tokens", (const int32_t *)p->items.at + x->target,
                 x->target_n);
        buffer_printf(b, ", \"log_probabilities\": [");
        for (int64_t i = 0; i < x->target_n; i++) {
            buffer_printf(b, i ? ", " : "");
            json_number(b, (double)scores[i], 7);
        }
        buffer_printf(b, "]");
    }
    printf("%s}", b->at);
}

/* ---- --prompt ---- */
FILE *prompt_json_begin(struct program *p, FILE *to)
{
    struct answering *w = p->of;
    w->to = to;
    w->text = open_memstream(&w->at, &w->bytes);
    if (!w->text)
        fail(ExitResource, "out of memory");
    return w->text;
}

bool prompt_json_add(struct program *p, int32_t id)
{
    vec_push(p->of->e.arena, &p->of->ids, id);
    return p->ids;
}

void prompt_json_answer(struct program *p)
{
    struct answering *w = p->of;
    fflush(w->text);
    w->begin = w->bytes;
    w->ids.n = 0;
}

/* Prints {"prompt": [3], "tokens": [7, 2], "text": " a", "ended": "end"}. */
FILE *prompt_json_end(struct program *p, int64_t prompt, bool stopped,
                      int64_t token)
{
    struct answering *w = p->of;
    Buffer *b = &w->object;
    fflush(w->text);
    b->n = 0;
    buffer_add(b, "{", 1);
    json_ids(b, "prompt", p->items.at, prompt);
    json_ids(b, "tokens", w->ids.at, w->ids.n);
    if (!p->ids) {
        json_put_key(b, "text");
        json_quote(b, w->at + w->begin, (int64_t)(w->bytes - w->begin));
    }
    fprintf(w->to, "%s, \"ended\": \"%s\"}", b->at,
            stopped                     ? "stop"
            : token == ATTN_STREAM_END  ? "end"
            : attn_stream_failed(token) ? "error"
                                        : "length");
    return w->to;
}
