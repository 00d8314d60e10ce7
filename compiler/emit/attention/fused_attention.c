/* fused_attention.c: emits attention over keys in pages of 64. For each head
 * and each block of query rows, the emitted loop processes one page of keys at
 * a time: the product kernel computes scores, online softmax keeps a running
 * maximum and sum (as in FlashAttention), and the product kernel adds the
 * values. The complete score matrix is never stored. A row's sums never include
 * keys that it may not see: the loop ends at the last visible key. Pages at the
 * mask's edge are processed tile by tile, and each row there adds its own last
 * keys. */
#include "emit/attention/attention.h"
#include "emit/product/products.h"

void need_keys(Gen *g)
{
    bool sinks = false;
    const char *score = NULL;
    if (!first_time(g, HelperKeys, "struct keys"))
        return;
    for (int i = 0; i < g->p->g->nodes.n; i++) {
        const Node *n = node_at(g->p, i);
        sinks |= n->sinks;
        if (has_score_vector(n))
            score = score_form[n->score].formula;
    }
    put(g->shapes,
        "struct keys {               /* keys and values of one head */\n"
        "    const float *k, *v;     /* in the first page */\n"
        "    int64_t k_page, v_page; /* floats from page to page */\n"
        "    const int32_t *page;    /* page numbers in a cache, in order */\n"
        "    int64_t count;          /* keys */\n"
        "    int64_t past;           /* keys before the first query's */\n"
        "    int64_t prefix;         /* keys that all queries see */\n"
        "    const float *bias;      /* of scores; at distance 0 */\n");
    if (sinks)
        put(g->shapes,
            "float sink;             /* a score without a value */\n");
    if (score) {
        let(g->shapes, "formula", "%s", score);
        put(g->shapes, "const float *score;     /* v of $formula */\n");
    }
    if (widened_floats(g->p) > 0)
        put(g->shapes,
            "float *wide;            /* memory of a page in f32 */\n");
    put(g->shapes, "};\n\n");
}

/* Returns the factor that softmax applies to scores. The factor is 1 if there
 * is a cap or a bias, because these need scores that are already scaled. */
static double score_scale(const Node *n)
{
    return n->cap > 0 || n->bias ? 1 : n->scale;
}

/* the emitted calls that turn scores into weights, chunk by chunk */
typedef struct {
    const char *begin, *chunk, *page, *end, *end_kernel;
    const char *parameters, *arguments; /* state for a function of some rows, as
                                         * parameters and as arguments */
} Weights;

static const Weights by_all_scores = {
    .begin = "$begin(r, maxima, sum, o, $d_v16);\n",
    .chunk = "$chunk(s, r, from, to, $scale, maxima, sum, o, $d_v16);\n",
    .page = "$page_kernel(s, r, n, $scale, maxima, sum, o, $d_v16);\n",
    .end = "softmax_end(y + i * ldy, ldy, r, $d_v, sum, o, $d_v16);\n",
    .end_kernel = "softmax_end",
    .parameters = "float *maxima, float *sum, ",
    .arguments = "maxima + j, sum + j * 16, ",
};
static const Weights by_one_score = {
    .begin = "$begin(r, o, $d_v16);\n",
    .chunk = "$chunk(s, r, from, to, $scale);\n",
    .page = "$page_kernel(s, r, n, $scale);\n",
    .end = "copy_rows(y + i * ldy, ldy, o, $d_v16, r, $d_v);\n",
    .end_kernel = "copy_rows",
    .parameters = "",
    .arguments = "",
};

/* Softmax sums the weights before units of values multiply them. */
static const UnitRows weights_of_page = { "s, 64", "s, 64", "r, n", "v_units" };

static const Weights *weights_of(const Node *n)
{
    return normalizer_form[n->normalizer].plain ? &by_one_score
                                                : &by_all_scores;
}

static const char *weights_kernel(Gen *g, const Node *n, const char *part)
{
    return arena_printf(g->a, "%s_%s", normalizer_form[n->normalizer].word,
                        part);
}

const char *need_scores(Gen *g, const Node *n, const Tiling *t)
{
    const char *kernel = score_form[n->score].kernel;
    return kernel ? use_kernel(g->kernels, kernel) : need_panels(g, t, false);
}

/* Emits the product of weights and values for a tile at the mask's edge. Keys
 * that all rows see are one product. The other keys are added row by row, in
 * order, and only to the rows that see them. */
static const char *need_values_seen(Gen *g, const Tiling *t)
{
    bool made;
    const SharedKey key = {
        .kind = SharedSeen, .mr = t->mr, .nr = t->nr, .prefetch = t->prefetch
    };
    const char *base = arena_printf(g->a, "values_seen%s", panels_suffix(g, t));
    const char *name = shared_name(g, &key, base, &made);
    if (made)
        return name;
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    need_min(g);
    need_max(g);
    use_kernel(g->kernels, "add_keys");
    let(e, "panels_add", "%s", need_panels(g, t, true));
    let(e, "next", "%s", next_panels(g, t, "v"));
    put(e,
        "/* Adds P V to o. Row i sees keys from[i] .. to[i] - 1 of the page. */\n");
    put_call(e, arena_printf(g->a, "static void %s", name),
             "int64_t rows, const float *p, const int64_t *from, "
             "const int64_t *to, const float *v, int64_t panels, float *o",
             "");
    put(e,
        "{\n"
        "    int64_t first = 0, last = 64;   /* keys that all rows see */\n"
        "\n"
        "    for (int64_t i = 0; i < rows; i++) {\n"
        "        first = max(first, from[i]);\n"
        "        last = min(last, to[i]);\n"
        "    }\n"
        "    if (last < first)\n"
        "        last = first;\n"
        "    for (int64_t i = 0; i < rows; i++)\n"
        "        add_keys(p + i * 64 + from[i], min(first, to[i]) - from[i],\n"
        "                 v + from[i] * 16, panels, o + i * panels * 16);\n"
        "    if (last > first)\n"
        "        $panels_add(rows, p + first, 64, v + first * 16, 1024,\n"
        "                   last - first, panels, o, panels * 16$next);\n"
        "    for (int64_t i = 0; i < rows; i++)\n"
        "        add_keys(p + i * 64 + last, to[i] - last, v + last * 16, panels,\n"
        "                 o + i * panels * 16);\n"
        "}\n\n");
    emit_reset(e, mark);
    return name;
}

void put_score_ops(Gen *g, const Attention *a, const char *rows,
                   const char *biased)
{
    Emit *e = g->shapes;
    const Node *n = a->n;
    const bool scaled = (n->cap > 0 || n->bias)
                     && (n->scale < 1 || n->scale > 1);
    if (scaled)
        put_call(e, use_kernel(g->kernels, "scale_rows"),
                 arena_printf(g->a, "%s, %s", rows, c_float(g->a, n->scale)),
                 ";");
    if (n->cap > 0)
        put_call(e, use_kernel(g->kernels, "softcap_rows"),
                 arena_printf(g->a, "%s, %s", rows, c_float(g->a, n->cap)),
                 ";");
    if (n->bias)
        put_call(e, use_kernel(g->kernels, "score_bias_row"), biased, ";");
    let(e, "scale", "%s", c_float(g->a, score_scale(n) * Log2E));
}

/* Emits the scores of one page, with cap and bias. Computes only keys from
 * `first`, the start of a panel, up to `first` + `keys`, and prefetches the
 * panels at `next`. */
static void put_scores(Gen *g, const Attention *a, const char *q,
                       const char *first, const char *keys, const char *next)
{
    Emit *e = g->shapes;
    const Node *n = a->n;
    const char *plus = *first ? arena_printf(g->a, " + %s", first) : "";
    const char *s = arena_printf(g->a, "s%s", plus);
    const long long d_k = a->k->type.dim[2].c;
    put_call(e, need_scores(g, n, a->t),
             arena_printf(
                 g->a, "r, %s, ldq, k%s, %lld, %lld, (%s + 15) / 16, %s, 64%s",
                 q, *first ? arena_printf(g->a, "%s * %lld", plus, d_k) : "",
                 ATTN_PANEL * d_k, d_k, keys, s,
                 has_score_vector(n) ? ", m->score"
                                     : next_panels(g, a->t, next)),
             ";");
    const char *to = arena_printf(g->a, "%s, 64", s);
    put_units(g, e, a->k,
              &(UnitRows){ to, to, arena_printf(g->a, "r, %s", keys),
                           arena_printf(g->a, "k_units%s", plus) });
    put_score_ops(g, a, arena_printf(g->a, "%s, 64, %s, 64, r, %s", s, s, keys),
                  arena_printf(g->a, "%s, r, %s, m->bias + at%s - p", s, keys,
                               plus));
}

/* Declares `next`: the same part of the next page or, if there is none,
 * `before`. */
static void put_next_page(Gen *g, const Attention *a, const char *part,
                          const char *before, const char *end)
{
    Emit *e = g->shapes;
    if (a->t->prefetch == 1) {
        put(e, "\n");
        return;
    }
    let(e, "page", a->paged ? "m->page[at / 64 + 1]" : "(at / 64 + 1)");
    let(e, "part", "%s", part);
    let(e, "floats", "%s_page", part);
    let(e, "before", "%s", before);
    let(e, "end", "%s", end);
    put(e, "const float *next = $before;\n"
           "\n");
    if (is_widened(g, a->k)) /* the next page is in another format */
        return;
    put(e, "if (at + 64 < $end)\n"
           "    next = m->$part + $page * m->$floats;\n");
}

/* Emits the function for a page that a tile's rows see only in part. */
static void edge_function(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    const MaskSpec *mask = a->n->mask;
    put(e,
        "/* Attends to the page at `at` for r queries. Some do not see all of\n"
        " * its n keys. */\n");
    put_call(e, arena_printf(g->a, "static void %s_edge", a->name),
             arena_printf(g->a,
                          "const float *q, int64_t ldq, int64_t r, %sint64_t "
                          "at, int64_t n, const struct keys *m, float *s, "
                          "%sfloat *o",
                          needs_position(a->n, true) ? "int64_t p, " : "",
                          weights_of(a->n)->parameters),
             "");
    put(e,
        "{\n"
        "    int64_t from[$mr], to[$mr];     /* keys that each row sees */\n"
        "    int64_t first = n, end = 0;     /* keys that any row sees */\n");
    put_page(g, a, PartKey);
    put_page(g, a, PartValue);
    put(e, "\n"
           "for (int64_t j = 0; j < r; j++) {\n");
    put_mask_interval(g, e, mask);
    put(e, "if (from[j] < to[j]) {\n"
           "    first = min(first, from[j]);\n"
           "    end = max(end, to[j]);\n"
           "}\n"
           "}\n"
           "if (first >= end)\n"
           "    return;\n"
           "first -= first % 16;\n");
    put_scores(g, a, "q", "first", "end - first", "v");
    if (mask->file)
        put_mask_holes(g, e, mask);
    put(e, weights_of(a->n)->chunk);
    put_units(g, e, a->v, &weights_of_page);
    if (mask->file) {
        let(e, "panels_add", "%s", need_panels(g, a->t, true));
        let(e, "next", "%s", next_panels(g, a->t, "v"));
        put_mask_values(g, e, mask);
    } else {
        let(e, "seen", "%s", need_values_seen(g, a->t));
        put(e, "$seen(r, s, from, to, v, $panels, o);\n");
    }
    put(e, "}\n\n");
}

/* Emits the tiles for a block at the mask's edge. */
static void put_edge_tiles(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    put(e, "for (int64_t j = 0; j < r; j += $mr) {\n");
    put_call(
        e, arena_printf(g->a, "%s_edge", a->name),
        arena_printf(g->a,
                     "q + (i + j) * ldq, ldq, min(r - j, %d), %sat, n, m, s, "
                     "%so + j * %lld",
                     a->t->mr, needs_position(a->n, true) ? "p + j, " : "",
                     weights_of(a->n)->arguments,
                     (long long)round16(a->v->type.dim[2].c)),
        ";");
    put(e, "}\n");
}

/* Emits the branch for pages at the mask's edge. */
static void put_edge(Gen *g, const Attention *a)
{
    if (!a->n->mask)
        return;
    let(g->shapes, "edge", "%s", mask_edge(g, a->n->mask, "p", "(p + r - 1)"));
    put(g->shapes, "\n"
                   "if ($edge) {\n");
    put_edge_tiles(g, a);
    put(g->shapes, "continue;\n"
                   "}\n");
}

static void put_values(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    put(e, weights_of(a->n)->page);
    put_units(g, e, a->v, &weights_of_page);
    put_call(e, need_panels(g, a->t, true),
             arena_printf(g->a, "r, s, 64, v, 1024, n, %lld, o, %lld%s",
                          (long long)(round16(a->v->type.dim[2].c)
                                      / ATTN_PANEL),
                          (long long)round16(a->v->type.dim[2].c),
                          next_panels(g, a->t, "next")),
             ";");
}

/* Emits the function for one page whose n keys are all visible to the rows,
 * without pipelined softmax. */
static void page_function(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    put(e,
        "/* Attends to the page at `at` for r queries that see all n keys. */\n");
    put_call(e, arena_printf(g->a, "static void %s_page", a->name),
             arena_printf(g->a,
                          "const float *q, int64_t ldq, int64_t r, %sint64_t "
                          "at, int64_t n, const struct keys *m, float *s, "
                          "%sfloat *o",
                          needs_position(a->n, false) ? "int64_t p, " : "",
                          weights_of(a->n)->parameters),
             "");
    put(e, "{\n");
    put_page(g, a, PartKey);
    put_page(g, a, PartValue);
    put_next_page(g, a, "k", "k", "m->count");
    put_scores(g, a, "q", "", "n", "v");
    put_values(g, a);
    put(e, "}\n\n");
}

/* Emits the loop over pages for a block of rows. */
static void put_pages(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    put(e, "for (int64_t at = $first; at < last; at += 64) {\n"
           "    const int64_t n = min(last - at, 64);\n");
    if (a->n->mask && a->n->mask->file) { /* a file's mask may hide any key */
        put(e, "\n");
        put_edge_tiles(g, a);
    } else {
        put_edge(g, a);
        put_page(g, a, PartKey);
        put_page(g, a, PartValue);
        put_next_page(g, a, "k", "k", "last");
        put_scores(g, a, "q + i * ldq", "", "n", "v");
        put_values(g, a);
    }
    put(e, "}\n");
}

/* Emits the call for `r` rows of a block from row j, at the mask's edge or
 * elsewhere. Their scores are stored after those of the pending rows. */
static void put_part(Gen *g, const Attention *a, bool edge, const char *r)
{
    const bool position = needs_position(a->n, edge);
    put_call(g->shapes,
             arena_printf(g->a, "%s_%s", a->name, edge ? "edge" : "page"),
             arena_printf(g->a,
                          "q + (i + j) * ldq, ldq, %s, %sat, n, m, s + %d, "
                          "maxima + j, sum + j * 16, o + j * %lld",
                          r, position ? "p + j, " : "",
                          2 * a->t->mr * ATTN_PAGE,
                          (long long)round16(a->v->type.dim[2].c)),
             ";");
}

/* Emits the loop over pages with pipelined softmax. Full tiles that see all of
 * a page are pipelined. Before any other tile, the pending rows are finished,
 * because each row must add its pages in order. */
static void put_pages_and_wait(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    const MaskSpec *mask = a->n->mask;
    put(e, "for (int64_t at = $first; at < last; at += 64) {\n"
           "    const int64_t n = min(last - at, 64);\n"
           "    int64_t j = 0;\n");
    put_page(g, a, PartKey);
    put_page(g, a, PartValue);
    put_next_page(g, a, "k", "k", "last");
    put(e, "for (; j + $mr <= r; j += $mr) {\n");
    let(e, "edge", "%s%s", mask ? " || " : "",
        mask ? mask_edge(g, mask, "(p + j)",
                         arena_printf(g->a, "(p + j + %d)", a->t->mr - 1))
             : "");
    put(e, "if (n < 64$edge) {\n");
    put_waiting_end(g, a);
    put_part(g, a, mask != NULL, arena_printf(g->a, "%d", a->t->mr));
    put(e, "continue;\n"
           "}\n");
    put_waiting_scores(g, a);
    put_score_ops(
        g, a, arena_printf(g->a, "scores, 64, scores, 64, %d, 64", a->t->mr),
        arena_printf(g->a, "scores, %d, 64, m->bias + at - p - j", a->t->mr));
    put_waiting_values(g, a);
    put(e, "}\n"
           "if (j < r) {\n");
    if (mask) {
        let(e, "edge", "%s", mask_edge(g, mask, "(p + j)", "(p + r - 1)"));
        put(e, "if ($edge) {\n");
        put_part(g, a, true, "r - j");
        put(e, "continue;\n"
               "}\n");
    }
    put_part(g, a, false, "r - j");
    put(e, "}\n"
           "}\n");
    put_waiting_end(g, a);
}

/* Emits attention that processes $keys keys at a time: first computes all their
 * scores, then applies softmax and adds values page by page. */
static void put_blocks(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    put(e, "for (int64_t key = $first; key < last; key += $keys) {\n"
           "    const int64_t end = min(last, key + $keys);\n"
           "\n"
           "    for (int64_t at = key; at < end; at += 64) {\n"
           "        const int64_t n = min(last - at, 64);\n"
           "        float *const s = scores + (at - key) * $block;\n");
    if (a->n->mask) {
        let(e, "edge", "%s", mask_edge(g, a->n->mask, "p", "(p + r - 1)"));
        put(e,
            "\n"
            "if ($edge)\n"
            "    continue;                /* done below, with its values */\n");
    }
    put_page(g, a, PartKey);
    put_next_page(g, a, "k", "k", "end");
    put_scores(g, a, "q + i * ldq", "", "n", "next");
    put(e, "}\n"
           "for (int64_t at = key; at < end; at += 64) {\n"
           "    const int64_t n = min(last - at, 64);\n"
           "    float *const s = scores + (at - key) * $block;\n");
    put_edge(g, a);
    put_page(g, a, PartValue);
    put_next_page(g, a, "v", "v", "end");
    put_values(g, a);
    put(e, "}\n"
           "}\n");
}

/* Emits the attention function: a loop over blocks of query rows. All rows of a
 * block use a page before the next page is read. */
static void attention_function(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    const bool blocks = a->t->keys > ATTN_PAGE;
    let(e, "s", blocks ? "scores" : "s");
    let(e, "scores", "%s", score_form[a->n->score].formula);
    if (a->n->mask)
        edge_function(g, a);
    if (rows_wait(g, a)) {
        page_function(g, a);
        need_waiting(g, a);
    }
    put(e, "/* y = $weights($scores) V: one head, `rows` queries of $d_k, "
           "values of $d_v */\n");
    put_call(e, arena_printf(g->a, "static void %s", a->name),
             "const float *q, int64_t ldq, int64_t rows, const struct keys *m, "
             "float *y, int64_t ldy, float *scratch",
             "");
    put(e, "{\n"
           "    float *const $s = scratch;\n"
           "    float *const o = scratch + $block * $outputs;\n");
    if (*weights_of(a->n)->parameters)
        put(e, "float *const sum = scratch + $block * $sums;\n"
               "float *const maxima = scratch + $block * $maxima;\n");
    if (rows_wait(g, a))
        put_waiting_begin(g);
    put(e, "\n"
           "for (int64_t i = 0; i < rows; i += $block) {\n"
           "    const int64_t r = min(rows - i, $block);\n");
    if (needs_position(a->n, true))
        put(e, "const int64_t p = m->past + i;      /* position of row i */\n");
    let(e, "first", "%s", mask_first(g, a->n->mask));
    let(e, "last", "%s", mask_last(g, a->n->mask));
    put(e, "const int64_t last = $last;\n"
           "\n");
    put(e, weights_of(a->n)->begin);
    if (a->n->sinks) {
        let(e, "by", "%s", c_float(g->a, 1 / score_scale(a->n)));
        put(e, "softmax_sink(r, m->sink * $by, maxima, sum);\n");
    }
    if (blocks)
        put_blocks(g, a);
    else if (rows_wait(g, a))
        put_pages_and_wait(g, a);
    else
        put_pages(g, a);
    put(e, weights_of(a->n)->end);
    put(e, "}\n"
           "}\n\n");
}

static void need_pieces(Gen *g, const Attention *a)
{
    const MaskSpec *mask = a->n->mask;
    need_keys(g);
    need_min(g);
    if (!score_form[a->n->score].kernel)
        need_panels(g, a->t, false);
    need_panels(g, a->t, true);
    need_mask(g, mask);
    if (mask)
        use_kernel(g->kernels, weights_kernel(g, a->n, "chunk"));
    if (mask && !mask->file)
        need_values_seen(g, a->t);
    use_kernel(g->kernels, weights_kernel(g, a->n, "begin"));
    if (a->n->sinks)
        use_kernel(g->kernels, "softmax_sink");
    if (!mask || !mask->file)
        use_kernel(g->kernels, weights_kernel(g, a->n, "page"));
    use_kernel(g->kernels, weights_of(a->n)->end_kernel);
}

/* Returns the index of a node's task. */
static int task_of(const Gen *g, int node)
{
    return (int)(plan_task(g->p, TaskAttention, node) - g->p->task.at);
}

static bool is_last(Gen *g, int node)
{
    const Node *n = node_at(g->p, node);
    return attention_mask(g, n) != n->mask;
}

const char *attention_base(Gen *g, int node)
{
    const TaskIdentity *is = &g->p->task.at[task_of(g, node)].is;
    const TaskKey key = task_key(g->a, is, false);
    return arena_printf(g->a, "attention_%s%s%s%s", key.shape,
                        *key.epilogue ? "_" : "", key.epilogue,
                        is_last(g, node) ? "_last" : "");
}

SharedKey attention_key(Gen *g, SharedKind kind, int node)
{
    return (SharedKey){ .kind = kind,
                        .size = { task_of(g, node), is_last(g, node) } };
}

Attention attention_of(Gen *g, int node)
{
    Node *n = arena_alloc(g->a, sizeof *n);
    *n = *node_at(g->p, node);
    n->mask = attention_mask(g, n);
    return (Attention){
        .n = n,
        .k = node_at(g->p, n->in[1]),
        .v = node_at(g->p, n->in[2]),
        .t = tiling_of(g, TaskAttention, node),
        .paged = node_at(g->p, n->in[1])->op != OpPackKv,
    };
}

void let_attention(Emit *e, const Attention *a)
{
    const int64_t d_v = a->v->type.dim[2].c;
    const char *weights = normalizer_form[a->n->normalizer].word;
    let(e, "weights", "%s", weights);
    let(e, "begin", "%s_begin", weights);
    let(e, "chunk", "%s_chunk", weights);
    let(e, "page_kernel", "%s_page", weights);
    let(e, "mr", "%d", a->t->mr);
    let(e, "block", "%d", a->t->queries);
    let(e, "keys", "%d", a->t->keys);
    let(e, "d_k", "%lld", (long long)a->k->type.dim[2].c);
    let(e, "d_v", "%lld", (long long)d_v);
    let(e, "d_v16", "%lld", (long long)round16(d_v));
    let(e, "panels", "%lld", (long long)(round16(d_v) / ATTN_PANEL));
    let_scratch(e, a->t->keys, d_v);
}

const char *need_attention(Gen *g, int node)
{
    const SharedKey key = attention_key(g, SharedAttention, node);
    Attention a = attention_of(g, node);
    bool made;
    a.name = shared_name(g, &key, attention_base(g, node), &made);
    if (made)
        return a.name;
    need_pieces(g, &a);
    const int mark = emit_mark(g->shapes);
    let_attention(g->shapes, &a);
    attention_function(g, &a);
    emit_reset(g->shapes, mark);
    return a.name;
}
