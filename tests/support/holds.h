/* holds.h: for programs that check what a generated model does: prints each
 * expression that is false to stderr. */
#ifndef HOLDS_H
#define HOLDS_H

#include <stdio.h>

static int failed; /* 1: an expression was false */

#define HOLDS(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                   \
            failed = 1;                                                       \
        }                                                                     \
    } while (0)

#endif
