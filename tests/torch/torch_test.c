/* torch_test.c: tests small models, one for each field of a spec that no real
 * model has, against the results of PyTorch: tests/torch/make_torch.py. */
#define _POSIX_C_SOURCE 200809L  /* opendir */
#include "oracle/trial.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/oracle_model.h"

static const char folder[] = "tests/torch";

typedef struct { /* one model, its inputs and its outputs */
    const char *name;
    char spec[256], weights[256];
    Safetensors *io;
    int64_t n, t;                     /* rows of the source, of the target */
    const int32_t *ids[3], *types[3]; /* by Entry */
    double rows[256];                 /* numbers instead of a source's ids */
    int64_t prefix;
} Case;

static const Tensor *find(const Case *c, const char *name, int64_t *rows)
{
    const Tensor *t = safetensors_find(c->io, name);
    if (t)
        *rows = t->dim[0];
    return t;
}

static const int32_t *ids_of(const Case *c, const char *name, int64_t *rows)
{
    const Tensor *t = find(c, name, rows);
    return t ? (const int32_t *)(const void *)t->at : NULL;
}

/* Rows before the given ones belong to a class token, and nothing may read
 * them. */
static void read_rows(Case *c)
{
    const Tensor *rows = find(c, "rows", &c->n);
    if (!rows)
        return;
    find(c, "out.encoder.output", &c->n);
    int64_t before = (c->n - rows->dim[0]) * rows->dim[1];
    for (int64_t i = 0; i < before; i++)
        c->rows[i] = NAN;
    for (int64_t i = 0; i < rows->elements; i++) {
        float x;
        tensor_floats(rows, i, 1, &x);
        c->rows[before + i] = (double)x;
    }
}

static void case_open(Case *c, const char *name)
{
    Fault why;
    char path[256];
    int64_t one;
    *c = (Case){ .name = name };
    snprintf(c->spec, sizeof c->spec, "%s/%s.yaml", folder, name);
    snprintf(c->weights, sizeof c->weights, "%s/%s.safetensors", folder, name);
    snprintf(path, sizeof path, "%s/%s.io.safetensors", folder, name);
    c->io = safetensors_open(path, &why);
    if (!c->io)
        fail_msg("%s", why.text);
    c->ids[EntryEncode] = ids_of(c, "source", &c->n);
    c->ids[EntryDecode] = ids_of(c, "target", &c->t);
    c->types[EntryEncode] = ids_of(c, "types", &c->n);
    const int32_t *prefix = ids_of(c, "prefix", &one);
    c->prefix = prefix ? prefix[0] : 0;
    read_rows(c);
}

/* ---- backends ---- */

static void oracle(const Case *c, bool fused)
{
    OracleModel m;
    int checked = 0;
    oracle_model_open(&m, c->spec, c->weights, fused);
    memcpy(m.in.ids, c->ids, sizeof m.in.ids);
    memcpy(m.in.types, c->types, sizeof m.in.types);
    m.in.rows[0] = c->rows;
    m.in.prefix = c->prefix;
    oracle_model_run(&m, c->n, c->t);
    for (int i = 0; i < safetensors_count(c->io); i++) {
        const Tensor *t = safetensors_at(c->io, i);
        const char *node = t->name + strlen("out.");
        if (strncmp(t->name, "out.", 4) || graph_find(m.g, node) < 0)
            continue;
        oracle_near(oracle_value(&m, node, t->elements), t, 0, t->elements,
                    1e-6, t->name);
        checked++;
    }
    assert_true(checked >= (fused ? 1 : 2));
    oracle_model_close(&m);
}

/* Returns the rows of c's result, the node of the graph's output. */
static const Tensor *result_of(const Case *c)
{
    const Tensor *t = safetensors_find(c->io, "out.logits");
    return t ? t : safetensors_find(c->io, "out.output");
}

static void compiled(const Case *c, const char *backend, const char *set,
                     const char *const *skip, int64_t chunk, double near)
{
    float out[256], rows[256];
    double wide[256];
    int32_t start[2][2] = { { 0, (int32_t)c->n }, { 0, (int32_t)c->t } };
    EngineOptions o = { .spec = c->spec,
                        .backend = backend,
                        .sets = &set,
                        .nsets = 1,
                        .passes = { .skip = skip, .nskip = skip != NULL } };
    Engine e;
    Trial t = { 0 };
    Sample x = { .sequences = 1,
                 .start = { start[0], start[1] },
                 .ids = { c->ids[EntryEncode], c->ids[EntryDecode] },
                 .types = c->types[EntryEncode],
                 .prefix = c->prefix };
    const Tensor *want = result_of(c);
    for (int i = 0; i < 256; i++)
        rows[i] = (float)c->rows[i];
    if (!c->ids[EntryEncode] && c->n > 0)
        x.rows[0] = rows;
    assert_int_equal(engine_open(&e, &o), ExitDone);
    assert_int_equal(result_rows(e.spec, &x) * result_columns(e.spec),
                     want->elements);
    trial_run(&t, &e, &x, chunk, out);
    for (int64_t i = 0; i < want->elements; i++)
        wide[i] = (double)out[i];
    oracle_near(wide, want, 0, want->elements, near, want->name);
    trial_free(&t);
    engine_close(&e);
}

enum { Vocab = 11 };

static void assert_scores(const Case *c, const struct attn_hypothesis *out,
                          const Tensor *want)
{
    float logits[Vocab];
    double sum = 0;
    tensor_floats(want, (c->t - 1) * Vocab, Vocab, logits);
    for (int i = 0; i < Vocab; i++)
        sum += exp((double)logits[i]);
    for (int i = 0; i < Vocab; i++) {
        const int32_t last = out[i].tokens[out[i].n - 1];
        const double near = (double)logits[last] - log(sum);
        assert_int_equal(out[i].n, c->t);
        assert_true(fabs((double)out[i].score - near) < 1e-5);
    }
}

/* Tests a beam as wide as the vocabulary after the target: the scores of all
 * tokens are the log-softmax of the last row's logits. */
static void run_search(const Case *c)
{
    Engine e;
    struct attn_hypothesis out[Vocab];
    struct attn_search_options o = { .beam = Vocab,
                                     .results = Vocab,
                                     .want_scores = 1,
                                     .end = -1,
                                     .max_output_plus = -1,
                                     .patience = 1 };
    float rows[256];
    int64_t given = 0, found;
    const Tensor *want = safetensors_find(c->io, "out.logits");
    const Tensor *input = find(c, "rows", &given);
    const int32_t *source = ids_of(c, "source", &given);
    if (!want || given == 0 || c->t == 0)
        return;
    o.start = c->ids[EntryDecode][0];
    o.prefix = c->ids[EntryDecode] + 1;
    o.prefix_n = c->t - 1;
    o.max_output = c->t;
    assert_int_equal(engine_open(&e, &(EngineOptions){ .spec = c->spec,
                                                       .backend = "jit" }),
                     ExitDone);
    if (input)
        tensor_floats(input, 0, input->elements, rows);
    const struct attn_model *m = e.backend.model;
    const int64_t bytes = attn_search_bytes(m, &o, 1, given, given);
    const struct attn_search_request r = {
        .model = m,
        .bound = e.bound,
        .o = &o,
        .sentences = 1,
        .ids = source,
        .input = input ? rows : NULL,
        .start = (int32_t[]){ 0, (int32_t)given },
        .memory = nan_block(e.arena, bytes),
        .bytes = bytes
    };
    assert_int_equal(attn_search(&r, out, &found), 0);
    assert_int_equal(found, Vocab);
    assert_scores(c, out, want);
    engine_close(&e);
}

static void run_jit(const Case *c)
{
    compiled(c, "jit", "dtype=f32", NULL, 0, 1e-5);
}

static void run_jit_by_row(const Case *c)
{
    compiled(c, "jit", "dtype=f32", NULL, 1, 1e-5);
}

/* Compares rounded weights with PyTorch's, which are not: the largest error is
 * 2.7e-2. */
static void run_jit_bf16(const Case *c)
{
    compiled(c, "jit", "dtype=bf16", NULL, 0, 4e-2);
}

/* Each takes a second; together they have most of the forms. */
static void run_clang(const Case *c)
{
    static const char *const some[] = { "relative", "softcap", "pool_mean" };
    bool run = getenv("ATTNC_FULL");
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        run |= !strcmp(c->name, some[i]);
    if (run)
        compiled(c, "clang", "dtype=f32", NULL, 0, 1e-5);
}

static void run_jit_unfused(const Case *c)
{
    compiled(c, "jit", "dtype=f32", (const char *const[]){ "all" }, 0, 1e-5);
}

static void run_oracle(const Case *c)
{
    oracle(c, false);
}
static void run_fused_oracle(const Case *c)
{
    oracle(c, true);
}

static const struct { /* each fails separately */
    const char *name;
    void (*run)(const Case *c);
} backends[] = {
    { "oracle", run_oracle },
    { "oracle of the fused graph", run_fused_oracle },
    { "jit", run_jit },
    { "jit, row by row", run_jit_by_row },
    { "jit, by a search", run_search },
    { "jit, unfused", run_jit_unfused },
    { "jit, weights in bf16", run_jit_bf16 },
    { "clang", run_clang },
};
enum { Backends = sizeof backends / sizeof *backends };

/* ---- models ---- */

static bool case_name(const char *file, char *name, size_t size)
{
    size_t n = strlen(file), m = strlen(".yaml");
    if (n <= m || strcmp(file + n - m, ".yaml"))
        return false;
    snprintf(name, size, "%.*s", (int)(n - m), file);
    return true;
}

static int each_case(const char *backend, void (*run)(const Case *c))
{
    char name[128];
    int cases = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!case_name(e->d_name, name, sizeof name))
            continue;
        Case c;
        print_message("%s: %s\n", backend, name);
        case_open(&c, name);
        run(&c);
        safetensors_close(c.io);
        cases++;
    }
    closedir(d);
    return cases;
}

static void test_models(void **state)
{
    (void)state;
    for (int i = 0; i < Backends; i++)
        assert_true(each_case(backends[i].name, backends[i].run) > 20);
}

/* Tests the sentence "Another way of describing this is as two convolutions
 * with kernel size 1" (section 3.3): with the network's weights, the result is
 * the same. */
static void test_network_as_convolutions(void **state)
{
    static const char set[] =
        "N=2,layers=[{ffn: none}, {mix: {type: convolution, kernel: 1, inner: "
        "20}, ffn: none}],names.encoder.1.convolution=encoder.0.ffn,"
        "names.encoder.1.norm1=encoder.0.norm2";
    Case c;
    (void)state;
    case_open(&c, "pool_class");
    compiled(&c, "jit", set, NULL, 0, 1e-5);
    compiled(&c, "clang", set, NULL, 0, 1e-5);
    compiled(&c, "jit", set, (const char *const[]){ "all" }, 0, 1e-5);
    safetensors_close(c.io);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_network_as_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
