/* target.h: what code is made for, and which of these this processor is. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "base/base.h"

/* Where a tiling is from. */
typedef enum { FromDefault, FromOption, FromTuned } TilingFrom;
extern const char *const from_word[]; /* "default", "option", "tuned" */

typedef struct {                 /* what code is made for */
    const char *name;            /* "znver4", "x86-64-v3", ..., "generic" */
    const char *march;           /* what a compiler is given: "x86-64-v4" */
    const char *const *features; /* and beside it, by -m: "avx512vnni", NULL */
    const char *triple;          /* whose code that is, as compilers name it:
                                    "aarch64-linux-gnu"; NULL: any machine's */
    const char *packages;        /* what Debian calls its C compiler and library
                                    on other machines; NULL: as triple */
    int width;                   /* floats in a vector: 16, 8, 4, 1 */
    int registers;               /* vectors that it holds */
    bool fma;                    /* the machine multiplies and adds at once */
    const char *dot;            /* how it multiplies bytes where no feature says
                                   that: "maddubs", "dotprod", "plain" */
    const char *guard;          /* preprocessor condition; NULL: none */
    const char *const *needs;   /* of the instruction set: "avx2", "fma" */
    int fmas;                   /* of the widest vectors, in a cycle */
    int64_t code;               /* bytes of instructions that L1 holds */
    int64_t cache[3];           /* bytes of L1, L2, L3 */
    const char *met;            /* where its figures come from; NULL: no such
                                   machine was met */
    int near, far;              /* bytes in a cycle that a core reads from L3,
                                   from memory */
    int mr, nr;                 /* usual tile: rows x columns */
    int tall_mr, tall_nr;       /* the same, of panels that L1 does not hold */
    int small_m_mr, small_m_nr; /* tile of products of a small M; 0: none */
    int64_t small_m_bytes;      /* weights that stay in a cache */
    int near_small_m;           /* the largest small M where they do */
    TilingFrom tile_from;       /* never FromTuned */
    int64_t row_block;          /* usual rows of a row-block region */
    int64_t part_work;          /* usual FLOPs that are worth a thread */
} Target;
enum {
    RowBlock = 48,     /* default rows of a row-block region */
    PartWork = 1500000 /* default: about 12 us of a core */
};
/* `march`: a name of the table, or "native", which asks the processor; `width`
 * 0: the target's own; tile NULL or "6x64". False: reported by fail-style text
 * in `why`.                                                                  */
bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why);
typedef struct {
    char text[512];
} TargetNames;
/* Their names, for messages and help. */
const char *target_list(TargetNames *to);
const char *target_name(int i); /* of the table, from 0; NULL: no more */
/* Is a feature, "avxvnni", among what it has beside its instruction set? */
bool target_has(const Target *t, const char *feature);
/* Has it instructions that sum four products of bytes at once, or none of any
 * kind? Others have halves of them: of x86, two products in 16 bits.         */
bool target_dots(const Target *t);
/* Has it no such ones, but of 16 bits, as many as of floats? Then products of
 * many rows of integers are worth copies in 16 bits.                         */
bool target_widens(const Target *t);
/* "-march=x86-64-v4 -mavx512vnni", "" of generic. */
const char *target_flags(Arena *a, const Target *t);
/* Is it of another architecture than this processor? */
bool target_foreign(const Target *t);
/* Rows of a block that goes through steps whose weights have so many bytes and
 * numbers.                                                                   */
int64_t target_row_block(const Target *t, int64_t bytes, int64_t numbers);
/* Elements of a sum of k that are worked on before the next, in a tile. */
int64_t target_sum_block(const Target *t, int mr, int nr, int64_t k);
/* True, by the preprocessor, where a compiler makes less; NULL: never. */
const char *target_guard(Arena *a, const Target *t);

/* What a processor needs, as compilers ask it: "avx2", "fma"; none: they
 * can't.                                                                    */
typedef VEC(const char *) Features;
Features target_needs(Arena *a, const Target *t);

/* ---- cpu.c ---- */

/* what a processor has */
enum {
    CpuV2 = 1,
    CpuV3 = 2,
    CpuV4 = 4, /* all of that level of x86-64 */
    CpuVnni = 8,
    CpuBf16 = 16, /* avx512vnni, avx512bf16 */
    CpuAvxVnni = 32,
    CpuArmv8 = 64,
    CpuDotprod = 128 /* beside it */
};
typedef enum { CpuOther, CpuIntel, CpuAmd, CpuArm } CpuMaker;
typedef struct {
    CpuMaker maker;
    int family, model; /* as CPUID has them; of Arm, who makes it and which
                          part it is, as MIDR has them */
    int has;
} Cpu;
void cpu_find(Cpu *c); /* this one */
/* Its architecture, as Target.triple; "": another one. */
extern const char *const cpu_triple;
/* Is that the name of a machine for which attnc writes portable C, and nothing
 * else: riscv64, wasm32, cortex-m4? NULL: no.                               */
bool target_is_c(const char *name);
/* The target that is nearest to a processor: its own row, if it has all that
 * the row's code may use; where it has more, as of its maker's later rows, the
 * nearest of these; else that of its instruction set.                        */
const char *cpu_target(const Cpu *c);
/* What of a target's needs this processor lacks; NULL: nothing. */
const char *target_lacks(const Target *t, const Cpu *c);

#endif
