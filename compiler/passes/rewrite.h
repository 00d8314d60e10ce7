/* rewrite.h: the passes in the order in which they run, and their helpers. */
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

/* A remark of a pass, with the source position for its message. */
typedef struct {
    Pos pos;
    Missed of;   /* the node and the text */
    bool missed; /* true if a fusion failed */
} Remark;
typedef struct Remarks {
    Remark *at;
    int n, cap;
} Remarks;
/* Records a place where the pass should have rewritten but could not. */
void pass_missed(const Graph *g, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Records a place where the pass chose not to rewrite. */
void pass_note(const Graph *g, int node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls rewrite() once on each node in order, sweeps the graph if a node was
 * rewritten, and returns the sum of the rewrites that the calls return. A
 * rewrite turns the last node of its pattern into the result, so that its
 * readers need no change. */
int pass_each(Graph *g, int (*rewrite)(Graph *g, int node));

/* Returns NULL if a pass may absorb `node` into its only reader, so that the
 * node disappears; otherwise the reason, as the end of a sentence. */
const char *pass_refuses(const Graph *g, int node);
/* Returns true if a pass may absorb `node`; otherwise reports a failed fusion
 * at `root`. */
bool pass_takes(const Graph *g, int node, int root);

/* True if both nodes are in the same layer and the same entry. */
bool same_part(const Node *a, const Node *b);

#endif
