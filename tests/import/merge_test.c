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

/* Returns how a model uses the tensors: it reads all but `unused`, t is
 * [in, out], and `tied` is its table. */
static const TensorUse *use_of(Arena *arena, const Safetensors *base,
                               const char *tied, const char *unused)
{
    const int n = safetensors_count(base);
    TensorUse *use = arena_alloc(arena, (size_t)n * sizeof *use);
    for (int i = 0; i < n; i++) {
        const char *name = safetensors_at(base, i)->name;
        use[i] = (TensorUse){ .used = strcmp(name, unused) != 0,
                              .turned = !strcmp(name, "model.t.weight"),
                              .tied = !strcmp(name, tied) };
    }
    return use;
}

static const char *tied = "", *unused = "";
static char note[300]; /* the remedy of the last merge */

static bool merge(const char *config, const TensorOut *t, int n,
                  Safetensors **to, Fault *why)
{
    Arena *arena = arena_new();
    Safetensors *base = file_of("base.safetensors", base_tensors, 4);
    LoraMerge o = { .arena = arena,
                    .base = base,
                    .use = use_of(arena, base, tied, unused),
                    .adapter = scratch,
                    .path = scratch_path("out.safetensors") };
    *why = (Fault){ 0 };
    if (config)
        scratch_file("adapter_config.json", config, strlen(config));
    safetensors_close(file_of("adapter_model.safetensors", t, n));
    const bool done = merge_lora(&o, why);
    *to = done ? safetensors_open(o.path, why) : NULL;
    snprintf(note, sizeof note, "%s", o.note ? o.note : "");
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
                      "\"fan_in_fan_out\": false, "
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
    LoraMerge o = { .arena = arena,
                    .base = base,
                    .use = use_of(arena, base, "", ""),
                    .adapter = scratch,
                    .path = scratch_path("out.safetensors") };
    assert_true(merge_lora(&o, &why));
    Safetensors *s = safetensors_open(o.path, &why);
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
    refuses(CONFIG ", \"alpha_pattern\": {\"a{1}\": 3}}", t, 2,
            "adapter_config.json: 'alpha_pattern' has a regular expression "
            "that is not known to mean the same outside of Python: 'a{1}'");
    assert_string_equal(note, "name the modules instead: .*, +, ?, |, (), [], "
                              "^, $, \\., \\d and \\w are known");
    refuses(CONFIG ", \"alpha_pattern\": {\"a\": \"b\"}}", t, 2,
            "adapter_config.json: 'alpha_pattern' maps modules to numbers");
    refuses(CONFIG ", \"alpha_pattern\": 3}", t, 2,
            "adapter_config.json: 'alpha_pattern' maps modules to numbers");
    refuses(CONFIG ", \"r\": 0}", t, 2,
            "adapter_config.json: 'r' is a positive integer");
    refuses(CONFIG ", \"r\": 3}", t, 2,
            "adapter_config.json: 'r' is 3 for module 'a', but its update has "
            "rank 2");
    refuses(CONFIG ", \"r\": 2, \"rank_pattern\": {\"a\": 4}}", t, 2,
            "adapter_config.json: 'rank_pattern' is 4 for module 'a', but its "
            "update has rank 2");
    refuses(CONFIG ", \"use_tomorrow\": 1}", t, 2,
            "adapter_config.json: 'use_tomorrow' is not a known key of an "
            "adapter");
    assert_string_equal(note, "if it changes nothing that is computed, remove "
                              "it");
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
    const TensorOut wide[] = { A("a"), PRODUCT("a.lora_B.weight", 3, 2, w) };
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
            "adapter_model.safetensors: tensor 'a.lora_A.weight': does not fit "
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

static void refuses_halves_doubles_infinities(void **state)
{
    (void)state;
    const TensorOut b_alone[] = { B("a") };
    const TensorOut twice[] = { A("a"), B("a"), A("model.a"), B("model.a") };
    const TensorOut heads[] = {
        { .name = "head.weight", .rank = 1, .dim = { 4 }, .data = v },
        { .name = "x.head.weight", .rank = 1, .dim = { 4 }, .data = head }
    };
    const float large[6] = { 1, 2, HUGE_VALF, 0, 1, 2 };
    const TensorOut infinite[] = { PRODUCT("a.lora_A.weight", 2, 3, large),
                                   B("a") };
    scratch_empty();
    refuses(CONFIG "}", b_alone, 1,
            "adapter_model.safetensors: tensor 'a.lora_B.weight': has no A "
            "beside it");
    refuses(CONFIG "}", twice, 4,
            "adapter_model.safetensors: tensor 'model.a.lora_A.weight': "
            "updates a weight a second time");
    refuses(CONFIG "}", heads, 2,
            "adapter_model.safetensors: tensor 'x.head.weight': replaces a "
            "weight a second time");
    refuses(CONFIG "}", infinite, 2,
            "adapter_model.safetensors: gives tensor 'model.a.weight' a value "
            "that is not finite");
}

/* Replaces a tensor by one of a type that attnc does not read. */
static void refuses_types(void **state)
{
    (void)state;
    static const char header[] = "{\"head.weight\":{\"dtype\":\"F8_E4M3\","
                                 "\"shape\":[4],\"data_offsets\":[0,4]}}";
    const char length[8] = { sizeof header - 1 };
    char file[8 + sizeof header + 4] = { 0 };
    Arena *arena = arena_new();
    Fault why;
    scratch_empty();
    memcpy(file, length, 8);
    memcpy(file + 8, header, sizeof header - 1);
    scratch_file("adapter_config.json", CONFIG "}", strlen(CONFIG "}"));
    scratch_file("adapter_model.safetensors", file, sizeof file - 1);
    Safetensors *base = file_of("base.safetensors", base_tensors, 4);
    LoraMerge o = { .arena = arena,
                    .base = base,
                    .use = use_of(arena, base, "", ""),
                    .adapter = scratch,
                    .path = scratch_path("out.safetensors") };
    assert_false(merge_lora(&o, &why));
    assert_message(why.text,
                   "adapter_model.safetensors: tensor 'head.weight': is of a "
                   "type that is not read");
    safetensors_close(base);
    arena_free(arena);
}

/* Initialisations that change the model's own weights. */
static void refuses_other_starts(void **state)
{
    (void)state;
    const TensorOut t[] = { A("a"), B("a") };
    static const char *const same[] = { "true",     "false",
                                        "null",     "\"gaussian\"",
                                        "\"mica\"", "\"orthogonal\"",
                                        "\"eva\"" };
    static const char *const changes[] = {
        "pissa", "pissa_niter_16", "olora", "corda", "loftq", "lora_ga"
    };
    char config[200], message[200];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        Safetensors *s;
        Fault why;
        snprintf(config, sizeof config, CONFIG ", \"init_lora_weights\": %s}",
                 same[i]);
        assert_true(merge(config, t, 2, &s, &why));
        safetensors_close(s);
    }
    scratch_empty();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        snprintf(config, sizeof config,
                 CONFIG ", \"init_lora_weights\": \"%s\"}", changes[i]);
        snprintf(message, sizeof message,
                 "adapter_config.json: 'init_lora_weights' is \"%s\", which "
                 "also changes weights of the model that the adapter does not "
                 "have",
                 changes[i]);
        refuses(config, t, 2, message);
        assert_string_equal(note, "save it again by peft's save_pretrained() "
                                  "with path_initial_model_for_weight_"
                                  "conversion, or merge it where it was "
                                  "trained");
    }
    refuses(CONFIG ", \"init_lora_weights\": \"tomorrow\"}", t, 2,
            "adapter_config.json: 'init_lora_weights' has a value that is not "
            "known");
}

/* Updates that peft does not read, because of keys of the config. */
static void refuses_other_modules(void **state)
{
    (void)state;
    const TensorOut t[] = { A("model.a"), B("model.a") };
    static const struct {
        const char *key, *value;
    } rows[] = {
        { "target_modules", "[\"t\", \"x.model.a\"]" },
        { "target_modules", "\"mode.\"" },
        { "exclude_modules", "[\"a\"]" },
        { "exclude_modules", "\"(?:model)\\\\.[a-c]\"" },
        { "layers_to_transform", "[1], \"target_modules\": [\"a\"]" },
        { "modules_to_save", "[\"model\"]" },
    };
    char config[200], message[200];
    scratch_empty();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(config, sizeof config, CONFIG ", \"%s\": %s}", rows[i].key,
                 rows[i].value);
        snprintf(message, sizeof message,
                 "adapter_config.json: '%s' leaves out module 'model.a', of "
                 "which the adapter has an update",
                 rows[i].key);
        refuses(config, t, 2, message);
    }
}

/* A table that the model ties keeps one value under all of its names. */
static void keeps_tables_tied(void **state)
{
    (void)state;
    const float other[6] = { 7, 7, 7, 7, 7, 7 };
    TensorOut t[] = {
        { .name = "model.a.weight", .rank = 2, .dim = { 2, 3 }, .data = other },
        { .name = "out.weight", .rank = 2, .dim = { 2, 3 }, .data = other }
    };
    const TensorOut product[] = { A("a"), B("a") };
    const TensorOut head_product[] = { A("out"), B("out") };
    Safetensors *s;
    Fault why;
    tied = "model.a.weight";
    scratch_empty();
    refuses(CONFIG "}", t, 1,
            "adapter_model.safetensors: tensor 'model.a.weight': would untie "
            "'model.a.weight', one table for the model's input and output");
    assert_true(strstr(note, "tie_word_embeddings=False"));
    refuses(CONFIG "}", t + 1, 1,
            "adapter_model.safetensors: tensor 'out.weight': would untie "
            "'model.a.weight', one table for the model's input and output");
    refuses(CONFIG "}", product, 2,
            "adapter_model.safetensors: tensor 'a.lora_A.weight': would untie "
            "'model.a.weight', one table for the model's input and output");
    refuses(CONFIG "}", head_product, 2,
            "adapter_model.safetensors: tensor 'out.lora_A.weight': would "
            "untie 'model.a.weight', one table for the model's input and "
            "output");
    assert_true(merge(CONFIG "}", t, 2, &s, &why));
    assert_tensor(s, "model.a.weight", other, 6);
    safetensors_close(s);
    t[1].data = w;
    scratch_empty();
    refuses(CONFIG "}", t, 2,
            "adapter_model.safetensors: tensor 'out.weight': would untie "
            "'model.a.weight', one table for the model's input and output");
    assert_true(merge(CONFIG "}", t + 1, 1, &s, &why)); /* as it was */
    safetensors_close(s);
    tied = "";
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
        cmocka_unit_test(refuses_halves_doubles_infinities),
        cmocka_unit_test(refuses_types),
        cmocka_unit_test(refuses_other_starts),
        cmocka_unit_test(refuses_other_modules),
        cmocka_unit_test(keeps_tables_tied),
        cmocka_unit_test(takes_the_mean),
        cmocka_unit_test(takes_the_mean_of_large_tensors),
        cmocka_unit_test(refuses_other_models),
        cmocka_unit_test(refuses_infinite_means),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
