/* processors_test.c: tests which target a processor matches, and which features
 * it lacks for a target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"

#include <cmocka.h>

static Target target(const char *name)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, name, 0, NULL, &why));
    return t;
}

enum {
    V2 = ATTN_CPU_V2,
    V3 = V2 | ATTN_CPU_V3,
    V4 = V3 | ATTN_CPU_V4,
    V3Vnni = V3 | ATTN_CPU_AVXVNNI,
    V4Vnni = V4 | ATTN_CPU_AVX512VNNI,
    All = V4Vnni | ATTN_CPU_AVX512BF16,
    Dots = ATTN_CPU_ARMV8 | ATTN_CPU_DOTPROD
};

static const struct {
    Cpu cpu;
    const char *name;
} processors[] = {
    { { ATTN_MAKER_AMD, 0x19, 0x11, All }, "znver4" },
    { { ATTN_MAKER_AMD, 0x19, 0xa0, All }, "znver4" },
    { { ATTN_MAKER_AMD, 0x19, 0x01, V3 }, "znver3" },
    { { ATTN_MAKER_AMD, 0x1a, 0x02, All }, "znver5" },
    { { ATTN_MAKER_AMD, 0x1a, 0x24, All },
      "x86-64-v4+avx512vnni" }, /* half as wide */
    { { ATTN_MAKER_AMD, 0x17, 0x31, V3 }, "znver2" },
    { { ATTN_MAKER_AMD, 0x17, 0x01, V3 }, "znver1" },
    { { ATTN_MAKER_INTEL, 6, 0x8f, All }, "sapphirerapids" },
    { { ATTN_MAKER_INTEL, 6, 0xcf, All }, "sapphirerapids" },
    { { ATTN_MAKER_INTEL, 6, 0x6a, V4Vnni }, "icelake-server" },
    { { ATTN_MAKER_INTEL, 6, 0x8c, V4Vnni }, "icelake-client" },
    { { ATTN_MAKER_INTEL, 6, 0x55, V4 }, "skylake-avx512" },
    { { ATTN_MAKER_INTEL, 6, 0x9e, V3 }, "skylake" },
    { { ATTN_MAKER_INTEL, 6, 0x4f, V3 }, "broadwell" },
    { { ATTN_MAKER_INTEL, 6, 0x3f, V3 }, "haswell" },
    { { ATTN_MAKER_INTEL, 6, 0xba, V3Vnni }, "alderlake" },
    /* more features than the model's row: the nearest row */
    { { ATTN_MAKER_INTEL, 6, 0xa7, All | ATTN_CPU_AVXVNNI }, "sapphirerapids" },
    { { ATTN_MAKER_INTEL, 6, 0xa7, V4Vnni }, "icelake-client" },
    { { ATTN_MAKER_INTEL, 6, 0x55, V4Vnni }, "icelake-server" },
    { { ATTN_MAKER_INTEL, 6, 0x55, All }, "sapphirerapids" },
    { { ATTN_MAKER_INTEL, 6, 0x9e, V3Vnni }, "alderlake" },
    { { ATTN_MAKER_INTEL, 6, 0x9e, V4 }, "skylake-avx512" },
    { { ATTN_MAKER_AMD, 0x19, 0x11, All | ATTN_CPU_AVXVNNI }, "znver4" },
    /* features hidden by a virtual machine are not used */
    { { ATTN_MAKER_INTEL, 6, 0x8f, V4Vnni }, "x86-64-v4+avx512vnni" },
    { { ATTN_MAKER_INTEL, 6, 0x8f, V3 }, "x86-64-v3" },
    { { ATTN_MAKER_INTEL, 6, 0xba, V3 }, "x86-64-v3" },
    { { ATTN_MAKER_AMD, 0x19, 0x11, V2 }, "x86-64-v2" },
    /* the same numbers from another maker, and unknown models */
    { { ATTN_MAKER_OTHER, 0x19, 0x11, All }, "x86-64-v4+avx512vnni" },
    { { ATTN_MAKER_INTEL, 0x19, 0x11, All }, "x86-64-v4+avx512vnni" },
    { { ATTN_MAKER_OTHER, 0, 0, V3Vnni }, "x86-64-v3+avxvnni" },
    { { ATTN_MAKER_INTEL, 6, 0xff, V3 }, "x86-64-v3" },
    { { ATTN_MAKER_OTHER, 0, 0, ATTN_CPU_ARMV8 }, "armv8-a" },
    { { ATTN_MAKER_OTHER, 0x61, 0x22, Dots }, "armv8.2-a+dotprod" },
    { { ATTN_MAKER_ARM, 0x41, 0xd4f, Dots }, "neoverse-v2" },
    { { ATTN_MAKER_ARM, 0x41, 0xd0c, Dots }, "neoverse-n1" },
    { { ATTN_MAKER_ARM, 0x41, 0xd0c, ATTN_CPU_ARMV8 }, "armv8-a" },
    { { ATTN_MAKER_ARM, 0x41, 0xd0b, Dots }, "cortex-a76" },
    { { ATTN_MAKER_ARM, 0x41, 0xd08, ATTN_CPU_ARMV8 }, "cortex-a72" },
    { { ATTN_MAKER_ARM, 0x41, 0xd80, Dots }, "armv8.2-a+dotprod" },
    { { ATTN_MAKER_OTHER, 0, 0, 0 }, "generic" },
};

static void test_processors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        assert_string_equal(cpu_target(&processors[i].cpu), processors[i].name);
}

/* Tests that the code for `native` runs here, and that its name is in the list.
 */
static void test_this_one(void **state)
{
    (void)state;
    Cpu here;
    Fault why;
    TargetNames names;
    const Target t = target("native");
    cpu_find(&here);
    assert_string_equal(t.name, cpu_target(&here));
    assert_null(target_lacks(&t, &here));
    assert_true(target_runs_here(&t, &why));
    assert_non_null(strstr(target_list(&names), t.name));
}

static void test_lacks(void **state)
{
    (void)state;
    const Target t = target("sapphirerapids");
    static const struct {
        int has;
        const char *lacks;
    } rows[] = {
        { All, NULL },
        { V4Vnni, "avx512bf16" },
        { All & ~ATTN_CPU_AVX512VNNI, "avx512vnni" },
        { V3, "x86-64-v4" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Cpu cpu = { ATTN_MAKER_INTEL, 6, 0x8f, rows[i].has };
        const char *lacks = target_lacks(&t, &cpu);
        assert_true(!lacks == !rows[i].lacks);
        if (lacks)
            assert_string_equal(lacks, rows[i].lacks);
    }
}

/* Tests which target of a list a processor gets: the first that it has. */
static void test_lists(void **state)
{
    (void)state;
    static const char all[] = "portable", makers[] = "znver5,sapphirerapids",
                      plain[] = "x86-64-v3,x86-64-v4+avx512vnni";
    static const struct {
        const char *list;
        Cpu cpu;
        const char *name; /* NULL: none */
    } rows[] = {
        { all,
          { ATTN_MAKER_AMD, 0x1a, 0x24, All | ATTN_CPU_AVXVNNI },
          "znver5" },
        { all, { ATTN_MAKER_AMD, 0x19, 0x11, All }, "znver4" },
        { all, { ATTN_MAKER_AMD, 0x19, 0x01, V3 }, "x86-64-v3" },
        { all,
          { ATTN_MAKER_INTEL, 6, 0xad, All | ATTN_CPU_AVXVNNI },
          "sapphirerapids" },
        { all, { ATTN_MAKER_INTEL, 6, 0x6a, V4Vnni }, "x86-64-v4+avx512vnni" },
        { all, { ATTN_MAKER_INTEL, 6, 0x55, V4 }, "x86-64-v4" },
        { all, { ATTN_MAKER_INTEL, 6, 0xba, V3Vnni }, "x86-64-v3+avxvnni" },
        { all, { ATTN_MAKER_OTHER, 6, 0x8f, All }, "x86-64-v4+avx512vnni" },
        { all, { ATTN_MAKER_INTEL, 6, 0x1a, V2 }, NULL },
        { makers, { ATTN_MAKER_AMD, 0x19, 0x11, All }, NULL },
        { makers, { ATTN_MAKER_INTEL, 6, 0x8f, All }, "sapphirerapids" },
        { plain, { ATTN_MAKER_INTEL, 6, 0x55, V4 }, "x86-64-v3" },
        { plain, { ATTN_MAKER_AMD, 0x1a, 0x02, All }, "x86-64-v4+avx512vnni" },
    };
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TargetList list;
        Fault why;
        const char *found = NULL;
        assert_true(is_target_list(rows[i].list));
        assert_true(target_list_read(&list, a, rows[i].list, &why));
        for (int k = 0; !found && k < list.n; k++) {
            const Target t = target(list.at[k]);
            const struct attn_processor needs = target_processor(&t);
            if (attn_processor_has(&rows[i].cpu, &needs))
                found = list.at[k];
        }
        assert_true(!found == !rows[i].name);
        if (found)
            assert_string_equal(found, rows[i].name);
    }
    assert_false(is_target_list("x86-64-v3"));
    assert_false(is_target_list(NULL));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_this_one),
        cmocka_unit_test(test_lacks),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
