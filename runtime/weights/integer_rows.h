/* integer_rows.h: matrices as integers with a scale for each column
 * (formats.h). */
#ifndef ATTNC_INTEGER_ROWS_H
#define ATTNC_INTEGER_ROWS_H

#include "weights.h"

typedef struct {             /* a panel's columns that are an item's */
    int64_t column;          /* of the item, that of the first lane */
    int64_t first_lane, end; /* lanes */
} LaneRange;

typedef struct { /* who takes the integers */
    void *to;
    /* Numbers k .. k + ATTN_GROUP - 1 of a panel's columns, as they are packed,
     * up to all that is stored: what the other lanes have is nothing. */
    void (*lines)(void *to, const LaneRange *, int64_t k,
                  const unsigned char *lines);
    /* Behind all of them: their scales, and sums of all that is stored. */
    void (*scales)(void *to, const LaneRange *, const float *scale,
                   const int32_t *total);
} Taker;

/* Rows row .. row + rows - 1 of the item, which are columns of its block, from
 * any lane of a panel on. What is not finite becomes some integer.          */
void integers_make(Elements *e, int64_t row, int64_t rows, const Taker *taker);

/* Of these lines: bytes in fours for each column, and behind them single ones.
 */
typedef struct {
    int64_t fours, ones;
} GroupBytes;
GroupBytes group_bytes(Dtype d);
/* The integers of a lane of what a Taker gets. */
void lane_integers(Dtype d, const unsigned char *lines, int64_t lane,
                   int8_t out[ATTN_GROUP]);

#endif
