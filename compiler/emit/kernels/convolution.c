/* convolution.c: depthwise convolutions, which sum taps column by column. */

//: depthwise_store needs: store_some
/* Stores n of 2 W columns: a to y, b to `more`. */
INLINE void depthwise_store(float *y, v a, float *more, v b, int64_t n)
{
    store_some(y, a, n);
    if (n > W)
        store_some(more, b, n - W);
}

//: depthwise_begun needs: load_some
/* Returns the first W of n sums and sets *more to the rest. */
INLINE v depthwise_begun(const float *y, int64_t j, int64_t n, v *more)
{
    if (n > W)
        *more = load_some(y + j + W, n - W);
    return load_some(y + j, n);
}

//: depthwise_tile needs: v_load v_splat v_fma depthwise_begun depthwise_store
/* Computes y = x w + b, tap by tap, for four rows and n of 2 W columns. Tap t
 * of row i reads row x[4 t + i]. If begun, y has the sums of earlier taps. */
INLINE void depthwise_tile(float *y, int64_t ldy, int64_t rows,
                           const float *const *x, int64_t taps,
                           const float *w, int64_t panel, const float *bias,
                           int64_t begun, int64_t j, int64_t n)
{
    const int64_t l = j + W, more = n - W;
    v a0 = v_splat(0.0f), a1 = a0, a2 = a0, a3 = a0;
    v b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    const float *u = w + j / 16 * panel + j % 16;
    const float *t = w + l / 16 * panel + l % 16;

    if (begun) {
        a0 = depthwise_begun(y, j, n, &b0);
        a1 = rows > 1 ? depthwise_begun(y + ldy, j, n, &b1) : a1;
        a2 = rows > 2 ? depthwise_begun(y + 2 * ldy, j, n, &b2) : a2;
        a3 = rows > 3 ? depthwise_begun(y + 3 * ldy, j, n, &b3) : a3;
    }
    for (int64_t k = 0; k < taps; k++) {
        v f = v_load(u);
        a0 = v_fma(load_some(x[0] + j, n), f, a0);
        a1 = v_fma(load_some(x[1] + j, n), f, a1);
        a2 = v_fma(load_some(x[2] + j, n), f, a2);
        a3 = v_fma(load_some(x[3] + j, n), f, a3);
        if (more > 0) {
            f = v_load(t);
            b0 = v_fma(load_some(x[0] + l, more), f, b0);
            b1 = v_fma(load_some(x[1] + l, more), f, b1);
            b2 = v_fma(load_some(x[2] + l, more), f, b2);
            b3 = v_fma(load_some(x[3] + l, more), f, b3);
        }
        u += 16;
        t += 16;
        x += 4;
    }
    if (bias) {
        const v c = load_some(bias + j, n);
        a0 += c, a1 += c, a2 += c, a3 += c;
    }
    if (bias && more > 0) {
        const v c = load_some(bias + l, more);
        b0 += c, b1 += c, b2 += c, b3 += c;
    }
    depthwise_store(y + j, a0, y + l, b0, n);
    if (rows > 1)
        depthwise_store(y + ldy + j, a1, y + ldy + l, b1, n);
    if (rows > 2)
        depthwise_store(y + 2 * ldy + j, a2, y + 2 * ldy + l, b2, n);
    if (rows > 3)
        depthwise_store(y + 3 * ldy + j, a3, y + 3 * ldy + l, b3, n);
}

//: kernel depthwise_rows needs: depthwise_tile
/* Computes columns from .. to - 1 of up to four rows. w has panels of 16
 * columns, `panel` floats each; `from` begins a panel. bias may be NULL. If
 * begun, y has the sums of earlier taps. */
static void depthwise_rows(float *y, int64_t ldy, int64_t rows,
                           const float *const *x, int64_t taps,
                           const float *w, int64_t panel, const float *bias,
                           int64_t begun, int64_t from, int64_t to)
{
    const int64_t vector_end = from + (to - from) / (2 * W) * (2 * W);

    for (int64_t j = from; j < vector_end; j += 2 * W)
        depthwise_tile(y, ldy, rows, x, taps, w, panel, bias, begun, j, 2 * W);
    for (int64_t j = vector_end; j < to; j += 2 * W)
        depthwise_tile(y, ldy, rows, x, taps, w, panel, bias, begun, j, to - j);
}
