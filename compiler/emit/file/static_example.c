/* static_example.c: emits the example program in the header of a freestanding
 * file. It has static memory for the weights, a call and its result. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

static const char *const static_calls[] = { "embedded",     "bind",
                                            "encode_batch", "decode_batch",
                                            "search",       "options",
                                            "weights_end" };
static const char *const static_sizes[] = { "OUTPUT",       "D_MODEL",
                                            "BOUND_BYTES",  "ARENA_BYTES",
                                            "SEARCH_BYTES", "TARGET_VOCAB" };

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

/* Emits the members of the batch for this model's input. */
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

/* Emits an array of n equally spaced numbers: "static const int32_t start[] = {
 * 0, 3 };" */
static void put_stepped(Gen *g, Emit *e, const char *name, int64_t n,
                        int64_t first, int64_t step)
{
    Buffer list = { .arena = g->a };
    for (int64_t i = 0; i < n; i++)
        buffer_printf(&list, "%s%lld", i ? ", " : "",
                      (long long)(first + i * step));
    let(e, "name", "%s", name);
    let(e, "list", "%s", list.at);
    put(e, "static const int32_t $name[] = { $list };\n");
}

static int64_t batch_of(const Spec *s)
{
    return s->fix.batch > 0 ? s->fix.batch : 1;
}

static void put_starts(Gen *g, Emit *e, const char *name, int64_t rows)
{
    put_stepped(g, e, name, batch_of(g->p->g->spec) + 1, 0, rows);
}

static void put_static_encode(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool numbers = s->kind == KindAttention || s->input == InputReal;
    const int64_t keys = let_rows(g, e, SideDecoder, 3);
    const int64_t n = let_rows(g, e, SideEncoder, 3);
    const int64_t batch = batch_of(s);
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
    put_starts(g, e, "start", n);
    if (two)
        put_starts(g, e, "key_start", keys);
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

/* ---- the next logits ---- */

typedef struct {                  /* sizes of one call of decode_batch() */
    int64_t batch;                /* number of sequences */
    int64_t source, target, past; /* rows per sequence: source, new and earlier
                                   * rows */
    int64_t pages;                /* pages per sequence in each cache */
} DecodeSizes;

static DecodeSizes decode_sizes(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const bool both = s->kind == KindEncoderDecoder;
    DecodeSizes d = { .batch = batch_of(s) };
    if (both)
        d.source = let_rows(g, e, SideEncoder, 3);
    d.target = let_rows(g, e, SideDecoder, both ? 1 : 3);
    const int64_t keys = plan_length(g->p, SymPT);
    d.past = keys > d.target ? keys - d.target : 0;
    int64_t rows = d.past + d.target;
    if (both && d.source + spec_input_learned(s) > rows)
        rows = d.source + spec_input_learned(s);
    d.pages = (rows + ATTN_PAGE - 1) / ATTN_PAGE;
    return d;
}

/* Emits the memory of each cache, or its members of the batch. */
static void put_caches(Gen *g, Emit *e, const DecodeSizes *d, const char *text)
{
    for (int c = 0; c < g->p->g->caches; c++) {
        const int64_t pages = d->batch * d->pages;
        let(e, "c", "%d", c);
        let(e, "table", "%lld", (long long)d->pages);
        let(e, "pages", "%lld", (long long)pages);
        let(e, "floats", "%lld", (long long)(pages * page_floats(g->p, c)));
        put(e, text);
    }
}

static void put_decode_data(Gen *g, Emit *e, const DecodeSizes *d)
{
    const Spec *s = g->p->g->spec;
    const int64_t rows = d->source > d->target ? d->source : d->target;
    const bool two = d->source && s->input == InputTokens
                  && s->source.size < s->target.size;
    let_ids(g, e, two ? s->source.size : s->target.size, d->batch * rows);
    let(e, "batch", "%lld", (long long)d->batch);
    let(e, "given", "%lld", (long long)(d->batch * d->source));
    let(e, "width", "%lld", (long long)s->input_width);
    put(e, "static const int32_t ids[$all] = { $ids };\n");
    if (s->input == InputReal && d->source)
        put(e, "static const float rows[$given * $width] = { 1.0f };\n");
    if (d->source) {
        put_starts(g, e, "source_start", d->source);
        put_stepped(g, e, "source_rows", d->batch,
                    d->source + spec_input_learned(s), 0);
    }
    put_starts(g, e, "start", d->target);
    put_stepped(g, e, "past", d->batch, d->past, 0);
    put_stepped(g, e, "last", d->batch, d->target - 1, d->target);
    put_stepped(g, e, "numbers", d->batch * d->pages, 0, 1);
    put_caches(g, e, d, "alignas(64) static float cache_$c[$floats];\n");
    put(e, "alignas(64) static char bound[$BOUND_BYTES];\n"
           "alignas(64) static char arena[$ARENA_BYTES];\n"
           "static struct attn_batch batch;\n"
           "static float logits[$batch * $TARGET_VOCAB];\n");
}

static void put_static_decode(Gen *g, Emit *e)
{
    const DecodeSizes d = decode_sizes(g, e);
    put_static_begin(g, e,
                     arena_printf(g->a, "the logits after %s",
                                  count_of(g, d.target, "token")));
    put_decode_data(g, e, &d);
    put(e, "\n"
           "int main(void)\n"
           "{\n");
    put_bind(g, e);
    put(e, "batch.sequences = $batch;\n");
    put_caches(g, e, &d,
               "batch.pool[$c] = cache_$c;\n"
               "batch.pages[$c] = numbers;\n"
               "batch.table[$c] = $table;\n"
               "batch.pool_pages[$c] = $pages;\n");
    let(e, "given", "%lld", (long long)(d.batch * d.source));
    let(e, "n", "%lld", (long long)(d.batch * d.target));
    if (d.source) {
        put(e, "batch.rows = $given;\n"
               "batch.start = source_start;\n");
        put_input(g, e);
        put(e, "if ($encode_batch(bound, &batch, arena, sizeof arena))\n"
               "    return 1;\n"
               "batch.source = numbers;\n"
               "batch.source_rows = source_rows;\n"
               "batch.sources = $batch;\n");
    }
    put(e, "batch.rows = $n;\n"
           "batch.start = start;\n"
           "batch.ids = ids;\n"
           "batch.past = past;\n"
           "batch.select = last;\n"
           "batch.selected = $batch;\n"
           "batch.output = logits;\n"
           "return $decode_batch(bound, &batch,\n"
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
    if (!has_decoder(g->p))
        put_static_encode(g, e);
    else if (has_part(g, FileSearch))
        put_search(g, e);
    else
        put_static_decode(g, e);
}
