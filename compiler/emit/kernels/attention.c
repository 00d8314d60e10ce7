/* attention.c: stores keys and values in pages of the cache and computes
 * softmax between attention's two products, with the operations of vector.c or
 * scalar.c. Chunks of s, o and pages are padded; x and y are not. */

//: kernel pack_keys needs: transpose_4x4
/* Stores keys at .. at + rows - 1 in their page of 64. In a panel of 16 keys
 * the d_k elements lie below each other, so that a tile can compute Q K^T. */
static void pack_keys(float *page, const float *x, int64_t ldx, int64_t rows,
                      int64_t d_k, int64_t at)
{
    const int64_t fours = d_k / 4 * 4;
    int64_t i = 0;
    at %= 64;
    while (i < rows) {
        const int64_t lane = (at + i) % 16;
        float *panel = page + (at + i - lane) * d_k;
        const float *row = x + i * ldx;
        if (lane % 4 == 0 && i + 4 <= rows) {
            for (int64_t k = 0; k < fours; k += 4)
                transpose_4x4(panel + k * 16 + lane, row + k, ldx);
            for (int64_t k = fours; k < d_k; k++)
                for (int64_t r = 0; r < 4; r++)
                    panel[k * 16 + lane + r] = row[r * ldx + k];
            i += 4;
        } else {
            for (int64_t k = 0; k < d_k; k++)
                panel[k * 16 + lane] = row[k];
            i++;
        }
    }
}

//: kernel pack_values needs: v_load v_store padded_16
/* Stores rows of values from position `at` on in their page, whose panels have
 * 16 columns and 64 rows. Columns from d_v on are 0. */
static void pack_values(float *page, const float *x, int64_t ldx, int64_t rows,
                        int64_t d_v, int64_t at)
{
    float pad[16];
    at %= 64;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d_v; j += 16) {
            float *to = page + j * 64 + (at + i) * 16;
            const float *p = padded_16(pad, x + i * ldx + j, d_v - j, 0.0f);
            for (int64_t l = 0; l < 16; l += W)
                v_store(to + l, v_load(p + l));
        }
}

//: kernel pack_keys_bf16 needs: v_put_bf16 v_bf16 load_some
/* Stores keys like pack_keys(), rounded to bf16. */
static void pack_keys_bf16(float *page, const float *x, int64_t ldx,
                           int64_t rows, int64_t d_k, int64_t at)
{
    uint16_t near[W];
    at %= 64;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t lane = (at + i) % 16;
        uint16_t *panel = (uint16_t *)page + (at + i - lane) * d_k;
        for (int64_t k = 0; k < d_k; k += W) {
            const int64_t some = d_k - k < W ? d_k - k : W;
            v_put_bf16(near, v_bf16(load_some(x + i * ldx + k, some)));
            for (int64_t l = 0; l < some; l++)
                panel[(k + l) * 16 + lane] = near[l];
        }
    }
}

//: kernel pack_values_bf16 needs: v_put_bf16 v_bf16 v_load padded_16
/* Stores values like pack_values(), rounded to bf16. */
static void pack_values_bf16(float *page, const float *x, int64_t ldx,
                             int64_t rows, int64_t d_v, int64_t at)
{
    float pad[16];
    at %= 64;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d_v; j += 16) {
            uint16_t *to = (uint16_t *)page + j * 64 + (at + i) * 16;
            const float *p = padded_16(pad, x + i * ldx + j, d_v - j, 0.0f);
            for (int64_t l = 0; l < 16; l += W)
                v_put_bf16(to + l, v_bf16(v_load(p + l)));
        }
}

//: widen_panels needs: v_store
/* Widens the first n elements of each panel, 1024 apart, to floats, and returns
 * them: the panels of the first keys, which lie together, or the first rows of
 * values. Those of int8 become whole numbers, without their units. */
INLINE const float *widen_panels(float *to, const float *page, int64_t n,
                                 int64_t panels,
                                 v (*load)(const float *p, int64_t at))
{
    for (int64_t p = 0; p < panels * 1024; p += 1024)
        for (int64_t i = p; i < p + n; i += W)
            v_store(to + i, load(page, i));
    return to;
}

//: element_bf16 needs: v_widen_bf16
/* Returns W elements of a page, from element `at` on. */
INLINE v element_bf16(const float *p, int64_t at)
{
    return v_widen_bf16((const uint16_t *)p + at);
}

//: kernel widen_keys_bf16 needs: widen_panels element_bf16
static const float *widen_keys_bf16(float *to, const float *page, int64_t keys,
                                    int64_t d_k)
{
    return widen_panels(to, page, (keys + 15) / 16 * 16 * d_k, 1, element_bf16);
}

//: kernel widen_values_bf16 needs: widen_panels element_bf16
static const float *widen_values_bf16(float *to, const float *page,
                                      int64_t keys, int64_t panels)
{
    return widen_panels(to, page, keys * 16, panels, element_bf16);
}

//: element_int8 needs: v_widen_int8
/* Returns W elements of a page, from element `at` on. */
INLINE v element_int8(const float *p, int64_t at)
{
    return v_widen_int8((const int8_t *)p + at);
}

//: kernel widen_keys_int8 needs: widen_panels element_int8
static const float *widen_keys_int8(float *to, const float *page, int64_t keys,
                                    int64_t d_k)
{
    return widen_panels(to, page, (keys + 15) / 16 * 16 * d_k, 1, element_int8);
}

//: kernel widen_values_int8 needs: widen_panels element_int8
static const float *widen_values_int8(float *to, const float *page,
                                      int64_t keys, int64_t panels)
{
    return widen_panels(to, page, keys * 16, panels, element_int8);
}

//: kernel prefetch_keys needs: v_prefetch
/* Prefetches n keys of a page, and their values behind the page's keys. */
static void prefetch_keys(const float *k, int64_t n, int64_t d_k,
                          int64_t panels)
{
    const float *values = k + 64 * d_k;
    for (int64_t i = 0; i < (n + 15) / 16 * d_k; i++)
        v_prefetch(k + i * 16);
    for (int64_t i = 0; i < panels * 1024; i += 1024)
        for (int64_t j = 0; j < n; j++)
            v_prefetch(values + i + j * 16);
}

//: kernel score_bias_row needs: load_some v_load v_store
/* Adds by_distance[j - i] to the score of query i and key j. by_distance points
 * to the bias of query 0 and key 0 of the chunk; its entries are already
 * divided by softmax_chunk's scale. */
static void score_bias_row(float *s, int64_t rows, int64_t keys,
                           const float *by_distance)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j += W) {
            float *at = s + i * 64 + j;
            v_store(at, v_load(at) + load_some(by_distance + j - i, keys - j));
        }
}

//: kernel softmax_begin
/* Begins an online softmax [Milakov and Gimelshein 2018] by chunks of 64 keys,
 * as in FlashAttention [Dao et al. 2022, algorithm 1]. A row has the maximum so
 * far, 16 lanes of the sum, and o, the sum of p v before division. */
static void softmax_begin(int64_t rows, float *max, float *sum, float *o,
                          int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++)
        max[i] = -INFINITY;
    for (int64_t i = 0; i < rows * 16; i++)
        sum[i] = 0.0f;
    for (int64_t i = 0; i < rows * ldo; i++)
        o[i] = 0.0f;
}

//: kernel softmax_sink
/* Begins each row with a sink: one more score, which has no value. */
static void softmax_sink(int64_t rows, float score, float *max, float *sum)
{
    for (int64_t i = 0; i < rows; i++) {
        max[i] = score;
        sum[i * 16] = 1.0f;
    }
}

//: v_exp2 needs: v_splat v_fma v_max v_power_of_2
/* Returns 2^t within an ulp for t <= 127, and 0 below -126.5; NaN stays NaN.
 * With t = n + f, |f| <= 1/2, it computes 2^f as 1 + f P(f), P minimax. */
INLINE v v_exp2(v t)
{
    const v shift = v_splat(0x1.8000fep+23f);  /* rounds to n + 127 */
    t = v_max(v_splat(-127.0f), t);
    const v n = t + shift;
    const v f = t - (n - shift);
    v p = v_splat(0x1.41fbbcp-13f);
    p = v_fma(p, f, v_splat(0x1.5f3e52p-10f));
    p = v_fma(p, f, v_splat(0x1.3b2d4cp-7f));
    p = v_fma(p, f, v_splat(0x1.c6aee8p-5f));
    p = v_fma(p, f, v_splat(0x1.ebfbdcp-3f));
    p = v_fma(p, f, v_splat(0x1.62e43p-1f));
    p = v_fma(p, f, v_splat(1.0f));
    return p * v_power_of_2(n);
}

//: v_sigmoid2 needs: v_splat v_max v_exp2
/* Returns 1 / (1 + 2^-t), which is 0 below -126.5; NaN stays NaN. */
INLINE v v_sigmoid2(v t)
{
    const v e = v_exp2(-v_max(v_splat(-126.0f), -t));
    return e / (e + v_splat(1.0f));
}

//: kernel sigmoid_row needs: v_splat v_sigmoid2 load_some store_some
/* Computes y = 1 / (1 + e^-x) for n elements. */
static void sigmoid_row(float *y, const float *x, int64_t n)
{
    const v by = v_splat(0x1.715476p+0f); /* log2 e */
    for (int64_t j = 0; j < n; j += W)
        store_some(y + j, v_sigmoid2(load_some(x + j, n - j) * by), n - j);
}

//: kernel sigmoid_begin
static void sigmoid_begin(int64_t rows, float *o, int64_t ldo)
{
    for (int64_t i = 0; i < rows * ldo; i++)
        o[i] = 0.0f;
}

//: kernel sigmoid_page needs: v_load v_store v_splat v_sigmoid2
/* Replaces s by 1 / (1 + 2^(-scale s)) for the first `keys` of 64 keys. */
static void sigmoid_page(float *s, int64_t rows, int64_t keys, float scale)
{
    const v by = v_splat(scale);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j += W) {
            float *at = s + i * 64 + j;
            v_store(at, v_sigmoid2(v_load(at) * by));
        }
}

//: kernel sigmoid_chunk needs: sigmoid_page
/* Works like sigmoid_page() if row i sees keys from[i] .. to[i] - 1 of 64; the
 * weights of its other keys become 0. */
static void sigmoid_chunk(float *s, int64_t rows, const int64_t *from,
                          const int64_t *to, float scale)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t end = from[i] < to[i] ? to[i] : 0;
        for (int64_t j = 0; j < 64; j++)
            if (j < from[i] || j >= end)
                s[i * 64 + j] = -INFINITY;
    }
    sigmoid_page(s, rows, 64, scale);
}

//: kernel additive_scores needs: v_load v_store v_splat v_fma v_tanh
/* Sets s = by . tanh(q + k) [Bahdanau et al. 2015] for rows of q and panels of
 * 16 keys, `panel` floats apart, whose d elements lie below each other. */
static void additive_scores(int64_t rows, const float *q, int64_t ldq,
                            const float *k, int64_t panel, int64_t d,
                            int64_t panels, float *s, int64_t lds,
                            const float *by)
{
    for (int64_t p = 0; p < panels; p++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t l = 0; l < 16; l += W) {
                const float *keys = k + p * panel + l;
                v sum = v_splat(0.0f);
                for (int64_t c = 0; c < d; c++) {
                    const v x = v_splat(q[i * ldq + c]) + v_load(keys + c * 16);
                    sum = v_fma(v_splat(by[c]), v_tanh(x), sum);
                }
                v_store(s + i * lds + p * 16 + l, sum);
            }
}

//: chunk_max needs: v_load v_store v_max lane_max
/* Returns the largest of `wide` scores, a multiple of 16; padding is -inf. */
static inline float chunk_max(const float *s, int64_t wide)
{
    float lane[16];
    for (int64_t i = 0; i < 16; i += W) {
        v top = v_load(s + i);
        for (int64_t j = 16; j < wide; j += 16)
            top = v_max(v_load(s + i + j), top);
        v_store(lane + i, top);
    }
    return lane_max(lane);
}

//: raise_max needs: v_load v_store v_splat v_exp2
/* Rescales a row's sums from its old maximum to the new one, `top`. */
static inline void raise_max(float *restrict max, float top, float scale,
                             float *restrict sum, float *restrict o,
                             int64_t ldo)
{
    const v rescale = v_exp2((v_splat(*max) - v_splat(top)) * v_splat(scale));
    for (int64_t j = 0; j < ldo; j += W)
        v_store(o + j, v_load(o + j) * rescale);
    for (int64_t j = 0; j < 16; j += W)
        v_store(sum + j, v_load(sum + j) * rescale);
    *max = top;
}

//: chunk_exp needs: v_load v_store v_splat v_exp2
/* Replaces the first `wide` of s by 2^(scale (s - max)) and adds these to the
 * 16 lanes of sum. */
static inline void chunk_exp(float *restrict s, int64_t wide, float max,
                             float scale, float *restrict sum)
{
    if (max == -INFINITY)        /* all are -inf: 0, not NaN */
        max = 0.0f;
    const v m = v_splat(max), by = v_splat(scale);
    for (int64_t i = 0; i < 16; i += W) {
        v p[4] = { v_exp2((v_load(s + i) - m) * by),
                   v_splat(0.0f), v_splat(0.0f), v_splat(0.0f) };
        v_store(s + i, p[0]);
        for (int64_t j = 1; j < wide / 16; j++) {
            p[j] = v_exp2((v_load(s + j * 16 + i) - m) * by);
            v_store(s + j * 16 + i, p[j]);
        }
        v_store(sum + i, v_load(sum + i) + ((p[0] + p[1]) + (p[2] + p[3])));
    }
}

//: softmax_scores needs: chunk_max raise_max chunk_exp
/* Turns the first `wide` of 64 scores into weights 2^(scale (s - max)); keys
 * that a row does not see have -inf. All maxima come before all powers, so that
 * the powers of several rows overlap. Needs scale > 0. */
static inline void softmax_scores(float *restrict s, int64_t wide,
                                  int64_t rows, float scale,
                                  float *restrict max, float *restrict sum,
                                  float *restrict o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        const float top = chunk_max(s + i * 64, wide);
        if (top > max[i])
            raise_max(max + i, top, scale, sum + i * 16, o + i * ldo, ldo);
    }
    for (int64_t i = 0; i < rows; i++)
        chunk_exp(s + i * 64, wide, max[i], scale, sum + i * 16);
}

//: softmax_wide needs: softmax_scores
/* Calls softmax_scores(), with a constant width in the common cases. */
static void softmax_wide(float *restrict s, int64_t wide, int64_t rows,
                         float scale, float *restrict max, float *restrict sum,
                         float *restrict o, int64_t ldo)
{
    if (wide == 64)
        softmax_scores(s, 64, rows, scale, max, sum, o, ldo);
    else if (wide == 16)
        softmax_scores(s, 16, rows, scale, max, sum, o, ldo);
    else
        softmax_scores(s, wide, rows, scale, max, sum, o, ldo);
}

//: kernel softmax_page needs: softmax_wide
/* Turns scores into weights 2^(scale (s - max)) if all rows see the first
 * `keys` of a chunk. Other weights of the last 16 become 0. */
static void softmax_page(float *restrict s, int64_t rows, int64_t keys,
                         float scale, float *restrict max, float *restrict sum,
                         float *restrict o, int64_t ldo)
{
    const int64_t wide = (keys + 15) / 16 * 16;
    if (keys < wide)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = keys; j < wide; j++)
                s[i * 64 + j] = -INFINITY;
    softmax_wide(s, wide, rows, scale, max, sum, o, ldo);
}

//: kernel softmax_once needs: chunk_max chunk_exp
/* Does softmax_begin() and softmax_page() in one if all rows see the same keys,
 * at most 64, and no others. */
static void softmax_once(float *restrict s, int64_t rows, int64_t keys,
                         float scale, float *restrict max, float *restrict sum)
{
    const int64_t wide = (keys + 15) / 16 * 16;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = keys; j < wide; j++)
            s[i * 64 + j] = -INFINITY;
        const float top = chunk_max(s + i * 64, wide);
        max[i] = top > -INFINITY ? top : -INFINITY;    /* not NaN */
        for (int64_t j = 0; j < 16; j++)
            sum[i * 16 + j] = 0.0f;
    }
    for (int64_t i = 0; i < rows; i++)
        chunk_exp(s + i * 64, wide, max[i], scale, sum + i * 16);
}

//: kernel softmax_chunk needs: softmax_wide
/* Works like softmax_page() if row i sees keys from[i] .. to[i] - 1 of 64. */
static void softmax_chunk(float *restrict s, int64_t rows, const int64_t *from,
                          const int64_t *to, float scale, float *restrict max,
                          float *restrict sum, float *restrict o, int64_t ldo)
{
    int64_t wide = 16;
    for (int64_t i = 0; i < rows; i++)
        while (wide < 64 && wide < to[i])
            wide += 16;
    for (int64_t i = 0; i < rows; i++) {
        float *row = s + i * 64;
        int64_t j = 0;
        for (; j < wide && j < from[i]; j++)
            row[j] = -INFINITY;
        if (j < to[i])
            j = to[i];
        for (; j < wide; j++)
            row[j] = -INFINITY;
        for (; j < 64; j++)
            row[j] = 0.0f;
    }
    softmax_wide(s, wide, rows, scale, max, sum, o, ldo);
}

//: kernel add_keys needs: v_load v_store v_splat v_fma
/* Adds p V of one row and a few keys to o. */
static void add_keys(const float *p, int64_t keys, const float *values,
                     int64_t panels, float *o)
{
    for (int64_t j = 0; j < panels; j++)
        for (int64_t l = 0; l < 16; l += W) {
            v sum = v_load(o + j * 16 + l);
            for (int64_t i = 0; i < keys; i++)
                sum = v_fma(v_splat(p[i]),
                            v_load(values + j * 1024 + i * 16 + l), sum);
            v_store(o + j * 16 + l, sum);
        }
}

//: heads_sums needs: v_load v_store v_splat v_fma
/* Computes c = a b, or c += a b, for four rows. Row i has its own panels, ldb
 * apart, at b[i]; load() returns W of their elements. The four rows hide each
 * other's latency. */
INLINE void heads_sums(const float *a, int64_t lda, const float *const *b,
                       int64_t ldb, int64_t k, int64_t panels, float *c,
                       int64_t ldc, int64_t adds,
                       v (*load)(const float *p, int64_t at))
{
    for (int64_t j = 0; j < panels; j++)
        for (int64_t l = 0; l < 16; l += W) {
            const int64_t at = j * ldb + l;
            float *to = c + j * 16 + l;
            v sum0 = v_splat(0.0f), sum1 = sum0, sum2 = sum0, sum3 = sum0;
            if (adds) {
                sum0 = v_load(to);
                sum1 = v_load(to + ldc);
                sum2 = v_load(to + 2 * ldc);
                sum3 = v_load(to + 3 * ldc);
            }
            for (int64_t i = 0; i < k; i++) {
                const float *x = a + i;
                const int64_t line = at + i * 16;
                sum0 = v_fma(v_splat(x[0]), load(b[0], line), sum0);
                sum1 = v_fma(v_splat(x[lda]), load(b[1], line), sum1);
                sum2 = v_fma(v_splat(x[2 * lda]), load(b[2], line), sum2);
                sum3 = v_fma(v_splat(x[3 * lda]), load(b[3], line), sum3);
            }
            v_store(to, sum0);
            v_store(to + ldc, sum1);
            v_store(to + 2 * ldc, sum2);
            v_store(to + 3 * ldc, sum3);
        }
}

//: kernel heads_product needs: heads_sums
/* Calls heads_sums() for panels in f32. */
INLINE v element_f32(const float *p, int64_t at)
{
    return v_load(p + at);
}

static void heads_product(const float *a, int64_t lda, const float *const *b,
                          int64_t ldb, int64_t k, int64_t panels, float *c,
                          int64_t ldc, int64_t adds)
{
    heads_sums(a, lda, b, ldb, k, panels, c, ldc, adds, element_f32);
}

//: kernel heads_product_bf16 needs: heads_sums element_bf16
/* Calls heads_sums() for panels in bf16. */
static void heads_product_bf16(const float *a, int64_t lda,
                               const float *const *b, int64_t ldb, int64_t k,
                               int64_t panels, float *c, int64_t ldc,
                               int64_t adds)
{
    heads_sums(a, lda, b, ldb, k, panels, c, ldc, adds, element_bf16);
}

//: kernel heads_product_int8 needs: heads_sums element_int8
/* Calls heads_sums() for panels in int8. */
static void heads_product_int8(const float *a, int64_t lda,
                               const float *const *b, int64_t ldb, int64_t k,
                               int64_t panels, float *c, int64_t ldc,
                               int64_t adds)
{
    heads_sums(a, lda, b, ldb, k, panels, c, ldc, adds, element_int8);
}

//: type waiting when: w16
struct waiting {         /* pending rows of a page, which become weights
                          * while other rows' scores are computed */
    int64_t rows;        /* 0: none */
    float *s;            /* 64 scores a row, none masked */
    float scale;
    float max[16];       /* each row's maximum so far, to subtract */
    float by[16];        /* rescales each row's sums to the new maximum */
    float *sum, *o;      /* sums of its lanes and of p v */
    const float *v;      /* the page's values */
    const float *next;   /* data to prefetch */
};

//: weights_of_16 when: w16 needs: waiting v_load v_store v_splat v_exp2
/* Turns the 16 scores at s into weights 2^(scale (s - max)). Returns s + 16. */
INLINE float *weights_of_16(const struct waiting *w, float *s)
{
    const v max = v_splat(w->max[(s - w->s) / 64]);
    v_store(s, v_exp2((v_load(s) - max) * v_splat(w->scale)));
    return s + 16;
}

//: kernel softmax_wait when: w16 needs: waiting chunk_max v_exp2
/* Makes `rows` rows of scores pending, 16 at most, and updates their maxima. */
static void softmax_wait(struct waiting *w, float *s, int64_t rows,
                         float scale, float *max)
{
    w->rows = rows;
    w->s = s;
    w->scale = scale;
    for (int64_t i = 0; i < rows; i++) {
        const float top = chunk_max(s + i * 64, 64), old = max[i];
        max[i] = top > old ? top : old;
        w->max[i] = max[i] == -INFINITY ? 0.0f : max[i]; /* 0, not NaN */
        w->by[i] = old - w->max[i];
    }
    v_store(w->by, v_exp2(v_load(w->by) * v_splat(scale)));
}

//: kernel softmax_weights when: w16 needs: weights_of_16
/* Turns pending scores into weights when no other scores are computed. */
static void softmax_weights(const struct waiting *w)
{
    for (float *s = w->s; s < w->s + w->rows * 64;)
        s = weights_of_16(w, s);
}

//: kernel softmax_add when: w16 needs: waiting v_load v_store v_splat
/* Rescales the sums of pending rows and adds the rows' weights. */
static void softmax_add(const struct waiting *w)
{
    for (int64_t i = 0; i < w->rows; i++) {
        const float *p = w->s + i * 64;
        float *sum = w->sum + i * 16;
        const v added = (v_load(p) + v_load(p + 16))
                      + (v_load(p + 32) + v_load(p + 48));
        v_store(sum, v_load(sum) * v_splat(w->by[i]) + added);
    }
}

//: kernel softmax_end needs: v_load v_store v_splat lane_sum
/* Computes y = o / sum, or 0 for a row without keys. */
static void softmax_end(float *y, int64_t ldy, int64_t rows, int64_t d_v,
                        const float *sum, const float *o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        float lane[16], inverse = 0.0f;
        for (int64_t j = 0; j < 16; j++)
            lane[j] = sum[j];
        const float total = lane_sum(lane);
        if (total != 0.0f)
            inverse = 1.0f / total;
        const int64_t vector_end = d_v / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(o + j) * v_splat(inverse));
        for (int64_t j = vector_end; j < d_v; j++)
            y[j] = o[j] * inverse;
        y += ldy;
        sum += 16;
        o += ldo;
    }
}
