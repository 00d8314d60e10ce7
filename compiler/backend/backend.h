/* backend.h: from a plan to a model that runs in this process.
 *
 *   plan -> emit -> libtcc ----------------> memory      (jit.c)
 *               \-> C compiler -> cached .so -> dlopen   (cc.c, objcache.c)
 *
 * In:  a Plan, or C text; a compiler's name and flags.
 * Out: the entries of a model in memory, or files that a compiler made. Child
 *      programs, temporary folders and signals are this room's too.
 * Public beside it: tier.h, of a model in both.                             */
#ifndef ATTNC_BACKEND_H
#define ATTNC_BACKEND_H

#include "base/user_cache.h"
#include "passes/passes.h"
#include "plan/plan.h"

/* ---- interrupt.c ---- */

/* Between the two, the first SIGINT, SIGTERM or SIGHUP is only kept, so that
 * what runs can be ended in order; a second one kills the process groups that
 * were named and ends attnc at once. Pairs nest: the outermost interrupt_end()
 * raises again what came.                                                   */
void interrupt_watch(void);
bool interrupted(void);
void interrupt_end(void);
void interrupt_takes(int64_t group);
void interrupt_leaves(int64_t group);
/* In a process that was just forked by `parent`: a group of its own, so that
 * the terminal's signals are for the parent; ends with it, dies of what goes
 * wrong, and leaves no core file. */
void interrupt_child(int64_t parent);

/* ---- temp.c ---- */
typedef struct {     /* a folder for files that nobody keeps */
    char path[4000]; /* "": there is none */
    int lock;        /* held while it is used */
} TempFolder;
const char *temp_root(void); /* TMPDIR; /tmp */
/* Makes one in `in`; NULL: in temp_root(), where those of processes that were
 * killed are removed first. False, with errno: none can be made.            */
bool temp_open(TempFolder *t, const char *in);
/* Removes it and what is in it. */
void temp_close(TempFolder *t);

/* ---- spawn.c ---- */

typedef struct {     /* a program that ran to its end */
    char tail[4096]; /* the last of what it wrote to stderr */
    char out[4096];  /* the first of what it wrote to stdout */
} Spawned;

typedef struct { /* a program to run, and what came of it */
    const char *const *argv;
    const char *input;
    size_t input_bytes;
    double seconds; /* its own limit; 0: that of all */
    Spawned said;
    bool ok;
    Fault why;
    bool late;     /* it was stopped at its limit */
    int signal;    /* that killed it; 0: none */
    double took;   /* seconds */
    int64_t begin; /* on spawn's own clock */
} SpawnJob;

enum { SpawnMost = 64 };
typedef struct {
    int at_once;        /* programs side by side, to SpawnMost */
    double seconds;     /* of each */
    int out_fd;         /* their stdout; -1: to `said` */
    const char *folder; /* of their temporary files; NULL: TMPDIR */
    bool as_user;       /* in the whole environment that attnc has */
} SpawnLimits;
/* Runs all of them as spawn() runs one. */
void spawn_all(SpawnJob *jobs, int n, const SpawnLimits *l);

/* Runs argv[0], an absolute path, in an environment of PATH, HOME, LANG=C and
 * a TMPDIR of its own, with `input` on stdin, and no shell. Its whole process
 * group is killed after `seconds`. False (ExitBackend): it could not be
 * started, was killed, ran too long, or returned something other than 0.    */
bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why);
/* Absolute path of a program: looked up in PATH, or, when the name has a
 * slash, from the working folder. NULL: there is none.                      */
const char *find_program(Arena *a, const char *name);

/* ---- cc.c ---- */
typedef enum { CcObject, CcShared, CcProgram } CcKind;

typedef struct {
    const char *at;
    size_t n;
} CText; /* to be compiled */

typedef struct {                 /* how C is compiled */
    const char *compiler;        /* absolute path, by cc_find */
    const char *level;           /* "2": -O2 */
    const char *target;          /* by --target; NULL: the compiler's own */
    const char *march;           /* "generic": the compiler's default */
    const char *const *features; /* beside it: "avx512vnni"; NULL: none */
    const char *include;         /* a folder, by -I; NULL: none */
    int seconds;                 /* limit; 0: ten minutes */
    bool print;                  /* print the command line, run nothing */
} CcOptions;

/* The compiler to use: `name`, or if NULL the first of clang-19, clang,
 * clang-18 .. clang-14 that is installed.                                   */
const char *cc_find(Arena *a, const char *name, Fault *why);
/* Returns the name of a C compiler in PATH for a person to type: cc, gcc or one
 * of those clangs. NULL: there is none.                                     */
const char *cc_to_type(Arena *a);
/* First line of its --version. */
const char *cc_version(Arena *a, const char *compiler, Fault *why);
/* Compiles `text` to the file `output`, which appears whole or not at all. */
bool cc_compile(Arena *a, const CcOptions *o, CcKind kind, CText text,
                const char *output, Fault *why);
/* The words of the command that compiles stdin to `output`, and NULL. */
const char *const *cc_command(Arena *a, const CcOptions *o, CcKind kind,
                              const char *output);
/* The command line without input and output, as one string. */
const char *cc_flags(Arena *a, const CcOptions *o, CcKind kind);

/* ---- cross.c ---- */

/* Makes the compiler of `o` one for `t`: sets o->target where it is clang of
 * another architecture. False (ExitBackend): it makes no code for that.      */
bool cc_aim(Arena *a, CcOptions *o, const Target *t, Fault *why);
/* False (ExitBackend): there are no headers of t's C library, or, of another
 * kind than objects, nothing to link with. Only asked of other machines than
 * this one.                                                                  */
bool cc_has_library(Arena *a, const CcOptions *o, const Target *t, CcKind kind,
                    Fault *why);

/* ---- kernel_table.c ---- */

/* The prebuilt kernel for a target: the function that use_tile() or
 * use_kernel() named. NULL: there is none of that name. Every tile is there. */
void *kernel_find(const Target *t, const char *name);
/* Name of the i-th prebuilt kernel for a target; NULL: there are no more. */
const char *kernel_name(const Target *t, int i);

/* ---- jit.c ---- */
typedef struct {
    void *code; /* NULL: none */
    size_t bytes;
    void *entry; /* the function that was asked for */
    void *names; /* of its functions, where they are known; NULL */
} JitCode;
/* Compiles `text` in this process, over the kernels built into attnc for
 * `target`; `symbol` is the function that returns the model.                */
bool jit_load(JitCode *j, const struct attn_model **model, const char *text,
              const char *symbol, const Target *target, Fault *why);
/* The same, and its functions are known by name to profilers, by a file
 * /tmp/perf-PID.map, and to GDB, with the lines of the text: a note says where
 * that is kept.                                                              */
bool jit_load_named(JitCode *j, const struct attn_model **model,
                    const char *text, const char *symbol, const Target *target,
                    Fault *why);
void jit_unload(JitCode *j);
/* The same for a text that exports one function: it is in *at. */
bool jit_function(JitCode *j, void **at, const char *text, const char *symbol,
                  const Target *target, Fault *why);

typedef struct Tier Tier;
typedef struct { /* a model that can be called */
    const struct attn_model *model;
    void *library; /* of a C compiler */
    JitCode jit;   /* of libtcc */
    Tier *tier;    /* of both (tier.h): `model` calls the one or the other */
} Backend;

/* ---- objcache.c ---- */
typedef struct {
    CText text;
    const char *symbol; /* as of jit_load() */
    const char *what;   /* the text, for people who list the cache */
    CcOptions cc;
} ObjectText;
/* Compiles a text as a shared object, or finds the one that was compiled from
 * the same text, flags and compiler; loads it, and says its key. NULL: that is
 * not wanted.                                                                */
bool objcache_load(Arena *a, Backend *b, const ObjectText *t, CacheKey *key,
                   Fault *why);
/* The same of a key that it said; false: it is not there any more. */
bool objcache_find(Arena *a, Backend *b, CacheKey key, const char *symbol);

/* A note that says where profilers and debuggers find the functions of such an
 * object by name: in its file.                                               */
void objcache_names(const Backend *b);

/* ---- backend.c ---- */
typedef enum { BackendJit, BackendCc, BackendAuto } BackendKind;

typedef struct {
    const char *cc;        /* BackendCc: compiler's name; NULL: clang */
    const char *level;     /* BackendCc: NULL: "2" */
    struct Timers *timers; /* a clock in the model's steps; NULL: none */
    bool perf;             /* functions are known by name, and it says where */
} BackendOptions;

/* "jit" (NULL too), "auto", "clang", "gcc" or a compiler's path. */
BackendKind backend_kind(const char *name, BackendOptions *o);
/* `arena` must outlive the call only. */
bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why);
void backend_unload(Backend *b);
/* What a call of the model is given, made of its packed weights. Both must
 * outlive the calls.                                                         */
void *backend_bind(const Backend *b, Arena *a, const void *packed);
/* What a C compiler gets for a plan. False: there is no such compiler. */
bool backend_text(ObjectText *to, Arena *a, const Plan *p,
                  const BackendOptions *o, Fault *why);
/* False (ExitBackend) when this processor lacks what `target` needs. */
bool target_runs_here(const Target *target, Fault *why);

#endif
