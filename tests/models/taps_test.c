/* taps_test.c: tests compiled code against the tensors between the layers
 * published with a trained decoder: attnc run --tap, one at a time, so that all
 * else is fused, and all at once. Needs the real models next to the
 * repository. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"
#include "support/partials.h"

typedef struct {
    const char *weights, *backend, *skip;
    Safetensors *want;
    int run; /* which of its sequences */
} Lab;

static void open_lab(Lab *lab)
{
    static const char sort[] = "gpt-nano-sort";
    Fault why;
    *lab = (Lab){ .weights = arena_strdup(a, data_file(sort,
                                                       "model.safetensors")) };
    lab->want = safetensors_open(data_file(sort, "partials.safetensors"), &why);
    assert_non_null(lab->want);
}

static void give_ids(const Lab *lab)
{
    Fault why;
    const Tensor *ids = safetensors_find(lab->want, "input_ids");
    const TensorOut t = { .name = "target.ids",
                          .rank = 1,
                          .dim = { SortRows },
                          .is_int = true,
                          .data = ids->at + lab->run * SortRows * 4 };
    assert_true(safetensors_write(in_dir("in"), &t, 1, &why));
}

static void assert_near(const char *what, int64_t i, double got, double want)
{
    if (!(fabs(got - want) <= 2e-5 * (1 + fabs(want))))
        fail_msg("%s[%lld]: %.9g, not %.9g", what, (long long)i, got, want);
}

/* Compares a node's tensor of `out` with the run's part of the recorded one. */
static void check_tensor(const Lab *lab, const Safetensors *out,
                         const Partial *p)
{
    const Tensor *t = safetensors_find(lab->want, p->tensor);
    const Tensor *found = safetensors_find(out, p->node);
    if (!found)
        fail_msg("%s was not written", p->node);
    assert_int_equal(found->elements * SortRuns, t->elements);
    assert_int_equal(found->rank + 1, t->rank);
    for (int i = 0; i < found->rank; i++)
        assert_int_equal(found->dim[i], t->dim[i + 1]);
    for (int64_t i = 0; i < found->elements; i++) {
        float x, y;
        tensor_floats(found, i, 1, &x);
        tensor_floats(t, lab->run * found->elements + i, 1, &y);
        assert_near(p->node, i, (double)x, (double)y);
    }
}

/* Compares the last one, the softmax of the logits. */
static void check_probabilities(const Lab *lab, const Safetensors *out)
{
    const Tensor *probs = safetensors_find(lab->want, "probs");
    for (int row = 0; row < SortRows; row++) {
        float x[3], want[3];
        double sum = 0;
        tensor_floats(safetensors_find(out, "logits"), 3 * row, 3, x);
        tensor_floats(probs, 3 * (lab->run * SortRows + row), 3, want);
        for (int i = 0; i < 3; i++)
            sum += exp((double)x[i]);
        for (int i = 0; i < 3; i++)
            assert_near("probs", 3 * row + i, exp((double)x[i]) / sum,
                        (double)want[i]);
    }
}

/* Runs attnc with taps first .. last-1 and checks what it writes. */
static void check_taps(const Lab *lab, int first, int last)
{
    const char *words[31] = {
        attnc(),      "run",        "models/gpt-nano-sort.yaml",
        "--weights",  lab->weights, "--input",
        in_dir("in"), "--output",   in_dir("out"),
        "--backend",  lab->backend
    };
    Spawned s;
    Fault why;
    int n = 11;
    if (lab->skip)
        words[n++] = lab->skip;
    for (int i = first; i < last; i++)
        words[n++] = arena_printf(a, "--tap=%s", partials[i].node);
    assert_true(n < 31);
    if (run(&s, "", words) != 0)
        fail_msg("%s", s.tail);
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    assert_int_equal(safetensors_count(out), last - first + 1);
    for (int i = first; i < last; i++)
        check_tensor(lab, out, &partials[i]);
    check_tensor(lab, out, &partials[SortLogits]);
    check_probabilities(lab, out);
    safetensors_close(out);
}

static void test_all_at_once(void **state)
{
    (void)state;
    static const char *const backend[] = { "jit", "clang" };
    Lab lab;
    open_lab(&lab);
    for (int way = 0; way < 4; way++)
        for (lab.run = 0; lab.run < SortRuns; lab.run++) {
            lab.backend = backend[way / 2];
            lab.skip = way % 2 ? "--skip=all" : NULL;
            give_ids(&lab);
            check_taps(&lab, 0, SortLogits);
        }
    safetensors_close(lab.want);
}

/* A C compiler needs a second for each. */
static void test_one_by_one(void **state)
{
    (void)state;
    Lab lab;
    open_lab(&lab);
    for (int way = 0; way < (full_depth() ? 2 : 1); way++)
        for (lab.run = 0; lab.run < SortRuns; lab.run++) {
            lab.backend = way ? "clang" : "jit";
            give_ids(&lab);
            check_taps(&lab, 0, 0);
            for (int i = 0; i < SortLogits; i++)
                check_taps(&lab, i, i + 1);
        }
    safetensors_close(lab.want);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all_at_once),
        TEST(test_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
