/* engine.h: everything that a command needs for one model, built in this order:
 * spec, graph, passes, plan, weights, vocabularies, compiled code. Messages go
 * to stderr; the functions return an exit code.
 *
 * In:  the options of a model: spec, weights, backend, threads.
 * Out: an Engine that is ready to be called. */
#ifndef ATTNC_ENGINE_H
#define ATTNC_ENGINE_H

#include "runtime/base/pool.h"
#include "base/user_cache.h"
#include "backend/backend.h"
#include "records/records.h"

/* options that a command accepts and a hint may suggest */
typedef enum {
    OfferMarch = 1,
    OfferWidth = 2,
    OfferThreads = 4,
    OfferBackend = 8,
    OfferCc = 16,
    OfferLevel = 32
} Offers;

/* A call that needs more memory gets no further sequence. Its last one may
 * exceed the limit by any amount. */
enum { BatchBytes = 1 << 27 };

typedef struct {
    const char *spec;
    const Source *text; /* text of the spec, or NULL to read it from the file */
    const char *const *sets;
    int nsets;
    PassOptions passes;
    const char *const *taps;
    int ntaps;              /* number of `taps`: names of nodes whose values can
                             * be read back */
    bool hidden;            /* the result is what the head would read */
    bool keep_all;          /* the value of every node can be read back */
    bool small_m;           /* for tests: small-M products get their own loop
                               nests even if their weights are small */
    const char *march;      /* instruction set; NULL: "native" */
    int width;              /* floats per vector; 0: the target's default */
    const char *tile;       /* tiling of all products; NULL: the default */
    const char *backend;    /* "jit", "auto", "clang", "gcc" or a compiler's
                             * path; NULL: "jit" */
    const char *cc, *level; /* C compiler and -O level; NULL: clang and "2" */
    const char *weights;    /* path instead of the spec's; NULL: the spec's */
    bool allow_nan;         /* accept NaN in weights that stay f32 or bf16 */
    uint64_t seed;          /* for random weights */
    int64_t threads;        /* -1: one per physical core; 0, 1: one */
    int64_t part_work;      /* minimum FLOPs per thread; 0: the default */
    bool perf;              /* publish function names to profilers */
    TierGuard *guard;       /* of the backend "auto": not NULL if several
                             * threads call the model. engine_close() then ends
                             * the compiler. */
    bool verbose;           /* report the steps of the backend "auto" */
    bool tuned;             /* use tuning records for this machine */
    const char *records;    /* file of tuning records; NULL: the user's own */
    /* Called before weights are loaded. If the command does not support the
     * model, prints a message and returns an exit code; otherwise returns 0.
     * NULL: supports all models. */
    int (*fits)(const Spec *s, const void *command);
    const void *command; /* argument of fits() */
    int offers;          /* Offers that a hint may suggest; 0: no hint */
    Choices choices;     /* used if not `tuned` */
} EngineOptions;

typedef struct {
    void *block; /* the vocabulary; NULL: none */
    int64_t bytes;
} VocabBlock;

typedef struct {
    Arena *arena;
    EngineOptions options;
    Spec *spec;
    Graph *unfused; /* the graph before any pass */
    Graph *graph;   /* the graph after the passes */
    Target target;
    Records records; /* all records that were read */
    Choices choices; /* from the records or the options */
    Plan *plan;
    Safetensors *file; /* the weights file; NULL: random weights */
    void *packed;      /* packed weights: plan->pack.bytes, 64-byte aligned */
    CacheEntry kept;   /* cache entry that `packed` points into, if any */
    CacheKey cache_key_of_weights;
    bool keeps;   /* the caller wants large packed weights to be cached */
    bool to_keep; /* engine_close() writes `packed` to the cache */
    VocabBlock source, target_vocab;
    Backend backend;
    void *bound;                          /* weights from backend_bind() */
    struct attn_pool *pool;               /* threads; NULL: only the caller's */
    const struct attn_parallel *parallel; /* interface to `pool`, or set by a
                                             test */
} Engine;

/* Builds spec and graph, and runs the passes. Output of --dump and --explain
 * goes to `log`. */
int engine_graph(Engine *e, const EngineOptions *o, FILE *log);
/* Calls engine_graph(), then makes the plan. */
int engine_plan(Engine *e, const EngineOptions *o);
/* After engine_plan(), plans the same graph for other targets, with the
 * options' records for them, in to[t->n]. Returns an exit code. */
int engine_plans(Engine *e, const TargetList *t, const Plan **to);
/* Sets *t to the target that the options select. */
bool engine_target(const EngineOptions *o, Target *t, Fault *why);
/* Describes the host that these options generate code for. Returns false if the
 * compiler is not installed. */
bool engine_host(Arena *a, const EngineOptions *o, const Target *t, Host *to,
                 Fault *why);
/* Returns the number of threads that the options request, at least 1. */
int engine_threads(const EngineOptions *o);
/* Opens the weights file, if one is named, and checks it against the plan.
 * *report receives the errors and warnings. */
int engine_file(Engine *e, Report *report);
/* Prints the errors and warnings found by weights_check() and frees the
 * report. */
void print_report(Report *r);
/* Loads the plan's weights: checks and packs the file, or makes random ones. */
int engine_weights(Engine *e);
/* Loads the vocabularies that the spec names. Only commands that handle text
 * need them. */
int engine_vocab(Engine *e);
/* Does all steps above, then compiles the model and binds its weights. */
int engine_open(Engine *e, const EngineOptions *o);
/* Opens the smaller model at `path`, with the code options of `e`, and sets
 * *to, with which it proposes tokens to streams of `e`. If it cannot, prints a
 * message. Returns an exit code; engine_close() follows in any case. */
int engine_open_drafter(Engine *small, const Engine *e, const char *path,
                        struct attn_drafter *to);
void engine_close(Engine *e); /* also after a failed step */

/* Returns zeroed, 64-byte aligned memory, allocated in the arena. */
void *aligned_memory(Arena *a, int64_t bytes);

#endif
