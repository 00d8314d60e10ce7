/* library_faults_test.c: makes each allocation of attnc_open() and of the calls
 * of a handle fail: a code, one message, and no block is left. Tests that
 * output and signals of the process are left alone. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp, sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "library/attnc.h"
#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/skip.h"

#if !SANITIZED
#include "support/count_alloc.h"
#else
static long count;
#endif
static long opened_at; /* allocations of the last attnc_open() */

static const char encoder[] =
    "attnc: 1\nname: words\nkind: encoder\nd_model: 8\nh: 2\nd_ff: 16\nN: 1\n"
    "max_len: 24\nvocab: {file: models/g2p-en/letters.txt, tokens: {end: 2}, "
    "split: characters, append_end: true}\nhead: {type: pool, pool: mean}\n";

typedef struct {
    int n;
    char text[200];
} Heard;

static void hear(void *user, const struct attnc_message *m)
{
    Heard *h = user;
    if (m->severity > ATTNC_SEVERITY_INTERNAL)
        return;
    h->n++;
    snprintf(h->text, sizeof h->text, "%s", m->text);
}

static int take(void *user, const char *text, int64_t bytes)
{
    (void)user, (void)text, (void)bytes;
    return 0;
}

static int take_answer(void *user, const struct attnc_answer *answer)
{
    (void)user, (void)answer;
    return 0;
}

/* Calls what a handle of a model that generates has. Returns a number below 0
 * after an error. */
static int64_t answer_once(attnc_handle *h)
{
    static float logits[8 * 64];
    static int64_t state[1 << 14];
    const char *const texts[] = { "ab", "c" };
    const char *const search[] = { "--beam=2", "--prefix=HH", NULL };
    const char *const best[] = { "--nbest=2", "--suppress=HH", NULL };
    const char *const one[] = { "--beam=1", "--stop=L", "-n", "2", NULL };
    double p;
    int64_t n = attnc_generate(h, "ab", -1, search, take, NULL);
    if (n >= 0)
        n = attnc_answers(h, texts, NULL, 2, best, take_answer, NULL);
    if (n >= 0)
        n = attnc_score(h, "ab", -1, "HH", -1, &p);
    if (n >= 0)
        n = attnc_logits(h, "ab", -1, "HH", -1, 0, logits, 8 * 64);
    if (n >= 0)
        n = attnc_generate(h, "ab", -1, one, take, NULL);
    if (n >= 0)
        n = attnc_state(h, state, sizeof state);
    if (n >= 0)
        n = attnc_continue(h, state, n, NULL, 0, one, take, NULL);
    return n;
}

static int64_t chat_once(attnc_handle *h)
{
    static const char *const roles[] = { "user", "assistant", "user" };
    static const char *const turns[] = { "hello", "}}}}}l", "hole" };
    int64_t n = 0;
    for (int i = 1; i <= 3 && n >= 0; i += 2)
        n = attnc_chat(h, roles, turns, i, NULL, take, NULL);
    return n;
}

/* Returns ATTNC_DONE, ATTNC_MEMORY, or another code. */
static int call_once(const char *path, const char *text, Heard *heard)
{
    const char *const words[] = { "a", "bc" };
    const char *const options[] = { "--seed=1", "--threads=1", NULL };
    attnc_model *m;
    attnc_handle *h = NULL;
    float out[16];
    int code = attnc_open(&m, path, text, options, hear, heard);
    int64_t n = 0;
    if (code)
        return code;
    opened_at = count;
    code = attnc_handle_open(&h, m, NULL);
    if (!code && attnc_facts(m)->kind == ATTNC_DECODER)
        n = chat_once(h);
    else if (!code && attnc_facts(m)->generates)
        n = answer_once(h);
    else if (!code)
        n = attnc_embed(h, words, NULL, 2, out, 16, NULL);
    heard->n += code || n < 0;
    snprintf(heard->text, sizeof heard->text, "%s", attnc_error(h));
    attnc_handle_close(h);
    attnc_close(m);
    return code ? code : n == ATTNC_ERROR_MEMORY ? ATTNC_MEMORY : (int)(n < 0);
}

static int take_file(void *taker, const char *name, const void *bytes,
                     int64_t n)
{
    (void)taker, (void)name, (void)bytes, (void)n;
    return 0;
}

/* The same for a compilation to files, and reports. */
static int compile_once(const char *path, const char *text, Heard *heard)
{
    char c[100], to[100];
    snprintf(c, sizeof c, "%s/w.c", scratch);
    snprintf(to, sizeof to, "%s/plan", scratch);
    const char *const options[] = { "-o", c, "--embed", "--seed=1", NULL };
    static const char *const predict[] = { "--predict", "--vary=N=1,2", NULL };
    const char *const command[] = { "plan", "models/attention.yaml", "-o", to,
                                    NULL };
    char *graph = NULL, *plan = NULL, *sweep = NULL;
    int code = attnc_report(&graph, "graph", path, text, NULL, hear, heard);
    if (!code)
        code = attnc_report(&plan, "plan", path, text, NULL, hear, heard);
    if (!code)
        code = attnc_compile(path, text, options, hear, heard);
    if (!code)
        code = attnc_compile_files(path, text, options, take_file, NULL, hear,
                                   heard);
    if (!code)
        code = attnc_report(&sweep, "sweep", path, text, predict, hear, heard);
    if (!code)
        code = attnc_command(command, NULL, hear, heard);
    attnc_free(sweep);
    attnc_free(graph);
    attnc_free(plan);
    return code;
}

#if !SANITIZED
static int64_t read_bytes(void *source, int64_t offset, void *to, int64_t bytes)
{
    return pread(*(const int *)source, to, (size_t)bytes, offset);
}

/* The same for attention weights and their picture, with weights that a
 * function reads. */
static int attend_once(const char *path, const char *text, Heard *heard)
{
    static int file = -1;
    const char *const options[] = { "--threads=1", NULL };
    const char *const none[] = { "-n", "0", NULL };
    const struct attnc_maps *maps = NULL;
    const char *svg;
    attnc_model *m;
    if (file < 0)
        file = open("tests/torch/rotary.safetensors", O_RDONLY);
    int code = attnc_open_reader(&m, path, text, read_bytes, &file, options,
                                 hear, heard);
    if (code)
        return code;
    code = attnc_attention(&maps, m, "hello", none, hear, heard);
    attnc_maps_free(maps);
    maps = NULL;
    opened_at = count; /* both engines are open */
    if (!code)
        code = attnc_attention(&maps, m, "hello", none, hear, heard);
    if (!code)
        code = attnc_maps_svg(maps, &svg, hear, heard);
    attnc_maps_free(maps);
    attnc_close(m);
    return code;
}

static void spare_child(void)
{
    fails_at = 0;
}

/* Makes each allocation of a call fail, or each one after attnc_open(): then
 * those of a child process, such as libtcc's, succeed. */
static void fail_each(int call(const char *path, const char *text,
                               Heard *heard),
                      const char *path, const char *text, bool after_open)
{
    Heard heard = { 0 };
    int failed = 0;
    call(path, text, &heard); /* makes what is kept for the process */
    count = 0;
    call(path, text, &heard); /* sets opened_at */
    const long before = blocks;
    if (after_open)
        assert_int_equal(pthread_atfork(NULL, NULL, spare_child), 0);
    fails_at = after_open ? opened_at : 1;
    for (bool all = false; !all; fails_at++) {
        heard = (Heard){ 0 };
        count = 0;
        const int code = call(path, text, &heard);
        all = count < fails_at;
        failed += code == ATTNC_MEMORY;
        if (blocks != before || (code && code != ATTNC_MEMORY) || heard.n > 1)
            fail_msg(
                "%s: allocation %ld: code %d, %d messages (%s), %ld blocks "
                "are left",
                path, fails_at, code, heard.n, heard.text, blocks - before);
    }
    fails_at = 0;
    assert_true(failed > (after_open ? 3 : 50));
}
#endif

static void test_each_allocation(void **state)
{
    (void)state;
#if SANITIZED
    SKIP("the sanitizer has the functions that this test replaces");
#else
    /* one core, one thread: the C library keeps memory of ended threads */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    fail_each(call_once, "w.yaml", encoder, false);
    fail_each(call_once, "models/g2p-en/g2p-en.yaml", NULL, false);
    fail_each(compile_once, "w.yaml", encoder, false);
    fail_each(call_once, "w.yaml", encoder, true);
    fail_each(call_once, "models/g2p-en/g2p-en.yaml", NULL, true);
    fail_each(call_once, "tests/cli/chat.yaml", NULL, true);
    fail_each(attend_once, "tests/cli/chat.yaml", NULL, true);
    assert_int_equal(scratch_empty(), 3);
#endif
}

/* Tests that the library prints nothing and changes no signal handler. */
static void test_nothing_else(void **state)
{
    enum { Signals = 5 };
    static const int signal[Signals] = { SIGBUS, SIGINT, SIGTERM, SIGHUP,
                                         SIGCHLD };
    struct sigaction before[Signals], act;
    Heard heard = { 0 };
    FILE *said = tmpfile();
    const int usual[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
    (void)state;
    for (int i = 0; i < Signals; i++)
        sigaction(signal[i], NULL, &before[i]);
    fflush(NULL);
    dup2(fileno(said), STDOUT_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    const int code = call_once("w.yaml", encoder, &heard);
    const int compiled = compile_once("w.yaml", encoder, &heard);
    const int wrong = call_once("none.yaml", NULL, &heard);
    fflush(NULL);
    dup2(usual[0], STDOUT_FILENO);
    dup2(usual[1], STDERR_FILENO);
    assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
    fclose(said);
    assert_int_equal(code | compiled, ATTNC_DONE);
    assert_int_equal(wrong, ATTNC_IO);
    assert_int_equal(heard.n, 1);
    assert_int_equal(scratch_empty(), 3);
    for (int i = 0; i < Signals; i++) {
        sigaction(signal[i], NULL, &act);
        assert_true(act.sa_handler == before[i].sa_handler);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_nothing_else),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
