/* compile.h: the files that attnc compile wrote, and a report of them. */
#ifndef ATTNC_COMPILE_H
#define ATTNC_COMPILE_H

#include "cli/options/options.h"
#include "emit/emit.h"

typedef struct { /* the files of a call; a path is NULL if not written */
    const CompileCommand *o;
    const Engine *e;
    const char *path[EmitKinds];
    const char *header, *weights;
    const char *program; /* name of the program to build from the C file */
    bool inside;         /* true if these files contain the weights */
    bool has_main;       /* true if the C file contains a program */
} Written;

/* Prints paths, sizes, and commands that build and run a program, on stderr. */
void report_written(const Written *w);

/* ---- compile_parts.c ---- */
unsigned parts_left_out(const CompileCommand *o); /* bits, by FilePart */
/* Returns --parts as a list: "model", or "text,main". */
const char *parts_given(Arena *a, const CompileCommand *o);
/* True if the model has the parts that are asked for; else prints an error. */
bool parts_fit(const Engine *e, const CompileCommand *o,
               const EmitOptions *emit);

#endif
