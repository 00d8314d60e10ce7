/* jit_names.h: names and line numbers of functions compiled by libtcc. */
#ifndef ATTNC_JIT_NAMES_H
#define ATTNC_JIT_NAMES_H

#include "backend/backend.h"

typedef struct { /* a function; positions are bytes from the start of the
                  * code */
    const char *name;
    uint64_t from, size;
} JitFunction;
typedef struct {
    uint64_t at; /* code offset of this line */
    int line;
    int function; /* index of the function that the line is in */
} JitLine;
typedef struct {
    const char *text; /* path of the source file */
    const char *code; /* address of the code */
    uint64_t bytes;
    VEC(JitFunction) function; /* functions, sorted by address */
    VEC(JitLine) line;
} JitNames;

/* ---- jit_elf.c ---- */

/* Builds an object file for debuggers, which has names and lines but no
 * code. */
Buffer jit_elf(Arena *a, const JitNames *names);

/* ---- jit_names.c ---- */

/* Publishes functions of loaded code in a perf map and to GDB. The function
 * `symbol` is at address `at`. `object` is libtcc's object file for the same
 * text, and `text` is the path of the source. Sets *entry, which is later
 * passed to jit_forget_names(). */
bool jit_name(void **entry, const File *object, const char *text,
              const char *symbol, const void *at, Fault *why);
void jit_forget_names(void *entry); /* withdraws names from GDB; NULL: no-op */

#endif
