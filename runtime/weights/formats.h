/* formats.h: properties of the storage formats of format_rows.h. */
#ifndef ATTNC_FORMATS_H
#define ATTNC_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define FORMAT(name, ...) Dtype##name,
#include "format_rows.h"
    Dtypes
} Dtype;

extern const char *const dtype_word[]; /* "f32", "bf16", ...; ends with NULL */
extern const char *const dtype_choices[]; /* those that a spec may choose */

/* True for formats of integers with a scale per column. */
bool dtype_is_integer(Dtype d);
/* Returns the number of elements of a column that share a step and an offset,
 * or 0 for formats that are not 4-bit. */
int64_t dtype_shared(Dtype d);
/* Returns k rounded up to complete groups. */
int64_t dtype_stored(Dtype d, int64_t k);
/* Returns the average number of bytes per element, excluding the endings of
 * columns. */
double dtype_number_bytes(Dtype d);
/* Returns the size in bytes of a column of k numbers in a panel. */
int64_t dtype_column_bytes(Dtype d, int64_t k);

#endif
