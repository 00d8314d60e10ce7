/* cross.h: finds C compilers for another architecture, and an emulator that
 * runs their programs. Included after backend/backend.h and cmocka.h. */
#ifndef ATTNC_CROSS_H
#define ATTNC_CROSS_H

#include <string.h>

#if defined __aarch64__
#define THERE "x86-64-v3"
#define TRIPLE "x86_64-linux-gnu"
#define ARCH "x86_64"
#define HERE "armv8-a"
enum { Machine = 62 }; /* of an ELF file */
#else
#define THERE "armv8-a"
#define TRIPLE "aarch64-linux-gnu"
#define ARCH "aarch64"
#define HERE "x86-64-v3"
enum { Machine = 183 };
#endif

/* Its instruction sets and machines, each with more features than the one
 * before. */
static const char *const cross_targets[] = { THERE,
#if !defined __aarch64__
                                             "neoverse-n1",
#endif
                                             NULL };

typedef struct {
    const char *clang, *gcc; /* NULL: not installed, or without its C library */
    const char *emulator;    /* by path */
} Cross;

static inline const char *cross_compiler(Arena *a, const char *name)
{
    Fault why;
    Target t;
    CcOptions o = { .compiler = cc_find(a, name, &why),
                    .level = "0",
                    .march = THERE };
    assert_true(target_find(&t, THERE, 0, NULL, &why));
    return o.compiler && cc_aim(a, &o, &t, &why)
                && cc_has_library(a, &o, &t, CcProgram, &why)
             ? o.compiler
             : NULL;
}

/* Finds the installed compilers. Returns NULL, or text about what is missing.
 */
static inline const char *cross_find(Arena *a, Cross *c)
{
    c->clang = cross_compiler(a, NULL);
    c->gcc = cross_compiler(a, TRIPLE "-gcc");
    c->emulator = find_program(a, "qemu-" ARCH);
    if (!c->emulator)
        c->emulator = find_program(a, "qemu-" ARCH "-static");
    return !c->clang && !c->gcc ? "no C compiler or library for " TRIPLE
         : !c->emulator         ? "no qemu-" ARCH
                                : NULL;
}

#endif
