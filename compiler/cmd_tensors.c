/* cmd_tensors.c: attnc run --input FILE --output FILE: numbers in and out, by
 * the names that the graph has for them. One sequence at a time.            */
#include <string.h>

#include "options.h"
#include "trial.h"

typedef struct {
    const Options *o;
    Engine e;
    Safetensors *in;
    int used;                    /* tensors of `in` that the model takes */
    Sample sample;
    int32_t start[2][2];         /* of the sample */
    const char *counted[2];      /* the input that gave a side its rows */
    VEC(TensorOut) out;
} Tensors;

/* --------------------------------------------------------------- input --- */
static const Tensor *find(Tensors *t, const char *name)
{
    const Tensor *from = safetensors_find(t->in, name);
    t->used += from != NULL;
    return from;
}

static bool wrong(const Tensors *t, const char *name, const char *what,
                  Fault *why)
{
    return fault(why, ExitInput, "%s: tensor '%s': %s", safetensors_path(t->in),
                 name, what);
}

static bool is_whole(const Tensor *from)
{
    return from->rank == 1 && (from->type == StI32 || from->type == StI64);
}

/* Ids below `size`; NULL after a fault. */
static const int32_t *read_ids(Tensors *t, const Tensor *from, int64_t size,
                               Fault *why)
{
    size_t count = (size_t)from->elements;
    float *x = arena_alloc(t->e.arena, (count + 1) * sizeof *x);
    int32_t *ids = arena_alloc(t->e.arena, (count + 1) * sizeof *ids);
    if (!is_whole(from)) {
        wrong(t, from->name, "ids, I32 or I64 of shape [n], are needed", why);
        return NULL;
    }
    tensor_floats(from, 0, from->elements, x);
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] >= 0 && x[i] < (float)size)) {
            wrong(t, from->name, arena_printf(t->e.arena, "element %zu is no "
                  "id below %lld", i, (long long)size), why);
            return NULL;
        }
        ids[i] = (int32_t)x[i];
    }
    return ids;
}

/* Rows of numbers stand behind the row of a class token. */
static int64_t rows_before(const Tensors *t, const Node *n)
{
    return n->type.elem == ElemF32 && t->e.spec->input_class_token;
}

static const float *read_rows(Tensors *t, const Tensor *from, const Node *n,
                              Fault *why)
{
    int64_t width = n->type.dim[1].c;
    if (from->rank != 2 || from->dim[1] != width) {
        wrong(t, n->name, arena_printf(t->e.arena, "shape %s is needed",
                                       print_type(t->e.arena, n->type)), why);
        return NULL;
    }
    int64_t first = rows_before(t, n) * width;
    float *x = aligned_memory(t->e.arena, (first + from->elements) * 4 + 4);
    tensor_floats(from, 0, from->elements, x + first);
    return x;
}

/* All inputs of a side have as many rows. */
static bool count_rows(Tensors *t, const Node *n, int side, int64_t rows,
                       Fault *why)
{
    int64_t before = rows_before(t, n), most = n->type.dim[0].c - before;
    int32_t *end = &t->start[side][1];
    const char *text = NULL;
    if (rows < 1 || rows > most)
        text = arena_printf(t->e.arena, "1 to %lld rows are possible, it has "
                            "%lld", (long long)most, (long long)rows);
    else if (t->counted[side] && rows != *end)
        text = arena_printf(t->e.arena, "as many rows as '%s' has, %d, are "
                            "needed", t->counted[side], *end);
    if (text)
        return wrong(t, n->name, text, why);
    t->counted[side] = n->name;
    *end = (int32_t)(before + rows);
    return true;
}

/* The first ids of an entry are tokens, the second their types; rows are those
 * of kind attention in their order, else all that the model reads.          */
static bool read_input(Tensors *t, const Node *n, const Tensor *from,
                       int ordinal, Fault *why)
{
    const Spec *s = t->e.spec;
    Sample *x = &t->sample;
    int side = n->entry == EntryDecode;
    bool read;
    if (n->type.elem == ElemF32) {
        side = s->kind == KindAttention ? ordinal > 0 : side;
        read = (x->rows[ordinal] = read_rows(t, from, n, why)) != NULL;
    } else if (ordinal > 0) {
        read = (x->types = read_ids(t, from, s->embed_types, why)) != NULL;
    } else {
        int64_t size = side ? s->target.size : s->source.size;
        read = (x->ids[side] = read_ids(t, from, size, why)) != NULL;
    }
    return read && count_rows(t, n, side, from->dim[0], why);
}

/* Rows that all see, where a mask says so: a number under that name. */
static bool read_prefix(Tensors *t, Fault *why)
{
    const SpecSide *side = t->e.spec->side;
    if (!side[SideEncoder].mask.prefix && !side[SideDecoder].mask.prefix)
        return true;
    const Tensor *from = find(t, "prefix");
    if (!from)
        return true;
    if (from->elements != 1)
        return wrong(t, "prefix", "one number of rows is needed", why);
    const int32_t *rows = read_ids(t, from, INT32_MAX, why);
    t->sample.prefix = rows ? *rows : 0;
    return rows != NULL;
}

/* Says so where the file has more than the model takes. */
static void warn_of_others(const Tensors *t)
{
    int others = safetensors_count(t->in) - t->used;
    if (others > 0)
        warning_at((Pos){ 0 }, "%s: %d tensor%s not among the model's inputs",
                   safetensors_path(t->in), others,
                   others == 1 ? " is" : "s are");
}

static bool read_inputs(Tensors *t, Fault *why)
{
    const Graph *g = t->e.unfused;
    int inputs[3][2] = { { 0 } };        /* of an entry, by elements */
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpInput)
            continue;
        int ordinal = inputs[n->entry][n->type.elem]++;
        bool types = n->type.elem == ElemI32 && ordinal > 0;
        const Tensor *from = find(t, n->name);
        if (!from && !types)             /* types are all 0 without it */
            return fault(why, ExitInput, "%s: tensor '%s' is missing, the "
                         "graph's input: %s", safetensors_path(t->in), n->name,
                         print_type(t->e.arena, n->type));
        if (from && !read_input(t, n, from, ordinal, why))
            return false;
    }
    t->sample.sequences = 1;
    t->sample.start[0] = t->start[0];
    t->sample.start[1] = t->start[1];
    if (!read_prefix(t, why))
        return false;
    warn_of_others(t);
    return true;
}

/* -------------------------------------------------------------- output --- */
static int64_t length_of(const Tensors *t, Dim d)
{
    switch (d.sym) {
    case SymNone: return d.c;
    case SymN:    return t->start[0][1];
    case SymS:    return t->sample.sequences;
    default:      return t->start[1][1];
    }
}

/* Room for a value of that type, under a name. */
static float *add_output(Tensors *t, const char *name, Type type)
{
    TensorOut out = { .name = name, .rank = type.rank };
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
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[i];
        if (n->op == OpOutput)
            return add_output(t, n->name, n->type);
    }
    die("the graph has no output");
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
            continue;                    /* is written without being asked */
        if (!trial_value(trial, node, 0, add_output(t, name, n->type)))
            return fault(why, ExitUsage, "--tap '%s': it has no memory of its "
                         "own at run time", name);
        fprintf(stderr, "attnc: note: %s is kept, so nothing is fused there\n",
                name);
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
