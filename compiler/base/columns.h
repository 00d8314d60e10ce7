/* columns.h: rows that are kept in files. A table of columns gives the name,
 * type, place and range of each member of a struct. By it a row is written as
 * JSON or CSV, read back and checked. */
#ifndef ATTNC_COLUMNS_H
#define ATTNC_COLUMNS_H

#include <jansson.h>

#include "base/base.h"

typedef enum {
    ColumnText,  /* const char *: at most 4096 characters, all of ASCII */
    ColumnMaybe, /* const char *: any text; NULL: null */
    ColumnInt,   /* int */
    ColumnBool,  /* bool */
    ColumnWord,  /* int or enum: index of one of `words` */
    ColumnReal,  /* double */
    ColumnKnown, /* double; NAN: null */
    ColumnReals, /* double[n] */
    ColumnInts,  /* int64_t[n] */
    ColumnRow    /* a struct with n columns of its own */
} ColumnType;

typedef struct RowColumn {
    const char *name;
    ColumnType type;
    size_t at;          /* offset of the member in its struct */
    double least, most; /* range of a number */
    int n;
    const char *const *words;
    const struct RowColumn *row; /* columns of a ColumnRow */
} RowColumn;
/* The column of a member of the struct `of`: its name, then other members of
 * the RowColumn. */
#define COLUMN(kind, of, member, ...) \
    { .type = Column##kind, .at = offsetof(of, member), .name = __VA_ARGS__ }

/* Returns the row as an object. The caller passes it to json_decref(). */
json_t *columns_object(const RowColumn *c, int n, const void *row);
/* Adds the row's members to an object. */
void columns_write(json_t *to, const RowColumn *c, int n, const void *row);
/* Reads the row's members from an object. Returns the name of the first that is
 * missing or invalid, or NULL if all are valid. */
const char *columns_parse(Arena *a, const RowColumn *c, int n, void *row,
                          const json_t *from);
/* Prints texts, words and numbers as comma-separated values. Texts are in
 * quotes. `row` NULL: prints the names. */
void columns_csv(const RowColumn *c, int n, const void *row, FILE *out);
/* Prints text in quotes as a value of CSV [RFC 4180]. */
void put_csv_text(const char *text, FILE *out);

json_t *json_reals(const double *x, int n);
/* Reads exactly n numbers. Returns false if there are others, or if one is not
 * in the range. */
bool json_reals_read(const json_t *from, double *x, int n, double least,
                     double most);

#endif
