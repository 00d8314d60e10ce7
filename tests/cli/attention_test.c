/* attention_test.c: tests attnc run --attention: the weights equal those of
 * PyTorch and of the oracle, rows sum to 1, and the choice of heads works. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/expected.h"
#include "support/oracle_model.h" /* has a variable that aot.h has, too */
#include "support/aot.h"

enum { MostWeights = 512 }; /* of one head, in these tests */
#define Gate (64 * (double)FLT_EPSILON)  /* of a softmax, against double */

/* ---- numbers ---- */
typedef struct { /* a model of tests/torch and its inputs */
    const char *spec, *weights;
    Safetensors *io;
    double rows[256];
} Golden;

/* Names of tensors in the .io file, and in the graph. */
static const char *const inputs[][2] = {
    { "source", "source.ids" },  { "target", "target.ids" },
    { "types", "source.types" }, { "rows", "source.values" },
    { "prefix", "prefix" },
};
enum { Inputs = sizeof inputs / sizeof *inputs };

/* Runs the model; the file "in" then has its inputs. */
static void open_golden(Golden *g, const char *name)
{
    Fault why;
    TensorOut t[Inputs];
    int n = 0;
    *g = (Golden){ .spec = arena_printf(a, "tests/torch/%s.yaml", name),
                   .weights = arena_printf(a, "tests/torch/%s.safetensors",
                                           name) };
    g->io = safetensors_open(arena_printf(a, "tests/torch/%s.io.safetensors",
                                          name),
                             &why);
    assert_non_null(g->io);
    for (int i = 0; i < Inputs; i++) {
        const Tensor *x = safetensors_find(g->io, inputs[i][0]);
        if (!x)
            continue;
        t[n] = (TensorOut){ .name = inputs[i][1],
                            .rank = x->rank,
                            .data = x->at,
                            .is_int = x->type == StI32 };
        memcpy(t[n++].dim, x->dim, sizeof t->dim);
    }
    assert_true(safetensors_write(in_dir("in"), t, n, &why));
}

static void run_oracle(OracleModel *m, Golden *g)
{
    int64_t rows[2] = { 0, 0 };
    const Tensor *t;
    oracle_model_open(m, g->spec, g->weights, false);
    for (int side = 0; side < 2; side++)
        if ((t = safetensors_find(g->io, inputs[side][0]))) {
            m->in.ids[EntryEncode + side] = (const void *)t->at;
            rows[side] = t->dim[0];
        }
    if ((t = safetensors_find(g->io, "types")))
        m->in.types[EntryEncode] = (const void *)t->at;
    if ((t = safetensors_find(g->io, "prefix")))
        m->in.prefix = *(const int32_t *)(const void *)t->at;
    if ((t = safetensors_find(g->io, "rows"))) {
        rows[0] = t->dim[0];
        for (int64_t i = 0; i < t->elements; i++) {
            float x;
            tensor_floats(t, i, 1, &x);
            g->rows[i] = (double)x;
        }
        m->in.rows[0] = g->rows;
    }
    oracle_model_run(m, rows[0], rows[1]);
}

/* Returns the list of layers and heads that attnc wrote. */
static const json_t *attention_of(const char *path)
{
    static json_t *root;
    json_decref(root);
    root = json_file(path);
    return json_object_get(root, "attention");
}

static int64_t number(const json_t *head, const char *key)
{
    return json_integer_value(json_object_get(head, key));
}

/* Checks that rows sum to 1, except rows of zeros, whose keys are all masked.
 */
static int check_rows(const json_t *rows)
{
    double w[MostWeights];
    int zeros = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        int64_t n = json_numbers(json_array_get(rows, i), w, MostWeights);
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            assert_true(w[j] >= 0 && w[j] <= 1);
            sum += w[j];
        }
        zeros += sum == 0;
        assert_true(n > 0 && (sum == 0 || fabs(sum - 1) <= 1e-6));
    }
    return zeros;
}

/* Checks all heads of a model; returns its rows of zeros. */
static int check_golden(const char *name)
{
    Golden g;
    OracleModel m;
    Spawned s;
    int zeros = 0;
    int64_t compared = 0, known = 0;
    open_golden(&g, name);
    run_oracle(&m, &g);
    for (int i = 0; i < safetensors_count(g.io); i++)
        if (strstr(safetensors_at(g.io, i)->name, "attn.weights"))
            known += safetensors_at(g.io, i)->elements;
    assert_int_equal(RUN(&s, "", attnc(), "run", g.spec, "--input",
                         in_dir("in"), "--attention", in_dir("a.json")),
                     0);
    const json_t *heads = attention_of(in_dir("a.json"));
    for (size_t i = 0; i < json_array_size(heads); i++) {
        const json_t *head = json_array_get(heads, i);
        const char *node = json_string_value(json_object_get(head, "name"));
        const Tensor *t = safetensors_find(g.io,
                                           arena_printf(a, "out.%s", node));
        double w[MostWeights];
        int64_t n = json_numbers(json_object_get(head, "weights"), w,
                                 MostWeights);
        assert_non_null(t);
        assert_int_equal(n, t->dim[1] * t->dim[2]);
        int64_t first = number(head, "head") * n;
        oracle_near(w, t, first, n, 1e-6, name);
        const double *want = oracle_value(&m, node, t->elements) + first;
        for (int64_t j = 0; j < n; j++)
            if (!(fabs(w[j] - want[j]) <= Gate))
                fail_msg("%s %s[%lld]: %.9g, not %.9g", name, node,
                         (long long)(first + j), w[j], want[j]);
        zeros += check_rows(json_object_get(head, "weights"));
        compared += n;
    }
    assert_true(compared > 0);
    assert_int_equal(compared, known);
    oracle_model_close(&m);
    safetensors_close(g.io);
    return zeros;
}

static void test_weights(void **state)
{
    (void)state;
    static const char *const names[] = {
        "alibi",          "alibi_encoder", "block",          "causal_blocks",
        "partial_rotary", "pool_mean",     "prefix",         "qk_norm",
        "real_input",     "relative",      "rotary",         "softcap",
        "two_sizes",      "window",        "window_encoder",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(check_golden(names[i]), 0);
    assert_int_equal(check_golden("mask_file"), 2); /* one a head */
}

/* Tests two query heads for each key head, with seeded weights, as text. */
static void test_grouped(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(RUN(&s, "3 4 5\n", attnc(), "run", "tests/cli/small.yaml",
                         "--set", "kind=decoder", "--set", "h_kv=1", "--ids",
                         "--attention", in_dir("a.json")),
                     0);
    const json_t *heads = attention_of(in_dir("a.json"));
    assert_int_equal(json_array_size(heads), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(check_rows(json_object_get(json_array_get(heads, i),
                                                    "weights")),
                         0);
}

/* ---- choice ---- */
static const json_t *choose(const char *first, const char *second)
{
    Spawned s;
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/torch/two_sizes.yaml",
                         "--input", in_dir("in"), "--attention",
                         in_dir("a.json"), first, second),
                     0);
    return attention_of(in_dir("a.json"));
}

/* Tests 2 encoder layers of 4 heads, and a decoder layer of 2 heads, twice. */
static void test_choice(void **state)
{
    (void)state;
    Golden g;
    double all[MostWeights], row[MostWeights];
    open_golden(&g, "two_sizes");
    safetensors_close(g.io);
    const json_t *heads = choose(NULL, NULL);
    assert_int_equal(json_array_size(heads), 4 + 4 + 2 + 2);
    const json_t *one = json_array_get(heads, 5);
    assert_int_equal(number(one, "layer"), 1);
    assert_int_equal(number(one, "head"), 1);
    assert_int_equal(number(one, "first_query"), 0);
    assert_int_equal(json_numbers(json_object_get(one, "weights"), all,
                                  MostWeights),
                     9 * 9);

    assert_int_equal(json_array_size(choose("--layer=1", NULL)), 4);
    assert_int_equal(json_array_size(choose("--head=3", NULL)), 2);
    assert_int_equal(json_array_size(choose("--head=1", NULL)), 4);
    assert_int_equal(json_array_size(choose("--head=1", "--layer=1")), 1);
    /* the target has 8 rows */
    assert_int_equal(json_array_size(choose("--query=8", NULL)), 8);
    heads = choose("--layer=1", "--query=8");
    assert_int_equal(json_array_size(heads), 4);
    one = json_array_get(heads, 1);
    assert_int_equal(number(one, "head"), 1);
    assert_int_equal(number(one, "first_query"), 8);
    assert_int_equal(json_numbers(json_object_get(one, "weights"), row,
                                  MostWeights),
                     9);
    assert_memory_equal(row, all + 8 * 9, 9 * sizeof *row);
}

/* Tests a block of attention: NaN weights are reported, and null in JSON. */
static void test_block(void **state)
{
    (void)state;
    static const float rows[3 * 8] = { 1, [9] = 2, [20] = NAN };
    TensorOut t[3];
    Spawned s;
    Fault why;
    for (int i = 0; i < 3; i++)
        t[i] = (TensorOut){ .name = (const char *[]){ "query", "key",
                                                      "value" }[i],
                            .rank = 2,
                            .dim = { i ? 2 : 3, 8 },
                            .data = rows };
    assert_true(safetensors_write(in_dir("in"), t, 3, &why));
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/cli/block.yaml",
                         "--input", in_dir("in"), "--layer=0", "--head=1",
                         "--attention", in_dir("a.json")),
                     0);
    assert_non_null(strstr(s.tail, "weights: 4 weights are not numbers"));
    const json_t *heads = attention_of(in_dir("a.json"));
    assert_int_equal(json_array_size(heads), 1);
    const json_t *w = json_object_get(json_array_get(heads, 0), "weights");
    assert_int_equal(json_array_size(w), 3);
    assert_true(json_is_real(json_array_get(json_array_get(w, 0), 1)));
    assert_true(json_is_null(json_array_get(json_array_get(w, 2), 1)));
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/cli/block.yaml",
                         "--input", in_dir("in"), "--attention",
                         in_dir("a.svg")),
                     0);
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/cli/block.yaml",
                         "--input", in_dir("in"), "--layer=1", "--attention",
                         in_dir("a.svg")),
                     ExitUsage);
    assert_non_null(strstr(s.tail, "--layer 1 is out of range: 0 to 0"));
}

/* Tests the tokens read and those generated: start token, prefix. */
static void test_answer(void **state)
{
    (void)state;
    Spawned s;
    json_error_t why;
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/cli/small.yaml",
                         "--ids", "--prompt=3 4 5", "--max-input=2",
                         "--prefix=5 6", "-n", "0", "--attention",
                         in_dir("a.json")),
                     0);
    assert_string_equal(s.out, "5 6\n");
    json_t *root = json_load_file(in_dir("a.json"), 0, &why);
    json_t *want = json_pack("{s:[s,s], s:[s,s,s]}", "source", "3", "4",
                             "target", "1", "5", "6");
    assert_true(json_equal(json_object_get(root, "source"),
                           json_object_get(want, "source")));
    assert_true(json_equal(json_object_get(root, "target"),
                           json_object_get(want, "target")));
    json_decref(root);
    json_decref(want);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_weights), TEST(test_grouped), TEST(test_choice),
        TEST(test_block),   TEST(test_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
