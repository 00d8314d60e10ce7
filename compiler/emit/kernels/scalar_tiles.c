/* scalar_tiles.c: does what vector_tiles.c does, but for one float at a time,
 * in plain C11 and panel by panel. The results are bit-identical. */

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
/* Adds number k of each row times 16 weights to the sums from column j on. */
INLINE void float_step(tile_sums sum, int64_t j, int mr,
                       const struct tile_operands *of, int64_t k,
                       const float *w)
{
    const float *a = (const float *)of->a + k;
    for (int64_t i = 0; i < mr; i++)
        for (int64_t l = 0; l < 16; l++)
            sum[i][j + l] = v_fma(a[i * of->lda], w[l], sum[i][j + l]);
}

//: f32_products needs: float_step
INLINE void f32_products(tile_sums sum, int mr, int nr, int does,
                         const struct tile_operands *of)
{
    const float *b = (const float *)of->b;
    for (int64_t j = 0; j < nr; j += 16)
        for (int64_t i = 0; i < of->k; i++)
            float_step(sum, j, mr, of, i, b + j / 16 * of->ldb + i * 16);
    (void)does;
}

//: bf16_products needs: float_step widen1
INLINE void bf16_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    const uint16_t *b = (const uint16_t *)of->b;
    float w[16];
    for (int64_t j = 0; j < nr; j += 16)
        for (int64_t i = 0; i < of->k; i++) {
            for (int64_t l = 0; l < 16; l++)
                w[l] = widen1(b[j / 16 * of->ldb + i / 2 * 32 + l * 2 + i % 2]);
            float_step(sum, j, mr, of, i, w);
        }
    (void)does;
}

//: bf16_dp needs: tile_sums v_fma widen1
/* Adds two products at a time: the second, then the first. */
INLINE void bf16_dp(tile_sums sum, int mr, int nr, int does,
                    const struct tile_operands *of)
{
    const uint16_t *a = (const uint16_t *)of->a;
    const uint16_t *b = (const uint16_t *)of->b;
    for (int64_t j = 0; j < nr; j++) {
        const uint16_t *w = b + j / 16 * of->ldb + j % 16 * 2;
        for (int64_t i = 0; i < mr; i++) {
            const uint16_t *x = a + i * of->lda;
            for (int64_t k = 0; k < of->k; k += 2) {
                const uint16_t *two = w + k * 16;
                const float sum1 = v_fma(widen1(x[k + 1]), widen1(two[1]),
                                         sum[i][j]);
                sum[i][j] = v_fma(widen1(x[k]), widen1(two[0]), sum1);
            }
        }
    }
    (void)does;
}

//: sum_of_32 needs: v_fma widen1
/* Adds 32 products at a time: the sum of the even ones and that of the odd. */
INLINE float sum_of_32(const uint16_t *x, const uint16_t *w)
{
    float even = 0.0f, odd = 0.0f;
    for (int64_t k = 0; k < 32; k += 2) {
        even = v_fma(widen1(x[k]), widen1(w[k * 16]), even);
        odd = v_fma(widen1(x[k + 1]), widen1(w[k * 16 + 1]), odd);
    }
    return even + odd;
}

//: bf16_amx needs: tile_sums sum_of_32
INLINE void bf16_amx(tile_sums sum, int mr, int nr, int does,
                     const struct tile_operands *of)
{
    const uint16_t *a = (const uint16_t *)of->a;
    const uint16_t *b = (const uint16_t *)of->b;
    for (int64_t j = 0; j < nr; j++) {
        const uint16_t *w = b + j / 16 * of->ldb + j % 16 * 2;
        for (int64_t i = 0; i < mr; i++)
            for (int64_t k = 0; k < of->k; k += 32)
                sum[i][j] += sum_of_32(a + i * of->lda + k, w + k * 16);
    }
    (void)does;
}

//: bf16x2_x3 needs: tile_sums sum_of_32
/* Multiplies numbers that are sums of two of bf16: of each 32 products, adds
 * those of the first numbers of x and the second ones of W, of both first, and
 * of the second ones of x and the first ones of W. */
INLINE void bf16x2_x3(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    const uint16_t *b = (const uint16_t *)of->b;
    for (int64_t j = 0; j < nr; j++)
        for (int64_t i = 0; i < mr; i++) {
            const uint16_t *x = (const uint16_t *)of->a + i * of->lda * 2;
            const uint16_t *w = b + j / 16 * of->ldb * 2 + j % 16 * 2;
            for (int64_t k = 0; k < of->k; k += 32) {
                sum[i][j] += sum_of_32(x, w + 512);
                sum[i][j] += sum_of_32(x, w);
                sum[i][j] += sum_of_32(x + 32, w);
                x += 64;
                w += 1024;
            }
        }
    (void)does;
}

//: tile_number
/* Returns number k of a column of a panel of integers. */
typedef int32_t tile_number(const void *panel, int64_t k, int64_t column);

//: number_products needs: tile_number float_step float_at
/* Adds the products with weights in integers. Behind the numbers of a panel are
 * the scales of its columns. */
INLINE void number_products(tile_sums sum, int mr, int nr, tile_number *number,
                            const struct tile_operands *of, int64_t scales)
{
    const uint8_t *b = (const uint8_t *)of->b;
    float w[16];
    for (int64_t j = 0; j < nr; j += 16, b += of->ldb) {
        for (int64_t i = 0; i < of->k; i++) {
            for (int64_t l = 0; l < 16; l++)
                w[l] = (float)number(b, i, l);
            float_step(sum, j, mr, of, i, w);
        }
        for (int64_t i = 0; i < mr; i++)
            for (int64_t l = 0; l < 16; l++)
                sum[i][j + l] *= float_at(b + scales + l * 4);
    }
}

//: number_dots needs: tile_number tile_sums v_fma float_at
/* Does the same for rows of integers. A row has q + 128 or, for int15, upper
 * bits + 128 and then lower bits; its scale follows. */
INLINE void number_dots(tile_sums sum, int mr, int nr, int does,
                        tile_number *number, const struct tile_operands *of,
                        int64_t scales)
{
    const uint8_t *b = (const uint8_t *)of->b;
    const int64_t stored = (of->k + 63) / 64 * 64;
    const int64_t planes = does & TileInt15 ? 2 : 1;
    for (int64_t j = 0; j < nr; j += 16, b += of->ldb) {
        int32_t high[TileRows][16] = {{0}}, low[TileRows][16] = {{0}};
        for (int64_t i = 0; i < of->k; i++)
            for (int64_t l = 0; l < 16; l++) {
                const uint8_t *a = (const uint8_t *)of->a + i;
                const int32_t w = number(b, i, l);
                for (int64_t r = 0; r < mr; r++, a += of->lda) {
                    high[r][l] += (a[0] - 128) * w;
                    if (planes == 2)
                        low[r][l] += a[stored] * w;
                }
            }
        for (int64_t r = 0; r < mr; r++)
            for (int64_t l = 0; l < 16; l++) {
                const float x = (float)high[r][l];
                const float unit = float_at((const uint8_t *)of->a + r * of->lda
                                            + planes * stored);
                sum[r][j + l] = planes == 2
                                  ? v_fma(128.0f, x, (float)low[r][l])
                                  : x;
                sum[r][j + l] *= unit * float_at(b + scales + l * 4);
                if (does & TileSum)
                    sum[r][j + l] = float_at(&high[r][l]);
            }
    }
}

//: int8_number needs: int8_at
INLINE int32_t int8_number(const void *panel, int64_t k, int64_t column)
{
    return int8_at((const int8_t *)panel, k, column);
}

//: int8_products needs: number_products int8_number
INLINE void int8_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    number_products(sum, mr, nr, int8_number, of, (of->k + 63) / 64 * 1024);
    (void)does;
}

//: int8_dots needs: number_dots int8_number
INLINE void int8_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    number_dots(sum, mr, nr, does, int8_number, of,
                (of->k + 63) / 64 * 1024);
}

//: int4_number needs: int4_at
INLINE int32_t int4_number(const void *panel, int64_t k, int64_t column)
{
    return int4_at((const uint8_t *)panel, k, column, 32);
}

//: int4_products needs: number_products int4_number
INLINE void int4_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    number_products(sum, mr, nr, int4_number, of, int4_bytes(of->k, 32));
    (void)does;
}

//: int4_dots needs: number_dots int4_number
INLINE void int4_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    number_dots(sum, mr, nr, does, int4_number, of,
                int4_bytes(of->k, 32));
}

//: int4g64_number needs: int4_at
INLINE int32_t int4g64_number(const void *panel, int64_t k, int64_t column)
{
    return int4_at((const uint8_t *)panel, k, column, 64);
}

//: int4g64_products needs: number_products int4g64_number
INLINE void int4g64_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    number_products(sum, mr, nr, int4g64_number, of, int4_bytes(of->k, 64));
    (void)does;
}

//: int4g64_dots needs: number_dots int4g64_number
INLINE void int4g64_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    number_dots(sum, mr, nr, does, int4g64_number, of,
                int4_bytes(of->k, 64));
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

//: kernel finish_sums needs: float_at bits_at v_fma
/* Turns integer sums in y into floats, adds the bias and the residual r unless
 * they are NULL. `units` are those of rows; `scales` those of a panel. */
static void finish_sums(float *y, int64_t ldy, int64_t low,
                        const uint8_t *units, int64_t ldu, int64_t rows,
                        int64_t n, const uint8_t *scales, int64_t lds,
                        const float *bias, const float *r, int64_t ldr)
{
    for (int64_t i = 0; i < rows; i++) {
        const float unit = float_at(units + i * ldu);
        for (int64_t j = 0; j < n; j++) {
            const float scale = float_at(scales + j / 16 * lds + j % 16 * 4);
            float x = (float)bits_at((const uint8_t *)(y + j));
            if (low)
                x = v_fma(128.0f, x,
                          (float)bits_at((const uint8_t *)(y + low + j)));
            x *= unit * scale;
            if (bias)
                x += bias[j];
            if (r)
                x += r[j];
            y[j] = x;
        }
        y += ldy;
        if (r)
            r += ldr;
    }
}
