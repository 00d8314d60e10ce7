/* emit_weights.c: the structs of weights, shapes beside their fields, and the
 * function that binds them to packed bytes. Layers with the same fields share
 * a struct; a stack whose layers are all alike is an array of it.           */
#include "emit_parts.h"

#include <string.h>

static bool in_layer(const Block *b, const char *stack, int layer)
{
    return b->layer == layer && !strcmp(b->stack, stack);
}

/* "[512, 1536] in panels of 16": shape and layout of a block. */
static const char *shape_text(Gen *g, const Block *b)
{
    switch (b->layout) {
    case PackPanels:
        return arena_printf(g->a, "[%lld, %lld] in panels of 16",
                            (long long)b->columns, (long long)b->k);
    case PackVector:
        return arena_printf(g->a, "[%lld]", (long long)b->columns);
    case PackDistance:
        return arena_printf(g->a, "[%lld, %lld] by distance",
                            (long long)b->columns, (long long)b->k);
    case PackRows:
        break;
    }
    return arena_printf(g->a, "[%lld, %lld] row by row",
                        (long long)b->columns, (long long)b->k);
}

static const char *make_members(Gen *g, const char *stack, int layer)
{
    Emit *e = emit_new(g->a);
    const Plan *p = g->p;
    for (int i = 0; i < p->block.n; i++) {
        const Block *b = &p->block.at[i];
        if (layer >= 0 ? !in_layer(b, stack, layer) : b->layer >= 0)
            continue;
        const char *start = arena_printf(g->a, "    const %s *%s;",
                                         number_type(b->dtype), b->field);
        let(e, "line", "%-40s /* %s%s */", start,
            b->dtype == DtypeBf16 ? "bf16 " : "", shape_text(g, b));
        put(e, "$line\n");
    }
    size_t n;
    const char *text = emit_text(e, &n);
    return arena_strndup(g->a, text ? text : "", n);
}

/* The members of one layer's struct; stack "" and layer -1: of the model's. */
static const char *members(Gen *g, const char *stack, int layer)
{
    for (int i = 0; i < g->layers.n; i++) {
        const LayerText *t = &g->layers.at[i];
        if (t->layer == layer && !strcmp(t->stack, stack))
            return t->text;
    }
    const LayerText t = { stack, layer, make_members(g, stack, layer) };
    vec_push(g->a, &g->layers, t);
    return t.text;
}

/* Number of layers of a stack that have weights. */
static int layers_of(const Gen *g, const char *stack)
{
    int n = 0;
    for (int i = 0; i < g->p->block.n; i++) {
        const Block *b = &g->p->block.at[i];
        if (!strcmp(b->stack, stack) && b->layer >= n)
            n = b->layer + 1;
    }
    return n;
}

bool layers_alike(Gen *g, const char *stack)
{
    const int n = layers_of(g, stack);
    for (int l = 1; l < n; l++)
        if (strcmp(members(g, stack, 0), members(g, stack, l)))
            return false;
    return true;
}

const char *layer_type(Gen *g, const char *stack, int layer)
{
    if (layers_alike(g, stack))
        return arena_printf(g->a, "%s_layer", stack);
    int like = 0;
    while (strcmp(members(g, stack, like), members(g, stack, layer)))
        like++;
    return arena_printf(g->a, "%s_layer_%d", stack, like);
}

const char *layer_weights(Gen *g, const char *stack, int layer,
                          const char *index)
{
    if (!layers_alike(g, stack))
        return arena_printf(g->a, "%s_%d", stack, layer);
    return index ? arena_printf(g->a, "%s[%s]", stack, index)
                 : arena_printf(g->a, "%s[%d]", stack, layer);
}

const char *weight_text(Gen *g, int block)
{
    const Block *b = &g->p->block.at[block];
    return arena_printf(g->a, b->layer >= 0 ? "w->%s" : "c->w->%s", b->field);
}

static const char *const stacks[] = { "encoder", "cross", "decoder" };
enum { Stacks = sizeof stacks / sizeof *stacks };

static void layer_struct(Gen *g, Emit *e, const char *stack, int layer)
{
    const char *type = layer_type(g, stack, layer);
    if (!first_time(g, arena_printf(g->a, "struct %s", type)))
        return;
    const char *text = members(g, stack, layer);
    let(e, "type", "%s", type);
    put(e, "struct $type {\n");
    emit_raw(e, text, strlen(text));
    put(e, "};\n\n");
}

void emit_weight_structs(Gen *g, Emit *e)
{
    put(e, "/* Weights, where model.weights has them. A matrix [n, k] in\n"
           " * panels of 16 is n / 16 panels, one after the other: in each,\n"
           " * for every k in turn, the elements of 16 rows. */\n");
    if (g->p->g->spec->dtype == DtypeBf16)
        put(e, "/* bf16: a number is the upper half of a float's bits. */\n");
    for (int s = 0; s < Stacks; s++)
        for (int l = 0; l < layers_of(g, stacks[s]); l++)
            layer_struct(g, e, stacks[s], l);
    put(e, "struct weights {\n");
    if (!g->p->block.n)
        put(e, "char none;\n");
    const char *own = members(g, "", -1);
    emit_raw(e, own, strlen(own));
    for (int s = 0; s < Stacks; s++) {
        const int n = layers_of(g, stacks[s]);
        let(e, "stack", "%s", stacks[s]);
        let(e, "n", "%s", layers_text(g, stacks[s], n));
        if (n && layers_alike(g, stacks[s])) {
            let(e, "type", "%s", layer_type(g, stacks[s], 0));
            put(e, "struct $type $stack[$n];\n");
            continue;
        }
        for (int l = 0; l < n; l++) {
            let(e, "type", "%s", layer_type(g, stacks[s], l));
            let(e, "n", "%d", l);
            let(e, "name", "%s_%d", stacks[s], l);
            put(e, "struct $type $name;\n");
        }
    }
    put(e, "};\n\n");
}

/* ---- bind ---- */

static int64_t first_byte(const Gen *g, const char *stack)
{
    for (int i = 0; i < g->p->block.n; i++)
        if (in_layer(&g->p->block.at[i], stack, 0))
            return g->p->block.at[i].at;
    return 0;
}

/* The block of one layer that is called `field`. */
static const Block *layer_block(const Gen *g, const char *stack, int layer,
                                const char *field)
{
    const Plan *p = g->p;
    for (int i = 0; i < p->block.n; i++)
        if (in_layer(&p->block.at[i], stack, layer)
            && !strcmp(p->block.at[i].field, field))
            return &p->block.at[i];
    die("emit: layer %d has no weights %s", layer, field);
}

/* Bytes from one layer's weights to the next's; -1: not the same for all. */
static int64_t layer_stride(Gen *g, const char *stack)
{
    const Plan *p = g->p;
    const int n = layers_of(g, stack);
    int64_t step = -1;
    if (!layers_alike(g, stack))
        return -1;
    for (int i = 0; i < p->block.n; i++) {
        const Block *a = &p->block.at[i];
        for (int l = 1; l < n && in_layer(a, stack, 0); l++) {
            const Block *b = layer_block(g, stack, l, a->field);
            if (step < 0)
                step = b->at - a->at;
            if (b->at - a->at != step * l)
                return -1;
        }
    }
    return n > 1 ? step : 0;
}

static void bind_fields(Gen *g, Emit *e, const char *stack, int layer,
                        int64_t from)
{
    for (int i = 0; i < g->p->block.n; i++) {
        const Block *b = &g->p->block.at[i];
        if (layer >= 0 ? !in_layer(b, stack, layer) : b->layer >= 0)
            continue;
        let(e, "field", "%s", b->field);
        let(e, "at", "%lld", (long long)(b->at / 4 - from));
        let(e, "w", layer >= 0 ? "x" : "w");
        let(e, "p", layer >= 0 ? "q" : "p");
        put(e, b->dtype == DtypeBf16
               ? "$w->$field = (const uint16_t *)($p + $at);\n"
               : "$w->$field = $p + $at;\n");
    }
}

static void bind_layer(Gen *g, Emit *e, const char *stack, int layer)
{
    let(e, "type", "%s", layer_type(g, stack, layer));
    let(e, "layer", "%s", layer_weights(g, stack, layer, NULL));
    put(e, "{\n"
           "    struct $type *x = &w->$layer;\n"
           "    const float *q = p;\n"
           "\n");
    bind_fields(g, e, stack, layer, 0);
    put(e, "}\n");
}

static void bind_stack(Gen *g, Emit *e, const char *stack)
{
    const int n = layers_of(g, stack);
    const int64_t step = layer_stride(g, stack);
    if (step < 0) {
        for (int l = 0; l < n; l++)
            bind_layer(g, e, stack, l);
        return;
    }
    const int64_t from = first_byte(g, stack) / 4;
    let(e, "n", "%s", layers_text(g, stack, n));
    let(e, "type", "%s", layer_type(g, stack, 0));
    let(e, "layer", "%s", layer_weights(g, stack, 0, "l"));
    let(e, "from", "%lld", (long long)from);
    let(e, "step", "%lld", (long long)(step / 4));
    put(e, "for (int64_t l = 0; l < $n; l++) {\n"
           "    struct $type *x = &w->$layer;\n"
           "    const float *q = p + $from + l * $step;\n"
           "\n");
    bind_fields(g, e, stack, 0, from);
    put(e, "}\n");
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
    bind_fields(g, e, "", -1, 0);
    for (int s = 0; s < Stacks; s++)
        if (layers_of(g, stacks[s]))
            bind_stack(g, e, stacks[s]);
    put(e, "}\n\n");
}
