/* header.c: model.h, which a C or C++ program includes: examples, types, sizes,
 * functions. A program may include the headers of several models. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

static void put_opening(Gen *g, Emit *e)
{
    const Target *t = &g->p->target;
    let(e, "name", "%s", g->p->g->spec->name);
    let(e, "file", "%s", g->o->file ? g->o->file : "model");
    let(e, "flags", "%s%s", t->guard ? " " : "", target_flags(g->a, t));
    let(e, "break", "%s", *t->features ? " \\\n *         " : "");
    let(e, "opened", "%s",
        has_handle(g)
            ? " A model is open for one thread at a time: others\n"
              " * open it once more, which shares the weights' file.\n"
              " *\n"
              " * Behind these functions is the lower level: calls for batches,\n"
              " * caches and streams, in the caller's memory."
            : "\n"
              " *\n"
              " * Nothing here reads files, prints, allocates or starts threads;\n"
              " * of the C library it calls memcpy() and others of string.h, and\n"
              " * functions of math.h.\n"
              " *\n"
              " *");
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "programs", has_handle(g) ? "Programs that use" : "A program for");
    put(e, "/* $name, a Transformer in C, made by attnc $version\n"
           " *\n"
           " * $programs it:\n");
    emit_examples(g, e);
    put(e, " *\n"
           " * Compiled as C or C++, beside $file.c, which is C:\n"
           " *\n"
           " *     cc -O2$flags$break -c $file.c\n"
           " *     cc example.c $file.o -lm -o example\n"
           " *\n"
           " * Every function checks what it is given, and returns an error,\n"
           " * ATTN_ERROR_.., or says in words what is wrong. It can't know\n"
           " * how long a caller's arrays are, nor memory whose bytes it is\n"
           " * not told.$opened Weights are read\n"
           " * where they lie: in a mapped file, or memory at a multiple of\n"
           " * 64 bytes; for all else that of malloc() will do. Nothing is\n"
           " * global: any number of threads may share the weights, each\n"
           " * with memory of its own.\n"
           " */\n");
}

/* ---- functions ---- */

static void put_functions(Gen *g, Emit *e)
{
    const char *p = g->p->prefix;
    let(e, "model", "%s_model", p);
    let(e, "embedded", "%s_embedded", p);
    let(e, "options", "%s_options", p);
    if (generates(g))
        put(e, "/* The search that the spec asks for. */\n"
               "void $options(struct attn_search_options *o);\n"
               "\n");
    if (has_handle(g)) {
        emit_export_prototypes(g, e, true);
        put(e, "/* The lower level.                                 "
               "                         */\n"
               "\n");
    }
    put(e, "/* The compiled model: its sizes, and inner entries that check\n"
           " * nothing. */\n"
           "const struct attn_model *$model(void);\n"
           "\n"
           "/* model.weights where it is inside the C file, else NULL. */\n"
           "const void *$embedded(int64_t *bytes);\n"
           "\n");
    emit_export_prototypes(g, e, false);
    emit_left_out(g, e);
}

const char *emit_header(Arena *a, const Plan *p, const EmitOptions *o,
                        size_t *n)
{
    Gen g = { .a = a, .p = p, .o = o };
    Emit *e = emit_new(a), *functions = emit_new(a);
    let(e, "guard", "%s_H", upper_name(a, p->prefix));
    put_opening(&g, e);
    put(e, "#ifndef $guard\n"
           "#define $guard\n"
           "\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "\n");
    emit_core(&g, e, CoreBatch);
    emit_core(&g, e, CoreTypes);
    if (has_handle(&g))
        emit_core(&g, e, CoreOpened);
    emit_dimensions(&g, e, arena_printf(a, "%s_", upper_name(a, p->prefix)));
    emit_static_sizes(&g, e);
    put(e, "#ifdef __cplusplus\n"
           "extern \"C\" {\n"
           "#endif\n"
           "\n");
    put_functions(&g, functions);
    const char *text = emit_text(functions, n);
    emit_raw(e, text, *n); /* raw, because the open brace must not indent it */
    put(e, "#ifdef __cplusplus\n"
           "}\n"
           "#endif\n"
           "\n"
           "#endif\n");
    return emit_text(e, n);
}
