/* defaults_test.c: imports each folder of tests/families with all keys that its
 * class has in transformers 4 and 5 (tests/families/defaults.json), as older
 * releases write them, and with all keys of generation_config.json. There may
 * be no error and no warning, so an unknown key is never one that a class of
 * transformers writes by default. */
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

static bool lists(const json_t *folders, const char *folder)
{
    bool found = json_is_string(folders); /* "*" */
    for (size_t i = 0; i < json_array_size(folders); i++)
        found |= !strcmp(json_string_value(json_array_get(folders, i)), folder);
    return found;
}

/* Writes generation_config.json: the folder's own keys, and these defaults. */
static void write_generation(const char *folder, const json_t *defaults)
{
    static const char name[] = "generation_config.json";
    char path[PathBytes];
    snprintf(path, sizeof path, "tests/families/%s/%s", folder, name);
    json_t *own = access(path, R_OK) == 0 ? json_file(path) : json_object();
    json_object_update_missing(own, (json_t *)defaults);
    unlink(scratch_path(name));
    assert_int_equal(json_dump_file(own, scratch_path(name), JSON_INDENT(2)),
                     0);
    json_decref(own);
}

/* Writes the folder's config with all keys that the rows give it. Returns their
 * number. */
static int write_config(const char *folder, const char *name,
                        const json_t *rows)
{
    char path[PathBytes];
    int n = 0;
    snprintf(path, sizeof path, "tests/families/%s/%s", folder, name);
    json_t *config = json_file(path);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!lists(json_array_get(row, 2), folder))
            continue;
        json_object_set(config, json_string_value(json_array_get(row, 0)),
                        json_array_get(row, 1));
        n++;
    }
    assert_int_equal(json_dump_file(config, scratch_path("config.json"),
                                    JSON_INDENT(2)),
                     0);
    json_decref(config);
    return n;
}

static int check_folder(const char *folder, const char *name,
                        const json_t *release)
{
    const json_t *rows = json_object_get(release, "rows");
    Arena *a = arena_new();
    const ImportOptions o = { .folder = scratch,
                              .spec = arena_strdup(a, scratch_path("x.yaml")),
                              .name = "x",
                              .joined = arena_strdup(a, scratch_path(
                                                            "x.safetensors")) };
    Imported i;
    link_files(folder);
    write_generation(folder, json_object_get(release, "generation"));
    const int n = write_config(folder, name, rows);
    capture_stderr();
    error_reset();
    const int code = import_folder(&i, &o);
    const char *said = captured_stderr(a);
    if (code || strstr(said, "error:") || strstr(said, "warning:"))
        fail_msg("%s, %s: code %d: %s", folder, name, code, said);
    import_close(&i);
    arena_free(a);
    return n;
}

static void check_release(const char *name)
{
    json_t *all = json_file("tests/families/defaults.json");
    const json_t *release = json_object_get(all, name);
    const json_t *folders = json_object_get(release, "folders");
    int keys = 0;
    for (size_t i = 0; i < json_array_size(folders); i++)
        keys += check_folder(json_string_value(json_array_get(folders, i)),
                             name, release);
    print_message("%s: %zu folders, %d keys\n", name, json_array_size(folders),
                  keys);
    assert_true(json_array_size(folders) > 100 && keys > 900);
    json_decref(all);
}

static void test_five(void **state)
{
    (void)state;
    check_release("config.json");
}

static void test_four(void **state)
{
    (void)state;
    check_release("config4.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_five),
                                        cmocka_unit_test(test_four) };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
