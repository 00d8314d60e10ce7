/* product_shape.c: emits the constant arguments of kernels/products.c: a shape,
 * and tables of tiles. In code for libtcc the kernels are attnc's own, compiled
 * for this machine, and choose tiles by kind. */
#include "emit/product/products.h"

/* ---- the shape ---- */

static const char *with(Arena *a, const char *fields, const char *name,
                        int64_t value)
{
    return value
             ? arena_printf(a, "%s, .%s = %lld", fields, name, (long long)value)
             : fields;
}

/* True if the length of the sums is `k`, known at run time. */
static bool has_some_terms(const Shape *s)
{
    return s->ep.parts & EpSum && s->k > 0;
}

static const char *shape_fields(const Gen *g, const Shape *s)
{
    Arena *a = g->a;
    const Dtype d = s->ep.dtype;
    const bool jit = g->o->mode == EmitJit, fetches = g->p->target.width > 1;
    const Tiling *t = s->tiles, *small = s->small;
    const bool few = small && small->small_m > 1;
    const char *f = "";
    f = with(a, f, "kind",
             jit ? prebuilt_kind(d, s->ep.arithmetic, s->ep.wide) : 0);
    f = with(a, f, "x_bytes", row_formats[s->ep.arithmetic].bytes);
    f = with(a, f, "bytes", element_bytes(d));
    if (has_some_terms(s))
        f = arena_printf(a, "%s, .k = k", f);
    else
        f = with(a, f, "k", s->k);
    f = with(a, f, "column", s->column);
    f = with(a, f, "mr", t->mr);
    f = with(a, f, "nr", t->nr);
    f = with(a, f, "line", line_numbers(d));
    f = with(a, f, "fetch", jit || fetches ? t->prefetch - 1 : 0);
    f = with(a, f, "step", jit || s->step < s->k ? s->step : 0);
    f = with(a, f, "rows", s->rows);
    f = with(a, f, "columns", s->columns);
    f = with(a, f, "small_m", jit && few ? small->small_m : 0);
    f = with(a, f, "streams", few ? small->streams : 0);
    f = with(a, f, "small_m_fetch", few ? small_m_prefetches(d) : 0);
    f = with(a, f, "small_m_ahead", few ? small_m_ahead(d) : 0);
    f = with(a, f, "act",
             !jit                                         ? 0
             : s->ep.parts & EpSum && dtype_is_integer(d) ? -1
                                                          : (int)s->ep.act);
    if (s->copied)
        f = arena_printf(a, "%s, .copied = &%s", f, s->copied);
    if (s->copy)
        f = arena_printf(a, "%s, .copy = %s", f, s->copy);
    return with(a, f, "row_bytes", s->row_bytes) + (sizeof ", " - 1);
}

void put_shape(Gen *g, const char *name, const Shape *s)
{
    put_items(g->shapes,
              arena_printf(g->a, "%sconst struct shape %s = ",
                           has_some_terms(s) ? "" : "static ", name),
              shape_fields(g, s), ";");
}

const char *put_copied_shape(Gen *g, const char *name, const Product *c)
{
    const char *copy = arena_printf(g->a, "%s_%s",
                                    !c->ep.wide ? "unpack"
                                    : c->rows   ? "widen"
                                                : "float",
                                    dtype_word[c->from]);
    put_shape(g, name,
              &(Shape){ .tiles = c->t,
                        .column = c->column,
                        .rows = c->rows,
                        .copy = use_kernel(g->kernels, copy),
                        .row_bytes = c->line,
                        .ep = c->ep });
    return name;
}

/* ---- tables of tiles ---- */

TileKey tile_key(const Gen *g, int mr, int nr, Epilogue ep)
{
    if (g->p->target.width == 1)
        ep.parts &= ~EpPrefetch;
    if (!dtype_is_integer(ep.dtype))
        ep.parts &= ~EpSum;
    return (TileKey){ .mr = mr,
                      .nr = nr,
                      .dtype = ep.dtype,
                      .arithmetic = ep.arithmetic,
                      .epilogue = ep.parts,
                      .act = ep.act,
                      .wide = ep.wide,
                      .width = g->p->target.width };
}

/* Tiles are as low as half of mr + 1, because mr + 1 rows need two tiles, whose
 * heights differ by at most one. */
Heights heights_for(const Tiling *t, int least)
{
    const int halves = (t->mr + 1) / 2;
    return (Heights){ least < halves ? least : halves, t->mr };
}

Heights heights_of(const Tiling *t, int64_t rows)
{
    const int64_t tiles = (rows + t->mr - 1) / t->mr;
    return (Heights){ (int)(rows / tiles), (int)((rows + tiles - 1) / tiles) };
}

void put_tables(Gen *g, const char *name, const Tiling *t, unsigned widths,
                Heights rows, Epilogue ep)
{
    const char *tables = "";
    if (t->prefetch > 1)
        ep.parts |= EpPrefetch;
    for (int p = 0; widths >> p; p++) {
        TileKey key = tile_key(g, rows.most, ATTN_PANEL * (p + 1), ep);
        key.fetch_rows = 2; /* for one row the hardware's own prefetch is
                             * faster */
        tables = arena_printf(g->a, "%s, %s", tables,
                              widths >> p & 1
                                  ? use_tiles(g->kernels, key, rows.least)
                                  : "0");
    }
    put_items(g->shapes,
              arena_printf(g->a, "static tile *const *const %s[] = ", name),
              tables + (sizeof ", " - 1), ";");
}

void put_small_m_tables(Gen *g, const char *name, const Tiling *t, Heights rows,
                        Epilogue ep)
{
    ep.parts |= EpPrefetch;
    TileKey key = tile_key(g, rows.most, ATTN_PANEL * t->streams, ep);
    key.apart = true;
    key.fetch_rows = small_m_ahead(ep.dtype) ? 1 : small_m_prefetches(ep.dtype);
    const char *table = use_tiles(g->kernels, key, rows.least);
    /* two streams also multiply a last panel, twice */
    put_items(g->shapes,
              arena_printf(g->a, "static tile *const *const %s[] = ", name),
              t->streams == 2 ? arena_printf(g->a, "%s, %s", table, table)
                              : table,
              ";");
}
