/* tile.c: prints one tile function: mr x nr named accumulators, a loop
 * over k with one FMA each, an epilogue. Panels are 16 columns, k-major: an
 * element of A is spread, a row of a panel is read in vectors.              */
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
        { EpResidual, "TileResidual" }, { EpAccumulate, "TileAdd" },
        { EpPrefetch, "TilePrefetch" },
    };
    const int has = k.epilogue | (tile_prefetches(k) ? EpPrefetch : 0);
    const char *s = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has & parts[i].part)
            s = arena_printf(a, "%s%s%s", s, *s ? " | " : "", parts[i].word);
    return *s ? s : "0";
}

const char *tile_macro(TileKey k)
{
    return k.epilogue & EpPowers            ? "TILE_SCORES"
         : k.epilogue & EpRescale           ? "TILE_VALUES"
         : k.prebuilt || k.epilogue & EpAny ? "TILE_ANY"
                                            : "TILE";
}

const char *tile_products(Arena *a, TileKey k)
{
    return arena_printf(a, "%s_products", dtype_word[k.dtype]);
}

static void put_line(Emit *e, TileKey k)
{
    Arena *a = emit_arena(e);
    const bool waits = k.epilogue & (EpPowers | EpRescale);
    const bool act = k.epilogue & EpAct, any = k.prebuilt || k.epilogue & EpAny;
    put_call(e, tile_macro(k),
             arena_printf(a, "%s, %d, %d%s%s, %s%s%s", tile_name(a, k), k.mr,
                          k.nr, waits ? "" : ", ",
                          waits ? "" : tile_products(a, k), tile_does(a, k),
                          waits || any ? ""
                          : act        ? ", v_"
                                       : ", 0",
                          act ? act_text[k.act].plain : ""),
             "");
}

void emit_tile(Emit *e, TileKey k, bool is_static)
{
    const int mark = emit_mark(e);
    TileKey part;
    const bool parts = tile_parts(k, &part);
    let(e, "mr", "%d", k.mr);
    let(e, "nr", "%d", k.nr);
    if (!parts && !dtype_is_integer(k.dtype)) {
        put_line(e, k);
        emit_reset(e, mark);
        return;
    }
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
