/* program.c: functions that all parts of the program use. */
#include "program.h"

/* Sets p->why. Returns -1. */
static int64_t program_wrong(struct program *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return -1;
}

/* Flushes `to`. After an earlier failed write, errno may be of another call, so
 * it writes one more byte to get the reason. */
static void program_flush(struct program *p, FILE *to)
{
    const int lost = ferror(to);

    errno = EIO; /* in case that byte can be written */
    if (lost) {
        clearerr(to);
        fputc('\n', to);
    }
    if (fflush(to) != 0 || lost)
        program_fail(p, 4, "cannot write to stdout: %s", strerror(errno));
}

/* Grows the memory to at least `bytes`. Returns NULL, after a message, if there
 * is not enough. */
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

/* Frees the memory that grew, except for the model's. */
static void program_free(struct program *p)
{
    free(p->items.at);
    free(p->types.at);
    free(p->work.at);
    free(p->text.at);
    free(p->found.at);
    free(p->prefix.at);
    free(p->suppressed.at);
    free(p->turn.at);
    free(p->buffer);
}

/* Returns the use that the options ask for, one of ATTN_FOR_LINES etc. Sets
 * p->status, after a message, if they cannot be combined. */
static int program_use(struct program *p);
/* Run before the first line is read, and after the last. */
static void program_prepare(struct program *p);
static void program_finish(struct program *p);
/* Converts a line to ids, which it appends to the batch at `ids`. Returns their
 * number, or -1. */
static int64_t program_question(struct program *p, const char *line,
                                int64_t bytes, int32_t *ids);
/* Returns the number of rows of a part to keep, or -1 with p->why. */
static int64_t program_part(struct program *p, int64_t rows);
/* Prints the answers to a batch: a line, or a block of lines, for each part. */
static void program_answer(struct program *p);
