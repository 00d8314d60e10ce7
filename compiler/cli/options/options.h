/* options.h: the options of each command, one struct per command, and the parts
 * that several commands share. The rows of options.c map options to fields. */
#ifndef ATTNC_CLI_OPTIONS_H
#define ATTNC_CLI_OPTIONS_H

#include "cli/cli.h"
#include "cli/options/lines.h"
#include "runtime/options/search_settings.h"
#include "sweep/sweep.h"
#include "tune/tune.h"

typedef VEC(const char *) Texts;

/* ---- parts ---- */
typedef struct { /* the model and its passes */
    const char *spec;
    Document text; /* the spec read from stdin if `spec` is "-" */
    Texts sets, fix, skip, dump;
    const char *weights, *after;
    int64_t seed;
    bool explain, require_fusion, allow_nan;
} ModelOptions;

typedef struct { /* the target, the compiler and its settings */
    const char *march, *tile, *backend, *cc, *level, *records;
    int64_t width;   /* 0: the target's own */
    int64_t threads; /* -1: one per core */
    bool no_records, verbose, perf;
} CodeOptions;

typedef struct { /* lines of stdin and their answers */
    bool ids;
} LineOptions;

typedef struct {
    struct attn_settings set;
    Texts suppress;
} SearchOptions;

/* ---- commands ---- */
typedef enum { EmitC, EmitObj, EmitSo, EmitExe, EmitKinds } EmitKind;

extern const char *const part_words[]; /* "model", then rows of emit/parts.h */

struct NewCommand {
    const char *model, *output;
    bool list;
};

struct ImportCommand {
    Texts folders;
    const char *output, *compile, *lora, *rules;
    const char *check; /* "": check without Python */
    bool families, embed, quiet, average, allow_nan;
    int format; /* FamiliesFormat */
};

struct CompileCommand {
    ModelOptions model;
    CodeOptions code;
    const char *output;
    int kinds; /* bits: 1 << EmitKind; 0: chosen by the ending of -o */
    int parts; /* bits, by place in part_words; 0: all that the model has */
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
    bool pairs; /* each line is a pair of texts */
    /* --prompt */
    const char *prompt, *save_state, *load_state;
    /* --chat */
    bool chat;
    const char *system;
    Texts stop;
    int64_t tokens; /* -1: as the search settings say */
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
    ModelOptions model; /* its `spec` may also be another kind of file */
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
    const char *other; /* B; NULL: A with --set and --skip applied */
    bool all;
    int json;
};

struct TensorsCommand {
    ModelOptions model;
    int json;
};

struct VerifyCommand {
    const char *agrees; /* printed instead of "verified"; or NULL */
    ModelOptions model;
    CodeOptions code;
    int64_t cases, rows; /* 0: all cases; rows that take seconds */
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
    ModelOptions model; /* all but its spec */
    CodeOptions code;
    SweepOptions sweep;
    Texts specs, vary;
    const char *budget;
};

/* Has the same fields at the same offsets as a sweep. */
struct CompareCommand {
    SweepCommand sweep;
};

/* cmd_sweep.c: runs a sweep with the options of a command. `change`, if not
 * NULL, adjusts the sweep's options last. Returns an exit code. */
int sweep_command(Arena *a, int command, const SweepCommand *o,
                  void change(Arena *a, SweepOptions *to));

struct WatchCommand {
    const char *spec;
    Texts rest; /* run or bench, and its options */
};

struct TuneCommand {
    ModelOptions model;
    CodeOptions code;
    TuneOptions tune; /* all but its budget, records and model */
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
    int op;     /* TaskKind; -1: all */
    int format; /* used by `show` */
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
    PartCommon, /* not a part of the struct: CommonOptions */
    OptionParts
} OptionPart;

/* The headings of `attnc help COMMAND`, in order. */
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
    Alone, /* bool; makes the spec optional */
    Text,  /* const char *; NULL: not given */
    Out,   /* const char *; a file that the command writes */
    Maybe, /* const char *; "" if given without a value */
    List,  /* Texts: repeatable, one more each time */
    Rest,  /* Texts: all words that follow, options of another command */
    Int,   /* int64_t */
    Real,  /* double */
    Word,  /* int: index into the words */
    Form,  /* int: a format; its default is text, or follows -o's ending */
    Json,  /* int without a value: sets FormatJson */
    Words  /* int: a bit per word, as "c,obj" */
} OptionKind;

enum { FormatJson = 1 }; /* index of json in the words of every Form */

typedef struct {
    const char *name;  /* without a leading "-": an operand */
    const char *takes; /* placeholder of the value; NULL: takes none */
    OptionKind kind;
    int commands;
    OptionPart part;      /* part of the command's struct */
    size_t at;            /* offset in that part */
    double min, max;      /* range of an Int or Real */
    double default_value; /* value if not given */
    const char *const *words;
    int n_words;
    const char *help;
    OptionGroup group;
    int use; /* uses in `attnc run`: bits ATTN_FOR_LINES etc.; 0: all */
} Option;
extern const Option option_table[];
extern const int n_options;

/* Returns the address of an option's value in the command's struct, or NULL if
 * the command has no such part. */
void *option_place(void *options, const Command *c, const Option *row);
ModelOptions *options_model(void *options, const Command *c); /* or NULL */
Texts new_words(Arena *a); /* cmd_new.c: models that attnc new accepts */
/* command_line.c */
bool option_taken(int command, const char *name);
bool option_needs(const Option *row);                   /* needs a value? */
bool option_default(const void *at, const Option *row); /* is default? */
/* unknown_option.c: ends with ExitUsage and suggests the option that was
 * probably meant. */
void unknown_option(Arena *a, const Command *c, const char *word)
    __attribute__((noreturn));
/* True if a word such as "-ngl" is a known option of this or another
 * tool, rather than -n with a joined value. */
bool option_misread(const char *word, int command);
/* Ends with ExitUsage if an option was given that does not apply to this use, a
 * bit of ATTN_FOR_LINES etc. */
void options_for(const void *options, const Command *c, int use);

/* ---- as others take them ---- */

/* Ends with ExitUsage if stdin had the spec and no lines follow it. */
void need_lines(const ModelOptions *model);
/* Returns the engine's options for a command. code NULL: generates no code. */
EngineOptions engine_options(int command, const ModelOptions *model,
                             const CodeOptions *code);
EngineOptions run_engine_options(const RunCommand *o);
/* Returns true if the format is svg; then also sets *to to "-" unless it is
 * set, because --format=svg means --svg=- with the report on stderr. */
bool picture_asked(int format, int svg, const char **to);
/* Parses a time such as "60s", "2m" or "90" as seconds. Ends with ExitUsage and
 * a message if it is invalid. */
double budget_seconds(const char *text);
/* Returns --records or NULL. Ends with ExitUsage if it is stdout. */
const char *records_option(const CodeOptions *code);

/* Returns the name of a given option that applies only to generated answers, or
 * NULL. */
const char *generation_option(const RunCommand *o);

/* Run the other forms of attnc run, each in the file of its name. */
int run_input(const RunCommand *o);
int run_attention(const RunCommand *o);

#endif
