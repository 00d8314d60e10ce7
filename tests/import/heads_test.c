/* heads_test.c: tests folders whose modules.json or whose inner folders ask for
 * what attnc lacks, and notes about what a model expects. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include "import/import.h"
#include <cmocka.h>

#include "support/expected.h"
#include "support/family_folder.h"
#include "support/scratch.h"
#include "support/stderr_capture.h"

#define STEP(type, path)                                                       \
    "{\"type\": \"sentence_transformers.models." type "\", \"path\": \"" path  \
    "\"}"

/* Links all files of a family. */
static void link_files(const char *family)
{
    char here[4096], from[8192];
    scratch_empty();
    link_family(family, scratch);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(from, sizeof from, "%s/tests/families/%s/config.json", here,
             family);
    assert_int_equal(symlink(from, scratch_path("config.json")), 0);
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

static void replace(const char *name, const char *text)
{
    assert_int_equal(unlink(scratch_path(name)), 0);
    scratch_file(name, text, strlen(text));
}

/* Folders whose heads have steps or functions that are not supported: a file
 * that replaces that of a family. */
static const struct {
    const char *family, *file, *text, *says;
} heads[] = {
    { "splade", "modules.json",
      "[" STEP("SpladePooling", "1_SpladePooling") "]",
      "than a masked-LM transformer and SpladePooling" },
    { "colbert-modernbert", "modules.json",
      "[" STEP("Transformer", "") ", " STEP("Dense", "1_Dense") ", " STEP(
          "HierarchicalTokenPooling", "2") "]",
      "a step of its modules.json, sentence_transformers.models.Hierarchical" },
    { "colbert-modernbert", "modules.json",
      "[" STEP("Transformer", "") ", " STEP("Dense", "1_Dense") ", " STEP(
          "Normalize", "2") ", " STEP("Dense", "2_Dense") "]",
      "than a transformer, two dense layers" },
    { "logit-score", "modules.json", "[" STEP("LogitScore", "1_LogitScore") "]",
      "than a transformer and LogitScore" },
    { "logit-score", "sentence_bert_config.json",
      "{\"modality_config\": {\"message\": {}}}",
      "a chat template that writes a query and a document" },
};

static void test_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        Arena *a = arena_new();
        int code;
        link_files(heads[i].family);
        replace(heads[i].file, heads[i].text);
        const char *said = imported(a, &code);
        if (code != ExitInput || !strstr(said, heads[i].says))
            fail_msg("%s: code %d, not of '%s': %s", heads[i].text, code,
                     heads[i].says, said);
        arena_free(a);
    }
}

/* Folders in which one file of a folder inside has other keys. */
static const struct {
    const char *family, *folder, *keys, *says;
} inside[] = {
    { "splade", "1_SpladePooling", "{\"pooling_strategy\": \"min\"}",
      "pooling of logits by min" },
    { "splade", "1_SpladePooling", "{\"activation_function\": \"gelu\"}",
      "gelu" },
    { "sentences-mean", "1_Pooling", "{\"pooling_mode\": \"weightedmean\"}",
      "pooling of the mode weightedmean" },
    { "sentences-dense", "2_Dense", "{\"use_residual\": true}",
      "(use_residual)" },
};

static void test_inside(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        Arena *a = arena_new();
        int code;
        link_files(inside[i].family);
        const char *folder = scratch_path(inside[i].folder);
        assert_int_equal(unlink(folder), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
        scratch_file(arena_printf(a, "%s/config.json", inside[i].folder),
                     inside[i].keys, strlen(inside[i].keys));
        const char *said = imported(a, &code);
        if (code != ExitInput || !strstr(said, inside[i].says))
            fail_msg("%s: code %d, not of '%s': %s", inside[i].keys, code,
                     inside[i].says, said);
        unlink(arena_printf(a, "%s/config.json", folder));
        rmdir(folder);
        arena_free(a);
    }
}

/* --vectors without its file. */
static void test_vectors(void **state)
{
    Arena *a = arena_new();
    Imported i;
    (void)state;
    link_files("colbert-first");
    ImportOptions o = { .folder = scratch, .spec = "-", .name = "x" };
    o.vectors = "sparse";
    capture_stderr();
    assert_int_equal(import_folder(&i, &o), ExitInput);
    assert_non_null(strstr(captured_stderr(a), "-m attnc.state_dict "
                                               "sparse_linear.pt"));
    import_close(&i);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
