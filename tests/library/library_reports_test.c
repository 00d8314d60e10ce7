/* library_reports_test.c: attnc_report(), whose reports are those of commands,
 * their progress, and attnc_interrupt(). */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "library/attnc.h"
#include "support/scratch.h"

static const char encoder[] =
    "attnc: 1\nname: words\nkind: encoder\nd_model: 8\nh: 2\nd_ff: 16\nN: 1\n"
    "max_len: 24\nvocab: {file: models/g2p-en/letters.txt, tokens: {end: 2}, "
    "split: characters, append_end: true}\nhead: {type: pool, pool: mean}\n";

typedef struct {
    int n, progress; /* errors, and calls with progress */
    double done;     /* of the last such call */
    char text[300];  /* the first error */
} Heard;

static void hear(void *user, const struct attnc_message *m)
{
    Heard *h = user;
    if (m->severity == ATTNC_SEVERITY_PROGRESS) {
        h->progress++;
        h->done = m->done;
    }
    if (m->severity <= ATTNC_SEVERITY_INTERNAL && h->n++ == 0)
        snprintf(h->text, sizeof h->text, "%s", m->text);
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

static void test_texts(void **state)
{
    Heard h = { 0 };
    char *text;

    (void)state;
    assert_int_equal(attnc_report(&text, "graph", "w.yaml", encoder,
                                  WORDS("--format=json"), hear, &h),
                     ATTNC_DONE);
    json_t *graph = json_loads(text, 0, NULL);
    assert_true(json_array_size(json_object_get(graph, "nodes")) > 10);
    json_decref(graph);
    attnc_free(text);
    assert_int_equal(attnc_report(&text, "plan", "w.yaml", encoder, NULL, hear,
                                  &h),
                     ATTNC_DONE);
    assert_non_null(strstr(text, "words"));
    attnc_free(text);
    assert_int_equal(attnc_report(&text, "plan", "w", "attnc: 2\n", NULL, hear,
                                  &h),
                     ATTNC_INPUT);
    assert_null(text);
}

/* Counts the variants of a sweep, and the calls with its progress. */
static void test_sweep(void **state)
{
    Heard h = { 0 };
    char *text;

    (void)state;
    assert_int_equal(attnc_report(&text, "sweep", "w.yaml", encoder,
                                  WORDS("models/tiny.yaml", "--vary=N=1,2",
                                        "-r", "2", "--json"),
                                  hear, &h),
                     ATTNC_DONE);
    json_t *all = json_loads(text, 0, NULL);
    const json_t *rows = json_object_get(all, "rows");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_non_null(json_object_get(row, "encode_ms"));
        assert_string_equal(json_string_value(json_object_get(row, "spec")),
                            i < 2 ? "w.yaml" : "models/tiny.yaml");
    }
    json_decref(all);
    attnc_free(text);
    assert_true(h.progress > 0);
    assert_true(h.done >= 0 && h.done <= 1);
}

static void test_bench(void **state)
{
    Heard h = { 0 };
    char *text;

    (void)state;
    assert_int_equal(attnc_report(&text, "bench", "w.yaml", encoder,
                                  WORDS("-r", "2", "--no-kernels", "--json",
                                        "--seed=1"),
                                  hear, &h),
                     ATTNC_DONE);
    json_t *all = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(all, "rows")), 1);
    json_decref(all);
    attnc_free(text);
}

static void interrupt(void *user, const struct attnc_message *m)
{
    hear(user, m);
    if (m->severity == ATTNC_SEVERITY_PROGRESS)
        attnc_interrupt();
}

/* A tuning that would take an hour ends soon, and tells what it found. */
static void test_interrupt(void **state)
{
    Heard h = { 0 };
    char *text, records[200];

    (void)state;
    snprintf(records, sizeof records, "--records=%s/records", scratch);
    assert_int_equal(attnc_report(&text, "tune", "w.yaml", encoder,
                                  WORDS("--budget=60m", "--backend=jit",
                                        records, "--json"),
                                  interrupt, &h),
                     ATTNC_DONE);
    json_t *all = json_loads(text, 0, NULL);
    assert_true(json_is_true(json_object_get(all, "interrupted")));
    json_decref(all);
    attnc_free(text);
    assert_int_equal(attnc_report(&text, "plan", "w.yaml", encoder, NULL, hear,
                                  &h),
                     ATTNC_DONE);
    attnc_free(text);
}

static void refused(const char *report, const char *const *options, int code,
                    const char *words)
{
    Heard h = { 0 };
    char *text;
    assert_int_equal(attnc_report(&text, report, "w.yaml", encoder, options,
                                  hear, &h),
                     code);
    assert_null(text);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.text, words);
}

static void test_reports_refused(void **state)
{
    static const char picture[] = "the library does not print: name a file for "
                                  "the picture by --svg=FILE";
    (void)state;
    refused("watch", NULL, ATTNC_USAGE,
            "attnc_report(): watch is not one of graph, plan, bench, sweep, "
            "compare, tune");
    refused("sweeep", NULL, ATTNC_USAGE,
            "unknown command 'sweeep': did you mean sweep?");
    refused("graph", WORDS("--explain"), ATTNC_USAGE,
            "--explain is not an option of graph");
    refused("plan", WORDS("-o", "x.json"), ATTNC_USAGE,
            "-o is not an option of plan");
    refused("bench", WORDS("--svg=-"), ATTNC_USAGE, picture);
    refused("tune", WORDS("--format=svg"), ATTNC_USAGE, picture);
    refused("sweep", WORDS("-"), ATTNC_USAGE,
            "-: the library does not read stdin: give the text of the spec");
    refused("sweep", WORDS("--vary=h=3"), ATTNC_INPUT,
            "no variant could be made: h (3) does not divide d_model (8)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_bench),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_reports_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
