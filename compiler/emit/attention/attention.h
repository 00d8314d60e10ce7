/* attention.h: which keys a query sees, where keys and values are, and the
 * function of one shape of attention. */
#ifndef ATTNC_EMIT_ATTENTION_H
#define ATTNC_EMIT_ATTENTION_H

#include "emit/gen/gen.h"

#define Log2E 0x1.71547652b82fep+0 /* softmax takes powers of 2 */

/* ---- mask.c ---- */
void need_mask(Gen *g, const MaskSpec *m); /* NULL: no mask */
/* The mask of a file, as a function of positions of that type. */
void need_mask_of_file(Gen *g, Emit *e, const MaskSpec *m, const char *integer);
const char *prefix_text(Gen *g);                  /* of sequence s */
const char *mask_name(Gen *g, const MaskSpec *m); /* of a file's function */
/* Emitted C: the first key that the row at position p sees, the last + 1. */
const char *mask_from(Gen *g, const MaskSpec *m, const char *p);
const char *mask_to(Gen *g, const MaskSpec *m, const char *p, const char *count,
                    const char *prefix);
const char *mask_first(Gen *g, const MaskSpec *m);
const char *mask_last(Gen *g, const MaskSpec *m);
/* Do rows from position p to `last` not all see all n keys of the page at `at`?
 */
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
/* Binds $outputs, $sums, $maxima: where they begin, in floats a query. */
void let_scratch(Emit *e, int64_t keys, int64_t d_v);
Attention attention_of(Gen *g, int node); /* without its name */
/* "attention_64x64_causal": the name printed from a node's task. */
const char *attention_base(Gen *g, int node);
/* Tells the functions of a node's task from those of others; size[2] and
 * size[3] are free. */
SharedKey attention_key(Gen *g, SharedKind kind, int node);
/* Binds what the text of its functions asks for. */
void let_attention(Emit *e, const Attention *a);
/* Scores of products become what softmax takes times $scale: `rows` rows and
 * columns, "s, 64, s, 64, r, n"; `biased`: "s, r, n, " and where the biases of
 * the first of these rows and keys are.                                     */
void put_score_ops(Gen *g, const Attention *a, const char *rows,
                   const char *biased);
void need_keys(Gen *g); /* struct keys */
/* Makes the function if it is not there yet, and returns its name. */
const char *need_attention(Gen *g, int node);

/* ---- heads.c ---- */
enum { HeadsAtOnce = 4 };
/* Can a row's heads be worked on so many at once? */
bool heads_together(const Gen *g, int node);
const char *need_heads(Gen *g, int node);
/* "heads_at_once(b, 0, tasks, parts)": how many a task has; `apart`: where no
 * two sequences have one source. */
const char *heads_at_once(Gen *g, bool apart);

/* ---- waiting.c ---- */

/* Do rows of softmax wait for the scores of others, beside whose products they
 * become weights? Where registers hold a tile and what these need.          */
bool rows_wait(const Gen *g, const Attention *a);
/* The function that adds values of rows that wait, if it is not there yet. */
void need_waiting(Gen *g, const Attention *a);
/* What is begun before the first page; ends for rows that wait. Of a tile, from
 * row j of the block at i, that sees all of a page, whose keys and values are
 * k, v: its `scores`, and, where these are what softmax takes, the rest. */
void put_waiting_begin(Gen *g);
void put_waiting_end(Gen *g, const Attention *a);
void put_waiting_scores(Gen *g, const Attention *a);
void put_waiting_values(Gen *g, const Attention *a);

/* ---- short_attention.c ---- */

/* What hides keys; NULL: nothing, as of the last row of all. */
const MaskSpec *attention_mask(const Gen *g, const Node *n);
/* Are its queries and keys known, and few enough for one pass? */
bool is_short_attention(const Gen *g, const Node *n);
const char *need_short_attention(Gen *g, const Node *n);

/* ---- kv_cache.c ---- */

/* A task is one head of one sequence: `s`, `head`, its first `row`. */
void begin_tasks(Gen *g, Emit *e, int64_t heads, Sym rows);
void begin_task_loop(Gen *g, Emit *e, int each); /* heads of a lone sequence */
const char *head_at(Gen *g, int node, const char *row);
/* Emitted C for the number of keys of sequence s, its table of pages (NULL: in
 * the arena, without one), and the page of key `at`.                        */
const char *count_text(Gen *g, const Node *k);
const char *page_table(Gen *g, const Node *n);
/* Emitted C: where what a node leaves of sequence s after row `row` of its
 * target lies, in a page of the self cache.                                 */
const char *state_text(Gen *g, int node, const char *row);
/* The same after the last row of `source`, of a node of encode. */
const char *source_state(Gen *g, int node);
void let_page_id(Gen *g, Emit *e, const Node *n);
void let_page(Gen *g, Emit *e, int node, const char *to, const char *head);
/* "head / 2": the keys' head of a query head. */
const char *kv_head(Gen *g, int64_t heads, const Node *k);
const char *bias_text(Gen *g, int node);
const char *sink_text(Gen *g, int node);
const char *score_text(Gen *g, int node); /* v of additive scores */

#endif
