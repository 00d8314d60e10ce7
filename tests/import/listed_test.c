/* listed_test.c: tests that docs/import.md lists only what is compared with
 * transformers. What import makes of an architecture depends on its family and
 * on its task alone, so each task of each family has a directory in
 * tests/families: its config.json names an architecture of that task, or
 * `bare` of its expected.json does. The class heads of decoders follow from a
 * part of common.yaml, so one decoder's record of such a task is for all. */
#define _GNU_SOURCE
#include "import/rules.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/expected.h"

typedef VEC(const char *) Names;

static void add_name(Arena *a, Names *to, const json_t *name)
{
    if (json_is_string(name))
        vec_push(a, to, arena_strdup(a, json_string_value(name)));
}

/* Adds the architectures that a directory records. */
static void add_recorded(Arena *a, Names *to, const char *family)
{
    const char *expected = arena_printf(a, "tests/families/%s/expected.json",
                                        family);
    const char *config = arena_printf(a, "tests/families/%s/config.json",
                                      family);
    if (access(expected, R_OK) || access(config, R_OK))
        return;
    json_t *root = json_file(config);
    add_name(a, to, json_array_get(json_object_get(root, "architectures"), 0));
    json_decref(root);
    root = json_file(expected);
    add_name(a, to,
             json_object_get(json_object_get(root, "bare"), "architecture"));
    json_decref(root);
}

static Names recorded(Arena *a)
{
    Names to = { 0 };
    DIR *d = opendir("tests/families");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        add_recorded(a, &to, e->d_name);
    closedir(d);
    return to;
}

static bool is_decoder(const Yaml *top)
{
    const Yaml *parts = rules_list(top, "use");
    for (int i = 0; parts && i < parts->items.n; i++)
        if (!strcmp(parts->items.at[i]->text, "decoder"))
            return true;
    return false;
}

/* Returns true if an architecture of this task is recorded. */
static bool task_recorded(const Names *names, const Yaml *known,
                          const char *task)
{
    for (int i = 0; i < names->n; i++) {
        const Yaml *found = yaml_get(known, names->at[i]);
        if (found && !strcmp(found->text, task))
            return true;
    }
    return false;
}

/* Returns true if some decoder's class head of this task is recorded. */
static bool decoders_record(const RuleFiles *files, const Names *names,
                            const char *task)
{
    if (!strcmp(task, "logits") || !strcmp(task, "rows"))
        return false;
    for (int i = 0; i < files->n; i++) {
        const Yaml *top = files->at[i].top;
        if (is_decoder(top)
            && task_recorded(names, rules_map(top, "architectures"), task))
            return true;
    }
    return false;
}

static void lists_what_is_recorded(void **state)
{
    (void)state;
    Arena *a = arena_new();
    RuleFiles files = { 0 };
    const Names names = recorded(a);
    int families = 0;
    assert_true(rules_read(a, &files, NULL));
    for (int i = 0; i < files.n; i++) {
        const Yaml *top = files.at[i].top;
        if (!rules_map(top, "spec") || yaml_get(top, "overlay"))
            continue;
        const Yaml *known = rules_map(top, "architectures");
        assert_non_null(known);
        families++;
        for (int k = 0; k < known->keys.n; k++)
            if (!task_recorded(&names, known, known->items.at[k]->text)
                && !(is_decoder(top)
                     && decoders_record(&files, &names,
                                        known->items.at[k]->text)))
                fail_msg("%s: tests/families has no %s, nor another of its "
                         "task",
                         files.at[i].name, known->keys.at[k]->text);
    }
    assert_true(families > 50);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_what_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
