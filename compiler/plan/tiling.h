/* tiling.h: the tasks of a model, and how each of them is worked on.       */
#ifndef ATTNC_TILING_H
#define ATTNC_TILING_H

#include "spec/spec.h"

/* Tasks are what is tuned: distinct by kind, shape, dtype and ending. */
typedef enum {
    TaskMatmul,                  /* a product: "512x2048" (k, n), "bias_relu" */
    TaskFew,                     /* the same, of few rows */
    TaskAttention,               /* "64x64" (d_k, d_v), "causal_paged" */
    TaskRows,                    /* row blocks: "512x2048_2048x512", "" */
    TaskSplit,                   /* of all among threads: "encode_decode";
                                    "512x2048x12": d_model, d_ff, layers */
    TaskKinds
} TaskKind;
extern const char *const task_word[TaskKinds];   /* "matmul", "few" .. */
extern const char *const dtype_word[];           /* "f32", "bf16", NULL */

#define On(kind) (1 << (kind))
#define OnProducts (On(TaskMatmul) | On(TaskAttention))

typedef struct {                 /* a value for each knob; 0: as by default */
#define KNOB(name, ...) int32_t name;
#include "plan/knobs.h"
#undef KNOB
} Tiling;

typedef struct {                 /* one knob, as text and as numbers */
    const char *name;
    int tasks;                   /* On() the kinds that have it */
    int32_t least, most, step;
    const char *text;
    size_t at;                   /* in a Tiling */
} Knob;
enum {
#define KNOB(name, ...) Knob_##name,
#include "plan/knobs.h"
#undef KNOB
    Knobs
};
extern const Knob knobs[Knobs];
int32_t knob_get(const Tiling *t, int knob);
void    knob_set(Tiling *t, int knob, int32_t value);
/* Is each value 0 or one that the knob may have, on a task of that kind? */
bool    tiling_valid(const Tiling *t, TaskKind kind);
bool    tiling_same(const Tiling *a, const Tiling *b);
/* "mr=6 nr=64": what is not 0, in the order of the knobs. */
char   *tiling_text(Arena *a, const Tiling *t);

typedef struct {                 /* what tells one task from another */
    TaskKind kind;
    const char *shape, *ending;  /* "512x2048"; "bias_relu", "causal_paged" */
    Dtype dtype;
} TaskKey;
bool task_same(const TaskKey *a, const TaskKey *b);

typedef struct {                 /* a task of a plan */
    TaskKey key;
    int node;                    /* the first that needs it; -1: TaskSplit */
    Tiling tiling;               /* every knob that it has, settled */
    Tiling usual;                /* the same as the tool would choose */
    const char *from;            /* "default", "option", "tuned" */
} Task;

/* Tilings that were found to be best; what is not among them is as the tool
 * chooses. */
typedef struct { TaskKey key; Tiling tiling; } Choice;
typedef struct {
    const Choice *at; int n;
    const char *host;            /* where: machine, threads, compiler */
} Choices;

#endif
