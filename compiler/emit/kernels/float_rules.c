/* float_rules.c: keeps a compiler from changing an emitted file's floats. */

//: float_rules
#if !defined ATTNC_FAST_MATH                                                   \
    && (defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__                  \
        || defined __RECIPROCAL_MATH__                                         \
        || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__ > 0))
#error "-ffast-math and its parts change results and remove the check for \
overflow; leave them out, or define ATTNC_FAST_MATH"
#endif
/* Only explicit FMAs are fused, so that all compilers give the same bits. clang
 * has no macros for the parts of -ffast-math; pragmas turn off two of them. */
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

