/* cmd_help.c: attnc help: the commands, or what one of them takes. */
#include <string.h>

#include "cli/options.h"

int cmd_help(const HelpCommand *o)
{
    const bool all = !o->command || strcmp(o->command, "version") == 0;
    print_help(stdout, all ? NULL : command_find(o->command));
    return ExitDone;
}
