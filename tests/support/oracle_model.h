/* oracle_model.h: runs the oracle on a spec and a weights file, without plan or
 * packed weights. Included after cmocka's headers. */
#ifndef ATTNC_ORACLE_MODEL_H
#define ATTNC_ORACLE_MODEL_H

#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

#include <math.h>
#include <string.h>

enum { MostOracleRows = 512 };

typedef struct {
    Arena *arena;
    Spec *spec;
    Graph *g;
    Safetensors *file;
    Interp in;
} OracleModel;

/* Returns the position of our element in the file's tensor. Both have the same
 * shape after transposing, unless several of our tensors share it (`total`). */
static inline int64_t oracle_place(const FileTensor *f, int64_t row,
                                   int64_t column, int64_t rows,
                                   int64_t columns)
{
    int64_t *shared = f->by_columns ? &column : &row;
    if (f->taps > 0)
        column = column % (columns / f->taps) * f->taps
               + column / (columns / f->taps);
    if (f->groups > 0) {
        *shared = f->first + *shared / f->take * f->stride + *shared % f->take;
        *(f->by_columns ? &columns : &rows) = f->total;
    }
    return f->transposed && columns > 1 ? column * rows + row
                                        : row * columns + column;
}

static inline const double *oracle_weight(void *user, int node)
{
    OracleModel *m = user;
    const Node *n = &m->g->nodes.at[node];
    int64_t rows = n->type.dim[0].c;
    int64_t columns = n->type.rank == 2 ? n->type.dim[1].c : 1;
    double *x = arena_alloc(m->arena, (size_t)(rows * columns) * sizeof *x);
    FileTensor from;
    assert_true(spec_file_tensor(m->arena, m->spec, n->name, &from));
    from.taps = n->taps;
    const Tensor *t = safetensors_find(m->file, from.name);
    if (!t)
        fail_msg("%s has no tensor %s", safetensors_path(m->file), from.name);
    for (int64_t i = 0; i < rows * columns; i++) {
        float f;
        tensor_floats(t,
                      oracle_place(&from, i / columns, i % columns, rows,
                                   columns),
                      1, &f);
        x[i] = (double)f;
    }
    return x;
}

/* Builds the graph, with or without all passes. */
static inline void oracle_model_open(OracleModel *m, const char *spec,
                                     const char *weights, bool fused)
{
    static int32_t rows[MostOracleRows];
    static const PassOptions all = { 0 };
    Fault why;
    Arena *a = arena_new();
    *m = (OracleModel){ .arena = a, .spec = spec_load(a, spec, NULL, 0) };
    assert_non_null(m->spec);
    m->g = build_graph(a, m->spec);
    if (fused)
        assert_true(run_passes(m->g, &all, stderr));
    m->file = safetensors_open(weights, &why);
    if (!m->file)
        fail_msg("%s: %s", weights, why.text);
    for (int i = 0; i < MostOracleRows; i++)
        rows[i] = i;
    m->in = (Interp){ .g = m->g,
                      .arena = a,
                      .weight = oracle_weight,
                      .user = m,
                      .select = rows };
}

static inline void oracle_model_close(OracleModel *m)
{
    safetensors_close(m->file);
    arena_free(m->arena);
}

/* Runs all rows of source and target at once. */
static inline void oracle_model_run(OracleModel *m, int64_t n, int64_t t)
{
    m->in.length[SymN] = n;
    m->in.length[SymT] = m->in.length[SymPT] = m->in.length[SymR] = t;
    m->in.value = NULL;
    interp_run(&m->in, EntryEncode);
    interp_run(&m->in, EntryDecode);
}

static inline const double *oracle_value(const OracleModel *m, const char *name,
                                         int64_t size)
{
    int node = graph_find(m->g, name);
    if (node < 0)
        fail_msg("there is no node %s", name);
    assert_int_equal(interp_size(&m->in, node), size);
    return m->in.value[node];
}

/* Compares a tensor with a node's value. */
static inline void oracle_near(const double *got, const Tensor *t,
                               int64_t first, int64_t n, double tolerance,
                               const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        float want;
        tensor_floats(t, first + i, 1, &want);
        double near = tolerance * (1 + fabs((double)want));
        if (!(fabs(got[i] - (double)want) <= near))
            fail_msg("%s[%lld]: %.9g, not %.9g", what, (long long)i, got[i],
                     (double)want);
    }
}

#endif
