/* refusals_test.c: tests keys of real checkpoints that no golden directory has:
 * those that the rules of their families accept, and those that they reject by
 * name. Each case is a directory of tests/families with some keys of its
 * config.json changed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "import/import.h"
#include <cmocka.h>

#include "support/expected.h"
#include "support/family_folder.h"
#include "support/scratch.h"
#include "support/stderr_capture.h"

enum { PathBytes = 4096 };

static void link_files(const char *family)
{
    scratch_empty();
    link_family(family, scratch);
}

/* Writes config.json with these keys instead of its own. */
static void write_config(const char *family, const char *keys)
{
    char path[PathBytes];
    snprintf(path, sizeof path, "tests/families/%s/config.json", family);
    json_t *config = json_file(path), *change = json_loads(keys, 0, NULL);
    assert_non_null(change);
    json_object_update(config, change);
    assert_int_equal(json_dump_file(config, scratch_path("config.json"),
                                    JSON_INDENT(2)),
                     0);
    json_decref(config);
    json_decref(change);
}

/* Returns the messages of import; *code: the exit code. */
static const char *imported(Arena *a, int *code)
{
    const ImportOptions o = { .folder = scratch, .spec = "-", .name = "x" };
    Imported i;
    capture_stderr();
    error_reset();
    *code = import_folder(&i, &o);
    const char *said = captured_stderr(a);
    import_close(&i);
    return said;
}

/* ---- refused ---- */
static const struct {
    const char *family, *keys, *says;
} refused[] = {
    { "bert", "{\"is_decoder\": true}", "is_decoder" },
    { "bert", "{\"position_embedding_type\": \"relative_key\"}",
      "relative_key" },
    { "bert", "{\"architectures\": [\"BertLMHeadModel\"]}", "BertLMHeadModel" },
    { "bert", "{\"hidden_act\": \"mish\"}", "mish" },
    { "albert-mlm", "{\"num_hidden_groups\": 2}", "groups of layers" },
    { "albert-mlm", "{\"inner_group_num\": 2}", "used in turn" },
    { "mpnet", "{\"relative_attention_num_buckets\": 64}",
      "relative_attention_num_buckets" },
    { "electra-choice", "{\"summary_type\": \"mean\"}", "than that of [CLS]" },
    { "bart", "{\"tie_word_embeddings\": false}", "tie_word_embeddings" },
    { "t5", "{\"feed_forward_proj\": \"gated-mish\"}", "gated-mish" },
    { "t5", "{\"model_type\": \"mt5\", \"transformers_version\": \"4.57.6\"}",
      "transformers 4 scales" },
    { "nomic-bert", "{\"rotary_scaling_factor\": 2}", "scaled rotary" },
    { "bert", "{\"model_type\": \"modernbert-decoder\"}", "layers differ" },
    { "gte-new", "{\"layer_norm_type\": \"rms_norm\"}", "rms_norm" },
    { "gte-new", "{\"logn_attention_scale\": true}", "logn_attention_scale" },
    { "jina2", "{\"feed_forward_type\": \"swiglu\"}", "swiglu" },
    { "bert", "{\"model_type\": \"apertus\"}", "learned numbers" },
    { "bert", "{\"model_type\": \"dinov2_with_registers\"}", "registers" },
    { "exaone4",
      "{\"layer_types\": null, \"sliding_window_pattern\": \"LLLG\"}",
      "layer_types" },
    { "gpt-neo", "{\"attention_layers\": null}", "attention_layers" },
    { "eurobert-classify", "{\"classifier_pooling\": \"sum\"}",
      "classifier_pooling" },
    { "gemma3", "{\"use_bidirectional_attention\": true}", "see later ones" },
    { "bert", "{\"model_type\": \"deberta-v2\"}", "relative positions" },
    { "bert", "{\"model_type\": \"longformer\"}", "to a window" },
    { "bart", "{\"model_type\": \"led\"}", "to a window" },
    { "bart", "{\"model_type\": \"prophetnet\"}", "several next tokens" },
    { "bart", "{\"model_type\": \"blenderbot-small\"}", "before positions" },
    { "bart", "{\"model_type\": \"wav2vec2\"}", "over sound" },
    { "bert", "{\"model_type\": \"beit\"}", "images" },
    { "bert", "{\"model_type\": \"layoutlm\"}", "places on a page" },
    { "bert", "{\"model_type\": \"funnel\"}", "pooled between layers" },
    { "bert", "{\"model_type\": \"xlnet\"}", "two streams" },
    { "t5", "{\"model_type\": \"umt5\"}", "in each layer" },
    { "t5", "{\"model_type\": \"longt5\"}", "global tokens" },
    { "gpt-oss", "{\"quantization_config\": {\"quant_method\": \"mxfp4\"}}",
      "these weights are quantised (mxfp4): that is not read yet" },
    { "llama", "{\"quantization_config\": {\"bits\": 4}}",
      "these weights are quantised (no quant_method)" },
    { "llama", "{\"scores_of\": 3}", "attnc import --ignore-key=scores_of" },
    { "llama", "{\"mlp_bia\": 3}",
      "note: did you mean 'mlp_bias'?\nattnc: note: if it does not change" },
    { "llama", "{\"rope_parameters\": 5}",
      "rope_parameters must be a map, found 5" },
    { "clip-text", "{\"model_type\": \"clip\", \"text_config\": [1]}",
      "text_config must be a map, found a list" },
    { "llava", "{\"text_config\": 3}", "text_config must be a map, found 3" },
    { "llava", "{\"text_config\": {\"model_type\": \"strange\"}}",
      "no rules are known for model_type 'strange'" },
    { "llava", "{\"text_config\": {\"model_type\": \"qwen2\"}}",
      "'LlavaForConditionalGeneration' is not known to the rules of qwen2" },
    { "llama", "{\"hidden_size\": {\"a\": 1}}",
      "hidden_size must be an integer, found a map" },
    { "gemma2", "{\"layer_types\": [\"full_attention\"]}",
      "item 2 of the list is needed, and its last is item 1" },
    { "gemma2", "{\"layer_types\": [\"full\", \"full\", \"full\", \"full\"]}",
      "'full' is not known here: full_attention, sliding_attention" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Arena *a = arena_new();
        int code;
        link_files(refused[i].family);
        write_config(refused[i].family, refused[i].keys);
        const char *said = imported(a, &code);
        if (code != ExitInput || !strstr(said, refused[i].says)
            || !strstr(said, "config.json:"))
            fail_msg("%s with %s: code %d, not of '%s': %s", refused[i].family,
                     refused[i].keys, code, refused[i].says, said);
        arena_free(a);
    }
}

/* ---- sentence-transformers ---- */
#define STEP(type, path)                                                       \
    "{\"type\": \"sentence_transformers.models." type "\", \"path\": \"" path  \
    "\"}"
#define START STEP("Transformer", "") ", " STEP("Pooling", "1_Pooling")

static const struct {
    const char *modules, *sentences, *says;
} steps[] = {
    { "[" START ", " STEP("Dense", "2_Dense") "]", "{}", /* with -o - */
      " has weights in 2_Dense/model.safetensors too, which must be joined in "
      "one file: attnc import " },
    { "[" STEP("Transformer",
               "") ", " STEP("Dense", "2_Dense") ", " STEP("Pooling",
                                                           "1_Pooling") "]",
      "{}", "not behind the pooling" },
    { "[" START ", " STEP("Dense", "2_Dense") ", " STEP(
          "Dense", "3_Dense") ", " STEP("Dense", "4_Dense") "]",
      "{}", "more steps in its modules.json than a transformer" },
    { "[" START ", " STEP("LayerNorm", "2_Norm") "]", "{}",
      "a step of its modules.json, sentence_transformers.models.LayerNorm" },
    { "[" STEP("Transformer", "") "]", "{}", "without a transformer and" },
    { "[" START "]", "{\"do_lower_case\": true}", "made small" },
    { "[" START "]", "{\"transformer_task\": \"fill-mask\"}",
      "does not give the rows of the last layer" },
};

static void replace(const char *name, const char *text)
{
    assert_int_equal(unlink(scratch_path(name)), 0);
    scratch_file(name, text, strlen(text));
}

static void test_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        Arena *a = arena_new();
        int code;
        link_files("sentences-mean");
        write_config("sentences-mean", "{}");
        replace("modules.json", steps[i].modules);
        replace("sentence_bert_config.json", steps[i].sentences);
        const char *said = imported(a, &code);
        if (code != ExitInput || !strstr(said, steps[i].says))
            fail_msg("%s: code %d, not of '%s': %s", steps[i].modules, code,
                     steps[i].says, said);
        arena_free(a);
    }
}

/* ---- known ---- */
static const struct {
    const char *family, *keys;
} known[] = {
    { "bert", "{\"directionality\": \"bidi\", \"pooler_fc_size\": 768,"
              " \"pooler_num_attention_heads\": 12, \"pooler_type\": \"first_"
              "token_transform\", \"gradient_checkpointing\": false}" },
    { "bert", "{\"model_type\": \"ernie\", \"architectures\": [\"ErnieModel\"],"
              " \"task_type_vocab_size\": 3, \"use_task_id\": false}" },
    { "roberta", "{\"model_type\": \"camembert\","
                 " \"architectures\": [\"CamembertModel\"]}" },
    { "bert-reranker", "{\"sbert_ce_default_activation_function\":"
                       " \"torch.nn.modules.linear.Identity\"}" },
    { "distilbert-classify",
      "{\"finetuning_task\": \"sst-2\","
      " \"tie_weights_\": true, \"output_past\": true}" },
    { "sentences-max", "{\"architectures\": [\"MPNetForMaskedLM\"]}" },
    { "roberta-mlm", "{\"output_past\": true, \"position_embedding_type\":"
                     " \"absolute\"}" },
    { "albert-mlm", "{\"down_scale_factor\": 1, \"gap_size\": 0,"
                    " \"layers_to_keep\": [], \"net_structure_type\": 0,"
                    " \"num_memory_blocks\": 0}" },
    { "marian", "{\"add_bias_logits\": false, \"add_final_layer_norm\": false,"
                " \"classif_dropout\": 0, \"normalize_before\": false,"
                " \"normalize_embedding\": false, \"num_hidden_layers\": 6,"
                " \"static_position_embeddings\": true, \"num_beams\": 6,"
                " \"bad_words_ids\": [[42]]}" },
    { "bart", "{\"_num_labels\": 3, \"add_final_layer_norm\": false,"
              " \"early_stopping\": true, \"extra_pos_embeddings\": 2,"
              " \"force_bos_token_to_be_generated\": true,"
              " \"length_penalty\": 2.0, \"max_length\": 12,"
              " \"min_length\": 5, \"no_repeat_ngram_size\": 3,"
              " \"normalize_before\": false, \"num_beams\": 4,"
              " \"prefix\": \" \", \"replacing_rate\": 0,"
              " \"student_decoder_layers\": null,"
              " \"student_encoder_layers\": null,"
              " \"task_specific_params\": {}}" },
    { "pegasus", "{\"add_bias_logits\": false, \"extra_pos_embeddings\": 1,"
                 " \"length_penalty\": 0.6, \"max_length\": 12,"
                 " \"num_beams\": 8, \"save_step\": 58,"
                 " \"static_position_embeddings\": true}" },
    { "mbart", "{\"add_bias_logits\": false, \"normalize_before\": true,"
               " \"tokenizer_class\": \"MBart50Tokenizer\"}" },
    { "t5", "{\"n_positions\": 16, \"output_past\": true,"
            " \"task_specific_params\": {\"summarization\": {}}}" },
    { "clip-text-legacy",
      "{\"add_cross_attention\": false, \"bos_token_id\":"
      " 0, \"decoder_start_token_id\": null, \"forced_bos_token_id\": null,"
      " \"forced_eos_token_id\": null, \"is_decoder\": false,"
      " \"max_length\": 20, \"pruned_heads\": {}, \"tie_encoder_decoder\":"
      " false, \"tie_word_embeddings\": true, \"top_k\": 50}" },
    { "gemma2", "{\"hidden_act\": \"gelu_pytorch_tanh\","
                " \"cache_implementation\": \"hybrid\"}" },
    { "gemma3", "{\"cache_implementation\": \"hybrid\"}" },
    { "gemma3-pictures", "{\"eos_token_id\": [1, 106]}" },
    { "llava", "{\"ignore_index\": -100, \"image_seq_length\": 576}" },
    { "llama", "{\"is_llama_config\": true, \"rope_interleaved\": false}" },
    { "mpt", "{\"tokenizer_name\": \"EleutherAI/gpt-neox-20b\"}" },
    { "gpt-bigcode", "{\"runner_max_sequence_length\": null}" },
    { "stablelm", "{\"norm_eps\": 1e-05, \"rotary_scaling_factor\": 1.0}" },
    { "nllb", "{\"max_source_positions\": 1024}" },
    { "whisper", "{}" },
};

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Arena *a = arena_new();
        int code;
        link_files(known[i].family);
        write_config(known[i].family, known[i].keys);
        const char *said = imported(a, &code);
        if (code)
            fail_msg("%s: code %d: %s", known[i].family, code, said);
        arena_free(a);
    }
}

/* ---- warned ---- */

/* The keys, those that the user allows, and the warning. */
static const struct {
    const char *family, *keys, *ignored, *says;
} warned[] = {
    { "llama", "{\"odd\": false}", NULL,
      "'odd' is a key that the rules of llama do not know; it is left out, "
      "because its value is null, false, 0 or empty" },
    { "llama", "{\"odd\": 7}", "odd",
      "'odd' is ignored, as --ignore-key asks" },
    { "llama", "{\"odd\": {\"a\": 1, \"b\": {\"c\": 2}}}", "odd",
      "'odd' is ignored, as --ignore-key asks" },
    { "llama", "{\"mlp_bias\": false}", "mlp_bias",
      "'mlp_bias' is a key that the rules know: --ignore-key does not change "
      "how it is read" },
    { "llama", "{}", "rope_parameters",
      "'rope_parameters' is a key that the rules know: --ignore-key" },
    { "llama", "{}", "odd", "--ignore-key: no file of " },
    { "gpt2", "{\"eos_token_id\": 50256}", NULL,
      ":3: warning: eos_token_id has an id that is not below the size of the "
      "vocabulary, 43: it is left out" },
    { "gpt2", "{\"eos_token_id\": [2, 50256], \"pad_token_id\": 99}", NULL,
      ":3: warning: pad_token_id has an id that is not below" },
};

static void test_warned(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof warned / sizeof *warned; i++) {
        Arena *a = arena_new();
        const ImportOptions o = { .folder = scratch,
                                  .spec = "-",
                                  .name = "x",
                                  .ignored = &warned[i].ignored,
                                  .n_ignored = warned[i].ignored != NULL };
        Imported to;
        link_files(warned[i].family);
        unlink(scratch_path("generation_config.json"));
        write_config(warned[i].family, warned[i].keys);
        capture_stderr();
        error_reset();
        const int code = import_folder(&to, &o);
        const char *said = captured_stderr(a);
        if (code || !strstr(said, warned[i].says))
            fail_msg("%s: code %d: %s", warned[i].keys, code, said);
        import_close(&to);
        arena_free(a);
    }
}

/* ---- other files ---- */

/* Tensors of another family than the config's. */
static const struct {
    const char *config, *tensors, *says;
} foreign[] = {
    { "llama", "gpt2", "no tensor's name ends in 'embed_tokens.weight'" },
    { "bert", "llama",
      "no tensor's name ends in 'embeddings.word_embeddings.weight', as in the "
      "weights of this family\n"
      "attnc: note: model_type in config.json names the family: are these its "
      "weights?\n" },
    { "mistral", "qwen3",
      "q_norm.weight', and 1 of other layers: the rules of "
      "mistral know no such one" },
};

static void test_foreign(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        Arena *a = arena_new();
        int code;
        link_files(foreign[i].tensors);
        write_config(foreign[i].config, "{}");
        const char *said = imported(a, &code);
        if (code != ExitInput || !strstr(said, foreign[i].says)
            || strstr(said, "models/import"))
            fail_msg("%s: code %d: %s", foreign[i].config, code, said);
        arena_free(a);
    }
}

/* Imports texts/gpt2, whose table has 300 rows, with a tokenizer that has
 * `more` tokens than that, or `-more` fewer. */
static const char *imported_with(Arena *a, int more, int *code)
{
    const ImportOptions o = { .folder = scratch,
                              .spec = arena_strdup(a, scratch_path("x.yaml")),
                              .name = "x" };
    Imported i;
    link_files("texts/gpt2");
    write_config("texts/gpt2", "{}");
    json_t *all = json_file("tests/families/texts/gpt2/tokenizer.json");
    json_t *model = json_object_get(all, "model");
    json_t *vocab = json_object_get(model, "vocab");
    json_t *merges = json_object_get(model, "merges");
    for (int k = 0; k < more; k++)
        json_object_set_new(vocab, arena_printf(a, "zzq%d", k),
                            json_integer(300 + k));
    for (int k = more; k < 0; k++) {
        const char *last = NULL;
        for (void *at = json_object_iter(vocab); at;
             at = json_object_iter_next(vocab, at))
            if (json_integer_value(json_object_iter_value(at)) == 300 + k)
                last = arena_strdup(a, json_object_iter_key(at));
        assert_non_null(last);
        json_object_del(vocab, last);
        json_array_remove(merges, json_array_size(merges) - 1);
    }
    assert_int_equal(unlink(scratch_path("tokenizer.json")), 0);
    assert_int_equal(json_dump_file(all, scratch_path("tokenizer.json"), 0), 0);
    json_decref(all);
    capture_stderr();
    error_reset();
    *code = import_folder(&i, &o);
    const char *said = captured_stderr(a);
    import_close(&i);
    return said;
}

static void test_tokenizers(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int code;
    assert_string_equal(imported_with(a, 0, &code), "");
    assert_int_equal(code, ExitDone);
    const char *more = imported_with(a, 5, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(more,
                           ": the tokenizer has 305 tokens, but the table "
                           "of embeddings only 300 rows\n"));
    assert_non_null(strstr(more, "the model then takes ids\n"));
    const char *fewer = imported_with(a, -1, &code);
    assert_int_equal(code, ExitDone);
    assert_non_null(strstr(fewer,
                           ": the tokenizer has 299 tokens and the table "
                           "of embeddings 300 rows: the other rows are "
                           "padding\n"));
    arena_free(a);
}

/* transformers scales beyond max_position_embeddings, whatever the original
 * length is. */
static void test_dynamic(void **state)
{
    const ImportOptions o = { .folder = scratch, .spec = "-", .name = "x" };
    Imported i;
    (void)state;
    link_files("llama-dynamic");
    write_config("llama-dynamic",
                 "{\"rope_parameters\": {\"rope_type\": \"dynamic\","
                 " \"factor\": 2.0, \"rope_theta\": 10000.0,"
                 " \"original_max_position_embeddings\": 8}}");
    assert_int_equal(import_folder(&i, &o), ExitDone);
    assert_non_null(strstr(i.text, "original_max_len: 16"));
    import_close(&i);
}

/* Python's numbers that are not JSON: the key is what is refused. */
static void test_python_numbers(void **state)
{
    static const char config[] = "{\"model_type\": \"llama\",\n"
                                 " \"odd\": -Infinity, \"text\": \"NaN\","
                                 " \"range\": [NaN, Infinity]}";
    Arena *a = arena_new();
    int code;
    (void)state;
    link_files("llama");
    scratch_file("config.json", config, strlen(config));
    const char *said = imported(a, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(said, "config.json:2:2: error: 'odd' is a key"));
    assert_non_null(strstr(said, "config.json:2:20: error: 'text' is a key"));
    assert_non_null(strstr(said, "config.json:2:35: error: 'range' is a key"));
    arena_free(a);
}

/* ---- noted ---- */

/* Keys of config.json and generation_config.json, and the message. */
static const struct {
    const char *family, *config, *generation, *says;
} noted[] = {
    { "bart", "{\"num_beam_groups\": 4, \"encoder_no_repeat_ngram_size\": 9}",
      "{\"encoder_no_repeat_ngram_size\": 3, "
      "\"encoder_repetition_penalty\": 1.0}",
      "generation_config.json: encoder_no_repeat_ngram_size 3, num_beam_groups "
      "4: an answer is searched for without that here, and may differ from "
      "that of transformers\n" },
    { "llama", "{}", "{\"encoder_repetition_penalty\": 1.1, \"top_k\": 50}",
      "generation_config.json: encoder_repetition_penalty 1.1: an answer " },
    { "llama", "{\"min_length\": 9}", "{\"repetition_penalty\": 1.1}", NULL },
    { "gpt2", "{\"diversity_penalty\": 0.5, \"num_beam_groups\": 2}", "{}",
      "config.json: diversity_penalty 0.5, num_beam_groups 2: an answer " },
    { "bart", "{\"no_repeat_ngram_size\": 0, \"min_length\": 0}",
      "{\"repetition_penalty\": 1.0, \"encoder_no_repeat_ngram_size\": null}",
      NULL },
    { "llama-rows", "{\"repetition_penalty\": 2}", "{}", NULL },
    { "phi3-longrope", "{}", "{}",
      "config.json: max_position_embeddings 24: long_factor is used for texts "
      "of any length; transformers uses short_factor for texts of at most 8 "
      "tokens: for these, set max_len to 8 in the spec\n" },
    { "whisper", "{}",
      "{\"alignment_heads\": [[0, 1]], \"forced_decoder_ids\": [[1, null]],"
      " \"is_multilingual\": true, \"lang_to_id\": {\"<|en|>\": 5},"
      " \"max_initial_timestamp_index\": 50, \"no_timestamps_token_id\": 7,"
      " \"prev_sot_token_id\": 6, \"return_timestamps\": false,"
      " \"task_to_id\": {\"translate\": 4}}",
      NULL },
};

static void test_noted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++) {
        Arena *a = arena_new();
        int code;
        link_files(noted[i].family);
        write_config(noted[i].family, noted[i].config);
        unlink(scratch_path("generation_config.json"));
        scratch_file("generation_config.json", noted[i].generation,
                     strlen(noted[i].generation));
        const char *said = imported(a, &code);
        assert_int_equal(code, ExitDone);
        const char *says = noted[i].says;
        if (says ? !strstr(said, says) || strncmp(said, "attnc: note: ", 13)
                 : *said != '\0')
            fail_msg("%s, not %s", said, says ? says : "nothing");
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_noted),
        cmocka_unit_test(test_warned),
        cmocka_unit_test(test_python_numbers),
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_tokenizers),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
