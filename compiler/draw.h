/* draw.h: attention weights as a picture. */
#ifndef ATTNC_DRAW_H
#define ATTNC_DRAW_H

#include "lines.h"

typedef struct {                 /* one softmax of the unfused graph */
    const char *name;            /* decoder.0.cross_attn.weights */
    int64_t heads, rows, columns;
    const float *weight;         /* [heads][rows][columns] */
    const char *const *query;    /* [rows] text of each token */
    const char *const *key;      /* [columns] */
} AttentionMap;

typedef struct {
    AttentionMap *map;
    int maps;
    int64_t head, query;         /* -1: all */
} AttentionPicture;

/* SVG: a row for each map, a matrix for each of its heads. */
char *draw_attention(const AttentionPicture *p, size_t *size);  /* malloc'd */

#endif
