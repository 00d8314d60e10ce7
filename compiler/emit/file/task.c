/* task.c: emits a single task, for `attnc tune` to time: the functions that the
 * model's file has for the task, and an exported function that calls them. */
#include "emit/attention/attention.h"
#include "emit/product/products.h"

static void put_task_front(Gen *g, Emit *e)
{
    if (g->o->mode == EmitJit)
        put(e, "typedef signed char int8_t;\n"
               "typedef unsigned char uint8_t;\n"
               "typedef unsigned short uint16_t;\n"
               "typedef int int32_t;\n"
               "typedef long int64_t;\n"
               "\n");
    else
        put(e, "#include <math.h>\n"
               "#include <stddef.h>\n"
               "#include <stdint.h>\n"
               "#include <string.h>\n"
               "\n");
}

static void product_call(Gen *g, Emit *e, const Task *t)
{
    const Epilogue ep = epilogue_of(g->p, t->node);
    put_call(e, need_matmul(g, t->node),
             arena_printf(
                 g->a,
                 "%sn[0], n[1], n[2], at[0], n[3], at[1]%s, at[3], n[4]%s",
                 amx_argument(g, t->node), ep.parts & EpBias ? ", at[2]" : "",
                 ep.parts & EpResidual ? ", at[4], n[5]" : ""),
             ";");
}

static void attention_call(Gen *g, Emit *e, const Task *t)
{
    const char *name = need_attention(g, t->node);
    put(e, "struct keys m;\n"
           "\n"
           "m.k = at[1];\n"
           "m.v = at[2];\n"
           "m.page = at[3];\n"
           "m.bias = at[4];\n"
           "m.k_page = n[2];\n"
           "m.v_page = n[3];\n"
           "m.count = n[4];\n"
           "m.past = n[5];\n"
           "m.prefix = n[6];\n");
    if (node_at(g->p, t->node)->sinks)
        put(e, "m.sink = 0;\n");
    if (has_score_vector(node_at(g->p, t->node)))
        put(e, "m.score = at[0];\n"); /* any vector of a query's length will
                                       * do */
    put_call(e, name, "at[0], n[0], n[1], &m, at[5], n[7], at[6]", ";");
}

const char *emit_task(Arena *a, const Plan *p, const Task *t, EmitMode mode,
                      size_t *n)
{
    const EmitOptions o = { .mode = mode };
    Gen g = { .a = a,
              .p = p,
              .o = &o,
              .only = t,
              .helpers = emit_new(a),
              .shapes = emit_new(a),
              .kernels = kernels_new(a, &p->target, mode == EmitJit) };
    Emit *e = emit_new(a), *call = emit_new(a);
    if (t->key.kind > TaskAttention)
        return NULL;
    put(call, "void attnc_task(void *const *at, const int64_t *n);\n"
              "\n"
              "void attnc_task(void *const *at, const int64_t *n)\n"
              "{\n");
    if (t->key.kind == TaskAttention)
        attention_call(&g, call, t);
    else
        product_call(&g, call, t);
    put(call, "}\n");
    put_task_front(&g, e);
    emit_kernels(g.kernels, e);
    put(e, "\n");
    emit_add(e, g.helpers);
    emit_add(e, g.shapes);
    emit_add(e, call);
    return emit_text(e, n);
}
