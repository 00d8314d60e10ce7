/* exports_test.c: tests the exported functions of each kind of model: the
 * header declares those of the list and no others, the C file defines them, and
 * comments use their real names; a model emitted alone has none of them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "emit/emit.h"
#include "engine/engine.h"

#include <ctype.h>
#include <cmocka.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* True if it is in the list of the model's exports. */
static bool exported(Engine *e, const EmitOptions *o, const char *name)
{
    const char *other;
    for (int i = 0; (other = emit_exported(e->arena, e->plan, o, i)); i++)
        if (!strcmp(other, name))
            return true;
    return false;
}

/* Checks that all names with the prefix "m_" before a "(" are exported. Returns
 * how many of them are outside comments. */
static int names_called(Engine *e, const EmitOptions *o, const char *text)
{
    bool comment = false;
    int declared = 0;
    for (const char *at = text; *at; at++) {
        comment |= at[0] == '/' && at[1] == '*';
        comment &= !(at[0] == '*' && at[1] == '/');
        const char *end = at;
        while (is_word(*end))
            end++;
        if (end == at)
            continue;
        const char *name = arena_strndup(e->arena, at, (size_t)(end - at));
        const bool called = *end == '(' && (!comment || end[1] == ')');
        at = end - 1;
        if (!called || (!comment && strncmp(name, "m_", 2)))
            continue;
        if (!exported(e, o, name))
            fail_msg("%s is not exported", name);
        declared += !comment;
    }
    return declared;
}

static void check_form(const char *spec, bool freestanding)
{
    static const char *const sets[] = { "name=m" };
    const EngineOptions o = {
        .spec = spec, .sets = sets, .nsets = 1, .march = "x86-64-v3"
    };
    const EmitOptions options = { .mode = EmitAot,
                                  .freestanding = freestanding };
    Engine e;
    size_t n;
    int count = 0;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const char *header = emit_header(e.arena, e.plan, &options, &n);
    const char *file = emit_model(e.arena, e.plan, &options, &n), *name;
    const char *functions = strstr(header, "extern \"C\"");
    assert_non_null(functions);
    for (; (name = emit_exported(e.arena, e.plan, &options, count)); count++) {
        const char *word = arena_printf(e.arena, "%s(", name);
        assert_non_null(strstr(functions, word));
        assert_non_null(strstr(file, word));
    }
    assert_int_equal(names_called(&e, &options, functions), count);
    engine_close(&e);
}

static void check(const char *spec)
{
    check_form(spec, false);
    check_form(spec, true);
}

static void test_exports(void **state)
{
    (void)state;
    check("models/tiny.yaml");
    check("models/attention.yaml");
    check("models/minilm.yaml");
    check("models/gpt2-small.yaml");
}

/* Tests an encoder of a vocabulary, which has no target: its file converts text
 * to ids, but no ids to text. A model without vocabularies does neither. */
static void test_vocabularies(void **state)
{
    static const char *const sets[] = { "name=m", "kind=encoder" };
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/g2p-en/g2p-en.yaml" };
    const EmitOptions options = { .mode = EmitAot };
    (void)state;
    for (int named = 0; named < 2; named++) {
        const EngineOptions o = {
            .spec = specs[named], .sets = sets, .nsets = 2, .march = "x86-64-v3"
        };
        Engine e;
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        assert_int_equal(exported(&e, &options, "m_vocab_encode"), named);
        assert_int_equal(exported(&e, &options, "m_embed"), named);
        assert_false(exported(&e, &options, "m_vocab_decode"));
        engine_close(&e);
    }
}

/* Tests that text for this process has only the model's function, and no code
 * of the core. */
static void check_model(const char *spec)
{
    static const EmitMode modes[] = { EmitModel, EmitJit };
    const EngineOptions o = { .spec = spec, .march = "x86-64-v3" };
    Engine e;
    size_t n;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const EmitOptions options = { .mode = modes[i] };
        const char *text = emit_model(e.arena, e.plan, &options, &n), *name;
        for (int k = 0; (name = emit_exported(e.arena, e.plan, &options, k));
             k++) {
            const char *word = arena_printf(e.arena, "%s(", name);
            assert_int_equal(strstr(text, word) != NULL, k == 0);
        }
        assert_null(strstr(text, " attn_search("));
    }
    engine_close(&e);
}

static void test_model_alone(void **state)
{
    (void)state;
    check_model("models/tiny.yaml");
    check_model("models/attention.yaml");
    check_model("models/minilm.yaml");
    check_model("models/gpt2-small.yaml");
}

/* Checks that the head comment describes a pattern of layers, but not layers
 * that are alike. */
static void check_head(const char *spec, bool pattern)
{
    const EngineOptions o = { .spec = spec, .march = "x86-64-v3" };
    const EmitOptions options = { .mode = EmitAot };
    Engine e;
    size_t n;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const char *text = emit_model(e.arena, e.plan, &options, &n);
    assert_int_equal(strstr(text, "\n * Layers, ") != NULL, pattern);
    assert_int_equal(strstr(text, "{positions.type: none, activation: silu}")
                         != NULL,
                     pattern);
    engine_close(&e);
}

static void test_pattern(void **state)
{
    (void)state;
    check_head("tests/spec/layers.yaml", true);
    check_head("models/tiny.yaml", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exports),
        cmocka_unit_test(test_vocabularies),
        cmocka_unit_test(test_model_alone),
        cmocka_unit_test(test_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
