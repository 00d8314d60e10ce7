/* chat_test.c: tests the texts that import finds in a chat template:
 * conversations as transformers has them, warnings where they differ, templates
 * that no spec can describe, and where a template may be stored. */
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

/* Templates of chats.json that `chat` does not describe in full: what import
 * says, how many of the 200 conversations agree, 0: the spec has no `chat`. */
static const struct {
    const char *name, *said;
    int agree;
} limits[] = {
    { "qwen 3",
      "tokenizer_config.json:1:1: warning: `chat` formats other conversations "
      "like the chat template, but not these: an answer with <think>\n",
      200 },
    { "llama 3.2",
      ":1:1: warning: the chat template writes the date of the day, and the "
      "spec has 26 July 2024: change it in `chat`\n",
      200 },
    /* the system's text is in the last turn */
    { "mistral 7B v0.3", "but not these: a second turn after a system's text\n",
      139 },
    { "gemma", "but not these: a system's text\n", 101 },
    { "a system's text in capitals", "but not these: a system's text\n", 101 },
    { "turns with numbers", "cannot be written as `chat` (the texts around",
      0 },
    { "channels", "cannot be written as `chat` (the texts around", 0 },
};

static uint32_t hash_of(const char *text, int n)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* Returns the conversation as attnc formats it. */
static Buffer formatted(Arena *a, const struct attn_chat *c, const json_t *talk,
                        const char *lead)
{
    const char *given = json_string_value(json_object_get(talk, "system"));
    const char *system = given ? given : c->system_text;
    const json_t *answers = json_object_get(talk, "answers"), *turn;
    Buffer b = { .arena = a };
    size_t i;
    json_array_foreach(json_object_get(talk, "turns"), i, turn)
    {
        char out[900];
        const int64_t n = attn_chat_turn(c, system, i == 0,
                                         json_string_value(turn),
                                         (int64_t)json_string_length(turn), out,
                                         sizeof out);
        assert_true(n < (int64_t)sizeof out);
        if (i > 0)
            buffer_printf(&b, "%s%s", lead,
                          json_string_value(json_array_get(answers, i - 1)));
        buffer_add(&b, out, (size_t)n);
    }
    return b;
}

/* Returns the number of conversations that agree with transformers'. */
static int agreeing(const Spec *s, const json_t *talks, const json_t *chat)
{
    const struct attn_chat c = spec_chat(s);
    const char *hashes = json_string_value(json_object_get(chat, "hashes"));
    const char *lead = json_string_value(json_object_get(chat, "lead"));
    const json_t *talk;
    size_t i;
    int n = 0;
    json_array_foreach(talks, i, talk)
    {
        Arena *a = arena_new();
        char hash[9];
        const Buffer b = formatted(a, &c, talk, lead);
        snprintf(hash, sizeof hash, "%08x", hash_of(b.at, b.n));
        n += !strncmp(hashes, hash, 8);
        hashes += strcspn(hashes, " ");
        hashes += *hashes == ' ';
        arena_free(a);
    }
    return n;
}

static void write_template(const char *text)
{
    write_json(json_pack("{s:s, s:s, s:{s:s}}", "chat_template", text,
                         "bos_token", "<B>", "eos_token", "content", "</E>"));
}

/* Tests that the spec of each template formats conversations as transformers
 * does (tests/families/chats.py), or that import says which it does not. */
static void compare_chat(const json_t *talks, const json_t *chat)
{
    const char *name = json_string_value(json_object_get(chat, "name"));
    Arena *a = arena_new();
    const char *want = "";
    int agree = (int)json_array_size(talks);
    char *said;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!strcmp(limits[i].name, name)) {
            want = limits[i].said;
            agree = limits[i].agree;
        }
    write_template(json_string_value(json_object_get(chat, "template")));
    const Spec *s = imported(a, &said);
    const int n = spec_chats(s) ? agreeing(s, talks, chat) : 0;
    if (n != agree || !strstr(said, want) || (!*want && *said))
        fail_msg("%s: %d agree, not %d: %s", name, n, agree, said);
    arena_free(a);
}

static void recorded(void **state)
{
    (void)state;
    json_t *root = json_file("tests/families/chats.json"), *chat;
    size_t i;
    assert_true(json_array_size(json_object_get(root, "chats")) >= 27);
    assert_int_equal(json_array_size(json_object_get(root, "talks")), 200);
    json_array_foreach(json_object_get(root, "chats"), i, chat)
        compare_chat(json_object_get(root, "talks"), chat);
    json_decref(root);
}

/* Templates without a `chat`, and why. */
static const struct {
    const char *text, *why;
} refused[] = {
    { "a\n{% call f() %}",
      "line 2 of the template: the tag 'call' is not supported" },
    { "{% for m in messages %}{{ m.content }}\n{% if not loop.first %}\n"
      "{{ raise_exception('one turn only') }}{% endif %}{% endfor %}",
      "line 3 of the template: the template refuses it: \"one turn "
      "only\"" },
    { "{{ messages[0].content }}",
      "a turn is not in what the template writes" },
    { "{% for m in messages %}{{ loop.index }} {{ m.content }}{% endfor %}",
      "the texts around its turns are not always the same" },
    { "{% for m in messages %}{{ m.content + '\\x01' }}{% endfor %}",
      "a spec cannot have its texts" },
    { "{% for m in messages %}{{ m.content }}{% endfor %}",
      "it writes nothing around a turn of the user" },
};

static void unknown(void **state)
{
    (void)state;
    Arena *a = arena_new();
    char *said;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_template(refused[i].text);
        assert_false(spec_chats(imported(a, &said)));
        assert_non_null(strstr(said, "tokenizer_config.json:1:"));
        const char *want = arena_printf(a,
                                        "warning: the chat template cannot be "
                                        "written as `chat` (%s): the spec gets "
                                        "none, and --chat needs one\n",
                                        refused[i].why);
        if (!strstr(said, want))
            fail_msg("%s: %s", refused[i].text, said);
    }
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
    const char *text = "{% for m in messages %}{{ m.content }}\n{% endfor %}";
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
        cmocka_unit_test(recorded),
        cmocka_unit_test(unknown),
        cmocka_unit_test(places),
        cmocka_unit_test(of_gguf),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
