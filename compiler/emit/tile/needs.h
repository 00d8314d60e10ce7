/* needs.h: asking for kernels: tiles of products, and pieces of the files in
 * kernels/. */
#ifndef ATTNC_NEEDS_H
#define ATTNC_NEEDS_H

#include "emit/text/writer.h"
#include "machine/target.h"
#include "plan/epilogue.h"

/* ---- tile.c ---- */

/* A tile function computes an mr x nr block of C = A B + .. in named vector
 * accumulators. It is known by this descriptor, and by nothing else.        */
enum { FewIntegerRows = 4 }; /* fewer wait for weights in integers */
enum { WaitingRows = 6 };    /* of a tile of 64 columns that leaves registers */

typedef struct {
    int mr, nr;
    Dtype dtype;
    Arithmetic arithmetic;
    int epilogue;   /* EpBias .. */
    Activation act; /* EpAct: which one */
    bool wide;      /* int8 in 16 bits: copies */
    bool groups;    /* int4: sums of 32 k, then times their step; see
                       use_tile(), which decides */
    int width;
    bool prebuilt; /* one of attnc's own, for code of libtcc: of whatever width,
                      it has all parameters */
    int registers; /* prebuilt: of that width */
} TileKey;

/*  void NAME(const R *a, int64_t lda,          mr rows of A, k long
 *            const T *b, int64_t ldb,          nr/16 panels, ldb T's apart,
 *                                              each [k][16], 64-byte aligned
 *            int64_t k,
 *            float *c, int64_t ldc,            mr x nr
 *            const float *bias,                [nr]
 *            const float *residual, int64_t ldr,
 *            int64_t act,                      Activation: EpAny
 *            const T *next,                    EpPrefetch, EpAny: a panel
 *                                              that is read soon, and, where
 *                                              nr > 16, the one at + ldb;
 *                                              else any
 *            int64_t ahead,                    EpPrefetch, EpAny: of T, what
 *                                              `next` goes on by with each line
 *                                              of b: line_numbers() where one
 *                                              tile prefetches these panels,
 *                                              less where several do
 *            int64_t ldp,                      EpAny: panels of C, bias and
 *                                              residual are so far apart; 16
 *                                              elsewhere
 *            const struct waiting *w);         EpPowers, EpRescale: rows of
 *                                              kernels/attention.c
 * without what it does not use (tile_has()), but if it is prebuilt. T is
 * number_type(dtype): bf16 is widened as it is read. The sum runs over k in
 * order, one FMA each, for every output on its own lane: the same bits for
 * every mr, nr, width and compiler.
 *
 * Of integers (int8, int4, int4g64) b is panels of bytes with all that is in
 * them, ldb bytes apart (formats.h; -128 times the sum of a column is of all
 * that is stored, also behind k). R is float, and each output the sum over k of
 * FMAs with the integers, times its column's scale; or, in arithmetic of
 * integers, R is uint8_t, rows as quantize_rows_int8 or _int15 make them, lda
 * bytes apart (64-byte aligned), and an output is float(sum) * (row's scale *
 * column's), of int15 fma(128, float(sum of the high ones), float(sum of the
 * low ones)) for float(sum). They never start from C, and have the whole sum.
 *
 * Wide ones have copies of int8 and of such rows, in which each four bytes are
 * the even two in 16 bits, then the odd two: dtype is int8, R uint8_t.       */
typedef enum {
    TileA,
    TileLda,
    TileB,
    TileLdb,
    TileK,
    TileC,
    TileLdc,
    TileBias,
    TileResidual,
    TileLdr,
    TileAct,
    TileNext,
    TileAhead,
    TileLdp,
    TileWaiting,
    TileParameters
} TileParameter;
bool tile_has(TileKey k, TileParameter p);
/* Those texts that are of its parameters, ", " between. */
const char *tile_arguments(Arena *a, TileKey k,
                           const char *const text[TileParameters]);
const char *tile_name(Arena *a, TileKey k);   /* tile_6x64_bias_relu */
const char *tile_suffix(Arena *a, TileKey k); /* _bias_relu */
bool suffix_same(const TileKey *a, const TileKey *b);
const char *number_type(Dtype d); /* "float", "int8_t" */
/* In number_type(), from a line of a panel to the next, 32 bytes of bf16; of
 * int4 one line in eight or sixteen is of steps. */
int line_numbers(Dtype d);
const char *rows_type(Arithmetic a); /* of A: "float", "uint8_t" */
bool tile_prefetches(TileKey k);     /* uses `next` */
void emit_tile(Emit *e, TileKey k);
/* The pieces of kernels/ that make it: the macro of its line, and what its sums
 * are. */
const char *tile_macro(TileKey k);
const char *tile_products(Arena *a, TileKey k);
/* Are its rows so few that unpacked numbers are not worth it? */
bool tile_groups(TileKey k);
/* Is it one of the JIT's with more sums than registers hold? Then it calls
 * others of at most so many rows and columns. */
bool tile_of_tiles(TileKey k, int *rows, int *columns);
/* Where kernels/products.c has prebuilt tiles of these. */
enum {
    WideKinds = (ArithmeticInt15 + 1) * Dtypes,
    PrebuiltKinds = WideKinds + 2
};
int prebuilt_kind(Dtype d, Arithmetic a, bool wide);

/* ---- needs.c ---- */
/* The fixed kernels: pieces of the files in kernels/ (embedded at build), found
 * by name, with the pieces they need. See those files for signatures. Pieces
 * of an activation end in its word: activate_rows_gelu, gate_rows_silu.     */
typedef struct Kernels Kernels; /* what one emitted file has asked for */
Kernels *kernels_new(Arena *a, const Target *t, bool jit);
/* Those of kernels/plain.c, which are C without vectors. */
Kernels *kernels_plain(Arena *a);
/* Returns whether the files have a piece of this name. */
bool kernels_have(const Kernels *k, const char *name);
/* What a fixed kernel's parameters are called, in their order. */
typedef VEC(const char *) ParameterNames;
ParameterNames kernel_parameters(const Kernels *k, const char *name);
/* Records the need; returns the function's name. */
const char *use_tile(Kernels *k, TileKey key);
const char *use_kernel(Kernels *k, const char *name);
void use_all_kernels(Kernels *k); /* whose line says that they are */
/* Prints all that was asked for, in dependency order: definitions, or for the
 * JIT prototypes. */
void emit_kernels(Kernels *k, Emit *e);
/* Rules for the compiler about floats, before all code that computes. */
void emit_float_rules(const Kernels *k, Emit *e);
int kernels_count(const Kernels *k);
const char *kernels_nth(const Kernels *k, int i); /* names, first use first */
const TileKey *kernels_tile(const Kernels *k, int i); /* NULL: it is none */

#endif
