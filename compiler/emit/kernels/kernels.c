/* kernels.c: computes all of a Transformer but its matrix products, with the
 * operations of vector.c or scalar.c, from one text for every width. A row's
 * sum has 16 lanes: lane j % 16 adds element j, in order of j, and a fixed tree
 * adds the lanes, so a sum has the same bits at every width. Rows need no
 * alignment; y may be x. */

//: v_exp_rest needs: v_splat v_fma v_power_of_2
/* Returns rest in e^x = scale (1 + rest) for x in -87 .. 88, scale a power
 * of 2. x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 has two parts [Cody and
 * Waite 1980]; rest = r + r^2 P(r), P minimax. */
INLINE v v_exp_rest(v x, v *scale)
{
    const v shift = v_splat(0x1.8000fep+23f);  /* rounds to n + 127 */
    const v t = v_fma(x, v_splat(0x1.715476p+0f), shift);
    const v n = t - shift;
    v r = v_fma(n, v_splat(-0x1.62e4p-1f), x);
    r = v_fma(n, v_splat(-0x1.7f7d1cp-20f), r);
    v p = v_splat(0x1.6a4ce4p-10f);
    p = v_fma(p, r, v_splat(0x1.123988p-7f));
    p = v_fma(p, r, v_splat(0x1.5558bp-5f));
    p = v_fma(p, r, v_splat(0x1.555492p-3f));
    p = v_fma(p, r, v_splat(0x1.fffffcp-2f));
    *scale = v_power_of_2(t);
    return v_fma(p, r * r, r);
}

//: v_exp needs: v_splat v_fma v_exp_rest v_zero_below
/* Returns e^x for x <= 88. Below the smallest normal number it returns 0, also
 * for -inf; e^0 is 1; NaN stays NaN. */
INLINE v v_exp(v x)
{
    v scale;
    const v rest = v_exp_rest(x, &scale);
    return v_zero_below(v_fma(rest, scale, scale), x,
                        v_splat(-0x1.5d589ep+6f));
}

//: log1 needs: fma1
/* Returns ln x within 2 ulp. x = 2^k m, m in sqrt(1/2) .. sqrt(2), f = m - 1,
 * s = f / (2 + f), ln m = 2 s + s^3 R(s^2) = f - s (f - s^2 R), R minimax. */
static float log1(float x)
{
    union { float f; int32_t bits; } u;
    float k = 0.0f;
    if (x == 0.0f)
        return -INFINITY;
    if (!(x > 0.0f))
        return (x - x) / (x - x);
    if (x == INFINITY)
        return x;
    if (x < 0x1p-126f) {         /* a subnormal number */
        x = x * 0x1p+25f;
        k = -25.0f;
    }
    u.f = x;
    const int32_t above = u.bits - 0x3f3504f3;      /* sqrt(1/2) */
    k += (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;
    const float f = u.f - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    float r = fma1(z, 0x1.31dfeap-2f, 0x1.995edap-2f);
    r = fma1(z, r, 0x1.55557ap-1f);
    const float low = fma1(k, -0x1.7f7d1cp-20f, s * fma1(-z, r, f));
    return fma1(k, 0x1.62e4p-1f, f - low);
}

//: lane_sum
/* Adds 16 lanes by a fixed tree, one half onto the other. */
static float lane_sum(float *lane)
{
    for (int64_t n = 8; n > 0; n /= 2)
        for (int64_t i = 0; i < n; i++)
            lane[i] += lane[i + n];
    return lane[0];
}

//: padded_16
/* Returns the next 16 of the n elements at x; if fewer are left, a copy in pad,
 * filled up with `fill`. */
static inline const float *padded_16(float *pad, const float *x, int64_t n,
                                   float fill)
{
    if (n >= 16)
        return x;
    for (int64_t i = 0; i < 16; i++)
        pad[i] = i < n ? x[i] : fill;
    return pad;
}

//: row_max needs: v_load v_store v_splat v_max lane_max padded_16
static float row_max(const float *x, int64_t n)
{
    float pad[16], lane[16];
    for (int64_t i = 0; i < 16; i++)
        lane[i] = -INFINITY;
    for (int64_t j = 0; j < n; j += 16) {
        const float *p = padded_16(pad, x + j, n - j, -INFINITY);
        for (int64_t i = 0; i < 16; i += W)
            v_store(lane + i, v_max(v_load(p + i), v_load(lane + i)));
    }
    return lane_max(lane);
}

//: row_sum needs: v_load v_store v_splat lane_sum padded_16
static float row_sum(const float *x, int64_t d)
{
    float pad[16], lane[16];
    v sum[16 / W];
    for (int64_t i = 0; i < 16 / W; i++)
        sum[i] = v_splat(0.0f);
    for (int64_t j = 0; j < d; j += 16) {
        const float *p = padded_16(pad, x + j, d - j, 0.0f);
        for (int64_t i = 0; i < 16 / W; i++)
            sum[i] += v_load(p + i * W);
    }
    for (int64_t i = 0; i < 16 / W; i++)
        v_store(lane + i * W, sum[i]);
    return lane_sum(lane);
}

//: row_squares needs: v_load v_store v_splat v_fma lane_sum padded_16
/* Returns the sum of (x - mean)^2. */
static float row_squares(const float *x, int64_t d, float mean)
{
    float pad[16], lane[16];
    v sum[16 / W];
    for (int64_t i = 0; i < 16 / W; i++)
        sum[i] = v_splat(0.0f);
    for (int64_t j = 0; j < d; j += 16) {
        const float *p = padded_16(pad, x + j, d - j, mean);
        for (int64_t i = 0; i < 16 / W; i++) {
            const v t = v_load(p + i * W) - v_splat(mean);
            sum[i] = v_fma(t, t, sum[i]);
        }
    }
    for (int64_t i = 0; i < 16 / W; i++)
        v_store(lane + i * W, sum[i]);
    return lane_sum(lane);
}

//: kernel add_rows needs: v_load v_store
static void add_rows(float *y, int64_t ldy, const float *a, int64_t lda,
                     const float *b, int64_t ldb, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(a + j) + v_load(b + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = a[j] + b[j];
        y += ldy;
        a += lda;
        b += ldb;
    }
}

//: kernel scale_rows needs: v_load v_store v_splat
static void scale_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                       int64_t rows, int64_t d, float s)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j) * v_splat(s));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j] * s;
        y += ldy;
        x += ldx;
    }
}

//: kernel clip_rows needs: v_load v_store v_splat v_max
/* Limits x to -cap .. cap; NaN stays NaN. */
static void clip_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      int64_t rows, int64_t d, float cap)
{
    const v least = v_splat(-cap);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, -v_max(least, -v_max(least, v_load(x + j))));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j] < -cap ? -cap : x[j] > cap ? cap : x[j];
        y += ldy;
        x += ldx;
    }
}

//: kernel bias_rows needs: v_load v_store
static void bias_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      const float *b, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j) + v_load(b + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j] + b[j];
        y += ldy;
        x += ldx;
    }
}

//: kernel scale_columns needs: v_load v_store
static void scale_columns(float *y, int64_t ldy, const float *x, int64_t ldx,
                          const float *by, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j) * v_load(by + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j] * by[j];
        y += ldy;
        x += ldx;
    }
}

//: kernel copy_rows needs: v_load v_store
static void copy_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j];
        y += ldy;
        x += ldx;
    }
}

//: kernel copy_heads needs: copy_rows
/* Copies d columns of each of a row's heads. Heads are step_y and step_x floats
 * apart; with step_x = 0 all copy the same columns. */
static void copy_heads(float *y, int64_t ldy, int64_t step_y, const float *x,
                       int64_t ldx, int64_t step_x, int64_t rows,
                       int64_t heads, int64_t d)
{
    for (int64_t i = 0; i < rows; i++)
        copy_rows(y + i * ldy, step_y, x + i * ldx, step_x, heads, d);
}

//: kernel norm_rows needs: v_load v_store v_fma fma1 row_sum row_squares
/* Applies layer normalisation [Ba et al. 2016, equation 4] to each row of x. A
 * second pass for the variance is accurate even if the mean is far from 0. beta
 * may be NULL. */
static void norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      const float *gamma, const float *beta, int64_t rows,
                      int64_t d, float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        const float mean = row_sum(x, d) / (float)d;
        const float variance = row_squares(x, d, mean) / (float)d;
        const float scale = 1.0f / sqrtf(variance + eps);
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W) {
            const v t = (v_load(x + j) - v_splat(mean)) * v_splat(scale);
            v shift = v_splat(0.0f);
            if (beta)
                shift = v_load(beta + j);
            v_store(y + j, v_fma(t, v_load(gamma + j), shift));
        }
        for (int64_t j = vector_end; j < d; j++)
            y[j] = fma1((x[j] - mean) * scale, gamma[j], beta ? beta[j] : 0.0f);
        x += ldx;
        y += ldy;
    }
}

//: kernel add_norm_rows needs: add_rows norm_rows
/* Computes LayerNorm(x + residual) [Vaswani et al. 2017, section 3.1]; each row
 * is normalised while it is in the L1 cache. y may be x or the residual. */
static void add_norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                          const float *residual, int64_t ldr,
                          const float *gamma, const float *beta, int64_t rows,
                          int64_t d, float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = y + i * ldy;
        add_rows(row, ldy, x + i * ldx, ldx, residual + i * ldr, ldr, 1, d);
        norm_rows(row, ldy, row, ldy, gamma, beta, 1, d, eps);
    }
}

//: kernel embed_row needs: fma1
/* Computes scale times the embedding of a token, plus its position if not NULL
 * [Vaswani et al. 2017, sections 3.4 and 3.5]. Element k of the token lies at
 * table[k * step]: step is 1 in rows, 16 in the panels of a product. */
static void embed_row(float *y, const float *table, int64_t step, int64_t d,
                      float scale, const float *position)
{
    if (!position)
        for (int64_t k = 0; k < d; k++)
            y[k] = scale * table[k * step];
    else
        for (int64_t k = 0; k < d; k++)
            y[k] = fma1(scale, table[k * step], position[k]);
}

//: kernel embed_row_bf16 needs: fma1 widen1
/* Embeds like embed_row(), from a table in bf16, with two elements at a time
 * in the panels of a product. */
static void embed_row_bf16(float *y, const uint16_t *table, int64_t step,
                           int64_t d, float scale, const float *position)
{
    if (!position)
        for (int64_t k = 0; k < d; k++)
            y[k] = scale * widen1(table[k / 2 * 2 * step + k % 2]);
    else
        for (int64_t k = 0; k < d; k++)
            y[k] = fma1(scale, widen1(table[k / 2 * 2 * step + k % 2]),
                        position[k]);
}

//: kernel embed_row_bf16x2 needs: fma1 widen1
/* Embeds like embed_row(), from a column of a panel in bf16x2. */
static void embed_row_bf16x2(float *y, const uint32_t *panel, int64_t column,
                             int64_t d, float scale, const float *position)
{
    const uint16_t *at = (const uint16_t *)panel + column * 2;
    for (int64_t k = 0; k < d; k++) {
        const uint16_t *two = at + k / 32 * 1024 + k % 32 / 2 * 32 + k % 2;
        const float x = widen1(two[0]) + widen1(two[512]);
        y[k] = position ? fma1(scale, x, position[k]) : scale * x;
    }
}

//: kernel mask_row
/* Sets y to x for the allowed keys and to -inf after them. */
static void mask_row(float *y, const float *x, int64_t keys, int64_t allowed)
{
    for (int64_t j = 0; j < keys; j++)
        if (j < allowed)
            y[j] = x[j];
        else
            y[j] = -INFINITY;
}

//: exp_row needs: v_load v_store v_splat v_exp lane_sum padded_16
/* Returns the sum of exp(x - base); y gets the terms unless it is NULL. */
static float exp_row(float *y, const float *x, int64_t n, float base)
{
    float pad[16], part[16], lane[16];
    for (int64_t i = 0; i < 16; i++)
        lane[i] = 0.0f;
    for (int64_t j = 0; j < n; j += 16) {
        const float *p = padded_16(pad, x + j, n - j, -INFINITY);
        for (int64_t i = 0; i < 16; i += W) {
            const v e = v_exp(v_load(p + i) - v_splat(base));
            v_store(part + i, e);
            v_store(lane + i, v_load(lane + i) + e);
        }
        if (y)
            for (int64_t i = 0; i < 16 && j + i < n; i++)
                y[j + i] = part[i];
    }
    return lane_sum(lane);
}

//: kernel softmax_row needs: row_max exp_row scale_rows
/* Computes softmax(x) of n elements, or zeros if all are -inf. */
static void softmax_row(float *y, const float *x, int64_t n)
{
    float base = row_max(x, n), inverse = 0.0f;
    if (base == -INFINITY)
        base = 0.0f;
    const float total = exp_row(y, x, n, base);
    if (total != 0.0f)
        inverse = 1.0f / total;
    scale_rows(y, n, y, n, 1, n, inverse);
}

//: kernel softmax_sink_row needs: row_max exp_row scale_rows
/* Works like softmax_row() with one more score that has no element. */
static void softmax_sink_row(float *y, const float *x, int64_t n, float sink)
{
    float base = row_max(x, n), one, inverse = 0.0f;
    if (base < sink)
        base = sink;
    if (base == -INFINITY)
        base = 0.0f;
    const float total = exp_row(y, x, n, base) + exp_row(&one, &sink, 1, base);
    if (total != 0.0f)
        inverse = 1.0f / total;
    scale_rows(y, n, y, n, 1, n, inverse);
}

//: kernel log_sum_exp needs: row_max exp_row log1
/* Returns ln(sum(e^x)) without overflow. */
static float log_sum_exp(const float *x, int64_t n)
{
    const float base = row_max(x, n);
    if (base == -INFINITY)
        return log1(exp_row(0, x, n, 0.0f));
    return base + log1(exp_row(0, x, n, base));
}
