/* cores.c: counts the cores that threads can use. Two threads on one core share
 * its arithmetic units, and a control group may grant fewer cores than the
 * machine has. */
#include "system.h"

#include "pool.h"

static int cores_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    int read = 0;
    if (!f)
        return 0;
    read = fgets(line, size, f) != NULL;
    fclose(f);
    return read;
}

/* Reads a grant such as "200000 100000": 200000 us in each period of 100000 us.
 * "max 100000" has no limit. */
ATTN_API int64_t attn_cores_granted(const char *cpu_max)
{
    long long time, period;
    if (sscanf(cpu_max, "%lld %lld", &time, &period) != 2 || time < 1
        || period < 1)
        return 0;
    return time < period ? 1 : time / period;
}

#ifdef __linux__
/* Returns the smallest grant of the process's control group and of the groups
 * above it; 0: no limit. */
static int64_t cores_of_group(void)
{
    enum { BYTES = 4096 };
    char line[BYTES], path[BYTES + 64];
    int64_t least = 0;
    if (!cores_line("/proc/self/cgroup", line, sizeof line)
        || strncmp(line, "0::/", 4) != 0)
        return 0;
    char *group = line + 3;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        char grant[64];
        *end = '\0';
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        if (!cores_line(path, grant, sizeof grant))
            continue;
        const int64_t n = attn_cores_granted(grant);
        if (n > 0 && (n < least || least == 0))
            least = n;
    }
    return least;
}

/* Returns the first processor of the core to which `cpu` belongs. */
static int cores_first(int cpu)
{
    char path[128], line[256];
    int first = -1;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/"
             "thread_siblings_list",
             cpu);
    if (cores_line(path, line, sizeof line))
        if (sscanf(line, "%d", &first) == 1 && first >= 0
            && first < CPU_SETSIZE)
            return first;
    return cpu;
}

static int64_t cores_allowed(void)
{
    cpu_set_t allowed, first;
    CPU_ZERO(&first);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cores_first(cpu), &first);
    return CPU_COUNT(&first);
}
#else
static int64_t cores_of_group(void)
{
    return 0;
}

static int64_t cores_allowed(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

ATTN_API int64_t attn_cores(void)
{
    const int64_t granted = cores_of_group();
    int64_t n = cores_allowed();
    if (granted > 0)
        n = attn_min(n, granted);
    return attn_min(attn_max(n, 1), ATTN_POOL_MOST);
}
