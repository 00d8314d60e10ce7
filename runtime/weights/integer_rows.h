/* integer_rows.h: quantises matrices to integers with a scale for each column
 * (formats.h).                                                              */
#ifndef ATTNC_INTEGER_ROWS_H
#define ATTNC_INTEGER_ROWS_H

#include "weights.h"

typedef struct {             /* the columns of a panel that belong to an item */
    int64_t column;          /* column of the item in the first lane */
    int64_t first_lane, end; /* range of lanes */
} LaneRange;

typedef struct { /* callbacks that receive the integers */
    void *to;
    /* Receives numbers k .. k + ATTN_GROUP - 1 of a panel's columns in packed
     * form, up to the padded size. Other lanes are undefined.               */
    void (*lines)(void *to, const LaneRange *, int64_t k,
                  const unsigned char *lines);
    /* Called last: receives the scales and the sums of all stored integers. */
    void (*scales)(void *to, const LaneRange *, const float *scale,
                   const int32_t *total);
} Taker;

/* Quantises rows row .. row + rows - 1 of the item, which are columns of its
 * block; they may begin at any lane of a panel. Values that are not finite
 * become arbitrary integers.                                                */
void integers_make(Elements *e, int64_t row, int64_t rows, const Taker *taker);

/* Bytes of a group's lines: those with four bytes per column, then those with
 * one byte per column.                                                      */
typedef struct {
    int64_t fours, ones;
} GroupBytes;
GroupBytes group_bytes(Dtype d);
/* Decodes the integers of one lane of a group's lines. */
void lane_integers(Dtype d, const unsigned char *lines, int64_t lane,
                   int8_t out[ATTN_GROUP]);

#endif
