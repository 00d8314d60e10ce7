/* library_attention_test.c: attention weights and pictures of the library
 * (attnc.h) are those of attnc run --attention. */
#define _GNU_SOURCE /* mkdtemp, popen */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>

#include "support/library_calls.h"

static const char letters[] = "models/g2p-en/g2p-en.yaml";

typedef struct {
    int n;
    char text[300];
} Heard;

static void keep(void *user, const struct attnc_message *m)
{
    Heard *h = user;
    h->n++;
    snprintf(h->text, sizeof h->text, "%s", m->text);
}

/* Checks that the weights and labels are the numbers of attnc run --attention.
 */
static void same_as_json(const struct attnc_maps *x, const char *path)
{
    json_t *top = json_load_file(path, 0, NULL);
    json_t *all = json_object_get(top, "attention");
    size_t n = 0;
    for (int64_t i = 0; i < x->maps; i++) {
        const struct attnc_map *m = &x->map[i];
        for (int64_t head = 0; head < m->heads; head++, n++) {
            json_t *is = json_array_get(all, n);
            json_t *rows = json_object_get(is, "weights");
            assert_string_equal(json_string_value(json_object_get(is, "name")),
                                m->name);
            assert_int_equal(json_integer_value(json_object_get(is, "layer")),
                             m->layer);
            assert_int_equal(json_array_size(rows), m->queries);
            for (int64_t k = 0; k < m->queries * m->keys; k++) {
                const float w = m->weights[head * m->queries * m->keys + k];
                json_t *row = json_array_get(rows, (size_t)(k / m->keys));
                json_t *cell = json_array_get(row, (size_t)(k % m->keys));
                if (w < 0.0f)
                    assert_true(!json_is_number(cell)
                                || json_number_value(cell) <= 0.0);
                else
                    assert_true((float)json_number_value(cell) == w);
            }
        }
    }
    assert_int_equal(json_array_size(all), n);
    for (int64_t i = 0; i < x->tokens[0]; i++)
        assert_string_equal(json_string_value(
                                json_array_get(json_object_get(top, "source"),
                                               (size_t)i)),
                            x->token[0][i]);
    json_decref(top);
}

static void test_attention(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    const struct attnc_maps *x;
    const char *svg;
    char words[300];
    size_t n;

    (void)state;
    assert_int_equal(attnc_attention(&x, model, "hello", NULL, hear, NULL),
                     ATTNC_DONE);
    assert_string_equal(x->answer, "HH EH L OW");
    assert_int_equal(x->tokens[0], 6);
    assert_int_equal(x->tokens[1], 5);
    snprintf(words, sizeof words, "run %s --prompt=hello --attention=%s/a.json",
             letters, scratch);
    printed(words);
    same_as_json(x, scratch_path("a.json"));
    attnc_maps_free(x);
    assert_int_equal(attnc_attention(&x, model, "at",
                                     WORDS("-n", "0", "--layer=0", "--head=1",
                                           "--prefix=AE"),
                                     hear, NULL),
                     ATTNC_DONE);
    assert_int_equal(x->maps, 3);
    assert_int_equal(attnc_maps_svg(x, &svg, hear, NULL), ATTNC_DONE);
    snprintf(words, sizeof words,
             "run %s --prompt=at -n 0 --layer=0 --head=1 --prefix=AE "
             "--attention=%s/a.svg",
             letters, scratch);
    printed(words);
    char *expected = file_of(scratch_path("a.svg"), &n);
    assert_int_equal(n, strlen(svg));
    assert_memory_equal(svg, expected, n);
    free(expected);
    attnc_maps_free(x);
    attnc_maps_free(NULL);
    closed(h);
    scratch_empty();
}

static void test_refused(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    const struct attnc_maps *x;
    Heard heard = { 0 };

    (void)state;
    assert_int_equal(attnc_attention(&x, model, "at", WORDS("--layer=9"), keep,
                                     &heard),
                     ATTNC_USAGE);
    assert_string_equal(heard.text, "--layer 9 is out of range: 0 to 2");
    assert_null(x);
    assert_int_equal(attnc_attention(&x, model, "a1", NULL, keep, &heard),
                     ATTNC_INPUT);
    assert_string_equal(heard.text,
                        "--attention: byte 2: the vocabulary has no '1' "
                        "and names no unknown token");
    assert_int_equal(attnc_attention(&x, model, "at", WORDS("--nbest=2"), keep,
                                     &heard),
                     ATTNC_USAGE);
    assert_string_equal(heard.text, "--nbest does not go with --attention");
    assert_int_equal(attnc_attention(&x, model, "at", WORDS("--stop=a"), keep,
                                     &heard),
                     ATTNC_USAGE);
    assert_string_equal(heard.text,
                        "--stop is not an option of attnc_attention()");
    closed(h);
}

/* ---- weights in memory ---- */

/* A model with weights in memory answers and attends as one with a file. */
static void test_weights(void **state)
{
    const struct attnc_maps *x, *of_file;
    Heard heard = { 0 };
    size_t n;
    char *at = file_of("models/g2p-en/g2p-en.safetensors", &n);
    attnc_handle *h = opened(letters, NULL);
    attnc_model *m;

    (void)state;
    assert_int_equal(attnc_attention(&of_file, model, "hello", NULL, hear,
                                     NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_open_weights(&m, letters, NULL, at, (int64_t)n,
                                        WORDS("--threads=1"), hear, NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_attention(&x, m, "hello", NULL, hear, NULL),
                     ATTNC_DONE);
    assert_string_equal(x->answer, "HH EH L OW");
    assert_int_equal(x->maps, of_file->maps);
    for (int64_t i = 0; i < x->maps; i++) {
        const struct attnc_map *a = &x->map[i], *b = &of_file->map[i];
        assert_memory_equal(a->weights, b->weights,
                            (size_t)(a->heads * a->queries * a->keys) * 4);
    }
    attnc_maps_free(x);
    attnc_maps_free(of_file);
    attnc_close(m);
    assert_int_equal(attnc_open_weights(&m, letters, NULL, at, 100, NULL, keep,
                                        &heard),
                     ATTNC_INPUT);
    assert_null(m);
    assert_non_null(strstr(heard.text, "weights in memory: "));
    assert_int_equal(attnc_open_weights(&m, letters, NULL, at, (int64_t)n,
                                        WORDS("--weights=a"), keep, &heard),
                     ATTNC_USAGE);
    assert_string_equal(heard.text, "--weights is not an option of "
                                    "attnc_open_weights()");
    free(at);
    closed(h);
}

/* For a model with `fix`, another one attends, which reads them again. */
static void test_weights_of_trial(void **state)
{
    const struct attnc_maps *x;
    size_t n;
    char *at = file_of("tests/torch/rotary.safetensors", &n);
    attnc_model *m;

    (void)state;
    assert_int_equal(attnc_open_weights(&m, "tests/cli/chat.yaml", NULL, at,
                                        (int64_t)n,
                                        WORDS("--fix=past=2,target=1"), hear,
                                        NULL),
                     ATTNC_DONE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(attnc_attention(&x, m, "lol", WORDS("-n", "0"), hear,
                                         NULL),
                         ATTNC_DONE);
        attnc_maps_free(x);
    }
    attnc_close(m);
    free(at);
}

/* ---- threads ---- */
enum { Callers = 3 };

/* The first calls of several threads compile the model once. */
static void *attend_from_thread(void *sum)
{
    const struct attnc_maps *x;
    double *to = sum;
    *to = -1.0;
    if (attnc_attention(&x, model, "hello", NULL, NULL, NULL) == ATTNC_DONE)
        for (int64_t i = 0; i < x->map[0].heads * x->map[0].queries; i++)
            *to += (double)x->map[0].weights[i * x->map[0].keys];
    attnc_maps_free(x);
    return NULL;
}

static void test_threads(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    pthread_t thread[Callers];
    double sum[Callers];

    (void)state;
    for (int i = 0; i < Callers; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, attend_from_thread,
                                        &sum[i]),
                         0);
    for (int i = 0; i < Callers; i++) {
        pthread_join(thread[i], NULL);
        assert_true(sum[i] > 0.0);
        assert_memory_equal(&sum[i], &sum[0], sizeof *sum);
    }
    closed(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weights_of_trial),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
