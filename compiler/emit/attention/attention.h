/* attention.h: attention masks, the addresses of keys and values, and the
 * emitted functions of attention. */
#ifndef ATTNC_EMIT_ATTENTION_H
#define ATTNC_EMIT_ATTENTION_H

#include "emit/gen/gen.h"

#define Log2E 0x1.71547652b82fep+0 /* softmax uses powers of 2 */

/* ---- mask.c ---- */
void need_mask(Gen *g, const MaskSpec *m); /* NULL: no mask */
/* Emits the function of a mask from a file; its positions have type
 * `integer`. */
void need_mask_of_file(Gen *g, Emit *e, const MaskSpec *m, const char *integer);
const char *prefix_text(Gen *g);                  /* a sequence's prefix */
const char *mask_name(Gen *g, const MaskSpec *m); /* a mask from a file */
/* Emitted C: the first key that the row at position p sees (NULL: key 0), and
 * the last one + 1. */
const char *mask_from(Gen *g, const MaskSpec *m, const char *p);
const char *mask_to(Gen *g, const MaskSpec *m, const char *p, const char *count,
                    const char *prefix);
const char *mask_first(Gen *g, const MaskSpec *m);
const char *mask_last(Gen *g, const MaskSpec *m);
/* Emitted C: true if some row at positions p to `last` does not see all n keys
 * of the page at `at`. */
const char *mask_edge(Gen *g, const MaskSpec *m, const char *p,
                      const char *last);
void put_mask_interval(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_holes(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_values(Gen *g, Emit *e, const MaskSpec *m);

/* ---- fused_attention.c ---- */
typedef struct { /* one function of attention */
    const char *name;
    const Node *n, *k, *v;
    const Tiling *t;
    bool paged;
} Attention;
/* Binds $outputs, $sums, $maxima: their offsets in the scratch, in floats per
 * query. */
void let_scratch(Emit *e, int64_t keys, int64_t d_v);
Attention attention_of(Gen *g, int node); /* without its name */
/* "attention_64x64_causal": the name printed from a node's task. */
const char *attention_base(Gen *g, int node);
/* Returns the key that identifies the functions of a node's task; size[2] and
 * size[3] are left to the caller. */
SharedKey attention_key(Gen *g, SharedKind kind, int node);
/* Binds the holes that the text of its functions uses. */
void let_attention(Emit *e, const Attention *a);
/* Emits scaling, cap and bias of raw scores; afterwards $scale is the factor
 * that softmax applies. `rows`: destination, source, rows and columns, as in
 * "s, 64, s, 64, r, n". `biased`: "s, r, n, " and the address of the bias of
 * the first row and key. */
void put_score_ops(Gen *g, const Attention *a, const char *rows,
                   const char *biased);
void need_keys(Gen *g); /* struct keys */
/* Emits the function unless it exists, and returns its name. */
const char *need_attention(Gen *g, int node);

/* ---- heads.c ---- */
enum { HeadsAtOnce = 4 };
/* True if HeadsAtOnce heads of a row can be computed together. */
bool heads_together(const Gen *g, int node);
const char *need_heads(Gen *g, int node);
/* "heads_at_once(b, 0, tasks, parts)": the number of heads in a task. `apart`:
 * always 1 if neighbouring sequences share a source. */
const char *heads_at_once(Gen *g, bool apart);

/* ---- waiting.c ---- */

/* True if softmax is pipelined: the scores of one tile become weights during
 * the product of the next tile. This needs enough registers for both. */
bool rows_wait(const Gen *g, const Attention *a);
/* Emits the functions of pipelined softmax unless they exist. */
void need_waiting(Gen *g, const Attention *a);
/* Emit parts of pipelined softmax: its state before the first page; the end of
 * the pending rows; then, for the tile at row j of the block at i, which sees
 * all of a page with keys k and values v, the product that computes `scores`,
 * and the step that follows put_score_ops(). */
void put_waiting_begin(Gen *g);
void put_waiting_end(Gen *g, const Attention *a);
void put_waiting_scores(Gen *g, const Attention *a);
void put_waiting_values(Gen *g, const Attention *a);

/* ---- short_attention.c ---- */

/* Returns the mask of a node; NULL if it hides no keys, as for the last row of
 * a sequence. */
const MaskSpec *attention_mask(const Gen *g, const Node *n);
/* True if the queries and keys are of known number and few enough for one
 * pass. */
bool is_short_attention(const Gen *g, const Node *n);
const char *need_short_attention(Gen *g, const Node *n);

/* ---- kv_cache.c ---- */

/* Begins the loop over tasks. A task is one head of one sequence: binds `s`,
 * `head`, and `row`, its first row. */
void begin_tasks(Gen *g, Emit *e, int64_t heads, Sym rows);
void begin_task_loop(Gen *g, Emit *e, int each); /* each: heads per task */
const char *head_at(Gen *g, int node, const char *row);
/* Emitted C: the number of keys of sequence s; its table of pages (NULL: none,
 * its pages lie in the arena); the page of key `at`. */
const char *count_text(Gen *g, const Node *k);
const char *page_table(Gen *g, const Node *n);
/* Emitted C: the address in the self cache of the state that a node leaves
 * after row `row` of sequence s. */
const char *state_text(Gen *g, int node, const char *row);
/* Emitted C: like state_text(), after the last row of `source`, for a node of
 * encode(). */
const char *source_state(Gen *g, int node);
void let_page_id(Gen *g, Emit *e, const Node *n);
void let_page(Gen *g, Emit *e, int node, const char *to, const char *head);
/* "head / 2": the key head that serves `head`. */
const char *kv_head(Gen *g, int64_t heads, const Node *k);
const char *bias_text(Gen *g, int node);
const char *sink_text(Gen *g, int node);
const char *score_text(Gen *g, int node); /* v of additive attention */

#endif
