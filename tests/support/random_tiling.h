/* random_tiling.h: small models whose sizes do not divide into tiles, and
 * random tilings by number; the same seed gives the same tiling. Included after
 * cmocka's headers. */
#ifndef RANDOM_TILING_H
#define RANDOM_TILING_H

#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

#include <stdlib.h>

/* The models have sums of three blocks of k and a partial one; 1 to 10 panels;
 * attention over five pages and at the edges of masks; residuals in place. */
static const char *const tiled_specs[] = {
    "attnc: 1\nname: tiled\nkind: encoder-decoder\nd_model: 20\nh: 2\nd_k: 7\n"
    "d_v: 9\nd_ff: 150\nN: {encoder: 1, decoder: 2}\nmax_len: 300\n"
    "vocab: {size: 77, shared: true, tokens: {start: 1, end: 2}}\n"
    "activation: gelu\n",
    "attnc: 1\nname: tiled\nkind: decoder\nd_model: 36\nh: 4\nh_kv: 2\n"
    "d_ff: 210\ndtype: bf16\nN: 2\nmax_len: 300\n"
    "vocab: {size: 50, tokens: {start: 1, end: 2}}\n"
    "norm: {type: rms, place: pre}\nactivation: silu\n"
    "masking: [causal, {window: 90}]\npositions: alibi\n",
    "attnc: 1\nname: tiled\nkind: attention\nd_model: 24\nh: 3\nd_k: 5\n"
    "max_len: 300\nattention: {softcap: 20}\n",
    "attnc: 1\nname: tiled\nkind: decoder\nd_model: 136\nh: 2\nd_ff: 272\n"
    "N: 1\nmax_len: 300\nvocab: {size: 33, tokens: {start: 1, end: 2}}\n"
    "norm: {type: layer, place: pre}\n"
    "masking: [causal, prefix]\nactivation: relu\n",
    "attnc: 1\nname: tiled\nkind: decoder\nd_model: 138\nh: 2\nd_ff: 275\n"
    "dtype: bf16\narithmetic: bf16_dp\n"
    "N: 1\nmax_len: 300\nvocab: {size: 33, tokens: {start: 1, end: 2}}\n"
    "norm: {type: layer, place: pre}\nactivation: relu\n",
    "attnc: 1\nname: tiled\nkind: encoder\nd_model: 138\nh: 2\nd_ff: 275\n"
    "arithmetic: bf16x3\nN: 1\nmax_len: 300\nvocab: {size: 33}\n"
    "activation: gelu\n",
};
enum { TiledSpecs = sizeof tiled_specs / sizeof *tiled_specs };

static inline bool is_full(void)
{
    return getenv("ATTNC_FULL") != NULL;
}

static inline int32_t random_below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((int64_t)(*state >> 33) % n);
}

/* Returns a value of the parameter, often a low one, or none. */
static inline int32_t random_value(uint64_t *state, const TilingParameter *k)
{
    const int64_t values = (k->most - k->least) / k->step + 1;
    const int64_t few = values < 16 ? values : 16;
    if (random_below(state, 5) == 0)
        return 0;
    return k->least
         + k->step * random_below(state, random_below(state, 4) ? few : values);
}

static inline Tiling random_tiling(uint64_t *state, TaskKind kind)
{
    Tiling t = { 0 };
    for (int i = 0; i < TilingParameters; i++)
        if (tiling_parameters[i].tasks & On(kind))
            tiling_set(&t, i, random_value(state, &tiling_parameters[i]));
    if (kind == TaskMatmul && random_below(state, 2))
        t.k = 64 + 64 * random_below(state, 2);
    if (kind == TaskSplit && random_below(state, 2))
        t.work = 1;
    assert_true(tiling_valid(&t, kind));
    return t;
}

#endif
