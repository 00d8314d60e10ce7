/* scalar_tiles.c: vector_tiles.c for one float at a time: plain C11. Sums of a
 * panel go before the next panel. Bits are the same.                        */

//: tile_start needs: tile_sums
INLINE void tile_start(tile_sums sum, int mr, int nr, int does, const float *c,
                       int64_t ldc, int64_t ldp)
{
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++)
            sum[i][j] = does & TileAdd ? c[i * ldc + j / 16 * ldp + j % 16]
                                       : 0.0f;
}

//: float_step needs: tile_sums v_fma
/* Number k of each row times 16 weights, from column j on. */
INLINE void float_step(tile_sums sum, int64_t j, int mr, const float *a,
                       int64_t lda, int64_t k, const float *w)
{
    for (int64_t i = 0; i < mr; i++)
        for (int64_t l = 0; l < 16; l++)
            sum[i][j + l] = v_fma(a[i * lda + k], w[l], sum[i][j + l]);
}

//: f32_products needs: float_step
INLINE void f32_products(tile_sums sum, int mr, int nr, int does, const void *a,
                         int64_t lda, const void *b, int64_t ldb, int64_t k,
                         const void *next, int64_t ahead)
{
    for (int64_t j = 0; j < nr; j += 16)
        for (int64_t i = 0; i < k; i++)
            float_step(sum, j, mr, (const float *)a, lda, i,
                       (const float *)b + j / 16 * ldb + i * 16);
    (void)does;
    (void)next;
    (void)ahead;
}

//: bf16_products needs: float_step widen1
INLINE void bf16_products(tile_sums sum, int mr, int nr, int does,
                          const void *a, int64_t lda, const void *b,
                          int64_t ldb, int64_t k, const void *next,
                          int64_t ahead)
{
    float w[16];
    for (int64_t j = 0; j < nr; j += 16)
        for (int64_t i = 0; i < k; i++) {
            for (int64_t l = 0; l < 16; l++)
                w[l] = widen1(((const uint16_t *)b)[j / 16 * ldb + i * 16 + l]);
            float_step(sum, j, mr, (const float *)a, lda, i, w);
        }
    (void)does;
    (void)next;
    (void)ahead;
}

//: tile_finish needs: tile_sums
typedef v activation(v x);
INLINE void tile_finish(tile_sums sum, int mr, int nr, int does,
                        activation *act, const float *bias, const float *r,
                        int64_t ldr, int64_t ldp)
{
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++) {
            const int64_t at = j / 16 * ldp + j % 16;
            if (does & TileBias)
                sum[i][j] += bias[at];
            if (does & TileAct)
                sum[i][j] = act(sum[i][j]);
            if (does & TileResidual)
                sum[i][j] += r[i * ldr + at];
        }
}

//: tile_store needs: tile_sums
INLINE void tile_store(tile_sums sum, int mr, int nr, float *c, int64_t ldc,
                       int64_t ldp)
{
    for (int64_t i = 0; i < mr; i++)
        for (int64_t j = 0; j < nr; j++)
            c[i * ldc + j / 16 * ldp + j % 16] = sum[i][j];
}

//: tile_finish_any needs: tile_store finish_rows
INLINE void tile_finish_any(tile_sums sum, int mr, int nr, float *c,
                            int64_t ldc, const float *bias, const float *r,
                            int64_t ldr, int64_t act, int64_t ldp)
{
    float rows[TileRows * TileVectors];
    tile_store(sum, mr, nr, rows, nr, 16);
    finish_rows(c, ldc, ldp, rows, mr, nr, bias, r, ldr, act);
}
