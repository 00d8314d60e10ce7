/* cpu.c: identifies this processor; no other file queries it. */
#include "machine/target.h"

#if defined __x86_64__

const char *const cpu_triple = "x86_64-linux-gnu";

void cpu_find(Cpu *c)
{
    attn_processor_find(c);
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
    c->maker = c->family == MadeByArm ? ATTN_MAKER_ARM : ATTN_MAKER_OTHER;
}

void cpu_find(Cpu *c)
{
    const unsigned long has = getauxval(AT_HWCAP);
    *c = (Cpu){ .maker = ATTN_MAKER_OTHER,
                .has = ATTN_CPU_ARMV8
                     | (has & HasDotprod ? ATTN_CPU_DOTPROD : 0) };
    if (has & HasIdentity)
        find_model(c);
}
#else
const char *const cpu_triple = "";

void cpu_find(Cpu *c)
{
    *c = (Cpu){ .maker = ATTN_MAKER_OTHER };
}
#endif
