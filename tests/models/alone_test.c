/* alone_test.c: tests that a stack of two layers that differ in one number,
 * just enough to change its result, gives the bits of the two layers one by
 * one, each in its own model: by the JIT, fused and unfused, by a compiler,
 * with fixed lengths, and as plain C. The numbers are those of the table of
 * fields.
 *
 * ATTNC_FULL: in each kind of model, in all these ways. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/strings.h"
#include "oracle/trial.h"
#include "spec/fields/fields.h"
#include <cmocka.h>

#include "support/scratch.h"

#include "support/plain_program.h"

#define ROTARY(more) "positions: {type: rotary, dims: 4" more "}\n"
#define SCALED(more) ROTARY(", scaling: {factor: 4, " more "}")
#define YARN                                                                  \
    "type: yarn, original_max_len: 64, truncate: false, beta_fast: 5, "       \
    "beta_slow: 0.05"

/* Each row has a number for a field, and the lines without which the field has
 * no effect. A field without a row needs no lines. */
static const struct {
    const char *key, *text;
    double value;
} forms[] = {
    { "norm.eps", "norm.type: rms\n", 0.3 },
    { "attention.scale", "attention: {clip: 2}\n", 0.35 },
    { "attention.scale", "attention: {clip: 2, sinks: true}\n", 1.7 },
    { "attention.scale", "attention: {clip: 2, normalizer: sigmoid}\n", 0.6 },
    { "attention.scale", "attention: {clip: 2, softcap: 3}\n", 0.6 },
    { "attention.scale", "attention: {score: additive}\n", 0.8 },
    { "attention.scale",
      "dtype: {default: bf16, embedding: f32, logits: f32}\n", 0.3 },
    { "attention.softcap", "attention: {scale: 1}\n", 0.3 },
    { "attention.softcap", "attention: {scale: 1}\n" ROTARY(""), 30 },
    { "attention.softcap", "positions: alibi\n", 2.5 },
    { "attention.clip", "", 0.4 },
    { "attention.latent.eps",
      "attention: {latent: {kv_rank: 9, q_rank: 6, rope_dims: 4}}\n"
      "positions: rotary\n",
      0.4 },
    { "positions.base", ROTARY(""), 500.5 },
    { "positions.scaling.step", ROTARY(""), 0.8 },
    { "positions.scaling.step", "positions: alibi\n", 0.8 },
    { "positions.scaling.factor", SCALED("type: dynamic, original_max_len: 7"),
      3 },
    { "positions.scaling.factor", SCALED(YARN), 3 },
    { "positions.scaling.low_freq_factor",
      SCALED("type: llama3, original_max_len: 64, high_freq_factor: 20"), 0.5 },
    { "positions.scaling.high_freq_factor",
      SCALED("type: llama3, original_max_len: 64, low_freq_factor: 0.5"), 20 },
    { "positions.scaling.beta_fast", SCALED(YARN), 5 },
    { "positions.scaling.beta_slow", SCALED(YARN), 0.05 },
    { "positions.scaling.mscale", SCALED(YARN ", mscale_all_dim: 0.5"), 2 },
    { "positions.scaling.mscale_all_dim", SCALED(YARN ", mscale: 0.5"), 2 },
    { "positions.scaling.attention_factor", SCALED(YARN), 1.3 },
    { "positions.scaling.query_log",
      SCALED("type: dynamic, original_max_len: 7"), 0.7 },
    { "positions.scaling.short_factor",
      SCALED("type: longrope, original_max_len: 4096, long_factor: [1, 1]"),
      1.3 },
    { "positions.scaling.long_factor",
      SCALED("type: longrope, original_max_len: 7, short_factor: [1, 1]"),
      1.3 },
    { "ffn.factor", "ffn: {type: experts, experts: 4, chosen: 2}\n", 1.3 },
};
enum { Forms = sizeof forms / sizeof *forms, Width = 32, Seed = 5 };

typedef struct { /* a field in a form, in a kind of model */
    Arena *arena;
    ModelKind kind;
    const Field *field;
    const char *text;
    double first, second; /* of the layers */
    const char *weights;  /* file with both layers */
    VEC(TensorOut) tensor;
} Case;

static bool is_full(void)
{
    return getenv("ATTNC_FULL") != NULL;
}

/* ---- the specs ---- */

static const char *stack_of(const Case *c)
{
    return c->kind == KindEncoder ? "encoder" : "decoder";
}

/* Returns the number as the field's text; in a list, it is the last. */
static const char *value_text(const Case *c, double x)
{
    const char *text = number_text(c->arena, x);
    return c->field->type == FieldReals
             ? arena_printf(c->arena, "[1.25, %s]", text)
             : text;
}

static const char *row(const Case *c, double x)
{
    return arena_printf(c->arena, "{%s: %s}", c->field->key, value_text(c, x));
}

/* Returns the spec of a model whose layers have these rows; the encoder of an
 * encoder-decoder has one layer. The result is the rows of the last layer. */
static const char *spec_text(const Case *c, int layers, const char *rows,
                             const char *names)
{
    static const char *const kind[] = {
        [KindEncoderDecoder] = "encoder-decoder",
        [KindEncoder] = "encoder",
        [KindDecoder] = "decoder",
    };
    Buffer b = { .arena = c->arena };
    buffer_printf(&b, "attnc: 1\nname: alone\nd_model: 32\nh: 2\nd_k: 8\n"
                      "d_v: 16\nd_ff: 20\nmax_len: 40\nnorm.final: false\n"
                      "embedding.scale: none\nunused: ['*']\n");
    buffer_printf(&b, "kind: %s\n", kind[c->kind]);
    if (c->kind == KindEncoder)
        buffer_printf(&b, "head.type: rows\n");
    if (c->kind == KindEncoderDecoder)
        buffer_printf(&b,
                      "vocab: {source: {size: 11}, target: {size: 32}, "
                      "shared: false, tokens: {start: 1, end: 2}}\n"
                      "N: {encoder: 1, decoder: %d}\n"
                      "layers: {decoder: [%s]}\n",
                      layers, rows);
    else
        buffer_printf(&b, "vocab.size: 32\nN: %d\nlayers: [%s]\n", layers,
                      rows);
    if (!strstr(c->text, "positions:"))
        buffer_printf(&b, "positions: none\n");
    buffer_printf(&b, "norm.place: %s\n%s%s",
                  (c->field - fields) % 2 ? "post" : "pre", c->text, names);
    return b.at;
}

static const char *both_layers(const Case *c)
{
    return spec_text(c, 2, arena_printf(c->arena, "{}, %s", row(c, c->second)),
                     "");
}

/* Returns the spec of one of the file's layers, with the rows of `table`. */
static const char *one_layer(const Case *c, double x, int place,
                             const char *table)
{
    const char *tokens = c->kind == KindEncoder ? "source" : "target";
    return spec_text(c, 1, row(c, x),
                     arena_printf(c->arena, "names: {%s.0: %s.%d, %s: %s}\n",
                                  stack_of(c), stack_of(c), place, tokens,
                                  *table ? table : tokens));
}

/* ---- running them ---- */

static void open_model(const Case *c, Engine *e, const char *text,
                       EngineOptions o)
{
    const char *sets[2] = { arena_printf(c->arena, "%s=%s", c->field->key,
                                         value_text(c, c->first)) };
    if (o.nsets)
        sets[1] = o.sets[0];
    o.sets = sets;
    o.nsets++;
    o.spec = scratch_file("alone.yaml", text, strlen(text));
    o.seed = Seed;
    if (engine_open(e, &o) != ExitDone)
        fail_msg("%s=%s\n%s", c->field->key, value_text(c, c->first), text);
}

/* Runs the model; row i of the result is that of token i. */
static const float *run_model(const Case *c, const char *text, EngineOptions o,
                              int64_t chunk)
{
    static int32_t ids[Width];
    const int64_t rows[] = { Width };
    float *out = arena_alloc(c->arena, Width * Width * sizeof *out);
    Engine e;
    Trial t = { 0 };
    open_model(c, &e, text, o);
    Sample *x = sample_random(c->arena, e.spec, Seed, 1, rows, rows);
    for (int i = 0; i < Width; i++)
        ids[i] = i;
    x->ids[c->kind == KindEncoder ? 0 : 1] = ids;
    assert_int_equal(result_rows(e.spec, x), Width);
    assert_int_equal(result_columns(e.spec), Width);
    trial_run(&t, &e, x, chunk, out);
    trial_free(&t);
    engine_close(&e);
    return out;
}

static bool same(const float *x, const float *y)
{
    return memcmp(x, y, Width * Width * sizeof *x) == 0;
}

/* ---- weights ---- */

static void add_tensor(Case *c, const char *name, int rank, int64_t rows,
                       int64_t columns, const float *data)
{
    const TensorOut t = { .name = name,
                          .rank = rank,
                          .dim = { rank == 1 ? columns : rows, columns },
                          .data = data };
    vec_push(c->arena, &c->tensor, t);
}

static const char *write_tensors(const Case *c, const char *name)
{
    Fault why;
    const char *path = arena_strdup(c->arena, scratch_path(name));
    assert_true(safetensors_write(path, c->tensor.at, c->tensor.n, &why));
    return path;
}

/* Makes random weights of both layers; logits are the rows themselves. */
static void make_weights(Case *c)
{
    Engine e;
    open_model(c, &e, both_layers(c), (EngineOptions){ .backend = "jit" });
    const PackList *p = &e.plan->pack;
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *it = &p->item[i];
        if (it->table == TableRotary || it->table == TableAlibi)
            continue;
        float *x = arena_alloc(c->arena,
                               (size_t)(it->rows * it->k) * sizeof *x);
        weights_tensor(it, NULL, Seed, x);
        for (int64_t j = 0;
             !strcmp(it->name, "logits.weight") && j < it->rows * it->k; j++)
            x[j] = j / it->k == j % it->k;
        add_tensor(c, arena_strdup(c->arena, it->from.name),
                   it->layout == PackVector ? 1 : 2, it->rows, it->k, x);
    }
    engine_close(&e);
    c->weights = write_tensors(c, "both.safetensors");
}

/* Runs both layers one by one. */
static const float *run_alone(Case *c, EngineOptions o)
{
    o.weights = c->weights;
    const float *first = run_model(c, one_layer(c, c->first, 0, ""), o, 0);
    add_tensor(c, "rows.weight", 2, Width, Width, first);
    o.weights = write_tensors(c, "second.safetensors");
    c->tensor.n--;
    return run_model(c, one_layer(c, c->second, 1, "rows"), o, 0);
}

/* ---- a case ---- */

static void check(const Case *c, const char *what, const float *want,
                  EngineOptions o, int64_t chunk)
{
    o.weights = c->weights;
    if (!same(want, run_model(c, both_layers(c), o, chunk)))
        fail_msg("%s: %s %s and %s: not the bits of the layers alone\n%s", what,
                 c->field->key, value_text(c, c->first),
                 value_text(c, c->second), both_layers(c));
}

static const char *fixed_lengths(const Case *c)
{
    static const char *const set[] = {
        [KindEncoderDecoder] = "fix.source=32,fix.target=1,search.beam=1",
        [KindEncoder] = "fix.source=32,fix.batch=1",
        [KindDecoder] = "fix.target=1,fix.batch=1,search.beam=1",
    };
    return set[c->kind];
}

/* `ways`: bits of the ways that need a compiler. */
static void check_ways(Case *c, unsigned ways)
{
    static const char *const all[] = { "all" };
    const EngineOptions jit = { .backend = "jit" };
    const bool decodes = c->kind != KindEncoder;
    EngineOptions unfused = jit, clang = { .backend = "clang", .level = "0" };
    const float *want = run_alone(c, jit);
    check(c, "jit", want, jit, 0);
    if (decodes)
        check(c, "jit, steps", want, jit, 1);
    unfused.passes.skip = all;
    unfused.passes.nskip = 1;
    check(c, "jit, unfused", run_alone(c, unfused), unfused, 0);
    clang.width = (c->field - fields) % 2 ? 0 : 4;
    if (ways & 1)
        check(c, "clang", want, clang, 0);
    clang.sets = (const char *const[]){ fixed_lengths(c) };
    clang.nsets = 1;
    if (ways & 2)
        check(c, "fixed lengths", want, clang, decodes);
    if (ways & 4) {
        const char *text = both_layers(c);
        const char *set = arena_printf(c->arena, "%s=%s", c->field->key,
                                       value_text(c, c->first));
        plain_same_bits(c->arena, text,
                        (EngineOptions){ .spec = scratch_file("alone.yaml",
                                                              text,
                                                              strlen(text)),
                                         .seed = Seed,
                                         .weights = c->weights,
                                         .sets = &set,
                                         .nsets = 1 });
    }
}

/* Fails if a result does not show that the numbers differ; then the test needs
 * another form or number. */
static void check_shown(const Case *c)
{
    const EngineOptions o = { .backend = "jit", .weights = c->weights };
    if (same(run_model(c, one_layer(c, c->first, 0, ""), o, 0),
             run_model(c, one_layer(c, c->second, 0, ""), o, 0)))
        fail_msg("no result shows %s: give it a row of forms[]\n%s",
                 c->field->key, both_layers(c));
}

/* Checks that the numbers are adjacent floats. */
static void run_case(ModelKind kind, const Field *f, const char *text,
                     double value, unsigned ways)
{
    const float first = (float)value;
    Case c = { .arena = arena_new(),
               .kind = kind,
               .field = f,
               .text = text,
               .first = (double)first,
               .second = (double)nextafterf(first, INFINITY) };
    make_weights(&c);
    check_shown(&c);
    check_ways(&c, is_full() || field_below(f->key, "attention") ? 7 : ways);
    arena_free(c.arena);
}

static bool is_number(const Field *f)
{
    return (f->type == FieldReal || f->type == FieldReals)
        && field_of_layers(f->key);
}

/* Returns a number of the field that is valid without other fields. */
static double some_number(const Field *f)
{
    return fmin(fmax(0.7, f->least), f->most);
}

static void check_field(const Field *f, long turn)
{
    static const ModelKind kinds[] = { KindEncoder, KindDecoder,
                                       KindEncoderDecoder };
    bool any = false;
    for (int i = 0; i <= Forms; i++) {
        const bool last = i == Forms; /* set in the spec, not in a row */
        if (last ? any : strcmp(forms[i].key, f->key) != 0)
            continue;
        any = true;
        for (long k = 0; k < (is_full() ? 3 : 1); k++)
            run_case(kinds[(turn + i + k) % 3], f, last ? "" : forms[i].text,
                     last ? some_number(f) : forms[i].value,
                     1u << (turn + i) % 3);
    }
}

static void run_share(long from, long of)
{
    long turn = 0;
    for (int i = 0; i < n_fields; i++)
        if (is_number(&fields[i]) && turn++ % of == from)
            check_field(&fields[i], turn);
}

static void test_numbers(void **state)
{
    (void)state;
    by_processors(run_share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
