/* library_pairs.c: what a decoder computes for given tokens: the probabilities
 * of a target, or the rows that it gives. runtime/search/score.c takes several
 * pairs of a source and a target at once. */
#include <math.h>
#include <string.h>

#include "library/library.h"

typedef struct { /* a source or a target, as text or ids */
    bool is_ids;
    const char *text;
    const int32_t *ids;
    int64_t n; /* bytes of the text, -1: it ends at its NUL; or number of ids */
} Tokens;

typedef struct { /* pairs whose tokens are in h->ids */
    attnc_handle *h;
    struct attn_search_options o; /* of the spec */
    struct attn_score_pair pair[ATTN_SCORE_PAIRS];
    int64_t at[ATTN_SCORE_PAIRS]; /* index of the source in h->ids; the target
                                   * follows it */
    int64_t skipped[ATTN_SCORE_PAIRS]; /* tokens of the target that the prefix
                                          has */
    int64_t pairs, ids;                /* ids: of all pairs */
} Batch;

/* ---- pairs ---- */
static int64_t token_ids(attnc_handle *h, int64_t at, int target,
                         const Tokens *s)
{
    if (!s->is_ids)
        return library_read(h, at, target, s->text, s->n,
                            target ? ATTN_PLAIN : library_how(h));
    const int64_t wrong = library_copy(h, at, s->ids, s->n);
    return wrong ? wrong : s->n;
}

/* Begins a call with a source and a target. Returns 0 or an error. */
static int64_t begin(Batch *b, attnc_handle *h, bool good)
{
    const int64_t wrong = library_begin(h);
    *b = (Batch){ .h = h, .o = h->m->search };
    return wrong || good
             ? wrong
             : library_error(h, ATTNC_ERROR_NULL, "a pointer is NULL");
}

static int64_t failed(attnc_handle *h, int64_t wrong)
{
    return wrong ? library_error(h, wrong, "%s", attn_error_text(wrong)) : 0;
}

/* Converts both sides to ids behind those of the batch, with room for one more.
 * Returns 0 or an error. */
static int64_t read_pair(Batch *b, const Tokens side[2])
{
    attnc_handle *h = b->h;
    struct attn_score_pair *p = &b->pair[b->pairs];
    const int64_t most = library_most_input(h);
    const int64_t n = token_ids(h, b->ids, 0, &side[0]);
    const int64_t target_n = n < 0 ? n : token_ids(h, b->ids + n, 1, &side[1]);
    if (target_n < 0)
        return target_n;
    *p = (struct attn_score_pair){ .source_n = n, .target_n = target_n };
    b->at[b->pairs] = b->ids;
    b->skipped[b->pairs] = 0;
    return n > most ? library_longer(h, "tokens of the source", n, most) : 0;
}

/* Completes the target of a pair that is to be scored. Returns 0 or an
 * error. */
static int64_t complete(Batch *b)
{
    attnc_handle *h = b->h;
    struct attn_score_pair *p = &b->pair[b->pairs];
    const int64_t most = attn_min(library_most_output(h) + 1,
                                  h->m->facts.max_target);
    int32_t *ids = (int32_t *)h->ids.at + b->at[b->pairs] + p->source_n;
    int32_t *target = ids;
    p->target_n = attn_score_complete(&b->o, &target, p->target_n);
    b->skipped[b->pairs] = target - ids;
    return p->target_n < 1 || p->target_n > most
             ? library_longer(h, "tokens of the target, the end counted",
                              p->target_n, most)
             : 0;
}

static struct attn_score_request request_of(Batch *b)
{
    const Engine *e = &b->h->m->e;
    const int32_t *ids = b->h->ids.at;
    for (int64_t i = 0; i < b->pairs; i++) {
        struct attn_score_pair *p = &b->pair[i];
        p->source = ids + b->at[i];
        p->target = p->source + p->source_n + b->skipped[i];
    }
    return (struct attn_score_request){ .model = e->backend.model,
                                        .bound = e->bound,
                                        .start = b->o.start,
                                        .prefix = b->o.prefix,
                                        .prefix_n = b->o.prefix_n,
                                        .pair = b->pair,
                                        .pairs = b->pairs,
                                        .parallel = e->parallel };
}

/* Checks the pair that was read, and adds it to the batch. Returns 0 or an
 * error. */
static int64_t add_pair(Batch *b)
{
    const struct attn_score_pair *p = &b->pair[b->pairs];
    b->pairs++;
    const struct attn_score_request r = request_of(b);
    b->ids = b->at[b->pairs - 1] + p->source_n + b->skipped[b->pairs - 1]
           + p->target_n;
    return failed(b->h, attn_score_check(&r, p));
}

static int64_t run_pairs(Batch *b, struct attn_score_request *r)
{
    r->bytes = attn_score_bytes(r);
    r->memory = library_room(b->h, &b->h->work, attn_max(r->bytes, 1));
    return r->memory ? failed(b->h, attn_score_pairs(r)) : ATTNC_ERROR_MEMORY;
}

/* ---- scores ---- */

/* Sets the probabilities of a batch, which end at `end`, and empties it. `one`:
 * a message does not say that this is pair number `first`. */
static int64_t score_batch(Batch *b, double *end, int64_t first, bool one)
{
    attnc_handle *h = b->h;
    struct attn_score_request r = request_of(b);
    int64_t tokens = 0, wrong;
    double *out = end - b->pairs;
    for (int64_t i = 0; i < b->pairs; i++)
        tokens += b->pair[i].target_n;
    const float *each = r.log_probability =
        library_room(h, &h->text, (tokens + 1) * (int64_t)sizeof(float));
    wrong = each ? run_pairs(b, &r) : ATTNC_ERROR_MEMORY;
    for (int64_t i = 0; i < b->pairs && !wrong; i++) {
        out[i] = 0.0;
        for (int64_t k = 0; k < b->pair[i].target_n; k++)
            out[i] += (double)*each++;
        if (isnan(out[i])) {
            wrong = failed(h, ATTN_ERROR_FINITE);
            wrong = one ? wrong : library_error_at(h, wrong, "pair", first + i);
        }
    }
    b->pairs = b->ids = 0;
    return wrong;
}

static int64_t score(attnc_handle *h, const Tokens side[2],
                     double *log_probability)
{
    Batch b;
    int64_t wrong = begin(&b, h, log_probability);
    if (!wrong)
        wrong = read_pair(&b, side);
    if (!wrong)
        wrong = complete(&b);
    if (!wrong)
        wrong = add_pair(&b);
    return wrong ? wrong : score_batch(&b, log_probability + 1, 0, true);
}

static Tokens of_text(const char *text, int64_t bytes)
{
    return (Tokens){ .text = text, .n = bytes };
}

static Tokens of_ids(const int32_t *ids, int64_t n)
{
    return (Tokens){ .is_ids = true, .ids = ids, .n = n };
}

int64_t attnc_score(attnc_handle *h, const char *source, int64_t source_bytes,
                    const char *target, int64_t target_bytes,
                    double *log_probability)
{
    const Tokens side[2] = { of_text(source, source_bytes),
                             of_text(target, target_bytes) };
    return score(h, side, log_probability);
}

int64_t attnc_score_ids(attnc_handle *h, const int32_t *source, int64_t n,
                        const int32_t *target, int64_t target_n,
                        double *log_probability)
{
    const Tokens side[2] = { of_ids(source, n), of_ids(target, target_n) };
    return score(h, side, log_probability);
}

int64_t attnc_scores(attnc_handle *h, const char *const *sources,
                     const int64_t *source_bytes, const char *const *targets,
                     const int64_t *target_bytes, int64_t n,
                     double *log_probability)
{
    Batch b;
    int64_t wrong = begin(
        &b, h, n == 0 || (n > 0 && sources && targets && log_probability));
    for (int64_t i = 0; i < n && !wrong; i++) {
        const Tokens side[2] = {
            of_text(sources[i], source_bytes ? source_bytes[i] : -1),
            of_text(targets[i], target_bytes ? target_bytes[i] : -1),
        };
        if (b.pairs == attn_score_most(h->m->e.backend.model)
            || b.ids >= ATTN_SCORE_TOKENS)
            wrong = score_batch(&b, log_probability + i, i - b.pairs, false);
        if (wrong)
            break;
        wrong = read_pair(&b, side);
        if (!wrong)
            wrong = complete(&b);
        if (!wrong)
            wrong = add_pair(&b);
        if (wrong)
            return library_error_at(h, wrong, "pair", i);
    }
    return wrong || n == 0
             ? wrong
             : score_batch(&b, log_probability + n, n - b.pairs, false);
}

/* ---- rows ---- */
static int64_t decoder_rows(attnc_handle *h, const Tokens side[2], int64_t last,
                            float *out, int64_t cap)
{
    const struct attnc_facts *f = &h->m->facts;
    Batch b;
    int64_t wrong = begin(&b, h, true);
    if (!wrong)
        wrong = read_pair(&b, side);
    if (wrong)
        return wrong;
    struct attn_score_pair *p = b.pair;
    const bool decodes = f->kind == ATTNC_DECODER;
    const int64_t rows = (b.o.start >= 0) + (decodes ? p->source_n : 0)
                       + p->target_n;
    const int64_t wanted = last > 0 ? attn_min(last, rows) : rows;
    if (rows < 1 || rows > f->max_target)
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "the decoder reads %lld tokens, 1 to %lld are "
                             "possible (max_len)",
                             (long long)rows, (long long)f->max_target);
    if (!out)
        return wanted;
    if (cap < wanted || cap / f->columns < wanted)
        return library_error(h, ATTNC_ERROR_ROOM,
                             "the results need %lld floats",
                             (long long)(wanted * f->columns));
    /* a token after the last row, which has room and is not read */
    ((int32_t *)h->ids.at)[p->source_n + p->target_n] = 0;
    p->target_n++;
    p->rows = wanted;
    b.o.prefix_n = 0;
    wrong = add_pair(&b);
    struct attn_score_request r = request_of(&b);
    r.output = out;
    if (!wrong)
        wrong = run_pairs(&b, &r);
    return wrong ? wrong : wanted;
}

int64_t attnc_logits(attnc_handle *h, const char *source, int64_t source_bytes,
                     const char *target, int64_t target_bytes, int64_t last,
                     float *out, int64_t cap)
{
    const Tokens side[2] = { of_text(source, source_bytes),
                             of_text(target, target_bytes) };
    return decoder_rows(h, side, last, out, cap);
}

int64_t attnc_logits_ids(attnc_handle *h, const int32_t *source, int64_t n,
                         const int32_t *target, int64_t target_n, int64_t last,
                         float *out, int64_t cap)
{
    const Tokens side[2] = { of_ids(source, n), of_ids(target, target_n) };
    return decoder_rows(h, side, last, out, cap);
}
