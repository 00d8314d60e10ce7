/* library_hidden_test.c: the rows that a model's head reads (attnc.h): those of
 * which PyTorch computed logits, and those of attnc run --tap. */
#define _GNU_SOURCE /* mkdtemp, popen */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/library_calls.h"
#include "support/tensor_file.h"

static const char rotary[] = "tests/torch/rotary.yaml";

/* The hidden rows of a decoder, times the weights of its logits, are the logits
 * that PyTorch computed. */
static void test_hidden_of_decoder(void **state)
{
    attnc_handle *h = opened(rotary, NULL);
    const char io[] = "tests/torch/rotary.io.safetensors";
    const char weights[] = "tests/torch/rotary.safetensors";
    float expected[8 * 11], weight[11 * 16], rows[8 * 16];
    int32_t ids[8];

    (void)state;
    assert_int_equal(tensor(io, "out.logits", expected, sizeof expected), 88);
    assert_int_equal(tensor(io, "target", ids, sizeof ids), 8);
    assert_int_equal(tensor(weights, "logits.weight", weight, sizeof weight),
                     176);
    assert_int_equal(attnc_hidden_ids(h, ids, 8, NULL, 0, NULL, 0), 8);
    assert_int_equal(attnc_hidden_ids(h, ids, 5, ids + 5, 3, rows, 128), 8);
    for (int i = 0; i < 88; i++) {
        double sum = 0.0;
        for (int k = 0; k < 16; k++)
            sum += (double)(rows[i / 11 * 16 + k] * weight[i % 11 * 16 + k]);
        assert_true(fabs(sum - (double)expected[i]) < 1e-5);
    }
    REFUSED(attnc_hidden_ids(h, ids, 8, NULL, 0, rows, 127), ATTNC_ERROR_ROOM,
            "the results need 128 floats");
    closed(h);
}

/* Tests the rows of an encoder in front of its head, which has dense layers. */
static void test_tap(void **state)
{
    static const char folder[] = "tests/families/bert-mlm";
    attnc_handle *h = opened(folder, NULL);
    const int32_t ids[] = { 3, 5, 7, 2 };
    float expected[4 * 15], rows[4 * 15];
    char header[100], words[300];

    (void)state;
    snprintf(header, sizeof header,
             "{\"source.ids\":{\"dtype\":\"I32\",\"shape\":[4],"
             "\"data_offsets\":[0,16]}}  ");
    const char *in = scratch_tensors(strlen(header), header, strlen(header),
                                     ids, sizeof ids);
    snprintf(words, sizeof words,
             "run %s --input %s --output %s/out --tap encoder.1.norm2", folder,
             in, scratch);
    printed(words);
    assert_int_equal(tensor(scratch_path("out"), "encoder.1.norm2", expected,
                            sizeof expected),
                     60);
    assert_int_equal(attnc_hidden_ids(h, ids, 4, NULL, 0, rows, 60), 4);
    for (int i = 0; i < 60; i++)
        assert_true(fabsf(rows[i] - expected[i]) < 1e-6f);
    REFUSED(attnc_hidden_ids(h, ids, 2, ids, 2, rows, 60), ATTNC_ERROR_KIND,
            "bert-mlm: this kind of model does not do that");
    closed(h);
    scratch_empty();
}

static void keep(void *user, const struct attnc_message *m)
{
    snprintf(user, 300, "%s", m->text);
}

/* Checks that the attention of a changed model cannot be read. */
static void expect_no_maps(const char *says)
{
    const struct attnc_maps *maps;
    char heard[300] = "";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(attnc_attention(&maps, model, "abc", NULL, keep,
                                         heard),
                         ATTNC_INPUT);
        assert_null(maps);
        assert_string_equal(heard, says);
    }
}

/* A model whose weights or vocabulary are replaced before the first call. */
static void expect_changed(const char *name, const char *of)
{
    size_t n, bytes;
    char says[300], *spec = file_of("models/g2p-en/g2p-en.yaml", &n);
    float rows[256];
    static const char *const files[] = { "g2p-en.safetensors", "letters.txt",
                                         "phones.txt" };
    const char *path = scratch_file("g2p-en.yaml", spec, n);
    for (int i = 0; i < 3; i++) {
        char from[100];
        snprintf(from, sizeof from, "models/g2p-en/%s", files[i]);
        char *at = file_of(from, &bytes);
        scratch_file(files[i], at, bytes);
        free(at);
    }
    attnc_handle *h = opened(path, NULL);
    char *at = file_of(scratch_path(name), &bytes);
    at[bytes - 2] ^= 1;
    scratch_file("new", at, bytes);
    assert_int_equal(rename(scratch_path("new"), scratch_path(name)), 0);
    free(at);
    free(spec);
    snprintf(says, sizeof says,
             "%s changed since attnc_open(): open the model again", of);
    for (int i = 0; i < 2; i++) {
        REFUSED(attnc_hidden(h, "abc", -1, "", 0, rows, 256),
                ATTNC_ERROR_HIDDEN, says);
    }
    assert_true(attnc_logits(h, "abc", -1, "", 0, 1, NULL, 0) > 0);
    expect_no_maps(says);
    closed(h);
    scratch_empty();
}

static void test_changed(void **state)
{
    (void)state;
    char spec[200];
    expect_changed("g2p-en.safetensors", scratch_path("g2p-en.safetensors"));
    snprintf(spec, sizeof spec, "the vocabulary of %s",
             scratch_path("g2p-en.yaml"));
    expect_changed("phones.txt", spec);
}

/* A spec that is rewritten, and then has the old text again. */
static void test_other_spec(void **state)
{
    (void)state;
    static const char text[] =
        "attnc: 1\nname: d\nkind: decoder\n"
        "d_model: 16\nh: 2\nd_ff: 32\nN: 2\n"
        "max_len: 20\nvocab: {size: 9}\nnorm: {eps: 1e-5}\n";
    const int32_t ids[] = { 3, 5 };
    char says[300], *other = strdup(text);
    float rows[32];
    const char *path = scratch_file("d.yaml", text, strlen(text));
    attnc_handle *h = opened(path, NULL);
    *strstr(other, "5}") = '6';
    scratch_file("d.yaml", other, strlen(other));
    snprintf(says, sizeof says,
             "%s changed since attnc_open(): open the model again", path);
    REFUSED(attnc_hidden_ids(h, ids, 2, NULL, 0, rows, 32), ATTNC_ERROR_HIDDEN,
            says);
    scratch_file("d.yaml", text, strlen(text));
    assert_int_equal(attnc_hidden_ids(h, ids, 2, NULL, 0, rows, 32), 2);
    free(other);
    closed(h);
    scratch_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_of_decoder),
        cmocka_unit_test(test_tap),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_other_spec),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
