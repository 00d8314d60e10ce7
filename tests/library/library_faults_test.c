/* library_faults_test.c: makes each allocation of attnc_open() and of the calls
 * of a handle fail: a code, one message, and no block is left. Tests that
 * output and signals of the process are left alone. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp, sched_setaffinity */
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
#endif

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

/* Returns ATTNC_DONE, ATTNC_MEMORY, or another code. */
static int call_once(const char *path, const char *text, Heard *heard)
{
    const char *const words[] = { "a", "bc" };
    const char *const options[] = { "--seed=1", "--threads=1", NULL };
    const char *const search[] = { "--beam=2", "--prefix=HH", NULL };
    attnc_model *m;
    attnc_handle *h = NULL;
    float out[16];
    int code = attnc_open(&m, path, text, options, hear, heard);
    int64_t n = 0;
    if (code)
        return code;
    code = attnc_handle_open(&h, m, NULL);
    if (!code && attnc_facts(m)->generates)
        n = attnc_generate(h, "ab", -1, search, take, NULL);
    else if (!code)
        n = attnc_embed(h, words, NULL, 2, out, 16, NULL);
    heard->n += code || n < 0;
    snprintf(heard->text, sizeof heard->text, "%s", attnc_error(h));
    attnc_handle_close(h);
    attnc_close(m);
    return code ? code : n == ATTNC_ERROR_MEMORY ? ATTNC_MEMORY : (int)(n < 0);
}

/* The same for a compilation to files, a graph and a plan. */
static int compile_once(const char *path, const char *text, Heard *heard)
{
    char c[100];
    snprintf(c, sizeof c, "%s/w.c", scratch);
    const char *const options[] = { "-o", c, "--embed", "--seed=1", NULL };
    char *graph = NULL, *plan = NULL;
    int code = attnc_graph(&graph, path, text, NULL, hear, heard);
    if (!code)
        code = attnc_plan(&plan, path, text, NULL, hear, heard);
    if (!code)
        code = attnc_compile(path, text, options, hear, heard);
    attnc_free(graph);
    attnc_free(plan);
    return code;
}

#if !SANITIZED
static void fail_each(int call(const char *path, const char *text,
                               Heard *heard),
                      const char *path, const char *text)
{
    Heard heard = { 0 };
    int failed = 0;
    call(path, text, &heard); /* makes what is kept for the process */
    const long before = blocks;
    fails_at = 1;
    for (bool all = false; !all; fails_at++) {
        heard = (Heard){ 0 };
        count = 0;
        const int code = call(path, text, &heard);
        all = count < fails_at;
        failed += code == ATTNC_MEMORY;
        if (blocks != before || (code && code != ATTNC_MEMORY) || heard.n > 1)
            fail_msg("allocation %ld: code %d, %d messages (%s), %ld blocks "
                     "are left",
                     fails_at, code, heard.n, heard.text, blocks - before);
    }
    fails_at = 0;
    assert_true(failed > 50);
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
    fail_each(call_once, "w.yaml", encoder);
    fail_each(call_once, "models/g2p-en/g2p-en.yaml", NULL);
    fail_each(compile_once, "w.yaml", encoder);
    assert_int_equal(scratch_empty(), 2);
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
    assert_int_equal(scratch_empty(), 2);
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
