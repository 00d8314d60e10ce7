/* plan.h: what the emitter prints. The plan decides everything: buffers,
 * packed weights, kernels, tiles, regions; the emitter never decides.       */
#ifndef ATTNC_PLAN_H
#define ATTNC_PLAN_H

#include "../runtime/rt.h"

typedef struct {                 /* what code is made for */
    const char *march;           /* "x86-64-v4", "x86-64-v3", ..., "generic" */
    int width;                   /* floats in a vector: 16, 8, 4, 1 */
    bool fma;                    /* the machine multiplies and adds at once */
    const char *guard;           /* preprocessor condition; NULL: none */
    int mr, nr;                  /* register tile: rows x columns */
    const char *tile_from;       /* "default", "option", "tuned" */
    int64_t row_block;           /* rows of a row-block region */
} Target;
/* `march` "native" asks CPUID; `width` 0: the target's own; tile NULL or
 * "6x64". False: reported by fail-style text in `why`.                      */
bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why);
const char *target_list(void);   /* names, for messages and help */

typedef struct {                 /* bytes or floats: c0 + rows, sequences .. */
    int64_t c0, rows, sequences, parts;
} Linear4;

typedef enum { PlaceNone, PlaceArena, PlaceView, PlacePacked, PlaceCache,
               PlaceInput, PlaceOutput } Place;

typedef struct {                 /* where a node's value lives */
    Place place;
    int base;                    /* PlaceView: the node that owns the memory */
    int64_t column;              /* PlaceView: first column in its rows */
    int64_t stride;              /* floats from row to row */
    int slot;                    /* PlaceArena: index into Plan.slot */
    int64_t weight_at;           /* PlacePacked: byte offset */
    PackLayout layout;           /* PlacePacked */
} Value;

typedef struct { Linear4 floats, at; const char *name; } Slot;

typedef struct {                 /* one function of the emitted file */
    int first, count;            /* into Plan.order: nodes it computes */
    bool row_block;              /* walks blocks of rows through all of them */
    Entry entry;
    const char *name;            /* encoder_ffn */
    const char *stack; int layer;
} Region;

typedef struct {                 /* layers from..to-1 are one loop */
    int first_region, regions;   /* of the first of them */
    const char *stack; int from, to;
    Entry entry;
} Loop;

typedef struct Plan Plan;
struct Plan {
    const Graph *g;
    Target target;
    Value *value;                /* by node */
    VEC(int) order;              /* nodes that emit code, by region */
    VEC(Region) region;
    VEC(Loop) loop;
    VEC(Slot) slot;
    Linear4 arena;               /* floats */
    PackList pack;
    int64_t page_floats[2], blocks[2], layer_floats[2];
    int64_t parameters;          /* distinct weights of the spec */
    bool keep_all;               /* every node's value stays (verify) */
    const char *prefix;          /* of emitted symbols */
};
Plan *plan_model(Arena *a, const Graph *g, const Target *t, bool keep_all);
int64_t linear4_at(Linear4 l, int64_t rows, int64_t sequences, int64_t parts);
char *plan_text(Arena *a, const Plan *p);      /* attnc plan */
char *plan_json(Arena *a, const Plan *p);
int64_t node_flops(const Graph *g, int node, int64_t rows, int64_t keys);
                                 /* multiply and add count as two */

#endif
