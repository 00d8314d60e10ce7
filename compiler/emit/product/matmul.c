/* matmul.c: emits the loop nests of products with constant shapes, using the
 * tilings of the plan. */
#include "emit/gen/length.h"
#include "emit/product/products.h"

/* the sums of a block with this many rows and columns stay in the cache,
 * together with x */
enum {
    SumRows = 288,
    SumColumns = 384 /* a multiple of the width of every tile */
};

/* True if the sum over k is split. Sums of integers are not: their operands are
 * small, and y cannot hold their partial sums. */
static bool is_blocked(const Product *p)
{
    return p->t->k < p->k && !dtype_is_integer(p->ep.dtype);
}

/* Returns the name of the function for a block of rows; the last block may be
 * shorter. */
static const char *need_all_rows(Gen *g, const Product *p, int nr, Epilogue ep)
{
    const bool some = is_blocked(p) || p->ep.wide;
    if (p->fixed)
        return need_fixed_rows(g, p->t, p->fixed, nr, ep);
    return need_rows(g, p->t, some ? 1 : p->least, nr, ep);
}

/* ---- columns j .. j + nr - 1 of all rows ---- */

/* Emits a call that multiplies some panels and prefetches the next ones. */
static void put_whole(Gen *g, const Product *p, int nr)
{
    const long long column = p->column, packed = p->packed;
    const char *w = arena_printf(g->a, "w + j * %lld", column);
    const char *next = arena_printf(g->a, "%sw + (j + %d) * %lld",
                                    packed ? "(const int8_t *)" : "", nr,
                                    packed ? packed : column);
    if (packed)
        put_copies(g, p, nr);
    put_call(g->shapes, need_all_rows(g, p, nr, p->ep),
             arena_printf(g->a, "%sx, ldx, %s, %lld, %lld, y + j, ldy%s%s%s",
                          p->fixed ? "" : "rows, ", packed ? "copy" : w,
                          ATTN_PANEL * column, (long long)p->k,
                          p->ep.parts & EpBias ? ", b + j" : "",
                          p->ep.parts & EpResidual ? ", r + j, ldr" : "",
                          next_panels(g, p->t, next)),
             ";");
}

/* Returns the epilogue of a block of k, which adds its partial sums to those in
 * y. */
static Epilogue block_first(const Product *p)
{
    return (Epilogue){ .dtype = p->ep.dtype };
}

static Epilogue block_more(const Product *p)
{
    return (Epilogue){ .parts = EpAccumulate, .dtype = p->ep.dtype };
}

/* Returns C for the address of a block's first row: "x + i * ldx", or "x" if
 * one call has all rows. */
static const char *from_row(Gen *g, const Product *p, const char *x,
                            const char *ld)
{
    return p->fixed ? x : arena_printf(g->a, "%s + i * %s", x, ld);
}

static void put_sums(Gen *g, const Product *p, int nr, Epilogue ep,
                     const char *x, const char *n)
{
    put_call(g->shapes, need_all_rows(g, p, nr, ep),
             arena_printf(g->a, "%s%s, ldx, p, %lld, %s, %s + j, ldy%s",
                          p->fixed ? "" : "some, ", x,
                          ATTN_PANEL * (long long)p->k, n,
                          from_row(g, p, "y", "ldy"),
                          next_panels(g, p->t,
                                      arena_printf(g->a, "p + %lld",
                                                   nr * (long long)p->k))),
             ";");
}

static void put_block(Gen *g, const Product *p, int nr)
{
    Emit *e = g->shapes;
    const long long k = p->k, step = p->t->k;
    const char *x = from_row(g, p, "x", "ldx");
    let(e, "k", "%lld", k);
    let(e, "step", "%lld", step);
    let(e, "number", "%s", number_type(p->ep.dtype));
    put(e, "const $number *p = w + j * $k + at * 16;\n"
           "\n"
           "if (at == 0) {\n");
    put_sums(g, p, nr, block_first(p), x, arena_printf(g->a, "%lld", step));
    put(e, "} else {\n");
    put_sums(g, p, nr, block_more(p), arena_printf(g->a, "%s + at", x),
             k % step ? arena_printf(g->a, "min(%lld, %lld - at)", step, k)
                      : arena_printf(g->a, "%lld", step));
    put(e, "}\n");
    if (p->ep.parts) {
        put(e, "if (at + $step >= $k) {\n");
        put_epilogue(g, p->ep,
                     (EpilogueArgs){
                         .sums = arena_printf(g->a, "%s + j, ldy",
                                              from_row(g, p, "y", "ldy")),
                         .bias = "b + j",
                         .residual = arena_printf(g->a, "%s + j, ldr",
                                                  from_row(g, p, "r", "ldr")),
                         .size = p->fixed
                                   ? arena_printf(g->a, "%lld, %d",
                                                  (long long)p->fixed, nr)
                                   : arena_printf(g->a, "some, %d", nr) });
        put(e, "}\n");
    }
}

static void put_columns(Gen *g, const Product *p, int nr)
{
    if (is_blocked(p))
        put_block(g, p, nr);
    else
        put_whole(g, p, nr);
}

/* ---- all columns ---- */

/* Finds the narrower tiles that any part needs. Parts begin at multiples of
 * t->panels panels. If these are multiples of the tile's width, only the last
 * part needs narrower tiles. */
static int narrow_tiles(const Product *p, int narrow[4])
{
    int step[4], n = 0;
    const int steps = tile_steps(p->t, step);
    const bool exact = p->fixed || ATTN_PANEL * p->t->panels % step[0] == 0;
    int64_t left = exact ? round16(p->n) % step[0] : step[0] - 16;
    for (int s = 1; s < steps; s++)
        if (left >= step[s]) {
            narrow[n++] = step[s];
            left -= exact ? step[s] : 0;
        }
    return n;
}

static bool is_wide(const Product *p)
{
    return round16(p->n) >= p->t->nr;
}

/* Emits the functions that the text of put_columns() calls. */
static void need_columns(Gen *g, const Product *p, int nr)
{
    if (is_blocked(p)) {
        need_min(g);
        need_all_rows(g, p, nr, block_first(p));
        need_all_rows(g, p, nr, block_more(p));
    } else {
        need_all_rows(g, p, nr, p->ep);
    }
}

static void need_all_columns(Gen *g, const Product *p)
{
    int narrow[4];
    const int n = narrow_tiles(p, narrow);
    if (is_wide(p))
        need_columns(g, p, p->t->nr);
    for (int s = 0; s < n; s++)
        need_columns(g, p, narrow[s]);
}

static void put_all_columns(Gen *g, const Product *p)
{
    Emit *e = g->shapes;
    int narrow[4];
    const int n = narrow_tiles(p, narrow);
    if (n)
        put(e, "int64_t j = $from;\n"
               "\n");
    if (is_wide(p)) {
        let(e, "wide", "%d", p->t->nr);
        put(e, n ? "for (; j + $wide <= $to; j += $wide) {\n"
                 : "for (int64_t j = $from; j < $to; j += $wide) {\n");
        put_columns(g, p, p->t->nr);
        put(e, "}\n");
    }
    for (int s = 0; s < n; s++) {
        let(e, "wide", "%d", narrow[s]);
        put(e, "if (j + $wide <= $to) {\n");
        put_columns(g, p, narrow[s]);
        put(e, s < n - 1 ? "j += $wide;\n"
                           "}\n"
                         : "}\n");
    }
}

/* Emits the blocks for a small, constant number of rows. */
static void put_fixed_blocks(Gen *g, const Product *p)
{
    Emit *e = g->shapes;
    let(e, "k", "%lld", (long long)p->k);
    let(e, "step", "%d", p->t->k);
    let(e, "columns", "%d", SumColumns);
    let(e, "n", "%lld", (long long)round16(p->n));
    put(e, "for (int64_t first = 0; first < $n; first += $columns) {\n"
           "    const int64_t last = min(first + $columns, $n);\n"
           "\n"
           "    for (int64_t at = 0; at < $k; at += $step) {\n");
    put_all_columns(g, p);
    put(e, "}\n"
           "}\n");
}

/* Emits the loop nest. It finishes a block of k for many rows and columns
 * before the next block: each panel of the block is read once for all these
 * rows, and x once for all these columns. */
static void matmul_body(Gen *g, const Product *p)
{
    Emit *e = g->shapes;
    const long long columns = round16(p->n);
    let(e, "from", is_blocked(p) ? "first" : p->fixed ? "0" : "from");
    let(e, "to", "%s",
        is_blocked(p) ? "last"
        : p->fixed    ? arena_printf(g->a, "%lld", columns)
                      : "to");
    if (!is_blocked(p)) {
        put_all_columns(g, p);
        return;
    }
    if (p->fixed) {
        put_fixed_blocks(g, p);
        return;
    }
    let(e, "k", "%lld", (long long)p->k);
    let(e, "step", "%d", p->t->k);
    let(e, "some", "%d", SumRows);
    let(e, "columns", "%d", SumColumns);
    put(e, "for (int64_t i = 0; i < rows; i += $some) {\n"
           "    const int64_t some = min(rows - i, $some);\n"
           "\n"
           "    for (int64_t first = from; first < to; first += $columns) {\n"
           "        const int64_t last = min(first + $columns, to);\n"
           "\n"
           "        for (int64_t at = 0; at < $k; at += $step) {\n");
    put_all_columns(g, p);
    put(e, "}\n"
           "}\n"
           "}\n");
}

/* Emits the loop nest over copied panels. */
static void emit_product_nest(Gen *g, const Product *p, const char *name,
                              const char *comment, Epilogue ep)
{
    Emit *e = g->shapes;
    need_all_columns(g, p);
    put(e, comment);
    matmul_prototype(g, name, 0, ep);
    put(e, "{\n");
    matmul_body(g, p);
    put(e, "}\n\n");
}

/* Emits the function for many rows, which multiplies copies of the panels. */
static void emit_copied(Gen *g, const Product *p, const char *shape,
                        Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const char *name = arena_printf(g->a, "copied%s", shape);
    if (!p->ep.wide) {
        emit_product_nest(
            g, p, name,
            "/* Computes the product below for many rows: unpacks each panel "
            "to int8 once. */\n",
            ep);
    } else {
        const char *wide = arena_printf(g->a, "wide%s", shape);
        need_min(g);
        emit_product_nest(g, p, wide,
                          "/* Computes the product below for rows in 16 "
                          "bits: widens each panel once. */\n",
                          ep);
        put(e,
            "/* Computes the product below for many rows: widens them. */\n");
        matmul_prototype(g, name, 0, ep);
        put(e, "{\n");
        put_wide_rows(g, p, wide, ep);
        put(e, "}\n\n");
    }
    emit_reset(e, mark);
}

/* Emits the call for many rows. Copies do not pay if one tile holds all
 * rows. */
static void put_copied_call(Gen *g, const Product *p, const char *shape,
                            bool always)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "mr", "%d", p->t->mr);
    if (!always)
        put(e, "if (rows > $mr) {\n");
    put_call(e, arena_printf(g->a, "copied%s", shape),
             product_arguments(g, p->ep), ";");
    if (!always)
        put(e, "return;\n"
               "}\n");
    emit_reset(e, mark);
}

typedef struct { /* the loop nests of a product, for many rows and for few */
    Product p;
    const Tiling *small; /* tiling for small M; NULL: M is never small */
    Product copied;
    Tiling copied_by, fixed_by;
    bool copies, always; /* blocks taller than one tile multiply unpacked
                          * weights; so does every product that is not
                          * small-M */
    int64_t rows;        /* number of rows of `p`; 0: not constant */
    const char *shape;   /* suffix of the functions' names */
} Nests;

/* Returns the number of rows of a product if it is constant; otherwise 0. */
static int64_t known_rows(const Gen *g, const Node *n)
{
    const int64_t rows = plan_rows(g->p, row_sym(n->type));
    const bool known = g->undivided && is_product(n) && rows <= SumRows
                    && row_times(n->type) == 1;
    return known && !dtype_is_integer(dtype_of(node_at(g->p, n->in[1])->type))
             ? rows
             : 0;
}

/* With prebuilt kernels no product is fixed, because they accept any number of
 * rows. */
bool has_fixed_product(const Gen *g, const Node *n)
{
    return g->o->mode != EmitJit && known_rows(g, n) > 0;
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
        n->fixed_by = plan_fixed_tiling(g->p, node);
        n->p.t = &n->fixed_by;
        if (n->small && rows >= n->small->small_m)
            n->small = NULL;
    }
    n->p.least = n->small && n->small->small_m > 1 ? n->small->small_m : 1;
    n->copies = copied_product(g, &n->p, &n->copied, &n->copied_by);
    n->always = n->copies && n->small && n->small->small_m > n->copied_by.mr;
    n->shape = arena_printf(g->a, "%s_%s%lldx%lld",
                            epilogue_suffix(g->a, n->p.ep),
                            rows ? arena_printf(g->a, "%lldx", (long long)rows)
                                 : "",
                            (long long)n->p.k, (long long)n->p.n);
}

/* Emits the functions that the product calls. */
static void need_nests(Gen *g, const Nests *n)
{
    if (n->p.fixed && n->small)
        return;
    if (!n->always)
        need_all_columns(g, &n->p);
    if (n->small && n->small->small_m > 1)
        emit_small_m(g, n->small, n->shape, n->p.k, n->p.ep);
    if (n->copies)
        emit_copied(g, &n->copied, n->shape, n->p.ep);
}

static void put_nests(Gen *g, const Nests *n)
{
    if (n->p.fixed && n->small) {
        put_fixed_small_m(g, n->small, &n->p);
        return;
    }
    if (n->small && n->small->small_m > 1)
        put_small_m_call(g, n->small, n->shape, n->p.ep);
    if (n->copies)
        put_copied_call(g, &n->copied, n->shape, n->always);
    if (!n->always)
        matmul_body(g, &n->p);
}

static void put_prebuilt(Gen *g, const Nests *n)
{
    const Product *p = &n->p;
    put_prebuilt_product(g, &(Shape){ .tiles = p->t,
                                      .small = n->small,
                                      .k = p->k,
                                      .column = p->column,
                                      .step = is_blocked(p) ? p->t->k : p->k,
                                      .rows = SumRows,
                                      .columns = SumColumns,
                                      .copied = n->copies ? &n->copied : NULL,
                                      .ep = p->ep });
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
    if (!prebuilt)
        need_nests(g, &n);
    let(e, "formula", "%s", epilogue_formula(g->a, ep));
    let(e, "k", "%lld", (long long)n.p.k);
    let(e, "n", "%lld", (long long)n.p.n);
    let(e, "of", "%s%s", ep.dtype == DtypeF32 ? "" : " ",
        ep.dtype == DtypeF32 ? "" : dtype_word[ep.dtype]);
    let(e, "rows", "%lld", (long long)n.p.fixed);
    put(e,
        n.p.fixed
            ? "/* y = $formula: x [$rows, $k], W$of [$n, $k] in panels of 16 */\n"
            : "/* y = $formula: x [rows, $k], W$of [$n, $k] in panels of 16;\n"
              " * columns from .. to - 1 of y */\n");
    matmul_prototype(g, name, n.p.fixed, ep);
    put(e, "{\n");
    if (prebuilt)
        put_prebuilt(g, &n);
    else
        put_nests(g, &n);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
