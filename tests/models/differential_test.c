/* differential_test.c: runs random specs through the oracle, the JIT and C
 * compilers, fused and unfused, in memory full of NaN. Results that must be
 * near the oracle are held to the gates; results that must be bit-identical are
 * compared as bits.
 *
 *     differential_test [COUNT [FIRST]]
 *
 * COUNT specs of the paper's form, and as many of any form. Without it,
 * ATTNC_SPECS is COUNT, with half as many again of any form; with ATTNC_FULL
 * all of them, by all compilers. The processors share the specs. If the test is
 * built with AddressSanitizer, so is the emitted C. */
/* limit: 900 s */
#define _GNU_SOURCE /* mkdtemp */
#include "oracle/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/backwards.h"
#include "support/form_files.h"
#include "support/native_width.h"
#include "support/sanitized.h"
#include "support/scratch.h"

static long count = 10, first = 1, forms;
static bool full;

typedef struct {
    uint64_t seed;
    bool form; /* of random_form */
    const char *path;
    Arena *arena;
    const Sample *sample; /* several sequences, lengths 1 to max_len */
    const float *result;  /* results of the JIT, fused, which the others must
                             equal */
    int64_t size;         /* floats of it */
} Case;

/* ---- helpers ---- */

static const char *text_of(const Case *c)
{
    return c->form ? random_form(c->arena, c->seed).r.text
                   : random_spec(c->arena, c->seed);
}

static void write_spec(Case *c)
{
    const char *text = text_of(c);
    c->path = c->form ? write_form(c->arena, scratch, c->seed)
                      : scratch_file("paper.yaml", text, strlen(text));
}

static void open_engine(Engine *e, const Case *c, EngineOptions o)
{
    o.spec = c->path;
    o.seed = c->seed;
    o.small_m ^= c->seed % 2;
    assert_int_equal(engine_open(e, &o), ExitDone);
}

static float *floats(Arena *a, int64_t n)
{
    return arena_alloc(a, (size_t)n * sizeof(float));
}

static void assert_same_bits(const Case *c, const char *what, const float *want,
                             const float *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(want + i, got + i, sizeof *got)) {
            print_error("seed %llu, %s: bits differ at %lld: %.9g, %.9g\n%s",
                        (unsigned long long)c->seed, what, (long long)i,
                        (double)want[i], (double)got[i], text_of(c));
            fail();
        }
}

static void make_sample(Case *c, const Engine *e)
{
    static const int64_t source[] = { 1, 13, 1000, 2, 65 },
                         target[] = { 17, 1, 64, 1000, 3 };
    c->sample = sample_random(c->arena, e->spec, c->seed, 5, source, target);
    c->size = result_rows(e->spec, c->sample) * result_columns(e->spec);
}

/* ---- with gates ---- */

static void assert_ops(const Case *c, const OpResults *r, const char *name)
{
    bool passed = true;
    for (int op = 0; op < OpCount; op++) {
        const OpResult *o = &r->op[op];
        if (o->c.count == 0 || o->c.failed == 0)
            continue;
        print_error("seed %llu, %s: %s at %s[%lld]: oracle %.9g, compiled "
                    "%.9g, %.3g of the gate\n",
                    (unsigned long long)c->seed, name, op_info[op].name,
                    o->worst, (long long)o->c.worst, o->c.want, o->c.got,
                    o->c.ratio);
        passed = false;
    }
    if (!passed) {
        print_error("%s", text_of(c));
        fail();
    }
}

/* Checks every value of every sequence, with all values kept. */
static void check_ops(Case *c, const Variant *v)
{
    Engine e;
    Weights w;
    Trial t = { 0 };
    OpResults r = { 0 };
    EngineOptions o = variant_options(&(EngineOptions){ .keep_all = true }, v);
    open_engine(&e, c, o);
    weights_open(&w, &e, e.graph);
    float *out = floats(e.arena, c->size);
    trial_run(&t, &e, c->sample, 0, out);
    for (int64_t i = 0; i < c->sample->sequences; i++)
        verify_ops(&r, &w, &t, i, out);
    assert_ops(c, &r, v->name);
    trial_free(&t);
    weights_close(&w);
    engine_close(&e);
}

static void check_result(const Case *c, const Engine *e, const float *out,
                         const char *name)
{
    Weights w;
    Engine keeps;
    Trial kept = { 0 };
    ModelResults results = { 0 };
    const bool chooses = verify_chooses(e->graph);
    if (chooses) {
        EngineOptions o = e->options;
        o.keep_all = true;
        assert_int_equal(engine_open(&keeps, &o), ExitDone);
        trial_run(&kept, &keeps, c->sample, 0, floats(c->arena, c->size));
    }
    weights_open(&w, e, verify_graph(e));
    for (int64_t i = 0; i < c->sample->sequences; i++)
        verify_result(&results, &w, c->sample, i, out, chooses ? &kept : NULL);
    const ModelComparison worst = verify_end(&results, &w);
    weights_close(&w);
    trial_free(&kept);
    if (chooses)
        engine_close(&keeps);
    if (worst.passed)
        return;
    print_error("seed %llu, %s: error %.3g deviations, NMSE %.3g, KL %.3g at "
                "%lld: oracle %.9g, compiled %.9g\n%s",
                (unsigned long long)c->seed, name, worst.max_error, worst.nmse,
                worst.divergence, (long long)worst.worst, worst.want, worst.got,
                text_of(c));
    fail();
}

/* ---- the same bits ---- */

/* Feeds rows through the cache one by one and in threes. */
static void check_steps(const Case *c, const Engine *e)
{
    static const int64_t chunks[] = { 1, 3 };
    for (int i = 0; e->backend.model->decode && i < 2; i++) {
        Trial t = { 0 };
        float *out = floats(c->arena, c->size);
        trial_run(&t, e, c->sample, chunks[i], out);
        assert_same_bits(c, "steps against one pass", c->result, out, c->size);
        trial_free(&t);
    }
}

/* Each sequence alone. */
static void check_alone(const Case *c, const Engine *e)
{
    int64_t cols = result_columns(e->spec);
    for (int64_t i = 0; i < c->sample->sequences; i++) {
        Trial t = { 0 };
        const Sample *one = sample_one(c->arena, e->spec, c->sample, i);
        int64_t from = result_first(e->spec, c->sample, i) * cols;
        int64_t size = result_rows(e->spec, one) * cols;
        float *out = floats(c->arena, size);
        trial_run(&t, e, one, 0, out);
        assert_same_bits(c, "alone against in a batch", c->result + from, out,
                         size);
        trial_free(&t);
    }
}

/* Checks that another token at row i changes no earlier row, unless there is a
 * prefix. */
static void check_causal(const Case *c, const Engine *e)
{
    Sample x = *c->sample;
    int64_t rows = x.start[1][x.sequences], cols = result_columns(e->spec);
    if (!e->backend.model->decode || !x.ids[1]
        || e->spec->side[SideDecoder].mask.prefix)
        return;
    int32_t *ids = arena_alloc(c->arena, (size_t)rows * sizeof *ids);
    memcpy(ids, x.ids[1], (size_t)rows * sizeof *ids);
    x.ids[1] = ids;
    for (int64_t s = 0; s < x.sequences; s++) {
        int32_t at = (x.start[1][s] + x.start[1][s + 1]) / 2;
        ids[at] = (int32_t)((ids[at] + 1) % e->spec->target.size);
    }
    Trial t = { 0 };
    float *out = floats(c->arena, c->size);
    trial_run(&t, e, &x, 0, out);
    if (e->spec->d_model > 4) /* two columns, normalised, are always +-1 */
        assert_memory_not_equal(c->result, out, (size_t)c->size * sizeof *out);
    for (int64_t s = 0; s < x.sequences; s++) {
        int32_t begin = x.start[1][s], at = (begin + x.start[1][s + 1]) / 2;
        assert_same_bits(c, "rows before a changed token",
                         c->result + begin * cols, out + begin * cols,
                         (at - begin) * cols);
    }
    trial_free(&t);
}

/* Checks another compiler, width and tile for the same bits. */
static void check_compiler(const Case *c, const EngineOptions *o,
                           const char *name)
{
    Engine e;
    Trial t = { 0 };
    float *out = floats(c->arena, c->size);
    open_engine(&e, c, *o);
    if (o->part_work)
        e.parallel = &backwards;
    trial_run(&t, &e, c->sample, 0, out);
    if (o->passes.nskip)
        check_result(c, &e, out, name);
    else
        assert_same_bits(c, name, c->result, out, c->size);
    trial_free(&t);
    engine_close(&e);
}

static char compiler[128]; /* Runs a program compiled by clang with
                              sanitizers. */

static void write_compiler(void)
{
    Arena *a = arena_new();
    Fault why;
    const char *clang = cc_find(a, NULL, &why);
    assert_non_null(clang);
    const char *text = arena_printf(
        a,
        "#!/bin/sh\nexec %s -g "
        "-fsanitize=address,undefined -fno-sanitize-recover=all \"$@\"\n",
        clang);
    snprintf(compiler, sizeof compiler, "%s/sanitizing-clang", scratch);
    assert_true(write_file(compiler, text, strlen(text), &why));
    assert_int_equal(chmod(compiler, 0700), 0);
    arena_free(a);
}

/* True for every n-th spec of the paper's form, and every 2n-th of any form. */
static bool now_and_then(const Case *c, uint64_t n)
{
    return full || c->seed % (c->form ? 2 * n : n) == 0;
}

/* Compiles small tiles without optimisation and with every step in parts, and
 * sometimes the real tiles with optimisation. Exactly one of this code and the
 * JIT's has loop nests for a small M. */
static void check_compilers(const Case *c)
{
    static const struct {
        int width;
        const char *tile;
    } small[] = {
        { 1, "2x16" },
        { 4, "3x16" },
        { 8, "2x32" },
        { 16, "5x16" },
    };
    int k = (int)(c->seed % 4);
    while (small[k].width > native_width())
        k--;
    bool gcc = c->seed % 3 == 0 && find_program(c->arena, "gcc");
    EngineOptions o = { .backend = gcc ? "gcc" : "clang",
                        .level = "0",
                        .width = small[k].width,
                        .tile = small[k].tile,
                        .small_m = true,
                        .part_work = 1 };
    check_compiler(c, &o, o.backend);
    static const char *const all[] = { "all" };
    EngineOptions unfused = o;
    unfused.passes.skip = all;
    unfused.passes.nskip = 1;
    if (now_and_then(c, 1))
        check_compiler(c, &unfused, "unfused");
    EngineOptions real = { .backend = "clang", .level = "2" };
    if (now_and_then(c, 5))
        check_compiler(c, &real, "clang -O2");
    EngineOptions sanitized = o;
    sanitized.backend = compiler;
    if (SANITIZED)
        check_compiler(c, &sanitized, "sanitized");
}

/* ---- constant lengths ---- */

/* Returns --set of some lengths of `fix`, chosen by the seed. */
static const char *fixed_lengths(const Case *c, const Spec *s)
{
    const int64_t most[2] = { s->side[0].max_len, s->side[1].max_len };
    const bool free = s->kind == KindAttention;
    const int64_t learned = spec_input_learned(s), k = (int64_t)c->seed;
    const int64_t rows = most[1] == 0 ? 0
                       : free         ? 1 + k * 5 % most[1] % 70
                       : k % 3 == 0   ? 1 + k % most[1] % 20
                                      : 1;
    Buffer set = { .arena = c->arena };
    buffer_printf(&set, "fix.unroll=%s", k % 5 ? "false" : "true");
    if (most[0] > learned)
        buffer_printf(&set, ",fix.%s=%lld", free ? "query" : "source",
                      (long long)(learned + 1
                                  + k * 7 % (most[0] - learned) % 70));
    if (most[1] > 0)
        buffer_printf(&set, ",fix.%s=%lld", free ? "key" : "target",
                      (long long)rows);
    if (most[1] > 0 && !free && k % 4 == 0)
        buffer_printf(&set, ",fix.past=0");
    else if (most[1] > rows && !free && k % 4 == 1)
        buffer_printf(&set, ",fix.past=%lld",
                      (long long)(1 + k % (most[1] - rows) % 130));
    if (k % 8 && s->kind != KindEncoder && !free)
        buffer_printf(&set, ",search.beam=1");
    if (k % 8)
        buffer_printf(&set, ",fix.batch=%lld", (long long)(1 + k % 3));
    if (k % 2)
        buffer_printf(&set, ",fix.threads=1");
    return set.at;
}

/* Checks that code with constant lengths gives the bits of code for any. */
static void check_fixed(const Case *c, const Engine *e, EngineOptions o,
                        const char *name)
{
    static const int64_t source[] = { 13, 2, 30 }, target[] = { 9, 40, 3 };
    const char *set = fixed_lengths(c, e->spec);
    Engine f;
    Trial want = { 0 }, got = { 0 };
    o.sets = &set;
    o.nsets = 1;
    open_engine(&f, c, o);
    assert_true(f.spec->hash == e->spec->hash || f.spec->search_beam == 1);
    const Sample *x = sample_random(c->arena, f.spec, c->seed, 3, source,
                                    target);
    const int64_t size = result_rows(e->spec, x) * result_columns(e->spec);
    float *any = floats(c->arena, size), *fixed = floats(c->arena, size);
    trial_run(&want, e, x, f.spec->fix.target > 0 ? f.spec->fix.target : 0,
              any);
    trial_run(&got, &f, x, 0, fixed);
    assert_same_bits(c, arena_printf(c->arena, "%s, %s", name, set), any, fixed,
                     size);
    trial_free(&want);
    trial_free(&got);
    engine_close(&f);
}

static void check_all_fixed(const Case *c, const Engine *e)
{
    const EngineOptions small = { .backend = "clang",
                                  .level = "0",
                                  .width = c->seed % 2 && native_width() > 8
                                             ? 16
                                             : 8 };
    const EngineOptions real = { .backend = "clang", .level = "2" };
    check_fixed(c, e, (EngineOptions){ .backend = "jit" }, "fixed, jit");
    check_fixed(c, e, small, "fixed, clang");
    if (now_and_then(c, 5))
        check_fixed(c, e, real, "fixed, clang -O2");
}

/* ---- a case ---- */

static void run_case(uint64_t seed, bool form)
{
    static const Variant jit[] = {
        { "jit", "jit", false },
        { "jit, unfused", "jit", true },
    };
    Case c = { .seed = seed, .form = form, .arena = arena_new() };
    Engine e;
    Trial t = { 0 };
    write_spec(&c);
    open_engine(&e, &c, (EngineOptions){ .backend = "jit" });
    make_sample(&c, &e);
    float *out = floats(c.arena, c.size);
    trial_run(&t, &e, c.sample, 0, out);
    c.result = out;
    check_ops(&c, &jit[0]);
    check_ops(&c, &jit[1]);
    check_result(&c, &e, out, "jit");
    check_steps(&c, &e);
    check_alone(&c, &e);
    check_causal(&c, &e);
    check_compilers(&c);
    check_all_fixed(&c, &e);
    trial_free(&t);
    engine_close(&e);
    arena_free(c.arena);
}

/* Runs every `of`-th spec from number `from`, in its own folder. */
static void run_share(long from, long of)
{
    if (SANITIZED)
        write_compiler();
    for (long i = from; i < count; i += of)
        run_case((uint64_t)(first + i), false);
    for (long i = from; i < forms; i += of)
        run_case((uint64_t)(first + i), true);
}

static void test_random_specs(void **state)
{
    (void)state;
    assert_true(count > 0);
    by_processors(run_share);
    print_message("%ld random specs of the paper's form, %ld of any\n", count,
                  forms);
}

int main(int argc, char **argv)
{
    full = getenv("ATTNC_FULL");
    if (full)
        count = 200;
    else if (getenv("ATTNC_SPECS"))
        count = strtol(getenv("ATTNC_SPECS"), NULL, 10);
    forms = count + count / 2;
    if (argc > 1)
        forms = count = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first = strtol(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_specs, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
