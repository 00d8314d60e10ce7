/* gguf_test.c: tests llama.cpp files: valid ones are read, blocks of 32 are
 * widened exactly, and every count, length and offset that does not fit is
 * rejected, wherever the file is cut. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/weights/gguf.h"
#include "support/gguf_bytes.h"
#include "support/scratch.h"

enum { F32 = 0, Q4_0 = 2, Q8_0 = 8, Q6_K = 14, IQ2_S = 22, Removed = 31 };

/* Writes [2, 3] in f32, [1, 32] in Q8_0 and Q4_0, and a key of each type. */
static Bytes good(void)
{
    Bytes b = head(3, 3, 6);
    const float numbers[6] = { 1, 2, 3, 4, 5, -6.5f };
    put_pair(&b, "general.alignment", 4, 64, 4);
    put_pair(&b, "eps", 6, 0x3f000000, 4);
    put_pair(&b, "less", 5, (uint32_t)-7, 4);
    put_pair(&b, "is", 7, 1, 1);
    put_text(&b, "name");
    put_number(&b, 8, 4);
    put_text(&b, "t\xc3\xa4st");
    put_text(&b, "tokens");
    put_number(&b, 9, 4);
    put_number(&b, 8, 4);
    put_number(&b, 2, 8);
    put_text(&b, "a");
    put_text(&b, "");
    put_entry(&b, "f", 3, 2, F32, 0);
    put_entry(&b, "q8", 32, 1, Q8_0, 64);
    put_entry(&b, "q4", 32, 1, Q4_0, 128);
    align(&b, 64);
    put(&b, numbers, sizeof numbers);
    align(&b, 64);
    put_number(&b, 0x3800, 2); /* 0.5 */
    for (int i = 0; i < 32; i++)
        put_number(&b, (uint64_t)(i * 8 - 128), 1);
    align(&b, 64);
    put_number(&b, 0xc000, 2); /* -2 */
    for (int i = 0; i < 16; i++)
        put_number(&b, (uint64_t)(i | (15 - i) << 4), 1);
    return b;
}

static const char *file_of(const Bytes *b)
{
    return scratch_file("model.gguf", b->at, b->n);
}

/* ---- right ---- */
static void reads_tensors(void **state)
{
    (void)state;
    const Bytes b = good();
    Fault why = { 0 };
    float x[32];
    Safetensors *s = safetensors_open(file_of(&b), &why);
    assert_string_equal(why.text, "");
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 3);
    const Tensor *t = safetensors_find(s, "f");
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], 3);
    tensor_floats(t, 1, 5, x);
    assert_true(x[0] == 2 && x[4] == -6.5f);
    t = safetensors_find(s, "q8");
    assert_string_equal(t->type_name, "Q8_0");
    tensor_floats(t, 0, 32, x);
    for (int i = 0; i < 32; i++)
        assert_true(x[i] == 0.5f * (float)(i * 8 - 128));
    tensor_floats(safetensors_find(s, "q4"), 0, 32, x);
    for (int i = 0; i < 16; i++) {
        assert_true(x[i] == -2.0f * (float)(i - 8));
        assert_true(x[i + 16] == -2.0f * (float)(7 - i));
    }
    safetensors_close(s);
}

/* Tests data that follow a header of exactly 96 bytes, 3 times 32: a name of 32
 * bytes makes it so long. */
static void reads_data_without_padding(void **state)
{
    (void)state;
    Bytes b = head(3, 1, 0);
    Fault why = { 0 };
    float x[8];
    const float numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    put_entry(&b, "a_tensor_whose_name_has_32_bytes", 8, 1, F32, 0);
    assert_int_equal(b.n, 96);
    put(&b, numbers, sizeof numbers);
    Safetensors *s = safetensors_open(file_of(&b), &why);
    assert_string_equal(why.text, "");
    assert_non_null(s);
    tensor_floats(safetensors_find(s, "a_tensor_whose_name_has_32_bytes"), 0, 8,
                  x);
    assert_memory_equal(x, numbers, sizeof x);
    safetensors_close(s);
}

static void reads_metadata(void **state)
{
    (void)state;
    const Bytes b = good();
    Fault why = { 0 };
    json_t *m = gguf_metadata(file_of(&b), &why);
    assert_non_null(m);
    assert_int_equal(json_object_size(m), 6);
    assert_true(json_real_value(json_object_get(m, "eps")) == 0.5);
    assert_int_equal(json_integer_value(json_object_get(m, "less")), -7);
    assert_true(json_is_true(json_object_get(m, "is")));
    assert_string_equal(json_string_value(json_object_get(m, "name")),
                        "t\xc3\xa4st");
    const json_t *tokens = json_object_get(m, "tokens");
    assert_int_equal(json_array_size(tokens), 2);
    assert_string_equal(json_string_value(json_array_get(tokens, 0)), "a");
    json_decref(m);
}

/* ---- refused ---- */
static void assert_refused(const Bytes *b, const char *message)
{
    Fault why = { .code = -1 };
    Safetensors *s = safetensors_open(file_of(b), &why);
    if (s)
        print_error("accepted, expected: %s\n", message);
    assert_null(s);
    assert_message(why.text, message);
    assert_int_equal(why.code, ExitInput);
}

static void assert_metadata_refused(const Bytes *b, const char *message)
{
    Fault why = { .code = -1 };
    json_t *m = gguf_metadata(file_of(b), &why);
    assert_null(m);
    assert_message(why.text, message);
}

/* Tests that a file truncated anywhere is rejected; only bytes between tensors
 * may be missing. */
static void refuses_what_is_cut(void **state)
{
    (void)state;
    const Bytes whole = good();
    for (size_t n = 4; n < whole.n; n++) {
        Bytes b = whole;
        Fault why = { 0 };
        b.n = n;
        Safetensors *s = safetensors_open(file_of(&b), &why);
        assert_null(s);
        assert_true(strstr(why.text, "cut short") || strstr(why.text, "left")
                    || strstr(why.text, "more ") || strstr(why.text, "ends"));
    }
}

static void refuses_versions(void **state)
{
    (void)state;
    Bytes b = head(1, 0, 0);
    assert_refused(&b, "model.gguf: byte 4: versions 2 and 3 of gguf can be "
                       "read: make the file anew");
    b = head(3u << 24, 0, 0);
    assert_refused(&b, "model.gguf: byte 4: numbers are big-endian, or this "
                       "is no gguf file");
}

static void refuses_counts(void **state)
{
    (void)state;
    Bytes b = head(3, UINT64_MAX, 0);
    assert_refused(&b, "model.gguf: byte 8: more tensors than the file has "
                       "bytes for");
    b = head(3, 0, UINT64_MAX / 2);
    assert_refused(&b, "model.gguf: byte 16: more keys than the file has "
                       "bytes for");
}

/* Tests a file that has one tensor fewer than its head says. */
static void refuses_missing_tensors(void **state)
{
    (void)state;
    Bytes b = head(3, 2, 0);
    put_entry(&b, "w", 8, 1, F32, 0);
    assert_refused(&b, "model.gguf: byte 8: more tensors than the file has "
                       "bytes for");
    put_number(&b, 1, 8);
    assert_refused(&b, "model.gguf: byte 65: a text is longer than what is "
                       "left of the file");
    align(&b, 128);
    assert_refused(&b, "model.gguf: byte 65: a name of 1 to 65535 bytes "
                       "without NUL is expected");
}

/* Tests that values of unused keys are checked against the file's size, too. */
static void refuses_values(void **state)
{
    (void)state;
    Bytes b = head(3, 0, 1);
    put_pair(&b, "k", 13, 0, 8);
    assert_refused(&b, "model.gguf: byte 33: a value of unknown type");
    b = head(3, 0, 1);
    put_pair(&b, "general.alignment", 4, 48, 4);
    assert_refused(&b, "model.gguf: byte 53: general.alignment is no power of "
                       "2");
    b = head(3, 0, 1);
    put_pair(&b, "general.alignment", 6, 32, 4);
    assert_refused(&b, "model.gguf: byte 53: general.alignment is no number");
    b = head(3, 0, 1);
    put_text(&b, "k");
    put_number(&b, 9, 4);
    put_number(&b, 4, 4);
    put_number(&b, UINT64_MAX / 8, 8);
    assert_refused(&b, "model.gguf: byte 37: a list is longer than what is "
                       "left of the file");
    b.at[37] = 9;
    assert_refused(&b, "model.gguf: byte 37: a list of lists");
    b = head(3, 0, 1);
    put_pair(&b, "k", 8, 1000, 8);
    assert_refused(&b, "model.gguf: byte 37: a text is longer than what is "
                       "left of the file");
    b = head(3, 0, 1);
    put_pair(&b, "", 4, 1, 4);
    assert_refused(&b, "model.gguf: byte 24: a name of 1 to 65535 bytes "
                       "without NUL is expected");
}

static void refuses_metadata(void **state)
{
    (void)state;
    Bytes b = head(3, 0, 1);
    put_pair(&b, "k", 10, UINT64_MAX, 8);
    assert_metadata_refused(&b, "model.gguf: byte 37: a number that is not "
                                "finite, or too large");
    b = head(3, 0, 1);
    put_pair(&b, "k", 6, 0x7fc00000, 4);
    assert_metadata_refused(&b, "model.gguf: byte 37: a number that is not "
                                "finite, or too large");
    b = head(3, 0, 1);
    put_pair(&b, "k", 7, 2, 1);
    assert_metadata_refused(&b, "model.gguf: byte 37: a truth value that is "
                                "neither 0 nor 1");
    b = head(3, 0, 2);
    put_pair(&b, "k", 4, 2, 4);
    put_pair(&b, "k", 4, 2, 4);
    assert_metadata_refused(&b, "model.gguf: byte 54: its key is there twice");
    b = head(3, 0, 1);
    put_pair(&b, "\xff", 4, 2, 4);
    assert_metadata_refused(&b, "model.gguf: byte 24: a text is not UTF-8");
    b = head(3, 0, 0);
    b.at[0] = 'H';
    assert_metadata_refused(&b, "model.gguf: byte 0: does not look like a "
                                ".gguf file");
}

/* Writes a file with one tensor and n bytes of data. */
static Bytes one(uint64_t columns, unsigned type, uint64_t offset, size_t n)
{
    static const unsigned char zeros[1024];
    Bytes b = head(3, 1, 0);
    put_entry(&b, "w", columns, 1, type, offset);
    align(&b, 32);
    put(&b, zeros, n);
    return b;
}

static void refuses_tensors(void **state)
{
    (void)state;
    Bytes b = one(8, F32, 0, 31);
    assert_refused(&b, "model.gguf: tensor 'w': has 32 bytes from byte 0 of "
                       "the data on, which have 31: the file is cut short");
    b = one(8, F32, 4, 64);
    assert_refused(&b, "model.gguf: tensor 'w': its data are not aligned");
    b = one(8, F32, UINT64_MAX - 31, 64);
    assert_refused(&b, "model.gguf: tensor 'w': has 32 bytes from byte "
                       "18446744073709551584 of the data on, which have 64: "
                       "the file is cut short");
    b = one(33, Q8_0, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': rows of 33 elements are no "
                       "whole blocks of 32, as type Q8_0 needs: make the "
                       "file anew");
    b = one(128, Q6_K, 0, 256);
    assert_refused(&b, "model.gguf: tensor 'w': rows of 128 elements are no "
                       "whole blocks of 256, as type Q6_K needs: make the "
                       "file anew");
    b = one(512, Q6_K, 0, 419);
    assert_refused(&b, "model.gguf: tensor 'w': has 420 bytes from byte 0 of "
                       "the data on, which have 419: the file is cut short");
    b = one(INT64_MAX, F32, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': its number of bytes "
                       "overflows");
    b = one(UINT64_MAX, F32, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': its number of elements "
                       "overflows");
    b = one(8, F32, 0, 64);
    b.at[33] = 5;
    assert_refused(&b, "model.gguf: tensor 'w': more than 4 dimensions");
}

/* Tests that types are refused by name, those that ggml has removed, too. */
static void refuses_types(void **state)
{
    (void)state;
    Bytes b = one(256, IQ2_S, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': ggml's type IQ2_S cannot be "
                       "read: convert the file to another type, such as Q4_K "
                       "or F16 (llama-quantize)");
    b = one(256, Removed, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': ggml's type Q4_0_4_4 cannot "
                       "be read: convert the file to another type, such as "
                       "Q4_K or F16 (llama-quantize)");
    b = one(256, 43, 0, 64);
    assert_refused(&b, "model.gguf: tensor 'w': ggml has no type 43: the file "
                       "is damaged, or made by a later version of ggml");
}

static void refuses_pairs_of_tensors(void **state)
{
    (void)state;
    static const unsigned char zeros[128];
    for (int same = 0; same < 2; same++) {
        Bytes b = head(3, 2, 0);
        put_entry(&b, "a", 16, 1, F32, 0);
        put_entry(&b, same ? "a" : "b", 16, 1, F32, same ? 64 : 32);
        align(&b, 32);
        put(&b, zeros, sizeof zeros);
        assert_refused(&b, same ? "model.gguf: tensor 'a': is there twice"
                                : "model.gguf: tensor 'b': shares bytes with "
                                  "'a'");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors),
        cmocka_unit_test(reads_data_without_padding),
        cmocka_unit_test(reads_metadata),
        cmocka_unit_test(refuses_what_is_cut),
        cmocka_unit_test(refuses_versions),
        cmocka_unit_test(refuses_counts),
        cmocka_unit_test(refuses_missing_tensors),
        cmocka_unit_test(refuses_values),
        cmocka_unit_test(refuses_metadata),
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(refuses_types),
        cmocka_unit_test(refuses_pairs_of_tensors),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
