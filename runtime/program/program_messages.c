/* program_messages.c: what the program says on stderr. */
#include "program.h"

/* "NAME: error: ..", once the program cannot go on. */
static void program_fail(struct program *p, int code, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: error: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    p->status = code;
}

/* "NAME: warning: ..", before it goes on. */
static void program_warn(struct program *p, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: warning: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* Says it of a line, which has no answer. */
static void program_refuse(struct program *p, int64_t line)
{
    if (p->status > 3)
        return;
    fprintf(stderr, "<stdin>:%lld: error: %s\n", (long long)line, p->why);
    p->status = 3;
}
