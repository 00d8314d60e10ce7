/* pack_kv.c: pack-kv lays out keys and values in the pages of a cache, because
 * attention kernels read only pages. It applies to rows that were not read
 * from a cache.
 *
 *     %5 = attention %2, %3, %4 ->    %5 = pack_kv %3, keys
 *                                     %6 = pack_kv %4, values
 *                                     %7 = attention %2, %5, %6
 *
 * needs: nothing.  keeps: values, names.  breaks: nothing.                  */
#include "passes/rewrite.h"

/* Returns the index of the input from which the op reads its keys or values
 * (`part`), or -1 if it reads none. */
static int paged_input(Op op, int part)
{
    if (op == OpAttention)
        return part == PartKey ? 1 : 2;
    return op == (part == PartKey ? OpScores : OpContext) ? 1 : -1;
}

static bool in_pages(Op op)
{
    return op == OpAppend || op == OpRecall || op == OpPackKv;
}

static int pack_part(Graph *g, int node, int part)
{
    const Node *n = &g->nodes.at[node];
    int k = paged_input(n->op, part);
    if (k < 0 || in_pages(g->nodes.at[n->in[k]].op))
        return 0;
    Node pages = {
        .op = OpPackKv,
        .entry = n->entry,
        .in = { n->in[k] },
        .nin = 1,
        .stack = n->stack,
        .layer = n->layer,
        .sublayer = n->sublayer,
        .pos = n->pos,
        .part = part,
        .name = g->nodes.at[n->in[k]].name,
        .word = g->nodes.at[n->in[k]].word,
    };
    graph_rename(g, &pages, part == PartKey ? ".key_pages" : ".value_pages");
    graph_link(g, node, k, graph_add(g, pages));
    return 1;
}

static int lower_append(Graph *g, int node)
{
    return pack_part(g, node, PartKey) + pack_part(g, node, PartValue);
}

int pack_kv(Graph *g)
{
    return pass_each(g, lower_append);
}
