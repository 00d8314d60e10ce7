/* short_attention.c: emits attention with a constant number of queries and keys
 * that fit in one page: scores, softmax and values are each computed once. */
#include "emit/attention/attention.h"
#include "emit/product/products.h"

const MaskSpec *attention_mask(const Gen *g, const Node *n)
{
    const MaskSpec *m = n->mask;
    const bool last = n->entry == EntryDecode && plan_length(g->p, SymT) == 1
                   && node_at(g->p, n->in[1])->op == OpAppend;
    return m && last && !m->file && !m->window && !m->block ? NULL : m;
}

bool is_short_attention(const Gen *g, const Node *n)
{
    const Node *k = node_at(g->p, n->in[1]), *v = node_at(g->p, n->in[2]);
    const int64_t queries = plan_length(g->p, row_sym(n->type));
    const int64_t keys = k->type.dim[1].fixed;
    return g->alone && g->o->mode != EmitJit && keys > 0 && keys <= ATTN_PAGE
        && queries > 0 && 81 * queries <= g->p->scratch && !attention_mask(g, n)
        && !n->bias && !n->sinks && is_dot_softmax(n) && !is_widened(g, k)
        && !(n->cap > 0) && v->type.dim[2].c % ATTN_PANEL == 0;
}

typedef struct { /* a product c = a b; panels of b are `ldb` apart */
    int64_t rows, k, n, ldb;
    const char *a, *lda, *b, *c, *ldc;
} Small;

static void put_product(Gen *g, const Tiling *t, const Small *p)
{
    put_fixed_panels(
        g, t, p->rows, p->n / ATTN_PANEL,
        arena_printf(g->a, "%s, %s, %s, %lld, %lld, %lld, %s, %s, %s", p->a,
                     p->lda, p->b, (long long)p->ldb, (long long)p->k,
                     (long long)(p->n / ATTN_PANEL), p->c, p->ldc, p->b));
}

static Tiling tile_of(const Gen *g, const Small *p)
{
    Tiling t = plan_tile_of(g->p, p->rows, p->k, p->n);
    t.prefetch = 1;
    return t;
}

static void short_function(Gen *g, const char *name, const Node *n)
{
    Emit *e = g->shapes;
    const Node *k = node_at(g->p, n->in[1]), *v = node_at(g->p, n->in[2]);
    const int64_t rows = plan_length(g->p, row_sym(n->type));
    const int64_t keys = k->type.dim[1].fixed;
    const Small scores = { rows,          k->type.dim[2].c,
                           round16(keys), ATTN_PANEL * k->type.dim[2].c,
                           "q",           "ldq",
                           "k",           "s",
                           "64" };
    const Small values = {
        rows, keys, v->type.dim[2].c, ATTN_PANEL * ATTN_PAGE, "s", "64", "v",
        "y",  "ldy"
    };
    const Tiling by = tile_of(g, &scores), of = tile_of(g, &values);
    use_kernel(g->kernels, "softmax_once");
    use_kernel(g->kernels, "softmax_end");
    let(e, "rows", "%lld", (long long)rows);
    let(e, "keys", "%lld", (long long)keys);
    let(e, "d_k", "%lld", (long long)scores.k);
    let(e, "d_v", "%lld", (long long)values.n);
    let(e, "scale", "%s", c_float(g->a, n->scale * Log2E));
    let(e, "sums", "%lld", (long long)(64 * rows));
    let(e, "maxima", "%lld", (long long)(80 * rows));
    put(e,
        "/* y = softmax(Q K^T) V: one head, $rows queries of $d_k, $keys keys, "
        "values of $d_v */\n");
    put_call(e, arena_printf(g->a, "static void %s", name),
             "const float *q, int64_t ldq, const float *k, const float *v, "
             "float *y, int64_t ldy, float *scratch",
             "");
    put(e, "{\n"
           "    float *const s = scratch, *const sum = scratch + $sums;\n"
           "\n");
    put_product(g, &by, &scores);
    put(e, "softmax_once(s, $rows, $keys, $scale, scratch + $maxima, sum);\n");
    put_product(g, &of, &values);
    put(e, "softmax_end(y, ldy, $rows, $d_v, sum, y, ldy);\n"
           "}\n\n");
}

static const char *short_base(Gen *g, const SharedKey *s)
{
    const double scale = s->form.scale;
    const char *scaled = scale < 1 || scale > 1
                           ? arena_printf(g->a, "_scale%lld",
                                          (long long)(scale * 1e6))
                           : "";
    return arena_printf(g->a, "attention_%lldx%lld_%lldx%lld%s",
                        (long long)s->size[0], (long long)s->size[1],
                        (long long)s->size[2], (long long)s->size[3], scaled);
}

const char *need_short_attention(Gen *g, const Node *n)
{
    const Node *k = node_at(g->p, n->in[1]), *v = node_at(g->p, n->in[2]);
    const SharedKey key = {
        .kind = SharedShort,
        .size = { plan_length(g->p, row_sym(n->type)), k->type.dim[1].fixed,
                  k->type.dim[2].c, v->type.dim[2].c },
        .form.scale = n->scale,
    };
    bool made;
    const char *name = shared_name(g, &key, short_base(g, &key), &made);
    const int mark = emit_mark(g->shapes);
    if (!made)
        short_function(g, name, n);
    emit_reset(g->shapes, mark);
    return name;
}
