/* identity.c: builds the identities of tasks and prints their names. */
#include "plan/plan_parts.h"

#include "base/strings.h"

/* ---- of nodes ---- */

static const int64_t *sizes_of(Arena *a, int64_t x, int64_t y)
{
    int64_t *size = arena_alloc(a, 2 * sizeof *size);
    size[0] = x;
    size[1] = y;
    return size;
}

TaskIdentity product_identity(const Plan *p, TaskKind kind, int node)
{
    const Type w = node_at(p, node_at(p, node)->in[1])->type;
    TaskIdentity t = { .kind = kind,
                       .dtype = dtype_of(w),
                       .size = sizes_of(p->arena_, matrix_columns(w),
                                        matrix_rows(w)),
                       .sizes = 2,
                       .ep = epilogue_of(p, node) };
    t.ep.dtype = DtypeF32; /* the dtype is a separate member of the identity */
    return t;
}

int plan_mask(const Plan *p, const MaskSpec *m)
{
    for (int i = 0; i < p->mask.n; i++)
        if (p->mask.at[i].is == m)
            return i + 1;
    die("a mask that the plan does not have");
}

static AttentionForm form_of(const Plan *p, const Node *n)
{
    AttentionForm f = { .paged = node_at(p, n->in[1])->op != OpPackKv,
                        .score = n->score,
                        .normalizer = n->normalizer,
                        .biased = n->bias != BiasNone,
                        .sinks = n->sinks,
                        .cap = n->cap > 0 ? n->cap : 0,
                        .scale = n->scale };
    if (n->mask && n->mask->file) {
        f.file = plan_mask(p, n->mask);
        f.file_hash = p->mask.at[f.file - 1].hash;
    } else if (n->mask) {
        f.mask = *n->mask;
    }
    return f;
}

TaskIdentity attention_identity(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    return (TaskIdentity){
        .kind = TaskAttention,
        .dtype = DtypeF32,
        .size = sizes_of(p->arena_, node_at(p, n->in[1])->type.dim[2].c,
                         node_at(p, n->in[2])->type.dim[2].c),
        .sizes = 2,
        .form = form_of(p, n)
    };
}

/* Returns the identity of a region's block of rows. The sizes are k and n of
 * each product in the region or, if there is no product, the width of the
 * rows. */
TaskIdentity rows_identity(const Plan *p, const Region *r)
{
    const size_t most = 2 * (size_t)r->count;
    int64_t *size = arena_alloc(p->arena_, most * sizeof *size);
    TaskIdentity t = { .kind = TaskRows, .size = size };
    for (int i = 0; i < r->count; i++) {
        const int node = p->order.at[r->first + i];
        if (!is_product(node_at(p, node)))
            continue;
        const Type w = node_at(p, node_at(p, node)->in[1])->type;
        t.dtype = dtype_of(w);
        size[t.sizes++] = matrix_columns(w);
        size[t.sizes++] = matrix_rows(w);
    }
    if (!t.sizes)
        size[t.sizes++] = node_at(p, p->order.at[r->first])->type.dim[1].c;
    return t;
}

/* Returns the identity of the model's only task for dividing work among
 * threads. The sizes are d_model, d_ff and the number of layers in both
 * stacks. */
TaskIdentity split_identity(const Plan *p)
{
    const Spec *s = p->g->spec;
    int64_t *size = arena_alloc(p->arena_, 3 * sizeof *size);
    TaskIdentity t = { .kind = TaskSplit,
                       .dtype = s->dtype.default_dtype,
                       .size = size,
                       .sizes = 3,
                       .encodes = has_entry(p, EntryEncode),
                       .decodes = has_entry(p, EntryDecode) };
    size[0] = s->d_model;
    size[1] = spec_of_layers(s, t.encodes ? SideEncoder : SideDecoder, "d_ff");
    size[2] = s->side[SideEncoder].N + s->side[SideDecoder].N;
    return t;
}

/* ---- the same? ---- */

/* Compares numbers that are never NaN. */
static bool equal(double a, double b)
{
    return a >= b && a <= b;
}

bool form_same(const AttentionForm *a, const AttentionForm *b)
{
    return a->mask.causal == b->mask.causal && a->mask.prefix == b->mask.prefix
        && a->mask.window == b->mask.window && a->mask.block == b->mask.block
        && a->file == b->file && a->file_hash == b->file_hash
        && a->paged == b->paged && a->score == b->score
        && a->normalizer == b->normalizer && a->biased == b->biased
        && a->sinks == b->sinks && equal(a->cap, b->cap)
        && equal(a->scale, b->scale);
}

bool identity_same(const TaskIdentity *a, const TaskIdentity *b)
{
    bool same = a->kind == b->kind && a->dtype == b->dtype
             && a->sizes == b->sizes && a->ep.parts == b->ep.parts
             && a->ep.act == b->ep.act && a->ep.arithmetic == b->ep.arithmetic
             && a->encodes == b->encodes && a->decodes == b->decodes
             && form_same(&a->form, &b->form);
    for (int i = 0; same && i < a->sizes; i++)
        same = a->size[i] == b->size[i];
    return same;
}

/* ---- names ---- */

/* Returns the sizes as text: "512x2048"; for row blocks "512x2048_2048x512", or
 * a single width. */
static const char *shape_text(Arena *a, const TaskIdentity *t)
{
    const char *text = "";
    for (int i = 0; i < t->sizes; i++)
        text = arena_printf(a, "%s%s%lld", text,
                            i == 0                              ? ""
                            : t->kind == TaskRows && i % 2 == 0 ? "_"
                                                                : "x",
                            (long long)t->size[i]);
    return text;
}

static const char *mask_text(Arena *a, const AttentionForm *f, bool exact)
{
    if (f->file && exact)
        return arena_printf(a, "_mask%d_%016llx", f->file,
                            (unsigned long long)f->file_hash);
    if (f->file)
        return arena_printf(a, "_mask%d", f->file);
    return mask_words(a, &f->mask, "_", "");
}

/* Returns e.g. "_cap30000" for x = 30 in thousandths (`parts` = 1000). If
 * `exact` is set and x * parts is not an integer, returns all digits:
 * "_cap0.0012". */
static const char *number_word(Arena *a, const char *word, double x,
                               double parts, bool exact)
{
    const long long cut = x * parts < 1e18 ? (long long)(x * parts) : 0;
    return exact && !equal((double)cut / parts, x)
             ? arena_printf(a, "_%s%s", word, number_text(a, x))
             : arena_printf(a, "_%s%lld", word, cut);
}

/* Returns the epilogue of attention, e.g. "causal_paged_biased". */
static const char *form_text(Arena *a, const AttentionForm *f, bool exact)
{
    const char *s = arena_printf(
        a, "%s%s%s%s%s%s%s%s%s%s", mask_text(a, f, exact),
        f->paged ? "_paged" : "", f->score ? "_" : "",
        f->score ? score_form[f->score].word : "", f->normalizer ? "_" : "",
        f->normalizer ? normalizer_form[f->normalizer].word : "",
        f->biased ? "_biased" : "", f->sinks ? "_sinks" : "",
        f->cap > 0 ? number_word(a, "cap", f->cap, 1000, exact) : "",
        equal(f->scale, 1) ? ""
                           : number_word(a, "scale", f->scale, 1e6, exact));
    return *s ? s + 1 : s;
}

/* Returns the epilogue of a product, e.g. "bias_relu_residual". */
static const char *product_text(Arena *a, Epilogue ep)
{
    const char *s = epilogue_suffix(a, ep);
    return *s ? s + 1 : s;
}

static const char *epilogue_text(Arena *a, const TaskIdentity *t, bool exact)
{
    switch (t->kind) {
    case TaskMatmul:
    case TaskSmallM:    return product_text(a, t->ep);
    case TaskAttention: return form_text(a, &t->form, exact);
    case TaskSplit:
        return !t->decodes ? "encode" : t->encodes ? "encode_decode" : "decode";
    default: return "";
    }
}

TaskKey task_key(Arena *a, const TaskIdentity *t, bool exact)
{
    return (TaskKey){ .kind = t->kind,
                      .dtype = t->dtype,
                      .arithmetic = t->ep.arithmetic,
                      .shape = shape_text(a, t),
                      .epilogue = epilogue_text(a, t, exact) };
}
