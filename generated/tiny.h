/* tiny, a Transformer in C, made by attnc 0.1.0
 *
 * Programs that use it:
 *
 *     // the tokens of an answer as they come
 *     #include <stdio.h>
 *     #include "tiny.h"
 *
 *     static const int32_t ids[] = { 3, 4, 5 };
 *
 *     static int print(void *file, int32_t id)
 *     {
 *         return fprintf((FILE *)file, "%d ", (int)id) < 0;
 *     }
 *
 *     int main(void)
 *     {
 *         struct attn_handle *h = tiny_open("tiny.weights", NULL);
 *         if (tiny_generate_ids(h, ids, 3, NULL, print, stdout) < 0)
 *             puts(tiny_error(h));
 *         tiny_close(h);
 *         return 0;
 *     }
 *
 *     // how probable the answer of the one token 3 is
 *     #include <stdio.h>
 *     #include "tiny.h"
 *
 *     static const int32_t ids[] = { 3, 4, 5 };
 *     static double log_probability;
 *
 *     int main(void)
 *     {
 *         struct attn_handle *h = tiny_open("tiny.weights", NULL);
 *         tiny_score_ids(h, ids, 3, ids, 1, &log_probability);
 *         printf("%.7g %s\n", log_probability, tiny_error(h));
 *         tiny_close(h);
 *         return 0;
 *     }
 *
 * Compile it as C or C++, together with tiny.c, which is C:
 *
 *     cc -O2 -march=x86-64-v3 -c tiny.c
 *     cc example.c tiny.o -lm -o example
 *
 * Every function checks its arguments, and returns an error,
 * ATTN_ERROR_..., or a message. It cannot check the length of
 * the caller's arrays, nor of memory whose size is not an
 * argument. A handle belongs to one thread at a time. To use
 * several threads, open the model once per thread; they share
 * the mapped weights.
 *
 * After these functions comes the lower level: calls for
 * batches, caches and streams, in the caller's memory. Weights are used
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

/* generate.h: options and results of text generation: logits processors,
 * sampling and search; hypotheses; and streams, which grow token by token, with
 * their caches and saved states. */
#ifndef ATTN_GENERATE_3
#define ATTN_GENERATE_3

struct attn_search_options;

/* Forbids tokens, by logits of -INFINITY, that may not follow an answer of n
 * tokens, of which the first o->prefix_n are its prefix. May write to
 * *constraint, which then serves one thread at a time. Returns 0, or another
 * number if no token may follow. */
typedef int attn_constrain(void *constraint,
                           const struct attn_search_options *o,
                           const int32_t *answer, int64_t n, float *logits,
                           int64_t vocab);

/* Options of the logits processors, a table of functions that change each row
 * of logits before the search reads it. A logit of -INFINITY forbids a token.
 * Scores are computed from the changed logits, so the share of forbidden tokens
 * goes to the other tokens. Only min_length and suppress_first count the answer
 * alone: the others also see the start token and a decoder's prompt. */
struct attn_process {         /* zero turns an option off */
    int64_t min_length;       /* no end token before this many tokens */
    int64_t min_total;        /* the same, but start and prompt count, too */
    float repetition_penalty; /* 0 or 1: off */
    int64_t no_repeat_ngram;
    int64_t log_probabilities;     /* beam > 1: they change log-probabilities
                                      instead, which are not normalised again */
    const int32_t *suppress;       /* forbidden sequences, each as its
                                      length, then its tokens */
    int64_t suppress_size;         /* number of entries of suppress[] */
    const int32_t *suppress_first; /* tokens that may not be the first of an
                                    * answer, after any prefix */
    int64_t suppress_first_count;  /* number of these tokens */
    const int32_t *forbid; /* tokens that are never produced (start, pad);
                              the end token is allowed even if listed */
    int64_t forbid_count;
    attn_constrain *constrain; /* called after the others; NULL: none */
    void *constraint;          /* its first argument */
};

/* Sampling: draws a token instead of taking the best. These steps are applied
 * in order: divide the logits by the temperature; keep the top_k best tokens;
 * of these, keep the best whose probabilities sum to top_p; of these, keep
 * those at least min_p times as probable as the best. Zero turns a step off. */
struct attn_sampling {
    float temperature;  /* 0: takes the best token */
    float top_p, min_p; /* each from 0 to 1; 0: off */
    int64_t top_k;
    int64_t seed;
};

enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

/* Drafts: a stream guesses its next tokens and reads them in one call. They
 * never change an answer, only how long it takes. */
enum { ATTN_DRAFT_NONE = 0, ATTN_DRAFT_NGRAM = 1, ATTN_DRAFT_MODEL = 2 };
enum { ATTN_DRAFT_MOST = 15 }; /* maximum tokens that are proposed at once */

struct attn_drafter { /* a smaller model that guesses */
    const struct attn_model *model;
    const void *bound;
};

struct attn_search_options {
    int64_t beam;    /* hypotheses that stay open; 1: greedy */
    int64_t results; /* number of hypotheses returned per sentence */
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;      /* maximum tokens of an answer, with the end token;
                              * 0: the model's number of positions */
    int64_t max_output_plus; /* if >= 0, another limit: source rows + this */
    int64_t max_input;       /* longer inputs are truncated; 0: no limit */
    float patience;          /* recorded rule: stops after round(beam *
                                patience) answers */
    int32_t start, end;
    const int32_t *ends; /* [ends_count] more tokens that end an answer */
    int64_t ends_count;
    const int32_t *prefix; /* [prefix_n] first tokens of every answer */
    int64_t prefix_n;
    int64_t want_scores; /* greedy: 0 skips computing log-probabilities */
    int64_t draft;       /* streams only: proposals for the next tokens;
                          * ATTN_DRAFT_NGRAM: those that followed the last
                          * tokens where these came before;
                          * ATTN_DRAFT_MODEL: those that *drafter chooses */
    const struct attn_drafter *drafter;
    struct attn_process process;
    struct attn_sampling sampling;        /* only if beam is 1 */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct attn_hypothesis {   /* one answer, in the search's arena */
    const int32_t *tokens; /* without start and end token, but with the
                            * prefix */
    int64_t n;
    int64_t ended;         /* 1: the end token came; 0: the limit was reached */
    float score;           /* after the length penalty */
    float log_probability; /* sum of log-probabilities, no length penalty */
};

/* Reference-counted pages of keys and values, which sequences share. A slot is
 * one sequence's row in the table. Full pages are shared. If a second sequence
 * writes to a partly filled page, that page is first copied up to its last used
 * position. Pages that no later row reads are freed. */
struct attn_cache_group { /* one of the model's caches */
    struct attn_cache_layout is;
    int64_t which;      /* index in the model's cache[] */
    float *pool;        /* [pages] page_bytes each, 64-byte aligned */
    int32_t *table;     /* [slots][width] page for each 64 positions of a
                         * slot */
    int32_t *first;     /* [slots] first valid entry of each slot; earlier
                           pages are freed */
    int32_t *refs;      /* [pages] number of slots that use each page */
    int32_t *free_list; /* [pages] stack of free pages */
    int64_t pages, free_count;
};
struct attn_cache {  /* all caches of ATTN_SELF, or all of ATTN_CROSS */
    int32_t *length; /* [slots] number of positions stored */
    int64_t slots, width, groups;
    struct attn_cache_group group[ATTN_CACHES];
};

enum {
    ATTN_STREAM_END = -1, /* the end token or a stop token was chosen */
    ATTN_STREAM_FULL = -2 /* no space for a token, or no token is allowed */
};

struct attn_draft { /* proposed rows that a call has read, and how many the next
                     * call gets */
    int32_t ids[ATTN_DRAFT_MOST]; /* the proposed tokens */
    int64_t slot;                 /* the stream for which they were read */
    int64_t first, end; /* the rows whose logits are in the room; the first is
                         * that of the last chosen token. end 0: none */
    int64_t next;       /* the first row whose logits were not used yet */
    int64_t most;       /* maximum tokens proposed at once, 0: no draft */
    int64_t size;       /* index of the number that is proposed */
    int64_t credit;     /* proposals that taken ones have paid for */
    int64_t pause, pause_after; /* tokens until the next proposal; tokens of
                                 * the next pause */
    int32_t *source; /* [source_n] tokens of the source, if they are of
                      * the vocabulary of the answer */
    int64_t source_n;
    int32_t *heads, *before;     /* index of the text: the latest place of each
                                  * hash of two tokens, and the place before it
                                  * with the same hash; both plus one */
    int64_t indexed, index_slot; /* places that are indexed; their stream */
    struct attn_stream *by;      /* the drafter's stream; NULL: there is none */
    void *memory;                /* [bytes] its room */
    int64_t bytes;
    int64_t gain;            /* proposals that a taken one pays for */
    int64_t proposed, taken; /* numbers of tokens, since the room was opened */
};

struct attn_stream_room { /* memory shared by streams that were opened
                           * together */
    struct attn_cache self, cross;
    int64_t streams, width; /* number of streams; maximum tokens of each */
    int32_t source_rows;
    int32_t *tokens; /* [streams][width] tokens of each stream */
    int32_t *order;
    float *logits; /* of the last row; with a draft, also of those after it */
    struct attn_draft draft;
    void *arena;
};
struct attn_stream {
    const struct attn_model *model;
    const void *bound;
    struct attn_search_options o; /* the used members: start, end, prefix,
                                     process, sampling */
    const int32_t *stop; /* [stops] further tokens that end the answer */
    int64_t stops;
    struct attn_stream_room *room;
    int64_t slot;    /* index in the room */
    int32_t *tokens; /* [n] start token, prompt and answer */
    int64_t n;
    int64_t lead; /* number of tokens before the answer */
    int64_t read; /* number of tokens in the cache */
    int64_t ended;
};

struct attn_state_header { /* the first bytes of a saved stream */
    char magic[8];         /* "ATTNST04" */
    uint64_t hash;         /* hash of everything after this member */
    int64_t bytes;         /* size of the complete state */
    uint64_t model;        /* hash of the model's sizes, spec and weights */
    int64_t format;        /* of the caches' elements, e.g. ATTN_CACHE_F32 */
    int64_t tokens, lead, read, source_rows; /* members with these names in the
                                              * stream; rows of the source */
    /* The rest: int32_t tokens[]; the pages of each self cache, then of
     * each cross cache, from the first page that a later row may read; the
     * states of recurrent layers. */
};

#endif

/* handle.h: an open model: weights, memory and threads behind one pointer, for
 * one call at a time. */
#ifndef ATTN_HANDLE_2
#define ATTN_HANDLE_2

struct attn_handle; /* used by one thread at a time; every thread can open its
                     * own */
struct attn_drafter;

struct attn_open_options { /* options; if all are 0, the limits are those of the
                            * model and its spec */
    int64_t threads;       /* number of threads; 0: 1. More than 1 needs a C
                            * file compiled with -DATTNC_THREADS -pthread */
    const struct attn_parallel *parallel; /* the caller's threads, used instead
                                           * of `threads` */
    int64_t max_input;  /* maximum tokens or rows of inputs; 0: the model's */
    int64_t max_output; /* maximum tokens of an answer; 0: the model's limit */
    int64_t max_text;   /* maximum bytes of a text; 0: 16 per token */
    int64_t beam;       /* maximum beam of a search; 0: the spec's beam */
    int64_t draft;      /* of the answers that grow, such as ATTN_DRAFT_NGRAM;
                         * used instead of that of the search options */
    const struct attn_drafter *drafter; /* for ATTN_DRAFT_MODEL; its handle
                                         * has to stay open */
    const char *grammar; /* answers follow this grammar, in GBNF; search options
                          * with a process.constrain use that instead; NULL:
                          * none */
    int64_t chat;      /* maximum tokens of a conversation, at most the model's
                        * max_len; 0: the handle has none */
    int64_t unchecked; /* 1: do not compare the weights with their hash, so
                        * that they are read from disk only when they are first
                        * used */
    /* requests, in models that generate */
    int64_t batch;   /* maximum requests answered at the same time; 0: none are
                      * taken */
    int64_t waiting; /* maximum requests held beyond those; an encoder-decoder
                      * holds no more than `batch` new ones */
    int64_t prompt_rows;  /* maximum rows of prompts between two tokens of the
                           * others; a source of an encoder is never divided;
                           * 0: no limit */
    int64_t cache;        /* bytes for keys and values of the answers; 0: what
                           * the longest answers need */
    int64_t prefix_cache; /* further bytes, for prompts that were read and with
                           * which others may begin; 0: none are kept */
};

struct attn_event { /* what has become of a request */
    int64_t id;     /* its number */
    int64_t ended;  /* 1: the answer is complete, and the number is free */
    int64_t n; /* tokens of the answer so far; 0 also if there is no answer;
                * ATTN_ERROR_FINITE if logits were not finite,
                * ATTN_ERROR_GRAMMAR if no token could follow */
    const int32_t *tokens; /* valid until the next call that adds a request or
                            * works on them */
};

struct attn_text_options { /* options of a text; all 0: no task, and the spec's
                            * default prompt, if it has one */
    int64_t task;          /* in late interaction: ATTN_TASK_QUERY or
                            * ATTN_TASK_DOCUMENT; ATTN_TASK_NONE: neither */
    const char *prompt;    /* name of the spec's prompt that precedes the text;
                            * NULL: "query" or "document" as the task says, or
                            * the default one; "": no prompt */
};

/* Receives the text of an answer as it grows. Any return value but 0 ends the
 * answer. The text does not end in NUL and is valid only during the call. */
typedef int attn_take_text(void *user, const char *text, int64_t bytes);
typedef int attn_take_id(void *user, int32_t id);

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

#ifdef __cplusplus
extern "C" {
#endif

/* Sets *o to the search that the spec asks for. */
void tiny_options(struct attn_search_options *o);

/* Opens the model and returns its handle, which the caller gives to
 * tiny_close(). path: the weights file; NULL: the weights are inside the C
 * file, or there are none. o NULL: all options 0. Copies *o, but o->parallel
 * has to stay valid until the handle is closed. Only this function allocates
 * memory: one block of tiny_memory() bytes, one for the ids of a text and the
 * grammar, and threads if the options ask for them. If it fails, it still
 * returns a handle, and tiny_error() says why; NULL: out of memory. */
struct attn_handle *tiny_open(const char *path,
                              const struct attn_open_options *o);

/* Returns the bytes that tiny_open() with these options allocates, without the
 * block for the ids of a text and the grammar. Errors: ATTN_ERROR_OPTION,
 * ATTN_ERROR_COUNT. */
int64_t tiny_memory(const struct attn_open_options *o);

/* Returns in words what was wrong with the last call on this handle; "":
 * nothing. If tiny_open() failed, its message stays and all calls return
 * ATTN_ERROR_OPEN. h NULL: out of memory. The text belongs to the handle and
 * changes with its next call. */
const char *tiny_error(const struct attn_handle *h);

/* Returns the processors for which the code that the handle runs is made, such
 * as "x86-64-v4". A file with the code for several runs the best of them that
 * this processor has. NULL: h is NULL, or tiny_open() failed. */
const char *tiny_target(const struct attn_handle *h);

/* Frees the handle, all of its memory, and its threads. h NULL: does
 * nothing. */
void tiny_close(struct attn_handle *h);

/* Writes the best answer to ids[n], as much of it as fits, into out[cap].
 * Returns the number of tokens of the complete answer. Errors: those of
 * tiny_search(), ATTN_ERROR_OPEN, and ATTN_ERROR_LENGTH if n is above
 * max_input. */
int64_t tiny_translate_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                           const struct attn_search_options *o, int32_t *out,
                           int64_t cap);

/* Answers ids[n] and passes each token of the answer to take(user, id).
 * Otherwise as a call that generates text. Errors: those of tiny_search(),
 * ATTN_ERROR_OPEN, and ATTN_ERROR_LENGTH if n is above max_input. */
int64_t tiny_generate_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                          const struct attn_search_options *o,
                          attn_take_id *take, void *user);

/* Sets *to, by which this model proposes tokens to a larger one, in its options
 * at open: draft = ATTN_DRAFT_MODEL, drafter = to. Both have the same tokens.
 * This handle has to stay open; several may use it at the same time. Returns 0
 * or an error: ATTN_ERROR_NULL, ATTN_ERROR_OPEN. */
int tiny_drafter(struct attn_handle *h, struct attn_drafter *to);

/* Adds a request of ids[n], which is copied. Otherwise as a call that adds a
 * text. Errors: those of it but for the text, and ATTN_ERROR_ID. */
int64_t tiny_submit_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                        const struct attn_search_options *o);

/* Computes the next token of each request in turn, and parts of prompts, until
 * an answer has grown or ended. Writes what has become of requests into
 * events[cap]; what does not fit is written by the next call. With a beam above
 * 1 an answer is written when it has ended. Returns the number of events; 0:
 * every request has ended. After an error of the model all requests are gone.
 * Errors: ATTN_ERROR_OPTION if batch of the options at open was 0,
 * ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, ATTN_ERROR_FIXED. */
int64_t tiny_work(struct attn_handle *h, struct attn_event *events,
                  int64_t cap);

/* Ends a request, whose answer will not be complete in any event. In a C file
 * compiled with -DATTNC_THREADS other threads may call this, and only this,
 * while tiny_work() runs, which may then still write that the answer has grown;
 * so it sets no message. Returns 0. Errors: ATTN_ERROR_NULL, and
 * ATTN_ERROR_OPEN if no request has this number, or it has ended or was
 * cancelled before. */
int tiny_cancel(struct attn_handle *h, int64_t id);

/* Stores in *log_probability the natural logarithm of the probability that the
 * answer to source[n] is target[target_n] and then ends; `target` is without
 * the end token. Returns 0. Errors: ATTN_ERROR_ID, ATTN_ERROR_LENGTH,
 * ATTN_ERROR_COUNT, ATTN_ERROR_NULL, ATTN_ERROR_OPEN, ATTN_ERROR_FINITE. */
int tiny_score_ids(struct attn_handle *h, const int32_t *source, int64_t n,
                   const int32_t *target, int64_t target_n,
                   double *log_probability);

/* The lower level.                                                          */

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

/* Returns the bytes of memory that tiny_search() needs for `sentences` sources
 * of `source_rows` tokens together, the longest of `longest` tokens. Errors:
 * ATTN_ERROR_OPTION, ATTN_ERROR_LENGTH, ATTN_ERROR_COUNT, ATTN_ERROR_ID,
 * ATTN_ERROR_NULL, ATTN_ERROR_KIND. */
int64_t tiny_search_bytes(const struct attn_search_options *o,
                          int64_t sentences, int64_t source_rows,
                          int64_t longest);

/* Answers `sentences` sources. Source s has the tokens from ids[start[s]] to
 * before ids[start[s + 1]]; `start` has sentences + 1 entries, the first of
 * them 0. The o->results best answers of s go to out[s * o->results] and on,
 * and their number to found[s], or ATTN_ERROR_FINITE or ATTN_ERROR_GRAMMAR.
 * out[sentences * o->results] and found[sentences] belong to the caller; the
 * tokens of the answers lie in `memory`, which has `bytes` bytes. A source of
 * no tokens has no answer, unless a decoder has a start token. Returns 0.
 * Errors, before anything is computed: those of tiny_search_bytes(),
 * ATTN_ERROR_TABLE, and ATTN_ERROR_ROOM if `bytes` is too small. */
int tiny_search(const void *bound, const struct attn_search_options *o,
                int64_t sentences, const int32_t *ids, const int32_t *start,
                void *memory, int64_t bytes, struct attn_hypothesis *out,
                int64_t *found);

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

/* Returns the bytes of memory for `streams` streams of at most `tokens` tokens
 * each, with the start token and the prompt, after a source of `source_rows`
 * tokens (kind decoder: 0). `tokens` is at most max_target + 1. Errors:
 * ATTN_ERROR_LENGTH, ATTN_ERROR_COUNT, ATTN_ERROR_OPTION, ATTN_ERROR_ID,
 * ATTN_ERROR_NULL, ATTN_ERROR_KIND. */
int64_t tiny_stream_bytes(const struct attn_search_options *o,
                          int64_t source_rows, int64_t tokens, int64_t streams);

/* Begins a stream, with the start token if there is one. ids[n] are the source,
 * which is encoded, or for kind decoder the prompt. `memory` has `bytes` bytes,
 * at least tiny_stream_bytes(), and has to stay in place until the last call on
 * *s. Copies *o, but not the arrays to which it points. Returns 0. Errors:
 * those of tiny_stream_bytes(), and ATTN_ERROR_ROOM if `bytes` is too small. */
int tiny_stream_open(struct attn_stream *s, const void *bound,
                     const struct attn_search_options *o, const int32_t *ids,
                     int64_t n, int64_t tokens, int64_t streams, void *memory,
                     int64_t bytes);

/* Adds ids[n] that are given instead of chosen: for kind decoder to the prompt,
 * else to the answer. Returns 0. Errors, and nothing has changed:
 * ATTN_ERROR_ROOM, ATTN_ERROR_ID, ATTN_ERROR_COUNT, ATTN_ERROR_NULL,
 * ATTN_ERROR_OPEN. */
int tiny_stream_feed(struct attn_stream *s, const int32_t *ids, int64_t n);

/* Returns the next token of the answer, the one that tiny_search() with beam 1
 * would choose; ATTN_STREAM_END or ATTN_STREAM_FULL; or another number below 0.
 * Errors: ATTN_ERROR_FINITE, ATTN_ERROR_GRAMMAR, ATTN_ERROR_FIXED,
 * ATTN_ERROR_OPEN, ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_OPTION. */
int64_t tiny_stream_next(struct attn_stream *s);

/* Makes `to` continue where `from` is, in slot `slot` of the same memory, which
 * is below the number of streams; drops what that slot held. Both share the
 * pages of keys and values that they have in common. Change to->o.sampling.seed
 * for another answer. Returns 0. Errors: ATTN_ERROR_OPEN if there is no such
 * slot, ATTN_ERROR_NULL, ATTN_ERROR_ROOM. */
int tiny_stream_fork(struct attn_stream *to, struct attn_stream *from,
                     int64_t slot);

/* Returns the hash of the weights in a file that was bound, for saved states;
 * 0: it is no such file. */
uint64_t tiny_state_weights(const void *file);

/* Returns the bytes of a saved stream. Errors: ATTN_ERROR_OPEN,
 * ATTN_ERROR_NULL. */
int64_t tiny_state_bytes(const struct attn_stream *s);

/* Writes the stream into out[cap], which lies at a multiple of 8 bytes. Options
 * are not saved. Returns the bytes written. Errors: ATTN_ERROR_ROOM if cap is
 * below tiny_state_bytes(), ATTN_ERROR_ALIGNED, ATTN_ERROR_NULL,
 * ATTN_ERROR_OPEN, and ATTN_ERROR_RANKS if this is one of several ranks. */
int64_t tiny_state_save(const struct attn_stream *s, uint64_t weights,
                        void *out, int64_t cap);

/* Returns NULL if this model can restore the `bytes` bytes at `state`, which
 * lie at a multiple of 8 bytes; else what is wrong, a text that is constant.
 * Checks all lengths and tokens in it, even if its hash is right. */
const char *tiny_state_check(uint64_t weights, const void *state,
                             int64_t bytes);

/* Opens a stream as it was saved, in `memory`, which has `memory_bytes` bytes,
 * at least tiny_stream_bytes() for the header's source_rows and `tokens`.
 * `tokens` is at least that of the header. `state` may be freed afterwards.
 * Returns 0. Errors: ATTN_ERROR_STATE, ATTN_ERROR_LENGTH, and those of opening
 * a stream. */
int tiny_state_restore(struct attn_stream *s, const void *bound,
                       const struct attn_search_options *o, uint64_t weights,
                       const void *state, int64_t bytes, int64_t tokens,
                       int64_t streams, void *memory, int64_t memory_bytes);

#ifdef __cplusplus
}
#endif

#endif
