/* emit_attention.c: attention over keys in pages of 64.
 *
 * One head at a time, a block of query rows at a time, one page of keys at a
 * time: scores by the product kernel, online softmax (running maximum and sum,
 * as in FlashAttention), values by the product kernel again. The score matrix
 * is never stored whole. Keys that a row may not see are never multiplied into
 * it: the loop ends at the last allowed key, pages at the mask's edge go tile
 * by tile, and there each row adds its own last keys.                       */
#include "emit_parts.h"

#include <string.h>

#define Log2E 0x1.71547652b82fep+0 /* softmax takes powers of 2 */

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
        "                       panels * 16, v);\n"
        "    }\n"
        "    if (last > first)\n"
        "        panels_add(rows, p + first, 64, v + first * 16, 1024,\n"
        "                   last - first, panels, o, panels * 16, v);\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        n = to[i] - last;\n"
        "        if (n > 0)\n"
        "            panels_add(1, p + i * 64 + last, 64, v + last * 16, 1024,\n"
        "                       n, panels, o + i * panels * 16, panels * 16,\n"
        "                       v);\n"
        "    }\n"
        "}\n\n");
}

/* Scores of one page become what softmax takes: capped, biased, times $scale.
 * `first` + `keys` of its keys are wanted, from a whole panel on.           */
static void attention_scores(Gen *g, const Node *n, const char *q,
                             const char *first, const char *keys)
{
    Emit *e = g->shapes;
    const char *plus = *first ? arena_printf(g->a, " + %s", first) : "";
    const char *s = arena_printf(g->a, "s%s", plus);
    const char *rows = arena_printf(g->a, "%s, 64, %s, 64, r, %s", s, s, keys);
    const long long d_k = node_at(g, n->in[1])->type.dim[2].c;
    double scale = n->scale;
    put_call(g, e, "panels", arena_printf(g->a,
             "r, %s, ldq, k%s, %lld, %lld, (%s + 15) / 16, %s, 64, v", q,
             *first ? arena_printf(g->a, "%s * %lld", plus, d_k) : "",
             16 * d_k, d_k, keys, s), ";");
    if (n->cap > 0 || n->bias) {
        if (scale < 1 || scale > 1)
            put_call(g, e, use_kernel(g->kernels, "scale_rows"), arena_printf(
                     g->a, "%s, %s", rows, c_float(g->a, scale)), ";");
        scale = 1;
    }
    if (n->cap > 0)
        put_call(g, e, use_kernel(g->kernels, "softcap_rows"), arena_printf(
                 g->a, "%s, %s", rows, c_float(g->a, n->cap)), ";");
    if (n->bias)
        put_call(g, e, use_kernel(g->kernels, "score_bias_row"), arena_printf(
                 g->a, "%s, r, %s, m->bias + at%s - p", s, keys, plus), ";");
    let(e, "scale", "%s", c_float(g->a, scale * Log2E));
}

/* Keys k and values v of the page at `at`. */
static void put_page(Emit *e, bool paged)
{
    let(e, "page", paged ? "m->page[at / 64]" : "(at / 64)");
    put(e, "const float *k = m->k + $page * m->k_page;\n"
           "const float *v = m->v + $page * m->v_page;\n");
}

/* A page of which a tile of rows does not see all. */
static void edge_function(Gen *g, const char *name, const Node *n, bool paged)
{
    Emit *e = g->shapes;
    put(e, "/* The page at `at` for r queries from position p, which do not\n"
           " * all see all of its n keys. */\n");
    put_call(g, e, arena_printf(g->a, "static void %s_edge", name),
             "const float *q, int64_t ldq, int64_t r, int64_t p, int64_t at, "
             "int64_t n, const struct keys *m, float *s, float *max, "
             "float *sum, float *o", "");
    put(e, "{\n"
           "    int64_t from[$mr], to[$mr];     /* keys that each row sees */\n"
           "    int64_t first = n, end = 0;     /* that any of them sees */\n");
    put_page(e, paged);
    put(e, "\n"
           "for (int64_t j = 0; j < r; j++) {\n");
    put_mask_interval(g, e, n->mask);
    put(e, "if (from[j] < to[j]) {\n"
           "    first = least(first, from[j]);\n"
           "    end = most(end, to[j]);\n"
           "}\n"
           "}\n"
           "if (first >= end)\n"
           "    return;\n"
           "first -= first % 16;\n");
    attention_scores(g, n, "q", "first", "end - first");
    if (n->mask->file)
        put_mask_holes(g, e, n->mask);
    put(e, "softmax_chunk(s, r, from, to, $scale, max, sum, o, $d_v16);\n");
    if (n->mask->file)
        put_mask_values(g, e, n->mask);
    else
        put(e, "values_seen(r, s, from, to, v, $panels, o);\n");
    put(e, "}\n\n");
}

/* At the mask's edge: the block's rows tile by tile. */
static void attention_edge(Gen *g, const char *name, const Node *v)
{
    Emit *e = g->shapes;
    put(e, "for (int64_t j = 0; j < r; j += $mr) {\n");
    put_call(g, e, arena_printf(g->a, "%s_edge", name), arena_printf(g->a,
             "q + (i + j) * ldq, ldq, least(r - j, %d), p + j, at, n, m, s, "
             "max + j, sum + j * 16, o + j * %lld", g->p->target.mr,
             (long long)round16(v->type.dim[2].c)), ";");
    put(e, "}\n");
}

/* One page for a block of rows. */
static void attention_page(Gen *g, const char *name, const Node *n, bool paged)
{
    Emit *e = g->shapes;
    put(e, "const int64_t n = least(last - at, 64);\n");
    if (n->mask && n->mask->file) {      /* any row may have holes */
        put(e, "\n");
        attention_edge(g, name, node_at(g, n->in[2]));
        return;
    }
    if (n->mask) {
        let(e, "edge", "%s", mask_edge(g, n->mask));
        put(e, "\n"
               "if ($edge) {\n");
        attention_edge(g, name, node_at(g, n->in[2]));
        put(e, "continue;\n"
               "}\n");
    }
    put_page(e, paged);
    let(e, "page", paged ? "m->page[at / 64 + 1]" : "(at / 64 + 1)");
    put(e, "const float *next = k;\n"
           "\n"
           "if (at + 64 < last)\n"
           "    next = m->k + $page * m->k_page;\n");
    attention_scores(g, n, "q + i * ldq", "", "n");
    put(e, "softmax_page(s, r, n, $scale, max, sum, o, $d_v16);\n"
           "panels_add(r, s, 64, v, 1024, n, $panels, o, $d_v16, next);\n");
}

/* Blocks of query rows, each with all the pages that it sees: a page comes
 * from the cache once for all rows of a block.                              */
static void attention_function(Gen *g, const char *name, const Node *n,
                               bool paged)
{
    Emit *e = g->shapes;
    if (n->mask)
        edge_function(g, name, n, paged);
    put(e, "/* y = softmax(Q K^T) V: one head, `rows` queries of $d_k, values "
           "of $d_v */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name),
             "const float *q, int64_t ldq, int64_t rows, const struct keys *m, "
             "float *y, int64_t ldy, float *scratch", "");
    put(e, "{\n"
           "    float *const s = scratch, *const o = s + $block * 64;\n"
           "    float *const sum = o + $block * $d_v16;\n"
           "    float *const max = sum + $block * 16;\n"
           "\n"
           "    for (int64_t i = 0; i < rows; i += $block) {\n"
           "        const int64_t r = least(rows - i, $block);\n");
    if (n->mask || n->bias)
        put(e, "const int64_t p = m->past + i;      /* position of row i */\n");
    let(e, "first", "%s", mask_first(g, n->mask));
    let(e, "last", "%s", mask_last(g, n->mask));
    put(e, "const int64_t last = $last;\n"
           "\n"
           "softmax_begin(r, max, sum, o, $d_v16);\n"
           "for (int64_t at = $first; at < last; at += 64) {\n");
    attention_page(g, name, n, paged);
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
    if (n->mask)
        use_kernel(g->kernels, "softmax_chunk");
    if (n->mask && !n->mask->file)
        need_values_seen(g);
    use_kernel(g->kernels, "softmax_begin");
    if (!n->mask || !n->mask->file)
        use_kernel(g->kernels, "softmax_page");
    use_kernel(g->kernels, "softmax_end");
    const int mark = emit_mark(g->shapes);
    let(g->shapes, "mr", "%d", g->p->target.mr);
    let(g->shapes, "block", "%lld", (long long)query_block(g->p));
    let(g->shapes, "d_k", "%lld", (long long)d_k);
    let(g->shapes, "d_v", "%lld", (long long)d_v);
    let(g->shapes, "d_v16", "%lld", (long long)round16(d_v));
    let(g->shapes, "panels", "%lld", (long long)(round16(d_v) / 16));
    attention_function(g, name, n, paged);
    emit_reset(g->shapes, mark);
    return name;
}
