/* refused_test.c: tests checkpoints that are close to a family of models/import
 * but need something that the spec has no field for: each is rejected by name,
 * with what is missing. The directory is one of tests/families with one key
 * changed. */
#define _GNU_SOURCE
#include "import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/expected.h"
#include "support/scratch.h"

typedef struct {
    const char *folder, *change; /* keys of config.json, in JSON */
    const char *message;         /* after `error: ` */
} Refused;

#define MISSING(family, what)                                                 \
    family " needs what is not there yet: " what "\n"
#define ONLY(family, key, value, known)                                       \
    family " with " key ": " value " is not known here, only " known "\n"

// clang-format off
static const Refused all[] = {
    /* model_types that are never supported */
    { "llama", "{\"model_type\": \"dbrx\"}",
      MISSING("dbrx", "rules of this family of experts") },
    { "llama", "{\"model_type\": \"deepseek_v32\"}",
      MISSING("deepseek_v32", "rules of this family of latent attention") },
    { "deepseek-v3", "{\"num_key_value_heads\": 2}",
      MISSING("deepseek_v3", "latent attention with fewer keys and values than "
              "heads") },
    { "deepseek-v2", "{\"norm_topk_prob\": true}",
      ONLY("deepseek_v2", "norm_topk_prob", "true", "false") },
    { "olmo3", "{\"rope_parameters\": {\"full_attention\": {\"rope_type\": "
      "\"yarn\", \"factor\": 2.0, \"truncate\": false}, "
      "\"sliding_attention\": {\"rope_type\": \"default\"}}}",
      MISSING("olmo3", "truncate false beside layers of a window, which "
              "transformers 5 does not read and 4 does") },
    { "olmo2", "{\"model_type\": \"olmo_hybrid\"}",
      MISSING("olmo_hybrid", "rules of this family, norms of outputs, layers "
                             "of a window") },
    { "gemma", "{\"model_type\": \"gemma3n\"}",
      MISSING("gemma3n", "rules of this family, norms before and behind, and "
              "what else its layers have") },
    { "vit", "{\"model_type\": \"beit\"}",
      MISSING("beit", "rules of this family of images") },
    { "gemma2", "{\"use_bidirectional_attention\": true}",
      MISSING("gemma2", "a decoder whose rows see later ones") },
    { "mpt", "{\"norm_type\": \"rmsnorm\"}",
      ONLY("mpt", "norm_type", "rmsnorm",
           "low_precision_layernorm, layernorm") },
    { "gpt-oss", "{\"swiglu_limit\": 5.0}",
      ONLY("gpt_oss", "swiglu_limit", "5", "7") },
    { "bert", "{\"model_type\": \"modernbert-decoder\"}",
      MISSING("modernbert-decoder", "rules of this family, whose layers "
                                    "differ") },
    { "llama", "{\"model_type\": \"mamba\"}",
      MISSING("mamba", "recurrent layers") },
    { "phi3", "{\"model_type\": \"phi3small\"}",
      MISSING("phi3small", "attention to some blocks of keys") },
    { "llama", "{\"model_type\": \"baichuan\"}",
      MISSING("baichuan", "a class of transformers (its code lies beside the "
              "checkpoint)") },
    { "llama", "{\"model_type\": \"qwen2_vl\"}",
      MISSING("qwen2_vl", "an input of pictures beside text") },
    /* a key of a known family */
    { "gemma", "{\"hidden_activation\": \"relu\"}",
      MISSING("gemma", "another activation") },
    { "gemma", "{\"use_bidirectional_attention\": true}",
      MISSING("gemma", "a decoder whose rows see later ones") },
    { "gpt-j", "{\"rotary_dim\": null}",
      MISSING("gptj", "wavelengths of the whole model's width") },
    { "codegen", "{\"n_head\": 3}",
      MISSING("codegen", "a number of heads that four does not divide") },
    { "mpt", "{\"n_heads\": 3}",
      MISSING("mpt", "another order of alibi's slopes for heads that are no "
              "power of 2") },
    { "bloom", "{\"apply_residual_connection_post_layernorm\": true}",
      ONLY("bloom", "apply_residual_connection_post_layernorm", "true",
           "false") },
    { "phi3", "{\"attention_bias\": true}",
      ONLY("phi3", "attention_bias", "true", "false") },
    { "mpt", "{\"no_bias\": false}", ONLY("mpt", "no_bias", "false", "true") },
    { "qwen2", "{\"use_mrope\": true}",
      ONLY("qwen2", "use_mrope", "true", "false") },
};
// clang-format on

/* Makes a folder of links to the family's files, except config.json. */
static const char *refused_folder(Arena *a, const Refused *r)
{
    const char *to = scratch_path("folder");
    char *from = realpath(arena_printf(a, "tests/families/%s", r->folder),
                          NULL);
    json_t *config = json_file(arena_printf(a, "%s/config.json", from));
    json_t *change = json_loads(r->change, 0, NULL);
    DIR *d = opendir(from);
    assert_non_null(d);
    assert_int_equal(mkdir(to, 0700), 0);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, "config.json"))
            assert_int_equal(symlink(arena_printf(a, "%s/%s", from, e->d_name),
                                     arena_printf(a, "%s/%s", to, e->d_name)),
                             0);
    closedir(d);
    assert_int_equal(json_object_update(config, change), 0);
    assert_int_equal(json_dump_file(config,
                                    arena_printf(a, "%s/config.json", to),
                                    JSON_INDENT(1)),
                     0);
    json_decref(config);
    json_decref(change);
    free(from);
    return to;
}

static void remove_folder(Arena *a, const char *folder)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlink(arena_printf(a, "%s/%s", folder, e->d_name));
    closedir(d);
    assert_int_equal(rmdir(folder), 0);
}

static const char *imported; /* the folder to import, in the child */

static void import_it(void)
{
    Imported i;
    int code = import_folder(&i, &(ImportOptions){ .folder = imported,
                                                   .spec = "-",
                                                   .name = "x" });
    import_close(&i);
    _exit(code);
}

static const char *said(Arena *a)
{
    File f;
    Fault why;
    assert_true(file_read(&f, scratch_path("stderr"), 1 << 20, &why));
    const char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    unlink(scratch_path("stderr"));
    return text;
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Arena *a = arena_new();
        imported = arena_strdup(a, refused_folder(a, &all[i]));
        const int status = in_child(import_it);
        const char *text = said(a), *message = strstr(text, ": error: ");
        remove_folder(a, imported);
        if (!message)
            fail_msg("%s %s: %s", all[i].folder, all[i].change, text);
        assert_exit(status, ExitInput);
        message += strlen(": error: ");
        assert_string_equal(arena_strndup(a, message,
                                          strcspn(message, "\n") + 1),
                            all[i].message);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refused, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
