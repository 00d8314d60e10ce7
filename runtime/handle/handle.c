/* handle.c: an open model. It allocates two blocks: one for the handle and its
 * work memory, one for the ids and scores of a text. Weights are mapped. The
 * functions check their arguments, and store an error message in the handle. An
 * emitted file has handle_file.c before this file, and after it
 * handle_generate.c or, if the model does not generate, handle_rows.c. */
#include "runtime/core.h"
#include "handle_system.h"

#include <string.h>

enum {
    HANDLE_PIECE = 4096, /* maximum bytes of a token's text, including bytes
                          * held back */
    HANDLE_TOKEN = 16,   /* default bytes of text per token */
    HANDLE_THREADS = 256
};

struct attn_handle {
    const struct attn_model *model;
    void *memory;               /* the block that contains this struct */
    int failed;                 /* error of attn_open(), which all calls then
                                 * return, with the message `why` */
    char why[ATTN_PACKED_TEXT]; /* error message of the last call, or "" */
    struct handle_file file;
    void *bound;
#if ATTN_HAS_TEXT
    const void *source, *target; /* vocabularies, or NULL */
#endif
    const struct attn_parallel *parallel; /* threads for calls; NULL: one */
    struct attn_parallel threads;         /* used if the model starts threads;
                                           * contains their number */
    void *pool;                           /* thread pool, or NULL */
    int64_t input, output;                /* maximum lengths of input and
                                           * output, in tokens or rows */
    int64_t beam, text; /* maximum hypotheses, and bytes of a text */
    int64_t draft;      /* the draft of answers that grow */
    void *tokens;       /* block for ids and scores; its size depends on the
                         * vocabularies */
    int64_t most;       /* maximum ids per text */
    int32_t *ids, *target_ids; /* target_ids are token types in a model that
                                * only encodes */
    float *scores;             /* scores of a target's tokens */
#if ATTN_HAS_TEXT
    void *words; /* memory of the tokenizer */
#endif
#if ATTN_HAS_EMBED
    char *joined; /* a prompt and a text, or a pair as one text */
#endif
#if ATTN_HAS_TEXT
    char *piece; /* [HANDLE_PIECE]: text of a token */
#endif
    void *work; /* memory of a call */
    int64_t work_bytes;
#if ATTN_HAS_SEARCH
    struct attn_drafter drafter; /* for ATTN_DRAFT_MODEL */
#if ATTN_HAS_TEXT
    struct attn_grammar *grammar; /* NULL: none */
#endif
    struct attn_queue_size queue_size;
    struct handle_queue *queue; /* NULL: the handle takes no requests */
#endif
#if ATTN_HAS_CHAT
    int64_t chat;             /* maximum tokens of the conversation */
    struct handle_talk *talk; /* NULL: the handle has no conversation */
#endif
};

/* Returns the bytes of memory that the largest call within the limits needs. */
static int64_t handle_call_bytes(const struct attn_handle *h);
/* Sets the limits from the options or their defaults. Returns 0 or an error. */
static int handle_sizes(struct attn_handle *h,
                        const struct attn_open_options *o);
#if ATTN_HAS_SEARCH
static int handle_lay_out_queue(struct attn_handle *h, struct attn_memory *at);
/* Opens a grammar in memory taken from `at`, whose size it counts if `at` has
 * no base; NULL: there is none. Returns 0 or an error. */
static int handle_open_grammar(struct attn_handle *h, const char *text,
                               struct attn_memory *at);
#endif
#if ATTN_HAS_CHAT
static int handle_lay_out_talk(struct attn_handle *h, struct attn_memory *at);
static int64_t handle_longest_turn(const struct attn_handle *h);
#endif

/* ---- errors ---- */

/* Sets the message. Returns `error`. */
static int handle_fail(struct attn_handle *h, int64_t error, const char *fmt,
                       ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(h->why, sizeof h->why, fmt, ap);
    va_end(ap);
    return (int)error;
}

/* Like handle_fail(), with the message for an error that the core returned. */
static int handle_refuse(struct attn_handle *h, int64_t error)
{
    return handle_fail(h, error, "%s", attn_error_text(error));
}

/* Begins a call: clears the message. Returns 0 or an error. */
static int handle_begin(const struct attn_model *m, struct attn_handle *h)
{
    if (!h)
        return ATTN_ERROR_NULL;
    if (h->failed)
        return ATTN_ERROR_OPEN;
    h->why[0] = '\0';
    if (h->model == m)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPEN,
                       "this is a function of %s, %s is open", m->name,
                       h->model->name);
}

static int handle_longer(struct attn_handle *h, const char *what, int64_t n,
                         int64_t most)
{
    return handle_fail(h, ATTN_ERROR_LENGTH,
                       "%s: %lld, at most %lld are taken: the model's max_len, "
                       "or max_input, max_output of the options at open",
                       what, (long long)n, (long long)most);
}

ATTN_API const char *attn_error(const struct attn_handle *h)
{
    return h ? h->why : "out of memory";
}

ATTN_API const char *attn_target(const struct attn_handle *h)
{
    return h && !h->failed ? h->model->target(h->bound) : NULL;
}

/* ---- memory ---- */

static int64_t handle_text(const struct attn_handle *h)
{
    return HANDLE_TOKEN * attn_max(h->input, h->output) + HANDLE_TOKEN;
}

/* Runs all parts in sequence on the calling thread. */
static void handle_run(void *pool, int64_t parts,
                       void (*part)(void *arg, int64_t part, int64_t parts),
                       void *arg)
{
    (void)pool;
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

/* Sets the handle's model, threads and size limits from the options. Returns 0,
 * or an error if an option is out of range. */
static int handle_take_sizes(struct attn_handle *h, const struct attn_model *m,
                             const struct attn_open_options *o)
{
    static const struct attn_open_options none = { 0 };
    const struct attn_open_options *to = o ? o : &none;

    h->model = m;
    h->why[0] = '\0';
    h->parallel = to->parallel;
    if (to->threads < 0 || to->threads > HANDLE_THREADS)
        return handle_fail(h, ATTN_ERROR_OPTION, "threads: 0 to %d are taken",
                           HANDLE_THREADS);
    if (!h->parallel && to->threads > 1) { /* the memory for calls depends on
                                            * `parts` */
        h->threads.parts = to->threads;
        h->threads.run = handle_run;
        h->parallel = &h->threads;
    }
    const int apart = attn_check_parallel(m, to->parallel);
    if (apart == ATTN_ERROR_RANKS)
        return handle_fail(h, apart, "parallel: %s", attn_error_text(apart));
    if (apart != 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "parallel: parts below 0, or no function");
    const int wrong = handle_sizes(h, to);
    if (wrong)
        return wrong;
    h->text = to->max_text > 0 ? to->max_text : handle_text(h);
    if (to->max_text < 0 || h->text > ATTN_MOST)
        return handle_fail(h, ATTN_ERROR_OPTION, "max_text: 0 to %d are taken",
                           ATTN_MOST);
    return 0;
}

/* Sets *size to the given option or, if that is 0, to `most`. */
static int handle_size(struct attn_handle *h, const char *name, int64_t given,
                       int64_t most, int64_t *size)
{
    *size = given > 0 ? given : most;
    if (given >= 0 && given <= most)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION, "%s: 0 to %lld are taken", name,
                       (long long)most);
}

/* Returns 0 or an error. */
static int handle_lay_out(struct attn_handle *h, struct attn_memory *at)
{
    h->bound = attn_take(at, h->model->bound_bytes, 1);
#if ATTN_HAS_TEXT
    h->piece = attn_take(at, HANDLE_PIECE, 1);
#endif
    h->work_bytes = handle_call_bytes(h);
    h->work = attn_take(at, h->work_bytes, 1);
#if ATTN_HAS_SEARCH
    int wrong = handle_lay_out_queue(h, at);
#if ATTN_HAS_CHAT
    if (wrong == 0)
        wrong = handle_lay_out_talk(h, at);
#endif
    return wrong;
#else
    return 0;
#endif
}

ATTN_API int64_t attn_memory(const struct attn_model *m,
                             const struct attn_open_options *o)
{
    struct attn_memory at = { NULL, 0 };
    struct attn_handle h = { .model = m };
    int wrong = handle_take_sizes(&h, m, o);

    if (wrong)
        return wrong;
    attn_take(&at, 1, sizeof h);
    wrong = handle_lay_out(&h, &at);
    if (wrong)
        return wrong;
    return at.used < 0 ? ATTN_ERROR_COUNT : attn_memory_bytes(&at);
}

/* ---- open ---- */

/* Opens weights and vocabularies; if `path` is NULL, the weights are those
 * inside the C file. Returns 0 or an error. */
static int handle_weights(struct attn_handle *h, const char *path,
                          int64_t unchecked)
{
    const struct attn_model *m = h->model;
    const char *wrong = NULL;
    const char *name = path ? path : m->name;

    if (path)
        wrong = handle_map(&h->file, path);
    else
        h->file.at = embedded_weights(&h->file.bytes);
    if (!wrong && !h->file.at && m->weights_bytes > 0)
        wrong = "no weights are inside of this file: open() takes the path of "
                "a weights file";
    if (!wrong && unchecked)
        wrong = attn_bind_lazily(m, h->bound, h->file.at, h->file.bytes);
    else if (!wrong)
        wrong = attn_bind(m, h->bound, h->file.at, h->file.bytes);
    if (wrong)
        return handle_fail(h, ATTN_ERROR_OPEN, "%s: %s", name, wrong);
#if ATTN_HAS_TEXT
    h->source = attn_vocab(m, h->file.at, 0);
    h->target = attn_vocab(m, h->file.at, 1);
#endif
    return 0;
}

/* Returns the maximum bytes of a text, with the spec's prompt before it, or the
 * texts around a pair or a turn. */
static int64_t handle_longest(const struct attn_handle *h)
{
    int64_t more = 0;

#if ATTN_HAS_EMBED
    const struct attn_two_texts none = { NULL, NULL, 0, 0 };
    const struct attn_texts *t = h->model->texts;

    if (t)
        more = attn_pair_text(&t->pair, &none, NULL);
    for (int64_t i = 0; t && t->prompts && t->prompts[i]; i += 2)
        more = attn_max(more, (int64_t)strlen(t->prompts[i + 1]));
#endif
#if ATTN_HAS_CHAT
    if (h->chat > 0)
        return handle_longest_turn(h);
#endif
    return h->text + more;
}

/* Returns how many ids a task may add to those of a text. */
static int64_t handle_added(const struct attn_handle *h)
{
    int64_t most = 0;

#if ATTN_HAS_TASKS
    const struct attn_texts *t = h->model->texts;

    for (int i = 1; t && t->tasks && i <= ATTN_TASK_DOCUMENT; i++)
        most = attn_max(most, attn_task_room(&t->tasks[i]));
#else
    (void)h;
#endif
    return most;
}

/* Returns the bytes that the tokenizers need for the longest text, or an error.
 * Sets h->most to the maximum number of ids of a text. */
static int64_t handle_words(struct attn_handle *h)
{
    const void *const vocab[2] = { h->source, h->target };
    const int64_t longest = handle_longest(h);
    int64_t words = 0;

    h->most = longest;
    for (int i = 0; i < 2; i++) {
        if (!vocab[i])
            continue;
        const int64_t bytes = attn_vocab_encode_bytes(vocab[i], longest);
        const int64_t most = attn_vocab_most_ids(vocab[i], longest);
        if (bytes < 0 || most < 0)
            return attn_min(bytes, most);
        words = attn_max(words, bytes);
        h->most = attn_max(h->most, most);
        h->most = attn_max(h->most,
                           attn_vocab_most_pair_ids(vocab[i], h->text));
    }
    h->most += handle_added(h);
    return words;
}

/* Allocates the memory for the tokens of a text, and a grammar for them.
 * Returns 0 or an error. */
static int handle_open_tokens(struct attn_handle *h, const char *grammar)
{
    struct attn_memory at;
    int wrong = 0;

#if ATTN_HAS_TEXT
    const int64_t words = handle_words(h);
    if (words < 0)
        return handle_fail(h, words,
                           "max_text: so long a text takes more "
                           "memory than can be told");
#else
    h->most = attn_max(h->input, h->output);
#endif
    attn_memory_open(&at, NULL);
    for (int laid = 0; laid < 2; laid++) {
        h->ids = attn_take(&at, h->most + 1, sizeof *h->ids);
        h->target_ids = attn_take(&at, h->most + 1, sizeof *h->target_ids);
        h->scores = attn_take(&at, h->most + 1, sizeof *h->scores);
#if ATTN_HAS_TEXT
        h->words = attn_take(&at, words, 1);
#endif
#if ATTN_HAS_EMBED
        h->joined = attn_take(&at, handle_longest(h), 1);
#endif
#if ATTN_HAS_SEARCH
        wrong = handle_open_grammar(h, grammar, &at);
#else
        (void)grammar;
#endif
        if (wrong || laid == 1)
            return wrong;
        h->tokens = malloc((size_t)attn_memory_bytes(&at));
        if (!h->tokens)
            return handle_fail(h, ATTN_ERROR_OPEN,
                               "out of memory for the tokens of a text");
        attn_memory_open(&at, h->tokens);
    }
    return 0;
}

static int handle_threads(struct attn_handle *h, int64_t threads)
{
    if (h->parallel != &h->threads)
        return 0;
#if ATTN_HAS_THREADS
#if defined ATTNC_MAIN || defined ATTNC_THREADS
    h->pool = attn_pool_open(threads);
    if (!h->pool)
        return handle_fail(h, ATTN_ERROR_OPEN, "out of memory for %lld threads",
                           (long long)threads);
    h->parallel = attn_pool_parallel(h->pool);
    return 0;
#else
#if ATTN_IS_BESIDE
    return handle_fail(h, ATTN_ERROR_OPEN,
                       "%lld threads: compile attn.c with -DATTNC_THREADS "
                       "-pthread",
                       (long long)threads);
#else
    return handle_fail(
        h, ATTN_ERROR_OPEN,
        "%lld threads: compile the C file of %s with -DATTNC_THREADS "
        "-pthread",
        (long long)threads, h->model->name);
#endif
#endif
#else
    return handle_fail(h, ATTN_ERROR_OPEN,
                       "%lld threads: the C file of %s was made without the "
                       "part threads of attnc compile --parts",
                       (long long)threads, h->model->name);
#endif
}

ATTN_API struct attn_handle *attn_open(const struct attn_model *m,
                                       const char *path,
                                       const struct attn_open_options *o)
{
    const int64_t bytes = attn_memory(m, o);
    const size_t least = sizeof(struct attn_handle) + ATTN_ALIGN;
    void *memory = malloc(bytes > 0 ? (size_t)bytes : least);
    struct attn_memory at;
    struct attn_handle *h;

    if (!memory)
        return NULL;
    attn_memory_open(&at, memory);
    h = attn_take(&at, 1, sizeof *h);
    memset(h, 0, sizeof *h);
    h->memory = memory;
    h->failed = handle_take_sizes(h, m, o);
    if (!h->failed && bytes < 0)
        h->failed = handle_refuse(h, bytes);
    if (h->failed)
        return h;
    handle_lay_out(h, &at);
    h->failed = handle_weights(h, path, o ? o->unchecked : 0);
    if (!h->failed && h->model->kind != ATTN_ATTENTION)
        h->failed = handle_open_tokens(h, o ? o->grammar : NULL);
    if (!h->failed)
        h->failed = handle_threads(h, o ? o->threads : 0);
    return h;
}

ATTN_API void attn_close(struct attn_handle *h)
{
    if (!h)
        return;
#if ATTN_HAS_THREADS
#if defined ATTNC_MAIN || defined ATTNC_THREADS
    attn_pool_close(h->pool);
#endif
#endif
    handle_unmap(&h->file);
    free(h->tokens);
    free(h->memory);
}

/* ---- text ---- */

/* Sets *bytes to the length of a text: if it is -1, the text ends at its NUL.
 * Returns 0 or an error. */
static int handle_text_size(struct attn_handle *h, const void *vocab,
                            const char *text, int64_t *bytes)
{
    if (!vocab)
        return handle_fail(h, ATTN_ERROR_OPEN,
                           "the weights have no vocabulary: give token ids");
    if (!text)
        return handle_fail(h, ATTN_ERROR_NULL, "the text is NULL");
    if (*bytes == -1)
        *bytes = (int64_t)strlen(text);
    return *bytes < 0 ? handle_refuse(h, ATTN_ERROR_COUNT) : 0;
}

static int handle_text_fits(struct attn_handle *h, int64_t bytes)
{
    if (bytes <= h->text)
        return 0;
    return handle_fail(h, ATTN_ERROR_LENGTH,
                       "the text has %lld bytes, at most %lld are taken: "
                       "max_text of the options at open",
                       (long long)bytes, (long long)h->text);
}

/* Converts a text to ids in ids[h->most + 1]. Returns their number, or an
 * error. If `bytes` is -1, the text ends at its NUL. `how` has flags such as
 * ATTN_PLAIN. */
static int64_t handle_tokens(struct attn_handle *h, const void *vocab,
                             const char *text, int64_t bytes, int64_t how,
                             int32_t *ids)
{
    int64_t bad = 0, n = bytes;
    int wrong = handle_text_size(h, vocab, text, &n);

    if (!wrong)
        wrong = handle_text_fits(h, n);
    if (wrong)
        return wrong;
    bytes = n;
    n = attn_vocab_encode(vocab, text, bytes, how, ids, h->most, h->words,
                          &bad);
    if (n < 0)
        return handle_fail(h, n, "byte %lld: %s", (long long)bad + 1,
                           attn_error_text(n));
    return n;
}

/* Returns flags for encoding a question. The tokenizer must not add a decoder's
 * start token, because the search adds it. */
static int64_t handle_how(const struct attn_handle *h)
{
    return h->model->kind == ATTN_DECODER ? ATTN_STARTED : 0;
}

/* Converts a text to be answered to ids; an empty text has none. Returns their
 * number, or an error. */
static int64_t handle_question(struct attn_handle *h, const char *text,
                               int64_t bytes)
{
    if (text && (bytes == 0 || (bytes == -1 && text[0] == '\0')))
        return 0;
    return handle_tokens(h, h->source, text, bytes, handle_how(h), h->ids);
}
