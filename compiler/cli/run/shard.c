/* shard.c: the program's --shard for attnc run, and the table of options from
 * which it takes those that change answers. */
#include "cli/run/answering.h"

#include "runtime/options/program_rows.h"

#define OPTION(use, group, kind, name, takes, place, member, least, most, \
               value, help)                                                   \
    { #group, name, takes, KIND_##kind, use,                                  \
      offsetof(struct program, AT_##place(member)), least, most, value, help },
#define PROGRAM_OPTION OPTION
static const struct program_option program_option[] = {
#include "runtime/options/option_rows.h"
};
enum { PROGRAM_OPTIONS = sizeof program_option / sizeof *program_option };

#include "runtime/program/program_shard.c"
