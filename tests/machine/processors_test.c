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
    All = CpuV2 | CpuV3 | CpuV4 | CpuVnni | CpuBf16,
    Dots = CpuArmv8 | CpuDotprod
};

static void test_processors(void **state)
{
    (void)state;
    static const struct {
        Cpu cpu;
        const char *name;
    } rows[] = {
        { { CpuAmd, 0x19, 0x11, All }, "znver4" },
        { { CpuAmd, 0x19, 0xa0, All }, "znver4" },
        { { CpuAmd, 0x19, 0x01, CpuV2 | CpuV3 }, "znver3" },
        { { CpuAmd, 0x1a, 0x02, All }, "znver5" },
        { { CpuAmd, 0x1a, 0x24, All }, "x86-64-v4" }, /* half as wide */
        { { CpuAmd, 0x17, 0x31, CpuV2 | CpuV3 }, "znver2" },
        { { CpuAmd, 0x17, 0x01, CpuV2 | CpuV3 }, "znver1" },
        { { CpuIntel, 6, 0x8f, All }, "sapphirerapids" },
        { { CpuIntel, 6, 0xcf, All }, "sapphirerapids" },
        { { CpuIntel, 6, 0x6a, All & ~CpuBf16 }, "icelake-server" },
        { { CpuIntel, 6, 0x8c, All & ~CpuBf16 }, "icelake-client" },
        { { CpuIntel, 6, 0x55, CpuV2 | CpuV3 | CpuV4 }, "skylake-avx512" },
        { { CpuIntel, 6, 0x9e, CpuV2 | CpuV3 }, "skylake" },
        { { CpuIntel, 6, 0x4f, CpuV2 | CpuV3 }, "broadwell" },
        { { CpuIntel, 6, 0x3f, CpuV2 | CpuV3 }, "haswell" },
        { { CpuIntel, 6, 0xba, CpuV2 | CpuV3 | CpuAvxVnni }, "alderlake" },
        /* more features than the model's row: the nearest row */
        { { CpuIntel, 6, 0xa7, All | CpuAvxVnni }, "sapphirerapids" },
        { { CpuIntel, 6, 0xa7, All & ~CpuBf16 }, "icelake-client" },
        { { CpuIntel, 6, 0x55, All & ~CpuBf16 }, "icelake-server" },
        { { CpuIntel, 6, 0x55, All }, "sapphirerapids" },
        { { CpuIntel, 6, 0x9e, CpuV2 | CpuV3 | CpuAvxVnni }, "alderlake" },
        { { CpuIntel, 6, 0x9e, CpuV2 | CpuV3 | CpuV4 }, "skylake-avx512" },
        { { CpuAmd, 0x19, 0x11, All | CpuAvxVnni }, "znver4" },
        /* features hidden by a virtual machine are not used */
        { { CpuIntel, 6, 0x8f, All & ~CpuBf16 }, "x86-64-v4" },
        { { CpuIntel, 6, 0x8f, CpuV2 | CpuV3 }, "x86-64-v3" },
        { { CpuIntel, 6, 0xba, CpuV2 | CpuV3 }, "x86-64-v3" },
        { { CpuAmd, 0x19, 0x11, CpuV2 }, "x86-64-v2" },
        /* the same numbers from another maker, and unknown models */
        { { CpuOther, 0x19, 0x11, All }, "x86-64-v4" },
        { { CpuIntel, 0x19, 0x11, All }, "x86-64-v4" },
        { { CpuIntel, 6, 0xff, CpuV2 | CpuV3 }, "x86-64-v3" },
        { { CpuOther, 0, 0, CpuArmv8 }, "armv8-a" },
        { { CpuOther, 0x61, 0x22, Dots }, "armv8.2-a+dotprod" },
        { { CpuArm, 0x41, 0xd4f, Dots }, "neoverse-v2" },
        { { CpuArm, 0x41, 0xd0c, Dots }, "neoverse-n1" },
        { { CpuArm, 0x41, 0xd0c, CpuArmv8 }, "armv8-a" },
        { { CpuArm, 0x41, 0xd0b, Dots }, "cortex-a76" },
        { { CpuArm, 0x41, 0xd08, CpuArmv8 }, "cortex-a72" },
        { { CpuArm, 0x41, 0xd80, Dots }, "armv8.2-a+dotprod" },
        { { CpuOther, 0, 0, 0 }, "generic" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(cpu_target(&rows[i].cpu), rows[i].name);
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
        { All & ~CpuBf16, "avx512bf16" },
        { All & ~CpuVnni, "avx512vnni" },
        { CpuV2 | CpuV3, "x86-64-v4" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Cpu cpu = { CpuIntel, 6, 0x8f, rows[i].has };
        const char *lacks = target_lacks(&t, &cpu);
        assert_true(!lacks == !rows[i].lacks);
        if (lacks)
            assert_string_equal(lacks, rows[i].lacks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_this_one),
        cmocka_unit_test(test_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
