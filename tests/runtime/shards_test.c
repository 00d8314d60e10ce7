/* shards_test.c: tests tensors in several files, and faults of the index. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"

static void shard(const char *file, const char *const *name, int n)
{
    static const float data[4] = { 1, 2, 3, 4 };
    TensorOut t[4];
    Fault why;
    for (int i = 0; i < n; i++)
        t[i] = (TensorOut){
            .name = name[i], .rank = 1, .dim = { 2 }, .data = data + i
        };
    assert_true(safetensors_write(scratch_path(file), t, n, &why));
}

static Safetensors *open_index(const char *text, Fault *why)
{
    const char *path = scratch_file("i.json", text, strlen(text));
    shard("1.st", (const char *const[]){ "c", "a" }, 2);
    shard("2.st", (const char *const[]){ "b" }, 1);
    shard("4.st", (const char *const[]){ "b", "e" }, 2);
    return safetensors_open(path, why);
}

static void joins_shards(void **state)
{
    (void)state;
    Fault why;
    Safetensors *s = open_index("{\"metadata\": {}, \"weight_map\": {\"b\": "
                                "\"2.st\", \"a\": \"1.st\", \"c\": \"1.st\"}}",
                                &why);
    float x[2];
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(safetensors_at(s, i)->name, &"a\0b\0c"[2 * i]);
    tensor_floats(safetensors_find(s, "a"), 0, 2, x);
    assert_true(x[0] == 2 && x[1] == 3);
    safetensors_close(s);
}

/* A shard in a folder has names that begin with it. */
static void joins_a_folder(void **state)
{
    (void)state;
    Fault why;
    float x[2];
    assert_int_equal(mkdir(scratch_path("x"), 0700), 0);
    shard("x/1.st", (const char *const[]){ "c", "a" }, 2);
    Safetensors *s = open_index("{\"weight_map\": {\"b\": \"2.st\", \"x.a\": "
                                "\"x/1.st\", \"x.c\": \"x/1.st\"}}",
                                &why);
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 3);
    tensor_floats(safetensors_find(s, "x.a"), 0, 2, x);
    assert_true(x[0] == 2 && x[1] == 3);
    assert_non_null(safetensors_find(s, "b"));
    safetensors_close(s);
    assert_int_equal(unlink(scratch_path("x/1.st")), 0);
    assert_int_equal(rmdir(scratch_path("x")), 0);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *map, *message;
    } cases[] = {
        { "3", "i.json: 'weight_map' must map names of tensors to files" },
        { "{}", "i.json: 'weight_map' must map names of tensors to files" },
        { "{\"a\": 1}", "i.json: tensor 'a': its shard must be the name of a "
                        "file" },
        { "{\"a\": \"../1.st\"}",
          "i.json: shard '../1.st': must be the name "
          "of a safetensors file in the folder of the index" },
        { "{\"a\": \"x/../../1.st\"}",
          "i.json: shard 'x/../../1.st': must be the name "
          "of a safetensors file in the folder of the index" },
        { "{\"a\": \"/1.st\"}", "i.json: shard '/1.st': must be the name of a "
                                "safetensors file in the folder of the index" },
        { "{\"a\": \"x/\"}", "i.json: shard 'x/': must be the name of a "
                             "safetensors file in the folder of the index" },
        { "{\"a\": \"..\"}", "i.json: shard '..': must be the name of a "
                             "safetensors file in the folder of the index" },
        { "{\"a\": \"i.json\"}",
          "i.json: shard 'i.json': must be the name "
          "of a safetensors file in the folder of the index" },
        { "{\"a\": \"1.st\"}", "i.json: tensor 'c': is in '1.st', the index "
                               "does not have it" },
        { "{\"a\": \"1.st\", \"c\": \"2.st\"}",
          "i.json: tensor 'c': is in "
          "'1.st', the index says '2.st'" },
        { "{\"b\": \"2.st\", \"e\": \"4.st\"}",
          "i.json: tensor 'b': is in "
          "'4.st', the index says '2.st'" },
        { "{\"b\": \"2.st\", \"d\": \"2.st\"}",
          "i.json: tensor 'd': is not "
          "in '2.st', where the index says" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        Fault why;
        snprintf(text, sizeof text, "{\"weight_map\": %s}", cases[i].map);
        assert_null(open_index(text, &why));
        assert_message(why.text, cases[i].message);
        assert_int_equal(why.code, ExitInput);
    }
    Fault why;
    assert_null(open_index("{\"weight_map\": {\"a\": \"1.st\", \"a\": "
                           "\"2.st\"}}",
                           &why));
    assert_int_equal(why.code, ExitInput);
    assert_null(open_index("{", &why));
    assert_int_equal(why.code, ExitInput);
}

static void names_the_index_of_a_shard(void **state)
{
    (void)state;
    char want[600];
    Fault why;
    snprintf(want, sizeof want,
             "3.st: cannot open: No such file or directory "
             "(a shard of %s)",
             scratch_path("i.json"));
    assert_null(open_index("{\"weight_map\": {\"a\": \"3.st\"}}", &why));
    assert_message(why.text, want);
    assert_int_equal(why.code, ExitIO);
    scratch_file("5.st", "cut", 3);
    assert_null(open_index("{\"weight_map\": {\"a\": \"5.st\"}}", &why));
    assert_non_null(strstr(why.text, "5.st: does not look like"));
    assert_int_equal(why.code, ExitInput);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_shards),
        cmocka_unit_test(joins_a_folder),
        cmocka_unit_test(refuses),
        cmocka_unit_test(names_the_index_of_a_shard),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
