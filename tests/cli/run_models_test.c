/* run_models_test.c: tests attnc run --input on a model of every kind against
 * PyTorch: ids, types, rows of numbers and a prefix go in by name, results and
 * taps come out by name. Also tests a full-size model that pools. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static const char folder[] = "tests/torch";

/* Names in the golden files, and in the graph. */
static const struct {
    const char *golden, *input;
} inputs[] = {
    { "source", "source.ids" },  { "target", "target.ids" },
    { "types", "source.types" }, { "rows", "source.values" },
    { "prefix", "prefix" },
};

static void give_inputs(const Safetensors *io)
{
    TensorOut out[5];
    Fault why;
    int n = 0;
    for (int i = 0; i < 5; i++) {
        const Tensor *t = safetensors_find(io, inputs[i].golden);
        if (t)
            out[n++] = (TensorOut){ .name = inputs[i].input,
                                    .rank = t->rank,
                                    .dim = { t->dim[0],
                                             t->rank > 1 ? t->dim[1] : 0 },
                                    .data = t->at,
                                    .is_int = t->type == StI32 };
    }
    assert_true(n > 0);
    assert_true(safetensors_write(in_dir("in"), out, n, &why));
}

static void assert_tensors(const Tensor *got, const Tensor *want)
{
    assert_int_equal(got->rank, want->rank);
    for (int i = 0; i < got->rank; i++)
        assert_int_equal(got->dim[i], want->dim[i]);
    for (int64_t i = 0; i < got->elements; i++) {
        float x, y;
        tensor_floats(got, i, 1, &x);
        tensor_floats(want, i, 1, &y);
        if (!(fabsf(x - y) <= 1e-5f * (1 + fabsf(y))))
            fail_msg("%s[%lld]: %.9g, not %.9g", got->name, (long long)i,
                     (double)x, (double)y);
    }
}

/* Writes every known tensor by name; `more`: an option or NULL. */
static void check_model(const char *name, const Safetensors *io,
                        const char *more)
{
    const char *words[31] = {
        attnc(),      "run",        arena_printf(a, "%s/%s.yaml", folder, name),
        "--input",    in_dir("in"), "--output",
        in_dir("out")
    };
    Spawned s;
    Fault why;
    int n = 7, wanted = 0;
    for (int i = 0; i < safetensors_count(io); i++) {
        const Tensor *t = safetensors_at(io, i);
        if (!strncmp(t->name, "out.", 4)) {
            words[n++] = arena_printf(a, "--tap=%s", t->name + 4);
            wanted++;
        }
    }
    words[n++] = more;
    assert_true(wanted > 0);
    if (run(&s, "", words) != 0)
        fail_msg("%s: %s", name, s.tail);
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    for (int i = 0; i < safetensors_count(io); i++) {
        const Tensor *t = safetensors_at(io, i);
        const Tensor *got = strncmp(t->name, "out.", 4)
                              ? NULL
                              : safetensors_find(out, t->name + 4);
        if (got)
            assert_tensors(got, t);
        wanted -= got != NULL;
    }
    assert_int_equal(wanted, 0);
    safetensors_close(out);
}

static void test_golden(void **state)
{
    (void)state;
    static const char *const more[] = { NULL, "--skip=all" };
    int models = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        const char *end = strstr(e->d_name, ".io.safetensors");
        Fault why;
        if (!end)
            continue;
        const char *name = arena_strndup(a, e->d_name,
                                         (size_t)(end - e->d_name));
        Safetensors *io = safetensors_open(arena_printf(a, "%s/%s", folder,
                                                        e->d_name),
                                           &why);
        assert_non_null(io);
        give_inputs(io);
        for (int i = 0; i < 2; i++)
            check_model(name, io, more[i]);
        safetensors_close(io);
        models++;
    }
    closedir(d);
    assert_true(models > 20);
}

/* ---- of full size ---- */

/* Returns the row that a model of two layers computes from ids and types. */
static void sentence(const int32_t *ids, const int32_t *types, int64_t n,
                     float row[384])
{
    TensorOut t[] = {
        { .name = "source.ids",
          .rank = 1,
          .dim = { n },
          .data = ids,
          .is_int = true },
        { .name = "source.types",
          .rank = 1,
          .dim = { n },
          .data = types,
          .is_int = true },
    };
    Spawned s;
    Fault why;
    assert_true(safetensors_write(in_dir("in"), t, types ? 2 : 1, &why));
    if (RUN(&s, "", attnc(), "run", "models/minilm.yaml", "--set", "N=2",
            "--input", in_dir("in"), "--output", in_dir("out"))
        != 0)
        fail_msg("%s", s.tail);
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    assert_int_equal(safetensors_count(out), 1);
    const Tensor *got = safetensors_find(out, "output");
    assert_non_null(got);
    assert_true(got->rank == 2 && got->dim[0] == 1 && got->dim[1] == 384);
    tensor_floats(got, 0, 384, row);
    safetensors_close(out);
}

static void test_sentences(void **state)
{
    (void)state;
    static const int32_t ids[] = { 101, 2023, 2003, 30521, 0, 1037, 102 },
                         none[7] = { 0 }, types[] = { 0, 0, 0, 0, 1, 1, 1 };
    float x[384], y[384];
    double sum = 0;
    sentence(ids, NULL, 7, x);
    for (int i = 0; i < 384; i++)
        sum += (double)x[i] * (double)x[i];
    assert_true(fabs(sum - 1) < 1e-6);
    sentence(ids, none, 7, y);
    assert_memory_equal(x, y, sizeof x);
    sentence(ids, types, 7, y);
    assert_memory_not_equal(x, y, sizeof x);
    sentence(ids, NULL, 6, y);
    assert_memory_not_equal(x, y, sizeof x);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_golden),
        TEST(test_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
