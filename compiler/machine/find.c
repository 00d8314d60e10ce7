/* find.c: describes this computer: its name, the cores that this process may
 * use, and its caches. Values that the system does not report get a default. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/pool.h"

/* Reads the first line of a file; "" if it cannot be read. */
static void read_line(char *line, int size, const char *path)
{
    FILE *f = fopen(path, "r");
    *line = '\0';
    if (!f)
        return;
    if (!fgets(line, size, f))
        *line = '\0';
    fclose(f);
}

/* Returns the size of a cache in bytes, or `otherwise` if it is unknown. Asks
 * the kernel, because on some virtual machines the C library multiplies the
 * size of a shared cache by the number of cores that share it. */
static size_t cache_bytes(int index, size_t otherwise)
{
    char path[64], line[64];
    unsigned long kib = 0;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    read_line(line, sizeof line, path);
    const bool read = sscanf(line, "%luK", &kib) == 1 && kib > 0;
    return read ? (size_t)kib << 10 : otherwise;
}

static void find_cpu(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

void machine_find(Machine *m)
{
    memset(m, 0, sizeof *m);
    find_cpu(m->cpu, sizeof m->cpu);
    m->cores = (int)attn_cores();
    m->cache[LevelL1] = cache_bytes(0, (size_t)32 << 10);
    m->cache[LevelL2] = cache_bytes(2, (size_t)1 << 20);
    m->cache[LevelL3] = cache_bytes(3, (size_t)32 << 20);
}
