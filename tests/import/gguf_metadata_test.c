/* gguf_metadata_test.c: tests llama.cpp files with changed metadata: unknown,
 * missing or unsupported keys are named. The files are those of
 * tests/families/gguf with keys added before the others. */
#define _GNU_SOURCE /* mkdtemp, memmem */
#include "import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/stderr_capture.h"

static unsigned char file[1 << 17];
static size_t bytes;

static void read_gguf(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/families/gguf/%s.gguf", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    bytes = fread(file, 1, sizeof file / 2, f);
    fclose(f);
    assert_true(bytes > 64 && !memcmp(file, "GGUF", 4));
}

/* Replaces a key by another of the same length; returns false if it is absent.
 */
static bool rename_key(const char *from, const char *to)
{
    unsigned char *at = memmem(file, bytes, from, strlen(from));
    assert_int_equal(strlen(from), strlen(to));
    if (at)
        memcpy(at, to, strlen(to));
    return at;
}

static void put(unsigned char **at, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        *(*at)++ = (unsigned char)(x >> 8 * i);
}

static void put_text(unsigned char **at, const char *text)
{
    const size_t n = strlen(text);
    put(at, n, 8);
    memcpy(*at, text, n);
    *at += n;
}

/* Inserts a key with a text, or with a number if text is NULL, and a second key
 * that pads to 32 bytes, so that the data stay aligned. */
static void insert(const char *key, const char *text, uint32_t number)
{
    unsigned char pair[512], *at = pair;
    Arena *a = arena_new();
    put_text(&at, key);
    put(&at, text ? 8 : 4, 4);
    if (text)
        put_text(&at, text);
    else
        put(&at, number, 4);
    put_text(&at, arena_printf(a, "general.name%d", file[16]));
    put(&at, 8, 4);
    const size_t fill = 31 - ((size_t)(at - pair) + 8 + 31) % 32;
    char name[33];
    memset(name, 'x', fill);
    name[fill] = '\0';
    put_text(&at, name);
    const size_t n = (size_t)(at - pair);
    assert_int_equal(n % 32, 0);
    memmove(file + 24 + n, file + 24, bytes - 24);
    memcpy(file + 24, pair, n);
    arena_free(a);
    bytes += n;
    file[16] = (unsigned char)(file[16] + 2); /* of the count, which is below
                                                 256 */
}

/* Returns the messages; *code: the exit code. */
static const char *said(Arena *a, int *code)
{
    const char *path = arena_strdup(a, scratch_file("m.gguf", file, bytes));
    Imported i;
    error_reset();
    capture_stderr();
    *code = import_folder(&i, &(ImportOptions){
                                  .folder = path, .spec = "-", .name = "m" });
    import_close(&i);
    return captured_stderr(a);
}

static void expect(const char *message)
{
    Arena *a = arena_new();
    int code;
    const char *text = said(a, &code);
    if (!strstr(text, message))
        fail_msg("%s, not %s", text, message);
    assert_int_equal(code, ExitInput);
    arena_free(a);
}

static void takes_as_it_is(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int code;
    read_gguf("llama-3-f16");
    insert("general.license", "mit", 0);
    assert_string_equal(said(a, &code), "");
    assert_int_equal(code, ExitDone);
    arena_free(a);
}

static void names_architectures(void **state)
{
    (void)state;
    read_gguf("gpt2-f16");
    assert_true(rename_key("general.architecture", "general.architecturx"));
    expect("m.gguf: general.architecture is missing");
    read_gguf("bert-f16"); /* of its value, after 8 bytes of length */
    assert_true(rename_key("bert", "tree"));
    expect("no rules are known for a gguf of architecture 'tree': the families "
           "that have some are bert, cohere, gemma, gpt2, granite, llama, phi, "
           "phi3, qwen2, qwen3, stablelm, starcoder2; the folder that it was "
           "made of may be known");
}

static void names_keys(void **state)
{
    (void)state;
    read_gguf("llama-3-f16");
    insert("llama.expert_count", NULL, 8);
    expect("m.gguf: 'llama.expert_count' is a key that the rules of llama do "
           "not know");
    read_gguf("gpt2-f16");
    assert_true(rename_key("gpt2.block_count", "gpt2.block_xxxxx"));
    expect("m.gguf: 'gpt2.block_xxxxx' is a key that the rules of gpt2 do not "
           "know");
}

static void refuses(void **state)
{
    (void)state;
    read_gguf("llama-3-f16");
    insert("llama.rope.scaling.type", "none", 0);
    insert("llama.rope.scaling.factor", NULL, 1);
    Arena *a = arena_new();
    int code;
    assert_string_equal(said(a, &code), "");
    arena_free(a);
    read_gguf("llama-3-f16");
    insert("llama.rope.scaling.type", "linear", 0);
    expect("llama needs what is not there yet: factors of wavelengths beside "
           "another scaling of them");
    read_gguf("gpt2-f16");
    insert("gpt2.pooling_type", NULL, 4);
    expect("gpt2 needs what is not there yet: a score of a pair of texts (a "
           "reranker)");
}

static void names_tensors(void **state)
{
    (void)state;
    read_gguf("gpt2-f16");
    assert_true(rename_key("blk.1.ffn_norm.weight", "blk.1.ffn_morm.weight"));
    expect("m.gguf: tensor 'blk.1.ffn_morm.weight': the rules of gpt2 know no "
           "such one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_as_it_is), cmocka_unit_test(names_architectures),
        cmocka_unit_test(names_keys),     cmocka_unit_test(refuses),
        cmocka_unit_test(names_tensors),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
