/* rotary_test.c: tests frequencies of rotary positions, scaled in each way,
 * with the factor of queries and keys, against transformers
 * (tests/torch/make_rope.py), and the packed table against the frequencies. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "support/load_spec.h"

/* transformers computes in float: 5 ulp. */
static const double most = 6.0e-7;

/* Reads one line of the file; it ends where the next line begins. */
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');

    assert_non_null(end);
    *end = '\0';
    *at = end + 1;
    return line;
}

static Spec *load_rotary(Arena *a, const char *positions, long d_k,
                         long max_len)
{
    const char *text = arena_printf(
        a,
        "attnc: 1\nname: m\nkind: decoder\nd_model: 4\nh: 1\nd_k: %ld\n"
        "d_ff: 4\nN: 1\nmax_len: %ld\nvocab.size: 4\npositions: %s\n",
        d_k, max_len, positions);
    const Source source = { "rotary", text, strlen(text), 0 };
    Spec *s = spec_read(a, "rotary", &source, NULL, 0);

    assert_non_null(s);
    return s;
}

static void assert_near(double ours, double theirs, const char *what)
{
    if (fabs(ours - theirs) > most * fabs(theirs))
        fail_msg("%s: %.9g, transformers has %.9g", what, ours, theirs);
}

static void compare_rates(Arena *a, const Spec *s, const char *what,
                          double factor, char *theirs)
{
    const int64_t columns = spec_rotary_columns(s, SideDecoder);
    const int64_t pairs = columns / 2;
    double *rate = arena_alloc(a, (size_t)pairs * sizeof *rate);

    assert_near(spec_rotary(s, columns, s->side[SideDecoder].max_len, rate),
                factor, what);
    for (int64_t i = 0; i < pairs; i++)
        assert_near(rate[i], strtod(theirs, &theirs), what);
    assert_int_equal(*theirs, '\0');
}

static void as_transformers(void **state)
{
    const char *path = "tests/torch/rope.txt";
    Fault why;
    File file;
    int cases = 0;

    (void)state;
    assert_true(file_read(&file, path, 1 << 20, &why));
    Arena *a = arena_new();
    char *text = arena_strndup(a, (const char *)file.at, file.size);
    file_close(&file);
    for (; *text; cases++) {
        const char *positions = next_line(&text);
        char *sizes = next_line(&text);
        const long d_k = strtol(sizes, &sizes, 10);
        const long max_len = strtol(sizes, &sizes, 10);
        const double factor = strtod(sizes, NULL);
        compare_rates(a, load_rotary(a, positions, d_k, max_len), positions,
                      factor, next_line(&text));
    }
    assert_int_equal(cases, 17);
    arena_free(a);
}

/* Tests the table that the model reads: cosines, then sines, for integer
 * positions. */
static void packed_table(void **state)
{
    static const double rate[] = { 0.5, 0.001 };
    const PackItem item = {
        .table = TableRotary, .rows = 100, .k = 4, .rate = rate, .factor = 1.25
    };

    (void)state;
    for (int64_t r = 0; r < item.rows; r++) {
        float row[4];
        table_floats(&item, r, 1, 0, 4, row, 4);
        for (int c = 0; c < 4; c++) {
            const double angle = (double)r * rate[c % 2];
            const double x = 1.25 * (c < 2 ? cos(angle) : sin(angle));
            assert_true(row[c] == (float)x);
        }
    }
}

/* Tests the table of queries that grow: every 7 positions. */
static void growing_table(void **state)
{
    static const double rate[] = { 0.5 };
    const PackItem item = { .table = TableRotary,
                            .rows = 29,
                            .k = 2,
                            .rate = rate,
                            .factor = 2,
                            .growth = 0.1,
                            .length = 7 };
    static const struct {
        int64_t row;
        double factor;
    } rows[] = { { 0, 2 },
                 { 6, 2 },
                 { 7, 2.138629436111989 },
                 { 13, 2.138629436111989 },
                 { 14, 2.219722457733622 },
                 { 28, 2.32188758248682 } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float row[2];
        table_floats(&item, rows[i].row, 1, 0, 2, row, 2);
        const double angle = (double)rows[i].row * rate[0];
        assert_true(fabs((double)row[0] - rows[i].factor * cos(angle)) < 3e-7);
        assert_true(fabs((double)row[1] - rows[i].factor * sin(angle)) < 3e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_transformers),
        cmocka_unit_test(packed_table),
        cmocka_unit_test(growing_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
