/* build.h: what build_graph.c, build_layer.c and build_node.c share: where the
 * next nodes of a graph belong, and functions that add them. */
#ifndef ATTNC_BUILD_H
#define ATTNC_BUILD_H

#define READS_LAYERS /* of Build.s, which is the layer's */
#include "graph/graph.h"

typedef struct {
    Graph *g;
    const Spec *s;
    Entry entry;
    Stack stack;
    int layer;
    Sublayer sublayer;
    bool outside_layers;  /* Node.outside_layers of what is added */
    const char *prefix;   /* of words outside the layers: "source." */
    const char *field;    /* of the spec, for Node.pos */
    const SpecSide *side; /* of the spec, of this stack */
    VEC(int) tables;      /* of its layers' positions */
    int tied;             /* the tied table; -1: not there yet */
    int *cross[2];        /* by part, by decoder layer: the Append;
                             -1: the layer has no cross-attention */
    int *scans;           /* by encoder layer: the scan; NULL: not asked for */
} Build;

/* build_node.c: each adds nodes that are called so in the place where b is, and
 * returns the last of them.                                                 */
int put_node(Build *b, Node n, const char *word);
int put_unary(Build *b, Op op, int x, const char *word);
int put_binary(Build *b, Op op, int x, int y, const char *word);
/* Columns of x, then of y, of each head; y has heads_kv, 1 or as many. */
int put_join(Build *b, int x, int y, int64_t heads, int64_t heads_kv,
             const char *word);
/* Nothing is added, and x returned, for a factor 1, a cap 0, no activation. */
int put_scale(Build *b, int x, double by, const char *word);
int put_softcap(Build *b, int x, double cap, const char *word);
int put_vector(Build *b, int64_t rows, const char *word);
/* What attention.clip leaves of a projection's rows. */
int put_clipped(Build *b, int x, const char *word);
int put_activation(Build *b, int x, Activation act, const char *word);
/* A table, and the tensors WORD.weight and WORD.bias: [rows, columns], or
 * [rows] where columns is 0.                                                */
int put_table(Build *b, Op op, int64_t rows, int64_t columns, const char *word);
int put_weight(Build *b, int64_t rows, int64_t columns, const char *word);
int put_bias(Build *b, int64_t rows, const char *word);
/* WORD.weight in the format that the spec has for it. `readers`: bits of
 * ReadBy, all that will read it.                                            */
int put_matrix(Build *b, int64_t rows, int64_t columns, const char *word,
               int readers);
/* Columns of the rows of x. */
int64_t width_of(const Build *b, int x);
/* x W^T, and + b where there is a bias. The result is called `word`. */
int put_linear(Build *b, int x, int64_t out, bool bias, const char *word);
int put_norm(Build *b, int x, const char *word);
int put_head_norm(Build *b, int x, int64_t heads, const char *word);

char *build_join(Build *b, const char *head, const char *tail);
/* Later nodes are in the named stack and entry, outside of its layers. */
void build_enter(Build *b, Entry entry, Stack stack);

/* build_recurrent.c: from rows to rows of the same width. */
int build_recurrent(Build *b, int x);

/* build_convolution.c */
int build_convolution(Build *b, int x);
/* A product of `taps` rows side by side. */
int put_product_of_taps(Build *b, int x, int64_t taps, int64_t out, bool bias,
                        const char *word);

/* build_layer.c */
/* All layers of b->side, and the norm after them. */
int build_layers(Build *b, int x);
/* Keys and values of each decoder layer's cross-attention. They depend on the
 * source alone, so the encode entry makes them, once.                       */
void append_memory(Build *b, int memory);
/* Attention alone, on rows of queries, keys and values. */
int build_heads(Build *b, const int x[3]);

/* build_positions.c */
/* Rows of so many heads, each turned by its position where that is rotary;
 * part: PartKey, PartQuery.                                                 */
int put_turned(Build *b, int x, int64_t heads, int part, const char *word);
/* The table of a learned number for each distance, by head. */
int put_biases(Build *b);

/* build_latent.c */
typedef struct { /* rows, all heads side by side */
    int q, k, v;
} Heads;
/* By way of narrow rows. */
Heads build_latent(Build *b, int x);

/* build_ffn.c */
/* w2 act(w1 x), or with a gate, of so many columns inside; `prefix` is before
 * the names of all of it.                                                   */
int build_dense(Build *b, int x, int64_t d_ff, const char *prefix);
/* build_experts.c: the network of Spec.ffn_experts. */
int build_experts(Build *b, int x);

#endif
