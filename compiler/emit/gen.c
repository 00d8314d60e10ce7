/* gen.c: what all that make the file ask for: tilings, and the helpers of
 * emitted C, which are made where they are needed first. */
#include "emit/gen.h"

const Tiling *tiling_of(const Gen *g, TaskKind kind, int node)
{
    const Task *t = plan_task(g->p, kind, node);
    if (t && g->only && identity_same(&t->is, &g->only->is))
        t = g->only;
    return t ? &t->tiling : NULL;
}

bool first_time(Gen *g, const char *name)
{
    const int before = g->shape_names.list.n;
    index_add(g->a, &g->shape_names, name, before);
    return g->shape_names.list.n > before;
}

const char *unused_name(Gen *g, const char *base)
{
    const char *name = base;
    for (int k = 2; !first_time(g, name); k++)
        name = arena_printf(g->a, "%s_%d", base, k);
    return name;
}

/* ---- helpers of emitted C ---- */

void need_min(Gen *g)
{
    if (first_time(g, "min"))
        put(g->helpers, "static int64_t min(int64_t a, int64_t b)\n"
                        "{\n"
                        "    return a < b ? a : b;\n"
                        "}\n\n");
}

void need_max(Gen *g)
{
    if (first_time(g, "max"))
        put(g->helpers, "static int64_t max(int64_t a, int64_t b)\n"
                        "{\n"
                        "    return a > b ? a : b;\n"
                        "}\n\n");
}

void need_part_begin(Gen *g)
{
    need_min(g);
    if (first_time(g, "part_begin"))
        put(g->helpers,
            "/* Where a part of n begins, at a multiple of `step`. */\n"
            "static int64_t part_begin(int64_t n, int64_t step, int64_t part,\n"
            "                          int64_t parts)\n"
            "{\n"
            "    if (parts == 1)\n"
            "        return part * n;\n"
            "    return min(n, (n + step - 1) / step * part / parts * step);\n"
            "}\n\n");
}
