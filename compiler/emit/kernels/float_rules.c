/* float_rules.c: what the compiler of an emitted file may do with floats.    */

//: float_rules
#if !defined ATTNC_FAST_MATH                                                   \
    && (defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__                  \
        || defined __RECIPROCAL_MATH__                                         \
        || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__ > 0))
#error "-ffast-math and its parts change results and remove the check for \
overflow; leave them out, or define ATTNC_FAST_MATH"
#endif
/* Products and sums are fused where it is written and nowhere else, so that
 * all compilers give the same bits. clang has no macros for the parts of
 * -ffast-math; where it can be told, it leaves the order of sums as it is. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#if !defined ATTNC_FAST_MATH && __clang_major__ >= 14
#pragma clang fp reassociate(off)
#endif
#if !defined ATTNC_FAST_MATH && __clang_major__ >= 18
#pragma clang fp reciprocal(off)
#endif
#elif defined __GNUC__
#pragma GCC optimize ("fp-contract=off")
#endif

