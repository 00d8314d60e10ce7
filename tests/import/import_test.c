/* import_test.c: tests the messages of attnc import about invalid directories,
 * and its output for a valid one. Each case is the directory of a small llama,
 * tests/families/llama, with one text of its config.json changed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "engine/engine.h"
#include "import/import.h"
#include <cmocka.h>

#include "support/scratch.h"
#include "support/stderr_capture.h"

static const char family[] = "tests/families/llama";

static char *text_of(Arena *a, const char *path)
{
    File f;
    Fault why;
    if (!file_read(&f, path, 1 << 20, &why))
        fail_msg("%s", why.text);
    char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    return text;
}

/* Replaces `from` by `to` in the text. */
static char *changed(Arena *a, const char *text, const char *from,
                     const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("config.json has no %s", from);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, to,
                        at + strlen(from));
}

/* Writes this config.json to the scratch folder, and a link to a family's
 * weights, as in a Hugging Face cache. */
static void make_folder_of(const char *name, const char *config)
{
    char weights[4096];
    assert_non_null(getcwd(weights, sizeof weights));
    snprintf(weights + strlen(weights), 200, "/%s/model.safetensors", name);
    scratch_empty();
    assert_int_equal(symlink(weights, scratch_path("model.safetensors")), 0);
    if (config)
        scratch_file("config.json", config, strlen(config));
}

static void make_folder(const char *config)
{
    make_folder_of(family, config);
}

/* Returns the messages without the scratch folder's name; *code: the exit code.
 */
static const char *imported(Arena *a, const char *folder, int *code)
{
    const ImportOptions o = { .folder = folder, .spec = "-", .name = "llama" };
    Imported i;
    capture_stderr();
    error_reset();
    *code = import_folder(&i, &o);
    const char *said = captured_stderr(a);
    import_close(&i);
    char *text = arena_strdup(a, said), *at;
    const size_t n = strlen(scratch);
    while ((at = strstr(text, scratch)) != NULL) {
        const char *rest = at + n + (at[n] == '/');
        memmove(at, rest, strlen(rest) + 1);
    }
    return text;
}

/* ---- messages ---- */
static const struct {
    const char *from, *to; /* in config.json */
    const char *says;      /* the first line, and the complete note after it */
} cases[] = {
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000000000",
      "config.json:19:3: error: N must be an integer from 1 to 1024, found "
      "'1000000000'" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": \"2\"",
      "config.json:19:3: error: num_hidden_layers must be an integer, found "
      "\"2\"" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2.5",
      "config.json:19:3: error: num_hidden_layers must be an integer, found "
      "2.5" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
      "attnc: error: model.safetensors: tensor "
      "'model.layers.1.input_layernorm.weight': the rules of llama know no "
      "such one" },
    { "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
      "attnc: error: model.safetensors: tensor "
      "'model.layers.2.input_layernorm.weight' [24] is missing" },
    { "\"hidden_size\": 24", "\"hidden_size\": 24, \"hidden_sizes\": 25",
      "config.json:12:22: error: 'hidden_sizes' is a key that the rules of "
      "llama do not know\n"
      "attnc: note: did you mean 'hidden_size'?" },
    { "\"hidden_size\": 24", "\"hidden_size\": 24, \"experts\": {\"n\": 8}",
      "config.json:12:22: error: 'experts' is a key that the rules of llama do "
      "not know\n"
      "attnc: note: if it does not change what the model computes, allow it by "
      "attnc import --ignore-key=experts; otherwise the family needs a rule "
      "for it" },
    { "\"hidden_size\": 24", "\"hidden_size\": 24, \"hidden_size\": 24",
      "config.json:12:34: error: duplicate object key near "
      "'\"hidden_size\"'" },
    { "\"hidden_size\": 24", "\"hidden_size\": 0",
      "config.json:12:3: error: d_model must be an integer from 1 to 65536, "
      "found '0'" },
    { "\"hidden_size\": 24", "\"hidden_size\": 1e400",
      "config.json:12:22: error: real number overflow near '1e400'" },
    { "\"hidden_size\": 24", "\"hidden_size\": 99999999999999999999",
      "config.json:12:37: error: too big integer near "
      "'99999999999999999999'" },
    { "\"hidden_size\": 24", "\"hidden_size\": 30",
      "attnc: error: model.safetensors: tensor 'model.embed_tokens.weight': "
      "has shape [43, 24], [43, 30] is needed" },
    { "\"num_attention_heads\": 4", "\"num_attention_heads\": 5",
      "config.json:20:3: error: h_kv (2) does not divide h (5)\n"
      "config.json:18:3: note: each key head serves the same number of "
      "query heads; h is here" },
    { "\"vocab_size\": 43", "\"vocab_size\": -3",
      "config.json:31:3: error: vocab.size must be an integer from 1 to "
      "16777216, found '-3'" },
    { "\"rms_norm_eps\": 0.001", "\"rms_norm_eps\": 5.5",
      "config.json:23:3: error: norm.eps must be a number from 1e-12 to 1, "
      "found '5.5'" },
    { "\"model_type\": \"llama\"", "\"model_type\": \"lama\"",
      "config.json:17:3: error: no rules are known for model_type 'lama'\n"
      "attnc: note: did you mean 'llama'?" },
    { "\"model_type\": \"llama\"", "\"model_type\": \"strange-model\"",
      "config.json:17:3: error: no rules are known for model_type "
      "'strange-model'\n"
      "attnc: note: the rules of llama fit its keys and tensors, but factors "
      "on embeddings, residuals or logits, norms (their places, an offset of "
      "their weights), wavelengths by layer may differ: attnc import " },
    { "\"model_type\": \"llama\"", "\"model_type\": \"odd\", \"odd\": 3",
      "config.json:17:3: error: no rules are known for model_type 'odd'\n"
      "attnc: note: attnc import --families lists those that are known; a spec "
      "of this one, by hand, starts with attnc new" },
    { "\"model_type\": \"llama\"", "\"model_type\": 3",
      "config.json:17:3: error: model_type must be a text: it names the "
      "family, as \"llama\"" },
    { "\"model_type\": \"llama\",", "",
      "config.json:1:1: error: model_type is missing: it names the family, as "
      "\"llama\"" },
    { "LlamaForCausalLM", "LlamaForQuestions",
      "config.json:2:3: error: architecture 'LlamaForQuestions' is not known "
      "to the rules of llama: LlamaForCausalLM, LlamaModel" },
    { "\"silu\"", "\"silo\"",
      "config.json:11:3: error: hidden_act: 'silo' is not known here: relu, "
      "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu, swish\n"
      "attnc: note: did you mean 'silu'?" },
    { "\"hidden_size\": 24", "\"hidden_size\": 24, \"rope_theta\": 5.0",
      "config.json:12:22: error: rope_theta is 5, but "
      "rope_parameters.rope_theta says 10000\n"
      "config.json:25:5: note: rope_parameters.rope_theta is here" },
    { "{", "[{", "config.json:33:1: error: ']' expected near end of file" },
    { "\"mlp_bias\": false", "\"mlp_bias\": false,",
      "config.json:16:21: error: string or '}' expected near ','" },
};

/* Returns the lines of messages without the quoted lines of files. */
static const char *heads(Arena *a, const char *text)
{
    const char *out = "";
    while (*text) {
        const int n = (int)strcspn(text, "\n");
        if (*text != ' ')
            out = arena_printf(a, "%s%s%.*s", out, *out ? "\n" : "", n, text);
        text += n + (text[n] == '\n');
    }
    return out;
}

static void says_what_is_wrong(void **state)
{
    Arena *a = arena_new();
    (void)state;
    char *path = arena_printf(a, "%s/config.json", family);
    const char *config = text_of(a, path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code;
        make_folder(changed(a, config, cases[i].from, cases[i].to));
        const char *said = heads(a, imported(a, scratch, &code));
        if (strncmp(said, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s -> %s says\n%s\nnot\n%s", cases[i].from, cases[i].to,
                     said, cases[i].says);
        assert_int_equal(code, ExitInput);
    }
    arena_free(a);
}

/* ---- folders ---- */
static void assert_said(Arena *a, const char *folder, int code,
                        const char *says)
{
    int got;
    const char *said = heads(a, imported(a, folder, &got));
    if (strncmp(said, says, strlen(says)) != 0)
        fail_msg("says\n%s\nnot\n%s", said, says);
    assert_int_equal(got, code);
}

/* A value that several keys make is shown at model_type. */
static void made_of_several(void **state)
{
    Arena *a = arena_new();
    (void)state;
    const char *path = "tests/families/stablelm/config.json";
    make_folder_of("tests/families/stablelm",
                   changed(a, text_of(a, path),
                           "\"partial_rotary_factor\": 0.25",
                           "\"partial_rotary_factor\": 0.125"));
    assert_said(a, scratch, ExitInput,
                "config.json:16:3: error: positions.dims must be an integer "
                "from 2 to 65536, found '1'\n"
                "attnc: note: the fields are those of the spec that the rules "
                "of stablelm make of ");
    arena_free(a);
}

static void other_folders(void **state)
{
    Arena *a = arena_new();
    (void)state;
    const char *config = text_of(a, arena_printf(a, "%s/config.json", family));
    assert_said(a, "/nowhere/at-all", ExitIO,
                "attnc: error: /nowhere/at-all: No such file or directory");
    assert_said(a, "README.md", ExitInput,
                "attnc: error: README.md is no folder: a checkpoint is the "
                "folder that has config.json and model.safetensors");
    make_folder(NULL);
    assert_said(a, scratch, ExitIO,
                "attnc: error:  has no config.json: it is not the folder of a "
                "checkpoint");
    make_folder(config);
    unlink(scratch_path("model.safetensors"));
    assert_said(a, scratch, ExitIO,
                "attnc: error:  has no weights: model.safetensors, or "
                "model.safetensors.index.json with its shards");
    scratch_file("pytorch_model.bin", "PK", 2);
    assert_said(a, scratch, ExitInput,
                "attnc: error:  has weights as a Python pickle, "
                "pytorch_model.bin, which runs code when it is read: convert "
                "it once\n"
                "attnc: note: python3 -c 'import transformers as t; "
                "t.AutoModel.from_pretrained(\"\").save_pretrained(\"\")'");
    arena_free(a);
}

/* Tests numbers of config.json that are too large for the arithmetic of rules.
 */
static void too_large(void **state)
{
    Arena *a = arena_new();
    int code;
    (void)state;
    const char *config = text_of(a, arena_printf(a, "%s/config.json", family));
    config = changed(a, config, "\"head_dim\": 6,", "");
    config = changed(a, config, "\"hidden_size\": 24",
                     "\"hidden_size\": -9223372036854775808");
    make_folder(changed(a, config, "\"num_attention_heads\": 4",
                        "\"num_attention_heads\": -1"));
    const char *said = imported(a, scratch, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(said, "-9223372036854775808 / -1 is no number "
                                 "here"));
    config = text_of(a, "tests/families/phi/config.json");
    make_folder(changed(a, config, "\"partial_rotary_factor\": 0.5",
                        "\"partial_rotary_factor\": 1e300"));
    said = imported(a, scratch, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(said, "error: int() gives integers of 64 bits, "
                                 "found 8e+300"));
    arena_free(a);
}

/* Tests that an encoder-decoder without a head has logits if they are tied. */
static void untied(void **state)
{
    static const char *const names[] = { "tests/families/t5",
                                         "tests/families/bart",
                                         "tests/families/m2m100" };
    Arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int code;
        const char *path = arena_printf(a, "%s/config.json", names[i]);
        make_folder_of(names[i], changed(a, text_of(a, path),
                                         "\"tie_word_embeddings\": true",
                                         "\"tie_word_embeddings\": false"));
        const char *said = imported(a, scratch, &code);
        assert_int_equal(code, ExitInput);
        if (!strstr(said, "needs what is not there yet: logits, which are not "
                          "tied, and whose table the checkpoint does not have"))
            fail_msg("%s says %s", names[i], said);
    }
    arena_free(a);
}

/* Tests a key that the class of transformers reads but does not use. */
static void noted_key(void **state)
{
    Arena *a = arena_new();
    int code;
    (void)state;
    const char *said = imported(a, "tests/families/gemma3-old", &code);
    assert_int_equal(code, ExitDone);
    assert_non_null(strstr(said, "config.json: attn_logit_softcapping 0.5: "
                                 "scores are not capped, and transformers does "
                                 "not cap them either"));
    said = imported(a, "tests/families/llava", &code);
    assert_int_equal(code, ExitDone);
    assert_non_null(strstr(said, "config.json: vision_config: pictures are not "
                                 "read, only the text model is imported"));
    arena_free(a);
}

/* Tests an index whose shards are in another folder. */
static void shards(void **state)
{
    static const char out[] = "{\"weight_map\": {\"a\": \"../b.safetensors\"}}";
    Arena *a = arena_new();
    (void)state;
    const char *config = text_of(a, arena_printf(a, "%s/config.json", family));
    make_folder(config);
    unlink(scratch_path("model.safetensors"));
    scratch_file("model.safetensors.index.json", out, sizeof out - 1);
    assert_said(a, scratch, ExitInput,
                "attnc: error: model.safetensors.index.json: shard "
                "'../b.safetensors': must be the name of a safetensors file in "
                "the folder of the index");
    arena_free(a);
}

/* ---- specs ---- */
static const char *spec_of(Arena *a, const char *folder)
{
    const ImportOptions o = { .folder = folder, .spec = "-", .name = "llama" };
    Imported i;
    assert_int_equal(import_folder(&i, &o), ExitDone);
    const char *text = arena_strdup(a, i.text);
    import_close(&i);
    return text;
}

/* Tests that both forms of a config.json result in one spec without defaults.
 */
static void both_forms(void **state)
{
    Arena *a = arena_new();
    (void)state;
    make_folder(text_of(a, arena_printf(a, "%s/config.json", family)));
    const char *five = spec_of(a, scratch);
    make_folder(text_of(a, arena_printf(a, "%s/config4.json", family)));
    assert_string_equal(five, spec_of(a, scratch));
    assert_non_null(strstr(five, "\nd_model: 24\nh: 4\nh_kv: 2\nd_ff: 33\n"));
    assert_null(strstr(five, "d_k:"));
    assert_null(strstr(five, "dropout"));
    arena_free(a);
}

/* Tests tokens that an answer never has, or begins with; empty lists add none.
 */
static void suppressed_tokens(void **state)
{
    static const char some[] = "{\"suppress_tokens\": [7, 8], "
                               "\"bad_words_ids\": [[5], [6, 9]], "
                               "\"begin_suppress_tokens\": [2, 11], "
                               "\"no_repeat_ngram_size\": 3}";
    static const char empty[] = "{\"suppress_tokens\": [], "
                                "\"begin_suppress_tokens\": null}";
    static const char wrong[] = "{\"suppress_tokens\": [7, 43]}";
    Arena *a = arena_new();
    int code;
    (void)state;
    make_folder(text_of(a, arena_printf(a, "%s/config.json", family)));
    scratch_file("generation_config.json", some, sizeof some - 1);
    assert_non_null(strstr(spec_of(a, scratch),
                           "\n  suppress: [[5], [6, 9], 7, 8]\n"
                           "  suppress_first: [2, 11]\n"));
    scratch_file("generation_config.json", empty, sizeof empty - 1);
    assert_null(strstr(spec_of(a, scratch), "suppress"));
    scratch_file("generation_config.json", wrong, sizeof wrong - 1);
    const char *said = imported(a, scratch, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(said, "search.suppress (43) is not in a vocabulary "
                                 "of 43 tokens"));
    arena_free(a);
}

/* Tests that a tensor known to the rules but not used by the model is in
 * `unused` and causes no warning; any other one does. */
static void unused_tensors(void **state)
{
    static const char bert[] = "tests/families/bert";
    static const char list[] = "\nunused: [\"pooler.dense.*\"]\n";
    Arena *a = arena_new();
    const char *path = scratch_path("m.yaml");
    Imported i;
    (void)state;
    const ImportOptions o = { .folder = bert, .spec = path, .name = "bert" };
    assert_int_equal(import_folder(&i, &o), ExitDone);
    const char *at = strstr(i.text, list);
    assert_non_null(at);
    for (int known = 0; known < 2; known++) {
        const size_t n = known ? i.n : (size_t)(at + 1 - i.text);
        scratch_file("m.yaml", i.text, n);
        const EngineOptions options = { .spec = path };
        Engine e = { 0 };
        Report report = { 0 };
        assert_int_equal(engine_plan(&e, &options), ExitDone);
        assert_int_equal(engine_file(&e, &report), ExitDone);
        assert_int_equal(report.warnings, known ? 0 : 2);
        report_free(&report);
        engine_close(&e);
    }
    assert_null(strstr(spec_of(a, family), "unused"));
    import_close(&i);
    arena_free(a);
}

/* Tests that the spec names a vocabulary next to it if the folder has a
 * readable tokenizer; otherwise the model reads ids, with a warning. */
static void vocabularies(void **state)
{
    static const char pieces[] =
        "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": null, "
        "\"pre_tokenizer\": null, \"post_processor\": null, \"decoder\": "
        "null, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
        "\"continuing_subword_prefix\": \"##\", "
        "\"max_input_chars_per_word\": 100, "
        "\"vocab\": {\"[UNK]\": 0, \"a\": 1, \"b\": 2}}}";
    Arena *a = arena_new();
    Imported i;
    (void)state;
    make_folder(text_of(a, arena_printf(a, "%s/config.json", family)));
    scratch_file("tokenizer.json", pieces, sizeof pieces - 1);
    const ImportOptions o = { .folder = scratch,
                              .spec = scratch_path("m.yaml"),
                              .name = "llama" };
    assert_int_equal(import_folder(&i, &o), ExitDone);
    assert_int_equal(i.vocabs, 1);
    assert_string_equal(i.vocab[0].path, scratch_path("m.vocab"));
    assert_true(i.vocab[0].bytes > 0);
    assert_non_null(strstr(i.text, "file: m.vocab"));
    import_close(&i);

    scratch_file("tokenizer.json", pieces, sizeof pieces / 2);
    capture_stderr();
    const int code = import_folder(&i, &o);
    const char *said = captured_stderr(a);
    assert_int_equal(code, ExitDone);
    assert_int_equal(i.vocabs, 0);
    assert_null(strstr(i.text, "file:"));
    assert_non_null(strstr(said, "warning: "));
    assert_non_null(strstr(said, ": the model takes ids, not text"));
    import_close(&i);
    arena_free(a);
}

/* Checks that the families' rules are valid for any folder, and described in
 * docs/import.md. */
static void rules_stand(void **state)
{
    Arena *a = arena_new();
    (void)state;
    for (int format = FamiliesText; format <= FamiliesMarkdown; format++) {
        FILE *out = fopen(scratch_path("page"), "wb");
        assert_non_null(out);
        assert_int_equal(import_families(out, (FamiliesFormat)format),
                         ExitDone);
        fclose(out);
    }
    assert_string_equal(text_of(a, scratch_path("page")),
                        text_of(a, "docs/import.md"));
    arena_free(a);
}

/* The folder of an adapter instead of that of its model. */
static void names_the_base_of_an_adapter(void **state)
{
    static const struct {
        const char *config, *says;
    } rows[] = {
        { "{\"base_model_name_or_path\": \"tests/families/llama\"}",
          " has no config.json: it is an adapter of peft, for the model "
          "'tests/families/llama'\n"
          "attnc: note: attnc import tests/families/llama --lora=\n" },
        { "{\"base_model_name_or_path\": \"me/small\"}",
          " has no config.json: it is an adapter of peft, for the model "
          "'me/small'\n"
          "attnc: note: attnc import BASE --lora=, where BASE is the folder of "
          "that model\n" },
        { "{}", " has no config.json: it is an adapter of peft, for a model "
                "that it does not name\n"
                "attnc: note: attnc import BASE --lora=, where BASE is the "
                "folder of that model\n" },
    };
    Arena *a = arena_new();
    int code;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_empty();
        scratch_file("adapter_config.json", rows[i].config,
                     strlen(rows[i].config));
        const char *said = imported(a, scratch, &code);
        assert_int_equal(code, ExitInput);
        assert_string_equal(strstr(said, " has"), rows[i].says);
    }
    arena_free(a);
}

static void test_name(void **state)
{
    static const char *const names[][2] = {
        { "a/b c/", "b_c" },
        { "x/model.gguf", "model" },
        { "hub/models--me--small-1/snapshots/0af3", "small-1" },
        { "hub/models--small/snapshots/0af3/", "small" },
        { "hub/other/snapshots/0af3", "0af3" },
        { "..", "model" },
    };
    Arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(import_name(a, names[i][0]), names[i][1]);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(made_of_several),
        cmocka_unit_test(other_folders),
        cmocka_unit_test(too_large),
        cmocka_unit_test(untied),
        cmocka_unit_test(noted_key),
        cmocka_unit_test(shards),
        cmocka_unit_test(both_forms),
        cmocka_unit_test(suppressed_tokens),
        cmocka_unit_test(unused_tensors),
        cmocka_unit_test(vocabularies),
        cmocka_unit_test(rules_stand),
        cmocka_unit_test(names_the_base_of_an_adapter),
        cmocka_unit_test(test_name),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
