/* header.c: emits model.h, which a C or C++ program includes: examples, types,
 * sizes and functions. A program may include the headers of several models. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

static void put_opening(Gen *g, Emit *e)
{
    let(e, "name", "%s", g->p->g->spec->name);
    let(e, "file", "%s", g->o->file ? g->o->file : "model");
    let_flags(g, e, " \\\n *         ");
    let(e, "opened", "%s",
        has_handle(g)
            ? " A handle belongs to one thread at a time. To use\n"
              " * several threads, open the model once per thread; they share\n"
              " * the mapped weights.\n"
              " *\n"
              " * After these functions comes the lower level: calls for\n"
              " * batches, caches and streams, in the caller's memory."
            : "\n"
              " *\n"
              " * Nothing here reads files, prints, allocates or starts threads.\n"
              " * From the C library it calls memcpy() and other functions of\n"
              " * string.h, and functions of math.h.\n"
              " *\n"
              " *");
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "runtime", g->o->beside ? " attn.c" : "");
    let(e, "object", g->o->beside ? " attn.o" : "");
    let(e, "programs", has_handle(g) ? "Programs that use" : "A program for");
    put(e, "/* $name, a Transformer in C, made by attnc $version\n"
           " *\n"
           " * $programs it:\n");
    emit_examples(g, e);
    put(e, " *\n"
           " * Compile it as C or C++, together with $file.c, which is C:\n"
           " *\n"
           " *     cc -O2$flags$break -c $file.c$runtime\n"
           " *     cc example.c $file.o$object -lm -o example\n"
           " *\n"
           " * Every function checks its arguments, and returns an error,\n"
           " * ATTN_ERROR_..., or a message. It cannot check the length of\n"
           " * the caller's arrays, nor of memory whose size is not an\n"
           " * argument.$opened Weights are used\n"
           " * in place. They must be 64-byte aligned, as a mapped file is;\n"
           " * no other pointer has an alignment requirement beyond that of\n"
           " * malloc(). There is no global state: any number of threads may\n"
           " * share the weights if each has its own memory.\n"
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
        put(e, "/* Sets *o to the search that the spec asks for. */\n"
               "void $options(struct attn_search_options *o);\n"
               "\n");
    if (has_handle(g)) {
        emit_export_prototypes(g, e, true);
        put(e, "/* The lower level.                                 "
               "                         */\n"
               "\n");
    }
    put(e,
        "/* Returns the compiled model: its sizes, and inner entries that\n"
        " * check nothing. */\n"
        "const struct attn_model *$model(void);\n"
        "\n"
        "/* Returns model.weights if it is inside the C file, else NULL. */\n"
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
    if (o->beside)
        put(e, "#include \"attn.h\"\n"
               "\n");
    if (!o->beside) {
        emit_core(&g, e, CoreBatch);
        emit_core(&g, e, CoreTypes);
    }
    if (has_handle(&g) && !o->beside)
        emit_core(&g, e, CoreOpened);
    emit_dimensions(&g, e, arena_printf(a, "%s_", upper_name(a, p->prefix)));
    emit_static_sizes(&g, e);
    put(e, "#ifdef __cplusplus\n"
           "extern \"C\" {\n"
           "#endif\n"
           "\n");
    put_functions(&g, functions);
    const char *text = emit_text(functions, n);
    emit_raw(e, text, *n); /* verbatim: the open brace must not indent it */
    put(e, "#ifdef __cplusplus\n"
           "}\n"
           "#endif\n"
           "\n"
           "#endif\n");
    return emit_text(e, n);
}
