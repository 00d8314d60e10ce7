/* tiny, a Transformer in C, made by attnc 0.1.0
 *
 * A program for it:
 *
 *     // the logits after one token, in static memory
 *     #include <stdalign.h>
 *     #include "tiny_model.h"
 *
 *     // tiny_model.weights, at a multiple of 64 bytes
 *     extern const char tiny_weights[], tiny_weights_end[];
 *     static const int32_t ids[] = { 3, 4, 5 };
 *     static const int32_t source_start[] = { 0, 3 };
 *     static const int32_t source_rows[] = { 3 };
 *     static const int32_t start[] = { 0, 1 };
 *     static const int32_t past[] = { 0 };
 *     static const int32_t last[] = { 0 };
 *     static const int32_t numbers[] = { 0 };
 *     alignas(64) static float cache_0[8192];
 *     alignas(64) static float cache_1[8192];
 *     alignas(64) static char bound[TINY_BOUND_BYTES];
 *     alignas(64) static char arena[TINY_ARENA_BYTES];
 *     static struct attn_batch batch;
 *     static float logits[1 * TINY_TARGET_VOCAB];
 *
 *     int main(void)
 *     {
 *         const void *file = tiny_weights;
 *         int64_t bytes = tiny_weights_end - tiny_weights;
 *         if (tiny_bind(bound, file, bytes))
 *             return 1;
 *         batch.sequences = 1;
 *         batch.pool[0] = cache_0;
 *         batch.pages[0] = numbers;
 *         batch.table[0] = 1;
 *         batch.pool_pages[0] = 1;
 *         batch.pool[1] = cache_1;
 *         batch.pages[1] = numbers;
 *         batch.table[1] = 1;
 *         batch.pool_pages[1] = 1;
 *         batch.rows = 3;
 *         batch.start = source_start;
 *         batch.ids = ids;
 *         if (tiny_encode_batch(bound, &batch, arena, sizeof arena))
 *             return 1;
 *         batch.source = numbers;
 *         batch.source_rows = source_rows;
 *         batch.sources = 1;
 *         batch.rows = 1;
 *         batch.start = start;
 *         batch.ids = ids;
 *         batch.past = past;
 *         batch.select = last;
 *         batch.selected = 1;
 *         batch.output = logits;
 *         return tiny_decode_batch(bound, &batch,
 *             arena, sizeof arena) != 0;
 *     }
 *
 * Compile it as C or C++, together with tiny_model.c, which is C:
 *
 *     cc -O2 -march=x86-64-v3 -c tiny_model.c
 *     cc example.c tiny_model.o -lm -o example
 *
 * Every function checks its arguments, and returns an error,
 * ATTN_ERROR_..., or a message. It cannot check the length of
 * the caller's arrays, nor of memory whose size is not an
 * argument.
 *
 * Nothing here reads files, prints, allocates or starts threads.
 * From the C library it calls memcpy() and other functions of
 * string.h, and functions of math.h.
 *
 * Weights are used
 * in place. They must be 64-byte aligned, as a mapped file is;
 * no other pointer has an alignment requirement beyond that of
 * malloc(). There is no global state: any number of threads may
 * share the weights if each has its own memory.
 */
#ifndef TINY_H
#define TINY_H

#include <stddef.h>
#include <stdint.h>

/* batch.h: the arguments of one call of a model: sequences of rows, the pages
 * of their keys and values, and the caller's threads.                       */
#ifndef ATTN_BATCH_2
#define ATTN_BATCH_2

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

/* compiled_model.h: a compiled model (its kind, sizes and functions), and the
 * errors that all functions return. */
#ifndef ATTN_MODEL_6
#define ATTN_MODEL_6

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

/* Version of attnc: major * 10000 + minor * 100 + patch. */
#define TINY_ATTNC_VERSION "0.1.0"
#define TINY_ATTNC_VERSION_NUMBER 100

enum {
    TINY_D_MODEL = 32,
    TINY_HEADS = 2,
    TINY_D_K = 16,
    TINY_D_V = 16,
    TINY_D_FF = 64,
    TINY_ENCODER_LAYERS = 2,
    TINY_DECODER_LAYERS = 2,
    TINY_SOURCE_VOCAB = 48,
    TINY_TARGET_VOCAB = 48,
    TINY_MAX_SOURCE = 16,
    TINY_MAX_TARGET = 16,
};

/* Memory for one call on one thread, with lengths up to these, for
 * pointers of 8 bytes; sufficient for smaller pointers. */
/* Rows of an input. */
#define TINY_MAX_INPUT 16

/* Bytes that tiny_bind() fills. */
#define TINY_BOUND_BYTES (67 * sizeof(void *) + 512)
/* For a batch of TINY_MAX_INPUT rows, one sequence: tiny_batch_bytes(). */
#define TINY_ARENA_BYTES 98624

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the compiled model: its sizes, and inner entries that
 * check nothing. */
const struct attn_model *tiny_model(void);

/* Returns model.weights if it is inside the C file, else NULL. */
const void *tiny_embedded(int64_t *bytes);

/* Returns an error in words, a text that is constant; "no error" for a number
 * that is none. */
const char *tiny_error_text(int64_t error);

/* Checks the model.weights of `bytes` bytes that lies at `file`, at a multiple
 * of 64 bytes, and fills `bound`, which has the model's bound_bytes at a
 * multiple of 8 bytes. `file` has to stay in place as long as `bound` is used.
 * Returns NULL, or what is wrong with the file, a text in `bound`. Reads the
 * complete file, to compare its contents with their hash; weights inside a C
 * file have no hash. */
const char *tiny_bind(void *bound, const void *file, int64_t bytes);

/* As tiny_bind(), without comparing the hash: mapped weights come from the disk
 * as they are used, and damage there is not noticed. */
const char *tiny_bind_lazily(void *bound, const void *file, int64_t bytes);

/* Returns the bytes of memory that a call on this batch needs, by its sizes and
 * threads. Errors: ATTN_ERROR_NULL, ATTN_ERROR_COUNT. */
int64_t tiny_batch_bytes(const struct attn_batch *b);

/* Encodes all rows of a batch in `memory`, which has `bytes` bytes, at least
 * tiny_batch_bytes(). The result goes to b->output, or for an encoder-decoder
 * to the cross caches. First checks all ids, lengths and tables. Returns 0.
 * Errors, before anything is computed: ATTN_ERROR_ROOM, ATTN_ERROR_NULL,
 * ATTN_ERROR_COUNT, ATTN_ERROR_LENGTH, ATTN_ERROR_TABLE, ATTN_ERROR_ID,
 * ATTN_ERROR_KIND, ATTN_ERROR_ALIGNED, ATTN_ERROR_FIXED. */
int tiny_encode_batch(const void *bound, const struct attn_batch *b,
                      void *memory, int64_t bytes);

/* Decodes the new rows of a batch in `memory`, which has `bytes` bytes, at
 * least tiny_batch_bytes(). Their keys and values go to the pages of the
 * caches, and the logits of the selected rows to b->output. First checks all
 * ids, lengths and tables, but not whether two sequences write one page.
 * Returns 0. Errors, before anything is computed: those of encoding a batch. */
int tiny_decode_batch(const void *bound, const struct attn_batch *b,
                      void *memory, int64_t bytes);

/* Omitted parts, which attnc compile --parts=NAMES adds:
 *     search   answers of a greedy search, a beam or sampling
 *     streams  answers that grow token by token
 *     states   streams, which can be saved and restored
 *     handle   an open model, which maps its weights and has its own memory
 *     threads  one call on several threads
 *     main     the program under -DATTNC_MAIN
 */

#ifdef __cplusplus
}
#endif

#endif
