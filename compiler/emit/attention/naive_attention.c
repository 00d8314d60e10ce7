/* naive_attention.c: emits attention as the separate operations of the paper,
 * for use if fusion is off or an intermediate tensor was requested. Scores are
 * stored: each row of the batch has the scores of all heads, key by key. */
#include "emit/attention/attention.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/product/products.h"
#include "emit/gen/step.h"

/* True if the scores are for the keys of a cache as well as the new ones. */
static bool is_cached(const Node *scores)
{
    return scores->type.dim[2].sym == SymPT;
}

/* Returns C for the first key of the first page that row `i` and later rows
 * read. Earlier pages may have been freed: their weights are 0, but 0 times
 * their contents is not always 0. */
static const char *first_page_read(Gen *g, const Node *k)
{
    const int64_t window = k->op == OpAppend ? g->p->cache[k->cache].window : 0;
    if (window == 0)
        return "0";
    need_max(g);
    return arena_printf(g->a, "max(b->past[s] + i - row - %lld, 0) / 64 * 64",
                        (long long)window - 1);
}

static void begin_pages_loop(Gen *g, Emit *e, int operand, const Node *n)
{
    const Node *k = node_at(g->p, operand);
    const char *table = page_table(g, k);
    begin_tasks(g, e, n->type.dim[0].c,
                own_heads(g, n->type.dim[0].c, k->type.dim[0].c),
                row_sym(n->type));
    let(e, "scratch", "%lld", (long long)g->p->scratch);
    if (n->op == OpContext || is_widened(g, k))
        put(e, g->serial ? "float *const o = c->scratch;\n"
                         : "float *const o = c->scratch + part * $scratch;\n");
    begin_task_loop(g, e, 1);
    let(e, "count", "%s", count_text(g, k));
    put(e, "const int64_t keys = $count;\n");
    if (table) {
        let(e, "table", "%s", table);
        put(e, "const int32_t *page = $table;\n");
    }
    let(e, "mr", "%d", g->p->target.mr);
    let_page_id(g, e, k);
    put(e, "\n"
           "for (int64_t i = row; i < b->$start[s + 1]; i += $mr) {\n"
           "    const int64_t r = min(b->$start[s + 1] - i, $mr);\n"
           "\n");
}

/* Declares `k` or `v`, the page with number `id`. */
static void put_page_of(Gen *g, Emit *e, int operand, const Node *n)
{
    const Node *k = node_at(g->p, operand);
    const StoredPage at = {
        .page = page_at(g, operand, kv_head(g, n->type.dim[0].c, k), "id"),
        .keys = "min(keys - at, 64)",
        .wide = wide_text(g, "o")
    };
    put_stored_page(g, e, k, &at);
    put(e, "\n");
}

void emit_scores(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node), *k = node_at(g->p, n->in[1]);
    const int64_t d = k->type.dim[2].c;
    const Tiling tile = plan_tile(g->p);
    const char *panels = need_scores(g, n, &tile);
    begin_pages_loop(g, e, n->in[1], n);
    put(e, "for (int64_t at = 0; at < keys; at += 64) {\n"
           "    const int64_t id = $page_id;\n");
    put_page_of(g, e, n->in[1], n);
    put_call(e, panels,
             arena_printf(
                 g->a,
                 "r, %s, %lld, k, %lld, %lld, (min(keys - at, 64) + 15) / 16, "
                 "%s + at, %lld, %s",
                 head_at(g, n->in[0], "i"),
                 (long long)g->p->value[n->in[0]].stride,
                 (long long)(ATTN_PANEL * d), (long long)d,
                 head_at(g, node, "i"), (long long)g->p->value[node].stride,
                 has_score_vector(n) ? score_text(g, node) : "k"),
             ";");
    const char *s = arena_printf(g->a, "%s + at, %lld", head_at(g, node, "i"),
                                 (long long)g->p->value[node].stride);
    put_units(g, e, k, &(UnitRows){ s, s, "r, min(keys - at, 64)", "k_units" });
    put(e, "}\n"
           "}\n"
           "}\n");
}

void emit_context(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node), *v = node_at(g->p, n->in[1]);
    const int64_t d_v = n->type.dim[2].c;
    const Tiling tile = plan_tile(g->p);
    const char *panels_add = need_panels(g, &tile, true);
    use_kernel(g->kernels, "softmax_begin");
    use_kernel(g->kernels, "copy_rows");
    begin_pages_loop(g, e, n->in[1], n);
    let(e, "d_v", "%lld", (long long)d_v);
    let(e, "d_v16", "%lld", (long long)round16(d_v));
    let(e, "panels", "%lld", (long long)(round16(d_v) / ATTN_PANEL));
    let_scratch(e, 0, d_v);
    let(e, "first", "%s", first_page_read(g, node_at(g->p, n->in[1])));
    put(e,
        "float *const sum = o + $mr * $sums, *const maxima = o + $mr * $maxima;\n");
    if (units_offset(g, v) > 0)
        put(e, "float *const scaled = o + $mr * $end;\n");
    put(e, "\n"
           "softmax_begin(r, maxima, sum, o, $d_v16);\n"
           "for (int64_t at = $first; at < keys; at += 64) {\n"
           "    const int64_t id = $page_id;\n");
    put_page_of(g, e, n->in[1], n);
    const char *s = arena_printf(g->a, "%s + at, %lld",
                                 head_at(g, n->in[0], "i"),
                                 (long long)g->p->value[n->in[0]].stride);
    put_units(g, e, v,
              &(UnitRows){ "scaled, 64", s, "r, min(keys - at, 64)",
                           "v_units" });
    put_call(e, panels_add,
             arena_printf(
                 g->a, "r, %s, v, 1024, min(keys - at, 64), %lld, o, %lld, v",
                 units_offset(g, v) > 0 ? "scaled, 64" : s,
                 (long long)(round16(d_v) / ATTN_PANEL),
                 (long long)round16(d_v)),
             ";");
    put(e, "}\n");
    put_call(e, "copy_rows",
             arena_printf(g->a, "%s, %lld, o, %lld, r, %lld",
                          head_at(g, node, "i"),
                          (long long)g->p->value[node].stride,
                          (long long)round16(d_v), (long long)d_v),
             ";");
    put(e, "}\n"
           "}\n");
}

/* Emits code that sets scores to -inf for keys that a row may not see: before
 * its first key, after its last, or hidden by a mask from a file. */
void emit_mask(Gen *g, Emit *e, int node, const char *y, const char *x)
{
    const Node *n = node_at(g->p, node);
    const MaskSpec *m = n->mask;
    const char *p = is_cached(n) ? "(b->past[s] + i - row)" : "(i - row)";
    const char *from = mask_from(g, m, p);
    need_mask(g, m);
    use_kernel(g->kernels, "mask_row");
    put_call(e, "mask_row",
             arena_printf(g->a, "%s, %s, keys, %s", y, x,
                          mask_to(g, m, p, "keys", prefix_text(g, m))),
             ";");
    if (from)
        put_call(e, "mask_row",
                 arena_printf(g->a, "%s, %s, min(%s, keys), 0", y, y, from),
                 ";");
    if (!m->file)
        return;
    let(e, "seen", "%s(%s, j)", mask_name(g, m), p);
    let(e, "y", "%s", y);
    put(e, "for (int64_t j = 0; j < keys; j++)\n"
           "    if ($seen == 0)\n"
           "        mask_row($y + j, $y + j, 1, 0);\n");
}

void emit_score_bias(Gen *g, Emit *e, int node, const char *y, const char *x)
{
    const char *past = is_cached(node_at(g->p, node)) ? " - b->past[s]" : "";
    put_call(e, use_kernel(g->kernels, "add_rows"),
             arena_printf(g->a, "%s, 0, %s, 0, %s%s - (i - row), 0, 1, keys", y,
                          x, bias_text(g, node), past),
             ";");
}

void emit_weights(Gen *g, Emit *e, int node, const char *y, const char *x)
{
    const Node *n = node_at(g->p, node);
    const bool sinks = n->sinks;
    put_call(e,
             use_kernel(g->kernels,
                        arena_printf(g->a, "%s%s_row", op_info[n->op].name,
                                     sinks ? "_sink" : "")),
             arena_printf(g->a, "%s, %s, keys%s%s", y, x, sinks ? ", " : "",
                          sinks ? sink_text(g, node) : ""),
             ";");
}

static void put_score_row(Gen *g, Emit *e, int node, const OpCode *code)
{
    const Node *n = node_at(g->p, node);
    const char *y = head_at(g, node, "i"), *x = head_at(g, n->in[0], "i");
    if (code->score_row)
        code->score_row(g, e, node, y, x);
    else if (code->rows && n->nin == 1)
        put_call(e, use_kernel(g->kernels, code->rows),
                 arena_printf(g->a, "%s, 0, %s, 0, 1, keys%s", y, x,
                              last_number(g, n, code)),
                 ";");
    else
        die("%s does not work on scores", op_info[n->op].name);
}

/* Returns the number of key heads of stored scores. */
static int64_t key_heads(const Gen *g, const Node *n)
{
    while (n->op != OpScores)
        n = node_at(g->p, n->in[0]);
    return node_at(g->p, n->in[1])->type.dim[0].c;
}

void emit_score_rows(Gen *g, Emit *e, int node, const OpCode *code)
{
    const Node *n = node_at(g->p, node);
    const Sym keys = n->type.dim[2].sym;
    begin_tasks(g, e, n->type.dim[0].c,
                own_heads(g, n->type.dim[0].c, key_heads(g, n)),
                row_sym(n->type));
    begin_task_loop(g, e, 1);
    Node k = *n;
    k.op = keys == SymPT           ? OpAppend
         : n->entry == EntryDecode ? OpRecall
                                   : OpPackKv;
    k.type.dim[1] = n->type.dim[2];
    let(e, "count", "%s",
        keys == SymNone
            ? arena_printf(g->a, "%lld", (long long)n->type.dim[2].c)
            : count_text(g, &k));
    put(e, "const int64_t keys = $count;\n"
           "\n"
           "for (int64_t i = row; i < b->$start[s + 1]; i++) {\n");
    put_score_row(g, e, node, code);
    put(e, "}\n"
           "}\n");
}
