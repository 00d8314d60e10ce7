/* static_example.c: the program that a freestanding header opens with: weights,
 * the call's memory and its result lie in static memory.                    */
#include "emit/names.h"
#include "emit/sections.h"

static const char *const static_calls[] = { "embedded",     "bind",
                                            "encode_batch", "search",
                                            "options",      "weights_end" };
static const char *const static_sizes[] = { "OUTPUT", "D_MODEL", "BOUND_BYTES",
                                            "ARENA_BYTES", "SEARCH_BYTES" };

static bool is_inside(const Gen *g)
{
    return g->o->embed || g->p->pack.bytes == 0;
}

static void put_begin(Gen *g, Emit *e, const char *what)
{
    let(e, "what", "%s", what);
    put(e, "\n"
           "// $what, in static memory\n"
           "#include <stdalign.h>\n"
           "#include \"$file.h\"\n"
           "\n");
    if (!is_inside(g))
        put(e, "// $file.weights, at a multiple of 64 bytes\n"
               "extern const char $weights[], $weights_end[];\n");
}

/* Of main(): weights are bound. */
static void put_bind(Gen *g, Emit *e)
{
    if (is_inside(g))
        put(e, "int64_t bytes;\n"
               "const void *file = $embedded(&bytes);\n");
    else
        put(e, "const void *file = $weights;\n"
               "int64_t bytes = $weights_end - $weights;\n");
    put(e, "if ($bind(bound, file, bytes))\n"
           "    return 1;\n");
}

static void put_search(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const int64_t vocab = s->kind == KindDecoder ? s->target.size
                                                 : s->source.size;
    put_begin(g, e, "the best answer to three tokens");
    let(e, "ids", vocab > 5 ? "3, 4, 5" : "0, 0, 0");
    put(e, "static const int32_t ids[] = { $ids }, start[] = { 0, 3 };\n"
           "alignas(64) static char bound[$BOUND_BYTES];\n"
           "alignas(64) static char memory[$SEARCH_BYTES];\n"
           "static struct attn_hypothesis answer;\n"
           "\n"
           "int main(void)\n"
           "{\n"
           "    struct attn_search_options o;\n"
           "    int64_t found;\n");
    put_bind(g, e);
    put(e, "$options(&o);\n"
           "return $search(bound, &o, 1, ids, start,\n"
           "    memory, sizeof memory, &answer, &found) != 0;\n"
           "}\n");
}

/* The members of a batch that are this model's input. */
static void put_input(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    if (s->kind == KindAttention)
        put(e, "batch.query = batch.key = batch.value = rows;\n"
               "batch.key_rows = 3;\n"
               "batch.key_start = start;\n");
    else
        put(e, s->input == InputReal ? "batch.input = rows;\n"
                                     : "batch.ids = ids;\n");
}

static void put_encode(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool numbers = s->kind == KindAttention || s->input == InputReal;
    put_begin(g, e,
              numbers ? "the output for three rows"
                      : "the output for three tokens");
    let(e, "width", "%lld",
        (long long)(s->kind == KindAttention ? s->d_model : s->input_width));
    let(e, "ids", s->source.size > 5 ? "3, 4, 5" : "0, 0, 0");
    let(e, "rows", "%d", is_pooled(g->p) ? 1 : 3 + spec_input_learned(s));
    put(e, numbers ? "static const float rows[3 * $width] = { 1.0f };\n"
                   : "static const int32_t ids[] = { $ids };\n");
    put(e, "static const int32_t start[] = { 0, 3 };\n"
           "alignas(64) static char bound[$BOUND_BYTES];\n"
           "alignas(64) static char arena[$ARENA_BYTES];\n"
           "static struct attn_batch batch;\n"
           "static float out[$rows * $OUTPUT];\n"
           "\n"
           "int main(void)\n"
           "{\n");
    put_bind(g, e);
    put(e, "batch.sequences = 1;\n"
           "batch.rows = 3;\n"
           "batch.start = start;\n");
    put_input(g, e);
    put(e, "batch.output = out;\n"
           "return $encode_batch(bound, &batch,\n"
           "    arena, sizeof arena) != 0;\n"
           "}\n");
}

void put_static_program(Gen *g, Emit *e)
{
    const char *prefix = g->p->prefix, *file = g->o->file;
    for (size_t i = 0; i < sizeof static_calls / sizeof *static_calls; i++)
        let(e, static_calls[i], "%s_%s", prefix, static_calls[i]);
    for (size_t i = 0; i < sizeof static_sizes / sizeof *static_sizes; i++)
        let(e, static_sizes[i], "%s_%s", upper_name(g->a, prefix),
            static_sizes[i]);
    let(e, "weights", "%s_weights", prefix);
    let(e, "file", "%s", file ? file : "model");
    if (has_decoder(g->p))
        put_search(g, e);
    else
        put_encode(g, e);
}
