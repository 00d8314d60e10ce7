/* recorded_test.c: tests the random configurations of tests/families/recorded,
 * one file each: imports the folder that transformers saved and compares it
 * with what transformers computed, as families_test does with the JIT. A folder
 * that import rejects is recorded by its message.
 *
 * A file has no weights: seeded.py and fill_tensor() compute the same ones.
 *
 * recorded_test llama: only the files that begin with llama. */
/* limit: 300 s */
#define _GNU_SOURCE
#include "import/import.h"
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"
#include "support/family_results.h"

static const char recorded[] = "tests/families/recorded";

enum { MostRecorded = 256 };

/* ---- weights ---- */

/* Returns an odd number below 128 in magnitude. */
static int odd_of(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x9E3779B1U;
    x = (x ^ (x >> 16)) * 0x85EBCA6BU;
    x ^= x >> 16;
    return (int)(x >> 25) * 2 - 127;
}

static bool is_norm(const char *name, size_t rank)
{
    const size_t n = strlen(name);
    return rank <= 1 && n >= 6 && !strcmp(name + n - 6, "weight");
}

/* Returns the power of two by which the odd numbers of a tensor are divided. */
static int exponent_of(size_t rank, int64_t columns)
{
    int exponent = rank <= 1 ? 8 : 6;
    for (int64_t n = 2; rank > 1 && n < columns; n *= 4)
        exponent++;
    return exponent;
}

/* Writes a number that f32, bf16 and f16 hold exactly, and that is not 0.
 * Returns its bytes. */
static size_t put_number(unsigned char *to, const char *type, float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if (!strcmp(type, "F32")) {
        memcpy(to, &u, 4);
        return 4;
    }
    const uint32_t exponent = (u >> 23 & 255) - 127 + 15;
    const uint16_t half = !strcmp(type, "BF16")
                            ? (uint16_t)(u >> 16)
                            : (uint16_t)((u >> 16 & 0x8000) | exponent << 10
                                         | (u >> 13 & 0x3ff));
    memcpy(to, &half, 2);
    return 2;
}

/* Writes the numbers of a tensor, [type, dimension ..]; `*seed` goes on by
 * their number. Returns the bytes. */
static size_t fill_tensor(unsigned char *to, const char *name,
                          const json_t *tensor, uint32_t *seed)
{
    const char *type = json_string_value(json_array_get(tensor, 0));
    const size_t rank = json_array_size(tensor) - 1;
    int64_t all = 1, columns = 1;
    size_t n = 0;
    for (size_t i = 1; i <= rank; i++)
        all *= columns = json_integer_value(json_array_get(tensor, i));
    for (int64_t i = 0; i < all; i++) {
        const int odd = odd_of((*seed)++);
        const float x = is_norm(name, rank)
                          ? (float)(odd < 0 ? odd - 128 : odd + 128) / 256
                          : ldexpf((float)odd, -exponent_of(rank, columns));
        n += put_number(to + n, type, x);
    }
    return n;
}

static json_t *tensor_row(const json_t *tensor, size_t begin, size_t end)
{
    json_t *shape = json_copy((json_t *)tensor);
    json_array_remove(shape, 0);
    return json_pack("{s:O, s:o, s:[I, I]}", "dtype", json_array_get(tensor, 0),
                     "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)end);
}

/* Writes a .safetensors file of the tensors. */
static void write_weights(const char *path, json_t *tensors, uint32_t *seed)
{
    enum { MostBytes = 1 << 20 };
    unsigned char *data = arena_alloc(a, MostBytes);
    json_t *header = json_object(), *tensor;
    const char *name;
    size_t n = 0;
    json_object_foreach(tensors, name, tensor)
    {
        const size_t begin = n;
        n += fill_tensor(data + n, name, tensor, seed);
        assert_true(n <= MostBytes / 2);
        json_object_set_new(header, name, tensor_row(tensor, begin, n));
    }
    char *text = json_dumps(header, JSON_COMPACT);
    const uint64_t length = (strlen(text) + 7) & ~(uint64_t)7;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(&length, 8, 1, f), 1);
    assert_true(fprintf(f, "%-*s", (int)length, text) > 0);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    free(text);
    json_decref(header);
}

/* ---- a folder ---- */

static void write_json(const char *folder, const char *name, const json_t *x)
{
    const char *path = arena_printf(a, "%s/%s", folder, name);
    assert_int_equal(json_dump_file(x, path, JSON_INDENT(1)), 0);
}

/* Writes the folder that transformers saved. */
static const char *write_folder(const json_t *root)
{
    const char *folder = in_dir("model"), *file, *name;
    json_t *map = json_object(), *tensors, *x;
    uint32_t seed = (uint32_t)json_integer_value(json_object_get(root, "seed"));
    assert_int_equal(mkdir(folder, 0700), 0);
    json_object_foreach(json_object_get(root, "files"), name, x)
        write_json(folder, name, x);
    json_object_foreach(json_object_get(root, "weights"), file, tensors)
    {
        write_weights(arena_printf(a, "%s/%s", folder, file), tensors, &seed);
        json_object_foreach(tensors, name, x)
            json_object_set_new(map, name, json_string(file));
    }
    x = json_pack("{s:o}", "weight_map", map);
    if (json_object_size(json_object_get(root, "weights")) > 1)
        write_json(folder, "model.safetensors.index.json", x);
    json_decref(x);
    return folder;
}

/* Compares the first line of a message behind its place. */
static void check_refused(const Spawned *s, int code, const char *says)
{
    static const char before[] = ": error: ";
    const char *found = strstr(s->tail, before);
    assert_int_equal(code, ExitInput);
    if (!found || strncmp(found + strlen(before), says, strlen(says)) != 0
        || found[strlen(before) + strlen(says)] != '\n')
        fail_msg("%s, not: %s", s->tail, says);
}

static void test_recorded(void **state)
{
    Spawned s;
    const Way jit = { "jit", NULL, NULL };
    json_t *root = json_file(
        arena_printf(a, "%s/%s", recorded, (const char *)*state));
    const char *spec = in_dir("model.yaml");
    const char *says = json_string_value(json_object_get(root, "refused"));
    const int code = RUN(&s, "", attnc(), "import", write_folder(root), "-o",
                         spec, "--quiet");
    if (says) {
        check_refused(&s, code, says);
    } else {
        if (code)
            fail_msg("%s", s.tail);
        compare_cases(spec, &jit, json_object_get(root, "cases"));
        compare_greedy(spec, &jit, json_object_get(root, "greedy"));
    }
    json_decref(root);
}

/* ---- the list ---- */

static const char *only = "";

static int is_recorded(const struct dirent *e)
{
    return strstr(e->d_name, ".json")
        && !strncmp(e->d_name, only, strlen(only));
}

int main(int argc, char **argv)
{
    struct dirent **found;
    struct CMUnitTest tests[MostRecorded];
    if (argc > 1)
        only = argv[1];
    const int n = scandir(recorded, &found, is_recorded, alphasort);
    if (n < 1 || n > MostRecorded) {
        fprintf(stderr, "%s: %d files\n", recorded, n);
        return 1;
    }
    for (int i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){ .name = found[i]->d_name,
                                        .test_func = test_recorded,
                                        .setup_func = set_up_sharing,
                                        .teardown_func = tear_down,
                                        .initial_state = found[i]->d_name };
    const int failed = _cmocka_run_group_tests("recorded", tests, (size_t)n,
                                               NULL, NULL);
    for (int i = 0; i < n; i++)
        free(found[i]);
    free(found);
    return failed;
}
