/* tiling_test.c: whatever the knobs say, the bits are the same. Random valid
 * tilings of all tasks of a model at once, by the JIT and by a compiler, on one
 * thread and in parts; tasks alone; and what becomes of choices.
 *
 * ATTNC_FULL: more of them.                                                 */
#define _GNU_SOURCE               /* mkdtemp */
#include "../compiler/emit.h"
#include "../compiler/trial.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "backwards.h"
#include "form_files.h"
#include "scratch.h"

/* Sums of three blocks of k and of a part of one; panels 1 to 10; attention
 * over five pages, and at the edges of masks; residuals in place.           */
static const char *const specs[] = {
    "attnc: 1\nname: tiled\nkind: encoder-decoder\nd_model: 20\nh: 2\nd_k: 7\n"
    "d_v: 9\nd_ff: 150\nN: {encoder: 1, decoder: 2}\nmax_len: 300\n"
    "vocab: {size: 77, shared: true, tokens: {start: 1, end: 2}}\nactivation: gelu\n",
    "attnc: 1\nname: tiled\nkind: decoder\nd_model: 36\nh: 4\nh_kv: 2\n"
    "d_ff: 210\ndtype: bf16\nN: 2\nmax_len: 300\nvocab: {size: 50, tokens: {start: 1, end: 2}}\n"
    "norm: {type: rms, place: pre}\nactivation: silu\n"
    "masking: [causal, {window: 90}]\npositions: alibi\n",
    "attnc: 1\nname: tiled\nkind: attention\nd_model: 24\nh: 3\nd_k: 5\n"
    "max_len: 300\nattention: {softcap: 20}\n",
    "attnc: 1\nname: tiled\nkind: decoder\nd_model: 136\nh: 2\nd_ff: 272\n"
    "N: 1\nmax_len: 300\nvocab: {size: 33, tokens: {start: 1, end: 2}}\nnorm: {type: layer, place: pre}\n"
    "masking: [causal, prefix]\nactivation: relu\n",
};
enum { Specs = sizeof specs / sizeof *specs };

/* ---- tilings by the number ---- */

static int32_t random_below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((int64_t)(*state >> 33) % n);
}

/* A value of the knob, often a low one; or none. */
static int32_t random_value(uint64_t *state, const Knob *k)
{
    const int64_t values = (k->most - k->least) / k->step + 1;
    const int64_t few = values < 16 ? values : 16;
    if (random_below(state, 5) == 0)
        return 0;
    return k->least + k->step * random_below(state,
        random_below(state, 4) ? few : values);
}

static Tiling random_tiling(uint64_t *state, TaskKind kind)
{
    Tiling t = { 0 };
    for (int i = 0; i < Knobs; i++)
        if (knobs[i].tasks & On(kind))
            knob_set(&t, i, random_value(state, &knobs[i]));
    if (kind == TaskMatmul && random_below(state, 2))
        t.k = 64 + 64 * random_below(state, 2);
    if (kind == TaskSplit && random_below(state, 2))
        t.work = 1;
    assert_true(tiling_valid(&t, kind));
    return t;
}

static bool is_full(void)
{
    return getenv("ATTNC_FULL") != NULL;
}

/* For all tasks of a plan. A compiler takes its time for high tiles, which
 * tile_test has all of.                                                     */
static Choices random_choices(Arena *a, const Plan *p, bool low, uint64_t seed)
{
    uint64_t state = seed;
    Choice *c = arena_alloc(a, (size_t)p->task.n * sizeof *c);
    for (int i = 0; i < p->task.n; i++) {
        c[i].key = p->task.at[i].key;
        c[i].tiling = random_tiling(&state, c[i].key.kind);
        if (low)
            c[i].tiling.mr = (c[i].tiling.mr + 3) / 4;
    }
    return (Choices){ c, p->task.n };
}

/* ---- whole models ---- */

typedef struct {
    const char *path;
    Engine e;                    /* by default */
    const Sample *sample;
    float *want, *got;
    int64_t size;
} Case;

static void open_case(Case *c, const char *path, bool few)
{
    static const int64_t source[] = { 1, 131, 70 }, target[] = { 300, 9, 65 };
    EngineOptions o = { .spec = path, .few = few };
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

static void open_spec(Case *c, int i, bool few)
{
    open_case(c, scratch_file("tiled.yaml", specs[i], strlen(specs[i])), few);
}

static void say_tilings(const Plan *p)
{
    for (int i = 0; i < p->task.n; i++)
        print_error("%s %s %s: %s\n", task_word[p->task.at[i].key.kind],
                    p->task.at[i].key.shape, p->task.at[i].key.ending,
                    tiling_text(p->arena_, &p->task.at[i].tiling));
}

/* The plan has the choices, and the model its default's bits: all rows at once,
 * and in steps of a few.                                                    */
static void check_tiled(Case *c, EngineOptions o, uint64_t seed)
{
    Engine e;
    o.spec = c->path;
    o.choices = random_choices(c->e.arena, c->e.plan, o.backend && !is_full(),
                               seed);
    assert_int_equal(engine_open(&e, &o), ExitDone);
    assert_int_equal(e.plan->task.n, c->e.plan->task.n);
    for (int i = 0; i < e.plan->task.n; i++)
        assert_string_equal(e.plan->task.at[i].from, "tuned");
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
    for (int i = 0; i < Specs; i++)
        for (int few = 0; few < 2; few++) {
            Case c;
            open_spec(&c, i, few);
            for (uint64_t seed = 1; seed <= count; seed++)
                check_tiled(&c, (EngineOptions){ .few = few,
                            .threads = seed % 3 ? 0 : 3 }, seed);
            engine_close(&c.e);
        }
}

/* Masks from files, unfused ops' neighbours, all that a spec may have. */
static void test_any_form(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const uint64_t count = is_full() ? 300 : 20;
    for (uint64_t seed = 1; seed <= count; seed++) {
        Case c;
        open_case(&c, write_form(a, scratch, seed), seed % 2);
        check_tiled(&c, (EngineOptions){ .few = seed % 2 }, seed);
        engine_close(&c.e);
    }
    arena_free(a);
}

/* At every width that the machine has. */
static void test_compiler(void **state)
{
    (void)state;
    static const int width[] = { 16, 8, 4, 1 };
    Fault why;
    Target native;
    const uint64_t count = is_full() ? 40 : 2;
    int cases = 0;
    assert_true(target_find(&native, "native", 0, NULL, &why));
    for (int i = 0; i < Specs; i++) {
        Case c;
        open_spec(&c, i, i % 2);
        for (uint64_t seed = 1; seed <= count; seed++, cases++) {
            EngineOptions o = {
                .few = i % 2, .backend = "clang", .level = "0",
                .width = width[(i + seed) % 4], .threads = seed % 2 ? 0 : 3
            };
            if (o.width > native.width)
                o.width = native.width;
            /* one float at a time, there is no nest for few rows */
            if (o.width > 1 || !o.few)
                check_tiled(&c, o, seed);
        }
        engine_close(&c.e);
    }
    assert_true(cases >= Specs);
}

/* ---- tasks alone ---- */

enum { Rows = 53, Keys = 300, Ld = 16 * 40, Floats = 1 << 19 };

/* Each half of one is a number in bf16. */
static float *random_floats(Arena *a, uint64_t seed)
{
    float *x = aligned_memory(a, Floats * (int64_t)sizeof *x);
    for (int i = 0; i < Floats; i++) {
        uint32_t bits;
        x[i] = (float)random_below(&seed, 2001) / 1000 - 1;
        memcpy(&bits, x + i, sizeof bits);
        bits = (bits >> 16) * 0x10001;
        memcpy(x + i, &bits, sizeof bits);
    }
    return x;
}

typedef struct {                 /* operands of a task, and a result */
    float *in[6];
    float *y, *scratch;
    int32_t page[8];
} Operands;

static void make_operands(Arena *a, Operands *x)
{
    static const int32_t page[] = { 3, 0, 4, 2, 1, 0, 0, 0 };
    for (int i = 0; i < 6; i++)
        x->in[i] = random_floats(a, (uint64_t)i + 1);
    x->y = aligned_memory(a, Floats * (int64_t)sizeof *x->y);
    x->scratch = aligned_memory(a, Floats * (int64_t)sizeof *x->scratch);
    memcpy(x->page, page, sizeof page);
}

typedef void task_function(void *const *at, const int64_t *n);

static void call_task(const TaskShape *s, TaskKind kind, Operands *x, int rows,
                      task_function *run)
{
    const int64_t n16 = (s->n + 15) / 16 * 16;
    void *const product[] = { x->in[0], x->in[1], x->in[2], x->y, x->in[4] };
    const int64_t sizes[] = { rows, 0, n16, Ld, Ld, Ld };
    const int64_t page = 64 * (s->d_k + (s->d_v + 15) / 16 * 16);
    void *const attention[] = { x->in[0], x->in[1], x->in[1] + 64 * s->d_k,
        s->paged ? x->page : NULL, x->in[4] + Keys, x->y, x->scratch };
    const int64_t lengths[] = { Ld, rows, page, page, Keys, Keys - rows, 70,
                                Ld };
    if (kind == TaskAttention)
        run(attention, lengths);
    else
        run(product, sizes);
}

/* The task by the JIT, or by a compiler. */
static void run_task(const Engine *e, const Task *t, bool jit, Operands *x,
                     int rows)
{
    Fault why;
    size_t n;
    void *at, *library = NULL;
    JitCode code;
    Arena *a = arena_new();
    const char *text = emit_task(a, e->plan, t, jit ? EmitJit : EmitAot, &n);
    const CcOptions o = { .compiler = cc_find(a, NULL, &why), .level = "0",
                          .march = e->target.march };
    const TaskShape s = task_shape(e->plan, t);
    memset(x->y, 0, Floats * sizeof *x->y);
    memset(x->scratch, 0xff, Floats * sizeof *x->scratch);
    assert_true(s.scratch <= Floats);
    if (jit) {
        if (!jit_function(&code, &at, text, "attnc_task", &e->target, &why))
            fail_msg("%s\n%s", why.text, text);
    } else {
        const char *path = scratch_path("task.so");
        if (!cc_compile(a, &o, CcShared, text, n, path, &why))
            fail_msg("%s\n%s", why.text, text);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        at = dlsym(library, "attnc_task");
        assert_non_null(at);
    }
    task_function *run;
    memcpy(&run, &at, sizeof run);
    call_task(&s, t->key.kind, x, rows, run);
    if (library)
        dlclose(library);
    else
        jit_unload(&code);
    arena_free(a);
}

/* A task by default and by random tilings: the same bytes. */
static void check_task(const Engine *e, const Task *task, Operands *x,
                       bool jit, uint64_t seed)
{
    const int rows = task->key.kind == TaskFew ? 5 : Rows;
    float *want = arena_alloc(e->arena, Floats * sizeof *want);
    run_task(e, task, true, x, rows);
    memcpy(want, x->y, Floats * sizeof *want);
    Task t = *task;
    const Choice by = { task->key, random_tiling(&seed, task->key.kind) };
    Target target = e->target;
    target.choices = (Choices){ &by, 1 };
    const Plan *p = plan_model(e->arena, e->graph, &target, false);
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, &task->key))
            t = p->task.at[i];
    run_task(e, &t, jit, x, rows);
    if (memcmp(want, x->y, Floats * sizeof *want))
        fail_msg("%s %s %s, %s: other bits", task_word[t.key.kind],
                 t.key.shape, t.key.ending, tiling_text(e->arena, &t.tiling));
}

static void test_tasks_alone(void **state)
{
    (void)state;
    const uint64_t count = is_full() ? 40 : 3;
    int cases = 0;
    for (int i = 0; i < 2; i++) {
        Engine e;
        Operands x;
        EngineOptions o = { .few = true, .spec = scratch_file("tiled.yaml",
                                specs[i], strlen(specs[i])) };
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        make_operands(e.arena, &x);
        for (int t = 0; t < e.plan->task.n; t++) {
            const Task *task = &e.plan->task.at[t];
            size_t n;
            if (task->key.kind > TaskAttention) {
                assert_null(emit_task(e.arena, e.plan, task, EmitJit, &n));
                continue;
            }
            for (uint64_t seed = 1; seed <= count; seed++, cases++)
                check_task(&e, task, &x, seed > 1 || t % 4, seed + t);
        }
        engine_close(&e);
    }
    assert_true(cases > 30);
}

/* ---- knobs, and choices that are not taken ---- */

static void test_knobs(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Tiling t = { .mr = 6, .nr = 64, .ahead = 1 };
    assert_string_equal(tiling_text(a, &t), "mr=6 nr=64 ahead=1");
    assert_string_equal(tiling_text(a, &(Tiling){ 0 }), "");
    assert_true(tiling_valid(&t, TaskMatmul));
    assert_true(tiling_valid(&t, TaskAttention));
    assert_false(tiling_valid(&t, TaskFew));         /* not its knobs */
    for (int i = 0; i < Knobs; i++)
        for (int kind = 0; kind < TaskKinds; kind++) {
            const Knob *k = &knobs[i];
            const bool has = k->tasks & On(kind);
            const int32_t values[] = { k->least, k->most, 0, k->least - 1,
                                       k->most + 1, k->least + k->step };
            for (int v = 0; v < 6; v++) {
                Tiling one = { 0 };
                knob_set(&one, i, values[v]);
                assert_int_equal(knob_get(&one, i), values[v]);
                assert_int_equal(tiling_valid(&one, (TaskKind)kind),
                                 values[v] == 0 || (has && v != 3 && v != 4));
            }
            if (has && k->step > 1) {
                Tiling between = { 0 };
                knob_set(&between, i, k->least + 1);
                assert_false(tiling_valid(&between, (TaskKind)kind));
            }
        }
    arena_free(a);
}

/* The first task of a kind. */
static const Task *first_task(const Plan *p, TaskKind kind)
{
    for (int i = 0; i < p->task.n; i++)
        if (p->task.at[i].key.kind == kind)
            return &p->task.at[i];
    fail_msg("there is no task of kind %s", task_word[kind]);
    return NULL;
}

static Tiling planned(const char *tile, Choice by, const char *from)
{
    Engine e;
    EngineOptions o = { .spec = "models/tiny.yaml", .march = "x86-64-v3",
                        .tile = tile, .choices = { &by, 1 } };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const Task *t = first_task(e.plan, by.key.kind);
    assert_string_equal(t->from, from);
    const Tiling got = t->tiling;
    engine_close(&e);
    return got;
}

/* All of a plan's tilings are settled and valid; what a choice leaves open is
 * as beside it by default; an option wins; what is not valid is passed over. */
static void test_choices(void **state)
{
    (void)state;
    Engine e;
    EngineOptions o = { .spec = "models/tiny.yaml", .march = "x86-64-v3",
                        .few = true };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    for (int i = 0; i < e.plan->task.n; i++) {
        const Task *t = &e.plan->task.at[i];
        assert_true(tiling_valid(&t->tiling, t->key.kind));
        assert_true(tiling_same(&t->tiling, &t->usual));
        assert_string_equal(t->from, "default");
        for (int k = 0; k < Knobs; k++)
            assert_int_equal(knob_get(&t->tiling, k) != 0,
                             (knobs[k].tasks & On(t->key.kind)) != 0);
    }
    Choice by = { first_task(e.plan, TaskMatmul)->key, { .nr = 48 } };
    Tiling t = planned(NULL, by, "tuned");
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=6 nr=48 k=64 ahead=3 panels=3");
    by.tiling = (Tiling){ .nr = 48, .ahead = 1 };
    t = planned("2x32", by, "option");
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=2 nr=32 k=64 ahead=1 panels=2");
    by.tiling = (Tiling){ .mr = 17 };
    t = planned(NULL, by, "default");
    assert_int_equal(t.mr, 6);
    by.key = first_task(e.plan, TaskAttention)->key;
    by.tiling = (Tiling){ .mr = 16, .keys = 192 };
    t = planned(NULL, by, "tuned");
    assert_string_equal(tiling_text(e.arena, &t),
                        "mr=16 nr=16 ahead=2 queries=48 keys=192");
    engine_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knobs),
        cmocka_unit_test(test_choices),
        cmocka_unit_test_setup_teardown(test_jit, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_any_form, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_compiler, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_tasks_alone, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
