/* elem.c: converts element types to formats of packed weights, and to the
 * arithmetic of products whose activations have these types. */
#include "graph/graph.h"

Dtype elem_dtype(Elem e)
{
    return (int)e < Dtypes ? (Dtype)e : DtypeF32;
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
