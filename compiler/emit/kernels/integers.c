/* integers.c: weights that are integers, one by one, in panels as formats.h has
 * them, and rows that are quantised. dots.c has them in vectors.            */

//: float_at
/* The float whose bytes are at p, in memory of bytes. */
static inline float float_at(const void *p)
{
    const uint8_t *from = (const uint8_t *)p;
    union { uint8_t byte[4]; float f; } u;
    for (int64_t i = 0; i < 4; i++)
        u.byte[i] = from[i];
    return u.f;
}

//: store_float
/* The other way round. */
static inline void store_float(uint8_t *p, float x)
{
    union { float f; uint8_t byte[4]; } u;
    u.f = x;
    for (int64_t i = 0; i < 4; i++)
        p[i] = u.byte[i];
}

//: int8_at
/* Number k of a column of a panel. */
static inline int32_t int8_at(const int8_t *panel, int64_t k, int64_t column)
{
    return panel[k / 4 * 64 + column * 4 + k % 4];
}

//: int4_of
/* The number of 4 bits that a line has for k, times its step and offset. */
static inline int32_t int4_of(const uint8_t *line, int64_t k,
                              const uint8_t *step)
{
    const int32_t one = line[k % 4] >> (k % 8 / 4 * 4) & 15;
    return (one - 8) * step[0] + (int8_t)step[16];
}

//: int4_at needs: int4_of int4_steps int4_line
static inline int32_t int4_at(const uint8_t *panel, int64_t k, int64_t column,
                              int64_t shared)
{
    return int4_of(int4_line(panel, k, shared) + column * 4, k,
                   int4_steps(panel, k, shared) + column);
}

//: kernel embed_row_int8 needs: fma1 float_at int8_at
/* embed_row() of a column of a panel: its numbers times its scale. */
static void embed_row_int8(float *y, const int8_t *panel, int64_t column,
                           int64_t d, float scale, const float *position)
{
    const float unit = float_at(panel + (d + 63) / 64 * 1024 + column * 4);
    for (int64_t k = 0; k < d; k++) {
        const float w = (float)int8_at(panel, k, column) * unit;
        y[k] = position ? fma1(scale, w, position[k]) : scale * w;
    }
}

//: embed_int4 needs: fma1 float_at int4_at
static void embed_int4(float *y, const uint8_t *panel, int64_t column,
                       int64_t d, float scale, const float *position,
                       int64_t shared)
{
    const float unit = float_at(panel + int4_bytes(d, shared) + column * 4);
    for (int64_t k = 0; k < d; k++) {
        const float w = (float)int4_at(panel, k, column, shared) * unit;
        y[k] = position ? fma1(scale, w, position[k]) : scale * w;
    }
}

//: kernel embed_row_int4 needs: embed_int4
static void embed_row_int4(float *y, const uint8_t *panel, int64_t column,
                           int64_t d, float scale, const float *position)
{
    embed_int4(y, panel, column, d, scale, position, 32);
}

//: kernel embed_row_int4g64 needs: embed_int4
static void embed_row_int4g64(float *y, const uint8_t *panel, int64_t column,
                              int64_t d, float scale, const float *position)
{
    embed_int4(y, panel, column, d, scale, position, 64);
}

//: unpack_groups when: w1 needs: int4_at copy_bytes
/* A panel of int4 as one of int8. */
static void unpack_groups(int8_t *to, const uint8_t *panel, int64_t k,
                          int64_t shared)
{
    const int64_t stored = (k + 63) / 64 * 64;
    for (int64_t i = 0; i < stored; i++)
        for (int64_t c = 0; c < 16; c++)
            to[i / 4 * 64 + c * 4 + i % 4] =
                (int8_t)int4_at(panel, i, c, shared);
    copy_bytes(to + stored * 16, panel + int4_bytes(k, shared), 128);
}

//: kernel unpack_int4 needs: unpack_groups
static void unpack_int4(int8_t *to, const uint8_t *panel, int64_t k)
{
    unpack_groups(to, panel, k, 32);
}

//: kernel unpack_int4g64 needs: unpack_groups
static void unpack_int4g64(int8_t *to, const uint8_t *panel, int64_t k)
{
    unpack_groups(to, panel, k, 64);
}

//: row_peak when: w1
/* The largest |x| by its bits, of which those of NaN are the largest. */
static int32_t row_peak(const float *x, int64_t k)
{
    int32_t top = 0;
    for (int64_t i = 0; i < k; i++) {
        union { float f; int32_t bits; } u;
        u.f = x[i];
        u.bits &= 0x7fffffff;
        top = u.bits > top ? u.bits : top;
    }
    return top;
}

//: v_nearest when: w1 needs: v
/* The bits of x + 1.5 * 2^23, |x| < 2^22: the integer next to x, the even one
 * of two, in the lowest 22. */
INLINE uint32_t v_nearest(v x)
{
    union { float f; uint32_t bits; } u;
    u.f = x + 0x1.8p+23f;
    return u.bits;
}

//: v_put_int8 when: w1 needs: v_nearest
INLINE void v_put_int8(uint8_t *y, v x)
{
    *y = (uint8_t)(v_nearest(x) ^ 128);
}

//: v_put_int15 when: w1 needs: v_nearest
INLINE void v_put_int15(uint8_t *y, uint8_t *low, v x)
{
    const uint32_t near = v_nearest(x);
    *y = (uint8_t)((near >> 7) ^ 128);
    *low = near & 127;
}

//: row_unit needs: row_peak v_splat load_some
/* What the integers of a row are times, so that the largest |x| is `most`; and
 * its inverse. Rows of nearly nothing are zeros; so are those with a number
 * that is not finite, times NaN. */
static float row_unit(const float *x, int64_t k, float most, float *inverse)
{
    union { int32_t bits; float f; } peak;
    peak.bits = row_peak(x, k);
    *inverse = 0.0f;
    if (peak.bits >= 0x7f800000) {
        peak.bits = 0x7fc00000;  /* NaN, the same of all compilers */
        return peak.f;
    }
    if (peak.f < 0x1p-100f)
        return 0.0f;
    *inverse = most / peak.f;
    return peak.f / most;
}

//: fill_bytes needs: store_float
static void fill_bytes(uint8_t *y, int64_t from, int64_t to, uint8_t x)
{
    for (int64_t i = from; i < to; i++)
        y[i] = x;
}

//: kernel quantize_rows_int8 needs: row_unit fill_bytes v_put_int8
/* Rows of k numbers as integers q in -127 .. 127, stored as q + 128, and behind
 * `stored` of these (q is 0 beyond k) the float that they are times. */
static void quantize_rows_int8(uint8_t *y, int64_t ldy, const float *x,
                               int64_t ldx, int64_t rows, int64_t k,
                               int64_t stored)
{
    for (int64_t i = 0; i < rows; i++) {
        float inverse;
        const float unit = row_unit(x, k, 127.0f, &inverse);
        const int64_t some = inverse == 0.0f ? 0 : k;
        int64_t j = 0;
        for (; j < some; j += W)
            v_put_int8(y + j, load_some(x + j, k - j) * v_splat(inverse));
        fill_bytes(y, j, stored, 128);
        store_float(y + stored, unit);
        x += ldx;
        y += ldy;
    }
}

//: kernel quantize_rows_int15 needs: row_unit fill_bytes v_put_int15
/* The same as v = 128 h + l in -16256 .. 16256: `stored` bytes of h + 128, then
 * as many of l, in 0 .. 127, then the float. */
static void quantize_rows_int15(uint8_t *y, int64_t ldy, const float *x,
                                int64_t ldx, int64_t rows, int64_t k,
                                int64_t stored)
{
    for (int64_t i = 0; i < rows; i++) {
        float inverse;
        const float unit = row_unit(x, k, 16256.0f, &inverse);
        const int64_t some = inverse == 0.0f ? 0 : k;
        uint8_t *low = y + stored;
        int64_t j = 0;
        for (; j < some; j += W)
            v_put_int15(y + j, low + j,
                        load_some(x + j, k - j) * v_splat(inverse));
        fill_bytes(y, j, stored, 128);
        fill_bytes(low, j, stored, 0);
        store_float(low + stored, unit);
        x += ldx;
        y += ldy;
    }
}

//: kernel widen_rows when: wide needs: v_spread float_at store_float
/* n bytes of each row in 16 bits, as panels are, and the float behind them. */
static void widen_rows(uint8_t *y, int64_t ldy, const uint8_t *x, int64_t ldx,
                       int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i += 4) {
            const int32_t four = *(const v_word *)(x + i);
            *(v_word *)(y + 2 * i) = four & 0xff00ff;
            *(v_word *)(y + 2 * i + 4) = four >> 8 & 0xff00ff;
        }
        store_float(y + 2 * n, float_at(x + n));
        x += ldx;
        y += ldy;
    }
}
