/* code.c: emits the code of the model for one target. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

void append_text(Emit *e, const Emit *part)
{
    size_t n;
    const char *text = emit_text(part, &n);
    if (n > 0) /* with n 0, the text is NULL */
        paste(e, text, text + n);
}

static void append_kernels(Gen *g, Emit *e)
{
    Emit *k = emit_new(g->a);
    emit_kernels(g->kernels, k);
    append_text(e, k);
    put(e, "\n");
}

void part_heading(Gen *g, Emit *e, const char *title)
{
    if (g->o->mode != EmitJit)
        section_heading(e, title);
}

void emit_public(Gen *g, Emit *e, CorePart part)
{
    if (g->o->mode != EmitAot) {
        emit_core(g, e, part);
        return;
    }
    if (part == CoreBatch)
        put(e, "/* The header has comments on the public types. */\n\n");
    emit_types(g, e, part);
}

void emit_code(Gen *g, Emit *e)
{
    Emit *weights = emit_new(g->a), *calls = emit_new(g->a);
    Emit *entries = emit_new(g->a), *split = emit_new(g->a);
    emit_weight_structs(g, weights);
    emit_call_structs(g, calls);
    make_functions(g);
    emit_entries(g, entries);
    emit_split(g, split);
    emit_layouts(g, split);
    emit_bind(g, split);
    if (generates(g))
        use_kernel(g->kernels, "log_sum_exp");

    part_heading(g, e, "sizes, weights");
    emit_dimensions(g, e, "");
    append_text(e, weights);
    part_heading(g, e, "a call, its memory");
    if (!g->o->beside && !g->o->nlevels)
        emit_public(g, e, CoreBatch);
    append_text(e, calls);
    part_heading(g, e, "encode, decode");
    append_text(e, entries);
    part_heading(g, e, "kernels");
    append_kernels(g, e);
    part_heading(g, e, "products and attention of one shape");
    append_text(e, g->helpers);
    append_text(e, g->shapes);
    part_heading(g, e, "steps of the model");
    for (int i = 0; i < g->functions.n; i++)
        if (!g->functions.at[i].type)
            emit_function(g, e, &g->functions.at[i]);
    part_heading(g, e,
                 g->serial ? "places in memory"
                           : "parts for threads, places in memory");
    append_text(e, split);
}
