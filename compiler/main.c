/* main.c: attnc's command line. Each command is a row of
 * cli/options/commands.h; the pipeline that they share is engine/engine.c.
 * Commands that attnc.h has go through it (client/client.c). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "import/import.h"
#include "client/client.h"
#include "spec/spec.h"

#define REPORT(...)
#define COMMAND(word, id, ...)                \
    static int run_##word(const void *options) \
    {                                         \
        return cmd_##word(options);           \
    }
#include "cli/options/commands.h"

/* NULL: commands of attnc.h */
static int (*const run[Commands])(const void *options) = {
#define REPORT(...)
#define COMMAND(word, id, ...) [Nth##id] = run_##word,
#include "cli/options/commands.h"
};

static bool is_any(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int print_version(void)
{
    puts("attnc " ATTNC_VERSION);
    return ExitDone;
}

static int run_command(Arena *a, int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr, NULL);
        return ExitUsage;
    }
    if (is_any(argv[1], "--version", "-V") || !strcmp(argv[1], "version"))
        return print_version();
    if (strcmp(argv[1], "complete") == 0) /* called by shells, not by people */
        return complete_words(argc - 2, argv + 2);
    const bool help = is_any(argv[1], "--help", "-h");
    const Command *c = help ? &commands[NthHelp] : command_find(argv[1]);
    const CommonOptions common = options_common(c, argc - 2, argv + 2);
    if (common.help) {
        print_help(stdout, c);
        return ExitDone;
    }
    if (common.version)
        return print_version();
    if (!run[c - commands])
        return client_report((const char *const *)argv + 1);
    guard_begin();
    if (common.quiet)
        quiet();
    const Options *options = options_parse(a, c, argc - 2, argv + 2);
    const char *to = writes_itself(options) ? NULL : common.output;
    const int code = report_print(to, run[c - commands], options);
    guard_end();
    /* an output that is an input counts as usage, whoever reports it */
    return code == ExitInput && guard_refused() ? ExitUsage : code;
}

/* Opens /dev/null in place of standard streams that are closed, so that no file
 * of attnc gets the number of one. It is opened for the other direction:
 * reading stdin and writing to stdout still fail. */
static void fill_closed_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0)
            open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    fill_closed_streams();
    files_on_signal();
    files_catch_cuts();
    spec_of_checkpoint = import_in_memory;
    Arena *a = arena_new();
    int code = run_command(a, argc, argv);
    arena_free(a);
    /* an answer that did not reach its reader is not an answer; a command that
     * ended with ExitIO has reported why */
    Fault why;
    return code == ExitIO || stream_flush(stdout, &why) ? code
                                                        : report_fault(&why);
}
