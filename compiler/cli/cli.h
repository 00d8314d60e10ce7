/* cli.h: parses a command line into a command's struct, and runs the command.
 * Two tables (commands.h, option_table.h) drive parsing, defaults, hints and
 * help.
 *
 * In:  the words of a command line, stdin.
 * Out: a command's work and its exit code; messages on stderr.
 * Other public headers: commands.h, options.h, attention_run.h. */
#ifndef ATTNC_CLI_H
#define ATTNC_CLI_H

#include <stdio.h>

#include "base/base.h"

enum {
#define COMMAND(word, id, ...) Nth##id,
#include "cli/options/commands.h"
    Commands
};
/* Sets of commands, as bits. Each option has the set of commands that accept
 * it. */
enum {
#define COMMAND(word, id, ...) Cmd##id = 1 << Nth##id,
#include "cli/options/commands.h"
    CmdTiers = CmdRun | CmdScore, /* commands that can start on libtcc and
                                   * switch to a C compiler */
    CmdLoads = CmdRun | CmdScore | CmdVerify | CmdQuantize | CmdBench,
    CmdPlans = CmdLoads | CmdCompile | CmdPlan,
    CmdSpec = CmdPlans | CmdGraph,
    CmdStudies = CmdTune | CmdSweep | CmdCompare, /* commands that time many
                                                   * variants */
    CmdAll = (1 << Commands) - 1,
    CmdWrites = CmdAll & ~CmdWatch, /* commands that write an output file */
    /* Commands for which -o writes a copy of stdout. The others have no -o, or
     * write something else to it. */
    CmdReports = CmdAll
               & ~(CmdNew | CmdImport | CmdCompile | CmdGraph | CmdPlan
                   | CmdWatch | CmdMerge)
};

typedef struct {
    const char *name;
    int bit;
    const char *takes; /* operands, as shown in help: "SPEC", "[ACTION [FILE
                        * ..]]" or "" */
    int least;         /* minimum number of operands */
    const char *summary;
} Command;
extern const Command commands[]; /* in options.c */
extern const int n_commands;

/* Returns the command with this name. Ends with ExitUsage if it does not
 * exist. */
const Command *command_find(const char *name);

/* Parses the words after the command's name. Ends with ExitUsage and a message
 * if a word is invalid. */
typedef struct Options Options;
Options *options_parse(Arena *a, const Command *c, int argc, char **argv);

/* True if the command itself writes the file of -o. */
bool writes_itself(const Options *o);

typedef struct { /* options that all commands accept */
    bool help, version, quiet, force;
    const char *output; /* -o, for commands that print a report; NULL: stdout */
} CommonOptions;
/* Returns the common options, even if other words are invalid, and applies
 * options such as --color. */
CommonOptions options_common(const Command *c, int argc, char **argv);

/* report_file.c: calls `print` with stdout redirected to the file `path` (NULL:
 * not redirected). Returns the exit code of `print`, or ExitIO if the file
 * cannot be written. If `print` fails, leaves no file, except after ExitInput:
 * the file then has the answers to the valid lines. */
int report_print(const char *path, int print(const void *options),
                 const void *options);
/* Commits the output of a command that ended with `code`, or cancels it if the
 * code or `well`, that all was written, asks for that. Returns an exit code. */
int report_end(Output *o, bool well, int code);

void print_help(FILE *out, const Command *c);   /* prints the help of a command;
                                                 * NULL: of all commands */
void print_manual(FILE *out, const Command *c); /* prints a manual page as troff
                                                 * source for man(1) */

/* cmd_completion.c: prints the candidates for the last of the words after
 * "attnc", one per line: the word, a tab, and its meaning. ":files" and
 * ":specs" stand for file names. */
int complete_words(int n, char **words);

/* cmd_WORD.c: run the command with the given options (options.h), and print
 * what it reports on `out`. Return an exit code. */
typedef int PrintReport(const Options *o, FILE *out);
#define COMMAND(word, ...) int cmd_##word(const Options *o);
#define REPORT(word, ...)  PrintReport word##_report;
#include "cli/options/commands.h"

#endif
