/* static_example.c: the program in the first comment of a freestanding header.
 * Weights, the call's memory and its result are static. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

static const char *const static_calls[] = { "embedded",     "bind",
                                            "encode_batch", "search",
                                            "options",      "weights_end" };
static const char *const static_sizes[] = { "OUTPUT", "D_MODEL", "BOUND_BYTES",
                                            "ARENA_BYTES", "SEARCH_BYTES" };

static bool is_inside(const Gen *g)
{
    return g->o->embed || g->p->pack.bytes == 0;
}

static void put_static_begin(Gen *g, Emit *e, const char *what)
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

/* Emits the part of main() that binds the weights. */
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
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    let_ids(g, e, vocab, n);
    put_static_begin(g, e,
                     arena_printf(g->a, "the best answer to %s",
                                  count_of(g, n, "token")));
    put(e, "static const int32_t ids[$all] = { $ids }, start[] = { 0, $n };\n"
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

/* Emits the batch members of this model's input. */
static void put_input(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    if (s->kind == KindAttention)
        put(e, "batch.query = batch.key = batch.value = rows;\n"
               "batch.key_rows = $keys;\n"
               "batch.key_start = $key_start;\n");
    else
        put(e, s->input == InputReal ? "batch.input = rows;\n"
                                     : "batch.ids = ids;\n");
}

/* Emits "static const int32_t start[] = { 0, 3 };". */
static void put_starts(Gen *g, Emit *e, const char *name, int64_t batch,
                       int64_t rows)
{
    Buffer list = { .arena = g->a };
    for (int64_t i = 0; i <= batch; i++)
        buffer_printf(&list, "%s%lld", i ? ", " : "", (long long)(i * rows));
    let(e, "name", "%s", name);
    let(e, "list", "%s", list.at);
    put(e, "static const int32_t $name[] = { $list };\n");
}

static void put_static_encode(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool numbers = s->kind == KindAttention || s->input == InputReal;
    const int64_t keys = let_rows(g, e, SideDecoder, 3);
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    const int64_t batch = s->fix.batch > 0 ? s->fix.batch : 1;
    const bool two = s->kind == KindAttention && keys != n;
    const int64_t given = two && keys > n ? keys : n;
    put_static_begin(g, e,
                     arena_printf(g->a, "the output for %s",
                                  count_of(g, n, numbers ? "row" : "token")));
    let(e, "width", "%lld",
        (long long)(s->kind == KindAttention ? s->d_model : s->input_width));
    let_ids(g, e, s->source.size, batch * n);
    let(e, "given", "%lld", (long long)(batch * given));
    let(e, "batch", "%lld", (long long)batch);
    let(e, "n", "%lld", (long long)(batch * n));
    let(e, "keys", "%lld", (long long)(batch * (two ? keys : n)));
    let(e, "key_start", two ? "key_start" : "start");
    let(e, "rows", "%lld",
        (long long)(batch * (is_pooled(g->p) ? 1 : n + spec_input_learned(s))));
    put(e, numbers ? "static const float rows[$given * $width] = { 1.0f };\n"
                   : "static const int32_t ids[$all] = { $ids };\n");
    put_starts(g, e, "start", batch, n);
    if (two)
        put_starts(g, e, "key_start", batch, keys);
    put(e, "alignas(64) static char bound[$BOUND_BYTES];\n"
           "alignas(64) static char arena[$ARENA_BYTES];\n"
           "static struct attn_batch batch;\n"
           "static float out[$rows * $OUTPUT];\n"
           "\n"
           "int main(void)\n"
           "{\n");
    put_bind(g, e);
    put(e, "batch.sequences = $batch;\n"
           "batch.rows = $n;\n"
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
        put_static_encode(g, e);
}
