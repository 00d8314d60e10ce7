/* weights.c: packs tensors into the layouts that the kernels read (rt.h).
 *
 * A tensor's elements come row-major from the file, from the seed or from the
 * formula of the positions, a chunk at a time; each row has one place to start
 * and one step in its block. A tensor of the file may hold several of ours, or
 * ours turned (FileTensor).                                                */
#include <math.h>

#include "rt.h"
#include "seed.h"

enum { Chunk = 512 };

static int64_t round_up(int64_t n)
{
    return (n + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

/* Index in the file's shared axis of ours. */
static int64_t place(const FileTensor *f, int64_t i)
{
    return i / f->take * f->stride + f->first + i % f->take;
}

/* As elements(), from a file's tensor that is not ours as it stands: a run of
 * elements that are one after another there at a time.                      */
static void shared_elements(const PackItem *item, const Tensor *t,
                            int64_t first, int64_t n, float *out)
{
    const FileTensor *f = &item->from;
    const bool rows = f->groups && !f->by_columns;
    const bool columns = f->groups && f->by_columns;
    const int64_t height = rows ? f->total : item->rows;
    const int64_t width = columns ? f->total : item->k;
    for (int64_t run; n > 0; n -= run, first += run, out += run) {
        int64_t r = first / item->k, c = first % item->k;
        run = columns ? f->take - c % f->take : item->k - c;
        run = f->transposed ? 1 : run < n ? run : n;
        r = rows ? place(f, r) : r;
        c = columns ? place(f, c) : c;
        tensor_floats(t, f->transposed ? c * height + r : r * width + c, run,
                      out);
    }
}

static void file_elements(const PackItem *item, const Tensor *t, int64_t first,
                          int64_t n, float *out)
{
    const FileTensor *f = &item->from;
    if (f->groups || f->transposed)
        shared_elements(item, t, first, n, out);
    else
        tensor_floats(t, first, n, out);
    for (int64_t i = 0; i < n && f->changed; i++)
        out[i] = fmaf(out[i], f->scale, f->add);
}

/* Elements first .. first + n - 1 of the tensor, row-major, without the factor
 * that a pass folded into it.                                               */
static void elements(const PackItem *item, const Tensor *t, uint64_t seed,
                     int64_t first, int64_t n, float *out)
{
    if (item->table)
        for (int64_t i = first; i < first + n; i++)
            *out++ = table_element(item, i / item->k, i % item->k);
    else if (!item->from.name)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)item->from.fill;
    else if (t)
        file_elements(item, t, first, n, out);
    else
        seeded_floats(item, seed, first, n, out);
}

static const Tensor *tensor_of(const PackItem *item, const Safetensors *file)
{
    if (!file || item->table || !item->from.name)
        return NULL;
    return safetensors_find(file, item->from.name);
}

/* Where row `row` of the item starts in its block, in numbers. */
static int64_t row_start(const PackItem *item, int64_t row)
{
    int64_t at = item->first + row;
    switch (item->layout) {
    case PackPanels:
        return at / ATTN_PANEL * ATTN_PANEL * item->k + at % ATTN_PANEL;
    case PackVector: return at;
    default:         return at * round_up(item->k);
    }
}

/* Numbers to a block: the first to index `to`, each `step` further. */
static void put_numbers(const PackItem *item, const float *x, int64_t n,
                        void *block, int64_t to, int64_t step)
{
    float *f32 = block;
    uint16_t *bf16 = block;
    for (int64_t i = 0; i < n; i++, to += step)
        if (item->bf16)
            bf16[to] = bf16_of(x[i]);
        else
            f32[to] = x[i];
}

static void pack_item(const PackItem *item, const Safetensors *file,
                      uint64_t seed, void *packed)
{
    char *block = (char *)packed + item->at;
    int64_t step = item->layout == PackPanels ? ATTN_PANEL : 1;
    const Tensor *t = tensor_of(item, file);
    float chunk[Chunk];
    for (int64_t row = 0; row < item->rows; row++) {
        int64_t to = row_start(item, row);
        for (int64_t k = 0; k < item->k; k += Chunk) {
            int64_t n = item->k - k < Chunk ? item->k - k : Chunk;
            elements(item, t, seed, row * item->k + k, n, chunk);
            for (int64_t i = 0; i < n && item->scaled; i++)
                chunk[i] *= item->scale;
            put_numbers(item, chunk, n, block, to, step);
            to += n * step;
        }
    }
}

/* Biases by bucket become biases by distance, a row for each head. */
static void pack_distances(const PackItem *item, const Safetensors *file,
                           uint64_t seed, void *packed)
{
    float *block = (float *)((char *)packed + item->at);
    const int64_t most = item->length - 1;
    const Tensor *t = tensor_of(item, file);
    for (int64_t head = 0; head < item->k; head++) {
        float *row = block + head * round_up(2 * most + 1);
        for (int64_t d = -most; d <= most; d++) {
            int64_t bucket = relative_bucket(d, item->rows, item->max_distance,
                                             item->bidirectional);
            elements(item, t, seed, bucket * item->k + head, 1, row + d + most);
        }
    }
}

void weights_pack(const PackList *p, const Safetensors *file, uint64_t seed,
                  void *packed)
{
    for (int64_t i = 0; i < p->count; i++)
        if (p->item[i].layout == PackDistance)
            pack_distances(&p->item[i], file, seed, packed);
        else
            pack_item(&p->item[i], file, seed, packed);
}

void weights_tensor(const PackItem *item, const Safetensors *file,
                    uint64_t seed, float *out)
{
    const int64_t n = item->rows * item->k;
    elements(item, tensor_of(item, file), seed, 0, n, out);
    for (int64_t i = 0; i < n && item->bf16; i++)
        out[i] = bf16_float(bf16_of(out[i]));
}
