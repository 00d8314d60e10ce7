/* jinja_test.c: tests the rendering of chat templates: what Jinja makes of
 * small templates (tests/families/chats.py), faults and their lines, and
 * bounds. */
#include "import/jinja.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "support/expected.h"

/* Renders a template with two messages and n = 3. */
static const char *rendered(Arena *a, const char *text, JinjaFault *why)
{
    bool dated = false;
    const JinjaNode *top = jinja_parse(a, text, why);
    json_t *j = json_pack("{s:[{s:s, s:s}, {s:s, s:s}], s:i}", "messages",
                          "role", "user", "content", "Hi", "role", "assistant",
                          "content", "Oh", "n", 3);
    const Datum variables = value_of_json(a, j, (Pos){ 0 });
    json_decref(j);
    assert_true(top || why->why);
    const char *out = top ? jinja_render(a, top, &variables, &dated, why)
                          : NULL;
    assert_true(!out || dated == (strstr(text, "strftime_now(") != NULL));
    return out;
}

static void recorded(void **state)
{
    (void)state;
    json_t *root = json_file("tests/families/chats.json"), *pair;
    size_t i;
    assert_true(json_array_size(json_object_get(root, "expressions")) > 45);
    json_array_foreach(json_object_get(root, "expressions"), i, pair)
    {
        Arena *a = arena_new();
        JinjaFault why;
        const char *text = json_string_value(json_array_get(pair, 0));
        const char *want = json_string_value(json_array_get(pair, 1));
        const char *is = rendered(a, text, &why);
        if (!want != !is || (is && strcmp(is, want) != 0))
            fail_msg("%s: '%s', not '%s' (%s)", text, is, want, why.why);
        arena_free(a);
    }
    json_decref(root);
}

/* Templates, the line of the fault, and its reason. */
static const struct {
    const char *text;
    int line;
    const char *why;
} faults[] = {
    { "a\n{{ raise_exception('not so') }}", 2,
      "the template refuses it: \"not so\"" },
    { "a\r\n\r\n{% call f() %}", 3, "the tag 'call' is not supported" },
    { "{% if n %}\n{% for i in n %}", 2, "'endfor' is missing" },
    { "{% if n %}{% elif x %}", 1, "'endif' is missing" },
    { "{{ n\n", 1, "a tag does not end" },
    { "{{ 'a", 1, "a string does not end" },
    { "{# a", 1, "a comment does not end" },
    { "{{ n n }}", 1, "the end of the tag is missing" },
    { "{{ ? }}", 1, "a character that no expression has" },
    { "{{ n + }}", 1, "a value is missing" },
    { "{{ n[] }}", 1, "an index is missing" },
    { "{{ (n }}", 1, "a value is missing" },
    { "{% for 1 in n %}", 1, "a name is missing" },
    { "{{ '\\777' }}", 1, "octal escapes are not supported" },
    { "{{ '\\ud800' }}", 1, "this escape in a string is not supported" },
    { "{{ 1 < 2 < 3 }}", 1, "a comparison of more than two values" },
    { "{{ x.y }}", 1, "an item of an undefined value is used" },
    { "{{ messages }}", 1,
      "a value that is neither a text nor an integer is printed" },
    { "{{ 1 // 0 }}", 1, "this use of '//' is not supported" },
    { "{{ 999999999999999 * 999999999999999 }}", 1,
      "this use of '*' is not supported" },
    { "{{ 'a' - 'b' }}", 1, "'-' is applied to values that it does not take" },
    { "{{ -'a' }}", 1, "a sign before what is not an integer" },
    { "{{ 1 < 'a' }}", 1, "values without an order are compared" },
    { "{{ 1 in 'a' }}", 1, "`in` looks for what is not a text in a text" },
    { "{{ {1: 2} }}", 1, "a key that is not a text" },
    { "{% for i in 1 %}{% endfor %}", 1,
      "a value without items is taken apart" },
    { "{% for i, k in [1] %}{% endfor %}", 1,
      "a loop over other than 2 values at once" },
    { "{{ 'a'[::0] }}", 1, "this slice is not supported" },
    { "{% set n.a = 1 %}", 1, "a member of what is no namespace is set" },
    { "{{ n | indent }}", 1, "'indent' is not supported" },
    { "{{ n is callable }}", 1, "the test 'callable' is not supported" },
    { "{{ n | trim }}", 1,
      "'trim' is applied to a value that it does not "
      "take" },
    { "{{ 'a' | join(d='b') }}", 1,
      "'join' is called with an argument that is not supported" },
    { "{{ 'a'.split() }}", 1, "'split' without a separator is not supported" },
    { "{{ 'a'.strip(1) }}", 1, "'strip' takes a text" },
    { "{{ 'a'.strip('\xc3\xa9') }}", 1, "'strip' takes a text of ASCII" },
    { "{{ '\xc3\xa9'.upper() }}", 1,
      "'upper' is applied to a text that is not ASCII" },
    { "{{ 'a'.startswith(1) }}", 1, "'startswith' takes a text" },
    { "{{ 'a'.replace('', 'b') }}", 1, "'replace' takes two texts" },
    { "{{ {}.get(1) }}", 1, "'get' takes a key" },
    { "{{ [1]|map('upper') }}", 1, "'map' takes the name of a member" },
    { "{{ [{}]|selectattr('a', 1)|list }}", 1,
      "'selectattr' takes the name of a test" },
    { "{{ 'a'|tojson(indent=2) }}", 1,
      "'tojson' is called with an argument that is not supported" },
    { "{{ 'a'|tojson(2) }}", 1, "'tojson' with arguments is not supported" },
    { "{{ 1.5|tojson }}", 1, "'tojson' takes no such value" },
    { "{{ namespace(1) }}", 1, "'namespace' takes names and values" },
    { "{{ range('a') }}", 1, "'range' takes integers" },
    { "{{ range(1000000) }}", 1,
      "'range' takes one to three integers that are not large" },
    { "{{ strftime_now() }}", 1, "'strftime_now' takes a format" },
    { "{{ strftime_now('%Q') }}", 1, "'strftime_now' takes another format" },
    { "{% macro f() %}\n{{ f() }}{% endmacro %}{{ f() }}", 2,
      "macros call each other too deeply" },
    { "{% for i in range(999) %}\n{% for k in range(999) %}{% endfor %}"
      "{% endfor %}",
      2, "the template takes too many steps" },
    { "{% set x %}0123456789abcdef{% endset %}{% set ns = namespace(x=x) %}"
      "{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      1, "the template takes too many steps" },
};

static void at_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        Arena *a = arena_new();
        JinjaFault why;
        const char *out = rendered(a, faults[i].text, &why);
        if (out || why.line != faults[i].line
            || strcmp(why.why, faults[i].why) != 0)
            fail_msg("%s: '%s', line %d: %s", faults[i].text, out, why.line,
                     why.why);
        arena_free(a);
    }
}

/* Repeats a text n times between two others. */
static const char *many(Arena *a, const char *first, const char *text, int n,
                        const char *last)
{
    Buffer b = { .arena = a };
    buffer_printf(&b, "%s", first);
    for (int i = 0; i < n; i++)
        buffer_printf(&b, "%s", text);
    buffer_printf(&b, "%s", last);
    return b.at;
}

static void too_deep(void **state)
{
    (void)state;
    static const char *const texts[][4] = {
        { "{{ ", "(", "", "too many parts inside each other" },
        { "{{ ", "[", "", "too many parts inside each other" },
        { "{{ ", "-", "", "too many parts inside each other" },
        { "{{ ", "not ", "", "too many parts inside each other" },
        { "{{ 1 ", "if 1 else 1 ", "}}",
          "too many parts inside each "
          "other" },
        { "", "{% if 1 %}", "", "too many parts inside each other" },
        { "{% if 1 %}", "{% elif 1 %}", "",
          "too many parts inside each other" },
        { "", "{{ n }}", "", "the template is too long" },
        { "{{ 1", "+ 1", "}}", "the template is too long" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Arena *a = arena_new();
        JinjaFault why;
        const char *text = many(a, texts[i][0], texts[i][1], 30000,
                                texts[i][2]);
        assert_null(rendered(a, text, &why));
        assert_string_equal(why.why, texts[i][3]);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),
        cmocka_unit_test(at_fault),
        cmocka_unit_test(too_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
