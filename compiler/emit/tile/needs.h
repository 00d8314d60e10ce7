/* needs.h: collects the kernels that a file needs: tiles of products, and
 * pieces of kernels/. */
#ifndef ATTNC_NEEDS_H
#define ATTNC_NEEDS_H

#include "emit/text/renamer.h"
#include "emit/text/writer.h"
#include "machine/target.h"
#include "plan/epilogue.h"

/* ---- tile.c ---- */

/* A tile function computes an mr x nr block of C = A B, and an epilogue, in
 * vector accumulators. A TileKey identifies it. */
enum { FewIntegerRows = 4 }; /* fewer rows wait for integer weights */
enum { WaitingRows = 6 };    /* maximum rows at 64 columns */

typedef struct {
    int mr, nr;
    Dtype dtype;
    Arithmetic arithmetic;
    int epilogue;   /* EpBias etc. */
    Activation act; /* if EpAct is set */
    bool wide;      /* multiplies by copies of int8: 16 bits, or for rows of
                     * floats f32 */
    bool groups;    /* int4: multiplies the sum of a group by its step;
                       set by use_tile() */
    bool apart;     /* panels of C, bias and residual are ldp apart, not 16 */
    int fetch_rows; /* minimum rows for which tiles of a table prefetch; 0: not
                     * in a table */
    int width;
    bool amx;      /* a block of kernels/amx.c; mr is 1 and nr is 16 */
    bool prebuilt; /* prebuilt in attnc, for code compiled by libtcc; has all
                    * parameters at any width */
    int registers; /* prebuilt: number of vector registers */
} TileKey;

/*  void NAME(const R *a, int64_t lda,          mr rows of A, k long
 *            const T *b, int64_t ldb,          nr/16 panels, ldb T's apart,
 *                                              each [k][16], 64-byte aligned;
 *                                            bf16: [k/2][16][2]
 *            int64_t k,
 *            float *c, int64_t ldc,            mr x nr
 *            const float *bias,                [nr]
 *            const float *residual, int64_t ldr,
 *            int64_t act,                      Activation: EpAny; else unused
 *            const T *next,                    EpPrefetch, EpAny: a panel to
 *                                              prefetch; if nr > 16, also the
 *                                              one at + ldb; else unused
 *            int64_t ahead,                    EpPrefetch, EpAny: `next`
 *                                              advances this many T's per line
 *                                              of b: line_numbers(), or less
 *                                              if tiles share these panels
 *            int64_t ldp,                      EpAny, apart: distance of panels
 *                                              of C, bias and residual
 *            const struct waiting *w);         EpPowers, EpRescale: pending
 *                                              rows (kernels/attention.c)
 * Only EpPowers and EpRescale have fewer parameters (tile_has()). T is
 * number_type(dtype); bf16 is widened as it is read. Each output is summed over
 * k in order, one FMA each, in its own lane, so its bits are the same for every
 * mr, nr, width and compiler.
 *
 * For integers (int8, int4, int4g64) b is complete panels, ldb bytes apart
 * (formats.h). The stored -128 times the sum of a column includes all stored
 * numbers, also those after k. R is float, and each output is the sum over k of
 * FMAs with the integers, times its column's scale. In integer arithmetic R is
 * uint8_t: rows from quantize_rows_int8 or _int15, lda bytes apart, 64-byte
 * aligned. An output is float(sum) * (row's scale * column's scale); for int15,
 * fma(128, float(sum of the high parts), float(sum of the low parts)) replaces
 * float(sum). These tiles never start from C: they compute complete sums.
 *
 * In bf16_dp R is uint16_t: rows from round_rows_bf16, lda numbers apart, full
 * of zeros up to a multiple of 32 k. For every two k in turn, the second
 * product is added first. bf16_amx has the same rows: of every 32 k, the even
 * products have a sum, the odd ones another, and the sum of both is added.
 *
 * Wide tiles read copies of int8 and of such rows, in which every four bytes
 * become the two even ones in 16 bits, then the two odd ones: dtype is int8, R
 * uint8_t.
 */
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
/* Joins the texts of the tile's parameters with ", ". */
const char *tile_arguments(Arena *a, TileKey k,
                           const char *const text[TileParameters]);
const char *tile_name(Arena *a, TileKey k);   /* "tile_6x64_bias_relu" */
const char *tiles_name(Arena *a, TileKey k);  /* "64_bias_relu", for all mr */
const char *tile_suffix(Arena *a, TileKey k); /* "_bias_relu" */
bool suffix_same(const TileKey *a, const TileKey *b);
const char *number_type(Dtype d); /* returns "float" or "int8_t" */
int element_bytes(Dtype d);       /* size of number_type() */
/* Returns the numbers from one line of a panel to the next. For int4 that is an
 * average: after each 8 or 16 lines comes a line of steps. */
int line_numbers(Dtype d);
const char *rows_type(Arithmetic a); /* A's: "float", "uint8_t", "uint16_t" */
bool tile_prefetches(TileKey k);     /* true if it uses `next` */
void emit_tile(Emit *e, TileKey k);
/* Emits a line that invokes `macro` for a table of tiles. */
void emit_tile_table(Emit *e, TileKey k, const char *macro);
/* Return the names of the pieces of kernels/ in a tile's line: its macro, and
 * the function that computes its sums. */
const char *tile_macro(TileKey k);
const char *tile_products(Arena *a, TileKey k);
/* True if a tile has too few rows to make unpacking numbers worthwhile. */
bool tile_groups(TileKey k);
/* True if a prebuilt tile has more sums than registers. It then calls smaller
 * tiles of at most *rows x *columns. */
bool tile_of_tiles(TileKey k, int *rows, int *columns);
/* True if targets have tiles that multiply by copies (`wide`). */
bool copies_have_tiles(const Target *t, Arithmetic a);
/* Kinds index the prebuilt tiles of kernels/products.c. */
enum { WideKinds = Arithmetics * (int)Dtypes, PrebuiltKinds = WideKinds + 3 };
int prebuilt_kind(Dtype d, Arithmetic a, bool wide);

/* ---- needs.c ---- */
/* Kernels other than tiles are pieces of the files in kernels/ (embedded at
 * build time), which define their signatures. They are found by name, with the
 * pieces that they need. For an activation, the name ends in its word:
 * activate_rows_gelu, gate_rows_silu. */
typedef struct Kernels Kernels; /* kernels of one emitted file */
Kernels *kernels_new(Arena *a, const Target *t, bool jit);
/* Returns a set for kernels/plain.c, C without vectors. */
Kernels *kernels_plain(Arena *a);
/* Returns true if the files have a piece with this name. */
bool kernels_have(const Kernels *k, const char *name);
/* names of a kernel's parameters, in order */
typedef VEC(const char *) ParameterNames;
ParameterNames kernel_parameters(const Kernels *k, const char *name);
/* Records that the file needs a tile. Returns the name of the tile's
 * function. */
const char *use_tile(Kernels *k, TileKey key);
/* Records that the file needs tiles of `low` to key.mr rows, for a key with
 * fetch_rows. Returns the name of their table, e.g. "tiles_64_bias". */
const char *use_tiles(Kernels *k, TileKey key, int low);
const char *use_kernel(Kernels *k, const char *name);
void use_all_kernels(Kernels *k); /* all `//: kernel` pieces */
/* Emits all kernels in dependency order: definitions, or prototypes for the
 * JIT. */
void emit_kernels(Kernels *k, Emit *e);
/* Leaves out what the file around the kernels has: includes, and
 * emit_float_rules(). */
void kernels_inside(Kernels *k);
/* Returns the names of the tiles, and of their tables. */
NameList kernels_tiles(Kernels *k);
/* Emits floating-point settings for the compiler, before all code that
 * computes. */
void emit_float_rules(const Kernels *k, Emit *e);
int kernels_count(const Kernels *k);
const char *kernels_nth(const Kernels *k, int i); /* names in first-use order */
const TileKey *kernels_tile(const Kernels *k, int i); /* NULL: not a tile */

#endif
