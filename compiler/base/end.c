/* end.c: ends the thread's attempt, or the process. */
#include <stdlib.h>

#include "base/attempt.h"

_Thread_local Attempt *current_attempt;

void end_attempt(int code)
{
    if (!current_attempt)
        exit(code);
    current_attempt->code = code;
    longjmp(current_attempt->back, 1);
}
