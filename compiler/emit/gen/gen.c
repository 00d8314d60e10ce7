/* gen.c: tilings of nodes, names of shared functions, and helper functions of
 * emitted C. */
#include "emit/gen/gen.h"

const Tiling *tiling_of(const Gen *g, TaskKind kind, int node)
{
    const Task *t = plan_task(g->p, kind, node);
    if (t && g->only && identity_same(&t->is, &g->only->is))
        t = g->only;
    return t ? &t->tiling : NULL;
}

/* ---- shared functions ---- */

static bool epilogue_same(const Epilogue *a, const Epilogue *b)
{
    return a->parts == b->parts && (!(a->parts & EpAct) || a->act == b->act)
        && a->dtype == b->dtype && a->arithmetic == b->arithmetic
        && a->wide == b->wide;
}

static bool key_same(const SharedKey *a, const SharedKey *b)
{
    bool same = a->kind == b->kind && a->mr == b->mr && a->nr == b->nr
             && a->prefetch == b->prefetch && form_same(&a->form, &b->form)
             && epilogue_same(&a->ep, &b->ep);
    for (size_t i = 0; i < sizeof a->size / sizeof *a->size; i++)
        same = same && a->size[i] == b->size[i];
    return same;
}

const char *free_name(Gen *g, const char *base)
{
    const int of = index_add(g->a, &g->names, base, g->taken.n);
    const char *name = base;
    for (int at = of; at < g->taken.n;) {
        name = arena_printf(g->a, "%s_%d", base, ++g->taken.at[of]);
        at = index_add(g->a, &g->names, name, g->taken.n);
    }
    vec_push(g->a, &g->taken, 1);
    return name;
}

const char *shared_name(Gen *g, const SharedKey *key, const char *base,
                        bool *made)
{
    const int n = g->shared.n, first = index_add(g->a, &g->bases, base, n);
    SharedFunction f = { *key, NULL, -1 };
    *made = true;
    for (int i = first < n ? first : -1; i >= 0; i = g->shared.at[i].next)
        if (key_same(&g->shared.at[i].key, key))
            return g->shared.at[i].name;
    *made = false;
    f.name = free_name(g, base);
    if (first < n) {
        f.next = g->shared.at[first].next;
        g->shared.at[first].next = n;
    }
    vec_push(g->a, &g->shared, f);
    return f.name;
}

bool first_time(Gen *g, SharedKind helper, const char *name)
{
    bool made;
    if (shared_name(g, &(SharedKey){ .kind = helper }, name, &made) != name
        && !made)
        die("%s is another function's name", name);
    return !made;
}

/* ---- helpers of emitted C ---- */

void need_min(Gen *g)
{
    if (first_time(g, HelperMin, "min"))
        put(g->helpers, "static int64_t min(int64_t a, int64_t b)\n"
                        "{\n"
                        "    return a < b ? a : b;\n"
                        "}\n\n");
}

void need_max(Gen *g)
{
    if (first_time(g, HelperMax, "max"))
        put(g->helpers, "static int64_t max(int64_t a, int64_t b)\n"
                        "{\n"
                        "    return a > b ? a : b;\n"
                        "}\n\n");
}

void need_part_begin(Gen *g)
{
    need_min(g);
    if (first_time(g, HelperPartBegin, "part_begin"))
        put(g->helpers,
            "/* Returns the begin of a part of n, a multiple of `step`. */\n"
            "static int64_t part_begin(int64_t n, int64_t step, int64_t part,\n"
            "                          int64_t parts)\n"
            "{\n"
            "    if (parts == 1)\n"
            "        return part * n;\n"
            "    return min(n, (n + step - 1) / step * part / parts * step);\n"
            "}\n\n");
}
