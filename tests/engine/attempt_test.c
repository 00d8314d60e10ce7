/* attempt_test.c: makes each allocation of a compilation fail, in the process
 * itself: attempt() returns ExitResource with one message, and the number of
 * blocks that are allocated is what it was before. Tests the messages that a
 * sink receives, too. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "emit/emit.h"
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/sanitized.h"
#include "support/scratch.h"
#include "support/skip.h"

#if !SANITIZED
#include "support/count_alloc.h"

static const char tiny[] = "attnc: 1\nname: tiny\nkind: encoder-decoder\n"
                           "d_model: 8\nh: 2\nd_ff: 16\nN: 2\nmax_len: 6\n"
                           "vocab: {size: 16, tokens: {start: 1, end: 2}}\n"
                           "search: {beam: 2}\n";
#endif

/* ---- messages ---- */
typedef struct {
    int n;
    Severity severity;
    int line, col;
    char text[200];
} Heard;

static void hear(void *with, const Message *m)
{
    Heard *h = with;

    h->n++;
    if (m->severity == SeverityNote)
        return;
    h->severity = m->severity;
    h->line = m->pos.src ? m->pos.line : 0;
    h->col = m->pos.src ? m->pos.col : 0;
    snprintf(h->text, sizeof h->text, "%s", m->text);
}

/* ---- a compilation ---- */
typedef struct {
    EngineOptions options;
    int code;
    size_t bytes; /* of the C text; 0: none */
} Work;

static void compile(void *with)
{
    Work *w = with;
    const EmitOptions emit = { .command = "attnc compile", .file = "tiny" };
    Engine e;

    w->bytes = 0;
    w->code = engine_plan(&e, &w->options);
    if (!w->code) {
        print_graph(e.arena, e.graph, GraphJson);
        emit_header(e.arena, e.plan, &emit, &w->bytes);
        emit_model(e.arena, e.plan, &emit, &w->bytes);
    }
    engine_close(&e);
}

static Work work(const char *text)
{
    return (Work){ .options = {
                       .spec = scratch_file("tiny.yaml", text, strlen(text)),
                       .march = "x86-64-v3" } };
}

static void test_each_allocation(void **state)
{
#if SANITIZED
    (void)state;
    SKIP("the sanitizer has the functions that this test replaces");
#else
    Work w = work(tiny);
    Heard heard = { 0 };
    int failed = 0;

    (void)state;
    messages_to(hear, &heard);
    assert_int_equal(attempt(compile, &w), ExitDone);
    assert_int_equal(w.code, ExitDone);
    const size_t whole = w.bytes;
    const long before = blocks;
    fails_at = 1;
    for (bool all = false; !all; fails_at++) {
        heard.n = 0;
        count = 0;
        const int code = attempt(compile, &w);
        all = count < fails_at;
        failed += code == ExitResource;
        if (blocks != before || (code && (code != ExitResource || heard.n != 1))
            || (!code && !w.code && w.bytes != whole))
            fail_msg("allocation %ld: %d, %d, %zu bytes, %d messages (%s), "
                     "%ld blocks are left",
                     fails_at, code, w.code, w.bytes, heard.n, heard.text,
                     blocks - before);
    }
    fails_at = 0;
    messages_to(NULL, NULL);
    assert_true(failed > 100);
#endif
}

static void test_sink(void **state)
{
    Work w = work("attnc: 1\nname: tiny\nkind: encoder\nd_model: 08\n");
    Heard heard = { 0 };

    (void)state;
    messages_to(hear, &heard);
    assert_int_equal(attempt(compile, &w), ExitDone);
    messages_to(NULL, NULL);
    assert_int_equal(w.code, ExitInput);
    assert_string_equal(heard.text,
                        "d_model must be an integer from 1 to 65536, found "
                        "'08'");
    assert_int_equal(heard.line, 4);
    assert_int_equal(heard.col, 10);
}

/* ---- attempts in attempts ---- */
static void fall(void *with)
{
    arena_owns(arena_new(), with, free);
    die("an invariant");
}

static bool closed;

static void close_it(void *what)
{
    *(bool *)what = true;
}

/* Its arena outlives it. */
static void stay(void *with)
{
    arena_owns(arena_new(), with, close_it);
}

static void outer(void *with)
{
    Arena *a = arena_new();

    *(int *)with = attempt(fall, malloc(1));
    arena_free(a);
    assert_int_equal(attempt(stay, &closed), ExitDone);
    assert_false(closed);
    (fail)(ExitIO, "an error"); /* cmocka has a macro of this name */
}

static void test_inside(void **state)
{
    Heard heard = { 0 };
    int inner = 0;

    (void)state;
    messages_to(hear, &heard);
    assert_int_equal(attempt(outer, &inner), ExitIO);
    messages_to(NULL, NULL);
    assert_int_equal(inner, ExitInternal);
    assert_true(closed); /* what the inner attempt left, the outer one freed */
    assert_int_equal(heard.n, 3); /* die() adds a note */
    assert_int_equal(heard.severity, SeverityError);
    assert_string_equal(heard.text, "an error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_sink),
        cmocka_unit_test(test_inside),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
