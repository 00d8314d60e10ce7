/* interp.c: the oracle. It evaluates a graph of any stage on one sequence in
 * double precision. It is as plain as possible: one function per op, one value
 * per node, complete sequences, no cache. All emitted code is compared with it.
 * Numeric ops are in interp_ops.c (rows), interp_attention.c (sequences),
 * interp_experts.c and interp_recurrent.c. */
#include <math.h>
#include <string.h>

#include "oracle/interp.h"

/* ---- what enters, and what moves ---- */

void eval_weight(const Interp *in, const Node *n, double *out)
{
    (void)in, (void)out;
    die("oracle: %s is the caller's, Interp.weight", n->name);
}

void eval_input(const Interp *in, const Node *n, double *out)
{
    int64_t size = interp_elements(in, n->type);
    if (n->type.elem == ElemI32) {
        const int32_t *ids = n->member == BatchTypes ? in->types[n->entry]
                                                     : in->ids[n->entry];
        for (int64_t i = 0; i < size; i++)
            out[i] = ids ? ids[i] : 0;
        return;
    }
    const int first = n->member == BatchInput ? BatchInput : BatchQuery;
    memcpy(out, in->rows[n->member - first], (size_t)size * sizeof *out);
}

/* "Attention Is All You Need", section 3.5, and the two other layouts. */
void eval_sinusoid(const Interp *in, const Node *n, double *out)
{
    const Spec *s = in->g->spec;
    int64_t rows = interp_extent(in, n->type.dim[0]);
    int64_t d = interp_extent(in, n->type.dim[1]), half = (d + 1) / 2;
    bool halves = s->pos_layout == LayoutHalves;
    double span = s->pos_exponent == ExponentPaper ? (double)d / 2
                                                   : fmax((double)half - 1, 1);
    for (int64_t c = 0; c < d; c++) {
        int64_t pair = halves ? c % half : c / 2;
        bool sine = halves ? c < half : c % 2 == 0;
        double rate = pow(s->pos_base, -(double)pair / span);
        for (int64_t r = 0; r < rows; r++) {
            double angle = (double)(s->pos_first + r) * rate;
            out[r * d + c] = sine ? sin(angle) : cos(angle);
        }
    }
}

/* [Su et al. 2021], section 3.2. Row p has the cosines of its angles, then the
 * sines, all multiplied by the factor of the spec's scaling, which grows with p
 * in the table of queries. */
void eval_rotary_table(const Interp *in, const Node *n, double *out)
{
    int64_t rows = interp_extent(in, n->type.dim[0]);
    int64_t d = interp_extent(in, n->type.dim[1]), half = d / 2;
    double *rate = arena_alloc(in->arena, (size_t)half * sizeof *rate);
    const double factor = spec_rotary(n->spec, d, rows, rate);
    int64_t step = rows;
    const double growth = n->part == PartQuery
                            ? spec_query_growth(n->spec, &step)
                            : 0;
    for (int64_t r = 0; r < rows; r++) {
        const double f = factor * (1 + growth * log(1 + (double)(r / step)));
        for (int64_t j = 0; j < half; j++) {
            out[r * d + j] = f * cos((double)r * rate[j]);
            out[r * d + half + j] = f * sin((double)r * rate[j]);
        }
    }
}

/* The oracle computes complete sequences, so ops that read a cache only copy
 * its rows. */
void eval_copy(const Interp *in, const Node *n, double *out)
{
    int64_t size = interp_elements(in, n->type);
    memcpy(out, interp_in(in, n, 0).at, (size_t)size * sizeof *out);
}

void eval_stack(const Interp *in, const Node *n, double *out)
{
    for (int i = 0; i < n->nin; i++) {
        int64_t size = interp_size(in, n->in[i]);
        memcpy(out, interp_in(in, n, i).at, (size_t)size * sizeof *out);
        out += size;
    }
}

void eval_split(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    int64_t d = x.cols / n->heads;
    for (int64_t h = 0; h < n->heads; h++)
        for (int64_t r = 0; r < x.rows; r++, out += d)
            memcpy(out, x.at + r * x.cols + h * d, (size_t)d * sizeof *out);
}

void eval_merge(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t h = 0; h < x.heads; h++, out += x.cols)
            memcpy(out, x.at + (h * x.rows + r) * x.cols,
                   (size_t)x.cols * sizeof *out);
}

void eval_slice(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    int64_t cols = interp_extent(in, n->type.dim[n->type.rank - 1]);
    for (int64_t r = 0; r < x.rows; r++, out += cols)
        memcpy(out, x.at + r * x.cols + n->first, (size_t)cols * sizeof *out);
}

void eval_select(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < in->length[SymR]; i++, out += x.cols)
        memcpy(out, x.at + in->select[i] * x.cols,
               (size_t)x.cols * sizeof *out);
}

/* ---- the table ---- */

/* clang-format off */
static InterpOp *const eval[OpCount] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value,  \
           ...)                                                                \
    [Op##id] = eval_##value,
#include "graph/ops.h"
};
/* clang-format on */

void interp_node(Interp *in, int node)
{
    const Node *n = &in->g->nodes.at[node];
    if (n->op == OpWeight) {
        in->value[node] = in->weight(in->user, node);
        return;
    }
    if (in->given && in->given[node]) {
        in->value[node] = in->given[node];
        return;
    }
    size_t bytes = (size_t)interp_size(in, node) * sizeof(double);
    double *out = arena_alloc(in->arena, bytes);
    eval[n->op](in, n, out);
    in->value[node] = out;
}

void interp_run(Interp *in, Entry entry)
{
    int count = in->g->nodes.n;
    if (!in->value)
        in->value = arena_alloc(in->arena, (size_t)count * sizeof *in->value);
    for (int i = 0; i < count; i++) {
        const Node *n = &in->g->nodes.at[i];
        bool constant = n->entry == EntryNone && !in->value[i];
        if (n->op != OpNop && (constant || n->entry == entry))
            interp_node(in, i);
    }
}
