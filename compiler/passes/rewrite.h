/* rewrite.h: the passes, in running order, and what they share. */
#ifndef ATTNC_PASS_H
#define ATTNC_PASS_H

#include "passes/passes.h"

int fold_scale(Graph *g);
int merge_qkv(Graph *g);
int fuse_attention(Graph *g);
int fuse_norm(Graph *g);
int fuse_gate(Graph *g);
int fuse_epilogue(Graph *g);
int fuse_embed(Graph *g);
int last_rows(Graph *g);
int dead_code(Graph *g);
int pack_kv(Graph *g);
int quantize_rows(Graph *g);

/* What passes have to say, at the node that a message shows. */
typedef struct {
    Pos pos;
    Missed of;   /* the node, and what of it */
    bool missed; /* a fusion failed */
} Remark;
typedef struct Remarks {
    Remark *at;
    int n, cap;
} Remarks;
/* A pass calls this for each place where it could not do its work ... */
void pass_missed(const Graph *g, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* ... and this where its work is better left undone. */
void pass_note(const Graph *g, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls rewrite() on each node once, in order, and sweeps if one was rewritten.
 * rewrite() returns how many rewrites it made. A rewrite turns the last node
 * of its pattern into the result, so that its readers need no change.       */
int pass_each(Graph *g, int (*rewrite)(Graph *g, int node));

/* NULL when a pass may take `node` into its only reader, so that it is seen no
 * more; else why not, as a half sentence.                                   */
const char *pass_refuses(const Graph *g, int node);
/* The same, reported as a miss at `root`. */
bool pass_takes(const Graph *g, int node, int root);

/* Are both of one layer, in one entry? */
bool same_part(const Node *a, const Node *b);

#endif
