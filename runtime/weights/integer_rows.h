/* integer_rows.h: quantises matrices to integers with a scale for each column
 * (formats.h).                                                              */
#ifndef ATTNC_INTEGER_ROWS_H
#define ATTNC_INTEGER_ROWS_H

#include "weights.h"

typedef struct {             /* the lanes of a panel that belong to an item */
    int64_t column;          /* column of the item that is in lane first_lane */
    int64_t first_lane, end; /* the lanes: first_lane .. end - 1 */
} LaneRange;

typedef struct { /* functions that receive the integers */
    void *to;
    /* Receives numbers k .. k + ATTN_GROUP - 1 of a panel's columns in packed
     * form. Called up to the padded size. Lanes outside the range are
     * undefined. */
    void (*lines)(void *to, const LaneRange *, int64_t k,
                  const unsigned char *lines);
    /* Called last: receives the scales and the sums of all stored integers. */
    void (*scales)(void *to, const LaneRange *, const float *scale,
                   const int32_t *total);
} Taker;

/* Quantises rows row .. row + rows - 1 of the item. They are columns of its
 * block and may begin at any lane of a panel. Values that are not finite become
 * arbitrary integers. */
void integers_make(Elements *e, int64_t row, int64_t rows, const Taker *taker);

/* Sizes in bytes of the two parts of a packed group: `fours`, the lines that
 * hold four bytes per column, and `ones`, the lines that hold one (block scales
 * and offsets; 0 if the format has none). */
typedef struct {
    int64_t fours, ones;
} GroupBytes;
GroupBytes group_bytes(Dtype d);
/* Decodes the integers of one lane from the lines of a group. */
void lane_integers(Dtype d, const unsigned char *lines, int64_t lane,
                   int8_t out[ATTN_GROUP]);

#endif
