/* table.h: tables that are no wider than the terminal that shows them. */
#ifndef ATTNC_TABLE_H
#define ATTNC_TABLE_H

#include "base/base.h"

typedef struct {
    int width; /* with the space before it */
    int rank;  /* 0: always shown; the highest is left out first */
    bool shown;
} TableFit;

/* Columns that a table on `out` may have: those of its terminal; 0: it is none,
 * and a table has all.                                                       */
int table_room(FILE *out);
/* Sets `shown` of n columns so that they fit the room, and returns what is left
 * of it, which may be less than 0. Room 0: all are shown, 0.                 */
int table_fit(TableFit *column, int n, int room);
/* The text, or, where it is longer than `width` bytes, both of its ends and
 * "..." between them.                                                        */
const char *cut_middle(Arena *a, const char *text, int width);

#endif
