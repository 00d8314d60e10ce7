/* processor.c: asks CPUID what this processor is. */
#include <string.h>

#include "processor.h"

#if defined __x86_64__

/* Writes eax, ebx, ecx and edx of a leaf of CPUID to reg[4]; zeros, if the
 * processor has no such leaf. */
static void processor_ask(uint32_t leaf, uint32_t part, uint32_t *reg)
{
    uint32_t most, b, c = 0, d;
    memset(reg, 0, 4 * sizeof *reg);
    __asm__ volatile("cpuid" : "=a"(most), "=b"(b), "+c"(c), "=d"(d) : "a"(0));
    if (leaf > most)
        return;
    reg[2] = part;
    __asm__ volatile("cpuid"
                     : "=a"(reg[0]), "=b"(reg[1]), "+c"(reg[2]), "=d"(reg[3])
                     : "a"(leaf));
}

static int processor_maker(void)
{
    uint32_t reg[4], name[3];
    processor_ask(0, 0, reg);
    name[0] = reg[1];
    name[1] = reg[3];
    name[2] = reg[2];
    return !memcmp(name, "GenuineIntel", sizeof name) ? ATTN_MAKER_INTEL
         : !memcmp(name, "AuthenticAMD", sizeof name) ? ATTN_MAKER_AMD
                                                      : ATTN_MAKER_OTHER;
}

/* Returns XCR0, the registers that the operating system saves: bits 1 and 2
 * with AVX, 5 to 7 with AVX-512. */
static uint32_t processor_saved(void)
{
    uint32_t low, unused;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(unused) : "c"(0));
    return low;
}

static int processor_flags(uint32_t flags, uint32_t wanted)
{
    return (flags & wanted) == wanted;
}

/* Reads CPUID itself, because __builtin_cpu_supports() finds nothing in
 * programs that zig links, and old compilers lack names such as "avxvnni". */
static int processor_features(const uint32_t *one)
{
    enum { Fma = 1 << 12, Sse42 = 1 << 20, Popcnt = 1 << 23, Xsave = 1 << 27 };
    enum { Bmi = 1 << 3, Avx2 = 1 << 5, Bmi2 = 1 << 8 };
    enum { F = 1 << 16, Dq = 1 << 17, Cd = 1 << 28, Bw = 1 << 30 };
    enum { Vnni = 1 << 11, AvxVnni = 1 << 4, Bf16 = 1 << 5 };
    const uint32_t vl = 1U << 31;
    uint32_t seven[4], second[4];
    processor_ask(7, 0, seven);
    processor_ask(7, 1, second);
    const uint32_t saved = one[2] & Xsave ? processor_saved() : 0;
    int has = processor_flags(one[2], Sse42 | Popcnt) ? ATTN_CPU_V2 : 0;
    if (!processor_flags(saved, 0x6) || !processor_flags(one[2], Fma)
        || !processor_flags(seven[1], Avx2 | Bmi | Bmi2))
        return has;
    has |= ATTN_CPU_V3 | (second[0] & AvxVnni ? ATTN_CPU_AVXVNNI : 0);
    if (processor_flags(saved, 0xe6)
        && processor_flags(seven[1], F | Dq | Cd | Bw | vl))
        has |= ATTN_CPU_V4 | (seven[2] & Vnni ? ATTN_CPU_AVX512VNNI : 0)
             | (second[0] & Bf16 ? ATTN_CPU_AVX512BF16 : 0);
    return has;
}

ATTN_API void attn_processor_find(struct attn_processor *p)
{
    uint32_t one[4];
    processor_ask(1, 0, one);
    p->maker = processor_maker();
    p->family = (int)(one[0] >> 8 & 15);
    p->model = (int)(one[0] >> 4 & 15);
    if (p->family == 6 || p->family == 15)
        p->model += (int)(one[0] >> 16 & 15) << 4;
    if (p->family == 15)
        p->family += (int)(one[0] >> 20 & 255);
    p->has = processor_features(one);
}

#else

ATTN_API void attn_processor_find(struct attn_processor *p)
{
    memset(p, 0, sizeof *p);
}

#endif

ATTN_API int attn_processor_has(const struct attn_processor *p,
                                const struct attn_processor *needs)
{
    if (needs->has & ~p->has)
        return 0;
    return needs->maker == ATTN_MAKER_OTHER
        || (needs->maker == p->maker && p->family >= needs->family);
}
