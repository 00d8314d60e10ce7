/* check_test.c: tests attnc import --check=PYTHON. Shell scripts stand for
 * Python: one answers as transformers did; others answer wrongly, write
 * garbage, fail, or are killed. The results of transformers for
 * tests/families/bert-reranker are in tests/import/check, written by
 *
 *     python models/import/check.py encoder tests/families/bert-reranker \
 *         '' inputs.safetensors answers.safetensors
 *
 * and the correct script compares its input with the inputs there. `make
 * check-imports` runs the real transformers. */
#define _GNU_SOURCE
#include "backend/backend.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/skip.h"

static const char recorded[] = "tests/import/check";

/* ---- answers ---- */
enum { Answers = 3 };

typedef struct { /* a result of one number, like the reranker's */
    float x[Answers];
    TensorOut t[Answers];
    int n;
} Changed;

static Changed recorded_answers(void)
{
    static const char *const names[] = { "0", "1", "2" };
    Changed c = { .n = Answers };
    Fault why;
    Safetensors *s = safetensors_open(arena_printf(a, "%s/answers.safetensors",
                                                   recorded),
                                      &why);
    assert_non_null(s);
    for (int i = 0; i < Answers; i++) {
        const Tensor *t = safetensors_find(s, names[i]);
        assert_non_null(t);
        tensor_floats(t, 0, 1, &c.x[i]);
        c.t[i] = (TensorOut){ .name = names[i], .rank = 2, .dim = { 1, 1 } };
    }
    safetensors_close(s);
    return c;
}

/* Writes a script that answers with this file. */
static const char *answering(Changed *c)
{
    Fault why;
    const char *path = in_dir("changed.safetensors");
    for (int i = 0; i < c->n; i++)
        c->t[i].data = &c->x[i];
    assert_true(safetensors_write(path, c->t, c->n, &why));
    return script("python", arena_printf(a,
                                         "cp %s \"$6\" && "
                                         "echo transformers 5.0, torch 2.0: It",
                                         path));
}

/* ---- import ---- */

/* Runs the check; the output is in *s, and TMPDIR must be empty afterwards.
 * Returns the exit code. */
static int checked(Spawned *s, const char *folder, const char *python,
                   const char *option)
{
    const char *temp = in_dir("tmp");
    assert_true(mkdir(temp, 0700) == 0 || errno == EEXIST);
    const int code = RUN(s, "", "/usr/bin/env",
                         arena_printf(a, "TMPDIR=%s", temp), "OF_USER=kept",
                         attnc(), "import",
                         arena_printf(a, "tests/families/%s", folder), "-o",
                         in_dir("m.yaml"), "--quiet",
                         arena_printf(a, "--check=%s", python), option);
    assert_int_equal(files(temp), 0);
    return code;
}

static void assert_says(const char *folder, const char *python, int code,
                        const char *message)
{
    Spawned s;
    const int found = checked(&s, folder, python, NULL);
    const char *want = arena_printf(a, "attnc: error: %s\n", message);
    if (strcmp(s.tail, want))
        fail_msg("says: %s, not: %s", s.tail, want);
    assert_int_equal(found, code);
}

/* Returns the end of the output. */
static const char *printed(const Spawned *s)
{
    static const char agrees[] = "\nthe compiled code computes what the "
                                 "imported spec says\n";
    const char *at = strstr(s->out, agrees);
    assert_non_null(at);
    return at + strlen(agrees);
}

/* Writes the correct script, which runs `more` first. */
static const char *right(const char *more)
{
    return script("python",
                  arena_printf(a,
                               "[ \"$OF_USER\" = kept ] && [ -s \"$1\" ] && "
                               "[ \"$2\" = encoder ] && [ -d \"$3\" ] && "
                               "cmp %s/inputs.safetensors \"$5\" && "
                               "cp %s/answers.safetensors \"$6\" && %s\n"
                               "echo transformers 5.23.0, torch 2.15.0: Bert",
                               recorded, recorded, more));
}

static void test_right(void **state)
{
    (void)state;
    Spawned s;
    const char *python = right("[ -z \"$4\" ]");
    assert_int_equal(checked(&s, "bert-reranker", python, NULL), 0);
    assert_string_equal(s.tail, "");
    double by[3];
    assert_int_equal(sscanf(printed(&s),
                            "transformers 5.23.0, torch 2.15.0: Bert\n"
                            "  1 id           largest difference %*g, %lf of "
                            "the scale\n"
                            "  7 ids          largest difference %*g, %lf of "
                            "the scale\n"
                            "  16 ids         largest difference %*g, %lf of "
                            "the scale\n",
                            &by[0], &by[1], &by[2]),
                     3);
    for (int i = 0; i < 3; i++)
        assert_true(by[i] <= 1e-5);
    assert_non_null(strstr(s.out, "the same within 1e-4 of the scale, "));
}

/* Tests a Python given by name, which is searched in PATH. */
static void test_by_name(void **state)
{
    (void)state;
    Spawned s;
    right("true");
    setenv("PATH", arena_printf(a, "%s:%s", dir, usual_path), 1);
    assert_int_equal(checked(&s, "bert-reranker", "python", NULL), 0);
    setenv("PATH", usual_path, 1);
}

/* Tests the comparison of only compiler and oracle, which read the same spec.
 */
static void assert_alone(const Spawned *s)
{
    static const char end[] = "\nthe compiled code computes what the imported "
                              "spec says; --check=PYTHON compares that with "
                              "transformers\n";
    const char *at = strstr(s->out, end);
    assert_non_null(at);
    assert_string_equal(at, end);
    assert_null(strstr(s->out, "verified"));
}

/* Tests the option without a Python: the next word is a folder. */
static void test_alone(void **state)
{
    (void)state;
    Spawned s;
    const char *folder = "tests/families/bert-reranker";
    const char *spec = in_dir("m.yaml");
    assert_int_equal(RUN(&s, "", attnc(), "import", "--check", folder, "-o",
                         spec, "--quiet"),
                     0);
    assert_alone(&s);
    assert_int_equal(RUN(&s, "", attnc(), "import", folder, "--check",
                         "python3", "-o", spec),
                     ExitUsage);
    assert_int_equal(RUN(&s, "", attnc(), "import", folder, "--check=", "-o",
                         spec, "--quiet"),
                     0);
    assert_alone(&s);
}

/* Tests that the mean of a checkpoint and itself is that checkpoint. */
static void test_merged(void **state)
{
    (void)state;
    Spawned s;
    const char *folder = "tests/families/bert-reranker";
    const char *python = right(arena_printf(a,
                                            "[ \"$4\" = %s ] && [ -s \"$4\" ]",
                                            in_dir("m.safetensors")));
    assert_int_equal(RUN(&s, "", "/usr/bin/env", "OF_USER=kept", attnc(),
                         "import", folder, folder, "--average", "--quiet", "-o",
                         in_dir("m.yaml"),
                         arena_printf(a, "--check=%s", python)),
                     0);
    assert_non_null(strstr(s.out, "  (it reads the merged weights: their "
                                  "merging is not compared)\n"));
}

/* ---- a model type without rules ---- */

/* Makes a folder of bert-reranker with another model type, and removes the
 * spec. */
static const char *other_type(void)
{
    Spawned s;
    const char *to = in_dir("other");
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c",
                         arena_printf(a,
                                      "rm -rf %s; mkdir %s && cp "
                                      "tests/families/bert-reranker/* %s && "
                                      "sed -i 's/\"bert\"/\"tree\"/; "
                                      "s/BertFor/TreeFor/' %s/config.json && "
                                      "rm -f %s",
                                      to, to, to, to, in_dir("m.yaml"))),
                     0);
    return to;
}

static int import_as(Spawned *s, const char *option)
{
    return RUN(s, "", "/usr/bin/env", "OF_USER=kept", attnc(), "import",
               other_type(), "-o", in_dir("m.yaml"), "--quiet", "--as=bert",
               option);
}

static void test_as(void **state)
{
    (void)state;
    Spawned s;
    const char *check = arena_printf(a, "--check=%s", right("true"));
    assert_int_equal(import_as(&s, check), 0);
    assert_string_equal(s.tail, "");
    assert_non_null(strstr(s.out, "the same within 1e-4 of the scale, "));
    assert_int_equal(access(in_dir("m.yaml"), F_OK), 0);
    assert_int_equal(import_as(&s, "--unchecked"), 0);
    assert_string_equal(s.tail,
                        "attnc: warning: nothing was compared with "
                        "transformers: the position of the first token, the "
                        "places of norms may differ from what the rules of "
                        "bert say\n");
    assert_string_equal(s.out, "");
    assert_int_equal(access(in_dir("m.yaml"), F_OK), 0);
}

static void test_as_unknown(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(RUN(&s, "", attnc(), "import", other_type(), "-o",
                         in_dir("m.yaml"), "--as=gpt2", "--unchecked"),
                     ExitUsage);
    assert_string_equal(s.tail,
                        "attnc: error: --as=gpt2: only these families may "
                        "stand for another model type: bert, llama, mistral, "
                        "mixtral, qwen2, qwen3\n");
}

/* A spec that computes something else is not written. */
static void test_as_wrong(void **state)
{
    (void)state;
    Spawned s;
    Changed c = recorded_answers();
    c.x[1] *= 1.5F;
    const char *check = arena_printf(a, "--check=%s", answering(&c));
    assert_int_equal(import_as(&s, check), ExitNegative);
    assert_non_null(strstr(s.tail, "from what transformers computes: the rules "
                                   "of bert do not fit it\n"));
    assert_int_equal(access(in_dir("m.yaml"), F_OK), -1);
}

/* ---- differences ---- */
static void assert_differs(int at, double factor)
{
    Changed c = recorded_answers();
    const double d = fabs((double)c.x[at] * (factor - 1));
    double scale = 0;
    c.x[at] = (float)((double)c.x[at] * factor);
    for (int i = 0; i < Answers; i++)
        scale = fmax(scale, fabs((double)c.x[i]));
    assert_says("bert-reranker", answering(&c), ExitNegative,
                arena_printf(a,
                             "input %d differs by %.2g of the scale, more than "
                             "1e-4, from what transformers computes: the rules "
                             "of its family are wrong here, please report it "
                             "with config.json",
                             at + 1, d / scale));
}

static void test_wrong(void **state)
{
    (void)state;
    assert_differs(1, 1.5);
    assert_differs(0, -1);
    assert_differs(2, 1.0005);
    assert_differs(1, (double)NAN);
}

static void test_not_finite(void **state)
{
    (void)state;
    Changed c = recorded_answers();
    c.x[0] = INFINITY;
    Spawned s;
    assert_int_equal(checked(&s, "bert-reranker", answering(&c), NULL),
                     ExitNegative);
    assert_non_null(strstr(s.tail, "error: input 1 differs by "));
}

static void test_wrong_shape(void **state)
{
    (void)state;
    static const char head[] = "it has another head than the checkpoint's "
                               "class";
    Changed c = recorded_answers();
    assert_says("bert", answering(&c), ExitNegative,
                arena_printf(a,
                             "input 1: transformers computes [1, 1], the spec "
                             "[1, 15]: %s",
                             head));
    c.t[2].rank = 3;
    c.t[2].dim[2] = 1;
    assert_says("bert-reranker", answering(&c), ExitNegative,
                arena_printf(a,
                             "input 3: transformers computes [1, 1, 1], the "
                             "spec [1, 1]: %s",
                             head));
}

/* transformers chooses a table of longrope by the length of the input. */
static void test_longrope(void **state)
{
    (void)state;
    Changed c = recorded_answers();
    Spawned s;
    assert_int_equal(checked(&s, "phi3-longrope", answering(&c), NULL),
                     ExitNegative);
    assert_non_null(strstr(s.out,
                           "  (inputs of at most 8 ids are computed with "
                           "max_len=8, so that both use "
                           "short_factor)\n"));
}

/* ---- rubbish ---- */
#define PYTHON in_dir("python")

static void test_lacking(void **state)
{
    (void)state;
    Changed c = recorded_answers();
    c.n = 2;
    assert_says("bert-reranker", answering(&c), ExitBackend,
                arena_printf(a, "%s wrote no answer in f32 to input 3",
                             PYTHON));
    c = recorded_answers();
    c.t[0].is_int = true;
    assert_says("bert-reranker", answering(&c), ExitBackend,
                arena_printf(a, "%s wrote no answer in f32 to input 1",
                             PYTHON));
}

/* Checks the beginning of a message that ends with the name of a removed file.
 */
static void assert_begins(const char *python, const char *message)
{
    Spawned s;
    const char *want = arena_printf(a, "attnc: error: %s%s", python, message);
    assert_int_equal(checked(&s, "bert-reranker", python, NULL), ExitBackend);
    if (strncmp(s.tail, want, strlen(want)))
        fail_msg("says: %s, not: %s", s.tail, want);
    assert_ptr_equal(strchr(s.tail, '\n'), s.tail + strlen(s.tail) - 1);
}

static void test_rubbish(void **state)
{
    (void)state;
    static const char says[] = "echo transformers 5.0";
    static const char *const bodies[] = {
        "",
        "echo rubbish > \"$6\"",
        ": > \"$6\"",
        "mkdir \"$6\"",
        "head -c 186 tests/import/check/answers.safetensors > \"$6\"",
        "head -c 7 tests/import/check/answers.safetensors > \"$6\"",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_begins(script("python",
                             arena_printf(a, "%s\n%s", bodies[i], says)),
                      " wrote no answers: ");
}

static void test_no_python(void **state)
{
    (void)state;
    static const char form[] = "%s says '%s' where the version of transformers "
                               "is expected: is it a Python?";
    assert_says("bert-reranker", script("python", "exit 0"), ExitBackend,
                arena_printf(a, form, PYTHON, ""));
    assert_says("bert-reranker",
                script("python", "printf 'a\\nb\\033c\\377\\n\\n'"),
                ExitBackend, arena_printf(a, form, PYTHON, "b\\x1bc\\xff"));
}

/* ---- failing ---- */
static void test_failing(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
    } fails[] = {
        { "echo a >&2; echo b: c >&2; exit 1",
          "failed with exit code 1: b: c" },
        { "printf 'x\\033\\n\\n' >&2; exit 3",
          "failed with exit code 3: x\\x1b" },
        { "printf 'bar\\rlast' >&2; exit 2", "failed with exit code 2: last" },
        { "exit 7", "failed with exit code 7" },
        { "kill -9 $$", "was killed by signal 9 (Killed); the weights in f32 "
                        "take 18,540 bytes there" },
    };
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++)
        assert_says("bert-reranker", script("python", fails[i].body),
                    ExitBackend,
                    arena_printf(a, "%s %s", PYTHON, fails[i].says));
}

/* Nothing is imported after that. */
static void assert_refused(const char *folder, const char *python, int code,
                           const char *message)
{
    assert_says(folder, python, code, message);
    assert_int_equal(access(in_dir("m.yaml"), F_OK), -1);
}

static void test_missing(void **state)
{
    (void)state;
    static const char form[] = "--check=%s: there is no such program; name a "
                               "Python that has transformers, as "
                               "--check=python3";
    const char *none = in_dir("none");
    assert_refused("bert-reranker", none, ExitBackend,
                   arena_printf(a, form, none));
    assert_refused("bert-reranker", "no-such-python", ExitBackend,
                   arena_printf(a, form, "no-such-python"));
    assert_refused("gguf/llama-q8_0.gguf", "python3", ExitUsage,
                   "--check=PYTHON is for the folder of a checkpoint, which "
                   "transformers reads; a file of llama.cpp has --check "
                   "alone");
}

/* Tests the script in a Python without packages: it names those that are
 * missing and how to install them. */
static void test_no_packages(void **state)
{
    (void)state;
    Spawned s;
    const char *python = find_program(a, "python3");
    if (!python)
        SKIP("there is no python3");
    const char *bare = script("python",
                              arena_printf(a, "exec %s -S -E \"$@\"", python));
    assert_int_equal(checked(&s, "bert-reranker", bare, NULL), ExitBackend);
    const char *says = arena_printf(a,
                                    "attnc: error: %s failed with exit code 1: "
                                    "No module named 'torch': ",
                                    bare);
    if (strncmp(s.tail, says, strlen(says))
        || !strstr(s.tail, " -m pip install torch transformers\n"))
        fail_msg("says: %s", s.tail);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_right),       TEST(test_alone),       TEST(test_by_name),
        TEST(test_merged),      TEST(test_wrong),       TEST(test_not_finite),
        TEST(test_as),          TEST(test_as_wrong),    TEST(test_as_unknown),
        TEST(test_wrong_shape), TEST(test_longrope),    TEST(test_lacking),
        TEST(test_rubbish),     TEST(test_no_python),   TEST(test_failing),
        TEST(test_missing),     TEST(test_no_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
