/* recurrent.c: computes recurrent cells: columns from .. to - 1 of the next
 * state of d numbers, to y and to next. x has the products of a row, gate g of
 * column j at g d + j; sums has those of the last state h. bias may be NULL. */

//: gate_of needs: load_some
/* Returns the product of a state plus bias: n columns from `at` on. */
INLINE v gate_of(const float *sums, const float *bias, int64_t at, int64_t n)
{
    const v u = load_some(sums + at, n);
    if (bias)
        return u + load_some(bias + at, n);
    return u;
}

//: kernel simple_row_ACT needs: v_ACT v_prefetch gate_of store_some
/* Computes act(x + u) [Elman 1990]. */
static void simple_row_ACT(float *y, float *next, const float *x,
                           const float *soon, const float *sums,
                           const float *bias, int64_t from, int64_t to)
{
    (void)soon;
    for (int64_t j = from; j < to; j += W) {
        const int64_t n = to - j;
        v_prefetch(soon + j);
        const v h = v_ACT(load_some(x + j, n) + gate_of(sums, bias, j, n));
        store_some(next + j, h, n);
        store_some(y + j, h, n);
    }
}

//: kernel gru_row needs: v_fma v_sigmoid v_tanh v_prefetch gate_of store_some
/* Uses gates r, z, n [Cho et al. 2014]; r scales the state's product. */
static void gru_row(float *y, float *next, const float *h, const float *x,
                    const float *soon, const float *sums, const float *bias,
                    int64_t d, int64_t from, int64_t to)
{
    (void)soon;
    for (int64_t j = from; j < to; j += W) {
        const int64_t n = to - j, k = d + j, l = 2 * d + j;
        v_prefetch(soon + j);
        v_prefetch(soon + k);
        v_prefetch(soon + l);
        const v r = v_sigmoid(load_some(x + j, n) + gate_of(sums, bias, j, n));
        const v z = v_sigmoid(load_some(x + k, n) + gate_of(sums, bias, k, n));
        const v fresh = v_tanh(v_fma(r, gate_of(sums, bias, l, n),
                                     load_some(x + l, n)));
        const v last = load_some(h + j, n);
        const v now = v_fma(z, last - fresh, fresh);
        store_some(next + j, now, n);
        store_some(y + j, now, n);
    }
}

//: v_tanh_gated needs: v_splat v_fma v_max v_clamp v_exp v_exp_rest
/* Returns tanh(x) / (1 + e^-u), by one division: m / ((m + 2) (1 + e^-u)) with
 * m = e^2x - 1. */
INLINE v v_tanh_gated(v u, v x)
{
    v scale;
    x = v_clamp(x, 10.0f);
    const v rest = v_exp_rest(x + x, &scale);
    const v m = v_fma(rest, scale, scale - v_splat(1.0f));
    const v below = m + v_splat(2.0f);
    return m / v_fma(below, v_exp(-v_max(v_splat(-88.0f), u)), below);
}

//: kernel lstm_row needs: v_sigmoid v_tanh_gated gate_of v_prefetch store_some
/* Uses gates i, f, g, o [Hochreiter and Schmidhuber 1997; Gers et al. 2000].
 * Updates the state of the cell. */
static void lstm_row(float *y, float *next, float *cell, const float *x,
                     const float *soon, const float *sums, const float *bias,
                     int64_t d, int64_t from, int64_t to)
{
    (void)soon;
    for (int64_t j = from; j < to; j += W) {
        const int64_t n = to - j, k = d + j, l = 2 * d + j, m = 3 * d + j;
        v_prefetch(soon + j);
        v_prefetch(soon + k);
        v_prefetch(soon + l);
        v_prefetch(soon + m);
        const v i = load_some(x + j, n) + gate_of(sums, bias, j, n);
        const v f = load_some(x + k, n) + gate_of(sums, bias, k, n);
        const v g = load_some(x + l, n) + gate_of(sums, bias, l, n);
        const v o = load_some(x + m, n) + gate_of(sums, bias, m, n);
        const v c = v_fma(v_sigmoid(f), load_some(cell + j, n),
                          v_tanh_gated(i, g));
        const v now = v_tanh_gated(o, c);
        store_some(cell + j, c, n);
        store_some(next + j, now, n);
        store_some(y + j, now, n);
    }
}
