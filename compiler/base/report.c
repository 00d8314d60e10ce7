/* report.c: reports faults and returns their exit codes. */
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

int commit_text(Output *file, const char *text)
{
    Fault why;
    const bool done = output_write(file, text, strlen(text), &why)
                   && output_commit(file, &why);
    return done ? ExitDone : report_fault(&why);
}
