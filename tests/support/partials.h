/* partials.h: maps the tensors published with gpt-nano-sort, for some
 * sequences, to nodes. Tensors by heads have the same order here:
 * [head][row][column]. */
#ifndef ATTNC_PARTIALS_H
#define ATTNC_PARTIALS_H

typedef struct {
    const char *tensor, *node;
} Partial;

static const Partial partials[] = {
    { "x", "target.input" },
    { "ln1", "decoder.0.norm1" },
    { "q", "decoder.0.self_attn.q.heads" },
    { "k", "decoder.0.self_attn.k.heads" },
    { "v", "decoder.0.self_attn.v.heads" },
    { "attSm", "decoder.0.self_attn.weights" },
    { "y", "decoder.0.self_attn.concat" },
    { "yProj", "decoder.0.self_attn.o" },
    { "attnResid", "decoder.0.self_attn.residual" },
    { "ln2", "decoder.0.norm2" },
    { "fc", "decoder.0.ffn.w1" },
    { "gelu", "decoder.0.ffn.gelu_tanh" },
    { "mlp", "decoder.0.ffn.w2" },
    { "block0", "decoder.0.ffn.residual" },
    { "block1", "decoder.1.ffn.residual" },
    { "block2", "decoder.2.ffn.residual" },
    { "ln_f", "decoder.norm" },
    { "lm_head", "logits" },
};
enum {
    Partials = sizeof partials / sizeof *partials,
    SortLogits = Partials - 1,
    SortRuns = 3,
    SortRows = 11
};

#endif
