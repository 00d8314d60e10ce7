/* compile.h: the files that attnc compile wrote, and a report of them. */
#ifndef ATTNC_COMPILE_H
#define ATTNC_COMPILE_H

#include "cli/options/options.h"

typedef struct { /* the files of a call; a path is NULL if not written */
    const CompileCommand *o;
    const Engine *e;
    const char *path[EmitKinds];
    const char *header, *weights;
    const char *program; /* name of the program to build from the C file */
    bool inside;         /* true if these files contain the weights */
} Written;

/* Prints paths, sizes, and commands that build and run a program, on stderr. */
void report_written(const Written *w);

#endif
