/* compiled_model.h: what a compiled model is: its kind, sizes, functions; and
 * the errors of all that is around it.                                      */
#ifndef ATTN_MODEL_1
#define ATTN_MODEL_1

#include "batch.h"

/* Kinds of models. */
enum {
    ATTN_ENCODER_DECODER = 0,
    ATTN_ENCODER = 1,
    ATTN_DECODER = 2,
    ATTN_ATTENTION = 3
};

/* Errors, all below 0; error_text() has them in words. ATTN_STREAM_END and
 * ATTN_STREAM_FULL, of a stream's next token alone, are none.               */
enum {
    ATTN_ERROR_ROOM = -1,     /* too little memory, or room for a result */
    ATTN_ERROR_UNKNOWN = -2,  /* text that the vocabulary does not have */
    ATTN_ERROR_UTF8 = -3,     /* text that is not UTF-8 */
    ATTN_ERROR_NULL = -4,     /* a pointer is NULL that may not be */
    ATTN_ERROR_COUNT = -5,    /* a count, a size: below 0, or too large */
    ATTN_ERROR_LENGTH = -6,   /* a length that the model does not take */
    ATTN_ERROR_TABLE = -7,    /* starts that do not go up from 0; pages,
                                 rows, sources outside of what there is */
    ATTN_ERROR_ID = -8,       /* an id, a type that the model lacks */
    ATTN_ERROR_OPTION = -9,   /* an option out of its range */
    ATTN_ERROR_KIND = -10,    /* this kind of model does not do that */
    ATTN_ERROR_OPEN = -11,    /* no stream, text or vocabulary that was
                                 opened, or no other slot of its room */
    ATTN_ERROR_STATE = -12,   /* a state that is damaged, or of another
                                 model */
    ATTN_ERROR_ALIGNED = -13, /* memory that is not at the multiple of
                                 bytes that it has to be at */
    ATTN_ERROR_FINITE = -14,  /* logits, or their weights, not finite */
    ATTN_ERROR_PAIR = -15,    /* a vocabulary has no template for pairs */
    ATTN_ERROR_FIXED = -16    /* a number of rows or sequences other than the
                                 one that the code was made for */
};
enum { ATTN_MOST = (1 << 29) - 1 }; /* rows, sequences, tokens, threads */

/* What the pages of a cache hold. Layers whose keys and values have the same
 * sizes, and that look back as far, share a cache: for each of the blocks, the
 * (layer, head) pairs, keys [4][d_k][16], then values [v_panels][64][16]
 * (panels of 16 columns). */
struct attn_cache_layout {
    int64_t of;          /* whose rows: ATTN_SELF, ATTN_CROSS */
    int64_t page_floats; /* 0: the model has no such cache */
    int64_t blocks, d_k, v_panels;
    int64_t window; /* rows that a row reads: itself and those just before
                       it; 0: all */
    int64_t states; /* floats that recurrent layers leave after a row; a page
                       ends in two of them, after the last even row that it
                       has and the last odd one, and zeros to a multiple of
                       16 floats */
};

/* A compiled model: constants and inner entries. Everything is a pure function
 * of its arguments; nothing is global, so threads may share one model. The
 * inner entries check nothing: an id or a length that is out of range is a
 * fault in memory. The functions around them, NAME_encode_batch() .., check. */
struct attn_model {
    const char *name;
    int64_t kind; /* ATTN_ENCODER_DECODER .. */
    int64_t d_model, source_vocab, target_vocab;
    int64_t max_source, max_target;
    int64_t input_width; /* numbers in a row; 0: token ids are read */
    int64_t class_token; /* rows that inner encode() skips: of the class
                            token, of one of distillation */
    int64_t types;       /* of tokens; 0: it reads none */
    /* what each call has, and no other; 0: any. Rows of a sequence of encode,
     * those of the class token among them, or of query; new ones of decode;
     * keys that these see; sequences                                        */
    int64_t fixed_source, fixed_target, fixed_keys, fixed_batch;
    int64_t output_columns; /* numbers in a row of the result */
    int64_t output_pooled;  /* 1: it has a row for each sequence */
    int64_t weights_bytes;  /* of the packed weights */
    const char *dtype;      /* of most matrices: "f32", "int8" .. */
    uint64_t weights_hash;  /* of names, shapes, layout: as in the file */
    uint64_t spec_hash;     /* of all that decides what is computed */
    const char *command;    /* that packs its weights */
    int64_t bound_bytes;    /* of the struct that bind() fills, and room
                               for what bind() says */
    int64_t caches;         /* ATTN_SELF, ATTN_CROSS, and others */
    struct attn_cache_layout cache[ATTN_CACHES];
    int64_t (*arena_bytes)(int64_t rows, int64_t sequences, int64_t parts);
    void (*bind)(void *bound, const void *packed);
    void (*encode)(const void *bound, const struct attn_batch *, void *arena);
    void (*decode)(const void *bound, const struct attn_batch *, void *arena);
    /* log(sum(exp(x[0..n-1]))), vectorised, the same bits everywhere */
    float (*log_sum_exp)(const float *x, int64_t n);
};

#endif
