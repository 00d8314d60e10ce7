/* cmd_tensors.c: attnc tensors: the weights of a model, and where in the file
 * each of them is; what the file has beside them.                           */
#include <string.h>

#include "cli/options.h"

typedef struct {
    Engine e;
    int width;  /* of the longest name */
    bool *used; /* by tensor of the file */
    int weights, unused;
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

static void print_row(const Listing *l, const char *weight, const char *shape,
                      const char *where)
{
    printf("%-*s  %-16s  %s\n", l->width, weight, shape, where);
}

/* "rows 16..31 of 48, transposed" */
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
    return arena_printf(a, "%s%s", text, turned);
}

static void list_weight(Listing *l, const Node *n)
{
    Arena *a = l->e.arena;
    FileTensor from;
    if (!spec_file_tensor(a, l->e.spec, n->name, &from))
        die("%s has no place in a file", n->name);
    if (n->type.rank < 2)
        from.transposed = false;
    const char *where = from.name
                          ? arena_printf(a, "%s%s", quote(from.name),
                                         part_of(a, &from))
                          : arena_printf(a, "filled with %g", from.fill);
    print_row(l, n->name, strchr(print_type(a, n->type), '['), where);
    l->weights++;
    if (l->e.file && from.name)
        l->used[safetensors_find(l->e.file, from.name)
                - safetensors_at(l->e.file, 0)] = true;
}

static void list_unused(Listing *l, int tensor)
{
    const Tensor *t = safetensors_at(l->e.file, tensor);
    Arena *a = l->e.arena;
    char *shape = arena_strdup(a, "");
    for (int i = 0; i < t->rank; i++)
        shape = arena_printf(a, "%s%s%lld", shape, i ? ", " : "",
                             (long long)t->dim[i]);
    print_row(l, "(not used)", arena_printf(a, "[%s]", shape), quote(t->name));
    l->unused++;
}

static void list(Listing *l)
{
    const Graph *g = l->e.unfused;
    int tensors = l->e.file ? safetensors_count(l->e.file) : 0;
    l->used = arena_alloc(l->e.arena, (size_t)tensors + 1);
    l->width = longest_name(g);
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == OpWeight)
            list_weight(l, &g->nodes.at[i]);
    for (int i = 0; i < tensors; i++)
        if (!l->used[i])
            list_unused(l, i);
    printf("%d weights", l->weights);
    if (l->e.file)
        printf(" in %d tensors of %s", tensors - l->unused,
               quote(safetensors_path(l->e.file)));
    if (l->unused)
        printf("; %d more, not used", l->unused);
    puts("");
}

int cmd_tensors(const TensorsCommand *o)
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
        list(&l);
    report_free(&report);
    engine_close(&l.e);
    return code;
}
