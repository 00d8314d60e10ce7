/* run_input.c: attnc run --input FILE --output FILE. Reads the inputs and
 * writes the results as tensors with the names that they have in the graph, one
 * sequence at a time. */
#include <math.h>
#include <string.h>

#include "cli/options/options.h"
#include "oracle/trial.h"

typedef struct {
    const Options *o;
    Engine e;
    SampleFile in;
    VEC(TensorOut) out;
} Tensors;

static int64_t input_length(const Tensors *t, Dim d)
{
    if (d.times > 0)
        return d.times * input_length(t, (Dim){ .c = d.c, .sym = d.sym });
    switch (d.sym) {
    case SymNone: return d.c;
    case SymN:    return t->in.start[0][1];
    case SymS:    return t->in.sample.sequences;
    default:      return t->in.start[1][1];
    }
}

/* Adds an output tensor of this type. Returns memory for its elements. */
static float *add_output(Tensors *t, const char *name, Type type)
{
    TensorOut out = { .name = name, .rank = type.rank };
    int64_t elements = 1;
    for (int i = 0; i < type.rank; i++)
        elements *= out.dim[i] = input_length(t, type.dim[i]);
    float *x = aligned_memory(t->e.arena, elements * 4);
    out.data = x;
    vec_push(t->e.arena, &t->out, out);
    return x;
}

/* Adds the result of the last entry, with all rows, as an output. */
static float *add_result(Tensors *t)
{
    const Graph *g = t->e.unfused;
    const Node *n = &g->nodes.at[graph_result(g)];
    return add_output(t, n->name, n->type);
}

static bool add_taps(Tensors *t, const Trial *trial, Fault *why)
{
    const Graph *g = t->e.graph;
    for (int i = 0; i < t->o->taps.n; i++) {
        const char *name = t->o->taps.at[i];
        int node = graph_find(g, name);
        if (node < 0)
            return fault(why, ExitUsage, "--tap '%s': no code computes it",
                         name);
        const Node *n = &g->nodes.at[node];
        if (n->op == OpOutput)
            continue; /* the result is always written */
        float *x = add_output(t, name, n->type);
        const TensorOut *out = &t->out.at[t->out.n - 1];
        int64_t elements = 1;
        for (int d = 0; d < out->rank; d++)
            elements *= out->dim[d];
        if (!trial_floats(trial, node, 0, elements, x))
            return fault(why, ExitUsage,
                         "--tap '%s': it has no memory of its "
                         "own at run time",
                         name);
        fprintf(stderr, "attnc: note: %s is kept, so nothing is fused there\n",
                name);
    }
    return true;
}

/* Warns about numbers that are not finite. They are written all the same. */
static void warn_of_numbers(const TensorOut *result)
{
    const float *x = result->data;
    int64_t n = 1, wrong = 0;
    for (int i = 0; i < result->rank; i++)
        n *= result->dim[i];
    for (int64_t i = 0; i < n; i++)
        wrong += !isfinite(x[i]);
    if (wrong)
        warning_at((Pos){ 0 }, "%s: %lld of %lld numbers are not finite",
                   result->name, (long long)wrong, (long long)n);
}

static bool run(Tensors *t, Fault *why)
{
    if (!sample_file_read(&t->in, &t->e, t->o->input, why))
        return false;
    Trial trial = { .engine = NULL };
    trial_run(&trial, &t->e, &t->in.sample, 0, add_result(t));
    bool ok = add_taps(t, &trial, why)
           && safetensors_write(t->o->output, t->out.at, t->out.n, why);
    trial_free(&trial);
    if (ok)
        warn_of_numbers(&t->out.at[0]);
    return ok;
}

int run_input(const Options *o)
{
    if (!o->input || !o->output)
        fail(ExitUsage, "tensors need both --input FILE and --output FILE");
    Tensors t = { .o = o };
    Fault why;
    EngineOptions options = run_engine_options(o);
    options.keep_all = o->taps.n > 0;
    int code = engine_open(&t.e, &options);
    if (!code && !run(&t, &why))
        code = report_fault(&why);
    engine_close(&t.e);
    return code;
}
