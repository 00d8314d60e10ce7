/* batch.h: the arguments of one call of a model: sequences of rows, the pages
 * of their keys and values, and the caller's threads.                       */
#ifndef ATTN_BATCH_1
#define ATTN_BATCH_1

#include <stdint.h>

enum {
    ATTN_PAGE = 64,  /* positions in one page of a cache */
    ATTN_PANEL = 16, /* columns of a panel; for keys, positions */
    ATTN_SELF = 0,   /* cache of the decoder's own keys */
    ATTN_CROSS = 1,  /* cache of the encoder's output; further caches are for
                        layers with a shorter window or other sizes of keys */
    ATTN_CACHES = 16 /* maximum number of caches of a model */
};

/* A caller's threads. run() calls part(arg, i, parts) once for each i from 0 to
 * parts - 1 and returns when all are done. The parts are independent: they may
 * run at once, in any order, or one after the other on one thread. Results are
 * bit-identical for any number of parts. A model uses fewer parts when there is
 * little work.                                                              */
struct attn_parallel {
    int64_t parts; /* maximum; the arena has room for this many */
    void *pool;    /* run()'s first argument */
    void (*run)(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts),
                void *arg);
};

/* The batch of one call: sequences of any lengths, concatenated without
 * padding.                                                                  */
struct attn_batch {
    int64_t sequences;
    int64_t rows;          /* total of all sequences */
    const int32_t *start;  /* [sequences + 1] first row of each */
    const int32_t *ids;    /* [rows] token ids */
    const int32_t *past;   /* [sequences] decode: rows already in the cache */
    const int32_t *select; /* [selected] decode: rows whose logits are needed */
    int64_t selected;      /* at most `rows` */
    /* The model's caches: page q of sequence s begins at pool[c] + pages[c][s *
     * table[c] + q] * cache[c].page_floats.                                 */
    float *pool[ATTN_CACHES]; /* 64-byte aligned */
    const int32_t *pages[ATTN_CACHES];
    int64_t table[ATTN_CACHES]; /* entries per sequence in pages[] */
    const int32_t *source;      /* [sequences] decode: row in the page tables
                                   of the cross caches */
    const int32_t *source_rows; /* [sources] decode: keys of each such row */
    /* used only by checks: pages in pool[], rows in the cross tables */
    int64_t pool_pages[ATTN_CACHES], sources;
    const int32_t *prefix; /* [sequences] masking prefix: keys that all
                              rows of a sequence see; NULL: none */
    const int32_t *types;  /* [rows] token types; NULL: all 0 */
    const float *input;    /* rows of numbers instead of ids; without the
                              class token's row, which the output has */
    /* kind attention: rows of numbers; the keys have their own lengths */
    const float *query, *key, *value;
    int64_t key_rows;
    const int32_t *key_start; /* [sequences + 1] */
    float *output;            /* decode: [selected, output_columns]; else
                                 [rows, output_columns], or if pooled,
                                 [sequences, output_columns]. Unused by
                                 encode of an encoder-decoder, which fills
                                 the cross caches instead */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

#endif
