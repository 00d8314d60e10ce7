/* draw.h: pictures as SVG: a graph, an arena, attention weights, which can also
 * be printed as JSON. svg.h and plot.h have what all pictures are made of.
 *
 * In:  a graph, a plan, or the weights of attention on given tokens.
 * Out: a document as text.
 * Public beside it: svg.h, plot.h, graph_picture.h, arena_picture.h. */
#ifndef ATTNC_DRAW_H
#define ATTNC_DRAW_H

#include "passes/passes.h"
#include "plan/plan.h"

typedef struct {       /* one softmax of the unfused graph */
    const char *name;  /* decoder.0.cross_attn.weights */
    const char *title; /* "decoder layer 0, cross-attention" */
    int layer;         /* in its stack */
    int side[2];       /* of its queries, of its keys: 0 or 1 */
    int heads;
    const float *weight; /* [heads][queries][keys]; -1: masked, that is
                            0, and the softmax never saw the key */
} AttentionMap;

typedef struct {
    const char *model;
    const char *side[2];         /* "source", "target" */
    const char *const *label[2]; /* their tokens */
    int n[2];                    /* how many */
    AttentionMap *map;
    int maps;
    int head, query; /* these alone; -1: all */
} AttentionPicture;

/* Matrices that the picture has of a map, and the first one's head. */
int attention_heads(const AttentionPicture *p, const AttentionMap *m);
/* SVG: for each map a matrix for each head, queries down, keys to the right;
 * with a chosen query one matrix for each map, a row for each head.         */
const char *draw_attention(Arena *a, const AttentionPicture *p);
/* The same numbers as JSON. attention_json.c */
const char *attention_json(Arena *a, const AttentionPicture *p);

#endif
