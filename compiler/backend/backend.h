/* backend.h: turns a plan into a model that runs in this process.
 *
 *   plan -> emit -> libtcc ----------------> memory      (jit.c)
 *               \-> C compiler -> cached .so -> dlopen   (cc.c, objcache.c)
 *
 * In:  a Plan or C text, a compiler's name, and its flags.
 * Out: the entries of a model in memory, or files made by a compiler.
 * This directory also handles child processes, temporary directories and
 * signals. See also tier.h, for a model that uses both compilers. */
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
void interrupt_unwind(void); /* ends the pairs that a failed attempt left */
void interrupts_off(void);   /* from now on, signals are left alone, and only
                              * interrupt_ask() interrupts */
void interrupts_on(void);    /* in a child of fork(): undoes interrupts_off() */
void interrupt_ask(void);    /* safe in signal handlers and from any thread */
void interrupt_takes(int64_t group);
void interrupt_leaves(int64_t group);
/* Prepares a process just forked by `parent`. The process gets its own process
 * group, so that the terminal's signals reach only the parent. It dies with the
 * parent, has default handlers for fatal signals, and leaves no core file. */
void interrupt_child(int64_t parent);

/* ---- temp.c ---- */
typedef struct {     /* a temporary directory */
    char path[4000]; /* path; "": no directory */
    int lock;        /* descriptor of its lock file, locked while the directory
                      * is in use */
} TempFolder;
const char *temp_root(void); /* returns TMPDIR, or /tmp if that is unset */
/* Creates a temporary directory in `in`. If `in` is NULL, uses temp_root() and
 * first removes directories that killed processes left there. Returns false and
 * sets errno on failure. */
bool temp_open(TempFolder *t, const char *in);
/* Removes the directory and everything in it. */
void temp_close(TempFolder *t);

/* ---- spawn.c ---- */

typedef struct {     /* output of a program */
    char tail[4096]; /* end of its stderr */
    char out[4096];  /* start of its stdout */
} Spawned;

typedef struct { /* a program to run, and the result */
    const char *const *argv;
    const char *input;
    size_t input_bytes;
    double seconds; /* time limit; 0: SpawnLimits.seconds */
    Spawned messages;
    bool ok;
    Fault why;
    bool late;     /* killed at its time limit */
    int signal;    /* signal that killed it; 0: none */
    double took;   /* seconds that it ran */
    int64_t begin; /* start time on the clock that spawn.c uses */
} SpawnJob;

enum { SpawnMost = 64 };
typedef struct {
    int at_once;        /* number of parallel programs, at most SpawnMost */
    double seconds;     /* time limit of each program */
    int out_fd;         /* descriptor for their stdout; -1: use `messages` of
                         * each job */
    const char *folder; /* parent of their temporary folders; NULL: TMPDIR */
    bool as_user;       /* pass attnc's complete environment to them */
} SpawnLimits;
/* Runs all jobs and waits for them, each as spawn() does. */
void spawn_all(SpawnJob *jobs, int n, const SpawnLimits *l);

/* Runs argv[0], an absolute path, without a shell, with `input` on stdin. The
 * environment has only PATH, HOME, LANG=C and a TMPDIR made for the program.
 * After `seconds`, its process group is killed. Returns false (ExitBackend) if
 * the program could not be started, was killed, ran too long, or returned
 * nonzero. */
bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why);
/* Returns the absolute path of a program, or NULL if there is none. A name with
 * a slash is a path relative to the working directory; any other name is
 * searched for in PATH. */
const char *find_program(Arena *a, const char *name);

/* ---- cc.c ---- */
typedef enum { CcObject, CcShared, CcProgram } CcKind;

typedef struct {
    const char *at;
    size_t n;
} CText; /* C source text to compile */

typedef struct {                 /* how to compile C */
    const char *compiler;        /* absolute path, as from cc_find() */
    const char *level;           /* -O level, e.g. "2" */
    const char *target;          /* value of --target; NULL: no such option */
    const char *march;           /* value of -march; "generic": no option */
    const char *const *features; /* features, e.g. "avx512vnni"; NULL: none */
    const char *include;         /* directory for -I; NULL: none */
    int seconds;                 /* time limit; 0: ten minutes */
    bool print;                  /* print the command line without running it */
} CcOptions;

/* Returns the path of the compiler `name`. If `name` is NULL, returns the first
 * installed compiler of clang-19, clang, and clang-18 to clang-14. Returns NULL
 * with *why if there is none. */
const char *cc_find(Arena *a, const char *name, Fault *why);
/* Returns the path of the nth installed compiler, counting from 0: the first of
 * the clangs above, gcc, cc. Returns NULL with *why if fewer are installed. */
const char *cc_nth(Arena *a, int n, Fault *why);
/* Returns the name of a C compiler in PATH that messages can suggest: cc, gcc
 * or one of the clangs above. Returns NULL if there is none. */
const char *cc_to_type(Arena *a);
/* Returns the first line that the compiler prints for --version. */
const char *cc_version(Arena *a, const char *compiler, Fault *why);
/* Compiles `text` to the file `output`, which appears complete or not at
 * all. */
bool cc_compile(Arena *a, const CcOptions *o, CcKind kind, CText text,
                const char *output, Fault *why);
/* Returns the words of the command that compiles stdin to `output`, followed by
 * NULL. */
const char *const *cc_command(Arena *a, const CcOptions *o, CcKind kind,
                              const char *output);
/* Returns the command line without input and output, as one text. */
const char *cc_flags(Arena *a, const CcOptions *o, CcKind kind);
/* Joins the words of argv; `quoted` puts each in double quotes. */
const char *cc_words(Arena *a, const char *const *argv, bool quoted);

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

/* Returns the address of a kernel that was prebuilt for the target. `name`
 * comes from use_tile() or use_kernel(). Returns NULL if there is no such
 * kernel; every tile has one. */
void *kernel_find(const Target *t, const char *name);
/* Returns the name of the i-th prebuilt kernel for the target; NULL after the
 * last. */
const char *kernel_name(const Target *t, int i);

/* ---- jit.c ---- */
typedef struct {
    void *code; /* memory that holds the code; NULL: nothing is loaded */
    size_t bytes;
    void *entry; /* address of the requested function */
    void *names; /* handle for jit_forget_names(); NULL: nothing published */
} JitCode;
/* Compiles `text` in a child process and links it with the kernels that were
 * prebuilt for `target`. `symbol` is the function that returns the model.
 * Several threads may call this at once. Returns false if memory ran out
 * (ExitResource), if libtcc rejects the text (ExitInternal), or if it crashed
 * or the system refuses its code (ExitBackend). */
bool jit_load(JitCode *j, const struct attn_model **model, const char *text,
              const char *symbol, const Target *target, Fault *why);
/* Like jit_load(), and publishes the function names: to profilers in
 * /tmp/perf-PID.map, and to GDB with the source lines. A note shows the path of
 * the source text. */
bool jit_load_named(JitCode *j, const struct attn_model **model,
                    const char *text, const char *symbol, const Target *target,
                    Fault *why);
void jit_unload(JitCode *j);
/* Like jit_load(), for text that exports a function of any type. Sets *at to
 * the function's address. */
bool jit_function(JitCode *j, void **at, const char *text, const char *symbol,
                  const Target *target, Fault *why);

typedef struct Tier Tier;
/* Calls what(with), which may allocate, print and fail. Returns false if that
 * is impossible now, because another thread compiles. */
typedef bool TierGuard(void (*what)(void *with), void *with);
typedef struct { /* a model that can be called */
    const struct attn_model *model;
    void *library; /* dlopen() handle of the C compiler's object */
    JitCode jit;   /* code from libtcc */
    Tier *tier;    /* code from both (tier.h): `model` calls one of them */
} Backend;

/* ---- objcache.c ---- */
typedef struct {
    CText text;
    const char *symbol; /* name of the function that returns the model */
    const char *what;   /* description shown in cache listings */
    CcOptions cc;
} ObjectText;
/* Loads the shared object for a text from the cache, after compiling it if it
 * is missing. If `key` is not NULL, *key receives the cache key. */
bool objcache_load(Arena *a, Backend *b, const ObjectText *t, CacheKey *key,
                   Fault *why);
/* Loads the object whose key objcache_load() returned. Returns false if the
 * cache no longer has it. */
bool objcache_find(Arena *a, Backend *b, CacheKey key, const char *symbol);

/* Prints a note with the path of the object, where profilers and debuggers find
 * the function names. */
void objcache_names(const Backend *b);

/* ---- backend.c ---- */
typedef enum { BackendJit, BackendCc, BackendAuto } BackendKind;

typedef struct {
    const char *cc;        /* for BackendCc: the compiler's name; NULL: clang */
    const char *level;     /* for BackendCc: the -O level; NULL: "2" */
    struct Timers *timers; /* timers for the model's steps; NULL: no timing */
    bool perf;             /* publish function names, and print where they
                            * are */
} BackendOptions;

/* Returns the backend that `name` selects: "jit" (or NULL), "auto", "clang",
 * "gcc" or a compiler's path. Sets o->cc. */
BackendKind backend_kind(const char *name, BackendOptions *o);
/* Loads a model. The arena is not used after the call. */
bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why);
void backend_unload(Backend *b);
/* Returns the argument `bound` of the model's calls, made from the packed
 * weights. The arena and `packed` must outlive the calls. */
void *backend_bind(const Backend *b, Arena *a, const void *packed);
/* Sets *to to the emitted text of a plan and the options for the C compiler.
 * Returns false if the compiler is not installed. */
bool backend_text(ObjectText *to, Arena *a, const Plan *p,
                  const BackendOptions *o, Fault *why);
/* Returns false (ExitBackend) if this processor lacks an instruction set that
 * `target` needs. */
bool target_runs_here(const Target *target, Fault *why);

#endif
