/* program_messages.c: prints messages on stderr. */
#include "program.h"

/* Prints "NAME: error: ..." and sets the exit code, so that the program
 * ends. */
static void program_fail(struct program *p, int code, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: error: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    p->status = code;
#if ATTN_HAS_RANKS
    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
#endif
}

/* Prints "NAME: warning: ...". */
static void program_warn(struct program *p, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: warning: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* Prints p->why as the error of a line, which then has no answer. */
static void program_refuse(struct program *p, int64_t line)
{
    if (p->status > 3)
        return;
    fprintf(stderr, "<stdin>:%lld: error: %s\n", (long long)line, p->why);
    p->status = 3;
}
