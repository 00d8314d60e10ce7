/* jit_names.h: the functions of libtcc's code by name, and its lines. */
#ifndef ATTNC_JIT_NAMES_H
#define ATTNC_JIT_NAMES_H

#include "backend/backend.h"

typedef struct { /* of the code, in bytes from its begin */
    const char *name;
    uint64_t from, size;
} JitFunction;
typedef struct {
    uint64_t at; /* where the code of a line begins */
    int line;
    int function; /* that it is in */
} JitLine;
typedef struct {
    const char *text; /* the file that the lines are of */
    const char *code; /* where it begins */
    uint64_t bytes;
    VEC(JitFunction) function; /* as they lie, one behind the other */
    VEC(JitLine) line;
} JitNames;

/* ---- jit_elf.c ---- */

/* An object file of names and lines with no code in it, as debuggers read it.
 */
Buffer jit_elf(Arena *a, const JitNames *names);

/* ---- jit_names.c ---- */

/* Makes known, by a perf map and to GDB, the functions of code in memory, whose
 * `symbol` lies at `at`. `object`: what libtcc made of the same text, which is
 * the file `text`. *entry: for jit_forget_names().                           */
bool jit_name(void **entry, const File *object, const char *text,
              const char *symbol, const void *at, Fault *why);
void jit_forget_names(void *entry); /* NULL: nothing */

#endif
