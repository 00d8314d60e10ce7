/* emit_matmul.c: the loop nests around tile functions: products with constant
 * shape, and the product with a run-time number of panels that attention
 * uses for its chunks of 64 keys.                                           */
#include "emit_parts.h"

#include <string.h>

int tile_steps(const Gen *g, int step[4])
{
    int n = 0;
    step[n++] = g->p->target.nr;
    for (int nr = 32; nr >= 16; nr -= 16)
        if (nr < step[n - 1])
            step[n++] = nr;
    return n;
}

bool first_time(Gen *g, const char *name)
{
    for (int i = 0; i < g->shape_names.n; i++)
        if (!strcmp(g->shape_names.at[i], name))
            return false;
    vec_push(g->a, &g->shape_names, name);
    return true;
}

void need_least(Gen *g)
{
    if (first_time(g, "least"))
        put(g->shapes,
            "static int64_t least(int64_t a, int64_t b)\n"
            "{\n"
            "    return a < b ? a : b;\n"
            "}\n\n");
}

/* In a JIT skeleton one prebuilt tile serves every epilogue. A compiler for one
 * float at a time may know no way to ask ahead.                             */
static TileKey tile_key(const Gen *g, int mr, int nr, Epilogue ep)
{
    const bool jit = g->o->mode == EmitJit;
    const bool any = jit && !(ep.parts & EpAccumulate);
    if (!jit && g->p->target.width == 1)
        ep.parts &= ~EpAhead;
    return (TileKey){ .mr = mr, .nr = nr, .dtype = ep.dtype,
                      .epilogue = any ? EpAny : ep.parts,
                      .act = any ? ActNone : ep.act,
                      .width = g->p->target.width };
}

void put_tile(Gen *g, int mr, int nr, Epilogue ep, const char *args)
{
    const char *name = use_tile(g->kernels, tile_key(g, mr, nr, ep));
    put_call(g, g->shapes, name, args, ";");
}

const char *epilogue_suffix(Arena *a, Epilogue ep)
{
    return arena_printf(a, "%s%s%s%s%s%s",
                        ep.dtype == DtypeBf16 ? "_bf16" : "",
                        ep.parts & EpBias ? "_bias" : "",
                        ep.act ? "_" : "",
                        ep.act ? act_kernel[ep.act] : "",
                        ep.parts & EpResidual ? "_residual" : "",
                        ep.parts & EpAccumulate ? "_accumulate" : "");
}

/* The call of the tile for `mr` rows from row i. */
static void put_row_tile(Gen *g, int mr, int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "mr", "%d", mr);
    put(e, "if (mr == $mr) {\n");
    put_tile(g, mr, nr, ep, arena_printf(g->a,
             "a + i * lda, lda, b, ldb, k, c + i * ldc, ldc, %s, %s, %d, next",
             ep.parts & EpBias ? "bias" : "0",
             ep.parts & EpResidual ? "r + i * ldr, ldr" : "0, 0", ep.act));
    put(e, "}\n");
    emit_reset(e, mark);
}

/* All rows against nr columns: tiles whose heights differ by one at most, for a
 * low one reads the panels as long as a high one does. Panels that are read
 * soon come from memory meanwhile: two by the first tile, two by the second. */
static const char *need_rows(Gen *g, int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mr = g->p->target.mr;
    const char *name = arena_printf(g->a, "rows_%d%s", nr,
                                    epilogue_suffix(g->a, ep));
    if (!first_time(g, name))
        return name;
    const int mark = emit_mark(e);
    ep.parts |= EpAhead;
    let(e, "mr", "%d", mr);
    let(e, "less", "%d", mr - 1);
    let(e, "nr", "%d", nr);
    put(e, "/* All rows of a times $nr columns, in tiles of like heights. */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name), arena_printf(
        g->a, "int64_t rows, const float *a, int64_t lda, const %s *b, "
        "int64_t ldb, int64_t k, float *c, int64_t ldc%s%s, const %s *next",
        number_type(ep.dtype), ep.parts & EpBias ? ", const float *bias" : "",
        ep.parts & EpResidual ? ", const float *r, int64_t ldr" : "",
        number_type(ep.dtype)), "");
    put(e, "{\n"
           "    const int64_t tiles = (rows + $less) / $mr;\n"
           "\n"
           "    for (int64_t t = 0; t < tiles; t++) {\n"
           "        const int64_t i = rows * t / tiles;\n"
           "        const int64_t mr = rows * (t + 1) / tiles - i;\n"
           "\n");
    for (int rows = mr; rows > 0; rows--)
        put_row_tile(g, rows, nr, ep);
    put(e, nr > 32 ? "next = t == 0 ? next + 2 * ldb : b;\n" : "next = b;\n");
    put(e, "}\n"
           "}\n\n");
    emit_reset(e, mark);
    return name;
}

/* ---- constant shape ---- */

static const char *formula(Arena *a, Epilogue ep)
{
    const char *s = ep.parts & EpBias ? "x W^T + b" : "x W^T";
    if (ep.act)
        s = arena_printf(a, "%s(%s)", act_kernel[ep.act], s);
    return ep.parts & EpResidual ? arena_printf(a, "%s + r", s) : s;
}

void matmul_prototype(Gen *g, const char *name, Epilogue ep)
{
    const char *args = arena_printf(g->a,
        "int64_t rows, int64_t from, int64_t to, const float *x, int64_t ldx, "
        "const %s *w, %sfloat *y, int64_t ldy%s", number_type(ep.dtype),
        ep.parts & EpBias ? "const float *b, " : "",
        ep.parts & EpResidual ? ", const float *r, int64_t ldr" : "");
    put_call(g, g->shapes, arena_printf(g->a, "static void %s", name), args,
             "");
}

/* Columns j .. j + nr - 1 of all rows, while those behind them come. */
static void put_columns(Gen *g, int64_t k, Epilogue ep, int nr)
{
    put_call(g, g->shapes, need_rows(g, nr, ep), arena_printf(g->a,
             "rows, x, ldx, w + j * %lld, %lld, %lld, y + j, ldy%s%s, "
             "w + (j + %d) * %lld", (long long)k, (long long)(16 * k),
             (long long)k, ep.parts & EpBias ? ", b + j" : "",
             ep.parts & EpResidual ? ", r + j, ldr" : "", nr, (long long)k),
             ";");
}

/* What put_columns() calls for n columns is printed before the caller. */
static void need_columns(Gen *g, int64_t n, Epilogue ep)
{
    int nr[4];
    const int steps = tile_steps(g, nr);
    int64_t left = round16(n);
    for (int s = 0; s < steps; s++) {
        if (left >= nr[s])
            need_rows(g, nr[s], ep);
        left %= nr[s];
    }
}

/* Columns are divided at multiples of the widest tile, so that none but the
 * last of all need smaller ones.                                            */
static void matmul_body(Gen *g, int64_t k, int64_t n, Epilogue ep)
{
    Emit *e = g->shapes;
    int nr[4];
    const int steps = tile_steps(g, nr);
    int64_t left = round16(n) % nr[0];
    if (left)
        put(e, "int64_t j = from;\n"
               "\n");
    if (left < round16(n)) {
        let(e, "nr", "%d", nr[0]);
        put(e, left ? "for (; j + $nr <= to; j += $nr) {\n"
                    : "for (int64_t j = from; j < to; j += $nr) {\n");
        put_columns(g, k, ep, nr[0]);
        put(e, "}\n");
    }
    for (int s = 1; s < steps; s++) {
        if (left < nr[s])
            continue;
        left -= nr[s];
        let(e, "nr", "%d", nr[s]);
        put(e, "if (j + $nr <= to) {\n");
        put_columns(g, k, ep, nr[s]);
        put(e, left ? "j += $nr;\n"
                      "}\n" : "}\n");
    }
}

const char *need_matmul(Gen *g, int64_t k, int64_t n, Epilogue ep)
{
    const char *shape = arena_printf(g->a, "%s_%lldx%lld",
                                     epilogue_suffix(g->a, ep), (long long)k,
                                     (long long)n);
    const char *name = arena_printf(g->a, "matmul%s", shape);
    if (!first_time(g, name))
        return name;
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    need_columns(g, n, ep);
    if (g->p->few)
        emit_few(g, shape, k, ep);
    let(e, "formula", "%s", formula(g->a, ep));
    let(e, "k", "%lld", (long long)k);
    let(e, "n", "%lld", (long long)n);
    let(e, "of", ep.dtype == DtypeBf16 ? " bf16" : "");
    put(e, "/* y = $formula: x [rows, $k], W$of [$n, $k] in panels of 16;\n"
           " * columns from .. to - 1 of y */\n");
    matmul_prototype(g, name, ep);
    put(e, "{\n");
    if (g->p->few)
        put_few_call(g, shape, ep);
    matmul_body(g, k, n, ep);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}

/* ---- run-time number of panels ---- */

static void panels_step(Gen *g, int nr, bool last, Epilogue ep)
{
    Emit *e = g->shapes;
    let(e, "p", "%d", nr / 16);
    if (last)
        put(e, "for (; j < panels; j++) {\n");
    else
        put(e, "for (; j + $p <= panels; j += $p) {\n");
    put_call(g, e, need_rows(g, nr, ep), "rows, a, lda, b + j * ldb, ldb, k, "
             "c + j * 16, ldc, next + j * ldb", ";");
    put(e, "}\n");
}

const char *need_panels(Gen *g, bool accumulate)
{
    const char *name = accumulate ? "panels_add" : "panels";
    if (!first_time(g, name))
        return name;
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    int nr[4];
    const int steps = tile_steps(g, nr);
    const Epilogue ep = { .parts = accumulate ? EpAccumulate : 0 };
    for (int s = 0; s < steps; s++)
        need_rows(g, nr[s], ep);
    let(e, "op", "%s", accumulate ? "+=" : "=");
    put(e, "/* c $op a b: b is `panels` panels of 16 columns, ldb apart; those at\n"
           " * `next` are read soon. */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name),
             "int64_t rows, const float *a, int64_t lda, const float *b, "
             "int64_t ldb, int64_t k, int64_t panels, float *c, int64_t ldc, "
             "const float *next", "");
    put(e, "{\n"
           "    int64_t j = 0;\n"
           "\n");
    for (int s = 0; s < steps; s++)
        panels_step(g, nr[s], nr[s] == 16, ep);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
