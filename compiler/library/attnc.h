/* attnc.h: attnc as a library. It opens a model from a spec, a checkpoint's
 * folder or a .gguf file, compiles it in this process, and calls it.
 *
 *     attnc_model *m;
 *     attnc_handle *h;
 *     float row[384];
 *     const char *text = "A text.";
 *     if (attnc_open(&m, "MiniLM", NULL, NULL, NULL, NULL) == ATTNC_DONE
 *         && attnc_handle_open(&h, m, NULL) == ATTNC_DONE)
 *         attnc_embed(h, &text, NULL, 1, row, 384, NULL);
 *
 * The library ends no process, prints nothing, handles no signals and changes
 * no environment. A function that fails returns a code and tells why.
 *
 * Threads: a model can be used by many threads at once, a handle by one at a
 * time, so give each thread its own handle. Functions that compile wait for
 * each other.
 *
 * Processes: opening and compiling start child processes and wait for them. A
 * child of fork() can use models that were opened with "--threads=1", if no
 * other thread was in the library at that moment; it opens others again.
 *
 * Options are words as the command of the same name takes them, such as
 * "--threads=2", and end with NULL. NULL instead of the array: no options. */
#ifndef ATTNC_H
#define ATTNC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__ || defined __clang__
#define ATTNC_API __attribute__((visibility("default")))
#else
#define ATTNC_API
#endif

typedef struct attnc_model attnc_model;
typedef struct attnc_handle attnc_handle;

/* Codes that functions return; the exit codes of the command. */
enum {
    ATTNC_DONE = 0,
    ATTNC_USAGE = 2,    /* an option is invalid */
    ATTNC_INPUT = 3,    /* a spec, weights or other input is invalid */
    ATTNC_IO = 4,       /* a file cannot be read or written */
    ATTNC_MEMORY = 5,   /* memory or another resource has run out */
    ATTNC_BACKEND = 6,  /* no compiler, or code for another processor */
    ATTNC_INTERNAL = 70 /* a bug of attnc */
};

/* Errors that functions of a handle return, all negative; attnc_error() has the
 * words. */
enum {
    ATTNC_ERROR_ROOM = -1,    /* too little space for a result */
    ATTNC_ERROR_UNKNOWN = -2, /* text that is not in the vocabulary */
    ATTNC_ERROR_UTF8 = -3,    /* text that is not UTF-8 */
    ATTNC_ERROR_NULL = -4,    /* a required pointer is NULL */
    ATTNC_ERROR_COUNT = -5,   /* a count or a size is below 0 or too large */
    ATTNC_ERROR_LENGTH = -6,  /* a length that the model does not support */
    ATTNC_ERROR_TABLE = -7,   /* starts of sequences are invalid */
    ATTNC_ERROR_ID = -8,      /* an id or type that the model lacks */
    ATTNC_ERROR_OPTION = -9,  /* an option is invalid or out of range */
    ATTNC_ERROR_KIND = -10,   /* not supported by this kind of model */
    ATTNC_ERROR_OPEN = -11,   /* the model has no vocabulary */
    ATTNC_ERROR_FINITE = -14, /* logits that are not finite */
    ATTNC_ERROR_PAIR = -15,   /* the vocabulary has no template for pairs */
    ATTNC_ERROR_FIXED = -16,  /* not the rows or sequences of `fix` */
    ATTNC_ERROR_MEMORY = -100 /* memory has run out */
};

/* ---- messages ---- */

enum {
    ATTNC_SEVERITY_ERROR,
    ATTNC_SEVERITY_INTERNAL, /* an error that is a bug of attnc */
    ATTNC_SEVERITY_WARNING,
    ATTNC_SEVERITY_NOTE /* belongs to the message before it */
};

struct attnc_message {
    int severity;
    int line, column; /* from 1; 0: no place */
    const char *file; /* path as given; NULL: no place */
    const char *text; /* one line */
};
/* Receives a message on the thread of the call. Its texts are valid only during
 * the call of this function, which must return and must not call the
 * library. */
typedef void attnc_tell(void *user, const struct attnc_message *message);

/* ---- models ---- */

/* Opens a model: reads its spec, compiles it, and loads weights and
 * vocabularies. Sets *m to it, or to NULL after an error.
 *
 * path: a spec, a folder with config.json, or a .gguf file. text NULL, or the
 * text of the spec, which ends in NUL: then `path` is its name in messages, and
 * files that the spec names are looked for beside it. options: those of attnc
 * run for the model, its code and its records, such as "--set=dtype=int8" or
 * "--threads=2". tell NULL: no messages. */
ATTNC_API int attnc_open(attnc_model **m, const char *path, const char *text,
                         const char *const *options, attnc_tell *tell,
                         void *user);
/* Closes the model, whose handles must be closed before. m NULL: does
 * nothing. */
ATTNC_API void attnc_close(attnc_model *m);

enum {
    ATTNC_ENCODER_DECODER = 0,
    ATTNC_ENCODER = 1,
    ATTNC_DECODER = 2,
    ATTNC_ATTENTION = 3
};

struct attnc_facts { /* a later version may add members at the end */
    const char *name;
    int64_t kind; /* ATTNC_ENCODER_DECODER to ATTNC_ATTENTION */
    int64_t d_model, source_vocab, target_vocab;
    int64_t max_source, max_target; /* most rows of a sequence */
    int64_t input_width;            /* numbers per input row; 0: it reads ids */
    int64_t class_token; /* rows that the model puts before a sequence */
    int64_t types;       /* number of token types; 0: the model reads none */
    int64_t columns;     /* numbers per row of a result */
    int64_t pooled;      /* 1: the result has one row per sequence */
    int64_t generates;   /* 1: the model writes answers */
    int64_t reads_text, writes_text; /* 1: it has the vocabulary for that */
    int64_t weights_bytes;           /* bytes of the packed weights */
    const char *dtype; /* format of most matrices, such as "f32" */
    int64_t threads;   /* threads that a call of the model uses */
};
/* Returns what is known of the model, valid until it is closed. */
ATTNC_API const struct attnc_facts *attnc_facts(const attnc_model *m);

/* ---- text ---- */

/* Writes the files that attnc compile writes. options: those of attnc compile,
 * such as "-o", "model.c", "--embed". */
ATTNC_API int attnc_compile(const char *path, const char *text,
                            const char *const *options, attnc_tell *tell,
                            void *user);
/* Sets *out to the graph, or the plan, as attnc graph or attnc plan prints it:
 * text, or with "--format=json" JSON. Free it with attnc_free(). *out is NULL
 * after an error. */
ATTNC_API int attnc_graph(char **out, const char *path, const char *text,
                          const char *const *options, attnc_tell *tell,
                          void *user);
ATTNC_API int attnc_plan(char **out, const char *path, const char *text,
                         const char *const *options, attnc_tell *tell,
                         void *user);
ATTNC_API void attnc_free(void *memory); /* NULL: does nothing */

ATTNC_API const char *attnc_version(void); /* "0.1.0" */

/* ---- handles ---- */

struct attnc_limits {    /* 0: the limit of the model or its spec */
    int64_t max_input;   /* maximum tokens of a text or prompt */
    int64_t max_output;  /* maximum tokens of an answer */
    int64_t max_text;    /* maximum bytes of a prompt; 0: 16 per token */
    int64_t beam;        /* maximum beam of a search */
    int64_t cut;         /* 1: encoders cut longer texts to max_input tokens,
                          * and keep the tokens at their end that the
                          * vocabulary's template adds; not pairs. 0: an
                          * error */
    int64_t reserved[6]; /* 0, for later versions */
};

/* Opens a handle, the memory for one call at a time. limits NULL: all 0.
 * Returns a code; ATTNC_USAGE if a limit is out of range. Then *h has the
 * message, and has to be closed too; it is NULL only if memory ran out. */
ATTNC_API int attnc_handle_open(attnc_handle **h, attnc_model *m,
                                const struct attnc_limits *limits);
ATTNC_API void attnc_handle_close(attnc_handle *h); /* NULL: does nothing */
/* Returns in words what was wrong with the last call on this handle; "":
 * nothing. */
ATTNC_API const char *attnc_error(const attnc_handle *h);

/* Writes the ids of a text in UTF-8 to ids[cap], as the model reads them.
 * bytes -1: the text ends at its NUL. target 1: in the vocabulary of answers,
 * without a template. Returns their number, which may be above cap, or an
 * error. */
ATTNC_API int64_t attnc_tokens(attnc_handle *h, int target, const char *text,
                               int64_t bytes, int32_t *ids, int64_t cap);
/* Writes the text of ids[n] to out[cap], and a NUL after it. Returns its bytes,
 * which may be above cap - 1, or an error. */
ATTNC_API int64_t attnc_text(attnc_handle *h, const int32_t *ids, int64_t n,
                             char *out, int64_t cap);

/* The functions below encode n sequences of any lengths at once; each result is
 * the same in any batch. Sequence i gives rows[i] rows of `columns` floats, in
 * order, to out[cap]. rows NULL: they are not stored. out NULL: nothing is
 * computed, so the return value tells the room that is needed. They return the
 * number of all rows, or an error; then attnc_error() names the sequences, from
 * 0. */

/* ids: all sequences one after the other; start[n + 1]: where each begins.
 * types: of tokens, or NULL: all 0. */
ATTNC_API int64_t attnc_encode(attnc_handle *h, const int32_t *ids,
                               const int32_t *types, const int64_t *start,
                               int64_t n, float *out, int64_t cap,
                               int64_t *rows);
/* The same for a model that reads rows of `input_width` numbers. */
ATTNC_API int64_t attnc_encode_rows(attnc_handle *h, const float *input,
                                    const int64_t *start, int64_t n, float *out,
                                    int64_t cap, int64_t *rows);
/* texts: in UTF-8; bytes[n]: their sizes; NULL: each ends at its NUL. */
ATTNC_API int64_t attnc_embed(attnc_handle *h, const char *const *texts,
                              const int64_t *bytes, int64_t n, float *out,
                              int64_t cap, int64_t *rows);
/* Pairs of texts, as a reranker takes them: a query and a document. */
ATTNC_API int64_t attnc_embed_pairs(attnc_handle *h, const char *const *texts,
                                    const int64_t *bytes,
                                    const char *const *others,
                                    const int64_t *other_bytes, int64_t n,
                                    float *out, int64_t cap, int64_t *rows);
/* Attention of query[queries] to key[keys] and value[keys], rows of d_model
 * floats, for a model of `kind: attention`. Returns the rows of the result. */
ATTNC_API int64_t attnc_attend(attnc_handle *h, const float *query,
                               int64_t queries, const float *key,
                               const float *value, int64_t keys, float *out,
                               int64_t cap);

/* Receives the text of an answer as it grows, in complete characters, which do
 * not end in NUL; or a token. A return value other than 0 ends the answer. */
typedef int attnc_take_text(void *user, const char *text, int64_t bytes);
typedef int attnc_take_id(void *user, int32_t id);

/* Answers a prompt, or ids[n], and passes the answer on as it grows; with a
 * beam above 1, when the search has ended. A decoder continues the prompt.
 * bytes -1: it ends at its NUL. options: those of attnc run for search and
 * sampling, such as "--beam=4",
 * "--temperature=0.7", "-n", "50". Returns the number of tokens, or an
 * error. */
ATTNC_API int64_t attnc_generate(attnc_handle *h, const char *prompt,
                                 int64_t bytes, const char *const *options,
                                 attnc_take_text *take, void *user);
ATTNC_API int64_t attnc_generate_ids(attnc_handle *h, const int32_t *ids,
                                     int64_t n, const char *const *options,
                                     attnc_take_id *take, void *user);
/* Stores in *log_probability the natural logarithm of the probability that the
 * answer to `source` is `target` and then ends. Bytes -1: that text ends at its
 * NUL. Returns 0 or an error. */
ATTNC_API int64_t attnc_score(attnc_handle *h, const char *source,
                              int64_t source_bytes, const char *target,
                              int64_t target_bytes, double *log_probability);
ATTNC_API int64_t attnc_score_ids(attnc_handle *h, const int32_t *source,
                                  int64_t n, const int32_t *target,
                                  int64_t target_n, double *log_probability);

#ifdef __cplusplus
}
#endif

#endif
