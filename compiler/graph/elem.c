/* elem.c: the types of matrices of weights, by their format in packed files. */
#include "graph/graph.h"

static const Elem elem_of[Dtypes] = {
    [DtypeF32] = ElemF32,
    [DtypeBf16] = ElemBf16,
    [DtypeInt8] = ElemInt8,
    [DtypeInt4] = ElemInt4,
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
