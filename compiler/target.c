/* target.c: what code can be made for: instruction set, vector width, tile.
 * The only file that asks the machine what it is.                           */
#include "compiler.h"

#include <string.h>

typedef struct {
    const char *march;
    int width;                   /* widest vector */
    bool fma;
    int registers;               /* of that width */
    const char *guard;           /* true where the compiler makes less */
} Machine;

static const Machine machines[] = {
    { "x86-64-v4", 16, true,  32, "!defined __AVX512F__" },
    { "x86-64-v3",  8, true,  16, "!defined __AVX2__ || !defined __FMA__" },
    { "x86-64-v2",  4, false, 16, "!defined __SSE4_2__" },
    { "armv8-a",    4, true,  32, "!defined __ARM_NEON" },
    { "generic",    1, true,  16, NULL },
};
enum { Machines = sizeof machines / sizeof *machines };


const char *target_list(void)
{
    return "native, x86-64-v4, x86-64-v3, x86-64-v2, armv8-a, generic";
}

static const char *native(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("bmi2"))
        return "x86-64-v3";
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        return "x86-64-v2";
    return "generic";
#elif defined __aarch64__
    return "armv8-a";
#else
    return "generic";
#endif
}

static const Machine *find_machine(const char *march)
{
    if (!strcmp(march, "native"))
        march = native();
    for (int i = 0; i < Machines; i++)
        if (!strcmp(machines[i].march, march))
            return &machines[i];
    return NULL;
}

/* The largest tile whose accumulators, one row of B and one element of A stay
 * in registers, as measured: 6x64 by 16, 6x16 by 8.                         */
static void default_tile(Target *t, const Machine *m)
{
    const int vectors = m->registers / 4 * 3;    /* for accumulators */
    t->nr = t->width == 16 ? 64 : 16;
    t->mr = vectors * t->width / t->nr;
    if (t->mr > 6)
        t->mr = 6;
    if (t->width == 1)
        t->mr = 4;
    t->tile_from = "default";
}

/* Few rows take as long as their weights take to come from memory: these are
 * read at two places at once where there are registers for it.              */
static void few_tile(Target *t, const Machine *m)
{
    const int vectors = m->registers / 4 * 3;
    t->few_nr = t->width == 16 ? 32 : 16;
    t->few_mr = vectors * t->width / t->few_nr;
    if (t->few_mr > 8)
        t->few_mr = 8;
    if (t->width == 1)
        t->few_mr = 0;
    t->few_bytes = 8 << 20;      /* a core's share of the caches, about */
    t->near_few = t->few_mr < 2 ? t->few_mr : 2;
}

static bool read_tile(Target *t, const char *tile, Fault *why)
{
    int end = 0;
    if (tile[strspn(tile, "0123456789x")]      /* signs, spaces */
        || sscanf(tile, "%2dx%2d%n", &t->mr, &t->nr, &end) != 2
        || tile[end] || t->mr < 1 || t->mr > 16 || t->nr < 16 || t->nr > 64
        || t->nr % 16)
        return fault(why, ExitUsage, "tile %s: expected ROWSxCOLUMNS, 1 to 16 "
                     "rows and 16, 32, 48 or 64 columns, as 6x64",
                     quote(tile));
    t->tile_from = "option";
    return true;
}

bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why)
{
    const Machine *m = find_machine(march);
    if (!m)
        return fault(why, ExitUsage, "unknown target %s: expected one of %s",
                     quote(march), target_list());
    if (width == 0)
        width = m->width;
    if ((width != 1 && width != 4 && width != 8 && width != 16)
        || width > m->width)
        return fault(why, ExitUsage, "width %d: expected 1, 4, 8 or 16, and "
                     "at most the %d of %s", width, m->width, m->march);
    *t = (Target){ .march = m->march, .width = width,
                   .registers = m->registers, .fma = m->fma,
                   .guard = m->guard, .row_block = RowBlock,
                   .part_work = PartWork };
    default_tile(t, m);
    few_tile(t, m);
    return !tile || read_tile(t, tile, why);
}
