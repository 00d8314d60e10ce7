/* elem.c: conversions between element types and formats: of weights in packed
 * files, and of activations by the arithmetic of their products. */
#include "graph/graph.h"

static const Elem elem_of[Dtypes] = {
    [DtypeF32] = ElemF32,         [DtypeBf16] = ElemBf16,
    [DtypeInt8] = ElemInt8,       [DtypeInt4] = ElemInt4,
    [DtypeInt4g64] = ElemInt4g64,
};

Elem dtype_elem(Dtype d)
{
    return elem_of[d];
}

Dtype elem_dtype(Elem e)
{
    int d = DtypeF32;
    while (d < Dtypes - 1 && elem_of[d] != e)
        d++;
    return elem_of[d] == e ? (Dtype)d : DtypeF32;
}

Arithmetic elem_arithmetic(Elem e)
{
    return e == ElemQ8  ? ArithmeticInt8
         : e == ElemQ15 ? ArithmeticInt15
                        : ArithmeticF32;
}

Elem arithmetic_elem(Arithmetic a)
{
    return a == ArithmeticInt8  ? ElemQ8
         : a == ArithmeticInt15 ? ElemQ15
                                : ElemF32;
}
