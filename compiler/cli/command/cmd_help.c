/* cmd_help.c: attnc help: the commands, or what one of them takes, as a text
 * or as a page of the manual.                                               */
#include <string.h>

#include "cli/options/options.h"

int cmd_help(const HelpCommand *o)
{
    const bool all = !o->command || strcmp(o->command, "version") == 0;
    const Command *c = all ? NULL : command_find(o->command);
    (o->man ? print_manual : print_help)(stdout, c);
    return ExitDone;
}
