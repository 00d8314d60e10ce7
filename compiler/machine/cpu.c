/* cpu.c: identifies this processor; no other file queries it. */
#include "machine/target.h"

#include <string.h>

#if defined __x86_64__
#include <cpuid.h>

const char *const cpu_triple = "x86_64-linux-gnu";

static CpuMaker maker(void)
{
    unsigned most, name[3];
    if (!__get_cpuid(0, &most, &name[0], &name[2], &name[1]))
        return CpuOther;
    return !memcmp(name, "GenuineIntel", sizeof name) ? CpuIntel
         : !memcmp(name, "AuthenticAMD", sizeof name) ? CpuAmd
                                                      : CpuOther;
}

static void find_model(Cpu *c)
{
    unsigned a, b, unused_c, unused_d;
    if (!__get_cpuid(1, &a, &b, &unused_c, &unused_d))
        return;
    c->family = (int)(a >> 8 & 15);
    c->model = (int)(a >> 4 & 15);
    if (c->family == 6 || c->family == 15)
        c->model += (int)(a >> 16 & 15) << 4;
    if (c->family == 15)
        c->family += (int)(a >> 20 & 255);
}

/* Uses CPUID, because old compilers do not know the name "avxvnni". */
static bool has_avxvnni(void)
{
    unsigned a, unused_b, unused_c, unused_d;
    return __get_cpuid_count(7, 1, &a, &unused_b, &unused_c, &unused_d)
        && a & 1 << 4;
}

/* Returns the Cpu bits of this processor. Uses __builtin_cpu_supports(), which
 * also checks that the operating system saves the registers. */
static int features(void)
{
    int has = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        has |= CpuV2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        has |= CpuV3;
    if (has & CpuV3 && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        has |= CpuV4;
    if (__builtin_cpu_supports("avx512vnni"))
        has |= CpuVnni;
    if (__builtin_cpu_supports("avx512bf16"))
        has |= CpuBf16;
    if (has & CpuV3 && has_avxvnni())
        has |= CpuAvxVnni;
    return has;
}

void cpu_find(Cpu *c)
{
    *c = (Cpu){ .maker = maker(), .has = features() };
    find_model(c);
}
#elif defined __aarch64__
#include <sys/auxv.h>

const char *const cpu_triple = "aarch64-linux-gnu";

/* Bits of AT_HWCAP, defined here because not all C libraries name them. */
enum { HasIdentity = 1 << 11, HasDotprod = 1 << 20 };
enum { MadeByArm = 0x41 }; /* value of MIDR's implementer field */

/* Reads MIDR. The processor traps this read, and the kernel emulates it if it
 * sets HasIdentity. */
static void find_model(Cpu *c)
{
    uint64_t identity;
    __asm__("mrs %0, midr_el1" : "=r"(identity));
    c->family = (int)(identity >> 24 & 255);
    c->model = (int)(identity >> 4 & 4095);
    c->maker = c->family == MadeByArm ? CpuArm : CpuOther;
}

void cpu_find(Cpu *c)
{
    const unsigned long has = getauxval(AT_HWCAP);
    *c = (Cpu){ .maker = CpuOther,
                .has = CpuArmv8 | (has & HasDotprod ? CpuDotprod : 0) };
    if (has & HasIdentity)
        find_model(c);
}
#else
const char *const cpu_triple = "";

void cpu_find(Cpu *c)
{
    *c = (Cpu){ .maker = CpuOther };
}
#endif
