/* tiling_test.c: tests that tilings never change the bits: random valid tilings
 * of all tasks of a model at once, by the JIT and by a compiler, on one thread
 * and in parts; and how a plan uses tilings. ATTNC_FULL: more of them. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/backwards.h"
#include "support/form_files.h"
#include "support/random_tiling.h"
#include "support/scratch.h"

/* Sets a tiling for all tasks of a plan. With `low`, without tall tiles, which
 * compile slowly and which tile_test covers; each product then has its sums in
 * blocks for every second seed. */
static Choices random_choices(Arena *a, const Plan *p, bool low, uint64_t seed)
{
    uint64_t state = seed;
    Choice *c = arena_alloc(a, (size_t)p->task.n * sizeof *c);
    for (int i = 0; i < p->task.n; i++) {
        c[i].key = p->task.at[i].key;
        c[i].tiling = random_tiling(&state, c[i].key.kind);
        if (low)
            c[i].tiling.mr = (c[i].tiling.mr + 3) / 4;
        if (low && c[i].key.kind == TaskMatmul && (seed + (uint64_t)i) % 2)
            c[i].tiling.k = 64;
    }
    return (Choices){ .at = c, .n = p->task.n };
}

/* ---- whole models ---- */

typedef struct {
    const char *path;
    Engine e; /* by default */
    const Sample *sample;
    float *want, *got;
    int64_t size;
} Case;

static void open_case(Case *c, const char *path, bool small_m)
{
    static const int64_t source[] = { 1, 131, 70 }, target[] = { 300, 9, 65 };
    EngineOptions o = { .spec = path, .small_m = small_m };
    *c = (Case){ .path = path };
    assert_int_equal(engine_open(&c->e, &o), ExitDone);
    c->sample = sample_random(c->e.arena, c->e.spec, 5, 3, source, target);
    c->size = result_rows(c->e.spec, c->sample) * result_columns(c->e.spec);
    c->want = arena_alloc(c->e.arena, (size_t)c->size * sizeof *c->want);
    c->got = arena_alloc(c->e.arena, (size_t)c->size * sizeof *c->got);
    Trial t = { 0 };
    trial_run(&t, &c->e, c->sample, 0, c->want);
    trial_free(&t);
}

static void open_spec(Case *c, int i, bool small_m)
{
    open_case(c,
              scratch_file("tiled.yaml", tiled_specs[i],
                           strlen(tiled_specs[i])),
              small_m);
}

static void say_tilings(const Plan *p)
{
    for (int i = 0; i < p->task.n; i++)
        print_error("%s %s %s: %s\n", task_word[p->task.at[i].key.kind],
                    p->task.at[i].key.shape, p->task.at[i].key.epilogue,
                    tiling_text(p->arena_, &p->task.at[i].tiling));
}

/* Checks that the plan has the choices, and that the model has the bits of its
 * default, for all rows at once and in steps of a few. */
static void check_tiled(Case *c, EngineOptions o, uint64_t seed)
{
    Engine e;
    o.spec = c->path;
    o.choices = random_choices(c->e.arena, c->e.plan, o.backend && !is_full(),
                               seed);
    assert_int_equal(engine_open(&e, &o), ExitDone);
    if (o.width != 1) /* which has no loop nests for a small M */
        assert_int_equal(e.plan->task.n, c->e.plan->task.n);
    for (int i = 0; i < e.plan->task.n; i++)
        assert_int_equal(e.plan->task.at[i].from, FromTuned);
    if (seed % 2 && !o.threads)
        e.parallel = &backwards;
    for (int64_t chunk = 0; chunk < (e.backend.model->decode ? 6 : 1);
         chunk += 5) {
        Trial t = { 0 };
        trial_run(&t, &e, c->sample, chunk, c->got);
        trial_free(&t);
        if (memcmp(c->want, c->got, (size_t)c->size * sizeof *c->got)) {
            say_tilings(e.plan);
            fail_msg("%s: tilings of seed %llu, steps of %lld: other bits\n%s",
                     o.backend ? o.backend : "jit", (unsigned long long)seed,
                     (long long)chunk, c->path);
        }
    }
    engine_close(&e);
}

static void test_jit(void **state)
{
    (void)state;
    const uint64_t count = is_full() ? 400 : 12;
    for (int i = 0; i < TiledSpecs; i++)
        for (int m = 0; m < 2; m++) {
            Case c;
            open_spec(&c, i, m);
            for (uint64_t seed = 1; seed <= count; seed++)
                check_tiled(&c,
                            (EngineOptions){ .small_m = m,
                                             .threads = seed % 3 ? 0 : 3 },
                            seed);
            engine_close(&c.e);
        }
}

/* Tests masks from files, unfused ops, and other forms of specs. */
static void test_any_form(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const uint64_t count = is_full() ? 300 : 20;
    for (uint64_t seed = 1; seed <= count; seed++) {
        Case c;
        open_case(&c, write_form(a, scratch, seed), seed % 2);
        check_tiled(&c, (EngineOptions){ .small_m = seed % 2 }, seed);
        engine_close(&c.e);
    }
    arena_free(a);
}

/* Tests every width of the machine. */
static void test_compiler(void **state)
{
    (void)state;
    static const int width[] = { 16, 8, 4, 1 };
    Fault why;
    Target native;
    const uint64_t count = is_full() ? 40 : 2;
    int cases = 0;
    assert_true(target_find(&native, "native", 0, NULL, &why));
    for (int i = 0; i < TiledSpecs; i++) {
        Case c;
        open_spec(&c, i, i % 2);
        for (uint64_t seed = 1; seed <= count; seed++, cases++) {
            EngineOptions o = {
                .small_m = i % 2,
                .backend = "clang",
                .level = "0",
                .width = width[(i + seed) % 4],
                .threads = seed % 2 ? 0 : 3,
            };
            if (o.width > native.width)
                o.width = native.width;
            check_tiled(&c, o, seed);
        }
        engine_close(&c.e);
    }
    assert_true(cases >= TiledSpecs);
}

/* ---- parameters, and choices that are not taken ---- */

static void test_knobs(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Tiling t = { .mr = 6, .nr = 64, .prefetch = 1 };
    assert_string_equal(tiling_text(a, &t), "mr=6 nr=64 prefetch=1");
    assert_string_equal(tiling_text(a, &(Tiling){ 0 }), "");
    assert_true(tiling_valid(&t, TaskMatmul));
    assert_true(tiling_valid(&t, TaskAttention));
    assert_false(tiling_valid(&t, TaskSmallM)); /* not its parameters */
    for (int i = 0; i < TilingParameters; i++)
        for (int kind = 0; kind < TaskKinds; kind++) {
            const TilingParameter *k = &tiling_parameters[i];
            const bool has = k->tasks & On(kind);
            const int32_t values[] = { k->least,    k->most,
                                       0,           k->least - 1,
                                       k->most + 1, k->least + k->step };
            for (int v = 0; v < 6; v++) {
                Tiling one = { 0 };
                tiling_set(&one, i, values[v]);
                assert_int_equal(tiling_get(&one, i), values[v]);
                assert_int_equal(tiling_valid(&one, (TaskKind)kind),
                                 values[v] == 0 || (has && v != 3 && v != 4));
            }
            if (has && k->step > 1) {
                Tiling between = { 0 };
                tiling_set(&between, i, k->least + 1);
                assert_false(tiling_valid(&between, (TaskKind)kind));
            }
        }
    arena_free(a);
}

/* Returns the first task of a kind. */
static const Task *first_task(const Plan *p, TaskKind kind)
{
    for (int i = 0; i < p->task.n; i++)
        if (p->task.at[i].key.kind == kind)
            return &p->task.at[i];
    fail_msg("there is no task of kind %s", task_word[kind]);
    return NULL;
}

static Tiling planned(const char *tile, Choice by, TilingFrom from)
{
    Engine e;
    EngineOptions o = { .spec = "models/tiny.yaml",
                        .march = "x86-64-v3",
                        .tile = tile,
                        .choices = { .at = &by, .n = 1 } };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const Task *t = first_task(e.plan, by.key.kind);
    assert_int_equal(t->from, from);
    const Tiling got = t->tiling;
    engine_close(&e);
    return got;
}

/* Tests that all tilings of a plan are complete and valid: parameters missing
 * from a choice get their defaults, options override it, and invalid choices
 * are ignored. */
static void test_choices(void **state)
{
    (void)state;
    Engine e;
    EngineOptions o = { .spec = "models/tiny.yaml",
                        .march = "x86-64-v3",
                        .small_m = true };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    for (int i = 0; i < e.plan->task.n; i++) {
        const Task *t = &e.plan->task.at[i];
        assert_true(tiling_valid(&t->tiling, t->key.kind));
        assert_true(tiling_same(&t->tiling, &t->defaults));
        assert_int_equal(t->from, FromDefault);
        for (int k = 0; k < TilingParameters; k++)
            assert_int_equal(tiling_get(&t->tiling, k) != 0,
                             (tiling_parameters[k].tasks & On(t->key.kind))
                                 != 0);
    }
    Choice by = { first_task(e.plan, TaskMatmul)->key, { .nr = 48 } };
    Tiling t = planned(NULL, by, FromTuned);
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=6 nr=48 k=64 prefetch=17 panels=3");
    by.tiling = (Tiling){ .nr = 48, .prefetch = 1 };
    t = planned("2x32", by, FromOption);
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=2 nr=32 k=64 prefetch=1 panels=2");
    by.tiling = (Tiling){ .mr = 17 };
    t = planned(NULL, by, FromDefault);
    assert_int_equal(t.mr, 6);
    by.key = first_task(e.plan, TaskAttention)->key;
    by.tiling = (Tiling){ .mr = 16, .keys = 192 };
    t = planned(NULL, by, FromTuned);
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=16 nr=16 prefetch=17 queries=48 keys=192");
    engine_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knobs),
        cmocka_unit_test(test_choices),
        cmocka_unit_test_setup_teardown(test_jit, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_any_form, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_compiler, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
