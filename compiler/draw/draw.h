/* draw.h: draws a graph, an arena or attention weights as SVG; attention
 * weights can also be printed as JSON. svg.h and plot.h have the parts that all
 * pictures share.
 *
 * In:  a graph, a plan, or the attention weights of given tokens.
 * Out: a document as text.
 * Other public headers: svg.h, plot.h, graph_picture.h, arena_picture.h. */
#ifndef ATTNC_DRAW_H
#define ATTNC_DRAW_H

#include "passes/passes.h"
#include "plan/plan.h"

typedef struct {       /* weights computed by one softmax of the unfused
                          graph */
    const char *name;  /* e.g. decoder.0.cross_attn.weights */
    const char *title; /* e.g. "decoder layer 0, cross-attention" */
    int layer;         /* index of the layer in the stack */
    int side[2];       /* sides of the queries and of the keys, as indices
                          into AttentionPicture.side */
    int heads;
    const float *weight; /* [heads][queries][keys]; -1: the key is masked */
} AttentionMap;

typedef struct {
    const char *model;
    const char *side[2]; /* names of the sides, e.g. "source", "target" */
    const char *const *label[2]; /* tokens of each side */
    int n[2];                    /* number of tokens of each side */
    AttentionMap *map;
    int maps;
    int head, query; /* draws only this head and this query; -1: all */
} AttentionPicture;

enum { AttentionCells = 1 << 24 }; /* maximum number of weights in a picture */
/* Returns the number of weights of a map that are drawn. */
int64_t attention_cells(const AttentionPicture *p, const AttentionMap *m);
/* Returns the number of heads of a map that are drawn. */
int attention_heads(const AttentionPicture *p, const AttentionMap *m);
/* Draws a matrix for each head of each map; rows are queries, columns are keys.
 * If a query is chosen, draws one matrix per map, in which rows are heads. */
const char *draw_attention(Arena *a, const AttentionPicture *p);
/* attention_json.c: returns the numbers that draw_attention() draws as JSON. */
const char *attention_json(Arena *a, const AttentionPicture *p);

#endif
