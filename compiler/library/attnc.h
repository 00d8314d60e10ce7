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
 * The library ends no process, prints nothing, handles no signals unless you
 * ask for that, and changes no environment. A function that fails returns a
 * code and tells why.
 *
 * Threads: a model can be used by many threads at once, a handle by one at a
 * time, so give each thread its own handle. Functions that compile wait for
 * each other.
 *
 * Processes: opening and compiling start child processes and wait for them.
 * With "--backend=auto", opening does not wait for the C compiler, which works
 * in a child process. The calls of handles use libtcc's code until the
 * compiler's object is ready. Their results have the same bits before and
 * after. If a call finds other bits, it goes on with libtcc's code; the next
 * call that takes an attnc_tell receives a warning, and the object stays for a
 * report as attnc-differs-KEY.so in TMPDIR or /tmp. A child of fork() can use
 * models that were opened with "--threads=1", if no other thread was in the
 * library at that moment; it opens others again.
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
    ATTNC_ERROR_STATE = -12,  /* a state that is damaged, or of another model */
    ATTNC_ERROR_FINITE = -14, /* logits that are not finite */
    ATTNC_ERROR_PAIR = -15,   /* the vocabulary has no template for pairs */
    ATTNC_ERROR_FIXED = -16,  /* not the rows or sequences of `fix` */
    ATTNC_ERROR_HIDDEN = -18, /* the model without its head cannot be opened */
    ATTNC_ERROR_MEMORY = -100 /* memory has run out */
};

/* ---- messages ---- */

enum { /* a later version may add some at the end */
       ATTNC_SEVERITY_ERROR,
       ATTNC_SEVERITY_INTERNAL, /* an error that is a bug of attnc */
       ATTNC_SEVERITY_WARNING,
       ATTNC_SEVERITY_NOTE,     /* belongs to the message before it */
       ATTNC_SEVERITY_PROGRESS, /* not a message: `done` and what is being done,
                                 * at most ten times a second */
       ATTNC_SEVERITY_TEXT /* not a message: text that the command prints on
                            * stderr as it is, with its newlines */
};

struct attnc_message { /* a later version may add members at the end */
    int severity;
    int line, column;   /* from 1; 0: no place */
    const char *file;   /* path as given; NULL: no place */
    const char *text;   /* one line */
    double done;        /* of progress: 0 .. 1, or NAN if it is unknown */
    double seconds;     /* of progress: since the work began */
    double left;        /* of progress: estimated seconds, or NAN */
    const char *source; /* the bytes of the line, which no NUL ends; NULL: not
                         * known. The command shows them above a caret */
    int64_t source_bytes;
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
 * "--threads=2", and "--draft=HOW" for all answers that grow. tell NULL: no
 * messages. */
ATTNC_API int attnc_open(attnc_model **m, const char *path, const char *text,
                         const char *const *options, attnc_tell *tell,
                         void *user);
/* The same with weights in memory, the bytes of a .safetensors file, instead of
 * the spec's. They must stay as they are until attnc_close(). */
ATTNC_API int attnc_open_weights(attnc_model **m, const char *path,
                                 const char *text, const void *weights,
                                 int64_t bytes, const char *const *options,
                                 attnc_tell *tell, void *user);
/* Reads up to `bytes` bytes of the caller's weights from this offset on to
 * `to`, as pread(2) does. Returns their number, which may be less; 0 at the end
 * of the weights; -1 if it fails. It must not call the library. */
typedef int64_t attnc_read(void *source, int64_t offset, void *to,
                           int64_t bytes);
/* Opens a model as attnc_open() does, with weights that read() gives: the bytes
 * of a .safetensors file, in order from 0. attnc copies them to a temporary
 * file before it uses them. If read() fails, so does the call, with ATTNC_IO.
 * It is called on the thread of attnc_open_reader(), and again, on theirs, by
 * the first attnc_attention() and attnc_hidden(): until attnc_close() it must
 * give the same bytes, and `source` must be valid. read NULL: the spec's
 * weights. */
ATTNC_API int attnc_open_reader(attnc_model **m, const char *path,
                                const char *text, attnc_read *read,
                                void *source, const char *const *options,
                                attnc_tell *tell, void *user);
/* Closes the model, whose handles must be closed before, and ends its compiler
 * if that still works. m NULL: does nothing. */
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
/* Returns the prompt of this name, a text that the model expects before a text;
 * name NULL: the default prompt. NULL: the spec has none. Valid until the model
 * is closed. The functions below add no prompt. */
ATTNC_API const char *attnc_prompt(const attnc_model *m, const char *name);
/* Returns the name of prompt i, from 0, in the order of the spec; NULL: the
 * model has fewer prompts. Valid until the model is closed. */
ATTNC_API const char *attnc_prompt_name(const attnc_model *m, int64_t i);

/* ---- text ---- */

/* Writes the files that attnc compile writes. options: those of attnc compile,
 * such as "-o", "model.c", "--embed". */
ATTNC_API int attnc_compile(const char *path, const char *text,
                            const char *const *options, attnc_tell *tell,
                            void *user);
/* Receives a file: its name without folders, such as "model.c", and its bytes,
 * which are valid only during the call of this function; after them is no NUL.
 * A return value other than 0 ends the call with ATTNC_IO. It must not call the
 * library. */
typedef int attnc_take_file(void *taker, const char *name, const void *bytes,
                            int64_t n);
/* Compiles as attnc_compile() does, but gives the files to take() in order of
 * their names, when all are complete. options: those of attnc compile; "-o" is
 * required, names the files and says by its ending what they are: "model.c"
 * gives also model.h and, without "--embed" or if the weights are large,
 * model.weights. */
ATTNC_API int attnc_compile_files(const char *path, const char *text,
                                  const char *const *options,
                                  attnc_take_file *take, void *taker,
                                  attnc_tell *tell, void *user);
/* Sets *out to what a command reports: "bench", "compare", "graph", "plan",
 * "sweep" or "tune"; as text, or with "--format=json" as JSON. Free it with
 * attnc_free(). *out is NULL after an error. options: those of the command;
 * attnc sweep and compare also take the paths of further specs. All but graph
 * and plan run the model and may take minutes. */
ATTNC_API int attnc_report(char **out, const char *report, const char *path,
                           const char *text, const char *const *options,
                           attnc_tell *tell, void *user);
ATTNC_API void attnc_free(void *memory); /* NULL: does nothing */

/* Receives n bytes of what a command prints on stdout, as it prints them; no
 * NUL ends them. If it returns another value than 0, all text from there on is
 * lost, and the call fails with ATTNC_IO when the command has ended. It must
 * not call the library. */
typedef int attnc_take_output(void *taker, const char *text, int64_t n);
struct attnc_streams {      /* of a command */
    attnc_take_output *out; /* NULL: the text is not wanted */
    void *taker;
    int in; /* descriptor from which a spec named "-" is read; -1: such a spec
             * is an error */
    int out_shown, log_shown; /* descriptors on which you show that text and
                               * messages, -1: none. If one is a terminal, the
                               * text has its width and colours */
    int signals; /* 1: while the command waits for child processes, it handles
                  * SIGINT, SIGTERM and SIGHUP: the first ends its work in order
                  * and is then raised again, the second ends the process. 0: it
                  * handles none */
    int reserved[8]; /* 0, for later versions */
};
/* Does what the program attnc does. words: a command and all that follows it,
 * such as "sweep", "model.yaml", "--vary=h=4,8", NULL. Commands: bench,
 * compare, compile, graph, plan, sweep, tune. streams NULL: no stdin, no text.
 * Messages and what the command prints on stderr go to tell(). */
ATTNC_API int attnc_command(const char *const *words,
                            const struct attnc_streams *streams,
                            attnc_tell *tell, void *user);

/* Ends the call that compiles, tunes or sweeps now, if there is one: it stops
 * its compilers and returns soon. A tuning and a sweep report what they have; a
 * model that waited for a C compiler is not opened. May be called from any
 * thread and from a signal handler. */
ATTNC_API void attnc_interrupt(void);

ATTNC_API const char *attnc_version(void); /* "0.1.0" */

/* ---- attention ---- */

/* The weights of all heads of one attention, results of its softmax. */
struct attnc_map {
    const char *name;             /* in the graph, such as
                                   * "decoder.0.cross_attn.weights" */
    int64_t layer;                /* in its stack, from 0 */
    int64_t query_side, key_side; /* 0: source, 1: target; of `kind: attention`
                                   * 0: queries, 1: keys */
    int64_t heads, queries, keys;
    const float *weights; /* [heads][queries][keys]; -1: the mask hides
                           * this key */
};
struct attnc_maps {
    int64_t maps;
    const struct attnc_map *map; /* [maps] in order of the graph */
    int64_t tokens[2];           /* number of tokens of source and target */
    const char *const *token[2]; /* their texts, as in the picture */
    const char *answer;          /* what the model wrote; NULL: nothing */
};
/* Computes the attention weights of a text and of the model's answer to it, as
 * attnc run --attention does. text ends at its NUL. options: those of attnc run
 * for search and sampling, "-n", "0" for no answer, "--prefix=TEXT" and
 * "--ids";
 * "--layer=0" for one layer; "--head=1" and "--query=2" for the picture. Sets
 * *maps, or NULL after an error; free it with attnc_maps_free() before the
 * model is closed. The first call compiles the model again and loads its
 * weights a second time, until attnc_close(); it fails if one of the model's
 * files has changed since attnc_open(). */
ATTNC_API int attnc_attention(const struct attnc_maps **maps, attnc_model *m,
                              const char *text, const char *const *options,
                              attnc_tell *tell, void *user);
/* Sets *svg to a picture of the weights, valid until the maps are freed; NULL
 * after an error. */
ATTNC_API int attnc_maps_svg(const struct attnc_maps *maps, const char **svg,
                             attnc_tell *tell, void *user);
ATTNC_API void attnc_maps_free(const struct attnc_maps *maps); /* or NULL */

/* ---- handles ---- */

struct attnc_limits {    /* 0: the limit of the model or its spec */
    int64_t max_input;   /* maximum tokens of a text, prompt or conversation */
    int64_t max_output;  /* maximum tokens of an answer */
    int64_t max_text;    /* maximum bytes of a prompt or of a user's message;
                          * 0: any number */
    int64_t beam;        /* maximum beam of a search; 0: any */
    int64_t cut;         /* 1: encoders cut longer texts to max_input tokens,
                          * and keep the tokens that the vocabulary's template
                          * adds; of a pair the longer text first, as the
                          * strategy longest_first of transformers. 0: an
                          * error */
    int64_t task;        /* of the texts of attnc_embed() in late interaction:
                          * 1: queries, which are filled and cut to
                          * head.query.length of the spec; 2: documents, which
                          * are cut to head.document.length and have no rows
                          * for the tokens of head.document.skip; 0: neither */
    int64_t reserved[5]; /* 0, for later versions */
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
/* Pairs of texts, as a reranker takes them: a query and a document. They go
 * into the vocabulary's template for pairs, or into the texts of `pair` of the
 * spec. */
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
 * sampling, such as "--beam=4", "--temperature=0.7", and "-n", "50" or
 * "--stop=TEXT". Returns the number of tokens, or an error. */
ATTNC_API int64_t attnc_generate(attnc_handle *h, const char *prompt,
                                 int64_t bytes, const char *const *options,
                                 attnc_take_text *take, void *user);
ATTNC_API int64_t attnc_generate_ids(attnc_handle *h, const int32_t *ids,
                                     int64_t n, const char *const *options,
                                     attnc_take_id *take, void *user);
/* Answers the last of n messages of a conversation, as attnc run --chat does.
 * roles: "user" and "assistant" in turn, the first and the last "user"; a
 * message "system" may be before them. The handle keeps what the model has
 * read: if the next call repeats these messages, then the answer and more, only
 * the new tokens are read. options: those of attnc run --chat. Returns the
 * number of tokens of the answer, or an error. */
ATTNC_API int64_t attnc_chat(attnc_handle *h, const char *const *roles,
                             const char *const *contents, int64_t n,
                             const char *const *options, attnc_take_text *take,
                             void *user);

struct attnc_answer { /* valid during the call that receives it */
    int64_t question; /* number of the text that it answers, from 0 */
    int64_t rank;     /* 0: the best answer to this text */
    const char *text; /* in UTF-8, with a NUL after its `bytes` bytes; NULL:
                       * the model has no vocabulary */
    int64_t bytes;
    const int32_t *ids; /* [n] its tokens, without start and end */
    int64_t n;
    int64_t ended;          /* 1: the end token came; 0: a limit was reached */
    double score;           /* log_probability after the length penalty */
    double log_probability; /* natural logarithm, with the end token */
};
typedef int attnc_take_answer(void *user, const struct attnc_answer *answer);

/* Answers n texts, many at once, and passes the answers on, in order of the
 * texts and the best first. A return value of take() other than 0 ends the
 * call. options: as for attnc_generate(); "--nbest=3" asks for 3 answers to
 * each text. A search may find fewer; a text that is empty may have none.
 * bytes[n]: sizes of the texts; NULL: each ends at its NUL. Returns the number
 * of answers, or an error. */
ATTNC_API int64_t attnc_answers(attnc_handle *h, const char *const *texts,
                                const int64_t *bytes, int64_t n,
                                const char *const *options,
                                attnc_take_answer *take, void *user);
/* The same for n sequences of ids; start[n + 1]: where each begins. */
ATTNC_API int64_t attnc_answers_ids(attnc_handle *h, const int32_t *ids,
                                    const int64_t *start, int64_t n,
                                    const char *const *options,
                                    attnc_take_answer *take, void *user);

/* Writes the state after the last answer of attnc_generate(), attnc_chat() or
 * attnc_continue() with a beam of 1 to out[cap], which lies at a multiple of 8
 * bytes: its tokens and the cache of what was read. attnc run --load-state
 * reads the same bytes from a file. There is no state after an answer with a
 * larger beam, to an empty prompt, or with an error. out NULL: only the return
 * value. Returns the number of bytes, or an error. */
ATTNC_API int64_t attnc_state(attnc_handle *h, void *out, int64_t cap);
/* Continues a state, with the same results as if it had never stopped, and
 * passes the answer on. A prompt is added to a decoder's text; NULL: nothing is
 * added. A state has no options: give them again. Returns the number of tokens,
 * or an error. */
ATTNC_API int64_t attnc_continue(attnc_handle *h, const void *state,
                                 int64_t state_bytes, const char *prompt,
                                 int64_t bytes, const char *const *options,
                                 attnc_take_text *take, void *user);

/* Stores in *log_probability the natural logarithm of the probability that the
 * answer to `source` is `target` and then ends. Bytes -1: that text ends at its
 * NUL. Returns 0 or an error. */
ATTNC_API int64_t attnc_score(attnc_handle *h, const char *source,
                              int64_t source_bytes, const char *target,
                              int64_t target_bytes, double *log_probability);
ATTNC_API int64_t attnc_score_ids(attnc_handle *h, const int32_t *source,
                                  int64_t n, const int32_t *target,
                                  int64_t target_n, double *log_probability);
/* The same for n pairs at once; each result is the same in any batch. Bytes
 * NULL: each text ends at its NUL. The message of an error names the pair, from
 * 0, unless memory ran out. */
ATTNC_API int64_t attnc_scores(attnc_handle *h, const char *const *sources,
                               const int64_t *source_bytes,
                               const char *const *targets,
                               const int64_t *target_bytes, int64_t n,
                               double *log_probability);
/* Writes the logits of the tokens that may follow each token that the decoder
 * reads to out[cap]: rows of target_vocab floats. The decoder reads its start
 * token, if it has one; a decoder's `source`, which is its prompt; the target.
 * last: only so many of the last rows are written; 0: all rows. out NULL:
 * nothing is computed. Returns the number of rows, or an error. */
ATTNC_API int64_t attnc_logits(attnc_handle *h, const char *source,
                               int64_t source_bytes, const char *target,
                               int64_t target_bytes, int64_t last, float *out,
                               int64_t cap);
ATTNC_API int64_t attnc_logits_ids(attnc_handle *h, const int32_t *source,
                                   int64_t n, const int32_t *target,
                                   int64_t target_n, int64_t last, float *out,
                                   int64_t cap);
/* Writes the rows that the model's head reads, after the last norm, to
 * out[cap]: rows of d_model floats. If the model generates, these are the rows
 * from which attnc_logits() computes logits, in the same order; a target of
 * NULL or 0 bytes is empty. If it is an encoder, these are the rows of the
 * source before a head pools, projects or classifies them; then there is no
 * target. The first call compiles the model again and loads its weights a
 * second time, until attnc_close(); it fails if one of the model's files has
 * changed since attnc_open(). out NULL: no rows are computed. Returns the
 * number of rows, or an error. */
ATTNC_API int64_t attnc_hidden(attnc_handle *h, const char *source,
                               int64_t source_bytes, const char *target,
                               int64_t target_bytes, float *out, int64_t cap);
ATTNC_API int64_t attnc_hidden_ids(attnc_handle *h, const int32_t *source,
                                   int64_t n, const int32_t *target,
                                   int64_t target_n, float *out, int64_t cap);

#ifdef __cplusplus
}
#endif

#endif
