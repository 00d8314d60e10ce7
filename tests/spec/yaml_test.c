/* yaml_test.c: tests YAML that is malicious or damaged. */
#define _POSIX_C_SOURCE 200809L
#include "support/load_spec.h"

/* ---- hostile text ---- */
static char *repeat(Arena *a, const char *part, size_t bytes)
{
    size_t n = strlen(part);
    char *text = arena_alloc(a, bytes + n + 1);

    for (size_t at = 0; at < bytes; at += n)
        memcpy(text + at, part, n);
    text[bytes] = '\0';
    return text;
}

static void refuse_text(const char *part, size_t bytes, const char *why)
{
    Arena *a = arena_new();
    Source src = { "hostile", repeat(a, part, bytes), bytes, 0 };

    error_reset();
    capture_stderr();
    Yaml *tree = yaml_parse(a, &src, 0);
    char *text = captured_stderr(a);
    if (!strstr(text, why))
        print_error("%s", text);
    assert_non_null(strstr(text, why));
    assert_null(tree);
    assert_int_equal(error_count(), 1);
    arena_free(a);
}

static void hostile_text(void **state)
{
    const size_t most = 1 << 20;

    (void)state;
    refuse_text("[", 40000, "nested more than 32 deep");
    refuse_text("[", most, "nested more than 32 deep");
    refuse_text("{", most, "nested more than 32 deep");
    refuse_text("[\n", 40000, "nested more than 32 deep");
    refuse_text("- ", most, "nested more than 32 deep");
    refuse_text("? ", most, "nested more than 32 deep");
    refuse_text("- 1\n", 600000, "more than 100000 parts");
    refuse_text("- 1\n", most + 1, "at most 1048576 are allowed");
    refuse_text("&a ", most, "");
    refuse_text("'", most - 1, "");
    refuse_text("\xc3", most, "is not UTF-8");
    refuse_text("\xf4\x90\x80\x80", 4, "is not UTF-8");
    refuse_text("\xe0\x80\xaf", 3, "is not UTF-8");
}

static void many_keys(void **state)
{
    Arena *a = arena_new();
    VEC(char) text = { 0 };

    (void)state;
    for (int i = 0; i < 1001; i++)
        for (const char *s = arena_printf(a, "k%d: 1\n", i); *s; s++)
            vec_push(a, &text, *s);
    Source src = { "keys", text.at, (size_t)text.n, 0 };
    error_reset();
    capture_stderr();
    assert_null(yaml_parse(a, &src, 0));
    assert_non_null(
        strstr(captured_stderr(a), "keys:1001:1: error: a map has more"));
    arena_free(a);
}

/* Tests that all errors are counted, but that only a few messages are composed,
 * because all would take minutes. */
static void many_errors(void **state)
{
    const char *line = "d_model: 1\n";
    const int lines = 40000;
    Arena *a = arena_new();
    Source src = { "twice", repeat(a, line, lines * strlen(line)),
                   lines * strlen(line), 0 };

    (void)state;
    error_reset();
    capture_stderr();
    errors_hold();
    yaml_parse(a, &src, 0);
    assert_int_equal(error_count(), lines - 1);
    errors_release();
    assert_int_equal(error_count(), lines - 1);
    assert_non_null(strstr(captured_stderr(a), "note: more errors follow"));
    error_reset();
    arena_free(a);
}

/* Tests every prefix of a real spec, and a change of every byte. */
static void broken_specs(void **state)
{
    Arena *a = arena_new();
    char *text = read_text(a, "models/aren-transliteration.yaml");
    size_t n = strlen(text);

    (void)state;
    capture_stderr();
    for (size_t i = 0; i < n; i++) {
        Arena *one = arena_new();
        Source cut = { "cut", text, i, 0 };
        yaml_parse(one, &cut, 0);
        char *changed = arena_strndup(one, text, n);
        changed[i] = (char)(changed[i] ^ (1 << i % 8));
        Source src = { "changed", changed, n, 0 };
        yaml_parse(one, &src, 0);
        arena_free(one);
    }
    captured_stderr(a);
    error_reset();
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(many_errors),
        cmocka_unit_test(broken_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
