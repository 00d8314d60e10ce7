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
enum { CORES_PATH = 4096 };

/* Returns the grant of a group in this folder; 0: no limit. cpu.max is a file
 * of version 2; version 1 has a file for each of its numbers, and -1 us is no
 * limit. */
static int64_t cores_of_folder(const char *folder)
{
    char path[CORES_PATH + 128], grant[64], period[24];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (cores_line(path, grant, sizeof grant))
        return attn_cores_granted(grant);
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!cores_line(path, grant, sizeof grant - sizeof period))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!cores_line(path, period, sizeof period))
        return 0;
    strcat(grant, period);
    return attn_cores_granted(grant);
}

/* Returns where the groups of a line of /proc/self/cgroup are, such as
 * "4:cpu,cpuacct:/a" or, in version 2, "0::/a": a folder below the mount point.
 * NULL: the line is of a controller that limits no cores. */
static const char *cores_hierarchy(const char *line)
{
    const char *at = strchr(line, ':');
    if (!at || strncmp(line, "0::", 3) == 0)
        return at ? "" : NULL;
    for (at++; *at && *at != ':'; at += *at == ',') {
        const size_t n = strcspn(at, ",:");
        if (n == 3 && strncmp(at, "cpu", n) == 0)
            return "/cpu";
        at += n;
    }
    return NULL;
}

ATTN_API int64_t attn_cores_of_groups(const char *groups, const char *mount)
{
    char line[CORES_PATH], folder[CORES_PATH + 64];
    int64_t least = 0;
    FILE *f = fopen(groups, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *hierarchy = cores_hierarchy(line);
        char *group = strchr(line, '/');
        if (!hierarchy || !group)
            continue;
        group[strcspn(group, "\n")] = '\0';
        char *end = group + strlen(group);
        while (end) {
            *end = '\0';
            snprintf(folder, sizeof folder, "%s%s%s", mount, hierarchy, group);
            const int64_t n = cores_of_folder(folder);
            if (n > 0 && (n < least || least == 0))
                least = n;
            end = strrchr(group, '/');
        }
    }
    if (f)
        fclose(f);
    return least;
}

/* Returns the smallest grant of the process's control groups and of the groups
 * above them; 0: no limit. */
static int64_t cores_of_group(void)
{
    return attn_cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
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
