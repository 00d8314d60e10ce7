/* draw.h: SVG pictures of a graph, an arena, or attention weights, which can
 * also be printed as JSON. svg.h and plot.h have the parts all pictures share.
 *
 * In:  a graph, a plan, or the attention weights of given tokens.
 * Out: a document as text.
 * Other public headers: svg.h, plot.h, graph_picture.h, arena_picture.h. */
#ifndef ATTNC_DRAW_H
#define ATTNC_DRAW_H

#include "passes/passes.h"
#include "plan/plan.h"

typedef struct {       /* one softmax of the unfused graph */
    const char *name;  /* e.g. decoder.0.cross_attn.weights */
    const char *title; /* "decoder layer 0, cross-attention" */
    int layer;         /* index in its stack */
    int side[2];       /* side of its queries and of its keys: 0 or 1 */
    int heads;
    const float *weight; /* [heads][queries][keys]; -1: masked, so the
                            softmax never saw the key */
} AttentionMap;

typedef struct {
    const char *model;
    const char *side[2];         /* e.g. "source", "target" */
    const char *const *label[2]; /* their tokens */
    int n[2];                    /* how many */
    AttentionMap *map;
    int maps;
    int head, query; /* draw only these; -1: all */
} AttentionPicture;

/* Returns how many heads of a map are drawn. */
int attention_heads(const AttentionPicture *p, const AttentionMap *m);
/* Draws one matrix for each head of each map, queries down, keys to the right.
 * With a chosen query there is one matrix for each map, with a row for each
 * head. */
const char *draw_attention(Arena *a, const AttentionPicture *p);
/* Prints the same numbers as JSON. attention_json.c */
const char *attention_json(Arena *a, const AttentionPicture *p);

#endif
