/* attention.h: emits attention masks, the addresses of keys and values, and
 * attention functions. */
#ifndef ATTNC_EMIT_ATTENTION_H
#define ATTNC_EMIT_ATTENTION_H

#include "emit/gen/gen.h"

#define Log2E 0x1.71547652b82fep+0 /* log2(e): softmax uses powers of 2 */

/* ---- mask.c ---- */
/* Emits the functions of a mask; `m` NULL: there is no mask. */
void need_mask(Gen *g, const MaskSpec *m);
/* Emits the function of a mask that is read from a file. Positions have the C
 * type `integer`. */
void need_mask_of_file(Gen *g, Emit *e, const MaskSpec *m, const char *integer);
/* Returns C for the length of a sequence's prefix; NULL if the mask has none.
 */
const char *prefix_text(Gen *g, const MaskSpec *m);
/* Returns the name of a mask that is read from a file. */
const char *mask_name(Gen *g, const MaskSpec *m);
/* Return C for the first key that the row at position p sees (NULL: key 0), and
 * for the last key plus 1. */
const char *mask_from(Gen *g, const MaskSpec *m, const char *p);
const char *mask_to(Gen *g, const MaskSpec *m, const char *p, const char *count,
                    const char *prefix);
const char *mask_first(Gen *g, const MaskSpec *m);
const char *mask_last(Gen *g, const MaskSpec *m);
/* Returns C that is true if any row at positions p to `last` does not see all n
 * keys of the page at `at`. */
const char *mask_edge(Gen *g, const MaskSpec *m, const char *p,
                      const char *last);
/* Returns true if the code for a page, which is at the mask's edge or not,
 * reads the position of its rows. */
bool needs_position(const Node *n, bool edge);
void put_mask_interval(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_holes(Gen *g, Emit *e, const MaskSpec *m);
void put_mask_values(Gen *g, Emit *e, const MaskSpec *m);

/* ---- fused_attention.c ---- */
typedef struct { /* properties of a task that determine its functions */
    const char *name;
    const Node *n, *k, *v;
    const Tiling *t;
    bool paged;
} Attention;
Attention attention_of(Gen *g, int node); /* leaves `name` unset */
/* Returns the printed name of a node's task: "attention_64x64_causal". */
const char *attention_base(Gen *g, int node);
/* Returns the key that identifies the functions of a node's task. The caller
 * sets size[2] and size[3]. */
SharedKey attention_key(Gen *g, SharedKind kind, int node);
/* Binds the $ holes in the text of the functions. */
void let_attention(Emit *e, const Attention *a);
/* Emits scaling, cap and bias of raw scores. Afterwards $scale is the factor
 * that softmax applies. `rows` is an argument list with destination, source,
 * rows and columns, e.g. "s, 64, s, 64, r, n". `biased` is "s, r, n, " and the
 * address of the bias for the first row and key. */
void put_score_ops(Gen *g, const Attention *a, const char *rows,
                   const char *biased);
void need_keys(Gen *g); /* emits struct keys */
/* Emits the function unless it exists, and returns its name. */
const char *need_attention(Gen *g, int node);

/* ---- heads.c ---- */
enum { HeadsAtOnce = 4 };
/* True if HeadsAtOnce heads of a row can be computed at the same time. */
bool heads_together(const Gen *g, int node);
const char *need_heads(Gen *g, int node);
/* Returns C for the number of heads per task: "heads_at_once(b, 0, tasks,
 * parts)". If `apart` is set, that is 1 for neighbouring sequences that share a
 * source. */
const char *heads_at_once(Gen *g, bool apart);

/* ---- waiting.c ---- */

/* True if softmax is pipelined: the scores of one tile become weights while the
 * next tile is multiplied. This needs enough registers for both. */
bool rows_wait(const Gen *g, const Attention *a);
/* Emits the functions of pipelined softmax unless they exist. */
void need_waiting(Gen *g, const Attention *a);
/* Emit the parts of pipelined softmax: its state before the first page; the end
 * of the pending rows; and, for the tile at row j of the block at i, which sees
 * all of a page with keys k and values v, the product that computes `scores`
 * and the step after put_score_ops(). */
void put_waiting_begin(Gen *g);
void put_waiting_end(Gen *g, const Attention *a);
void put_waiting_scores(Gen *g, const Attention *a);
void put_waiting_values(Gen *g, const Attention *a);

/* ---- short_attention.c ---- */

/* Returns the mask of a node, or NULL if the mask hides no keys, e.g. for the
 * last row of a sequence. */
const MaskSpec *attention_mask(const Gen *g, const Node *n);
/* True if the numbers of queries and keys are constant and small enough for a
 * single pass. */
bool is_short_attention(const Gen *g, const Node *n);
const char *need_short_attention(Gen *g, const Node *n);

/* ---- widened.c ---- */

/* Binds $outputs, $sums, $maxima and $end to the offsets of these arrays in the
 * scratch memory, in floats per query. */
void let_scratch(Emit *e, int64_t keys, int64_t d_v);
/* True if keys or values are read from a cache whose format is not f32. */
bool is_widened(const Gen *g, const Node *n);
/* Returns the floats from a head's keys or values in a page to the units of
 * their rows; 0: they have none, because they are no integers. */
int64_t units_offset(const Gen *g, const Node *n);
typedef struct {
    const char *y, *s; /* C for destination and source: "s, 64" */
    const char *rows;  /* C for rows and keys: "r, n" */
    const char *units; /* C for the first key's unit */
} UnitRows;
/* Emits the product of scores or weights and units if there are units. */
void put_units(Gen *g, Emit *e, const Node *n, const UnitRows *at);
/* Returns the kernel that writes rows of keys or values to their page. */
const char *pack_kernel(Gen *g, const Node *n);
/* Returns the kernel that multiplies by the pages of four heads. */
const char *heads_product(Gen *g, const Node *k);
typedef struct {
    const char *page; /* C for the address of a head's keys or values */
    const char *keys; /* C for the number of keys that are read */
    const char *wide; /* C for the memory of a page in f32 */
} StoredPage;
/* Declares `k` or `v`, a page of keys or values in f32, and `k_units` or
 * `v_units` if its rows have units. */
void put_stored_page(Gen *g, Emit *e, const Node *n, const StoredPage *at);
/* Declares k or v, the keys or the values of the page at `at`. */
void put_page(Gen *g, const Attention *a, int part);
/* Returns C for the memory of a page in f32, at the end of a part's scratch. */
const char *wide_text(Gen *g, const char *scratch);

/* ---- kv_cache.c ---- */

/* Begins the loop over tasks; a task is one head of one sequence. Declares `s`,
 * `head`, and `row`, the first row of the sequence. */
void begin_tasks(Gen *g, Emit *e, int64_t heads, const HeadColumns *own,
                 Sym rows);
/* Begins only the loop, with `each` heads per task. */
void begin_task_loop(Gen *g, Emit *e, int each);
const char *head_at(Gen *g, int node, const char *row);
/* Return C for the number of keys of sequence s, for its page table (NULL if
 * its pages are in the arena), and for the page of key `at`. */
const char *count_text(Gen *g, const Node *k);
const char *page_table(Gen *g, const Node *n);
/* Returns C for the address, in the self cache, of the state that a node leaves
 * after row `row` of sequence s. */
const char *state_text(Gen *g, int node, const char *row);
/* Like state_text(), but after the last row of `source`, for a node of
 * encode(). */
const char *source_state(Gen *g, int node);
void let_page_id(Gen *g, Emit *e, const Node *n);
/* Returns C for the address of a head's keys or values in a page. */
const char *page_at(Gen *g, int node, const char *head, const char *page);
/* Returns C for the key head that serves `head`, such as "head / 2". */
const char *kv_head(Gen *g, int64_t heads, const Node *k);
const char *bias_text(Gen *g, int node);
const char *sink_text(Gen *g, int node);
const char *score_text(Gen *g, int node); /* returns C for the head's vector of
                                           * scores */
/* fused_attention.c: returns the name of the function that computes scores. */
const char *need_scores(Gen *g, const Node *n, const Tiling *t);

#endif
