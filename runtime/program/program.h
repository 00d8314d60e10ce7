/* program.h: the program that an emitted file contains under ATTNC_MAIN. It
 * reads lines from stdin and prints answers on stdout. The model decides what a
 * line is: text, if the weights have a vocabulary; token ids; or a row of
 * numbers, in blocks that end with an empty line. A model of `kind: attention`
 * reads three blocks (queries, keys, values) as one question. The options are
 * the rows of runtime/options/option_rows.h. attnc run and attnc score are also
 * this program, with an engine as the model. Exit codes: 0 done, 2 usage, 3 bad
 * input (all other lines are answered), 4 I/O, 5 memory, 6 another processor,
 * 70 a bug. */
#ifndef ATTN_PROGRAM_1
#define ATTN_PROGRAM_1

#include "runtime/base/system.h"
#include "runtime/core.h"
#include "runtime/options/search_settings.h"
#include "runtime/text/input_lines.h"
#include "runtime/text/shard_record.h"

enum {
    PROGRAM_PARTS = 32,  /* maximum parts per batch */
    PROGRAM_ROWS = 8192, /* no part is added to a batch with this many rows */
    PROGRAM_FILES = 3    /* maximum mapped files: weights, a state, a
                          * grammar */
};

struct room { /* memory that only grows */
    void *at;
    int64_t bytes;
};

struct program_list {
    const char **at;
    int64_t n;
};

/* The encoding of a text. Token ids need none. */
enum {
    TOKENS_LINE,  /* a complete text, with the vocabulary's template */
    TOKENS_PLAIN, /* a complete text, without the template */
    TOKENS_BEGUN  /* the continuation of an earlier text */
};

struct shard_files { /* files of --shard */
    struct attn_shard r;
    char *output, *part, *path; /* answers when complete, and until then; the
                                 * record */
    char *options;              /* those that change answers */
    char *text;                 /* the record as it was, n bytes */
    int64_t n;
    int answers, record; /* descriptors */
    int64_t per;         /* parts of a question: 3 for attention, else 1 */
    int64_t rows;        /* of the question that is skipped */
    uint64_t input;      /* hash of the lines so far */
    bool checked;        /* they are those of the blocks answered before */
    bool failed;         /* they are not: nothing more is answered */
};

struct program {
    const char *name; /* name of the program, argv[0] */
    const struct attn_model *m;
    const char *path; /* file of the packed weights */
    const char *file; /* contents of that file */
    int64_t bytes;
    const void *packed; /* the packed weights within `file` */
    struct attn_side source, target;
    int status;         /* exit code; a value above 3 ends the program */
    char why[ATTN_WHY]; /* error in a line or an option */
    /* options */
    int use;        /* one of ATTN_FOR_LINES etc. */
    uint64_t given; /* given options, as bits by row of program_option */
    struct attn_settings set;
    struct program_list stop, suppress;
    const char *prompt, *save_state, *load_state, *system, *prompt_name;
    const char *task_name; /* of --task; NULL: none */
    int64_t tokens, seed, threads, rank_timeout;
    const char *shard, *output; /* these two and `resume` change no answer */
    bool resume;
    bool ids, pairs, quiet, score, chat, unchecked, help, version;
    bool collectives; /* this and `input`: of ranks */
    const char *input;
#if ATTN_IN_ATTNC
    bool json, npy;
    struct answering *of; /* the engine that built the model */
#endif
    /* lines */
    struct attn_lines in;
    /* the parts of a batch; a part is a line or a block of lines */
    int64_t width; /* items per row: 1 token, or the numbers of a row */
    int64_t n;     /* number of items in this batch so far */
    int64_t parts; /* number of complete parts in this batch */
    int64_t ended; /* number of complete parts in all batches */
    int32_t start[PROGRAM_PARTS + 1]; /* first row of each part */
    int bad[PROGRAM_PARTS];           /* [parts]: rejected, so not answered */
    int64_t last[PROGRAM_PARTS];      /* [parts]: number of the last line */
    int refused;                      /* the part read has an invalid line */
    int64_t beyond; /* excess rows of that part, which are dropped */
    /* memory, threads */
    struct room bound, items, work, text, found, prefix, suppressed, turn;
    struct room grammar;
    struct room types; /* token types of the items, for --pairs */
    int64_t more; /* ids in addition to those of a line: of a pair, a prompt */
    const char *before; /* text that precedes each line; NULL: none */
    int64_t task;       /* one of ATTN_TASK_NONE etc. */
    int32_t task_given[PROGRAM_PARTS]; /* tokens of each part that rows attend
                                        * to */
    struct room frame;                 /* [frame_n] ids that end all inputs */
    int64_t frame_n;
    struct attn_pool *pool;
    const struct attn_parallel *parallel; /* threads for calls; NULL: one */
#if ATTN_HAS_RANKS
    struct attn_parallel divided; /* the same, and the ranks */
#endif
    struct shard_files own;
};

struct score_pair { /* ids of an input, and of an output including its end
                     * token, in p->items */
    int64_t at, n, target, target_n;
};

enum { OPTION_FLAG, OPTION_WHOLE, OPTION_REAL, OPTION_TEXT, OPTION_LIST };

struct program_option {
    const char *group, *name;
    const char *takes; /* placeholder of the value; NULL: no value */
    int kind, use;     /* kind of the option; uses to which it applies, as bits
                        * ATTN_FOR_LINES etc. */
    size_t at;         /* offset of the value in struct program */
    double least, most, default_value;
    const char *help;
};

#endif
