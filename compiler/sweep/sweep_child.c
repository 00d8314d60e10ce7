/* sweep_child.c: runs a variant in a child process, because an invalid variant
 * may end its process. The child passes its row to the parent as JSON. The
 * parent captures the child's stderr: an error becomes the row's message, a
 * warning its note. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/progress.h"
#include "sweep/sweep_parts.h"

typedef int Facts(const Sweep *s, const Variant *v, Row *r);

typedef struct {
    pid_t pid;    /* 0: it has not begun, or ended */
    int row;      /* pipe from which the row is read */
    int messages; /* file in memory that is the child's stderr */
} Child;

enum {
    ReadsOutput = 255
}; /* exit code of a child that tries to read an output */

/* ---- in the child ---- */
static _Noreturn void run_child(const Sweep *s, const Row *row, Facts *facts,
                                int out, int messages, pid_t parent)
{
    Row r = { .variant = row->variant };
    interrupt_child(parent);
    dup2(messages, STDERR_FILENO);
    color_choose(ColorNever);
    progress_off();
    const int code = facts(s, r.variant, &r);
    FILE *to = code ? NULL : fdopen(out, "w");
    if (to) {
        json_dumpf(row_json(&r, s->fields.n), to, JSON_REAL_PRECISION(17));
        fflush(to);
    }
    fflush(stderr);
    _exit(guard_refused() ? ReadsOutput : code);
}

/* ---- in the parent ---- */
static _Noreturn void no_child(void)
{
    fail(ExitResource, "sweep: no child process: %s", strerror(errno));
}

static void start(Child *c, const Sweep *s, const Row *r, Facts *facts)
{
    int ends[2];
    const pid_t parent = getpid();
    c->messages = memfd_create("attnc", MFD_CLOEXEC);
    if (c->messages < 0 || pipe2(ends, O_CLOEXEC) != 0)
        no_child();
    terminal_clear();
    fflush(NULL);
    c->row = ends[0];
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(s, r, facts, ends[1], c->messages, parent);
    }
    close(ends[1]);
    if (pid < 0)
        no_child();
    c->pid = pid;
    setpgid(pid, pid);
    interrupt_takes(pid);
}

/* Reads the row that the child sends. Returns false after a signal. */
static bool attend(const Child *c, Buffer *b)
{
    for (;;) {
        char block[4096];
        struct pollfd p = { .fd = c->row, .events = POLLIN };
        const int ready = poll(&p, 1, 100);
        if (interrupted())
            return false;
        progress_tick();
        if (ready <= 0)
            continue;
        const ssize_t n = read(c->row, block, sizeof block);
        if (n == 0)
            return true;
        if (n > 0)
            buffer_add(b, block, (size_t)n);
    }
}

/* Waits for the child to end, after killing it if `kills` is set, and returns
 * its status. */
static int ended(Child *c, bool kills)
{
    int status = 0;
    if (kills)
        kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill(-c->pid, SIGKILL); /* also kills its children, such as a compiler */
    interrupt_leaves(c->pid);
    c->pid = 0;
    return status;
}

static void leave_child(void *child)
{
    Child *c = child;
    if (c->pid)
        ended(c, true);
    if (c->row >= 0)
        close(c->row);
    if (c->messages >= 0)
        close(c->messages);
}

/* ---- messages ---- */
enum { MessageBytes = 1 << 16 };

static const char *messages(Arena *a, int fd)
{
    char *text = arena_alloc(a, MessageBytes + 1);
    const ssize_t n = pread(fd, text, MessageBytes, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Removes the position "--set:1:3: ", because --set only contains the values of
 * the row itself. */
static const char *without_set(const char *text)
{
    int bytes = 0;
    sscanf(text, "--set:%*d:%*d: %n", &bytes);
    return text + bytes;
}

/* Returns the first message of this kind, or NULL. The message includes its
 * position if that is in a file. */
static const char *message(Arena *a, const char *text, const char *kind)
{
    const char *at = strstr(text, kind);
    if (!at)
        return NULL;
    const char *line = at, *words = at + strlen(kind);
    while (line > text && line[-1] != '\n')
        line--;
    const char *all = arena_strndup(a, words, strcspn(words, "\n"));
    if (!strncmp(line, "attnc: ", 7) || !strncmp(line, "--set:", 6))
        return without_set(all);
    return arena_printf(a, "%.*s: %s", (int)(at - line), line, all);
}

static void refuse(Row *r, int code, const char *why)
{
    r->state = RowRefused;
    r->code = code;
    r->message = why;
}

/* Rejects a row whose child sent nothing. */
static void refuse_ended(Arena *a, Row *r, int status, const char *text)
{
    const char *why = message(a, text, ": error: ");
    const char *bug = message(a, text, ": internal error: ");
    if (WIFSIGNALED(status))
        refuse(r, ExitResource,
               arena_printf(a, "its process was ended by signal %d (%s)",
                            WTERMSIG(status), strsignal(WTERMSIG(status))));
    else if (WEXITSTATUS(status) == ReadsOutput && why)
        fail(ExitUsage, "%s", why);
    else if (bug)
        refuse(r, ExitInternal, arena_printf(a, "internal error: %s", bug));
    else
        refuse(r, WEXITSTATUS(status) ? WEXITSTATUS(status) : ExitInternal,
               why ? why : "it cannot be made");
}

static void take_row(const Sweep *s, Row *r, const Buffer *b, const char *text)
{
    Arena *a = s->arena;
    json_t *o = json_loadb(b->at, (size_t)b->n, 0, NULL);
    Row found = *r;
    if (o && row_read(a, &found, o, s->fields.n)) {
        *r = found;
        r->note = message(a, text, ": warning: ");
    } else {
        refuse(r, ExitInternal,
               "a run left another result than the one before");
    }
    json_decref(o);
}

bool child_row(Sweep *s, Row *r, Facts *facts)
{
    Arena *a = arena_new(); /* owns the row's text */
    Buffer b = { .arena = a };
    Child *c = arena_alloc(a, sizeof *c);
    *c = (Child){ .row = -1, .messages = -1 };
    arena_owns(a, c, leave_child);
    start(c, s, r, facts);
    const bool whole = attend(c, &b);
    const int status = ended(c, !whole);
    const char *text = messages(a, c->messages);
    if (whole && status == 0 && b.n > 0)
        take_row(s, r, &b, text);
    else if (whole)
        refuse_ended(s->arena, r, status, text);
    arena_free(a);
    return whole;
}
