/* engine.h: everything that a command needs of one model, made in order: spec,
 * graph, passes, plan; then weights, vocabularies, compiled code. Messages go
 * to stderr; the functions return an exit code.
 *
 * In:  the options of a model: its spec, weights, back end, threads.
 * Out: an Engine with all of these, ready to be called.                     */
#ifndef ATTNC_ENGINE_H
#define ATTNC_ENGINE_H

#include "runtime/base/pool.h"
#include "base/user_cache.h"
#include "backend/backend.h"
#include "records/records.h"

/* what a command takes and a hint may name */
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
    const Source *text; /* of the spec, where it is in no file; or NULL */
    const char *const *sets;
    int nsets;
    PassOptions passes;
    const char *const *taps;
    int ntaps;              /* nodes to keep, by graph name */
    bool keep_all;          /* every node's value can be read back */
    bool small_m;           /* products of a small M have their own loop
                               nests, even of small weights: tests */
    const char *march;      /* NULL: "native" */
    int width;              /* 0: the target's own */
    const char *tile;       /* NULL: the default */
    const char *backend;    /* NULL: "jit"; or "auto", "clang", a compiler */
    const char *cc, *level; /* NULL: clang, "2" */
    const char *weights;    /* wins over the spec's; NULL: that one */
    bool allow_nan;         /* in weights that stay f32 or bf16 */
    uint64_t seed;          /* of weights that no file gives */
    int64_t threads;        /* -1: one a physical core; 0, 1: one */
    int64_t part_work;      /* FLOPs worth a thread; 0: the default */
    bool perf;              /* libtcc's functions are known by name */
    bool verbose;           /* say what a model in two tiers does */
    bool tuned;             /* as the records of this machine say .. */
    const char *records;    /* .. in this file; NULL: the user's own */
    /* Asked before weights are made whether the command is for such a model:
     * an exit code, after a message. NULL: every model will do.             */
    int (*fits)(const Spec *s, const void *command);
    const void *command; /* its options, for fits() */
    int offers;          /* Offers, for a hint that names records of
                            other options; 0: no hint */
    Choices choices;     /* where not `tuned` */
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
    Records records; /* all that were read */
    Choices choices; /* of them, or of the options */
    Plan *plan;
    Safetensors *file; /* NULL: seeded weights */
    void *packed;      /* 64-byte aligned, plan->pack.bytes */
    CacheEntry kept;   /* where they are of an earlier run */
    CacheKey kept_key;
    bool keeps;   /* asked: large weights that are packed are kept */
    bool to_keep; /* these are, when the engine is closed */
    VocabBlock source, target_vocab;
    Backend backend;
    void *bound;                          /* as model->bind() filled it */
    struct attn_pool *pool;               /* NULL: one thread */
    const struct attn_parallel *parallel; /* of the pool, or a test's own */
} Engine;

/* Spec, graph and passes. `log`: where --dump and --explain print. */
int engine_graph(Engine *e, const EngineOptions *o, FILE *log);
int engine_plan(Engine *e, const EngineOptions *o); /* and the plan */
/* The host that code of these options is for. False: there is no such
 * compiler.                                                                  */
bool engine_host(Arena *a, const EngineOptions *o, const Target *t, Host *to,
                 Fault *why);
/* That the options ask for: 1 or more. */
int engine_threads(const EngineOptions *o);
/* The file of weights, opened and checked against the plan, where one is named.
 * What the check found comes in the report.                                 */
int engine_file(Engine *e, Report *report);
/* Both error and warning lines, as weights_check wrote them; frees them. */
void print_report(Report *r);
/* The plan's weights: checks the file and packs it, or seeds them. */
int engine_weights(Engine *e);
/* Vocabularies that the spec names; text needs them, ids do not. */
int engine_vocab(Engine *e);
/* All of that, then compiles and binds: the model runs. */
int engine_open(Engine *e, const EngineOptions *o);
void engine_close(Engine *e); /* of what any of them made */

/* Memory for numbers: zeroed, 64-byte aligned, in the arena. */
void *aligned_memory(Arena *a, int64_t bytes);

#endif
