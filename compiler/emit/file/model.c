/* model.c: emits the file section by section, from top to bottom. comment.c
 * emits its first comment. */
#include "emit/text/embedded.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

/* ---- the front of the file ---- */

static void put_guard(Gen *g, Emit *e)
{
    const Target *t = &g->p->target;
    if (!t->guard || g->o->nlevels)
        return;
    let(e, "guard", "%s", target_guard(g->a, t));
    let(e, "name", "%s", t->name);
    let(e, "how", "%s",
        t->features[0] ? "as the comment above says"
                       : arena_printf(g->a, "with -march=%s", t->march));
    put(e, "#if $guard\n"
           "#error \"made for $name: compile $how\"\n"
           "#endif\n"
           "\n");
}

static void aot_front(Gen *g, Emit *e)
{
    put_guard(g, e);
    size_t n;
    const char *system = embedded_text("system.h", &n);
    if (has_main(g) || (has_pool(g) && !g->o->beside)) {
        put(e, IF_THREADS);
        emit_raw(e, system, n);
        put(e, "#endif\n");
    }
    if (has_main(g) && has_ranks(g))
        put(e, "#ifdef ATTNC_MAIN\n"
               "#include <mpi.h>\n"
               "#include <poll.h>\n"
               "#endif\n");
    if (!g->o->beside)
        emit_handle_system(g, e);
    put(e, "#include <math.h>\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "#include <string.h>\n"
           "\n");
    if (g->o->beside)
        include_runtime(g, e);
    put(e, "#if defined __GNUC__\n"
           "#define ATTN_API static __attribute__((unused))\n"
           "#else\n"
           "#define ATTN_API static\n"
           "#endif\n"
           "\n");
}

/* Emits declarations for libtcc's code, which cannot include headers. */
static void jit_front(Emit *e)
{
    put(e, "typedef signed char int8_t;\n"
           "typedef unsigned char uint8_t;\n"
           "typedef unsigned short uint16_t;\n"
           "typedef int int32_t;\n"
           "typedef unsigned int uint32_t;\n"
           "typedef long int64_t;\n"
           "typedef unsigned long uint64_t;\n"
           "void *memcpy(void *to, const void *from, uint64_t n);\n"
           "#define offsetof(type, member) ((uint64_t)&((type *)0)->member)\n"
           "\n");
}

/* ---- all of it ---- */

/* Emits the model's code, once for each level of processors, and types. */
static void emit_parts(Gen *g, Emit *e)
{
    if (!g->o->nlevels) {
        emit_code(g, e);
    } else {
        part_heading(g, e, "a batch");
        if (!g->o->beside)
            emit_public(g, e, CoreBatch);
        emit_levels(g, e);
    }
    if (g->o->beside)
        return;
    part_heading(g, e, "a compiled model");
    emit_public(g, e, CoreTypes);
    if (has_handle(g))
        emit_public(g, e, CoreOpened);
}

/* Emits the exported functions and the program of a model whose core lies in
 * attn.c. */
static void emit_beside(Gen *g, Emit *e)
{
    begin_cold(e);
    part_heading(g, e, "exported");
    emit_api(g, e);
    if (has_handle(g))
        emit_exports(g, e, true);
    if (has_main(g)) {
        Emit *program = emit_new(g->a);
        part_heading(g, e, "the program");
        emit_handle_names(g, e);
        emit_main(g, program);
        append_text(e, program);
    }
    end_cold(e);
}

/* Emits the code around the model: the core's functions, the open model, and
 * the exported functions. The tree shaker keeps only the core functions that
 * the others need. */
static void emit_around(Gen *g, Emit *e, const Emit *model)
{
    Emit *threads = emit_new(g->a), *lower = emit_new(g->a);
    Emit *opened = emit_new(g->a), *program = emit_new(g->a);
    const Emit *const all[] = { model, threads, lower, opened, program };
    emit_api(g, lower);
    if (has_pool(g)) {
        emit_core(g, threads, CorePool);
        emit_core(g, threads, CoreThreads);
    }
    if (has_handle(g))
        emit_exports(g, opened, true);
    if (has_main(g))
        emit_main(g, program);
    core_read(g);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        core_need(g, all[i]);
    shaker_omit_prototypes(g->core);

    part_heading(g, e,
                 arena_printf(g->a, "%s%s",
                              generates(g) ? "search" : "weights files",
                              has_vocabulary(g) ? ", text" : ""));
    emit_needed(g, e, CoreHeaders);
    emit_needed(g, e, CoreSources);
    if (has_pool(g)) {
        part_heading(g, e, "threads");
        put(e, IF_THREADS "\n");
        append_text(e, threads);
        put(e, "#endif\n\n");
    }
    begin_cold(e);
    emit_needed(g, e, CoreCold);
    part_heading(g, e, "exported");
    append_text(e, lower);
    if (has_handle(g))
        part_heading(g, e, "a model that is open");
    else if (has_main(g))
        part_heading(g, e, "the program");
    if (has_handle(g) || has_main(g))
        emit_handle_names(g, e);
    if (has_handle(g)) {
        emit_needed(g, e, CoreOpenFile);
        append_text(e, opened);
    }
    append_text(e, program);
    end_cold(e);
}

const char *emit_model(Arena *a, const Plan *p, const EmitOptions *o, size_t *n)
{
    Gen g = { .a = a,
              .p = p,
              .o = o,
              .helpers = emit_new(a),
              .shapes = emit_new(a),
              .counts = emit_new(a),
              .count_prototypes = emit_new(a),
              .kernels = kernels_new(a, &p->target, o->mode == EmitJit) };
    g.serial = !has_part(&g, FileThreads);
    levels_of(&g);
    Emit *e = emit_new(a), *parts = emit_new(a);
    emit_parts(&g, parts);
    if (o->mode == EmitAot)
        emit_comment(&g, e);
    if (o->mode == EmitJit)
        jit_front(e);
    else
        aot_front(&g, e);
    append_text(e, parts);
    if (o->beside)
        emit_beside(&g, e);
    else if (o->mode == EmitAot)
        emit_around(&g, e, parts);
    else
        emit_api(&g, e);
    return emit_text(e, n);
}
