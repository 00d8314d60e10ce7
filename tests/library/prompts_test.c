/* prompts_test.c: tests attnc_prompt() and attnc_prompt_name(), with prompts
 * and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "library/attnc.h"

#define SPEC                                                                   \
    "attnc: 1\nname: words\nkind: encoder\nd_model: 8\nh: 2\nd_ff: 8\n"     \
    "N: 1\nmax_len: 8\nvocab: {size: 9}\n"

static attnc_model *opened(const char *text)
{
    attnc_model *m;
    assert_int_equal(attnc_open(&m, "words.yaml", text, NULL, NULL, NULL),
                     ATTNC_DONE);
    return m;
}

static void test_prompts(void **state)
{
    attnc_model *m = opened(
        SPEC "prompts: {query: \"q: \", document: d}\nprompt: document\n");

    (void)state;
    assert_string_equal(attnc_prompt(m, "query"), "q: ");
    assert_string_equal(attnc_prompt(m, NULL), "d");
    assert_null(attnc_prompt(m, "other"));
    assert_string_equal(attnc_prompt_name(m, 0), "query");
    assert_string_equal(attnc_prompt_name(m, 1), "document");
    assert_null(attnc_prompt_name(m, 2));
    assert_null(attnc_prompt_name(m, -1));
    attnc_close(m);
}

static void test_none(void **state)
{
    attnc_model *m = opened(SPEC), *named = opened(SPEC "prompts: {a: b}\n");

    (void)state;
    assert_null(attnc_prompt(m, NULL));
    assert_null(attnc_prompt(m, "query"));
    assert_null(attnc_prompt_name(m, 0));
    assert_null(attnc_prompt(named, NULL));
    assert_string_equal(attnc_prompt(named, "a"), "b");
    attnc_close(named);
    attnc_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
