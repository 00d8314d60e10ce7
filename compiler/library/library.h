/* library.h: attnc as a library (attnc.h).
 *
 * In:  a path or the text of a spec; options, as the words of a command.
 * Out: an open model and handles that call it; texts; messages for the
 * caller's function.
 * Other public headers: attnc.h. */
#ifndef ATTNC_LIBRARY_H
#define ATTNC_LIBRARY_H

#include "library/attnc.h"
#include "base/console.h"
#include "cli/options/options.h"

typedef struct {      /* weights that replace those of the spec */
    const char *name; /* in messages; NULL: there are none */
    attnc_read *read; /* NULL: they are in memory */
    void *source;     /* for read() */
    const void *at;
    int64_t bytes;
} CallersWeights;

struct attnc_model {
    Engine e;
    struct attnc_facts facts;
    struct attn_search_options search; /* of the spec */
    int32_t unwritten[2];              /* for spec_search() */
    CallersWeights given;
    EngineOptions options; /* with which `e` was opened */
    const char *draft;     /* --draft, of all answers; NULL: none */
    Engine small;          /* the model of --draft */
    struct attn_drafter drafter;
    Engine unfused;      /* the same model, whose attention can be read */
    bool attends;        /* `unfused` is open */
    attnc_model *hidden; /* the same model without its head; NULL: not open.
                          * Set atomically, by any thread */
};

struct library_room { /* memory of malloc() that only grows */
    void *at;
    int64_t bytes;
};

/* An answer of a conversation: tokens `from` to `to` - 1 of the stream, and its
 * text in `said`. */
struct said {
    int64_t from, to, text, bytes;
};

struct attnc_handle {
    attnc_model *m;
    struct attnc_limits limits;
    char why[ATTN_PACKED_TEXT]; /* message of the last call, or "" */
    struct library_room ids, types, start, words, work, text,
        rows;                   /* of a call */
    struct attn_stream stream;  /* of the last answer; room NULL: none */
    struct library_room memory; /* of the stream */
    uint64_t weights;           /* hash of the weights; 0: not computed yet */
    struct library_room turns,
        said; /* struct said [answers], and their texts */
    int64_t answers, said_bytes;
    attnc_handle *hidden; /* of m->hidden; NULL: not open */
};

/* ---- library.c ---- */

typedef struct { /* the arguments that all functions have which compile */
    const char *path, *text;
    const char *const *options;
    attnc_tell *tell;
    void *user;
    const struct attnc_streams *streams; /* of a command; NULL: it is none */
} Call;
/* Calls what(with), which may call fail(), while the functions of the compiler
 * give their messages to the call's function. Calls of several threads wait for
 * each other. Returns a code. */
int library_call(const Call *c, void (*what)(void *with), void *with);
/* Returns the options of a call, parsed as those of a command. Ends the attempt
 * if one is invalid. */
Options *library_options(Arena *a, int command, const char *const *words);
/* Lets the readers of files find the weights that the caller gives, and names
 * them in the options. */
void library_weights(const attnc_model *m, EngineOptions *o);
/* Returns the spec's text, or NULL if the path is to be read. */
const Source *library_source(Arena *a, const Call *c);
/* Opens the engine of a model with m->options, inside an attempt, and sets the
 * facts. */
void library_open_engine(attnc_model *m);
/* Ends the attempt if `now`, the model opened again, has other files than `m`.
 * The caller keeps weights in memory as they are. */
void library_check_files(const attnc_model *m, const Engine *now);
bool option_is(const Option *row, const char *name);
/* Ends the attempt unless all options that were given are among the rows that
 * `is` selects. `where` names the function in the message. */
void library_takes(const Options *o, int command, bool is(const Option *row),
                   const char *where);

/* ---- library_text.c ---- */

/* Calls what(with) while the guard refuses outputs that would replace an
 * input. */
void library_guarded(void what(void *with), void *with);
/* Returns the index of a command that attnc_command() runs or, unless `files`
 * is set, attnc_report(), and sets *print. `where` names the function in the
 * message if there is no such command. */
int library_command(const char *name, bool files, const char *where,
                    PrintReport **print);

/* ---- library_console.c ---- */

/* Calls attempt(), with "C" as the locale of this thread, because strtod() and
 * printf() read and write numbers as the locale says. */
int library_attempt(void (*what)(void *with), void *with);
/* Switch to the locale that this thread has outside the library before a call
 * of the caller's function, and back after it. */
void library_leave(void);
void library_return(void);
/* Gives a message to the caller's function, if there is one. */
void library_tell(const Call *c, const struct attnc_message *message);
/* Opens a stream that gives its text to the caller's attnc_tell, and makes it
 * the thread's console_log(). Returns false if memory runs out. */
bool library_open_log(const Call *c);
void library_close_log(void);

typedef struct { /* what a command prints on stdout */
    const Call *call;
    Output *file; /* gets the text instead of the caller; NULL: none */
    Fault why;    /* text was lost */
    char buffer[4096];
    FILE *stream;
    Console before;
} CommandOutput;
/* Makes it the thread's console_out(), and stdout's outputs. Returns false and
 * sets o->why if memory runs out. */
bool library_open_output(CommandOutput *o);
/* Returns false and sets o->why if text was lost. */
bool library_close_output(CommandOutput *o);

/* ---- library_room.c ---- */

/* Sets the message of the last call. Returns `error`. */
int64_t library_error(attnc_handle *h, int64_t error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts the number of what was wrong in front of the message, as "text 3: ".
 * Returns `error`. */
int64_t library_error_at(attnc_handle *h, int64_t error, const char *what,
                         int64_t i);
/* The function for messages of a call that has none: stores the first error as
 * the message of a handle. */
attnc_tell library_keep_error;
/* Returns memory of at least so many bytes, whose contents are kept; NULL: none
 * is left, and the message says so. */
void *library_room(attnc_handle *h, struct library_room *r, int64_t bytes);

/* Copies n ids behind the first `at` of h->ids, with space for one more.
 * Returns 0 or an error. */
int64_t library_copy(attnc_handle *h, int64_t at, const int32_t *ids,
                     int64_t n);

/* ---- library_encode.c ---- */

/* Returns the vocabulary of texts, or of answers (target 1), and clears the
 * message. NULL: there is none, and the message says so. */
const void *library_vocabulary(attnc_handle *h, int target);
/* Returns how a text for the model is converted. The search adds a decoder's
 * start token, so the vocabulary's template does not. */
int64_t library_how(const attnc_handle *h);
/* Converts a text to ids after the first n of h->ids. how: flags such as
 * ATTN_PLAIN. Returns their number or an error. */
int64_t library_ids(attnc_handle *h, const void *block, int64_t n,
                    const char *text, int64_t bytes, int64_t how);

/* ---- library_cut.c ---- */

/* Cuts a pair of texts, `found` ids and types after the first n, to `most`: the
 * longer text first. `first` of the ids are of the first text. Returns how many
 * remain, more than `most` only if the template alone has more. */
int64_t library_cut_pair(attnc_handle *h, const void *block, int64_t n,
                         int64_t found, int64_t first, int64_t most);

/* ---- library_questions.c ---- */

/* Checks the limits of a handle whose model generates. Returns a code. */
int library_open_answers(attnc_handle *h);
/* Return the maximum tokens of a text to be answered, and of an answer. */
int64_t library_most_input(const attnc_handle *h);
int64_t library_most_output(const attnc_handle *h);
/* Converts a text to ids after the first n of h->ids. target 1: by the
 * vocabulary of answers. bytes -1: it ends at its NUL. how: flags such as
 * ATTN_PLAIN. Returns their number or an error. */
int64_t library_read(attnc_handle *h, int64_t n, int target, const char *text,
                     int64_t bytes, int64_t how);
/* The same for a text to be answered to ids after the first n of h->ids. bytes
 * -1: it ends at its NUL. Returns their number or an error. */
int64_t library_question(attnc_handle *h, int64_t n, const char *text,
                         int64_t bytes);
/* Checks that model and limits have room for an answer to n tokens. Returns 1,
 * 0 if there is nothing to answer, or an error. Reduces *n to the options'
 * max_input. */
int64_t library_asks(attnc_handle *h, const struct attn_search_options *o,
                     int64_t *n);
/* Sets the message that n of `what` are more than `most`. Returns
 * ATTNC_ERROR_LENGTH. */
int64_t library_longer(attnc_handle *h, const char *what, int64_t n,
                       int64_t most);

/* ---- library_asked.c ---- */

/* The purpose of an answer decides the options that it takes. */
enum { AskedPrompt, AskedMany, AskedChat };

typedef struct { /* the options of an answer */
    attnc_handle *h;
    const char *const *words;
    const char *where; /* name of the function, for messages */
    int use;           /* AskedPrompt, AskedMany or AskedChat */
    bool ids;          /* the answer is ids, so --stop is tokens */
    struct attn_search_options o;
    int64_t tokens;          /* most tokens without the prefix; -1: no limit */
    const char *const *stop; /* [stops] texts that end the answer */
    int64_t stops;
    const int32_t *stop_ids; /* [stops_ids] their tokens, for answers of ids */
    int64_t stops_ids;
    Arena *arena; /* owns what the other members point to */
} Asked;
/* Begins a call of a model that generates: clears the message, and reads the
 * words into the other members. Returns 0 or an error. Afterwards
 * arena_free(q->arena). */
int64_t library_ask(Asked *q);
/* Clears the message. Returns 0, or an error if the model does not
 * generate from tokens. */
int64_t library_begin(attnc_handle *h);

/* ---- library_search.c ---- */

/* Searches answers to sentences of h->ids. found[i] of out[] are of sentence i.
 * Returns 0 or an error. */
int64_t library_search(attnc_handle *h, const struct attn_search_options *o,
                       const int32_t *start, int64_t sentences,
                       struct attn_hypothesis *out, int64_t *found);

/* ---- library_stream.c ---- */

typedef struct { /* an answer, passed to the caller's function as it grows */
    attnc_take_text *take_text;
    attnc_take_id *take_id; /* if not NULL, called instead */
    void *user;
    struct attn_text text;
    bool silent;  /* nothing is passed on */
    bool records; /* the text is appended to h->said */
    bool stopped; /* the caller's function has ended the answer */
    int64_t n;    /* number of tokens so far */
} Answer;
/* Begins the text of an answer, which continues another if `begun` is 1.
 * Returns 0 or an error. */
int64_t library_begin_text(attnc_handle *h, Answer *a, const Asked *q,
                           int64_t begun);
/* Passes a token on; id -1: the end of the text. Returns 0 or an error. */
int64_t library_give(attnc_handle *h, Answer *a, int32_t id);
/* Opens the handle's stream with room for so many tokens, for the first n of
 * h->ids. Returns 0 or an error. */
int64_t library_open_stream(attnc_handle *h, const Asked *q, int64_t n,
                            int64_t tokens);
/* Answers n tokens of h->ids by the handle's stream. Returns the number of
 * tokens or an error. */
int64_t library_stream(attnc_handle *h, const Asked *q, int64_t n, Answer *a);
/* Passes on at most `most` tokens of the open stream. Returns 0 or an error. */
int64_t library_tokens_of(attnc_handle *h, Answer *a, int64_t most);

#endif
