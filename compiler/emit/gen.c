/* gen.c: what all that make the file ask for: tilings, and the helpers of
 * emitted C, which are made where they are needed first. */
#include "emit/gen.h"

const Tiling *tiling_of(const Gen *g, TaskKind kind, int node)
{
    const Task *t = plan_task(g->p, kind, node);
    if (t && g->only && task_same(&t->key, &g->only->key))
        t = g->only;
    return t ? &t->tiling : NULL;
}

bool first_time(Gen *g, const char *name)
{
    const int before = g->shape_names.list.n;
    index_add(g->a, &g->shape_names, name, before);
    return g->shape_names.list.n > before;
}

/* ---- helpers of emitted C ---- */

void need_least(Gen *g)
{
    if (first_time(g, "least"))
        put(g->shapes, "static int64_t least(int64_t a, int64_t b)\n"
                       "{\n"
                       "    return a < b ? a : b;\n"
                       "}\n\n");
}

void need_most(Gen *g)
{
    if (first_time(g, "most"))
        put(g->shapes, "static int64_t most(int64_t a, int64_t b)\n"
                       "{\n"
                       "    return a > b ? a : b;\n"
                       "}\n\n");
}

void need_cut(Gen *g)
{
    need_least(g);
    if (first_time(g, "cut"))
        put(g->shapes,
            "/* Where a part of n begins, at a multiple of `step`. */\n"
            "static int64_t cut(int64_t n, int64_t step, int64_t part,\n"
            "                   int64_t parts)\n"
            "{\n"
            "    return least(n, (n + step - 1) / step * part / parts * step);\n"
            "}\n\n");
}
