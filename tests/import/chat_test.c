/* chat_test.c: tests the conversion of a tokenizer's chat template: its row,
 * its special tokens, the text of two turns; unknown templates; and where a
 * template may be stored. */
#define _GNU_SOURCE /* mkdtemp */
#include "import/import.h"
#include "spec/spec.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/expected.h"
#include "support/scratch.h"
#include "support/stderr_capture.h"

static const char family[] = "tests/families/llama";

static void link_file(const char *name)
{
    char *from = realpath(scratch_path("."), NULL), path[600];
    free(from);
    snprintf(path, sizeof path, "%s/%s", family, name);
    from = realpath(path, NULL);
    assert_non_null(from);
    unlink(scratch_path(name));
    assert_int_equal(symlink(from, scratch_path(name)), 0);
    free(from);
}

static void write_json(json_t *j)
{
    assert_int_equal(json_dump_file(j, scratch_path("tokenizer_config.json"),
                                    0),
                     0);
    json_decref(j);
}

/* Imports a folder or file and returns its spec; *said: its messages. */
static Spec *imported_from(Arena *a, const char *from, char **said)
{
    char *path = arena_strdup(a, scratch_path("m.yaml"));
    const ImportOptions o = { .folder = from, .spec = path, .name = "m" };
    Imported i;
    error_reset();
    capture_stderr();
    const int code = import_folder(&i, &o);
    *said = captured_stderr(a);
    assert_int_equal(code, ExitDone);
    Source *src = arena_alloc(a, sizeof *src);
    *src = (Source){ "m.yaml", arena_strndup(a, i.text, i.n), i.n, 0 };
    import_close(&i);
    Spec *s = spec_read(a, scratch_path("m.yaml"), src, NULL, 0);
    assert_non_null(s);
    return s;
}

static Spec *imported(Arena *a, char **said)
{
    link_file("config.json");
    link_file("model.safetensors");
    return imported_from(a, scratch, said);
}

/* Formats two turns and an answer between them. */
static char *conversation(Arena *a, const Spec *s, const char *system)
{
    const struct attn_chat chat = spec_chat(s);
    char *out = arena_alloc(a, 2000);
    int64_t n = 0;
    const char *usual = chat.system_text;
    n = attn_chat_turn(&chat, system ? system : usual, 1, "Hello", 5, out, 900);
    out[n++] = 'A';
    n += attn_chat_turn(&chat, system ? system : usual, 0, "Who?", 4, out + n,
                        900);
    out[n] = '\0';
    return out;
}

/* Words that identify templates, and the text of system S, user Hello,
 * assistant A, user Who? with <B> and </E> for bos and eos. */
static const struct {
    const char *text, *system, *want;
} cases[] = {
    { "{{ '<|im_start|>' + role }} {{ '<|im_end|>' }}", "S",
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
      "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n"
      "<|im_start|>assistant\n" },
    { "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>' }}",
      NULL,
      "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
      "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
      "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n" },
    { "{{ '<|start_header_id|>' + role + '<|end_header_id|>' + '<|eot_id|>' + "
      "bos_token }}",
      "S",
      "<B><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nWho?<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\n" },
    { "{{ '<<SYS>>' + bos_token + '[INST] ' + text + ' [/INST]' }}", "S",
      "<B>[INST] <<SYS>>\nS\n<</SYS>>\n\nHello [/INST]A </E>"
      "<B>[INST] Who? [/INST]" },
    { "{{ bos_token + '[INST] ' + text + ' [/INST]' + eos_token }}", NULL,
      "<B>[INST] Hello [/INST]A</E>[INST] Who? [/INST]" },
    { "{{ bos_token }}<start_of_turn> <end_of_turn>", "S",
      "<B><start_of_turn>user\nS\n\nHello<end_of_turn>\n<start_of_turn>model\n"
      "A<end_of_turn>\n<start_of_turn>user\nWho?<end_of_turn>\n"
      "<start_of_turn>model\n" },
    { "<|system|> <|user|> <|assistant|> <|end|>", "S",
      "<|system|>\nS<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\nA<|end|>\n"
      "<|user|>\nWho?<|end|>\n<|assistant|>\n" },
    { "<|system|> <|user|> <|assistant|> {{ eos_token }}", "S",
      "<|system|>\nS</E>\n<|user|>\nHello</E>\n<|assistant|>\nA</E>\n"
      "<|user|>\nWho?</E>\n<|assistant|>\n" },
    { "<|start_of_role|> <|end_of_role|> <|end_of_text|>", NULL,
      "<|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n"
      "<|start_of_role|>assistant<|end_of_role|>A<|end_of_text|>\n"
      "<|start_of_role|>user<|end_of_role|>Who?<|end_of_text|>\n"
      "<|start_of_role|>assistant<|end_of_role|>" },
};

static void known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_new();
        char *said;
        write_json(json_pack("{s:s, s:s, s:{s:s}}", "chat_template",
                             cases[i].text, "bos_token", "<B>", "eos_token",
                             "content", "</E>"));
        const Spec *s = imported(a, &said);
        assert_string_equal(said, "");
        assert_true(spec_chats(s));
        assert_string_equal(conversation(a, s, cases[i].system), cases[i].want);
        arena_free(a);
    }
}

/* Tests conversations as formatted by transformers (tests/families/chats.py):
 * turns with white space around them, with and without a system text. */
static void compare_chat(Arena *a, const json_t *root, const json_t *chat)
{
    const json_t *turns = json_object_get(root, "turns");
    const char *system = json_string_value(json_object_get(root, "system"));
    static const char *const keys[] = { "plain", "system" };
    char *said;
    write_json(json_pack("{s:O, s:s, s:s}", "chat_template",
                         json_object_get(chat, "template"), "bos_token", "<B>",
                         "eos_token", "</E>"));
    const Spec *s = imported(a, &said);
    assert_string_equal(said, "");
    const struct attn_chat c = spec_chat(s);
    for (int i = 0; i < 2; i++) {
        const json_t *want = json_object_get(chat, keys[i]);
        Buffer b = { .arena = a };
        for (size_t k = 0; want && k < json_array_size(turns); k++) {
            char out[500];
            const json_t *turn = json_array_get(turns, k);
            const int64_t n = attn_chat_turn(&c, i ? system : NULL, k == 0,
                                             json_string_value(turn),
                                             (int64_t)json_string_length(turn),
                                             out, sizeof out);
            assert_true(n < (int64_t)sizeof out);
            if (k > 0)
                buffer_printf(&b, "%s",
                              json_string_value(
                                  json_object_get(chat, "answer")));
            buffer_add(&b, out, (size_t)n);
        }
        if (want && strcmp(b.at, json_string_value(want)) != 0)
            fail_msg("%s, %s: '%s', not '%s'",
                     json_string_value(json_object_get(chat, "name")), keys[i],
                     b.at, json_string_value(want));
    }
}

static void recorded(void **state)
{
    (void)state;
    json_t *root = json_file("tests/families/chats.json"), *chat;
    size_t i;
    assert_true(json_array_size(json_object_get(root, "chats")) >= 13);
    json_array_foreach(json_object_get(root, "chats"), i, chat)
    {
        Arena *a = arena_new();
        compare_chat(a, root, chat);
        arena_free(a);
    }
    json_decref(root);
}

static void unknown(void **state)
{
    (void)state;
    Arena *a = arena_new();
    char *said;
    write_json(json_pack("{s:s}", "chat_template", "{{ 'Q: ' }} {{ 'A: ' }}"));
    assert_false(spec_chats(imported(a, &said)));
    assert_non_null(strstr(said, "tokenizer_config.json:1:"));
    assert_non_null(strstr(said, "the chat template is none of those that are "
                                 "known: the spec gets no `chat`"));
    assert_non_null(strstr(said, "; llama 3; llama 3, turns as they are; "));
    write_json(json_object());
    assert_false(spec_chats(imported(a, &said)));
    assert_string_equal(said, "");
    arena_free(a);
}

/* Tests templates in a named list, and in their own file. */
static void places(void **state)
{
    (void)state;
    Arena *a = arena_new();
    char *said;
    const char *text = cases[0].text;
    write_json(json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "chat_template",
                         "name", "tool_use", "template", "x", "name", "default",
                         "template", text));
    assert_true(spec_chats(imported(a, &said)));
    write_json(json_object());
    scratch_file("chat_template.jinja", text, strlen(text));
    assert_true(spec_chats(imported(a, &said)));
    unlink(scratch_path("chat_template.jinja"));
    arena_free(a);
}

/* Tests a file of llama.cpp, which has the template and the tokens' texts in
 * its metadata; compares the conversation with transformers'
 * (tests/families/gguf_files.py). */
static void of_gguf(void **state)
{
    (void)state;
    Arena *a = arena_new();
    char *said;
    json_t *root = json_file("tests/families/gguf/llama-3-f16.json");
    const json_t *recorded = json_object_get(root, "conversation");
    const Spec *s = imported_from(a, "tests/families/gguf/llama-3-f16.gguf",
                                  &said);
    assert_string_equal(said, "");
    assert_string_equal(conversation(a, s, NULL),
                        json_string_value(json_object_get(recorded, "text")));
    json_decref(root);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),   cmocka_unit_test(recorded),
        cmocka_unit_test(unknown), cmocka_unit_test(places),
        cmocka_unit_test(of_gguf),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
