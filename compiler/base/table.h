/* table.h: tables that fit the width of the terminal. */
#ifndef ATTNC_TABLE_H
#define ATTNC_TABLE_H

#include "base/base.h"

typedef struct {
    int width; /* width in bytes, including the space before the column */
    int rank;  /* 0: always shown; the highest ranks are dropped first */
    bool shown;
} TableFit;

/* Returns the number of terminal columns that a table on `out` may take; 0:
 * `out` is no terminal, so there is no limit. */
int table_room(FILE *out);
/* Sets `shown` of n columns so that the shown ones fit into `room`, and returns
 * the room left, which may be negative. Room 0: shows all columns and returns
 * 0. */
int table_fit(TableFit *column, int n, int room);
/* Returns the text. If it is longer than `width` bytes, returns its two ends
 * joined by "...". */
const char *cut_middle(Arena *a, const char *text, int width);

typedef struct { /* a table of texts, aligned or as Markdown */
    Arena *arena;
    FILE *out;
    bool markdown;
    int n;         /* number of columns */
    bool *left;    /* [n]: texts are aligned to the left */
    TableFit *fit; /* [n] */
} TextTable;

/* Returns a table of n columns without width. */
TextTable text_table(Arena *a, FILE *out, bool markdown, int n);
/* Makes a column at least as wide as the text. */
void table_widen(TextTable *t, int column, const char *text);
/* Prints a cell if its column is shown. An empty text becomes "-". */
void table_cell(const TextTable *t, int column, const char *text);
/* Prints the line below the heads of a Markdown table. */
void table_rule(const TextTable *t);

#endif
