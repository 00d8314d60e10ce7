/* activations.c: applies the activations of spec/fields/activations.h. A piece
 * whose name has _ACT is emitted once for each activation; elsewhere a line or
 * a need with _ACT is. NUMBER_ACT is the activation's number, v_OTHER the
 * function of a gated form's other factor, or nothing. Each is within
 * 4e-7 (1 + |result|), and NaN stays NaN. Rows need no alignment; y may be x, a
 * or b. */

//: v_clamp needs: v_splat v_max
/* Returns x limited to -most .. most; NaN stays NaN. */
INLINE v v_clamp(v x, float most)
{
    x = v_max(v_splat(-most), x);
    return -v_max(v_splat(-most), -x);
}

//: v_tanh needs: v_splat v_fma v_clamp v_exp_rest
/* Returns tanh x = m / (m + 2) with m = e^2x - 1, which is accurate near 0. A
 * large |x| gives exactly -1 or 1. */
INLINE v v_tanh(v x)
{
    v scale;
    x = v_clamp(x, 10.0f);
    const v rest = v_exp_rest(x + x, &scale);
    const v m = v_fma(rest, scale, scale - v_splat(1.0f));
    return m / (m + v_splat(2.0f));
}

//: v_times_sigmoid needs: v_splat v_fma v_max v_exp
/* Returns x / (1 + e^-u) for a u with the sign of x; e^-|u| cannot overflow. */
INLINE v v_times_sigmoid(v x, v u)
{
    const v zero = v_splat(0.0f);
    const v e = v_exp(-v_max(u, -u));
    const v above = v_max(x, zero), below = -v_max(-x, zero);
    return v_fma(below, e, above) / (v_splat(1.0f) + e);
}

//: v_sigmoid needs: v_splat v_max v_exp
/* Returns 1 / (1 + e^-x), taking x below -88 as -88. Small results stay
 * accurate. */
INLINE v v_sigmoid(v x)
{
    const v one = v_splat(1.0f);
    return one / (one + v_exp(-v_max(v_splat(-88.0f), x)));
}

//: v_relu needs: v_splat v_max
/* Returns max(0, x). NaN stays NaN and -0 stays -0, because v_max returns its
 * second operand unless the first is larger. */
INLINE v v_relu(v x)
{
    return v_max(v_splat(0.0f), x);
}

//: v_squared_relu needs: v_relu
/* Returns max(0, x)^2 [So et al. 2021]. */
INLINE v v_squared_relu(v x)
{
    x = v_relu(x);
    return x * x;
}

//: v_log1p_relu needs: v_splat v_fma v_max v_relu v_mantissa
/* Returns ln(1 + max(0, x)) [Formal et al. 2021]: ln u of u = 1 + x, by the
 * arithmetic of log1(), and what u lost of x. The last maximum keeps NaN and
 * infinity: 2^-200 x is at most the result. */
INLINE v v_log1p_relu(v x)
{
    const v one = v_splat(1.0f);
    v k;
    x = v_relu(x);
    const v u = one + x;
    const v f = v_mantissa(u, &k) - one;
    const v s = f / (v_splat(2.0f) + f);
    const v z = s * s;
    v r = v_fma(z, v_splat(0x1.31dfeap-2f), v_splat(0x1.995edap-2f));
    r = v_fma(z, r, v_splat(0x1.55557ap-1f));
    const v low = v_fma(k, v_splat(-0x1.7f7d1cp-20f), s * v_fma(-z, r, f));
    return v_max(v_fma(k, v_splat(0x1.62e4p-1f), f - low) + (x - (u - one)) / u,
                 x * v_splat(0x1p-100f) * v_splat(0x1p-100f));
}

//: v_log1p_log1p_relu needs: v_log1p_relu
/* Returns ln(1 + ln(1 + max(0, x))). */
INLINE v v_log1p_log1p_relu(v x)
{
    return v_log1p_relu(v_log1p_relu(x));
}

//: v_gelu needs: v_splat v_fma v_max v_exp
/* Returns x (1 + erf(x / sqrt 2)) / 2 [Hendrycks and Gimpel 2016]. It computes
 * max(x, 0) - a erfc(a / sqrt 2) / 2 with a = |x|, so the tail below 0 stays
 * accurate. erfc(a / sqrt 2) / 2 is e^(-a^2 / 2) t P(t), t = 1 / (1 + 0.3 a),
 * in the form of [Hastings 1955] with a minimax P. */
INLINE v v_gelu(v x)
{
    const v one = v_splat(1.0f);
    const v a = -v_max(v_splat(-20.0f), -v_max(x, -x));
    const v t = one / v_fma(a, v_splat(0x1.333334p-2f), one);
    v p = v_splat(0x1.243f7p-5f);
    p = v_fma(p, t, v_splat(-0x1.41f3b2p-3f));
    p = v_fma(p, t, v_splat(0x1.a69ca8p-3f));
    p = v_fma(p, t, v_splat(-0x1.b7c6bep-5f));
    p = v_fma(p, t, v_splat(0x1.074b5p-3f));
    p = v_fma(p, t, v_splat(0x1.993ee6p-4f));
    p = v_fma(p, t, v_splat(0x1.ee9bb4p-4f));
    p = v_fma(p, t, v_splat(0x1.ea006ap-4f));
    p = p * v_exp(a * v_splat(-0.5f) * a);
    return v_fma(-(a * t), p, v_max(x, v_splat(0.0f)));
}

//: v_gelu_tanh needs: v_splat v_fma v_times_sigmoid
/* Returns x (1 + tanh t) / 2, t = sqrt(2 / pi) (x + 0.044715 x^3) [Hendrycks
 * and Gimpel 2016]. (1 + tanh t) / 2 is 1 / (1 + e^-2t). */
INLINE v v_gelu_tanh(v x)
{
    const v slope = v_fma(x * x, v_splat(0x1.24448p-4f),
                          v_splat(0x1.988454p+0f));
    return v_times_sigmoid(x, x * slope);
}

//: v_silu needs: v_times_sigmoid
/* Returns x / (1 + e^-x) [Elfwing et al. 2017]. */
INLINE v v_silu(v x)
{
    return v_times_sigmoid(x, x);
}

//: v_quick_gelu needs: v_splat v_times_sigmoid
/* Returns x / (1 + e^(-1.702 x)), an approximation of gelu by a sigmoid
 * [Hendrycks and Gimpel 2016, section 2]. */
INLINE v v_quick_gelu(v x)
{
    return v_times_sigmoid(x, x * v_splat(1.702f));
}

//: v_clipped_gelu needs: v_splat v_max v_quick_gelu
/* Returns quick_gelu of min(x, 7). */
INLINE v v_clipped_gelu(v x)
{
    return v_quick_gelu(-v_max(v_splat(-7.0f), -x));
}

//: v_clipped_plus_1 needs: v_splat v_clamp
/* Returns x limited to -7 .. 7, plus 1. */
INLINE v v_clipped_plus_1(v x)
{
    return v_clamp(x, 7.0f) + v_splat(1.0f);
}

//: load_some needs: v_load
/* Loads the next W of n floats; zeros replace those that are missing. */
INLINE v load_some(const float *p, int64_t n)
{
    float pad[W] = {0};
    if (n >= W)
        return v_load(p);
    for (int64_t i = 0; i < n; i++)
        pad[i] = p[i];
    return v_load(pad);
}

//: store_some needs: v_store
/* Stores x to the next W of n floats, or to all n if there are fewer. */
INLINE void store_some(float *p, v x, int64_t n)
{
    float pad[W];
    if (n >= W) {
        v_store(p, x);
        return;
    }
    v_store(pad, x);
    for (int64_t i = 0; i < n; i++)
        p[i] = pad[i];
}

//: kernel activate_rows_ACT needs: v_ACT load_some store_some
static void activate_rows_ACT(float *y, int64_t ldy, const float *x,
                              int64_t ldx, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j += W)
            store_some(y + j, v_ACT(load_some(x + j, d - j)), d - j);
        y += ldy;
        x += ldx;
    }
}

//: kernel mul_rows needs: load_some store_some
static void mul_rows(float *y, int64_t ldy, const float *a, int64_t lda,
                     const float *b, int64_t ldb, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j += W) {
            const v x = load_some(a + j, d - j) * load_some(b + j, d - j);
            store_some(y + j, x, d - j);
        }
        y += ldy;
        a += lda;
        b += ldb;
    }
}

//: kernel gate_rows_ACT needs: v_ACT v_OTHER load_some store_some
/* Sets y = act(a) other(b), a gated linear unit [Shazeer 2020]. */
static void gate_rows_ACT(float *y, int64_t ldy, const float *a, int64_t lda,
                          const float *b, int64_t ldb, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j += W) {
            const v x = v_ACT(load_some(a + j, d - j));
            store_some(y + j, x * v_OTHER(load_some(b + j, d - j)), d - j);
        }
        y += ldy;
        a += lda;
        b += ldb;
    }
}

//: activate needs: v_ACT
/* Applies an activation known only at run time, or none if act is another. */
INLINE v activate(v x, int64_t act)
{
    if (act == NUMBER_ACT) return v_ACT(x);
    return x;
}

//: activate_floats_ACT needs: v_load v_store v_ACT
static void activate_floats_ACT(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += W)
        v_store(x + i, v_ACT(v_load(x + i)));
}

//: activate_floats needs: activate_floats_ACT
/* Applies an activation known only at run time to n floats, a multiple of W. */
static void activate_floats(float *x, int64_t n, int64_t act)
{
    if (act == NUMBER_ACT) activate_floats_ACT(x, n);
}

//: finish_rows needs: v_load v_store activate_floats
/* Applies an epilogue known only at run time: y = act(x + bias) + residual,
 * where a NULL operand is left out. The rows of x have d floats, a multiple of
 * 16, and are overwritten; panels of y, bias and residual are ldp floats apart.
 * x or the residual may be y. */
static void finish_rows(float *y, int64_t ldy, int64_t ldp, float *x,
                        int64_t rows, int64_t d, const float *bias,
                        const float *residual, int64_t ldr, int64_t act)
{
    for (int64_t i = 0; i < rows && bias; i++)
        for (int64_t j = 0; j < d; j += W) {
            const float *offset = bias + j / 16 * ldp + j % 16;
            v_store(x + i * d + j, v_load(x + i * d + j) + v_load(offset));
        }
    activate_floats(x, rows * d, act);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d; j += W) {
            const int64_t at = j / 16 * ldp + j % 16;
            v sum = v_load(x + i * d + j);
            if (residual)
                sum += v_load(residual + i * ldr + at);
            v_store(y + i * ldy + at, sum);
        }
}

//: v_softcap needs: v_tanh
/* Returns cap tanh(x / cap) [Bello et al. 2016, section 4, for logits]. */
INLINE v v_softcap(v x, v cap)
{
    return cap * v_tanh(x / cap);
}

//: kernel softcap_rows needs: v_splat v_softcap load_some store_some
static void softcap_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                         int64_t rows, int64_t d, float cap)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j += W) {
            const v s = v_softcap(load_some(x + j, d - j), v_splat(cap));
            store_some(y + j, s, d - j);
        }
        y += ldy;
        x += ldx;
    }
}
