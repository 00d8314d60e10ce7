/* config_hints_test.c: tests that a hint knows each key of config.json that is
 * the value of a field in models/import, `d_model: =hidden_size`, and names
 * that field. */
#include "import/rules.h"
#include "spec/values/hints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ctype.h>
#include <string.h>

typedef struct {
    Arena *a;
    const char *file;
    const Yaml *config;
    int found, wrong;
} Walk;

/* Returns a key without the side, so that N.encoder is N. */
static const char *without_side(Arena *a, const char *key)
{
    static const char *const sides[] = { ".encoder", ".decoder", ".source",
                                         ".target" };
    for (int i = 0; i < 4; i++) {
        const char *at = strstr(key, sides[i]);
        if (at)
            return arena_printf(a, "%.*s%s", (int)(at - key), key,
                                at + strlen(sides[i]));
    }
    return key;
}

/* True if a hint proposes the field, or its note names it. */
static bool names_field(Arena *a, const Hint *h, const char *path)
{
    const char *field = without_side(a, path);
    for (const char *at = h->ours ? h->ours : ""; *at; at += strspn(at, " :")) {
        const size_t n = strcspn(at, " :");
        if (!strcmp(without_side(a, arena_strndup(a, at, n)), field))
            return true;
        at += n;
    }
    return h->how == HintNote && strstr(h->more, field);
}

static void look_at_key(Walk *w, const char *path, const char *key)
{
    for (int i = 0; w->config && i < w->config->keys.n; i++) {
        KeyRule rule;
        assert_true(rules_key(w->a, w->config->keys.at[i],
                              w->config->items.at[i], &rule));
        if (strcmp(rule.names.at[0], key))
            continue;
        for (int k = 0; k < rule.names.n; k++) {
            const char *name = rule.names.at[k];
            const Hint *h = hint_find(name);
            w->found++;
            if (field_find(name) >= 0 || (h && names_field(w->a, h, path)))
                continue;
            w->wrong++;
            print_error("%s: %s is %s, its hint says %s\n", w->file, name, path,
                        !h        ? "nothing"
                        : h->ours ? h->ours
                                  : h->more);
        }
    }
}

static void walk(Walk *w, const Yaml *v, const char *path)
{
    const char *dot = *path ? "." : "";
    for (int i = 0; v && v->kind == YamlMap && i < v->keys.n; i++)
        walk(w, v->items.at[i],
             arena_printf(w->a, "%s%s%s", path, dot, v->keys.at[i]->text));
    if (!v || v->kind != YamlScalar || v->text[0] != '=')
        return;
    size_t n = 1;
    while (isalnum((unsigned char)v->text[n]) || v->text[n] == '_')
        n++;
    if (!v->text[n])
        look_at_key(w, path, v->text + 1);
}

static void keys_have_hints(void **state)
{
    (void)state;
    Walk w = { .a = arena_new() };
    RuleFiles files = { 0 };
    assert_true(rules_read(w.a, &files, NULL));
    for (int i = 0; i < files.n; i++) {
        const Yaml *top = rules_merged(w.a, &files.at[i], rules_common(w.a));
        w.file = files.at[i].name;
        w.config = rules_map(top, "config");
        walk(&w, rules_map(top, "spec"), "");
        walk(&w, rules_map(top, "layer"), "");
    }
    arena_free(w.a);
    assert_true(w.found > 400);
    assert_int_equal(w.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(keys_have_hints) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
