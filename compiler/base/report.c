/* report.c: reports faults and returns their exit codes; files that an arena
 * owns. */
#include "base/base.h"

#include <string.h>

int report_fault(const Fault *why)
{
    error_at((Pos){ 0 }, "%s", why->text);
    return why->code;
}

void end_if_fatal(const Fault *why)
{
    if (why->code == ExitResource || why->code == ExitUsage)
        fail(why->code, "%s", why->text);
}

static void close_file(void *what)
{
    file_close(what);
}

File *arena_file(Arena *a, const char *path, size_t limit, Fault *why)
{
    File *f = arena_alloc(a, sizeof *f);

    if (!file_read(f, path, limit, why))
        return NULL;
    arena_owns(a, f, close_file);
    return f;
}

int commit_text(Output *file, const char *text)
{
    Fault why;
    const bool done = output_write(file, text, strlen(text), &why)
                   && output_commit(file, &why);
    return done ? ExitDone : report_fault(&why);
}
