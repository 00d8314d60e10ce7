/* pool_test.c: tests that the pool runs each part of each run once, for any
 * numbers of threads and parts, and any other callers. No test checks a
 * time. */
#define _GNU_SOURCE /* usleep, popen */
#include "runtime/base/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/sanitized.h"

enum { MostParts = 64 };

typedef struct {         /* results of a run's parts */
    int done[MostParts]; /* separate for each part: no lock, no atomic */
    int64_t parts;
    const struct attn_parallel *inner; /* by which a part runs parts */
} Seen;

static void note_part(void *arg, int64_t part, int64_t parts)
{
    Seen *s = arg;
    assert_true(part >= 0 && part < parts && parts == s->parts);
    s->done[part]++;
}

static void run_parts(const struct attn_parallel *p, int64_t parts, int times)
{
    Seen s = { .parts = parts };
    for (int i = 0; i < times; i++)
        p->run(p->pool, parts, note_part, &s);
    for (int64_t i = 0; i < MostParts; i++)
        assert_int_equal(s.done[i], i < parts ? times : 0);
}

static void test_each_part_once(void **state)
{
    (void)state;
    for (int64_t threads = 1; threads <= 9; threads++) {
        struct attn_pool *pool = attn_pool_open(threads);
        assert_non_null(pool);
        assert_null(attn_pool_refused(pool));
        const struct attn_parallel *p = attn_pool_parallel(pool);
        assert_int_equal(p->parts, threads);
        for (int64_t parts = 1; parts <= MostParts; parts += 7)
            run_parts(p, parts, 3);
        attn_pool_close(pool);
    }
    attn_pool_close(NULL);
}

/* Each run reads what the previous one wrote, on any threads. The sum is wrong
 * if a part runs too early, too late, twice or not at all. */
typedef struct {
    uint64_t value[2][MostParts];
    int from;
} Relay;

static void relay_part(void *arg, int64_t part, int64_t parts)
{
    Relay *r = arg;
    const uint64_t *from = r->value[r->from];
    r->value[1 - r->from][part] = 3 * from[part] + from[(part + 1) % parts];
}

static void test_runs_follow_each_other(void **state)
{
    (void)state;
    Relay one = { .from = 0 }, many;
    for (int i = 0; i < MostParts; i++)
        one.value[0][i] = (uint64_t)i;
    many = one;
    struct attn_pool *pool = attn_pool_open(4);
    const struct attn_parallel *p = attn_pool_parallel(pool);
    for (int run = 0; run < 5000; run++) {
        const int64_t parts = 2 + run % 5;
        for (int64_t i = 0; i < parts; i++)
            relay_part(&one, i, parts);
        p->run(p->pool, parts, relay_part, &many);
        one.from = many.from = 1 - one.from;
        if (run % 1000 == 999)
            usleep(1000); /* the threads sleep and wake again */
    }
    assert_memory_equal(&one, &many, sizeof one);
    attn_pool_close(pool);
}

static void test_starts_and_stops(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct attn_pool *pool = attn_pool_open(1 + i % 4);
        if (i % 3)
            run_parts(attn_pool_parallel(pool), 4, i % 3);
        if (i % 50 == 0)
            usleep(200);
        attn_pool_close(pool);
    }
}

static void inner_part(void *arg, int64_t part, int64_t parts)
{
    Seen *s = arg;
    note_part(arg, part, parts);
    run_parts(s->inner, 5, 2);
}

static void test_a_part_may_run_parts(void **state)
{
    (void)state;
    struct attn_pool *pool = attn_pool_open(3);
    Seen s = { .parts = 6, .inner = attn_pool_parallel(pool) };
    s.inner->run(s.inner->pool, 6, inner_part, &s);
    for (int i = 0; i < 6; i++)
        assert_int_equal(s.done[i], 1);
    attn_pool_close(pool);
}

static void *call_often(void *parallel)
{
    run_parts(parallel, 3, 500);
    return NULL;
}

static void test_two_callers(void **state)
{
    (void)state;
    struct attn_pool *pool = attn_pool_open(3);
    void *p = (void *)(uintptr_t)attn_pool_parallel(pool);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, call_often, p), 0);
    call_often(p);
    pthread_join(other, NULL);
    attn_pool_close(pool);
}

/* In a process with memory for only a few stacks, the threads that start do all
 * the work. */
static int few_threads(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;
    if (!f || fscanf(f, "%llu", &pages) != 1)
        return 3;
    fclose(f);
    const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20);
    setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
    struct attn_pool *pool = attn_pool_open(ATTN_POOL_MOST);
    if (!pool || !attn_pool_refused(pool))
        return 4;
    const struct attn_parallel *p = attn_pool_parallel(pool);
    const int64_t parts = p->parts;
    run_parts(p, 9, 20);
    attn_pool_close(pool);
    return parts >= 1 && parts < ATTN_POOL_MOST ? 0 : 5;
}

static void test_refused_threads(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0)
        _exit(few_threads());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Tests the warning: attnc continues with fewer threads. */
static void test_warning(void **state)
{
    static const char line[] =
        "ulimit -v 200000; exec ${ATTNC:-build/attnc} "
        "verify --cases 1 --threads 256 models/tiny.yaml 2>&1 >/dev/null";
    char said[4096] = "";
    (void)state;
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_true(fread(said, 1, sizeof said - 1, f) > 0);
    pclose(f);
    assert_non_null(strstr(said, "warning: --threads 256: the system gives "));
}

static void test_cores(void **state)
{
    (void)state;
    assert_int_equal(attn_cores_granted("max 100000\n"), 0);
    assert_int_equal(attn_cores_granted("200000 100000\n"), 2);
    assert_int_equal(attn_cores_granted("350000 100000"), 3);
    assert_int_equal(attn_cores_granted("50000 100000"), 1);
    assert_int_equal(attn_cores_granted("0 100000"), 0);
    assert_int_equal(attn_cores_granted("100000 0"), 0);
    assert_int_equal(attn_cores_granted(""), 0);
    assert_in_range(attn_cores(), 1, ATTN_POOL_MOST);
    assert_true(attn_cores() <= sysconf(_SC_NPROCESSORS_CONF));
}

/* Writes a text to a file below the folder, which is made. */
static void put(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "mkdir -p %s && echo '%s' > %s/%s", folder,
             text, folder, name);
    assert_int_equal(system(path), 0);
}

static int64_t granted(const char *root, const char *groups)
{
    char path[100];
    put(root, "groups", groups);
    snprintf(path, sizeof path, "%s/groups", root);
    return attn_cores_of_groups(path, root);
}

static void test_groups(void **state)
{
    char root[] = "/tmp/attnc_cores_XXXXXX", path[100];
    (void)state;
    assert_non_null(mkdtemp(root));
#define PUT(folder, name, text)                            \
    snprintf(path, sizeof path, "%s/%s", root, folder); \
    put(path, name, text)
    assert_int_equal(granted(root, "0::/a/b"), 0);
    PUT("a", "cpu.max", "300000 100000");
    PUT("a/b", "cpu.max", "max 100000");
    assert_int_equal(granted(root, "0::/a/b"), 3);
    assert_int_equal(granted(root, "0::/"), 0);
    PUT("cpu/c", "cpu.cfs_quota_us", "400000");
    assert_int_equal(granted(root, "4:cpu,cpuacct:/c"), 0);
    PUT("cpu/c", "cpu.cfs_period_us", "100000");
    assert_int_equal(granted(root, "5:memory:/a\n4:cpuacct,cpu:/c"), 4);
    assert_int_equal(granted(root, "4:cpuacct:/c\n3:cpuset:/c"), 0);
    assert_int_equal(granted(root, "4:cpu:/c/d\n0::/a"), 3);
    PUT("cpu", "cpu.cfs_quota_us", "-1");
    PUT("cpu", "cpu.cfs_period_us", "100000");
    assert_int_equal(granted(root, "4:cpu:/"), 0);
    PUT("cpu", "cpu.cfs_quota_us", "150000"); /* of a container */
    assert_int_equal(granted(root, "4:cpu:/docker/1"), 1);
    assert_int_equal(granted(root, "no group"), 0);
    assert_int_equal(attn_cores_of_groups("/none", root), 0);
    snprintf(path, sizeof path, "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_once),
        cmocka_unit_test(test_runs_follow_each_other),
        cmocka_unit_test(test_starts_and_stops),
        cmocka_unit_test(test_a_part_may_run_parts),
        cmocka_unit_test(test_two_callers),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_groups),
    }, unsanitized[] = {
        cmocka_unit_test(test_refused_threads),
        cmocka_unit_test(test_warning),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return SANITIZED ? failed
                     : failed + cmocka_run_group_tests(unsanitized, NULL, NULL);
}
