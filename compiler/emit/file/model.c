/* model.c: emits the file section by section, from top to bottom. comment.c
 * emits its first comment. */
#include "emit/text/embedded.h"
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

/* ---- the front of the file ---- */

static void put_guard(Gen *g, Emit *e)
{
    const Target *t = &g->p->target;
    if (!t->guard)
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
    if (has_main(g) || has_pool(g)) {
        put(e, IF_THREADS);
        emit_raw(e, system, n);
        put(e, "#endif\n");
    }
    emit_handle_system(g, e);
    put(e, "#include <math.h>\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "#include <string.h>\n"
           "\n"
           "#if defined __GNUC__\n"
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
           "\n");
}

/* ---- all of it ---- */

static void append(Emit *e, const Emit *part)
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
    append(e, k);
    put(e, "\n");
}

void section_heading(Emit *e, const char *title)
{
    char line[81];
    const int dashes = 69 - (int)strlen(title);
    memset(line, '-', sizeof line);
    line[dashes] = '\0';
    let(e, "dashes", "%s", line);
    let(e, "title", "%s", title);
    put(e, "/* $dashes $title --- */\n\n");
}

static void heading(Gen *g, Emit *e, const char *title)
{
    if (g->o->mode != EmitJit)
        section_heading(e, title);
}

/* Emits the model. Generates its entries first, because they determine which
 * kernels, shapes and functions the file needs. In the file, the model's struct
 * comes first. */
static void emit_parts(Gen *g, Emit *e)
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

    heading(g, e, "sizes, weights");
    emit_dimensions(g, e, "");
    append(e, weights);
    heading(g, e, "a call, its memory");
    emit_core(g, e, CoreBatch);
    append(e, calls);
    heading(g, e, "encode, decode");
    append(e, entries);
    heading(g, e, "kernels");
    append_kernels(g, e);
    heading(g, e, "products and attention of one shape");
    append(e, g->helpers);
    append(e, g->shapes);
    heading(g, e, "steps of the model");
    for (int i = 0; i < g->functions.n; i++)
        if (!g->functions.at[i].type)
            emit_function(g, e, &g->functions.at[i]);
    heading(g, e,
            g->serial ? "places in memory"
                      : "parts for threads, places in memory");
    append(e, split);
    heading(g, e, "a compiled model");
    emit_core(g, e, CoreTypes);
    if (has_handle(g))
        emit_core(g, e, CoreOpened);
}

/* Marks functions that no step calls as cold. Otherwise compilers spend a
 * quarter of their time on them, mostly on inlining. gcc cannot mark a region
 * as cold, so its optimisation level is lowered there, and never raised. */
#define GCC_LOWERS                                                             \
    "defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__"
static void begin_cold(Gen *g, Emit *e)
{
    heading(g, e, "what is called once, or seldom");
    put(e, "#if defined __clang__\n"
           "#pragma clang attribute push(__attribute__((cold)), "
           "apply_to = function)\n"
           "#elif " GCC_LOWERS "\n"
           "#pragma GCC push_options\n"
           "#pragma GCC optimize (\"O1\")\n"
           "#endif\n\n");
}

static void end_cold(Emit *e)
{
    put(e, "\n"
           "#if defined __clang__\n"
           "#pragma clang attribute pop\n"
           "#elif " GCC_LOWERS "\n"
           "#pragma GCC pop_options\n"
           "#endif\n");
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
    emit_embedded(g, lower);
    if (has_pool(g))
        emit_core(g, threads, CoreThreads);
    if (has_handle(g))
        emit_exports(g, opened, true);
    if (has_main(g))
        emit_main(g, program);
    core_read(g);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        core_need(g, all[i]);

    heading(g, e,
            arena_printf(g->a, "%s%s",
                         generates(g) ? "search" : "weights files",
                         has_vocabulary(g) ? ", text" : ""));
    emit_needed(g, e, CoreHeaders);
    emit_core_prototypes(g, e, false);
    emit_needed(g, e, CoreSources);
    if (has_pool(g)) {
        heading(g, e, "threads");
        put(e, IF_THREADS "\n");
        append(e, threads);
        put(e, "#endif\n\n");
    }
    begin_cold(g, e);
    emit_needed(g, e, CoreCold);
    heading(g, e, "exported");
    append(e, lower);
    if (has_handle(g))
        heading(g, e, "a model that is open");
    else if (has_main(g))
        heading(g, e, "the program");
    if (has_handle(g) || has_main(g))
        emit_handle_names(g, e);
    if (has_handle(g)) {
        emit_core_prototypes(g, e, true);
        emit_needed(g, e, CoreOpenFile);
        append(e, opened);
    }
    append(e, program);
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
    Emit *e = emit_new(a), *parts = emit_new(a);
    emit_parts(&g, parts);
    if (o->mode == EmitAot)
        emit_comment(&g, e);
    if (o->mode == EmitJit)
        jit_front(e);
    else
        aot_front(&g, e);
    append(e, parts);
    if (o->mode == EmitAot)
        emit_around(&g, e, parts);
    else
        emit_api(&g, e);
    return emit_text(e, n);
}
