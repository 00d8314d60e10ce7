/* table_test.c: tests which columns of a table fit a terminal. */
#define _GNU_SOURCE /* posix_openpt */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

#include <cmocka.h>

#include "records/records.h"
#include "support/skip.h"
#include "support/terminal.h"

static void cuts(void **state)
{
    (void)state;
    Arena *a = arena_new();
    assert_string_equal(cut_middle(a, "encoder.0.w1", 12), "encoder.0.w1");
    assert_string_equal(cut_middle(a, "encoder.0.w1", 11), "enco...0.w1");
    assert_string_equal(cut_middle(a, "encoder.0.w1", 6), "e...w1");
    assert_string_equal(cut_middle(a, "encoder.0.w1", 4), "enco");
    for (int width = 1; width < 20; width++)
        assert_in_range(strlen(cut_middle(a, "encoder.0.ffn.w1", width)), 1,
                        width);
    arena_free(a);
}

/* Tests that columns of the highest rank are dropped first, rank 0 never. */
static void fits(void **state)
{
    (void)state;
    TableFit c[] = {
        { 10, 0, false }, { 8, 2, false }, { 7, 1, false }, { 9, 2, false }
    };
    assert_int_equal(table_fit(c, 4, 0), 0);
    assert_true(c[0].shown && c[1].shown && c[2].shown && c[3].shown);
    assert_int_equal(table_fit(c, 4, 40), 6);
    assert_true(c[1].shown && c[3].shown);
    assert_int_equal(table_fit(c, 4, 33), 7);
    assert_true(!c[1].shown && c[2].shown && c[3].shown);
    assert_int_equal(table_fit(c, 4, 17), 0);
    assert_true(c[0].shown && c[2].shown && !c[3].shown);
    assert_int_equal(table_fit(c, 4, 6), -4);
    assert_true(c[0].shown && !c[2].shown);
}

/* Tests a record's lines on terminals of all widths. */
static void on_terminal(void **state)
{
    (void)state;
    int other;
    const int fd = terminal_open(80, &other);
    if (fd < 0)
        SKIP("this system gives no terminal");
    Arena *a = arena_new();
    Records r = { 0 };
    Record one = { .host = { "cpu", "caches", "x86-64-v4", 2, "libtcc" },
                   .key = { .shape = "512x2048", .epilogue = "bias_residual" },
                   .tiling = { .mr = 14, .nr = 32, .k = 512 },
                   .ns = 1e6,
                   .usual_ns = 1.1e6,
                   .samples = 31 };
    vec_push(a, &r.at, one);
    FILE *out = fdopen(other, "w");
    color_choose(ColorNever);
    assert_int_equal(table_room(out), 80);
    for (int columns = 50; columns < 130; columns += 5) {
        const struct winsize size = { .ws_row = 24,
                                      .ws_col = (unsigned short)columns };
        assert_int_equal(ioctl(other, TIOCSWINSZ, &size), 0);
        records_table(&r, out);
        fflush(out);
        const char *s = strstr(terminal_text(fd), "op ");
        assert_non_null(s);
        assert_non_null(strstr(s, "gain"));
        if (columns < 60)
            assert_null(strstr(s, "samples"));
        if (columns > 110)
            assert_non_null(strstr(s, "samples"));
        for (; *s; s += strspn(s, "\r\n")) {
            assert_in_range(strcspn(s, "\r\n"), 0, columns);
            s += strcspn(s, "\r\n");
        }
    }
    color_choose(ColorAlways);
    records_table(&r, out);
    fflush(out);
    assert_non_null(strstr(terminal_text(fd), "\n\033[1m  op "));
    color_choose(ColorAuto);
    fclose(out);
    close(fd);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts),
        cmocka_unit_test(fits),
        cmocka_unit_test(on_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
