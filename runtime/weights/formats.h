/* formats.h: storage formats of weight matrices in packed files, one row each.
 *
 * FORMAT(name, word, group, line, ending, shared)
 *
 * group: consecutive numbers along k that are packed together; the last group
 * is padded. In a panel of ATTN_PANEL columns, each group takes `line` bytes
 * per column. After all groups come `ending` bytes per column: for integers, a
 * float scale and -128 times their sum as 32 bits. If shared > 0, `shared`
 * consecutive numbers of a column share a step and an offset of one byte each;
 * a group contains two such blocks, so that integer groups fill cache lines. */
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

extern const char *const dtype_word[]; /* "f32", "bf16", etc.; NULL at the
                                          end */

/* True for formats of integers with a scale per column. */
bool dtype_is_integer(Dtype d);
/* Returns how many numbers of a column share a step and an offset. Only 4-bit
 * formats do; the others return 0.                                          */
int64_t dtype_shared(Dtype d);
/* Returns k rounded up to complete groups. */
int64_t dtype_stored(Dtype d, int64_t k);
/* Returns the average bytes of one number, without the endings. */
double dtype_number_bytes(Dtype d);
/* Returns the bytes of a column of k numbers in a panel. */
int64_t dtype_column_bytes(Dtype d, int64_t k);

#endif
