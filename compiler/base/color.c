/* color.c: terminal colours, as escape sequences to print before and after a
 * text. They are "" in a file or a pipe. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/console.h"

static int chosen; /* global, because the terminal is global too */

void color_choose(int when)
{
    chosen = when;
}

int color_chosen(void)
{
    return chosen;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

/* True if `out` shows colours. NO_COLOR (no-color.org) counts if it is not
 * empty. */
static bool is_colored(FILE *out)
{
    const char *term = getenv("TERM");
    if (chosen != ColorAuto)
        return chosen == ColorAlways;
    return !is_set("NO_COLOR") && term && *term && strcmp(term, "dumb")
        && isatty(console_shown(out));
}

const char *paint(FILE *out, Paint role)
{
    static const char *const escape[] = {
        [PaintEnd] = "\033[0m",      [PaintText] = "\033[1m",
        [PaintError] = "\033[1;31m", [PaintWarning] = "\033[1;35m",
        [PaintNote] = "\033[1;36m",  [PaintCaret] = "\033[1;32m",
        [PaintHead] = "\033[1m",     [PaintName] = "\033[36m",
        [PaintRemoved] = "\033[31m", [PaintAdded] = "\033[32m",
    };
    return is_colored(out) ? escape[role] : "";
}
