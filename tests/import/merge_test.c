/* merge_test.c: tests an adapter merged into weights, and the mean of
 * checkpoints, against numbers computed by hand. Adapters that are more than a
 * product of two matrices are rejected. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "import/merge.h"

#include <cmocka.h>

#include "support/scratch.h"

static int64_t position_ids[1] = { 0 };

/* Writes these tensors to a file in the folder and opens it. */
static Safetensors *file_of(const char *name, const TensorOut *t, int n)
{
    Fault why = { 0 };
    const char *path = scratch_path(name);
    assert_true(safetensors_write(path, t, n, &why));
    Safetensors *s = safetensors_open(path, &why);
    assert_non_null(s);
    return s;
}

static void assert_tensor(const Safetensors *s, const char *name,
                          const float *expected, int64_t n)
{
    float x[16];
    const Tensor *t = safetensors_find(s, name);
    assert_non_null(t);
    assert_int_equal(t->elements, n);
    assert_int_equal(t->type, StF32);
    tensor_floats(t, 0, n, x);
    assert_memory_equal(x, expected, (size_t)n * sizeof *x);
}

/* ---- LoRA ---- */

static const float w[6] = { 1, 2, 3, 4, 5, 6 }, v[4] = { 1, 1, 1, 1 };
static const TensorOut base_tensors[] = {
    { .name = "model.a.weight", .rank = 2, .dim = { 2, 3 }, .data = w },
    { .name = "model.t.weight", .rank = 2, .dim = { 3, 2 }, .data = w },
    { .name = "head.weight", .rank = 1, .dim = { 4 }, .data = v },
    { .name = "ids",
      .rank = 1,
      .dim = { 1 },
      .data = position_ids,
      .is_int = true },
};
static const float a[6] = { 1, 0, 2, 0, 1, 1 }, b[4] = { 1, 2, 3, 4 };
static const float head[4] = { 9, 8, 7, 6 };

/* Matrices A of a.weight [2, 3], and B [2, 2]. */
#define PRODUCT(text, rows, columns, numbers)                              \
    { .name = text, .rank = 2, .dim = { rows, columns }, .data = numbers }
#define A(module) PRODUCT(module ".lora_A.weight", 2, 3, a)
#define B(module) PRODUCT(module ".lora_B.weight", 2, 2, b)

static bool merge(const char *config, const TensorOut *t, int n,
                  Safetensors **to, Fault *why)
{
    Arena *arena = arena_new();
    Safetensors *base = file_of("base.safetensors", base_tensors, 4);
    const char *out = scratch_path("out.safetensors");
    *why = (Fault){ 0 };
    if (config)
        scratch_file("adapter_config.json", config, strlen(config));
    safetensors_close(file_of("adapter_model.safetensors", t, n));
    const bool done = merge_lora(arena, base, scratch, out, why);
    *to = done ? safetensors_open(out, why) : NULL;
    safetensors_close(base);
    arena_free(arena);
    return done;
}

static void adds_products(void **state)
{
    (void)state;
    const TensorOut t[] = { A("base_model.model.model.a"),
                            B("base_model.model.model.a"),
                            { .name = "base_model.model.head.weight",
                              .rank = 1,
                              .dim = { 4 },
                              .data = head } };
    Safetensors *s;
    Fault why;
    /* scale 4 / 2; B A = 1 2 4 / 3 4 10 */
    const float merged[6] = { 3, 6, 11, 10, 13, 26 };
    assert_true(merge("{\"peft_type\": \"LORA\", \"lora_alpha\": 4, \"r\": 2, "
                      "\"use_dora\": false, \"target_modules\": [\"a\"]}",
                      t, 3, &s, &why));
    assert_int_equal(safetensors_count(s), 3);
    assert_tensor(s, "model.a.weight", merged, 6);
    assert_tensor(s, "model.t.weight", w, 6);
    assert_tensor(s, "head.weight", head, 4);
    safetensors_close(s);
}

static void turns_and_scales(void **state)
{
    (void)state;
    const TensorOut t[] = { A("base_model.model.t"), B("base_model.model.t") };
    Safetensors *s;
    Fault why;
    /* its own scale 3 / 2; the matrix is [in, out] */
    const float merged[6] = { 2.5f, 6.5f, 6, 10, 11, 21 };
    assert_true(merge("{\"peft_type\": \"LORA\", \"lora_alpha\": 4, "
                      "\"fan_in_fan_out\": true, "
                      "\"alpha_pattern\": {\"t\": 3}}",
                      t, 2, &s, &why));
    assert_tensor(s, "model.t.weight", merged, 6);
    safetensors_close(s);
}

static void scales_by_root(void **state)
{
    (void)state;
    const float one[3] = { 1, 2, 3 };
    const TensorOut t[] = {
        { .name = "a.lora_A.weight",
          .rank = 2,
          .dim = { 4, 3 },
          .data = (float[12]){ 1, 2, 3 } },
        { .name = "a.lora_B.weight",
          .rank = 2,
          .dim = { 2, 4 },
          .data = (float[8]){ 1 } },
    };
    Safetensors *s;
    Fault why;
    const float merged[6] = { 1 + one[0], 2 + one[1], 3 + one[2], 4, 5, 6 };
    assert_true(merge("{\"peft_type\": \"LORA\", \"lora_alpha\": 2, "
                      "\"use_rslora\": true}",
                      t, 2, &s, &why));
    assert_tensor(s, "model.a.weight", merged, 6);
    safetensors_close(s);
}

/* Tests rows of more elements than are added at once. */
static void adds_to_wide_rows(void **state)
{
    enum { Columns = 600, N = 2 * Columns };
    Arena *arena = arena_new();
    Fault why = { 0 };
    float ones[N], up[Columns], x[N];
    const float down[2] = { 2, 3 };
    const char *config = "{\"peft_type\": \"LORA\", \"lora_alpha\": 1}";
    (void)state;
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        up[i % Columns] = (float)(i % Columns);
    }
    const TensorOut wide = {
        .name = "w.weight", .rank = 2, .dim = { 2, Columns }, .data = ones
    };
    const TensorOut t[] = { PRODUCT("w.lora_A.weight", 1, Columns, up),
                            PRODUCT("w.lora_B.weight", 2, 1, down) };
    scratch_file("adapter_config.json", config, strlen(config));
    safetensors_close(file_of("adapter_model.safetensors", t, 2));
    Safetensors *base = file_of("base.safetensors", &wide, 1);
    const char *out = scratch_path("out.safetensors");
    assert_true(merge_lora(arena, base, scratch, out, &why));
    Safetensors *s = safetensors_open(out, &why);
    assert_non_null(s);
    tensor_floats(safetensors_find(s, "w.weight"), 0, N, x);
    for (int i = 0; i < N; i++)
        assert_true(x[i] == 1 + down[i / Columns] * (float)(i % Columns));
    safetensors_close(s);
    safetensors_close(base);
    arena_free(arena);
}

static void refuses(const char *config, const TensorOut *t, int n,
                    const char *message)
{
    Safetensors *s;
    Fault why;
    assert_false(merge(config, t, n, &s, &why));
    assert_message(why.text, message);
    assert_int_equal(why.code, ExitInput);
    assert_int_not_equal(access(scratch_path("out.safetensors"), F_OK), 0);
}

#define CONFIG "{\"peft_type\": \"LORA\", \"lora_alpha\": 4"

static void refuses_configs(void **state)
{
    (void)state;
    const TensorOut t[] = { A("a"), B("a") };
    scratch_empty();
    refuses("{\"peft_type\": \"IA3\"}", t, 2,
            "adapter_config.json: 'peft_type' is LORA, the only one that is "
            "known");
    refuses(CONFIG ", \"use_dora\": true}", t, 2,
            "adapter_config.json: 'use_dora' is set: only adapters that add a "
            "product of two matrices can be merged");
    refuses("{\"peft_type\": \"LORA\"}", t, 2,
            "adapter_config.json: 'lora_alpha' is a number");
    refuses(CONFIG ", \"use_rslora\": 3}", t, 2,
            "adapter_config.json: 'use_rslora' is true or false");
    refuses(CONFIG ", \"alpha_pattern\": {\"a.*\": 3}}", t, 2,
            "adapter_config.json: 'alpha_pattern' has a regular expression: "
            "only names of modules are known");
    refuses(CONFIG ", \"alpha_pattern\": {\"a\": \"b\"}}", t, 2,
            "adapter_config.json: 'alpha_pattern' maps modules to numbers");
    refuses(CONFIG ", \"alpha_pattern\": 3}", t, 2,
            "adapter_config.json: 'alpha_pattern' maps modules to numbers");
    refuses("[]", t, 2, "adapter_config.json: an object is expected");
    refuses("{", t, 2,
            "adapter_config.json:1:1: string or '}' expected near "
            "end of file");
}

static void refuses_tensors(void **state)
{
    (void)state;
    const TensorOut unknown[] = { A("z"), B("z") };
    const TensorOut alone[] = { A("a") };
    const TensorOut wide[] = { A("t"), B("t") };
    const TensorOut dora[] = { { .name = "a.lora_magnitude_vector",
                                 .rank = 1,
                                 .dim = { 2 },
                                 .data = v } };
    const TensorOut whole[] = {
        { .name = "z", .rank = 1, .dim = { 2 }, .data = v }
    };
    const TensorOut other[] = {
        { .name = "head.weight", .rank = 1, .dim = { 2 }, .data = v }
    };
    scratch_empty();
    refuses(CONFIG "}", unknown, 2,
            "adapter_model.safetensors: tensor 'z.lora_A.weight': is for a "
            "weight that the model does not have");
    refuses(CONFIG "}", alone, 1,
            "adapter_model.safetensors: tensor 'a.lora_A.weight': is A [r, in] "
            "beside B [out, r]");
    refuses(CONFIG "}", wide, 2,
            "adapter_model.safetensors: tensor 't.lora_A.weight': does not fit "
            "the shape of the model's weight");
    refuses(CONFIG "}", dora, 1,
            "adapter_model.safetensors: tensor 'a.lora_magnitude_vector': is "
            "of a form that cannot be merged");
    refuses(CONFIG "}", whole, 1,
            "adapter_model.safetensors: tensor 'z': is for a weight that the "
            "model does not have");
    refuses(CONFIG "}", other, 1,
            "adapter_model.safetensors: tensor 'head.weight': does not fit the "
            "shape of the model's weight");
}

/* ---- mean ---- */

static bool mean(const TensorOut *other, int n, Safetensors **to, Fault *why)
{
    Arena *arena = arena_new();
    Safetensors *x = file_of("x", base_tensors, 4), *y = file_of("y", other, n);
    const Safetensors *const files[] = { x, y };
    *why = (Fault){ 0 };
    const bool done = merge_mean(arena, files, 2, scratch_path("m"), why);
    *to = done ? safetensors_open(scratch_path("m"), why) : NULL;
    safetensors_close(x);
    safetensors_close(y);
    arena_free(arena);
    return done;
}

static void takes_the_mean(void **state)
{
    (void)state;
    const float zeros[6] = { 0 }, half[6] = { .5f, 1, 1.5f, 2, 2.5f, 3 };
    TensorOut other[4];
    Safetensors *s;
    Fault why;
    memcpy(other, base_tensors, sizeof other);
    other[0].data = zeros;
    assert_true(mean(other, 4, &s, &why));
    assert_int_equal(safetensors_count(s), 3);
    assert_tensor(s, "model.a.weight", half, 6);
    assert_tensor(s, "head.weight", v, 4);
    safetensors_close(s);
}

/* Tests a tensor of more elements than are added at once. */
static void takes_the_mean_of_large_tensors(void **state)
{
    enum { N = 1030 };
    Arena *arena = arena_new();
    Fault why = { 0 };
    float numbers[2][N];
    const Safetensors *files[2];
    (void)state;
    for (int f = 0; f < 2; f++) {
        const TensorOut t = {
            .name = "w", .rank = 1, .dim = { N }, .data = numbers[f]
        };
        for (int i = 0; i < N; i++)
            numbers[f][i] = (float)(i + 2 * f);
        files[f] = file_of(f ? "y" : "x", &t, 1);
    }
    assert_true(merge_mean(arena, files, 2, scratch_path("m"), &why));
    Safetensors *s = safetensors_open(scratch_path("m"), &why);
    assert_non_null(s);
    tensor_floats(safetensors_find(s, "w"), 0, N, numbers[0]);
    for (int i = 0; i < N; i++)
        assert_true(numbers[0][i] == (float)(i + 1));
    safetensors_close(s);
    for (int f = 0; f < 2; f++)
        safetensors_close((Safetensors *)files[f]);
    arena_free(arena);
}

static void refuses_other_models(void **state)
{
    (void)state;
    TensorOut other[5];
    Safetensors *s;
    Fault why;
    char text[600];
    memcpy(other, base_tensors, sizeof base_tensors);
    assert_false(mean(other + 1, 3, &s, &why));
    snprintf(text, sizeof text,
             "y: has no tensor 'model.a.weight', which %s has: a mean is of "
             "checkpoints of one model",
             scratch_path("x"));
    assert_message(why.text, text);
    other[0].dim[0] = 1;
    assert_false(mean(other, 4, &s, &why));
    snprintf(text, sizeof text,
             "y: tensor 'model.a.weight': is not as in %s: a mean is of "
             "checkpoints of one model",
             scratch_path("x"));
    assert_message(why.text, text);
    other[0] = base_tensors[0];
    other[4] = (TensorOut){ .name = "more", .rank = 0, .data = w };
    assert_false(mean(other, 5, &s, &why));
    snprintf(text, sizeof text,
             "x: has no tensor 'more', which %s has: a mean is of checkpoints "
             "of one model",
             scratch_path("y"));
    assert_message(why.text, text);
}

static void refuses_infinite_means(void **state)
{
    (void)state;
    const float bad[4] = { 1, NAN, 1, 1 };
    TensorOut other[4];
    Safetensors *s;
    Fault why;
    memcpy(other, base_tensors, sizeof other);
    other[2].data = bad;
    scratch_empty();
    assert_false(mean(other, 4, &s, &why));
    assert_message(why.text, "y: tensor 'head.weight': has a value that is not "
                             "finite, of which no mean is taken");
    assert_int_equal(why.code, ExitInput);
    assert_int_equal(access(scratch_path("m"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_products),
        cmocka_unit_test(turns_and_scales),
        cmocka_unit_test(scales_by_root),
        cmocka_unit_test(adds_to_wide_rows),
        cmocka_unit_test(refuses_configs),
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(takes_the_mean),
        cmocka_unit_test(takes_the_mean_of_large_tensors),
        cmocka_unit_test(refuses_other_models),
        cmocka_unit_test(refuses_infinite_means),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
