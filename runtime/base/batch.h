/* batch.h: the arguments of one call of a model: sequences of rows, the pages
 * of their keys and values, and the caller's threads.                       */
#ifndef ATTN_BATCH_2
#define ATTN_BATCH_2

#include <stdint.h>

enum {
    ATTN_PAGE = 64,  /* positions per page of a cache */
    ATTN_PANEL = 16, /* columns of a panel or, in a panel of keys, positions */
    ATTN_SELF = 0,   /* cache of the decoder's own keys */
    ATTN_CROSS = 1,  /* cache of the encoder's output; higher numbers: caches
                        of layers with another window or other sizes */
    ATTN_CACHES = 16 /* maximum caches of a model */
};

/* A caller's threads. run() calls part(arg, i, parts) once for each i from 0 to
 * parts - 1 and returns when all calls are done. The parts are independent:
 * they may run in parallel, in any order, or in sequence on one thread. Results
 * are bit-identical for any number of parts. A model uses fewer parts if there
 * is little work. */
struct attn_parallel {
    int64_t parts; /* maximum parts; the arena has room for this number */
    void *pool;    /* first argument of run() */
    void (*run)(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts),
                void *arg);
    const struct attn_comm *comm; /* the processes that divide the model, of
                                   * attnc compile --ranks; NULL: one */
};

/* The batch of one call: sequences of any lengths, concatenated without
 * padding.                                                                  */
struct attn_batch {
    int64_t sequences;
    int64_t rows;          /* number of rows in all sequences */
    const int32_t *start;  /* [sequences + 1] first row of each sequence */
    const int32_t *ids;    /* [rows] token ids */
    const int32_t *past;   /* [sequences] decode: earlier rows in the cache */
    const int32_t *select; /* [selected] decode: indices of the rows whose
                              logits are needed */
    int64_t selected;      /* number of selected rows, at most `rows` */
    /* The model's caches: page q of sequence s begins pages[c][s * table[c] +
     * q] * cache[c].page_bytes bytes after pool[c].                         */
    float *pool[ATTN_CACHES]; /* 64-byte aligned */
    const int32_t *pages[ATTN_CACHES];
    int64_t table[ATTN_CACHES]; /* entries per sequence in each table pages[] */
    const int32_t *source;      /* [sequences] decode: the sequence's row in
                                   the page tables of the cross caches */
    const int32_t *source_rows; /* [sources] decode: number of keys in each
                                   row of the cross tables */
    /* used only by checks: number of pages in each pool[], number of rows in
     * the cross tables */
    int64_t pool_pages[ATTN_CACHES], sources;
    const int32_t *prefix; /* [sequences] masking prefix: length of the part
                            * that all rows of the sequence can see; NULL:
                            * none. head.query.attend false: only that part is
                            * visible; NULL: all rows */
    const int32_t *types;  /* [rows] token types; NULL: all 0 */
    const float *input;    /* rows of numbers, for a model that reads them
                            * instead of ids; unlike the output, without rows
                            * for learned tokens such as the class token */
    /* for a model of `kind: attention`: rows of numbers; keys have their own
     * sequence lengths */
    const float *query, *key, *value;
    int64_t key_rows;
    const int32_t *key_start; /* [sequences + 1] first key row of each
                               * sequence */
    float *output;            /* decode: [selected, output_columns]; others:
                                 [rows, output_columns] or, if pooled,
                                 [sequences, output_columns]. Not used by
                                 encode of an encoder-decoder, which fills
                                 the cross caches instead */
    const struct attn_parallel *parallel; /* NULL: one thread. A file without
                                           * the part threads ignores it. */
};

#endif
