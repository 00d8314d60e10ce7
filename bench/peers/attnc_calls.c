/* attnc_calls.c: the calls of an emitted file that peer_attnc.py makes, with
 * plain numbers and arrays, so that it need not know the structs of the header.
 * Built with that file and runtime/base/pool.c, attnc's own threads, into one
 * shared library, by -DHEADER='"model.h"' -DNAME(x)=prefix_##x [-DSEARCHES].
 * One model, one caller. Sentences' ids lie one after the other; start
 * [sentences + 1] is where each begins. 0 is success.                        */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include HEADER

enum { Cached = 1024, Pages = Cached / ATTN_PAGE };

struct attn_pool *attn_pool_open(int64_t threads); /* runtime/base/pool.h */
const struct attn_parallel *attn_pool_parallel(const struct attn_pool *p);

static const struct attn_parallel *parallel; /* NULL: one thread */
static void *bound, *arena, *search;
static size_t arena_bytes, search_bytes;

/* Zeroed, in pages of 2 MiB where the system has them. */
static void *memory(size_t bytes)
{
    const size_t huge = (size_t)1 << 21;
    const size_t whole = (bytes + huge) / huge * huge;
    void *at = aligned_alloc(huge, whole);

    if (!at)
        exit(5);
    madvise(at, whole, MADV_HUGEPAGE);
    return memset(at, 0, whole);
}

/* Makes *at as large as that; what was there is lost. */
static void *at_least(void **at, size_t *have, size_t bytes)
{
    if (bytes > *have) {
        free(*at);
        *at = memory(bytes);
        *have = bytes;
    }
    return *at;
}

/* path: model.weights, or NULL for a model without. What is wrong, or NULL. */
const char *calls_open(const char *path, int64_t threads);
const char *calls_open(const char *path, int64_t threads)
{
    FILE *file = path ? fopen(path, "rb") : NULL;

    if (threads > 1)
        parallel = attn_pool_parallel(attn_pool_open(threads));
    bound = memory((size_t)NAME(model)()->bound_bytes);
    if (!path)
        return NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return "no such file";
    const size_t bytes = (size_t)ftell(file);
    void *at = memory(bytes);
    rewind(file);
    const size_t found = fread(at, 1, bytes, file);
    fclose(file);
    return found == bytes ? NAME(bind)(bound, at, (int64_t)bytes)
                          : "the file ends early";
}

static void *room(const struct attn_batch *b)
{
    const struct attn_model *m = NAME(model)();
    return at_least(&arena, &arena_bytes,
                    (size_t)m->arena_bytes(b->rows, b->sequences,
                                           parallel ? parallel->parts : 1));
}

void calls_encode(int64_t sentences, const int32_t *ids, const int32_t *start,
                  float *output);
void calls_encode(int64_t sentences, const int32_t *ids, const int32_t *start,
                  float *output)
{
    const struct attn_batch b = { .sequences = sentences,
                                  .rows = start[sentences],
                                  .ids = ids,
                                  .start = start,
                                  .output = output,
                                  .parallel = parallel };
    NAME(model)()->encode(bound, &b, room(&b));
}

/* q, k, v, output: [n, d_model] */
void calls_attention(int64_t n, const float *q, const float *k, const float *v,
                     float *output);
void calls_attention(int64_t n, const float *q, const float *k, const float *v,
                     float *output)
{
    const int32_t start[2] = { 0, (int32_t)n };
    const struct attn_batch b = { .sequences = 1,
                                  .rows = n,
                                  .key_rows = n,
                                  .start = start,
                                  .key_start = start,
                                  .query = q,
                                  .key = k,
                                  .value = v,
                                  .output = output,
                                  .parallel = parallel };
    NAME(model)()->encode(bound, &b, room(&b));
}

/* Kind decoder, one sequence: reads `rows` ids behind `past` that are cached;
 * logits of the last.                                                       */
void calls_decode(int64_t past, int64_t rows, const int32_t *ids,
                  float *logits);
void calls_decode(int64_t past, int64_t rows, const int32_t *ids, float *logits)
{
    static float *pool;
    const struct attn_model *m = NAME(model)();
    int32_t pages[Pages];
    const int32_t start[2] = { 0, (int32_t)rows }, select = start[1] - 1;
    const int32_t before = (int32_t)past;

    for (int i = 0; i < Pages; i++)
        pages[i] = i;
    if (!pool)
        pool = memory((size_t)(Pages * m->cache[ATTN_SELF].page_bytes));
    const struct attn_batch b = { .sequences = 1,
                                  .rows = rows,
                                  .ids = ids,
                                  .start = start,
                                  .past = &before,
                                  .select = &select,
                                  .selected = 1,
                                  .pool = { pool },
                                  .pages = { pages },
                                  .table = { Pages },
                                  .output = logits,
                                  .parallel = parallel };
    m->decode(bound, &b, room(&b));
}

#ifdef SEARCHES
/* answers: [sentences, steps], the best of each; exactly `steps` tokens, none
 * of them the end.                                                          */
int calls_generate(int64_t beam, int64_t steps, int64_t sentences,
                   const int32_t *ids, const int32_t *start, int32_t *answers);
int calls_generate(int64_t beam, int64_t steps, int64_t sentences,
                   const int32_t *ids, const int32_t *start, int32_t *answers)
{
    struct attn_search_options o;
    struct attn_hypothesis best[64];
    int64_t found[64], longest = 0;

    for (int64_t i = 0; i < sentences; i++)
        if (start[i + 1] - start[i] > longest)
            longest = start[i + 1] - start[i];
    NAME(options)(&o);
    o.beam = beam;
    o.results = 1;
    o.parallel = parallel;
    o.max_output = steps;
    o.max_output_plus = -1;
    o.process.min_length = steps;
    const int64_t bytes = NAME(search_bytes)(&o, sentences, start[sentences],
                                             longest);
    if (bytes < 0 || sentences > 64)
        return 1;
    at_least(&search, &search_bytes, (size_t)bytes);
    if (NAME(search)(bound, &o, sentences, ids, start, search, bytes, best,
                     found)
        != 0)
        return 1;
    for (int64_t i = 0; i < sentences; i++) {
        if (found[i] != 1 || best[i].n != steps)
            return 1;
        memcpy(answers + i * steps, best[i].tokens,
               (size_t)steps * sizeof *answers);
    }
    return 0;
}
#endif
