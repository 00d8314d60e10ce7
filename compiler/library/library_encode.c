/* library_encode.c: tokens, and models that answer with rows. All
 * sequences of a call go through attn_encode_batch(), some at a time, without
 * padding. */
#include <string.h>

#include "library/library.h"

enum {
    BatchRows = 8192, /* no sequence is added to a batch with so many rows */
    BatchSequences = 32
};

static int64_t most_rows(const attnc_handle *h)
{
    const int64_t most = h->m->facts.max_source - h->m->facts.class_token;
    const int64_t limit = h->limits.max_input;
    return limit > 0 ? attn_min(limit, most) : most;
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

int64_t library_how(const attnc_handle *h)
{
    return h->m->facts.kind == ATTNC_DECODER ? ATTN_STARTED : 0;
}

const void *library_vocabulary(attnc_handle *h, int target)
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

int64_t library_ids(attnc_handle *h, const void *block, int64_t n,
                    const char *text, int64_t bytes, int64_t how)
{
    const TextPair t = { .at = text, .bytes = bytes };
    return text_ids(h, block, n, &t, how);
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
    const void *block = library_vocabulary(h, target);
    if (!block)
        return ATTNC_ERROR_OPEN;
    if (!text || (cap > 0 && !ids))
        return library_error(h, ATTNC_ERROR_NULL, "a pointer is NULL");
    const TextPair t = { .at = text,
                         .bytes = bytes == -1 ? (int64_t)strlen(text) : bytes };
    const int64_t n = text_ids(h, block, 0, &t,
                               target ? ATTN_PLAIN : library_how(h));
    if (n > 0 && cap > 0)
        memcpy(ids, h->ids.at, (size_t)attn_min(n, cap) * sizeof *ids);
    return n;
}

int64_t attnc_text(attnc_handle *h, const int32_t *ids, int64_t n, char *out,
                   int64_t cap)
{
    const void *block = library_vocabulary(h, (int)h->m->facts.generates);
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

static bool skips_rows(const attnc_handle *h)
{
    return h->limits.task == ATTN_TASK_DOCUMENT && !h->m->facts.pooled
        && h->m->e.spec->document_skip.n > 0;
}

/* Returns the number of rows in the result of a sequence. ids: those of its
 * text; NULL: it is none. */
static int64_t results_of(const attnc_handle *h, const int32_t *ids,
                          int64_t rows)
{
    const struct attnc_facts *f = &h->m->facts;
    int64_t kept = 0;
    if (!skips_rows(h) || !ids)
        return f->pooled ? 1 : rows + f->class_token;
    const struct attn_task task = spec_task(h->m->e.spec, h->limits.task);
    for (int64_t i = 0; i < rows; i++)
        kept += attn_task_keeps(&task, ids[i]);
    return kept;
}

/* Counts the rows of a sequence, and checks that there is space for its
 * result. Returns 0 or an error. */
static int64_t count_rows(attnc_handle *h, Results *r, const int32_t *ids,
                          int64_t rows)
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
    const int64_t results = results_of(h, ids, rows);
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

/* Runs a batch whose results end the rows counted so far. texts: its ids are
 * those of texts. Returns 0 or an error. */
static int64_t run_batch(attnc_handle *h, const Results *r,
                         struct attn_batch *b, bool texts)
{
    const struct attn_model *m = h->m->e.backend.model;
    const bool skips = texts && skips_rows(h);
    int64_t before = r->rows;
    if (b->sequences == 0 || !r->out)
        return 0;
    for (int64_t i = 0; i < b->sequences; i++)
        before -= results_of(h, texts ? b->ids + b->start[i] : NULL,
                             b->start[i + 1] - b->start[i]);
    b->rows = b->start[b->sequences];
    float *out = r->out + before * m->output_columns;
    b->output = skips
                  ? library_room(h, &h->rows, b->rows * m->output_columns * 4)
                  : out;
    if (!b->output)
        return ATTNC_ERROR_MEMORY;
    b->parallel = h->m->e.parallel;
    const int64_t bytes = attn_batch_bytes(m, b);
    if (bytes < 0)
        return library_error(h, bytes, "%s", attn_error_text(bytes));
    void *work = library_room(h, &h->work, bytes);
    if (!work)
        return ATTNC_ERROR_MEMORY;
    const int wrong = attn_encode_batch(m, h->m->e.bound, b, work, bytes);
    const struct attn_task task = spec_task(h->m->e.spec, h->limits.task);
    if (!wrong && skips)
        attn_task_rows(&task, b->ids, b->rows, b->output, m->output_columns,
                       out);
    return wrong ? library_error(h, wrong, "sequences %lld to %lld: %s",
                                 (long long)(r->n - b->sequences),
                                 (long long)r->n - 1, attn_error_text(wrong))
                 : 0;
}

/* Returns true if another sequence of so many rows begins a new batch. rows 0:
 * their number is not known yet, so the last sequence of a batch may exceed the
 * limits. Logits of all rows, which are pooled, need the most memory. */
static bool is_full(const attnc_handle *h, const struct attn_batch *b,
                    const int32_t *start, int64_t rows)
{
    const int64_t all = start[b->sequences] + rows;
    return b->sequences == BatchSequences
        || (b->sequences > 0
            && (all > BatchRows
                || h->m->e.backend.model->arena_bytes(all, b->sequences + 1, 1)
                       > BatchBytes));
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
        if (is_full(h, &b, first, rows)) {
            wrong = run_batch(h, r, &b, false);
            b.sequences = 0;
        }
        wrong = wrong ? wrong : count_rows(h, r, NULL, rows);
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
    wrong = run_batch(h, r, &b, false);
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
    const int64_t after = attn_min(attn_template_tail(ids, ids + found,
                                                      attn_min(added, found)),
                                   most);
    memmove(ids + most - after, ids + found - after,
            (size_t)after * sizeof *ids);
    return most;
}

/* Turns the last `found` of n ids into those of a query or a document. Returns
 * their number or an error. */
static int64_t ids_of_task(attnc_handle *h, const void *block, int64_t n,
                           int64_t found, int32_t *given)
{
    const struct attn_task task = spec_task(h->m->e.spec, h->limits.task);
    const TextPair none = { .at = "" };
    const int64_t behind = n + found + attn_task_room(&task);
    int64_t all;
    if (h->limits.task == ATTN_TASK_NONE || found < 1)
        return found;
    const int64_t added = text_ids(h, block, behind, &none, 0);
    if (added < 0)
        return added;
    int32_t *ids = (int32_t *)h->ids.at + n;
    found = attn_task_ids(&task, ids, found,
                          attn_template_tail(ids, (int32_t *)h->ids.at + behind,
                                             attn_min(added, found)),
                          &all);
    *given = (int32_t)all;
    return found;
}

/* Converts a pair that becomes one text by the spec. Cuts it before the text
 * that ends it. */
static int64_t one_text_ids(attnc_handle *h, const void *block, int64_t n,
                            const TextPair *t)
{
    const struct attn_pair_texts *p = &h->m->e.spec->pair;
    const struct attn_two_texts two = { t->at, t->other, t->bytes,
                                        t->other_bytes };
    const int64_t most = most_rows(h);
    TextPair one = { .bytes = attn_pair_text(p, &two, NULL) };
    TextPair end = { .at = p->end ? p->end : "" };
    char *text = library_room(h, &h->text, one.bytes + 1);
    if (!text)
        return ATTNC_ERROR_MEMORY;
    attn_pair_text(p, &two, text);
    one.at = text;
    const int64_t found = text_ids(h, block, n, &one, ATTN_PLAIN);
    if (found <= most || !h->limits.cut)
        return found;
    end.bytes = (int64_t)strlen(end.at);
    const int64_t tail = text_ids(h, block, n + found, &end, ATTN_PLAIN);
    if (tail < 0)
        return tail;
    int32_t *ids = (int32_t *)h->ids.at + n;
    attn_keep_end(ids, most, ids + found, tail);
    return most;
}

/* Converts a text, or a pair, to ids after the first n. Returns their number
 * or an error. Sets *given to how many all rows attend to, if the text has a
 * task. */
static int64_t sequence_ids(attnc_handle *h, const void *block, int64_t n,
                            const TextPair *t, int32_t *given)
{
    if (t->bytes < 0 || t->other_bytes < 0)
        return library_error(h, ATTNC_ERROR_COUNT, "a size is below 0");
    if (t->other && h->m->e.spec->pair.second)
        return one_text_ids(h, block, n, t);
    if (t->other) {
        const int64_t both = pair_ids(h, block, n, t);
        if (both <= most_rows(h) || !h->limits.cut)
            return both;
        const int64_t first = text_ids(h, block, n + both, t, ATTN_PLAIN);
        return first < 0
                 ? first
                 : library_cut_pair(h, block, n, both, first, most_rows(h));
    }
    int64_t found = text_ids(h, block, n, t, 0);
    found = ids_of_task(h, block, n, found, given);
    if (found <= most_rows(h) || !h->limits.cut)
        return found;
    return cut_ids(h, block, n, found, most_rows(h));
}

static int64_t embed_all(attnc_handle *h, const char *const *texts,
                         const int64_t *bytes, const char *const *others,
                         const int64_t *other_bytes, int64_t n, Results *r)
{
    const void *block = library_vocabulary(h, 0);
    int32_t first[BatchSequences + 1] = { 0 };
    int32_t given[BatchSequences];
    struct attn_batch b = { .start = first,
                            .prefix = !others && h->limits.task
                                           && spec_hides_fill(h->m->e.spec)
                                        ? given
                                        : NULL };
    int64_t wrong = 0;
    if (!block)
        return ATTNC_ERROR_OPEN;
    for (int64_t i = 0; i <= n && !wrong; i++) {
        if (i == n || is_full(h, &b, first, 0)) {
            b.ids = h->ids.at;
            b.types = others && h->m->facts.types > 1
                           && !h->m->e.spec->pair.second
                        ? h->types.at
                        : NULL;
            wrong = run_batch(h, r, &b, !others);
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
        const int64_t found = sequence_ids(h, block, first[b.sequences], &t,
                                           given + b.sequences);
        if (found < 0)
            return library_error_at(h, found, "text", i);
        wrong = count_rows(h, r,
                           others ? NULL
                                  : (int32_t *)h->ids.at + first[b.sequences],
                           found);
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
    const int64_t failed = run_batch(h, &r, &b, false);
    return failed ? failed : queries;
}
