/* build_latent.c: latent attention [DeepSeek-AI 2024]: queries, keys and values
 * are projected from narrow rows.
 *
 *     c = norm(kv_down x)         k = k c, v = v c
 *     each head's key:            its columns of k c, then those of k_rope x,
 *                                 rotated, which all heads share
 *     each head's query:          its columns of q c', then those of q_rope c',
 *                                 rotated; c' = norm(q_down x), or x itself
 *
 * The cache holds the full keys and values of every head, not c. */
#include "graph/build.h"

/* Adds a projection to narrow rows, and their norm, which may have a different
 * eps. */
static int narrow(Build *b, int x, int64_t columns, bool bias, const char *word)
{
    b->field = "attention.latent.kv_rank";
    x = put_linear(b, x, columns, bias, word);
    x = put_norm(b, x, build_join(b, word, "_norm"));
    if (b->s->latent_eps > 0)
        b->g->nodes.at[x].eps = b->s->latent_eps;
    return x;
}

static int project_latent(Build *b, int x, int64_t columns, bool bias,
                          const char *word)
{
    b->field = "attention.latent.kv_rank";
    return put_clipped(b, put_linear(b, x, columns, bias, word), word);
}

/* Projects x to the rotary columns of `heads` heads; returns -1 if there are
 * none. */
static int project_rope(Build *b, int x, int64_t heads, bool bias,
                        const char *word)
{
    const int64_t d = spec_shared_columns(b->s);
    return d > 0 ? project_latent(b, x, heads * d, bias, word) : -1;
}

/* Joins each head's own columns with its rotary columns. */
static int join_rope(Build *b, int own, int rope, int64_t heads, int part,
                     const char *word)
{
    if (rope < 0)
        return own;
    rope = put_turned(b, rope, heads, part, build_join(b, word, "_rope"));
    b->field = "attention.latent.rope_dims";
    return put_join(b, own, rope, b->side->h, heads,
                    build_join(b, word, ".joined"));
}

Heads build_latent(Build *b, int x)
{
    const Spec *s = b->s;
    const int64_t h = b->side->h;
    const int64_t own = h * (b->side->d_k - spec_shared_columns(s));
    const bool direct = s->latent_q == 0, bias_q = direct && s->bias_q;
    const int c_q = direct ? x : narrow(b, x, s->latent_q, s->bias_q, "q_down");
    const int c = narrow(b, x, s->latent_kv, s->bias_k, "kv_down");
    const int k_rope = project_rope(b, x, 1, s->bias_k, "k_rope");
    Heads y;
    y.q = project_latent(b, c_q, own, bias_q, "q");
    const int q_rope = project_rope(b, c_q, h, bias_q, "q_rope");
    /* no bias: it would add the same number to all scores of a query */
    y.k = project_latent(b, c, own, false, "k");
    y.v = project_latent(b, c, h * b->side->d_v, s->bias_v, "v");
    y.q = join_rope(b, y.q, q_rope, h, PartQuery, "q");
    y.k = join_rope(b, y.k, k_rope, 1, PartKey, "k");
    return y;
}
