/* backend.h: turns a plan into a model that runs in this process.
 *
 *   plan -> emit -> libtcc ----------------> memory      (jit.c)
 *               \-> C compiler -> cached .so -> dlopen   (cc.c, objcache.c)
 *
 * In:  a Plan, or C text; a compiler's name and flags.
 * Out: the entries of a model in memory, or files made by a compiler. This
 *      directory also handles child processes, temporary directories and
 *      signals.
 * See also tier.h, for a model that uses both. */
#ifndef ATTNC_BACKEND_H
#define ATTNC_BACKEND_H

#include "base/user_cache.h"
#include "passes/passes.h"
#include "plan/plan.h"

/* ---- interrupt.c ---- */

/* Between interrupt_watch() and interrupt_end(), the first SIGINT, SIGTERM or
 * SIGHUP is only recorded, so that the caller can stop its work in order. A
 * second one kills the registered process groups and ends attnc at once. Pairs
 * nest: the outermost interrupt_end() raises the recorded signal again. */
void interrupt_watch(void);
bool interrupted(void);
void interrupt_end(void);
void interrupt_takes(int64_t group);
void interrupt_leaves(int64_t group);
/* For a process just forked by `parent`: puts it in a process group of its own,
 * so that the terminal's signals reach only the parent. It is killed if the
 * parent ends, has default handlers for fatal signals, and leaves no core
 * file. */
void interrupt_child(int64_t parent);

/* ---- temp.c ---- */
typedef struct {     /* a temporary directory */
    char path[4000]; /* "": none */
    int lock;        /* descriptor; locked while in use */
} TempFolder;
const char *temp_root(void); /* TMPDIR; /tmp */
/* Creates a temporary directory in `in`; NULL: in temp_root(), after removing
 * directories left there by killed processes. Returns false and sets errno on
 * failure. */
bool temp_open(TempFolder *t, const char *in);
/* Removes the directory with its contents. */
void temp_close(TempFolder *t);

/* ---- spawn.c ---- */

typedef struct {     /* output of a program */
    char tail[4096]; /* the end of its stderr */
    char out[4096];  /* the start of its stdout */
} Spawned;

typedef struct { /* a program to run, and its result */
    const char *const *argv;
    const char *input;
    size_t input_bytes;
    double seconds; /* time limit; 0: that of SpawnLimits */
    Spawned messages;
    bool ok;
    Fault why;
    bool late;     /* stopped at its time limit */
    int signal;    /* signal that killed it; 0: none */
    double took;   /* seconds */
    int64_t begin; /* on the clock of spawn.c */
} SpawnJob;

enum { SpawnMost = 64 };
typedef struct {
    int at_once;        /* programs run in parallel, at most SpawnMost */
    double seconds;     /* time limit of each */
    int out_fd;         /* receives their stdout; -1: `said` does */
    const char *folder; /* for temporary directories; NULL: TMPDIR */
    bool as_user;       /* pass attnc's complete environment */
} SpawnLimits;
/* Runs all jobs, each like spawn(). */
void spawn_all(SpawnJob *jobs, int n, const SpawnLimits *l);

/* Runs argv[0], an absolute path, without a shell, with `input` on stdin. Its
 * environment has only PATH, HOME, LANG=C and a TMPDIR of its own. Its process
 * group is killed after `seconds`. Returns false (ExitBackend) if the program
 * could not be started, was killed, ran too long, or returned nonzero. */
bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why);
/* Returns the absolute path of a program, searched in PATH or, if the name has
 * a slash, relative to the working directory. NULL if not found. */
const char *find_program(Arena *a, const char *name);

/* ---- cc.c ---- */
typedef enum { CcObject, CcShared, CcProgram } CcKind;

typedef struct {
    const char *at;
    size_t n;
} CText; /* text to compile */

typedef struct {                 /* how to compile C */
    const char *compiler;        /* absolute path, from cc_find() */
    const char *level;           /* "2": -O2 */
    const char *target;          /* for --target; NULL: the compiler's own */
    const char *march;           /* "generic": the compiler's default */
    const char *const *features; /* such as "avx512vnni"; NULL: none */
    const char *include;         /* a directory for -I; NULL: none */
    int seconds;                 /* limit; 0: ten minutes */
    bool print;                  /* only print the command line */
} CcOptions;

/* Finds the compiler: `name` or, if NULL, the first installed of clang-19,
 * clang, clang-18 to clang-14. Returns its path; NULL after a fault. */
const char *cc_find(Arena *a, const char *name, Fault *why);
/* Returns the name of a C compiler in PATH to show in messages: cc, gcc or one
 * of those clangs. NULL if there is none. */
const char *cc_to_type(Arena *a);
/* Returns the first line printed by --version. */
const char *cc_version(Arena *a, const char *compiler, Fault *why);
/* Compiles `text` to the file `output`, which is written completely or not at
 * all. */
bool cc_compile(Arena *a, const CcOptions *o, CcKind kind, CText text,
                const char *output, Fault *why);
/* Returns the NULL-terminated words of the command that compiles stdin to
 * `output`. */
const char *const *cc_command(Arena *a, const CcOptions *o, CcKind kind,
                              const char *output);
/* Returns the command line without input and output, as one string. */
const char *cc_flags(Arena *a, const CcOptions *o, CcKind kind);

/* ---- cross.c ---- */

/* Prepares the compiler of `o` for target `t`: sets o->target if it is a clang
 * for another architecture. Returns false (ExitBackend) if the compiler cannot
 * make code for `t`. */
bool cc_aim(Arena *a, CcOptions *o, const Target *t, Fault *why);
/* When cross-compiling, checks for the target's C library. Returns false
 * (ExitBackend) if its headers are missing or, unless `kind` is CcObject, the
 * files to link with. */
bool cc_has_library(Arena *a, const CcOptions *o, const Target *t, CcKind kind,
                    Fault *why);

/* ---- kernel_table.c ---- */

/* Returns the prebuilt kernel with the name given by use_tile() or
 * use_kernel(), for a target. NULL if there is none of that name; every tile
 * exists. */
void *kernel_find(const Target *t, const char *name);
/* Returns the name of the i-th prebuilt kernel for a target; NULL after the
 * last. */
const char *kernel_name(const Target *t, int i);

/* ---- jit.c ---- */
typedef struct {
    void *code; /* NULL: none */
    size_t bytes;
    void *entry; /* the requested function */
    void *names; /* names of its functions, if published; NULL */
} JitCode;
/* Compiles `text` in this process, with the kernels built into attnc for
 * `target`. `symbol` is the function that returns the model. */
bool jit_load(JitCode *j, const struct attn_model **model, const char *text,
              const char *symbol, const Target *target, Fault *why);
/* Like jit_load(), and publishes the function names to profilers in
 * /tmp/perf-PID.map, and to GDB together with the source lines. A note prints
 * the path of the source text. */
bool jit_load_named(JitCode *j, const struct attn_model **model,
                    const char *text, const char *symbol, const Target *target,
                    Fault *why);
void jit_unload(JitCode *j);
/* Like jit_load(), for a text that exports one function; *at receives it. */
bool jit_function(JitCode *j, void **at, const char *text, const char *symbol,
                  const Target *target, Fault *why);

typedef struct Tier Tier;
typedef struct { /* a model that can be called */
    const struct attn_model *model;
    void *library; /* from a C compiler */
    JitCode jit;   /* from libtcc */
    Tier *tier;    /* both (tier.h): `model` calls one of them */
} Backend;

/* ---- objcache.c ---- */
typedef struct {
    CText text;
    const char *symbol; /* the function that returns the model */
    const char *what;   /* description shown in listings of the cache */
    CcOptions cc;
} ObjectText;
/* Loads the shared object for a text from the cache, or compiles it with these
 * flags and this compiler. *key receives its cache key; `key` may be NULL. */
bool objcache_load(Arena *a, Backend *b, const ObjectText *t, CacheKey *key,
                   Fault *why);
/* Loads the object with a key from objcache_load(). Returns false if it is no
 * longer in the cache. */
bool objcache_find(Arena *a, Backend *b, CacheKey key, const char *symbol);

/* Prints a note with the path of the object, where profilers and debuggers find
 * the names of its functions. */
void objcache_names(const Backend *b);

/* ---- backend.c ---- */
typedef enum { BackendJit, BackendCc, BackendAuto } BackendKind;

typedef struct {
    const char *cc;        /* BackendCc: the compiler's name; NULL: clang */
    const char *level;     /* BackendCc; NULL: "2" */
    struct Timers *timers; /* times the model's steps; NULL: no timing */
    bool perf;             /* publish function names and print where */
} BackendOptions;

/* Parses "jit" (also NULL), "auto", "clang", "gcc" or a compiler's path; sets
 * o->cc. */
BackendKind backend_kind(const char *name, BackendOptions *o);
/* Loads a model. The arena is not used after the call. */
bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why);
void backend_unload(Backend *b);
/* Returns the `bound` argument of the model's calls, made from its packed
 * weights. The arena and `packed` must outlive the calls. */
void *backend_bind(const Backend *b, Arena *a, const void *packed);
/* Makes the input of a C compiler for a plan. Returns false if the compiler is
 * not installed. */
bool backend_text(ObjectText *to, Arena *a, const Plan *p,
                  const BackendOptions *o, Fault *why);
/* Returns false (ExitBackend) if this processor lacks an instruction set that
 * `target` needs. */
bool target_runs_here(const Target *target, Fault *why);

#endif
