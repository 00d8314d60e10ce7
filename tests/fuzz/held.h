/* held.h: the resources that a job of a fuzz target holds, so that they are
 * released if the job ends by exit(). The linker's --wrap replaces the calls of
 * libc in every object file under test. */
#ifndef ATTNC_HELD_H
#define ATTNC_HELD_H

#include <stdbool.h>
#include <stddef.h>

#include "fuzz.h"

/* Declares the replacement of a function, and the original under its new name.
 */
#define WRAP(type, name, ...)                                                 \
    type __real_##name(__VA_ARGS__);                                          \
    type __wrap_##name(__VA_ARGS__)

typedef enum {
    HeldNone,
    HeldGone,
    HeldPool,
    HeldFile,
    HeldMap,
    HeldBlock,
    HeldStream,
    HeldKinds
} HeldKind;

void held_begin(void);    /* starts recording */
void held_end(bool drop); /* stops recording; releases or forgets what was
                             recorded */
bool held_on(void);
void hold(HeldKind kind, void *at, size_t size);
void let_go(const void *at);

#endif
