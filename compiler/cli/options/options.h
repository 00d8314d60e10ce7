/* options.h: the options of all commands, in one struct whose members the rows
 * of option_table.h declare, and the parts of it that other directories use. */
#ifndef ATTNC_CLI_OPTIONS_H
#define ATTNC_CLI_OPTIONS_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/options/lines.h"
#include "runtime/options/search_settings.h"
#include "sweep/over_ranks.h"
#include "sweep/sweep.h"
#include "tune/tune.h"

typedef VEC(const char *) Texts;

/* ---- parts ---- */
typedef struct { /* options for the model and its passes */
    const char *spec;
    Document text; /* the spec, read from stdin, if `spec` is "-" */
    Texts sets, fix, skip, dump;
    const char *weights, *after;
    int64_t seed, ranks; /* ranks: fix.ranks; 0: not given */
    bool explain, require_fusion, allow_nan;
    bool sum_ranks; /* fix.sum_ranks */
} ModelOptions;

typedef struct { /* options for the target, the compiler and its settings */
    const char *march, *tile, *backend, *cc, *level, *records;
    int64_t width;   /* floats per vector; 0: the target's default */
    int64_t threads; /* number of threads; -1: one per core */
    bool no_records, verbose, perf;
} CodeOptions;

typedef struct { /* options for lines of stdin and their answers */
    bool ids;
} LineOptions;

typedef struct {
    struct attn_settings set;
    Texts suppress;
    const char *schema; /* file of --json-schema */
} SearchOptions;

/* ---- commands ---- */
typedef enum { EmitC, EmitObj, EmitSo, EmitExe, EmitWheel, EmitKinds } EmitKind;
typedef enum { RunText, RunJson, RunSvg, RunNpy } RunFormat;
typedef enum { StageFinal, StageBuilt, StageAll } Stage;
typedef enum { PrintText, PrintJson, PrintDot, PrintSvg } PrintFormat;
typedef enum { PlanText, PlanJson, PlanSvg } PlanFormat;
typedef enum {
    RecordsShow,
    RecordsMerge,
    RecordsPrune,
    RecordsExport,
    RecordsExplain
} RecordsAction;
typedef enum { CacheLs, CacheClean, CacheVerify } CacheAction;
typedef enum {
    FieldsText,
    FieldsJson,
    FieldsMarkdown,
    FieldsSchema
} FieldsFormat;

extern const char *const part_words[]; /* the words of --parts: "model", then
                                        * the rows of emit/parts.h */

struct Options { /* a command uses only the members of its options */
    CommonOptions common;
    ModelOptions model;
    CodeOptions code;
    SearchOptions search;
    LineOptions lines;
    BenchOptions bench;
    SweepOptions sweep; /* without the members that the ones above set */
    TuneOptions tune;
    int format, json;   /* two names for the value of --format */
    const char *agrees; /* verify: text to print instead of "verified", or
                         * NULL */
#define OWN(commands, member)                         DECLARE, member
#define AT(commands, member)                          LEAVE, member
#define DECLARE(type, member)                         type member;
#define LEAVE(type, member)
#define ROW(kind, type, name, takes, how, member, ...) how(type, member)
#include "cli/options/option_table.h"
};
#undef DECLARE
#undef LEAVE

/* cmd_sweep.c: runs a sweep with the options of a command. At the end,
 * `change`, if not NULL, modifies the options of the sweep. Returns an exit
 * code. */
int sweep_command(Arena *a, int command, const Options *o,
                  void change(Arena *a, SweepOptions *to), FILE *out);

/* ---- rows ---- */
/* The headings of `attnc help COMMAND`, in order. */
typedef enum {
    GroupOperands,
    GroupModel,
    GroupLines,
    GroupPrompt,
    GroupChat,
    GroupSearch,
    GroupSampling,
    GroupBatch,
    GroupTensors,
    GroupAttention,
    GroupWork,
    GroupTuning,
    GroupRecords,
    GroupCache,
    GroupOutput,
    GroupCode,
    GroupPasses,
    GroupGeneral,
    OptionGroups
} OptionGroup;

typedef enum {
    Flag,  /* bool, set if the option is given */
    Alone, /* like Flag, and makes the spec optional */
    Text,  /* const char *; NULL: not given */
    Out,   /* const char *; a file that the command writes */
    Maybe, /* const char *; "" if given without a value */
    List,  /* Texts; each use of the option appends one */
    Rest,  /* Texts; all following words, which are another command's options */
    Int,   /* int64_t */
    Real,  /* double */
    Float, /* float */
    Word,  /* int: an index into the words */
    Form,  /* int: a format; default: according to -o's ending, else text */
    Json,  /* sets the format to FormatJson and takes no value */
    Words  /* int: one bit per word in a list such as "c,obj" */
} OptionKind;

enum { FormatJson = 1 }; /* index of json among the words of every Form */

typedef struct {
    const char *name;  /* name of the option or, without "-", the operand */
    const char *takes; /* placeholder for the value; NULL: it takes none */
    OptionKind kind;
    int commands;
    size_t at;            /* offset of the value in Options */
    double min, max;      /* range of a number */
    double default_value; /* value if the option is absent */
    const char *const *words;
    int n_words;
    const char *help;
    OptionGroup group;
    int use; /* uses of `attnc run` for which it is valid, as bits
              * ATTN_FOR_LINES etc.; 0: all */
    void (*apply)(int value); /* called before other options are read; or
                               * NULL */
} Option;
/* True if the value of the option is in this part of Options. */
#define OPTION_IN(row, part) \
    ((row)->at - offsetof(Options, part) < sizeof((Options *)0)->part)
extern const Option option_table[];
extern const int n_options;

static inline void *option_place(Options *o, const Option *row)
{
    return (char *)o + row->at;
}
/* Returns the options that take effect before the others are read, even if
 * other words are invalid. */
Options options_early(const Command *c, int argc, char **argv);
Texts new_words(Arena *a); /* cmd_new.c: the models that attnc new knows */
/* command_line.c: returns true if the command accepts the option. */
bool option_taken(int command, const char *name);
/* Returns the row of an option, or NULL if there is none. If the word also
 * contains the option's value, as in "--beam=4", "-O2" or "-omodel.c", sets
 * *value to it. */
const Option *option_find(const char *word, int command, const char **value);
/* Returns the row of operand n, from 0, or NULL if the command has fewer
 * operands. If the last operand is a list, it includes all that follow. */
const Option *option_operand(const Command *c, int n);
bool option_needs(const Option *row);                   /* true if it needs a
                                                         * value */
bool option_default(const void *at, const Option *row); /* true if it has its
                                                         * default */
/* unknown_option.c: ends with ExitUsage and suggests the option that the user
 * probably meant. */
void unknown_option(Arena *a, const Command *c, const char *word)
    __attribute__((noreturn));
/* Returns true if a word such as "-ngl" is a known option of attnc or another
 * tool, rather than -n followed by its value. */
bool option_misread(const char *word, int command);
/* Ends with ExitUsage if an option was given that is not valid for this use, a
 * single bit ATTN_FOR_LINES etc. */
void options_for(const Options *o, const Command *c, int use);

/* ---- as others take them ---- */

/* Ends with ExitUsage if the spec was read from stdin and no lines follow
 * it. */
void need_lines(const ModelOptions *model);
/* Returns the engine's options for a command. `code` is NULL for commands that
 * do not generate code. */
EngineOptions engine_options(int command, const ModelOptions *model,
                             const CodeOptions *code);
EngineOptions run_engine_options(const Options *o);
/* Returns true if the format is svg. Then also sets *to to "-" unless it is
 * set, because --format=svg means --svg=- with the report on stderr. */
bool picture_asked(int format, int svg, const char **to);
/* Returns a duration such as "60s", "2m" or "90" in seconds. If it is invalid,
 * ends with ExitUsage and a message. */
double budget_seconds(const char *text);
/* link.c: returns the link between ranks of a text such as "20us,10Gbit/s".
 * Ends with ExitUsage if it is malformed. */
Link link_of(const char *text, int64_t ranks, int threads);
/* Returns the value of --records, or NULL. Ends with ExitUsage if it means
 * stdout. */
const char *records_option(const CodeOptions *code);

/* Returns the name of an option in use that is valid only for generated
 * answers, or NULL. */
const char *generation_option(const Options *o);

/* Run the other forms of attnc run. Each is in the file of the same name. */
int run_input(const Options *o);
int run_attention(const Options *o);

/* The library calls these functions. All return an exit code. */

/* report_file.c: sets *text to the report, in memory of malloc(). After an
 * error, it is NULL. */
int report_text(char **text, PrintReport *print, const Options *o);
/* The same to a file; NULL or "-": to console_out(). */
int report_to_file(PrintReport *print, const Options *o, const char *path);
/* Writes the files of attnc compile, and lists them on stderr if `reports` is
 * true. */
int compile_model(const Options *o, bool reports);

#endif
