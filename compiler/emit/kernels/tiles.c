/* tiles.c: multiplies a few rows by some panels of 16 columns. A tile is a line
 * TILE() of constants, which decide all conditions of the functions that it
 * calls. These are in vector_tiles.c and integer_tiles.c, or scalar_tiles.c. */

//: tile_size
/* These repeat DO for each row of the highest tile, and each vector of the
 * widest one. attnc prints others, which fit the tiles of a file. */
#define EACH_ROW(DO)                                                           \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)  \
    DO(12) DO(13) DO(14) DO(15)
#define EACH_VECTOR(DO)                                                        \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)  \
    DO(12) DO(13) DO(14) DO(15)
enum { TileRows = 16, TileVectors = 16 };

//: tile_sums needs: tile_size v
/* A tile's sum[i][j] is vector j of row i. */
typedef v tile_sums[TileRows][TileVectors];
enum {                  /* a tile, besides its products, */
    TileBias = 1,       /* adds bias[nr] to each row */
    TileAct = 2,        /* applies its activation to each sum */
    TileResidual = 4,   /* adds the mr x nr numbers of r */
    TileAdd = 8,        /* adds to C */
    TileInt15 = 16,     /* multiplies integers of 15 bits, not of 8 */
    TileApart = 32,     /* has panels of C, bias and r ldp apart, not 16 */
    TileNear = 64,      /* prefetches into L1, not L2, if it is low */
    TileSum = 128,      /* stores sums of integers, not floats */
    TilePrefetch = 256  /* n times this: prefetches the panels at next if it
                           has n rows or more */
};
struct tile_operands {
    const void *a;      /* rows, lda numbers apart */
    int64_t lda;
    const void *b;      /* panels, ldb numbers apart */
    int64_t ldb;
    int64_t k;          /* length of the sums */
    const void *next;   /* to prefetch; `ahead` numbers a line of a panel */
    int64_t ahead;
};

//: TILE needs: tile_start tile_finish tile_store
/* Computes C = act(A B + bias) + r for mr rows of A and nr columns of B, whose
 * panels are ldb apart. Each output is summed over k in order, in a lane of its
 * own, so every tile gives the same bits. All tiles have the same parameters;
 * prebuilt ones read the activation's number. */
#define TILE(name, mr, nr, products, does, act)                                \
    static void name(const void *a, int64_t lda, const void *b, int64_t ldb,   \
                     int64_t k, float *c, int64_t ldc, const float *bias,      \
                     const float *r, int64_t ldr, int64_t number,              \
                     const void *next, int64_t ahead, int64_t ldp)             \
    {                                                                          \
        const struct tile_operands of = {a, lda, b, ldb, k, next, ahead};      \
        const int64_t panel = (does) & TileApart ? ldp : 16;                   \
        tile_sums sum;                                                         \
        tile_start(sum, mr, nr, does, c, ldc, panel);                          \
        products(sum, mr, nr, does, &of);                                      \
        tile_finish(sum, mr, nr, does, act, bias, r, ldr, panel);              \
        tile_store(sum, mr, nr, c, ldc, panel);                                \
        (void)number;                                                          \
    }

//: TILE_ANY needs: tile_finish_any
#define TILE_ANY(name, mr, nr, products, does)                                 \
    static void name(const void *a, int64_t lda, const void *b, int64_t ldb,   \
                     int64_t k, float *c, int64_t ldc, const float *bias,      \
                     const float *r, int64_t ldr, int64_t act,                 \
                     const void *next, int64_t ahead, int64_t ldp)             \
    {                                                                          \
        const struct tile_operands of = {a, lda, b, ldb, k, next, ahead};      \
        tile_sums sum;                                                         \
        tile_start(sum, mr, nr, does, c, ldc, ldp);                            \
        products(sum, mr, nr, (does) | (act < 0 ? TileSum : 0), &of);          \
        tile_finish_any(sum, mr, nr, c, ldc, bias, r, ldr, act, ldp);          \
    }
