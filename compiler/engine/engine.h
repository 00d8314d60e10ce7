/* engine.h: everything a command needs of one model, made in this order: spec,
 * graph, passes, plan, then weights, vocabularies, compiled code. Messages go
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

typedef struct {
    const char *spec;
    const Source *text; /* the spec's text if it is not in a file, or NULL */
    const char *const *sets;
    int nsets;
    PassOptions passes;
    const char *const *taps;
    int ntaps;              /* nodes to keep, by graph name */
    bool keep_all;          /* the value of every node can be read back */
    bool small_m;           /* for tests: small-M products get their own loop
                               nests even if their weights are small */
    const char *march;      /* NULL: "native" */
    int width;              /* 0: the default of the target */
    const char *tile;       /* NULL: the default */
    const char *backend;    /* NULL: "jit"; or "auto", "clang", a compiler */
    const char *cc, *level; /* NULL: clang, "2" */
    const char *weights;    /* overrides the spec's file; NULL: the spec's */
    bool allow_nan;         /* accept NaN in weights that stay f32 or bf16 */
    uint64_t seed;          /* for random weights */
    int64_t threads;        /* -1: one per physical core; 0, 1: one */
    int64_t part_work;      /* minimum FLOPs per thread; 0: the default */
    bool perf;              /* publish the names of libtcc's functions */
    bool verbose;           /* report what `auto` does */
    bool tuned;             /* use the tuning records of this machine ... */
    const char *records;    /* ... from this file; NULL: the user's own */
    /* Called before weights are loaded; returns an exit code, after a message,
     * if the command does not support such a model. NULL: supports all. */
    int (*fits)(const Spec *s, const void *command);
    const void *command; /* argument of fits() */
    int offers;          /* Offers that a hint may suggest; 0: no hint */
    Choices choices;     /* used if not `tuned` */
} EngineOptions;

typedef struct {
    void *block; /* NULL: none */
    int64_t bytes;
} VocabBlock;

typedef struct {
    Arena *arena;
    EngineOptions options;
    Spec *spec;
    Graph *unfused; /* as built */
    Graph *graph;   /* after the passes */
    Target target;
    Records records; /* all records that were read */
    Choices choices; /* from the records or the options */
    Plan *plan;
    Safetensors *file; /* NULL: seeded weights */
    void *packed;      /* 64-byte aligned, plan->pack.bytes */
    CacheEntry kept;   /* packed weights from the cache, if used */
    CacheKey cache_key_of_weights;
    bool keeps;   /* requested: cache large packed weights */
    bool to_keep; /* engine_close() caches these weights */
    VocabBlock source, target_vocab;
    Backend backend;
    void *bound;                          /* filled by model->bind() */
    struct attn_pool *pool;               /* NULL: one thread */
    const struct attn_parallel *parallel; /* the pool's, or set by a test */
} Engine;

/* Builds spec, graph and passes. `log` receives the output of --dump and
 * --explain. */
int engine_graph(Engine *e, const EngineOptions *o, FILE *log);
/* Does what engine_graph() does, then makes the plan. */
int engine_plan(Engine *e, const EngineOptions *o);
/* Describes the host that code is made for with these options. Returns false if
 * the compiler is not installed. */
bool engine_host(Arena *a, const EngineOptions *o, const Target *t, Host *to,
                 Fault *why);
/* Returns the number of threads that the options request, at least 1. */
int engine_threads(const EngineOptions *o);
/* Opens the weights file, if one is named, and checks it against the plan. The
 * report holds the findings. */
int engine_file(Engine *e, Report *report);
/* Prints the errors and warnings found by weights_check() and frees the
 * report. */
void print_report(Report *r);
/* Loads the plan's weights: checks and packs the file, or makes random
 * weights. */
int engine_weights(Engine *e);
/* Loads the vocabularies named in the spec; only text needs them. */
int engine_vocab(Engine *e);
/* Does all of the above, then compiles and binds the model. */
int engine_open(Engine *e, const EngineOptions *o);
void engine_close(Engine *e); /* frees whatever was made, even after an error */

/* Returns zeroed, 64-byte aligned memory, allocated in the arena. */
void *aligned_memory(Arena *a, int64_t bytes);

#endif
