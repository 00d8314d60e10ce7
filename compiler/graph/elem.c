/* elem.c: converts element types to formats of packed weights, and to the
 * arithmetic of products whose activations have these types. */
#include "graph/graph.h"

_Static_assert((int)ElemBf16x3Row - (int)ElemQ8
                   == (int)ArithmeticBf16x3 - (int)ArithmeticInt8,
               "each Arithmetic has an Elem, in this order");

Dtype elem_dtype(Elem e)
{
    return (int)e < Dtypes ? (Dtype)e : DtypeF32;
}

Arithmetic elem_arithmetic(Elem e)
{
    return e < ElemQ8
             ? ArithmeticF32
             : (Arithmetic)((int)e - (int)ElemQ8 + (int)ArithmeticInt8);
}

Elem arithmetic_elem(Arithmetic a)
{
    return a == ArithmeticF32
             ? ElemF32
             : (Elem)((int)a - (int)ArithmeticInt8 + (int)ElemQ8);
}
