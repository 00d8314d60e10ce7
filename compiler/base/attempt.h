/* attempt.h: the thread's current attempt, for arena.c and attempt.c. */
#ifndef ATTNC_ATTEMPT_H
#define ATTNC_ATTEMPT_H

#include <setjmp.h>

#include "base/base.h"

typedef struct Attempt Attempt;
struct Attempt {
    Attempt *outer;
    Arena *made; /* arenas made since it began */
    int code;
    jmp_buf back;
};

/* end.c: NULL: the thread has no attempt. */
extern _Thread_local Attempt *current_attempt;
/* arena.c: empties the list of an attempt. Its arenas are freed if it failed,
 * and otherwise pass to the list of the outer attempt, or NULL. */
void arenas_end(Arena **list, bool failed, Arena **outer);

#endif
