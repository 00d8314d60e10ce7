/* draw_graph_test.c: tests the picture of a graph for every random form, as
 * built, after each pass and at the end: nothing overlaps. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "draw/graph_picture.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "support/check_xml.h"
#include "support/form_files.h"
#include "support/scratch.h"

enum { Forms = 300 };

typedef struct { /* a text, and the line that it may touch: none */
    Area area;
    int net;
} Label;

typedef struct {
    Arena *arena;
    const Picture *p;
    VEC(Label) label;
} Seen;

/* ---- areas ---- */
static bool meet(const Area *a, const Area *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h
        && b->y < a->y + a->h;
}

static bool is_in(const Area *a, const Area *b)
{
    return a->x >= b->x - 0.01 && a->x + a->w <= b->x + b->w + 0.01
        && a->y >= b->y - 0.01 && a->y + a->h <= b->y + b->h + 0.01;
}

/* Returns the area of a piece of a line, `by` shorter at both ends. */
static Area piece(const Point *a, const Point *b, double by)
{
    const double x = fmin(a->x, b->x), y = fmin(a->y, b->y);
    const double w = fabs(a->x - b->x), h = fabs(a->y - b->y);
    return (Area){ x + (w > 0 ? by : -0.5), y + (h > 0 ? by : -0.5),
                   w > 0 ? w - 2 * by : 1, h > 0 ? h - 2 * by : 1 };
}

static const char *name(const Seen *s, int box)
{
    return s->p->g->nodes.at[s->p->box.at[box].node].name;
}

static void collect_labels(Seen *s)
{
    const Picture *p = s->p;
    for (int i = 0; i < p->net.n; i++) {
        vec_push(s->arena, &s->label, ((Label){ p->net.at[i].label, i }));
        for (int k = 0; k < p->net.at[i].sink.n; k++)
            if (*p->net.at[i].sink.at[k].port)
                vec_push(s->arena, &s->label,
                         ((Label){ p->net.at[i].sink.at[k].label, i }));
    }
    for (int i = 0; i < p->segment.n; i++)
        if (p->segment.at[i].banded)
            vec_push(s->arena, &s->label,
                     ((Label){ p->segment.at[i].label, -1 }));
    for (int i = 0; i < p->run.n; i++)
        vec_push(s->arena, &s->label, ((Label){ p->run.at[i].label, -1 }));
}

/* ---- rules ---- */
static void check_boxes(const Seen *s)
{
    const Picture *p = s->p;
    const Area page = { 0, 0, p->width, p->height };
    for (int i = 0; i < p->box.n; i++) {
        const Area *a = &p->box.at[i].area;
        if (!is_in(a, &page))
            fail_msg("%s is not on the page", name(s, i));
        for (int k = 0; k < i; k++)
            if (meet(a, &p->box.at[k].area))
                fail_msg("%s lies on %s", name(s, i), name(s, k));
    }
    for (int i = 0; i < p->run.n; i++)
        assert_true(is_in(&p->run.at[i].area, &page));
    for (int i = 0; i < p->segment.n; i++)
        if (p->segment.at[i].banded)
            assert_true(is_in(&p->segment.at[i].area,
                              &p->run.at[p->segment.at[i].run].area));
}

/* Checks that a box is inside its band and its layers' frame, and in no other.
 */
static void check_frames(const Seen *s)
{
    const Picture *p = s->p;
    for (int i = 0; i < p->box.n; i++) {
        const Box *b = &p->box.at[i];
        for (int k = 0; k < p->segment.n; k++)
            if (p->segment.at[k].banded
                && meet(&b->area, &p->segment.at[k].area) != (b->segment == k))
                fail_msg("%s and band %d", name(s, i), k);
        for (int k = 0; k < p->run.n; k++)
            if (meet(&b->area, &p->run.at[k].area)
                != (p->segment.at[b->segment].run == k))
                fail_msg("%s and frame %d", name(s, i), k);
    }
}

static void check_labels(const Seen *s)
{
    const Picture *p = s->p;
    const Area page = { 0, 0, p->width, p->height };
    for (int i = 0; i < s->label.n; i++) {
        const Area *a = &s->label.at[i].area;
        assert_true(is_in(a, &page));
        for (int k = 0; k < p->box.n; k++)
            if (meet(a, &p->box.at[k].area))
                fail_msg("a text lies on %s", name(s, k));
        for (int k = 0; k < i; k++)
            if (meet(a, &s->label.at[k].area))
                fail_msg("texts %d and %d lie on each other", i, k);
    }
}

/* Checks that a line that ends at a box ends on the box's edge. */
static void check_line(const Seen *s, int net, const Sink *sink)
{
    const Picture *p = s->p;
    const Area page = { 0, 0, p->width, p->height };
    for (int j = 1; j < sink->points; j++) {
        const Point *a = &sink->point[j - 1], *b = &sink->point[j];
        const Area line = piece(a, b, 0.01);
        assert_true(fabs(a->x - b->x) < 0.01 || fabs(a->y - b->y) < 0.01);
        assert_true(is_in(&line, &page));
        for (int k = 0; k < p->box.n; k++)
            if (meet(&line, &p->box.at[k].area))
                fail_msg("the line of %s to %s goes through %s",
                         name(s, p->net.at[net].source), name(s, sink->box),
                         name(s, k));
        for (int k = 0; k < s->label.n; k++)
            if (meet(&line, &s->label.at[k].area))
                fail_msg("the line of %s to %s goes through a text at "
                         "%.0f %.0f",
                         name(s, p->net.at[net].source), name(s, sink->box),
                         s->label.at[k].area.x, s->label.at[k].area.y);
    }
}

/* Checks that lines of two values may cross, but never overlap. */
static void check_apart(const Seen *s, const Sink *x, const Sink *y)
{
    for (int i = 1; i < x->points; i++)
        for (int j = 1; j < y->points; j++) {
            const Point *a = &x->point[i - 1], *b = &x->point[i];
            const Point *c = &y->point[j - 1], *d = &y->point[j];
            const bool upright = fabs(a->x - b->x) < 0.01;
            const Area one = piece(a, b, 0), two = piece(c, d, 0);
            if (upright == (fabs(c->x - d->x) < 0.01) && meet(&one, &two))
                fail_msg("lines to %s and %s at %.0f %.0f", name(s, x->box),
                         name(s, y->box), one.x, one.y);
        }
}

static void check_lines(const Seen *s)
{
    const Picture *p = s->p;
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            const Sink *x = &p->net.at[i].sink.at[k];
            const Box *from = &p->box.at[p->net.at[i].source];
            const Box *to = &p->box.at[x->box];
            check_line(s, i, x);
            assert_true(fabs(x->point[0].y - from->area.y) < 0.01);
            assert_true(
                fabs(x->point[x->points - 1].y - to->area.y - to->area.h)
                < 0.01);
            assert_true(from->column < to->column || from->rank < to->rank);
            for (int j = 0; j < i; j++)
                for (int m = 0; m < p->net.at[j].sink.n; m++)
                    check_apart(s, x, &p->net.at[j].sink.at[m]);
        }
}

/* Checks that each box reads what its node reads. */
static int lines_to(const Picture *p, int box)
{
    int lines = 0;
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++)
            lines += p->net.at[i].sink.at[k].box == box;
    return lines;
}

static void check_inputs(const Seen *s)
{
    const Picture *p = s->p;
    for (int i = 0; i < p->box.n; i++) {
        const Node *n = &p->g->nodes.at[p->box.at[i].node];
        int inputs = 0;
        for (int k = 0; k < n->nin; k++) {
            bool again = n->in[k] < 0 || is_constant(p->g, n->in[k]);
            for (int j = 0; j < k; j++)
                again |= n->in[j] == n->in[k];
            inputs += !again;
        }
        assert_int_equal(lines_to(p, i), inputs);
    }
}

static void check_picture(Arena *a, const Graph *g)
{
    Seen s = { .arena = a, .p = picture_of(a, g) };
    collect_labels(&s);
    check_inputs(&s);
    check_boxes(&s);
    check_frames(&s);
    check_labels(&s);
    check_lines(&s);
    check_xml(draw_graph(a, g, "as it runs"), "g");
}

/* ---- forms ---- */

/* Returns the graph of a spec after this many passes. */
static Graph *graph_of(Arena *a, const Spec *s, int passes_run)
{
    Graph *g = build_graph(a, s);
    const PassOptions o = { .after = passes_run ? passes[passes_run - 1].name
                                                : NULL };
    if (passes_run)
        assert_true(run_passes(g, &o, stderr));
    return g;
}

static void test_forms(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < Forms; seed++) {
        Arena *a = arena_new();
        const Spec *s = spec_load(a, write_form(a, scratch, seed), NULL, 0);
        assert_non_null(s);
        check_picture(a, graph_of(a, s, 0));
        check_picture(a, graph_of(a, s, n_passes));
        check_picture(a, graph_of(a, s, (int)seed % n_passes + 1));
        arena_free(a);
    }
}

/* Tests every model of the repository after every pass. */
static void test_models(void **state)
{
    static const char *const models[] = {
        "transformer-base", "tiny",     "minilm",    "llama-110m",
        "gpt2-small",       "t5-small", "attention", "stories260K",
    };
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Arena *a = arena_new();
        const Spec *s = spec_load(a,
                                  arena_printf(a, "models/%s.yaml", models[i]),
                                  NULL, 0);
        assert_non_null(s);
        for (int k = 0; k <= n_passes; k++)
            check_picture(a, graph_of(a, s, k));
        arena_free(a);
    }
}

/* ---- folds ---- */
static void test_folds(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Spec *s = spec_load(a, "models/transformer-base.yaml", NULL, 0);
    const Graph *g = graph_of(a, s, n_passes);
    const Picture *p = picture_of(a, g);
    assert_int_equal(p->run.n, 2);
    assert_int_equal(p->run.at[0].count, 6);
    assert_int_equal(p->run.at[1].count, 6);
    assert_int_equal(p->box.n, 11 + 5 + 17 - 1);
    Graph *other = graph_copy(a, g);
    const int node = graph_find(other, "encoder.2.norm1");
    assert_true(node >= 0);
    other->nodes.at[node].eps = 1e-3; /* 0 and 1, 2, 3 to 5 */
    p = picture_of(a, other);
    assert_int_equal(p->run.n, 4);
    assert_int_equal(p->run.at[0].count, 2);
    assert_int_equal(p->run.at[1].count, 1);
    assert_string_equal(p->run.at[1].name, "encoder layer 2");
    assert_int_equal(p->run.at[2].count, 3);
    assert_string_equal(p->run.at[2].name, "encoder layers 3 to 5");
    check_picture(a, other);
    arena_free(a);
}

/* ---- page ---- */
static void assert_attribute(const char *svg, const char *before, double most)
{
    const char *at = strstr(svg, before);
    assert_non_null(at);
    assert_true(strtod(at + strlen(before), NULL) <= most);
}

/* 210 mm by 297 mm, at 96 pixels per inch. */
static void test_base_fits_a_page(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Spec *s = spec_load(a, "models/transformer-base.yaml", NULL, 0);
    const char *svg = draw_graph(a, graph_of(a, s, n_passes), "x");
    assert_attribute(svg, " width=\"", 210 / 25.4 * 96);
    assert_attribute(svg, " height=\"", 297 / 25.4 * 96);
    arena_free(a);
}

static void test_hostile_names(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec *s = spec_load(a, "models/tiny.yaml", NULL, 0);
    s->name = "<&>\"'\xff\x01 \xe4\xbd\xa0";
    Graph *g = graph_of(a, s, n_passes);
    for (int i = 0; i < g->nodes.n; i++)
        g->nodes.at[i].word = g->nodes.at[i].name =
            arena_printf(a, "</text>\"&\x02%d", i);
    const char *svg = draw_graph(a, g, "as it runs");
    assert_int_equal(check_xml(svg, "svg"), 1);
    assert_non_null(strstr(svg, "&#60;&#38;&#62;&#34;'\\xFF\\x01 "
                                "\xe4\xbd\xa0: the graph"));
    assert_null(strstr(svg, "</text>\""));
    check_picture(a, g);
    arena_free(a);
}

static void test_spread(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spot at[] = { { 0, 1, 10 }, { 4, 1, 10 }, { 50, 1, 10 }, { 50, 3, 10 } };
    spread(a, at, 4);
    assert_true(fabs(at[0].x + 3) < 1e-9 && fabs(at[1].x - 7) < 1e-9);
    assert_true(fabs(at[2].x - 42.5) < 1e-9 && fabs(at[3].x - 52.5) < 1e-9);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test_setup_teardown(test_forms, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_base_fits_a_page),
        cmocka_unit_test(test_hostile_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
