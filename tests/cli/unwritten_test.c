/* unwritten_test.c: tests that start and pad tokens are never in an answer, and
 * that one of them ends it if it is the end token, too: greedy, with beams and
 * sampled, by lines and token by token, in attnc and in the program of an
 * emitted file. The vocabulary is small, so that they would occur. They keep
 * their probability: an answer's score equals that of attnc score. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

enum {
    Size = 6,  /* of the vocabulary */
    Limit = 13 /* longer answers to a prompt did not end */
};

typedef struct {
    const char *kind;
    int start, end, pad; /* -1: none */
} Model;
static const Model models[] = {
    { "encoder-decoder", 1, 2, 0 }, { "encoder-decoder", 0, 1, 0 },
    { "encoder-decoder", 2, 2, 0 }, { "encoder-decoder", 1, 2, 2 },
    { "encoder-decoder", 3, 3, 3 }, { "decoder", 1, 2, 0 },
    { "decoder", 5, -1, 0 },        { "decoder", -1, 4, 4 },
    { "decoder", 2, 2, -1 },
};

static const char lines[] = "3\n4\n5\n3 4\n4 3 5\n5 5\n3 3 3\n5 4 3 3\n0 4\n";

static const char *token(const char *name, int id)
{
    return id < 0 ? "" : arena_printf(a, "%s: %d, ", name, id);
}

static void write_spec(const Model *m)
{
    Fault why;
    const char *spec = arena_printf(
        a,
        "attnc: 1\nname: small\nkind: %s\nd_model: 8\nh: 2\nd_ff: 16\nN: 1\n"
        "max_len: 16\nsearch: {max_output: 16, penalty: none}\n"
        "vocab: {size: %d, tokens: {%s%s%s}}\n",
        m->kind, Size, token("start", m->start), token("end", m->end),
        token("pad", m->pad));
    assert_true(write_file(in_dir("m.yaml"), spec, strlen(spec), &why));
}

/* Builds the program and its seeded weights. */
static void build_program(void)
{
    Fault why;
    Engine e = { 0 };
    EngineOptions o = { .spec = in_dir("m.yaml"), .seed = 1 };
    assert_int_equal(engine_open(&e, &o), ExitDone);
    assert_true(weights_save(in_dir("m.weights"),
                             &(PackedModel){ .list = &e.plan->pack,
                                             .packed = e.packed },
                             &why));
    engine_close(&e);
    emit(in_dir("m.yaml"), "--march=native", "-O2");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
}

/* $A run $S is attnc, $M $W the program. */
static const char *says(const char *line)
{
    Spawned s;
    if (RUN(&s, lines, "/bin/sh", "-c",
            arena_printf(a, "A=%s S='%s --ids' M=%s W=%s; %s", attnc(),
                         in_dir("m.yaml"), in_dir("m"), in_dir("m.weights"),
                         line)))
        fail_msg("%s: %s", line, s.tail);
    return arena_strdup(a, s.out);
}

/* Checks lines of ids, which may follow a line's number; returns how many of
 * them are short. */
static int assert_written(const Model *m, const char *line)
{
    const char *text = says(line);
    int ended = 0;
    for (const char *at = text; *at; at++) {
        size_t n = 0, number = strcspn(at, "\t\n");
        at += at[number] == '\t' ? number + 1 : 0;
        for (char *end; *at != '\n'; at = end, n++) {
            long id = strtol(at, &end, 10);
            assert_true(end > at && id >= 0 && id < Size);
            if (id == m->start || id == m->pad || id == m->end)
                fail_msg("%s, start %d, end %d, pad %d: %s: %ld is written: "
                         "%s",
                         m->kind, m->start, m->end, m->pad, line, id, text);
        }
        ended += n < Limit;
    }
    return ended;
}

static void check_model(const Model *m)
{
    static const char *const of_lines[] = {
        "$A run $S --beam=1", "$A run $S --beam=4",
        "$A run $S --beam=4 --nbest=4",
        "$A run $S --set search.rule=recorded --beam=3 --nbest=3", "$M $W"
    };
    static const char *const of_prompts[] = { "$A run $S", "$M $W" };
    int ended = 0;
    for (size_t i = 0; i < sizeof of_lines / sizeof *of_lines; i++)
        assert_written(m, of_lines[i]);
    for (int i = 0; i < 2; i++) {
        assert_written(m, arena_printf(a, "%s --prompt='3 4' --quiet",
                                       of_prompts[i]));
        for (int seed = 1; seed <= 8; seed++)
            ended += assert_written(
                m, arena_printf(a,
                                "%s --prompt='3 4' "
                                "--quiet --temperature=4 --seed=%d",
                                of_prompts[i], seed));
    }
    assert_written(m, "$A run $S --temperature=4");
    assert_true(m->end < 0 ? ended == 0 : ended > 12);
    assert_string_equal(says("$A run $S"), says("$M $W"));
}

static void test_unwritten(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        write_spec(&models[i]);
        build_program();
        check_model(&models[i]);
    }
}

/* Tests that each score equals that of attnc score; all answers ended. */
static void test_scores(void **state)
{
    (void)state;
    int n = 0;
    write_spec(&models[0]);
    const char *at = says("tee $M.in | $A run $S --scores --beam=4 > $M.out; "
                          "cut -f 2 $M.out | paste $M.in - | $A score $S | "
                          "cut -f 1 | paste $M.out -");
    for (; *at; at += strcspn(at, "\n") + 1) {
        double score = strtod(at, NULL);
        double given = strtod(strchr(strchr(at, '\t') + 1, '\t'), NULL);
        assert_true(score < -0.5);
        assert_true(fabs(score - given) <= 2e-6);
        n++;
    }
    assert_int_equal(n, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unwritten, set_up_sharing,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_scores, set_up_sharing, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
