/* cli.h: the commands, and the command line as a struct. Two tables
 * (commands.h, options.c) drive parsing, hints and help.
 *
 * In:  the words of a command line, stdin.
 * Out: a command's work, its exit code; messages on stderr.
 * Public beside it: commands.h.                                             */
#ifndef ATTNC_CLI_H
#define ATTNC_CLI_H

#include "cli/lines.h"

enum {
#define COMMAND(word, id, ...) Nth##id,
#include "cli/commands.h"
};
/* which commands take an option */
enum {
#define COMMAND(word, id, ...) Cmd##id = 1 << Nth##id,
#include "cli/commands.h"
    CmdLoads = CmdRun | CmdScore | CmdVerify | CmdBench,
    CmdPlans = CmdLoads | CmdCompile | CmdPlan,
    CmdSpec = CmdPlans | CmdGraph
};

typedef VEC(const char *) Texts;

typedef struct Command Command;

typedef struct {
    const Command *command;
    Arena *arena;     /* of the lists below */
    const char *spec; /* NULL: none was given */
    /* the model (engine_options() makes them one struct) */
    Texts sets, skip, dump, taps;
    const char *march, *tile, *backend, *cc, *level, *weights, *after;
    const char *records;
    bool no_records;
    int64_t width, seed, threads; /* threads -1: one a core */
    bool explain, require_fusion;
    /* compile */
    const char *output, *emit;
    bool embed, save_temps, print_commands;
    /* run, score; -1: as the spec says */
    const char *input, *prefix;
    Texts suppress;
    const char *prompt, *save_state, *load_state;
    Texts stop;
    bool quiet;
    int64_t tokens, top_k;
    double temperature, top_p, min_p;
    bool ids, scores;
    int64_t nbest, beam, min_length, no_repeat_ngram, end_token, max_input,
        max_output;
    double repetition_penalty, alpha, patience;
    const char *attention;
    int64_t layer, head, query; /* -1: all */
    /* graph, plan, fields */
    const char *stage, *format;
    bool list_passes;
    /* verify, bench */
    int64_t cases, rows, steps, batch, repetitions;
    double seconds;
    const char *lengths, *svg;
    bool machine, no_kernels;
    /* tune */
    const char *budget, *dtype;
    bool again, exhaustive;
    /* records; its action is `spec` */
    Texts files;
    const char *cpu, *compiler, *op;
    bool all, dry_run;
} Options;

struct Command {
    const char *name;
    int bit;
    const char *takes; /* "SPEC"; "[ACTION [FILE ..]]"; "" */
    int least, most;   /* how many of these */
    const char *summary;
};
extern const Command commands[]; /* options.c */
extern const int n_commands;

/* A row of the table of options. */
typedef enum { Flag, Text, Int, Real, List } OptionKind;

typedef struct {
    const char *name, *takes; /* takes: NULL for a Flag */
    int commands;
    OptionKind kind;
    size_t at;          /* offset in Options */
    double least, most; /* Int, Real */
    const char *help;
} Option;
extern const Option option_table[];
extern const int n_options;

/* command_line.c: fills `o` from the words after the command's name. Ends with
 * ExitUsage after a message when they are not right. */
void options_parse(Options *o, Arena *a, const Command *c, int argc,
                   char **argv);
bool option_taken(const Command *c, const char *name);
void option_unknown(Arena *a, const Command *c, const char *name)
    __attribute__((noreturn));
/* Index of `word` in list; 0 when it is NULL; ends with ExitUsage when it is
 * not there.                                                                */
int option_choice(const char *option, const char *word, const char *const *list,
                  int n);
EngineOptions engine_options(const Options *o);
/* The options that decide what is emitted, as a canonical command line. */
const char *canonical_command(Arena *a, const Options *o, const Target *t);
void print_help(FILE *out, const Command *c); /* NULL: of all commands */

/* One file each. */
#define COMMAND(word, ...) int cmd_##word(const Options *o);
#include "cli/commands.h"
int run_tensors(const Options *o);   /* run_input.c */
int run_attention(const Options *o); /* cmd_attention.c */
int run_stream(const Options *o);    /* cmd_stream.c */
/* search_options.c: the spec's search, with what the options change; those in
 * the target's tokens are ids here. ExitUsage after a message.              */
typedef struct {
    struct attn_search_options o;
    int32_t *prefix;
    int64_t prefix_n;
} Search;
int open_search(Search *to, const Engine *e, const Options *o,
                const Tokens *target);
/* 0: the best token is taken. */
double drawing_temperature(const Options *o);

#endif
