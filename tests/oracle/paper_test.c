/* paper_test.c: tests numbers of the paper that can be counted or proved:
 * positions, shapes, the length penalty, parameters, operations, identities. */
#include "oracle/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void assert_close(const char *what, double want, double got,
                         double tolerance)
{
    if (fabs(want - got) <= tolerance)
        return;
    print_error("%s: expected %.17g, found %.17g\n", what, want, got);
    fail();
}

/* ---- positions ---- */

typedef struct {
    int64_t d, position, column;
    double value;
} Sine;

/* PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos of the same. */
static const Sine sines[] = {
    { 4, 0, 0, 0 },
    { 4, 0, 1, 1 },
    { 4, 0, 2, 0 },
    { 4, 0, 3, 1 },
    { 4, 1, 0, 0.841470984807897 },
    { 4, 1, 1, 0.540302305868140 },
    { 4, 1, 2, 0.00999983333416666 },
    { 4, 1, 3, 0.999950000416665 },
    { 4, 2, 0, 0.909297426825682 },
    { 4, 2, 1, -0.416146836547142 },
    { 4, 2, 2, 0.0199986666933331 },
    { 4, 2, 3, 0.999800006666578 },
    { 512, 1, 0, 0.841470984807897 },
    { 512, 1, 1, 0.54030230586814 },
    { 512, 1, 2, 0.821856190017532 },
    { 512, 1, 3, 0.569695008693131 },
    { 512, 1, 510, 0.000103663292658108 },
    { 512, 1, 511, 0.999999994626961 },
    { 512, 511, 0, 0.88177040076075 },
    { 512, 511, 1, -0.471678874174184 },
    { 512, 511, 2, 0.283995700724978 },
    { 512, 511, 3, -0.958825553460967 },
    { 512, 511, 510, 0.0529471726710488 },
    { 512, 511, 511, 0.998597314690032 },
};

/* Compares the oracle's table and the packed one. */
static void test_positions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sines / sizeof *sines; i++) {
        const Sine *p = &sines[i];
        char set[32];
        const char *const sets[] = { set };
        Engine e;
        EngineOptions o = { .spec = "models/transformer-base.yaml",
                            .sets = sets,
                            .nsets = 1 };
        snprintf(set, sizeof set, "d_model=%lld", (long long)p->d);
        if (p->d == 4)
            o.spec = "tests/worked/positions.yaml";
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        Interp in = { .g = e.unfused, .arena = e.arena };
        int node = graph_find(e.unfused, "source_positions");
        in.value = arena_alloc(e.arena,
                               (size_t)e.unfused->nodes.n * sizeof *in.value);
        interp_node(&in, node);
        assert_close("oracle", p->value,
                     in.value[node][p->position * p->d + p->column], 1e-12);
        for (int64_t k = 0; k < e.plan->pack.count; k++) {
            const PackItem *item = &e.plan->pack.item[k];
            if (item->table != TableSinusoid)
                continue;
            float *table = arena_alloc(e.arena, (size_t)(item->rows * item->k)
                                                    * sizeof *table);
            weights_tensor(item, NULL, 1, table);
            assert_close("packed", p->value,
                         (double)table[p->position * p->d + p->column], 1e-6);
        }
        engine_close(&e);
    }
}

/* Tests that PE(p + k) is PE(p) with each pair rotated by the same angle for
 * all p. */
static void test_rotation(void **state)
{
    (void)state;
    Engine e;
    EngineOptions o = { .spec = "models/transformer-base.yaml" };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    Interp in = { .g = e.unfused, .arena = e.arena };
    int node = graph_find(e.unfused, "source_positions");
    in.value = arena_alloc(e.arena,
                           (size_t)e.unfused->nodes.n * sizeof *in.value);
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

/* ---- penalties, shapes, counts ---- */

/* ((5 + L) / 6)^alpha of Wu et al. 2016. */
static void test_penalty(void **state)
{
    (void)state;
    static const struct {
        double alpha;
        int64_t length;
        double value;
    } row[] = {
        { 0.6, 1, 1 },
        { 0.6, 10, 1.732862107887866 },
        { 0.6, 20, 2.354362083745639 },
        { 0.6, 50, 3.778564704056578 },
        { 0.3, 10, 1.316382204334238 },
        { 0.3, 50, 1.943853056189325 },
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
    static const struct {
        const char *node, *type;
    } row[] = {
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
        assert_string_equal(print_type(e.arena, e.unfused->nodes.at[node].type),
                            row[i].type);
    }
    engine_close(&e);
}

/* Tests table 3, with a vocabulary of 37,000. */
static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t count;
    } row[] = {
        { "transformer-base", 63082496 },  { "table3/a-h1", 63082496 },
        { "table3/a-h4", 63082496 },       { "table3/a-h16", 63082496 },
        { "table3/a-h32", 63082496 },      { "table3/b-dk16", 55990784 },
        { "table3/b-dk32", 58354688 },     { "table3/c-n2", 33656832 },
        { "table3/c-n4", 48369664 },       { "table3/c-n8", 77795328 },
        { "table3/c-d256", 26834944 },     { "table3/c-d1024", 163889152 },
        { "table3/c-ff1024", 50487296 },   { "table3/c-ff4096", 88272896 },
        { "table3/e", 63606784 },          { "transformer-big", 214245376 },
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

/* Tests a row of table (A) by --set alone; d_k and d_v, which the file sets,
 * follow. */
static void test_parameters_set(void **state)
{
    (void)state;
    static const char *const sets[] = { "h=4", "d_k=", "d_v=" };
    Engine e;
    EngineOptions o = { .spec = "models/transformer-base.yaml",
                        .sets = sets,
                        .nsets = 3 };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    assert_int_equal(e.plan->parameters, 63082496);
    engine_close(&e);
}

/* Tests attention of 128 rows with its projections: the same FLOPs for all rows
 * (A), and the n^2 d of table 1 in its two products. */
static void test_operations(void **state)
{
    (void)state;
    static const char *const spec[] = {
        "transformer-base", "table3/a-h1",  "table3/a-h4",
        "table3/a-h16",     "table3/a-h32",
    };
    static const char *const node[] = { "q.matmul", "k.matmul", "v.matmul",
                                        "scores",   "heads",    "o.matmul" };
    for (int i = 0; i < 5; i++) {
        char path[64], name[64];
        Engine e;
        EngineOptions o = { .spec = path };
        int64_t sum = 0;
        snprintf(path, sizeof path, "models/%s.yaml", spec[i]);
        assert_int_equal(engine_graph(&e, &o, stderr), ExitDone);
        for (int k = 0; k < 6; k++) {
            snprintf(name, sizeof name, "encoder.0.self_attn.%s", node[k]);
            int64_t flops = node_flops(e.unfused, graph_find(e.unfused, name),
                                       128, 128);
            if (k == 3 || k == 4)
                assert_int_equal(flops, 2 * 8388608);
            sum += flops;
        }
        assert_int_equal(sum, 301989888);
        engine_close(&e);
    }
}

/* ---- identities ---- */

/* Runs the oracle on 9 rows, for a small model with seeded weights. */
typedef struct {
    Engine e;
    Weights w;
    Interp in;
} Small;

enum { Rows = 9 };

static void small_open(Small *s)
{
    static const int64_t rows[] = { Rows };
    EngineOptions o = { .spec = "models/tiny.yaml", .seed = 1 };
    assert_int_equal(engine_plan(&s->e, &o), ExitDone);
    weights_open(&s->w, &s->e, s->e.unfused);
    oracle_open(&s->in, s->e.arena, &s->w,
                sample_random(s->e.arena, s->e.spec, 1, 1, rows, rows), 0);
    oracle_result(&s->in);
}

static void small_close(Small *s)
{
    weights_close(&s->w);
    engine_close(&s->e);
}

static const double *value_of(const Small *s, const char *name)
{
    int node = graph_find(s->e.unfused, name);
    assert_true(node >= 0);
    return s->in.value[node];
}

/* Tests that each row of the attention weights sums to 1. */
static void test_weights(void **state)
{
    (void)state;
    Small s;
    small_open(&s);
    const double *p = value_of(&s, "encoder.1.self_attn.weights");
    for (int64_t r = 0; r < s.e.spec->side->h * Rows; r++) {
        double sum = 0;
        for (int64_t c = 0; c < Rows; c++)
            sum += p[r * Rows + c];
        assert_close("row of weights", 1, sum, 1e-12);
    }
    small_close(&s);
}

/* Tests that a norm's rows have mean 0 and deviation 1, before gamma and beta.
 */
static void test_norm(void **state)
{
    (void)state;
    Small s;
    small_open(&s);
    const double *x = value_of(&s, "encoder.1.norm1");
    const double *gamma = value_of(&s, "encoder.1.norm1.weight");
    const double *beta = value_of(&s, "encoder.1.norm1.bias");
    int64_t d = s.e.spec->d_model;
    for (int64_t r = 0; r < Rows; r++) {
        double mean = 0, square = 0;
        for (int64_t c = 0; c < d; c++) {
            double y = (x[r * d + c] - beta[c]) / gamma[c];
            mean += y / (double)d;
            square += y * y / (double)d;
        }
        assert_close("mean", 0, mean, 1e-12);
        assert_close("deviation", 1, sqrt(square - mean * mean), 1e-5);
    }
    small_close(&s);
}

/* out[row] = b + sum over taps of x[row + tap - reach] W[tap]^T. */
static void convolve(const double *x, int64_t in, const double *w,
                     const double *b, int64_t out, int64_t taps, double *y)
{
    for (int64_t r = 0; r < Rows; r++)
        for (int64_t o = 0; o < out; o++) {
            double sum = b[o];
            for (int64_t k = 0; k < taps; k++) {
                int64_t from = r + k - taps / 2;
                for (int64_t i = 0; i < in && from >= 0 && from < Rows; i++)
                    sum += x[from * in + i] * w[(o * in + i) * taps + k];
            }
            y[r * out + o] = sum;
        }
}

/* Tests that two convolutions of kernel 1 with a ReLU between equal the
 * feed-forward network. */
static void test_convolutions(void **state)
{
    (void)state;
    Small s;
    small_open(&s);
    int64_t d = s.e.spec->d_model, d_ff = s.e.spec->side->d_ff;
    double *inner = arena_alloc(s.e.arena,
                                (size_t)(Rows * d_ff) * sizeof *inner);
    double *out = arena_alloc(s.e.arena, (size_t)(Rows * d) * sizeof *out);
    convolve(value_of(&s, "encoder.1.norm1"), d,
             value_of(&s, "encoder.1.ffn.w1.weight"),
             value_of(&s, "encoder.1.ffn.w1.bias"), d_ff, 1, inner);
    for (int64_t i = 0; i < Rows * d_ff; i++)
        inner[i] = inner[i] > 0 ? inner[i] : 0;
    convolve(inner, d_ff, value_of(&s, "encoder.1.ffn.w2.weight"),
             value_of(&s, "encoder.1.ffn.w2.bias"), d, 1, out);
    const double *want = value_of(&s, "encoder.1.ffn.w2");
    for (int64_t i = 0; i < Rows * d; i++)
        assert_close("feed-forward", want[i], out[i], 1e-12);
    small_close(&s);
}

static uint64_t bits = 1;

static double uniform(void) /* variance 1, mean 0 */
{
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    return ((double)(bits >> 11) * 0x1p-53 - 0.5) * sqrt(12);
}

/* Tests that q.k of independent entries of variance 1 has variance d_k; scaled,
 * 1. */
static void test_variance(void **state)
{
    (void)state;
    static const int64_t widths[] = { 16, 64, 512 };
    const double pairs = 200000;
    for (int i = 0; i < 3; i++) {
        double mean = 0, square = 0, d_k = (double)widths[i];
        for (int n = 0; n < pairs; n++) {
            double dot = 0;
            for (int64_t k = 0; k < widths[i]; k++)
                dot += uniform() * uniform();
            dot /= sqrt(d_k);
            mean += dot / pairs;
            square += dot * dot / pairs;
        }
        assert_close("mean", 0, mean, 0.02);
        assert_close("variance", 1, square - mean * mean, 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_penalty),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_parameters_set),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
