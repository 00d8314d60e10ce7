/* kernelset.c: a program that runs at build time. `kernelset x86-64-v3` prints
 * the C file with the kernels that a JIT skeleton may call on that machine:
 * every kernel and every tile, and a table by name. */
#include "emit/tile/needs.h"
#include "spec/arithmetic.h"

#include <stdlib.h>
#include <string.h>

enum { MostRows = 16, MostPanels = 4 }; /* maximum size of a tile */

_Static_assert(WaitingRows == 6,
               "kernels/products.c has waiting_tiles of so many");
_Static_assert(FewIntegerRows == 4, "kernels/vector_tiles.c has so many");
_Static_assert(ActNone == 0 && ActRelu == 1, "kernels/vector_tiles.c has Relu");
_Static_assert(PrebuiltKinds == 39,
               "kernels/products.c has `tiles` of so many");

static TileKey prebuilt_tile(const Target *t, int kind, bool adds, int mr,
                             int panels)
{
    const bool wide = kind >= WideKinds;
    return (TileKey){ .mr = mr,
                      .nr = panels * ATTN_PANEL,
                      .dtype = wide ? DtypeInt8 : (Dtype)(kind % Dtypes),
                      .arithmetic = (Arithmetic)(wide ? kind - WideKinds
                                                      : kind / (int)Dtypes),
                      .epilogue = adds ? EpAccumulate | EpPrefetch : EpAny,
                      .wide = wide,
                      .width = t->width,
                      .prebuilt = true,
                      .registers = t->registers };
}

/* Returns the block of kernels/amx.c for an arithmetic. */
static TileKey prebuilt_amx(const Target *t, Arithmetic a)
{
    return (TileKey){ .mr = 1,
                      .nr = ATTN_PANEL,
                      .dtype = row_formats[a].groups,
                      .arithmetic = a,
                      .epilogue = EpAny,
                      .width = t->width,
                      .amx = true };
}

static bool is_amx(const Target *t, Arithmetic a)
{
    return t->amx && a != ArithmeticF32 && a != ArithmeticBf16Dp;
}

/* True if tiles of a kind of prebuilt_kind() exist. Integer tiles are never
 * added to C. */
static bool is_tile(const Target *t, int kind, bool adds)
{
    if (kind >= WideKinds)
        return !adds && copies_have_tiles(t, (Arithmetic)(kind - WideKinds));
    const Dtype d = (Dtype)(kind % Dtypes);
    return arithmetic_reads((Arithmetic)(kind / (int)Dtypes), d)
        && !(adds && dtype_is_integer(d));
}

/* Returns the tile that computes scores of a page of 64 keys or, if `adds`,
 * rescales rows and adds values to them. */
static TileKey waiting_tile(const Target *t, int adds, int mr, int panels)
{
    return (TileKey){ .mr = mr,
                      .nr = panels * ATTN_PANEL,
                      .epilogue = EpPrefetch | (adds ? EpRescale : EpPowers),
                      .width = t->width,
                      .prebuilt = true,
                      .registers = t->registers };
}

static bool is_waiting_tile(const Target *t, int adds, int panels)
{
    return t->width == ATTN_PANEL && (adds || panels == MostPanels);
}

#define NONE NULL
#define PIECE(name) name
#define CALLS(name) NULL
static const char *const plain_of_op[] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value, \
           gate, code, plain, ...)                                             \
    plain,
#include "graph/ops.h"
};

/* Ends the build if the file `file`.c of kernels/ lacks a piece that a table
 * requires. The section `section` of docs/adding.md describes how to write
 * it. */
static void check_piece(const Kernels *k, const char *name, const char *file,
                        const char *section)
{
    if (kernels_have(k, name))
        return;
    fprintf(stderr,
            "kernelset: compiler/emit/kernels/%s.c has no piece %s: add it "
            "(docs/adding.md, %s)\n",
            file, name, section);
    exit(1);
}

static void need_activations(Arena *a, const Kernels *fast,
                             const Kernels *plain)
{
    for (int act = ActNone + 1; act < ActCount; act++) {
        const char *name = act_text[act].plain;
        check_piece(fast, arena_printf(a, "v_%s", name), "activations",
                    "An activation");
        check_piece(plain, arena_printf(a, "%s_rows", name), "plain",
                    "An activation");
    }
}

static void need_plain(Arena *a, const Kernels *plain)
{
    const size_t ops = sizeof plain_of_op / sizeof *plain_of_op;
    for (size_t i = 0; i < ops; i++)
        if (plain_of_op[i])
            check_piece(plain, plain_of_op[i], "plain", "An op");
    for (int d = DtypeF32 + 1; dtype_choices[d]; d++)
        if (!dtype_shared((Dtype)d) || d == DtypeInt4) {
            check_piece(plain, arena_printf(a, "embed_%s", dtype_word[d]),
                        "plain", "A format of weights");
            check_piece(plain, arena_printf(a, "matmul_%s", dtype_word[d]),
                        "plain_products", "A format of weights");
        }
}

static void use_all(Kernels *k, const Target *t)
{
    use_all_kernels(k);
    for (int mr = 1; mr <= MostRows; mr++)
        for (int panels = 1; panels <= MostPanels; panels++)
            for (int kind = 0; kind < PrebuiltKinds; kind++)
                for (int adds = 0; adds < 2; adds++)
                    if (is_tile(t, kind, adds))
                        use_tile(k, prebuilt_tile(t, kind, adds, mr, panels));
    for (int a = 0; a < (int)Arithmetics; a++)
        if (is_amx(t, (Arithmetic)a))
            use_tile(k, prebuilt_amx(t, (Arithmetic)a));
    for (int mr = 1; mr <= WaitingRows; mr++)
        for (int panels = 1; panels <= MostPanels; panels++)
            for (int adds = 0; adds < 2; adds++)
                if (is_waiting_tile(t, adds, panels))
                    use_tile(k, waiting_tile(t, adds, mr, panels));
}

/* Emits the table that panels_waiting() reads. */
static void emit_waiting_tiles(Arena *a, Emit *e, const Target *t)
{
    put(e, "static waiting_tile *const waiting_tiles[2][6][4] = {\n");
    for (int adds = 0; adds < 2; adds++)
        for (int mr = 1; mr <= WaitingRows; mr++)
            for (int panels = 1; panels <= MostPanels; panels++)
                if (is_waiting_tile(t, adds, panels)) {
                    let(e, "at", "[%d][%d][%d]", adds, mr - 1, panels - 1);
                    let(e, "tile", "%s",
                        tile_name(a, waiting_tile(t, adds, mr, panels)));
                    put(e, "$at = $tile,\n");
                }
    put(e, "};\n");
}

/* Emits the table that product_by_amx() reads. */
static void emit_amx_blocks(Arena *a, Emit *e, const Target *t)
{
    const char *all = "";
    for (int kind = 0; kind < WideKinds; kind++) {
        const Arithmetic by = (Arithmetic)(kind / (int)Dtypes);
        if (is_amx(t, by) && arithmetic_reads(by, (Dtype)(kind % Dtypes)))
            all = arena_printf(a, "%s, [%d] = %s", all, kind,
                               tile_name(a, prebuilt_amx(t, by)));
    }
    if (*all)
        put_items(e, "static amx_block *const amx_blocks[39] = ",
                  all + (sizeof ", " - 1), ";");
}

/* Emits a table of tiles by rows. Returns its name. */
static const char *emit_tile_rows(Arena *a, Emit *e, const Target *t, int kind,
                                  int adds, int panels)
{
    const char *name = arena_printf(a, "tiles_%d_%d_%d", kind, adds, panels);
    const char *tiles = "";
    for (int mr = 1; mr <= MostRows; mr++)
        tiles = arena_printf(a, "%s, %s", tiles,
                             tile_name(a, prebuilt_tile(t, kind, adds, mr,
                                                        panels)));
    put_items(e, arena_printf(a, "static tile *const %s[] = ", name),
              tiles + (sizeof ", " - 1), ";");
    return name;
}

/* Emits the tables that kernels/products.c reads. */
static void emit_tile_tables(Arena *a, Emit *e, const Target *t)
{
    const char *all = "";
    for (int kind = 0; kind < PrebuiltKinds; kind++)
        for (int adds = 0; adds < 2; adds++)
            for (int panels = 1; panels <= MostPanels; panels++)
                if (is_tile(t, kind, adds))
                    all = arena_printf(a, "%s, [%d][%d][%d] = %s", all, kind,
                                       adds, panels - 1,
                                       emit_tile_rows(a, e, t, kind, adds,
                                                      panels));
    put_items(e, "static tile *const *const tiles[39][2][4] = ",
              all + (sizeof ", " - 1), ";");
}

/* Returns e.g. "kernels_x86_64_v3". */
static const char *table_name(Arena *a, const char *machine)
{
    char *name = arena_printf(a, "kernels_%s", machine);
    for (char *c = name; *c; c++)
        if (*c == '-' || *c == '+' || *c == '.')
            *c = '_';
    return name;
}

static void emit_table(Arena *a, const Kernels *k, Emit *e, const char *machine)
{
    let(e, "table", "%s", table_name(a, machine));
    put(e, "struct Kernel {\n"
           "    const char *name;\n"
           "    void (*function)(void);\n"
           "};\n"
           "extern const struct Kernel $table[];\n"
           "const struct Kernel $table[] = {\n");
    for (int i = 0; i < kernels_count(k); i++) {
        let(e, "kernel", "%s", kernels_nth(k, i));
        put(e, "{ \"$kernel\", (void (*)(void))$kernel },\n");
    }
    put(e, "{ 0, 0 }\n"
           "};\n");
}

int main(int argc, char **argv)
{
    Arena *a = arena_new();
    Target t;
    TargetNames names;
    Fault why;
    if (argc != 2 || !target_find(&t, argv[1], 0, NULL, &why)) {
        fprintf(stderr, "usage: kernelset TARGET: one of %s\n",
                target_list(&names));
        return 2;
    }
    /* the target of the code that calls these kernels decides if it does */
    t.amx = target_has(&t, "avx512vnni");
    Kernels *k = kernels_new(a, &t, false), *plain = kernels_plain(a);
    need_activations(a, k, plain);
    need_plain(a, plain);
    Emit *e = emit_new(a);
    use_all(k, &t);
    emit_kernels(k, e);
    emit_tile_tables(a, e, &t);
    emit_amx_blocks(a, e, &t);
    if (t.width == ATTN_PANEL)
        emit_waiting_tiles(a, e, &t);
    emit_table(a, k, e, argv[1]);
    size_t n;
    const char *text = emit_text(e, &n);
    const bool written = fwrite(text, 1, n, stdout) == n && !fflush(stdout);
    arena_free(a);
    return written ? 0 : 1;
}
