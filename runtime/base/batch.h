/* batch.h: what a model is called with: sequences of rows, where their keys and
 * values lie, and the caller's threads.                                     */
#ifndef ATTN_BATCH_1
#define ATTN_BATCH_1

#include <stdint.h>

enum {
    ATTN_PAGE = 64,  /* positions of one page of a cache */
    ATTN_PANEL = 16, /* columns of a panel; of keys, positions */
    ATTN_SELF = 0,   /* the caches: of the decoder's own keys .. */
    ATTN_CROSS = 1,  /* .. and of the encoder's output; behind them those of
                        layers that look back less far, or whose keys have
                        other sizes */
    ATTN_CACHES = 16 /* the most of all that a model has */
};

/* A caller's threads. run() calls part(arg, i, parts) once for each i from 0 to
 * parts - 1 and returns when all are done. They may run at once, in any order,
 * or one after the other on one thread: no part waits for another. Results are
 * the same bits for any number of parts, and a model asks for no more than what
 * the work is worth.                                                        */
struct attn_parallel {
    int64_t parts; /* the most of them; an arena has room for */
    void *pool;    /* run()'s first argument */
    void (*run)(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts),
                void *arg);
};

/* One call of an entry works on a batch: sequences of any lengths, their rows
 * one after the other, nothing padded.                                      */
struct attn_batch {
    int64_t sequences;
    int64_t rows;          /* of all sequences together */
    const int32_t *start;  /* [sequences + 1] first row of each */
    const int32_t *ids;    /* [rows] token ids */
    const int32_t *past;   /* [sequences] decode: rows in the cache */
    const int32_t *select; /* [selected] decode: rows that want logits */
    int64_t selected;      /* not more than rows */
    /* the model's caches: page q of sequence s begins at
     * pool[c] + pages[c][s * table[c] + q] * cache[c].page_floats           */
    float *pool[ATTN_CACHES]; /* at a multiple of 64 bytes */
    const int32_t *pages[ATTN_CACHES];
    int64_t table[ATTN_CACHES]; /* entries of a sequence in pages[] */
    const int32_t *source;      /* [sequences] decode: row of the cross caches'
                                   tables of pages */
    const int32_t *source_rows; /* [sources] decode: keys of each such row */
    /* checks alone look at these: pages of pool[], rows of cross tables */
    int64_t pool_pages[ATTN_CACHES], sources;
    const int32_t *prefix; /* [sequences] masking prefix: keys that all
                              rows of a sequence see; NULL: none */
    const int32_t *types;  /* [rows] token types; NULL: all 0 */
    const float *input;    /* rows of numbers in place of ids; a class
                              token is not among them, but in output */
    /* kind attention: rows of numbers; keys have their own lengths */
    const float *query, *key, *value;
    int64_t key_rows;
    const int32_t *key_start; /* [sequences + 1] */
    float *output;            /* [selected, output_columns] of decode; else
                                 [rows, ..], pooled [sequences, ..]. Encode
                                 of an encoder-decoder: unused, its result
                                 is the cross cache */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

#endif
