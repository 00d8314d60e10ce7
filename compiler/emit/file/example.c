/* example.c: emits example programs for the first comment of a header. Each is
 * a complete file that uses the names of this model, with at most six lines
 * between the beginning of main() and its return. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

static void put_begin(Emit *e, const char *what)
{
    let(e, "what", "%s", what);
    put(e, "\n"
           "// $what\n"
           "#include <stdio.h>\n"
           "#include \"$file.h\"\n"
           "\n");
}

static void put_end(Emit *e)
{
    put(e, "$close(h);\n"
           "return 0;\n"
           "}\n");
}

/* ---- rows of numbers ---- */

/* Prints up to three numbers, e.g. "out[0], out[1]". */
static void put_numbers(Gen *g, Emit *e)
{
    static const char *const format[] = { "%.9g", "%.9g %.9g",
                                          "%.9g %.9g %.9g" };
    static const char *const numbers[] = { "out[0]", "out[0], out[1]",
                                           "out[0], out[1], out[2]" };
    const int n = output_columns(g->p) < 3 ? output_columns(g->p) : 3;
    let(e, "format", "%s", format[n - 1]);
    let(e, "numbers", "%s", numbers[n - 1]);
    put(e, "    puts($error(h));\n"
           "printf(\"$format\\n\", $numbers);\n");
}

static void put_out(Gen *g, Emit *e)
{
    put(e, is_pooled(g->p) ? "static float out[$OUTPUT];\n"
                           : "static float out[$MAX_SOURCE * $OUTPUT];\n");
}

/* Prints `n` ids; `n` is the result of let_rows(). */
static void put_ids(Gen *g, Emit *e, int64_t n)
{
    const Spec *s = g->p->g->spec;
    let_ids(g, e, s->kind == KindDecoder ? s->target.size : s->source.size, n);
    put(e, "static const int32_t ids[$all] = { $ids };\n");
}

static void put_encode(Gen *g, Emit *e)
{
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    put_begin(e,
              arena_printf(g->a, "the output for %s", count_of(g, n, "token")));
    put_ids(g, e, n);
    put_out(g, e);
    put(e, "\n"
           "int main(void)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($encode(h, ids, $n, out) < 0)\n");
    put_numbers(g, e);
    put_end(e);
}

static void put_embed(Gen *g, Emit *e)
{
    put_begin(e, "a text as numbers: ./example TEXT");
    put_out(g, e);
    put(e, "\n"
           "int main(int argc, char **argv)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($embed(h, argv[argc - 1], -1, out) < 0)\n");
    put_numbers(g, e);
    put_end(e);
}

static void put_encode_rows(Gen *g, Emit *e)
{
    const long long width = g->p->g->spec->input_width;
    const int64_t n = let_rows(g, e, SideEncoder, 2);
    let(e, "width", "%lld", width);
    put_begin(e, arena_printf(g->a, "the output for %s of %lld numbers",
                              count_of(g, n, "row"), width));
    put(e, "static const float rows[$n * $width] = { 1.0f };\n");
    put_out(g, e);
    put(e, "\n"
           "int main(void)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($encode_rows(h, rows, $n, out) < 0)\n");
    put_numbers(g, e);
    put_end(e);
}

static void put_attend(Gen *g, Emit *e)
{
    const int64_t queries = let_rows(g, e, SideEncoder, 1);
    const int64_t keys = let_rows(g, e, SideDecoder, 2);
    let(e, "queries", "%lld", (long long)queries);
    put_begin(e, arena_printf(g->a, "the attention of %s to %s",
                              count_of(g, queries, "row"),
                              count_of(g, keys, "key")));
    put(e, queries == 1
               ? "static const float query[$D_MODEL] = { 1.0f };\n"
               : "static const float query[$queries * $D_MODEL] = { 1.0f };\n");
    put(e, "static const float key[$n * $D_MODEL] = { 1.0f, 2.0f };\n"
           "static const float value[$n * $D_MODEL] = { 3.0f, 4.0f };\n");
    put(e, queries == 1 ? "static float out[$OUTPUT];\n"
                        : "static float out[$queries * $OUTPUT];\n");
    put(e, "\n"
           "int main(void)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($attend(h, query, $queries, key, value, $n, out) < 0)\n");
    put_numbers(g, e);
    put_end(e);
}

/* ---- answers ---- */

static void put_translate(Emit *e)
{
    put_begin(e, "the best answer to a text: ./example TEXT");
    put(e, "static char out[1000];\n"
           "\n"
           "int main(int argc, char **argv)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($translate(h, argv[argc - 1], -1, NULL, out, 1000) < 0)\n"
           "        puts($error(h));\n"
           "    puts(out);\n");
    put_end(e);
}

static void put_generate(Emit *e)
{
    put_begin(e, "an answer as it grows: ./example TEXT");
    put(e, "static int print(void *file, const char *text, int64_t bytes)\n"
           "{\n"
           "    return fwrite(text, 1, (size_t)bytes, (FILE *)file) == 0;\n"
           "}\n"
           "\n"
           "int main(int argc, char **argv)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($generate(h, argv[argc - 1], NULL, print, stdout) < 0)\n"
           "        puts($error(h));\n");
    put_end(e);
}

static void put_generate_ids(Gen *g, Emit *e)
{
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    put_begin(e, "the tokens of an answer as they come");
    put_ids(g, e, n);
    put(e, "\n"
           "static int print(void *file, int32_t id)\n"
           "{\n"
           "    return fprintf((FILE *)file, \"%d \", (int)id) < 0;\n"
           "}\n"
           "\n"
           "int main(void)\n"
           "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n"
           "    if ($generate_ids(h, ids, $n, NULL, print, stdout) < 0)\n"
           "        puts($error(h));\n");
    put_end(e);
}

static void put_score(Gen *g, Emit *e)
{
    const bool text = has_text(g);
    put_begin(e, text ? "how probable an answer is: ./example TEXT ANSWER"
                      : "how probable the answer of the one token 3 is");
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    if (!text)
        put_ids(g, e, n);
    put(e, "static double log_probability;\n"
           "\n");
    put(e, text ? "int main(int argc, char **argv)\n" : "int main(void)\n");
    put(e, "{\n"
           "    struct attn_handle *h = $open($weights, NULL);\n");
    if (text)
        put(e, "if (argc > 2)\n"
               "    $score(h, argv[1], -1, argv[2], -1, &log_probability);\n");
    else
        put(e, "$score_ids(h, ids, $n, ids, 1, &log_probability);\n");
    put(e, "printf(\"%.7g %s\\n\", log_probability, $error(h));\n");
    put_end(e);
}

/* ---- all of them ---- */

static void put_programs(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool text = has_text(g);
    if (s->kind == KindAttention) {
        put_attend(g, e);
    } else if (has_decoder(g->p)) {
        if (s->kind == KindEncoderDecoder && text)
            put_translate(e);
        if (text)
            put_generate(e);
        else
            put_generate_ids(g, e);
        put_score(g, e);
    } else if (s->input == InputReal) {
        put_encode_rows(g, e);
    } else {
        if (text)
            put_embed(g, e);
        put_encode(g, e);
    }
}

static void let_all(Gen *g, Emit *e)
{
    static const char *const calls[] = {
        "open",      "error",        "close",     "encode",
        "embed",     "attend",       "translate", "generate",
        "score_ids", "generate_ids", "score",     "encode_rows"
    };
    static const char *const sizes[] = { "OUTPUT", "MAX_SOURCE", "D_MODEL" };
    const char *prefix = g->p->prefix, *file = g->o->file;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        let(e, calls[i], "%s_%s", prefix, calls[i]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        let(e, sizes[i], "%s_%s", upper_name(g->a, prefix), sizes[i]);
    let(e, "file", "%s", file ? file : "model");
    if (weights_embedded(g->o) || g->p->pack.bytes == 0)
        let(e, "weights", "NULL");
    else
        let(e, "weights", "\"%s.weights\"", file ? file : "model");
}

void emit_examples(Gen *g, Emit *e)
{
    Emit *x = emit_new(g->a);
    if (has_handle(g)) {
        let_all(g, x);
        put_programs(g, x);
    } else {
        put_static_program(g, x);
    }

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
