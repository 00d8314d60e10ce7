/* panels.c: emits products of all rows and some columns in tiles, and products
 * of a run-time number of panels, which attention uses for its blocks of 64
 * keys. All tasks with the same tiling share these functions. */
#include "emit/gen/length.h"
#include "emit/product/products.h"

static bool same_tile(const Tiling *a, const Tiling *b)
{
    return a->mr == b->mr && a->nr == b->nr && a->prefetch == b->prefetch;
}

/* True if the plan has attention whose steps are not fused. */
static bool unfused(const Gen *g)
{
    for (int o = 0; o < g->p->order.n; o++) {
        const Op op = node_at(g->p, g->p->order.at[o])->op;
        if (op == OpScores || op == OpContext)
            return true;
    }
    return false;
}

/* True if the file has tilings of these kinds that differ from t; with
 * `height`, that differ in height. */
static bool others(const Gen *g, int kinds, const Tiling *t, bool height)
{
    const Tiling defaults = plan_tile(g->p);
    bool other = unfused(g)
              && (height ? defaults.mr != t->mr : !same_tile(&defaults, t));
    for (int i = 0; i < g->p->task.n && !g->only; i++) {
        const Task *task = &g->p->task.at[i];
        if (On(task->key.kind) & kinds)
            other |= height ? task->tiling.mr != t->mr
                            : !same_tile(&task->tiling, t);
    }
    return other && !g->only;
}

/* Returns a suffix such as "_prefetch3", or "" if the default number of tiles
 * share the prefetch. */
static const char *prefetch_suffix(Gen *g, const Tiling *t)
{
    return t->prefetch == DefaultPrefetch
             ? ""
             : arena_printf(g->a, "_prefetch%d", t->prefetch - 1);
}

const char *panels_suffix(Gen *g, const Tiling *t)
{
    return !others(g, On(TaskAttention), t, false)
             ? ""
             : arena_printf(g->a, "_%dx%d%s", t->mr, t->nr,
                            prefetch_suffix(g, t));
}

const char *next_panels(Gen *g, const Tiling *t, const char *next)
{
    return t->prefetch > 1 ? arena_printf(g->a, ", %s", next) : "";
}

/* ---- tiles ---- */

/* Returns the key of a tile. On scalar targets the tile does not prefetch,
 * because their compiler may not support it. */
static TileKey tile_key(const Gen *g, int mr, int nr, Epilogue ep)
{
    if (g->p->target.width == 1)
        ep.parts &= ~EpPrefetch;
    return (TileKey){ .mr = mr,
                      .nr = nr,
                      .dtype = ep.dtype,
                      .arithmetic = ep.arithmetic,
                      .epilogue = ep.parts,
                      .act = ep.act,
                      .wide = ep.wide,
                      .width = g->p->target.width };
}

void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters])
{
    const TileKey key = tile_key(g, mr, nr, ep);
    put_call(g->shapes, use_tile(g->kernels, key),
             tile_arguments(g->a, key, text), ";");
}

/* Returns the epilogue for a tile of `mr` rows. A single row does not prefetch:
 * its time is that of reading the panels, which the hardware prefetches faster
 * by itself, as measured. */
static Epilogue of_rows(int mr, Epilogue ep)
{
    if (mr == 1)
        ep.parts &= ~EpPrefetch;
    return ep;
}

/* Emits the call of a tile for `mr` rows from row `i`. The tile prefetches
 * `next`, `ahead` bytes per step. */
static void put_tile_at(Gen *g, int mr, int nr, Epilogue ep, Length i,
                        const char *next, const char *ahead)
{
    const bool residual = ep.parts & EpResidual;
    const char *row = length_c(g, i);
    ep = of_rows(mr, ep);
    const bool prefetch = tile_prefetches(tile_key(g, mr, nr, ep));
    const char *const text[TileParameters] = {
        length_is(i, 0) ? "a" : arena_printf(g->a, "a + %s * lda", row),
        "lda",
        "b",
        "ldb",
        "k",
        length_is(i, 0) ? "c" : arena_printf(g->a, "c + %s * ldc", row),
        "ldc",
        ep.parts & EpBias ? "bias" : "0",
        !residual         ? "0"
        : length_is(i, 0) ? "r"
                          : arena_printf(g->a, "r + %s * ldr", row),
        residual ? "ldr" : "0",
        arena_printf(g->a, "%d", ep.act),
        prefetch ? next : "0",
        prefetch ? ahead : "0",
        "16",
    };
    put_tile(g, mr, nr, ep, text);
}

/* Returns C for the number of elements in a cache line. */
static const char *line_text(Gen *g, Epilogue ep)
{
    return arena_printf(g->a, "%d", line_numbers(ep.dtype));
}

static void put_row_tile(Gen *g, const Tiling *t, int mr, int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "mr", "%d", mr);
    put(e, "if (mr == $mr) {\n");
    put_tile_at(g, mr, nr, ep, length_text("i"), "soon",
                t->prefetch == 2 ? line_text(g, ep) : "ahead");
    put(e, "}\n");
    emit_reset(e, mark);
}

static void rows_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep)
{
    put_call(
        g->shapes, arena_printf(g->a, "static void %s", name),
        arena_printf(
            g->a,
            "%sconst %s *a, int64_t lda, "
            "const %s *b, int64_t ldb, int64_t k, float *c, int64_t ldc%s%s%s",
            rows ? "" : "int64_t rows, ", rows_type(ep.arithmetic),
            number_type(ep.dtype),
            ep.parts & EpBias ? ", const float *bias" : "",
            ep.parts & EpResidual ? ", const float *r, int64_t ldr" : "",
            !(ep.parts & EpPrefetch) ? ""
                                     : arena_printf(g->a, ", const %s *next",
                                                    number_type(ep.dtype))),
        "");
}

/* ---- what is next ----
 *
 * Tiles share the prefetch of the next panels, which therefore arrive evenly
 * while the current ones are multiplied. Each tile prefetches parts of two
 * panels: with more than two, even tiles the first two, odd tiles the rest. */

static int panel_pairs(int nr)
{
    return nr > 2 * ATTN_PANEL ? 2 : 1;
}

/* Returns C for the number of elements of a panel with sums of k terms. */
static const char *panel_numbers(Epilogue ep)
{
    return dtype_is_integer(ep.dtype) ? "ldb" : "16 * k";
}

/* Emits $share, the number of tiles that prefetch two panels together, unless
 * that is one. */
static void put_share(Emit *e, const Tiling *t, int nr)
{
    let(e, "most", "%d", t->prefetch - 1);
    if (t->prefetch == 2)
        return;
    put(e,
        panel_pairs(nr) > 1
            ? "const int64_t share = tiles < 4 ? 1 : min(tiles / 2, $most);\n"
            : "const int64_t share = min(tiles, $most);\n");
}

/* Emits `soon`, the address of the part of the next panels that the current
 * tile prefetches. */
static void put_soon(Gen *g, const Tiling *t, int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    const bool pairs = panel_pairs(nr) > 1, one = t->prefetch == 2;
    const char *tile = pairs ? "t / 2" : "t";
    let(e, "number", "%s", number_type(ep.dtype));
    let(e, "round", "%d", line_numbers(ep.dtype) - 1);
    let(e, "tile", "%s", tile);
    let(e, "share", one ? "1" : "share");
    let(e, "pair", "%s", pairs ? " + t % 2 * 2 * ldb" : "");
    let(e, "part", "%s",
        one ? ""
            : arena_printf(g->a,
                           pairs ? " + %s * (%s) / share"
                                 : " + %s * %s / share",
                           panel_numbers(ep), tile));
    if (!one)
        put(e, "const int64_t ahead = (share + $round) / share;\n");
    put(e, "const $number *soon = b;\n"
           "\n"
           "if ($tile < $share)\n"
           "    soon = next$pair$part;\n");
}

/* Returns the height of the lowest tile that is needed for `least` rows or
 * more, if tiles are as tall as possible. */
static int lowest_tile(int least, int mr)
{
    const int halves = (mr + 1) / 2; /* two tiles have one row more than a
                                        tile */
    return least < halves ? least : halves;
}

/* Emits tiles that together have any number of rows. */
static void put_any_rows(Gen *g, const Tiling *t, int lowest, int nr,
                         Epilogue ep, bool prefetch)
{
    Emit *e = g->shapes;
    put(e, "const int64_t tiles = (rows + $less) / $mr;\n");
    if (prefetch)
        put_share(e, t, nr);
    put(e, "\n"
           "for (int64_t t = 0; t < tiles; t++) {\n"
           "    const int64_t i = rows * t / tiles;\n"
           "    const int64_t mr = rows * (t + 1) / tiles - i;\n");
    if (prefetch)
        put_soon(g, t, nr, ep);
    else
        put(e, "\n");
    for (int rows = t->mr; rows >= lowest; rows--)
        put_row_tile(g, t, rows, nr, ep);
    put(e, "}\n");
}

/* Returns C for the address that tile number `tile` prefetches, if the number
 * of rows is constant. */
static const char *fixed_soon(Gen *g, int64_t tile, int64_t share, int nr,
                              Epilogue ep)
{
    const int pairs = panel_pairs(nr);
    const long long part = tile / pairs;
    if (part >= share)
        return "b";
    return arena_printf(g->a, "next%s%s", tile % pairs ? " + 2 * ldb" : "",
                        part ? arena_printf(g->a, " + %s * %lld / %lld",
                                            panel_numbers(ep), part,
                                            (long long)share)
                             : "");
}

enum { MostListed = 8 }; /* maximum number of calls without a loop */

/* Emits tiles for a constant number of rows, taller tiles first. */
static void put_fixed_rows(Gen *g, int64_t rows, const Tiling *t, int nr,
                           Epilogue ep, bool prefetch)
{
    Emit *e = g->shapes;
    const int64_t tiles = (rows + t->mr - 1) / t->mr, low = rows / tiles;
    const int64_t high = rows % tiles, pairs = panel_pairs(nr);
    const int64_t some = tiles < MostListed ? tiles : MostListed;
    const int64_t all = some > pairs ? some / pairs : 1, most = t->prefetch - 1;
    const int64_t share = !prefetch ? 0 : all < most ? all : most;
    const int64_t listed = tiles > MostListed ? share * pairs : tiles;
    const int line = line_numbers(ep.dtype);
    const char *ahead = share < 2 ? line_text(g, ep)
                                  : arena_printf(g->a, "%lld",
                                                 (long long)((line + share - 1)
                                                             / share));
    int64_t i = 0;
    for (int64_t k = 0; k < listed; i += low + (k < high), k++)
        put_tile_at(g, (int)(low + (k < high)), nr, ep, length_of(i),
                    fixed_soon(g, k, share, nr, ep), ahead);
    for (int more = 1; more >= 0; more--) { /* the remaining rows, in loops */
        const int64_t end = more ? high * (low + 1) : rows;
        if (i >= end)
            continue;
        let(e, "i", "%lld", (long long)i);
        let(e, "end", "%lld", (long long)end);
        let(e, "mr", "%lld", (long long)(low + more));
        put(e, "for (int64_t i = $i; i < $end; i += $mr) {\n");
        put_tile_at(g, (int)(low + more), nr, ep, length_text("i"), "b", ahead);
        put(e, "}\n");
        i = end;
    }
}

static const char *tiles_name(Gen *g, const SharedKey *key, const Tiling *t,
                              bool *made)
{
    const int64_t rows = key->size[0], lowest = key->size[1];
    const bool told = rows > 0 || lowest > 1;
    const char *base = arena_printf(
        g->a, "rows%s_%s%s%d%s%s",
        rows ? arena_printf(g->a, "%lld", (long long)rows) : "",
        lowest > 1 ? arena_printf(g->a, "%d_to_", (int)lowest) : "",
        told || others(g, OnProducts, t, true)
            ? arena_printf(g->a, "%dx", t->mr)
            : "",
        key->nr, epilogue_suffix(g->a, key->ep), prefetch_suffix(g, t));
    return shared_name(g, key, base, made);
}

/* Returns the function for `rows` rows. If that is 0, returns the function for
 * any number of rows for which no tile is lower than `lowest`. */
static const char *need_tiles(Gen *g, const Tiling *t, int64_t rows, int lowest,
                              int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    const bool prefetch = t->prefetch > 1;
    const SharedKey key = { .kind = SharedRows,
                            .mr = t->mr,
                            .nr = nr,
                            .prefetch = t->prefetch,
                            .size = { rows, lowest },
                            .ep = ep };
    bool made;
    const char *name = tiles_name(g, &key, t, &made);
    if (made)
        return name;
    if (!rows && t->prefetch > 2)
        need_min(g);
    const int mark = emit_mark(e);
    ep.parts |= prefetch ? EpPrefetch : 0;
    let(e, "mr", "%d", t->mr);
    let(e, "less", "%d", t->mr - 1);
    let(e, "nr", "%d", nr);
    let(e, "rows", "%s", rows ? length_c(g, length_of(rows)) : "all");
    put(e,
        "/* Multiplies $rows rows of a by $nr columns. Heights of tiles differ by at\n"
        " * most one. */\n");
    rows_prototype(g, name, rows, ep);
    put(e, "{\n");
    const TileKey highest = tile_key(g, t->mr, nr, of_rows(t->mr, ep));
    const bool next = prefetch && tile_prefetches(highest);
    if (prefetch && !next)
        put(e, "(void)next;\n");
    if (rows)
        put_fixed_rows(g, rows, t, nr, ep, next);
    else
        put_any_rows(g, t, lowest, nr, ep, next);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}

const char *need_rows(Gen *g, const Tiling *t, int least, int nr, Epilogue ep)
{
    return need_tiles(g, t, 0, lowest_tile(least, t->mr), nr, ep);
}

const char *need_fixed_rows(Gen *g, const Tiling *t, int64_t rows, int nr,
                            Epilogue ep)
{
    return need_tiles(g, t, rows, 1, nr, ep);
}

int tile_steps(const Tiling *t, int step[4])
{
    int n = 0;
    step[n++] = t->nr;
    for (int nr = 2 * ATTN_PANEL; nr > 0; nr -= ATTN_PANEL)
        if (nr < step[n - 1])
            step[n++] = nr;
    return n;
}

/* ---- a run-time number of panels ---- */

static void panels_step(Gen *g, const Tiling *t, int nr, Epilogue ep)
{
    Emit *e = g->shapes;
    let(e, "p", "%d", nr / ATTN_PANEL);
    if (nr == ATTN_PANEL)
        put(e, "for (; j < panels; j++) {\n");
    else
        put(e, "for (; j + $p <= panels; j += $p) {\n");
    put_call(e, need_rows(g, t, 1, nr, ep),
             arena_printf(
                 g->a, "rows, a, lda, b + j * ldb, ldb, k, c + j * 16, ldc%s",
                 next_panels(g, t, "next + j * ldb")),
             ";");
    put(e, "}\n");
}

/* Emits the loops over panels, with tiles that are in this file. */
static void panels_body(Gen *g, const Tiling *t, Epilogue ep)
{
    int nr[4];
    const int steps = tile_steps(t, nr);
    put(g->shapes, "int64_t j = 0;\n"
                   "\n");
    for (int s = 0; s < steps; s++)
        panels_step(g, t, nr[s], ep);
}

/* Emits a call of attnc's prebuilt kernel. */
static void panels_call(Gen *g, const Tiling *t, Epilogue ep)
{
    put_shape(g, &(Shape){ .tiles = t });
    put_call(g->shapes, use_kernel(g->kernels, "product_panels"),
             arena_printf(g->a,
                          "&s, %d, rows, a, lda, b, ldb, k, panels, c, ldc, "
                          "%s",
                          ep.parts & EpAccumulate ? 1 : 0,
                          t->prefetch > 1 ? "next" : "b"),
             ";");
}

const char *need_panels(Gen *g, const Tiling *t, bool accumulate)
{
    const SharedKey key = { .kind = SharedPanels,
                            .mr = t->mr,
                            .nr = t->nr,
                            .prefetch = t->prefetch,
                            .size = { accumulate } };
    bool made;
    const char *name = shared_name(g, &key,
                                   arena_printf(g->a, "panels%s%s",
                                                accumulate ? "_add" : "",
                                                panels_suffix(g, t)),
                                   &made);
    if (made)
        return name;
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    int nr[4];
    const int steps = tile_steps(t, nr);
    const Epilogue ep = { .parts = accumulate ? EpAccumulate : 0 };
    const bool prebuilt = g->o->mode == EmitJit;
    for (int s = 0; s < steps && !prebuilt; s++)
        need_rows(g, t, 1, nr[s], ep);
    let(e, "op", "%s", accumulate ? "+=" : "=");
    put(e,
        t->prefetch > 1
            ? "/* Computes c $op a b. b has `panels` panels of 16 columns, ldb apart.\n"
              " * Prefetches those at `next`. */\n"
            : "/* Computes c $op a b. b has `panels` panels of 16 columns, ldb\n"
              " * apart. */\n");
    put_call(
        e, arena_printf(g->a, "static void %s", name),
        arena_printf(
            g->a,
            "int64_t rows, const float *a, int64_t lda, const float *b, "
            "int64_t ldb, int64_t k, int64_t panels, float *c, int64_t ldc%s",
            next_panels(g, t, "const float *next")),
        "");
    put(e, "{\n");
    if (prebuilt)
        panels_call(g, t, ep);
    else
        panels_body(g, t, ep);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
