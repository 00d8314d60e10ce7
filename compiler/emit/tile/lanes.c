/* lanes.c: names and parameters of all tiles. Of tiles of integers also the
 * accumulators, a vector of a row each, and their epilogue. */
#include "emit/tile/lanes.h"

enum { MostRegisters = 32 }; /* of any machine: more sums are in memory */

const char *number_type(Dtype d)
{
    return d == DtypeInt8  ? "int8_t"
         : dtype_shared(d) ? "uint8_t"
         : d == DtypeBf16  ? "uint16_t"
                           : "float";
}

const char *rows_type(Arithmetic a)
{
    return a == ArithmeticF32 ? "float" : "uint8_t";
}

const char *tile_suffix(Arena *a, TileKey k)
{
    return epilogue_suffix(a, (Epilogue){ k.epilogue, k.act, k.dtype,
                                          k.arithmetic, k.wide });
}

bool suffix_same(const TileKey *a, const TileKey *b)
{
    return a->epilogue == b->epilogue
        && (!(a->epilogue & EpAct) || a->act == b->act) && a->dtype == b->dtype
        && a->arithmetic == b->arithmetic && a->wide == b->wide;
}

const char *tile_name(Arena *a, TileKey k)
{
    return arena_printf(a, "tile_%dx%d%s", k.mr, k.nr, tile_suffix(a, k));
}

bool tile_prefetches(TileKey k)
{
    return k.width > 1 && k.epilogue & (EpPrefetch | EpAny);
}

bool tile_has(TileKey k, TileParameter p)
{
    const bool any = k.epilogue & EpAny;
    const bool row = k.mr == 1 && k.width > 1;
    if (k.epilogue & (EpPowers | EpRescale))
        return p < TileBias || p == TileNext || p == TileAhead
            || p == TileWaiting;
    if (p == TileWaiting)
        return false;
    if (k.prebuilt)
        return true;
    if (!dtype_is_integer(k.dtype))
        return any || (p != TileAct && p != TileLdp);
    switch (p) {
    case TileLda:      return !row;
    case TileLdb:      return k.nr > ATTN_PANEL || k.width == 1;
    case TileLdc:      return !row || any;
    case TileBias:     return any || k.epilogue & EpBias;
    case TileResidual: return any || k.epilogue & EpResidual;
    case TileLdr:      return any || (!row && k.epilogue & EpResidual);
    case TileAct:      return any;
    case TileNext:
    case TileAhead:    return tile_prefetches(k);
    case TileLdp:      return any;
    default:           return true;
    }
}

int prebuilt_kind(Dtype d, Arithmetic a, bool wide)
{
    return wide ? WideKinds + (int)(a - ArithmeticInt8)
                : (int)a * (int)Dtypes + (int)d;
}

const char *tile_arguments(Arena *a, TileKey k,
                           const char *const text[TileParameters])
{
    const char *s = "";
    for (int p = 0; p < TileParameters; p++)
        if (tile_has(k, (TileParameter)p))
            s = arena_printf(a, "%s%s%s", s, *s ? ", " : "", text[p]);
    return s;
}

void let_at(Emit *e, const char *hole, const char *base, int times,
            const char *step, int plus)
{
    char product[64] = "", rest[32] = "";
    if (times == 1)
        snprintf(product, sizeof product, " + %s", step);
    else if (times > 1)
        snprintf(product, sizeof product, " + %d * %s", times, step);
    if (plus > 0)
        snprintf(rest, sizeof rest, " + %d", plus);
    let(e, hole, "%s%s%s", base, product, rest);
}

/* Binds `hole` to where column `column` of row i is, in what begins at hole. */
static void let_column(Emit *e, TileKey k, const char *hole, int i,
                       const char *ld, int column)
{
    const int panel = k.epilogue & EpAny ? column / ATTN_PANEL : 0;
    const char *base = !panel ? hole
                              : arena_printf(emit_arena(e), "%s + %d * ldp",
                                             hole, panel);
    let_at(e, hole, base, i, ld, column - panel * ATTN_PANEL);
}

void let_lane(Emit *e, TileKey k, int i, int j)
{
    const int column = j * k.width;
    let(e, "acc", "acc%d_%d", i, j);
    let(e, "bj", "b%d", j);
    let(e, "offset", "bias%d", j);
    let(e, "lane", "%d", i * k.nr + column);
    let_column(e, k, "c", i, "ldc", column);
    let_column(e, k, "bias", 0, "", column);
    let_column(e, k, "residual", i, "ldr", column);
}

void put_lanes(Emit *e, TileKey k, int i, const char *block)
{
    for (int j = 0; j < k.nr / k.width; j++) {
        const int mark = emit_mark(e);
        let_lane(e, k, i, j);
        put(e, block);
        emit_reset(e, mark);
    }
}

const char *tile_prefetch(TileKey k)
{
    return dtype_shared(k.dtype) && k.mr < FewIntegerRows ? "v_prefetch_near"
                                                          : "v_prefetch";
}

int line_numbers(Dtype d)
{
    if (dtype_shared(d))
        return 64 + 256 / (int)dtype_shared(d);
    return d == DtypeInt8 ? 64 : 16;
}

/* One line each of two panels: more would be in the way of what is computed.
 * One row has the time: it waits for its own panels anyway.                 */
void put_prefetch(Emit *e, TileKey k)
{
    const int panels = k.nr / ATTN_PANEL;
    for (int p = 0; p < (k.mr > 1 && panels > 2 ? 2 : panels); p++) {
        const int mark = emit_mark(e);
        let_at(e, "line", "next", p, "ldb", 0);
        let(e, "prefetch", "%s", tile_prefetch(k));
        put(e, "$prefetch($line);\n");
        emit_reset(e, mark);
    }
    put(e, "next += ahead;\n");
}

static void put_known_end(Emit *e, TileKey k)
{
    const bool bias = k.epilogue & EpBias, act = k.epilogue & EpAct;
    const bool residual = k.epilogue & EpResidual;
    if (bias)
        put_lanes(e, k, 0, "const v $offset = v_load($bias);\n");
    for (int i = 0; i < k.mr; i++) {
        if (bias)
            put_lanes(e, k, i, "$acc += $offset;\n");
        if (act)
            put_lanes(e, k, i, "$acc = $act($acc);\n");
        put_lanes(e, k, i,
                  residual ? "v_store($c, $acc + v_load($residual));\n"
                           : "v_store($c, $acc);\n");
    }
}

static void put_all_lanes(Emit *e, TileKey k, const char *block)
{
    for (int i = 0; i < k.mr; i++)
        put_lanes(e, k, i, block);
}

/* Of parts that are known at run time only: in registers, where
 * these hold the sums, and the activation is none or relu.                  */
static void put_any_end(Emit *e, TileKey k)
{
    let(e, "relu", "%d", ActRelu);
    let(e, "none", "%d", ActNone);
    if (k.mr * k.nr / k.width <= MostRegisters) {
        put(e, "if (act == $none || act == $relu) {\n"
               "    if (bias) {\n");
        put_lanes(e, k, 0, "const v $offset = v_load($bias);\n");
        put_all_lanes(e, k, "$acc += $offset;\n");
        put(e, "}\n"
               "if (act == $relu) {\n");
        put_all_lanes(e, k, "$acc = v_relu($acc);\n");
        put(e, "}\n"
               "if (residual) {\n");
        put_all_lanes(e, k, "$acc += v_load($residual);\n");
        put(e, "}\n");
        put_all_lanes(e, k, "v_store($c, $acc);\n");
        put(e, "return;\n"
               "}\n");
    }
    put(e, "float tile[$mr * $nr];\n");
    put_all_lanes(e, k, "v_store(tile + $lane, $acc);\n");
    put(e, "finish_rows(c, ldc, ldp, tile, $mr, $nr, bias, residual, ldr, "
           "act);\n");
}

void put_lanes_end(Emit *e, TileKey k)
{
    if (k.epilogue & EpAny)
        put_any_end(e, k);
    else
        put_known_end(e, k);
}

void put_scalar_end(Emit *e, TileKey k)
{
    let(e, "j", k.epilogue & EpAny ? "j / 16 * ldp" : "j");
    if (k.epilogue & EpAny)
        put(e, "if (bias)\n"
               "    x += bias[$j + l];\n"
               "x = activate(x, act);\n"
               "if (residual)\n"
               "    x += residual[r * ldr + $j + l];\n");
    if (k.epilogue & EpBias)
        put(e, "x += bias[j + l];\n");
    if (k.epilogue & EpAct)
        put(e, "x = $act(x);\n");
    if (k.epilogue & EpResidual)
        put(e, "x += residual[r * ldr + j + l];\n");
    put(e, "c[r * ldc + $j + l] = x;\n");
}
