/* library_memory_test.c: attnc_compile_files(), which gives files to a function
 * instead of writing them, and attnc_open_reader(), which gets weights from
 * one. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/library_calls.h"

static const char letters[] = "models/g2p-en/g2p-en.yaml";

typedef struct {
    int n;
    char text[400]; /* the first error */
} Heard;

static void keep(void *user, const struct attnc_message *m)
{
    Heard *h = user;
    if (m->severity <= ATTNC_SEVERITY_INTERNAL && h->n++ == 0)
        snprintf(h->text, sizeof h->text, "%s", m->text);
}

/* ---- files ---- */

typedef struct {
    const char *folder; /* has the same files; NULL: they are not compared */
    int refused;        /* returned for each */
    char names[200];
} Taker;

static int take(void *taker, const char *name, const void *bytes, int64_t n)
{
    Taker *t = taker;
    strcat(strcat(t->names, name), " ");
    if (t->folder) {
        size_t size;
        char *expected = file_of(scratch_path(name), &size);
        assert_int_equal(n, size);
        assert_memory_equal(bytes, expected, size);
        free(expected);
    }
    return t->refused;
}

/* Compiles to the scratch folder, and to a function: the same files. */
static void same_files(const char *names, const char *option, const char *name)
{
    char path[200];
    Taker t = { .folder = scratch };
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    assert_int_equal(attnc_compile(letters, NULL, WORDS("-o", path, option),
                                   hear, NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_compile_files(letters, NULL,
                                         WORDS("-o", name, option), take, &t,
                                         hear, NULL),
                     ATTNC_DONE);
    assert_string_equal(t.names, names);
}

static void test_files(void **state)
{
    (void)state;
    same_files("m.c m.h m.weights ", "--march=generic", "m.c");
    same_files("m.c m.h ", "--embed", "m.c");
    same_files("attn.c attn.h m.c m.h m.weights ", "--runtime=beside", "m.c");
    same_files("m.h m.o ", "--embed", "m.o");
    same_files("lock lock.weights ", "--emit=exe", "lock");
}

/* Tests that a wheel, whose name is not that of -o, is given too. */
static void test_wheel(void **state)
{
    Taker t = { 0 };
    (void)state;
    if (system("command -v python3 > /dev/null") != 0)
        skip();
    assert_int_equal(attnc_compile_files(letters, NULL,
                                         WORDS("-o", "m", "--emit=wheel",
                                               "-O0"),
                                         take, &t, hear, NULL),
                     ATTNC_DONE);
    assert_memory_equal(t.names, "g2p_en-", 7);
    assert_non_null(strstr(t.names, ".whl "));
    assert_ptr_equal(strchr(t.names, ' ') + 1, t.names + strlen(t.names));
}

static void test_files_refused(void **state)
{
    Heard heard = { 0 };
    Taker t = { .refused = 7 };

    (void)state;
    assert_int_equal(attnc_compile_files(letters, NULL, WORDS("-o", "a/m.c"),
                                         take, &t, keep, &heard),
                     ATTNC_IO);
    assert_string_equal(heard.text,
                        "m.c: the function that takes it returned 7");
    assert_string_equal(t.names, "m.c ");
    heard.n = 0;
    assert_int_equal(attnc_compile_files(letters, NULL, NULL, take, &t, keep,
                                         &heard),
                     ATTNC_USAGE);
    assert_string_equal(heard.text, "attnc_compile_files() needs -o: the name "
                                    "of the C file, such as model.c");
    heard.n = 0;
    assert_int_equal(attnc_compile_files("none.yaml", NULL, WORDS("-o", "m.c"),
                                         take, &t, keep, &heard),
                     ATTNC_IO);
    assert_string_equal(heard.text, "none.yaml: cannot open: No such file or "
                                    "directory");
    heard.n = 0;
    setenv("TMPDIR", "/nowhere", 1);
    assert_int_equal(attnc_compile_files(letters, NULL, WORDS("-o", "m.c"),
                                         take, &t, keep, &heard),
                     ATTNC_IO);
    setenv("TMPDIR", scratch, 1);
    assert_string_equal(heard.text, "no folder can be made in /nowhere: No "
                                    "such file or directory");
    assert_string_equal(t.names, "m.c ");
}

/* ---- weights ---- */

typedef struct {
    const char *at;
    int64_t n;
    int64_t most; /* bytes that a call gives; 0: all */
    int64_t fails,
        returned; /* from this offset on, what it returns; 0: never */
    int calls;
} Store;

static int64_t read_store(void *source, int64_t offset, void *to, int64_t bytes)
{
    Store *s = source;
    int64_t n = s->n - offset < bytes ? s->n - offset : bytes;
    s->calls++;
    if (s->fails && offset >= s->fails)
        return s->returned;
    if (s->most && n > s->most)
        n = s->most;
    memcpy(to, s->at + offset, (size_t)n);
    return n;
}

/* Tests that any pieces of a file are the file, also when it is read again. */
static void test_reader(void **state)
{
    size_t n;
    char *at = file_of("tests/torch/rotary.safetensors", &n);
    attnc_handle *h = opened("tests/torch/rotary.yaml", NULL);
    const int32_t ids[] = { 1, 4, 2 };
    float expected[2][3 * 16], rows[3 * 16];

    (void)state;
    assert_int_equal(attnc_logits_ids(h, ids, 3, NULL, 0, 0, expected[0], 48),
                     3);
    assert_int_equal(attnc_hidden_ids(h, ids, 3, NULL, 0, expected[1], 48), 3);
    closed(h);
    for (int i = 0; i < 2; i++) {
        Store s = { .at = at, .n = (int64_t)n, .most = i ? 1001 : 0 };
        assert_int_equal(attnc_open_reader(&model, "tests/torch/rotary.yaml",
                                           NULL, read_store, &s,
                                           WORDS("--threads=1"), hear, NULL),
                         ATTNC_DONE);
        assert_int_equal(s.calls, i ? (n + 1000) / 1001 + 1 : 2);
        assert_int_equal(attnc_handle_open(&h, model, NULL), ATTNC_DONE);
        assert_int_equal(attnc_logits_ids(h, ids, 3, NULL, 0, 0, rows, 48), 3);
        assert_memory_equal(rows, expected[0], 33 * sizeof *rows);
        assert_int_equal(attnc_hidden_ids(h, ids, 3, NULL, 0, rows, 48), 3);
        assert_memory_equal(rows, expected[1], sizeof rows);
        closed(h);
    }
    free(at);
}

static void refused(Store s, const char *option, int code, const char *says)
{
    Heard heard = { 0 };
    assert_int_equal(attnc_open_reader(&model, "tests/torch/rotary.yaml", NULL,
                                       read_store, &s, WORDS(option), keep,
                                       &heard),
                     code);
    assert_null(model);
    assert_int_equal(heard.n, 1);
    assert_string_equal(heard.text, says);
}

static void test_reader_fails(void **state)
{
    size_t n;
    char *at = file_of("tests/torch/rotary.safetensors", &n);
    const Store all = { .at = at, .n = (int64_t)n, .most = 1000 };
    Store s = all;

    (void)state;
    refused(all, "--weights=a", ATTNC_USAGE,
            "--weights is not an option of attnc_open_reader()");
    s.fails = 2000, s.returned = -1;
    refused(s, "--threads=1", ATTNC_IO,
            "weights of the caller: the function that reads them returned -1 "
            "at byte 2000, where 1048576 bytes were asked for");
    s.returned = 1048577;
    refused(s, "--threads=1", ATTNC_IO,
            "weights of the caller: the function that reads them returned "
            "1048577 at byte 2000, where 1048576 bytes were asked for");
    s.returned = INT64_MAX;
    refused(s, "--threads=1", ATTNC_IO,
            "weights of the caller: the function that reads them returned "
            "9223372036854775807 at byte 2000, where 1048576 bytes were asked "
            "for");
    s.returned = 0; /* an early end */
    refused(s, "--threads=1", ATTNC_INPUT,
            "weights of the caller: tensor 'decoder.0.ffn.w1.weight': ends at "
            "byte 1360 of the data, which has 344: the file is cut short");
    s = all, s.n = 0;
    refused(s, "--threads=1", ATTNC_INPUT,
            "weights of the caller: does not look like a .safetensors file: "
            "no header begins with '{' at byte 8; convert other formats");
    free(at);
}

/* Tests that a reader may fail later, when the model is opened again. */
static void test_reader_fails_later(void **state)
{
    size_t n;
    char *at = file_of("tests/torch/rotary.safetensors", &n);
    Store s = { .at = at, .n = (int64_t)n };
    const int32_t ids[] = { 1, 4, 2 };
    float rows[3 * 16];
    attnc_handle *h;

    (void)state;
    assert_int_equal(attnc_open_reader(&model, "tests/torch/rotary.yaml", NULL,
                                       read_store, &s, WORDS("--threads=1"),
                                       hear, NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_handle_open(&h, model, NULL), ATTNC_DONE);
    s.fails = 1, s.returned = -5, s.most = 100;
    REFUSED(attnc_hidden_ids(h, ids, 3, NULL, 0, rows, 48), ATTNC_ERROR_HIDDEN,
            "weights of the caller: the function that reads them returned -5 "
            "at byte 100, where 1048576 bytes were asked for");
    s.fails = 0;
    assert_int_equal(attnc_hidden_ids(h, ids, 3, NULL, 0, rows, 48), 3);
    closed(h);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_wheel),
        cmocka_unit_test(test_files_refused),
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_reader_fails),
        cmocka_unit_test(test_reader_fails_later),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
