/* draw.h: attention weights as a picture, or as numbers. */
#ifndef ATTNC_DRAW_H
#define ATTNC_DRAW_H

#include "compiler.h"

typedef struct {                 /* one softmax of the unfused graph */
    const char *name;            /* decoder.0.cross_attn.weights */
    int layer;                   /* in its stack */
    int side[2];                 /* of its queries, of its keys: 0 or 1 */
    int heads;
    const float *weight;         /* [heads][queries][keys]; -1: masked, that is
                                    0, and the softmax never saw the key */
} AttentionMap;

typedef struct {
    const char *model;
    const char *side[2];         /* "source", "target" */
    const char *const *label[2]; /* their tokens */
    int n[2];                    /* how many */
    AttentionMap *map;
    int maps;
    int head, query;             /* these alone; -1: all */
} AttentionPicture;

/* A token of n bytes as text that people, XML and JSON can read: control
 * characters, and bytes that are not UTF-8, are \xHH.                       */
const char *attention_label(Arena *a, const char *token, int64_t n);
/* Such text in SVG, at most so many columns, then dots. Returns the columns.
 * out NULL: writes nothing.                                                 */
int svg_text(FILE *out, const char *s, int most);
/* UTF-8 without control characters, spaces as they are. */
void svg_plain(FILE *out, const char *s);
/* Matrices that the picture has of a map, and the first one's head. */
int attention_heads(const AttentionPicture *p, const AttentionMap *m);
/* SVG: for each map a matrix for each head, queries down, keys to the right;
 * with a chosen query one matrix for each map, a row for each head.         */
char *draw_attention(const AttentionPicture *p, size_t *size);  /* malloc'd */
/* The same numbers as JSON. attention_json.c */
char *attention_json(const AttentionPicture *p, size_t *size);  /* malloc'd */

#endif
