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
            "};\n\n");
}

/* Rows of a causal tile see one key more each: what all see is one product,
 * the rest is added row by row.                                             */
static void need_causal_values(Gen *g)
{
    if (!first_time(g, "values_causal"))
        return;
    need_panels(g, true);
    put(g->shapes,
        "/* o += P V, where row i sees the first `seen` + i keys of the page */\n"
        "static void values_causal(int64_t rows, const float *p, int64_t seen,\n"
        "                          const float *v, int64_t panels, float *o)\n"
        "{\n"
        "    int64_t all = least(seen, 64);\n"
        "\n"
        "    if (all > 0)\n"
        "        panels_add(rows, p, 64, v, 1024, all, panels, o, panels * 16);\n"
        "    else\n"
        "        all = 0;\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        const int64_t more = least(seen + i, 64) - all;\n"
        "\n"
        "        if (more > 0)\n"
        "            panels_add(1, p + i * 64 + all, 64, v + all * 16, 1024,\n"
        "                       more, panels, o + i * panels * 16,\n"
        "                       panels * 16);\n"
        "    }\n"
        "}\n\n");
}

static void attention_chunk(Gen *g, bool causal, bool paged)
{
    Emit *e = g->shapes;
    let(e, "page", paged ? "m->page[at / 64]" : "(at / 64)");
    put(e, "const int64_t n = least(last - at, 64);\n"
           "const float *k = m->k + $page * m->k_page;\n"
           "const float *v = m->v + $page * m->v_page;\n");
    if (causal)
        put(e, "const int64_t seen = m->past + i + 1 - at;\n");
    put(e, "\n"
           "panels(r, q + i * ldq, ldq, k, $k16, $d_k, (n + 15) / 16, s, 64);\n");
    put(e, "for (int64_t j = 0; j < r; j++) {\n"
           "    from[j] = 0;\n");
    put(e, causal ? "to[j] = least(seen + j, 64);\n" : "to[j] = n;\n");
    put(e, "}\n"
           "softmax_chunk(s, r, from, to, $scale, max, sum, o, $d_v16);\n");
    put(e, causal
           ? "values_causal(r, s, seen, v, $panels, o);\n"
           : "panels_add(r, s, 64, v, 1024, n, $panels, o, $d_v16);\n");
}

static void attention_function(Gen *g, const char *name, bool causal,
                               bool paged)
{
    Emit *e = g->shapes;
    put(e, "/* y = softmax(Q K^T) V: one head, `rows` queries of $d_k, values of $d_v */\n");
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
    put(e, causal ? "const int64_t last = m->past + i + r;\n"
                  : "const int64_t last = m->count;\n");
    put(e, "\n"
           "softmax_begin(r, max, sum, o, $d_v16);\n"
           "for (int64_t at = 0; at < last; at += 64) {\n");
    attention_chunk(g, causal, paged);
    put(e, "}\n"
           "softmax_end(y + i * ldy, ldy, r, $d_v, sum, o, $d_v16);\n"
           "}\n"
           "}\n\n");
}

const char *need_attention(Gen *g, const Node *n)
{
    const Node *k = node_at(g, n->in[1]), *v = node_at(g, n->in[2]);
    const int64_t d_k = k->type.dim[2].c, d_v = v->type.dim[2].c;
    const bool causal = n->mask && n->mask->causal, paged = k->op != OpPages;
    const bool scaled = n->scale < 1 || n->scale > 1;
    const char *name = arena_printf(g->a, "attention_%lldx%lld%s%s%s",
        (long long)d_k, (long long)d_v, causal ? "_causal" : "",
        paged ? "_paged" : "", scaled ? "_scaled" : "");
    if (!first_time(g, name))
        return name;
    need_struct_keys(g);
    need_least(g);
    need_panels(g, false);
    need_panels(g, true);
    if (causal)
        need_causal_values(g);
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
    attention_function(g, name, causal, paged);
    emit_reset(g->shapes, mark);
    return name;
}

/* ---- where keys are ---- */

/* Number of keys that the rows of sequence s see, in emitted C. */
const char *count_text(Gen *g, const Node *k)
{
    const char *start = starts_of(k->type.dim[1].sym);
    if (k->op == OpRecall)
        return "b->source_rows[b->source[s]]";
    if (k->op == OpAppend && k->cache == CacheSelf)
        return "b->past[s] + b->start[s + 1] - b->start[s]";
    return arena_printf(g->a, "b->%s[s + 1] - b->%s[s]", start, start);
}

/* Index of a sequence's first page in the arena: rows/64 + sequences pages
 * hold any batch (plan_arena.c).                                            */
static const char *first_page(Gen *g, const Node *n)
{
    return arena_printf(g->a, "b->%s[s] / 64 + s",
                        starts_of(n->type.dim[1].sym));
}

/* Where page 0 of the pool begins for `head`, of a key or value operand. */
static const char *pages_at(Gen *g, int node)
{
    const Node *n = node_at(g, node);
    const Plan *p = g->p;
    const int64_t d = n->type.dim[2].c;
    if (n->op == OpPages)
        return arena_printf(g->a, "c->%s + head * %lld", p->value[node].name,
            (long long)(64 * (n->part == PartKey ? d : round16(d))));
    Node first = *n;
    first.layer = 0;
    const int64_t block = block_floats(p, n->cache);
    const int64_t part = cache_offset(p, &first);
    const char *layer = p->blocks[n->cache] > n->type.dim[0].c
        ? arena_printf(g->a, " + layer * %lld",
                       (long long)(n->type.dim[0].c * block)) : "";
    return arena_printf(g->a, "b->pool[%d]%s + head * %lld%s", n->cache, layer,
        (long long)block, part ? arena_printf(g->a, " + %lld",
                                              (long long)part) : "");
}

static int64_t page_stride(Gen *g, int node)
{
    const Node *n = node_at(g, node);
    const int64_t d = n->type.dim[2].c;
    if (n->op != OpPages)
        return g->p->page_floats[n->cache];
    return n->type.dim[0].c * 64 * (n->part == PartKey ? d : round16(d));
}

const char *page_table(Gen *g, const Node *n)
{
    if (n->op == OpPages)
        return NULL;
    return arena_printf(g->a, "b->pages[%d] + %s * b->table[%d]", n->cache,
                        n->op == OpRecall ? "b->source[s]" : "s", n->cache);
}

/* The page of key number `at`: `id`, counted from the pool's first. */
void let_page_id(Gen *g, Emit *e, const Node *n)
{
    if (n->op == OpPages)
        let(e, "page_id", "%s + at / 64", first_page(g, n));
    else
        let(e, "page_id", "page[at / 64]");
}

/* ---- regions: a task is one head of one sequence ---- */

void begin_tasks(Gen *g, Emit *e, int64_t heads, Sym rows)
{
    need_least(g);
    let(e, "heads", "%lld", (long long)heads);
    let(e, "start", "%s", starts_of(rows));
    put(e, "const struct attn_batch *b = c->b;\n"
           "const int64_t tasks = b->sequences * $heads;\n"
           "const int64_t last = tasks * (part + 1) / parts;\n");
}

void begin_task_loop(Emit *e)
{
    put(e, "\n"
           "for (int64_t task = tasks * part / parts; task < last; task++) {\n"
           "    const int64_t s = task / $heads, head = task % $heads;\n"
           "    const int64_t row = b->$start[s];\n");
}

const char *head_at(Gen *g, int node, const char *row)
{
    return arena_printf(g->a, "%s + head * %lld", value_at(g, node, row),
                        (long long)g->p->value[node].head_stride);
}

/* Attention of `rows` query rows from `row`, by the function `name`. */
static void call_attention(Gen *g, Emit *e, int node, const char *name,
                           const char *row, const char *rows)
{
    const Node *n = node_at(g, node);
    const Value *y = &g->p->value[node], *q = &g->p->value[n->in[0]];
    const int64_t d_v = node_at(g, n->in[2])->type.dim[2].c;
    put_call(g, e, name, arena_printf(g->a,
             "%s, %lld, %s, &m, %s + head * %lld, %lld, scratch",
             head_at(g, n->in[0], row), (long long)q->stride, rows,
             value_at(g, node, row), (long long)d_v, (long long)y->stride),
             ";");
}

/* Causal attention to keys that are not the queries' own rows, and may be
 * fewer: the queries after the last key see all keys.                       */
static void call_causal_beside(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g, node);
    Node all = *n;
    all.mask = NULL;
    put(e, "const int64_t some = least(b->start[s + 1] - row, m.count);\n");
    call_attention(g, e, node, need_attention(g, n), "row", "some");
    call_attention(g, e, node, need_attention(g, &all), "(row + some)",
                   "b->start[s + 1] - row - some");
}

void emit_attention_region(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g, node), *k = node_at(g, n->in[1]);
    const char *name = need_attention(g, n), *table = page_table(g, k);
    begin_tasks(g, e, n->heads, row_sym(n->type));
    let(e, "scratch", "%lld", (long long)g->p->scratch);
    put(e, "float *const scratch = c->scratch + part * $scratch;\n");
    begin_task_loop(e);
    const long long k_page = page_stride(g, n->in[1]);
    const long long v_page = page_stride(g, n->in[2]);
    let(e, "k_page", "%lld", k_page);
    let(e, "v_page", "%lld", v_page);
    let(e, "k", "%s", pages_at(g, n->in[1]));
    let(e, "v", "%s", pages_at(g, n->in[2]));
    if (!table) {
        let(e, "first", "%s", first_page(g, k));
        put(e, "const int64_t first = $first;\n");
        let(e, "k", "%s + first * %lld", pages_at(g, n->in[1]), k_page);
        let(e, "v", "%s + first * %lld", pages_at(g, n->in[2]), v_page);
    }
    let(e, "table", "%s", table ? table : "0");
    let(e, "count", "%s", count_text(g, k));
    let(e, "past", "%s", k->op == OpAppend ? "b->past[s]" : "0");
    put(e, "struct keys m;\n"
           "\n"
           "m.k = $k;\n"
           "m.v = $v;\n"
           "m.k_page = $k_page;\n"
           "m.v_page = $v_page;\n"
           "m.page = $table;\n"
           "m.count = $count;\n"
           "m.past = $past;\n");
    if (n->mask && n->mask->causal && row_sym(k->type) == SymM)
        call_causal_beside(g, e, node);
    else
        call_attention(g, e, node, name, "row", arena_printf(g->a,
                       "b->%s[s + 1] - row", starts_of(row_sym(n->type))));
    put(e, "}\n");
}

void let_page(Gen *g, Emit *e, int node, const char *to)
{
    let(e, "to", "%s", to);
    let(e, "pages", "%s", pages_at(g, node));
    let(e, "page_floats", "%lld", (long long)page_stride(g, node));
}

static void pack_one(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g, node);
    const bool keys = n->part == PartKey;
    put_call(g, e, use_kernel(g->kernels, keys ? "pack_keys" : "pack_values"),
             arena_printf(g->a, "%s, %s, %lld, n, %lld, at %% 64",
             keys ? "k" : "v", head_at(g, n->in[0], "i"),
             (long long)g->p->value[n->in[0]].stride,
             (long long)n->type.dim[2].c), ";");
}

/* Keys and values of the new rows go to their pages. */
void emit_pages_region(Gen *g, Emit *e, const Region *r)
{
    const int first = g->p->order.at[r->first];
    const Node *n = node_at(g, first);
    const char *table = page_table(g, n);
    const Sym rows = node_at(g, n->in[0])->type.dim[1].sym;
    begin_tasks(g, e, n->type.dim[0].c, rows);
    begin_task_loop(e);
    if (table) {
        let(e, "table", "%s", table);
        put(e, "const int32_t *page = $table;\n");
    }
    let(e, "past", "%s", n->op == OpAppend && n->cache == CacheSelf
                         ? "b->past[s]" : "0");
    let_page_id(g, e, n);
    put(e, "int64_t at = $past;\n"
           "int64_t n;\n"
           "\n"
           "for (int64_t i = row; i < b->$start[s + 1]; i += n) {\n"
           "    const int64_t id = $page_id;\n");
    for (int k = 0; k < r->count; k++) {
        const int node = g->p->order.at[r->first + k];
        let_page(g, e, node, node_at(g, node)->part == PartKey ? "k" : "v");
        put(e, "float *$to = $pages\n"
               "           + id * $page_floats;\n");
    }
    put(e, "\n"
           "n = least(64 - at % 64, b->$start[s + 1] - i);\n");
    for (int k = 0; k < r->count; k++)
        pack_one(g, e, g->p->order.at[r->first + k]);
    put(e, "at += n;\n"
           "}\n"
           "}\n");
}
