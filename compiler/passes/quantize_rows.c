/* quantize_rows.c: quantize turns the rows that products read into what the
 * arithmetic multiplies: integers with one scale per row, or bf16. Products of
 * a layer that read the same rows share one quantize node.
 *
 *     %5 = linear %2, %3, %4     ->    %5 = quantize %2
 *     %6 = linear %2, %7               %6 = linear %5, %3, %4
 *                                      %8 = linear %5, %7
 *
 * needs: nothing.  keeps: names; values up to rounding.
 * breaks: products that other passes look for. */
#include "passes/rewrite.h"

/* Returns the quantize node for rows `x` in the layer of `reader`, or -1. All
 * quantize nodes are at the end of the graph, so the search stops at any other
 * op. */
static int made_before(const Graph *g, const Node *reader, int x)
{
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpQuantize)
            return -1;
        if (n->in[0] == x && same_part(n, reader))
            return i;
    }
    return -1;
}

static int made_for(Graph *g, const Node *reader, int x)
{
    Node n = {
        .op = OpQuantize,
        .type = { .elem = arithmetic_elem(g->spec->arithmetic) },
        .entry = reader->entry,
        .in = { x },
        .nin = 1,
        .stack = reader->stack,
        .layer = reader->layer,
        .sublayer = reader->sublayer,
        .outside_layers = reader->outside_layers,
        .pos = reader->pos,
        .name = reader->name,
        .word = reader->word,
    };
    graph_rename(g, &n, ".rows");
    return graph_add(g, n);
}

static int lower_product(Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    if ((n->op != OpMatmul && n->op != OpLinear)
        || !arithmetic_reads(g->spec->arithmetic,
                             elem_dtype(g->nodes.at[n->in[1]].type.elem))
        || g->nodes.at[n->in[0]].op == OpQuantize)
        return 0;
    const int before = made_before(g, n, n->in[0]);
    const int made = before >= 0 ? before : made_for(g, n, n->in[0]);
    graph_link(g, node, 0, made);
    return 1;
}

int quantize_rows(Graph *g)
{
    return g->spec->arithmetic == ArithmeticF32 ? 0
                                                : pass_each(g, lower_product);
}
