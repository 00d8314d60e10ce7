/* cmd_tensors.c: attnc tensors. Lists a model's weights and where they are in
 * the file, and tensors of the file that the model does not use. */
#include <string.h>

#include "base/table.h"
#include "base/put_json.h"
#include "cli/options/options.h"

typedef struct {
    Engine e;
    int width;  /* width of the longest name */
    bool *used; /* [tensors of the file]: true if the model uses it */
    int weights, unused;
    Buffer json; /* the JSON output; `at` is NULL for text output */
} Listing;

static int longest_name(const Graph *g)
{
    size_t most = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        size_t n = g->nodes.at[i].op == OpWeight ? strlen(g->nodes.at[i].name)
                                                 : 0;
        most = n > most ? n : most;
    }
    return (int)most;
}

static void print_tensor(const Listing *l, const char *weight,
                         const char *shape, const char *where)
{
    enum { Shape = 16, Gaps = 4, Least = 16 };
    const int room = table_room(stdout);
    Arena *a = l->e.arena;
    int width = l->width;
    if (room > 0) { /* each of the two names may take half of the terminal */
        const int half = (room - Shape - Gaps) / 2;
        width = half < width ? (half < Least ? Least : half) : width;
        weight = cut_middle(a, weight, width);
        where = cut_middle(a, where, room - width - Shape - Gaps);
    }
    printf("%-*s  %-16s  %s\n", width, weight, shape, where);
}

/* Describes the part of a tensor that is a weight, and how it is changed, e.g.
 * "rows 16..31 of 48, transposed, times 0.5, plus 1". */
static const char *part_of(Arena *a, const FileTensor *f)
{
    const char *text = "", *turned = f->transposed ? ", transposed" : "";
    if (f->groups) {
        text = arena_printf(a, ", %s %lld..%lld of %lld",
                            f->by_columns ? "columns" : "rows",
                            (long long)f->first,
                            (long long)(f->first + f->take - 1),
                            (long long)f->stride);
        if (f->groups > 1)
            text = arena_printf(a, "%s, %lld times", text,
                                (long long)f->groups);
    }
    text = arena_printf(a, "%s%s", text, turned);
    if (f->slices)
        text = arena_printf(a, ", slice %lld of %lld%s", (long long)f->slice,
                            (long long)f->slices, text);
    if (f->changed && (f->scale < 1 || f->scale > 1))
        text = arena_printf(a, "%s, times %g", text, (double)f->scale);
    if (f->changed && (f->add < 0 || f->add > 0))
        text = arena_printf(a, "%s, plus %g", text, (double)f->add);
    return text;
}

/* Appends one weight as a JSON object. `f` describes the part of the tensor
 * that it is read from. */
static void json_weight(Listing *l, const Node *n, const char *name,
                        const FileTensor *f)
{
    Buffer *b = &l->json;
    int64_t dim[3];
    const int part = n->parts > 0; /* skips the dimension that counts
                                    * concatenated parts */
    for (int i = part; i < n->type.rank; i++)
        dim[i - part] = n->type.dim[i].c;
    buffer_printf(b, "%s  {", l->weights ? ",\n" : "");
    json_put_text(b, "name", name);
    json_put_counts(b, "shape", dim, n->type.rank - part);
    if (!f->name) {
        json_put_number(b, "fill", f->fill, 17);
    } else {
        json_put_text(b, "tensor", f->name);
        if (f->groups) {
            buffer_printf(b, ", \"part\": {");
            json_put_text(b, "of", f->by_columns ? "columns" : "rows");
            json_put_count(b, "first", f->first);
            json_put_count(b, "take", f->take);
            json_put_count(b, "stride", f->stride);
            json_put_count(b, "groups", f->groups);
            buffer_printf(b, "}");
        }
        if (f->slices) {
            json_put_count(b, "slice", f->slice);
            json_put_count(b, "slices", f->slices);
        }
        json_put_flag(b, "transposed", f->transposed);
        if (f->changed) {
            json_put_number(b, "scale", (double)f->scale, 9);
            json_put_number(b, "add", (double)f->add, 9);
        }
    }
    buffer_printf(b, "}");
}

/* Returns the shape of a weight; for a concatenated one, the shape of a
 * part. */
static const char *part_shape(Arena *a, const Node *n)
{
    Type t = n->type;
    if (n->parts) {
        t.dim[0] = t.dim[1];
        t.dim[1] = t.dim[2];
        t.rank--;
    }
    return strchr(print_type(a, t), '[');
}

static void list_part(Listing *l, const Node *n, const char *name)
{
    Arena *a = l->e.arena;
    FileTensor from;
    if (!spec_file_tensor(a, l->e.spec, name, &from))
        die("%s has no place in a file", name);
    if (n->type.rank - (n->parts > 0) < 2)
        from.transposed = false;
    const char *where = from.name
                          ? arena_printf(a, "%s%s", quote(from.name),
                                         part_of(a, &from))
                          : arena_printf(a, "filled with %g", from.fill);
    if (l->json.at)
        json_weight(l, n, name, &from);
    else
        print_tensor(l, name, part_shape(a, n), where);
    l->weights++;
    if (l->e.file && from.name)
        l->used[safetensors_find(l->e.file, from.name)
                - safetensors_at(l->e.file, 0)] = true;
}

static void list_weight(Listing *l, const Node *n)
{
    for (int64_t e = 0; e == 0 || e < n->parts; e++)
        list_part(l, n, weight_part(l->e.arena, n, e));
}

static void list_unused(Listing *l, int tensor)
{
    const Tensor *t = safetensors_at(l->e.file, tensor);
    Arena *a = l->e.arena;
    if (l->json.at) {
        buffer_printf(&l->json, "%s  {", l->unused ? ",\n" : "");
        json_put_text(&l->json, "tensor", t->name);
        json_put_counts(&l->json, "shape", t->dim, t->rank);
        buffer_printf(&l->json, "}");
        l->unused++;
        return;
    }
    char *shape = arena_strdup(a, "");
    for (int i = 0; i < t->rank; i++)
        shape = arena_printf(a, "%s%s%lld", shape, i ? ", " : "",
                             (long long)t->dim[i]);
    print_tensor(l, "(not used)", arena_printf(a, "[%s]", shape),
                 quote(t->name));
    l->unused++;
}

static void list_tensors(Listing *l)
{
    const Graph *g = l->e.unfused;
    int tensors = l->e.file ? safetensors_count(l->e.file) : 0;
    l->used = arena_alloc(l->e.arena, (size_t)tensors + 1);
    l->width = longest_name(g);
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == OpWeight)
            list_weight(l, &g->nodes.at[i]);
    if (l->json.at)
        buffer_printf(&l->json, "\n ],\n \"unused\": [\n");
    for (int i = 0; i < tensors; i++)
        if (!l->used[i])
            list_unused(l, i);
}

static void print_totals(const Listing *l, int tensors)
{
    printf("%d weights", l->weights);
    if (l->e.file)
        printf(" in %d tensors of %s", tensors - l->unused,
               quote(safetensors_path(l->e.file)));
    if (l->unused)
        printf("; %d more, not used", l->unused);
    puts("");
}

static void begin_json(Listing *l)
{
    Buffer *b = &l->json;
    b->arena = l->e.arena;
    buffer_printf(b, "{");
    json_put_text(b, "model", l->e.spec->name);
    buffer_printf(b, ",\n ");
    json_put_text(b, "file", l->e.file ? safetensors_path(l->e.file) : NULL);
    buffer_printf(b, ",\n \"weights\": [\n");
}

static void print_tensors(Listing *l, bool json)
{
    if (json)
        begin_json(l);
    list_tensors(l);
    if (json)
        printf("%s%s]}\n", l->json.at, l->unused ? "\n " : " ");
    else
        print_totals(l, l->e.file ? safetensors_count(l->e.file) : 0);
}

int cmd_tensors(const Options *o)
{
    Listing l = { .weights = 0 };
    EngineOptions options = engine_options(CmdTensors, &o->model, NULL);
    Report report = { 0 };
    int code = engine_plan(&l.e, &options);
    if (!code)
        code = engine_file(&l.e, &report);
    if (code)
        print_report(&report);
    else
        print_tensors(&l, o->json);
    report_free(&report);
    engine_close(&l.e);
    return code;
}
