/* emit_attention.c: attention over keys in pages of 64.
 *
 * One head at a time, mr query rows at a time, one page of keys at a time:
 * scores by the product kernel, online softmax (running maximum and sum, as in
 * FlashAttention), values by the product kernel again. The score matrix is
 * never stored whole. Keys that a row may not see are never multiplied into
 * it: the loop ends at the last allowed key, and on the causal diagonal each
 * row adds its own last keys.                                               */
#include "emit_parts.h"

#include <string.h>

static const Node *node_at(const Gen *g, int i)
{
    return &g->p->g->nodes.at[i];
}

static void need_struct_keys(Gen *g)
{
    if (first_time(g, "struct keys"))
        put(g->shapes,
            "struct keys {               /* keys and values of one head */\n"
            "    const float *k, *v;     /* in the first page */\n"
            "    int64_t k_page, v_page; /* floats from page to page */\n"
            "    const int32_t *page;    /* of a cache: its pages, in order */\n"
            "    int64_t count;          /* keys */\n"
            "    int64_t past;           /* keys before the first query's */\n"
            "    int64_t prefix;         /* keys that all queries see */\n"
            "    const float *bias;      /* of scores, by distance; at 0 */\n"
            "};\n\n");
}

/* What all rows of a tile see is one product; what some see beside it is added
 * row by row, so that each row adds its keys in order and no others.        */
static void need_values_seen(Gen *g)
{
    if (!first_time(g, "values_seen"))
        return;
    need_panels(g, true);
    need_least(g);
    need_most(g);
    put(g->shapes,
        "/* o += P V, where row i sees keys from[i] .. to[i] - 1 of the page */\n"
        "static void values_seen(int64_t rows, const float *p,\n"
        "                        const int64_t *from, const int64_t *to,\n"
        "                        const float *v, int64_t panels, float *o)\n"
        "{\n"
        "    int64_t first = 0, last = 64;   /* what all rows see */\n"
        "    int64_t n;\n"
        "\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        first = most(first, from[i]);\n"
        "        last = least(last, to[i]);\n"
        "    }\n"
        "    if (last < first)\n"
        "        last = first;\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        n = least(first, to[i]) - from[i];\n"
        "        if (n > 0)\n"
        "            panels_add(1, p + i * 64 + from[i], 64, v + from[i] * 16,\n"
        "                       1024, n, panels, o + i * panels * 16,\n"
        "                       panels * 16);\n"
        "    }\n"
        "    if (last > first)\n"
        "        panels_add(rows, p + first, 64, v + first * 16, 1024,\n"
        "                   last - first, panels, o, panels * 16);\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        n = to[i] - last;\n"
        "        if (n > 0)\n"
        "            panels_add(1, p + i * 64 + last, 64, v + last * 16, 1024,\n"
        "                       n, panels, o + i * panels * 16, panels * 16);\n"
        "    }\n"
        "}\n\n");
}

/* Scores of one page become what softmax takes: scaled, capped, biased. */
static void attention_scores(Gen *g, const Node *n)
{
    Emit *e = g->shapes;
    put(e, "\n"
           "panels(r, q + i * ldq, ldq, k, $k16, $d_k, (n + 15) / 16, s, 64);\n");
    if (n->cap > 0 || n->bias) {
        if (n->scale < 1 || n->scale > 1) {
            use_kernel(g->kernels, "scale_rows");
            put(e, "scale_rows(s, 64, s, 64, r, n, $scale);\n");
        }
        let(e, "scale", "%s", c_float(g->a, 1));
    }
    if (n->cap > 0) {
        use_kernel(g->kernels, "softcap_rows");
        let(e, "cap", "%s", c_float(g->a, n->cap));
        put(e, "softcap_rows(s, 64, s, 64, r, n, $cap);\n");
    }
    if (n->bias) {
        use_kernel(g->kernels, "score_bias_row");
        put(e, "score_bias_row(s, r, n, m->bias + at - p);\n");
    }
}

static void attention_chunk(Gen *g, const Node *n, bool paged)
{
    Emit *e = g->shapes;
    let(e, "page", paged ? "m->page[at / 64]" : "(at / 64)");
    put(e, "const int64_t n = least(last - at, 64);\n"
           "const float *k = m->k + $page * m->k_page;\n"
           "const float *v = m->v + $page * m->v_page;\n");
    attention_scores(g, n);
    put(e, "for (int64_t j = 0; j < r; j++) {\n");
    put_mask_interval(g, e, n->mask);
    put(e, "}\n");
    if (n->mask && n->mask->file)
        put_mask_holes(g, e, n->mask);
    put(e, "softmax_chunk(s, r, from, to, $scale, max, sum, o, $d_v16);\n");
    if (!n->mask)
        put(e, "panels_add(r, s, 64, v, 1024, n, $panels, o, $d_v16);\n");
    else if (n->mask->file)
        put_mask_values(g, e, n->mask);
    else
        put(e, "values_seen(r, s, from, to, v, $panels, o);\n");
}

static void attention_function(Gen *g, const char *name, const Node *n,
                               bool paged)
{
    Emit *e = g->shapes;
    put(e, "/* y = softmax(Q K^T) V: one head, `rows` queries of $d_k, values "
           "of $d_v */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name),
             "const float *q, int64_t ldq, int64_t rows, const struct keys *m, "
             "float *y, int64_t ldy, float *scratch", "");
    put(e, "{\n"
           "    float *const s = scratch, *const o = s + $mr * 64;\n"
           "    float *const sum = o + $mr * $d_v16;\n"
           "    float *const max = sum + $mr * 16;\n"
           "    int64_t from[$mr], to[$mr];     /* keys that each row sees */\n"
           "\n"
           "    for (int64_t i = 0; i < rows; i += $mr) {\n"
           "        const int64_t r = least(rows - i, $mr);\n");
    if (n->mask || n->bias)
        put(e, "const int64_t p = m->past + i;      /* position of row i */\n");
    let(e, "first", "%s", mask_first(g, n->mask));
    let(e, "last", "%s", mask_last(g, n->mask));
    put(e, "const int64_t last = $last;\n"
           "\n"
           "softmax_begin(r, max, sum, o, $d_v16);\n"
           "for (int64_t at = $first; at < last; at += 64) {\n");
    attention_chunk(g, n, paged);
    put(e, "}\n"
           "softmax_end(y + i * ldy, ldy, r, $d_v, sum, o, $d_v16);\n"
           "}\n"
           "}\n\n");
}

/* What tells one attention function from another, beside its shape. */
static const char *attention_suffix(Gen *g, const Node *n, bool paged)
{
    const bool scaled = n->scale < 1 || n->scale > 1;
    return arena_printf(g->a, "%s%s%s%s%s", mask_suffix(g, n->mask),
        paged ? "_paged" : "",
        n->bias ? "_biased" : "",
        n->cap > 0 ? arena_printf(g->a, "_cap%lld",
                                  (long long)(n->cap * 1000)) : "",
        scaled ? arena_printf(g->a, "_scale%lld",
                              (long long)(n->scale * 1e6)) : "");
}

const char *need_attention(Gen *g, const Node *n)
{
    const Node *k = node_at(g, n->in[1]), *v = node_at(g, n->in[2]);
    const int64_t d_k = k->type.dim[2].c, d_v = v->type.dim[2].c;
    const bool paged = k->op != OpPages;
    const char *name = arena_printf(g->a, "attention_%lldx%lld%s",
        (long long)d_k, (long long)d_v, attention_suffix(g, n, paged));
    if (!first_time(g, name))
        return name;
    need_struct_keys(g);
    need_least(g);
    need_panels(g, false);
    need_panels(g, true);
    need_mask(g, n->mask);
    if (n->mask && !n->mask->file)
        need_values_seen(g);
    use_kernel(g->kernels, "softmax_begin");
    use_kernel(g->kernels, "softmax_chunk");
    use_kernel(g->kernels, "softmax_end");
    const int mark = emit_mark(g->shapes);
    let(g->shapes, "mr", "%d", g->p->target.mr);
    let(g->shapes, "d_k", "%lld", (long long)d_k);
    let(g->shapes, "k16", "%lld", (long long)(16 * d_k));
    let(g->shapes, "d_v", "%lld", (long long)d_v);
    let(g->shapes, "d_v16", "%lld", (long long)round16(d_v));
    let(g->shapes, "panels", "%lld", (long long)(round16(d_v) / 16));
    let(g->shapes, "scale", "%s", c_float(g->a, n->scale));
    attention_function(g, name, n, paged);
    emit_reset(g->shapes, mark);
    return name;
}
