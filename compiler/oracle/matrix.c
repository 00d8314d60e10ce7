/* matrix.c: computes the sizes of node values, and converts a node's inputs to
 * matrices for the oracle's ops. */
#include <math.h>

#include "oracle/interp.h"

int64_t interp_extent(const Interp *in, Dim d)
{
    if (d.sym == SymS) /* the oracle evaluates one sequence */
        return 1;
    if (d.sym == SymNone)
        return d.c;
    return in->length[d.sym] * (d.times > 0 ? d.times : 1);
}

int64_t interp_elements(const Interp *in, Type t)
{
    int64_t size = 1;
    for (int i = 0; i < t.rank; i++)
        size *= interp_extent(in, t.dim[i]);
    return size;
}

int64_t interp_size(const Interp *in, int node)
{
    return interp_elements(in, in->g->nodes.at[node].type);
}

Matrix interp_in(const Interp *in, const Node *n, int i)
{
    int from = n->in[i];
    Type t = in->g->nodes.at[from].type;
    Matrix m = { in->value[from], 1, 1, 1 };
    if (!m.at)
        die("oracle: %s reads a value that is not there", n->name);
    if (t.rank > 0)
        m.cols = interp_extent(in, t.dim[t.rank - 1]);
    if (t.rank > 1)
        m.rows = interp_extent(in, t.dim[t.rank - 2]);
    if (t.rank > 2)
        m.heads = interp_extent(in, t.dim[0]);
    return m;
}

/* Dispatched rows have the order of the selected experts: row r belongs to
 * selection r. */
int64_t interp_expert(const Interp *in, const Node *n, int64_t row)
{
    const bool one = n->op != OpLinear || n->nin <= InRoutes;
    return one ? 0 : (int64_t)interp_in(in, n, InRoutes).at[row];
}

double bf16_step(double x)
{
    return fabs(x) < 0x1p-55 ? 0 : ldexp(1, ilogb(x) - 7);
}

double quantize_step(const double *x, int64_t n, Arithmetic a)
{
    const double most = a == ArithmeticInt15 ? 16256 : 127;
    double size = 0;
    for (int64_t i = 0; i < n; i++)
        size = fmax(size, fabs(x[i]));
    return size < 0x1p-100 ? 0 : size / most;
}
