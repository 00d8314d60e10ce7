/* section.c: emits what surrounds the sections of a file: headings, and the
 * marks of code that is called rarely. */
#include "emit/gen/sections.h"

#include <string.h>

void section_heading(Emit *e, const char *title)
{
    char line[81];
    const int dashes = 69 - (int)strlen(title);
    memset(line, '-', sizeof line);
    line[dashes] = '\0';
    let(e, "dashes", "%s", line);
    let(e, "title", "%s", title);
    put(e, "/* $dashes $title --- */\n\n");
}

/* Marks functions that no step calls as cold. Otherwise compilers spend a
 * quarter of their time on them, mostly on inlining. gcc cannot mark a region
 * as cold, so its optimisation level is lowered there, and never raised. */
#define GCC_LOWERS                                                             \
    "defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__"
void begin_cold(Emit *e)
{
    section_heading(e, "what is called once, or seldom");
    put(e, "#if defined __clang__\n"
           "#pragma clang attribute push(__attribute__((cold)), "
           "apply_to = function)\n"
           "#elif " GCC_LOWERS "\n"
           "#pragma GCC push_options\n"
           "#pragma GCC optimize (\"O1\")\n"
           "#endif\n\n");
}

void end_cold(Emit *e)
{
    put(e, "\n"
           "#if defined __clang__\n"
           "#pragma clang attribute pop\n"
           "#elif " GCC_LOWERS "\n"
           "#pragma GCC pop_options\n"
           "#endif\n");
}
