/* attention.c: the keys and values of one page of the cache, and the softmax
 * between the two products of attention, in the operations of vector.c or
 * scalar.c. Chunks of s, o and pages are padded; x and y are not.           */

//: pack_keys
/* Keys at positions at .. at + rows - 1 of one page of 64: panels of 16 keys,
 * the d_k elements one below the other, so that Q K^T is a tile's product. */
static void pack_keys(float *page, const float *x, int64_t ldx, int64_t rows,
                      int64_t d_k, int64_t at)
{
    int64_t i = 0;
    while (i < rows) {
        const int64_t lane = (at + i) % 16;
        float *panel = page + (at + i - lane) * d_k;
        const float *row = x + i * ldx;
        if (lane == 0 && i + 16 <= rows) {
            for (int64_t k = 0; k < d_k; k++)
                for (int64_t r = 0; r < 16; r++)
                    panel[k * 16 + r] = row[r * ldx + k];
            i += 16;
        } else {
            for (int64_t k = 0; k < d_k; k++)
                panel[k * 16 + lane] = row[k];
            i++;
        }
    }
}

//: pack_values needs: v_load v_store sixteen
/* Values at positions at .. of one page: panels of 16 columns, 64 rows each;
 * columns beyond d_v are 0. */
static void pack_values(float *page, const float *x, int64_t ldx, int64_t rows,
                        int64_t d_v, int64_t at)
{
    float pad[16];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d_v; j += 16) {
            float *to = page + j * 64 + (at + i) * 16;
            const float *p = sixteen(pad, x + i * ldx + j, d_v - j, 0.0f);
            for (int64_t l = 0; l < 16; l += W)
                v_store(to + l, v_load(p + l));
        }
}

//: softcap_chunk needs: v_load v_store v_splat v_softcap
/* s = cap tanh(s / cap) for the first keys of each row of a chunk. What
 * softmax_chunk multiplies by a scale is to have cap / scale here. */
static void softcap_chunk(float *s, int64_t rows, int64_t keys, float cap)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j += W)
            v_store(s + i * 64 + j, v_softcap(v_load(s + i * 64 + j),
                                              v_splat(cap)));
}

//: score_bias_row needs: load_some v_load v_store
/* Adds to the score of query i and key j what is at by_distance[j - i]: a table
 * by the key's distance from the query, so by_distance is where key 0 of the
 * chunk is from query 0. Entries are divided by softmax_chunk's scale. */
static void score_bias_row(float *s, int64_t rows, int64_t keys,
                           const float *by_distance)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < keys; j += W) {
            float *at = s + i * 64 + j;
            v_store(at, v_load(at) + load_some(by_distance + j - i, keys - j));
        }
}

//: softmax_begin
/* Online softmax [Milakov and Gimelshein 2018] by chunks of 64 keys, as in
 * FlashAttention [Dao et al. 2022, algorithm 1]: for each row the maximum so
 * far, 16 lanes of the sum, and o, the sum of p v that is not divided yet. */
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

//: chunk_max needs: v_load v_store v_splat v_max lane_max
/* Scales one row of a chunk, forgets what is not in from .. to - 1. */
static float chunk_max(float *s, int64_t from, int64_t to, float scale)
{
    float lane[16];
    for (int64_t j = 0; j < from; j++)
        s[j] = -INFINITY;
    for (int64_t j = to; j < 64; j++)
        s[j] = -INFINITY;
    for (int64_t i = 0; i < 16; i += W) {
        v top = v_splat(-INFINITY);
        for (int64_t j = i; j < 64; j += 16) {
            const v x = v_load(s + j) * v_splat(scale);
            v_store(s + j, x);
            top = v_max(x, top);
        }
        v_store(lane + i, top);
    }
    return lane_max(lane);
}

//: raise_max needs: v_load v_store v_splat v_exp
/* What was summed under the old maximum, as if under the new one. */
static void raise_max(float *restrict max, float top, float *restrict sum,
                      float *restrict o, int64_t ldo)
{
    const v fade = v_exp(v_splat(*max) - v_splat(top));
    for (int64_t j = 0; j < ldo; j += W)
        v_store(o + j, v_load(o + j) * fade);
    for (int64_t j = 0; j < 16; j += W)
        v_store(sum + j, v_load(sum + j) * fade);
    *max = top;
}

//: chunk_exp needs: v_load v_store v_splat v_exp
/* s becomes exp(s - max); the terms are added to their lanes. */
static void chunk_exp(float *restrict s, float max, float *restrict sum)
{
    if (max == -INFINITY)        /* so are all scores: 0, not NaN */
        max = 0.0f;
    for (int64_t i = 0; i < 16; i += W) {
        v total = v_load(sum + i);
        for (int64_t j = i; j < 64; j += 16) {
            const v p = v_exp(v_load(s + j) - v_splat(max));
            v_store(s + j, p);
            total += p;
        }
        v_store(sum + i, total);
    }
}

//: softmax_chunk needs: chunk_max raise_max chunk_exp
/* One chunk of 64 keys: row i sees those from from[i] to to[i] - 1, 64 at most.
 * s becomes exp(scale s - max), and 0 for all others whatever was there; a row
 * without a key in this chunk moves nothing. Needs scale > 0. */
static void softmax_chunk(float *restrict s, int64_t rows, const int64_t *from,
                          const int64_t *to, float scale, float *restrict max,
                          float *restrict sum, float *restrict o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = s + i * 64;
        if (from[i] < to[i]) {
            const float top = chunk_max(row, from[i], to[i], scale);
            if (top > max[i])
                raise_max(max + i, top, sum + i * 16, o + i * ldo, ldo);
            chunk_exp(row, max[i], sum + i * 16);
        } else {
            for (int64_t j = 0; j < 64; j++)
                row[j] = 0.0f;
        }
    }
}

//: softmax_end needs: v_load v_store v_splat lane_sum
/* y = o / sum; 0 for a row that had no key. */
static void softmax_end(float *y, int64_t ldy, int64_t rows, int64_t d_v,
                        const float *sum, const float *o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        float lane[16], share = 0.0f;
        for (int64_t j = 0; j < 16; j++)
            lane[j] = sum[j];
        const float total = lane_sum(lane);
        if (total != 0.0f)
            share = 1.0f / total;
        const int64_t whole = d_v / W * W;
        for (int64_t j = 0; j < whole; j += W)
            v_store(y + j, v_load(o + j) * v_splat(share));
        for (int64_t j = whole; j < d_v; j++)
            y[j] = o[j] * share;
        y += ldy;
        sum += 16;
        o += ldo;
    }
}
