/* safetensors_test.c: tests that the reader rejects every file that breaks a
 * rule of the format, with the position, and never crashes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"

/* Writes a header, and zeros after it. */
static const char *file_with(const char *header, size_t data_n)
{
    static const char zeros[4096];
    assert_true(data_n <= sizeof zeros);
    size_t n = strlen(header);
    return scratch_tensors(n, header, n, zeros, data_n);
}

/* Checks that opening fails with this message. */
static void assert_refused(const char *path, const char *message)
{
    Fault why = { .code = -1 };
    Safetensors *s = safetensors_open(path, &why);
    if (s)
        print_error("accepted, expected: %s\n", message);
    assert_null(s);
    assert_message(why.text, message);
    assert_int_equal(why.code, ExitInput);
}

/* ---- what is right ---- */
static void reads_tensors(void **state)
{
    (void)state;
    const char *header =
        "{\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[4,28]},"
        "\"__metadata__\":{\"format\":\"pt\"},"
        "\"a\":{\"data_offsets\":[0,4],\"shape\":[2],\"dtype\":\"F16\"},"
        "\"empty\":{\"dtype\":\"U8\",\"shape\":[0,5],\"data_offsets\":[28,28]},"
        "\"one\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[28,36]}}   ";
    unsigned char data[36] = { 0x00, 0x3c, 0x00, 0xc0 }; /* 1, -2 */
    const float b[6] = { 1, 2, 3, 4, 5, 6 };
    const int64_t one = -7;
    memcpy(data + 4, b, sizeof b);
    memcpy(data + 28, &one, sizeof one);
    Fault why;
    const char *path = scratch_tensors(strlen(header), header, strlen(header),
                                       data, sizeof data);
    Safetensors *s = safetensors_open(path, &why);
    assert_non_null(s);
    assert_string_equal(safetensors_path(s), path);
    assert_int_equal(safetensors_count(s), 4);
    for (int i = 1; i < 4; i++)
        assert_true(
            strcmp(safetensors_at(s, i - 1)->name, safetensors_at(s, i)->name)
            < 0);
    float out[6];
    const Tensor *t = safetensors_find(s, "b");
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], 3);
    assert_int_equal(t->elements, 6);
    assert_int_equal(t->bytes, 24);
    tensor_floats(t, 0, 6, out);
    assert_memory_equal(out, b, sizeof b);
    tensor_floats(t, 4, 2, out);
    assert_memory_equal(out, b + 4, 2 * sizeof *b);
    tensor_floats(safetensors_find(s, "a"), 0, 2, out);
    assert_true(out[0] == 1 && out[1] == -2);
    t = safetensors_find(s, "one");
    assert_int_equal(t->rank, 0);
    tensor_floats(t, 0, 1, out);
    assert_true(out[0] == -7);
    t = safetensors_find(s, "empty");
    assert_int_equal(t->elements, 0);
    assert_int_equal(t->type, StOther);
    assert_string_equal(t->type_name, "U8");
    assert_null(safetensors_find(s, "bb"));
    assert_null(safetensors_find(s, "__metadata__"));
    safetensors_close(s);
}

/* Tests tensors at any alignment, by headers of different lengths. */
static void reads_unaligned_tensors(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        size_t size;
    } types[] = {
        { "F32", 4 }, { "F64", 8 }, { "I32", 4 },
        { "I64", 8 }, { "F16", 2 }, { "BF16", 2 },
    };
    static const unsigned char five[6][8] = {
        { 0, 0, 0xa0, 0x40 },
        { 0, 0, 0, 0, 0, 0, 0x14, 0x40 },
        { 5 },
        { 5 },
        { 0x00, 0x45 },
        { 0xa0, 0x40 },
    };
    for (int i = 0; i < 6; i++)
        for (int pad = 0; pad < 64; pad++) {
            char header[200];
            int n = snprintf(header, sizeof header,
                             "{\"x\":{\"dtype\":\"%s\","
                             "\"shape\":[1],\"data_offsets\":[0,%zu]}}%*s",
                             types[i].dtype, types[i].size, pad, "");
            Fault why;
            Safetensors *s = safetensors_open(scratch_tensors((uint64_t)n,
                                                              header, (size_t)n,
                                                              five[i],
                                                              types[i].size),
                                              &why);
            assert_non_null(s);
            float x;
            tensor_floats(safetensors_at(s, 0), 0, 1, &x);
            assert_true(x == 5);
            safetensors_close(s);
        }
}

static void knows_all_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int bits;
        StType type;
    } all[] = {
        { "F32", 32, StF32 },          { "F16", 16, StF16 },
        { "BF16", 16, StBF16 },        { "F64", 64, StF64 },
        { "I32", 32, StI32 },          { "I64", 64, StI64 },
        { "BOOL", 8, StOther },        { "U8", 8, StOther },
        { "I8", 8, StOther },          { "I16", 16, StOther },
        { "U16", 16, StOther },        { "U32", 32, StOther },
        { "U64", 64, StOther },        { "C64", 64, StOther },
        { "F8_E4M3", 8, StOther },     { "F8_E5M2", 8, StOther },
        { "F8_E8M0", 8, StOther },     { "F8_E4M3FNUZ", 8, StOther },
        { "F8_E5M2FNUZ", 8, StOther }, { "F6_E2M3", 6, StOther },
        { "F6_E3M2", 6, StOther },     { "F4", 4, StOther },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char header[200];
        size_t bytes = 4 * (size_t)all[i].bits / 8;
        snprintf(header, sizeof header,
                 "{\"x\":{\"dtype\":\"%s\",\"shape\":"
                 "[4],\"data_offsets\":[0,%zu]}}",
                 all[i].name, bytes);
        Fault why;
        Safetensors *s = safetensors_open(file_with(header, bytes), &why);
        assert_non_null(s);
        assert_int_equal(safetensors_at(s, 0)->type, all[i].type);
        assert_string_equal(safetensors_at(s, 0)->type_name, all[i].name);
        safetensors_close(s);
    }
}

/* ---- what is wrong ---- */
#define X(dtype, shape, offsets)                                             \
    "\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape                          \
    ",\"data_offsets\":" offsets "}"
#define Y(offsets)                                                           \
    "\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" offsets "}"

#define NO_SUCH_FILE "t: does not look like a .safetensors file: no header " \
    "begins with '{' at byte 8; convert other formats"

static const struct {
    const char *header;
    size_t data;
    const char *message;
} bad_headers[] = {
    /* the header's text */
    { "", 0, NO_SUCH_FILE },
    { " {}", 0, NO_SUCH_FILE },
    { "[]", 0, NO_SUCH_FILE },
    { "{", 0, "t: header, byte 9: string or '}' expected near end of file" },
    { "{}\n", 0, "t: byte 10: only spaces may follow the header" },
    { "{} {}", 0, "t: byte 11: only spaces may follow the header" },
    { "{\"\xff\":1}", 0,
      "t: header, byte 10: unable to decode byte 0xff near "
      "'\"'" },
    { "{" X("U8", "[]", "[0,1]") "," X("U8", "[]", "[0,1]") "}", 1,
      "t: header, byte 63: duplicate object key near '\"x\"'" },
    { "{\"x\":{\"shape\":[4],\"shape\":[4]}}", 4,
      "t: header, byte 33: duplicate object key near '\"shape\"'" },
    { "{\"__metadata__\":{\"a\":1}}", 0,
      "t: '__metadata__' must map strings to strings" },
    { "{\"__metadata__\":\"a\"}", 0,
      "t: '__metadata__' must map strings to strings" },
    /* a tensor's entry */
    { "{\"x\":1}", 0, "t: tensor 'x': its entry must be an object" },
    { "{\"\\n\\u001b\":1}", 0,
      "t: tensor '\\x0a\\x1b': its entry must be an object" },
    { "{\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"z\":1}}",
      1, "t: tensor 'x': unknown key 'z'" },
    { "{\"x\":{}}", 0, "t: tensor 'x': 'shape' must be a list of sizes" },
    { "{" X("U8", "[-1]", "[0,1]") "}", 1,
      "t: tensor 'x': 'shape' must be a list of sizes" },
    { "{" X("U8", "[1.0]", "[0,1]") "}", 1,
      "t: tensor 'x': 'shape' must be a list of sizes" },
    { "{" X("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1,
      "t: tensor 'x': more than 8 dimensions" },
    { "{\"x\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
      "t: tensor 'x': 'dtype' must be a string" },
    { "{" X("F7", "[1]", "[0,1]") "}", 1, "t: tensor 'x': unknown dtype 'F7'" },
    { "{" X("f32", "[1]", "[0,4]") "}", 4,
      "t: tensor 'x': unknown dtype 'f32'" },
    { "{\"x\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1,
      "t: tensor 'x': 'data_offsets' must be two byte offsets" },
    { "{" X("U8", "[1]", "[0]") "}", 1,
      "t: tensor 'x': 'data_offsets' must be two byte offsets" },
    { "{" X("U8", "[1]", "[0,1,2]") "}", 1,
      "t: tensor 'x': 'data_offsets' must be two byte offsets" },
    { "{" X("U8", "[1]", "[-1,0]") "}", 1,
      "t: tensor 'x': 'data_offsets' must be two byte offsets" },
    { "{" X("F4", "[3]", "[0,2]") "}", 2,
      "t: tensor 'x': does not end at a whole byte" },
    /* sizes that overflow */
    { "{" X("F32", "[4294967296,4294967296]", "[0,0]") "}", 0,
      "t: tensor 'x': its number of elements overflows" },
    { "{" X("U8", "[4611686018427387904,2]", "[0,0]") "}", 0,
      "t: tensor 'x': its number of elements overflows" },
    { "{" X("U8", "[4611686018427387904]", "[0,0]") "}", 0,
      "t: tensor 'x': its number of bytes overflows" },
    { "{" X("F64", "[2305843009213693952,1]", "[0,0]") "}", 0,
      "t: tensor 'x': its number of bytes overflows" },
    { "{" X("U8", "[9223372036854775808]", "[0,0]") "}", 0,
      "t: header, byte 55: too big integer near '9223372036854775808'" },
    /* offsets; the data of one tensor begins at byte 62 */
    { "{" X("F32", "[1]", "[0,4]") "}", 0,
      "t: tensor 'x': ends at byte 4 of "
      "the data, which has 0: the file is cut short" },
    { "{" X("F32", "[1]", "[4,0]") "}", 4,
      "t: tensor 'x': 'data_offsets' end before they begin" },
    { "{" X("F32", "[1]", "[0,3]") "}", 3,
      "t: tensor 'x': has 3 bytes at byte "
      "62, its shape and dtype need 4" },
    { "{" X("F32", "[2]", "[0,4]") "}", 4,
      "t: tensor 'x': has 4 bytes at byte "
      "62, its shape and dtype need 8" },
    { "{" X("F32", "[1]", "[1,5]") "}", 5,
      "t: tensor 'x': begins at byte 63, "
      "bytes from 62 belong to no tensor" },
    { "{" X("F32", "[1]", "[0,4]") "}", 5,
      "t: byte 66: the last tensor ends here, the file goes on to 67" },
    { "{}", 1,
      "t: byte 10: the last tensor ends here, the file goes on to "
      "11" },
    { "{" X("F32", "[1]", "[0,4]") "," Y("[3,7]") "}", 7,
      "t: tensor 'y': begins at byte 117, inside 'x'" },
    { "{" X("F32", "[1]", "[0,4]") "," Y("[0,4]") "}", 4, NULL },
    { "{" X("F32", "[1]", "[0,4]") "," Y("[5,9]") "}", 9,
      "t: tensor 'y': begins at byte 119, bytes from 118 belong to no "
      "tensor" },
};

static void refuses_broken_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        const char *path = file_with(bad_headers[i].header,
                                     bad_headers[i].data);
        if (bad_headers[i].message) {
            assert_refused(path, bad_headers[i].message);
            continue;
        }
        Fault why; /* either of the two may be named */
        assert_null(safetensors_open(path, &why));
        assert_non_null(strstr(why.text, ", inside '"));
    }
}

static void refuses_lying_lengths(void **state)
{
    (void)state;
    static const struct {
        uint64_t length;
        const char *message;
    } cases[] = {
        { 0, "t: byte 0: claims a header of 0 bytes, 1 to 100000000 are "
             "allowed" },
        { 1, "t: header, byte 9: string or '}' expected near end of file" },
        { 3, "t: byte 0: claims a header of 3 bytes, the file has 2 after it: "
             "it is cut short" },
        { 100000000, "t: byte 0: claims a header of 100000000 bytes, the file "
                     "has 2 after it: it is cut short" },
        { 100000001, "t: byte 0: claims a header of 100000001 bytes, 1 to "
                     "100000000 are allowed" },
        { (uint64_t)1 << 60,
          "t: byte 0: claims a header of "
          "1152921504606846976 bytes, 1 to 100000000 are allowed" },
        { UINT64_MAX, "t: byte 0: claims a header of 18446744073709551615 "
                      "bytes, 1 to 100000000 are allowed" },
        { UINT64_MAX - 7, "t: byte 0: claims a header of 18446744073709551608 "
                          "bytes, 1 to 100000000 are allowed" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(scratch_tensors(cases[i].length, "{}", 2, NULL, 0),
                       cases[i].message);
    assert_refused(scratch_file("t", "", 0), NO_SUCH_FILE);
    assert_refused(scratch_file("t", "\2\0\0\0\0\0\0", 7), NO_SUCH_FILE);
    assert_refused(scratch_file("t", "d_model: 512\n", 13), NO_SUCH_FILE);
    Fault why;
    assert_null(safetensors_open(scratch_path("none"), &why));
    assert_int_equal(why.code, ExitIO);
    assert_message(why.text, "none: cannot open: No such file or directory");
}

static void refuses_deep_json(void **state)
{
    (void)state;
    enum { Depth = 100000 };
    static char header[Depth + 1];
    memset(header, '[', Depth);
    memcpy(header, "{\"x\":", 5);
    assert_refused(scratch_tensors(Depth, header, Depth, NULL, 0),
                   "t: header, byte 2061: maximum parsing depth reached near "
                   "'['");
}

/* ---- every cut, every changed byte ---- */
static const char small[] =
    "{\"__metadata__\":{\"by\":\"hand\"},"
    "\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]}}  ";
enum { SmallData = 22, SmallSize = 8 + sizeof small - 1 + SmallData };

static void small_file(unsigned char *bytes)
{
    memset(bytes, 0, SmallSize);
    bytes[0] = sizeof small - 1;
    memcpy(bytes + 8, small, sizeof small - 1);
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    unsigned char bytes[SmallSize];
    small_file(bytes);
    for (size_t n = 0; n < SmallSize; n++) {
        Fault why = { .code = -1 };
        assert_null(safetensors_open(scratch_file("t", bytes, n), &why));
        assert_int_equal(why.code, ExitInput);
    }
    Fault why;
    Safetensors *s = safetensors_open(scratch_file("t", bytes, SmallSize),
                                      &why);
    assert_non_null(s);
    safetensors_close(s);
}

/* Reads all of a file that was accepted: the sanitizers watch. */
static void read_all(const Safetensors *s)
{
    for (int i = 0; i < safetensors_count(s); i++) {
        const Tensor *t = safetensors_at(s, i);
        float out[SmallSize];
        assert_true(t->elements <= SmallSize * 2);
        if (t->elements <= SmallSize)
            tensor_floats(t, 0, t->elements, out);
        assert_true(tensor_not_finite(t) <= t->elements);
        assert_ptr_equal(safetensors_find(s, t->name), t);
    }
}

static void survives_every_changed_byte(void **state)
{
    (void)state;
    unsigned char bytes[SmallSize];
    int accepted = 0, refused = 0;
    small_file(bytes);
    const char *path = scratch_file("t", bytes, SmallSize);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < SmallSize - SmallData; i++)
        for (int bit = 0; bit < 9; bit++) {
            /* each bit, then all of them */
            unsigned char changed =
                (unsigned char)(bytes[i] ^ (bit < 8 ? 1 << bit : 255));
            assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
            Fault why = { .code = -1 };
            Safetensors *s = safetensors_open(path, &why);
            if (s) {
                read_all(s);
                safetensors_close(s);
                accepted++;
            } else {
                assert_int_equal(why.code, ExitInput);
                refused++;
            }
            assert_int_equal(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
        }
    close(fd);
    assert_true(refused > 1000);
    assert_true(accepted > 50); /* for example, a letter of a name */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors),
        cmocka_unit_test(reads_unaligned_tensors),
        cmocka_unit_test(knows_all_types),
        cmocka_unit_test(refuses_broken_headers),
        cmocka_unit_test(refuses_lying_lengths),
        cmocka_unit_test(refuses_deep_json),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(survives_every_changed_byte),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
