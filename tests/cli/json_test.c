/* json_test.c: tests that --format=json prints valid JSON for any names and
 * texts: an independent parser reads each document, or each line, and finds the
 * text that was put in. */
#define _GNU_SOURCE
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "base/put_json.h"
#include "support/aot.h"

/* Text that JSON has to escape, and that no locale prints. */
static const char hostile[] = "a\"b\\c\t\x01</script>\xc3\xa9\xf0\x9f\x98\x80";

static json_t *parse(const char *text, size_t n)
{
    json_error_t e;
    json_t *v = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!v)
        fail_msg("%s: %.*s", e.text, (int)n, text);
    return v;
}

/* Runs attnc with these words by a shell in the test's folder; returns its
 * output. */
static const char *said(const char *words, int code)
{
    Spawned s;
    size_t n;
    char tool[PATH_MAX], root[PATH_MAX];
    assert_non_null(realpath(attnc(), tool));
    assert_non_null(realpath(".", root));
    const char *line = arena_printf(
        a,
        "export XDG_CACHE_HOME=%s; R=%s; G=$R/models/g2p-en/g2p-en.yaml; "
        "cd %s; %s %s > out",
        dir, root, dir,
        words[0] == '|' ? "printf 'hello\\nh\\377\\n\\001\\n' |" : "",
        arena_printf(a, "%s %s", tool, words + (words[0] == '|')));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", line), code);
    return text_of(in_dir("out"), &n);
}

static int lines_of(const char *text)
{
    int n = 0;
    for (const char *end; *text; text = end + 1, n++) {
        end = strchr(text, '\n');
        assert_non_null(end);
        json_t *v = parse(text, (size_t)(end - text));
        assert_true(json_is_object(v));
        json_decref(v);
    }
    return n;
}

static void test_quote(void **state)
{
    (void)state;
    Buffer b = { .arena = a };
    json_quote(&b, hostile, -1);
    json_t *v = json_loadb(b.at, (size_t)b.n, JSON_DECODE_ANY, NULL);
    assert_string_equal(json_string_value(v), hostile);
    json_decref(v);
    for (int c = 0; c < 256; c++) { /* each byte, complete or truncated */
        const char text[] = { 'x', (char)c, 'y', (char)c };
        b.n = 0;
        json_quote(&b, text, 4);
        v = json_loadb(b.at, (size_t)b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                       NULL);
        if (!v || (c < 128 && memcmp(json_string_value(v), text, 4) != 0))
            fail_msg("byte %d: %s", c, b.at);
        json_decref(v);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const double x[] = { 0, -1.5, 1e300, 5e-324, NAN, INFINITY };
    for (int i = 0; i < 6; i++) {
        Buffer b = { .arena = a };
        json_number(&b, x[i], 17);
        json_t *v = json_loadb(b.at, (size_t)b.n, JSON_DECODE_ANY, NULL);
        assert_non_null(v);
        assert_true(i < 4 ? json_number_value(v) == x[i] : json_is_null(v));
        json_decref(v);
    }
}

static void test_lines(void **state)
{
    (void)state;
    assert_int_equal(lines_of(said("|run $G --format=json", 3)), 3);
    assert_int_equal(lines_of(said("|run $G --format=json --nbest 3", 3)), 3);
    assert_int_equal(lines_of(said("|score $G --format=json", 3)), 3);
    assert_int_equal(
        lines_of(said("run $G --format=json --prompt hello --quiet", 0)), 1);
    assert_true(
        lines_of(said("verify $R/models/attention.yaml --set d_model=2,h=1 "
                      "--backend=jit --cases=1 --format=json",
                      0))
        > 5);
}

static void test_documents(void **state)
{
    (void)state;
    static const char *const words[] = {
        "fields --format=json",
        "fields --format=schema",
        "graph $G --format=json",
        "graph $G --format=json --stage=built",
        "tensors $G --format=json",
        "plan $G --format=json",
        "plan $G --ranks=3 --link=2us,12GB/s --json",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *text = said(words[i], 0);
        json_decref(parse(text, strlen(text)));
    }
}

/* Names of tensors and of the file; tokens of a vocabulary. */
static void test_hostile_names(void **state)
{
    (void)state;
    static const float x[4] = { 1, 2, 3, 4 };
    const char *file = arena_printf(a, "%s.safetensors", "a\"b\\c\t\xc3\xa9");
    const TensorOut t[] = {
        { .name = hostile, .rank = 2, .dim = { 2, 2 }, .data = x }
    };
    static const char spec[] =
        "attnc: 1\nname: x\nkind: attention\nd_model: 2\nh: 1\nmax_len: 2\n"
        "projections: false\n";
    Fault why;
    assert_true(safetensors_write(in_dir(file), t, 1, &why));
    assert_true(write_file(in_dir("x.yaml"), spec, strlen(spec), &why));
    const char *text = said(
        arena_printf(a, "tensors x.yaml --format=json --weights '%s'", file),
        0);
    json_t *v = parse(text, strlen(text));
    assert_string_equal(json_string_value(json_object_get(v, "file")), file);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(v, "unused"), 0),
                            "tensor")),
                        hostile);
    json_decref(v);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_quote),     TEST(test_numbers),       TEST(test_lines),
        TEST(test_documents), TEST(test_hostile_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
