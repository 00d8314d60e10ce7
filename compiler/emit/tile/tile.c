/* tile.c: prints one tile: a line of a macro of kernels/tiles.c, or of integers
 * a function with mr x nr named accumulators (tile_int.c). */
#include "emit/tile/lanes.h"

/* Prebuilt tiles of all dtypes have one type. */
static void put_signature(Emit *e, TileKey k, const char *head)
{
    Arena *a = emit_arena(e);
    const char *of = k.prebuilt ? "_of" : "";
    const char *number = number_type(k.dtype);
    const char *x = rows_type(k.arithmetic);
    const char *const declared[TileParameters] = {
        arena_printf(a, "const %s *a%s", k.prebuilt ? "void" : x, of),
        "int64_t lda",
        arena_printf(a, "const %s *b%s", k.prebuilt ? "void" : number, of),
        "int64_t ldb",
        "int64_t k",
        "float *c",
        "int64_t ldc",
        "const float *bias",
        "const float *residual",
        "int64_t ldr",
        "int64_t act",
        arena_printf(a, "const %s *next%s", k.prebuilt ? "void" : number, of),
        "int64_t ahead",
        "int64_t ldp",
        "const struct waiting *w",
    };
    put_call(e, arena_printf(a, "%s %s", head, tile_name(a, k)),
             tile_arguments(a, k, declared), "");
    let(e, "x", "%s", x);
    let(e, "number", "%s", number);
    put(e, "{\n");
    if (k.prebuilt)
        put(e, "const $x *a = a_of;\n"
               "const $number *b = b_of, *next = next_of;\n"
               "\n");
}

/* "TileBias | TilePrefetch"; "0": nothing. */
static const char *tile_does(Arena *a, TileKey k)
{
    static const struct {
        int part;
        const char *word;
    } parts[] = {
        { EpBias, "TileBias" },         { EpAct, "TileAct" },
        { EpResidual, "TileResidual" }, { EpAccumulate | EpRescale, "TileAdd" },
        { EpPrefetch, "TilePrefetch" },
    };
    const int has = k.epilogue | (tile_prefetches(k) ? EpPrefetch : 0);
    const char *s = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has & parts[i].part)
            s = arena_printf(a, "%s%s%s", s, *s ? " | " : "", parts[i].word);
    return *s ? s : "0";
}

/* Its line names what it does to its sums; else its caller does. */
static bool is_fixed(TileKey k)
{
    return !k.prebuilt && !(k.epilogue & (EpPowers | EpRescale | EpAny));
}

const char *tile_macro(TileKey k)
{
    return is_fixed(k)                         ? "TILE"
         : k.epilogue & (EpPowers | EpRescale) ? "TILE_WAITING"
                                               : "TILE_ANY";
}

const char *tile_products(Arena *a, TileKey k)
{
    return k.epilogue & EpPowers ? "score_products"
         : k.epilogue & EpRescale
             ? "value_products"
             : arena_printf(a, "%s_products", dtype_word[k.dtype]);
}

static void put_tile_line(Emit *e, TileKey k)
{
    Arena *a = emit_arena(e);
    const char *macro = tile_macro(k);
    const char *act = !is_fixed(k) ? ""
                    : k.epilogue & EpAct
                        ? arena_printf(a, ", v_%s", act_text[k.act].plain)
                        : ", 0";
    put_call(e, macro,
             arena_printf(a, "%s, %d, %d, %s, %s%s", tile_name(a, k), k.mr,
                          k.nr, tile_products(a, k), tile_does(a, k), act),
             "");
}

void emit_tile(Emit *e, TileKey k, bool is_static)
{
    TileKey part;
    const bool parts = tile_parts(k, &part);
    if (!parts && !dtype_is_integer(k.dtype)) {
        put_tile_line(e, k);
        return;
    }
    const int mark = emit_mark(e);
    let(e, "mr", "%d", k.mr);
    let(e, "nr", "%d", k.nr);
    put_signature(e, k, is_static ? "static void" : "void");
    if (k.epilogue & EpAct)
        let(e, "act", "v_%s", act_text[k.act].plain);
    if (parts)
        put_parts(e, k, part);
    else
        put_integer_tile(e, k);
    put(e, "}\n\n");
    emit_reset(e, mark);
}
