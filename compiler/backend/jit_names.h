/* jit_names.h: names and line numbers of functions compiled by libtcc. */
#ifndef ATTNC_JIT_NAMES_H
#define ATTNC_JIT_NAMES_H

#include "backend/backend.h"

typedef struct { /* in bytes from the start of the code */
    const char *name;
    uint64_t from, size;
} JitFunction;
typedef struct {
    uint64_t at; /* offset of the line's code */
    int line;
    int function; /* index of its function */
} JitLine;
typedef struct {
    const char *text; /* path of the source file */
    const char *code; /* start of the code */
    uint64_t bytes;
    VEC(JitFunction) function; /* in order of address */
    VEC(JitLine) line;
} JitNames;

/* ---- jit_elf.c ---- */

/* Builds an object file, as read by debuggers, with names and lines but no
 * code. */
Buffer jit_elf(Arena *a, const JitNames *names);

/* ---- jit_names.c ---- */

/* Publishes the functions of code in memory, whose `symbol` is at address `at`,
 * in a perf map and to GDB. `object` is libtcc's object file of the same text,
 * which is in the file `text`. Pass *entry to jit_forget_names(). */
bool jit_name(void **entry, const File *object, const char *text,
              const char *symbol, const void *at, Fault *why);
void jit_forget_names(void *entry); /* accepts NULL */

#endif
