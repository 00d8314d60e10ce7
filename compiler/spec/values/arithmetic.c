/* arithmetic.c: the rows of arithmetic.h. */
#include "spec/arithmetic.h"

#include <stddef.h>

const RowFormat row_formats[Arithmetics] = {
    [ArithmeticF32] = { NULL, "float", 4, 1, DtypeF32, false },
    [ArithmeticInt8] = { "quantize_rows_int8", "uint8_t", 1, 1, DtypeInt8,
                         true },
    [ArithmeticInt15] = { "quantize_rows_int15", "uint8_t", 1, 2, DtypeInt8,
                          true },
    [ArithmeticBf16Dp] = { "round_rows_bf16", "uint16_t", 2, 1, DtypeBf16,
                           false },
    [ArithmeticBf16Amx] = { "round_rows_bf16", "uint16_t", 2, 1, DtypeBf16,
                            false },
    [ArithmeticBf16x3] = { "split_rows_bf16", "uint32_t", 4, 1, DtypeBf16x2,
                           false },
};

bool arithmetic_reads(Arithmetic a, Dtype d)
{
    if (a == ArithmeticF32)
        return d != DtypeBf16x2;
    return row_formats[a].scaled ? dtype_is_integer(d)
                                 : d == row_formats[a].groups;
}

Dtype arithmetic_dtype(Arithmetic a, Dtype d)
{
    return a == ArithmeticBf16x3 && d == DtypeF32 ? DtypeBf16x2 : d;
}

Dtype arithmetic_needs(Arithmetic a)
{
    return a == ArithmeticBf16x3 ? DtypeF32 : row_formats[a].groups;
}
