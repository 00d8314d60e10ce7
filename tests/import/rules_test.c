/* rules_test.c: tests rules that a user writes, --rules: they replace attnc's
 * own; errors in them have a line and a column, both when the rules are read
 * and when a directory is imported with them. Each case is the rules of llamas
 * with one text changed. */
#define _GNU_SOURCE /* mkdtemp */
#include "emit/text/embedded.h"
#include "import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/stderr_capture.h"

static const char folder[] = "tests/families/llama";

static const char *rules_of(const char *name)
{
    size_t n;
    return embedded_text(name, &n);
}

static const char *changed(Arena *a, const char *text, const char *from,
                           const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("the rules have no %s", from);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, to,
                        at + strlen(from));
}

/* Returns the messages for a folder or file and these rules; *code: the exit
 * code. */
static const char *said(Arena *a, const char *from, const char *rules,
                        int *code)
{
    const char *path = arena_strdup(a, scratch_file("own.yaml", rules,
                                                    strlen(rules)));
    const ImportOptions o = {
        .folder = from, .spec = "-", .name = "m", .rules = path
    };
    Imported i;
    capture_stderr();
    error_reset();
    *code = import_folder(&i, &o);
    const char *text = captured_stderr(a);
    import_close(&i);
    const size_t n = strlen(scratch);
    return strncmp(text, scratch, n) ? text : text + n + 1;
}

/* Tests that given rules are used instead; they must be of the folder's family.
 */
static void takes_own(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int code;
    const char *rules = rules_of("import/llama.yaml");
    assert_string_equal(said(a, folder, rules, &code), "");
    assert_int_equal(code, ExitDone);
    rules = changed(a, rules, "model_type: [llama]", "model_type: [lama]");
    const char *text = said(a, folder, rules, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(text, "tests/families/llama/config.json:17:3: "
                                 "error: "));
    assert_non_null(strstr(text, "own.yaml has no rules for model_type "
                                 "'llama'\n"));
    arena_free(a);
}

static const struct {
    const char *from, *to, *says;
} cases[] = {
    /* unchanged */
    { "\nlet:", "\nlets:", "error: 'lets' is no section of a family" },
    { "title: Llama 1 to 3.3\n", "",
      "own.yaml:1:1: error: a family has a "
      "title and a list model_type" },
    { " decoder, rope,", " decoder, rop,",
      "error: common.yaml has no such part" },
    { "config:", "config: []\nignored:", "error: config is a map" },
    { "model_type: [llama]", "model_type: llama", "model_type is a list" },
    { "ignored: [", "ignored: [b: c, ", "error: an item of ignored is a text" },
    { "\n  architecture: [llama]", "\n  architecture: [llama, [a]]",
      "error: an item of architecture is a text" },
    { "title: Llama 1 to 3.3", "title: [a]", "error: title is a text" },
    { "hidden_size: int = 4096", "hidden_size: whole = 4096",
      "own.yaml:15:16: error: a key is an int, number, bool, text, list or "
      "map, as in `int|list? = 5`" },
    { "hidden_size: int = 4096", "hidden_size: [int]",
      "error: a key is written as `KEY: int = 5`" },
    { "hidden_size: int = 4096", "hidden_size: int 4096",
      "error: behind the type of a key comes `= its default`" },
    { "prefix(", "prefx(", "error: 'prefx' is no function" },
    { "=hidden_size", "=hiden_size",
      "error: 'hiden_size' is no key under config, files or let" },
    { "base: prefix(\"embed_tokens.weight\")", "base: [1]",
      "error: an expression is needed here" },
    /* expressions that cannot be read */
    { "d_model: =hidden_size", "d_model: '=hidden_size +'",
      "error: a value is missing here" },
    { "d_model: =hidden_size", "d_model: '=hidden_size + ]'",
      "error: a value is missing before this" },
    { "d_model: =hidden_size", "d_model: =hidden_size 5",
      "own.yaml:35:25: error: the expression has ended before this" },
    { "d_model: =hidden_size", "d_model: '=(hidden_size'",
      "error: ')' is missing here" },
    { "d_model: =hidden_size", "d_model: '=if true then 1'",
      "error: 'else' is missing here" },
    { "d_model: =hidden_size", "d_model: '=len(\"a)'",
      "error: a text ends with \"" },
    /* values that do not fit */
    { "d_model: =hidden_size", "d_model: =hidden_size + hidden_act",
      "error: '+' takes a number, found" },
    { "d_model: =hidden_size", "d_model: '=-hidden_act'",
      "error: '-' takes a number, found" },
    { "d_model: =hidden_size", "d_model: =hidden_act < 5",
      "error: '<' takes a number, found" },
    { "d_model: =hidden_size", "d_model: =5 in hidden_size",
      "error: 'in' takes a list, found" },
    { "d_model: =hidden_size", "d_model: =hidden_size / 0",
      "error: a division by 0" },
    { "d_model: =hidden_size", "d_model: =9223372036854775807 + hidden_size",
      "error: 9223372036854775807 + 24 is no number here" },
    { "d_model: =hidden_size", "d_model: =if hidden_size then 1 else 2",
      "error: true or false is needed, found" },
    { "d_model: =hidden_size", "d_model: '=hidden_size[0]'",
      "error: [] takes a table, or a list and a whole number" },
    { "d_model: =hidden_size", "d_model: =sqrt(hidden_act)",
      "error: sqrt() takes a number, found a text" },
    { "d_model: =hidden_size", "d_model: '=min(1)'",
      "error: min() takes 2 arguments, found 1" },
    { "d_model: =hidden_size", "d_model: '=prefix()'",
      "error: prefix() takes 1 to 3 arguments, found 0" },
    { "d_model: =hidden_size", "d_model: '=1ex5'",
      "own.yaml:35:15: error: the expression has ended before this" },
    { "base: prefix", "base: base + prefix", "error: 'base' needs itself" },
    /* tensors */
    { "embed_tokens.weight", "embed_tokens.w",
      "model.safetensors: no tensor's name ends in 'embed_tokens.w', as in the "
      "weights of this family" },
    { "d_model: =hidden_size", "d_model: '=dim(\"x\", 0)'",
      "error: the weights have no tensor 'x', which tells a size" },
    { "d_model: =hidden_size", "d_model: '=dim(\"lm_head.weight\", 2)'",
      "error: tensor 'lm_head.weight' has 2 dimensions" },
    { "d_model: =hidden_size", "d_model: '=numbers(\"x\")'",
      "error: the weights have no tensor 'x' of at most 4096 numbers" },
    /* layers */
    { "d_model: =hidden_size", "d_model: =hidden_size + i",
      "error: 'i' is the number of a layer, below `layer` alone" },
    { "\nlet:", "\nlayer: [1]\nlet:", "error: layer is a map" },
    { "\nlet:", "\nrenamed: 5\nlet:", "error: renamed is a map" },
    { "\nlet:", "\nlayer: {d_ff: '=hidden_act + i'}\nlet:",
      "error: '+' takes a number, found" },
    /* names, refusals, files */
    { "\"{base}norm\"\n", "\"{base}norm\"\n  - \"{s}.norm\": \"{base}n\"\n",
      "error: 'decoder.norm' has two rows" },
    { "\"{base}norm\"\n", "\"{nothing}\"\n",
      "error: 'nothing' is no key and no value of let" },
    { "\nlet:", "\nrefuse: [{key: hidden_size}]\nlet:",
      "error: a refusal has `when` and `missing`" },
    { "\nlet:", "\nrefuse: [{when: hidden_size > 5, missing: width}]\nlet:",
      "llama needs what is not there yet: width" },
    { "\nlet:", "\nfiles: {x: ../x.json}\nlet:",
      "error: ../x.json is out of the folder" },
    { "\nlet:", "\nfiles: {x: a/..}\nlet:",
      "error: a/.. is out of the folder" },
    { "\nlet:", "\nfiles: {x: [1]}\nlet:", "error: a file has a path" },
};

static void names_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_new();
        int code;
        const char *rules = changed(a, rules_of("import/llama.yaml"),
                                    cases[i].from, cases[i].to);
        const char *text = said(a, folder, rules, &code);
        if (code != ExitInput || !strstr(text, cases[i].says))
            fail_msg("%s -> %s: code %d, says\n%s\nnot\n%s", cases[i].from,
                     cases[i].to, code, text, cases[i].says);
        arena_free(a);
    }
}

/* Tests a missing file and rules of another family, also for a gguf file. */
static void other_files(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Imported i;
    int code;
    capture_stderr();
    code = import_folder(&i, &(ImportOptions){ .folder = folder,
                                               .spec = "-",
                                               .name = "m",
                                               .rules = "no/such.yaml" });
    const char *text = captured_stderr(a);
    import_close(&i);
    assert_int_equal(code, ExitIO);
    assert_string_equal(text, "attnc: error: no/such.yaml: cannot open: No "
                              "such file or directory\n");
    text = said(a, folder, "- llama\n", &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(text, "own.yaml:1:1: error: a file of rules is a "
                                 "map\n"));
    const char *gpt2 = rules_of("import/gpt2.yaml");
    text = said(a, "tests/families/gguf/bert-f16.gguf", gpt2, &code);
    assert_int_equal(code, ExitInput);
    assert_non_null(strstr(text, "own.yaml has no rules for a gguf of "
                                 "architecture 'bert'\n"));
    text = said(a, "tests/families/gguf/gpt2-f16.gguf", gpt2, &code);
    assert_int_equal(code, ExitDone);
    assert_string_equal(text, "");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_own),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(other_files),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
