/* library_limits_test.c: the limits of a handle (attnc.h) bind all calls of a
 * decoder. */
#define _GNU_SOURCE /* mkdtemp, popen */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/library_calls.h"

static int take(void *user, const char *text, int64_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

/* Conversations, states and logits of a decoder are within the limits too. */
static void test_limits_of_decoder(void **state)
{
    static const char *const user[] = { "user" };
    const char *turn[] = { "hello" };
    const struct attnc_limits l = { .max_input = 14,
                                    .max_output = 3,
                                    .max_text = 16 };
    attnc_handle *h = opened("tests/cli/chat.yaml", &l);

    (void)state;
    assert_int_equal(attnc_chat(h, user, turn, 1, WORDS("-n", "20"), take,
                                NULL),
                     3);
    turn[0] = "hellohellohellohe";
    REFUSED(attnc_chat(h, user, turn, 1, NULL, take, NULL), ATTNC_ERROR_LENGTH,
            "message 0: the text has 17 bytes, at most 16 are taken: max_text "
            "of the handle");
    turn[0] = "hellohello";
    REFUSED(attnc_chat(h, user, turn, 1, NULL, take, NULL), ATTNC_ERROR_LENGTH,
            "message 0: tokens of the conversation: 18, at most 14 are taken: "
            "the model's max_len, or max_input, max_output of the handle");
    assert_int_equal(attnc_generate(h, "lo", -1, WORDS("-n", "1"), take, NULL),
                     1);
    const int64_t bytes = attnc_state(h, NULL, 0);
    char *at = malloc((size_t)bytes);
    assert_int_equal(attnc_state(h, at, bytes), bytes);
    assert_int_equal(attnc_continue(h, at, bytes, "lo", -1, WORDS("-n", "20"),
                                    take, NULL),
                     3);
    REFUSED(attnc_continue(h, at, bytes, "lololololololol", -1, NULL, take,
                           NULL),
            ATTNC_ERROR_LENGTH,
            "tokens of the text: 15, at most 14 are taken: the model's "
            "max_len, or max_input, max_output of the handle");
    REFUSED(attnc_continue(h, at, bytes, "lolololololololol", -1, NULL, take,
                           NULL),
            ATTNC_ERROR_LENGTH,
            "the text has 17 bytes, at most 16 are taken: max_text of the "
            "handle");
    REFUSED(attnc_logits(h, "lololololololol", -1, "l", -1, 0, NULL, 0),
            ATTNC_ERROR_LENGTH,
            "tokens of the source: 15, at most 14 are taken: the model's "
            "max_len, or max_input, max_output of the handle");
    free(at);
    closed(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_of_decoder),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
