/* loops_test.c: tests layers as nested loops: repetitions are found, nothing is
 * lost, and emitted text does not grow with the number of layers. */
#define _GNU_SOURCE
#include "emit/emit.h"
#include "emit/gen/layer_loops.h"
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/random_spec.h"

/* ---- what repeats ---- */

enum { MostItems = 200 };

/* Returns text such as "4(5(a) b) 2(a)"; letters are the items. */
static void put_shape(Buffer *text, const LoopItem *item, const Loop *l)
{
    for (const char *gap = ""; l; l = l->next, gap = " ") {
        buffer_printf(text, "%s", gap);
        if (l->rounds > 1)
            buffer_printf(text, "%d(", l->rounds);
        if (l->body)
            put_shape(text, item, l->body);
        else
            buffer_printf(text, "%c", item[l->first].like);
        if (l->rounds > 1)
            buffer_printf(text, ")");
    }
}

/* Makes items from letters; their numbers are given, or are their positions. */
static void assert_shape(const char *letters, const int64_t *numbers,
                         const char *shape)
{
    Arena *a = arena_new();
    LoopItem item[MostItems] = { 0 };
    Buffer text = { .arena = a };
    const int n = (int)strlen(letters);
    for (int i = 0; i < n; i++) {
        item[i].like = letters[i];
        item[i].number[0] = i;
        item[i].number[1] = numbers ? numbers[i] : i;
    }
    put_shape(&text, item, find_loops(a, item, n));
    assert_string_equal(text.at, shape);
    arena_free(a);
}

static void test_shapes(void **state)
{
    (void)state;
    assert_shape("a", NULL, "a");
    assert_shape("aaaa", NULL, "4(a)");
    assert_shape("abc", NULL, "a b c");
    assert_shape("abbbc", NULL, "a 3(b) c");
    assert_shape("abababab", NULL, "4(a b)");
    assert_shape("aaaaabaaaaab", NULL, "2(5(a) b)");
    assert_shape("aaaaabaaaaabaa", NULL, "2(5(a) b) 2(a)");
    assert_shape("caaabaaabaaab", NULL, "c 3(3(a) b)");
    assert_shape("aababcaababcd", NULL, "2(2(a) b a b c) d");
    assert_shape("ababcababcababc", NULL, "3(2(a b) c)");
}

/* Tests that numbers that do not grow evenly end a loop. */
static void test_numbers(void **state)
{
    (void)state;
    assert_shape("aaaa", (int64_t[]){ 0, 5, 10, 15 }, "4(a)");
    assert_shape("aaaa", (int64_t[]){ 9, 6, 3, 0 }, "4(a)");
    assert_shape("aaaa", (int64_t[]){ 0, 0, 0, 0 }, "4(a)");
    assert_shape("aaaaa", (int64_t[]){ 0, 5, 11, 18, 25 }, "2(a a) a");
    assert_shape("aaaaaa", (int64_t[]){ 0, 1, 2, 8, 9, 10 }, "2(3(a))");
    assert_shape("abab", (int64_t[]){ 0, 0, 1, 7 }, "2(a b)");
    /* the inner loop's steps would differ in the second round */
    assert_shape("aabaab", (int64_t[]){ 0, 1, 5, 10, 12, 15 }, "2(a a b)");
    assert_shape("aabaab", (int64_t[]){ 0, 1, 5, 10, 11, 16 }, "2(2(a) b)");
}

typedef struct Around Around;
struct Around { /* open loops, the innermost first */
    const Loop *loop;
    int round;
    const Around *outer;
};

/* Runs through each round of each loop as emitted code does. Returns the item
 * after the last one. */
static int go_through(const LoopItem *item, int at, const Loop *l,
                      const Around *outer)
{
    for (; l; l = l->next)
        for (int r = 0; r < l->rounds; r++) {
            const Around in = { .loop = l, .round = r, .outer = outer };
            const LoopItem *first = &item[l->first];
            if (l->body) {
                at = go_through(item, at, l->body, &in);
                continue;
            }
            assert_int_equal(first->like, item[at].like);
            for (int k = 0; k < LoopNumbers; k++) {
                int64_t number = first->number[k];
                for (const Around *a = &in; a; a = a->outer)
                    number += a->round * loop_growth(first, a->loop, k);
                assert_int_equal(number, item[at].number[k]);
            }
            at++;
        }
    return at;
}

/* Items of a few kinds, numbered in their kind, some with gaps. */
static void random_items(RandomSpec *r, LoopItem *item, int n)
{
    const int kinds = 1 + (int)pick(r, 3);
    const int period = 1 + (int)pick(r, 8);
    int64_t count[3] = { 0 }, number = 0;
    for (int i = 0; i < n; i++) {
        const bool other = pick(r, 30) == 0;
        item[i] = (LoopItem){ .like = (int)pick(r, kinds) };
        if (i >= period && !other)
            item[i].like = item[i - period].like;
        number += 1 + (pick(r, 40) == 0);
        item[i].number[0] = number;
        item[i].number[1] = count[item[i].like]++;
    }
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    RandomSpec random = { .state = 1 };
    for (int t = 0; t < 2000; t++) {
        Arena *a = arena_new();
        LoopItem item[MostItems];
        const int n = 1 + (int)pick(&random, MostItems);
        random_items(&random, item, n);
        const Loop *loops = find_loops(a, item, n);
        assert_int_equal(go_through(item, 0, loops, NULL), n);
        arena_free(a);
    }
}

/* ---- the text of models ---- */

static const char head[] = "attnc: 1\nname: pattern\nd_model: 16\nh: 2\n"
                           "d_ff: 32\nmax_len: 64\nnorm: {place: pre}\n";

static int64_t lines_of(const char *kind, const char *layers, int n)
{
    Arena *a = arena_new();
    const char *text = arena_printf(
        a, "%skind: %s\nvocab: {size: 20%s}\nN: %d\nlayers: %s\n", head, kind,
        strcmp(kind, "encoder") ? ", tokens: {start: 1, end: 2, pad: 0}" : "",
        n, layers);
    const Source source = { .name = "pattern.yaml",
                            .text = text,
                            .size = strlen(text) };
    const EngineOptions o = { .spec = source.name,
                              .text = &source,
                              .march = "x86-64-v3" };
    const EmitOptions options = { .mode = EmitAot };
    Engine e;
    size_t size;
    int64_t lines = 0;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const char *c = emit_model(e.arena, e.plan, &options, &size);
    for (size_t i = 0; i < size; i++)
        lines += c[i] == '\n';
    engine_close(&e);
    arena_free(a);
    return lines;
}

/* Checks that 12 and 48 layers, or 13 and 49, need the same number of lines. */
static void check_lines(const char *kind, const char *layers)
{
    assert_int_equal(lines_of(kind, layers, 12), lines_of(kind, layers, 48));
    assert_int_equal(lines_of(kind, layers, 13), lines_of(kind, layers, 49));
}

#define LOCAL "{masking: [causal, {window: 4}], positions.type: rotary}"

static void test_lines(void **state)
{
    (void)state;
    check_lines("decoder",
                "[" LOCAL ", " LOCAL ", " LOCAL ", " LOCAL ", " LOCAL ", {}]");
    check_lines("decoder", "[{ffn: none}]");
    check_lines("decoder", "[{ffn: none}, {ffn: none, masking: [causal, "
                           "{window: 4}]}, {d_ff: 48}]");
    check_lines("encoder", "[{mix: {type: convolution, kernel: 3}}, "
                           "{ffn: none}, {mix: recurrent}]");
    check_lines("encoder-decoder",
                "{encoder: [{}, {d_ff: 20}], decoder: [{attention.cross: "
                "false}, {}, {ffn: {type: experts, experts: 2, chosen: 1}}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
