/* worked_test.c: tests the examples of tests/worked, which can be checked by
 * hand, with the oracle and with every backend. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "oracle/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/worked.h"

static void assert_close(const char *what, double want, double got,
                         double tolerance)
{
    if (fabs(want - got) <= tolerance)
        return;
    print_error("%s: expected %.17g, found %.17g\n", what, want, got);
    fail();
}

/* ---- the examples ---- */

static const char *const examples[] = {
    "scores",
    "causal",
    "unscaled",
    "one_key",
    "output_projection",
    "two_heads",
    "five_keys_1",
    "five_keys_2",
    "five_keys_4",
    "five_keys_64",
    "additive",
    "sigmoid",
    "clipped",
};
enum { Examples = sizeof examples / sizeof *examples };

static const char *const skip_all[] = { "all" };

static const struct {
    const char *name;
    EngineOptions options;
} ways[] = {
    { "jit", { .backend = "jit" } },
    { "jit, unfused",
      { .backend = "jit", .passes = { .skip = skip_all, .nskip = 1 } } },
    { "jit, width 8", { .backend = "jit", .width = 8 } },
    { "jit, scalar", { .backend = "jit", .width = 1 } },
    { "clang, width 8", { .backend = "clang", .level = "0", .width = 8 } },
    { "clang, unfused, width 8",
      { .backend = "clang",
        .level = "0",
        .width = 8,
        .passes = { .skip = skip_all, .nskip = 1 } } },
    { "clang, scalar", { .backend = "clang", .level = "0", .width = 1 } },
    { "clang, unfused, scalar",
      { .backend = "clang",
        .level = "0",
        .width = 1,
        .passes = { .skip = skip_all, .nskip = 1 } } },
};
enum { Ways = sizeof ways / sizeof *ways };

static const Sample *sample_of(const Worked *e)
{
    Sample *x = arena_alloc(e->arena, sizeof *x);
    x->sequences = 1;
    for (int side = 0; side < 2; side++) {
        int32_t *start = arena_alloc(e->arena, 2 * sizeof *start);
        start[1] = (int32_t)e->row_count[side];
        x->start[side] = start;
    }
    for (int i = 0; i < 3; i++)
        x->rows[i] = e->rows[i];
    return x;
}

static EngineOptions options_of(const Worked *e, EngineOptions o)
{
    Fault why;
    char *weights = arena_printf(e->arena, "%s/weights.safetensors", scratch);
    assert_true(safetensors_write(weights, e->weights, e->nweights, &why));
    o.spec = e->spec;
    o.sets = e->sets;
    o.nsets = e->nsets;
    o.weights = weights;
    return o;
}

static void assert_output(const Worked *e, const char *way, int64_t i,
                          double got)
{
    char what[128];
    snprintf(what, sizeof what, "%s, %s, output[%lld]", e->spec, way,
             (long long)i);
    assert_close(what, e->output[i], got, e->exact ? 0 : 1e-6);
}

static void check_nodes(const Worked *e, const Interp *in)
{
    for (int k = 0; k < e->nnodes; k++) {
        const Numbers *n = &e->nodes[k];
        int node = graph_find(in->g, n->name);
        assert_true(node >= 0);
        assert_int_equal(interp_size(in, node), n->n);
        for (int64_t i = 0; i < n->n; i++)
            assert_close(n->name, n->x[i], in->value[node][i], 1e-12);
    }
}

static void check_oracle(const Worked *e)
{
    Engine engine;
    Weights w;
    EngineOptions o = options_of(e, (EngineOptions){ 0 });
    const Sample *x = sample_of(e);
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    assert_int_equal(engine_weights(&engine), ExitDone);
    weights_open(&w, &engine, engine.unfused);
    Interp in;
    oracle_open(&in, e->arena, &w, x, 0);
    const double *got = oracle_result(&in);
    for (int64_t i = 0; i < e->outputs; i++)
        assert_output(e, "oracle", i, got[i]);
    check_nodes(e, &in);
    weights_close(&w);
    engine_close(&engine);
}

static void check_way(const Worked *e, int way)
{
    Engine engine;
    Trial t = { 0 };
    EngineOptions o = options_of(e, ways[way].options);
    assert_int_equal(engine_open(&engine, &o), ExitDone);
    float *out = arena_alloc(e->arena, (size_t)e->outputs * sizeof *out);
    trial_run(&t, &engine, sample_of(e), 0, out);
    for (int64_t i = 0; i < e->outputs; i++)
        assert_output(e, ways[way].name, i, (double)out[i]);
    trial_free(&t);
    engine_close(&engine);
}

static void test_examples(void **state)
{
    (void)state;
    for (int i = 0; i < Examples; i++) {
        Arena *a = arena_new();
        Worked e;
        read_example(&e, a, examples[i]);
        check_oracle(&e);
        for (int way = 0; way < Ways; way++)
            check_way(&e, way);
        arena_free(a);
    }
}

/* ---- the scale of scores ---- */

enum { Pairs = 200000, PairHeads = 25, PairRows = 64 };

/* Returns uniform numbers of mean 0 and variance 1; splitmix64 [Steele et al.
 * 2014]. */
static float unit_number(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (float)(((double)(z >> 11) * 0x1p-53 - 0.5) * sqrt(12));
}

typedef struct {
    Engine engine;
    Trial t;
    double sum[2], squares[2]; /* of scores, of scaled ones */
} Scores;

/* Query i and key i of each head. */
static void add_pairs(Scores *s, float *const rows[3], int64_t numbers,
                      uint64_t *state)
{
    static const char *const node[] = { "scores", "scaled_scores" };
    static const int32_t start[] = { 0, PairRows };
    static float out[PairRows * PairHeads * 512];
    static double got[PairHeads * PairRows * PairRows];
    const Sample x = { .sequences = 1,
                       .start = { start, start },
                       .rows = { rows[0], rows[1], rows[2] } };
    for (int64_t i = 0; i < 2 * numbers; i++)
        rows[i / numbers][i % numbers] = unit_number(state);
    trial_run(&s->t, &s->engine, &x, 0, out);
    for (int k = 0; k < 2; k++) {
        assert_true(
            trial_value(&s->t, graph_find(s->engine.graph, node[k]), 0, got));
        for (int i = 0; i < PairHeads * PairRows; i++) {
            const double score = got[i * PairRows + i % PairRows];
            s->sum[k] += score;
            s->squares[k] += score * score;
        }
    }
}

/* Tests footnote 4 of the paper: q k of independent numbers of mean 0 and
 * variance 1 has mean 0 and variance d_k; the factor 1 / sqrt(d_k) makes it 1.
 */
static void variance_of(int64_t d_k)
{
    Arena *a = arena_new();
    const int64_t numbers = PairRows * PairHeads * d_k;
    Scores s = { 0 };
    uint64_t state = (uint64_t)d_k;
    float *rows[3];
    const char *set = arena_printf(a,
                                   "h=%d,d_model=%lld,max_len=%d,"
                                   "projections=false",
                                   PairHeads, (long long)(PairHeads * d_k),
                                   PairRows);
    const EngineOptions o = { .spec = "tests/worked/one_head.yaml",
                              .backend = "jit",
                              .sets = &set,
                              .nsets = 1,
                              .keep_all = true,
                              .passes = { .skip = skip_all, .nskip = 1 } };
    assert_int_equal(engine_open(&s.engine, &o), ExitDone);
    for (int i = 0; i < 3; i++)
        rows[i] = arena_alloc(a, (size_t)numbers * sizeof(float));
    for (int i = 0; i < Pairs / (PairHeads * PairRows); i++)
        add_pairs(&s, rows, numbers, &state);
    for (int k = 0; k < 2; k++) {
        const double want = k == 0 ? (double)d_k : 1;
        assert_close("mean", 0, s.sum[k] / (double)Pairs, 0.02 * sqrt(want));
        assert_close("variance", want, s.squares[k] / (double)Pairs,
                     0.02 * want);
    }
    trial_free(&s.t);
    engine_close(&s.engine);
    arena_free(a);
}

static void test_variance(void **state)
{
    (void)state;
    variance_of(16);
    variance_of(64);
    variance_of(512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_examples, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
