/* records_test.c: tests records as lines of a file: the forms of a line, and
 * which records apply to a plan. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "records/records.h"
#include <cmocka.h>
#include <xxhash.h>

#include "support/scratch.h"
#include "support/records_case.h"

static void test_round_trip(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *path = scratch_path("tune.txt");
    const Record one = product(a, 512, 2048), two = product(a, 64, 64);
    add(a, path, &one, 1);
    add(a, path, &two, 1);
    Record again = one;
    again.tiling.mr = 4;
    add(a, path, &again, 1);
    const Records r = read_records(a, path);
    assert_int_equal(r.at.n, 2);
    assert_int_equal(r.passed_over, 0);
    assert_true(equal(&r.at.at[0], &again));
    assert_true(equal(&r.at.at[1], &two));
    assert_string_equal(
        record_line(a, &one),
        "{\"version\": 2, \"cpu\": \"AMD EPYC\", \"caches\": \"32K 1M 32M\", "
        "\"isa\": \"x86-64-v4\", \"threads\": 2, \"compiler\": "
        "\"Debian clang version 19.1.7 -O2\", \"op\": \"matmul\", "
        "\"shape\": \"512x2048\", \"dtype\": \"bf16\", \"epilogue\": "
        "\"bias_relu\", \"tile\": {\"mr\": 6, \"nr\": 64, \"k\": 512}, "
        "\"ns\": 1250000.0, \"usual_ns\": 1500000.0, \"samples\": 12, "
        "\"spread\": 0.015625, \"hash\": \"b023f4ecbd15cf76\"}");
    scratch_empty();
    arena_free(a);
}

/* Tests that each parameter of each kind of task, and each number, survives a
 * round trip. */
static void test_all_values(void **state)
{
    (void)state;
    Arena *a = arena_new();
    static const double numbers[] = { 0, 1, 0.1, 123456789, 1e-9, 1e18 };
    Record r = product(a, 1, 1), back;
    const char *why, *line;
    int lines = 0;
    for (int kind = 0; kind < TaskKinds; kind++)
        for (int k = 0; k < TilingParameters; k++)
            for (int most = 0; most < 2; most++) {
                if (!(tiling_parameters[k].tasks & On(kind)))
                    continue;
                r.key.kind = (TaskKind)kind;
                r.tiling = (Tiling){ 0 };
                tiling_set(&r.tiling, k,
                           most ? tiling_parameters[k].most
                                : tiling_parameters[k].least);
                r.ns = r.usual_ns = r.spread = numbers[lines++ % 6];
                line = record_line(a, &r);
                assert_int_equal(record_parse(&back, a, line, strlen(line),
                                              &why),
                                 LineRecord);
                assert_true(equal(&r, &back));
            }
    assert_true(lines > 20);
    for (int most = 0; most < 2; most++) {
        r.host.threads = most ? 1 << 20 : 1;
        r.samples = most ? INT32_MAX : 0;
        line = record_line(a, &r);
        assert_int_equal(record_parse(&back, a, line, strlen(line), &why),
                         LineRecord);
        assert_true(equal(&r, &back));
    }
    arena_free(a);
}

/* ---- hostile lines ---- */

/* Replaces `from` in the line, and corrects its hash. */
static const char *forged(Arena *a, const char *line, const char *from,
                          const char *to)
{
    const char *at = strstr(line, from), *end = strstr(line, ", \"hash\"");
    assert_non_null(at);
    assert_true(at < end);
    const char *text = arena_printf(a, "%.*s%s%.*s", (int)(at - line), line, to,
                                    (int)(end - at - (long)strlen(from)),
                                    at + strlen(from));
    return arena_printf(a, "%s, \"hash\": \"%016llx\"}", text,
                        (unsigned long long)XXH3_64bits(text, strlen(text)));
}

static const struct {
    const char *from, *to, *why;
} hostile[] = {
#define V2 "\"version\": 2"
#define MEMBER(m) "\"" m "\" is not as attnc writes it"
    { V2, "\"version\": 3", "the line is of another version of attnc" },
    { V2, "\"version\": 1", "the line is of another version of attnc" },
    { V2, "\"version\": \"2\"", "the line is of another version of attnc" },
    { V2 ", ", "", "the line is of another version of attnc" },
    { "\"mr\": 6", "\"mr\": 0", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": -1", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": 17", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": 2147483648", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": 4294967302", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": 6.0", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": \"6\"", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": true", MEMBER("tile") },
    { "\"mr\": 6", "\"mr\": 6, \"mr\": 8", "the line is not JSON" },
    { "\"mr\": 6", "\"xy\": 6", MEMBER("tile") },
    { "\"mr\": 6", "\"keys\": 64", MEMBER("tile") },
    { "\"nr\": 64", "\"nr\": 63", MEMBER("tile") },
    { "\"nr\": 64", "\"nr\": 99999999999999999999", "the line is not JSON" },
    { "{\"mr\": 6, \"nr\": 64, \"k\": 512}", "[]", MEMBER("tile") },
    { "{\"mr\": 6, \"nr\": 64, \"k\": 512}", "null", MEMBER("tile") },
    { "\"threads\": 2", "\"threads\": 0", MEMBER("threads") },
    { "\"threads\": 2", "\"threads\": -2", MEMBER("threads") },
    { "\"threads\": 2", "\"threads\": 4294967298", MEMBER("threads") },
    { "\"threads\": 2", "\"threads\": []", MEMBER("threads") },
    { "\"threads\": 2, ", "", MEMBER("threads") },
    { "\"samples\": 12", "\"samples\": 2147483648", MEMBER("samples") },
    { "\"samples\": 12", "\"samples\": -1", MEMBER("samples") },
    { "\"samples\": 12", "\"samples\": 1.5", MEMBER("samples") },
    { "\"ns\": 1250000.0", "\"ns\": -1", MEMBER("ns") },
    { "\"ns\": 1250000.0", "\"ns\": 1e19", MEMBER("ns") },
    { "\"ns\": 1250000.0", "\"ns\": 1e999", "the line is not JSON" },
    { "\"ns\": 1250000.0", "\"ns\": NaN", "the line is not JSON" },
    { "\"ns\": 1250000.0", "\"ns\": \"1\"", MEMBER("ns") },
    { "\"usual_ns\": 1500000.0", "\"usual_ns\": null", MEMBER("usual_ns") },
    { "\"spread\": 0.015625", "\"spread\": -0.1", MEMBER("spread") },
    { "\"matmul\"", "\"conv\"", MEMBER("op") },
    { "\"matmul\"", "\"attention\"", MEMBER("tile") },
    { "\"matmul\"", "7", MEMBER("op") },
    { "\"bf16\"", "\"f16\"", MEMBER("dtype") },
    { "\"512x2048\"", "\"\\u001b[2J\"", MEMBER("shape") },
    { "\"512x2048\"", "\"\\u0000\"", "the line is not JSON" },
    { "\"512x2048\"", "\"\\u00e9\"", MEMBER("shape") },
    { "\"512x2048\"", "\"\xff\"", "the line is not JSON" },
    { "\"bias_relu\"", "{\"a\": 1}", MEMBER("epilogue") },
    { "\"AMD EPYC\"", "17", MEMBER("cpu") },
    { "\"AMD EPYC\", ", "\"AMD EPYC\", \"more\": 1, ",
      "the line has members that attnc does not write" },
    { "{\"version\"", "[\"version\"", "the line is not JSON" },
    { "{\"version\"", "{\"cpu\": \"twice\", \"version\"",
      "the line is not JSON" },
};
enum { Hostile = sizeof hostile / sizeof *hostile };

static void expect(Arena *a, const char *line, size_t n, LineKind kind,
                   const char *reason)
{
    Record r;
    const char *why;
    const LineKind found = record_parse(&r, a, line, n, &why);
    if (found != kind || strcmp(why, reason) != 0)
        print_error("%.300s: %s\n", line, why);
    assert_int_equal(found, kind);
    assert_string_equal(why, reason);
}

static void test_hostile_lines(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Record one = product(a, 512, 2048);
    const char *line = record_line(a, &one);
    for (int i = 0; i < Hostile; i++) {
        const char *bad = forged(a, line, hostile[i].from, hostile[i].to);
        expect(a, bad, strlen(bad), LineForeign, hostile[i].why);
    }
    char *deep = arena_alloc(a, LineMost);
    memset(deep, '[', LineMost - 100);
    const char *nested = forged(a, line, "\"bias_relu\"", deep + 12000);
    expect(a, nested, strlen(nested), LineForeign, "the line is not JSON");
    memset(deep, 'x', LineMost - 100);
    const char *name = arena_printf(a, "\"%s\"", deep + 50000);
    const char *wide = forged(a, line, "\"bias_relu\"", name);
    expect(a, wide, strlen(wide), LineForeign, MEMBER("epilogue"));
    name = arena_printf(a, "\"%s\"", deep);
    wide = forged(a, line, "\"bias_relu\"", name);
    expect(a, wide, strlen(wide), LineBroken,
           "the line is longer than any that attnc writes");
    arena_free(a);
}

/* ---- damaged files ---- */

/* Checks that all records read were written; returns their number. */
static int survivors(Arena *a, const char *path, const Record *from, int n)
{
    const Records r = read_records(a, path);
    for (int i = 0; i < r.at.n; i++) {
        bool known = false;
        for (int k = 0; k < n && !known; k++)
            known = equal(&r.at.at[i], &from[k]);
        assert_true(known);
    }
    return r.at.n;
}

static void test_flipped_and_cut(void **state)
{
    (void)state;
    static const char flip[] = { 1, 0x20, (char)0x80, 0x7f };
    Arena *all = arena_new();
    const char *path = scratch_path("tune.txt");
    const Record r[] = { product(all, 1, 2), product(all, 3, 4),
                         product(all, 5, 6) };
    add(all, path, r, 3);
    char *text = contents(all, path);
    const int n = (int)strlen(text);
    capture_stderr();
    for (int i = 0; i < n; i++) {
        Arena *a = arena_new();
        for (size_t f = 0; f < sizeof flip; f++) {
            text[i] ^= flip[f];
            const char *changed = scratch_file("t", text, (size_t)n);
            text[i] ^= flip[f];
            assert_int_equal(survivors(a, changed, r, 3), text[i] != '\n' ? 2
                                                          : i + 1 < n     ? 1
                                                                          : 2);
        }
        const char *cut = scratch_file("t", text, (size_t)i);
        int whole = text[i] == '\n';
        for (int k = 0; k < i; k++)
            whole += text[k] == '\n';
        assert_int_equal(survivors(a, cut, r, 3), whole);
        arena_free(a);
    }
    captured(all);
    scratch_empty();
    arena_free(all);
}

/* Tests that rewriting keeps valid records, and drops broken lines with a
 * message. NULs, blank lines and a missing newline do no harm. */
static void test_rewritten(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Record one = product(a, 1, 2), two = product(a, 3, 4);
    const char *line = record_line(a, &one);
    const char *newer = forged(a, line, V2, "\"version\": 3");
    const char *text = arena_printf(a, "%.99s\n%s\n\n%s\n%.7s%c%s\n%s", line,
                                    newer, line, line, 1, line, line);
    char *bytes = arena_strdup(a, text);
    *strchr(bytes, 1) = '\0';
    const char *path = scratch_file("tune.txt", bytes, strlen(text));
    capture_stderr();
    const Records r = read_records(a, path);
    assert_string_equal(captured(a),
                        "attnc: warning: tune.txt:1: the line was "
                        "cut or changed: 3 lines are passed over\n");
    assert_int_equal(r.at.n, 2);
    assert_int_equal(r.foreign.n, 1);
    capture_stderr();
    add(a, path, &two, 1);
    assert_string_equal(captured(a),
                        "attnc: warning: tune.txt: 2 lines that were "
                        "cut or changed are removed\n");
    assert_string_equal(contents(a, path),
                        arena_printf(a, "%s\n%s\n%s\n%s\n", newer, line, line,
                                     record_line(a, &two)));
    capture_stderr();
    assert_int_equal(read_records(a, path).passed_over, 1);
    assert_string_equal(captured(a),
                        "attnc: warning: tune.txt:1: the line is of "
                        "another version of attnc: it is passed over\n");
    scratch_empty();
    arena_free(a);
}

/* ---- choices ---- */
static void test_choices(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Record one = product(a, 1, 2), two = product(a, 3, 4);
    Records r = { .passed_over = 0 };
    vec_push(a, &r.at, one);
    one.tiling.mr = 4; /* a later line of the same key */
    vec_push(a, &r.at, one);
    vec_push(a, &r.at, two);
    const Choices c = records_choices(a, &r, &host);
    assert_int_equal(c.n, 2);
    assert_true(task_same(&c.at[0].key, &two.key));
    assert_true(tiling_same(&c.at[1].tiling, &one.tiling));
    Host other[5] = { host, host, host, host, host };
    other[0].cpu = "Intel Xeon";
    other[1].caches = "32K 1M 16M";
    other[2].isa = "x86-64-v3";
    other[3].threads = 1;
    other[4].compiler = "Debian clang version 19.1.7 -O3";
    for (int i = 0; i < 5; i++)
        assert_int_equal(records_choices(a, &r, &other[i]).n, 0);
    arena_free(a);
}

static void test_nearest(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Records r = { .passed_over = 0 };
    const Record sought = product(a, 512, 2048);
    Record other = product(a, 512, 2040);
    vec_push(a, &r.at, sought); /* equal is not near */
    vec_push(a, &r.at, product(a, 64, 64));
    vec_push(a, &r.at, product(a, 512, 1536));
    vec_push(a, &r.at, product(a, 4096, 2048));
    other.key.epilogue = "bias";
    vec_push(a, &r.at, other);
    other = product(a, 512, 2040);
    other.host.threads = 1;
    vec_push(a, &r.at, other);
    other = product(a, 512, 2040);
    other.key.shape = "512x2048_2048x512";
    vec_push(a, &r.at, other);
    const Record *found = records_nearest(&r, &host, &sought.key);
    assert_ptr_equal(found, &r.at.at[2]);
    r.at.n = 1;
    assert_null(records_nearest(&r, &host, &sought.key));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_all_values),
        cmocka_unit_test(test_hostile_lines),
        cmocka_unit_test(test_flipped_and_cut),
        cmocka_unit_test(test_rewritten),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
