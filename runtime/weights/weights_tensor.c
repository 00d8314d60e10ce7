/* weights_tensor.c: reads a tensor with the rounding of its packed format, for
 * the oracle. */
#include "integer_rows.h"

typedef struct {
    const PackItem *item;
    float *x;     /* [rows, k] floats, or NULL */
    int8_t *w;    /* [rows, k] integers, or NULL */
    float *scale; /* [rows] scales, or NULL */
} Tensors;

static void take_lines(void *to, const LaneRange *lanes, int64_t k,
                       const unsigned char *lines)
{
    const Tensors *t = to;
    const int64_t rest = t->item->k - k;
    const int64_t n = rest < ATTN_GROUP ? rest : ATTN_GROUP;
    int8_t w[ATTN_GROUP];
    for (int64_t lane = lanes->first_lane; lane < lanes->end; lane++) {
        const int64_t row = lanes->column + lane - lanes->first_lane;
        const int64_t at = row * t->item->k + k;
        lane_integers(t->item->dtype, lines, lane, w);
        for (int64_t i = 0; i < n && t->x; i++)
            t->x[at + i] = (float)w[i];
        for (int64_t i = 0; i < n && t->w; i++)
            t->w[at + i] = w[i];
    }
}

static void take_scales(void *to, const LaneRange *lanes, const float *scale,
                        const int32_t *total)
{
    const Tensors *t = to;
    (void)total;
    for (int64_t lane = lanes->first_lane; lane < lanes->end; lane++) {
        const int64_t row = lanes->column + lane - lanes->first_lane;
        for (int64_t i = 0; i < t->item->k && t->x; i++)
            t->x[row * t->item->k + i] *= scale[lane];
        if (t->scale)
            t->scale[row] = scale[lane];
    }
}

static void read_integers(Elements *e, Tensors *t)
{
    const Taker taker = { t, take_lines, take_scales };
    integers_make(e, 0, e->item->rows, &taker);
}

void weights_tensor(const PackItem *item, const Safetensors *file,
                    uint64_t seed, float *out)
{
    const int64_t n = item->rows * item->k;
    Elements e = elements_of(item, file, seed);
    Tensors t = { .item = item, .x = out };
    if (dtype_is_integer(item->dtype)) {
        read_integers(&e, &t);
        return;
    }
    elements_read(&e, 0, item->rows, 0, item->k, out, item->k);
    if (item->flushed)
        flush_small(out, n);
    for (int64_t i = 0; i < n && item->dtype == DtypeBf16; i++)
        out[i] = bf16_float(bf16_of(out[i]));
    for (int64_t i = 0; i < n && item->dtype == DtypeBf16x2; i++) {
        float rest;
        e.loops->bf16_rest(out + i, 1, &rest);
        if (item->flushed)
            flush_small(&rest, 1);
        out[i] = bf16_float(bf16_of(out[i])) + bf16_float(bf16_of(rest));
    }
}

void weights_integers(const PackItem *item, const Safetensors *file,
                      uint64_t seed, int8_t *w, float *scale)
{
    Elements e = elements_of(item, file, seed);
    Tensors t = { .item = item, .w = w, .scale = scale };
    read_integers(&e, &t);
}
