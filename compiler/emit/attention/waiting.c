/* waiting.c: emits pipelined softmax, in which the softmax of one tile overlaps
 * the product of the next. A tile is pending once its scores for a page, and
 * their maxima, are known. While the product computes the next tile's scores,
 * for this page or the next, the pending scores become weights, 16 between two
 * steps of the product: exp2 has a long latency, and the product does not
 * depend on it. Then the pending tile's values are added to sums that are
 * rescaled as they are loaded, without a branch that tests if a maximum rose.
 * The results are bit-identical to those of sequential code, because a factor
 * of 1 changes no bits. */
#include "emit/attention/attention.h"
#include "emit/product/products.h"

bool rows_wait(const Gen *g, const Attention *a)
{
    const Node *n = a->n;
    return g->p->target.width == ATTN_PANEL && a->t->nr == ATTN_PAGE
        && a->t->mr <= WaitingRows && a->t->keys == ATTN_PAGE
        && a->t->queries >= 3 * a->t->mr && is_dot_softmax(n)
        && !(n->mask && n->mask->file) && !is_widened(g, a->k);
}

/* A product C = A B that overlaps softmax. Its tiles have mr rows and all
 * columns of some panels. */
typedef struct {
    int parts; /* flags: EpPowers, EpRescale */
    int64_t panels, panel, k, ldc;
    const char *a, *lda, *b, *c, *w;
} Beside;

/* Returns how many full tiles of a full block of queries together prefetch two
 * of a page's four panels, as rows_of_tiles() does. */
static int tiles_share(const Tiling *t)
{
    const int all = t->queries / t->mr / 2, most = t->prefetch - 1;
    return all < most ? all : most;
}

static int tiles_ahead(const Tiling *t)
{
    const int share = tiles_share(t);
    return share > 1 ? (ATTN_PANEL + share - 1) / share : ATTN_PANEL;
}

static void put_tile_beside(Gen *g, const Tiling *t, const Beside *p, int nr,
                            int64_t at)
{
    const char *plus = at ? arena_printf(g->a, " + %lld", (long long)at) : "";
    const char *far = at ? arena_printf(g->a, " + %lld",
                                        (long long)(at / ATTN_PANEL * p->panel))
                         : "";
    const char *const text[TileParameters] = {
        p->a,
        p->lda,
        arena_printf(g->a, "%s%s", p->b, far),
        arena_printf(g->a, "%lld", (long long)p->panel),
        arena_printf(g->a, "%lld", (long long)p->k),
        arena_printf(g->a, "%s%s", p->c, plus),
        arena_printf(g->a, "%lld", (long long)p->ldc),
        "0",
        "0",
        "0",
        "0",
        arena_printf(g->a, "%s->next%s", p->w, far),
        arena_printf(g->a, "%d", tiles_ahead(t)),
        "16",
        p->w,
    };
    put_tile(g, t->mr, nr,
             (Epilogue){ .parts = p->parts
                                | (t->prefetch > 1 ? EpPrefetch : 0) },
             text);
}

static void put_beside(Gen *g, const Tiling *t, const Beside *p)
{
    int nr[4], step = 0;
    if (g->o->mode == EmitJit) {
        put_shape(g, "s", &(Shape){ .tiles = t });
        put(g->shapes, "\n");
        put_call(g->shapes, use_kernel(g->kernels, "panels_waiting"),
                 arena_printf(g->a,
                              "&s, %d, %d, %s, %s, %s, %lld, %lld, %lld, %s, "
                              "%lld, %s->next, %d, %s",
                              p->parts & EpRescale ? 1 : 0, t->mr, p->a, p->lda,
                              p->b, (long long)p->panel, (long long)p->k,
                              (long long)p->panels, p->c, (long long)p->ldc,
                              p->w, tiles_ahead(t), p->w),
                 ";");
        return;
    }
    tile_steps(t, nr);
    for (int64_t at = 0; at < p->panels * ATTN_PANEL; at += nr[step]) {
        while (at + nr[step] > p->panels * ATTN_PANEL)
            step++;
        put_tile_beside(g, t, p, nr[step], at);
    }
}

/* Returns the key of a function with this tiling for heads with d columns. */
static SharedKey beside_key(const Attention *a, SharedKind kind, int64_t d)
{
    return (SharedKey){ .kind = kind,
                        .mr = a->t->mr,
                        .nr = a->t->nr,
                        .prefetch = a->t->prefetch,
                        .size = { d, tiles_ahead(a->t) } };
}

static const char *scores_name(Gen *g, const Attention *a, bool *made)
{
    const int64_t d_k = a->k->type.dim[2].c;
    const SharedKey key = beside_key(a, SharedScores, d_k);
    return shared_name(g, &key,
                       arena_printf(g->a, "scores_%lld%s", (long long)d_k,
                                    panels_suffix(g, a->t)),
                       made);
}

static const char *values_name(Gen *g, const Attention *a, bool *made)
{
    const int64_t d_v = a->v->type.dim[2].c;
    const SharedKey key = beside_key(a, SharedValues, d_v);
    return shared_name(g, &key,
                       arena_printf(g->a, "add_values_%lld%s", (long long)d_v,
                                    panels_suffix(g, a->t)),
                       made);
}

static void scores_function(Gen *g, const Attention *a, const char *name)
{
    Emit *e = g->shapes;
    const int64_t d_k = a->k->type.dim[2].c;
    put(e,
        "/* Computes scores of $mr queries and a page of keys, at s. Meanwhile\n"
        " * the pending scores become weights. */\n");
    put_call(e, arena_printf(g->a, "static void %s", name),
             "const float *q, int64_t ldq, const float *k, float *scores, "
             "const struct waiting *w",
             "");
    put(e, "{\n");
    put_beside(g, a->t,
               &(Beside){ .parts = EpPowers,
                          .panels = ATTN_PAGE / ATTN_PANEL,
                          .panel = ATTN_PANEL * d_k,
                          .k = d_k,
                          .ldc = ATTN_PAGE,
                          .a = "q",
                          .lda = "ldq",
                          .b = "k",
                          .c = "scores",
                          .w = "w" });
    put(e, "}\n\n");
}

static void values_function(Gen *g, const Attention *a, const char *name)
{
    Emit *e = g->shapes;
    const int64_t d_v = round16(a->v->type.dim[2].c);
    put(e,
        "/* Adds the pending rows' weights times values; then none is pending. */\n");
    put_call(e, arena_printf(g->a, "static void %s", name), "struct waiting *w",
             "");
    put(e, "{\n"
           "    if (w->rows == 0)\n"
           "        return;\n");
    put_call(e, use_kernel(g->kernels, "softmax_add"), "w", ";");
    put_beside(g, a->t,
               &(Beside){ .parts = EpRescale,
                          .panels = d_v / ATTN_PANEL,
                          .panel = ATTN_PAGE * ATTN_PANEL,
                          .k = ATTN_PAGE,
                          .ldc = d_v,
                          .a = "w->s",
                          .lda = "64",
                          .b = "w->v",
                          .c = "w->o",
                          .w = "w" });
    put(e, "w->rows = 0;\n"
           "}\n\n");
}

void need_waiting(Gen *g, const Attention *a)
{
    use_kernel(g->kernels, "softmax_wait");
    use_kernel(g->kernels, "softmax_weights");
    bool made;
    const char *name = scores_name(g, a, &made);
    if (!made)
        scores_function(g, a, name);
    name = values_name(g, a, &made);
    if (!made)
        values_function(g, a, name);
}

/* Begins with valid pointers, although no rows are pending, because NULL + 0 is
 * undefined in C. */
void put_waiting_begin(Gen *g)
{
    put(g->shapes, "struct waiting wait[2] = {    /* used alternately */\n"
                   "    {.s = s, .next = s},\n"
                   "    {.s = s, .next = s},\n"
                   "};\n"
                   "int64_t turn = 0;\n");
}

void put_waiting_end(Gen *g, const Attention *a)
{
    bool made;
    let(g->shapes, "add", "%s", values_name(g, a, &made));
    put(g->shapes, "softmax_weights(wait + turn);\n"
                   "$add(wait + turn);\n");
}

/* Binds the address to prefetch: first this tile's share of two panels of
 * `part`, then data of the tile itself. */
static void let_next(Gen *g, const Attention *a, const char *hole,
                     const char *part, const char *own, int64_t panel)
{
    const int share = tiles_share(a->t), mr = a->t->mr;
    if (share == 0)
        let(g->shapes, hole, "%s", own);
    else
        let(g->shapes, hole, "j < %d ? %s + j / %d %% 2 * %lld%s : %s",
            2 * share * mr, part, mr, (long long)(2 * panel),
            share == 1 ? ""
                       : arena_printf(g->a, " + j / %d * %lld", 2 * mr,
                                      (long long)(panel / share)),
            own);
}

void put_waiting_scores(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    bool made;
    let_next(g, a, "values", "v", "k", ATTN_PANEL * a->k->type.dim[2].c);
    let(e, "make_scores", "%s", scores_name(g, a, &made));
    put(e, "struct waiting *const before = wait + turn;\n"
           "struct waiting *const w = wait + !turn;\n"
           "float *const scores = s + turn * $mr * 64;\n"
           "\n"
           "before->next = $values;\n"
           "$make_scores(q + (i + j) * ldq, ldq, k, scores, before);\n");
}

void put_waiting_values(Gen *g, const Attention *a)
{
    Emit *e = g->shapes;
    bool made;
    let_next(g, a, "keys", "next", "v", ATTN_PAGE * ATTN_PANEL);
    let(e, "add", "%s", values_name(g, a, &made));
    put(e, "softmax_wait(w, scores, $mr, $scale, maxima + j);\n"
           "w->sum = sum + j * 16;\n"
           "w->o = o + j * $d_v16;\n"
           "w->v = v;\n"
           "before->next = $keys;\n"
           "$add(before);\n"
           "turn = !turn;\n");
}
