/* cli.h: the commands, and a command line as a command's struct. Two tables
 * (commands.h, options.c) drive parsing, defaults, hints and help.
 *
 * In:  the words of a command line, stdin.
 * Out: a command's work, its exit code; messages on stderr.
 * Public beside it: commands.h.                                             */
#ifndef ATTNC_CLI_H
#define ATTNC_CLI_H

#include <stdio.h>

#include "base/base.h"

enum {
#define COMMAND(word, id, ...) Nth##id,
#include "cli/options/commands.h"
    Commands
};
/* which commands take an option */
enum {
#define COMMAND(word, id, ...) Cmd##id = 1 << Nth##id,
#include "cli/options/commands.h"
    CmdTiers = CmdRun | CmdScore, /* libtcc's code, then a compiler's */
    CmdLoads = CmdRun | CmdScore | CmdVerify | CmdQuantize | CmdBench,
    CmdPlans = CmdLoads | CmdCompile | CmdPlan,
    CmdSpec = CmdPlans | CmdGraph,
    CmdAll = (1 << Commands) - 1,
    CmdWrites = CmdAll & ~CmdWatch, /* with an output file */
    /* those whose -o is a copy of stdout; the others' is more, or none */
    CmdReports = CmdAll
               & ~(CmdNew | CmdImport | CmdCompile | CmdGraph | CmdPlan
                   | CmdWatch)
};

typedef struct {
    const char *name;
    int bit;
    const char *takes; /* besides options: "SPEC"; "[ACTION [FILE ..]]"; "" */
    int least;         /* how many of these */
    const char *summary;
    size_t bytes; /* of the struct that its options fill */
} Command;
extern const Command commands[]; /* options.c */
extern const int n_commands;

/* Ends with ExitUsage where there is none. */
const Command *command_find(const char *name);

/* Reads the words after the command's name into its struct, of c->bytes. Ends
 * with ExitUsage after a message when they are not right.                   */
void *options_parse(Arena *a, const Command *c, int argc, char **argv);

typedef struct { /* what all commands take */
    int color;   /* ColorWhen */
    bool help, version, quiet, force;
    const char *output; /* -o, of reports; NULL: stdout */
} CommonOptions;
/* What of these stands among the words, whatever else is wrong with them. */
CommonOptions options_common(const Command *c, int argc, char **argv);

/* report_file.c: calls `print`, and writes what it prints on stdout to the file
 * `path` (NULL: to stdout). Returns the exit code of `print`, unless the file
 * could not be written. If `print` fails, there is no file, but with ExitInput,
 * where lines were refused, it has the answers of the others.                */
int report_print(const char *path, int print(const void *options),
                 const void *options);

void print_help(FILE *out, const Command *c);   /* NULL: of all commands */
void print_manual(FILE *out, const Command *c); /* as a page, for man(1) */

/* cmd_WORD.c: does it, by its options (options.h); an exit code. */
#define COMMAND(word, id, ...)            \
    typedef struct id##Command id##Command; \
    int cmd_##word(const id##Command *o);
#include "cli/options/commands.h"

#endif
