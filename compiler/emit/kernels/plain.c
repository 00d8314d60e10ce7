/* plain.c: the operations of a model as plain C for `attnc compile --plain`,
 * one function each, without vectors or tiles. plain_arguments.c selects
 * arguments by the names of parameters. Results have the same bits as those of
 * the other kernels. plain_products.c has look-ups and products, plain_mixing.c
 * has functions that mix rows. */

//: kernel min
static int min(int a, int b)
{
    return a < b ? a : b;
}

//: kernel max
static int max(int a, int b)
{
    return a > b ? a : b;
}

//: exp_rest
/* Returns rest in e^x = power (1 + rest): x = n ln 2 + r, power = 2^n, rest a
 * polynomial in r [Cody and Waite 1980]. expf() differs between libraries. */
static float exp_rest(float x, float *power)
{
    const float shift = 0x1.8000fep+23f; /* adding it rounds */
    const float n = fmaf(x, 0x1.715476p+0f, shift) - shift;
    const float r = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e4p-1f, x));
    float p = 0x1.6a4ce4p-10f;

    p = fmaf(p, r, 0x1.123988p-7f);
    p = fmaf(p, r, 0x1.5558bp-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    p = fmaf(p, r, 0x1.fffffcp-2f);
    *power = ldexpf(1.0f, (int)n);
    return fmaf(p, r * r, r);
}

//: exp1 needs: exp_rest
/* Returns e^x for x <= 88, or 0 for a subnormal result. */
static float exp1(float x)
{
    float power, rest;

    if (x < -0x1.5d589ep+6f)
        return 0.0f;
    rest = exp_rest(x, &power);
    return fmaf(rest, power, power);
}

//: power_of_2
/* Returns 2^t = 2^n 2^f, |f| <= 1/2, by a polynomial, because exp2f() differs
 * between libraries. A subnormal result becomes 0. */
static float power_of_2(float t)
{
    static const float c[] = { 0x1.5f3e52p-10f, 0x1.3b2d4cp-7f, 0x1.c6aee8p-5f,
                               0x1.ebfbdcp-3f, 0x1.62e43p-1f, 1.0f };
    const float shift = 0x1.8000fep+23f; /* adding it rounds */
    const float n = (t + shift) - shift, f = t - n;
    float p = 0x1.41fbbcp-13f;

    for (int i = 0; i < 6; i++)
        p = fmaf(p, f, c[i]);
    return t <= -126.5f ? 0.0f : ldexpf(p, (int)n);
}

//: kernel tanh1 needs: exp_rest
/* Returns tanh x = m / (m + 2) with m = e^2x - 1, which is accurate near 0. */
static float tanh1(float x)
{
    float power, rest, m;

    x = -10.0f > x ? -10.0f : x;
    x = 10.0f < x ? 10.0f : x;
    rest = exp_rest(x + x, &power);
    m = fmaf(rest, power, power - 1.0f);
    return m / (m + 2.0f);
}

//: kernel sigmoid1 needs: exp1
/* Returns 1 / (1 + e^-x). */
static float sigmoid1(float x)
{
    return 1.0f / (1.0f + exp1(-(-88.0f > x ? -88.0f : x)));
}

//: times_sigmoid needs: exp1
/* Returns x / (1 + e^-u) for a u with the sign of x; e^-|u| cannot overflow. */
static float times_sigmoid(float x, float u)
{
    const float e = exp1(u > -u ? -u : u);
    const float above = x > 0.0f ? x : 0.0f, below = -x > 0.0f ? x : 0.0f;

    return fmaf(below, e, above) / (1.0f + e);
}

//: kernel relu_rows
/* Applies max(0, x), as in equation 2; NaN stays NaN. */
static void relu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = 0.0f > x[i] ? 0.0f : x[i];
}

//: kernel squared_relu_rows
/* Applies max(0, x)^2 [So et al. 2021]; NaN stays NaN. */
static void squared_relu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++) {
        const float y = 0.0f > x[i] ? 0.0f : x[i];

        x[i] = y * y;
    }
}

//: log1
/* Returns ln x within 2 ulp. x = 2^k m, m from sqrt(1/2) to sqrt(2), f = m - 1,
 * s = f / (2 + f), ln m = f - s (f - s^2 R(s^2)), R minimax. logf() differs
 * between libraries. */
static float log1(float x)
{
    union {
        float f;
        int32_t bits;
    } u;
    float k = 0.0f;

    if (x == 0.0f)
        return -INFINITY;
    if (!(x > 0.0f))
        return (x - x) / (x - x);
    if (x == INFINITY)
        return x;
    if (x < 0x1p-126f) { /* a subnormal number */
        x = x * 0x1p+25f;
        k = -25.0f;
    }
    u.f = x;

    const int32_t above = u.bits - 0x3f3504f3; /* sqrt(1/2) */

    k += (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;

    const float f = u.f - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    float r = fmaf(z, 0x1.31dfeap-2f, 0x1.995edap-2f);

    r = fmaf(z, r, 0x1.55557ap-1f);

    const float low = fmaf(k, -0x1.7f7d1cp-20f, s * fmaf(-z, r, f));

    return fmaf(k, 0x1.62e4p-1f, f - low);
}

//: log1p_relu1 needs: log1
/* Returns ln(1 + max(0, x)) [Formal et al. 2021]; NaN stays NaN. */
static float log1p_relu1(float x)
{
    x = 0.0f > x ? 0.0f : x;

    const float u = 1.0f + x;
    const float y = log1(u) + (x - (u - 1.0f)) / u;
    const float least = x * 0x1p-100f * 0x1p-100f;

    return y > least ? y : least;
}

//: kernel log1p_relu_rows needs: log1p_relu1
static void log1p_relu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = log1p_relu1(x[i]);
}

//: kernel log1p_log1p_relu_rows needs: log1p_relu1
static void log1p_log1p_relu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = log1p_relu1(log1p_relu1(x[i]));
}

//: kernel gelu_rows needs: exp1
/* Applies x (1 + erf(x / sqrt 2)) / 2 [Hendrycks and Gimpel 2016]: max(0, x)
 * less a tail, which is a polynomial in t times e^(-x^2 / 2). */
static void gelu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++) {
        const float size = -x[i] > x[i] ? -x[i] : x[i];
        const float a = 20.0f < size ? 20.0f : size;
        const float t = 1.0f / fmaf(a, 0x1.333334p-2f, 1.0f);
        float p = 0x1.243f7p-5f;

        p = fmaf(p, t, -0x1.41f3b2p-3f);
        p = fmaf(p, t, 0x1.a69ca8p-3f);
        p = fmaf(p, t, -0x1.b7c6bep-5f);
        p = fmaf(p, t, 0x1.074b5p-3f);
        p = fmaf(p, t, 0x1.993ee6p-4f);
        p = fmaf(p, t, 0x1.ee9bb4p-4f);
        p = fmaf(p, t, 0x1.ea006ap-4f);
        x[i] = fmaf(-(a * t), p * exp1(a * -0.5f * a),
                    x[i] > 0.0f ? x[i] : 0.0f);
    }
}

//: kernel gelu_tanh_rows needs: times_sigmoid
/* Applies x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 [Hendrycks and
 * Gimpel 2016]. */
static void gelu_tanh_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = times_sigmoid(x[i], x[i] * fmaf(x[i] * x[i], 0x1.24448p-4f,
                                               0x1.988454p+0f));
}

//: kernel silu_rows needs: times_sigmoid
/* Applies x / (1 + e^-x) [Elfwing et al. 2017]. */
static void silu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = times_sigmoid(x[i], x[i]);
}

//: kernel quick_gelu_rows needs: times_sigmoid
/* Applies x / (1 + e^(-1.702 x)) [Hendrycks and Gimpel 2016]. */
static void quick_gelu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = times_sigmoid(x[i], x[i] * 1.702f);
}

//: kernel sigmoid_rows needs: sigmoid1
static void sigmoid_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = sigmoid1(x[i]);
}

//: kernel tanh_rows needs: tanh1
static void tanh_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = tanh1(x[i]);
}

//: kernel clipped_gelu_rows needs: times_sigmoid
/* Applies x / (1 + e^(-1.702 x)) to min(x, 7). */
static void clipped_gelu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++) {
        const float least = 7.0f < x[i] ? 7.0f : x[i];

        x[i] = times_sigmoid(least, least * 1.702f);
    }
}

//: kernel clipped_plus_1_rows
/* Limits x to -7 .. 7 and adds 1. */
static void clipped_plus_1_rows(float *x, int n)
{
    for (int i = 0; i < n; i++) {
        const float most = -7.0f > x[i] ? -7.0f : x[i];

        x[i] = (7.0f < most ? 7.0f : most) + 1.0f;
    }
}

//: kernel sum_16
/* Adds 16 sums, one half onto the other. Number j of a row is in sum j % 16, so
 * that vectors of any width give the same bits. */
static float sum_16(float *sum)
{
    for (int n = 8; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

//: row_squares needs: sum_16
/* Returns the sum of x^2. */
static float row_squares(const float *x, int d)
{
    float sum[16] = { 0.0f };

    for (int j = 0; j < d; j++)
        sum[j % 16] = fmaf(x[j], x[j], sum[j % 16]);
    return sum_16(sum);
}

//: kernel copy
static void copy(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i];
}

//: kernel fill_zeros
static void fill_zeros(float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 0.0f;
}

//: kernel add
static void add(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

//: kernel mul
static void mul(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

//: kernel scale
static void scale(float *y, const float *x, int n, float by)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * by;
}

//: kernel scale_add
/* Computes y = by x + b: embeddings (section 3.4) plus positions (3.5). */
static void scale_add(float *y, const float *x, const float *b, int n, float by)
{
    for (int i = 0; i < n; i++)
        y[i] = fmaf(by, x[i], b[i]);
}

//: kernel clip
/* Limits x to -cap .. cap. */
static void clip(float *y, const float *x, int n, float cap)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] < -cap ? -cap : x[i] > cap ? cap : x[i];
}

//: kernel softcap needs: tanh1
/* Computes cap tanh(x / cap) [Bello et al. 2016]. */
static void softcap(float *y, const float *x, int n, float cap)
{
    for (int i = 0; i < n; i++)
        y[i] = cap * tanh1(x[i] / cap);
}

//: kernel add_bias
static void add_bias(float *y, const float *x, const float *bias, int rows,
                     int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d + j] + bias[j];
}

//: kernel scale_columns
static void scale_columns(float *y, const float *x, const float *gamma,
                          int rows, int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d + j] * gamma[j];
}

//: kernel row_scale
/* Multiplies each row by a factor of its own. */
static void row_scale(float *y, const float *x, const float *b, int rows,
                      int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d + j] * b[i];
}

//: kernel columns
/* Copies columns first .. first + d - 1 of rows of d_in. */
static void columns(float *y, const float *x, int rows, int d_in, int first,
                    int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d_in + first + j];
}

//: kernel join
/* Joins each head's columns of a and those of b, which may be one for all. */
static void join(float *y, const float *a, const float *b, int rows,
                 int heads, int heads_b, int d_a, int d_b)
{
    for (int i = 0; i < rows; i++)
        for (int h = 0; h < heads; h++) {
            const float *b_h = b + (i * heads_b + h % heads_b) * d_b;

            for (int j = 0; j < d_a; j++)
                *y++ = *a++;
            for (int j = 0; j < d_b; j++)
                *y++ = b_h[j];
        }
}

//: kernel first_row
/* Copies x, but row `first` becomes the learned row `bias`. */
static void first_row(float *y, const float *x, const float *bias, int rows,
                      int d, int first)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = i == first ? bias[j] : x[i * d + j];
}

//: kernel layer_norm needs: sum_16
/* Computes (x - mean) / sqrt(variance + eps) gamma + beta of each row [Ba et
 * al. 2016]. */
static void layer_norm(float *y, const float *x, const float *gamma,
                       const float *beta, int rows, int d, float eps)
{
    for (int i = 0; i < rows; i++, x += d, y += d) {
        float sum[16] = { 0.0f }, squares[16] = { 0.0f };

        for (int j = 0; j < d; j++)
            sum[j % 16] += x[j];
        const float mean = sum_16(sum) / (float)d;
        for (int j = 0; j < d; j++)
            squares[j % 16] = fmaf(x[j] - mean, x[j] - mean, squares[j % 16]);
        const float by = 1.0f / sqrtf(sum_16(squares) / (float)d + eps);
        for (int j = 0; j < d; j++)
            y[j] = fmaf((x[j] - mean) * by, gamma[j], beta ? beta[j] : 0.0f);
    }
}

//: kernel rms_norm needs: row_squares
/* Scales rows to x / sqrt(mean(x^2) + eps) gamma [Zhang and Sennrich 2019]. */
static void rms_norm(float *y, const float *x, const float *gamma, int rows,
                     int d, float eps)
{
    for (int i = 0; i < rows; i++) {
        const float square = row_squares(x + i * d, d) / (float)d;
        const float by = 1.0f / sqrtf(square + eps);

        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d + j] * by * gamma[j];
    }
}

//: kernel layer_norms needs: layer_norm
/* Does this with a gamma and a beta for each head of a row. */
static void layer_norms(float *y, const float *x, const float *gamma,
                        const float *beta, int rows, int heads, int d,
                        float eps)
{
    for (int i = 0; i < rows; i++)
        layer_norm(y + i * d, x + i * d, gamma + i % heads * d,
                   beta ? beta + i % heads * d : NULL, 1, d, eps);
}

//: kernel rms_norms needs: rms_norm
/* Does this with a gamma for each head of a row. */
static void rms_norms(float *y, const float *x, const float *gamma, int rows,
                      int heads, int d, float eps)
{
    for (int i = 0; i < rows; i++)
        rms_norm(y + i * d, x + i * d, gamma + i % heads * d, 1, d, eps);
}

//: kernel l2_norm needs: row_squares
/* Computes x / max(|x|, eps) of each row. */
static void l2_norm(float *y, const float *x, int rows, int d, float eps)
{
    for (int i = 0; i < rows; i++) {
        const float length = sqrtf(row_squares(x + i * d, d));
        const float by = 1.0f / (eps > length ? eps : length);

        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i * d + j] * by;
    }
}

//: kernel rotate_halves
/* Applies rotary positions [Su et al. 2021]: pairs (j, j + dims / 2) of each
 * head turn by angles whose cosines, then sines, are a row of the table. */
static void rotate_halves(float *y, const float *x, const float *table,
                          int rows, int heads, int d_head, int dims)
{
    const int half = dims / 2;

    for (int i = 0; i < rows * heads; i++) {
        const float *cosine = table + i / heads * dims, *sine = cosine + half;

        for (int j = 0; j < half; j++) {
            const float a = x[j], b = x[half + j];

            y[j] = fmaf(a, cosine[j], -(b * sine[j]));
            y[half + j] = fmaf(b, cosine[j], a * sine[j]);
        }
        for (int j = dims; j < d_head; j++)
            y[j] = x[j];
        x += d_head;
        y += d_head;
    }
}

//: kernel rotate_pairs
/* Applies rotary positions [Su et al. 2021]: pairs (2 j, 2 j + 1) of each head
 * turn by angles whose cosines, then sines, are a row of the table. */
static void rotate_pairs(float *y, const float *x, const float *table,
                         int rows, int heads, int d_head, int dims)
{
    for (int i = 0; i < rows * heads; i++) {
        const float *cosine = table + i / heads * dims;
        const float *sine = cosine + dims / 2;

        for (int j = 0; j < dims / 2; j++) {
            const float a = x[2 * j], b = x[2 * j + 1];

            y[2 * j] = fmaf(a, cosine[j], -(b * sine[j]));
            y[2 * j + 1] = fmaf(b, cosine[j], a * sine[j]);
        }
        for (int j = dims; j < d_head; j++)
            y[j] = x[j];
        x += d_head;
        y += d_head;
    }
}

//: kernel softmax_64 needs: power_of_2
/* Turns the next 64 scores of a row, -inf for missing ones, into weights
 * 2^(by (score - max)) and adds them to sum[16]. A score above the maximum so
 * far raises it, which scales down y and the sums [Milakov and Gimelshein
 * 2018]. */
static void softmax_64(float *p, float by, float *max, float *sum, float *y,
                       int d)
{
    float top = -INFINITY;

    for (int j = 0; j < 64; j++)
        top = p[j] > top ? p[j] : top;
    if (top > *max) {
        const float less = power_of_2((*max - top) * by);

        for (int c = 0; c < d; c++)
            y[c] *= less;
        for (int i = 0; i < 16; i++)
            sum[i] *= less;
        *max = top;
    }
    top = *max == -INFINITY ? 0.0f : *max;
    for (int j = 0; j < 64; j++)
        p[j] = power_of_2((p[j] - top) * by);
    for (int i = 0; i < 16; i++)
        sum[i] += (p[i] + p[i + 16]) + (p[i + 32] + p[i + 48]);
}

//: kernel score_sigmoid needs: power_of_2
/* Returns 1 / (1 + 2^(-by score)); by is the scale of scores times log2 e. */
static float score_sigmoid(float score, float by)
{
    const float t = -126.0f > -(score * by) ? -126.0f : -(score * by);
    const float e = power_of_2(-t);

    return e / (e + 1.0f);
}

//: softmax_row needs: exp1 sum_16
static void softmax_row(float *y, const float *x, int n)
{
    float top = -INFINITY, sum[16] = { 0.0f };

    for (int j = 0; j < n; j++)
        top = x[j] > top ? x[j] : top;
    for (int j = 0; j < n; j++) {
        y[j] = exp1(x[j] - (top == -INFINITY ? 0.0f : top));
        sum[j % 16] += y[j];
    }
    const float total = sum_16(sum);
    const float inverse = total != 0.0f ? 1.0f / total : 0.0f;

    for (int j = 0; j < n; j++)
        y[j] *= inverse;
}

//: kernel row_softmax needs: softmax_row
static void row_softmax(float *y, const float *x, int rows, int d)
{
    for (int i = 0; i < rows; i++)
        softmax_row(y + i * d, x + i * d, d);
}
