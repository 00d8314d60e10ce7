/* records_use_test.c: tests that the results of `attnc tune` decide a plan's
 * tiles on the machine, target, threads and compiler of the tuning, and only
 * there. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "engine/engine.h"
#include <cmocka.h>

#include "support/scratch.h"
#include "support/records_case.h"

static const char *usual; /* XDG_CACHE_HOME of this process */

static int set_up(void **state)
{
    if (scratch_make(state))
        return -1;
    usual = getenv("XDG_CACHE_HOME");
    return setenv("XDG_CACHE_HOME", scratch_path("own"), 1);
}

static int tear_down(void **state)
{
    scratch_empty();
    if (usual)
        setenv("XDG_CACHE_HOME", usual, 1);
    return scratch_remove(state);
}

static EngineOptions tuned(const char *file)
{
    return (EngineOptions){
        .spec = "models/tiny.yaml", .threads = 1, .tuned = true, .records = file
    };
}

/* Makes a record of the model's first product with another tile than the
 * default, as recorded here for these options. */
static Record found(Arena *a, const EngineOptions *o)
{
    Engine e;
    Fault why;
    EngineOptions plain = *o;
    plain.tuned = false;
    assert_int_equal(engine_plan(&e, &plain), ExitDone);
    Record r = { .ns = 9, .usual_ns = 10, .samples = 5, .spread = 0.01 };
    assert_true(engine_host(a, o, &e.target, &r.host, &why));
    for (int i = 0; i < e.plan->task.n && !r.key.shape; i++)
        if (e.plan->task.at[i].key.kind == TaskMatmul)
            r.key = e.plan->task.at[i].key;
    assert_non_null(r.key.shape);
    r.key.shape = arena_strdup(a, r.key.shape);
    r.key.epilogue = arena_strdup(a, r.key.epilogue);
    r.tiling = (Tiling){ .mr = 2, .nr = 32, .panels = 3 };
    engine_close(&e);
    return r;
}

/* True if the record's tiling is used for its task. */
static bool used(const EngineOptions *o, const Record *r)
{
    Engine e;
    int tasks = 0, as_recorded = 0;
    assert_int_equal(engine_plan(&e, o), ExitDone);
    for (int i = 0; i < e.plan->task.n; i++) {
        const Task *t = &e.plan->task.at[i];
        if (!task_same(&t->key, &r->key))
            continue;
        tasks++;
        as_recorded += t->from == FromTuned && t->tiling.mr == 2
                    && t->tiling.nr == 32 && t->tiling.panels == 3;
    }
    assert_int_equal(tasks, 1);
    engine_close(&e);
    return as_recorded;
}

static void drop_own(Arena *a)
{
    unlink(records_path(a, NULL));
    unlink(arena_printf(a, "%s.lock", records_path(a, NULL)));
    rmdir(scratch_path("own/attnc"));
    rmdir(scratch_path("own"));
}

static void test_used(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *file = scratch_path("tune.txt");
    EngineOptions o = tuned(file), own = tuned(NULL);
    const Record r = found(a, &o);
    assert_string_equal(r.host.compiler, "libtcc");
    add(a, file, &r, 1);
    assert_true(used(&o, &r));
    assert_false(used(&own, &r));
    mkdir(scratch_path("own"), 0700);
    add(a, records_path(a, NULL), &r, 1);
    assert_true(used(&own, &r));
    own.tuned = false; /* --no-records */
    assert_false(used(&own, &r));
    const Choice choice = { r.key, r.tiling };
    own.choices = (Choices){ .at = &choice, .n = 1 };
    assert_true(used(&own, &r));
    drop_own(a);
    arena_free(a);
}

/* Tests records for anything else; if the user named the file, one line reports
 * them. */
static void test_others(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *file = scratch_path("others.txt");
    const EngineOptions o = tuned(file);
    Record r = found(a, &o);
    const Host here = r.host;
    r.host.cpu = "Nonesuch";
    add(a, file, &r, 1);
    capture_stderr();
    assert_false(used(&o, &r));
    assert_string_equal(
        captured(a),
        arena_printf(
            a,
            "attnc: warning: others.txt: "
            "its records of this model are not for %s; the nearest are for "
            "Nonesuch (%s), %s, 1 thread, libtcc\n",
            host_text(a, &here), here.caches, here.isa));
    Host other[4] = { here, here, here, here };
    other[0].caches = "1K 2K 3K";
    other[1].isa = "generic";
    other[2].threads = 2;
    other[3].compiler = "cc 1.0 -O2";
    for (int i = 0; i < 4; i++) {
        r.host = other[i];
        add(a, file, &r, 1);
    }
    capture_stderr();
    assert_false(used(&o, &r));
    assert_string_equal(
        captured(a),
        arena_printf(
            a,
            "attnc: warning: others.txt: "
            "its records of this model are not for %s; the nearest are for %s\n",
            host_text(a, &here), host_text(a, &other[2])));
    EngineOptions two = o;
    two.threads = 2;
    assert_true(used(&two, &r));
    r.host = here;
    add(a, file, &r, 1);
    capture_stderr();
    assert_true(used(&o, &r));
    assert_string_equal(captured(a), "");
    arena_free(a);
}

/* Tests that a C compiler's version and level matter. */
static void test_compiler(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *file = scratch_path("cc.txt");
    EngineOptions o = tuned(file), jit = o, level = o;
    o.backend = level.backend = "clang";
    level.level = "1";
    const Record r = found(a, &o);
    const char *end = strstr(r.host.compiler, " -O2");
    assert_non_null(end);
    assert_string_equal(end, " -O2");
    add(a, file, &r, 1);
    assert_true(used(&o, &r));
    capture_stderr();
    assert_false(used(&jit, &r));
    assert_false(used(&level, &r));
    captured(a);
    arena_free(a);
}

/* Returns the message for a record of other conditions. It may name any option
 * except those in `refused`. */
static const char *hint(Arena *a, EngineOptions o, Record r, int refused)
{
    o.records = NULL;
    o.offers = 63 & ~refused;
    unlink(records_path(a, NULL));
    add(a, records_path(a, NULL), &r, 1);
    capture_stderr();
    assert_false(used(&o, &r));
    return captured(a);
}

/* Tests that for each difference that an option can remove, the message names
 * the option if the command has it, and that the record is then used. */
static void test_hints(void **state)
{
    (void)state;
    Arena *a = arena_new();
    EngineOptions jit = tuned(scratch_path("x")), clang = jit, three = jit;
    mkdir(scratch_path("own"), 0700);
    clang.backend = "clang";
    clang.level = "3";
    three.threads = 3;
    three.march = "generic";
    Record r = found(a, &jit), c = found(a, &clang);
    const char *march = r.host.isa;
    Target own;
    Fault why;
    r.host.threads = 2;
    assert_string_equal(
        hint(a, jit, r, 0),
        "attnc: note: tuned for --threads=2; this run uses 1\n");
    assert_string_equal(hint(a, jit, r, 0), ""); /* once */
    r.host.threads = 1;
    assert_string_equal(
        hint(a, three, r, 0),
        arena_printf(
            a,
            "attnc: note: "
            "tuned for --march=%s --threads=1; this run uses generic, 3\n",
            march));
    assert_string_equal(hint(a, clang, r, 0),
                        "attnc: note: tuned for "
                        "--backend=jit; this run uses clang\n");
    assert_string_equal(hint(a, jit, c, 0),
                        "attnc: note: tuned for "
                        "--backend=clang -O3; this run uses jit, -O2\n");
    clang.level = "2";
    assert_string_equal(hint(a, clang, c, 0),
                        "attnc: note: tuned for -O3; this run uses -O2\n");
    r.host.isa = "generic";
    assert_true(target_find(&own, "native", 0, NULL, &why));
    assert_string_equal(
        hint(a, jit, r, 0),
        arena_printf(a,
                     "attnc: note: "
                     "tuned for --march=generic; this run uses %s\n",
                     own.name));
    jit.width = 1;
    r.host.isa = march;
    if (strcmp(march, "generic") != 0)
        assert_non_null(strstr(hint(a, jit, r, 0), "tuned for --width="));
    jit.width = 0;
    drop_own(a);
    arena_free(a);
}

/* Tests that no option is named that would not help, or that the command lacks.
 */
static void test_no_hints(void **state)
{
    (void)state;
    Arena *a = arena_new();
    EngineOptions jit = tuned(scratch_path("x")), clang = jit;
    mkdir(scratch_path("own"), 0700);
    clang.backend = "clang";
    Record r = found(a, &jit), slow = r, c = found(a, &clang), other = r;
    other.host.threads = 2;
    other.host.cpu = "Nonesuch";
    assert_string_equal(hint(a, jit, other, 0), "");
    other.host = slow.host;
    other.host.caches = "1K 2K 3K";
    assert_string_equal(hint(a, jit, other, 0), "");
    other.host.caches = slow.host.caches;
    other.host.compiler = "cc 1.0 -O2"; /* is not here */
    assert_string_equal(hint(a, jit, other, 0), "");
    slow.host.threads = 5;
    slow.ns = slow.usual_ns; /* nothing was found */
    assert_string_equal(hint(a, jit, slow, 0), "");
    r.host.threads = 5;
    assert_string_equal(hint(a, jit, r, OfferThreads), "");
    assert_string_equal(hint(a, jit, c, OfferBackend | OfferCc), "");
    r.host.threads = 1;
    assert_string_equal(hint(a, clang, r, OfferBackend), "");
    r.host.threads = 6;
    assert_string_equal(hint(a, jit, r, 63), ""); /* --quiet */
    jit.tuned = false;                            /* --no-records */
    assert_string_equal(hint(a, jit, r, 0), "");
    drop_own(a);
    arena_free(a);
}

/* Tests an unreadable file: a warning, or an error if the user named it. */
static void test_unreadable(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Engine e;
    const EngineOptions own = tuned(NULL);
    const EngineOptions named = tuned(scratch_path("folder"));
    mkdir(named.records, 0700);
    capture_stderr();
    assert_int_equal(engine_plan(&e, &named), ExitIO);
    engine_close(&e);
    assert_string_equal(captured(a), "attnc: error: folder: is not a regular "
                                     "file\n");
    scratch_file("own", "", 0);
    capture_stderr();
    assert_int_equal(engine_plan(&e, &own), ExitDone);
    engine_close(&e);
    assert_string_equal(captured(a),
                        "attnc: warning: own/attnc/tune.txt: cannot "
                        "read: Not a directory: the default tiles are used\n");
    arena_free(a);
}

/* Returns the messages of `attnc run -v` for one line, with a C compiler's
 * records. */
static const char *messages(Arena *a, const char *file)
{
    const char *program = getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
    const char *argv[] = { find_program(a, program),
                           "run",
                           "models/tiny.yaml",
                           "--ids",
                           "--seed=1",
                           "-O1",
                           "-v",
                           "--threads=1",
                           arena_printf(a, "--records=%s", file),
                           NULL };
    SpawnJob job = { .argv = argv, .input = "5 6 7\n", .input_bytes = 6 };
    const SpawnLimits limits = {
        .at_once = 1, .seconds = 60, .out_fd = -1, .as_user = true
    };
    spawn_all(&job, 1, &limits);
    if (!job.ok)
        fail_msg("%s\n%s", job.why.text, job.messages.tail);
    return arena_strdup(a, job.messages.tail);
}

/* Tests that each tier uses its own records: libtcc's code none of the C
 * compiler's, which are for its object. The compiler continues after the run.
 */
static void test_tiers(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *file = scratch_path("tiers.txt"),
               *cache = scratch_path("cache");
    const char *argv[] = { "/bin/rm", "-rf", cache, NULL }, *text;
    EngineOptions o = tuned(file);
    Spawned s;
    Fault why;
    o.backend = "clang";
    o.level = "1";
    const Record r = found(a, &o);
    add(a, file, &r, 1);
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    unsetenv("ATTNC_BACKEND");
    for (int i = 0; i < 900; i++) {
        text = messages(a, file);
        assert_null(strstr(text, "tuned for"));
        assert_non_null(strstr(text, "libtcc: 0 of "));
        if (strstr(text, "was in the cache"))
            break;
        usleep(100000);
    }
    assert_non_null(strstr(text, "was in the cache; 1 of "));
    assert_int_equal(setenv("XDG_CACHE_HOME", scratch_path("own"), 1), 0);
    assert_true(spawn(&s, argv, "", 0, 20, &why));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_used),     cmocka_unit_test(test_others),
        cmocka_unit_test(test_compiler), cmocka_unit_test(test_hints),
        cmocka_unit_test(test_no_hints), cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_tiers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
