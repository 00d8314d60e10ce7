/* build.h: shared by the build_*.c files: the state of a graph under
 * construction, and functions that add nodes to it. */
#ifndef ATTNC_BUILD_H
#define ATTNC_BUILD_H

#define READS_LAYERS /* Build.s is the spec of the current layer */
#include "graph/graph.h"

typedef struct {
    Graph *g;
    const Spec *s;
    Entry entry;
    Stack stack;
    int layer;
    Sublayer sublayer;
    bool outside_layers;  /* value of Node.outside_layers for new nodes */
    const char *prefix;   /* prefix of the words of nodes outside the layers,
                           * e.g. "source." */
    const char *field;    /* YAML key that new nodes come from; copied to
                           * Node.pos */
    const SpecSide *side; /* sizes of the current stack */
    VEC(int) tables;      /* nodes of the stack's position tables */
    int tied;             /* node of the tied table; -1: not built yet */
    int *cross[2];        /* Append node of each [part][decoder layer]; -1:
                             the layer has no cross-attention */
    int *scans; /* scan node of each encoder layer; NULL: not needed */
} Build;

/* build_node.c. Each function adds one or more nodes at the current place of
 * `b`, names the last one `word`, and returns its index. */
int put_node(Build *b, Node n, const char *word);
int put_unary(Build *b, Op op, int x, const char *word);
int put_binary(Build *b, Op op, int x, int y, const char *word);
/* Joins the columns of x and y head by head. `heads_kv` is the number of heads
 * of y: `heads`, or 1 if all heads share one. */
int put_join(Build *b, int x, int y, int64_t heads, int64_t heads_kv,
             const char *word);
/* Return x, without a new node, if the factor is 1 or the cap is 0. */
int put_scale(Build *b, int x, double by, const char *word);
int put_softcap(Build *b, int x, double cap, const char *word);
/* Clips the rows of a projection if the spec has attention.clip. */
int put_clipped(Build *b, int x, const char *word);
int put_activation(Build *b, int x, Activation act, const char *word);
/* Each adds a constant: a computed table, the tensor WORD.weight, or the tensor
 * WORD.bias. The shape is [rows, columns], or [rows] if `columns` is 0. */
int put_table(Build *b, Op op, int64_t rows, int64_t columns, const char *word);
int put_weight(Build *b, int64_t rows, int64_t columns, const char *word);
int put_bias(Build *b, int64_t rows, const char *word);
/* Adds WORD.weight in the format that the spec requests. `readers` has the
 * ReadBy bits of all nodes that will read it. */
int put_matrix(Build *b, int64_t rows, int64_t columns, const char *word,
               int readers);
/* Returns the number of columns of x. */
int64_t width_of(const Build *b, int x);
/* Adds x W^T, plus b if `bias` is set. The last node is named `word`. */
int put_linear(Build *b, int x, int64_t out, bool bias, const char *word);
int put_norm(Build *b, int x, const char *word);
/* Normalises each head by itself. `each` gives each head weights of its own,
 * which are tensors of their own: WORD.{e}.weight. */
int put_head_norm(Build *b, int x, int64_t heads, bool each, const char *word);
/* Adds `parts` tensors of this shape as one constant. Their names are
 * `pattern` with a number in the place of {e}. */
int put_parts(Build *b, int64_t parts, int64_t rows, int64_t columns,
              const char *word, const char *pattern);

char *build_join(Build *b, const char *head, const char *tail);
/* Places later nodes in this entry and stack, outside the layers. */
void build_enter(Build *b, Entry entry, Stack stack);

/* build_recurrent.c: adds a recurrent network. The result has the shape of
 * x. */
int build_recurrent(Build *b, int x);

/* build_convolution.c: adds a convolution over the rows of x. */
int build_convolution(Build *b, int x);
/* Adds a product whose input rows each hold `taps` rows of x side by side
 * (im2col). */
int put_product_of_taps(Build *b, int x, int64_t taps, int64_t out, bool bias,
                        const char *word);

/* build_layer.c */
/* Adds all layers of b->side, and the final norm. */
int build_layers(Build *b, int x);
/* Adds the keys and values of each decoder layer's cross-attention. They depend
 * only on the source, so the encode entry computes them once. */
void append_memory(Build *b, int memory);
/* Adds one attention for the given queries, keys and values. */
int build_heads(Build *b, const int x[3]);

/* build_positions.c */
/* Rotates the columns of each head by their position if the spec has rotary
 * positions. `part` is PartKey or PartQuery. */
int put_turned(Build *b, int x, int64_t heads, int part, const char *word);
/* Returns the table of learned score biases, one per distance and head. */
int put_biases(Build *b);

/* build_latent.c */
typedef struct { /* nodes whose rows have all heads side by side */
    int q, k, v;
} Heads;
/* Adds latent attention's queries, keys and values for rows x. */
Heads build_latent(Build *b, int x);

/* build_ffn.c */
/* Adds w2 act(w1 x), gated if the spec requests it, with d_ff inner columns.
 * The names of all its nodes begin with `prefix`. */
int build_dense(Build *b, int x, int64_t d_ff, const char *prefix);
/* build_experts.c: adds the mixture of Spec.ffn_experts experts. */
int build_experts(Build *b, int x);

#endif
