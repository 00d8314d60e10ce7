/* worked_test.c: the examples of tests/worked, which can be checked by hand,
 * through the oracle and through every backend; and numbers of the paper that
 * can be counted: positions, shapes, penalties, parameters, operations.     */
#define _GNU_SOURCE               /* mkdtemp */
#include "../compiler/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "scratch.h"
#include "worked.h"

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
    "scores", "causal", "unscaled", "one_key", "output_projection",
    "two_heads", "five_keys_1", "five_keys_2", "five_keys_4", "five_keys_64",
};
enum { Examples = sizeof examples / sizeof *examples };

static const char *const skip_all[] = { "all" };

static const struct {
    const char *name;
    EngineOptions options;
} ways[] = {
    { "jit", { .backend = "jit" } },
    { "jit, unfused", { .backend = "jit", .passes = { skip_all, 1 } } },
    { "jit, width 8", { .backend = "jit", .width = 8 } },
    { "jit, scalar", { .backend = "jit", .width = 1 } },
    { "clang, width 8", { .backend = "clang", .level = "0", .width = 8 } },
    { "clang, unfused, width 8", { .backend = "clang", .level = "0",
      .width = 8, .passes = { skip_all, 1 } } },
    { "clang, scalar", { .backend = "clang", .level = "0", .width = 1 } },
    { "clang, unfused, scalar", { .backend = "clang", .level = "0",
      .width = 1, .passes = { skip_all, 1 } } },
};
enum { Ways = sizeof ways / sizeof *ways };

static const Sample *sample_of(const Example *e)
{
    Sample *x = arena_alloc(e->arena, sizeof *x);
    x->sequences = e->sequences ? e->sequences : 1;
    for (int side = 0; side < 2; side++) {
        int32_t *start = arena_alloc(e->arena, (MostParts + 1)
                                                   * sizeof *start);
        for (int i = 0; i < e->sequences; i++)
            start[i + 1] = start[i] + (int32_t)e->lengths[i];
        if (!e->sequences)
            start[1] = (int32_t)e->row_count[side];
        x->start[side] = start;
    }
    for (int i = 0; i < 3; i++)
        x->rows[i] = e->rows[i];
    return x;
}

static EngineOptions options_of(const Example *e, EngineOptions o)
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

static void assert_output(const Example *e, const char *way, int64_t i,
                          double got)
{
    char what[128];
    snprintf(what, sizeof what, "%s, %s, output[%lld]", e->spec, way,
             (long long)i);
    assert_close(what, e->output[i], got, e->exact ? 0 : 1e-6);
}

static void check_nodes(const Example *e, const Interp *in)
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

static void check_oracle(const Example *e)
{
    Engine engine;
    Weights w;
    EngineOptions o = options_of(e, (EngineOptions){ 0 });
    const Sample *x = sample_of(e);
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    assert_int_equal(engine_weights(&engine), ExitDone);
    weights_open(&w, &engine, engine.unfused);
    for (int64_t s = 0, at = 0; s < x->sequences; s++) {
        Interp in;
        oracle_open(&in, e->arena, &w, x, s);
        const double *got = oracle_result(&in);
        int64_t n = in.length[SymN] * engine.spec->d_model;
        for (int64_t i = 0; i < n; i++)
            assert_output(e, "oracle", at + i, got[i]);
        check_nodes(e, &in);
        at += n;
    }
    weights_close(&w);
    engine_close(&engine);
}

static void check_way(const Example *e, int way)
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
        Example e;
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
    Example e;
    read_example(&e, a, "scores");
    for (int k = 0; k < e.nnodes; k++)
        for (int i = 0; i < 4 && !strcmp(e.nodes[k].name, "scaled_scores");
             i++)
            assert_close("sigmoid", want[i],
                         1 / (1 + exp(-e.nodes[k].x[i])), 1e-15);
    arena_free(a);
}

/* ------------------------------------------------------------- positions */

typedef struct { int64_t d, position, column; double value; } Place;

/* PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos of the same. */
static const Place places[] = {
    { 4, 0, 0, 0 }, { 4, 0, 1, 1 }, { 4, 0, 2, 0 }, { 4, 0, 3, 1 },
    { 4, 1, 0, 0.841470984807897 }, { 4, 1, 1, 0.540302305868140 },
    { 4, 1, 2, 0.00999983333416666 }, { 4, 1, 3, 0.999950000416665 },
    { 4, 2, 0, 0.909297426825682 }, { 4, 2, 1, -0.416146836547142 },
    { 4, 2, 2, 0.0199986666933331 }, { 4, 2, 3, 0.999800006666578 },
    { 512, 1, 0, 0.841470984807897 }, { 512, 1, 1, 0.54030230586814 },
    { 512, 1, 2, 0.821856190017532 }, { 512, 1, 3, 0.569695008693131 },
    { 512, 1, 510, 0.000103663292658108 },
    { 512, 1, 511, 0.999999994626961 },
    { 512, 511, 0, 0.88177040076075 }, { 512, 511, 1, -0.471678874174184 },
    { 512, 511, 2, 0.283995700724978 }, { 512, 511, 3, -0.958825553460967 },
    { 512, 511, 510, 0.0529471726710488 },
    { 512, 511, 511, 0.998597314690032 },
};

/* The oracle's table, and the one that is packed for the model. */
static void test_positions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const Place *p = &places[i];
        char set[32];
        const char *const sets[] = { set };
        Engine e;
        EngineOptions o = { .spec = "models/transformer-base.yaml",
                            .sets = sets, .nsets = 1 };
        snprintf(set, sizeof set, "d_model=%lld", (long long)p->d);
        if (p->d == 4)
            o.spec = "tests/worked/positions.yaml";
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        Interp in = { .g = e.unfused, .arena = e.arena };
        int node = graph_find(e.unfused, "source_positions");
        in.value = arena_alloc(e.arena, (size_t)e.unfused->nodes.n
                                            * sizeof *in.value);
        interp_node(&in, node);
        assert_close("oracle", p->value,
                     in.value[node][p->position * p->d + p->column], 1e-12);
        for (int64_t k = 0; k < e.plan->pack.count; k++) {
            const PackItem *item = &e.plan->pack.item[k];
            if (item->layout != PackSinusoid)
                continue;
            float *table = arena_alloc(e.arena,
                (size_t)(item->rows * item->k) * sizeof *table);
            weights_tensor(item, NULL, 1, table);
            assert_close("packed", p->value,
                (double)table[p->position * p->d + p->column], 1e-6);
        }
        engine_close(&e);
    }
}

/* PE(p + k) is PE(p), each pair turned by the same angle for all p. */
static void test_rotation(void **state)
{
    (void)state;
    Engine e;
    EngineOptions o = { .spec = "models/transformer-base.yaml" };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    Interp in = { .g = e.unfused, .arena = e.arena };
    int node = graph_find(e.unfused, "source_positions");
    in.value = arena_alloc(e.arena, (size_t)e.unfused->nodes.n
                                        * sizeof *in.value);
    interp_node(&in, node);
    const double *pe = in.value[node];
    const int64_t by = 7;
    for (int64_t p = 0; p + by < 512; p++)
        for (int64_t c = 0; c < 512; c += 2) {
            const double *x = pe + p * 512 + c, *y = x + by * 512;
            double turn = (double)by / pow(10000, (double)c / 512);
            assert_close("sine", x[0] * cos(turn) + x[1] * sin(turn), y[0],
                         1e-11);
            assert_close("cosine", x[1] * cos(turn) - x[0] * sin(turn), y[1],
                         1e-11);
        }
    engine_close(&e);
}

/* ------------------------------------------------- penalties, shapes, counts */

/* ((5 + L) / 6)^alpha of Wu et al. 2016. */
static void test_penalty(void **state)
{
    (void)state;
    static const struct { double alpha; int64_t length; double value; } row[] = {
        { 0.6, 1, 1 }, { 0.6, 10, 1.732862107887866 },
        { 0.6, 20, 2.354362083745639 }, { 0.6, 50, 3.778564704056578 },
        { 0.3, 10, 1.316382204334238 }, { 0.3, 50, 1.943853056189325 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct attn_search_options o = { .penalty = ATTN_PENALTY_GNMT,
                                         .alpha = (float)row[i].alpha };
        double got = (double)attn_length_divisor(&o, row[i].length);
        assert_close("penalty", row[i].value, got, 1e-6 * row[i].value);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct { const char *node, *type; } row[] = {
        { "source.embedding", "f32[n, 512]" },
        { "source.positions", "f32[n, 512]" },
        { "encoder.0.self_attn.q", "f32[n, 512]" },
        { "encoder.0.self_attn.q.heads", "f32[8, n, 64]" },
        { "encoder.0.self_attn.k.heads", "f32[8, n, 64]" },
        { "encoder.0.self_attn.v.heads", "f32[8, n, 64]" },
        { "encoder.0.self_attn.scores", "f32[8, n, n]" },
        { "encoder.0.self_attn.heads", "f32[8, n, 64]" },
        { "encoder.0.self_attn.concat", "f32[n, 512]" },
        { "encoder.0.self_attn.o", "f32[n, 512]" },
        { "encoder.0.norm1", "f32[n, 512]" },
        { "encoder.0.ffn.w1", "f32[n, 2048]" },
        { "encoder.0.ffn.w2", "f32[n, 512]" },
        { "encoder.5.norm2", "f32[n, 512]" },
        { "decoder.5.cross_attn.scores", "f32[8, t, n]" },
        { "decoder.5.cross_attn.heads", "f32[8, t, 64]" },
    };
    Engine e;
    EngineOptions o = { .spec = "models/transformer-base.yaml" };
    assert_int_equal(engine_graph(&e, &o, stderr), ExitDone);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int node = graph_find(e.unfused, row[i].node);
        if (node < 0)
            print_error("no node %s\n", row[i].node);
        assert_true(node >= 0);
        assert_string_equal(print_type(e.arena,
                                       e.unfused->nodes.at[node].type),
                            row[i].type);
    }
    engine_close(&e);
}

/* Table 3, with the vocabulary of 37,000. */
static void test_parameters(void **state)
{
    (void)state;
    static const struct { const char *spec; int64_t count; } row[] = {
        { "transformer-base", 63082496 }, { "table3/a-h1", 63082496 },
        { "table3/a-h4", 63082496 },      { "table3/a-h16", 63082496 },
        { "table3/a-h32", 63082496 },     { "table3/b-dk16", 55990784 },
        { "table3/b-dk32", 58354688 },    { "table3/c-n2", 33656832 },
        { "table3/c-n4", 48369664 },      { "table3/c-n8", 77795328 },
        { "table3/c-d256", 26834944 },    { "table3/c-d1024", 163889152 },
        { "table3/c-ff1024", 50487296 },  { "table3/c-ff4096", 88272896 },
        { "table3/e", 63606784 },         { "transformer-big", 214245376 },
        { "transformer-en-fr", 60522496 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char path[64];
        Engine e;
        EngineOptions o = { .spec = path };
        snprintf(path, sizeof path, "models/%s.yaml", row[i].spec);
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        if (e.plan->parameters != row[i].count)
            print_error("%s\n", path);
        assert_int_equal(e.plan->parameters, row[i].count);
        engine_close(&e);
    }
}

/* One attention of 128 rows with its projections: the same for all rows (A);
 * and the n^2 d of Table 1 in its two products.                             */
static void test_operations(void **state)
{
    (void)state;
    static const char *const spec[] = {
        "transformer-base", "table3/a-h1", "table3/a-h4", "table3/a-h16",
        "table3/a-h32",
    };
    static const char *const node[] = { "q.matmul", "k.matmul", "v.matmul",
                                        "scores", "heads", "o.matmul" };
    for (int i = 0; i < 5; i++) {
        char path[64], name[64];
        Engine e;
        EngineOptions o = { .spec = path };
        int64_t sum = 0;
        snprintf(path, sizeof path, "models/%s.yaml", spec[i]);
        assert_int_equal(engine_graph(&e, &o, stderr), ExitDone);
        for (int k = 0; k < 6; k++) {
            snprintf(name, sizeof name, "encoder.0.self_attn.%s", node[k]);
            int64_t flops = node_flops(e.unfused,
                                       graph_find(e.unfused, name), 128, 128);
            if (k == 3 || k == 4)
                assert_int_equal(flops, 2 * 8388608);
            sum += flops;
        }
        assert_int_equal(sum, 301989888);
        engine_close(&e);
    }
}

/* ------------------------------------------------------------- identities */

/* Each row of the weights sums to 1; a norm has mean 0 and deviation 1. */
static void test_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = { 9 };
    Engine e;
    Weights w;
    Interp in;
    EngineOptions o = { .spec = "models/tiny.yaml", .seed = 1 };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    weights_open(&w, &e, e.unfused);
    oracle_open(&in, e.arena, &w,
                sample_random(e.arena, e.spec, 1, 1, rows, rows), 0);
    oracle_result(&in);
    const double *p = in.value[graph_find(e.unfused,
                                          "encoder.1.self_attn.weights")];
    for (int64_t r = 0; r < e.spec->h * 9; r++) {
        double sum = 0;
        for (int64_t c = 0; c < 9; c++)
            sum += p[r * 9 + c];
        assert_close("row of weights", 1, sum, 1e-12);
    }
    weights_close(&w);
    engine_close(&e);
}

static uint64_t bits = 1;

static double uniform(void)      /* variance 1, mean 0 */
{
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    return ((double)(bits >> 11) * 0x1p-53 - 0.5) * sqrt(12);
}

/* q.k of independent entries of variance 1 has variance d_k; scaled, 1. */
static void test_variance(void **state)
{
    (void)state;
    static const int64_t widths[] = { 16, 64, 512 };
    enum { Pairs = 200000 };
    for (int i = 0; i < 3; i++) {
        double mean = 0, square = 0, d_k = (double)widths[i];
        for (int n = 0; n < Pairs; n++) {
            double dot = 0;
            for (int64_t k = 0; k < widths[i]; k++)
                dot += uniform() * uniform();
            dot /= sqrt(d_k);
            mean += dot / Pairs;
            square += dot * dot / Pairs;
        }
        assert_close("mean", 0, mean, 0.02);
        assert_close("variance", 1, square - mean * mean, 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_examples, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_sigmoid),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_penalty),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
