/* heads.c: emits attention for one row, as in a decode step, four heads at a
 * time. The sums of one row form a dependency chain: each of the d_k steps of a
 * product with sixteen keys waits for the step before, and every head would
 * wait for memory again. Four heads are four independent chains and four
 * streams of reads. Each sum equals the one that fused_attention.c computes for
 * a single head. */
#include "emit/attention/attention.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"

bool heads_together(const Gen *g, int node)
{
    const Node *n = node_at(g->p, node), *k = node_at(g->p, n->in[1]);
    const int64_t group = n->heads / k->type.dim[0].c;
    const MaskSpec *m = n->mask;
    const bool one = g->alone && plan_length(g->p, row_sym(n->type)) == 1;
    return (one || !g->undivided) && k->op != OpPackKv && g->p->target.width > 1
        && n->heads % HeadsAtOnce == 0
        && (HeadsAtOnce % group == 0 || group % HeadsAtOnce == 0)
        && tiling_of(g, TaskAttention, node)->queries >= HeadsAtOnce
        && !(m && (m->file || m->window || m->block)) && !n->bias && !n->sinks
        && is_dot_softmax(n);
}

static void heads_at_once_function(Gen *g)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "heads", "%d", HeadsAtOnce);
    let(e, "more", has_ranks(g) ? ", int64_t own, int64_t heads" : "");
    put(e,
        g->serial
            ? "/* Returns the heads of a task of attention: $heads if every sequence has one\n"
              " * row, and neighbours have different sources; else 1. */\n"
              "static int64_t heads_at_once(const struct attn_batch *b,\n"
              "                             const int32_t *source)\n"
              "{\n"
            : "/* Returns the heads of a task of attention: $heads if every sequence has one\n"
              " * row, neighbours have different sources, and the tasks divide evenly, or\n"
              " * nearly, among the parts; else 1. */\n"
              "static int64_t heads_at_once(const struct attn_batch *b,\n"
              "                             const int32_t *source, int64_t tasks,\n"
              "                             int64_t parts$more)\n"
              "{\n"
              "    if (tasks % ($heads * parts) != 0 && tasks < 8 * $heads * parts)\n"
              "        return 1;\n");
    if (has_ranks(g))
        put(e, "if ((own | heads) % $heads != 0)\n"
               "    return 1;\n");
    put(e, "for (int64_t s = 0; s < b->sequences; s++)\n"
           "    if (b->start[s + 1] - b->start[s] != 1\n"
           "        || (source && s > 0 && source[s] == source[s - 1]))\n"
           "        return 1;\n"
           "return $heads;\n"
           "}\n\n");
    emit_reset(e, mark);
}

const char *heads_at_once(Gen *g, bool apart)
{
    if (first_time(g, HelperHeadsAtOnce, "heads_at_once"))
        heads_at_once_function(g);
    return arena_printf(g->a, "heads_at_once(b, %s%s%s)",
                        apart ? "b->source" : "0",
                        g->serial ? "" : ", tasks, parts",
                        has_ranks(g) ? ", own, heads" : "");
}

/* Binds the addresses of the keys or values of each head. Heads of a group have
 * the same address. */
static void let_heads(Gen *g, const Attention *a, const char *hole,
                      const char *first)
{
    const int64_t group = a->n->heads / a->k->type.dim[0].c;
    const long long block = block_floats(g->p, a->k->cache);
    const char *list = first;
    for (int i = 1; i < HeadsAtOnce; i++)
        list = i < group ? arena_printf(g->a, "%s, %s", list, first)
                         : arena_printf(g->a, "%s, %s + %lld", list, first,
                                        (long long)(i / group) * block);
    let(g->shapes, hole, "%s", list);
}

/* Emits the products of each head's scores or weights and its units, which lie
 * behind `pages`, the addresses of the heads' keys or values. */
static void put_head_units(Gen *g, const Node *n, const char *pages)
{
    Emit *e = g->shapes;
    const long long at = units_offset(g, n);
    if (at == 0)
        return;
    put(e, "for (int64_t h = 0; h < $heads; h++) {\n");
    put_units(g, e, n,
              &(UnitRows){ "s + h * 64, 64", "s + h * 64, 64", "1, n",
                           arena_printf(g->a, "%s[h] + %lld", pages, at) });
    put(e, "}\n");
}

static void heads_function(Gen *g, const Attention *a, const char *name)
{
    Emit *e = g->shapes;
    let(e, "heads", "%d", HeadsAtOnce);
    let(e, "product", "%s", heads_product(g, a->k));
    let(e, "panel", "%lld", (long long)(ATTN_PANEL * a->k->type.dim[2].c));
    let_attention(e, a);
    let_heads(g, a, "k_of", "k");
    let_heads(g, a, "v_of", "v");
    put(e, "/* Attends to all keys for one row of $heads adjacent heads. */\n");
    put_call(e, arena_printf(g->a, "static void %s", name),
             "const float *q, const struct keys *m, float *y, float *scratch",
             "");
    put(e,
        "{\n"
        "    float *const s = scratch;\n"
        "    float *const o = scratch + $block * $outputs;\n"
        "    float *const sum = scratch + $block * $sums;\n"
        "    float *const maxima = scratch + $block * $maxima;\n"
        "\n"
        "    softmax_begin($heads, maxima, sum, o, $d_v16);\n"
        "    for (int64_t at = 0; at < m->count; at += 64) {\n"
        "        const int64_t n = min(m->count - at, 64);\n"
        "        const float *k = m->k + m->page[at / 64] * m->k_page;\n"
        "        const float *v = m->v + m->page[at / 64] * m->v_page;\n"
        "        const float *const keys[$heads] = { $k_of };\n"
        "        const float *const values[$heads] = { $v_of };\n"
        "\n"
        "        $product(q, $d_k, keys, $panel, $d_k, (n + 15) / 16, s, 64, 0);\n");
    put_head_units(g, a->k, "keys");
    put_score_ops(g, a, arena_printf(g->a, "s, 64, s, 64, %d, n", HeadsAtOnce),
                  "");
    put(e, "softmax_page(s, $heads, n, $scale, maxima, sum, o, $d_v16);\n");
    put_head_units(g, a->v, "values");
    put(e, "$product(s, 64, values, 1024, n, $panels, o, $d_v16, 1);\n"
           "}\n"
           "softmax_end(y, $d_v, $heads, $d_v, sum, o, $d_v16);\n"
           "}\n\n");
}

const char *need_heads(Gen *g, int node)
{
    const Attention a = attention_of(g, node);
    const int64_t group = a.n->heads / a.k->type.dim[0].c;
    const int mark = emit_mark(g->shapes);
    const char *by = group > 1
                       ? arena_printf(g->a, "_by_%lld", (long long)group)
                       : "";
    SharedKey key = attention_key(g, SharedHeads, node);
    bool made;
    key.size[2] = group;
    key.size[3] = block_floats(g->p, a.k->cache);
    const char *name = shared_name(g, &key,
                                   arena_printf(g->a, "%s_heads%s",
                                                attention_base(g, node), by),
                                   &made);
    if (made)
        return name;
    static const char *const kernel[] = { "softmax_begin", "softmax_page",
                                          "softmax_end" };
    need_keys(g);
    need_min(g);
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
        use_kernel(g->kernels, kernel[i]);
    heads_function(g, &a, name);
    emit_reset(g->shapes, mark);
    return name;
}
