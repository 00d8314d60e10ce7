/* draw_test.c: tests that the picture of attention weights is XML with all of
 * them, for any tokens and any number of them. */
#include "base/strings.h"
#include "draw/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/check_xml.h"

static Arena *a;

static int set_up(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *token;
        int n;
        const char *label;
    } cases[] = {
        { "a", 1, "a" },
        { "", 0, "" },
        { " a", 2, " a" },
        { "\n", 1, "\\x0A" },
        { "\0", 1, "\\x00" },
        { "\x7f", 1, "\\x7F" },
        { "\xc2\x85", 2, "\\xC2\\x85" },
        { "\xc2\xa0", 2, "\xc2\xa0" },
        { "\xff\xfe", 2, "\\xFF\\xFE" },
        { "\xe4\xbd", 2, "\\xE4\\xBD" },
        { "\xe4\xbd\xa0", 3, "\xe4\xbd\xa0" },
        { "a\xed\xa0\x80", 4, "a\\xED\\xA0\\x80" },
        { "\xef\xbf\xbf", 3, "\\xEF\\xBF\\xBF" },
        { "\xef\xbf\xbd", 3, "\xef\xbf\xbd" },
        { "<0x0A>", 6, "<0x0A>" },
        { "\xf0\x9f\x99\x82", 4, "\xf0\x9f\x99\x82" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(attention_label(a, cases[i].token, cases[i].n),
                            cases[i].label);
}

static const float weights[2 * 2 * 3] = { 1,     0,    -1, .25f,
                                          .75f,  0, /* head 0; -1: masked */
                                          .5f,   .5f,  -1, 0,
                                          .001f, .999f };

static AttentionPicture picture(AttentionMap *m, const char *const *query,
                                const char *const *key)
{
    *m = (AttentionMap){ .name = "w",
                         .title = "layer 0",
                         .side = { 0, 1 },
                         .heads = 2,
                         .weight = weights };
    return (AttentionPicture){ .model = "m",
                               .side = { "source", "target" },
                               .label = { query, key },
                               .n = { 2, 3 },
                               .map = m,
                               .maps = 1,
                               .head = -1,
                               .query = -1 };
}

static void test_picture(void **state)
{
    (void)state;
    AttentionMap m;
    const char *const query[] = { "<&>\"'", " a" };
    const char *const key[] = { "\\x0A", "Donaudampfschifffahrt", "x" };
    AttentionPicture p = picture(&m, query, key);
    const char *text = draw_attention(a, &p);
    assert_int_equal(check_xml(text, "title"), 8);
    assert_non_null(strstr(text, "<title>0 &#60;&#38;&#62;&#34;' \xe2\x86\x92 "
                                 "0 \\x0A: 1</title>"));
    assert_non_null(strstr(text, "1 \xe2\x90\xa3"
                                 "a \xe2\x86\x92 1 "
                                 "Donaudampfschifffahrt: 0.75<"));
    assert_non_null(strstr(text, ">Donaudampfschiff\xe2\x80\xa6</text>"));
    assert_non_null(strstr(text, ">masked</text>"));
    assert_non_null(strstr(text, ">head 1</text>"));
    assert_non_null(strstr(text, ">layer 0</tspan>"));
    assert_non_null(strstr(text, "square root of the weight"));
    assert_null(strstr(text, "point at")); /* paper has no pointer */
    assert_null(strstr(text, "nan"));

    p.head = 1;
    text = draw_attention(a, &p);
    assert_int_equal(check_xml(text, "title"), 5);
    assert_non_null(strstr(text, ">0.50</text>"));
    assert_null(strstr(text, ">0.00</text>"));
    assert_null(strstr(text, ">head 0</text>"));

    p.head = -1;
    p.query = 1; /* a row for each head */
    text = draw_attention(a, &p);
    assert_int_equal(check_xml(text, "title"), 5);
    assert_non_null(strstr(text, "<title>head 0: 1 \xe2\x90\xa3"
                                 "a"));
}

/* Tests one token, and more tokens than the picture can highlight. */
static void test_sizes(void **state)
{
    (void)state;
    enum { Many = 300 };
    AttentionMap m;
    const char *label[Many];
    float *w = arena_alloc(a, (size_t)Many * Many * sizeof *w);
    for (int i = 0; i < Many; i++)
        label[i] = "a";
    for (int i = 0; i < Many * Many; i++)
        w[i] = 1;
    AttentionPicture p = picture(&m, label, label);
    m.heads = 1;
    m.weight = w;
    p.n[0] = p.n[1] = 1;
    const char *text = draw_attention(a, &p);
    assert_int_equal(check_xml(text, "title"), 2);
    assert_null(strstr(text, ">masked</text>"));

    p.n[0] = p.n[1] = Many;
    text = draw_attention(a, &p);
    assert_int_equal(check_xml(text, "title"), 1);
    assert_int_equal(check_xml(text, "path"), 1 + 1); /* one shade, hatching */
    assert_non_null(strstr(text, ">0:\xc2\xa0"
                                 "a</text>"));
    assert_null(strstr(text, ">1:\xc2\xa0"
                             "a</text>"));
    assert_true(strlen(text) < 60 * Many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
