/* cmd_fields.c: attnc fields: the reference of the spec's format. */
#include "cli/options.h"

int cmd_fields(const FieldsCommand *o)
{
    spec_print_fields(stdout, o->markdown);
    return ExitDone;
}
