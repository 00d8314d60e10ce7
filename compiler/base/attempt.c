/* attempt.c: calls a function that may run out of memory and gives the error
 * back as an exit code. Errors in inputs need no attempt: functions return
 * those. Nothing leaks, because all that such a function allocates belongs to
 * an arena, and attempt() frees the arenas that it made. */
#include <stdlib.h>

#include "base/attempt.h"

int attempt(void (*what)(void *with), void *with)
{
    Attempt *a = malloc(sizeof *a);

    if (!a) {
        error_at((Pos){ 0 }, "out of memory (%zu bytes wanted)", sizeof *a);
        return ExitResource;
    }
    *a = (Attempt){ .outer = current_attempt, .code = ExitDone };
    current_attempt = a;
    if (setjmp(a->back) == 0)
        what(with);
    a = current_attempt;
    current_attempt = a->outer;
    const int code = a->code;
    arenas_end(&a->made, code != ExitDone, a->outer ? &a->outer->made : NULL);
    if (code)
        messages_forget();
    free(a);
    return code;
}
