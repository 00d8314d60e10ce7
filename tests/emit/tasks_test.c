/* tasks_test.c: tests that a task alone, as `attnc tune` runs it, gives the
 * same bytes by the JIT and by a compiler, with any tiling; a product's bytes
 * are those of the sum in order. ATTNC_FULL: more tilings. */
#define _GNU_SOURCE /* mkdtemp */
#include "emit/emit.h"
#include "oracle/trial.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/random_tiling.h"
#include "support/scratch.h"

enum { Rows = 53, Keys = 300, Ld = 16 * 40, Floats = 1 << 19 };

/* Returns random floats; each half of their bits is a number in bf16. */
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

typedef struct { /* operands of a task, and a result */
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
    void *const attention[] = { x->in[0],
                                x->in[1],
                                x->in[1] + 64 * s->d_k,
                                s->paged ? x->page : NULL,
                                x->in[4] + Keys,
                                x->y,
                                x->scratch };
    const int64_t lengths[] = {
        Ld, rows, page, page, Keys, Keys - rows, 70, Ld
    };
    if (kind == TaskAttention)
        run(attention, lengths);
    else
        run(product, sizes);
}

/* Runs the task by the JIT, or by a compiler. */
static void run_task(const Engine *e, const Task *t, bool jit, Operands *x,
                     int rows)
{
    Fault why;
    size_t n;
    void *at, *library = NULL;
    JitCode code;
    Arena *a = arena_new();
    const char *text = emit_task(a, e->plan, t, jit ? EmitJit : EmitAot, &n);
    const CcOptions o = { .compiler = cc_find(a, NULL, &why),
                          .level = "0",
                          .march = e->target.march,
                          .features = e->target.features };
    const TaskShape s = task_shape(e->plan, t);
    memset(x->y, 0, Floats * sizeof *x->y);
    memset(x->scratch, 0xff, Floats * sizeof *x->scratch);
    assert_true(s.scratch <= Floats);
    if (jit) {
        if (!jit_function(&code, &at, text, "attnc_task", &e->target, &why))
            fail_msg("%s\n%s", why.text, text);
    } else {
        const char *path = scratch_path("task.so");
        if (!cc_compile(a, &o, CcShared, (CText){ text, n }, path, &why))
            fail_msg("%s\n%s", why.text, text);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        at = dlsym(library, "attnc_task");
        assert_non_null(at);
    }
    task_function *run;
    memcpy(&run, &at, sizeof run);
    call_task(&s, t->key.kind, x, rows, run);
    for (int64_t i = s.scratch; i < Floats; i++) /* NaN still: none more */
        assert_true(isnan(x->scratch[i]));
    if (library)
        dlclose(library);
    else
        jit_unload(&code);
    arena_free(a);
}

/* Checks the sum in order, for tasks in f32 without an activation. */
static void check_sums(const Engine *e, const Task *t, const Operands *x,
                       int rows)
{
    const TaskShape s = task_shape(e->plan, t);
    if (t->key.kind == TaskAttention || t->key.dtype != DtypeF32
        || strstr(t->key.epilogue, "gelu"))
        return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < s.n; j++) {
            float y = 0;
            for (int64_t k = 0; k < s.k; k++)
                y = fmaf(x->in[0][i * Ld + k],
                         x->in[1][j / 16 * 16 * s.k + k * 16 + j % 16], y);
            if (s.bias)
                y += x->in[2][j];
            if (s.residual)
                y += x->in[4][i * Ld + j];
            if (e->target.fma && memcmp(&y, x->y + i * Ld + j, sizeof y))
                fail_msg("%s %s: %g, not %g", t->key.shape, t->key.epilogue,
                         (double)x->y[i * Ld + j], (double)y);
        }
}

/* Tests that a task's bytes are the same with default and random tilings. */
static void check_task(const Engine *e, const Task *task, Operands *x, bool jit,
                       uint64_t seed)
{
    const int rows = task->key.kind == TaskSmallM ? 5 : Rows;
    float *want = arena_alloc(e->arena, Floats * sizeof *want);
    run_task(e, task, true, x, rows);
    check_sums(e, task, x, rows);
    memcpy(want, x->y, Floats * sizeof *want);
    Task t = *task;
    const Choice by = { task->key, random_tiling(&seed, task->key.kind) };
    const Plan *p = plan_model(e->arena, e->graph, &e->target,
                               (Choices){ .at = &by, .n = 1 }, false);
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, &task->key))
            t = p->task.at[i];
    run_task(e, &t, jit, x, rows);
    if (memcmp(want, x->y, Floats * sizeof *want))
        fail_msg("%s %s %s, %s: other bits", task_word[t.key.kind], t.key.shape,
                 t.key.epilogue, tiling_text(e->arena, &t.tiling));
}

static void test_tasks_alone(void **state)
{
    (void)state;
    const uint64_t count = is_full() ? 40 : 3;
    int cases = 0;
    for (int i = 0; i < 2; i++) {
        Engine e;
        Operands x;
        EngineOptions o = { .small_m = true,
                            .spec = scratch_file("tiled.yaml", tiled_specs[i],
                                                 strlen(tiled_specs[i])) };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks_alone, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
