/* target.h: the targets of code generation, and the identity of this
 * processor. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "base/base.h"
#include "runtime/base/processor.h"

/* The origin of a tiling. */
typedef enum { FromDefault, FromOption, FromTuned } TilingFrom;
extern const char *const from_word[]; /* "default", "option", "tuned" */

typedef struct {                 /* a target of code generation */
    const char *name;            /* e.g. "znver4", "x86-64-v3", "generic" */
    const char *march;           /* the compiler's -march, e.g. "x86-64-v4" */
    const char *const *features; /* features for further -m options, e.g.
                                    "avx512vnni"; ends with NULL */
    const char *triple;          /* system, e.g. "aarch64-linux-gnu"; NULL:
                                    any machine */
    const char *packages;        /* Debian packages of a cross compiler and
                                    library; NULL if triple is NULL */
    int width;                   /* floats in a vector: 16, 8, 4 or 1 */
    int registers;               /* vector registers */
    bool fma;                    /* has fused multiply-add instructions */
    const char *dot;             /* how bytes are multiplied without additional
                                  * features: "maddubs", "dotprod", "plain" */
    bool pairs; /* an instruction sums two products of bf16 faster than FMAs: on
                 * AMD's cores, not on Intel's */
    bool amx;   /* has AMX, if the system allows it: on Intel's servers since
                   Sapphire Rapids */
    const char *guard;        /* preprocessor condition that is true if
                                 instructions are missing; NULL: none */
    const char *const *needs; /* features of the instruction set, e.g. "avx2" */
    int fmas;                 /* FMAs of the widest vectors started per cycle */
    int64_t code;             /* bytes of the L1 cache for instructions */
    int64_t cache[3];         /* bytes of the L1 data, L2 and L3 caches */
    const char *met; /* source of the measured figures; NULL: never measured */
    int near, far;   /* bytes per cycle that a core reads from L3, memory */
    int mr, nr;      /* default tile: rows and columns */
    int tall_mr, tall_nr;       /* default tile for panels larger than L1 */
    int small_m_mr, small_m_nr; /* default tile for a small M; 0: none */
    int64_t small_m_bytes;      /* maximum bytes of weights that stay in a
                                 * cache */
    int near_small_m;           /* maximum rows of a small M if the weights stay
                                 * in a cache */
    TilingFrom tile_from;       /* FromDefault or FromOption */
    int64_t row_block;          /* default number of rows that pass through all
                                 * steps together */
    int64_t part_work;          /* minimum FLOPs per thread */
} Target;
enum {
    RowBlock = 48,     /* default of Target.row_block */
    PartWork = 1500000 /* default of Target.part_work, about 12 us on a core */
};
/* Finds a target. `march` is a name from the table, or "native" for this
 * processor. `width` 0 selects the target's own. `tile` is e.g. "6x64", or NULL
 * for the default. Returns false with a message in *why if an argument is
 * invalid. */
bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why);
typedef struct {
    char text[512];
} TargetNames;
/* Lists all names, for messages and help. */
const char *target_list(TargetNames *to);
const char *target_name(int i); /* i from 0; returns NULL past the end */
/* True if the target has a feature such as "avxvnni" beyond its instruction
 * set. */
bool target_has(const Target *t, const char *feature);
/* True if one instruction of the target sums four products of bytes, or if it
 * has no instruction for bytes at all. False on x86 targets that can only sum
 * two products in 16 bits. */
bool target_dots(const Target *t);
/* True if integer products of many rows should use 16-bit copies of the
 * weights: the target cannot sum four products of bytes at once, and its
 * vectors have 8 floats or fewer. */
bool target_widens(const Target *t);
/* Returns compiler options, e.g. "-march=x86-64-v4 -mavx512vnni"; "" for
 * generic. */
const char *target_flags(Arena *a, const Target *t);
/* Returns what a processor needs for this target: features and, if it is a
 * microarchitecture, its maker and at least its family. */
struct attn_processor target_processor(const Target *t);
/* True if a processor that can run both should run `t`: it has wider vectors,
 * more features, or is nearer to that processor. */
bool target_above(const Target *t, const Target *other);
/* True if the target's architecture differs from this processor's. */
bool target_foreign(const Target *t);
/* Returns the number of rows that pass together through steps whose weights
 * total `bytes` bytes and `numbers` elements. */
int64_t target_row_block(const Target *t, int64_t bytes, int64_t numbers);
/* Returns how many of a sum's k elements a tile adds before the next tile is
 * processed. */
int64_t target_sum_block(const Target *t, int mr, int nr, int64_t k);
/* Returns a preprocessor condition that is true if the compiler's target lacks
 * required instructions; NULL: none are required. */
const char *target_guard(Arena *a, const Target *t);

/* Features that a processor needs, under the names that compilers use: "avx2",
 * "fma". Empty if compilers cannot test for features. */
typedef VEC(const char *) Features;
Features target_needs(Arena *a, const Target *t);

/* ---- target_list.c ---- */

enum { MostTargets = 16 };
typedef struct {
    const char *at[MostTargets]; /* names, the best target first */
    int n;
} TargetList;
/* True if --march names several targets, or is "portable". */
bool is_target_list(const char *march);
/* Reads names of different x86-64 targets, with commas between them. Returns
 * false with a message in *why if the list is invalid. */
bool target_list_read(TargetList *to, Arena *a, const char *march, Fault *why);

/* ---- cpu.c ---- */

typedef struct attn_processor Cpu;
void cpu_find(Cpu *c); /* describes this processor */
/* This processor's architecture, as in Target.triple; "" if unknown. */
extern const char *const cpu_triple;
/* True for machines for which attnc emits only portable C, e.g. riscv64,
 * wasm32, cortex-m4. `name` may be NULL. */
bool target_is_c(const char *name);
/* Returns the best target for a processor: its own row if it has exactly the
 * features of that row, a later row of its maker if it has more, otherwise its
 * instruction set. */
const char *cpu_target(const Cpu *c);
/* Returns a feature of the target that this processor lacks; NULL: none. */
const char *target_lacks(const Target *t, const Cpu *c);

#endif
