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

/* Returns XCR0, the registers that the operating system saves: bits 1 and 2
 * with AVX, 5 to 7 with AVX-512. */
static unsigned saved_registers(void)
{
    unsigned low, unused;
    __asm__("xgetbv" : "=a"(low), "=d"(unused) : "c"(0));
    return low;
}

static bool has_all(unsigned flags, unsigned wanted)
{
    return (flags & wanted) == wanted;
}

/* Returns the Cpu bits of this processor. Reads CPUID itself, because
 * __builtin_cpu_supports() finds nothing in programs that zig links, and old
 * compilers lack names such as "avxvnni". */
static int features(void)
{
    enum { Fma = 1 << 12, Sse42 = 1 << 20, Popcnt = 1 << 23, Xsave = 1 << 27 };
    enum { Bmi = 1 << 3, Avx2 = 1 << 5, Bmi2 = 1 << 8 };
    enum { F = 1 << 16, Dq = 1 << 17, Cd = 1 << 28, Bw = 1 << 30 };
    enum { Vnni = 1 << 11, AvxVnni = 1 << 4, Bf16 = 1 << 5 };
    const unsigned vl = 1U << 31;
    unsigned x, one = 0, b = 0, c = 0, second = 0;
    __get_cpuid(1, &x, &x, &one, &x);
    __get_cpuid_count(7, 0, &x, &b, &c, &x);
    __get_cpuid_count(7, 1, &second, &x, &x, &x);
    const unsigned saved = one & Xsave ? saved_registers() : 0;
    int has = has_all(one, Sse42 | Popcnt) ? CpuV2 : 0;
    if (!has_all(saved, 0x6) || !has_all(one, Fma)
        || !has_all(b, Avx2 | Bmi | Bmi2))
        return has;
    has |= CpuV3 | (second & AvxVnni ? CpuAvxVnni : 0);
    if (has_all(saved, 0xe6) && has_all(b, F | Dq | Cd | Bw | vl))
        has |= CpuV4 | (c & Vnni ? CpuVnni : 0) | (second & Bf16 ? CpuBf16 : 0);
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
