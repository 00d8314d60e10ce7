/* python_pattern_test.c: tests which texts a pattern fits, and which patterns
 * are not known to mean the same in Python and in POSIX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "import/lora.h"

#include <cmocka.h>

static const struct {
    const char *pattern, *text;
    PatternResult whole, tail;
} patterns[] = {
    { "q", "a.q", PatternMissed, PatternFits },
    { "q", "a.qq", PatternMissed, PatternMissed },
    { "q", "aq", PatternMissed, PatternMissed },
    { "a.q", "a.q", PatternFits, PatternFits },
    { "a\\.q", "axq", PatternMissed, PatternMissed },
    { "(?:q|k)_proj", "m.k_proj", PatternMissed, PatternFits },
    { "a|b", "c.b", PatternMissed, PatternFits },
    { ".*?\\d+?.*", "layers.12.q", PatternFits, PatternFits },
    { "^layers.q", "layers.q", PatternFits, PatternFits },
    { "^q", "layers.q", PatternMissed, PatternMissed },
    { "q$", "layers.q", PatternMissed, PatternFits },
    { "[^a-p]", "x.q", PatternMissed, PatternFits },
    { "\\w\\-\\_", "x.q-_", PatternMissed, PatternFits },
    { "(a(b|c)?)+", "acab", PatternFits, PatternFits },
#define UNKNOWN(pattern) { pattern, "a", PatternUnknown, PatternUnknown }
    UNKNOWN(""),
    UNKNOWN("a{2}"),
    UNKNOWN("(?=a)"),
    UNKNOWN("(?i)a"),
    UNKNOWN("a**"),
    UNKNOWN("a++"),
    UNKNOWN("*a"),
    UNKNOWN("(*a)"),
    UNKNOWN("(|a)"),
    UNKNOWN("a|"),
    UNKNOWN("()"),
    UNKNOWN("(a"),
    UNKNOWN("a)"),
    UNKNOWN("(a)\\1"),
    UNKNOWN("\\ba"),
    UNKNOWN("\\"),
    UNKNOWN("[\\d]"),
    UNKNOWN("[]a]"),
    UNKNOWN("[a"),
    UNKNOWN("[z-a]"),
    UNKNOWN("[a-c-e]"),
    UNKNOWN("[[:x]"),
    UNKNOWN("a^"),
    UNKNOWN("$a"),
    UNKNOWN("a b"),
    UNKNOWN("\xc3\xa9"),
    UNKNOWN("^*a"),
};

static void matches_patterns_as_python(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (int tail = 0; tail < 2; tail++) {
            const PatternResult r = python_pattern(arena, patterns[i].pattern,
                                                   tail, patterns[i].text);
            if (r != (tail ? patterns[i].tail : patterns[i].whole))
                fail_msg("'%s' and '%s': %d", patterns[i].pattern,
                         patterns[i].text, r);
        }
    char deep[100];
    memset(deep, '(', 99);
    deep[99] = '\0';
    assert_int_equal(python_pattern(arena, deep, true, "a"), PatternUnknown);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_patterns_as_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
