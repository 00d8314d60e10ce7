/* weight_structs.c: emits the structs of weights, with comments on their
 * shapes, and the function that binds them to packed bytes. Layers with the
 * same fields share a struct and form an array. */
#include "emit/gen/layer_loops.h"
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

/* Returns the shape and layout of a block, e.g. "[512, 1536] in panels of
 * 16". */
static const char *shape_text(Gen *g, const Block *b)
{
    switch (b->layout) {
    case PackPanels:
        return arena_printf(g->a, "[%lld, %lld] in panels of 16",
                            (long long)b->columns, (long long)b->k);
    case PackVector: return arena_printf(g->a, "[%lld]", (long long)b->columns);
    case PackDistance:
        return arena_printf(g->a, "[%lld, %lld] by distance",
                            (long long)b->columns, (long long)b->k);
    case PackRows: break;
    }
    return arena_printf(g->a, "[%lld, %lld] row by row", (long long)b->columns,
                        (long long)b->k);
}

/* Returns the first block of a layer, from which Block.of_layer leads to the
 * others, or -1 if the layer has no blocks. Layer -1 is the model itself. */
static int first_block(const Gen *g, Stack stack, int layer)
{
    const LayerBlocks *l = plan_layer(g->p, stack, layer);
    return l ? l->first : -1;
}

/* Returns the declaration of the pointer to a block's packed bytes. */
static const char *pointer_to(Gen *g, const Block *b)
{
    const char *start = arena_printf(g->a, "    const %s *%s;",
                                     number_type(b->dtype), b->field);
    return arena_printf(g->a, "%-40s /* %s%s%s */\n", start,
                        b->dtype == DtypeF32 ? "" : dtype_word[b->dtype],
                        b->dtype == DtypeF32 ? "" : " ", shape_text(g, b));
}

/* Returns the members of the struct of one layer or, for layer -1, of the
 * model. */
static const char *members(Gen *g, Stack stack, int layer)
{
    Buffer text = { .arena = g->a };
    buffer_add(&text, "", 0);
    for (int i = first_block(g, stack, layer); i >= 0;) {
        const Block *b = &g->p->block.at[i];
        buffer_printf(&text, "%s", g->member(g, b));
        i = b->of_layer;
    }
    return text.at;
}

/* ---- layers with the same members ---- */

static void compare_layers(Gen *g, Layers *s)
{
    Index texts = { 0 };
    const size_t n = (size_t)s->n;
    int kinds = 0;
    s->members = arena_alloc(g->a, n * sizeof *s->members);
    s->like = arena_alloc(g->a, n * sizeof *s->like);
    s->place = arena_alloc(g->a, n * sizeof *s->place);
    s->count = arena_alloc(g->a, n * sizeof *s->count);
    for (int l = 0; l < s->n; l++) {
        s->members[l] = members(g, s->stack, l);
        s->like[l] = index_add(g->a, &texts, s->members[l], l);
        s->place[l] = s->count[s->like[l]]++;
        kinds += s->like[l] == l && *s->members[l];
    }
    s->alike = kinds == 1;
}

static void find_layers(Gen *g)
{
    for (int i = 0; i < Stacks; i++)
        g->layers[i] = (Layers){ .stack = (Stack)i };
    for (int i = 0; i < g->p->layer.n; i++) {
        const LayerBlocks *l = &g->p->layer.at[i];
        Layers *s = l->layer < 0 ? NULL : &g->layers[l->stack];
        if (s && s->n <= l->layer)
            s->n = l->layer + 1;
    }
    for (int i = 0; i < Stacks; i++)
        compare_layers(g, &g->layers[i]);
}

/* Returns the name of a layer struct: "encoder" or, if layers differ, e.g.
 * "encoder_2", with the number of the first layer that has these fields. */
static const char *of_layers(Gen *g, Stack stack, int layer, const char *what)
{
    const Layers *s = &g->layers[stack];
    const char *name = stack_name[stack];
    return s->alike ? arena_printf(g->a, "%s%s", name, what)
                    : arena_printf(g->a, "%s%s_%d", name, what, s->like[layer]);
}

const char *layer_type(Gen *g, Stack stack, int layer)
{
    return of_layers(g, stack, layer, "_layer");
}

const char *layer_array(Gen *g, Stack stack, int layer)
{
    return layer < g->layers[stack].n ? of_layers(g, stack, layer, "") : "";
}

int layer_like(const Gen *g, Stack stack, int layer)
{
    return layer < g->layers[stack].n ? g->layers[stack].like[layer] : -1;
}

int layer_place(const Gen *g, Stack stack, int layer)
{
    return layer < g->layers[stack].n ? g->layers[stack].place[layer] : 0;
}

static void layer_struct(Gen *g, Emit *e, const Layers *s, int layer)
{
    const char *text = s->members[layer];
    let(e, "type", "%s", layer_type(g, s->stack, layer));
    put(e, "struct $type {\n");
    emit_raw(e, text, strlen(text));
    put(e, "};\n\n");
}

static void layer_members(Gen *g, Emit *e, const Layers *s)
{
    for (int l = 0; l < s->n; l++) {
        if (s->like[l] != l || !*s->members[l])
            continue;
        let(e, "type", "%s", layer_type(g, s->stack, l));
        let(e, "name", "%s", layer_array(g, s->stack, l));
        let(e, "n", "%s", layers_text(g, s->stack, s->count[l]));
        put(e, "struct $type $name[$n];\n");
    }
}

static const char *const format_text[Dtypes] = {
#define FORMAT(name, word, group, line, ending, shared, steps, gate, meaning, \
               layout)                                                        \
    layout,
#include "runtime/weights/format_rows.h"
};

/* True if any block has this format. */
static bool stores(const Gen *g, Dtype d)
{
    bool found = false;
    for (int i = 0; i < g->p->block.n; i++)
        found |= g->p->block.at[i].dtype == d;
    return found;
}

void emit_layer_structs(Gen *g, Emit *e)
{
    find_layers(g);
    for (int i = 0; i < Stacks; i++)
        for (int l = 0; l < g->layers[i].n; l++)
            if (g->layers[i].like[l] == l && *g->layers[i].members[l])
                layer_struct(g, e, &g->layers[i], l);
    put(e, "struct weights {\n");
    if (!g->p->block.n)
        put(e, "char none;\n");
    if (plan_has_amx(g->p))
        put(e, "int64_t amx;    /* 1: products may use AMX */\n");
    const char *own = members(g, StackNone, -1);
    emit_raw(e, own, strlen(own));
    for (int i = 0; i < Stacks; i++)
        layer_members(g, e, &g->layers[i]);
    put(e, "};\n\n");
}

void emit_weight_structs(Gen *g, Emit *e)
{
    put(e, "/* Addresses in model.weights. A matrix [n, k] is stored as\n"
           " * n / 16 consecutive panels of 16 rows; a panel has, for every k\n"
           " * in turn, the elements of its rows. */\n");
    for (int d = 0; d < Dtypes; d++)
        if (format_text[d] && stores(g, (Dtype)d))
            put(e, format_text[d]);
    g->member = pointer_to;
    emit_layer_structs(g, e);
}

/* ---- bind ---- */

static void bind_fields(Gen *g, Emit *e, Stack stack, int layer, int64_t from)
{
    for (int i = first_block(g, stack, layer); i >= 0;) {
        const Block *b = &g->p->block.at[i];
        const char *p = layer >= 0 ? "q" : "p";
        const long long at = b->at / 4 - from; /* < 0: the weight is shared with
                                                * an earlier layer */
        i = b->of_layer;
        let(e, "field", "%s", b->field);
        let(e, "p", "%s", p);
        if (at != 0)
            let(e, "p", "%s %c %lld", p, at < 0 ? '-' : '+', at < 0 ? -at : at);
        let(e, "w", layer >= 0 ? "x" : "w");
        let(e, "number", "%s", number_type(b->dtype));
        put(e, b->dtype == DtypeF32 ? "$w->$field = $p;\n"
                                    : "$w->$field = (const $number *)($p);\n");
    }
}

enum {
    NumberFrom,
    NumberPlace
}; /* numbers of a layer: offset of its first weight in floats, and its index */

typedef struct { /* the layers of a stack, if they have weights */
    VEC(int) layer;
    VEC(LoopItem) item;
} Bound;

static int64_t first_number(const Gen *g, Stack stack, int layer)
{
    return g->p->block.at[first_block(g, stack, layer)].at / 4;
}

static void bind_layer(Gen *g, Emit *e, const void *of, int item,
                       const LoopPath *path)
{
    const Bound *s = of;
    const Stack stack = s->item.at[item].stack;
    const int layer = s->layer.at[item];
    let(e, "type", "%s", layer_type(g, stack, layer));
    let(e, "array", "%s", layer_array(g, stack, layer));
    let(e, "place", "%s", loop_number(g, s->item.at, path, NumberPlace));
    let(e, "from", "%s", loop_number(g, s->item.at, path, NumberFrom));
    put(e, "struct $type *x = &w->$array[$place];\n"
           "const float *q = p + $from;\n"
           "\n");
    bind_fields(g, e, stack, layer, first_number(g, stack, layer));
}

/* Returns the first layer that has the same fields at the same distances, so
 * that one loop can bind both layers. */
static int first_bound(Gen *g, Index *layers, Stack stack, int layer)
{
    const int64_t from = first_number(g, stack, layer);
    VEC(int64_t) key = { 0 };
    vec_push(g->a, &key, layer_like(g, stack, layer));
    for (int i = first_block(g, stack, layer); i >= 0;) {
        const Block *b = &g->p->block.at[i];
        vec_push(g->a, &key, b->at / 4 - from);
        i = b->of_layer;
    }
    return index_add_key(g->a, layers, key.at, (size_t)key.n * sizeof *key.at,
                         layer);
}

static void bind_stack(Gen *g, Emit *e, const Layers *s)
{
    Bound bound = { 0 };
    Index like = { 0 };
    for (int l = 0; l < s->n; l++) {
        if (!*s->members[l])
            continue;
        const LoopItem item = {
            .stack = s->stack,
            .like = first_bound(g, &like, s->stack, l),
            .number = { [NumberFrom] = first_number(g, s->stack, l),
                        [NumberPlace] = s->place[l] },
        };
        vec_push(g->a, &bound.layer, l);
        vec_push(g->a, &bound.item, item);
    }
    put_loops(g, e, bound.item.at, bound.item.n, bind_layer, &bound);
}

void emit_bind(Gen *g, Emit *e)
{
    if (!g->p->block.n) {
        put(e, "static void bind_weights(void *bound, const void *packed)\n"
               "{\n"
               "    (void)bound;\n"
               "    (void)packed;\n"
               "}\n\n");
        return;
    }
    put(e, "static void bind_weights(void *bound, const void *packed)\n"
           "{\n"
           "    struct weights *w = bound;\n"
           "    const float *p = packed;\n"
           "\n");
    if (plan_has_amx(g->p) && g->o->freestanding)
        put(e,
            "#ifdef ATTNC_AMX_ALLOWED /* the caller has asked the system for AMX */\n"
            "    w->amx = 1;\n"
            "#else\n"
            "    w->amx = 0;\n"
            "#endif\n");
    else if (plan_has_amx(g->p))
        put_call(e,
                 arena_printf(g->a, "w->amx = %s",
                              use_kernel(g->kernels, "amx_allowed")),
                 "", ";");
    bind_fields(g, e, StackNone, -1, 0);
    for (int i = 0; i < Stacks; i++)
        bind_stack(g, e, &g->layers[i]);
    put(e, "}\n\n");
}
