/* options.h: what each command takes, a struct a command, and the parts that
 * several share. The rows of options.c say which option goes where.         */
#ifndef ATTNC_CLI_OPTIONS_H
#define ATTNC_CLI_OPTIONS_H

#include "cli/cli.h"
#include "cli/options/lines.h"
#include "runtime/options/search_settings.h"
#include "sweep/sweep.h"
#include "tune/tune.h"

typedef VEC(const char *) Texts;

/* ---- parts ---- */
typedef struct { /* the model, and its passes */
    const char *spec;
    Document text; /* where it is "-" */
    Texts sets, fix, skip, dump;
    const char *weights, *after;
    int64_t seed;
    bool explain, require_fusion, allow_nan;
} ModelOptions;

typedef struct { /* what code is made for, and by what */
    const char *march, *tile, *backend, *cc, *level, *records;
    int64_t width;   /* 0: the target's own */
    int64_t threads; /* -1: one a core */
    bool no_records, verbose, perf;
} CodeOptions;

typedef struct { /* lines, and their answers */
    bool ids;
} LineOptions;

typedef struct {
    struct attn_settings set;
    Texts suppress;
} SearchOptions;

/* ---- commands ---- */
typedef enum { EmitC, EmitObj, EmitSo, EmitExe, EmitKinds } EmitKind;

struct NewCommand {
    const char *model, *output;
    bool list;
};

struct ImportCommand {
    Texts folders;
    const char *output, *compile, *lora, *rules;
    const char *check; /* "": by no Python */
    bool families, embed, quiet, average, allow_nan;
    int format; /* FamiliesFormat */
};

struct CompileCommand {
    ModelOptions model;
    CodeOptions code;
    const char *output;
    int kinds; /* bits: 1 << EmitC ..; 0: by the ending of -o */
    bool plain, embed, freestanding, save_temps, print_commands, quiet;
    int64_t max_input, max_output; /* -1: the model's */
};

typedef enum { RunText, RunJson, RunSvg } RunFormat;

struct RunCommand {
    ModelOptions model;
    CodeOptions code;
    SearchOptions search;
    LineOptions lines;
    bool quiet;
    bool pairs; /* of texts, a line each */
    /* --prompt */
    const char *prompt, *save_state, *load_state;
    /* --chat */
    bool chat;
    const char *system;
    Texts stop;
    int64_t tokens; /* -1: as the search says */
    /* --input */
    const char *input, *output;
    Texts taps;
    int format; /* RunFormat */
    const char *attention;
    int64_t layer, head, query; /* -1: all */
};

struct ScoreCommand {
    ModelOptions model;
    CodeOptions code;
    LineOptions lines;
    int json;
};

typedef enum { StageFinal, StageBuilt, StageAll } Stage;
typedef enum { PrintText, PrintJson, PrintDot, PrintSvg } PrintFormat;

struct TokensCommand {
    ModelOptions model; /* its spec: or another file */
    bool offsets, pieces, decode, plain, null, target;
    int json;
};

struct GraphCommand {
    ModelOptions model;
    const char *output;
    int stage, format; /* Stage, PrintFormat */
    bool list_passes;
};

typedef enum { PlanText, PlanJson, PlanSvg } PlanFormat;

struct PlanCommand {
    ModelOptions model;
    CodeOptions code;
    const char *output;
    int format; /* PlanFormat */
};

struct DiffCommand {
    ModelOptions model; /* A */
    CodeOptions code;
    const char *other; /* B; NULL: A, as the options change it */
    bool all;
    int json;
};

struct TensorsCommand {
    ModelOptions model;
    int json;
};

struct VerifyCommand {
    const char *agrees; /* printed in the place of "verified"; or NULL */
    ModelOptions model;
    CodeOptions code;
    int64_t cases, rows; /* 0: all; as many as are cheap */
    int json;
};

struct QuantizeCommand {
    ModelOptions model;
    CodeOptions code;
    LineOptions lines;
    const char *text, *keep;
    bool verbose;
    int json;
};

struct BenchCommand {
    ModelOptions model;
    CodeOptions code;
    BenchOptions bench;
    bool machine;
};

struct SweepCommand {
    ModelOptions model; /* but for its spec */
    CodeOptions code;
    SweepOptions sweep;
    Texts specs, vary;
    const char *budget;
};

/* Its own options are those of a sweep, at the same places. */
struct CompareCommand {
    SweepCommand sweep;
};

/* cmd_sweep.c: a sweep as a command's options say; `change` has the last word
 * (NULL: nobody). An exit code.                                             */
int sweep_command(Arena *a, int command, const SweepCommand *o,
                  void change(Arena *a, SweepOptions *to));

struct WatchCommand {
    const char *spec;
    Texts rest; /* run or bench, and its options */
};

struct TuneCommand {
    ModelOptions model;
    CodeOptions code;
    TuneOptions tune; /* but for its budget, records and model */
    const char *budget, *dtype;
};

typedef enum {
    RecordsShow,
    RecordsMerge,
    RecordsPrune,
    RecordsExport,
    RecordsExplain
} RecordsAction;

struct RecordsCommand {
    CodeOptions code;
    int action; /* RecordsAction */
    Texts files;
    const char *cpu, *compiler;
    int op;     /* TaskKind; -1: of all */
    int format; /* of show */
    bool all, dry_run;
};

typedef enum { CacheLs, CacheClean, CacheVerify } CacheAction;

struct CacheCommand {
    int action; /* CacheAction */
    const char *older;
    bool all, dry_run, remove;
    int json;
};

typedef enum {
    FieldsText,
    FieldsJson,
    FieldsMarkdown,
    FieldsSchema
} FieldsFormat;

struct FieldsCommand {
    const char *key; /* NULL: all */
    int format;      /* FieldsFormat */
};

struct CompletionCommand {
    int shell;
};

struct HelpCommand {
    const char *command; /* NULL: all */
    int man;
};

/* ---- rows ---- */
typedef enum {
    PartCommand,
    PartModel,
    PartCode,
    PartSearch,
    PartLines,
    PartBench,
    PartCommon, /* no part of it: CommonOptions */
    OptionParts
} OptionPart;

/* The heads of `attnc help COMMAND`, in their order. */
typedef enum {
    GroupOperands,
    GroupModel,
    GroupLines,
    GroupPrompt,
    GroupChat,
    GroupSearch,
    GroupSampling,
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
    Flag,  /* bool */
    Alone, /* the same: it asks for what needs no spec */
    Text,  /* const char *; NULL: not given */
    Out,   /* the same: a file that the command writes */
    Maybe, /* the same, and "" where it is given without a value */
    List,  /* Texts: one more each time */
    Rest,  /* Texts: all words that follow, options of another command */
    Int,   /* int64_t */
    Real,  /* double */
    Word,  /* int: which of the words */
    Form,  /* the same: text, or what the ending of -o says */
    Json,  /* the same without a value: FormatJson */
    Words  /* int, a bit for each: "c,obj" */
} OptionKind;

enum { FormatJson = 1 }; /* json's place among the words of each Form */

typedef struct {
    const char *name;  /* without a "-": an operand */
    const char *takes; /* NULL for a Flag */
    OptionKind kind;
    int commands;
    OptionPart part;      /* of the command's struct; PartCommand: all of it */
    size_t at;            /* offset there */
    double min, max;      /* Int, Real */
    double default_value; /* where it is not given */
    const char *const *words;
    int n_words;
    const char *help;
    OptionGroup group;
    int use; /* of run: what it is for, ATTN_FOR_LINES ..; 0: all */
} Option;
extern const Option option_table[];
extern const int n_options;

/* Where a command keeps it; NULL: it has no such part. */
void *option_place(void *options, const Command *c, const Option *row);
ModelOptions *options_model(void *options, const Command *c); /* or NULL */
Texts new_words(Arena *a); /* cmd_new.c: what attnc new takes */
/* command_line.c */
bool option_taken(int command, const char *name);
bool option_needs(const Option *row); /* a value: `takes` one always */
bool option_default(const void *at, const Option *row); /* as if not given? */
/* unknown_option.c: ends with ExitUsage, and says what was meant perhaps. */
void unknown_option(Arena *a, const Command *c, const char *word)
    __attribute__((noreturn));
/* Is "-ngl" a name of its own, of this or of another tool, and not -n with a
 * value?                                                                    */
bool option_misread(const char *word, int command);
/* Refuses what is given and is not for this use, ATTN_FOR_LINES .. */
void options_for(const void *options, const Command *c, int use);

/* ---- as others take them ---- */

/* Ends with ExitUsage where stdin has the spec and no lines behind it. */
void need_lines(const ModelOptions *model);
/* What the engine is asked for by a command; code NULL: it makes none. */
EngineOptions engine_options(int command, const ModelOptions *model,
                             const CodeOptions *code);
EngineOptions run_engine_options(const RunCommand *o);
/* Is the format svg? Then that is --svg=-, with the report on stderr. */
bool picture_asked(int format, int svg, const char **to);
/* Seconds of a text like "60s", "2m", "90". ExitUsage after a message. */
double budget_seconds(const char *text);
/* --records; NULL: not given. Ends with ExitUsage where it is stdout. */
const char *records_option(const CodeOptions *code);

/* An option that was given and is about answers that are generated; NULL. */
const char *generation_option(const RunCommand *o);

/* run's other forms, each in the file of its name. */
int run_input(const RunCommand *o);
int run_attention(const RunCommand *o);

#endif
