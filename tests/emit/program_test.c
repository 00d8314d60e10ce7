/* program_test.c: tests the program of an emitted file under ATTNC_MAIN: its
 * answers, rejected input, messages and exit codes, for every kind of model. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

/* Makes m, the program of a spec. */
static void build(const char *spec, const char *more)
{
    emit(spec, "--march=native", more);
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
}

/* Runs a line of shell; $M and $W are the program and its weights. */
static int sh(Spawned *s, const char *input, const char *line)
{
    return RUN(s, input, "/bin/sh", "-c",
               arena_printf(a, "M=%s W=%s; %s", in_dir("m"),
                            in_dir("m.weights"), line));
}

/* Checks a message. It begins with the program's path unless stdin is at fault.
 */
static void assert_says(const Spawned *s, const char *expected)
{
    const char *text = s->tail;
    const size_t n = strlen(in_dir("m: "));
    if (!strncmp(text, in_dir("m: "), n))
        text += n;
    if (!strstr(text, expected))
        fail_msg("'%s' is not in: %s", expected, text);
}

/* ---- lines ---- */

static void test_answers(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(sh(&s, "attention\nhello\n", "$M $W"), 0);
    assert_string_equal(s.out, "AH T EH N SH AH N\nHH EH L OW\n");
    assert_string_equal(s.tail, "");
    assert_int_equal(sh(&s, "", "$M $W"), 0);
    assert_string_equal(s.out, "");
    assert_int_equal(sh(&s, "\nhello", "$M $W"), 0); /* no newline */
    assert_string_equal(s.out, "\nHH EH L OW\n");
    assert_int_equal(sh(&s, "\xef\xbb\xbfhello\n", "$M $W"), 0);
    assert_string_equal(s.out, "HH EH L OW\n"); /* a byte order mark */
    assert_int_equal(sh(&s, "", "yes hello | head -n 100 | $M $W | sort -u"),
                     0);
    assert_string_equal(s.out, "HH EH L OW\n");
    assert_int_equal(sh(&s, "", "$M"), 2);
    assert_says(&s, "usage: ");
    assert_int_equal(sh(&s, "", "$M $W more -x"), 2);
    assert_int_equal(sh(&s, "", "$M $W --prompt ''"), 3);
    assert_says(&s, "the prompt is empty");
    assert_int_equal(sh(&s, "", "$M $W --prompt he7lo"), 3);
    assert_says(&s, "--prompt: byte 3: the vocabulary has no '7' and names "
                    "no unknown token");
    assert_string_equal(s.out, "");
    assert_int_equal(sh(&s, "", "$M $W --prompt \"$(printf 'he\\377')\""), 3);
    assert_says(&s, "--prompt: byte 3: this is not UTF-8");
    assert_int_equal(sh(&s, "",
                        "$M $W --prompt $(yes a | head -n 64 | "
                        "tr -d '\n')"),
                     3);
    assert_says(&s, "the prompt has 65 tokens, the model takes 64");
}

/* Tests that rejected lines name position and remedy, and all others are
 * answered. */
static void test_bad_lines(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(sh(&s, "hello\nhe7llo\nh\xff\n\nhello\n", "$M $W"), 3);
    assert_string_equal(s.out, "HH EH L OW\n\n\n\nHH EH L OW\n");
    assert_string_equal(
        s.tail,
        "<stdin>:2: error: byte 3: the vocabulary has no '7' and names no "
        "unknown token\n"
        "<stdin>:3: error: byte 2: this is not UTF-8\n");
    assert_int_equal(sh(&s, "", "printf 'he\\0lo\\nhello\\n' | $M $W"), 3);
    assert_string_equal(s.out, "\nHH EH L OW\n");
    assert_says(&s, "<stdin>:1: error: byte 3: the vocabulary has no '\\x00'");
    assert_int_equal(sh(&s, "",
                        "{ yes a | head -n 64 | tr -d '\\n'; echo; "
                        "echo hello; } | $M $W"),
                     3);
    assert_string_equal(s.out, "\nHH EH L OW\n");
    assert_string_equal(s.tail,
                        "<stdin>:1: error: the line has 65 tokens, the model "
                        "takes 64 (max_len); --max-input=N cuts it\n");
    assert_int_equal(sh(&s, "",
                        "{ head -c 3000000 /dev/zero | tr '\\0' a; "
                        "echo; echo hello; } | $M $W"),
                     3);
    assert_says(&s, "<stdin>:1: error: the line has 3000000 bytes, at most "
                    "1048576 are read");
    assert_string_equal(s.out, "\nHH EH L OW\n");
}

static void test_exit_codes(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(sh(&s, "hello\n", "$M $W > /dev/full"), 4);
    assert_says(&s, "cannot write to stdout: No space left on device");
    assert_int_equal(sh(&s, "hello\n", "$M $W >&-"), 4);
    assert_says(&s, "cannot write to stdout: Bad file descriptor");
    assert_int_equal(sh(&s, "", "$M $W < /"), 4);
    assert_says(&s, "cannot read stdin: Is a directory");
    assert_int_equal(sh(&s, "", "$M $W --ids=1"), 2);
    assert_says(&s, "--ids takes no value");
    assert_int_equal(sh(&s, "",
                        "mkfifo $M.pipe; P=\"$M $W --quiet --prompt hello "
                        "--save-state\"; $P $M.state && $P /dev/null && "
                        "{ cmp $M.pipe $M.state & } && $P $M.pipe && "
                        "wait $! && [ -p $M.pipe ] && [ -c /dev/null ]"),
                     0);
    assert_int_equal(sh(&s, "", "$M /"), 4);
    assert_says(&s, "/: is a folder, not a file");
    assert_int_equal(sh(&s, "", "$M /nowhere"), 4);
    assert_says(&s, "/nowhere: cannot open: No such file or directory");
    assert_int_equal(sh(&s, "hello\n", "ulimit -v 9000; $M $W"), 5);
    assert_says(&s, "memory");
    assert_int_equal(sh(&s, "", "(yes | tr y a; true) | $M $W | head -n 1"),
                     0); /* its reader closes the pipe, so it ends */
}

/* ---- models of other kinds ---- */

/* Tests weights without projections: plain attention, which needs no file. */
static void test_attention(void **state)
{
    (void)state;
    Spawned s;
    static const char spec[] =
        "attnc: 1\nname: block\nkind: attention\n"
        "d_model: 2\nh: 1\nmax_len: {query: 3, key: 4}\n"
        "projections: {q: false, k: false, v: false, o: false}\n";
    Fault why;
    assert_true(write_file(in_dir("b.yaml"), spec, strlen(spec), &why));
    build(in_dir("b.yaml"), "-O2");
    assert_int_equal(sh(&s, "0 0\n1 0\n\n5 5\n5 5\n\n1 2\n3 4e0\n", "$M"), 0);
    assert_string_equal(s.out, "2 3\n2 3\n\n");
    assert_int_equal(sh(&s, "\n0 0\n\n1 x\n\n1 2\n\n0 0\n\n1 1\n\n7 8\n", "$M"),
                     3);
    assert_string_equal(s.out, "\n7 8\n\n");
    assert_string_equal(s.tail,
                        "<stdin>:4: error: byte 3: a number is expected\n");
    assert_int_equal(sh(&s, "0 0 0\n\n1 1\n\n1 2\n\n0 0\n\n1 1\n\n7 8\n", "$M"),
                     3);
    assert_string_equal(s.out, "\n7 8\n\n");
    assert_int_equal(sh(&s, "0 0\n\n1 1\n1 1\n\n7 8\n", "$M"), 3);
    assert_says(&s, "as many values as keys are expected: 2 keys, 1 values");
    assert_int_equal(sh(&s, "0 0\n\n1 1\n", "$M"), 3);
    assert_says(&s, "the input ends here");
    assert_int_equal(sh(&s, "0 0 0\n\n1 1\n\n1 1\n", "$M"), 3);
    assert_says(&s, "<stdin>:1: error: a row has 2 numbers, this line has 3");
    assert_int_equal(sh(&s, "0 0\n0 0\n0 0\n0 0\n\n1 1\n\n1 1\n", "$M"), 3);
    assert_says(&s,
                "<stdin>:5: error: the block has 4 rows, the model takes 3");
}

/* Opens the model of a spec by the JIT; writes its seeded weights to m.weights.
 */
static void open_seeded(Engine *e, const char *spec, const char *kind)
{
    Fault why;
    const char *sets[] = { kind };
    EngineOptions o = { .spec = spec, .sets = sets, .nsets = 1, .seed = 1 };
    assert_int_equal(engine_open(e, &o), ExitDone);
    assert_true(weights_save(in_dir("m.weights"),
                             &(PackedModel){ .list = &e->plan->pack,
                                             .packed = e->packed },
                             &why));
}

/* Formats rows of an encoder's result as the program prints them. */
static const char *encoded(const Engine *e, const int32_t *ids, int64_t n)
{
    const struct attn_model *m = e->backend.model;
    const int32_t start[2] = { 0, (int32_t)n };
    const char *text = "";
    struct attn_batch b = {
        .sequences = 1, .rows = n, .start = start, .ids = ids
    };
    b.output = aligned_memory(e->arena, n * m->output_columns * 4);
    m->encode(e->bound, &b, aligned_memory(e->arena, m->arena_bytes(n, 1, 1)));
    for (int64_t i = 0; i < n * m->d_model; i++)
        text = arena_printf(a, "%s%.9g%c", text, (double)b.output[i],
                            (i + 1) % m->d_model ? ' ' : '\n');
    return text;
}

/* Tests that the program uses the requested number of threads, with the same
 * bits for each number. */
static void test_threads(void **state)
{
    (void)state;
    static const char spec[] =
        "attnc: 1\nname: wide\nkind: decoder\nd_model: 256\nh: 8\n"
        "d_ff: 1024\nN: 2\nmax_len: 64\nvocab: {size: 50}\n";
    static const char keeps[] = "$M $W --prompt \"$(cat)\" -n 3 "
                                "--save-state - --threads";
    static const char waits[] =
        "mkfifo $M.in; $M $W --threads=5 < $M.in > $M.out & p=$!; "
        "exec 3> $M.in; until [ $(ls /proc/$p/task | wc -l) -eq 5 ]; do :; "
        "done; echo 7 >&3; exec 3>&-; wait $p && cat $M.out";
    Spawned s;
    Engine e = { 0 };
    Fault why;
    const char *line = "1";
    for (int i = 2; i <= 48; i++)
        line = arena_printf(a, "%s %d", line, i);
    assert_true(write_file(in_dir("w.yaml"), spec, strlen(spec), &why));
    build(in_dir("w.yaml"), "-O2");
    open_seeded(&e, in_dir("w.yaml"), "kind=decoder");
    engine_close(&e);
    assert_int_equal(sh(&s, line, arena_printf(a, "%s 1 > $M.1", keeps)), 0);
    assert_int_equal(sh(&s, line, arena_printf(a, "%s=2 | cmp - $M.1", keeps)),
                     0);
    assert_int_equal(sh(&s, line, arena_printf(a, "%s=5 | cmp - $M.1", keeps)),
                     0);
    assert_int_equal(sh(&s, "", waits), 0);
    assert_int_equal(sh(&s, "", "$M $W --threads=0"), 2);
    assert_int_equal(sh(&s, "", "$M $W --threads=257"), 2);
}

/* Tests ids as input and rows of numbers as output: the same as by the JIT. */
static void test_encoder(void **state)
{
    (void)state;
    static const int32_t ids[] = { 7, 0, 47, 3 };
    Spawned s;
    Engine e = { 0 };
    build("models/tiny.yaml", "--set=kind=encoder");
    open_seeded(&e, "models/tiny.yaml", "kind=encoder");
    assert_int_equal(sh(&s, "7 0 47\n\n48\n 3 \n", "$M $W"), 3);
    assert_string_equal(s.tail,
                        "<stdin>:3: error: byte 1: a token id from 0 to 47 "
                        "is expected\n");
    const char *want = arena_printf(a, "%s\n\n\n%s\n", encoded(&e, ids, 3),
                                    encoded(&e, ids + 3, 1));
    assert_string_equal(s.out, want);
    engine_close(&e);
}

/* Tests that blocks of rows are answered, and bad ones reported as by attnc
 * run. */
static void test_rows_in(void **state)
{
    (void)state;
    static const char lines[] = "\n1 2 3\n0.5 -1 2\n\n1 2\n\n\n3 2 1\n";
    Spawned s, own;
    Engine e = { 0 };
    build("tests/cli/real.yaml", "-O2");
    open_seeded(&e, "tests/cli/real.yaml", "kind=encoder-decoder");
    engine_close(&e);
    assert_int_equal(sh(&s, lines, "$M $W --beam=2 --nbest=2 --scores"), 3);
    assert_says(&s, "<stdin>:5: error: a row has 3 numbers, this line has 2");
    assert_int_equal(RUN(&own, lines, attnc(), "run", "--ids", "--beam=2",
                         "--nbest=2", "--scores", "tests/cli/real.yaml"),
                     3);
    assert_says(&own, "<stdin>:5: error: a row has 3 numbers, this line has 2");
    assert_string_equal(s.out, own.out);
    assert_true(strlen(s.out) > 8);
    Buffer far = { .arena = a };
    for (int i = 0; i < 9000; i++)
        buffer_printf(&far, i == 8998 ? "\n" : "1 2 3\n");
    assert_int_equal(sh(&s, far.at, "$M $W"), 3);
    assert_says(&s, "<stdin>:8999: error: the block has 8998 rows");
    assert_int_equal(RUN(&own, far.at, attnc(), "run", "--ids",
                         "tests/cli/real.yaml"),
                     3);
    assert_says(&own, "<stdin>:8999: error: the block has 8998 rows");
    assert_string_equal(s.out, own.out);
    assert_true(strlen(s.out) > 1);
    assert_int_equal(sh(&s, lines, "$M $W --prompt=1"), 3);
    assert_says(&s, "the source is rows of numbers: lines of stdin have them, "
                    "a row each, and an empty one behind the last");
}

/* Tests that blocks with more rows than a batch are not cut: all answers are
 * equal. */
static void test_many_rows_in(void **state)
{
    (void)state;
    Spawned s;
    Engine e = { 0 };
    Buffer lines = { .arena = a };
    for (int i = 0; i < 20 * 501; i++)
        buffer_printf(&lines, i % 501 == 500 ? "\n" : "1 %d 2\n", i % 501 % 7);
    build("tests/cli/real.yaml", "--set=max_len=600");
    open_seeded(&e, "tests/cli/real.yaml", "max_len=600");
    engine_close(&e);
    for (int program = 0; program < 2; program++) {
        const int code = program
                           ? sh(&s, lines.at, "$M $W --scores --max-output=4")
                           : RUN(&s, lines.at, attnc(), "run", "--ids",
                                 "--scores", "--max-output=4",
                                 "--set=max_len=600", "tests/cli/real.yaml");
        const size_t n = strcspn(s.out, "\n") + 1;
        assert_int_equal(code, 0);
        assert_int_equal(strlen(s.out), 20 * n);
        for (size_t i = 0; i < 20; i++)
            assert_memory_equal(s.out + i * n, s.out, n);
    }
}

/* Formats input as a line of ids, or as a block of lines. */
static const char *lines_of(const Tensor *t)
{
    const char *text = "";
    bool rows = t->rank > 1;
    for (int64_t i = 0; i < t->elements; i++) {
        float x;
        tensor_floats(t, i, 1, &x);
        bool last = !rows || (i + 1) % t->dim[1] == 0;
        text = arena_printf(a, "%s%.9g%c", text, (double)x,
                            rows && last ? '\n' : ' ');
    }
    return arena_printf(a, "%s\n", text);
}

/* Checks that the program's answer to a golden model's input, given twice,
 * equals PyTorch's; all types are 0 here. */
static void check_golden(const char *name, const char *in, const char *out)
{
    Spawned s;
    Fault why;
    const char *path = arena_printf(a, "tests/torch/%s", name);
    Safetensors *io = safetensors_open(arena_printf(a, "%s.io.safetensors",
                                                    path),
                                       &why);
    assert_non_null(io);
    const Tensor *want = safetensors_find(io, out);
    const char *lines = lines_of(safetensors_find(io, in));
    build(arena_printf(a, "%s.yaml", path), "-O2");
    assert_int_equal(sh(&s, arena_printf(a, "%s%s", lines, lines),
                        "$M $W > $M.out && cat $M.out"),
                     0);
    size_t size;
    char *at = arena_strdup(a, text_of(in_dir("m.out"), &size));
    for (int twice = 0; twice < 2; twice++)
        for (int64_t i = 0; i < want->elements; i++) {
            float x;
            tensor_floats(want, i, 1, &x);
            assert_true(fabs(strtod(at, &at) - (double)x) <= 1e-5);
        }
    assert_string_equal(at, "\n\n");
    safetensors_close(io);
}

static void test_golden(void **state)
{
    (void)state;
    check_golden("masked_words", "source", "out.logits");
    check_golden("classify", "source", "out.output");
    check_golden("distillation", "rows", "out.output");
    check_golden("patches", "rows", "out.output");
    check_golden("class_token", "rows", "out.output");
    const char *row = "1 2 3 4 5\n", *rows = row;
    for (int i = 0; i < 11; i++)
        rows = arena_printf(a, "%s%s", rows, row);
    Spawned s;
    assert_int_equal(sh(&s, rows, "$M $W"), 3); /* and the token's */
    assert_says(&s, "the block has 12 rows, the model takes 11 (max_len, "
                    "which counts the class token)");
    assert_string_equal(s.out, "\n");
    assert_int_equal(sh(&s, arena_printf(a, "1 2\n\n%s\nx\n", row), "$M $W"),
                     3);
    assert_true(strlen(s.out) > 10 && s.out[0] == '\n');
    assert_string_equal(s.out + strlen(s.out) - 3, "\n\n\n");
}

/* Tests that the class token counts as a row of the source in a search, too. */
static void test_longest_source(void **state)
{
    (void)state;
    const char *const ways[] = {
        "$M $W",
        arena_printf(a, "%s run tests/torch/class_front_both.yaml --ids",
                     attnc())
    };
    const char *rows = "";
    Spawned s;
    build("tests/torch/class_front_both.yaml", "-O0");
    for (int i = 0; i < 11; i++)
        rows = arena_printf(a, "%s1 2 3 4\n", rows);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sh(&s, rows, ways[i]), 0);
        assert_int_equal(sh(&s, arena_printf(a, "%s1 2 3 4\n", rows), ways[i]),
                         3);
        assert_says(&s, "the block has 12 rows, the model takes 11 (max_len, "
                        "which counts the class token)");
    }
}

/* Tests ids as input and output, as by attnc run --ids; the longest line leaves
 * one position. */
static void test_decoder(void **state)
{
    (void)state;
    static const char lines[] = "5\n9 3 40 11\n\n17 17\n";
    Spawned s, run_;
    Engine e = { 0 };
    build("models/tiny.yaml", "--set=kind=decoder");
    open_seeded(&e, "models/tiny.yaml", "kind=decoder");
    engine_close(&e);
    assert_int_equal(sh(&s, lines, "$M $W"), 0);
    assert_int_equal(RUN(&run_, lines, attnc(), "run", "models/tiny.yaml",
                         "--set", "kind=decoder", "--ids"),
                     0);
    assert_string_equal(s.out, run_.out);
    assert_true(strlen(s.out) > 8);
    /* an empty line is an empty prompt: only the start token */
    assert_int_equal(sh(&run_, "\n48\n\n", "$M $W"), 3);
    assert_int_equal(sh(&s, "", "$M $W --prompt '' --quiet"), 0);
    assert_true(strlen(s.out) > 2);
    assert_string_equal(run_.out, arena_printf(a, "%s\n%s", s.out, s.out));
    assert_int_equal(sh(&s, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "$M $W"), 0);
    assert_int_equal(sh(&s, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "$M $W"), 3);
    assert_says(&s, "the line has 16 tokens, the model takes 16 (max_len)");
}

static int build_g2p(void **state)
{
    set_up(state);
    build(g2p, "-O2");
    return 0;
}

/* One folder and program for the tests of lines and codes. */
static void test_g2p(void **state)
{
    test_answers(state);
    test_bad_lines(state);
    test_exit_codes(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_g2p, build_g2p, tear_down),
        TEST(test_attention),
        TEST(test_encoder),
        TEST(test_threads),
        TEST(test_rows_in),
        TEST(test_many_rows_in),
        TEST(test_golden),
        TEST(test_longest_source),
        TEST(test_decoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
