/* panels.c: emits products whose number of panels is known at run time, which
 * attention uses for its blocks of 64 keys. All tasks with the same tiling
 * share these functions. */
#include "emit/product/products.h"

static bool same_tile(const Tiling *a, const Tiling *b)
{
    return a->mr == b->mr && a->nr == b->nr && a->prefetch == b->prefetch;
}

/* True if the plan has attention with unfused steps. */
static bool unfused(const Gen *g)
{
    for (int o = 0; o < g->p->order.n; o++) {
        const Op op = node_at(g->p, g->p->order.at[o])->op;
        if (op == OpScores || op == OpContext)
            return true;
    }
    return false;
}

/* True if attention in this file has other tilings than `t`. */
static bool others(const Gen *g, const Tiling *t)
{
    const Tiling defaults = plan_tile(g->p);
    bool other = unfused(g) && !same_tile(&defaults, t);
    for (int i = 0; i < g->p->task.n; i++) {
        const Task *task = &g->p->task.at[i];
        other |= task->key.kind == TaskAttention
              && !same_tile(&task->tiling, t);
    }
    return other && !g->only;
}

const char *panels_suffix(Gen *g, const Tiling *t)
{
    if (!others(g, t))
        return "";
    return arena_printf(g->a, "_%dx%d%s", t->mr, t->nr,
                        t->prefetch == DefaultPrefetch
                            ? ""
                            : arena_printf(g->a, "_prefetch%d",
                                           t->prefetch - 1));
}

const char *next_panels(Gen *g, const Tiling *t, const char *next)
{
    return t->prefetch > 1 ? arena_printf(g->a, ", %s", next) : "";
}

void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters])
{
    const TileKey key = tile_key(g, mr, nr, ep);
    put_call(g->shapes, use_tile(g->kernels, key),
             tile_arguments(g->a, key, text), ";");
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

unsigned widths_for(const Tiling *t, int64_t columns)
{
    int nr[4];
    const int steps = tile_steps(t, nr);
    unsigned widths = 0;
    for (int s = 0; s < steps; s++) {
        if (columns && columns < nr[s])
            continue;
        widths |= 1u << (nr[s] / ATTN_PANEL - 1);
        if (columns && !(columns %= nr[s]))
            break;
    }
    return widths;
}

void put_fixed_panels(Gen *g, const Tiling *t, int64_t rows, int64_t panels,
                      const char *args)
{
    Emit *e = g->shapes;
    put(e, "{\n");
    put_shape(g, "by", &(Shape){ .tiles = t });
    put_tables(g, "of", t, widths_for(t, ATTN_PANEL * panels),
               heights_of(t, rows), (Epilogue){ .parts = 0 });
    put(e, "\n");
    put_call(e, use_kernel(g->kernels, "multiply_panels"),
             arena_printf(g->a, "&by, of, %lld, %s", (long long)rows, args),
             ";");
    put(e, "}\n");
}

/* Emits the body of panels(). */
static void put_panels(Gen *g, const Tiling *t, Epilogue ep)
{
    const bool jit = g->o->mode == EmitJit;
    put_shape(g, "s", &(Shape){ .tiles = t });
    if (!jit)
        put_tables(g, "of", t, widths_for(t, 0), heights_for(t, 1), ep);
    put(g->shapes, "\n");
    put_call(g->shapes,
             use_kernel(g->kernels, jit ? "product_panels" : "multiply_panels"),
             arena_printf(g->a,
                          "&s, %s, rows, a, lda, b, ldb, k, count, c, ldc, %s",
                          !jit                      ? "of"
                          : ep.parts & EpAccumulate ? "1"
                                                    : "0",
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
    const Epilogue ep = { .parts = accumulate ? EpAccumulate : 0 };
    let(e, "op", "%s", accumulate ? "+=" : "=");
    put(e,
        t->prefetch > 1
            ? "/* Computes c $op a b. b has `count` panels of 16 columns, ldb apart.\n"
              " * Prefetches those at `next`. */\n"
            : "/* Computes c $op a b. b has `count` panels of 16 columns, ldb\n"
              " * apart. */\n");
    put_call(
        e, arena_printf(g->a, "static void %s", name),
        arena_printf(
            g->a,
            "int64_t rows, const float *a, int64_t lda, const float *b, "
            "int64_t ldb, int64_t k, int64_t count, float *c, int64_t ldc%s",
            next_panels(g, t, "const float *next")),
        "");
    put(e, "{\n");
    put_panels(g, t, ep);
    put(e, "}\n\n");
    emit_reset(e, mark);
    return name;
}
