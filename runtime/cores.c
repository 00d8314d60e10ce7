/* cores.c: how many threads are worth having: two threads of one core share
 * its arithmetic, and a control group may grant less than the machine has.  */
#define _GNU_SOURCE /* sched_getaffinity */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

enum { PathBytes = 4096 };

static bool first_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    const bool read = f && fgets(line, size, f);
    if (f)
        fclose(f);
    return read;
}

/* "200000 100000" is the time granted in each period; "max 100000" all. */
int64_t cores_granted(const char *cpu_max)
{
    long long time, period;
    if (sscanf(cpu_max, "%lld %lld", &time, &period) != 2 || time < 1
        || period < 1)
        return 0;
    return time < period ? 1 : time / period;
}

#ifdef __linux__
/* The least that the process's group and those above it grant. */
static int64_t group_grants(void)
{
    char line[PathBytes], path[PathBytes + 64];
    int64_t least = 0;
    if (!first_line("/proc/self/cgroup", line, sizeof line)
        || strncmp(line, "0::/", 4) != 0)
        return 0;
    char *group = line + 3;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        char grant[64];
        *end = '\0';
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        const int64_t n = first_line(path, grant, sizeof grant)
                            ? cores_granted(grant)
                            : 0;
        least = n && (n < least || !least) ? n : least;
    }
    return least;
}

/* The first processor of the core that `cpu` belongs to. */
static int first_of_core(int cpu)
{
    char path[128], line[256];
    int first;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/"
             "thread_siblings_list",
             cpu);
    return first_line(path, line, sizeof line)
                && sscanf(line, "%d", &first) == 1 && first >= 0
                && first < CPU_SETSIZE
             ? first
             : cpu;
}

static int64_t cores_allowed(void)
{
    cpu_set_t allowed, cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(first_of_core(cpu), &cores);
    return CPU_COUNT(&cores);
}
#else
static int64_t group_grants(void)
{
    return 0;
}

static int64_t cores_allowed(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

int64_t cores_usable(void)
{
    const int64_t grants = group_grants();
    int64_t n = cores_allowed();
    if (grants && grants < n)
        n = grants;
    return n < 1 ? 1 : n > PoolMost ? PoolMost : n;
}
