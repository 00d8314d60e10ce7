/* processor.h: what a processor is and what it can do. */
#ifndef ATTN_PROCESSOR_1
#define ATTN_PROCESSOR_1

#include "memory.h"

enum { ATTN_MAKER_OTHER, ATTN_MAKER_INTEL, ATTN_MAKER_AMD, ATTN_MAKER_ARM };

/* Features of a processor, as bits. */
enum {
    ATTN_CPU_V2 = 1,
    ATTN_CPU_V3 = 2,
    ATTN_CPU_V4 = 4, /* the first three: all features of that x86-64 level */
    ATTN_CPU_AVX512VNNI = 8,
    ATTN_CPU_AVX512BF16 = 16,
    ATTN_CPU_AVXVNNI = 32,
    ATTN_CPU_ARMV8 = 64,
    ATTN_CPU_DOTPROD = 128
};

struct attn_processor {
    int maker;
    int family, model; /* from CPUID; on Arm the implementer and the part
                        * number from MIDR */
    int has;           /* features */
};

/* Describes this processor, if it is an x86-64. */
ATTN_API void attn_processor_find(struct attn_processor *p);
/* True if `p` has all features of `needs` and, if `needs` has a maker, is of
 * this maker, and of this family or a later one. */
ATTN_API int attn_processor_has(const struct attn_processor *p,
                                const struct attn_processor *needs);

#endif
