/* difference_test.c: tests that differences between two variants are found by
 * names, equal layers are printed once, and saved facts can be read back. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"

#include <cmocka.h>

static Arena *a;

/* ---- facts made by hand ---- */
static void node(Facts *f, const char *key, int layer, const char *text)
{
    const Fact x = { .kind = FactNode,
                     .layer = layer,
                     .key = key,
                     .text = text,
                     .type = "f32[n, 4]" };
    vec_push(a, &f->at, x);
}

static Difference differ(const Facts *x, const Facts *y)
{
    Difference d = { .arena = a };
    facts_differ(&d, x, y);
    return d;
}

static void test_a_node_more_moves_no_other(void **state)
{
    (void)state;
    Facts x = { .arena = a }, y = { .arena = a };
    node(&x, "first", -1, "embed");
    node(&x, "last", -1, "output first");
    node(&y, "first", -1, "embed");
    node(&y, "between", -1, "norm first");
    node(&y, "last", -1, "output first");
    const Difference d = differ(&x, &y);
    assert_false(d.same);
    assert_int_equal(d.of[FactNode].n, 1);
    assert_null(d.of[FactNode].at[0].a);
    assert_string_equal(d.of[FactNode].at[0].b->key, "between");
    assert_int_equal(d.nodes[0], 2);
    assert_int_equal(d.nodes[1], 3);
}

static void test_another_order_is_no_difference(void **state)
{
    (void)state;
    Facts x = { .arena = a }, y = { .arena = a };
    node(&x, "one", -1, "norm");
    node(&x, "two", -1, "norm");
    node(&x, "three", -1, "norm");
    node(&y, "three", -1, "norm");
    node(&y, "one", -1, "norm");
    node(&y, "two", -1, "norm");
    assert_true(differ(&x, &y).same);
}

static void test_layers_that_are_alike_come_once(void **state)
{
    (void)state;
    Facts x = { .arena = a }, y = { .arena = a };
    for (int i = 0; i < 4; i++) {
        node(&x, "encoder.{i}.q", i, "split, heads 2");
        node(&y, "encoder.{i}.q", i,
             i == 2 ? "split, heads 8" : "split, heads 4");
    }
    const Difference d = differ(&x, &y);
    assert_int_equal(d.of[FactNode].n, 2);
    const Change *c = &d.of[FactNode].at[0];
    assert_int_equal(c->layers.n, 3);
    assert_int_equal(c->layers.at[0], 0);
    assert_int_equal(c->layers.at[2], 3);
    assert_false(c->whole);
    assert_int_equal(d.of[FactNode].at[1].layers.n, 1);
    assert_int_equal(d.of[FactNode].at[1].layers.at[0], 2);
}

/* Tests that a layer with missing nodes does not count as a complete layer. */
static void test_whole_layers(void **state)
{
    (void)state;
    Facts x = { .arena = a }, y = { .arena = a };
    node(&x, "encoder.{i}.q", 0, "norm");
    node(&x, "decoder.{i}.q", 1, "norm");
    node(&y, "encoder.{i}.q", 0, "norm");
    node(&y, "encoder.{i}.q", 1, "norm");
    node(&y, "decoder.{i}.q", 1, "norm");
    node(&y, "decoder.{i}.k", 1, "norm");
    const Difference d = differ(&x, &y);
    assert_int_equal(d.of[FactNode].n, 2);
    assert_string_equal(d.of[FactNode].at[0].b->key, "encoder.{i}.q");
    assert_true(d.of[FactNode].at[0].whole);
    assert_string_equal(d.of[FactNode].at[1].b->key, "decoder.{i}.k");
    assert_false(d.of[FactNode].at[1].whole);
}

/* Tests that times, which vary, do not count as differences. */
static void test_times_are_no_difference(void **state)
{
    (void)state;
    Facts x = { .arena = a }, y = { .arena = a };
    facts_time(&x, "step", 1e-3, 0.9e-3, 1.1e-3);
    facts_time(&y, "step", 2e-3, 1.9e-3, 2.1e-3);
    const Difference d = differ(&x, &y);
    assert_true(d.same);
    assert_int_equal(d.of[FactTime].n, 1);
}

/* ---- facts of models ---- */
typedef struct {
    Engine e;
    Facts facts;
} Variant;

static Variant variant(const char *spec, const char *set, const char *skip)
{
    Variant v = { .facts = { .arena = a } };
    PassRecord *record;
    record = arena_alloc(a, (size_t)n_passes * sizeof *record);
    const EngineOptions o = {
        .spec = spec,
        .sets = &set,
        .nsets = set != NULL,
        .passes = { .skip = &skip, .nskip = skip != NULL, .record = record }
    };
    assert_int_equal(engine_plan(&v.e, &o), ExitDone);
    facts_of(&v.facts, &v.e, record);
    engine_close(&v.e);
    return v;
}

static const char *const specs[] = {
    "models/tiny.yaml",
    "models/attention.yaml",
    "models/gpt-nano-sort.yaml",
    "models/gpt2-small.yaml",
    "models/llama-110m.yaml",
    "models/t5-small.yaml",
    "models/transformer-en-fr.yaml",
};
enum { Specs = sizeof specs / sizeof *specs };

static void test_the_same_twice(void **state)
{
    (void)state;
    for (int i = 0; i < Specs; i++) {
        const Variant x = variant(specs[i], NULL, NULL);
        const Variant y = variant(specs[i], NULL, NULL);
        const Difference d = differ(&x.facts, &y.facts);
        assert_true(d.same);
        assert_int_equal(d.of[FactNode].n, 0);
        assert_true(d.of[FactCost].n > 4);
    }
}

/* Tests that the difference of A and B mirrors that of B and A. */
static void test_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < Specs; i++)
        for (int j = 0; j < i; j++) {
            const Variant x = variant(specs[i], NULL, NULL);
            const Variant y = variant(specs[j], NULL, NULL);
            const Difference to = differ(&x.facts, &y.facts);
            const Difference back = differ(&y.facts, &x.facts);
            assert_false(to.same);
            for (int k = 0; k < FactKinds; k++) {
                int gained = 0, lost = 0;
                for (int c = 0; c < to.of[k].n; c++)
                    if (!to.of[k].at[c].a)
                        gained += 1 + to.of[k].at[c].layers.n;
                for (int c = 0; c < back.of[k].n; c++)
                    if (!back.of[k].at[c].b)
                        lost += 1 + back.of[k].at[c].layers.n;
                assert_int_equal(gained, lost);
            }
        }
}

static const Change *find(const Difference *d, FactKind kind, const char *key)
{
    for (int i = 0; i < d->of[kind].n; i++) {
        const Change *c = &d->of[kind].at[i];
        if (!strcmp((c->a ? c->a : c->b)->key, key))
            return c;
    }
    return NULL;
}

/* Tests that a field that changes alike on both sides is listed once. */
static void test_fields(void **state)
{
    (void)state;
    const Variant x = variant("models/tiny.yaml", NULL, NULL);
    const Variant both = variant("models/tiny.yaml", "h=4", NULL);
    const Variant one = variant("models/tiny.yaml", "h.decoder=4", NULL);
    Difference d = differ(&x.facts, &both.facts);
    const Change *h = find(&d, FactField, "h"), *d_k;
    assert_non_null(h);
    assert_string_equal(h->a->text, "2");
    assert_string_equal(h->b->text, "4");
    assert_false(h->b->derived);
    assert_null(find(&d, FactField, "h.encoder"));
    d_k = find(&d, FactField, "d_k");
    assert_non_null(d_k);
    assert_true(d_k->b->derived);
    d = differ(&x.facts, &one.facts);
    assert_null(find(&d, FactField, "h"));
    assert_non_null(find(&d, FactField, "h.decoder"));
}

static void test_fusions(void **state)
{
    (void)state;
    const Variant x = variant("models/tiny.yaml", NULL, NULL);
    const Variant y = variant("models/tiny.yaml", NULL, "fuse-attention");
    const Difference d = differ(&x.facts, &y.facts);
    const Change *c = find(&d, FactPass, "fuse-attention");
    assert_non_null(c);
    assert_true(c->a->number > 5 && c->a->number < 7);
    assert_string_equal(c->b->text, "skipped");
    c = find(&d, FactNode, "encoder.{i}.self_attn.weights");
    assert_non_null(c);
    assert_null(c->a);
    assert_string_equal(c->b->text, "softmax .self_attn.scaled_scores");
    assert_int_equal(c->layers.n, 2);
}

/* ---- saved ---- */
static void test_saved(void **state)
{
    (void)state;
    Variant x = variant("models/tiny.yaml", NULL, NULL);
    Facts back = { .arena = a };
    facts_time(&x.facts, "step", 1e-3, 0.5e-3, 2e-3);
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_true(facts_write(&x.facts, f));
    rewind(f);
    assert_true(facts_read(&back, f));
    fclose(f);
    assert_int_equal(back.at.n, x.facts.at.n);
    const Difference d = differ(&x.facts, &back);
    assert_true(d.same);
    assert_int_equal(memcmp(&back.at.at[back.at.n - 1].high,
                            &x.facts.at.at[back.at.n - 1].high, sizeof(double)),
                     0);
}

/* Tests writers that are ended at any byte. */
static void test_cut_short(void **state)
{
    (void)state;
    Facts x = { .arena = a };
    char *text = NULL;
    size_t n = 0;
    node(&x, "one", 3, "norm");
    facts_time(&x, "step", 1, 1, 1);
    FILE *f = open_memstream(&text, &n);
    assert_true(facts_write(&x, f));
    fclose(f);
    for (size_t cut = 1; cut <= n; cut++) {
        Facts back = { .arena = a };
        f = fmemopen(text, cut, "r");
        assert_int_equal(facts_read(&back, f), cut == n);
        fclose(f);
    }
    free(text);
}

static int setup(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_more_moves_no_other),
        cmocka_unit_test(test_another_order_is_no_difference),
        cmocka_unit_test(test_layers_that_are_alike_come_once),
        cmocka_unit_test(test_whole_layers),
        cmocka_unit_test(test_times_are_no_difference),
        cmocka_unit_test(test_the_same_twice),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fusions),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_cut_short),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
