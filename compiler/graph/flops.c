/* flops.c: counts the FLOPs of a node. A multiplication with an addition counts
 * as two, exp or tanh as one. The formulas are in ops.h; this file defines the
 * words that they use. */
#include "graph/graph.h"

typedef struct { /* a node, and the size of the call it belongs to */
    const Graph *g;
    const Node *n;
    int64_t rows, keys;
    const MaskSpec *mask; /* mask of the attention; NULL: none */
    int64_t tanh, sums;   /* FLOPs of a tanh; argument of SUMS() in a formula */
} Count;

static int64_t dim_at(const Count *c, Dim d)
{
    switch (d.sym) {
    case SymNone: return d.c;
    case SymPT:
    case SymM:    return c->keys;
    case SymS:    return 1; /* formulas count one sequence */
    default:      return c->rows * (d.times > 0 ? d.times : 1);
    }
}

static int64_t elements(const Count *c, Type t)
{
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= dim_at(c, t.dim[i]);
    return n;
}

static const Node *input_of(const Count *c, int k)
{
    return &c->g->nodes.at[c->n->in[k]];
}

static int64_t columns(const Count *c, int k)
{
    const Type *t = &input_of(c, k)->type;
    return t->dim[t->rank - 1].c;
}

/* Returns the number of keys or values of the node. */
static int64_t keys(const Count *c)
{
    const Node *k = input_of(c, 1);
    return k->op == OpRecall ? c->keys : dim_at(c, k->type.dim[1]);
}

/* Returns the number of pairs of a query and a visible key, per head. An
 * encoder's queries are at the first keys, a decoder's at the last. */
static int64_t pairs(const Count *c)
{
    const int64_t rows = dim_at(c, input_of(c, 0)->type.dim[1]), n = keys(c);
    return mask_pairs(c->mask, c->n->entry == EntryDecode ? n - rows : 0, rows,
                      n);
}

/* Returns the number of scores in all heads. */
static int64_t scored(const Count *c)
{
    return input_of(c, 0)->type.dim[0].c * pairs(c);
}

/* Returns the FLOPs per score and column of a head. */
static int64_t score_work(const Count *c)
{
    const int64_t work[] = {
#define SCORE(name, word, vector, flops, ...) flops,
#include "spec/fields/score_forms.h"
    };
    return work[c->n->score];
}

/* Returns the number of values that are rotated. The other columns of a head
 * are copied. */
static int64_t turned(const Count *c)
{
    return dim_at(c, c->n->type.dim[0]) * c->n->heads * c->n->dims;
}

/* Returns the FLOPs of a pool. A mean also divides; picking one row costs
 * nothing. */
static int64_t pooled(const Count *c)
{
    const int64_t all = elements(c, input_of(c, 0)->type);
    switch (c->n->pool) {
    case PoolMean: return all + elements(c, c->n->type);
    case PoolMax:
    case PoolSum:  return all;
    default:       return 0;
    }
}

/* Returns the FLOPs after the product, per element of the result. */
static int64_t epilogue(const Node *n)
{
    return n->has_bias + n->has_residual + (n->act != ActNone);
}

static Count count_of(const Graph *g, int node, int64_t rows, int64_t n_keys)
{
    const Node *n = &g->nodes.at[node];
    return (Count){ g, n, rows, n_keys, n->mask, 1, 0 };
}

int64_t node_pairs(const Graph *g, int node, int64_t rows, int64_t n_keys)
{
    const Count c = count_of(g, node, rows, n_keys);
    return pairs(&c);
}

static int64_t flops_of(Count *c)
{
    const Node *n = c->n;
    const int64_t out = elements(c, n->type);
    switch (n->op) {
#define SUMS(x) (c->sums = (x))
#define OP(id, name, min, max, class, formula, shape, in_place, flops, ...)    \
    case Op##id: return flops;
#include "graph/ops.h"
    default: return 0;
    }
}

int64_t node_flops(const Graph *g, int node, int64_t rows, int64_t n_keys)
{
    Count c = count_of(g, node, rows, n_keys);
    return flops_of(&c);
}

int64_t node_sums(const Graph *g, int node, int64_t rows, int64_t n_keys,
                  int64_t tanh)
{
    Count c = count_of(g, node, rows, n_keys);
    c.mask = NULL;
    c.tanh = tanh;
    flops_of(&c);
    return c.sums;
}
