/* compile.h: what attnc compile wrote, and how it is used. */
#ifndef ATTNC_COMPILE_H
#define ATTNC_COMPILE_H

#include "cli/options/options.h"

typedef struct { /* the files of a call; NULL: not written */
    const CompileCommand *o;
    const Engine *e;
    const char *path[EmitKinds];
    const char *header, *weights;
    const char *program; /* what the C file may be compiled to */
    bool inside;         /* the weights are, in these files */
} Written;

/* Paths, sizes, and the commands that make a program of them and run it, on
 * stderr.                                                                   */
void report_written(const Written *w);

#endif
