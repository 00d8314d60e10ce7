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
typedef struct { /* options about the model and its passes */
    const char *spec;
    Document text; /* the spec, read from stdin, if `spec` is "-" */
    Texts sets, fix, skip, dump;
    const char *weights, *after;
    int64_t seed;
    bool explain, require_fusion, allow_nan;
} ModelOptions;

typedef struct { /* options about the target, the compiler and its settings */
    const char *march, *tile, *backend, *cc, *level, *records;
    int64_t width;   /* floats per vector; 0: the target's default */
    int64_t threads; /* number of threads; -1: one per core */
    bool no_records, verbose, perf;
} CodeOptions;

typedef struct { /* options about lines of stdin and their answers */
    bool ids;
} LineOptions;

typedef struct {
    struct attn_settings set;
    Texts suppress;
} SearchOptions;

/* ---- commands ---- */
typedef enum { EmitC, EmitObj, EmitSo, EmitExe, EmitKinds } EmitKind;

extern const char *const part_words[]; /* the words of --parts: "model", then
                                        * the rows of emit/parts.h */

struct NewCommand {
    const char *model, *output;
    bool list;
};

struct ImportCommand {
    Texts folders;
    const char *output, *compile, *lora, *rules;
    const char *check; /* value of --check; "": the check without Python */
    bool families, embed, quiet, average, allow_nan;
    int format; /* FamiliesFormat */
};

struct CompileCommand {
    ModelOptions model;
    CodeOptions code;
    const char *output;
    int kinds; /* requested outputs, bits 1 << EmitKind; 0: as -o's ending */
    int parts; /* requested parts, bits by index in part_words; 0: all */
    bool plain, embed, freestanding, save_temps, print_commands, quiet;
    int64_t max_input, max_output; /* limits on lengths; -1: the model's */
};

typedef enum { RunText, RunJson, RunSvg } RunFormat;

struct RunCommand {
    ModelOptions model;
    CodeOptions code;
    SearchOptions search;
    LineOptions lines;
    bool quiet;
    bool pairs; /* each line is a pair of texts */
    /* for --prompt */
    const char *prompt, *save_state, *load_state;
    /* for --chat */
    bool chat;
    const char *system;
    Texts stop;
    int64_t tokens; /* maximum tokens; -1: as the search settings define */
    /* for --input */
    const char *input, *output;
    Texts taps;
    int format; /* RunFormat */
    const char *attention;
    int64_t layer, head, query; /* selection for --attention; -1: all */
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
    ModelOptions model; /* `spec` may also name a vocabulary or another file */
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
    ModelOptions model; /* the first variant */
    CodeOptions code;
    const char *other; /* spec of the second variant; NULL: the first spec with
                        * --set and --skip */
    bool all;
    int json;
};

struct TensorsCommand {
    ModelOptions model;
    int json;
};

struct VerifyCommand {
    const char *agrees; /* text to print instead of "verified", or NULL */
    ModelOptions model;
    CodeOptions code;
    int64_t cases, rows; /* number of inputs, 0: all; longest sequence, 0: a few
                          * seconds' work */
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
    ModelOptions model; /* the model, except for its spec */
    CodeOptions code;
    SweepOptions sweep;
    Texts specs, vary;
    const char *budget;
};

/* The fields must have the same offsets as in SweepCommand. */
struct CompareCommand {
    SweepCommand sweep;
};

/* cmd_sweep.c: runs a sweep with the options of a command. If `change` is not
 * NULL, it adjusts the options of the sweep at the end. Returns an exit
 * code. */
int sweep_command(Arena *a, int command, const SweepCommand *o,
                  void change(Arena *a, SweepOptions *to));

struct WatchCommand {
    const char *spec;
    Texts rest; /* the watched command, run or bench, and its options */
};

struct TuneCommand {
    ModelOptions model;
    CodeOptions code;
    TuneOptions tune; /* options of tuning, except budget, records, model */
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
    int op;     /* a TaskKind; -1: all */
    int format; /* format of `show` */
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
    const char *key; /* the field to print; NULL: all */
    int format;      /* FieldsFormat */
    int page;        /* ReferencePage */
};

struct CompletionCommand {
    int shell;
};

struct HelpCommand {
    const char *command; /* the command to describe; NULL: all */
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
    PartCommon, /* in CommonOptions, not in the struct of the command */
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
    Flag,  /* bool, set if the option is given */
    Alone, /* like Flag, and makes the spec optional */
    Text,  /* const char *; NULL: not given */
    Out,   /* const char *; a file that the command writes */
    Maybe, /* const char *; "" if given without a value */
    List,  /* Texts; each use of the option adds one */
    Rest,  /* Texts; all following words, which are another command's options */
    Int,   /* int64_t */
    Real,  /* double */
    Float, /* float */
    Word,  /* int: an index into the words */
    Form,  /* int: a format. If not given, the ending of -o decides, or text. */
    Json,  /* sets the format to FormatJson and takes no value */
    Words  /* int: one bit per word of a list such as "c,obj" */
} OptionKind;

enum { FormatJson = 1 }; /* index of json among the words of every Form */

typedef struct {
    const char *name;  /* name of the option; without "-", of an operand */
    const char *takes; /* placeholder for the value; NULL: it takes none */
    OptionKind kind;
    int commands;
    OptionPart part;      /* part of the command's struct with the value */
    size_t at;            /* offset of the value in that part */
    double min, max;      /* range of a number */
    double default_value; /* value if the option is not given */
    const char *const *words;
    int n_words;
    const char *help;
    OptionGroup group;
    int use; /* uses of `attnc run` that it applies to, bits ATTN_FOR_LINES
              * etc.; 0: all */
} Option;
extern const Option option_table[];
extern const int n_options;

/* Returns the address of an option's value in the command's struct, or NULL if
 * the command has no such part. */
void *option_place(void *options, const Command *c, const Option *row);
ModelOptions *options_model(void *options,
                            const Command *c); /* NULL if the command
                                                * has no model */
Texts new_words(Arena *a); /* cmd_new.c: the models that attnc new knows */
/* command_line.c: does the command accept the option? */
bool option_taken(int command, const char *name);
/* Returns the row of an option, or NULL if there is none. Sets *value if the
 * word contains it too: "--beam=4", "-O2", "-omodel.c". */
const Option *option_find(const char *word, int command, const char **value);
/* Returns the row of operand n, counted from 0, or NULL if the command has
 * fewer operands. A list as the last operand accepts all that follow. */
const Option *option_operand(const Command *c, int n);
bool option_needs(const Option *row);                   /* does the option need
                                                         * a value? */
bool option_default(const void *at, const Option *row); /* does the option have
                                                         * its default value? */
/* unknown_option.c: ends with ExitUsage and suggests the option that the user
 * probably meant. */
void unknown_option(Arena *a, const Command *c, const char *word)
    __attribute__((noreturn));
/* Returns true if a word such as "-ngl" is an option that attnc or another tool
 * is known to have, rather than -n with its value in the same word. */
bool option_misread(const char *word, int command);
/* Ends with ExitUsage if an option was given that does not apply to this use,
 * which is one bit ATTN_FOR_LINES etc. */
void options_for(const void *options, const Command *c, int use);

/* ---- as others take them ---- */

/* Ends with ExitUsage if the spec came from stdin and stdin has no lines after
 * it. */
void need_lines(const ModelOptions *model);
/* Returns the engine's options for a command. `code` is NULL for commands that
 * generate no code. */
EngineOptions engine_options(int command, const ModelOptions *model,
                             const CodeOptions *code);
EngineOptions run_engine_options(const RunCommand *o);
/* Returns true if the format is svg. Then also sets *to to "-" unless it is
 * set, because --format=svg means --svg=- with the report on stderr. */
bool picture_asked(int format, int svg, const char **to);
/* Returns the seconds of a time such as "60s", "2m" or "90". Ends with
 * ExitUsage and a message if it is invalid. */
double budget_seconds(const char *text);
/* Returns the value of --records, or NULL. Ends with ExitUsage if it is
 * stdout. */
const char *records_option(const CodeOptions *code);

/* Returns the name of an option that was given but applies only to generated
 * answers, or NULL if there is none. */
const char *generation_option(const RunCommand *o);

/* Run the other forms of attnc run, each in a file of the same name. */
int run_input(const RunCommand *o);
int run_attention(const RunCommand *o);

#endif
