/* one_tensor_test.c: tests weight-map rows beyond names: one layer's weights
 * for all layers, and scaled or shifted elements. The bits are those of a file
 * with everything written out. */
#define _GNU_SOURCE
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"

static Arena *a;

static const char spec[] = "attnc: 1\n"
                           "name: one\n"
                           "kind: encoder\n"
                           "d_model: 24\n"
                           "h: 2\n"
                           "d_ff: 40\n"
                           "N: 3\n"
                           "max_len: 20\n"
                           "vocab.size: 30\n"
                           "names:\n"
                           "  %s\n";

typedef struct { /* a model that ran */
    Engine e;
    float *out;
    int64_t size;
} Ran;

static void run(Ran *r, const char *names, const char *weights)
{
    static const int64_t rows[] = { 9 };
    const char *text = arena_printf(a, spec, names);
    Trial t = { 0 };
    EngineOptions o = { .spec = scratch_file("m.yaml", text, strlen(text)),
                        .seed = 3,
                        .weights = weights,
                        .backend = "jit" };

    assert_int_equal(engine_open(&r->e, &o), ExitDone);
    const Sample *x = sample_random(r->e.arena, r->e.spec, 1, 1, rows, rows);
    r->size = result_rows(r->e.spec, x) * result_columns(r->e.spec);
    r->out = arena_alloc(a, (size_t)r->size * sizeof *r->out);
    trial_run(&t, &r->e, x, 0, r->out);
    trial_free(&t);
}

static void assert_same(const Ran *x, const Ran *y)
{
    assert_int_equal(x->size, y->size);
    assert_memory_equal(x->out, y->out, (size_t)x->size * sizeof *x->out);
}

/* Converts an element of the file to one of the model. */
typedef float Change(const char *name, float x);

/* Writes the changed weights of the model to a file. Weights that layers share
 * are written once or, with `copies`, under each layer's name. */
static const char *write_weights(const Engine *e, Change *change, bool copies)
{
    const PackList *p = &e->plan->pack;
    static TensorOut t[256];
    const char *path = arena_strdup(a, scratch_path("w.safetensors"));
    int n = 0;
    Fault why;

    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *it = &p->item[i];
        const char *hole = it->name ? strstr(it->name, "{i}") : NULL;
        if (!it->from.name || it->table)
            continue;
        float *x = arena_alloc(a, (size_t)(it->rows * it->k) * sizeof *x);
        weights_tensor(it, NULL, e->options.seed, x);
        for (int64_t j = 0; j < it->rows * it->k; j++)
            x[j] = change(it->from.name, x[j]);
        for (int l = 0; l < (hole && copies ? 3 : 1); l++) {
            const char *name = it->from.name;
            if (hole && copies)
                name = arena_printf(a, "%.*s%d%s", (int)(hole - it->name),
                                    it->name, l, hole + 3);
            t[n++] = it->layout == PackVector
                       ? (TensorOut){ .name = name,
                                      .rank = 1,
                                      .dim = { it->k },
                                      .data = x }
                       : (TensorOut){ .name = name,
                                      .rank = 2,
                                      .dim = { it->rows, it->k },
                                      .data = x };
        }
    }
    assert_true(n < 256);
    assert_true(safetensors_write(path, t, n, &why));
    return path;
}

static float as_it_is(const char *name, float x)
{
    (void)name;
    return x;
}

/* Tests that all layers share one: seeded, in a file of one layer, in one of
 * three. */
static void one_layer_for_all(void **state)
{
    Ran seeded, one, three, other;

    (void)state;
    run(&seeded, "encoder.{i}: shared", NULL);
    run(&one, "encoder.{i}: shared", write_weights(&seeded.e, as_it_is, false));
    run(&three, "encoder.{i}: encoder.{i}",
        write_weights(&seeded.e, as_it_is, true));
    assert_same(&seeded, &one);
    assert_same(&seeded, &three);
    const Plan *p = seeded.e.plan, *q = three.e.plan;
    int64_t shared = 4 * 24 * 24 + 4 * 24 + 2 * 24 * 40 + 40 + 24 + 4 * 24;
    assert_int_equal(p->parameters, 30 * 24 + shared);
    assert_int_equal(q->parameters, 30 * 24 + 3 * shared);
    assert_true(p->pack.bytes + 8 * shared <= q->pack.bytes);
    run(&other, "encoder.{i}.norm1.bias: {fill: 0}", NULL);
    assert_true(memcmp(seeded.out, other.out, 4) != 0);
    engine_close(&seeded.e);
    engine_close(&one.e);
    engine_close(&three.e);
    engine_close(&other.e);
}

static float changed(const char *name, float x)
{
    if (strstr(name, "norm1"))
        return x - 1; /* exact: near 1 */
    return strstr(name, "self_attn.o") || strstr(name, "norm2") ? x / 4 : x;
}

static void changes_come_back(void **state)
{
    Ran plain, back;

    (void)state;
    run(&plain, "encoder.{i}.norm1.bias: {fill: 0}", NULL);
    run(&back,
        "encoder.{i}.norm1.bias: {fill: 0}\n"
        "  encoder.{i}.norm1: {add: 1}\n"
        "  encoder: {scale: 4}\n"
        "  encoder.{i}.norm1.weight: {scale: 1}\n"
        "  encoder.{i}.ffn: {scale: 1}\n"
        "  encoder.{i}.self_attn: {tensor: \"encoder.{i}.self_attn\","
        " scale: 1}\n"
        "  encoder.{i}.self_attn.o: {scale: 4}",
        write_weights(&plain.e, changed, false));
    assert_same(&plain, &back);
    engine_close(&plain.e);
    engine_close(&back.e);
}

static int set_up(void **state)
{
    a = arena_new();
    return scratch_make(state);
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(a);
    scratch_empty();
    return rmdir(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_layer_for_all),
        cmocka_unit_test(changes_come_back),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
