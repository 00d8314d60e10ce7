/* compiled_model.h: a compiled model (its kind, sizes and functions), and the
 * errors that all functions return. */
#ifndef ATTN_MODEL_6
#define ATTN_MODEL_6

#include "batch.h"

/* Kinds of models. */
enum {
    ATTN_ENCODER_DECODER = 0,
    ATTN_ENCODER = 1,
    ATTN_DECODER = 2,
    ATTN_ATTENTION = 3
};

/* A task says what a text is in late interaction. */
enum { ATTN_TASK_NONE, ATTN_TASK_QUERY, ATTN_TASK_DOCUMENT };

/* Errors, all negative; error_text() describes them. ATTN_STREAM_END and
 * ATTN_STREAM_FULL are not errors: only the function for a stream's next token
 * returns them. */
enum {
    ATTN_ERROR_ROOM = -1,     /* too little memory or space for a result */
    ATTN_ERROR_UNKNOWN = -2,  /* text that is not in the vocabulary */
    ATTN_ERROR_UTF8 = -3,     /* text that is not UTF-8 */
    ATTN_ERROR_NULL = -4,     /* a required pointer is NULL */
    ATTN_ERROR_COUNT = -5,    /* a count or a size is below 0 or too large */
    ATTN_ERROR_LENGTH = -6,   /* a length that the model does not support */
    ATTN_ERROR_TABLE = -7,    /* starts or entries of a table are invalid */
    ATTN_ERROR_ID = -8,       /* an id or type that the model lacks */
    ATTN_ERROR_OPTION = -9,   /* an option is out of range */
    ATTN_ERROR_KIND = -10,    /* not supported by this kind of model */
    ATTN_ERROR_OPEN = -11,    /* a stream, text or vocabulary that is not
                                 open, or a table of slots that is full */
    ATTN_ERROR_STATE = -12,   /* a saved state that is damaged or belongs to
                                 another model */
    ATTN_ERROR_ALIGNED = -13, /* memory without the required alignment */
    ATTN_ERROR_FINITE = -14,  /* logits that are not finite, often because
                                 weights are not finite */
    ATTN_ERROR_PAIR = -15,    /* the vocabulary has no template for pairs */
    ATTN_ERROR_FIXED = -16,   /* not the compiled-in rows or sequences */
    ATTN_ERROR_RANKS = -17,   /* not the compiled-in number of ranks */
    ATTN_ERROR_GRAMMAR = -18  /* a grammar that is not valid, or that allows no
                                 token here */
};
/* Maximum number of rows, sequences, tokens or threads. */
enum { ATTN_MOST = (1 << 29) - 1 };

/* Formats of the elements of keys and values in a cache. */
enum { ATTN_CACHE_F32, ATTN_CACHE_BF16, ATTN_CACHE_INT8 };

/* Layout of a cache's pages. Layers whose keys and values have the same sizes
 * and the same window share a cache. A page holds, for each block (a pair of
 * layer and head), first the keys [4][d_k][16], then the values
 * [v_panels][64][16] (panels of 16 columns), and in int8 then the scales of its
 * 64 keys and those of its 64 values, as floats. */
struct attn_cache_layout {
    int64_t of;         /* owner of the cached rows: ATTN_SELF or ATTN_CROSS */
    int64_t page_bytes; /* size of a page; 0: the model has no such cache */
    int64_t format;     /* of keys and values: ATTN_CACHE_F32 or another */
    int64_t blocks, d_k, v_panels;
    int64_t window; /* number of rows that a row attends to: itself and those
                     * just before it; 0: all */
    int64_t states; /* floats of the recurrent layers' states after one row.
                       A page ends in two copies, after its last even and its
                       last odd row, and zeros to a multiple of 16 floats */
};

struct attn_search_options;
struct attn_texts;

/* A compiled model: constants and inner entries. The entries are pure functions
 * without global state, so threads may share a model. They check nothing: an id
 * or a length out of range corrupts memory. Their wrappers, such as
 * NAME_encode_batch(), check the arguments. */
struct attn_model {
    const char *name;
    int64_t kind; /* ATTN_ENCODER_DECODER to ATTN_ATTENTION */
    int64_t d_model, source_vocab, target_vocab;
    int64_t max_source, max_target;
    int64_t input_width; /* numbers per input row; 0: the model reads ids */
    int64_t class_token; /* number of learned rows (class and distillation
                          * token) before each source sequence */
    int64_t types;       /* number of token types; 0: the model reads none */
    /* Required sizes of each call; 0: any size. In order: rows of a source
     * sequence (including the class token) or of a query; new rows of decode;
     * keys that these rows attend to; sequences. */
    int64_t fixed_source, fixed_target, fixed_keys, fixed_batch;
    int64_t fixed_ranks;    /* processes that divide the model; 0: one */
    int64_t output_columns; /* numbers per result row */
    int64_t output_pooled;  /* 1: the result has one row per sequence */
    int64_t weights_bytes;  /* size of the packed weights */
    const char *dtype;      /* format of most matrices: "f32", "int8", ... */
    uint64_t weights_hash;  /* hash of names, shapes and layout; the weights
                               file has the same hash */
    uint64_t spec_hash;     /* hash of everything that affects the results */
    const char *command;    /* the command that packs the weights */
    int64_t bound_bytes;    /* size of the struct that bind() fills, including
                             * the tables that bind() computes */
    int64_t caches; /* number of caches: at least ATTN_SELF and ATTN_CROSS */
    struct attn_cache_layout cache[ATTN_CACHES];
    int64_t (*arena_bytes)(int64_t rows, int64_t sequences, int64_t parts);
    void (*bind)(void *bound, const void *packed);
    void (*encode)(const void *bound, const struct attn_batch *, void *arena);
    void (*decode)(const void *bound, const struct attn_batch *, void *arena);
    /* returns log(sum(exp(x[0 .. n - 1]))); vectorised, bit-identical
     * everywhere */
    float (*log_sum_exp)(const void *bound, const float *x, int64_t n);
    /* returns the processors for which the code that computes with these bound
     * weights is made, such as "x86-64-v4"; NULL: no code in the file runs on
     * this processor */
    const char *(*target)(const void *bound);
    /* return the weights inside the C file, or NULL; set *o to the search that
     * the spec asks for */
    const void *(*embedded)(int64_t *bytes);
    void (*options)(struct attn_search_options *o);
    /* asks the system for AMX; returns 0 if this process may not use it. NULL:
     * no product uses AMX */
    int64_t (*amx_allowed)(void);
    /* what the spec adds to texts; NULL: nothing, or the file has no code for
     * texts */
    const struct attn_texts *texts;
};

#endif
