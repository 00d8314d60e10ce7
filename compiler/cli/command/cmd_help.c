/* cmd_help.c: attnc help. Prints all commands, or one command's options, as
 * text or as a manual page. */
#include <string.h>

#include "cli/options/options.h"

int cmd_help(const Options *o)
{
    const bool all = !o->command || strcmp(o->command, "version") == 0;
    const Command *c = all ? NULL : command_find(o->command);
    (o->man ? print_manual : print_help)(stdout, c);
    return ExitDone;
}
