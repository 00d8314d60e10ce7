/* table.h: tables that fit the width of the terminal. */
#ifndef ATTNC_TABLE_H
#define ATTNC_TABLE_H

#include "base/base.h"

typedef struct {
    int width; /* width in bytes, including the space before the column */
    int rank;  /* 0: always shown; the highest ranks are dropped first */
    bool shown;
} TableFit;

/* Returns the maximum width of a table on `out`, in terminal columns, or 0 (no
 * limit) if `out` is not a terminal. */
int table_room(FILE *out);
/* Sets `shown` of n columns so that the shown ones fit in `room`. Returns the
 * remaining room, which may be negative. If `room` is 0, shows all columns and
 * returns 0. */
int table_fit(TableFit *column, int n, int room);
/* Returns the text. If it is longer than `width` bytes, returns its two ends
 * joined by "...". */
const char *cut_middle(Arena *a, const char *text, int width);

typedef struct { /* a table of text cells, printed aligned or as Markdown */
    Arena *arena;
    FILE *out;
    bool markdown;
    int n;         /* number of columns */
    bool *left;    /* [n]: the column is left-aligned */
    TableFit *fit; /* [n] */
} TextTable;

/* Returns a table of n columns whose width is 0. */
TextTable text_table(Arena *a, FILE *out, bool markdown, int n);
/* Makes a column wide enough for the text. */
void table_widen(TextTable *t, int column, const char *text);
/* Prints a cell if its column is shown. An empty text becomes "-". */
void table_cell(const TextTable *t, int column, const char *text);
/* Prints the rule below the header of a Markdown table. */
void table_rule(const TextTable *t);

#endif
