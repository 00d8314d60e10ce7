/* state_test.c: tests forged states, with correct hashes but contents that
 * nobody saved: the core, attnc and an emitted program reject them as invalid
 * input. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

static Engine e;
static char *state;
static int64_t bytes;
static uint64_t weights;

static struct attn_state_header *head(void)
{
    return (struct attn_state_header *)state;
}

static void hash_anew(char *at, int64_t n)
{
    ((struct attn_state_header *)at)->hash = attn_hash(at + 16, n - 16, 2);
}

static void write_state(const char *name)
{
    Fault why;
    hash_anew(state, bytes);
    assert_true(write_file(in_dir(name), state, (size_t)bytes, &why));
}

static int sh(Spawned *s, const char *line)
{
    return RUN(s, "", "/bin/sh", "-c",
               arena_printf(a,
                            "A=%s S=%s D=%s; M=\""
                            "%s %s\"; %s",
                            attnc(), g2p, dir, in_dir("m"), in_dir("m.weights"),
                            line));
}

/* Saves a state of six tokens; builds the model's program, and opens it by the
 * JIT. */
static int open_state(void **unused)
{
    const EngineOptions o = { .spec = g2p, .seed = 1 };
    Spawned s;
    size_t n;
    if (set_up(unused) || engine_open(&e, &o) != ExitDone)
        return -1;
    emit(g2p, "--march=native", "-O2");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
    assert_int_equal(sh(&s, "$M --prompt attention -n 5 --quiet "
                            "--save-state $D/s"),
                     0);
    const char *text = text_of(in_dir("s"), &n);
    state = aligned_memory(a, (int64_t)n);
    memcpy(state, text, n);
    bytes = (int64_t)n;
    weights = attn_weights_hash(e.backend.model, e.packed);
    return 0;
}

static int close_state(void **unused)
{
    engine_close(&e);
    return tear_down(unused);
}

static const char *check(void)
{
    return attn_state_check(e.backend.model, weights, state, bytes);
}

/* Checks the message of the core, of attnc and of the program. */
static void assert_refused(const char *says)
{
    static const char *const ways[] = { "$A run $S", "$M" };
    const char *wrong = (hash_anew(state, bytes), check());
    if (!wrong || !strstr(wrong, says))
        fail_msg("'%s' is not in: %s", says, wrong ? wrong : "(nothing)");
    write_state("forged");
    for (int i = 0; i < 2; i++) {
        Spawned s;
        const int code = sh(&s, arena_printf(a, "%s --load-state $D/forged",
                                             ways[i]));
        if (code != 3 || *s.out || !strstr(s.tail, says))
            fail_msg("%s: %d: %s%s", says, code, s.out, s.tail);
    }
}

static void test_lengths(void **unused)
{
    (void)unused;
    const struct attn_model *m = e.backend.model;
    const struct attn_state_header was = *head();
    static const char lengths[] = "forged: its lengths are not of this model";
    static const char size[] = "forged: it has not the bytes of its lengths";
    int64_t *const field[] = { &head()->tokens, &head()->lead, &head()->read,
                               &head()->source_rows };
    const struct {
        int field;
        int64_t x;
        const char *says;
    } forged[] = {
        { 0, -1, lengths },
        { 0, 0, lengths },
        { 0, INT64_MIN, lengths },
        { 0, m->max_target + 2, lengths },
        { 0, INT64_MAX, lengths },
        { 0, was.tokens + 2, size },
        { 0, m->max_target + 1, size },
        { 1, -1, lengths },
        { 1, 0, lengths },
        { 1, was.tokens + 1, lengths },
        { 2, -1, lengths },
        { 2, was.tokens + 1, lengths },
        { 2, INT64_MAX, lengths },
        { 2, was.read - 1, size },
        { 3, -1, lengths },
        { 3, 0, lengths },
        { 3, m->max_source + 1, lengths },
        { 3, m->max_source, size },
        { 3, INT64_MAX, lengths },
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        *field[forged[i].field] = forged[i].x;
        assert_refused(forged[i].says);
        *head() = was;
    }
    assert_null(check());
}

static void test_ids(void **unused)
{
    (void)unused;
    static const char says[] = "forged: a token that is not of this model";
    const int32_t most = (int32_t)e.backend.model->target_vocab;
    const int32_t ids[] = { -1, most, INT32_MAX, INT32_MIN };
    const struct attn_state_header was = *head();
    int32_t *at = (int32_t *)(state + sizeof was);
    for (int64_t i = 0; i < was.tokens; i++) {
        const int32_t id = at[i];
        at[i] = ids[i % 4];
        assert_refused(says);
        at[i] = id;
    }
    *head() = was;
    assert_null(check());
}

/* Tests every value of each byte of the head: accepted states can be restored
 * and continue within their memory. */
static void test_bytes(void **unused)
{
    (void)unused;
    const struct attn_model *m = e.backend.model;
    const struct attn_state_header was = *head();
    const struct attn_search_options o = { .start = 1, .end = 2 };
    int passed = 0;
    for (size_t i = 16; i < sizeof was; i++)
        for (int x = 0; x < 256; x++) {
            struct attn_stream s;
            state[i] = (char)x;
            hash_anew(state, bytes);
            if (!check()) {
                const int64_t n = attn_stream_bytes(m, &o, head()->source_rows,
                                                    head()->tokens + 2, 1);
                void *memory = malloc((size_t)n);
                assert_int_equal(
                    attn_state_restore(&s,
                                       &(struct attn_restore_request){
                                           .model = m,
                                           .bound = e.bound,
                                           .o = &o,
                                           .weights = weights,
                                           .state = state,
                                           .bytes = bytes,
                                           .tokens = head()->tokens + 2,
                                           .streams = 1,
                                           .memory = memory,
                                           .memory_bytes = n,
                                       }),
                    0);
                assert_true(attn_stream_next(&s) >= ATTN_STREAM_FULL);
                free(memory);
                passed++;
            }
            *head() = was;
        }
    assert_true(passed >= (int)sizeof was - 16); /* at least as before */
}

static void test_versions(void **unused)
{
    (void)unused;
    Spawned s;
    const char *cut = "head -c %d $D/s > $D/cut; %s --load-state $D/cut";
    state[7] = '2';
    assert_refused("saved by another version of attnc: its format is not "
                   "ATTNST04; save it again");
    state[7] = '3';
    state[5] = 'X';
    assert_refused("not a saved state: its first bytes are not ATTNST04");
    state[5] = 'T';
    for (int n = 0; n < bytes; n += n < 80 ? 7 : (int)bytes / 5) {
        assert_int_equal(sh(&s, arena_printf(a, cut, n, "$M")), 3);
        assert_non_null(
            strstr(s.tail, n < 8 ? "not a saved state: "
                                 : "cut short: fewer bytes than it states"));
    }
}

static void test_formats(void **unused)
{
    (void)unused;
    head()->format = ATTN_CACHE_BF16;
    assert_refused("saved with a cache in another format, or by another "
                   "model: set the spec's `cache` to what it was when the "
                   "state was saved");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_state, close_state)
    const struct CMUnitTest tests[] = {
        TEST(test_lengths),  TEST(test_ids),     TEST(test_bytes),
        TEST(test_versions), TEST(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
