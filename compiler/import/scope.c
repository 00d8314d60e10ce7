/* scope.c: reports errors that occur while expressions are evaluated. */
#include <stdarg.h>

#include "import/expr.h"

Datum expr_error(Scope *s, Pos pos, const char *fmt, ...)
{
    va_list ap;
    char text[512];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_at(pos, "%s", text);
    s->failures++;
    return (Datum){ .kind = ValueNone };
}
