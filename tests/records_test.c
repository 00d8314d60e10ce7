/* records_test.c: records of tilings survive all that can happen to a file. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "../compiler/records.h"
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

#include "scratch.h"

static const Host host = {
    .cpu = "AMD EPYC", .caches = "32K 1M 32M", .isa = "x86-64-v4",
    .threads = 2, .compiler = "Debian clang version 19.1.7 -O2"
};

static char *shape(Arena *a, int k, int n)
{
    return arena_printf(a, "%dx%d", k, n);
}

static Record product(Arena *a, int k, int n)
{
    return (Record){
        .host = host,
        .key = { .kind = TaskMatmul, .shape = shape(a, k, n),
                 .ending = "bias_relu", .dtype = DtypeBf16 },
        .tiling = { .mr = 6, .nr = 64, .k = 512 },
        .ns = 1.25e6, .usual_ns = 1.5e6, .samples = 12, .spread = 0.015625
    };
}

static void same_record(const Record *a, const Record *b)
{
    assert_true(host_same(&a->host, &b->host));
    assert_true(task_same(&a->key, &b->key));
    assert_true(tiling_same(&a->tiling, &b->tiling));
    assert_true(a->ns == b->ns && a->usual_ns == b->usual_ns);
    assert_true(a->samples == b->samples && a->spread == b->spread);
}

static Records read_file(Arena *a, const char *path)
{
    Records r;
    Fault why;
    assert_true(records_read(&r, a, path, &why));
    return r;
}

static void test_round_trip(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Fault why;
    const char *path = scratch_path("tune.txt");
    const Record one = product(a, 512, 2048), two = product(a, 64, 64);
    assert_true(records_add(a, path, &one, 1, &why));
    assert_true(records_add(a, path, &two, 1, &why));
    Record again = one;
    again.tiling.mr = 4;
    assert_true(records_add(a, path, &again, 1, &why));
    const Records r = read_file(a, path);
    assert_int_equal(r.at.n, 2);
    assert_int_equal(r.passed_over, 0);
    same_record(&r.at.at[0], &again);
    same_record(&r.at.at[1], &two);
    assert_string_equal(record_line(a, &one),
        "{\"version\": 1, \"cpu\": \"AMD EPYC\", \"caches\": \"32K 1M 32M\", "
        "\"isa\": \"x86-64-v4\", \"threads\": 2, \"compiler\": "
        "\"Debian clang version 19.1.7 -O2\", \"op\": \"matmul\", "
        "\"shape\": \"512x2048\", \"dtype\": \"bf16\", \"ending\": "
        "\"bias_relu\", \"tile\": {\"mr\": 6, \"nr\": 64, \"k\": 512}, "
        "\"ns\": 1250000.0, \"usual_ns\": 1500000.0, \"samples\": 12, "
        "\"spread\": 0.015625, \"hash\": \"80a03861a682dfc7\"}");
    scratch_empty();
    arena_free(a);
}

int main(void)
{
    files_on_signal();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
