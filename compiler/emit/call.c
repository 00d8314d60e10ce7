/* call.c: calls and prototypes, which are all that is long in the emitted
 * file, broken at commas.                                                   */
#include "emit/parts.h"

#include <string.h>

static int longest_argument(const char *args)
{
    int longest = 0;
    while (*args) {
        const char *end = strstr(args, ", ");
        const int n = end ? (int)(end - args) + 1 : (int)strlen(args);
        longest = n > longest ? n : longest;
        args += end ? n + 1 : n;
    }
    return longest;
}

/* head(args)tail with args broken at commas, aligned after the parenthesis, or
 * where one does not fit there, on lines of their own.                      */
void put_call(Gen *g, Emit *e, const char *head, const char *args,
              const char *tail)
{
    const int width = 80 - 4 * emit_depth(e);
    int indent = (int)strlen(head) + 1;
    Buffer s = { .arena = g->a };
    buffer_printf(&s, "%s(", head);
    if (indent + longest_argument(args) > width) {
        indent = 4;
        buffer_printf(&s, "\n    ");
    }
    int col = indent;
    while (*args) {
        const char *end = strstr(args, ", ");
        const int n = end ? (int)(end - args) + 1 : (int)strlen(args);
        const int after = end ? 0 : 1 + (int)strlen(tail);
        const bool first = col == indent;
        if (!first && col + 1 + n + after > width) {
            buffer_printf(&s, "\n%*s", indent, "");
            col = indent;
        } else if (!first) {
            buffer_printf(&s, " ");
            col++;
        }
        buffer_add(&s, args, (size_t)n);
        col += n;
        args += end ? n + 1 : n;
    }
    const int mark = emit_mark(e);
    let(e, "call", "%s)%s", s.at, tail);
    put(e, "$call\n");
    emit_reset(e, mark);
}
