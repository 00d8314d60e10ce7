/* convert.c: converts elements of any type to floats, and floats to bf16. */
#include <math.h>
#include <string.h>

#include "weight_loops.h"

uint16_t bf16_of(float x)
{
    uint16_t nearest;
    loops_of(0)->bf16(&x, 1, &nearest);
    return nearest;
}

void flush_small(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] > -0x1p-55f && x[i] < 0x1p-55f ? 0.0f : x[i];
}

float bf16_float(uint16_t x)
{
    const uint32_t v = (uint32_t)x << 16;
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

void tensor_floats(const Tensor *t, int64_t first, int64_t n, float *out)
{
    loops()->floats(t->type, t->at, first, n, out);
}

int64_t tensor_not_finite(const Tensor *t)
{
    enum { Chunk = 2048 };
    const Loops *l = loops();
    float x[Chunk];
    int64_t count = 0;
    if (t->type == StI32 || t->type == StI64 || t->type == StOther)
        return 0;
    for (int64_t i = 0; i < t->elements; i += Chunk) {
        const int64_t n = t->elements - i < Chunk ? t->elements - i : Chunk;
        l->floats(t->type, t->at, i, n, x);
        count += l->not_finite(x, n);
    }
    return count;
}

Places tensor_places(const Tensor *t, bool wanted(float x))
{
    enum { Chunk = 2048 };
    Places p = { .first = -1 };
    float x[Chunk];
    for (int64_t i = 0; i < t->elements; i++) {
        if (i % Chunk == 0)
            tensor_floats(t, i,
                          t->elements - i < Chunk ? t->elements - i : Chunk, x);
        if (wanted(x[i % Chunk]))
            p.first = p.n++ ? p.first : i;
    }
    return p;
}

int tensor_block(const Tensor *t)
{
#define ELEMENTS(number, name, elements, bytes, floats)                       \
    [St##name] = elements,
    static const int block[StOther + 1] = { BLOCK_TYPES(ELEMENTS) };
    return block[t->type];
}
