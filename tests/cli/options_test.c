/* options_test.c: tests the table of options: each option sets a field of its
 * own, to the default of its row, and changes nothing else. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "cli/help/pages.h"
#include "support/load_spec.h"

static size_t size_of(const Option *row)
{
    switch (row->kind) {
    case Flag:
    case Alone: return sizeof(bool);
    case Text:
    case Maybe: return sizeof(char *);
    case List:
    case Rest:  return sizeof(Texts);
    case Int:   return sizeof(int64_t);
    case Real:  return sizeof(double);
    case Float: return sizeof(float);
    default:    return sizeof(int);
    }
}

/* True if the command takes the option after those that all commands have. */
static bool taken(const Command *c, const Option *row)
{
    return (row->commands & c->bit) && !OPTION_IN(row, common) && !row->apply;
}

/* Tests that options of one command share a variable only if they are synonyms.
 */
static void places(void **state)
{
    static Options base;
    (void)state;
    for (int k = 0; k < n_commands; k++)
        for (int i = 0; i < n_options; i++) {
            const Option *x = &option_table[i];
            char *at = option_place(&base, x);
            if (!taken(&commands[k], x))
                continue;
            assert_true(x->at + size_of(x) <= sizeof(Options));
            for (int j = 0; j < i; j++) {
                const Option *y = &option_table[j];
                char *other = option_place(&base, y);
                if (!taken(&commands[k], y))
                    continue;
                const bool apart = at + size_of(x) <= other
                                || other + size_of(y) <= at;
                const bool same = strncmp(x->help, "the same as ", 12) == 0
                               && (strcmp(x->help + 12, y->name) == 0
                                   || (x->kind == Json && y->kind == Form));
                if (apart == same)
                    fail_msg("%s: %s and %s", commands[k].name, x->name,
                             y->name);
            }
        }
}

/* Returns a value that is not the default. */
static const char *value_of(Arena *a, const Option *row)
{
    switch (row->kind) {
    case Int:
    case Real:
    case Float:
        return arena_printf(a, "%g",
                            row->max != row->default_value ? row->max
                                                           : row->min);
    case Word:
    case Form:
    case Words: return row->words[1];
    default:    return "text";
    }
}

static bool is_usual(const void *at, const Option *row)
{
    static const Texts none;
    switch (row->kind) {
    case Flag:
    case Alone: return !*(const bool *)at;
    case Text:
    case Maybe: return !*(char *const *)at;
    case List:
    case Rest:  return memcmp(at, &none, sizeof none) == 0;
    case Int:   return (double)*(const int64_t *)at == row->default_value;
    case Real:  return !(*(const double *)at != row->default_value);
    case Float: return !(*(const float *)at != (float)row->default_value);
    default:    return *(const int *)at == (int)row->default_value;
    }
}

static void try_option(Arena *a, const Command *c, const Option *row,
                       const char *value)
{
    const bool operand = row->name[0] != '-';
    char *words[8];
    int n = 0;
    for (int k = 0; k < c->least && !operand; k++)
        words[n++] = arena_printf(a, "spec%d", k);
    for (const Option *x = option_table; operand && x < row; x++)
        if (taken(c, x) && x->name[0] != '-') /* precedes it */
            words[n++] = arena_strdup(a, value_of(a, x));
    if (!operand)
        words[n++] = arena_strdup(a, row->name);
    if (row->kind == Maybe)
        words[n - 1] = arena_printf(a, "%s=%s", row->name, value);
    else if (row->takes)
        words[n++] = arena_strdup(a, value);
    while (n < c->least)
        words[n++] = arena_strdup(a, "more");
    Options *o = options_parse(a, c, n, words);
    for (int i = 0; i < n_options; i++) {
        const Option *x = &option_table[i];
        const void *at = option_place(o, x);
        const bool given = at == option_place(o, row)
                        || (x->name[0] != '-' && n > 1)
                        || ((strcmp(row->name, "--fix") == 0
                             || strcmp(row->name, "--ranks") == 0
                             || strcmp(row->name, "--sum-ranks") == 0)
                            && strcmp(x->name, "--set") == 0); /* are --set */
        if (taken(c, x) && !given && !is_usual(at, x))
            fail_msg("%s %s changes %s", c->name, row->name, x->name);
    }
    if (is_usual(option_place(o, row), row))
        fail_msg("%s %s is not kept", c->name, row->name);
}

static void values(void **state)
{
    Arena *a = arena_new();
    (void)state;
    for (int k = 0; k < n_commands; k++)
        for (int i = 0; i < n_options; i++)
            if (taken(&commands[k], &option_table[i])) {
                const Option *row = &option_table[i];
                try_option(a, &commands[k], row, value_of(a, row));
                if ((row->kind == Int || row->kind == Real
                     || row->kind == Float)
                    && row->min != row->default_value)
                    try_option(a, &commands[k], row,
                               arena_printf(a, "%.17g", row->min));
            }
    arena_free(a);
}

static void budgets(void **state)
{
    (void)state;
    assert_int_equal(budget_seconds("90"), 90);
    assert_true(budget_seconds("1.5s") < 1.6);
    assert_int_equal(budget_seconds("2m"), 120);
    assert_int_equal(budget_seconds("1h"), 3600);
    assert_int_equal(budget_seconds("168h"), 7 * 24 * 3600);
}

static Options early_of(const char *command, const char *line)
{
    char text[200], *words[20];
    int n = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        words[n++] = w;
    return options_early(command_find(command), n, words);
}

/* Tests that options of all commands are found anywhere, but not as a value or
 * after "--", and even if another word is wrong. */
static void common(void **state)
{
    (void)state;
    for (int k = 0; k < n_commands; k++) {
        const char *name = commands[k].name;
        assert_int_equal(early_of(name, "").color, ColorAuto);
        assert_false(early_of(name, "").common.help);
        assert_int_equal(early_of(name, "--color=never").color, ColorNever);
        assert_int_equal(early_of(name, "--color auto").color, ColorAuto);
        assert_int_equal(early_of(name, "x --no-such --color always").color,
                         ColorAlways);
        assert_int_equal(early_of(name, "--color=always --color=green").color,
                         ColorAlways);
        assert_int_equal(early_of(name, "-- --color=always").color, ColorAuto);
        assert_true(early_of(name, "--no-such x --help").common.help);
        assert_true(early_of(name, "-h").common.help);
        assert_true(early_of(name, "--no-such -V").common.version);
        assert_true(option_taken(commands[k].bit, "--quiet"));
        assert_false(early_of(name, "-- --help").common.help);
    }
    assert_int_equal(early_of("run", "--prompt --color=never").color,
                     ColorAuto);
    assert_false(early_of("run", "--prompt --help").common.help);
    assert_true(early_of("run", "--prompt= --help").common.help);
    assert_true(early_of("run", "--color --help -h").common.help);
    assert_true(early_of("plan", "x --quiet").common.quiet);
    assert_false(early_of("plan", "x").common.quiet);
}

/* Tests that the help has all options of a command, under headings, in lines of
 * 80 columns. */
static void help(void **state)
{
    (void)state;
    for (int k = 0; k < n_commands; k++) {
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        print_help(out, &commands[k]);
        fclose(out);
        for (int i = 0; i < n_options; i++) {
            char row[80];
            snprintf(row, sizeof row, "\n  %s", option_table[i].name);
            if ((option_table[i].commands & commands[k].bit)
                && option_table[i].name[0] == '-' && !strstr(text, row))
                fail_msg("help %s has no%s", commands[k].name, row + 2);
        }
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
            if (strcspn(at, "\n") > 80)
                fail_msg("help %s: %.*s", commands[k].name,
                         (int)strcspn(at, "\n"), at);
        free(text);
    }
}

/* Tests that each command has a row of page_rows.h and returns at least one
 * normal status. */
static void pages_there(void **state)
{
    (void)state;
    for (int k = 0; k < n_commands; k++) {
        if (!pages[k].about)
            fail_msg("page_rows.h has no %s", commands[k].name);
        for (int i = 0; i < PageExamples; i++)
            assert_true(*pages[k].example[i].what);
    }
    for (int i = 0; i < n_exits; i++)
        assert_true(exit_table[i].commands);
    assert_int_equal(exit_table[0].code, ExitDone);
    assert_int_equal(exit_table[0].commands, CmdAll);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),  cmocka_unit_test(values),
        cmocka_unit_test(common),  cmocka_unit_test(help),
        cmocka_unit_test(budgets), cmocka_unit_test(pages_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
