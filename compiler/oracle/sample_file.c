/* sample_file.c: reads one input sequence from a file in which tensors have the
 * names of the graph's inputs. */
#include "oracle/trial.h"

typedef struct {
    const Engine *e;
    Safetensors *in;
    int used;               /* number of tensors in `in` that the model uses */
    const char *counted[2]; /* by side: name of the input that set the number of
                             * rows */
    SampleFile *to;
} SampleReader;

static const Tensor *find(SampleReader *r, const char *name)
{
    const Tensor *from = safetensors_find(r->in, name);
    r->used += from != NULL;
    return from;
}

static bool wrong(const SampleReader *r, const char *name, const char *what,
                  Fault *why)
{
    return fault(why, ExitInput, "%s: tensor '%s': %s", safetensors_path(r->in),
                 name, what);
}

static bool is_whole(const Tensor *from)
{
    return from->rank == 1 && (from->type == StI32 || from->type == StI64);
}

/* Reads token ids, which must be below `size`. Returns NULL with *why. */
static const int32_t *read_ids(SampleReader *r, const Tensor *from,
                               int64_t size, Fault *why)
{
    size_t count = (size_t)from->elements;
    float *x = arena_alloc(r->e->arena, (count + 1) * sizeof *x);
    int32_t *ids = arena_alloc(r->e->arena, (count + 1) * sizeof *ids);
    if (!is_whole(from)) {
        wrong(r, from->name, "ids, I32 or I64 of shape [n], are needed", why);
        return NULL;
    }
    tensor_floats(from, 0, from->elements, x);
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] >= 0 && x[i] < (float)size)) {
            wrong(r, from->name,
                  arena_printf(r->e->arena,
                               "element %zu is no "
                               "id below %lld",
                               i, (long long)size),
                  why);
            return NULL;
        }
        ids[i] = (int32_t)x[i];
    }
    return ids;
}

/* Returns the number of learned rows before the numeric rows of the sample. */
static int64_t rows_before_sample(const SampleReader *r, const Node *n)
{
    return n->type.elem == ElemF32 ? spec_input_learned(r->e->spec) : 0;
}

/* Checks that the shape is [channels, lines, columns] and that the lines fill
 * complete patches. */
static bool is_image(const Spec *s, const Tensor *from)
{
    const double *image = s->input_image.at, *patch = s->input_patch.at;
    return s->input_image.n > 0 && from->rank == 3
        && from->dim[0] == (int64_t)image[0]
        && from->dim[1] % (int64_t)patch[0] == 0
        && from->dim[2] == (int64_t)image[2];
}

static const float *read_rows(SampleReader *r, const Tensor *from,
                              const Node *n, Fault *why)
{
    const int64_t width = n->type.dim[1].c;
    const bool rows = from->rank == 2 && from->dim[1] == width;
    if (!rows && !is_image(r->e->spec, from)) {
        wrong(r, n->name,
              arena_printf(r->e->arena, "shape %s is needed",
                           print_type(r->e->arena, n->type)),
              why);
        return NULL;
    }
    int64_t first = rows_before_sample(r, n) * width;
    float *x = aligned_memory(r->e->arena, (first + from->elements) * 4 + 4);
    tensor_floats(from, 0, from->elements, x + first);
    return x;
}

/* Checks the number of rows, which must be the same for all inputs of a
 * side. */
static bool count_rows(SampleReader *r, const Node *n, int side, int64_t rows,
                       Fault *why)
{
    int64_t before = rows_before_sample(r, n), most = n->type.dim[0].c - before;
    int64_t needed = sample_rows(r->e->spec, (Side)side, before + rows);
    int32_t *end = &r->to->start[side][1];
    const char *text = NULL;
    if (rows < 1 || rows > most)
        text = arena_printf(
            r->e->arena,
            "1 to %lld rows are possible%s, it "
            "has %lld",
            (long long)most,
            before ? " beside the class token, which max_len counts" : "",
            (long long)rows);
    else if (r->counted[side] && rows != *end)
        text = arena_printf(r->e->arena,
                            "as many rows as '%s' has, %d, are "
                            "needed",
                            r->counted[side], *end);
    else if (before + rows != needed)
        text = arena_printf(r->e->arena,
                            "%lld rows are needed, which `fix` makes constant",
                            (long long)(needed - before));
    if (text)
        return wrong(r, n->name, text, why);
    r->counted[side] = n->name;
    *end = (int32_t)(before + rows);
    return true;
}

static bool read_input(SampleReader *r, const Node *n, const Tensor *from,
                       Fault *why)
{
    const Spec *s = r->e->spec;
    Sample *x = &r->to->sample;
    int side = n->entry == EntryDecode;
    const bool flat = from->rank > 2; /* a tensor of rank 3 is an image; each
                                       * patch becomes a row */
    const int64_t count = flat ? from->elements / n->type.dim[1].c
                               : from->dim[0];
    const float **rows = x->rows;
    bool read = false;
    switch (n->member) {
    case BatchIds:
        x->ids[side] = read_ids(r, from, side ? s->target.size : s->source.size,
                                why);
        read = x->ids[side] != NULL;
        break;
    case BatchTypes:
        x->types = read_ids(r, from, s->embed_types, why);
        read = x->types != NULL;
        break;
    case BatchKey:
    case BatchValue:
        side = 1;
        rows += n->member - BatchQuery;
        /* fall through */
    case BatchInput:
    case BatchQuery:
        *rows = read_rows(r, from, n, why);
        read = *rows != NULL;
        break;
    }
    return read && count_rows(r, n, side, count, why);
}

/* Reads the tensor `prefix`, which is the number of keys that every row sees,
 * if a mask of the model has a prefix. */
static bool read_prefix(SampleReader *r, Fault *why)
{
    const Spec *s = r->e->spec;
    if (!spec_has_prefix(s, SideEncoder) && !spec_has_prefix(s, SideDecoder))
        return true;
    const Tensor *from = find(r, "prefix");
    if (!from)
        return true;
    if (from->elements != 1)
        return wrong(r, "prefix", "one number of rows is needed", why);
    const int32_t *rows = read_ids(r, from, INT32_MAX, why);
    r->to->sample.prefix = rows ? *rows : 0;
    return rows != NULL;
}

/* Warns about tensors in the file that the model does not use. */
static void warn_of_others(const SampleReader *r)
{
    int others = safetensors_count(r->in) - r->used;
    if (others > 0)
        warning_at((Pos){ 0 }, "%s: %d tensor%s not among the model's inputs",
                   safetensors_path(r->in), others,
                   others == 1 ? " is" : "s are");
}

static bool read_inputs(SampleReader *r, Fault *why)
{
    const Graph *g = r->e->unfused;
    if (r->e->spec->fix.batch > 1)
        return fault(why, ExitInput,
                     "%s: it is one sequence, fix.batch makes a call of %lld; "
                     "leave that out by --set fix.batch=",
                     safetensors_path(r->in), (long long)r->e->spec->fix.batch);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpInput)
            continue;
        const Tensor *from = find(r, n->name);
        if (!from && n->member != BatchTypes) /* token types default to 0 */
            return fault(why, ExitInput,
                         "%s: tensor '%s' is missing, the "
                         "graph's input: %s",
                         safetensors_path(r->in), n->name,
                         print_type(r->e->arena, n->type));
        if (from && !read_input(r, n, from, why))
            return false;
    }
    r->to->sample.sequences = 1;
    r->to->sample.start[0] = r->to->start[0];
    r->to->sample.start[1] = r->to->start[1];
    return read_prefix(r, why);
}

bool sample_file_read(SampleFile *to, const Engine *e, const char *path,
                      Fault *why)
{
    SampleReader r = { .e = e, .in = safetensors_open(path, why), .to = to };
    *to = (SampleFile){ .start = { { 0 } } };
    if (!r.in)
        return false;
    bool read = read_inputs(&r, why);
    if (read)
        warn_of_others(&r);
    safetensors_close(r.in);
    return read;
}
