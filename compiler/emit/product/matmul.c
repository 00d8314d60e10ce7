/* matmul.c: chooses the loop nests of products with constant shapes, using the
 * tilings of the plan. */
#include "emit/product/products.h"

/* The cache holds x and the sums of a block with this many rows and columns. */
enum {
    SumRows = 288,
    SumColumns = 384 /* a multiple of the width of every tile */
};

/* True if the sum over k is split into blocks. Integer sums are not split,
 * because their operands are small, and y cannot hold their partial sums. */
static bool is_blocked(const Product *p)
{
    return p->t->k < p->k && !dtype_is_integer(p->ep.dtype);
}

/* Returns the widths of tiles that any part needs. Parts begin at multiples of
 * t->panels panels. If t->panels is a multiple of the tile's width, only the
 * last part needs narrower tiles. */
static unsigned widths_of(const Product *p)
{
    const int nr = p->t->nr;
    const bool exact = p->fixed || ATTN_PANEL * p->t->panels % nr == 0;
    const int64_t columns = round16(p->n);
    const unsigned widest = 1u << (nr / ATTN_PANEL - 1);
    if (exact)
        return widths_for(p->t, columns);
    return widths_for(p->t, 0) & ~(columns < nr ? widest : 0);
}

enum { FewAmxRows = 8 }; /* fewer rows are faster in vectors */

typedef struct { /* the loop nests of a product, for many rows and for few */
    Product p;
    const Tiling *small; /* tiling for small M; NULL: M is never small */
    Product copied;
    Tiling copied_by, other_by; /* `other_by`: not the task's own */
    bool amx;                   /* many rows may be multiplied by AMX */
    bool copies, always; /* `copies`: blocks taller than one tile multiply by
                          * unpacked weights; `always`: so do all products that
                          * are not small-M */
    int64_t rows;        /* constant number of rows of `p`; 0: not constant */
    const char *shape;   /* suffix of the functions' names */
} Nests;

/* Returns the number of rows of a product if it is constant; otherwise 0. */
static int64_t known_rows(const Gen *g, const Node *n)
{
    const Arithmetic a = elem_arithmetic(node_at(g->p, n->in[0])->type.elem);
    const int64_t rows = plan_rows(g->p, row_sym(n->type));
    const bool known = g->undivided && is_product(n) && rows <= SumRows
                    && row_times(n->type) == 1;
    return known && !dtype_is_integer(dtype_of(node_at(g->p, n->in[1])->type))
                && !(g->p->target.amx
                     && (a == ArithmeticBf16Amx || a == ArithmeticBf16x3))
             ? rows
             : 0;
}

/* Prebuilt kernels accept any number of rows, so no product is fixed if they
 * are used. */
bool has_fixed_product(const Gen *g, const Node *n)
{
    return g->o->mode != EmitJit && known_rows(g, n) > 0;
}

/* Changes a product to one whose sums the ranks add. Both planes of a row of
 * int15 are rows of int8, so a tile as large has twice the rows. */
static void sum_terms(Gen *g, int node, Nests *n)
{
    Epilogue *ep = &n->p.ep;
    if (!adds_terms(g->p, node))
        return;
    ep->parts = EpSum;
    ep->act = ActNone;
    if (ep->arithmetic != ArithmeticInt15)
        return;
    ep->arithmetic = ArithmeticInt8;
    n->other_by = *n->p.t;
    n->other_by.mr = n->p.t->mr > 8 ? 16 : 2 * n->p.t->mr;
    n->p.t = &n->other_by;
}

static void find_nests(Gen *g, int node, Nests *n)
{
    const Node *w = node_at(g->p, node_at(g->p, node)->in[1]);
    const bool alone = g->only && g->only->key.kind == TaskMatmul;
    const int64_t rows = known_rows(g, node_at(g->p, node));
    *n = (Nests){ .p = { .fixed = g->o->mode == EmitJit ? 0 : rows,
                         .t = tiling_of(g, TaskMatmul, node),
                         .k = matrix_columns(w->type),
                         .n = matrix_rows(w->type),
                         .column = panel_column(dtype_of(w->type),
                                                matrix_columns(w->type)),
                         .ep = epilogue_of(g->p, node) },
                  .small = alone ? NULL : tiling_of(g, TaskSmallM, node),
                  .rows = rows };
    if (rows) {
        n->other_by = plan_fixed_tiling(g->p, node);
        n->p.t = &n->other_by;
        if (n->small && rows >= n->small->small_m)
            n->small = NULL;
    }
    sum_terms(g, node, n);
    n->amx = amx_multiplies(g->p, node);
    n->p.least = n->small && n->small->small_m > 1 ? n->small->small_m : 1;
    n->copies = copied_product(g, &n->p, &n->copied, &n->copied_by);
    n->always = n->copies && n->small && n->small->small_m > n->copied_by.mr;
    n->shape = arena_printf(g->a, "%s_%s%lldx%lld",
                            epilogue_suffix(g->a, n->p.ep),
                            rows ? arena_printf(g->a, "%lldx", (long long)rows)
                                 : "",
                            (long long)n->p.k, (long long)n->p.n);
}

/* Returns the arguments that follow the tables of tiles in a product's call. */
static const char *product_arguments(Gen *g, const Product *p)
{
    return arena_printf(g->a, "%s, x, ldx, w, y, ldy, %s, %s",
                        p->fixed ? arena_printf(g->a, "%lld, 0, %lld",
                                                (long long)p->fixed,
                                                (long long)round16(p->n))
                                 : "rows, from, to",
                        p->ep.parts & EpBias ? "b" : "0",
                        p->ep.parts & EpResidual ? "r, ldr" : "0, 0");
}

/* `shape` is "&s" and the tables of tiles. */
static void put_nest(Gen *g, const char *nest, const char *shape,
                     const Product *p)
{
    put_call(g->shapes, use_kernel(g->kernels, nest),
             arena_printf(g->a, "%s, %s", shape, product_arguments(g, p)), ";");
}

static Shape shape_of_nests(const Nests *n)
{
    const Product *p = &n->p;
    return (Shape){ .tiles = p->t,
                    .small = n->small,
                    .k = p->k,
                    .column = p->column,
                    .step = is_blocked(p) ? p->t->k : p->k,
                    .rows = is_blocked(p) ? SumRows : 0,
                    .columns = is_blocked(p) ? SumColumns : 0,
                    .ep = p->ep };
}

/* Emits the function for many rows, which multiplies by copies of the
 * panels. */
static void emit_copied(Gen *g, const Nests *n)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const Product *c = &n->copied;
    Shape s = shape_of_nests(n);
    let(e, "bytes", "%lld",
        (long long)(c->t->nr * c->column + c->rows * c->line));
    put(e, c->rows ? "/* Computes the product below for many rows: widens "
                     "panels and rows once. */\n"
                   : "/* Computes the product below for many rows: unpacks "
                     "each panel once. */\n");
    matmul_prototype(g, arena_printf(g->a, "copied%s", n->shape), 0, n->p.ep,
                     false);
    put(e, "{\n");
    s.copied = put_copied_shape(g, "copied", c);
    put_shape(g, "s", &s);
    put_tables(g, "of", c->t, widths_of(c),
               heights_for(c->t, c->rows ? 1 : c->least), c->ep);
    put(e, "_Alignas(64) int8_t copy[$bytes];\n"
           "\n");
    put_nest(g, c->rows ? "widened_product" : "copied_product", "&s, of, copy",
             &n->p);
    put(e, "}\n\n");
    emit_reset(e, mark);
}

/* Emits the tables of tiles for many rows; returns their names. */
static const char *put_product_tables(Gen *g, const Product *p)
{
    const Tiling *t = p->t;
    const unsigned widths = widths_of(p);
    const Epilogue first = { .dtype = p->ep.dtype,
                             .arithmetic = p->ep.arithmetic };
    Epilogue more = first, last = p->ep;
    Heights rows = heights_for(t, is_blocked(p) ? 1 : p->least);
    if (p->fixed)
        rows = heights_of(t, p->fixed);
    if (!is_blocked(p)) {
        put_tables(g, "of", t, widths, rows, p->ep);
        return "of";
    }
    more.parts |= EpAccumulate;
    last.parts |= EpAccumulate;
    put_tables(g, "first", t, widths, rows, first);
    put_tables(g, "more", t, widths, rows, more);
    put_tables(g, "last", t, widths, rows, last);
    return "first, more, last";
}

/* Emits a call of the function that computes the product in another way. */
static void put_other(Gen *g, const char *way, const Nests *n)
{
    const int parts = n->p.ep.parts;
    put_call(g->shapes, arena_printf(g->a, "%s%s", way, n->shape),
             arena_printf(g->a, "rows, from, to, %sx, ldx, w%s, y, ldy%s",
                          parts & EpSum ? "k, " : "",
                          parts & EpBias ? ", b" : "",
                          parts & EpResidual ? ", r, ldr" : ""),
             ";");
}

/* Begins the branch for a condition or, if it is NULL, for all other cases. */
static void put_branch(Emit *e, bool *open, const char *when)
{
    if (when)
        let(e, "when", "%s", when);
    put(e, when && *open ? "} else if ($when) {\n"
           : when        ? "if ($when) {\n"
           : *open       ? "} else {\n"
                         : "");
    *open |= when != NULL;
}

/* Emits the loop nests for few rows, for many rows by AMX and by copies, and
 * for all others, in this order. */
static void put_nests(Gen *g, const Nests *n)
{
    Emit *e = g->shapes;
    const Product *p = &n->p;
    const bool small = n->small && n->small->small_m > 1;
    const bool large = !n->always && !(p->fixed && small);
    const char *tables = "";
    const Shape s = shape_of_nests(n);
    bool open = false;
    if (small || large)
        put_shape(g, "s", &s);
    if (small)
        put_small_m_tables(g, "few", n->small,
                           p->fixed ? (Heights){ (int)p->fixed, (int)p->fixed }
                                    : (Heights){ 1, n->small->small_m - 1 },
                           p->ep);
    if (large)
        tables = put_product_tables(g, p);
    put(e, "\n");
    if (small) {
        put_branch(e, &open,
                   p->fixed ? NULL
                            : arena_printf(g->a, "rows <= %d",
                                           n->small->small_m - 1));
        put_nest(g, "small_m_product", "&s, few", p);
    }
    if (n->amx) {
        put_branch(e, &open,
                   small && n->small->small_m > FewAmxRows
                       ? "amx"
                       : arena_printf(g->a, "amx && rows > %d", FewAmxRows));
        put_other(g, "amx", n);
    }
    if (n->copies) {
        put_branch(e, &open,
                   large ? arena_printf(g->a, "rows > %d", n->copied_by.mr)
                         : NULL);
        put_other(g, "copied", n);
    }
    if (large) {
        put_branch(e, &open, NULL);
        put_nest(g, is_blocked(p) ? "blocked_product" : "large_product",
                 arena_printf(g->a, "&s, %s", tables), p);
    }
    if (open)
        put(e, "}\n");
}

static void put_prebuilt(Gen *g, const Nests *n)
{
    Shape s = shape_of_nests(n);
    if (n->copies)
        s.copied = put_copied_shape(g, "copied", &n->copied);
    if (n->amx)
        put_amx_shape(g, &n->p);
    put_shape(g, "s", &s);
    put(g->shapes, "\n");
    if (n->amx) {
        const int few = n->small ? n->small->small_m - 1 : 0;
        let(g->shapes, "few", "%d", few > FewAmxRows ? few : FewAmxRows);
        put(g->shapes, "if (amx && rows > $few) {\n");
        put_nest(g, "product_by_amx", "&by_amx", &n->p);
        put(g->shapes, "} else {\n");
    }
    put_nest(g, "product", "&s", &n->p);
    if (n->amx)
        put(g->shapes, "}\n");
}

const char *need_matmul(Gen *g, int node)
{
    Nests n;
    find_nests(g, node, &n);
    const Epilogue ep = n.p.ep;
    const SharedKey key = { .kind = SharedMatmul,
                            .size = { n.rows, n.p.k, n.p.n },
                            .ep = ep };
    bool made;
    const char *name = shared_name(g, &key,
                                   arena_printf(g->a, "matmul%s", n.shape),
                                   &made);
    if (made)
        return name;
    n.shape = name + sizeof "matmul" - 1;
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const bool prebuilt = g->o->mode == EmitJit;
    if (!prebuilt && n.copies)
        emit_copied(g, &n);
    if (!prebuilt && n.amx)
        emit_amx_product(g, &n.p, n.shape);
    let(e, "formula", "%s", epilogue_formula(g->a, ep));
    let(e, "k", "%lld", (long long)n.p.k);
    let(e, "n", "%lld", (long long)n.p.n);
    let(e, "of", "%s%s", ep.dtype == DtypeF32 ? "" : " ",
        ep.dtype == DtypeF32 ? "" : dtype_word[ep.dtype]);
    let(e, "rows", "%lld", (long long)n.p.fixed);
    let(e, "sums", dtype_is_integer(ep.dtype) ? " in int32" : "");
    put(e,
        n.p.fixed
            ? "/* y = $formula: x [$rows, $k], W$of [$n, $k] in panels of 16 */\n"
        : ep.parts & EpSum
            ? "/* y = $formula$sums by k of the $k columns, W$of [$n, $k] in panels\n"
              " * of 16; columns from .. to - 1 of y */\n"
            : "/* y = $formula: x [rows, $k], W$of [$n, $k] in panels of 16;\n"
              " * columns from .. to - 1 of y */\n");
    matmul_prototype(g, name, n.p.fixed, ep, n.amx);
    put(e, "{\n");
    if (prebuilt)
        put_prebuilt(g, &n);
    else
        put_nests(g, &n);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
