/* native_width.h: the width of this machine's vectors. */
#ifndef ATTNC_TESTS_NATIVE_WIDTH_H
#define ATTNC_TESTS_NATIVE_WIDTH_H

#include "machine/machine.h"

/* Returns the most floats per vector that code for this machine may use. */
static inline int native_width(void)
{
    Target t;
    Fault why;

    return target_find(&t, "native", 0, NULL, &why) ? t.width : 1;
}

#endif
