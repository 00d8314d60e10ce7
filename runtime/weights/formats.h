/* formats.h: how matrices of weights are stored in packed files: a row each.
 *
 *   FORMAT(name, word, group, line, ending, shared)
 *
 * group: numbers of a sum over k that are packed together; whole groups are
 * stored. In a panel of ATTN_PANEL columns a group is `line` bytes a column,
 * and `ending` bytes a column stand behind all of them: of integers a scale, a
 * float, and -128 times their sum, 32 bits. A group of integers is whole lines
 * of a cache: where `shared` numbers of a column have a step and an offset, of
 * a byte each, it is a pair of these. */
#ifndef ATTNC_FORMATS_H
#define ATTNC_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

#define FORMATS(FORMAT)                                                       \
    FORMAT(F32, "f32", 1, 4, 0, 0)                                            \
    FORMAT(Bf16, "bf16", 1, 2, 0, 0)                                          \
    FORMAT(Int8, "int8", 64, 64, 8, 0)                                        \
    FORMAT(Int4, "int4", 64, 36, 8, 32)                                       \
    FORMAT(Int4g64, "int4g64", 128, 68, 8, 64)

typedef enum {
#define FORMAT(name, word, group, line, ending, shared) Dtype##name,
    FORMATS(FORMAT)
#undef FORMAT
        Dtypes
} Dtype;

extern const char *const dtype_word[]; /* "f32", "bf16" ..; NULL at the end */

/* Are its numbers integers, with a scale for each column? */
bool dtype_is_integer(Dtype d);
/* Numbers of a column that share a step and an offset; 0: none do. Those are of
 * 4 bits.                                                                   */
int64_t dtype_shared(Dtype d);
/* k as it is stored: whole groups. */
int64_t dtype_stored(Dtype d, int64_t k);
/* Bytes of a number in the middle of many. */
double dtype_number_bytes(Dtype d);
/* Bytes of a column of k numbers in panels. */
int64_t dtype_column_bytes(Dtype d, int64_t k);

#endif
