/* tile_parts.c: the JIT's tiles with more sums than registers hold: they call
 * others, of some of their rows and columns. No tiling that is the default or
 * that tune tries has one.                                                  */
#include "emit/tile/lanes.h"

/* Beside sums, registers hold what these are made of: four. */
bool tile_parts(TileKey k, TileKey *part)
{
    const int planes = tile_planes(k), most = k.registers - 4;
    const int wide = k.width == 16 ? 32 : 16;
    if (!k.prebuilt || k.width == 1 || k.mr * k.nr / k.width * planes <= most)
        return false;
    *part = k;
    part->nr = k.nr < wide ? k.nr : wide;
    part->mr = most * k.width / (part->nr * planes);
    if (part->mr > k.mr)
        part->mr = k.mr;
    return true;
}

/* The part at row i, column j, of a tile of all parameters. */
static void put_tile_part(Emit *e, TileKey part)
{
    static const char *const text[TileParameters] = {
        "a + i * lda",
        "lda",
        "b + j / 16 * ldb",
        "ldb",
        "k",
        "c + i * ldc + j / 16 * ldp",
        "ldc",
        "bias ? bias + j / 16 * ldp : bias",
        "residual ? residual + i * ldr + j / 16 * ldp : residual",
        "ldr",
        "act",
        "next + j / 16 * ldb",
        "ahead",
        "ldp",
    };
    Arena *a = emit_arena(e);
    put_call(e, tile_name(a, part), tile_arguments(a, part, text), ";");
}

/* All rows of some columns. */
static void put_part_rows(Emit *e, TileKey k, TileKey part, int columns)
{
    part.nr = columns;
    let(e, "rows", "%d", part.mr);
    put(e, "int64_t i = 0;\n"
           "\n"
           "ROLLED\n"
           "for (; i + $rows <= $mr; i += $rows) {\n");
    put_tile_part(e, part);
    put(e, "}\n");
    part.mr = k.mr % part.mr;
    if (part.mr)
        put_tile_part(e, part);
}

void put_parts(Emit *e, TileKey k, TileKey part)
{
    const int rest = k.nr % part.nr;
    let(e, "whole", "%d", k.nr - rest);
    let(e, "columns", "%d", part.nr);
    put(e, "ROLLED\n"
           "for (int64_t j = 0; j < $whole; j += $columns) {\n");
    put_part_rows(e, k, part, part.nr);
    put(e, "}\n");
    if (rest) {
        put(e, "const int64_t j = $whole;\n");
        put_part_rows(e, k, part, rest);
    }
}
