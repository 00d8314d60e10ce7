/* parts.h: shared by the files that print a model. Each section of the
 * emitted file is text of its own; model.c puts them in order.              */
#ifndef ATTNC_EMIT_PARTS_H
#define ATTNC_EMIT_PARTS_H

#include "emit/emit.h"
#include "plan/plan.h"

typedef struct {      /* one region's function, or list of steps */
    const char *base; /* name that the region asked for */
    const char *name; /* the same, or numbered */
    const char *comment, *body;
    bool is_list;
    bool takes_weights, takes_layer;
} Function;

typedef struct { /* the layers of one stack (weights.c) */
    Stack stack;
    int n;                /* of layers that have weights */
    const char **members; /* text of each one's struct of weights */
    int *like;            /* the first layer with the same text */
    bool alike;           /* all of them */
} Layers;

typedef struct {
    Arena *a;
    const Plan *p;
    const EmitOptions *o;
    Kernels *kernels;
    Arena *scratch;          /* of the region that is printed now */
    Emit *shapes;            /* products and attention of one shape */
    Index shape_names;       /* made already */
    VEC(Function) functions; /* each text once .. */
    Index function_texts;    /* .. by that */
    Index function_names;    /* by base: place in `taken` */
    VEC(int) taken;          /* how many functions have that base */
    int *function_of;        /* by region: its steps' list, or its step */
    int *step_of;            /* by place in the plan's order: its step */
    const Task *only;        /* the one that is printed; NULL: all */
    Layers layers[Stacks];
} Gen;

/* -------------------------------------------------------------- call.c --- */
/* A call or prototype, broken at commas to 80 columns:
 *     head(args)tail                                                       */
void put_call(Gen *g, Emit *e, const char *head, const char *args,
              const char *tail);
bool first_time(Gen *g, const char *name); /* of a shape function */

/* -------------------------------------------------- panels.c, matmul.c --- */
typedef struct { /* what follows a product: EpBias .. */
    int parts;
    Activation act; /* ActNone: none */
    Dtype dtype;    /* of the product's weights */
} Epilogue;
/* Each makes the function for its shape if it is not there yet, and returns
 * its name.                                                                 */
const char *need_matmul(Gen *g, int node);
const char *need_panels(Gen *g, const Tiling *t, bool accumulate);
/* All rows against nr columns: tiles whose heights differ by one at most, for a
 * low one reads the panels as long as a high one does. The first of them ask
 * for panels that are read soon.                                            */
const char *need_rows(Gen *g, const Tiling *t, int nr, Epilogue ep);
int tile_steps(const Tiling *t, int step[4]); /* nr, then 32, 16 */
/* How a node's task is worked on; NULL: it has none of that kind. */
const Tiling *tiling_of(const Gen *g, TaskKind kind, int node);
/* What tells functions of one tiling from those of another, where a file has
 * several: "_6x64" of attention.                                            */
const char *panels_suffix(Gen *g, const Tiling *t);
/* ", v" as the last argument, where panels are asked for; else "". */
const char *next_panels(Gen *g, const Tiling *t, const char *next);
/* A product's epilogue; its weights' [n, k]. */
Epilogue epilogue_of(const Gen *g, int node);
/* Shared with small_m.c: a call of a tile; "_bias_relu"; the parameters of a
 * product; the epilogue of `sums` "c, 32", in kernels.                      */
typedef struct {
    const char *sums, *bias, *y, *residual, *size;
} Finish;
void put_finish(Gen *g, Epilogue ep, Finish f);
void put_tile(Gen *g, int mr, int nr, Epilogue ep, const char *args);
const char *epilogue_suffix(Arena *a, Epilogue ep);
void matmul_prototype(Gen *g, const char *name, Epilogue ep);
void need_least(Gen *g);

/* ----------------------------------------------------------- small_m.c --- */
/* The product of few rows, for `shape` "_bias_relu_512x2048"; its call, where
 * the rows are few. t: of TaskFew.                                          */
void emit_few(Gen *g, const Tiling *t, const char *shape, int64_t k,
              Epilogue ep);
void put_few_call(Gen *g, const Tiling *t, const char *shape, Epilogue ep);

/* --------------------------------------------------------- attention.c --- */
const char *need_attention(Gen *g, int node);
void emit_attention_region(Gen *g, Emit *e, int node);
void emit_pages_region(Gen *g, Emit *e, const Region *r);
/* A task is one head of one sequence: `s`, `head`, its first `row`. */
void begin_tasks(Gen *g, Emit *e, int64_t heads, Sym rows);
void begin_task_loop(Emit *e);
const char *head_at(Gen *g, int node, const char *row);
/* Emitted C for the number of keys of sequence s, its table of pages (NULL: in
 * the arena, without one), and the page of key `at`.                        */
const char *count_text(Gen *g, const Node *k);
const char *page_table(Gen *g, const Node *n);
void let_page_id(Gen *g, Emit *e, const Node *n);
void let_page(Gen *g, Emit *e, int node, const char *to, const char *head);
/* "head / 2": the keys' head of a query head. */
const char *kv_head(Gen *g, int64_t heads, const Node *k);
const char *bias_text(Gen *g, int node);

/* -------------------------------------------------------------- mask.c --- */
void need_most(Gen *g);
void need_mask(Gen *g, const MaskSpec *m);        /* NULL: no mask */
const char *prefix_text(Gen *g);                  /* of sequence s */
const char *mask_name(Gen *g, const MaskSpec *m); /* of a file's function */
/* Emitted C: the first key that the row at position p sees, the last + 1. */
const char *mask_from(Gen *g, const MaskSpec *m, const char *p);
const char *mask_to(Gen *g, const MaskSpec *m, const char *p, const char *count,
                    const char *prefix);
const char *mask_first(Gen *g, const MaskSpec *m);
const char *mask_last(Gen *g, const MaskSpec *m);
const char *mask_edge(Gen *g, const MaskSpec *m);
void put_mask_interval(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_holes(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_values(Gen *g, Emit *e, const MaskSpec *m);

/* --------------------------------------------------- naive_attention.c --- */
void emit_scores_region(Gen *g, Emit *e, int node);
void emit_context_region(Gen *g, Emit *e, int node);
void emit_head_rows_region(Gen *g, Emit *e, int node);

/* ------------------------------------------------------------ region.c --- */
void make_functions(Gen *g); /* fills functions and function_of */
void emit_function(Gen *g, Emit *e, const Function *f);
/* Where a row of a value begins. block_row: the first of those that the step
 * works on, which is where values that never leave a block begin.           */
const char *value_at(Gen *g, int node, const char *row);
extern const char block_row[]; /* "c->row" */
const char *row_count(Sym s);  /* "c->b->rows" */
const char *starts_of(Sym s);  /* "start" or "key_start" of the batch */

/* -------------------------------------------------------------- rows.c --- */
void emit_row_op(Gen *g, Emit *e, int node);
const char *weight_of(Gen *g, int root, PackLayout layout);

/* ------------------------------------------------------------ gather.c --- */
void emit_embed(Gen *g, Emit *e, int node);
void emit_position(Gen *g, Emit *e, int node);
void emit_rotate(Gen *g, Emit *e, int node);
void emit_first_row(Gen *g, Emit *e, int node);
void emit_pool(Gen *g, Emit *e, int node);
void emit_select(Gen *g, Emit *e, int node);

/* ----------------------------------------------------------- weights.c --- */
const char *weight_text(Gen *g, int block); /* "w->norm1" */
void emit_weight_structs(Gen *g, Emit *e);
void emit_bind(Gen *g, Emit *e);
/* "encoder[l]" or "encoder_2": member of struct weights; index NULL: that of
 * the layer.                                                              */
const char *layer_weights(Gen *g, Stack stack, int layer, const char *index);
const char *layer_type(Gen *g, Stack stack, int layer);
bool layers_alike(Gen *g, Stack stack);

/* ------------------------------------------------------------- split.c --- */
void need_cut(Gen *g);            /* where a part begins */
void emit_split(Gen *g, Emit *e); /* runs a step's parts */
void emit_split_rows(Gen *g, Emit *e, Entry entry);
/* Emitted C: what a region costs that does not go row by row. */
const char *work_text(Gen *g, const Region *r);
/* The values of an entry's arena, those with one name once: the next one from
 * *at on, which begins at 0; NULL: there are no more.                       */
const Value *next_value(const Gen *g, Entry entry, int *at);
const char *entry_name(Entry e); /* "encode", "decode" */

/* ------------------------------------------------------------- entry.c --- */
void emit_call_structs(Gen *g, Emit *e); /* struct encode, struct decode */
void emit_entries(Gen *g, Emit *e);      /* layouts, encode(), decode() */
bool has_entry(const Plan *p, Entry entry);

/* ----------------------------------------------------------- comment.c --- */
void emit_comment(Gen *g, Emit *e); /* the first of the file */

/* ------------------------------------------------------------- model.c --- */
void emit_dimensions(Gen *g, Emit *e, const char *prefix);
const char *layers_text(Gen *g, Stack stack, int n); /* ENCODER_LAYERS */

/* ----------------------------------------------------------- program.c --- */
void paste(Emit *e, const char *text, const char *end);
void emit_core_types(Gen *g, Emit *e); /* core.h, up to its functions */
void emit_core_type(Emit *e, const char *from, const char *last);
void emit_core(Gen *g, Emit *e);         /* the decoder, pasted */
const char *core_text(const char *from); /* a part of the core's headers */
void emit_api(Gen *g, Emit *e);          /* the model and exported functions */
/* exports.c: those of the core that are exported, for header and file. */
void emit_door_prototypes(Gen *g, Emit *e);
void emit_doors(Gen *g, Emit *e);
void emit_embedded(Gen *g, Emit *e);
void emit_main(Gen *g, Emit *e);
bool has_decoder(const Plan *p); /* it generates, so it has the core */

#endif
