/* target.h: the targets of code generation, and which one this processor is. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "base/base.h"

/* The origin of a tiling. */
typedef enum { FromDefault, FromOption, FromTuned } TilingFrom;
extern const char *const from_word[]; /* "default", "option", "tuned" */

typedef struct {                 /* a target of code generation */
    const char *name;            /* "znver4", "x86-64-v3", "generic" */
    const char *march;           /* the compiler's -march: "x86-64-v4" */
    const char *const *features; /* further -m options: "avx512vnni", NULL */
    const char *triple;          /* "aarch64-linux-gnu"; NULL: any machine */
    const char *packages;        /* Debian packages of its cross compiler and
                                    library; NULL as triple */
    int width;                   /* floats in a vector: 16, 8, 4, 1 */
    int registers;               /* vector registers */
    bool fma;                    /* has fused multiply-add */
    const char *dot;            /* how it multiplies bytes without a feature for
                                   that: "maddubs", "dotprod", "plain" */
    const char *guard;          /* preprocessor condition; NULL: none */
    const char *const *needs;   /* the instruction set's: "avx2", "fma" */
    int fmas;                   /* FMAs of the widest vectors per cycle */
    int64_t code;               /* bytes of L1 for instructions */
    int64_t cache[3];           /* bytes of L1, L2, L3 */
    const char *met;            /* source of its figures; NULL: never measured
                                   on such a machine */
    int near, far;              /* bytes per cycle that a core reads from L3,
                                   from memory */
    int mr, nr;                 /* default tile: rows x columns */
    int tall_mr, tall_nr;       /* the same, for panels larger than L1 */
    int small_m_mr, small_m_nr; /* tile of products with small M; 0: none */
    int64_t small_m_bytes;      /* weights that stay in a cache */
    int near_small_m;           /* the largest M treated as small for these */
    TilingFrom tile_from;       /* never FromTuned */
    int64_t row_block;          /* default rows of a row-block region */
    int64_t part_work;          /* default FLOPs that are worth a thread */
} Target;
enum {
    RowBlock = 48,     /* default rows of a row-block region */
    PartWork = 1500000 /* about 12 us of a core */
};
/* Finds a target. `march`: a name of the table, or "native" for this processor;
 * `width` 0: the target's own; `tile`: NULL or such as "6x64". False: *why
 * tells the user what is wrong. */
bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why);
typedef struct {
    char text[512];
} TargetNames;
/* Lists all names, for messages and help. */
const char *target_list(TargetNames *to);
const char *target_name(int i); /* the table's, from 0; NULL: no more */
/* True if it has the feature, such as "avxvnni", beyond its instruction set. */
bool target_has(const Target *t, const char *feature);
/* True if it sums four products of bytes in one instruction, or has no
 * instruction for bytes at all. False on x86 that only sums two products in 16
 * bits. */
bool target_dots(const Target *t);
/* True if integer products of many rows should use 16-bit copies of the
 * weights: it sums no four bytes at once, and its vectors have 8 floats or
 * fewer. */
bool target_widens(const Target *t);
/* Returns "-march=x86-64-v4 -mavx512vnni"; "" for generic. */
const char *target_flags(Arena *a, const Target *t);
/* True if it is of another architecture than this processor. */
bool target_foreign(const Target *t);
/* Returns the rows of a block that goes through steps whose weights have this
 * many bytes and elements in total. */
int64_t target_row_block(const Target *t, int64_t bytes, int64_t numbers);
/* Returns how many of a sum's k elements a tile adds before it moves on. */
int64_t target_sum_block(const Target *t, int mr, int nr, int64_t k);
/* Returns the preprocessor condition that holds if the compiler's target lacks
 * instructions; NULL: none. */
const char *target_guard(Arena *a, const Target *t);

/* Features a processor needs, as compilers name them: "avx2", "fma". Empty if
 * compilers cannot ask. */
typedef VEC(const char *) Features;
Features target_needs(Arena *a, const Target *t);

/* ---- cpu.c ---- */

/* Features of a processor. */
enum {
    CpuV2 = 1,
    CpuV3 = 2,
    CpuV4 = 4, /* all features of that x86-64 level */
    CpuVnni = 8,
    CpuBf16 = 16, /* avx512bf16 */
    CpuAvxVnni = 32,
    CpuArmv8 = 64,
    CpuDotprod = 128
};
typedef enum { CpuOther, CpuIntel, CpuAmd, CpuArm } CpuMaker;
typedef struct {
    CpuMaker maker;
    int family, model; /* from CPUID; on Arm the implementer and part number of
                          MIDR */
    int has;
} Cpu;
void cpu_find(Cpu *c); /* identifies this processor */
/* The architecture of this processor, as Target.triple; "": unknown. */
extern const char *const cpu_triple;
/* True for a machine for which attnc only emits portable C: riscv64, wasm32,
 * cortex-m4. `name` may be NULL. */
bool target_is_c(const char *name);
/* Returns the best target for a processor: its own row if it has all features
 * of that row; a later row of its maker if it has more; otherwise its
 * instruction set. */
const char *cpu_target(const Cpu *c);
/* Returns a feature of the target that this processor lacks; NULL: none. */
const char *target_lacks(const Target *t, const Cpu *c);

#endif
