/* header.c: model.h, what a C or C++ program includes: an example, types,
 * sizes, functions. Headers of several models may be included together.     */
#include "emit/names.h"
#include "emit/sections.h"

#include <ctype.h>
#include <string.h>

static char *upper(Arena *a, const char *s)
{
    char *u = arena_strdup(a, s);
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}

/* ---- the example ---- */

static void example_file(Emit *e)
{
    put(e, "#include <fcntl.h>\n"
           "#include <stdio.h>\n"
           "#include <stdlib.h>\n"
           "#include <sys/mman.h>\n"
           "#include <sys/stat.h>\n"
           "#include \"model.h\"\n"
           "\n"
           "static const void *file_at(const char *path, int64_t *bytes)\n"
           "{\n"
           "    struct stat st;\n"
           "    const int fd = open(path, O_RDONLY);\n"
           "\n"
           "    if (fd < 0 || fstat(fd, &st) != 0)\n"
           "        return NULL;\n"
           "    *bytes = st.st_size;\n"
           "    return mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);\n"
           "}\n"
           "\n");
}

static void example_open(Emit *e)
{
    put(e, "int main(int argc, char **argv)\n"
           "{\n"
           "    const struct attn_model *m = $model();\n"
           "    int64_t bytes = 0;\n"
           "    const void *file = argc > 1 ? file_at(argv[1], &bytes)\n"
           "                                : NULL;\n"
           "    void *bound = malloc(m->bound_bytes);\n"
           "    const char *wrong = $bind(bound, file, bytes);\n"
           "\n"
           "    if (wrong) {\n"
           "        fprintf(stderr, \"%s\\n\", wrong);\n"
           "        return 3;\n"
           "    }\n");
}

static bool takes_ids(const Gen *g)
{
    const Spec *s = g->p->g->spec;
    return has_decoder(g->p)
        || (s->kind != KindAttention && s->input == InputTokens);
}

static void example_ids(Emit *e)
{
    put(e, "int32_t ids[$size], start[2] = { 0, argc - 2 };\n"
           "\n"
           "for (int i = 0; i < argc - 2; i++)\n"
           "    ids[i] = atoi(argv[2 + i]);\n");
}

static void example_generate(Emit *e)
{
    put(e, "struct attn_search_options o;\n"
           "struct attn_hypothesis best;\n"
           "int64_t found;\n"
           "\n"
           "$options(&o);\n"
           "bytes = $search_bytes(&o, 1, start[1], start[1]);\n"
           "void *memory = malloc(bytes > 0 ? bytes : 1);\n"
           "int error = $search(bound, &o, 1, ids, start, memory,\n"
           "    bytes, &best, &found);\n"
           "\n"
           "if (error) {\n"
           "    fprintf(stderr, \"%s\\n\", $error_text(error));\n"
           "    return 3;\n"
           "}\n"
           "for (int64_t i = 0; found > 0 && i < best.n; i++)\n"
           "    printf(\"%d\\n\", (int)best.tokens[i]);\n");
}

static void example_encode(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool attention = s->kind == KindAttention;
    const bool real = s->input == InputReal;
    put(e, "struct attn_batch b = { .sequences = 1 };\n");
    if (attention)
        put(e, "static const float x[$width];\n"
               "const int32_t start[2] = { 0, 1 };   // one query, one key\n"
               "\n"
               "b.query = b.key = b.value = x;\n"
               "b.key_start = start;\n"
               "b.key_rows = start[1];\n");
    else if (real)
        put(e, "static const float x[2 * $width];\n"
               "const int32_t start[2] = { 0, 2 };   // one input of two rows\n"
               "\n"
               "b.input = x;\n");
    else
        put(e, "b.ids = ids;\n");
    const Graph *graph = g->p->g;
    const Type out = graph->nodes.at[graph_result(graph)].type;
    let(e, "results", out.dim[0].sym == SymS ? "b.sequences" : "b.rows");
    put(e, "b.start = start;\n"
           "b.rows = start[1];\n"
           "int64_t size = $results * m->output_columns;\n"
           "b.output = malloc(size * sizeof *b.output);\n"
           "bytes = $batch_bytes(&b);\n"
           "void *memory = malloc(bytes > 0 ? bytes : 1);\n"
           "int error = $encode_batch(bound, &b, memory, bytes);\n"
           "\n"
           "if (error) {\n"
           "    fprintf(stderr, \"%s\\n\", $error_text(error));\n"
           "    return 3;\n"
           "}\n"
           "for (int64_t i = 0; i < size; i++)\n"
           "    printf(\"%g\\n\", b.output[i]);\n");
}

/* A program that answers its arguments, in the lines of a comment. */
static void put_example(Gen *g, Emit *e)
{
    Emit *x = emit_new(g->a);
    const char *p = g->p->prefix;
    const Spec *s = g->p->g->spec;
    const int side = s->kind == KindDecoder;
    let(x, "model", "%s_model", p);
    let(x, "bind", "%s_bind", p);
    let(x, "options", "%s_options", p);
    let(x, "search", "%s_search", p);
    let(x, "search_bytes", "%s_search_bytes", p);
    let(x, "batch_bytes", "%s_batch_bytes", p);
    let(x, "encode_batch", "%s_encode_batch", p);
    let(x, "error_text", "%s_error_text", p);
    if (s->input == InputReal)
        let(x, "width", "%lld", (long long)s->input_width);
    else
        let(x, "width", "%s_D_MODEL", upper(g->a, p));
    let(x, "size", "%s_MAX_%s", upper(g->a, p), side ? "TARGET" : "SOURCE");
    example_file(x);
    example_open(x);
    if (takes_ids(g))
        example_ids(x);
    if (has_decoder(g->p))
        example_generate(x);
    else
        example_encode(g, x);
    put(x, "return 0;\n"
           "}\n");

    size_t size;
    const char *text = emit_text(x, &size), *end = text + size;
    while (text < end) {
        const size_t n = strcspn(text, "\n") + 1;
        const char *lead = *text == '\n' ? " *" : " *     ";
        emit_raw(e, lead, strlen(lead));
        emit_raw(e, text, n);
        text += n;
    }
}

static void put_front(Gen *g, Emit *e)
{
    let(e, "name", "%s", g->p->g->spec->name);
    let(e, "takes", takes_ids(g) ? " ID .." : "");
    put(e, "/* $name: sizes and functions of the C file beside this one.\n"
           " *\n"
           " * Weights are read where they lie: in a mapped file, or memory\n"
           " * at a multiple of 64 bytes; for all else that of malloc() will\n"
           " * do. Nothing is global: any number of threads may share the\n"
           " * weights, each with memory of its own.\n"
           " *\n"
           " * Every function checks what it is given, and returns an error,\n"
           " * ATTN_ERROR_.., or says in words what is wrong. It can't know\n"
           " * how long a caller's arrays are, nor memory whose bytes it is\n"
           " * not told.\n"
           " *\n"
           " * An example, called as: example model.weights$takes\n"
           " *\n");
    put_example(g, e);
    put(e, " */\n");
}

/* ---- functions ---- */

static void put_functions(Gen *g, Emit *e)
{
    const char *p = g->p->prefix;
    let(e, "model", "%s_model", p);
    let(e, "embedded", "%s_embedded", p);
    let(e, "options", "%s_options", p);
    put(e, "/* The compiled model: its sizes, and inner entries that check\n"
           " * nothing. */\n"
           "const struct attn_model *$model(void);\n"
           "\n"
           "/* model.weights where it is inside the C file, else NULL. */\n"
           "const void *$embedded(int64_t *bytes);\n"
           "\n");
    if (has_decoder(g->p))
        put(e, "/* The search that the spec asks for. */\n"
               "void $options(struct attn_search_options *o);\n"
               "\n");
    emit_export_prototypes(g, e);
}

const char *emit_header(Arena *a, const Plan *p, size_t *n)
{
    const EmitOptions o = { .mode = EmitAot };
    Gen g = { .a = a, .p = p, .o = &o };
    Emit *e = emit_new(a), *functions = emit_new(a);
    let(e, "guard", "%s_H", upper(a, p->prefix));
    put_front(&g, e);
    put(e, "#ifndef $guard\n"
           "#define $guard\n"
           "\n"
           "#include <stdint.h>\n"
           "\n");
    emit_core(&g, e, CoreBatch);
    emit_core(&g, e, CoreTypes);
    emit_dimensions(&g, e, arena_printf(a, "%s_", upper(a, p->prefix)));
    put(e, "#ifdef __cplusplus\n"
           "extern \"C\" {\n"
           "#endif\n"
           "\n");
    put_functions(&g, functions);
    const char *text = emit_text(functions, n);
    emit_raw(e, text, *n); /* the brace that is open indents nothing */
    put(e, "#ifdef __cplusplus\n"
           "}\n"
           "#endif\n"
           "\n"
           "#endif\n");
    return emit_text(e, n);
}
