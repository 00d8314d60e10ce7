/* last_rows.c: last-rows selects rows before the last product, not after it.
 *
 *     %3 = matmul %1, %2              %2 = select %1
 *     %4 = select %3            ->    %4 = matmul %2, %3
 *
 * The select moves up past ops that work row by row and stops at the edge of
 * the layers, so that all layers are alike.
 *
 * needs: nothing.  keeps: the entry's results.  breaks: the shapes of the ops
 * it passes: they now have r rows. */
#include "passes/rewrite.h"

/* True if the select may move before x: each row of x depends only on the same
 * row of in[0]. */
static bool match_row(const Graph *g, int x, int select)
{
    const Node *n = &g->nodes.at[x];
    if (op_info[n->op].op_class != ClassRow || n->layer >= 0)
        return false;
    for (int k = 1; k < n->nin; k++)
        if (n->in[k] >= 0 && g->nodes.at[n->in[k]].entry != EntryNone)
            return false;
    return pass_takes(g, x, select);
}

static void swap(Graph *g, int x, int select)
{
    graph_replace(g, select, x);
    graph_link(g, select, 0, g->nodes.at[x].in[0]);
    graph_link(g, x, 0, select);
}

static int hoist(Graph *g, int select)
{
    int moved = 0;
    if (g->nodes.at[select].op != OpSelect || !pass_takes(g, select, select))
        return 0;
    while (match_row(g, g->nodes.at[select].in[0], select)) {
        swap(g, g->nodes.at[select].in[0], select);
        moved++;
    }
    return moved;
}

int last_rows(Graph *g)
{
    int moved = pass_each(g, hoist);
    for (int i = 0; moved && i < g->nodes.n; i++)
        if (!infer_shape(g, &g->nodes.at[i]))
            die("last-rows: %s has lost its shape", g->nodes.at[i].name);
    return moved;
}
