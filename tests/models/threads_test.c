/* threads_test.c: tests that any number of threads, in any order of parts,
 * gives the same bits: random models in which every divisible step is divided,
 * however small, in arenas full of NaN; by the JIT and a C compiler, fused and
 * unfused; at once and step by step; with searches, streams and scores of
 * models that generate.
 *
 *     threads_test [COUNT [FIRST]]      of the paper's form, and of any */
#define _GNU_SOURCE /* mkdtemp */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "oracle/trial.h"
#include "support/backwards.h"
#include "support/form_files.h"
#include "support/random_spec.h"
#include "support/said.h"
#include "support/scratch.h"

static long count = 8, first = 1;

enum { Pools = 2 };
static const int64_t threads[Pools] = { 2, 5 };
static struct attn_pool *pool[Pools];

typedef struct {
    Arena *arena;
    uint64_t seed;
    Engine e;
    const Sample *sample;
    int64_t size;        /* floats of the result */
    const float *result; /* on one thread */
} Case;

/* Calls check once for each caller that there may be. */
static void with_each(Case *c, void (*check)(Case *c))
{
    c->e.parallel = &backwards;
    check(c);
    for (int i = 0; i < Pools; i++) {
        c->e.parallel = attn_pool_parallel(pool[i]);
        check(c);
    }
    c->e.parallel = NULL;
}

static void assert_same(const Case *c, const char *what, const void *want,
                        const void *got, size_t bytes)
{
    const struct attn_parallel *p = c->e.parallel;
    if (!memcmp(want, got, bytes))
        return;
    print_error("seed %llu, %s: other bits by %lld parts%s\n",
                (unsigned long long)c->seed, what, (long long)attn_parts(p),
                p == &backwards ? ", the last first" : "");
    fail();
}

/* ---- encode, decode ---- */

static float *result_of(Case *c, int64_t chunk)
{
    Trial t = { 0 };
    float *out = arena_alloc(c->arena, (size_t)(c->size + 1) * sizeof *out);
    trial_run(&t, &c->e, c->sample, chunk, out);
    trial_free(&t);
    return out;
}

static void check_result(Case *c)
{
    const size_t bytes = (size_t)c->size * sizeof(float);
    assert_same(c, "at once", c->result, result_of(c, 0), bytes);
    if (c->e.backend.model->decode)
        assert_same(c, "by threes", c->result, result_of(c, 3), bytes);
}

/* ---- searches, streams, scores ---- */

static void check_answers(Case *c)
{
    for (int64_t beam = 1; beam <= Beams; beam += Beams - 1) {
        const struct attn_parallel *p = c->e.parallel;
        c->e.parallel = NULL;
        const Said alone = say_all(c->arena, &c->e, c->seed, beam);
        c->e.parallel = p;
        const Said said = say_all(c->arena, &c->e, c->seed, beam);
        assert_same(c, "answers", &alone, &said, sizeof said);
    }
}

/* ---- cases ---- */

static void check_model(Case *c, const char *path, EngineOptions o)
{
    static const int64_t source[] = { 70, 1, 13, 40 },
                         target[] = { 17, 66, 1, 5 };
    o.spec = path;
    o.seed = c->seed;
    o.part_work = 1;
    assert_int_equal(engine_open(&c->e, &o), ExitDone);
    c->sample = sample_random(c->arena, c->e.spec, c->seed, 4, source, target);
    c->size = result_rows(c->e.spec, c->sample) * result_columns(c->e.spec);
    c->result = result_of(c, 0);
    with_each(c, check_result);
    if (generates(&c->e))
        with_each(c, check_answers);
    engine_close(&c->e);
}

static void run_case(uint64_t seed, bool form)
{
    static const char *const all[] = { "all" };
    Case c = { .seed = seed, .arena = arena_new() };
    const char *text = random_spec(c.arena, seed);
    const char *path = form ? write_form(c.arena, scratch, seed)
                            : scratch_file("spec.yaml", text, strlen(text));
    check_model(&c, path, (EngineOptions){ .backend = "jit" });
    check_model(&c, path,
                (EngineOptions){ .backend = "jit",
                                 .passes = { .skip = all, .nskip = 1 } });
    if (seed % 4 == 0)
        check_model(&c, path,
                    (EngineOptions){
                        .backend = "clang", .level = "0", .tile = "3x32" });
    arena_free(c.arena);
}

static void test_random_models(void **state)
{
    (void)state;
    assert_true(count > 0);
    for (long i = 0; i < count; i++) {
        run_case((uint64_t)(first + i), false);
        run_case((uint64_t)(first + i), true);
    }
    printf("%lld proposals taken\n", (long long)said_taken);
    assert_true(said_taken > 0 || count < 4);
}

/* Tests the default thresholds: threads divide many rows, or the columns of
 * few, block by block. */
static void test_a_model_as_it_is(void **state)
{
    static const int64_t rows[] = { 300, 1, 48 };
    (void)state;
    static const char *const sets[] = {
        "d_model=128", "h=4", "d_k=32", "d_ff=1024", "N=2", "vocab.size=2000"
    };
    Case c = { .seed = 7, .arena = arena_new() };
    EngineOptions o = { .spec = "models/transformer-base.yaml",
                        .seed = 7,
                        .sets = sets,
                        .nsets = 6,
                        .backend = "jit" };
    assert_int_equal(engine_open(&c.e, &o), ExitDone);
    c.sample = sample_random(c.arena, c.e.spec, 7, 3, rows, rows);
    c.size = result_rows(c.e.spec, c.sample) * result_columns(c.e.spec);
    c.result = result_of(&c, 0);
    with_each(&c, check_result);
    with_each(&c, check_answers);
    engine_close(&c.e);
    arena_free(c.arena);
}

static int open_pools(void **state)
{
    for (int i = 0; i < Pools; i++)
        pool[i] = attn_pool_open(threads[i]);
    return scratch_make(state);
}

static int close_pools(void **state)
{
    for (int i = 0; i < Pools; i++)
        attn_pool_close(pool[i]);
    return scratch_remove(state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_models),
        cmocka_unit_test(test_a_model_as_it_is),
    };
    if (argc > 1)
        count = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first = strtol(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, open_pools, close_pools);
}
