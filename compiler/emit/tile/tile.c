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

static void put_start(Emit *e, TileKey k)
{
    const char *text = "v $acc = v_splat(0.0f);\n";
    if (k.epilogue & EpRescale)
        text = "v $acc = v_load($c) * v_splat(w->by[$row]);\n";
    else if (k.epilogue & EpAccumulate)
        text = "v $acc = v_load($c);\n";
    for (int i = 0; i < k.mr; i++) {
        const int mark = emit_mark(e);
        let(e, "row", "%d", i);
        put_lanes(e, k, i, text);
        emit_reset(e, mark);
    }
}

static void put_products(Emit *e, TileKey k)
{
    if (tile_prefetches(k))
        put_prefetch(e, k);
    put_lanes(e, k, 0,
              k.dtype == DtypeBf16 ? "const v $bj = v_widen($b);\n"
                                   : "const v $bj = v_load_aligned($b);\n");
    for (int i = 0; i < k.mr; i++) {
        const int mark = emit_mark(e);
        let_at(e, "at", "i", i, "lda", 0);
        put(e, i == 0 ? "v x = v_splat(a[$at]);\n" : "x = v_splat(a[$at]);\n");
        put_lanes(e, k, i, "$acc = v_fma(x, $bj, $acc);\n");
        emit_reset(e, mark);
    }
    put(e, "b += 16;\n");
}

/* A vector of scores becomes weights, then some of k are multiplied: units that
 * multiply have none of the scores' other work, so both go on side by side. */
static void put_loop_and_powers(Emit *e, TileKey k)
{
    let(e, "vectors", "%d", k.mr * k.nr / k.width);
    put(e, "const int64_t each = k < $vectors ? 1 : k / $vectors;\n"
           "float *s = w->s;\n"
           "float *const end = s + w->rows * $nr;\n"
           "for (int64_t i = 0, stop; i < k; i = stop) {\n"
           "    stop = i + each < k ? i + each : k;\n"
           "    if (s < end)\n"
           "        s = weights_of_16(w, s);\n"
           "    ROLLED\n"
           "    for (; i < stop; i++) {\n");
    put_products(e, k);
    put(e, "}\n"
           "}\n"
           "while (s < end)\n"
           "    s = weights_of_16(w, s);\n");
}

static void put_loop(Emit *e, TileKey k)
{
    if (k.epilogue & EpPowers) {
        put_loop_and_powers(e, k);
        return;
    }
    put(e, "ROLLED\n"
           "for (int64_t i = 0; i < k; i++) {\n");
    put_products(e, k);
    put(e, "}\n");
}

/* At width 1 the accumulators are an array, a panel at a time: as many names
 * would be slow to compile, and tcc keeps everything in memory anyway.      */
static void put_scalar_body(Emit *e, TileKey k)
{
    put(e, "for (int64_t j = 0; j < $nr; j += 16) {\n"
           "    float acc[$mr][16];\n"
           "    for (int64_t r = 0; r < $mr; r++)\n"
           "        for (int64_t l = 0; l < 16; l++)\n");
    put(e, k.epilogue & EpAccumulate
               ? "        acc[r][l] = c[r * ldc + j + l];\n"
               : "        acc[r][l] = 0.0f;\n");
    put(e, "for (int64_t i = 0; i < k; i++)\n"
           "    for (int64_t r = 0; r < $mr; r++)\n"
           "        for (int64_t l = 0; l < 16; l++)\n"
           "            acc[r][l] = v_fma(a[r * lda + i], $b,\n"
           "                              acc[r][l]);\n"
           "for (int64_t r = 0; r < $mr; r++) {\n"
           "    for (int64_t l = 0; l < 16; l++) {\n");
    put(e, "float x = acc[r][l];\n");
    put_scalar_end(e, k);
    put(e, "}\n"
           "}\n"
           "b += ldb;\n"
           "}\n");
}

void emit_tile(Emit *e, TileKey k, bool is_static)
{
    const int mark = emit_mark(e);
    let(e, "mr", "%d", k.mr);
    let(e, "nr", "%d", k.nr);
    put_signature(e, k, is_static ? "static void" : "void");
    if (k.epilogue & EpAct)
        let(e, "act", "v_%s", act_text[k.act].plain);
    TileKey part;
    if (tile_parts(k, &part)) {
        put_parts(e, k, part);
    } else if (dtype_is_integer(k.dtype)) {
        put_integer_tile(e, k);
    } else if (k.width == 1) {
        let(e, "b",
            k.dtype == DtypeBf16 ? "v_widen(b + i * 16 + l)" : "b[i * 16 + l]");
        put_scalar_body(e, k);
    } else {
        put_start(e, k);
        put_loop(e, k);
        put_lanes_end(e, k);
    }
    put(e, "}\n\n");
    emit_reset(e, mark);
}
