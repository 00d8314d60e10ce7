/* table.h: tables that fit the width of the terminal. */
#ifndef ATTNC_TABLE_H
#define ATTNC_TABLE_H

#include "base/base.h"

typedef struct {
    int width; /* with the space before it */
    int rank;  /* 0: always shown; the highest is dropped first */
    bool shown;
} TableFit;

/* Returns the columns that a table on `out` may take; 0: it is no terminal, so
 * there is no limit. */
int table_room(FILE *out);
/* Sets `shown` of n columns so that they fit into `room`, and returns the room
 * left, which may be negative. Room 0: shows all and returns 0. */
int table_fit(TableFit *column, int n, int room);
/* Returns the text; if it is longer than `width` bytes, its two ends joined by
 * "...". */
const char *cut_middle(Arena *a, const char *text, int width);

#endif
