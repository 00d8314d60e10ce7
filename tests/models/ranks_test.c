/* ranks_test.c: tests that a model divided among ranks gives the bits of one
 * process, for any number of ranks: random models, in arenas full of NaN; by
 * the JIT and a C compiler, fused and unfused; at once and step by step; with
 * searches, streams and scores of models that generate; and ranks that have
 * threads. With fix.sum_ranks, sums of floats have the same bits for one number
 * of ranks, and the oracle's within its gates. The ranks are threads of this
 * test.
 *
 *     ranks_test [COUNT [FIRST]]      of the paper's form, and of any */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "oracle/verify.h"
#include "support/backwards.h"
#include "support/form_files.h"
#include "support/random_spec.h"
#include "support/said.h"
#include "support/scratch.h"
#include "support/thread_ranks.h"

static long count = 8, first = 1;
static long divided; /* cases of several ranks */
static long added;   /* products whose sums the ranks added */

enum { Beam = 4 };

typedef struct {
    Arena *arena;
    uint64_t seed;
    Engine e;
    const Sample *sample;
    int64_t chunk;                /* rows of a call; 0: all at once */
    bool spoiled;                 /* the first values are infinite and NaN */
    bool floats;                  /* the ranks add sums of floats */
    const float *sums[MostRanks]; /* then: the first result of these ranks */
    int64_t size;                 /* floats of the result */
    const float *result;          /* of one process */
    float *out[MostRanks];        /* of each rank */
    Said said[MostRanks];
} Case;

static void assert_same(const Case *c, const char *what, int64_t rank,
                        const void *want, const void *got, size_t bytes)
{
    if (!memcmp(want, got, bytes))
        return;
    print_error("seed %llu, %s: rank %lld of %lld has other bits\n",
                (unsigned long long)c->seed, what, (long long)rank,
                (long long)c->e.spec->fix.ranks);
    fail();
}

/* ---- what a rank does ---- */

static void run_rank_once(void *with, const struct attn_comm *comm)
{
    Case *c = with;
    Trial t = { 0 };
    Engine e = c->e;
    struct attn_parallel p = comm->rank % 2 ? backwards
                                            : (struct attn_parallel){ 0 };
    p.comm = comm;
    e.parallel = &p;
    trial_run(&t, &e, c->sample, c->chunk, c->out[comm->rank]);
    trial_free(&t);
}

static void say_as_rank(void *with, const struct attn_comm *comm)
{
    Case *c = with;
    Engine e = c->e;
    Arena *a = arena_new();
    const struct attn_parallel p = { .comm = comm };
    e.parallel = &p;
    c->said[comm->rank] = say_all(a, &e, c->seed, c->chunk);
    arena_free(a);
}

/* ---- comparisons ---- */

static void check_result(Case *c, int64_t chunk)
{
    const int64_t ranks = c->e.spec->fix.ranks;
    c->chunk = chunk;
    for (int64_t r = 0; r < ranks; r++)
        c->out[r] = arena_alloc(c->arena,
                                (size_t)(c->size + 1) * sizeof(float));
    assert_true(run_ranks(ranks, run_rank_once, c) > 0);
    for (int64_t r = 0; r < ranks; r++)
        assert_same(c, chunk ? "by threes" : "at once", r, c->result, c->out[r],
                    (size_t)c->size * sizeof(float));
}

/* Returns the first result of these ranks, after a comparison with the oracle,
 * for a model whose ranks add sums of floats. */
static const float *result_of_sums(Case *c)
{
    Weights w;
    ModelResults results = { 0 };
    const int64_t ranks = c->e.spec->fix.ranks;
    c->chunk = 0;
    for (int64_t r = 0; r < ranks; r++)
        c->out[r] = arena_alloc(c->arena,
                                (size_t)(c->size + 1) * sizeof(float));
    run_ranks(ranks, run_rank_once, c);
    weights_open(&w, &c->e, verify_graph(&c->e));
    for (int64_t i = 0; i < c->sample->sequences; i++)
        verify_result(&results, &w, c->sample, i, c->out[0], NULL);
    assert_true(verify_end(&results, &w).passed);
    weights_close(&w);
    return c->out[0];
}

static void check_answers(Case *c, int64_t beam)
{
    const int64_t ranks = c->e.spec->fix.ranks;
    const Said alone = say_all(c->arena, &c->e, c->seed, beam);
    c->chunk = beam;
    run_ranks(ranks, say_as_rank, c);
    for (int64_t r = 0; r < ranks; r++)
        assert_same(c, "answers", r, &alone, &c->said[r], sizeof alone);
}

static int64_t fewest_heads(const Spec *s)
{
    int64_t heads = MostRanks;
    for (int side = 0; side < 2; side++)
        for (int64_t l = 0; l < s->side[side].N; l++)
            heads = attn_min(heads, spec_layer(s, (Side)side, l)->side[side].h);
    if (s->kind == KindAttention)
        heads = attn_min(heads, s->side[SideEncoder].h);
    return heads;
}

/* Compares a model that is divided among `ranks` with the model of c. */
static void check_ranks(Case *c, EngineOptions o, int64_t ranks)
{
    Case d = { .arena = c->arena,
               .seed = c->seed,
               .sample = c->sample,
               .size = c->size,
               .result = c->result };
    const char *const sets[] = { arena_printf(c->arena, "fix.ranks=%lld",
                                              (long long)ranks),
                                 "fix.sum_ranks=true" };
    o.sets = sets;
    o.nsets = 1 + c->floats;
    assert_int_equal(engine_open(&d.e, &o), ExitDone);
    assert_true(d.e.spec->hash == c->e.spec->hash);
    assert_true(d.e.plan->pack.hash == c->e.plan->pack.hash);
    if (c->floats && !c->sums[ranks - 1])
        c->sums[ranks - 1] = result_of_sums(&d);
    if (c->floats)
        d.result = c->sums[ranks - 1];
    check_result(&d, 0);
    if (d.e.backend.model->decode)
        check_result(&d, 3);
    if (generates(&d.e) && ranks < 4 && !c->floats) {
        check_answers(&d, 1);
        check_answers(&d, Beam);
    }
    for (int i = 0; i < d.e.graph->nodes.n; i++)
        added += adds_terms(d.e.plan, i) && is_product(&d.e.graph->nodes.at[i]);
    engine_close(&d.e);
    divided++;
}

/* ---- cases ---- */

static void check_model(Case *c, const char *path, EngineOptions o)
{
    static const int64_t source[] = { 70, 1, 13, 40 },
                         target[] = { 17, 66, 1, 5 };
    Trial t = { 0 };
    o.spec = path;
    o.seed = c->seed;
    o.part_work = 1;
    assert_int_equal(engine_open(&c->e, &o), ExitDone);
    c->sample = sample_random(c->arena, c->e.spec, c->seed, 4, source, target);
    if (c->spoiled) {
        float *x = (float *)(uintptr_t)c->sample->rows[2];
        x[0] = INFINITY;
        x[c->e.spec->d_model + 60] = NAN;
    }
    c->size = result_rows(c->e.spec, c->sample) * result_columns(c->e.spec);
    float *out = arena_alloc(c->arena, (size_t)(c->size + 1) * sizeof *out);
    trial_run(&t, &c->e, c->sample, 0, out);
    trial_free(&t);
    c->result = out;
    const int64_t heads = fewest_heads(c->e.spec);
    for (int64_t ranks = 2; ranks <= heads; ranks += 1 + (c->seed & 1))
        check_ranks(c, o, ranks);
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
    assert_true(divided > count);
}

/* True if this machine runs code for `march`; NULL: its own. */
static bool runs(const char *march)
{
    Target t;
    Fault why;
    Cpu here;
    cpu_find(&here);
    return !march
        || (target_find(&t, march, 0, NULL, &why) && !target_foreign(&t)
            && !target_lacks(&t, &here));
}

/* Odd widths, fewer key heads than ranks, and of w1 (192 columns) fewer units
 * of 64 than ranks, so that some have no column of it: each integer format by
 * each arithmetic and each way to multiply bytes. The ranks add the sums of o
 * and of w2. */
static void test_sums(void **state)
{
    static const char *const formats[] = { "int8", "int4", "int4g64" },
                             *const arithmetic[] = { "int8", "int15" },
                             *const marches[] = { NULL, "x86-64-v4",
                                                  "x86-64-v3", "x86-64-v2",
                                                  "generic" };
    static const int d_ff[] = { 136, 205, 192, 205 };
    (void)state;
    for (int i = 0; i < 30; i++) {
        const char *march = marches[i / 6];
        const bool none = march && !strcmp(march, "generic");
        if (!runs(march))
            continue;
        Case c = { .seed = 2, .arena = arena_new() }; /* by 2, 3 .. 8 ranks */
        const char *text = arena_printf(
            c.arena,
            "attnc: 1\nname: sums\nkind: decoder\nd_model: 72\nh: 8\n"
            "h_kv: 2\nd_k: 6\nd_v: 7\nd_ff: %d\nN: 1\nmax_len: 80\n"
            "vocab: {size: 30}\nactivation: %s\ndtype: %s\narithmetic: %s\n",
            d_ff[i % 4], i % 5 ? "swiglu" : "gelu", formats[i % 3],
            arithmetic[i / 3 % 2]);
        const long before = added;
        c.seed -= none; /* a compiler is slow: by 2, 4 .. 8 ranks */
        check_model(&c, scratch_file("sums.yaml", text, strlen(text)),
                    (EngineOptions){ .backend = none ? "clang" : "jit",
                                     .level = none ? "0" : NULL,
                                     .march = march });
        assert_int_equal(added - before, (none ? 4 : 7) * 2);
        arena_free(c.arena);
    }
}

/* The ranks add the sums of floats of o and of w2, unless they would cut a
 * panel of bf16 after an odd number of rows. */
static void test_float_sums(void **state)
{
    static const struct {
        const char *dtype, *arithmetic, *activation;
        int d_v, d_ff, sums;
    } forms[] = {
        { "f32", "f32", "gelu", 7, 2311, 2 },
        { "f32", "f32", "swiglu", 6, 136, 2 },
        { "bf16", "f32", "relu", 6, 136, 2 },
        { "bf16", "f32", "gelu", 7, 136, 1 },
        { "bf16", "bf16_dp", "gelu", 6, 2310, 2 },
        { "bf16", "bf16_amx", "gelu", 6, 136, 0 },
        { "bf16", "bf16_amx", "gelu", 32, 2304, 2 },
        { "f32", "bf16x3", "gelu", 6, 136, 0 },
        { "f32", "bf16x3", "gelu", 32, 2304, 2 },
        { "int8", "f32", "gelu", 6, 136, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        Case c = { .seed = 2, .arena = arena_new(), .floats = true };
        const char *text = arena_printf(
            c.arena,
            "attnc: 1\nname: sums\nkind: decoder\nd_model: 72\nh: 8\n"
            "h_kv: 2\nd_k: 6\nd_v: %d\nd_ff: %d\nN: 1\nmax_len: 80\n"
            "vocab: {size: 30}\nactivation: %s\ndtype: %s\narithmetic: %s\n",
            forms[i].d_v, forms[i].d_ff, forms[i].activation, forms[i].dtype,
            forms[i].arithmetic);
        const char *path = scratch_file("floats.yaml", text, strlen(text));
        const long before = added;
        check_model(&c, path, (EngineOptions){ .backend = "jit" });
        assert_int_equal(added - before, 7 * forms[i].sums);
        if (i % 2 == 0)
            check_model(&c, path,
                        (EngineOptions){
                            .backend = "clang", .level = "0", .tile = "3x32" });
        arena_free(c.arena);
    }
}

/* A rank has an infinite number, another NaN: both make the row NaN. */
static void test_not_finite(void **state)
{
    static const char text[] =
        "attnc: 1\nname: spoiled\nkind: attention\nd_model: 72\nh: 8\n"
        "max_len: 80\ndtype: int8\narithmetic: int15\n";
    Case c = { .seed = 2, .arena = arena_new(), .spoiled = true };
    const long before = added;
    (void)state;
    check_model(&c, scratch_file("spoiled.yaml", text, strlen(text)),
                (EngineOptions){ .backend = "jit" });
    assert_int_equal(added - before, 7);
    assert_true(isnan(c.result[0]));
    arena_free(c.arena);
}

/* ---- what is refused ---- */

/* Returns the error of a search with this comm. */
static int64_t search_error(const Engine *e, const struct attn_comm *comm)
{
    const struct attn_parallel p = { .comm = comm };
    struct attn_search_options o = options_of(e, 1);
    o.parallel = &p;
    const int64_t bytes = attn_search_bytes(e->backend.model, &o, 1, 2, 2);
    return bytes > 0 ? 0 : bytes;
}

static void no_gather(void *with, float *y, int64_t ld, int64_t rows,
                      const int64_t *columns)
{
    (void)with, (void)y, (void)ld, (void)rows, (void)columns;
}

static void no_reduce(void *with, int64_t how, void *x, int64_t ld,
                      int64_t rows, int64_t columns)
{
    (void)with, (void)how, (void)x, (void)ld, (void)rows, (void)columns;
}

static void check_states(const Engine *e, const struct attn_comm *comm)
{
    Arena *a = arena_new();
    const struct attn_model *m = e->backend.model;
    const struct attn_parallel p = { .comm = comm };
    struct attn_search_options o = options_of(e, 1);
    struct attn_stream s;
    const int32_t ids[] = { 3, 4 };
    o.parallel = &p;
    const int64_t bytes = attn_stream_bytes(m, &o, 2, 8, 1);
    assert_int_equal(attn_stream_open(&s,
                                      &(struct attn_stream_request){
                                          .model = m,
                                          .bound = e->bound,
                                          .o = &o,
                                          .ids = ids,
                                          .n = 2,
                                          .tokens = 8,
                                          .streams = 1,
                                          .memory = nan_memory(a, bytes),
                                          .bytes = bytes,
                                      }),
                     0);
    assert_int_equal(attn_state_bytes(&s), ATTN_ERROR_RANKS);
    arena_free(a);
}

static void test_refused(void **state)
{
    static const char *const set[] = { "fix.ranks=2" };
    const struct attn_comm two = { 1, 2, NULL, no_gather, no_reduce },
                           three = { 0, 3, NULL, no_gather, no_reduce },
                           beyond = { 2, 2, NULL, no_gather, no_reduce },
                           mute = { .ranks = 2, .gather = no_gather };
    EngineOptions o = { .spec = "models/tiny.yaml",
                        .seed = 1,
                        .backend = "jit" };
    Engine whole, half;
    (void)state;
    assert_int_equal(engine_open(&whole, &o), ExitDone);
    o.sets = set;
    o.nsets = 1;
    assert_int_equal(engine_open(&half, &o), ExitDone);
    assert_int_equal(search_error(&half, NULL), 0);
    assert_int_equal(search_error(&half, &two), 0);
    assert_int_equal(search_error(&half, &three), ATTN_ERROR_RANKS);
    assert_int_equal(search_error(&half, &beyond), ATTN_ERROR_RANKS);
    assert_int_equal(search_error(&half, &mute), ATTN_ERROR_NULL);
    assert_int_equal(search_error(&whole, &two), ATTN_ERROR_RANKS);
    check_states(&half, &two);
    engine_close(&half);
    engine_close(&whole);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_models), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_float_sums),    cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refused),
    };
    if (argc > 1)
        count = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first = strtol(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
