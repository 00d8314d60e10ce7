/* library_search.c: searches the best answers to many questions at once. */
#include <string.h>

#include "library/library.h"

enum { BatchSentences = 32, BatchTokens = 8192 };

int64_t library_search(attnc_handle *h, const struct attn_search_options *o,
                       const int32_t *start, int64_t sentences,
                       struct attn_hypothesis *out, int64_t *found)
{
    const struct attn_model *m = h->m->e.backend.model;
    int64_t longest = 0;
    for (int64_t i = 0; i < sentences; i++)
        longest = attn_max(longest, start[i + 1] - start[i]);
    const int64_t bytes = attn_search_bytes(m, o, sentences, start[sentences],
                                            longest);
    void *work = library_room(h, &h->work, attn_max(bytes, 1));
    if (!work)
        return ATTNC_ERROR_MEMORY;
    const struct attn_search_request r = {
        .model = m,
        .bound = h->m->e.bound,
        .o = o,
        .sentences = sentences,
        .ids = h->ids.at,
        .start = start,
        .memory = work,
        .bytes = bytes,
    };
    int64_t wrong = bytes < 0 ? bytes : attn_search(&r, out, found);
    for (int64_t i = 0; i < sentences && wrong == 0; i++)
        wrong = attn_min(found[i], 0);
    return wrong ? library_error(h, wrong, "%s", attn_error_text(wrong)) : 0;
}

/* ---- many answers ---- */
typedef struct {
    attnc_handle *h;
    Asked q;
    int32_t start[BatchSentences + 1];
    int64_t question[BatchSentences]; /* numbers of the sentences */
    int64_t sentences, answers;
    struct attn_hypothesis *out;
    attnc_take_answer *take;
    void *user;
    bool stopped;
} Many;

/* Passes an answer on, with its text if there is a vocabulary. Returns 0 or an
 * error. */
static int64_t give_answer(Many *x, int64_t question, int64_t rank,
                           const struct attn_hypothesis *best)
{
    attnc_handle *h = x->h;
    const void *block = h->m->e.target_vocab.block;
    struct attnc_answer a = {
        .question = question,
        .rank = rank,
        .ids = best->tokens,
        .n = best->n,
        .ended = best->ended,
        .score = (double)best->score,
        .log_probability = (double)best->log_probability,
    };
    int64_t size = block ? ATTN_ERROR_ROOM : 0;
    for (int64_t room = 256; size == ATTN_ERROR_ROOM; room *= 2) {
        char *text = library_room(h, &h->text, room);
        if (!text)
            return ATTNC_ERROR_MEMORY;
        size = attn_vocab_decode(block, best->tokens, best->n, text, room);
        a.text = text;
    }
    if (size < 0)
        return library_error(h, size, "%s", attn_error_text(size));
    a.bytes = size;
    x->answers++;
    x->stopped = x->take(x->user, &a) != 0;
    return 0;
}

/* Answers the sentences of h->ids. Returns 0 or an error. */
static int64_t answer_batch(Many *x)
{
    int64_t found[BatchSentences];
    const int64_t results = x->q.o.results;
    if (x->sentences == 0)
        return 0;
    int64_t wrong = library_search(x->h, &x->q.o, x->start, x->sentences,
                                   x->out, found);
    for (int64_t i = 0; i < x->sentences; i++)
        for (int64_t k = 0; !wrong && !x->stopped && k < found[i]; k++)
            wrong = give_answer(x, x->question[i], k, &x->out[i * results + k]);
    x->sentences = 0;
    return wrong;
}

/* Adds question i, whose n ids follow those of the batch; n below 0: an error.
 * Answers the batch if it is full. Returns 0 or an error. */
static int64_t add_question(Many *x, int64_t i, int64_t n)
{
    attnc_handle *h = x->h;
    const int64_t asks = n < 0            ? n
                       : x->q.tokens == 0 ? 0
                                          : library_asks(h, &x->q.o, &n);
    if (asks < 0)
        return library_error_at(h, asks, "question", i);
    if (asks == 0)
        return 0;
    x->question[x->sentences] = i;
    x->sentences++;
    x->start[x->sentences] = x->start[x->sentences - 1] + (int32_t)n;
    return x->sentences == BatchSentences
                || x->start[x->sentences] >= BatchTokens
             ? answer_batch(x)
             : 0;
}

/* Begins a call with n questions. Returns 0 or an error. */
static int64_t begin_many(Many *x, int64_t n, bool good)
{
    const int64_t wrong = library_ask(&x->q);
    if (wrong)
        return wrong;
    if (n < 0 || (n > 0 && !good) || !x->take)
        return library_error(x->h, ATTNC_ERROR_NULL,
                             "a pointer is NULL, or a count below 0");
    x->q.o.results = attn_max(x->q.o.results, 1);
    x->q.o.want_scores = 1;
    x->out = library_room(x->h, &x->h->start,
                          BatchSentences * x->q.o.results
                              * (int64_t)sizeof *x->out);
    return x->out ? 0 : ATTNC_ERROR_MEMORY;
}

/* Ends a call whose questions gave `wrong`. Returns the number of answers or an
 * error. */
static int64_t end_many(Many *x, int64_t wrong)
{
    if (!wrong && !x->stopped)
        wrong = answer_batch(x);
    arena_free(x->q.arena);
    return wrong ? wrong : x->answers;
}

static Many many(attnc_handle *h, const char *where, const char *const *options,
                 attnc_take_answer *take, void *user)
{
    const Asked q = {
        .h = h, .words = options, .where = where, .use = AskedMany
    };
    return (Many){ .h = h, .take = take, .user = user, .q = q };
}

int64_t attnc_answers(attnc_handle *h, const char *const *texts,
                      const int64_t *bytes, int64_t n,
                      const char *const *options, attnc_take_answer *take,
                      void *user)
{
    Many x = many(h, "attnc_answers()", options, take, user);
    int64_t wrong = begin_many(&x, n, texts);
    for (int64_t i = 0; i < n && !wrong && !x.stopped; i++)
        wrong = add_question(&x, i,
                             library_question(h, x.start[x.sentences], texts[i],
                                              bytes ? bytes[i] : -1));
    return end_many(&x, wrong);
}

int64_t attnc_answers_ids(attnc_handle *h, const int32_t *ids,
                          const int64_t *start, int64_t n,
                          const char *const *options, attnc_take_answer *take,
                          void *user)
{
    Many x = many(h, "attnc_answers_ids()", options, take, user);
    int64_t wrong = begin_many(&x, n, ids && start);
    for (int64_t i = 0; i < n && !wrong && !x.stopped; i++) {
        const int64_t most = start[i + 1] - start[i];
        wrong = library_copy(h, x.start[x.sentences], ids + start[i], most);
        wrong = add_question(&x, i, wrong ? wrong : most);
    }
    return end_many(&x, wrong);
}
