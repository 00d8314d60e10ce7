/* build_convolution.c: Table 1's convolutional layer. An encoder's row reads
 * neighbours on both sides, a decoder's row only earlier rows. A full
 * convolution is im2col and a product; with a single tap it is only the
 * product. */
#include "graph/build.h"

/* Returns a node for `op` with the kernel's taps, dilation and reach. */
static Node kernel(const Build *b, Op op, int x)
{
    const Spec *s = b->s;
    const int64_t reach = (s->mix_kernel - 1) * s->mix_dilation;
    const bool decoder = b->entry == EntryDecode;
    return (Node){ .op = op,
                   .in = { x },
                   .nin = 1,
                   .state = decoder ? reach * width_of(b, x) : 0,
                   .taps = s->mix_kernel,
                   .dilation = s->mix_dilation,
                   .first = decoder ? -reach : -reach / 2 };
}

int put_product_of_taps(Build *b, int x, int64_t taps, int64_t out, bool bias,
                        const char *word)
{
    const int y = put_linear(b, x, out, bias, word);
    const Node *n = &b->g->nodes.at[y];
    if (n->op == OpBias)
        n = &b->g->nodes.at[n->in[0]];
    b->g->nodes.at[n->in[1]].taps = taps > 1 ? taps : 0;
    return y;
}

static int depthwise(Build *b, int x, const char *word)
{
    Node n = kernel(b, OpDepthwise, x);
    const int64_t d = width_of(b, x);
    n.in[n.nin++] = put_weight(b, d, n.taps, word);
    if (b->s->bias_mix)
        n.in[n.nin++] = put_bias(b, d, word);
    return put_node(b, n, word);
}

/* Puts the rows of all taps side by side (im2col). One tap needs no node. */
static int side_by_side(Build *b, int x, const char *number)
{
    const Node n = kernel(b, OpTaps, x);
    return n.taps > 1 ? put_node(b, n, build_join(b, "taps", number)) : x;
}

/* Multiplies the first half of the columns by the sigmoid of the second. */
static int gate(Build *b, int x, const char *number)
{
    const Dim half = { .c = width_of(b, x) / 2 };
    Node n = { .op = OpSlice, .in = { x }, .nin = 1 };
    n.type = (Type){ ElemF32, 2, { [1] = half } };
    const int y = put_node(b, n, build_join(b, "open", number));
    n.first = half.c;
    int z = put_node(b, n, build_join(b, "closed", number));
    z = put_activation(b, z, ActSigmoid, build_join(b, "sigmoid", number));
    return put_binary(b, OpMul, z, y, build_join(b, "gated", number));
}

/* Adds a convolution with `out` result columns. */
static int convolution(Build *b, int x, int64_t out, const char *number)
{
    const Spec *s = b->s;
    const int64_t columns = s->mix_gated ? 2 * out : out;
    const char *word = build_join(b, "w", number);
    b->field = "mix.kernel";
    if (s->mix_depthwise) {
        x = depthwise(b, x, build_join(b, "depthwise", number));
        if (!s->mix_pointwise)
            return x;
        x = put_product_of_taps(b, x, 1, columns, s->bias_mix, word);
    } else {
        x = side_by_side(b, x, number);
        x = put_product_of_taps(b, x, s->mix_kernel, columns, s->bias_mix,
                                word);
    }
    return s->mix_gated ? gate(b, x, number) : x;
}

int build_convolution(Build *b, int x)
{
    const Spec *s = b->s;
    if (s->mix_inner < 1)
        return convolution(b, x, s->d_model, "1");
    x = convolution(b, x, s->mix_inner, "1");
    x = put_activation(b, x, s->activation, act_text[s->activation].plain);
    return convolution(b, x, s->d_model, "2");
}
