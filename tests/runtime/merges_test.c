/* merges_test.c: tests merging of pieces by score: a real tokenizer's prompts,
 * the same result as a plain search for the best pair, round trips of any
 * bytes, long lines, text that comes token by token. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/expected.h"
#include "support/tokenizer.h"

/* ---- a real one ---- */

static void assert_ids(const void *block, const char *text, const json_t *ids)
{
    int32_t got[512];
    int64_t n = encode(block, text, (int64_t)strlen(text), got, 512);
    assert_int_equal(n + 1, json_array_size(ids));
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(got[i], json_integer_value(
                                     json_array_get(ids, (size_t)i + 1)));
}

static void knows_a_real_tokenizer(void **state)
{
    (void)state;
    size_t i;
    json_t *c;
    Fault why;
    int64_t bytes;
    json_t *root = json_file(data_file("stories260K", "expected.json"));
    void *block = vocab_load(data_file("stories260K", "tokenizer.json"), 512,
                             &none, &bytes, &why);
    assert_non_null(block);
    json_array_foreach(json_object_get(root, "greedy"), i, c)
    {
        const char *prompt = json_string_value(json_object_get(c, "prompt"));
        const char *text = json_string_value(json_object_get(c, "text"));
        const json_t *ids = json_object_get(c, "ids");
        const json_t *before = json_object_get(c, "prompt_ids");
        int32_t all[1024];
        char out[4096];
        int64_t n = 0;
        size_t j;
        json_t *id;
        assert_ids(block, prompt, before);
        json_array_foreach(before, j, id)
            all[n++] = (int32_t)json_integer_value(id);
        json_array_foreach(ids, j, id)
            all[n++] = (int32_t)json_integer_value(id);
        assert_true(attn_vocab_decode(block, all, n, out, sizeof out) >= 0);
        assert_string_equal(out, text);
    }
    json_array_foreach(json_object_get(root, "score"), i, c)
        assert_ids(block, json_string_value(json_object_get(c, "text")),
                   json_object_get(c, "ids"));
    free(block);
    json_decref(root);
}

/* ---- the plain search ---- */

typedef struct {
    char text[128];
    int32_t id;
} Plain;

static int32_t normal(const void *block, const char *text, size_t n)
{
    struct attn_vocab v;
    int32_t id = attn_vocab_find(block, text, (int64_t)n);
    attn_vocab_open(&v, block);
    return id >= 0 && v.piece[id] == ATTN_PIECE_NORMAL ? id : -1;
}

static int64_t plain_encode(const void *block, const char *line, Plain *p)
{
    struct attn_vocab v;
    char text[128];
    int64_t n = 0;
    attn_vocab_open(&v, block);
    const float *score = v.score;
    snprintf(text, sizeof text, " %s", line);
    for (size_t at = 0; text[at] && line[0];) {
        size_t k = 1 + ((text[at] & 0xc0) == 0xc0);
        Plain q = { .id = normal(block, text + at, k) };
        memcpy(q.text, text + at, k);
        for (size_t i = 0; q.id < 0 && i < k; i++)
            p[n++] = (Plain){ .id = 3 + (unsigned char)text[at + i] };
        if (q.id >= 0)
            p[n++] = q;
        at += k;
    }
    for (;;) {
        int64_t best = -1;
        int32_t into = -1;
        for (int64_t i = 0; i + 1 < n; i++) {
            char both[256];
            snprintf(both, sizeof both, "%s%s", p[i].text, p[i + 1].text);
            int32_t id = p[i].text[0] && p[i + 1].text[0]
                           ? normal(block, both, strlen(both))
                           : -1;
            if (id >= 0 && (into < 0 || score[id] > score[into])) {
                best = i;
                into = id;
            }
        }
        if (best < 0)
            return n;
        strcat(p[best].text, p[best + 1].text);
        p[best].id = into;
        memmove(p + best + 1, p + best + 2, (size_t)(n - best - 2) * sizeof *p);
        n--;
    }
}

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void merges_the_best_pair(void **state)
{
    (void)state;
    static const char *const letters[] = { "a", "a",        "b", " ",
                                           "c", "\xc3\xa9", "x", "\xc3\xb6" };
    static Plain p[128];
    int64_t bytes;
    uint32_t seed = 3;
    void *block = tokenizer(true, &bytes);
    for (int i = 0; i < 4000; i++) {
        char line[128] = "";
        int32_t ids[128];
        for (uint32_t n = random_below(&seed, 40); n > 0; n--)
            strcat(line, letters[random_below(&seed, i % 2 ? 3 : 8)]);
        int64_t want = plain_encode(block, line, p);
        assert_int_equal(encode(block, line, (int64_t)strlen(line), ids, 128),
                         want);
        for (int64_t j = 0; j < want; j++)
            assert_int_equal(ids[j], p[j].id);
    }
    free(block);
}

/* ---- there and back ---- */

static void takes_any_bytes(void **state)
{
    (void)state;
    int64_t bytes;
    uint32_t seed = 9;
    void *block = tokenizer(true, &bytes);
    for (int i = 0; i < 20000; i++) {
        char text[24], out[32];
        int32_t ids[32];
        int64_t n = random_below(&seed, 20);
        for (int64_t j = 0; j < n; j++)
            text[j] =
                (char)(random_below(&seed, 2)
                           ? random_below(&seed, 256)
                           : (uint32_t)"ab \xc3\xa9"[random_below(&seed, 5)]);
        int64_t count = encode(block, text, n, ids, 32);
        assert_true(count >= 0);
        assert_int_equal(attn_vocab_decode(block, ids, count, out, 32), n);
        assert_memory_equal(out, text, (size_t)n);
    }
    free(block);
}

static void knows_only_its_pieces(void **state)
{
    (void)state;
    int64_t bytes, bad;
    int32_t ids[8];
    char memory[4096];
    void *block = tokenizer(false, &bytes);
    assert_int_equal(encode(block, "x", 1, ids, 8), 2);
    assert_int_equal(ids[1], 0); /* <unk> */
    assert_int_equal(encode(block, "", 0, ids, 8), 0);
    assert_int_equal(encode(block, "ccc", 3, ids, 3), -1);
    assert_int_equal(attn_vocab_encode(block, "a\xff", 2, 0, ids, 8, memory,
                                       &bad),
                     -3);
    assert_int_equal(bad, 1);
    ((struct attn_vocab_header *)block)->unknown = -1;
    assert_int_equal(attn_vocab_encode(block, "ax", 2, 0, ids, 8, memory, &bad),
                     -2);
    assert_int_equal(bad, 1);
    assert_int_equal(encode(block, "<s>", 3, ids, 8), -2); /* no mark */
    free(block);
}

/* Tests that a text that continues another is encoded without a space between,
 * and that errors name its own byte. */
static void goes_on(void **state)
{
    (void)state;
    int64_t bytes, bad;
    int32_t ids[64];
    char memory[8192], out[64];
    static const char text[] = "aab \xc3\xa9 a\xff x c ";
    const int64_t n = sizeof text - 1;
    void *block = tokenizer(true, &bytes);
    for (int64_t cut = 1; cut <= n; cut++) {
        int64_t first = encode(block, text, cut, ids, 64);
        int64_t rest = attn_vocab_encode(block, text + cut, n - cut, 1,
                                         ids + first, 64 - first, memory, &bad);
        assert_true(first > 0 && rest >= 0);
        assert_int_equal(attn_vocab_decode(block, ids, first + rest, out, 64),
                         n);
        assert_memory_equal(out, text, (size_t)n);
    }
    free(block);
    block = tokenizer(false, &bytes);
    assert_int_equal(attn_vocab_encode(block, "a\xff", 2, 1, ids, 8, memory,
                                       &bad),
                     -3);
    assert_int_equal(bad, 1);
    free(block);
}

static void takes_long_lines(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    int64_t bytes;
    uint32_t seed = 1;
    char *text = malloc(N), *out = malloc(N + 1);
    int32_t *ids = malloc((N + 2) * sizeof *ids);
    void *block = tokenizer(true, &bytes);
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < N; i++)
            text[i] = kind == 0 ? 'a'
                    : kind == 1 ? ' '
                    : kind == 2 ? "ab"[i & 1]
                                : "ab c\xff"[random_below(&seed, 5)];
        clock_t from = clock();
        int64_t n = encode(block, text, N, ids, N + 2);
        print_message("1 MiB: %.2f s\n",
                      (double)(clock() - from) / CLOCKS_PER_SEC);
        assert_int_equal(attn_vocab_decode(block, ids, n, out, N + 1), N);
        assert_memory_equal(text, out, N);
    }
    assert_int_equal(attn_vocab_encode_bytes(block, INT64_MAX),
                     ATTN_ERROR_COUNT);
    int64_t bad;
    assert_int_equal(attn_vocab_encode(block, "a", 1, 0, ids, 1, NULL, &bad),
                     ATTN_ERROR_NULL);
    free(text);
    free(out);
    free(ids);
    free(block);
}

/* ---- token by token ---- */

static void splits_no_character(void **state)
{
    (void)state;
    static const char text[] = "x\xf0\x9f\x98\x80"
                               "a\xe2\x82\xac\xff\xc3z"
                               "\xe2\x82";
    struct attn_text t;
    int64_t bytes, at = 0;
    int32_t ids[64];
    char out[64], whole[65] = "";
    void *block = tokenizer(true, &bytes);
    int64_t n = encode(block, text, sizeof text - 1, ids, 64);
    assert_int_equal(attn_text_open(&t, block, NULL, 0, 0), 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = attn_text_add(&t, ids[i], out, sizeof out);
        assert_true(k >= 0);
        /* a character of four bytes is written as a whole, and alone */
        for (int64_t j = 0; j < k; j++)
            if (((unsigned char)out[j] & 0xf8) == 0xf0)
                assert_int_equal(k, 4);
        memcpy(whole + at, out, (size_t)k);
        at += k;
    }
    assert_int_equal(at, (int64_t)sizeof text - 3);
    int64_t k = attn_text_end(&t, whole + at, 64 - at);
    assert_int_equal(k, 2);
    assert_memory_equal(whole, text, sizeof text - 1);
    assert_int_equal(attn_text_add(&t, 9999, out, 64), ATTN_ERROR_ID);
    assert_int_equal(attn_text_add(&t, -1, out, 64), ATTN_ERROR_ID);
    assert_int_equal(attn_text_add(&t, First, out, 1), ATTN_ERROR_ROOM);
    free(block);
}

/* Checks the text of some tokens with stop strings, token by token. */
static void assert_stops(const void *block, const char *text,
                         const char *const *stop, int64_t stops,
                         const char *expected, bool stopped)
{
    struct attn_text t;
    int32_t ids[64];
    char whole[128];
    int64_t at = 0, n = encode(block, text, (int64_t)strlen(text), ids, 64);
    assert_int_equal(attn_text_open(&t, block, stop, stops, 0), 0);
    for (int64_t i = 0; i < n; i++)
        at += attn_text_add(&t, ids[i], whole + at, 100);
    at += attn_text_end(&t, whole + at, 100);
    whole[at] = '\0';
    assert_string_equal(whole, expected);
    assert_int_equal(t.stopped, stopped);
}

static void ends_at_stop_strings(void **state)
{
    (void)state;
    static const char *const stop[] = { "cc!", "aab", "\xc3\xa9" };
    int64_t bytes;
    void *block = tokenizer(true, &bytes);
    struct attn_text t;
    char longest[ATTN_STOP_BYTES + 2];
    const char *one[] = { longest };
    assert_stops(block, "a ccc! b", stop, 3, "a c", true);
    assert_stops(block, "a cc b", stop, 3, "a cc b", false);
    assert_stops(block, "a cc", stop, 3, "a cc", false);
    assert_stops(block, "abaaab", stop, 3, "aba", true);
    assert_stops(block, "x\xc3\xb6\xc3\xa9z", stop, 3, "x\xc3\xb6", true);
    assert_stops(block, "aab", stop, 0, "aab", false);
    memset(longest, 'x', sizeof longest);
    longest[ATTN_STOP_BYTES + 1] = '\0';
    assert_int_equal(attn_text_open(&t, block, one, 1, 0), ATTN_ERROR_LENGTH);
    longest[ATTN_STOP_BYTES] = '\0';
    assert_int_equal(attn_text_open(&t, block, one, 1, 0), 0);
    longest[0] = '\0';
    assert_int_equal(attn_text_open(&t, block, one, 1, 0), ATTN_ERROR_LENGTH);
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_a_real_tokenizer),
        cmocka_unit_test(merges_the_best_pair),
        cmocka_unit_test(takes_any_bytes),
        cmocka_unit_test(knows_only_its_pieces),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(takes_long_lines),
        cmocka_unit_test(splits_no_character),
        cmocka_unit_test(ends_at_stop_strings),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
