/* kernel_table.c: finds a prebuilt kernel by name in the table of a target. The
 * program emit/tile/kernelset.c generates the tables. */
#include "backend/backend.h"

#include <string.h>

struct Kernel {
    const char *name;
    void (*function)(void);
};

/* KERNEL TABLES: the same machines as MACHINES in the Makefile. */
#if defined __x86_64__
extern const struct Kernel kernels_x86_64_v4[], kernels_x86_64_v4_avx512vnni[],
    kernels_x86_64_v3[], kernels_x86_64_v3_avxvnni[], kernels_x86_64_v2[];
#elif defined __aarch64__
extern const struct Kernel kernels_armv8_2_a_dotprod[], kernels_armv8_a[];
#else
extern const struct Kernel kernels_generic[];
#endif

static const struct { /* tables in order of preference: those with more features
                       * first */
    const char *march;
    const char *feature; /* feature that the target must have; NULL: none */
    const struct Kernel *table;
} tables[] = {
#if defined __x86_64__
    { "x86-64-v4", "avx512vnni", kernels_x86_64_v4_avx512vnni },
    { "x86-64-v4", NULL, kernels_x86_64_v4 },
    { "x86-64-v3", "avxvnni", kernels_x86_64_v3_avxvnni },
    { "x86-64-v3", NULL, kernels_x86_64_v3 },
    { "x86-64-v2", NULL, kernels_x86_64_v2 },
#elif defined __aarch64__
    { "armv8.2-a+dotprod", NULL, kernels_armv8_2_a_dotprod },
    { "armv8-a", NULL, kernels_armv8_a },
#else
    { "generic", NULL, kernels_generic },
#endif
};

static const struct Kernel *table_for(const Target *t)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].march, t->march)
            && (!tables[i].feature || target_has(t, tables[i].feature)))
            return tables[i].table;
    return NULL;
}

/* Returns the target's table. If there is none, returns this machine's: all
 * machines with fused multiply-add compute the same bits. */
static const struct Kernel *table_of(const Target *t)
{
    const struct Kernel *table = table_for(t);
    Target native;
    Fault why;
    if (!table && target_find(&native, "native", 0, NULL, &why))
        table = table_for(&native);
    return table;
}

void *kernel_find(const Target *t, const char *name)
{
    for (const struct Kernel *k = table_of(t); k && k->name; k++)
        if (!strcmp(k->name, name)) {
            void *address;
            memcpy(&address, &k->function, sizeof address);
            return address;
        }
    return NULL;
}

const char *kernel_name(const Target *t, int i)
{
    const struct Kernel *k = table_of(t);
    return k ? k[i].name : NULL;
}
