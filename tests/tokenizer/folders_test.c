/* folders_test.c: tests tokenizers without a tokenizer.json: every directory of
 * tests/tokenizers/folders, against the ids of transformers' own class
 * (tests/tokenizers/slow.py). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "tokenizer/tokenizer.h"

enum { MostBytes = 512, MostIds = 4096 };

static char classes[1 << 16];
static size_t classes_bytes;

static int read_classes(void **state)
{
    FILE *f = fopen("models/import/tokenizers.json", "rb");
    if (!f)
        return -1;
    classes_bytes = fread(classes, 1, sizeof classes, f);
    fclose(f);
    return classes_bytes < sizeof classes ? scratch_make(state) : -1;
}

static Vocabulary open_folder(const char *path)
{
    Vocabulary v;
    Fault why = { 0 };
    bool found = false;
    const VocabularyFrom from = { .folder = path,
                                  .side = TextSource,
                                  .size = -1,
                                  .classes = classes,
                                  .classes_bytes = classes_bytes };
    if (!vocabulary_of_folder(&from, &v, &found, &why))
        fail_msg("%s", why.text);
    assert_true(found);
    return v;
}

/* Reads hexadecimal bytes up to a colon; returns the text after it. */
static const char *unhex(const char *line, char *text, int64_t *n)
{
    *n = 0;
    if (*line == '-')
        line++;
    for (unsigned byte; *line != ':'; line += 2) {
        assert_in_range(*n, 0, MostBytes - 1);
        assert_int_equal(sscanf(line, "%2x", &byte), 1);
        text[(*n)++] = (char)byte;
    }
    return line + 1;
}

static void compare(const Vocabulary *v, const char *line, void *memory)
{
    static int32_t ids[MostIds];
    char text[MostBytes];
    int64_t bytes, bad, i = 0;
    const char *at = unhex(line, text, &bytes);
    const int64_t n = attn_vocab_encode(v->block, text, bytes, 0, ids, MostIds,
                                        memory, &bad);
    assert_in_range(n, 0, MostIds);
    for (char *end;; at = end, i++) {
        const long id = strtol(at, &end, 10);
        if (end == at)
            break;
        if (i >= n || ids[i] != id)
            fail_msg("'%.*s': token %d is %d, not %ld", (int)bytes, text,
                     (int)i, i < n ? (int)ids[i] : -1, id);
    }
    assert_int_equal(i, n);
}

static void gives_the_ids_of_its_class(void **state)
{
    char path[128], line[1 << 15];
    int64_t lines = 0;
    snprintf(path, sizeof path, "tests/tokenizers/folders/%s",
             (const char *)*state);
    const Vocabulary v = open_folder(path);
    void *memory = malloc((size_t)attn_vocab_encode_bytes(v.block, MostBytes));
    snprintf(path, sizeof path, "tests/tokenizers/folders/%s/ids.txt",
             (const char *)*state);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(memory);
    for (; fgets(line, sizeof line, f); lines++)
        compare(&v, line, memory);
    assert_in_range(lines, 50, 1000);
    fclose(f);
    free(memory);
    free(v.block);
}

/* Pieces xy (-30), yz (-1), z (-30), q (-50), and no x. The map lacks q, but
 * q's score is still the lowest, so an unknown x costs 60: xy z, not x yz. */
static void counts_the_scores_of_all_pieces(void **state)
{
    static const char model[] = "\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02"
                                "\n\x09\n\x02"
                                "xy\x15\0\0\xf0\xc1"
                                "\n\x09\n\x02"
                                "yz\x15\0\0\x80\xbf"
                                "\n\x08\n\x01"
                                "z\x15\0\0\xf0\xc1"
                                "\n\x08\n\x01"
                                "q\x15\0\0\x48\xc2"
                                "\x12\0\x1a\x04\x18\0\x20\0";
    static const char map[] = "{\"</s>\": 0, \"<unk>\": 1, \"xy\": 2, "
                              "\"yz\": 3, \"z\": 4, \"<pad>\": 5}";
    static const char config[] = "{\"tokenizer_class\": \"MarianTokenizer\"}";
    char memory[4096];
    int32_t ids[4];
    int64_t bad;
    (void)state;
    scratch_file("tokenizer_config.json", config, sizeof config - 1);
    scratch_file("source.spm", model, sizeof model - 1);
    scratch_file("vocab.json", map, sizeof map - 1);
    const Vocabulary v = open_folder(scratch);
    assert_in_range(attn_vocab_encode_bytes(v.block, 3), 1, sizeof memory);
    assert_int_equal(attn_vocab_encode(v.block, "xyz", 3, 0, ids, 4, memory,
                                       &bad),
                     3);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 4);
    assert_int_equal(ids[2], 0);
    free(v.block);
}

#define CASE(name)                                                             \
    { name, gives_the_ids_of_its_class, NULL, NULL, name }

/* Tests numbers of tokens that exceed an integer. */
static void refuses_extra_ids(void **state)
{
    static const char config[] = "{\"tokenizer_class\": \"T5Tokenizer\", "
                                 "\"extra_ids\": 1e300}";
    /* pieces <unk>, a; an empty trainer, an empty normaliser */
    static const char model[] = "\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02"
                                "\n\x08\n\x01"
                                "a\x15\0\0\x80\xbf"
                                "\x12\0\x1a\0";
    Vocabulary v;
    Fault why = { 0 };
    bool found;
    const VocabularyFrom from = { .folder = scratch,
                                  .size = -1,
                                  .classes = classes,
                                  .classes_bytes = classes_bytes };
    (void)state;
    scratch_file("tokenizer_config.json", config, sizeof config - 1);
    scratch_file("spiece.model", model, sizeof model - 1);
    assert_false(vocabulary_of_folder(&from, &v, &found, &why));
    assert_non_null(strstr(why.text, "extra_ids: 0 to 100000, not 1e+300"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE("bert"),
        CASE("bert-bare"),
        CASE("bert-cased"),
        CASE("gpt2"),
        CASE("m2m100"),
        CASE("marian"),
        CASE("mbart"),
        CASE("mbart50"),
        CASE("mpnet"),
        CASE("nllb"),
        CASE("pegasus"),
        CASE("roberta"),
        CASE("t5"),
        CASE("t5-bare"),
        CASE("xlm-r"),
        cmocka_unit_test(counts_the_scores_of_all_pieces),
        cmocka_unit_test(refuses_extra_ids),
    };
    return cmocka_run_group_tests(tests, read_classes, scratch_remove);
}
