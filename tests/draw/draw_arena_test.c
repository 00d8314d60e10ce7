/* draw_arena_test.c: tests the picture of an arena for every random form: no
 * value overlaps another that is in use, none leaves the arena, and the sums
 * equal the plan's. */
#define _GNU_SOURCE /* mkdtemp */
#include "draw/arena_picture.h"
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/check_xml.h"
#include "support/form_files.h"
#include "support/scratch.h"

enum { Forms = 200 };

static const char *name(const ArenaPicture *d, int value)
{
    return node_at(d->p, d->value.at[value].node)->name;
}

static void check_values(const ArenaPicture *d)
{
    for (int i = 0; i < d->value.n; i++) {
        const ArenaValue *v = &d->value.at[i];
        if (!(v->from < v->to && v->from >= 0 && v->to <= d->step.n
              && v->at >= 0 && v->at + v->bytes <= d->bytes - d->scratch))
            fail_msg("%s: steps %g to %g of %d, bytes %lld to %lld of %lld",
                     name(d, i), v->from, v->to, d->step.n, (long long)v->at,
                     (long long)(v->at + v->bytes), (long long)d->bytes);
        for (int k = 0; k < i; k++) {
            const ArenaValue *o = &d->value.at[k];
            if (v->from < o->to && o->from < v->to && v->at < o->at + o->bytes
                && o->at < v->at + v->bytes)
                fail_msg("%s lies on %s", name(d, i), name(d, k));
        }
    }
}

/* Checks the sums over all layers, including those that are not drawn. */
static void check_sums(const ArenaPicture *d)
{
    const Plan *p = d->p;
    const AffineSize size = p->arena[d->entry];
    int64_t apart = 4 * p->scratch;
    int steps = 0;
    for (int o = 0; o < p->order.n; o++) {
        const int node = p->order.at[o];
        if (node_at(p, node)->entry != d->entry) {
            assert_int_equal(d->column[o], -1);
            continue;
        }
        assert_in_range(d->column[o], 0, (uintmax_t)d->step.n - 1);
        assert_int_equal(node_at(p, d->step.at[d->column[o]])->op,
                         node_at(p, node)->op);
        steps++;
        if (p->value[node].place == PlaceArena)
            apart += 4
                   * affine_at(value_floats(p, node), d->rows, d->sequences, 1);
    }
    assert_int_equal(d->apart, apart);
    assert_int_equal(d->bytes, 4 * affine_at(size, d->rows, d->sequences, 1));
    assert_true(d->most <= d->bytes && d->bytes <= d->apart);
    for (int i = 0; i < d->layers.n; i++) {
        const ArenaLayers *l = &d->layers.at[i];
        steps -= (l->count - 1) * (l->step[1] - l->step[0] + 1);
    }
    assert_int_equal(steps, d->step.n);
}

static void check_arena(const EngineOptions *o)
{
    Engine e;
    assert_int_equal(engine_plan(&e, o), ExitDone);
    for (Entry entry = EntryEncode; entry <= EntryDecode; entry++)
        if (has_entry(e.plan, entry)) {
            const ArenaPicture d = arena_picture(e.arena, e.plan, entry);
            check_values(&d);
            check_sums(&d);
        }
    const char *svg = draw_arena(e.arena, e.plan);
    assert_int_equal(check_xml(svg, "svg"), 1);
    assert_null(strstr(svg, "nan"));
    engine_close(&e);
}

static void test_forms(void **state)
{
    static const char *const fused[] = { "all" };
    (void)state;
    for (uint64_t seed = 0; seed < Forms; seed++) {
        Arena *a = arena_new();
        EngineOptions o = { .spec = write_form(a, scratch, seed),
                            .march = "x86-64-v3" };
        check_arena(&o);
        o.passes = (PassOptions){ .skip = fused, .nskip = 1 };
        check_arena(&o);
        arena_free(a);
    }
}

/* Tests that equal layers of base are drawn once, and a kept one separately. */
static void test_folds(void **state)
{
    (void)state;
    Engine e;
    EngineOptions o = { .spec = "models/transformer-base.yaml",
                        .march = "x86-64-v3" };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    ArenaPicture d = arena_picture(e.arena, e.plan, EntryEncode);
    assert_int_equal(d.rows, 128);
    assert_int_equal(d.layers.n, 2);
    assert_int_equal(d.layers.at[0].count, 6);
    assert_int_equal(d.layers.at[1].count, 6);
    d = arena_picture(e.arena, e.plan, EntryDecode);
    assert_int_equal(d.rows, 4);
    assert_int_equal(d.layers.n, 1);
    engine_close(&e);
    o.taps = (const char *const[]){ "encoder.2.norm1" };
    o.ntaps = 1;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    d = arena_picture(e.arena, e.plan, EntryEncode);
    assert_int_equal(d.layers.n, 4);
    assert_int_equal(d.layers.at[1].count, 1);
    check_values(&d);
    engine_close(&e);
}

static void test_hostile_names(void **state)
{
    (void)state;
    Engine e;
    const EngineOptions o = { .spec = "models/tiny.yaml",
                              .march = "x86-64-v3" };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    e.spec->name = "<&>\"'\xff";
    for (int i = 0; i < e.graph->nodes.n; i++)
        e.graph->nodes.at[i].name = "</title>\x01&";
    const char *svg = draw_arena(e.arena, e.plan);
    assert_int_equal(check_xml(svg, "svg"), 1);
    assert_null(strstr(svg, "</title>\\x01"));
    assert_non_null(strstr(svg, "&#60;&#38;&#62;&#34;'\\xFF: the arena"));
    engine_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_hostile_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
