/* library_answers_test.c: logits, conversations, several answers and states of
 * the library (attnc.h): equal to what attnc run, attnc score and PyTorch give.
 */
#define _GNU_SOURCE /* mkdtemp, popen */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/library_calls.h"
#include "support/tensor_file.h"

static const char letters[] = "models/g2p-en/g2p-en.yaml";
static const char talk[] = "tests/cli/chat.yaml";
static const char rotary[] = "tests/torch/rotary.yaml";

/* ---- logits ---- */
enum { Rows = 12, Vocab = 64 };

/* The logits of a decoder are those that PyTorch computed. */
static void test_logits_of_decoder(void **state)
{
    attnc_handle *h = opened(rotary, NULL);
    const char io[] = "tests/torch/rotary.io.safetensors";
    float expected[8 * 11], out[8 * 11], last[2 * 11];
    int32_t ids[8];

    (void)state;
    assert_int_equal(tensor(io, "out.logits", expected, sizeof expected), 88);
    assert_int_equal(tensor(io, "target", ids, sizeof ids), 8);
    assert_int_equal(attnc_logits_ids(h, ids, 5, ids + 5, 3, 0, NULL, 0), 8);
    assert_int_equal(attnc_logits_ids(h, ids, 5, ids + 5, 3, 0, out, 88), 8);
    for (int i = 0; i < 88; i++)
        assert_true(fabsf(out[i] - expected[i]) < 1e-5f);
    assert_int_equal(attnc_logits_ids(h, ids, 8, NULL, 0, 2, last, 22), 2);
    assert_memory_equal(last, out + 6 * 11, sizeof last);
    REFUSED(attnc_logits_ids(h, ids, 8, NULL, 0, 0, out, 87), ATTNC_ERROR_ROOM,
            "the results need 88 floats");
    REFUSED(attnc_logits_ids(h, NULL, 0, NULL, 0, 0, out, 88),
            ATTNC_ERROR_LENGTH,
            "the decoder reads 0 tokens, 1 to 12 are possible (max_len)");
    ids[3] = 11;
    REFUSED(attnc_logits_ids(h, ids, 8, NULL, 0, 0, out, 88), ATTNC_ERROR_ID,
            "an id or a type that the model does not have");
    closed(h);
}

/* The logits of an encoder-decoder are those that attnc run --input gives. */
static void test_logits(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    static float out[Rows * Vocab], expected[Rows * Vocab],
        of_ids[Rows * Vocab];
    int32_t source[Rows], target[Rows] = { 1 };
    char header[300], words[300];
    int64_t vocab = attnc_facts(model)->target_vocab;

    (void)state;
    const int64_t n = attnc_tokens(h, 0, "hello", -1, source, Rows);
    const int64_t m = attnc_tokens(h, 1, "HH EH L", -1, target + 1, Rows - 1);
    assert_int_equal(attnc_logits(h, "hello", -1, "HH EH L", -1, 0, out,
                                  Rows * Vocab),
                     m + 1);
    assert_int_equal(attnc_logits_ids(h, source, n, target + 1, m, 0, of_ids,
                                      Rows * Vocab),
                     m + 1);
    assert_memory_equal(out, of_ids, (size_t)((m + 1) * vocab) * sizeof *out);
    int32_t both[2 * Rows];
    memcpy(both, source, (size_t)n * 4);
    memcpy(both + n, target, (size_t)(m + 1) * 4);
    snprintf(header, sizeof header,
             "{\"source.ids\":{\"dtype\":\"I32\",\"shape\":[%d],"
             "\"data_offsets\":[0,%d]},\"target.ids\":{\"dtype\":\"I32\","
             "\"shape\":[%d],\"data_offsets\":[%d,%d]}}   ",
             (int)n, (int)n * 4, (int)m + 1, (int)n * 4, (int)(n + m + 1) * 4);
    const char *in = scratch_tensors(strlen(header), header, strlen(header),
                                     both, (size_t)(n + m + 1) * 4);
    snprintf(words, sizeof words, "run %s --input %s --output %s/out", letters,
             in, scratch);
    printed(words);
    assert_int_equal(tensor(scratch_path("out"), "logits", expected,
                            sizeof expected),
                     (m + 1) * vocab);
    assert_memory_equal(out, expected, (size_t)((m + 1) * vocab) * 4);
    closed(h);
    scratch_empty();
}

/* ---- answers ---- */
typedef struct {
    char text[2000];
    int calls, most;
} Answer;

static int take(void *user, const char *text, int64_t bytes)
{
    Answer *a = user;
    strncat(a->text, text, (size_t)bytes);
    return ++a->calls == a->most;
}

static int take_id(void *user, int32_t id)
{
    Answer *a = user;
    snprintf(a->text + strlen(a->text), 20, "%s%d", *a->text ? " " : "",
             (int)id);
    return ++a->calls == a->most;
}

static int take_answer(void *user, const struct attnc_answer *x)
{
    Answer *a = user;
    if (x->text)
        assert_int_equal(strlen(x->text), x->bytes);
    snprintf(a->text + strlen(a->text), 200, "%d\t%.7g\t%s\n",
             (int)x->question + 1, x->score, x->text ? x->text : "");
    return ++a->calls == a->most;
}

enum { Many = 70 };

static const char *const *many_texts(void)
{
    static char text[Many][8];
    static const char *texts[Many];
    FILE *f = fopen(scratch_path("in"), "w");
    for (int i = 0; i < Many; i++) {
        snprintf(text[i], sizeof text[i], "%c%ction", "bcdfg"[i % 5],
                 "aeiou"[i / 5 % 5]);
        texts[i] = text[i];
        fprintf(f, "%s\n", text[i]);
    }
    fclose(f);
    return texts;
}

/* Several answers to many texts are those of attnc run --nbest. */
static void test_answers(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    const char *const *texts = many_texts();
    static Answer a, all;
    char words[300];

    (void)state;
    snprintf(words, sizeof words, "run %s --nbest=3 --scores < %s/in", letters,
             scratch);
    assert_int_equal(attnc_answers(h, texts, NULL, 8, WORDS("--nbest=3"),
                                   take_answer, &a),
                     24);
    assert_int_equal(strncmp(printed(words), a.text, strlen(a.text)), 0);
    /* alone, in a batch and as ids */
    a = (Answer){ .text = "" };
    assert_int_equal(attnc_answers(h, texts + 40, NULL, 1, NULL, take_answer,
                                   &a),
                     1);
    all.most = 41;
    assert_int_equal(attnc_answers(h, texts, NULL, Many, NULL, take_answer,
                                   &all),
                     41);
    assert_string_equal(strstr(all.text, "\n41\t") + 3, a.text + 1);
    Answer of_ids = { .text = "" };
    int32_t ids[40];
    const int64_t start[] = { 0, attnc_tokens(h, 0, texts[40], -1, ids, 40) };
    assert_int_equal(attnc_answers_ids(h, ids, start, 1, NULL, take_answer,
                                       &of_ids),
                     1);
    assert_string_equal(of_ids.text, a.text);
    closed(h);
    scratch_empty();
}

static void test_answers_refused(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    const char *const texts[] = { "at", "a1" };
    Answer a = { .text = "" };

    (void)state;
    REFUSED(attnc_answers(h, texts, NULL, 2, NULL, take_answer, &a),
            ATTNC_ERROR_UNKNOWN,
            "question 1: byte 2: a character or word that the vocabulary does "
            "not have");
    REFUSED(attnc_answers(h, texts, NULL, 1, NULL, NULL, &a), ATTNC_ERROR_NULL,
            "a pointer is NULL, or a count below 0");
    REFUSED(attnc_answers(h, texts, NULL, 1, WORDS("--stop=a"), take_answer,
                          &a),
            ATTNC_ERROR_OPTION, "--stop is not an option of attnc_answers()");
    REFUSED(attnc_answers(h, texts, NULL, 1, WORDS("--nbest=0"), take_answer,
                          &a),
            ATTNC_ERROR_OPTION, "--nbest 0 is out of range: 1 to 1024");
    assert_int_equal(attnc_answers(h, texts, NULL, 1, WORDS("-n", "0"),
                                   take_answer, &a),
                     0);
    closed(h);
}

static void expect_answer(attnc_handle *h, const char *const *options,
                          const char *expected)
{
    Answer a = { .text = "" };
    attnc_generate(h, "hello", -1, options, take, &a);
    assert_string_equal(attnc_error(h), "");
    assert_string_equal(a.text, expected);
}

static void test_stop(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    Answer a = { .text = "" };
    int32_t ids[9];

    (void)state;
    expect_answer(h, WORDS("--beam=1", "--stop=L"), "HH EH ");
    expect_answer(h, WORDS("--beam=1", "--stop=ZH", "--stop=H L"), "HH E");
    expect_answer(h, WORDS("--beam=4", "--stop=L"), "HH EH ");
    expect_answer(h, WORDS("--beam=1", "--prefix=HH", "--stop=HH"),
                  "HH EH L OW");
    expect_answer(h, WORDS("--beam=1", "-n", "0"), "");
    expect_answer(h, WORDS("--beam=1", "--prefix=W", "-n", "0"), "W");
    expect_answer(h, WORDS("--beam=4", "-n", "0"), "");
    const int64_t n = attnc_tokens(h, 0, "hello", -1, ids, 9);
    assert_int_equal(attnc_generate_ids(h, ids, n,
                                        WORDS("--beam=1", "--stop=L"), take_id,
                                        &a),
                     2);
    REFUSED(attnc_generate(h, "hello", -1, WORDS("--stop="), take, &a),
            ATTNC_ERROR_OPTION, "--stop takes 1 to 240 bytes");
    REFUSED(attnc_generate(h, "hello", -1, NULL, NULL, NULL), ATTNC_ERROR_NULL,
            "there is no function to take the answer");
    closed(h);
}

static void test_limits(void **state)
{
    const struct attnc_limits l = {
        .max_input = 6, .max_output = 3, .max_text = 6, .beam = 2
    };
    attnc_handle *h = opened(letters, &l);
    Answer a = { .text = "" };
    double p;

    (void)state;
    expect_answer(h, NULL, "HH EH L");
    REFUSED(attnc_generate(h, "compile", -1, NULL, take, &a),
            ATTNC_ERROR_LENGTH,
            "the text has 7 bytes, at most 6 are taken: max_text of the "
            "handle");
    REFUSED(attnc_generate(h, "attent", -1, NULL, take, &a), ATTNC_ERROR_LENGTH,
            "tokens of the input: 7, at most 6 are taken: the model's max_len, "
            "or max_input, max_output of the handle");
    REFUSED(attnc_generate(h, "hello", -1, WORDS("--beam=3"), take, &a),
            ATTNC_ERROR_OPTION,
            "--beam 3: the handle was opened for at most 2");
    REFUSED(attnc_score(h, "hello", -1, "L L L L", 7, &p), ATTNC_ERROR_LENGTH,
            "the text has 7 bytes, at most 6 are taken: max_text of the "
            "handle");
    expect_answer(h, WORDS("--beam=1", "-n", "20"), "HH EH L");
    expect_answer(h, WORDS("--beam=1", "--prefix=HH", "-n", "20"), "HH EH L");
    expect_answer(h, WORDS("--beam=2", "-n", "20"), "HH EH L");
    closed(h);
}

/* ---- states ---- */

static void refuse_states(attnc_handle *h, const char *at, int64_t bytes,
                          const char *damaged)
{
    Answer a = { .text = "" };
    REFUSED(attnc_continue(h, damaged, bytes, NULL, 0, WORDS("--beam=1"), take,
                           &a),
            ATTNC_ERROR_STATE,
            "the state: damaged: its contents are not what was saved");
    REFUSED(attnc_continue(h, at, bytes, "a", -1, WORDS("--beam=1"), take, &a),
            ATTNC_ERROR_KIND,
            "the source was read before the state was saved: no text can "
            "follow it");
    REFUSED(attnc_continue(h, at, bytes, NULL, 0, WORDS("--beam=2"), take, &a),
            ATTNC_ERROR_OPTION, "--beam 1 continues a state");
    REFUSED(attnc_continue(h, at, -1, NULL, 0, WORDS("--beam=1"), take, &a),
            ATTNC_ERROR_COUNT, "the bytes of the state are below 0");
    REFUSED(attnc_continue(h, NULL, 1, NULL, 0, WORDS("--beam=1"), take, &a),
            ATTNC_ERROR_STATE, "the state is NULL");
}

/* A state has the bytes that attnc run --save-state writes, and continues as
 * attnc run --load-state does. */
static void test_state(void **state)
{
    attnc_handle *h = opened(letters, NULL), *other;
    Answer a = { .text = "" }, rest = { .text = "" };
    const char *path = scratch_path("state");
    char words[300];
    size_t n;

    (void)state;
    REFUSED(attnc_state(h, NULL, 0), ATTNC_ERROR_STATE,
            "there is no state: a beam, or no answer before");
    attnc_generate(h, "hello", -1, WORDS("--beam=1", "-n", "2"), take, &a);
    const int64_t bytes = attnc_state(h, NULL, 0);
    char *at = malloc((size_t)bytes + 8);
    snprintf(words, sizeof words, "the state has %d bytes", (int)bytes);
    REFUSED(attnc_state(h, at, bytes - 1), ATTNC_ERROR_ROOM, words);
    assert_int_equal(attnc_state(h, at, bytes), bytes);
    snprintf(words, sizeof words,
             "run %s --prompt=hello -n 2 --quiet --save-state=%s", letters,
             path);
    assert_int_equal(strncmp(printed(words), a.text, strlen(a.text)), 0);
    char *saved = file_of(path, &n);
    assert_int_equal(n, bytes);
    assert_memory_equal(saved, at, n);
    assert_int_equal(attnc_handle_open(&other, model, NULL), ATTNC_DONE);
    memmove(at + 1, at, (size_t)bytes); /* at any address */
    assert_int_equal(attnc_continue(other, at + 1, bytes, NULL, 0,
                                    WORDS("--beam=1"), take, &rest),
                     2);
    snprintf(words, sizeof words, "run %s --load-state=%s --quiet", letters,
             path);
    const char *said = printed(words);
    assert_int_equal(strncmp(said, rest.text, strlen(rest.text)), 0);
    assert_int_equal(strlen(said), strlen(rest.text) + 1);
    attnc_handle_close(other);
    saved[n / 2] ^= 1;
    refuse_states(h, at + 1, bytes, saved);
    free(at);
    free(saved);
    closed(h);
    scratch_empty();
}

/* After an answer without a state, there is none of an older one. */
static void test_no_state(void **state)
{
    attnc_handle *h = opened(letters, NULL);
    Answer a = { .text = "" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        attnc_generate(h, "hello", -1, WORDS("--beam=1"), take, &a);
        assert_true(attnc_state(h, NULL, 0) > 0);
        attnc_generate(h, (const char *[]){ "hello", "", "a1" }[i], -1,
                       WORDS(i ? "--beam=1" : "--beam=2"), take, &a);
        REFUSED(attnc_state(h, NULL, 0), ATTNC_ERROR_STATE,
                "there is no state: a beam, or no answer before");
    }
    closed(h);
}

/* A decoder reads more text after a state. */
static void test_state_of_decoder(void **state)
{
    attnc_handle *h = opened(talk, NULL);
    Answer a = { .text = "" };
    char words[300];

    (void)state;
    attnc_generate(h, "^<lo><h", -1, WORDS("-n", "0"), take, &a);
    assert_string_equal(a.text, "");
    const int64_t bytes = attnc_state(h, NULL, 0);
    char *at = malloc((size_t)bytes);
    assert_int_equal(attnc_state(h, at, bytes), bytes);
    for (int i = 0; i < 2; i++) { /* the state stays as it is */
        a = (Answer){ .text = "" };
        assert_int_equal(attnc_continue(h, at, bytes, "ello>{", -1, NULL, take,
                                        &a),
                         6);
        assert_string_equal(a.text, "}}}}}l");
    }
    snprintf(words, sizeof words,
             "run %s --prompt='^<lo><h' -n 0 --quiet "
             "--save-state=%s/s",
             talk, scratch);
    printed(words);
    snprintf(words, sizeof words,
             "run %s --load-state=%s/s --prompt='ello>{' "
             "--quiet",
             talk, scratch);
    assert_string_equal(printed(words), "ello>{}}}}}l\n");
    free(at);
    closed(h);
    scratch_empty();
}

/* ---- conversations ---- */
static void expect_chat(attnc_handle *h, int n, const char *const *roles,
                        const char *const *contents, const char *expected)
{
    Answer a = { .text = "" };
    const int64_t tokens = attnc_chat(h, roles, contents, n, NULL, take, &a);
    assert_string_equal(attnc_error(h), "");
    assert_int_equal(tokens, strlen(expected));
    assert_string_equal(a.text, expected);
}

/* Answers are those of attnc run --chat, which reads a line a turn. */
static void test_chat(void **state)
{
    static const char *const roles[] = { "user", "assistant", "user",
                                         "assistant", "user" };
    const char *turns[5] = { "hello", NULL, "hole", NULL, "" };
    char line[3][100];
    attnc_handle *h = opened(talk, NULL), *anew;

    (void)state;
    scratch_file("in", "hello\nhole\n\n", 12);
    snprintf(line[0], sizeof line[0], "run %s --chat < %s/in", talk, scratch);
    char said[300];
    snprintf(said, sizeof said, "%s", printed(line[0]));
    for (int i = 0; i < 3; i++) {
        char *answer = i ? strchr(line[i - 1], '\0') + 1 : said;
        snprintf(line[i], sizeof line[i], "%.*s",
                 (int)strcspn(i ? said : answer, "\n"), said);
        memmove(said, strchr(said, '\n') + 1, strlen(strchr(said, '\n')));
        expect_chat(h, 2 * i + 1, roles, turns, line[i]);
        /* another handle reads the conversation at once */
        assert_int_equal(attnc_handle_open(&anew, model, NULL), ATTNC_DONE);
        expect_chat(anew, 2 * i + 1, roles, turns, line[i]);
        attnc_handle_close(anew);
        if (i < 2)
            turns[2 * i + 1] = line[i];
    }
    expect_chat(h, 1, roles, turns, line[0]); /* another conversation */
    expect_chat(h, 3, roles, turns, line[1]);
    closed(h);
    scratch_empty();
}

/* An answer that a stop text ended is read again as its text, without the
 * tokens of the stop text, and the options end with the call. */
static void test_chat_stop(void **state)
{
    static const char *const roles[] = { "user", "assistant", "user" };
    Answer first = { .text = "" }, warm = { .text = "" };
    const char *turns[] = { "hello", first.text, "hole" };
    attnc_handle *h = opened(talk, NULL), *anew;

    (void)state;
    assert_true(attnc_chat(h, roles, turns, 1, WORDS("--stop=l"), take, &first)
                > 0);
    assert_string_equal(first.text, "}}}}}");
    assert_true(attnc_chat(h, roles, turns, 3, NULL, take, &warm) > 0);
    assert_int_equal(attnc_handle_open(&anew, model, NULL), ATTNC_DONE);
    expect_chat(anew, 3, roles, turns, warm.text);
    attnc_handle_close(anew);
    closed(h);
}

/* Two turns with a draft are those without: no option lasts for two turns. */
typedef const char *const *Two[2];
static void expect_turns(const Two guided, const Two plain)
{
    static const char *const roles[] = { "user", "assistant", "user" };
    const char *const *draft = WORDS("--draft=tests/cli/chat.yaml");
    Answer a[2][2] = { { { .text = "" } } };
    attnc_model *m;
    for (int k = 0; k < 2; k++) {
        const char *turns[] = { "hello", a[k][0].text, "hole" };
        attnc_handle *h;
        attnc_open(&m, talk, NULL, k ? draft : NULL, hear, NULL);
        assert_int_equal(attnc_handle_open(&h, m, NULL), ATTNC_DONE);
        for (int i = 0; i < 2; i++)
            attnc_chat(h, roles, turns, 2 * i + 1, (k ? guided : plain)[i],
                       take, &a[k][i]);
        attnc_handle_close(h);
        attnc_close(m);
    }
    assert_true(a[0][1].text[0]);
    assert_memory_equal(a[0], a[1], sizeof a[0]);
}

static void test_chat_drafts(void **state)
{
    (void)state;
    const char *const *h = WORDS("--suppress=h"), *const *n = WORDS("-n", "2");
    const char *const *ngram = WORDS("--draft=ngram");
    expect_turns((Two){ h, n }, (Two){ h, n });
    expect_turns((Two){ n, ngram }, (Two){ n, NULL });
    expect_turns((Two){ ngram, n }, (Two){ NULL, n });
}

static void test_chat_options(void **state)
{
    static const char *const roles[] = { "system", "user", "assistant", "user",
                                         "user" };
    const char *turns[] = { "he", "hello", "}l", "hole" };
    attnc_handle *h = opened(talk, NULL);
    Answer a = { .text = "" };
    char words[200];

    (void)state;
    scratch_file("in", "hello\n", 6);
    snprintf(words, sizeof words, "run %s --chat --system=he -n 3 < %s/in",
             talk, scratch);
    assert_int_equal(attnc_chat(h, roles, turns, 2, WORDS("-n", "3"), take, &a),
                     3);
    strcat(a.text, "\n");
    assert_string_equal(a.text, printed(words));
#define CHAT(n, options, error, says) \
    REFUSED(attnc_chat(h, roles, turns, n, options, take, &a), error, says)
    CHAT(2, WORDS("--beam=2"), ATTNC_ERROR_OPTION,
         "--beam is not an option of attnc_chat()");
    CHAT(3, NULL, ATTNC_ERROR_OPTION, "the last message must be the user's");
    CHAT(0, NULL, ATTNC_ERROR_OPTION, "the last message must be the user's");
    CHAT(-1, NULL, ATTNC_ERROR_NULL, "a pointer is NULL, or a count below 0");
    turns[1] = "hex";
    CHAT(2, NULL, ATTNC_ERROR_UNKNOWN,
         "message 1: byte 3: a character or word that the vocabulary does not "
         "have");
    turns[1] =
        "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"
        "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
    CHAT(2, NULL, ATTNC_ERROR_LENGTH,
         "message 1: the conversation has 103 tokens, the model takes 90 "
         "(max_len)");
    turns[1] = NULL;
    CHAT(2, NULL, ATTNC_ERROR_NULL, "message 1 is NULL");
    turns[1] = "hello";
    REFUSED(attnc_chat(h, roles + 1, turns, 4, NULL, take, &a),
            ATTNC_ERROR_OPTION,
            "message 3: its role must be assistant: system may be the first, "
            "then user and assistant alternate");
    closed(h);
    h = opened(letters, NULL);
    CHAT(2, NULL, ATTNC_ERROR_KIND,
         "g2p-en: the spec has no `chat`, the texts around the turns of a "
         "conversation");
    closed(h);
    scratch_empty();
}

/* ---- threads ---- */
enum { Callers = 4 };

typedef struct {
    char first[100], second[100];
    bool good;
} Caller;

/* Holds a conversation by a handle of its own. */
static void *call_from_thread(void *with)
{
    static const char *const roles[] = { "user", "assistant", "user" };
    Caller *c = with;
    Answer a = { .text = "" }, b = { .text = "" };
    const char *turns[] = { "hello", a.text, "hole" };
    attnc_handle *h;
    c->good = attnc_handle_open(&h, model, NULL) == ATTNC_DONE
           && attnc_chat(h, roles, turns, 1, NULL, take, &a) > 0
           && attnc_chat(h, roles, turns, 3, NULL, take, &b) > 0
           && attnc_state(h, NULL, 0) > 0;
    snprintf(c->first, sizeof c->first, "%s", a.text);
    snprintf(c->second, sizeof c->second, "%s", b.text);
    attnc_handle_close(h);
    return NULL;
}

static void test_threads(void **state)
{
    attnc_handle *h = opened(talk, NULL);
    Caller caller[Callers + 1];
    pthread_t thread[Callers];

    (void)state;
    call_from_thread(&caller[Callers]);
    for (int i = 0; i < Callers; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_from_thread,
                                        &caller[i]),
                         0);
    for (int i = 0; i < Callers; i++) {
        pthread_join(thread[i], NULL);
        assert_true(caller[i].good);
        assert_string_equal(caller[i].first, caller[Callers].first);
        assert_string_equal(caller[i].second, caller[Callers].second);
    }
    closed(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_of_decoder),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answers_refused),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_no_state),
        cmocka_unit_test(test_state_of_decoder),
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_chat_stop),
        cmocka_unit_test(test_chat_drafts),
        cmocka_unit_test(test_chat_options),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
