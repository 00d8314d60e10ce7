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

int row_steps(const Gen *g, int step[5])
{
    int n = 0;
    step[n++] = g->p->target.mr;
    for (int mr = 8; mr >= 1; mr /= 2)
        if (mr < step[0])
            step[n++] = mr;
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

/* In a JIT skeleton one prebuilt tile serves every epilogue. */
static TileKey tile_key(const Gen *g, int mr, int nr, Epilogue ep)
{
    const bool any = g->o->mode == EmitJit
        && !(ep.parts & (EpAccumulate | EpAhead));
    const int next = ep.parts & EpNext;
    return (TileKey){ .mr = mr, .nr = nr, .dtype = ep.dtype,
                      .epilogue = any ? EpAny | next : ep.parts,
                      .act = any ? ActNone : ep.act,
                      .width = g->p->target.width };
}

/* Tiles of fewer rows read faster than they could ask. */
void put_tile(Gen *g, int mr, int nr, Epilogue ep, const char *args)
{
    if (mr < FewAhead || mr > NextMost)
        ep.parts &= ~EpNext;
    const char *name = use_tile(g->kernels, tile_key(g, mr, nr, ep));
    put_call(g, g->shapes, name, args, ";");
}

/* All rows against nr columns: whole tiles, then smaller ones. */
static void put_rows(Gen *g, int nr, Epilogue epilogue, const char *args)
{
    Emit *e = g->shapes;
    int mr[5];
    const int n = row_steps(g, mr);
    let(e, "mr", "%d", mr[0]);
    put(e, "int64_t i = 0;\n"
           "\n"
           "for (; i + $mr <= rows; i += $mr) {\n");
    put_tile(g, mr[0], nr, epilogue, args);
    put(e, "}\n");
    for (int s = 1; s < n; s++) {
        let(e, "mr", "%d", mr[s]);
        if (mr[s] == 1) {
            put(e, "if (i < rows) {\n");
            put_tile(g, 1, nr, epilogue, args);
            put(e, "}\n");
        } else {
            put(e, "if (i + $mr <= rows) {\n");
            put_tile(g, mr[s], nr, epilogue, args);
            put(e, "i += $mr;\n"
                   "}\n");
        }
    }
}

/* ---- constant shape ---- */

const char *epilogue_suffix(Arena *a, Epilogue ep)
{
    return arena_printf(a, "%s%s%s%s%s",
                        ep.dtype == DtypeBf16 ? "_bf16" : "",
                        ep.parts & EpBias ? "_bias" : "",
                        ep.act ? "_" : "",
                        ep.act ? act_kernel[ep.act] : "",
                        ep.parts & EpResidual ? "_residual" : "");
}

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

/* Columns j .. j + nr - 1 of all rows. */
static void put_columns(Gen *g, int64_t k, Epilogue ep, int nr)
{
    ep.parts |= g->p->few ? EpNext : 0;
    const char *args = arena_printf(g->a,
        "x + i * ldx, ldx, w + j * %lld, %lld, %lld, y + i * ldy + j, ldy, "
        "%s, %s, %s, %d", (long long)k, (long long)(16 * k), (long long)k,
        ep.parts & EpBias ? "b + j" : "0",
        ep.parts & EpResidual ? "r + i * ldr + j" : "0",
        ep.parts & EpResidual ? "ldr" : "0", ep.act);
    put_rows(g, nr, ep, args);
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
    put_rows(g, nr, ep,
             "a + i * lda, lda, b + j * ldb, ldb, k, c + i * ldc + j * 16, "
             "ldc, 0, 0, 0, 0");
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
    let(e, "op", "%s", accumulate ? "+=" : "=");
    put(e, "/* c $op a b: b is `panels` panels of 16 columns, ldb apart */\n");
    put_call(g, e, arena_printf(g->a, "static void %s", name),
             "int64_t rows, const float *a, int64_t lda, const float *b, "
             "int64_t ldb, int64_t k, int64_t panels, float *c, int64_t ldc",
             "");
    put(e, "{\n"
           "    int64_t j = 0;\n"
           "\n");
    for (int s = 0; s < steps; s++)
        panels_step(g, nr[s], nr[s] == 16,
                    (Epilogue){ .parts = accumulate ? EpAccumulate : 0 });
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
