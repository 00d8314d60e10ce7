/* renamer_test.c: tests that all names which a text defines get the prefix, and
 * no others: not members, nor names from outside, nor words of comments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "emit/text/renamer.h"

#include <cmocka.h>

static const char text[] =
    "#define TEN 10\n"
    "#define TILE(of, n) \\\n"
    "    static int tile_##of(int n) { return TEN; } \\\n"
    "    static int of##_last = n;\n"
    "/* sum of TEN */\n"
    "enum { Wide = 4 };\n"
    "typedef float v __attribute__((vector_size(4 * Wide), aligned(4)));\n"
    "struct pair {\n"
    "    v *sum, rest[Wide];\n"
    "    void (*run)(struct pair *p);\n"
    "    const struct outside *o;\n"
    "};\n"
    "static const struct { int sum; } table[] = { { .sum = TEN } };\n"
    "INLINE void run(struct pair *p) {\n"
    "#define LOCAL 3\n"
    "    p->sum->run = p->rest + LOCAL;\n"
    "    sum(\"sum\", outside);\n"
    "}\n"
    "static int sum(const char *s, struct outside *o)\n"
    "{\n"
    "    return tile_6x64(1) + six_last;\n"
    "}\n"
    "TILE(6x64, 1)\n"
    "TILE(six, 2)\n";

static const char renamed[] =
    "#define a_TEN 10\n"
    "#define a_TILE(of, n) \\\n"
    "    static int a_tile_##of(int n) { return a_TEN; } \\\n"
    "    static int of##_last = n;\n"
    "/* sum of TEN */\n"
    "enum { a_Wide = 4 };\n"
    "typedef float a_v __attribute__((vector_size(4 * a_Wide), aligned(4)));\n"
    "struct a_pair {\n"
    "    a_v *sum, rest[a_Wide];\n"
    "    void (*run)(struct a_pair *p);\n"
    "    const struct outside *o;\n"
    "};\n"
    "static const struct { int sum; } a_table[] = { { .sum = a_TEN } };\n"
    "INLINE void a_run(struct a_pair *p) {\n"
    "#define a_LOCAL 3\n"
    "    p->sum->run = p->rest + a_LOCAL;\n"
    "    a_sum(\"sum\", outside);\n"
    "}\n"
    "static int a_sum(const char *s, struct outside *o)\n"
    "{\n"
    "    return a_tile_6x64(1) + a_six_last;\n"
    "}\n"
    "a_TILE(6x64, 1)\n"
    "a_TILE(a_six, 2)\n";

static void test_names(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Emit *e = emit_new(a);
    NameList others = { 0 };
    size_t n;
    vec_push(a, &others, "tile_6x64");
    vec_push(a, &others, "six_last");
    rename_all(e, text, sizeof text - 1, "a_", others);
    const char *got = emit_text(e, &n);
    assert_int_equal(n, sizeof renamed - 1);
    assert_memory_equal(got, renamed, n);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
