/* program.c: what all parts of the program use. */
#include "program.h"

/* Keeps what is wrong with a text; -1. */
static int64_t program_wrong(struct program *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return -1;
}

/* Flushes. After a write that failed earlier errno is another call's: one more
 * byte is written, to learn why.                                            */
static void program_flush(struct program *p, FILE *to)
{
    const int lost = ferror(to);

    errno = EIO; /* where that byte can be written */
    if (lost) {
        clearerr(to);
        fputc('\n', to);
    }
    if (fflush(to) != 0 || lost)
        program_fail(p, 4, "cannot write to stdout: %s", strerror(errno));
}

/* The room's memory, at least that large; NULL: out of memory. */
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

/* Frees the memory that grew, but for the model's. */
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

/* Returns the use that the options ask for, one of ATTN_FOR_LINES and so on.
 * Sets p->status, after a message, if they cannot be combined. */
static int program_use(struct program *p);
/* Before the first line is read, and behind the last. */
static void program_prepare(struct program *p);
static void program_finish(struct program *p);
/* Ids of a line behind the batch's, of which `ids` is the next; their number,
 * or -1.                                                                    */
static int64_t program_question(struct program *p, const char *line,
                                int64_t bytes, int32_t *ids);
/* How many rows of a part are kept; -1: p->why says why it is refused. */
static int64_t program_part(struct program *p, int64_t rows);
/* Prints the answers to a batch, a line or a block of them for each part. */
static void program_answer(struct program *p);
