/* build_ffn.c: the feed-forward network: two products [paper, section 3.3], or
 * three if it is gated. */
#include "graph/build.h"

int build_dense(Build *b, int x, int64_t d_ff, const char *prefix)
{
    const Spec *s = b->s;
    int y = put_linear(b, x, d_ff, s->bias_ffn, build_join(b, prefix, "w1"));
    y = put_activation(b, y, s->activation,
                       build_join(b, prefix, act_text[s->activation].plain));
    if (s->gated) {
        int z = put_linear(b, x, d_ff, s->bias_ffn,
                           build_join(b, prefix, "w3"));
        const Activation other = act_text[s->activation].other;
        z = put_activation(b, z, other,
                           build_join(b, prefix, act_text[other].plain));
        y = put_binary(b, OpMul, y, z, build_join(b, prefix, "gated"));
    }
    return put_linear(b, y, s->d_model, s->bias_w2,
                      build_join(b, prefix, "w2"));
}
