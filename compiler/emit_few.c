/* emit_few.c: products of few rows, as decoding has them. Their time is that of
 * reading the weights from memory, once: in panels that lie half of the matrix
 * apart, two at a time, which comes faster than from one place.             */
#include "emit_parts.h"

/* Are panels worked on about as long as they take to come from memory, so that
 * the next ones should be asked for meanwhile? With fewer rows the machine sees
 * by itself what is read, and reads up to a third faster; as measured.       */
static bool asks_ahead(int rows, Dtype dtype)
{
    return rows >= (dtype == DtypeBf16 ? 4 : 7);
}

/* The tile for each number of rows. */
static const char *need_few_rows(Gen *g, Dtype dtype)
{
    Emit *e = g->shapes;
    const Target *t = &g->p->target;
    const char *name = dtype == DtypeBf16 ? "few_rows_bf16" : "few_rows";
    if (!first_time(g, name))
        return name;
    const int mark = emit_mark(e);
    let(e, "most", "%d", t->few_mr);
    let(e, "nr", "%d", t->few_nr);
    put(e, "/* c = a b: at most $most rows, and $nr columns */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name),
             arena_printf(g->a, "int64_t rows, const float *a, int64_t lda, "
                          "const %s *b, int64_t ldb, int64_t k, float *c",
                          number_type(dtype)), "");
    put(e, "{\n");
    for (int mr = 1; mr <= t->few_mr; mr++) {
        const bool ahead = asks_ahead(mr, dtype);
        const Epilogue ep = { .parts = ahead ? EpAhead : 0, .dtype = dtype };
        let(e, "mr", "%d", mr);
        put(e, "if (rows == $mr) {\n");
        put_tile(g, mr, t->few_nr, ep,
                 arena_printf(g->a, "a, lda, b, ldb, k, c, %d, 0, 0, 0, 0, b%s",
                              t->few_nr, ahead ? " + 16 * k" : ""));
        put(e, "}\n");
    }
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}

/* act(c + bias) + residual, to columns n .. n + 15 of y. */
static void put_finish(Gen *g, Epilogue ep)
{
    const int ld = g->p->target.few_nr;
    const char *c = arena_printf(g->a, "c, %d", ld);
    if (ep.parts & EpBias)
        put_call(g, g->shapes, use_kernel(g->kernels, "bias_rows"),
                 arena_printf(g->a, "%s, %s, b + n, rows, 16", c, c), ";");
    if (ep.parts & EpAct)
        put_call(g, g->shapes, use_kernel(g->kernels, arena_printf(g->a,
                     "activate_rows_%s", act_kernel[ep.act])),
                 arena_printf(g->a, "%s, %s, rows, 16", c, c), ";");
    if (ep.parts & EpResidual)
        put_call(g, g->shapes, use_kernel(g->kernels, "add_rows"),
                 arena_printf(g->a, "y + n, ldy, %s, r + n, ldr, rows, 16", c),
                 ";");
    else
        put_call(g, g->shapes, use_kernel(g->kernels, "copy_rows"),
                 arena_printf(g->a, "y + n, ldy, %s, rows, 16", c), ";");
}

static const char *few_name(Gen *g, const char *shape)
{
    return arena_printf(g->a, "few%s", shape);
}

/* Columns of one panel after the other. */
static void few_body(Gen *g, Epilogue ep)
{
    Emit *e = g->shapes;
    put(e, "{\n"
           "    float c[$floats];\n"
           "\n"
           "    for (int64_t n = from; n < to; n += 16) {\n"
           "        $few(rows, x, ldx, w + n * $k, 0, $k, c);\n");
    put_finish(g, ep);
    put(e, "}\n"
           "}\n\n");
}

/* Of two panels that lie half of the columns apart; where their number is odd,
 * the last one stands alone. */
static void few_body_halves(Gen *g, Epilogue ep)
{
    Emit *e = g->shapes;
    put(e, "{\n"
           "    const int64_t half = (to - from + 16) / 32 * 16;\n"
           "    float sums[$floats];\n"
           "\n"
           "    for (int64_t j = from; j < from + half; j += 16) {\n"
           "        const int64_t far = j + half < to ? half : 0;\n"
           "        float *c = sums;\n"
           "\n"
           "        $few(rows, x, ldx, w + j * $k, far * $k, $k, c);\n"
           "        for (int64_t n = j; n < to; n += half) {\n");
    put_finish(g, ep);
    put(e, "c += 16;\n"
           "}\n"
           "}\n"
           "}\n\n");
}

void emit_few(Gen *g, const char *shape, int64_t k, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const Target *t = &g->p->target;
    let(e, "few", "%s", need_few_rows(g, ep.dtype));
    let(e, "k", "%lld", (long long)k);
    let(e, "floats", "%d", t->few_mr * t->few_nr);
    put(e, t->few_nr == 32
           ? "/* The product below, of few rows: in two panels at a time, half of\n"
             " * the columns apart, W comes from memory faster than in one. */\n"
           : "/* The product below, of few rows. */\n");
    matmul_prototype(g, few_name(g, shape), ep);
    if (t->few_nr == 32)
        few_body_halves(g, ep);
    else
        few_body(g, ep);
    emit_reset(e, mark);
}

void put_few_call(Gen *g, const char *shape, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "most", "%d", g->p->target.few_mr);
    put(e, "if (rows <= $most) {\n");
    put_call(g, e, few_name(g, shape), arena_printf(g->a,
             "rows, from, to, x, ldx, w%s, y, ldy%s",
             ep.parts & EpBias ? ", b" : "",
             ep.parts & EpResidual ? ", r, ldr" : ""), ";");
    put(e, "return;\n"
           "}\n");
    emit_reset(e, mark);
}
