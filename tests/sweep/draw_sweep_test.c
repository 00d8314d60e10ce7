/* draw_sweep_test.c: tests scales, labels that do not overlap, and pictures of
 * rows: well-formed, all marks inside, the same each time. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep_draw.h"

#include <cmocka.h>
#undef fail /* base.h has another one */

#include "support/check_xml.h"

/* ---- scales ---- */
static Scale scale_of(UnitKind kind, double least, double most, bool zero)
{
    Scale s = scale_new(kind);
    scale_widen(&s, least);
    scale_widen(&s, most);
    scale_end(&s, zero);
    return s;
}

static void check_scale(UnitKind kind, double least, double most,
                        bool logarithmic, const char *word)
{
    Arena *a = arena_new();
    const Scale s = scale_of(kind, least, most, true);
    double tick[MostTicks];
    const int n = scale_ticks(&s, 6, tick);
    assert_int_equal(s.logarithmic, logarithmic);
    assert_string_equal(s.word, word);
    assert_true(scale_part(&s, least) >= 0 && scale_part(&s, most) <= 1);
    assert_true(scale_part(&s, least) <= scale_part(&s, most));
    assert_in_range(n, 2, 16);
    for (int i = 0; i < n; i++) {
        assert_true(scale_part(&s, tick[i]) > -1e-9);
        assert_true(scale_part(&s, tick[i]) < 1 + 1e-9);
        assert_true(i == 0 || tick[i] > tick[i - 1]);
        /* texts are short and equal their value */
        const char *text = scale_text(a, &s, tick[i], 4);
        assert_true(strlen(text) <= 9);
        assert_true(fabs(atof(text) * s.unit - tick[i])
                    <= 0.006 * fabs(tick[i]) + 1e-12);
    }
    arena_free(a);
}

static void test_scales(void **state)
{
    (void)state;
    check_scale(UnitSeconds, 12e-6, 90e-6, false, "us");
    check_scale(UnitSeconds, 0.5e-3, 90e-3, true, "ms");
    check_scale(UnitSeconds, 3, 3, false, "s");
    check_scale(UnitCount, 22912, 23000, false, "thousands");
    check_scale(UnitCount, 1e3, 7e9, true, "millions");
    check_scale(UnitCount, 0, 900, false, "");
    check_scale(UnitCount, 0, 0, false, "");
    check_scale(UnitFlops, 1e6, 1e12, true, "GFLOP");
    check_scale(UnitBytes, 1e6, 19e6, false, "MB");
    check_scale(UnitPart, 0.2, 1.1, false, "%");
    check_scale(UnitRate, 900, 15000, false, "thousands a second");
    check_scale(UnitWord, -8, 800, false, "");
}

/* Tests the distance of ticks: 1, 2 or 5 times a power of ten, for about six
 * ticks on an axis from 0 to 1.08 times the largest value. */
static void test_steps(void **state)
{
    static const struct {
        double most, step;
        int n;
    } cases[] = {
        { 5, 1, 6 },     /* to 5.4: 0 to 5 */
        { 10, 2, 6 },    /* to 10.8: 0 to 10 */
        { 20, 5, 5 },    /* to 21.6: 0 to 20 */
        { 32, 10, 4 },   /* to 34.56: 0 to 30 */
        { 320, 100, 4 }, /* ten times as much */
        { 55, 10, 6 },   /* to 59.4: 0 to 50 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double tick[MostTicks];
        const Scale s = scale_of(UnitWord, 0, cases[i].most, true);
        assert_int_equal(scale_ticks(&s, 6, tick), cases[i].n);
        for (int k = 0; k < cases[i].n; k++)
            assert_true(fabs(tick[k] - k * cases[i].step) < 1e-9);
    }
}

/* ---- labels ---- */
static bool overlap(const Area *a, const Area *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h
        && b->y < a->y + a->h;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 40;
}

/* Tests marks at random places: most have a label, and no label overlaps
 * another one or a mark. */
static void test_labels(void **state)
{
    enum { Marks = 60 };
    Arena *a = arena_new();
    uint64_t seed = 7;
    Labels l = { .arena = a, .inside = { 0, 0, 700, 420 } };
    Point at[Marks];
    Area box[Marks];
    int n = 0;
    (void)state;
    for (int i = 0; i < Marks; i++) {
        at[i].x = (double)(next_random(&seed) % 690) + 5;
        at[i].y = (double)(next_random(&seed) % 410) + 5;
        labels_take(&l, at[i], 5);
    }
    for (int i = 0; i < Marks; i++) {
        LabelPlace p;
        if (labels_place(&l, at[i], "h=4 N=2", LeadFree, &p))
            box[n++] = p.box;
    }
    assert_in_range(n, Marks / 2, Marks);
    for (int i = 0; i < n; i++) {
        assert_true(box[i].x >= 0 && box[i].x + box[i].w <= 700);
        assert_true(box[i].y >= 0 && box[i].y + box[i].h <= 420);
        for (int k = 0; k < i; k++)
            assert_false(overlap(&box[i], &box[k]));
        for (int k = 0; k < Marks; k++)
            assert_false(
                overlap(&box[i], &(Area){ at[k].x - 5, at[k].y - 5, 10, 10 }));
    }
    arena_free(a);
}

/* Tests that a label is cut only if it has more characters than fit. */
static void test_cut(void **state)
{
    Arena *a = arena_new();
    (void)state;
    assert_string_equal(label_cut(a,
                                  "\xc3\xa4"
                                  "bcd",
                                  4),
                        "\xc3\xa4"
                        "bcd");
    assert_string_equal(label_cut(a,
                                  "\xc3\xa4"
                                  "bcde",
                                  4),
                        "\xc3\xa4"
                        "bcd\xe2\x80\xa6");
    assert_string_equal(label_cut(a, "", 4), "");
    arena_free(a);
}

/* Tests that no name is drawn without space. */
static void test_no_room(void **state)
{
    Arena *a = arena_new();
    Labels l = { .arena = a, .inside = { 0, 0, 30, 30 } };
    LabelPlace p;
    (void)state;
    assert_false(
        labels_place(&l, (Point){ 15, 15 }, "transformer", LeadFree, &p));
    arena_free(a);
}

/* ---- pictures ---- */
typedef struct {
    SweepOptions options;
    Machine machine;
    Sweep s;
} Made;

static SweepOptions new_options(const char *const *vary, int n)
{
    static const char *const specs[] = { "a<&b.yaml" };
    return (SweepOptions){ .specs = specs,
                           .nspecs = 1,
                           .vary = vary,
                           .nvary = n,
                           .svg = "x.svg",
                           .columns = "parameters,weights",
                           .model = { .threads = -1 },
                           .work = { .steps = -1, .beam = 1 } };
}

/* Rows with times; the last one is rejected. */
static void make(Made *m, const char *const *vary, int n, const char *axes)
{
    Sweep *s = &m->s;
    memset(m, 0, sizeof *m);
    m->options = new_options(vary, n);
    m->options.axes = axes;
    *s = (Sweep){ .options = &m->options,
                  .arena = arena_new(),
                  .machine = &m->machine };
    axes_read(s->arena, &m->options, &s->axes);
    columns_read(s->arena, m->options.columns, "--columns", &s->columns,
                 &s->fields);
    draw_read(s);
    grid_make(s->arena, &m->options, &s->axes, &s->variants);
    for (int i = 0; i < s->variants.n; i++) {
        Row r = { .variant = &s->variants.at[i],
                  .state = i + 1 < s->variants.n ? RowTimed : RowRefused,
                  .parameters = 1000 + 97 * (i % 7),
                  .weights = 4000 - 97 * (i % 7) + 40 * (i % 3) };
        RowWork *w = &r.work[WorkSearch];
        w->there = true;
        w->tokens = 3;
        w->time = (Summary){ .n = 9,
                             .p50 = 1e-3 * (i + 1),
                             .low = 0.9e-3 * (i + 1),
                             .high = 1.2e-3 * (i + 1) };
        vec_push(s->arena, &s->rows, r);
    }
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* Checks that the points of a class of marks are inside a plot of this size. */
static int check_inside(const char *svg, const char *mark, double width,
                        double height)
{
    const char *at = svg;
    int n = 0;
    for (; (at = strstr(at, mark)); n++) {
        double x, y;
        at += strlen(mark);
        assert_int_equal(sscanf(at, "%lf %lf", &x, &y), 2);
        assert_true(x >= 0 && x <= width && y >= -6 && y <= height);
    }
    return n;
}

static const char dot[] = "<path class=\"dot\" transform=\"translate(";
static const char best[] = "<path class=\"best\" transform=\"translate(";

static const char *draw(Made *m)
{
    draw_check(&m->s);
    const char *svg = draw_sweep(&m->s);
    assert_non_null(svg);
    assert_string_equal(svg, draw_sweep(&m->s));
    check_xml(svg, "path");
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    assert_non_null(strstr(svg, "a&#60;&#38;b"));
    return svg;
}

/* Tests one numeric field: a line, its band, and the value next to each mark.
 */
static void test_line(void **state)
{
    static const char *const vary[] = { "h=1..6" };
    Made m;
    (void)state;
    make(&m, vary, 1, "latency");
    const char *svg = draw(&m);
    assert_int_equal(check_inside(svg, dot, 700, 420), 5);
    assert_int_equal(check_xml(svg, "g"), 2);
    assert_int_equal(count(svg, "<path class=\"line\""), 1);
    assert_int_equal(count(svg, "<path class=\"band\""), 1);
    assert_int_equal(count(svg, "latency against h"), 2);
    assert_non_null(strstr(svg, "1 of 6 variants are left out"));
    assert_non_null(strstr(svg, "h=2: h 2 , latency 2 ms (1.8 to 2.4)"));
    arena_free(m.s.arena);
}

/* Tests two fields: a panel for each value of one, lines over the other, which
 * is the numeric one, or the one of --axes. */
static void test_panels(void **state)
{
    static const char *const vary[] = { "h=1..3", "N=1..4" };
    static const char *const words[] = { "h=1..3", "dtype=f32,bf16" };
    Made m;
    (void)state;
    make(&m, vary, 2, NULL);
    const char *svg = draw(&m);
    assert_int_equal(check_inside(svg, dot, 230, 160), 11);
    assert_int_equal(count(svg, "<path class=\"line\""), 3);
    assert_non_null(strstr(svg, ">h 3</text>"));
    assert_non_null(strstr(svg, "parameters against N"));
    arena_free(m.s.arena);
    make(&m, vary, 2, "h,weights");
    svg = draw(&m);
    assert_int_equal(count(svg, "<path class=\"line\""), 4);
    assert_non_null(strstr(svg, "weights against h"));
    arena_free(m.s.arena);
    make(&m, words, 2, NULL);
    svg = draw(&m);
    assert_int_equal(count(svg, "<path class=\"line\""), 2);
    assert_non_null(strstr(svg, ">dtype bf16</text>"));
    arena_free(m.s.arena);
}

/* Tests that otherwise there is a scatter with the front of its two columns. */
static void test_scatter(void **state)
{
    static const char *const vary[] = { "h=1..3", "N=1..4", "d_ff=1..2" };
    Made m;
    (void)state;
    make(&m, vary, 3, "parameters,weights");
    const char *svg = draw(&m);
    const int front = check_inside(svg, best, 700, 420);
    assert_int_equal(check_inside(svg, dot, 700, 420) + front, 23);
    assert_in_range(front, 2, 22);
    assert_int_equal(count(svg, "<path class=\"front\""), 1);
    assert_int_equal(count(svg, "<path class=\"line\""), 0);
    arena_free(m.s.arena);
    /* bars for both intervals */
    make(&m, vary, 3, "latency,search");
    svg = draw(&m);
    assert_int_equal(count(svg, "<path class=\"thin\""), 2 * 23);
    assert_int_equal(check_inside(svg, "<path class=\"thin\" d=\"M", 700, 420),
                     2 * 23);
    arena_free(m.s.arena);
    make(&m, vary, 3, NULL);
    svg = draw(&m);
    assert_non_null(strstr(svg, "weights against parameters"));
    arena_free(m.s.arena);
}

/* Tests that there is no picture if no row has both values. */
static void test_nothing(void **state)
{
    static const char *const vary[] = { "h=1..2" };
    Made m;
    (void)state;
    make(&m, vary, 1, "h,step");
    assert_null(draw_sweep(&m.s));
    arena_free(m.s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_labels),  cmocka_unit_test(test_cut),
        cmocka_unit_test(test_no_room), cmocka_unit_test(test_line),
        cmocka_unit_test(test_panels),  cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
