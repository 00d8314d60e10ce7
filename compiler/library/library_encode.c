/* library_encode.c: handles, tokens, and models that answer with rows. All
 * sequences of a call go through attn_encode_batch(), some at a time, without
 * padding. */
#include <stdlib.h>
#include <string.h>

#include "library/library.h"

enum {
    BatchRows = 8192, /* no sequence is added to a batch with so many rows */
    BatchSequences = 32,
    MostLimit = 1 << 28
};

static int64_t most_rows(const attnc_handle *h)
{
    const int64_t most = h->m->facts.max_source - h->m->facts.class_token;
    const int64_t limit = h->limits.max_input;
    return limit > 0 ? attn_min(limit, most) : most;
}

/* ---- handles ---- */
int attnc_handle_open(attnc_handle **h, attnc_model *m,
                      const struct attnc_limits *limits)
{
    attnc_handle *x = calloc(1, sizeof *x);
    *h = x;
    if (!x)
        return ATTNC_MEMORY;
    x->m = m;
    if (limits)
        x->limits = *limits;
    const struct attnc_limits *l = &x->limits;
    const int64_t most = attn_max(m->facts.max_source - m->facts.class_token,
                                  m->facts.max_target);
    if (l->max_input < 0 || l->max_output < 0 || l->max_text < 0 || l->beam < 0
        || l->max_input > MostLimit)
        return (int)library_error(x, ATTNC_USAGE,
                                  "a limit is below 0 or too large");
    if (!m->facts.generates && (l->max_output || l->max_text || l->beam))
        return (int)library_error(x, ATTNC_USAGE,
                                  "max_output, max_text, beam: %s generates "
                                  "nothing",
                                  m->facts.name);
    if (!m->facts.generates && l->max_input > most)
        return (int)library_error(x, ATTNC_USAGE,
                                  "max_input: 0 to %lld are taken",
                                  (long long)most);
    if (m->facts.generates && l->cut)
        return (int)library_error(x, ATTNC_USAGE,
                                  "cut is for models that encode: %s generates",
                                  m->facts.name);
    return m->facts.generates ? library_open_answers(x) : ATTNC_DONE;
}

void attnc_handle_close(attnc_handle *h)
{
    if (!h)
        return;
    library_close_answers(h);
    struct room *const rooms[] = { &h->ids,   &h->types, &h->start,
                                   &h->words, &h->work,  &h->text };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        free(rooms[i]->at);
    free(h);
}

/* ---- tokens ---- */
typedef struct { /* a text, or a pair of texts */
    const char *at, *other;
    int64_t bytes, other_bytes;
} TextPair;

typedef struct {   /* ids of a batch */
    int64_t n;     /* number of ids so far */
    int64_t parts; /* number of sequences */
    bool typed;    /* the ids have types */
} Batch;

static const void *block_of(attnc_handle *h, int target)
{
    const Engine *e = &h->m->e;
    const bool one = h->m->facts.kind == ATTNC_DECODER;
    const void *block = target || one ? e->target_vocab.block : e->source.block;
    h->why[0] = '\0';
    if (!block)
        library_error(h, ATTNC_ERROR_OPEN,
                      "the model has no vocabulary: give "
                      "token ids");
    return block;
}

/* Converts a text to ids after the first n of h->ids. Returns their number or
 * an error. */
static int64_t text_ids(attnc_handle *h, const void *block, int64_t n,
                        const TextPair *t, int64_t how)
{
    int64_t bad = 0;
    const int64_t most = attn_vocab_most_ids(block, t->bytes);
    const int64_t need = attn_vocab_encode_bytes(block, t->bytes);
    if (most < 0 || need < 0)
        return library_error(h, attn_min(most, need), "%s",
                             attn_error_text(attn_min(most, need)));
    int32_t *ids = library_room(h, &h->ids, (n + most + 1) * 4);
    void *words = library_room(h, &h->words, need + 1);
    if (!ids || !words)
        return ATTNC_ERROR_MEMORY;
    const int64_t found = attn_vocab_encode(block, t->at, t->bytes, how,
                                            ids + n, most, words, &bad);
    return found < 0 ? library_error(h, found, "byte %lld: %s",
                                     (long long)bad + 1, attn_error_text(found))
                     : found;
}

/* The same for a pair of texts, with their types at h->types. */
static int64_t pair_ids(attnc_handle *h, const void *block, int64_t n,
                        const TextPair *t)
{
    int64_t bad = 0;
    const int64_t most = attn_vocab_most_pair_ids(block,
                                                  t->bytes + t->other_bytes);
    const int64_t need = attn_vocab_encode_bytes(block,
                                                 attn_max(t->bytes,
                                                          t->other_bytes));
    if (most < 0 || need < 0)
        return library_error(h, attn_min(most, need), "%s",
                             attn_error_text(attn_min(most, need)));
    int32_t *ids = library_room(h, &h->ids, (n + most + 1) * 4);
    int32_t *types = library_room(h, &h->types, (n + most + 1) * 4);
    void *words = library_room(h, &h->words, need + 1);
    if (!ids || !types || !words)
        return ATTNC_ERROR_MEMORY;
    const int64_t found = attn_vocab_encode_pair(block, t->at, t->bytes,
                                                 t->other, t->other_bytes,
                                                 ids + n, types + n, most,
                                                 words, &bad);
    if (found < 0)
        return library_error(h, found, "byte %lld of the %s text: %s",
                             (long long)(bad < t->bytes ? bad : bad - t->bytes)
                                 + 1,
                             bad < t->bytes ? "first" : "second",
                             attn_error_text(found));
    const int64_t all = h->m->facts.types;
    for (int64_t i = 0; all > 1 && i < found; i++)
        if (types[n + i] >= all)
            return library_error(h, ATTNC_ERROR_ID,
                                 "the vocabulary's template has type %d, the "
                                 "model takes 0 to %lld",
                                 (int)types[n + i], (long long)all - 1);
    return found;
}

static int64_t length_of(const char *text, const int64_t *bytes, int64_t i)
{
    return bytes ? bytes[i] : (int64_t)strlen(text);
}

int64_t attnc_tokens(attnc_handle *h, int target, const char *text,
                     int64_t bytes, int32_t *ids, int64_t cap)
{
    const void *block = block_of(h, target);
    if (!block)
        return ATTNC_ERROR_OPEN;
    if (!text || (cap > 0 && !ids))
        return library_error(h, ATTNC_ERROR_NULL, "a pointer is NULL");
    const TextPair t = { .at = text,
                         .bytes = bytes == -1 ? (int64_t)strlen(text) : bytes };
    const int64_t n = text_ids(h, block, 0, &t, target ? ATTN_PLAIN : 0);
    if (n > 0 && cap > 0)
        memcpy(ids, h->ids.at, (size_t)attn_min(n, cap) * sizeof *ids);
    return n;
}

int64_t attnc_text(attnc_handle *h, const int32_t *ids, int64_t n, char *out,
                   int64_t cap)
{
    const void *block = block_of(h, (int)h->m->facts.generates);
    int64_t room = 256, size = ATTN_ERROR_ROOM;
    if (!block)
        return ATTNC_ERROR_OPEN;
    for (; size == ATTN_ERROR_ROOM; room *= 2) {
        char *text = library_room(h, &h->text, room);
        if (!text)
            return ATTNC_ERROR_MEMORY;
        size = attn_vocab_decode(block, ids, n, text, room);
    }
    if (size < 0)
        return library_error(h, size, "%s", attn_error_text(size));
    if (cap > 0) {
        memcpy(out, h->text.at, (size_t)attn_min(size, cap - 1));
        out[attn_min(size, cap - 1)] = '\0';
    }
    return size;
}

/* ---- batches ---- */
typedef struct { /* where the results of a call go */
    float *out;
    int64_t cap, rows, n; /* rows: all so far; n: sequences so far */
    int64_t *each;        /* [n] rows of each sequence; NULL: not stored */
} Results;

static int64_t results_of(const attnc_handle *h, int64_t rows)
{
    const struct attnc_facts *f = &h->m->facts;
    return f->pooled ? 1 : rows + f->class_token;
}

/* Counts the rows of a sequence, and checks that there is space for its
 * result. Returns 0 or an error. */
static int64_t count_rows(attnc_handle *h, Results *r, int64_t rows)
{
    const int64_t columns = h->m->facts.columns;
    if (rows < 0)
        return library_error(h, ATTNC_ERROR_TABLE,
                             "sequence %lld: it ends before it starts",
                             (long long)r->n);
    if (rows < 1)
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "sequence %lld: it is empty", (long long)r->n);
    if (rows > most_rows(h))
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "sequence %lld: %lld rows, at most %lld are taken",
                             (long long)r->n, (long long)rows,
                             (long long)most_rows(h));
    const int64_t results = results_of(h, rows);
    if (r->each)
        r->each[r->n] = results;
    r->rows += results;
    r->n++;
    if (r->out && r->rows * columns > r->cap)
        return library_error(h, ATTNC_ERROR_ROOM,
                             "sequence %lld: the results need more than %lld "
                             "floats",
                             (long long)r->n - 1, (long long)r->cap);
    return 0;
}

/* Runs a batch whose results end the rows counted so far. Returns 0 or an
 * error. */
static int64_t run_batch(attnc_handle *h, const Results *r,
                         struct attn_batch *b)
{
    const struct attn_model *m = h->m->e.backend.model;
    int64_t before = r->rows;
    if (b->sequences == 0 || !r->out)
        return 0;
    for (int64_t i = 0; i < b->sequences; i++)
        before -= results_of(h, b->start[i + 1] - b->start[i]);
    b->rows = b->start[b->sequences];
    b->output = r->out + before * m->output_columns;
    b->parallel = h->m->e.parallel;
    const int64_t bytes = attn_batch_bytes(m, b);
    if (bytes < 0)
        return library_error(h, bytes, "%s", attn_error_text(bytes));
    void *work = library_room(h, &h->work, bytes);
    if (!work)
        return ATTNC_ERROR_MEMORY;
    const int wrong = attn_encode_batch(m, h->m->e.bound, b, work, bytes);
    return wrong ? library_error(h, wrong, "sequences %lld to %lld: %s",
                                 (long long)(r->n - b->sequences),
                                 (long long)r->n - 1, attn_error_text(wrong))
                 : 0;
}

/* Returns true if another sequence of so many rows begins a new batch. */
static bool is_full(const struct attn_batch *b, const int32_t *start,
                    int64_t rows)
{
    return b->sequences == BatchSequences
        || (b->sequences > 0 && start[b->sequences] + rows > BatchRows);
}

/* Encodes sequences of ids, or of rows of numbers. */
static int64_t encode_all(attnc_handle *h, const struct attn_batch *all,
                          const int64_t *start, int64_t n, Results *r)
{
    const int64_t width = h->m->facts.input_width;
    int32_t first[BatchSequences + 1] = { 0 };
    struct attn_batch b = { .start = first };
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t rows = start[i + 1] - start[i];
        if (is_full(&b, first, rows)) {
            wrong = run_batch(h, r, &b);
            b.sequences = 0;
        }
        wrong = wrong ? wrong : count_rows(h, r, rows);
        if (wrong)
            return wrong;
        if (b.sequences == 0) {
            b.ids = all->ids ? all->ids + start[i] : NULL;
            b.types = all->types ? all->types + start[i] : NULL;
            b.input = all->input ? all->input + start[i] * width : NULL;
        }
        first[b.sequences + 1] = first[b.sequences] + (int32_t)rows;
        b.sequences++;
    }
    wrong = run_batch(h, r, &b);
    return wrong ? wrong : r->rows;
}

/* Begins a call of a model that answers with rows. Returns 0 or an error. */
static int64_t begin_rows(attnc_handle *h, bool good, bool kind)
{
    h->why[0] = '\0';
    if (h->m->facts.generates || !kind)
        return library_error(h, ATTNC_ERROR_KIND, "%s: %s", h->m->facts.name,
                             attn_error_text(ATTN_ERROR_KIND));
    return good ? 0
                : library_error(h, ATTNC_ERROR_NULL,
                                "a pointer is NULL, or a count below 0");
}

int64_t attnc_encode(attnc_handle *h, const int32_t *ids, const int32_t *types,
                     const int64_t *start, int64_t n, float *out, int64_t cap,
                     int64_t *rows)
{
    const struct attn_batch all = { .ids = ids, .types = types };
    Results r = { out, cap, .each = rows };
    const struct attnc_facts *f = &h->m->facts;
    const int64_t wrong = begin_rows(h, n == 0 || (n > 0 && ids && start),
                                     f->input_width == 0
                                         && f->kind != ATTNC_ATTENTION);
    return wrong ? wrong : encode_all(h, &all, start, n, &r);
}

int64_t attnc_encode_rows(attnc_handle *h, const float *input,
                          const int64_t *start, int64_t n, float *out,
                          int64_t cap, int64_t *rows)
{
    const struct attn_batch all = { .input = input };
    Results r = { out, cap, .each = rows };
    const struct attnc_facts *f = &h->m->facts;
    const int64_t wrong = begin_rows(h, n == 0 || (n > 0 && input && start),
                                     f->input_width > 0
                                         && f->kind != ATTNC_ATTENTION);
    return wrong ? wrong : encode_all(h, &all, start, n, &r);
}

/* ---- texts ---- */

/* Cuts the last `found` of n ids to `most`. The tokens that the template adds
 * after the text are kept: those of an empty text, but for the first ones that
 * both have. Returns how many remain, or an error. */
static int64_t cut_ids(attnc_handle *h, const void *block, int64_t n,
                       int64_t found, int64_t most)
{
    const TextPair none = { .at = "" };
    const int64_t added = text_ids(h, block, n + found, &none, 0);
    if (added < 0)
        return added;
    int32_t *ids = (int32_t *)h->ids.at + n;
    const int32_t *frame = ids + found;
    int64_t before = 0;
    while (before < added && ids[before] == frame[before])
        before++;
    const int64_t after = attn_min(added - before, most);
    memmove(ids + most - after, ids + found - after,
            (size_t)after * sizeof *ids);
    return most;
}

/* Converts a text, or a pair, to ids after the first n. Returns their number
 * or an error. */
static int64_t sequence_ids(attnc_handle *h, const void *block, int64_t n,
                            const TextPair *t)
{
    if (t->bytes < 0 || t->other_bytes < 0)
        return library_error(h, ATTNC_ERROR_COUNT, "a size is below 0");
    if (t->other)
        return pair_ids(h, block, n, t);
    const int64_t found = text_ids(h, block, n, t, 0);
    if (found <= most_rows(h) || !h->limits.cut)
        return found;
    return cut_ids(h, block, n, found, most_rows(h));
}

static int64_t embed_all(attnc_handle *h, const char *const *texts,
                         const int64_t *bytes, const char *const *others,
                         const int64_t *other_bytes, int64_t n, Results *r)
{
    const void *block = block_of(h, 0);
    int32_t first[BatchSequences + 1] = { 0 };
    struct attn_batch b = { .start = first };
    int64_t wrong = 0;
    if (!block)
        return ATTNC_ERROR_OPEN;
    for (int64_t i = 0; i <= n && !wrong; i++) {
        if (i == n || is_full(&b, first, 0)) {
            b.ids = h->ids.at;
            b.types = others && h->m->facts.types > 1 ? h->types.at : NULL;
            wrong = run_batch(h, r, &b);
            b.sequences = 0;
        }
        if (i == n || wrong)
            break;
        if (!texts[i] || (others && !others[i]))
            return library_error(h, ATTNC_ERROR_NULL, "text %lld is NULL",
                                 (long long)i);
        const TextPair t = {
            .at = texts[i],
            .bytes = length_of(texts[i], bytes, i),
            .other = others ? others[i] : NULL,
            .other_bytes = others ? length_of(others[i], other_bytes, i) : 0,
        };
        const int64_t found = sequence_ids(h, block, first[b.sequences], &t);
        if (found < 0) {
            char why[sizeof h->why];
            memcpy(why, h->why, sizeof why);
            return library_error(h, found, "text %lld: %.*s", (long long)i,
                                 (int)sizeof why - 40, why);
        }
        wrong = count_rows(h, r, found);
        first[b.sequences + 1] = first[b.sequences] + (int32_t)found;
        b.sequences++;
    }
    return wrong ? wrong : r->rows;
}

int64_t attnc_embed(attnc_handle *h, const char *const *texts,
                    const int64_t *bytes, int64_t n, float *out, int64_t cap,
                    int64_t *rows)
{
    Results r = { out, cap, .each = rows };
    const int64_t wrong = begin_rows(h, n == 0 || (n > 0 && texts), true);
    return wrong ? wrong : embed_all(h, texts, bytes, NULL, NULL, n, &r);
}

int64_t attnc_embed_pairs(attnc_handle *h, const char *const *texts,
                          const int64_t *bytes, const char *const *others,
                          const int64_t *other_bytes, int64_t n, float *out,
                          int64_t cap, int64_t *rows)
{
    Results r = { out, cap, .each = rows };
    const int64_t wrong = begin_rows(h, n == 0 || (n > 0 && texts && others),
                                     true);
    return wrong ? wrong
                 : embed_all(h, texts, bytes, others, other_bytes, n, &r);
}

int64_t attnc_attend(attnc_handle *h, const float *query, int64_t queries,
                     const float *key, const float *value, int64_t keys,
                     float *out, int64_t cap)
{
    const struct attn_model *m = h->m->e.backend.model;
    const int64_t most = attn_max(m->max_source, m->max_target);
    const int64_t wrong = begin_rows(h, query && key && value && out,
                                     m->kind == ATTN_ATTENTION);
    const int32_t start[2] = { 0, (int32_t)queries };
    const int32_t key_start[2] = { 0, (int32_t)keys };
    Results r = { out, cap, queries, 1, NULL };
    struct attn_batch b = { .sequences = 1,
                            .start = start,
                            .query = query,
                            .key = key,
                            .value = value,
                            .key_rows = keys,
                            .key_start = key_start };
    if (wrong)
        return wrong;
    if (queries < 1 || keys < 1 || attn_max(queries, keys) > most)
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "%lld queries and %lld keys: 1 to %lld are taken",
                             (long long)queries, (long long)keys,
                             (long long)most);
    if (queries * m->output_columns > cap)
        return library_error(h, ATTNC_ERROR_ROOM,
                             "the results need %lld floats",
                             (long long)(queries * m->output_columns));
    const int64_t failed = run_batch(h, &r, &b);
    return failed ? failed : queries;
}
