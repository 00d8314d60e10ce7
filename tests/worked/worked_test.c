/* worked_test.c: the examples of tests/worked, which can be checked by hand,
 * through the oracle and through every backend.                             */
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

/* --------------------------------------------------------- the examples */

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

/* Sigmoid in place of softmax is no op: it is taken of the oracle's scores. */
static void test_sigmoid(void **state)
{
    (void)state;
    static const double want[] = { 0.6697615493266569, 0.8044296825069569,
                                   0.6697615493266569, 0.6697615493266569 };
    Arena *a = arena_new();
    Worked e;
    read_example(&e, a, "scores");
    for (int k = 0; k < e.nnodes; k++)
        for (int i = 0; i < 4 && !strcmp(e.nodes[k].name, "scaled_scores"); i++)
            assert_close("sigmoid", want[i], 1 / (1 + exp(-e.nodes[k].x[i])),
                         1e-15);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_examples, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_sigmoid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
