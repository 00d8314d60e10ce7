/* program.h: the program that an emitted file is under ATTNC_MAIN: lines in on
 * stdin, answers out on stdout. The model says what a line is:
 *   text, where the weights have a vocabulary, else token ids;
 *   a row of numbers, where it reads these; an empty line ends a block of
 *   them. Kind attention: three blocks (queries, keys, values) are one
 *   question.
 * Its options are rows of runtime/options/option_rows.h. attnc run and attnc
 * score are this program too, on the model of an engine.
 *
 * Exit codes: 0 done, 2 usage, 3 bad input (of lines: the others are answered),
 * 4 I/O, 5 memory, 6 another processor, 70 a bug.                           */
#ifndef ATTN_PROGRAM_1
#define ATTN_PROGRAM_1

#include "runtime/base/system.h"
#include "runtime/core.h"
#include "runtime/options/search_settings.h"

enum {
    PROGRAM_PARTS = 32,     /* lines that are answered together, */
    PROGRAM_ROWS = 8192,    /* or not many more rows than these */
    PROGRAM_LINE = 1 << 20, /* bytes of a line, at most */
    PROGRAM_WHY = 512,      /* of a message */
    PROGRAM_FILES = 2       /* that are mapped: weights, a state */
};

struct room { /* memory that only grows */
    void *at;
    int64_t bytes;
};

struct program_list {
    const char **at;
    int64_t n;
};

struct program_side { /* of tokens */
#if ATTN_HAS_TEXT
    const void *block; /* vocabulary; NULL: ids */
#endif
    int64_t size; /* ids are below this */
};

/* Which tokens of a text a function takes. Ids may stand for the text. */
enum {
    TOKENS_LINE,  /* all of it, with what the vocabulary puts around it */
    TOKENS_PLAIN, /* without that */
    TOKENS_BEGUN  /* it goes on where another ended */
};

struct program {
    const char *name; /* argv[0] */
    const struct attn_model *m;
    const char *path; /* of the packed weights */
    const char *file; /* they, whole */
    int64_t bytes;
    const void *packed; /* the weights in it */
    struct program_side source, target;
    int status;            /* exit code; above 3 it ends the program */
    char why[PROGRAM_WHY]; /* what is wrong with a line, or with an option */
    /* options */
    int use;        /* one of ATTN_FOR_LINES .. */
    uint64_t given; /* bits: rows of program_option */
    struct attn_settings set;
    struct program_list stop, suppress;
    const char *prompt, *save_state, *load_state, *system;
    int64_t tokens, seed, threads;
    bool ids, pairs, quiet, score, chat, unchecked, help, version;
#if ATTN_IN_ATTNC
    bool json;
    struct answering *of; /* the engine that made the model */
#endif
    /* lines */
    char *buffer; /* [PROGRAM_LINE + 1] */
    int64_t begin, end;
    int over;     /* nothing comes behind the buffer */
    int64_t line; /* number of the last line read */
    /* parts: lines, or blocks of lines; those of a batch */
    int64_t width; /* items of a row: 1 token, so many numbers */
    int64_t n;     /* items of this batch so far */
    int64_t parts; /* that ended */
    int64_t ended; /* parts of all batches */
#if ATTN_HAS_FIXED
    int64_t beam; /* sequences of a part; 0: one */
#endif
    int32_t start[PROGRAM_PARTS + 1]; /* first row of each */
    int bad[PROGRAM_PARTS];           /* it was refused: it has no answer */
    int64_t last[PROGRAM_PARTS];      /* number of its last line */
    int refused;                      /* the part that is open has a bad line */
    int64_t beyond; /* its rows behind the longest input: not kept */
    /* memory, threads */
    struct room bound, items, work, text, found, prefix, suppressed, turn;
    struct room types; /* of the ids in items, where these are of pairs */
    int64_t more;      /* ids of a pair beside those of a text of its bytes */
    struct attn_pool *pool;
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct score_pair { /* ids of an input, and of an output with its end */
    int32_t *ids, *target;
    int64_t n, target_n;
};

enum { OPTION_FLAG, OPTION_WHOLE, OPTION_REAL, OPTION_TEXT, OPTION_LIST };

struct program_option {
    const char *group, *name;
    const char *takes; /* NULL: nothing */
    int kind, use;     /* bits of ATTN_FOR_LINES .. */
    size_t at;         /* its value, in struct program */
    double least, most, default_value;
    const char *help;
};

#endif
