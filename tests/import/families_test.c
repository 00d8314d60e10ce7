/* families_test.c: tests every directory of tests/families, as saved by
 * transformers: imports it without manual changes, from config.json as
 * transformers 5 writes it and as 4 does, then runs it with the JIT and as
 * compiled C. Logits or rows are within 1e-5 of those of transformers, relative
 * to their scale, and greedy tokens are equal; a decoder without its head is
 * compared by rows, with the JIT. C is compiled for every fourth model, because
 * other tests compare it with the JIT's, bit by bit; ATTNC_FULL: for all.
 *
 * families_test gpt2: only the directories that begin with gpt2, all compiled.
 */
/* limit: 900 s */
#define _GNU_SOURCE
#include "import/import.h"
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"
#include "support/family_folder.h"
#include "support/family_results.h"

static const char families[] = "tests/families";

enum { MostFamilies = 256 };

/* -O0 is the fastest to compile; the code is the same. */
static const Way ways[] = { { "jit", NULL, NULL }, { "clang", "0", "-O0" } };
enum { Ways = sizeof ways / sizeof *ways };
static bool all_ways;

/* ---- import ---- */

static void link_files(const char *family, const char *to)
{
    assert_int_equal(mkdir(to, 0700), 0);
    link_family(family, to);
}

/* Returns `vectors` of expected.json, what --vectors takes, or NULL. */
static const char *vectors_of(const char *family)
{
    json_t *root = json_file(
        arena_printf(a, "%s/%s/expected.json", families, family));
    const char *word = json_string_value(json_object_get(root, "vectors"));
    word = word ? arena_strdup(a, word) : NULL;
    json_decref(root);
    return word;
}

/* Imports a folder and returns the spec, which is written next to it. */
static const char *imported(const char *family, const char *folder)
{
    Imported i;
    const ImportOptions o = { .folder = folder,
                              .spec = arena_printf(a, "%s.yaml", folder),
                              .name = family,
                              .vectors = vectors_of(family),
                              .joined = arena_printf(a, "%s.safetensors",
                                                     folder) };
    if (import_folder(&i, &o))
        fail_msg("%s is not imported", folder);
    const char *text = arena_strndup(a, i.text, i.n);
    import_close(&i);
    return text;
}

/* Imports a folder with this form of the config. */
static const char *imported_as(const char *family, const char *config,
                               const char *folder)
{
    const char *name = arena_printf(a, "%s/config.json", folder);
    char *form = realpath(arena_printf(a, "%s/%s/%s", families, family, config),
                          NULL);
    assert_non_null(form);
    unlink(name);
    assert_int_equal(symlink(form, name), 0);
    free(form);
    return imported(family, folder);
}

/* Returns the path for a spec. */
static const char *written(const char *folder, const char *text)
{
    const char *spec = arena_printf(a, "%s.yaml", folder);
    FILE *f = fopen(spec, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return spec;
}

static bool has_file(const char *family, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", families, family, name);
    return access(path, R_OK) == 0;
}

/* Imports both forms of the config, which must give the same spec; returns its
 * path. Classes that transformers 4 does not have, or computes otherwise, have
 * no config4.json. */
static const char *import_both(const char *family)
{
    const char *folder = in_dir(family);
    link_files(family, folder);
    const char *five = imported_as(family, "config.json", folder);
    if (has_file(family, "config4.json"))
        assert_string_equal(imported_as(family, "config4.json", folder), five);
    return written(folder, five);
}

/* Imports the same decoder without its head, by the class that `bare` of
 * expected.json names. */
static const char *import_bare(const char *family, const json_t *bare)
{
    const char *folder = in_dir(arena_printf(a, "%s-bare", family));
    json_t *config = json_file(
        arena_printf(a, "%s/%s/config.json", families, family));
    link_files(family, folder);
    json_object_set_new(config, "architectures",
                        json_pack("[O]",
                                  json_object_get(bare, "architecture")));
    assert_int_equal(json_dump_file(config,
                                    arena_printf(a, "%s/config.json", folder),
                                    0),
                     0);
    json_decref(config);
    return written(folder, imported(family, folder));
}

/* ---- results ---- */

static void compare(const char *spec, const char *expected)
{
    static int models;
    json_t *root = json_file(expected);
    const int n = all_ways || models++ % 4 == 0 ? Ways : 1;
    for (int i = 0; i < n; i++) {
        compare_cases(spec, &ways[i], json_object_get(root, "cases"));
        compare_greedy(spec, &ways[i], json_object_get(root, "greedy"));
    }
    json_decref(root);
}

/* Imports as a user does. */
static const char *import_by(const char *from, const char *option)
{
    Spawned s;
    const char *spec = in_dir("model.yaml");
    if (RUN(&s, "", attnc(), "import", from, "-o", spec, option))
        fail_msg("%s", s.tail);
    return spec;
}

/* Tests an adapter of peft for tests/families/llama. */
static void test_adapter(void **state)
{
    (void)state;
    compare(import_by("tests/families/llama", "--lora=tests/families/lora"),
            "tests/families/lora/expected.json");
}

/* Writes an adapter of adapters.json; returns the option that merges it. */
static const char *written_adapter(const char *base, const json_t *row)
{
    Fault why = { 0 };
    VEC(TensorOut) out = { 0 };
    const char *from = arena_printf(a, "%s/adapters.safetensors", base);
    const char *name = json_string_value(json_object_get(row, "name"));
    const size_t n = strlen(name);
    Safetensors *all = safetensors_open(from, &why);
    assert_non_null(all);
    for (int i = 0; i < safetensors_count(all); i++) {
        const Tensor *t = safetensors_at(all, i);
        if (strncmp(t->name, name, n) != 0 || t->name[n] != '/')
            continue;
        float *x = arena_alloc(a, (size_t)t->elements * sizeof *x);
        tensor_floats(t, 0, t->elements, x);
        TensorOut to = { .name = t->name + n + 1, .rank = t->rank, .data = x };
        memcpy(to.dim, t->dim, sizeof to.dim);
        vec_push(a, &out, to);
    }
    assert_true(safetensors_write(in_dir("adapter_model.safetensors"), out.at,
                                  out.n, &why));
    safetensors_close(all);
    assert_int_equal(json_dump_file(json_object_get(row, "config"),
                                    in_dir("adapter_config.json"), 0),
                     0);
    return arena_printf(a, "--lora=%s", in_dir("."));
}

/* Tests the adapters of a model: tests/families/adapters has the results, or a
 * part of the message with which each is rejected. */
static void test_adapters(void **state)
{
    const char *base = arena_printf(a, "%s/adapters/%s", families,
                                    (const char *)*state + strlen("adapters-"));
    json_t *root = json_file(arena_printf(a, "%s/adapters.json", base));
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "adapters"), i, row)
    {
        Spawned s;
        const char *option = written_adapter(base, row);
        const char *says = json_string_value(json_object_get(row, "refused"));
        const int code = RUN(&s, "", attnc(), "import", base, "-o",
                             in_dir("model.yaml"), option);
        if (code != (says ? ExitInput : 0) || (says && !strstr(s.tail, says)))
            fail_msg("%s: %s", json_string_value(json_object_get(row, "name")),
                     s.tail);
        if (!says)
            compare_cases(in_dir("model.yaml"), &ways[0],
                          json_object_get(row, "cases"));
    }
    json_decref(root);
}

/* Tests the files of llama.cpp: tests/families/gguf has NAME.json next to
 * NAME.gguf. Tokenizers are written next to the spec
 * (tests/tokenizer/gguf_tokens_test.c). */
static void test_gguf(void **state)
{
    const char *name = *state;
    const char *recorded = arena_printf(a, "%s/gguf/%s.json", families, name);
    json_t *root = json_file(recorded);
    const bool texts = json_object_get(root, "texts") != NULL;
    json_decref(root);
    compare(import_by(arena_printf(a, "%s/gguf/%s.gguf", families, name),
                      "--quiet"),
            recorded);
    assert_int_equal(access(in_dir("model.vocab"), R_OK), texts ? 0 : -1);
}

static void test_family(void **state)
{
    const char *family = *state;
    const char *expected = arena_printf(a, "%s/%s/expected.json", families,
                                        family);
    compare(import_both(family), expected);
    json_t *root = json_file(expected);
    const json_t *bare = json_object_get(root, "bare");
    if (bare)
        compare_cases(import_bare(family, bare), &ways[0],
                      json_object_get(bare, "cases"));
    json_decref(root);
}

static int is_family(const struct dirent *e)
{
    return has_file(e->d_name, "config.json")
        && has_file(e->d_name, "expected.json");
}

#define CASE(name, test) { name, test, set_up_sharing, tear_down, name }
static const struct CMUnitTest others[] = {
    CASE("lora", test_adapter),
    CASE("llama-q8_0", test_gguf),
    CASE("llama-q4_0", test_gguf),
    CASE("qwen2-bf16", test_gguf),
    CASE("gemma-f16", test_gguf),
    CASE("llama-3-f16", test_gguf),
    CASE("qwen3-f16", test_gguf),
    CASE("granite-f16", test_gguf),
    CASE("starcoder2-f16", test_gguf),
    CASE("phi3-f16", test_gguf),
    CASE("phi3-long-f16", test_gguf),
    CASE("gpt2-f16", test_gguf),
    CASE("stablelm-f16", test_gguf),
    CASE("command-r-f16", test_gguf),
    CASE("phi2-f16", test_gguf),
    CASE("bert-f16", test_gguf),
    CASE("bert-mean-f16", test_gguf),
    CASE("xlm-roberta-f16", test_gguf),
#define ADAPTERS(base) CASE("adapters-" base, test_adapters)
    ADAPTERS("llama"),
    ADAPTERS("llama-tied"),
    ADAPTERS("gpt2"),
    ADAPTERS("gpt2-square"),
    ADAPTERS("bert"),
    ADAPTERS("bert-tied"),
    ADAPTERS("t5"),
};
enum { Others = sizeof others / sizeof *others };

int main(int argc, char **argv)
{
    struct dirent **found;
    struct CMUnitTest tests[MostFamilies];
    all_ways = argc > 1 || full_depth();
    int n = 0, all = scandir(families, &found, is_family, alphasort);
    for (int i = 0; i < all && n < MostFamilies; i++)
        if (argc < 2 || !strncmp(found[i]->d_name, argv[1], strlen(argv[1])))
            tests[n++] = (struct CMUnitTest){
                .name = found[i]->d_name,
                .test_func = test_family,
                .setup_func = set_up_sharing,
                .teardown_func = tear_down,
                .initial_state = found[i]->d_name
            };
    for (int i = 0; i < Others && n < MostFamilies; i++)
        if (argc < 2 || !strncmp(others[i].name, argv[1], strlen(argv[1])))
            tests[n++] = others[i];
    if (!n) {
        fprintf(stderr, "%s: no family\n", families);
        return 1;
    }
    const int failed = _cmocka_run_group_tests("families", tests, (size_t)n,
                                               NULL, NULL);
    for (int i = 0; i < all; i++)
        free(found[i]);
    free(found);
    return failed;
}
