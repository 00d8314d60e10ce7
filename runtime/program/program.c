/* program.c: functions that all parts of the program share. */
#include "program.h"

/* Sets p->why to a message. Returns -1. */
static int64_t program_wrong(struct program *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return -1;
}

/* Flushes `to`. If an earlier write failed, errno may have been changed by
 * another call, so writes one more byte, which sets errno to the reason. */
static void program_flush(struct program *p, FILE *to)
{
    const int lost = ferror(to);

    errno = EIO; /* the reason, if that byte can be written */
    if (lost) {
        clearerr(to);
        fputc('\n', to);
    }
    if (fflush(to) != 0 || lost)
        program_fail(p, 4, "cannot write to stdout: %s", strerror(errno));
}

/* Grows the memory to at least `bytes`. If there is not enough, prints a
 * message and returns NULL. */
static void *program_grow(struct program *p, struct room *r, int64_t bytes)
{
    const int64_t more = bytes + bytes / 4 + 1;

    if (r->at && bytes >= 0 && bytes <= r->bytes)
        return r->at;
    void *at = bytes < 0 ? NULL : realloc(r->at, (size_t)more);
    if (!at) {
        program_fail(p, 5, "out of memory: give fewer or shorter lines");
        return NULL;
    }
    r->at = at;
    r->bytes = more;
    return at;
}

/* Frees all memory of the program, except the model's. */
static void program_free(struct program *p)
{
    shard_stop(p);
    free(p->items.at);
    free(p->types.at);
    free(p->work.at);
    free(p->text.at);
    free(p->found.at);
    free(p->prefix.at);
    free(p->suppressed.at);
    free(p->grammar.at);
    free(p->turn.at);
    free(p->frame.at);
    free(p->in.buffer);
}
