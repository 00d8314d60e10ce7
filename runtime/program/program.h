/* program.h: the program that an emitted file contains under ATTNC_MAIN. It
 * reads lines from stdin and prints answers on stdout. The model decides what a
 * line is:
 *   text if the weights have a vocabulary, else token ids;
 *   a row of numbers if the model reads these; an empty line ends a block of
 *   rows. Kind attention reads three blocks (queries, keys, values) as one
 *   question.
 * The options are rows of runtime/options/option_rows.h. attnc run and attnc
 * score are this program, too, on an engine's model.
 *
 * Exit codes: 0 done, 2 usage, 3 bad input (all other lines are answered), 4
 * I/O, 5 memory, 6 another processor, 70 a bug. */
#ifndef ATTN_PROGRAM_1
#define ATTN_PROGRAM_1

#include "runtime/base/system.h"
#include "runtime/core.h"
#include "runtime/options/search_settings.h"

enum {
    PROGRAM_PARTS = 32,     /* limit of lines answered together */
    PROGRAM_ROWS = 8192,    /* soft limit of their rows */
    PROGRAM_LINE = 1 << 20, /* limit of a line, in bytes */
    PROGRAM_WHY = 512,      /* limit of a message */
    PROGRAM_FILES = 2       /* mapped files: weights, a state */
};

struct room { /* memory that only grows */
    void *at;
    int64_t bytes;
};

struct program_list {
    const char **at;
    int64_t n;
};

struct program_side { /* the tokens of source or target */
#if ATTN_HAS_TEXT
    const void *block; /* vocabulary; NULL: ids */
#endif
    int64_t size; /* every id is below this */
};

/* How a text is encoded. Text that is ids needs no encoding. */
enum {
    TOKENS_LINE,  /* complete, with the vocabulary's template */
    TOKENS_PLAIN, /* complete, without the template */
    TOKENS_BEGUN  /* continues an earlier text */
};

struct program {
    const char *name; /* argv[0] */
    const struct attn_model *m;
    const char *path; /* file of the packed weights */
    const char *file; /* its contents */
    int64_t bytes;
    const void *packed; /* the weights in `file` */
    struct program_side source, target;
    int status;            /* exit code; above 3 it ends the program */
    char why[PROGRAM_WHY]; /* the error in a line or an option */
    /* options */
    int use;        /* one of ATTN_FOR_LINES etc. */
    uint64_t given; /* bits: rows of program_option */
    struct attn_settings set;
    struct program_list stop, suppress;
    const char *prompt, *save_state, *load_state, *system;
    int64_t tokens, seed, threads;
    bool ids, pairs, quiet, score, chat, unchecked, help, version;
#if ATTN_IN_ATTNC
    bool json;
    struct answering *of; /* the engine that built the model */
#endif
    /* lines */
    char *buffer; /* [PROGRAM_LINE + 1] */
    int64_t begin, end;
    int over;     /* end of input: nothing follows the buffer */
    int64_t line; /* number of the last line read */
    /* the parts (lines, or blocks of lines) of one batch */
    int64_t width; /* items of a row: 1 token, or its numbers */
    int64_t n;     /* items of this batch so far */
    int64_t parts; /* complete parts */
    int64_t ended; /* complete parts of all batches */
#if ATTN_HAS_FIXED
    int64_t beam; /* sequences per part; 0: one */
#endif
    int32_t start[PROGRAM_PARTS + 1]; /* first row of each part */
    int bad[PROGRAM_PARTS];           /* rejected: no answer */
    int64_t last[PROGRAM_PARTS];      /* number of each part's last line */
    int refused;                      /* the incomplete part has a bad line */
    int64_t beyond; /* its rows beyond the longest input, dropped */
    /* memory, threads */
    struct room bound, items, work, text, found, prefix, suppressed, turn;
    struct room types; /* token types of items, for pairs */
    int64_t more;      /* extra ids of a pair beyond those of its text */
    struct attn_pool *pool;
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct score_pair { /* ids of an input, and of an output with its end token */
    int32_t *ids, *target;
    int64_t n, target_n;
};

enum { OPTION_FLAG, OPTION_WHOLE, OPTION_REAL, OPTION_TEXT, OPTION_LIST };

struct program_option {
    const char *group, *name;
    const char *takes; /* placeholder of the value; NULL: no value */
    int kind, use;     /* bits of ATTN_FOR_LINES etc. */
    size_t at;         /* offset of the value in struct program */
    double least, most, default_value;
    const char *help;
};

#endif
