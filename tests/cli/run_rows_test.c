/* run_rows_test.c: tests that attnc run of a model that answers with rows of
 * numbers prints the same bytes as the program of the emitted file, for lines
 * of text and of ids, blocks of rows, and questions of three blocks; with the
 * same exit code if some lines are bad. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

typedef struct {
    const char *name, *spec, *set;
    const char *with;  /* further arguments of attnc run */
    const char *lines; /* a command that prints the questions */
    int code;
    int rows, empty; /* lines of the answer, at least; empty ones */
} RowsCase;

#define IDS "models/tiny.yaml", "--set=kind=encoder", "--ids"
#define REAL "tests/torch/real_input.yaml"
#define CLASS "tests/torch/class_token.yaml"
/* n blocks of one row of 5 numbers, with `between` after each */
#define BLOCKS(n, between)                                      \
    "for i in $(seq " n "); do echo $i 0.$i -$i 1e-3 0x1p3; " \
    "printf '" between "'; done"

static const RowsCase cases[] = {
    { "ids", IDS, "printf '7 0 47 3\\n 5\\t6\\r\\n\\n1\\n'", 0, 7, 4 },
    { "ids without a newline", IDS, "printf '7 0 47 3\\n1 2'", 0, 6, 2 },
    { "bad ids", IDS,
      "printf '7 48\\n1 2\\nx\\n%s\\n1\\n' \"$(seq -s ' ' 17)\"", 3, 3, 5 },
    { "many lines", IDS, "for i in $(seq 100); do echo $((i % 48)) 3; done", 0,
      200, 100 },
    { "no lines", IDS, "true", 0, 0, 0 },
    { "text", "models/g2p-en/g2p-en.yaml", "--set=kind=encoder", "--seed=1",
      "printf 'hello\\n\\nno7\\nattention\\n'", 3, 16, 4 },
    { "a row of each", "tests/torch/pool_mean.yaml", "--set=dtype=f32", "--ids",
      "printf '1 2 3\\n\\n4\\n'", 0, 2, 3 },
    { "blocks", REAL, "--set=dtype=f32", "--threads=2", BLOCKS("3", "\\n"), 0,
      3, 3 },
    { "empty lines between blocks", REAL, "--set=dtype=f32", "--threads=1",
      "echo; echo; " BLOCKS("70", "\\n\\n"), 0, 70, 140 },
    { "bad blocks", REAL, "--set=dtype=f32", "--threads=1",
      BLOCKS("2", "1 2\\n\\n") "; echo 1 2 3 4 x; " BLOCKS("20", ""), 3, 0, 3 },
    { "far too long, and the next one", REAL, "--set=dtype=f32", "--threads=1",
      "seq -f '%g 1 2 3 4' 9000; echo; " BLOCKS("2", "\\n"), 3, 2, 3 },
    { "a class token", CLASS, "--set=dtype=f32", "--threads=1",
      BLOCKS("40", "\\n"), 0, 40, 40 },
    { "too long with a class token", CLASS, "--set=dtype=f32", "--threads=1",
      BLOCKS("12", ""), 3, 0, 1 },
    { "blocks of more rows than a batch", REAL, "--set=max_len=600",
      "--threads=1",
      "for b in 1 2 3 4 5; do seq -f '%g 1 2 3 4' 2000 | "
      "awk '{ print } NR % 500 == 0 { print \"\" }'; done",
      0, 10000, 20 },
    { "attention", "models/attention.yaml", "--set=d_model=4,h=2,max_len=3",
      "--threads=1",
      "printf '\\n1 2 3 4\\n0 0 0 1\\n\\n1 0 0 0\\n\\n4 3 2 1\\n\\n\\n"
      "1 2 3 4\\n\\n1 0 0 0\\n\\n'; printf '4 3 2 1\\n1 1 1 1\\n\\n1 2 3 4'",
      3, 2, 3 },
};

/* Runs a shell line in the repository; returns its complete output. */
static int sh(Spawned *s, const char *line)
{
    return RUN(s, "", "/bin/sh", "-c",
               arena_printf(a, "export XDG_CACHE_HOME=%s; %s", in_dir("cache"),
                            line));
}

static void count(const RowsCase *c, const char *text)
{
    int rows = 0, empty = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        assert_non_null(strchr(at, '\n'));
        empty += *at == '\n';
        rows += *at != '\n';
    }
    if (rows < c->rows || empty != c->empty)
        fail_msg("%s: %d rows, %d empty lines", c->name, rows, empty);
}

static void try_case(const RowsCase *c)
{
    Spawned s;
    size_t n;
    char tool[PATH_MAX];
    assert_non_null(realpath(attnc(), tool));
    /* weights that no file gives are in attnc alone */
    assert_int_equal(sh(&s, arena_printf(a, "(%s) | %s run %s %s %s > %s",
                                         c->lines, tool, c->spec, c->set,
                                         c->with, in_dir("ours"))),
                     c->code);
    assert_int_equal(sh(&s, arena_printf(a, "(%s) | %s %s > %s", c->lines,
                                         in_dir("m"), in_dir("m.weights"),
                                         in_dir("theirs"))),
                     c->code);
    same_file(in_dir("ours"), in_dir("theirs"));
    count(c, text_of(in_dir("ours"), &n));
}

/* Builds the program of a case, with attnc's seeded weights. */
static void build(const RowsCase *c)
{
    Engine e = { 0 };
    Fault why;
    const char *sets[] = { c->set + strlen("--set=") };
    EngineOptions o = { .spec = c->spec, .sets = sets, .nsets = 1, .seed = 1 };
    emit(c->spec, "--march=native", c->set);
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    assert_int_equal(engine_weights(&e), ExitDone);
    assert_int_equal(engine_vocab(&e), ExitDone);
    const PackedModel m = { .list = &e.plan->pack,
                            .packed = e.packed,
                            .source_vocab = e.source.block,
                            .source_bytes = e.source.bytes };
    assert_true(weights_save(in_dir("m.weights"), &m, &why));
    engine_close(&e);
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
}

static void test_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const RowsCase *c = &cases[i];
        if (i == 0 || strcmp(c->spec, c[-1].spec) != 0)
            build(c);
        try_case(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
