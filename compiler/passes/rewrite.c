/* rewrite.c: helpers for the passes: the test if a node may be fused, remarks,
 * and the walk over all nodes. */
#include <stdarg.h>

#include "passes/rewrite.h"

static void remark(const Graph *g, int node, bool missed, const char *fmt,
                   va_list args)
{
    char reason[256];
    if (!g->remarks)
        return;
    vsnprintf(reason, sizeof reason, fmt, args);
    const Node *n = &g->nodes.at[node];
    Remark r = { n->pos,
                 { n->name, n->stack, n->layer,
                   arena_printf(g->arena, "%s %s", n->name, reason) },
                 missed };
    vec_push(g->arena, g->remarks, r);
}

void pass_missed(const Graph *g, int node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    remark(g, node, true, fmt, args);
    va_end(args);
}

void pass_note(const Graph *g, int node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    remark(g, node, false, fmt, args);
    va_end(args);
}

int pass_each(Graph *g, int (*rewrite)(Graph *g, int node))
{
    int done = 0, count = g->nodes.n;
    for (int i = 0; i < count; i++)
        if (g->nodes.at[i].op != OpNop)
            done += rewrite(g, i);
    if (done)
        graph_sweep(g);
    return done;
}

const char *pass_refuses(const Graph *g, int node)
{
    if (g->nodes.at[node].keep)
        return "is requested by name";
    return graph_uses(g, node) == 1 ? NULL : "has several readers";
}

bool pass_takes(const Graph *g, int node, int root)
{
    const char *why = pass_refuses(g, node);
    if (why)
        pass_missed(g, root, "stays apart: %s %s", g->nodes.at[node].name, why);
    return !why;
}

bool same_part(const Node *a, const Node *b)
{
    return a->entry == b->entry && same_layer(a, b);
}
