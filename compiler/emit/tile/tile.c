/* tile.c: returns the names and parameters of tiles, and emits a tile as one
 * line that invokes a macro of kernels/tiles.c. */
#include "emit/tile/needs.h"

#include "spec/arithmetic.h"

enum { FewGroupRows = 2 }; /* more rows would need more registers */

const char *number_type(Dtype d)
{
    return d == DtypeInt8   ? "int8_t"
         : dtype_shared(d)  ? "uint8_t"
         : d == DtypeBf16   ? "uint16_t"
         : d == DtypeBf16x2 ? "uint32_t"
                            : "float";
}

const char *rows_type(Arithmetic a)
{
    return row_formats[a].type;
}

int element_bytes(Dtype d)
{
    return dtype_is_integer(d) ? 1 : (int)dtype_number_bytes(d);
}

int line_numbers(Dtype d)
{
    if (dtype_shared(d))
        return 64 + 256 / (int)dtype_shared(d);
    return 64 / element_bytes(d);
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

const char *tiles_name(Arena *a, TileKey k)
{
    return arena_printf(a, "%d%s%s", k.nr, tile_suffix(a, k),
                        k.apart ? "_apart" : "");
}

const char *tile_name(Arena *a, TileKey k)
{
    if (k.amx)
        return arena_printf(a, "amx_block%s", tile_suffix(a, k));
    return arena_printf(a, "tile_%dx%s", k.mr, tiles_name(a, k));
}

bool tile_prefetches(TileKey k)
{
    return k.width > 1 && k.epilogue & (EpPrefetch | EpAny);
}

bool tile_has(TileKey k, TileParameter p)
{
    if (k.epilogue & (EpPowers | EpRescale))
        return p < TileBias || p == TileNext || p == TileAhead
            || p == TileWaiting;
    return p != TileWaiting;
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

bool copies_have_tiles(const Target *t, Arithmetic a)
{
    return a == ArithmeticF32 ? t->width > 1 : target_widens(t);
}

int prebuilt_kind(Dtype d, Arithmetic a, bool wide)
{
    return wide ? WideKinds + (int)a : (int)a * (int)Dtypes + (int)d;
}

/* Returns the sums that a tile keeps in registers for each number of C. */
static int sums(TileKey k)
{
    const bool blocks = k.arithmetic == ArithmeticBf16Amx
                     || k.arithmetic == ArithmeticBf16x3;
    return blocks ? 2 : row_formats[k.arithmetic].planes;
}

bool tile_groups(TileKey k)
{
    return dtype_shared(k.dtype) && k.arithmetic != ArithmeticF32 && k.width > 1
        && k.mr * sums(k) <= FewGroupRows;
}

/* ---- its line ---- */

/* Reserves four registers for operands; the others hold sums. */
bool tile_of_tiles(TileKey k, int *rows, int *columns)
{
    const int most = k.registers - 4, wide = k.width == 16 ? 32 : 16;
    if (!k.prebuilt || k.width == 1 || k.mr * k.nr / k.width * sums(k) <= most)
        return false;
    *columns = k.nr < wide ? k.nr : wide;
    *rows = most * k.width / (*columns * sums(k));
    return true;
}

/* Returns e.g. "TileBias | TilePrefetch", or "0". */
static const char *tile_does(Arena *a, TileKey k)
{
    static const struct {
        int part;
        const char *word;
    } parts[] = {
        { EpBias, "TileBias" },         { EpAct, "TileAct" },
        { EpResidual, "TileResidual" }, { EpAccumulate | EpRescale, "TileAdd" },
        { EpSum, "TileSum" },
    };
    const int has = k.epilogue | (tile_prefetches(k) ? EpPrefetch : 0);
    const char *s = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has & parts[i].part)
            s = arena_printf(a, "%s | %s", s, parts[i].word);
    if (k.arithmetic == ArithmeticInt15)
        s = arena_printf(a, "%s | TileInt15", s);
    if (k.apart)
        s = arena_printf(a, "%s | TileApart", s);
    /* few rows of int4 reach the next lines soon */
    if (has & EpPrefetch && dtype_shared(k.dtype))
        s = arena_printf(a, "%s | TileNear", s);
    if (has & EpPrefetch && k.fetch_rows > 1)
        s = arena_printf(a, "%s | %d * TilePrefetch", s, k.fetch_rows);
    else if (has & EpPrefetch)
        s = arena_printf(a, "%s | TilePrefetch", s);
    return *s ? s + (sizeof " | " - 1) : "0";
}

/* True if the tile's line, not its caller, chooses the epilogue. */
static bool is_fixed(TileKey k)
{
    return !k.prebuilt && !(k.epilogue & (EpPowers | EpRescale | EpAny));
}

const char *tile_macro(TileKey k)
{
    int rows, columns;
    return k.amx       ? is_fixed(k) ? "AMX_BLOCK" : "AMX_BLOCK_ANY"
         : is_fixed(k) ? "TILE"
         : k.epilogue & (EpPowers | EpRescale) ? "TILE_WAITING"
         : tile_of_tiles(k, &rows, &columns)   ? "TILE_OF_TILES"
                                               : "TILE_ANY";
}

const char *tile_products(Arena *a, TileKey k)
{
    if (k.epilogue & (EpPowers | EpRescale))
        return k.epilogue & EpPowers ? "score_products" : "value_products";
    if (k.wide)
        return k.arithmetic == ArithmeticF32 ? "int8_floats" : "wide_dots";
    if (k.amx)
        return k.arithmetic == ArithmeticBf16Amx ? "amx_bf16"
             : k.arithmetic == ArithmeticBf16x3  ? "amx_bf16x3"
                                                 : "amx_int8";
    return arena_printf(a, "%s_%s", dtype_word[k.dtype],
                        k.arithmetic == ArithmeticF32       ? "products"
                        : k.arithmetic == ArithmeticBf16Dp  ? "dp"
                        : k.arithmetic == ArithmeticBf16Amx ? "amx"
                        : k.arithmetic == ArithmeticBf16x3  ? "x3"
                        : k.groups                          ? "nibble_dots"
                                                            : "dots");
}

static const char *tile_act(Arena *a, TileKey k)
{
    return !is_fixed(k) ? ""
         : !(k.epilogue & EpAct)
             ? ", 0"
             : arena_printf(a, ", v_%s", act_text[k.act].plain);
}

/* Returns the arguments of a macro after the name and the rows. */
static const char *tile_line(Arena *a, TileKey k)
{
    return arena_printf(a, "%d, %s, %s%s", k.nr, tile_products(a, k),
                        tile_does(a, k), tile_act(a, k));
}

void emit_tile_table(Emit *e, TileKey k, const char *macro)
{
    Arena *a = emit_arena(e);
    put_call(e, macro,
             arena_printf(a, "%s, %s", tiles_name(a, k), tile_line(a, k)), "");
}

void emit_tile(Emit *e, TileKey k)
{
    Arena *a = emit_arena(e);
    int rows, columns;
    const char *head = arena_printf(a, "%s, %d", tile_name(a, k), k.mr);
    if (k.amx) {
        put_call(e, tile_macro(k),
                 arena_printf(a, "%s, %s, %s%s", tile_name(a, k),
                              tile_products(a, k), tile_does(a, k),
                              tile_act(a, k)),
                 "");
        return;
    }
    put_call(e, tile_macro(k),
             tile_of_tiles(k, &rows, &columns)
                 ? arena_printf(
                       a, "%s, %d, %d, %d, %d, %d, sizeof(%s), sizeof(%s)",
                       head, k.nr, prebuilt_kind(k.dtype, k.arithmetic, k.wide),
                       (k.epilogue & EpAccumulate) != 0, rows, columns,
                       rows_type(k.arithmetic), number_type(k.dtype))
                 : arena_printf(a, "%s, %s", head, tile_line(a, k)),
             "");
}
