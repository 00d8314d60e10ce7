/* rows.c: computes norms other than layer norm, rotary positions and pooling,
 * by the operations of vector.c or scalar.c. Sums are as in kernels.c. y may be
 * x. */

//: kernel rms_norm_rows needs: v_load v_store v_splat row_squares
/* Computes x / sqrt(mean(x^2) + eps) gamma [Zhang and Sennrich 2019, (4)]. */
static void rms_norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                          const float *gamma, int64_t rows, int64_t d,
                          float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        const float square = row_squares(x, d, 0.0f) / (float)d;
        const float scale = 1.0f / sqrtf(square + eps);
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j) * v_splat(scale) * v_load(gamma + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j] * scale * gamma[j];
        x += ldx;
        y += ldy;
    }
}

//: kernel add_rms_norm_rows needs: add_rows rms_norm_rows
/* Does the same for x + residual. y may be x or the residual. */
static void add_rms_norm_rows(float *y, int64_t ldy, const float *x,
                              int64_t ldx, const float *residual, int64_t ldr,
                              const float *gamma, int64_t rows, int64_t d,
                              float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = y + i * ldy;
        add_rows(row, ldy, x + i * ldx, ldx, residual + i * ldr, ldr, 1, d);
        rms_norm_rows(row, ldy, row, ldy, gamma, 1, d, eps);
    }
}

//: kernel head_norm_rows needs: norm_rows rms_norm_rows
/* Normalises each head of each row by itself [Henry et al. 2020]: d elements.
 * The gammas and betas of heads are `apart` floats apart; 0: all share one. rms
 * omits mean and beta; beta may be NULL. */
static void head_norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                           const float *gamma, const float *beta, int64_t apart,
                           int64_t rows, int64_t heads, int64_t d, float eps,
                           int64_t rms)
{
    const int64_t some = apart ? 1 : heads;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t h = 0; h < heads; h += some) {
            const float *g = gamma + h * apart;
            const float *b = beta ? beta + h * apart : beta;
            if (rms)
                rms_norm_rows(y + h * d, d, x + h * d, d, g, some, d, eps);
            else
                norm_rows(y + h * d, d, x + h * d, d, g, b, some, d, eps);
        }
        y += ldy;
        x += ldx;
    }
}

//: kernel l2_norm_rows needs: max1 row_squares scale_rows
/* Computes x / max(|x|, eps). */
static void l2_norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                         int64_t rows, int64_t d, float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        const float length = sqrtf(row_squares(x, d, 0.0f));
        scale_rows(y, ldy, x, ldx, 1, d, 1.0f / max1(eps, length));
        y += ldy;
        x += ldx;
    }
}

//: kernel rotate_row_halves needs: v_load v_store v_splat v_fma fma1
/* Applies rotary positions [Su et al. 2021, equation 34] to one row of heads, d
 * elements each. Turns the pairs (j, j + dims / 2) by the angles whose cosines,
 * then sines, are in the table: (a, b) becomes (a cos - b sin, b cos + a sin).
 * Elements from dims on stay. */
static void rotate_row_halves(float *y, const float *x, const float *table,
                              int64_t heads, int64_t d, int64_t dims)
{
    const int64_t half = dims / 2, vector_end = half / W * W;
    const float *sine = table + half;
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t j = 0; j < vector_end; j += W) {
            const v a = v_load(x + j), b = v_load(x + half + j);
            const v c = v_load(table + j), s = v_load(sine + j);
            v_store(y + j, v_fma(a, c, -(b * s)));
            v_store(y + half + j, v_fma(b, c, a * s));
        }
        for (int64_t j = vector_end; j < half; j++) {
            const float a = x[j], b = x[half + j];
            y[j] = fma1(a, table[j], -(b * sine[j]));
            y[half + j] = fma1(b, table[j], a * sine[j]);
        }
        for (int64_t j = dims; j < d; j++)
            y[j] = x[j];
        x += d;
        y += d;
    }
}

//: kernel rotate_row_interleaved needs: fma1
/* Does the same for the pairs (2 j, 2 j + 1), as in the paper. */
static void rotate_row_interleaved(float *y, const float *x,
                                   const float *table, int64_t heads,
                                   int64_t d, int64_t dims)
{
    const float *sine = table + dims / 2;
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t j = 0; j < dims / 2; j++) {
            const float a = x[2 * j], b = x[2 * j + 1];
            y[2 * j] = fma1(a, table[j], -(b * sine[j]));
            y[2 * j + 1] = fma1(b, table[j], a * sine[j]);
        }
        for (int64_t j = dims; j < d; j++)
            y[j] = x[j];
        x += d;
        y += d;
    }
}

//: pool_rows needs: v_splat load_some store_some
/* Sets y[j] to the sum of column j over `by`: adds up sums of 64 rows. */
static void pool_rows(float *y, const float *x, int64_t ldx, int64_t rows,
                      int64_t d, float by)
{
    for (int64_t j = 0; j < d; j += W) {
        v total = v_splat(0.0f);
        for (int64_t i = 0; i < rows; i += 64) {
            v sum = v_splat(0.0f);
            for (int64_t r = i; r < rows && r < i + 64; r++)
                sum += load_some(x + r * ldx + j, d - j);
            total += sum;
        }
        if (by != 1.0f)
            total = total / v_splat(by);
        store_some(y + j, total, d - j);
    }
}

//: kernel pool_mean needs: pool_rows
/* Sets y[j] to the mean of column j. No rows: 0. */
static void pool_mean(float *y, const float *x, int64_t ldx, int64_t rows,
                      int64_t d)
{
    pool_rows(y, x, ldx, rows, d, rows ? (float)rows : 1.0f);
}

//: kernel pool_sum needs: pool_rows
/* Sets y[j] to the sum of column j. No rows: 0. */
static void pool_sum(float *y, const float *x, int64_t ldx, int64_t rows,
                     int64_t d)
{
    pool_rows(y, x, ldx, rows, d, 1.0f);
}

//: kernel pool_max needs: v_splat v_max load_some store_some
/* Sets y[j] to the largest of column j but NaN, or to -inf without any. */
static void pool_max(float *y, const float *x, int64_t ldx, int64_t rows,
                     int64_t d)
{
    for (int64_t j = 0; j < d; j += W) {
        v top = v_splat(-INFINITY);
        for (int64_t i = 0; i < rows; i++)
            top = v_max(load_some(x + i * ldx + j, d - j), top);
        store_some(y + j, top, d - j);
    }
}
