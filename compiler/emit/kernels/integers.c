/* integers.c: quantises rows, also those of caches in int8, and reads integer
 * weights one by one from panels, which formats.h describes. dots.c reads them
 * in vectors. */

//: float_at
/* Returns the float whose bytes are at p, in memory of bytes. */
static inline float float_at(const void *p)
{
    const uint8_t *from = (const uint8_t *)p;
    union { uint8_t byte[4]; float f; } u;
    for (int64_t i = 0; i < 4; i++)
        u.byte[i] = from[i];
    return u.f;
}

//: store_float
/* Stores the bytes of x at p. */
static inline void store_float(uint8_t *p, float x)
{
    union { float f; uint8_t byte[4]; } u;
    u.f = x;
    for (int64_t i = 0; i < 4; i++)
        p[i] = u.byte[i];
}

//: int8_at
/* Returns number k of a column of a panel. */
static inline int32_t int8_at(const int8_t *panel, int64_t k, int64_t column)
{
    return panel[k / 4 * 64 + column * 4 + k % 4];
}

//: int4_of
/* Returns a line's int4 number for k: (n - 8) step + offset. */
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
/* Embeds like embed_row(), from a panel's column times its scale. */
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
/* Unpacks a panel of int4 to one of int8. */
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
static void unpack_int4(int8_t *to, const void *panel, int64_t k)
{
    unpack_groups(to, (const uint8_t *)panel, k, 32);
}

//: kernel unpack_int4g64 needs: unpack_groups
static void unpack_int4g64(int8_t *to, const void *panel, int64_t k)
{
    unpack_groups(to, (const uint8_t *)panel, k, 64);
}

//: row_peak when: w1
/* Returns the bits of the largest |x|; those of NaN compare as the largest. */
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
/* Rounds x, |x| < 2^22, to an integer, ties to even. The result is the low 22
 * bits of x + 1.5 * 2^23. */
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
INLINE void v_put_int15(uint8_t *y, uint8_t *low, v x, int zero)
{
    const uint32_t near = v_nearest(x);
    *y = (uint8_t)((near >> 7) ^ 128);
    *low = (uint8_t)((near & 127) | zero);
}

//: v_bf16_rest when: w1 needs: v_bf16
/* Rounds to bf16 what x has beyond `near`, its own bf16; 0 if that is not
 * finite. */
INLINE v_bits v_bf16_rest(v x, v_bits near)
{
    union { uint32_t bits; float f; } u;
    u.bits = near;
    return (near & 0x7f800000) == 0x7f800000 ? 0 : v_bf16(x - u.f);
}

//: kernel round_rows_bf16 needs: v_put_bf16 v_bf16 load_some
/* Rounds rows of k numbers to bf16. Stores `stored` numbers, 0 from k on. */
static void round_rows_bf16(uint16_t *y, int64_t ldy, const float *x,
                            int64_t ldx, int64_t rows, int64_t k,
                            int64_t stored)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t j = 0;
        for (; j < k; j += W)
            v_put_bf16(y + j, v_bf16(load_some(x + j, k - j)));
        for (; j < stored; j++)
            y[j] = 0;
        x += ldx;
        y += ldy;
    }
}

//: kernel split_rows_bf16 needs: v_put_bf16 v_bf16_rest v_splat load_some
/* Splits rows of k numbers into two of bf16 each: the nearest one, and the one
 * nearest to the rest. Stores `stored` of both, 32 and 32, 0 from k on. */
static void split_rows_bf16(uint32_t *y, int64_t ldy, const float *x,
                            int64_t ldx, int64_t rows, int64_t k,
                            int64_t stored)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < stored; j += W) {
            uint16_t *to = (uint16_t *)(y + j / 32 * 32) + j % 32;
            const v some = j < k ? load_some(x + j, k - j) : v_splat(0.0f);
            const v_bits near = v_bf16(some);
            v_put_bf16(to, near);
            v_put_bf16(to + 32, v_bf16_rest(some, near));
        }
        x += ldx;
        y += ldy;
    }
}

//: peak_unit
/* Returns the unit of a row with these bits of the largest |x|, which is `most`
 * units, and sets its inverse. A row below 2^-100 has unit 0 and inverse 0; one
 * with a number that is not finite has unit NaN and inverse 0. */
static float peak_unit(int32_t bits, float most, float *inverse)
{
    union { int32_t bits; float f; } peak;
    peak.bits = bits;
    *inverse = 0.0f;
    if (peak.bits >= 0x7f800000) {
        peak.bits = 0x7fc00000;  /* the same NaN on all compilers */
        return peak.f;
    }
    if (peak.f < 0x1p-100f)
        return 0.0f;
    *inverse = most / peak.f;
    return peak.f / most;
}

//: row_unit needs: peak_unit row_peak v_splat load_some
static float row_unit(const float *x, int64_t k, float most, float *inverse)
{
    return peak_unit(row_peak(x, k), most, inverse);
}

//: fill_bytes needs: store_float
static void fill_bytes(uint8_t *y, int64_t from, int64_t to, uint8_t x)
{
    for (int64_t i = from; i < to; i++)
        y[i] = x;
}

//: kernel quantize_rows_int8 needs: row_unit fill_bytes v_put_int8
/* Quantises rows of k numbers to q in -127 .. 127. Stores `stored` bytes of
 * q + 128, with q = 0 from k on, then the row's unit as a float. */
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

//: stored_int8 needs: row_unit v_put_int8 v_splat load_some
/* Quantises n numbers of a row with this inverse of its unit. */
static void stored_int8(int8_t *to, int64_t step, const float *x, int64_t n,
                        float inverse)
{
    _Alignas(W) uint8_t near[W];
    for (int64_t j = 0; j < n; j += W) {
        v_put_int8(near, load_some(x + j, n - j) * v_splat(inverse));
        for (int64_t l = 0; l < W && j + l < n; l++)
            to[(j + l) * step] =
                (int8_t)(inverse == 0.0f ? 0 : near[l] - 128);
    }
}

//: kernel pack_keys_int8 needs: stored_int8 row_unit
/* Stores keys like pack_keys(), quantised to -127 .. 127, and the unit of each
 * key in `units`. */
static void pack_keys_int8(float *page, const float *x, int64_t ldx,
                           int64_t rows, int64_t d_k, int64_t at, float *units)
{
    float inverse;
    at %= 64;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t lane = (at + i) % 16;
        int8_t *panel = (int8_t *)page + (at + i - lane) * d_k;
        units[at + i] = row_unit(x + i * ldx, d_k, 127.0f, &inverse);
        stored_int8(panel + lane, 16, x + i * ldx, d_k, inverse);
    }
}

//: kernel pack_values_int8 needs: stored_int8 row_unit
/* Stores values like pack_values(), quantised to -127 .. 127, and the unit of
 * each row in `units`. */
static void pack_values_int8(float *page, const float *x, int64_t ldx,
                             int64_t rows, int64_t d_v, int64_t at,
                             float *units)
{
    float inverse;
    at %= 64;
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * ldx;
        units[at + i] = row_unit(row, d_v, 127.0f, &inverse);
        for (int64_t j = 0; j < d_v; j += 16) {
            int8_t *to = (int8_t *)page + j * 64 + (at + i) * 16;
            const int64_t some = d_v - j < 16 ? d_v - j : 16;
            stored_int8(to, 1, row + j, some, inverse);
            for (int64_t l = some; l < 16; l++)
                to[l] = 0;
        }
    }
}

//: kernel times_units needs: v_load v_store load_some store_some
/* Sets y = s times the units of `keys` rows: finished scores times those of
 * keys, or weights times those of values. */
static void times_units(float *y, int64_t ldy, const float *s, int64_t lds,
                        int64_t rows, int64_t keys, const float *units)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j += W)
            store_some(y + i * ldy + j,
                       load_some(s + i * lds + j, keys - j)
                           * load_some(units + j, keys - j),
                       keys - j);
}

//: kernel quantize_rows_int15 needs: row_unit fill_bytes v_put_int15
/* Quantises rows to v = 128 h + l in -16256 .. 16256. Stores `stored` bytes of
 * h + 128, then `stored` bytes of l in 0 .. 127, then the unit. */
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
                        load_some(x + j, k - j) * v_splat(inverse), 0);
        fill_bytes(y, j, stored, 128);
        fill_bytes(low, j, stored, 0);
        store_float(low + stored, unit);
        x += ldx;
        y += ldy;
    }
}

//: store_bits
static inline void store_bits(uint8_t *p, int32_t x)
{
    union { int32_t bits; uint8_t byte[4]; } u;
    u.bits = x;
    for (int64_t i = 0; i < 4; i++)
        p[i] = u.byte[i];
}

//: bits_at
static inline int32_t bits_at(const uint8_t *p)
{
    union { int32_t bits; uint8_t byte[4]; } u;
    for (int64_t i = 0; i < 4; i++)
        u.byte[i] = p[i];
    return u.bits;
}

//: kernel peak_rows needs: row_peak store_bits
/* Stores the bits of each row's largest |x| in columns `from` to `to` - 1. */
static void peak_rows(uint8_t *y, int64_t ldy, const float *x, int64_t ldx,
                      int64_t rows, int64_t from, int64_t to)
{
    for (int64_t i = 0; i < rows; i++)
        store_bits(y + i * ldy, row_peak(x + i * ldx + from, to - from));
}

//: put_both needs: v_put_int8 v_put_int15
INLINE void put_both(uint8_t *y, uint8_t *low, v x, int64_t two)
{
    if (two)
        v_put_int15(y, low, x, 128);
    else
        v_put_int8(y, x);
}

//: kernel quantize_own needs: peak_unit fill_bytes put_both bits_at no_number
/* Quantises columns `from` to `to` - 1 of rows like quantize_rows_int8() or, if
 * `two` is 1, quantize_rows_int15(), but with lower bits + 128, in the second
 * half of a row. So the halves are two rows of int8. The row has the bits of
 * its largest |x| in place of the unit. The other bytes of the 128 columns
 * around these are set too, because products read them. */
static void quantize_own(uint8_t *y, int64_t ldy, const float *x, int64_t ldx,
                         int64_t rows, int64_t from, int64_t to, int64_t k,
                         int64_t stored, int64_t two)
{
    const int64_t begin = from / 128 * 128;
    const int64_t past = (to + 127) / 128 * 128;
    const int64_t end = past < stored ? past : stored;
    for (int64_t i = 0; i < rows; i++) {
        uint8_t *last = y + stored + two * ldy / 2;
        float inverse;
        const float unit = peak_unit(bits_at(last), two ? 16256.0f : 127.0f,
                                     &inverse);
        int64_t j = from / 16 * 16;
        for (; j < to && inverse != 0.0f; j += W) {
            const v all = load_some(x + j, k - j) * v_splat(inverse);
            put_both(y + j, y + ldy / 2 + j, all, two);
        }
        for (int64_t p = 0; p <= two; p++) {
            uint8_t *plane = y + p * ldy / 2;
            if (inverse == 0.0f)
                fill_bytes(plane, from, to, 128);
            fill_bytes(plane, begin, from, NoNumber);
            fill_bytes(plane, to, end, to == k ? 128 : NoNumber);
        }
        store_float(last, unit);
        x += ldx;
        y += ldy;
    }
}

//: kernel widen_rows when: wide needs: v_spread float_at store_float
/* Widens n bytes of each row to 16 bits and copies the float after them. */
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
