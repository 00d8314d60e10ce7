/* tensors_test.c: tests that conversions are exact, huge files are cheap, and
 * written files can be read back. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/skip.h"

/* ---- conversions ---- */

/* Returns the value by the definition of the format, slowly and without bit
 * tricks. */
static double slow_value(unsigned v, int exponent_bits, int fraction_bits)
{
    int exponent = v >> fraction_bits & ((1 << exponent_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double fraction = ldexp(v & ((1u << fraction_bits) - 1), -fraction_bits);
    double sign = v >> (exponent_bits + fraction_bits) ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction > 0 ? NAN : sign * HUGE_VAL;
    return sign
         * (exponent ? ldexp(1 + fraction, exponent - bias)
                     : ldexp(fraction, 1 - bias));
}

static void check_patterns(const char *dtype, int exponent_bits,
                           int64_t not_finite)
{
    static unsigned char data[2 * 65536];
    static float out[65536];
    for (unsigned v = 0; v < 65536; v++) {
        data[2 * v] = v & 255;
        data[2 * v + 1] = (unsigned char)(v >> 8);
    }
    char header[100];
    snprintf(header, sizeof header,
             "{\"x\":{\"dtype\":\"%s\",\"shape\":[65536]"
             ",\"data_offsets\":[0,131072]}}",
             dtype);
    Fault why;
    Safetensors *s = safetensors_open(scratch_tensors(strlen(header), header,
                                                      strlen(header), data,
                                                      sizeof data),
                                      &why);
    assert_non_null(s);
    tensor_floats(safetensors_at(s, 0), 0, 65536, out);
    for (unsigned v = 0; v < 65536; v++) {
        double want = slow_value(v, exponent_bits, 15 - exponent_bits);
        if (isnan(want)) {
            assert_true(isnan(out[v]));
        } else {
            assert_true(out[v] == want);
            assert_int_equal(!!signbit(out[v]), v >> 15);
        }
    }
    assert_int_equal(tensor_not_finite(safetensors_at(s, 0)), not_finite);
    safetensors_close(s);
}

static void converts_all_16_bit_patterns(void **state)
{
    (void)state;
    check_patterns("F16", 5, 2 * 1024);
    check_patterns("BF16", 8, 2 * 128);
}

static void converts_wide_numbers(void **state)
{
    (void)state;
    const double f64[5] = { 1.0 / 3, -0.0, 1e300, -1e-300, NAN };
    const int64_t i64[2] = { INT64_MAX, INT64_MIN };
    const char *header =
        "{"
        "\"f\":{\"dtype\":\"F64\",\"shape\":[5],\"data_offsets\":[0,40]},"
        "\"i\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[40,56]}}";
    unsigned char data[56];
    memcpy(data, f64, 40);
    memcpy(data + 40, i64, 16);
    Fault why;
    Safetensors *s = safetensors_open(scratch_tensors(strlen(header), header,
                                                      strlen(header), data, 56),
                                      &why);
    assert_non_null(s);
    float out[5];
    tensor_floats(safetensors_find(s, "f"), 0, 5, out);
    assert_true(out[0] == (float)(1.0 / 3) && out[1] == 0 && signbit(out[1]));
    assert_true(out[2] == HUGE_VALF && out[3] == 0 && isnan(out[4]));
    tensor_floats(safetensors_find(s, "i"), 0, 2, out);
    assert_true(out[0] == 0x1p63f && out[1] == -0x1p63f);
    assert_int_equal(tensor_not_finite(safetensors_find(s, "f")), 2);
    assert_int_equal(tensor_not_finite(safetensors_find(s, "i")), 0);
    safetensors_close(s);
}

/* ---- huge, writing ---- */
static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Makes a sparse file of 1 TiB; NULL if the file system cannot. */
static const char *sparse_file(void)
{
    const char *header = "{\"x\":{\"dtype\":\"F32\",\"shape\":[274877906944],"
                         "\"data_offsets\":[0,1099511627776]}}";
    size_t n = strlen(header);
    const char *path = scratch_tensors(n, header, n, NULL, 0);
    off_t size = (off_t)(8 + n) + ((off_t)1 << 40);
    return truncate(path, size) == 0 ? path : NULL;
}

static void huge_files_stay_cheap(void **state)
{
    (void)state;
    const char *path = sparse_file();
    if (!path)
        SKIP("this file system has no files of a TiB");
    Fault why;
    long before = peak_kib();
    Safetensors *s = safetensors_open(path, &why);
    assert_non_null(s);
    float x = 1;
    tensor_floats(safetensors_at(s, 0), ((int64_t)1 << 38) - 1, 1, &x);
    assert_true(x == 0);
    safetensors_close(s);
    assert_true(peak_kib() - before < 16 * 1024);
}

static void open_with_little_memory(const char *path)
{
    struct rlimit limit = { (rlim_t)8 << 30, (rlim_t)8 << 30 };
    setrlimit(RLIMIT_AS, &limit);
    Fault why;
    if (safetensors_open(path, &why))
        _exit(1);
    _exit(why.code == ExitResource
                  && strstr(why.text, "t: cannot map: Cannot allocate memory")
              ? 0
              : 2);
}

static void too_little_address_space(void **state)
{
    (void)state;
    const char *path = sparse_file();
    if (!path)
        SKIP("this file system has no files of a TiB");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        open_with_little_memory(path);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    const float f[6] = { 1, -2, 3.5f, -0.0f, 1e-40f, INFINITY };
    const int32_t ids[3] = { 7, -1, INT32_MAX };
    TensorOut t[] = {
        { .name = "z \"quoted\" \xc3\xa9",
          .rank = 2,
          .dim = { 3, 2 },
          .data = f },
        { .name = "ids", .rank = 1, .dim = { 3 }, .data = ids, .is_int = true },
        { .name = "none", .rank = 3, .dim = { 1, 0, 2 }, .data = NULL },
        { .name = "scalar", .rank = 0, .data = f },
    };
    Fault why;
    const char *path = scratch_path("out");
    assert_true(safetensors_write(path, t, 4, &why));
    Safetensors *s = safetensors_open(path, &why);
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 4);
    float out[6];
    const Tensor *z = safetensors_find(s, t[0].name);
    assert_non_null(z);
    assert_true(z->rank == 2 && z->dim[0] == 3 && z->dim[1] == 2);
    tensor_floats(z, 0, 6, out);
    assert_memory_equal(out, f, sizeof f);
    const Tensor *i = safetensors_find(s, "ids");
    assert_int_equal(i->type, StI32);
    assert_memory_equal(i->at, ids, sizeof ids);
    assert_int_equal(safetensors_find(s, "scalar")->elements, 1);
    assert_int_equal(safetensors_find(s, "none")->elements, 0);
    safetensors_close(s);
    assert_true(safetensors_write(path, NULL, 0, &why));
    s = safetensors_open(path, &why);
    assert_int_equal(safetensors_count(s), 0);
    safetensors_close(s);
}

static void refuses_to_write(void **state)
{
    (void)state;
    TensorOut t[] = {
        { .name = "a", .rank = 1, .dim = { 0 } },
        { .name = "a", .rank = 1, .dim = { 0 } },
        { .name = "\xff", .rank = 1, .dim = { 0 } },
        { .name = "big", .rank = 2, .dim = { INT64_MAX, 2 } },
        { .name = "negative", .rank = 1, .dim = { -1 } },
    };
    Fault why;
    scratch_empty();
    const char *path = scratch_path("out");
    assert_false(safetensors_write(path, t, 2, &why));
    assert_message(why.text, "out: cannot write: a tensor's name is there "
                             "twice or not UTF-8, or a size overflows");
    for (int i = 2; i < 5; i++)
        assert_false(safetensors_write(path, &t[i], 1, &why));
    assert_false(safetensors_write(scratch_path("no/out"), t, 1, &why));
    assert_int_equal(why.code, ExitIO);
    assert_int_equal(scratch_empty(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converts_all_16_bit_patterns),
        cmocka_unit_test(converts_wide_numbers),
        cmocka_unit_test(huge_files_stay_cheap),
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(refuses_to_write),
    }, unsanitized[] = {
        cmocka_unit_test(too_little_address_space),
    };
    const int failed = cmocka_run_group_tests(tests, scratch_make,
                                              scratch_remove);
    return SANITIZED ? failed
                     : failed
                           + cmocka_run_group_tests(unsanitized, scratch_make,
                                                    scratch_remove);
}
