/* small_m.c: emits products of a small M, as in decoding. Their time is that of
 * reading the weights from memory once. Two panels that are half of the matrix
 * apart are read at a time, which is faster than reading from one place. */
#include "emit/product/products.h"

/* True if other small-M products have other tilings. */
static bool other_rows(const Gen *g, const Tiling *t)
{
    bool other = false;
    for (int i = 0; i < g->p->task.n && !g->only; i++)
        if (g->p->task.at[i].key.kind == TaskSmallM
            && g->p->task.at[i].tiling.small_m > 1)
            other |= !tiling_same(&g->p->task.at[i].tiling, t);
    return other;
}

/* Returns C for the address that tiles of this many rows prefetch for sums of
 * k; "b" if they prefetch nothing. */
static const char *prefetched(Gen *g, Dtype d, int rows)
{
    if (rows < small_m_prefetches(d))
        return small_m_ahead(d) ? arena_printf(g->a, "b + %d", small_m_ahead(d))
                                : "b";
    const long long line = panel_column(d, 1), ending = panel_column(d, 0);
    const long long group = dtype_stored(d, 1);
    return !ending
             ? "b + 16 * k"
             : arena_printf(g->a, "b + 16 * ((k + %lld) / %lld * %lld + %lld)",
                            group - 1, group, line - ending, ending);
}

/* Like prefetched(), for consecutive panels at `b`. */
static const char *fixed_next(Gen *g, const char *next, const char *b,
                              const Product *p)
{
    return next[1] ? arena_printf(g->a, "%s + %lld", b,
                                  (long long)(ATTN_PANEL * p->column))
                   : b;
}

/* Returns the epilogue of a tile, which computes only sums. */
static Epilogue sums_of(Epilogue of, const char *next)
{
    return (Epilogue){ .parts = next[1] ? EpPrefetch : 0,
                       .dtype = of.dtype,
                       .arithmetic = of.arithmetic };
}

/* Returns the function that has a tile for each number of rows. */
static const char *need_small_m_rows(Gen *g, const Tiling *t, Epilogue of)
{
    Emit *e = g->shapes;
    const int nr = ATTN_PANEL * t->streams;
    const SharedKey key = {
        .kind = SharedSmallRows, .mr = t->small_m - 1, .nr = nr, .ep = of
    };
    bool made;
    const char *base = arena_printf(g->a, "small_m_rows%s%s",
                                    other_rows(g, t)
                                        ? arena_printf(g->a, "_%dx%d",
                                                       t->small_m - 1, nr)
                                        : "",
                                    epilogue_suffix(g->a, of));
    const char *name = shared_name(g, &key, base, &made);
    if (made)
        return name;
    const int mark = emit_mark(e);
    let(e, "most", "%d", t->small_m - 1);
    let(e, "nr", "%d", nr);
    put(e, "/* Computes c = a b: at most $most rows, and $nr columns. */\n");
    put_call(e, arena_printf(g->a, "static void %s", name),
             arena_printf(g->a,
                          "int64_t rows, const %s *a, int64_t lda, "
                          "const %s *b, int64_t ldb, int64_t k, float *c",
                          rows_type(of.arithmetic), number_type(of.dtype)),
             "");
    put(e, "{\n");
    const char *line = arena_printf(g->a, "%d", line_numbers(of.dtype));
    for (int mr = 1; mr < t->small_m; mr++) {
        const char *next = prefetched(g, of.dtype, mr);
        const char *const text[TileParameters] = {
            "a", "lda", "b", "ldb", "k",  "c",  arena_printf(g->a, "%d", nr),
            "0", "0",   "0", "0",   next, line, "16",
        };
        let(e, "mr", "%d", mr);
        put(e, "if (rows == $mr) {\n");
        put_tile(g, mr, nr, sums_of(of, next), text);
        put(e, "}\n");
    }
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}

/* Emits the epilogue of columns n to n + 15 of y. */
static void put_small_columns(Gen *g, const Tiling *t, Epilogue ep,
                              const char *rows)
{
    put_epilogue(g, ep,
                 (EpilogueArgs){ .sums = arena_printf(g->a, "c, %d",
                                                      ATTN_PANEL * t->streams),
                                 .bias = "b + n",
                                 .y = "y + n, ldy",
                                 .residual = "r + n, ldr",
                                 .size = arena_printf(g->a, "%s, 16", rows) });
}

static const char *small_m_name(Gen *g, const char *shape)
{
    return arena_printf(g->a, "small_m%s", shape);
}

/* Emits the loop over panels, one after another. */
static void small_m_body(Gen *g, const Tiling *t, Epilogue ep)
{
    Emit *e = g->shapes;
    put(e, "{\n"
           "    float c[$floats];\n"
           "\n"
           "    for (int64_t n = from; n < to; n += 16) {\n"
           "        $small_m(rows, x, ldx, w + n * $column, 0, $k, c);\n");
    put_small_columns(g, t, ep, "rows");
    put(e, "}\n"
           "}\n\n");
}

/* Emits the loop over pairs of panels half of the columns apart. If their
 * number is odd, the last one is read alone. */
static void small_m_body_halves(Gen *g, const Tiling *t, Epilogue ep)
{
    Emit *e = g->shapes;
    put(e,
        "{\n"
        "    const int64_t half = (to - from + 16) / 32 * 16;\n"
        "    float sums[$floats];\n"
        "\n"
        "    for (int64_t j = from; j < from + half; j += 16) {\n"
        "        const int64_t far = j + half < to ? half : 0;\n"
        "        float *c = sums;\n"
        "\n"
        "        $small_m(rows, x, ldx, w + j * $column, far * $column, $k, c);\n"
        "        for (int64_t n = j; n < to; n += half) {\n");
    put_small_columns(g, t, ep, "rows");
    put(e, "c += 16;\n"
           "}\n"
           "}\n"
           "}\n\n");
}

void emit_small_m(Gen *g, const Tiling *t, const char *shape, int64_t k,
                  Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const Epilogue sums = { .dtype = ep.dtype, .arithmetic = ep.arithmetic };
    let(e, "small_m", "%s", need_small_m_rows(g, t, sums));
    let(e, "k", "%lld", (long long)k);
    let(e, "column", "%lld", (long long)panel_column(ep.dtype, k));
    let(e, "floats", "%d", (t->small_m - 1) * ATTN_PANEL * t->streams);
    put(e,
        t->streams == 2
            ? "/* Computes the product below for few rows. Reads two panels of W at a time,\n"
              " * half of the columns apart: memory delivers two streams faster. */\n"
            : "/* Computes the product below for few rows. */\n");
    matmul_prototype(g, small_m_name(g, shape), 0, ep);
    if (t->streams == 2)
        small_m_body_halves(g, t, ep);
    else
        small_m_body(g, t, ep);
    emit_reset(e, mark);
}

void put_small_m_call(Gen *g, const Tiling *t, const char *shape, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "most", "%d", t->small_m - 1);
    put(e, "if (rows <= $most) {\n");
    put_call(e, small_m_name(g, shape), product_arguments(g, ep), ";");
    put(e, "return;\n"
           "}\n");
    emit_reset(e, mark);
}

void put_fixed_small_m(Gen *g, const Tiling *t, const Product *p)
{
    Emit *e = g->shapes;
    const int nr = ATTN_PANEL * t->streams, rows = (int)p->fixed;
    const int64_t all = round16(p->n), half = (all + 16) / 32 * 16;
    const int64_t end = t->streams == 2 ? half : all;
    const long long column = p->column, far = half * column;
    const bool odd = all % 32 != 0;
    const char *next = prefetched(g, p->ep.dtype, rows);
    const char *b = arena_printf(g->a, "w + j * %lld", column);
    const char *ldb = t->streams < 2 ? "0"
                    : odd ? arena_printf(g->a, "j + %lld < %lld ? %lld : 0",
                                         (long long)half, (long long)all, far)
                          : arena_printf(g->a, "%lld", far);
    const char *const text[TileParameters] = {
        "x",
        "ldx",
        b,
        ldb,
        arena_printf(g->a, "%lld", (long long)p->k),
        "c",
        arena_printf(g->a, "%d", nr),
        "0",
        "0",
        "0",
        "0",
        fixed_next(g, next, b, p),
        arena_printf(g->a, "%d", line_numbers(p->ep.dtype)),
        "16",
    };
    let(e, "floats", "%d", rows * nr);
    let(e, "end", "%lld", (long long)end);
    let(e, "half", "%lld", (long long)end);
    let(e, "all", "%lld", (long long)all);
    put(e, "float sums[$floats];\n"
           "\n"
           "for (int64_t j = 0; j < $end; j += 16) {\n"
           "    float *c = sums;\n"
           "\n");
    put_tile(g, rows, nr, sums_of(p->ep, next), text);
    put(e, "for (int64_t n = j; n < $all; n += $half) {\n");
    put_small_columns(g, t, p->ep, arena_printf(g->a, "%d", rows));
    put(e, "c += 16;\n"
           "}\n"
           "}\n");
    if (rows == 1)
        put(e, "(void)ldx;\n"
               "(void)ldy;\n");
}
