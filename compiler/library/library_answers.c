/* library_answers.c: the functions of attnc.h that answer one prompt. */
#include <string.h>

#include "library/library.h"

/* ---- answers ---- */

/* Answers n tokens of h->ids, and passes the answer on. Returns its tokens or
 * an error. */
static int64_t answer(attnc_handle *h, Asked *q, int64_t n, Answer *a)
{
    struct attn_hypothesis best;
    int64_t found, wrong;
    int64_t asks = library_asks(h, &q->o, &n);
    if (asks < 1)
        return asks;
    if (q->o.beam == 1)
        return library_stream(h, q, n, a);
    if (q->tokens == 0)
        return 0;
    q->o.results = 1;
    const int32_t start[2] = { 0, (int32_t)n };
    wrong = library_search(h, &q->o, start, 1, &best, &found);
    if (wrong == 0 && a->take_text) {
        a->silent = h->m->facts.kind == ATTNC_DECODER;
        wrong = library_begin_text(h, a, q, 0);
        for (int64_t i = 0; a->silent && i < n && !wrong; i++)
            wrong = library_give(h, a, ((int32_t *)h->ids.at)[i]);
        a->silent = false;
        a->n = 0;
    }
    for (int64_t i = 0; !wrong && found > 0 && i < best.n && !a->stopped; i++)
        wrong = library_give(h, a, best.tokens[i]);
    if (!wrong)
        wrong = library_give(h, a, -1);
    return wrong ? wrong : a->n;
}

/* Answers n tokens of h->ids, if n is no error. */
static int64_t answered(Asked *q, int64_t n, Answer *a)
{
    if (n >= 0 && !a->take_text && !a->take_id)
        n = library_error(q->h, ATTNC_ERROR_NULL,
                          "there is no function to take the answer");
    if (n >= 0)
        n = answer(q->h, q, n, a);
    arena_free(q->arena);
    return n;
}

int64_t attnc_generate(attnc_handle *h, const char *prompt, int64_t bytes,
                       const char *const *options, attnc_take_text *take,
                       void *user)
{
    Asked q = { .h = h, .words = options, .where = "attnc_generate()" };
    Answer a = { .take_text = take, .user = user };
    const int64_t wrong = library_ask(&q);
    return answered(&q, wrong ? wrong : library_question(h, 0, prompt, bytes),
                    &a);
}

int64_t attnc_generate_ids(attnc_handle *h, const int32_t *ids, int64_t n,
                           const char *const *options, attnc_take_id *take,
                           void *user)
{
    Asked q = {
        .h = h, .words = options, .where = "attnc_generate_ids()", .ids = true
    };
    Answer a = { .take_id = take, .user = user };
    int64_t wrong = library_ask(&q);
    if (!wrong)
        wrong = library_copy(h, 0, ids, n);
    return answered(&q, wrong ? wrong : n, &a);
}
