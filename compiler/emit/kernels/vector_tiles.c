/* vector_tiles.c: what tiles call, in vectors. Sums stay in registers: they are
 * an array whose indices are all constants. In a loop, even an unrolled one,
 * clang 14 leaves such an array in memory; hence EACH_ROW and EACH_VECTOR.  */

//: vector_at needs: v
/* Returns the offset of vector j of a row in panels that are so far apart. */
INLINE int64_t vector_at(int64_t j, int64_t panel)
{
    return j * W / 16 * panel + j * W % 16;
}

//: tile_start needs: tile_sums vector_at v_load v_splat
INLINE void row_start(v *sum, int nr, int does, const float *c, int64_t ldp)
{
#define START(j)                                                               \
    if (nr > j * W)                                                            \
        sum[j] = does & TileAdd ? v_load(c + vector_at(j, ldp)) : v_splat(0.0f);
    EACH_VECTOR(START)
}

INLINE void tile_start(tile_sums sum, int mr, int nr, int does, const float *c,
                       int64_t ldc, int64_t ldp)
{
#define START_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_start(sum[i], nr, does, c + i * ldc, ldp);
    EACH_ROW(START_ROW)
}

//: tile_fetch needs: v_prefetch
/* One line each of two panels: more would be in the way of what is computed.
 * One row has the time: it waits for its own panels anyway. */
INLINE void tile_fetch(int mr, int nr, const char *next, int64_t panel)
{
    v_prefetch(next);
    if (nr > 16)
        v_prefetch(next + panel);
    if (nr > 32 && mr == 1)
        v_prefetch(next + 2 * panel);
    if (nr > 48 && mr == 1)
        v_prefetch(next + 3 * panel);
}

//: row_add needs: tile_sums v_fma
INLINE void row_add(v *sum, int nr, v x, const v *b)
{
#define ADD(j)                                                                 \
    if (nr > j * W)                                                            \
        sum[j] = v_fma(x, b[j], sum[j]);
    EACH_VECTOR(ADD)
}

//: float_step needs: row_add vector_at v_splat
/* Column k of A times a line of each panel, whose vectors `read` makes. */
typedef v tile_read(const void *b, int64_t at);
INLINE void float_step(tile_sums sum, int mr, int nr, tile_read *read,
                       const float *a, int64_t lda, int64_t k, const void *b,
                       int64_t ldb)
{
    v w[TileVectors];
#define READ(j)                                                                \
    if (nr > j * W)                                                            \
        w[j] = read(b, vector_at(j, ldb));
    EACH_VECTOR(READ)
#define ADD_ROW(i)                                                             \
    if (mr > i)                                                                \
        row_add(sum[i], nr, v_splat(a[k + i * lda]), w);
    EACH_ROW(ADD_ROW)
}

//: float_products needs: ROLLED float_step tile_fetch
INLINE void float_products(tile_sums sum, int mr, int nr, int does,
                           tile_read *read, int bytes, const float *a,
                           int64_t lda, const char *b, int64_t ldb, int64_t k,
                           const char *next, int64_t ahead)
{
    ROLLED
    for (int64_t i = 0; i < k; i++) {
        if (does & TilePrefetch) {
            tile_fetch(mr, nr, next, ldb * bytes);
            next += ahead * bytes;
        }
        float_step(sum, mr, nr, read, a, lda, i, b, ldb);
        b += 16 * bytes;
    }
}

//: f32_products needs: float_products v_load_aligned
INLINE v f32_read(const void *b, int64_t at)
{
    return v_load_aligned((const float *)b + at);
}

INLINE void f32_products(tile_sums sum, int mr, int nr, int does, const void *a,
                         int64_t lda, const void *b, int64_t ldb, int64_t k,
                         const void *next, int64_t ahead)
{
    float_products(sum, mr, nr, does, f32_read, 4, (const float *)a, lda,
                   (const char *)b, ldb, k, (const char *)next, ahead);
}

//: bf16_products needs: float_products v_widen
INLINE v bf16_read(const void *b, int64_t at)
{
    return v_widen((const uint16_t *)b + at);
}

INLINE void bf16_products(tile_sums sum, int mr, int nr, int does,
                          const void *a, int64_t lda, const void *b,
                          int64_t ldb, int64_t k, const void *next,
                          int64_t ahead)
{
    float_products(sum, mr, nr, does, bf16_read, 2, (const float *)a, lda,
                   (const char *)b, ldb, k, (const char *)next, ahead);
}

//: tile_finish needs: tile_sums vector_at v_load
/* act(sums + bias) + r, each part if the tile has it. */
typedef v activation(v x);
INLINE void row_finish(v *sum, int nr, int does, activation *act, const v *bias,
                       const float *r, int64_t at, int64_t ldp)
{
#define FINISH(j)                                                              \
    if (nr > j * W && does & TileBias)                                         \
        sum[j] += bias[j];                                                     \
    if (nr > j * W && does & TileAct)                                          \
        sum[j] = act(sum[j]);                                                  \
    if (nr > j * W && does & TileResidual)                                     \
        sum[j] += v_load(r + at + vector_at(j, ldp));
    EACH_VECTOR(FINISH)
}

INLINE void tile_finish(tile_sums sum, int mr, int nr, int does,
                        activation *act, const float *bias, const float *r,
                        int64_t ldr, int64_t ldp)
{
    v offset[TileVectors];
#define OFFSET(j)                                                              \
    if (nr > j * W && does & TileBias)                                         \
        offset[j] = v_load(bias + vector_at(j, ldp));
    EACH_VECTOR(OFFSET)
#define FINISH_ROW(i)                                                          \
    if (mr > i)                                                                \
        row_finish(sum[i], nr, does, act, offset, r, i * ldr, ldp);
    EACH_ROW(FINISH_ROW)
}

//: tile_store needs: tile_sums vector_at v_store
INLINE void row_store(const v *sum, int nr, float *c, int64_t ldp)
{
#define STORE(j)                                                               \
    if (nr > j * W)                                                            \
        v_store(c + vector_at(j, ldp), sum[j]);
    EACH_VECTOR(STORE)
}

INLINE void tile_store(tile_sums sum, int mr, int nr, float *c, int64_t ldc,
                       int64_t ldp)
{
#define STORE_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_store(sum[i], nr, c + i * ldc, ldp);
    EACH_ROW(STORE_ROW)
}

//: score_products when: w16 needs: f32_products weights_of_16
/* Products of attention. Between two steps 16 scores of rows that wait become
 * weights: units that multiply have none of that work, so both go on side by
 * side. */
INLINE void score_products(tile_sums sum, int mr, int nr, int does,
                           const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t k, const float *next,
                           int64_t ahead, const struct waiting *w)
{
    const int64_t vectors = mr * nr / W, each = k < vectors ? 1 : k / vectors;
    float *s = w->s;
    float *const end = s + w->rows * nr;
    for (int64_t i = 0, stop; i < k; i = stop) {
        stop = i + each < k ? i + each : k;
        if (s < end)
            s = weights_of_16(w, s);
        ROLLED
        for (; i < stop; i++) {
            if (does & TilePrefetch) {
                tile_fetch(mr, nr, (const char *)next, ldb * 4);
                next += ahead;
            }
            float_step(sum, mr, nr, f32_read, a, lda, i, b, ldb);
            b += 16;
        }
    }
    while (s < end)
        s = weights_of_16(w, s);
}

//: value_products when: w16 needs: f32_products waiting
/* Rows of C are multiplied by w->by first. */
INLINE void row_rescale(v *sum, int nr, v by)
{
#define RESCALE(j)                                                             \
    if (nr > j * W)                                                            \
        sum[j] *= by;
    EACH_VECTOR(RESCALE)
}

INLINE void tile_rescale(tile_sums sum, int mr, int nr, const float *by)
{
#define RESCALE_ROW(i)                                                         \
    if (mr > i)                                                                \
        row_rescale(sum[i], nr, v_splat(by[i]));
    EACH_ROW(RESCALE_ROW)
}

INLINE void value_products(tile_sums sum, int mr, int nr, int does,
                           const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t k, const float *next,
                           int64_t ahead, const struct waiting *w)
{
    tile_rescale(sum, mr, nr, w->by);
    f32_products(sum, mr, nr, does, a, lda, b, ldb, k, next, ahead);
}

//: TILE_WAITING when: w16 needs: tile_start tile_store waiting
#define TILE_WAITING(name, mr, nr, products, does)                             \
    static void name(const float *a, int64_t lda, const float *b, int64_t ldb, \
                     int64_t k, float *c, int64_t ldc, const float *next,      \
                     int64_t ahead, const struct waiting *w)                   \
    {                                                                          \
        tile_sums sum;                                                         \
        tile_start(sum, mr, nr, does, c, ldc, 16);                             \
        products(sum, mr, nr, does, a, lda, b, ldb, k, next, ahead, w);        \
        tile_store(sum, mr, nr, c, ldc, 16);                                   \
    }

//: tile_finish_any needs: TILE finish_rows v_relu
/* Parts that are known at run time only; NULL: absent. In registers, if the
 * activation is none or relu. */
enum { NoActivation, Relu };
INLINE void tile_finish_any(tile_sums sum, int mr, int nr, float *c,
                            int64_t ldc, const float *bias, const float *r,
                            int64_t ldr, int64_t act, int64_t ldp)
{
    float rows[TileRows * TileVectors * W];
    if (act > Relu) {
        tile_store(sum, mr, nr, rows, nr, 16);
        finish_rows(c, ldc, ldp, rows, mr, nr, bias, r, ldr, act);
        return;
    }
    if (bias)
        tile_finish(sum, mr, nr, TileBias, 0, bias, r, ldr, ldp);
    if (act == Relu)
        tile_finish(sum, mr, nr, TileAct, v_relu, bias, r, ldr, ldp);
    if (r)
        tile_finish(sum, mr, nr, TileResidual, 0, bias, r, ldr, ldp);
    tile_store(sum, mr, nr, c, ldc, ldp);
}
