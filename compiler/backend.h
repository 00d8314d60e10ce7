/* backend.h: from a plan to a model that runs in this process.
 *
 *   plan -> emit -> libtcc ----------------> memory      (jit.c)
 *               \-> C compiler -> cached .so -> dlopen   (cc.c, objcache.c)
 */
#ifndef ATTNC_BACKEND_H
#define ATTNC_BACKEND_H

#include "compiler.h"

/* ------------------------------------------------------------ spawn.c --- */
typedef struct {                 /* a program that ran to its end */
    char tail[4096];             /* the last of what it wrote to stderr */
    char out[4096];              /* the first of what it wrote to stdout */
} Spawned;

/* Runs argv[0], an absolute path, in an environment of PATH, HOME, LANG=C and
 * a TMPDIR of its own, with `input` on stdin, and no shell. Its whole process
 * group is killed after `seconds`. False (ExitBackend): it could not be
 * started, was killed, ran too long, or returned something other than 0.    */
bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why);
/* The same, with stdout going to `out_fd`. */
bool spawn_to(Spawned *s, const char *const *argv, const char *input,
              size_t input_bytes, int out_fd, int seconds, Fault *why);
/* Absolute path of a program: looked up in PATH, or, when the name has a
 * slash, from the working folder. NULL: there is none.                      */
const char *find_program(Arena *a, const char *name);

/* --------------------------------------------------------------- cc.c --- */
typedef enum { CcObject, CcShared, CcProgram } CcKind;

typedef struct {                 /* how C is compiled */
    const char *compiler;        /* absolute path, by cc_find */
    const char *level;           /* "2": -O2 */
    const char *march;           /* "generic": the compiler's default */
    int seconds;                 /* limit; 0: ten minutes */
    bool print;                  /* print the command line, run nothing */
} CcOptions;

/* The compiler to use: `name`, or if NULL the first of clang-19, clang,
 * clang-18 .. clang-14 that is installed.                                   */
const char *cc_find(Arena *a, const char *name, Fault *why);
/* First line of its --version. */
const char *cc_version(Arena *a, const char *compiler, Fault *why);
/* Compiles `text` to the file `output`, which appears whole or not at all. */
bool cc_compile(Arena *a, const CcOptions *o, CcKind kind, const char *text,
                size_t n, const char *output, Fault *why);
/* The same into `file`, which is open, and cancelled on failure. */
bool cc_compile_into(Arena *a, const CcOptions *o, CcKind kind,
                     const char *text, size_t n, Output *file, Fault *why);
/* The command line without input and output, as one string. */
const char *cc_flags(Arena *a, const CcOptions *o, CcKind kind);

/* -------------------------------------------------------------- jit.c --- */
typedef struct { void *code; size_t bytes; } JitCode;
/* Compiles `text` in this process, over the kernels built into attnc for
 * `target`; `symbol` is the function that returns the model.                */
bool jit_load(JitCode *j, const struct attn_model **model, const char *text,
              const char *symbol, const Target *target, Fault *why);
void jit_unload(JitCode *j);

/* --------------------------------------------------------- objcache.c --- */
/* Compiles `text` as a shared object, or finds the one that was compiled from
 * the same text, flags and compiler; loads it.                              */
bool objcache_load(Arena *a, void **library, const struct attn_model **model,
                   const char *text, size_t n, const char *symbol,
                   const CcOptions *o, Fault *why);

/* ---------------------------------------------------------- backend.c --- */
typedef enum { BackendJit, BackendCc } BackendKind;

typedef struct {
    const char *cc;              /* BackendCc: compiler's name; NULL: clang */
    const char *level;           /* BackendCc: NULL: "2" */
    struct Timers *timers;       /* a clock in the model's steps; NULL: none */
} BackendOptions;

typedef struct {
    const struct attn_model *model;
    void *library;               /* BackendCc */
    JitCode jit;                 /* BackendJit */
} Backend;

/* "jit", "clang", "gcc" or a compiler's path. */
BackendKind backend_kind(const char *name, BackendOptions *o);
/* `arena` must outlive the call only. */
bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why);
void backend_unload(Backend *b);
/* False (ExitBackend) when this processor lacks what `target` needs. */
bool target_runs_here(const Target *target, Fault *why);

#endif
