/* plain_products.c: computes embeddings and products in plain C, for each
 * format of weights and activations; see plain.c. */

//: kernel embed
/* Copies each token's row of w, its embedding (section 3.4). */
static void embed(float *y, const int *ids, const float *w, int rows, int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = w[(size_t)ids[i] * d + j];
}

//: widen
/* Widens a bf16 number, which is the upper half of a float. */
static float widen(uint16_t x)
{
    union { uint32_t bits; float f; } u;

    u.bits = (uint32_t)x << 16;
    return u.f;
}

//: kernel embed_bf16 needs: widen
/* Widens each token's row of w, its embedding (section 3.4). */
static void embed_bf16(float *y, const int *ids, const uint16_t *w, int rows,
                       int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = widen(w[(size_t)ids[i] * d + j]);
}

//: kernel embed_bf16x2 needs: widen
/* Adds up each token's row of w, its embedding (section 3.4). */
static void embed_bf16x2(float *y, const int *ids, const uint32_t *w, int rows,
                         int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++) {
            const uint32_t two = w[(size_t)ids[i] * d + j];

            y[i * d + j] = widen((uint16_t)(two >> 16)) + widen((uint16_t)two);
        }
}

//: kernel embed_int8
/* Multiplies each token's row of w (section 3.4) by the row's scale. */
static void embed_int8(float *y, const int *ids, const int8_t *w,
                       const float *w_scale, int rows, int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = (float)w[(size_t)ids[i] * d + j] * w_scale[ids[i]];
}

//: int4_at
/* Returns number k of a row of int4: (its four bits - 8) times a step, plus an
 * offset. `shared` numbers have the same step and offset. */
static int int4_at(const uint8_t *w, const uint8_t *w_step,
                   const int8_t *w_offset, int shared, int k)
{
    return ((w[k / 2] >> k % 2 * 4 & 15) - 8) * w_step[k / shared]
         + w_offset[k / shared];
}

//: kernel embed_int4 needs: int4_at
/* Multiplies each token's row of w (section 3.4) by the row's scale. */
static void embed_int4(float *y, const int *ids, const uint8_t *w,
                       const uint8_t *w_step, const int8_t *w_offset,
                       const float *w_scale, int shared, int rows, int d)
{
    const int groups = (d + shared - 1) / shared;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++) {
            const size_t at = (size_t)ids[i] * groups;
            const int q = int4_at(w + at * shared / 2, w_step + at,
                                  w_offset + at, shared, j);

            y[i * d + j] = (float)q * w_scale[ids[i]];
        }
}

//: kernel matmul
/* Computes y = x W^T; W has d_out rows. */
static void matmul(float *y, const float *x, const float *w, int rows,
                   int d_in, int d_out)
{
    for (int i = 0; i < rows; i++, x += d_in)
        for (int j = 0; j < d_out; j++) {
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x[k], w[(size_t)j * d_in + k], sum);
            *y++ = sum;
        }
}

//: kernel linear
/* Computes y = x W^T + bias; W has d_out rows. */
static void linear(float *y, const float *x, const float *w, const float *bias,
                   int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++, x += d_in)
        for (int j = 0; j < d_out; j++) {
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x[k], w[(size_t)j * d_in + k], sum);
            *y++ = sum + bias[j];
        }
}

//: kernel matmul_bf16 needs: widen
/* Computes y = x W^T; W has d_out rows. */
static void matmul_bf16(float *y, const float *x, const uint16_t *w, int rows,
                        int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const float *x_i = x + i * d_in;
            const uint16_t *w_j = w + (size_t)j * d_in;
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x_i[k], widen(w_j[k]), sum);
            y[i * d_out + j] = sum;
        }
}

//: kernel matmul_int8
/* Computes y = x W^T; a row of W is integers times the row's scale. */
static void matmul_int8(float *y, const float *x, const int8_t *w,
                        const float *w_scale, int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const float *x_i = x + i * d_in;
            const int8_t *w_j = w + (size_t)j * d_in;
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x_i[k], (float)w_j[k], sum);
            y[i * d_out + j] = sum * w_scale[j];
        }
}

//: kernel matmul_int4 needs: int4_at
/* Computes y = x W^T; a row of W is integers times the row's scale. */
static void matmul_int4(float *y, const float *x, const uint8_t *w,
                        const uint8_t *w_step, const int8_t *w_offset,
                        const float *w_scale, int shared, int rows, int d_in,
                        int d_out)
{
    const int groups = (d_in + shared - 1) / shared;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const float *x_i = x + i * d_in;
            const size_t at = (size_t)j * groups;
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++) {
                const int q = int4_at(w + at * shared / 2, w_step + at,
                                      w_offset + at, shared, k);

                sum = fmaf(x_i[k], (float)q, sum);
            }
            y[i * d_out + j] = sum * w_scale[j];
        }
}

//: row_unit
/* Returns the scale of a row's integers, of which the largest is `most`, and
 * its inverse. If that is 0, so are the integers: the scale is 0 for a tiny
 * row, NaN for a row with a number that is not finite. */
static float row_unit(const float *x, int d, float most, float *inverse)
{
    float peak = 0.0f;

    *inverse = 0.0f;
    for (int j = 0; j < d; j++) {
        const float size = x[j] < 0.0f ? -x[j] : x[j];

        if (!(size < INFINITY))
            return NAN;
        peak = size > peak ? size : peak;
    }
    if (peak < 0x1p-100f)
        return 0.0f;
    *inverse = most / peak;
    return peak / most;
}

//: nearest
/* Rounds x times the inverse to the nearest integer, ties to even. */
static int nearest(float x, float inverse)
{
    if (inverse == 0.0f)
        return 0;
    return (int)((x * inverse + 0x1.8p+23f) - 0x1.8p+23f);
}

//: kernel quantize_int8 needs: row_unit nearest
/* Rounds rows to integers of -127 .. 127, with a scale for each row. */
static void quantize_int8(int8_t *y, float *y_scale, const float *x, int rows,
                          int d)
{
    for (int i = 0; i < rows; i++) {
        float inverse;

        y_scale[i] = row_unit(x + i * d, d, 127.0f, &inverse);
        for (int j = 0; j < d; j++)
            y[i * d + j] = (int8_t)nearest(x[i * d + j], inverse);
    }
}

//: kernel quantize_int15 needs: row_unit nearest
/* Rounds rows to integers of -16256 .. 16256, with a scale for each row. */
static void quantize_int15(int16_t *y, float *y_scale, const float *x,
                           int rows, int d)
{
    for (int i = 0; i < rows; i++) {
        float inverse;

        y_scale[i] = row_unit(x + i * d, d, 16256.0f, &inverse);
        for (int j = 0; j < d; j++)
            y[i * d + j] = (int16_t)nearest(x[i * d + j], inverse);
    }
}

//: bf16_of
/* Rounds to bf16, to the nearest even; numbers below 2^-55 become 0. */
static uint16_t bf16_of(float x)
{
    union { float f; uint32_t bits; } u;

    u.f = x;
    const uint32_t size = u.bits & 0x7fffffff;
    const uint32_t near = u.bits + 0x7fff + (u.bits >> 16 & 1);
    const uint32_t nan = u.bits | 0x400000;
    return (uint16_t)((size > 0x7f800000   ? nan
                       : size < 0x24000000 ? 0
                                           : near)
                      >> 16);
}

//: kernel round_bf16 needs: bf16_of
/* Rounds to bf16. */
static void round_bf16(uint16_t *y, const float *x, int rows, int d)
{
    for (int i = 0; i < rows * d; i++)
        y[i] = bf16_of(x[i]);
}

//: kernel append_bf16 needs: bf16_of widen
/* Rounds n cached numbers to bf16. */
static void append_bf16(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = widen(bf16_of(x[i]));
}

//: kernel append_int8 needs: row_unit nearest
/* Rounds cached rows of d numbers to integers of -127 .. 127, with a scale for
 * each row. */
static void append_int8(float *y, float *y_scale, const float *x, int rows,
                        int d)
{
    for (int i = 0; i < rows; i++) {
        float inverse;

        y_scale[i] = row_unit(x + i * d, d, 127.0f, &inverse);
        for (int j = 0; j < d; j++)
            y[i * d + j] = (float)nearest(x[i * d + j], inverse);
    }
}

//: kernel split_bf16 needs: bf16_of widen
/* Rounds to bf16, and what is lacking to another bf16, in the lower half. */
static void split_bf16(uint32_t *y, const float *x, int rows, int d)
{
    for (int i = 0; i < rows * d; i++) {
        const uint16_t near = bf16_of(x[i]);
        const float rest = (near & 0x7f80) == 0x7f80 ? 0.0f
                                                     : x[i] - widen(near);

        y[i] = (uint32_t)near << 16 | bf16_of(rest);
    }
}

//: kernel matmul_bf16_dp needs: widen
/* Computes y = x W^T; of every two products, the second is added first. */
static void matmul_bf16_dp(float *y, const uint16_t *x, const uint16_t *w,
                           int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const uint16_t *x_i = x + i * d_in;
            const uint16_t *w_j = w + (size_t)j * d_in;
            float sum = 0.0f;

            for (int k = 0; k < d_in; k += 2) {
                if (k + 1 < d_in)
                    sum = fmaf(widen(x_i[k + 1]), widen(w_j[k + 1]), sum);
                sum = fmaf(widen(x_i[k]), widen(w_j[k]), sum);
            }
            y[i * d_out + j] = sum;
        }
}

//: kernel matmul_bf16_amx needs: widen
/* Computes y = x W^T; of every 32 products, the even ones and the odd ones have
 * a sum each. */
static void matmul_bf16_amx(float *y, const uint16_t *x, const uint16_t *w,
                            int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const uint16_t *x_i = x + i * d_in;
            const uint16_t *w_j = w + (size_t)j * d_in;
            float sum = 0.0f;

            for (int k = 0; k < d_in;) {
                float of[2] = { 0.0f, 0.0f };

                for (int n = 0; n < 32 && k < d_in; n++, k++)
                    of[n % 2] = fmaf(widen(x_i[k]), widen(w_j[k]), of[n % 2]);
                sum += of[0] + of[1];
            }
            y[i * d_out + j] = sum;
        }
}

//: sum_of_32 needs: widen
/* Returns the sum of at most 32 products, of the even ones and of the odd ones.
 * Each number of x or W is two of bf16: the one from bit x_bit or w_bit on is
 * multiplied. */
static float sum_of_32(const uint32_t *x, int x_bit, const uint32_t *w,
                       int w_bit, int n)
{
    float of[2] = { 0.0f, 0.0f };

    for (int k = 0; k < n && k < 32; k++)
        of[k % 2] = fmaf(widen((uint16_t)(x[k] >> x_bit)),
                         widen((uint16_t)(w[k] >> w_bit)), of[k % 2]);
    return of[0] + of[1];
}

//: kernel matmul_bf16x2_x3 needs: sum_of_32
/* Computes y = x W^T. Numbers are sums of two of bf16; the products of both
 * second ones are left out. */
static void matmul_bf16x2_x3(float *y, const uint32_t *x, const uint32_t *w,
                             int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const uint32_t *x_i = x + i * d_in;
            const uint32_t *w_j = w + (size_t)j * d_in;
            float sum = 0.0f;

            for (int k = 0; k < d_in; k += 32) {
                sum += sum_of_32(x_i + k, 16, w_j + k, 0, d_in - k);
                sum += sum_of_32(x_i + k, 16, w_j + k, 16, d_in - k);
                sum += sum_of_32(x_i + k, 0, w_j + k, 16, d_in - k);
            }
            y[i * d_out + j] = sum;
        }
}

//: kernel matmul_int8_int8
/* Computes y = x W^T by exact sums of integers. Rows of x and W have scales. */
static void matmul_int8_int8(float *y, const int8_t *x, const float *x_scale,
                             const int8_t *w, const float *w_scale, int rows,
                             int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const int8_t *x_i = x + i * d_in, *w_j = w + (size_t)j * d_in;
            int32_t sum = 0;

            for (int k = 0; k < d_in; k++)
                sum += x_i[k] * w_j[k];
            y[i * d_out + j] = (float)sum * (x_scale[i] * w_scale[j]);
        }
}

//: kernel matmul_int8_int15
/* Computes y = x W^T by exact sums of integers, one of x's upper 8 bits and one
 * of its lower 7. Rows of x and W have scales. */
static void matmul_int8_int15(float *y, const int16_t *x, const float *x_scale,
                              const int8_t *w, const float *w_scale, int rows,
                              int d_in, int d_out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const int16_t *x_i = x + i * d_in;
            const int8_t *w_j = w + (size_t)j * d_in;
            int32_t high = 0, low = 0;

            for (int k = 0; k < d_in; k++) {
                const int seven = x_i[k] & 127;

                high += (x_i[k] - seven) / 128 * w_j[k];
                low += seven * w_j[k];
            }
            y[i * d_out + j] = fmaf(128.0f, (float)high, (float)low)
                             * (x_scale[i] * w_scale[j]);
        }
}

//: kernel matmul_int4_int8 needs: int4_at
/* Computes y = x W^T by exact sums of integers. Rows of x and W have scales. */
static void matmul_int4_int8(float *y, const int8_t *x, const float *x_scale,
                             const uint8_t *w, const uint8_t *w_step,
                             const int8_t *w_offset, const float *w_scale,
                             int shared, int rows, int d_in, int d_out)
{
    const int groups = (d_in + shared - 1) / shared;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const int8_t *x_i = x + i * d_in;
            const size_t at = (size_t)j * groups;
            int32_t sum = 0;

            for (int k = 0; k < d_in; k++)
                sum += x_i[k] * int4_at(w + at * shared / 2, w_step + at,
                                        w_offset + at, shared, k);
            y[i * d_out + j] = (float)sum * (x_scale[i] * w_scale[j]);
        }
}

//: kernel matmul_int4_int15 needs: int4_at
/* Computes y = x W^T by exact sums of integers, one of x's upper 8 bits and one
 * of its lower 7. Rows of x and W have scales. */
static void matmul_int4_int15(float *y, const int16_t *x, const float *x_scale,
                              const uint8_t *w, const uint8_t *w_step,
                              const int8_t *w_offset, const float *w_scale,
                              int shared, int rows, int d_in, int d_out)
{
    const int groups = (d_in + shared - 1) / shared;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d_out; j++) {
            const int16_t *x_i = x + i * d_in;
            const size_t at = (size_t)j * groups;
            int32_t high = 0, low = 0;

            for (int k = 0; k < d_in; k++) {
                const int q = int4_at(w + at * shared / 2, w_step + at,
                                      w_offset + at, shared, k);
                const int seven = x_i[k] & 127;

                high += (x_i[k] - seven) / 128 * q;
                low += seven * q;
            }
            y[i * d_out + j] = fmaf(128.0f, (float)high, (float)low)
                             * (x_scale[i] * w_scale[j]);
        }
}
