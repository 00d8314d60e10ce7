/* runtime_beside.c: emits attn.h and attn.c, the runtime of all models: every
 * kind of tokenizer, search, streams, states, handles, threads. The texts are
 * the same for every model, so models of any kind, format and parts can share
 * them. A model's file checks that attn.h is of the same attnc. */
#include "emit/text/embedded.h"
#include "emit/gen/sections.h"

#include "runtime/core.h"

#define IF_FILES "#ifndef ATTNC_FREESTANDING\n"

static Gen every_model(Arena *a, const Plan *p)
{
    static const EmitOptions options = { .mode = EmitAot };
    return (Gen){ .a = a, .p = p, .o = &options, .every = true };
}

/* Emits attn.h behind the line that has the hash. */
static void put_header(Gen *g, Emit *e)
{
    put(e, "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "\n");
    emit_core(g, e, CoreBatch);
    emit_core(g, e, CoreTypes);
    emit_core(g, e, CoreOpened);
    put(e, "#ifdef ATTN_INSIDE /* attn.c, and the C files of models */\n"
           "\n");
    emit_all_of(g, e, CoreHeaders);
    emit_core(g, e, CorePool);
    put(e,
        "/* The functions that models export, with the model as a parameter.\n"
        " * The headers of the models describe them. */\n");
    emit_all_prototypes(g, e);
    put(e, "\n#endif\n");
}

/* Emits the functions of open models. A handle may be that of a model that
 * generates, or of one that answers with rows. */
static void put_handle(Gen *g, Emit *e)
{
    static const struct {
        const char *kind, *file;
    } kinds[] = { { "rows", "handle_rows.c" },
                  { "generate", "handle_generate.c" } };
    put(e, "#define embedded_weights(bytes) h->model->embedded(bytes)\n"
           "#define options_of_spec(o) h->model->options(o)\n"
           "\n");
    emit_all_of(g, e, CoreOpenFile);
    for (int i = 0; i < 2; i++) {
        let(e, "sizes", "%s_sizes", kinds[i].kind);
        let(e, "work", "%s_call_bytes", kinds[i].kind);
        put(e, "#define handle_sizes $sizes\n"
               "#define handle_call_bytes $work\n"
               "\n");
        paste_file(g, e, kinds[i].file);
        put(e, "#undef handle_sizes\n"
               "#undef handle_call_bytes\n"
               "\n");
    }
    paste_file(g, e, "handle_score.c");
    paste_file(g, e, "handle_queue.c");
    paste_file(g, e, "handle_chat.c");
    put(e, "static int handle_sizes(struct attn_handle *h,\n"
           "                        const struct attn_open_options *o)\n"
           "{\n"
           "    return h->model->decode ? generate_sizes(h, o) : "
           "rows_sizes(h, o);\n"
           "}\n"
           "\n"
           "static int64_t handle_call_bytes(const struct attn_handle *h)\n"
           "{\n"
           "    return h->model->decode ? generate_call_bytes(h)\n"
           "                            : rows_call_bytes(h);\n"
           "}\n"
           "\n");
}

static void put_source(Gen *g, Emit *e)
{
    emit_float_rules(kernels_new(g->a, &g->p->target, false), e);
    put(e, "\n");
    section_heading(e, "search, text");
    emit_all_of(g, e, CoreSources);
    section_heading(e, "threads");
    put(e, IF_THREADS "\n");
    emit_core(g, e, CoreThreads);
    put(e, "#endif\n\n");
    begin_cold(e);
    emit_all_of(g, e, CoreCold);
    section_heading(e, "a model that is open");
    put(e, IF_FILES "\n");
    put_handle(g, e);
    put(e, "#endif\n\n");
    end_cold(e);
}

/* Binds $hash, which identifies both texts, and $version. */
static void let_runtime(Arena *a, const Plan *p, Emit *e)
{
    Gen g = every_model(a, p);
    Emit *both = emit_new(a);
    size_t n;
    put_header(&g, both);
    put_source(&g, both);
    const char *text = emit_text(both, &n);
    let(e, "hash", "0x%016llxull",
        (unsigned long long)attn_hash(text, (int64_t)n, 0));
    let(e, "version", "%s", ATTNC_VERSION);
}

void include_runtime(Gen *g, Emit *e)
{
    let_runtime(g->a, g->p, e);
    put(e, "#define ATTN_INSIDE\n"
           "#include \"attn.h\"\n"
           "#if ATTN_RUNTIME != $hash\n"
           "#error \"attn.h is of another attnc: compile all models again by "
           "the same one\"\n"
           "#endif\n"
           "#undef ATTN_API\n"
           "\n");
}

const char *emit_runtime_header(Arena *a, const Plan *p, size_t *n)
{
    Gen g = every_model(a, p);
    Emit *e = emit_new(a);
    let_runtime(a, p, e);
    put(e,
        "/* attn.h, made by attnc $version: the types of models compiled with\n"
        " * --runtime=beside, and the declarations of attn.c. The header of a\n"
        " * model includes this file. */\n"
        "#ifndef ATTN_RUNTIME\n"
        "#define ATTN_RUNTIME $hash\n"
        "\n");
    put_header(&g, e);
    put(e, "\n#endif\n");
    return emit_text(e, n);
}

static void put_embedded(Emit *e, const char *name)
{
    size_t n;
    const char *text = embedded_text(name, &n);
    emit_raw(e, text, n);
}

const char *emit_runtime_source(Arena *a, const Plan *p, size_t *n)
{
    Gen g = every_model(a, p);
    Emit *e = emit_new(a);
    let(e, "version", "%s", ATTNC_VERSION);
    put(e,
        "/* attn.c, made by attnc $version: the runtime of models compiled with\n"
        " * --runtime=beside, which all of them share. It is C11 for any machine.\n"
        " * -DATTNC_MAIN or -DATTNC_THREADS adds the threads.\n"
        " * -DATTNC_FREESTANDING leaves out handles, which use files and\n"
        " * malloc(). */\n" IF_THREADS);
    put_embedded(e, "system.h");
    put(e, "#endif\n" IF_FILES);
    put_embedded(e, "handle_system.h");
    put(e, "#endif\n"
           "\n"
           "#include <math.h>\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "#include <string.h>\n"
           "\n");
    include_runtime(&g, e);
    put(e, "#define ATTN_API\n\n");
    put_source(&g, e);
    return emit_text(e, n);
}
