/* dead-code: remove what no result needs.
 *
 *     %3 = relu %2                    (nothing)
 *     %4 = output %2            ->    %3 = output %2
 *
 * Results are the outputs, the rows appended to a cache, what the caller gave,
 * and what was asked for by name.
 * needs: nothing.  keeps: all else.  breaks: nothing.                       */
#include "passes/rewrite.h"

static bool is_result(const Node *n)
{
    return n->op == OpOutput || n->op == OpAppend || n->op == OpInput
        || n->keep;
}

int dead_code(Graph *g)
{
    int removed = 0, count = g->nodes.n;
    bool *live = arena_alloc(g->arena, (size_t)count * sizeof *live);
    for (int i = count - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[i];
        live[i] = live[i] || is_result(n);
        for (int k = 0; live[i] && k < n->nin; k++)
            if (n->in[k] >= 0)
                live[n->in[k]] = true;
        if (!live[i]) {
            graph_remove(g, i);
            removed++;
        }
    }
    if (removed)
        graph_sweep(g);
    return removed;
}
