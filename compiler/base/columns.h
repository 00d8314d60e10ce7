/* columns.h: rows stored in files. A table of columns gives the name, type,
 * offset and range of each member of a struct. The functions below use it to
 * write a row as JSON or CSV, to read it back, and to check it. */
#ifndef ATTNC_COLUMNS_H
#define ATTNC_COLUMNS_H

#include <jansson.h>

#include "base/base.h"

typedef enum {
    ColumnText,  /* const char *: at most 4096 ASCII characters */
    ColumnMaybe, /* const char *: any text; NULL: null */
    ColumnInt,   /* int */
    ColumnBool,  /* bool */
    ColumnWord,  /* int or enum: index of one of `words` */
    ColumnReal,  /* double */
    ColumnKnown, /* double; NAN: null */
    ColumnAdded, /* double; 0: missing, as in rows older than the column */
    ColumnReals, /* double[n] */
    ColumnInts,  /* int64_t[n] */
    ColumnRow    /* a nested struct with n columns */
} ColumnType;

typedef struct RowColumn {
    const char *name;
    ColumnType type;
    size_t at;          /* offset of the member in its struct */
    double least, most; /* range of valid numbers */
    int n;
    const char *const *words;
    const struct RowColumn *row; /* columns of a ColumnRow */
} RowColumn;
/* Initialises the column for a member of struct `of`. The first argument after
 * `member` is the column's name; further RowColumn members may follow. */
#define COLUMN(kind, of, member, ...) \
    { .type = Column##kind, .at = offsetof(of, member), .name = __VA_ARGS__ }

/* Returns the row as a JSON object, which the caller frees with
 * json_decref(). */
json_t *columns_object(const RowColumn *c, int n, const void *row);
/* Adds the row's members to an object. */
void columns_write(json_t *to, const RowColumn *c, int n, const void *row);
/* Reads the row's members from an object. Returns the name of the first that is
 * missing or invalid, or NULL if all are valid. */
const char *columns_parse(Arena *a, const RowColumn *c, int n, void *row,
                          const json_t *from);
/* Prints texts (in quotes), words and numbers as comma-separated values. `row`
 * NULL: prints the column names. */
void columns_csv(const RowColumn *c, int n, const void *row, FILE *out);
/* Prints text as a quoted CSV value [RFC 4180]. */
void put_csv_text(const char *text, FILE *out);

json_t *json_reals(const double *x, int n);
/* Reads a JSON array of numbers. Returns false if it does not have exactly n,
 * or if one is out of range. */
bool json_reals_read(const json_t *from, double *x, int n, double least,
                     double most);

#endif
