/* library_cut_test.c: pairs of texts that attnc_embed_pairs() cuts have the
 * tokens and types that transformers leaves (tests/tokenizers/cut_pairs.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "library/attnc.h"

enum { Columns = 8, Most = 25 };

static void unhex(char *hex)
{
    size_t n = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        const char two[] = { hex[2 * i], hex[2 * i + 1], '\0' };
        hex[i] = (char)strtol(two, NULL, 16);
    }
    hex[n] = '\0';
}

static int64_t numbers(char *text, int32_t to[Most])
{
    int64_t n = 0;
    for (char *at = strtok(text, ","); at; at = strtok(NULL, ","))
        to[n++] = (int32_t)atoi(at);
    return n;
}

static attnc_model *model_of(const char *name)
{
    char file[100];
    attnc_model *m;
    snprintf(file, sizeof file,
             "--set=vocab.file=tests/tokenizers/%s-pairs.json", name);
    const char *const options[] = { file,
                                    strcmp(name, "bert")
                                        ? "--set=vocab.size=300"
                                        : "--set=vocab.size=120",
                                    "--seed=1", "--threads=1", NULL };
    assert_int_equal(attnc_open(&m, "tests/tokenizers/pairs.yaml", NULL,
                                options, NULL, NULL),
                     ATTNC_DONE);
    return m;
}

/* Compares one line: the pair, cut, with its recorded tokens. */
static void compare(attnc_model *m, char *line)
{
    char text[200], other[200], id[300], type[300];
    const char *const texts[] = { text }, *const others[] = { other };
    struct attnc_limits l = { .cut = 1 };
    float cut[Most * Columns], whole[Most * Columns];
    int32_t ids[Most], types[Most];
    int64_t rows = 0;
    int most;
    attnc_handle *h;
    assert_int_equal(sscanf(line, "%*s %d %199s %199s %299s %299s", &most, text,
                            other, id, type),
                     5);
    unhex(text);
    unhex(other);
    const int64_t start[] = { 0, numbers(id, ids) };
    assert_int_equal(numbers(type, types), start[1]);
    l.max_input = most;
    assert_int_equal(attnc_handle_open(&h, m, &l), ATTNC_DONE);
    assert_int_equal(attnc_embed_pairs(h, texts, NULL, others, NULL, 1, cut,
                                       Most * Columns, &rows),
                     start[1]);
    assert_int_equal(attnc_encode(h, ids, types, start, 1, whole,
                                  Most * Columns, NULL),
                     start[1]);
    if (memcmp(cut, whole, (size_t)(start[1] * Columns) * sizeof *cut) != 0)
        fail_msg("at most %d: other tokens than %s", most, line);
    attnc_handle_close(h);
}

static void compare_all(const char *name)
{
    FILE *f = fopen("tests/tokenizers/cut_pairs.txt", "r");
    attnc_model *m = model_of(name);
    char line[1000];
    int n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) {
            compare(m, line);
            n++;
        }
    assert_int_equal(n, 54);
    fclose(f);
    attnc_close(m);
}

static void test_bert(void **state)
{
    (void)state;
    compare_all("bert");
}

static void test_roberta(void **state)
{
    (void)state;
    compare_all("roberta");
}

/* The template alone is longer than the limit. */
static void test_too_short(void **state)
{
    const struct attnc_limits l = { .cut = 1, .max_input = 2 };
    const char *const text[] = { "a" };
    attnc_model *m = model_of("bert");
    float out[Columns];
    attnc_handle *h;

    (void)state;
    assert_int_equal(attnc_handle_open(&h, m, &l), ATTNC_DONE);
    assert_int_equal(attnc_embed_pairs(h, text, NULL, text, NULL, 1, out,
                                       Columns, NULL),
                     ATTNC_ERROR_LENGTH);
    assert_string_equal(attnc_error(h),
                        "sequence 0: 3 rows, at most 2 are taken");
    attnc_handle_close(h);
    attnc_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_roberta),
        cmocka_unit_test(test_too_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
