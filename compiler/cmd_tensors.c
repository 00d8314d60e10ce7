/* cmd_tensors.c: attnc run --input FILE --output FILE: numbers in and out, by
 * the names that the graph has for them. One sequence at a time.            */
#include <string.h>

#include "options.h"
#include "trial.h"

typedef struct {
    const Options *o;
    Engine e;
    Safetensors *in;
    Sample sample;
    int32_t start[2][2];         /* of the sample */
    VEC(TensorOut) out;
} Tensors;

/* --------------------------------------------------------------- input --- */
static bool wrong_shape(const Tensors *t, const Node *n, Fault *why)
{
    return fault(why, ExitInput, "%s: tensor '%s': shape %s is needed",
                 safetensors_path(t->in), n->name,
                 print_type(t->e.arena, n->type));
}

static bool read_ids(Tensors *t, const Tensor *from, const Node *n, int side,
                     Fault *why)
{
    const Spec *s = t->e.spec;
    int64_t size = n->entry == EntryDecode ? s->target.size : s->source.size;
    if (from->rank != 1 || (from->type != StI32 && from->type != StI64))
        return fault(why, ExitInput, "%s: tensor '%s': token ids, I32 or I64 "
                     "of shape [n], are needed", safetensors_path(t->in),
                     n->name);
    size_t count = (size_t)from->elements;
    float *x = arena_alloc(t->e.arena, (count + 1) * sizeof *x);
    int32_t *ids = arena_alloc(t->e.arena, (count + 1) * sizeof *ids);
    tensor_floats(from, 0, from->elements, x);
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] >= 0 && x[i] < (float)size))
            return fault(why, ExitInput, "%s: tensor '%s': element %zu is no "
                         "id below %lld", safetensors_path(t->in), n->name, i,
                         (long long)size);
        ids[i] = (int32_t)x[i];
    }
    t->sample.ids[side] = ids;
    t->start[side][1] = (int32_t)count;
    return true;
}

static bool read_rows(Tensors *t, const Tensor *from, const Node *n, int input,
                      Fault *why)
{
    int side = input > 0;        /* query; key and value */
    if (from->rank != 2 || from->dim[1] != n->type.dim[1].c)
        return wrong_shape(t, n, why);
    if (input == 2 && from->dim[0] != t->start[1][1])
        return fault(why, ExitInput, "%s: as many values as keys are needed",
                     safetensors_path(t->in));
    float *x = aligned_memory(t->e.arena, from->elements * 4 + 4);
    tensor_floats(from, 0, from->elements, x);
    t->sample.rows[input] = x;
    t->start[side][1] = (int32_t)from->dim[0];
    return true;
}

static bool check_rows(const Tensors *t, const Node *n, int64_t rows,
                       Fault *why)
{
    int64_t most = n->type.dim[0].c;
    return (rows >= 1 && (n->type.dim[0].sym == SymNone || most <= 0 ||
                          rows <= most)) ||
           fault(why, ExitInput, "%s: tensor '%s' has %lld rows; 1 to %lld "
                 "are possible", safetensors_path(t->in), n->name,
                 (long long)rows, (long long)most);
}

static bool read_inputs(Tensors *t, Fault *why)
{
    const Graph *g = t->e.unfused;
    int inputs = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpInput)
            continue;
        const Tensor *from = safetensors_find(t->in, n->name);
        if (!from)
            return fault(why, ExitInput, "%s: tensor '%s' is missing, the "
                         "graph's input: %s", safetensors_path(t->in), n->name,
                         print_type(t->e.arena, n->type));
        int side = n->entry == EntryDecode;
        bool ids = n->type.elem == ElemI32;
        if (!(ids ? read_ids(t, from, n, side, why)
                  : read_rows(t, from, n, inputs, why)) ||
            !check_rows(t, n, from->dim[0], why))
            return false;
        inputs++;
    }
    t->sample.sequences = 1;
    t->sample.start[0] = t->start[0];
    t->sample.start[1] = t->start[1];
    return true;
}

/* -------------------------------------------------------------- output --- */
static int64_t length_of(const Tensors *t, Dim d)
{
    bool attention = t->e.spec->kind == KindAttention;
    switch (d.sym) {
    case SymNone: return d.c;
    case SymN:    return t->start[0][1];
    case SymM:    return t->start[1][1];
    default:      return t->start[attention ? 0 : 1][1];
    }
}

/* Room for one node's value under its name. */
static float *add_output(Tensors *t, const Node *n, Type type)
{
    TensorOut out = { .name = n->name, .rank = type.rank };
    int64_t elements = 1;
    for (int i = 0; i < type.rank; i++)
        elements *= out.dim[i] = length_of(t, type.dim[i]);
    float *x = aligned_memory(t->e.arena, elements * 4);
    out.data = x;
    vec_push(t->e.arena, &t->out, out);
    return x;
}

/* The result of the last entry; its rows are all wanted. */
static float *add_result(Tensors *t)
{
    const Graph *g = t->e.unfused;
    for (int i = g->nodes.n - 1; i >= 0; i--)
        if (g->nodes.at[i].op == OpOutput)
            return add_output(t, &g->nodes.at[i], g->nodes.at[i].type);
    die("the graph has no output");
}

static bool add_taps(Tensors *t, const Trial *trial, Fault *why)
{
    const Graph *g = t->e.graph;
    for (int i = 0; i < t->o->taps.n; i++) {
        int node = graph_find(g, t->o->taps.at[i]);
        if (node < 0)
            return fault(why, ExitUsage, "--tap '%s': no code computes it",
                         t->o->taps.at[i]);
        const Node *n = &g->nodes.at[node];
        if (!trial_value(trial, node, 0, add_output(t, n, n->type)))
            return fault(why, ExitUsage, "--tap '%s': it has no memory of its "
                         "own at run time", n->name);
        fprintf(stderr, "attnc: note: %s is kept, so nothing is fused there\n",
                n->name);
    }
    return true;
}

static bool run(Tensors *t, Fault *why)
{
    t->in = safetensors_open(t->o->input, why);
    if (!t->in || !read_inputs(t, why))
        return false;
    Trial trial = { .engine = NULL };
    trial_run(&trial, &t->e, &t->sample, 0, add_result(t));
    bool ok = add_taps(t, &trial, why) &&
              safetensors_write(t->o->output, t->out.at, t->out.n, why);
    trial_free(&trial);
    return ok;
}

int run_tensors(const Options *o)
{
    if (!o->input || !o->output)
        fail(ExitUsage, "tensors need both --input FILE and --output FILE");
    Tensors t = { .o = o };
    Fault why;
    EngineOptions options = engine_options(o);
    options.keep_all = o->taps.n > 0;
    int code = engine_open(&t.e, &options);
    if (!code && !run(&t, &why))
        code = report_fault(&why);
    if (t.in)
        safetensors_close(t.in);
    engine_close(&t.e);
    return code;
}
