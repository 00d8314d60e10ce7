/* end.c: ends the thread's attempt, or the process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/attempt.h"
#include "base/console.h"

_Thread_local Attempt *current_attempt;
static bool is_child;

void child_begins(void)
{
    is_child = true;
    console_use((Console){ .out = NULL });
    current_attempt = NULL;
}

void end_attempt(int code)
{
    if (!current_attempt && is_child) {
        fflush(stderr);
        _exit(code);
    }
    if (!current_attempt)
        exit(code);
    current_attempt->code = code;
    longjmp(current_attempt->back, 1);
}
