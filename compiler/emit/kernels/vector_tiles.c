/* vector_tiles.c: has the functions that tiles call, in vectors. Sums stay in
 * registers, because all indices of their array are constants. In a loop, even
 * an unrolled one, clang 14 leaves such an array in memory; hence EACH_ROW and
 * EACH_VECTOR. */

//: vector_at needs: v
/* Returns the offset of vector j of a row whose panels are `panel` apart. */
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
        row_start(sum[i], nr, does, does & TileAdd ? c + i * ldc : c, ldp);
    EACH_ROW(START_ROW)
}

//: tile_fetch needs: tile_sums v_prefetch v_prefetch_near
INLINE void line_fetch(int near, const char *line)
{
    if (near)
        v_prefetch_near(line);
    else
        v_prefetch(line);
}

/* Prefetches a line of each of two panels; more would slow down the products.
 * One row prefetches all panels, because it waits for memory anyway. Returns
 * the address of the next lines. */
INLINE const char *tile_fetch(int mr, int nr, int does, const char *next,
                              int64_t panel, int64_t ahead)
{
    const int near = does & TileNear && mr < 4;
    if (does < TilePrefetch || mr < does / TilePrefetch)
        return next;
    line_fetch(near, next);
    if (nr > 16)
        line_fetch(near, next + panel);
    if (nr > 32 && mr == 1)
        line_fetch(near, next + 2 * panel);
    if (nr > 48 && mr == 1)
        line_fetch(near, next + 3 * panel);
    return next + ahead;
}

//: row_add needs: tile_sums v_fma
INLINE void row_add(v *sum, int nr, v x, const v *w)
{
#define ADD(j)                                                                 \
    if (nr > j * W)                                                            \
        sum[j] = v_fma(x, w[j], sum[j]);
    EACH_VECTOR(ADD)
}

//: rows_add needs: row_add v_splat
/* Adds a number of each row, lda apart, times vectors w. */
INLINE void rows_add(tile_sums sum, int mr, int nr, const float *a, int64_t lda,
                     const v *w)
{
#define ADD_ROW(i)                                                             \
    if (mr > i)                                                                \
        row_add(sum[i], nr, v_splat(a[i * lda]), w);
    EACH_ROW(ADD_ROW)
}

//: tile_read needs: v
/* Returns the vector of a panel from index `at` on. */
typedef v tile_read(const void *b, int64_t at);

//: float_step needs: rows_add vector_at tile_read
/* Adds the column of A at a times a line of each panel, which `read` reads. */
INLINE void float_step(tile_sums sum, int mr, int nr, tile_read *read,
                       const struct tile_operands *of, const float *a,
                       const void *b)
{
    v w[TileVectors];
#define READ(j)                                                                \
    if (nr > j * W)                                                            \
        w[j] = read(b, vector_at(j, of->ldb));
    EACH_VECTOR(READ)
    rows_add(sum, mr, nr, a, of->lda, w);
}

//: f32_products needs: ROLLED float_step tile_fetch v_load_aligned
INLINE v f32_read(const void *b, int64_t at)
{
    return v_load_aligned((const float *)b + at);
}

INLINE void f32_products(tile_sums sum, int mr, int nr, int does,
                         const struct tile_operands *of)
{
    const float *b = (const float *)of->b, *const end = b + 16 * of->k;
    const char *next = (const char *)of->next;
    const float *a = (const float *)of->a;
    ROLLED
    for (; b < end; b += 16) { /* without a counter */
        next = tile_fetch(mr, nr, does, next, of->ldb * 4, of->ahead * 4);
        float_step(sum, mr, nr, f32_read, of, a++, b);
    }
}

//: v_pairs needs: v
/* Two bf16 numbers of each of W columns, in memory. */
typedef uint32_t v_pairs __attribute__((vector_size(4 * W), may_alias));

//: bf16_halves needs: v_pairs tile_read
/* A bf16 number is the upper half of a float. */
INLINE v bf16_first(const void *b, int64_t at)
{
    return (v)(*(const v_pairs *)((const char *)b + at * 4) << 16);
}

INLINE v bf16_second(const void *b, int64_t at)
{
    return (v)(*(const v_pairs *)((const char *)b + at * 4)
               & 0xffff0000u);
}

//: bf16_products needs: ROLLED float_step tile_fetch bf16_halves
INLINE void bf16_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    struct tile_operands pairs = *of;
    const char *b = (const char *)of->b, *next = (const char *)of->next;
    const char *const end = b + of->k / 2 * 64;
    const float *a = (const float *)of->a;
    pairs.ldb /= 2;
    ROLLED
    for (; b < end; b += 64) {
        next = tile_fetch(mr, nr, does, next, of->ldb * 2, of->ahead * 2);
        float_step(sum, mr, nr, bf16_first, &pairs, a, b);
        float_step(sum, mr, nr, bf16_second, &pairs, a + 1, b);
        a += 2;
    }
    if (of->k % 2)
        float_step(sum, mr, nr, bf16_first, &pairs, a, b);
}

//: bf16_dp needs: ROLLED tile_fetch v_pairs v_dp v_pair vector_at
/* Adds two products at a time: the second, then the first. */
INLINE void row_dp(v *sum, int nr, v_bits x, const v_bits *w)
{
#define ADD_PAIR(j)                                                            \
    if (nr > j * W)                                                            \
        sum[j] = v_dp(sum[j], x, w[j]);
    EACH_VECTOR(ADD_PAIR)
}

INLINE void bf16_dp(tile_sums sum, int mr, int nr, int does,
                    const struct tile_operands *of)
{
    const char *b = (const char *)of->b, *next = (const char *)of->next;
    const char *const end = b + (of->k + 1) / 2 * 64;
    const uint16_t *a = (const uint16_t *)of->a;
    v_bits w[TileVectors];
    ROLLED
    for (; b < end; b += 64) {
        next = tile_fetch(mr, nr, does, next, of->ldb * 2, of->ahead * 2);
#define READ_PAIR(j)                                                           \
    if (nr > j * W)                                                            \
        w[j] = *(const v_pairs *)(b + vector_at(j, of->ldb / 2) * 4);
        EACH_VECTOR(READ_PAIR)
#define ROW_DP(i)                                                              \
    if (mr > i)                                                                \
        row_dp(sum[i], nr, v_pair(a + i * of->lda), w);
        EACH_ROW(ROW_DP)
        a += 2;
    }
}

//: bf16_block needs: ROLLED tile_start tile_fetch bf16_halves row_add widen1
INLINE void bf16_step(tile_sums sum, int mr, int nr, tile_read *read,
                      const struct tile_operands *of, const uint16_t *a,
                      const void *b)
{
    v w[TileVectors];
#define READ_BF16(j)                                                           \
    if (nr > j * W)                                                            \
        w[j] = read(b, vector_at(j, of->ldb / 2));
    EACH_VECTOR(READ_BF16)
#define ADD_BF16(i)                                                            \
    if (mr > i)                                                                \
        row_add(sum[i], nr, v_splat(widen1(a[i * of->lda])), w);
    EACH_ROW(ADD_BF16)
}

INLINE void row_both(v *sum, int nr, const v *even, const v *odd)
{
#define ADD_BOTH(j)                                                            \
    if (nr > j * W)                                                            \
        sum[j] += even[j] + odd[j];
    EACH_VECTOR(ADD_BOTH)
}

/* Adds 32 products: the sum of the even ones and that of the odd. Returns the
 * address of the next lines to prefetch. */
INLINE const char *bf16_block(tile_sums sum, int mr, int nr, int does,
                              const struct tile_operands *of,
                              const uint16_t *a, const char *b,
                              const char *next)
{
    const char *const end = b + 1024;
    tile_sums even, odd;
    tile_start(even, mr, nr, 0, 0, 0, 0);
    tile_start(odd, mr, nr, 0, 0, 0, 0);
    ROLLED
    for (; b < end; b += 64) {
        next = tile_fetch(mr, nr, does, next, of->ldb * 2, of->ahead * 2);
        bf16_step(even, mr, nr, bf16_first, of, a, b);
        bf16_step(odd, mr, nr, bf16_second, of, a + 1, b);
        a += 2;
    }
#define ROW_BOTH(i)                                                            \
    if (mr > i)                                                                \
        row_both(sum[i], nr, even[i], odd[i]);
    EACH_ROW(ROW_BOTH)
    return next;
}

//: bf16_amx needs: bf16_block
INLINE void bf16_amx(tile_sums sum, int mr, int nr, int does,
                     const struct tile_operands *of)
{
    const char *b = (const char *)of->b, *next = (const char *)of->next;
    const char *const end = b + (of->k + 31) / 32 * 1024;
    const uint16_t *a = (const uint16_t *)of->a;
    for (; b < end; b += 1024) {
        next = bf16_block(sum, mr, nr, does, of, a, b, next);
        a += 32;
    }
}

//: bf16x2_x3 needs: bf16_block
/* Multiplies numbers that are sums of two of bf16: of each 32 products, adds
 * those of the first numbers of x and the second ones of W, of both first, and
 * of the second ones of x and the first ones of W. */
INLINE void bf16x2_x3(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    const struct tile_operands halves = {
        of->a, of->lda * 2, of->b, of->ldb * 2, of->k, of->next, of->ahead * 2};
    const char *b = (const char *)of->b, *next = (const char *)of->next;
    const char *const end = b + (of->k + 31) / 32 * 2048;
    const uint16_t *a = (const uint16_t *)of->a;
    for (; b < end; b += 2048) {
        next = bf16_block(sum, mr, nr, does, &halves, a, b + 1024, next);
        next = bf16_block(sum, mr, nr, does, &halves, a, b, next);
        bf16_block(sum, mr, nr, does % TilePrefetch, &halves, a + 32, b, next);
        a += 64;
    }
}

//: tile_finish needs: tile_sums vector_at v_load
/* Computes act(sums + bias) + r, each part if the tile has it. */
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
/* Computes scores of attention. Between two steps, 16 pending scores become
 * weights, on execution units that the products leave idle. */
INLINE void score_products(tile_sums sum, int mr, int nr, int does,
                           const struct tile_operands *of,
                           const struct waiting *w)
{
    const int64_t vectors = mr * nr / W, k = of->k;
    const int64_t each = k < vectors ? 1 : k / vectors;
    const float *a = (const float *)of->a, *b = (const float *)of->b;
    const char *next = (const char *)of->next;
    float *s = w->s;
    float *const end = s + w->rows * nr;
    for (int64_t i = 0, stop; i < k; i = stop) {
        stop = i + each < k ? i + each : k;
        if (s < end)
            s = weights_of_16(w, s);
        ROLLED
        for (; i < stop; i++) {
            next = tile_fetch(mr, nr, does, next, of->ldb * 4, of->ahead * 4);
            float_step(sum, mr, nr, f32_read, of, a + i, b);
            b += 16;
        }
    }
    while (s < end)
        s = weights_of_16(w, s);
}

//: value_products when: w16 needs: f32_products waiting
/* Multiplies the rows of C by w->by, then adds products. */
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
                           const struct tile_operands *of,
                           const struct waiting *w)
{
    tile_rescale(sum, mr, nr, w->by);
    f32_products(sum, mr, nr, does, of);
}

//: TILE_WAITING when: w16 needs: tile_start tile_store waiting
#define TILE_WAITING(name, mr, nr, products, does)                             \
    static void name(const float *a, int64_t lda, const float *b, int64_t ldb, \
                     int64_t k, float *c, int64_t ldc, const float *next,      \
                     int64_t ahead, const struct waiting *w)                   \
    {                                                                          \
        const struct tile_operands of = {a, lda, b, ldb, k, next, ahead};      \
        tile_sums sum;                                                         \
        tile_start(sum, mr, nr, does, c, ldc, 16);                             \
        products(sum, mr, nr, does, &of, w);                                   \
        tile_store(sum, mr, nr, c, ldc, 16);                                   \
    }

//: tile_finish_any needs: TILE finish_rows v_relu
/* Finishes a tile whose parts are chosen at run time; bias and r may be NULL.
 * Sums stay in registers if the activation is none or relu. */
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
