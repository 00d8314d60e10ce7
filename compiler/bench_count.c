/* bench_count.c: the useful operations of a workload, and the bytes of weights
 * that it reads, from the graph.                                             */
#include "bench.h"

typedef int64_t Lengths[SymS + 1];

static int64_t dim_of(Dim d, const Lengths length)
{
    return d.sym == SymNone ? d.c : length[d.sym];
}

static int64_t type_rows(Type t, const Lengths length)
{
    return t.rank < 2 ? 1 : dim_of(t.dim[t.rank - 2], length);
}

static bool is_const(const Graph *g, int node)
{
    return op_info[g->nodes.at[node].op].class == ClassConst;
}

/* Keys that a row sees by average, where the last of `rows` is the last of
 * `keys`: what is computed in vain is not useful.                            */
static int64_t keys_seen(const MaskSpec *m, int64_t rows, int64_t keys)
{
    int64_t seen = 0;

    for (int64_t i = keys - rows; i < keys; i++)
        for (int64_t j = 0; j < keys; j++)
            seen += mask_allows(m, i, j, 0);
    return (seen + rows / 2) / rows;
}

/* Keys that each row of an attention op reads. Other ops have as many "keys" as
 * rows of their own.                                                         */
static int64_t keys_of(const Graph *g, const Node *n, const Lengths length)
{
    const int64_t rows = type_rows(n->type, length);
    if (n->nin < 2 || n->in[1] < 0 || is_const(g, n->in[1]))
        return rows;
    const int64_t keys = type_rows(g->nodes.at[n->in[1]].type, length);
    return n->mask ? keys_seen(n->mask, rows, keys) : keys;
}

/* Bytes of weights that a node reads: whole tables, but of a look-up and of
 * positions only the rows in question.                                       */
static double weight_bytes(const Graph *g, const Node *n,
                           const Lengths length)
{
    double bytes = 0.0;
    for (int i = 0; i < n->nin; i++) {
        if (n->in[i] < 0 || !is_const(g, n->in[i]))
            continue;
        const Type t = g->nodes.at[n->in[i]].type;
        double elements = 1.0;
        for (int k = 0; k < t.rank; k++)
            elements *= (double)dim_of(t.dim[k], length);
        if (n->op == OpEmbed || n->op == OpPosition)
            elements = (double)(type_rows(n->type, length)
                                * dim_of(n->type.dim[1], length));
        bytes += 4.0 * elements;
    }
    return bytes;
}

/* Adds one call of an entry for one sequence. Weights are read once for all
 * sequences of a batch.                                                      */
static void count_entry(const Graph *g, Entry entry, const Lengths length,
                        double sequences, Work *w)
{
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->entry != entry)
            continue;
        w->flops += sequences
                    * (double)node_flops(g, i, type_rows(n->type, length),
                                         keys_of(g, n, length));
        w->bytes += weight_bytes(g, n, length);
    }
}

void count_encode(const Graph *g, const BenchOptions *o, Work *w)
{
    const Lengths length = { [SymN] = o->rows, [SymM] = o->rows, [SymS] = 1 };
    count_entry(g, EntryEncode, length, (double)o->batch, w);
}

void count_decode(const Graph *g, const BenchOptions *o, int64_t past,
                  int64_t rows, Work *w)
{
    const Lengths length = { [SymN] = o->rows, [SymT] = rows,
                             [SymPT] = past + rows, [SymR] = 1, [SymS] = 1 };
    count_entry(g, EntryDecode, length, (double)o->batch, w);
}

void count_search(const Graph *g, const BenchOptions *o, Work *w)
{
    const bool decoder = g->spec->kind == KindDecoder;
    const int64_t prompt = decoder ? o->rows : 1;
    if (!decoder)
        count_encode(g, o, w);
    count_decode(g, o, 0, prompt, w);
    for (int64_t i = 1; i < o->steps; i++)
        count_decode(g, o, prompt + i - 1, 1, w);
}
