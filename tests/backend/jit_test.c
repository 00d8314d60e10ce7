/* jit_test.c: tests the code that libtcc makes in a child process: its memory,
 * the text that it rejects, several threads at once, and a child that has no
 * memory, crashes, or cannot start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "emit/emit.h"
#include "oracle/trial.h"

#include <cmocka.h>

#include "support/stderr_capture.h"
#include "support/fake_programs.h"
#include "support/sanitized.h"
#include "support/skip.h"

/* ---- code ---- */
static const char jit_text[] =
    "float sqrtf(float x);\n"
    "static const int numbers[2] = { 41, 42 };\n"
    "static float root(float x)\n{\n    return sqrtf(x);\n}\n"
    "const void *t_model(void)\n"
    "{\n    return root(4.0f) == 2.0f ? numbers + 1 : numbers;\n}\n";

static Target here(void)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, "native", 0, NULL, &why));
    return t;
}

/* Returns the protection of the mapping that holds `at`, such as "r-xp", and
 * whether any page of the process is writable and executable. */
static bool mapping_of(const void *at, char protection[5])
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    bool both = false;
    protection[0] = '\0';
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        char p[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, p) != 3)
            continue;
        both |= p[1] == 'w' && p[2] == 'x';
        if ((unsigned long)(uintptr_t)at - from < to - from)
            memcpy(protection, p, sizeof p);
    }
    fclose(f);
    return both;
}

static void test_memory(void **state)
{
    (void)state;
    JitCode j;
    const struct attn_model *m;
    Fault why;
    char protection[5];
    Target t = here();
    assert_true(jit_load(&j, &m, jit_text, "t_model", &t, &why));
    assert_int_equal(*(const int *)(const void *)m, 42);
    assert_false(mapping_of(m, protection));
    assert_string_equal(protection, "r-xp");
    void *code = j.code;
    jit_unload(&j);
    assert_false(mapping_of(code, protection));
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "int system(const char *);\n"
          "const void *t_model(void) { system(\"id\"); return 0; }\n",
          "system" },
        { "const void *t_model(void) { return undeclared(); }\n",
          "undeclared" },
        { "this is not C\n", "error" },
        { "#include <stdio.h>\nconst void *t_model(void) { return 0; }\n",
          "stdio.h" },
        { "int other;\n", "internal error" },
    };
    setenv("TMPDIR", dir, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        JitCode j;
        const struct attn_model *m;
        Fault why;
        Target t = here();
        assert_false(jit_load(&j, &m, bad[i].text, "t_model", &t, &why));
        assert_int_equal(why.code, ExitInternal);
        assert_non_null(strstr(why.text, bad[i].says));
        assert_non_null(strstr(why.text, dir)); /* the text is kept */
        assert_int_equal(files(dir), (int)i + 1);
        assert_null(j.code);
    }
    unsetenv("TMPDIR");
}

/* Waits for a child that tests. Returns true if it ended with 77. */
static bool child_skips(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* Tests that with one free descriptor the text is written, but no folder is
 * made. */
static void test_names_refused(void **state)
{
    (void)state;
    JitCode j;
    const struct attn_model *m;
    Fault why;
    struct rlimit old, one;
    Target t = here();
    setenv("TMPDIR", dir, 1);
    assert_true(jit_load(&j, &m, jit_text, "t_model", &t, &why));
    jit_unload(&j);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const int next = dup(STDIN_FILENO);
    close(next);
    one = old;
    one.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &one), 0);
    const bool done = jit_load_named(&j, &m, jit_text, "t_model", &t, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    unsetenv("TMPDIR");
    assert_false(done);
    assert_int_equal(why.code, ExitIO);
    assert_int_equal(files(dir), 0);
}

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static void test_forbidden(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        JitCode j;
        const struct attn_model *m;
        Fault why = { .code = 0 };
        Target t = here();
        if (prctl(PR_SET_MDWE, 1L, 0L, 0L, 0L) != 0)
            _exit(77);
        bool loaded = jit_load(&j, &m, jit_text, "t_model", &t, &why);
        _exit(!loaded && why.code == ExitBackend
                      && strstr(why.text, "--backend=clang")
                  ? 0
                  : 1);
    }
    if (child_skips(pid))
        SKIP("this system has no PR_SET_MDWE");
}

/* ---- threads ---- */
enum { Threads = 8, Rounds = 4 };

typedef struct { /* a model, compiled in a thread of its own */
    Engine engine;
    const Sample *sample;
    float *want; /* results of the code that the main thread compiled */
    size_t bytes;
    const char *text, *symbol;
    JitCode code;
    const struct attn_model *model;
    bool loaded;
} Loaded;

static void *load_again(void *with)
{
    Loaded *l = with;
    Fault why;
    messages_mute(true); /* no notes of where the names are */
    for (int i = 0; i < Rounds; i++) {
        jit_unload(&l->code);
        l->loaded = (i % 2 ? jit_load : jit_load_named)(&l->code, &l->model,
                                                        l->text, l->symbol,
                                                        &l->engine.target,
                                                        &why);
        if (!l->loaded)
            print_error("%s: %s\n", l->symbol, why.text);
    }
    return NULL;
}

static float *results(const Loaded *l)
{
    Trial t = { 0 };
    float *out = arena_alloc(a, l->bytes);
    trial_run(&t, &l->engine, l->sample, 0, out);
    trial_free(&t);
    return out;
}

static void open_model(Loaded *l, const char *name)
{
    static const int64_t rows[] = { 5, 9 };
    size_t n;
    const EngineOptions o = { .spec = arena_printf(a, "tests/torch/%s.yaml",
                                                   name) };
    const EmitOptions emit = { .mode = EmitJit };
    Engine *e = &l->engine;
    assert_int_equal(engine_open(e, &o), ExitDone);
    l->sample = sample_random(a, e->spec, 1, 2, rows, rows);
    l->bytes = (size_t)(result_rows(e->spec, l->sample)
                        * result_columns(e->spec))
             * sizeof *l->want;
    l->want = results(l);
    l->text = emit_model(a, e->plan, &emit, &n);
    l->symbol = arena_printf(a, "%s_model", e->plan->prefix);
}

/* Replaces the code of the main thread by that of the model's own thread. */
static void check_model(Loaded *l)
{
    Engine *e = &l->engine;
    assert_true(l->loaded);
    backend_unload(&e->backend);
    e->backend = (Backend){ .model = l->model, .jit = l->code };
    e->bound = backend_bind(&e->backend, e->arena, e->packed);
    assert_memory_equal(results(l), l->want, l->bytes);
    engine_close(e);
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const names[Threads] = { "alibi",     "rotary",
                                                "latent",    "gru",
                                                "relative",  "sigmoid",
                                                "two_sizes", "window" };
    Loaded l[Threads] = { 0 };
    pthread_t thread[Threads];
    char map[64];
    snprintf(map, sizeof map, "/tmp/perf-%ld.map", (long)getpid());
    setenv("TMPDIR", dir, 1);
    for (int i = 0; i < Threads; i++)
        open_model(&l[i], names[i]);
    for (int i = 0; i < Threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, load_again, &l[i]),
                         0);
    for (int i = 0; i < Threads; i++)
        pthread_join(thread[i], NULL);
    unsetenv("TMPDIR");
    assert_int_equal(unlink(map), 0);
    assert_int_equal(files(dir), Threads * Rounds / 2); /* kept texts */
    for (int i = 0; i < Threads; i++)
        check_model(&l[i]);
}

/* ---- a child that fails ---- */

/* Returns a text that exhausts libtcc's stack. */
static const char *deep_text(void)
{
    enum { Deep = 1000000 };
    char *open = arena_alloc(a, Deep + 1);
    memset(open, '(', Deep);
    return arena_printf(a, "int deep = %s1;\n", open);
}

static bool load_text(const char *text, Fault *why)
{
    JitCode j;
    const struct attn_model *m;
    Target t = here();
    const bool loaded = jit_load(&j, &m, text, "t_model", &t, why);
    if (loaded)
        assert_int_equal(*(const int *)(const void *)m, 42);
    assert_true(loaded || !j.code);
    jit_unload(&j);
    return loaded;
}

/* Returns the number of mappings that this process shares with children. */
static int shared_mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;
    while (fgets(line, sizeof line, f))
        n += strstr(line, "/dev/zero") != NULL;
    fclose(f);
    return n;
}

static void test_crash(void **state)
{
    (void)state;
    Fault why;
    const int before = shared_mappings();
    const struct rlimit stack = { 8 << 20, RLIM_INFINITY };
    const char *deep = deep_text();
    setrlimit(RLIMIT_STACK, &stack);
    capture_stderr();
    assert_false(load_text(deep, &why));
    assert_string_equal(captured_stderr(a), "");
    assert_int_equal(why.code, ExitBackend);
    assert_string_equal(why.text,
                        "libtcc was killed by signal 11 (Segmentation fault): "
                        "allow this process more memory, or use "
                        "--backend=clang");
    signal(SIGCHLD, SIG_IGN); /* no status then */
    assert_false(load_text(deep, &why));
    assert_int_equal(why.code, ExitBackend);
    assert_string_equal(why.text, "libtcc ended early: use --backend=clang");
    assert_true(load_text(jit_text, &why));
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(shared_mappings(), before);
}

/* Returns jit_text after many functions. */
static const char *long_text(void)
{
    Buffer text = { .arena = a };
    for (int i = 0; i < 10000; i++)
        buffer_printf(&text, "static int f%d(int x) { return x + %d; }\n", i,
                      i);
    buffer_add(&text, jit_text, strlen(jit_text));
    return text.at;
}

/* Loads the text with `more` bytes of address space beyond those in use. */
static bool load_with(rlim_t more, const char *text, Fault *why)
{
    struct rlimit old, limit;
    long pages;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    getrlimit(RLIMIT_AS, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
    const bool loaded = load_text(text, why);
    setrlimit(RLIMIT_AS, &old);
    return loaded;
}

static int exits; /* a file that has a byte for each exit */

static void count_exit(void)
{
    if (write(exits, "x", 1) != 1)
        _exit(99);
}

/* Tests that lack of memory is an error value, wherever libtcc notices it. The
 * child writes nothing: neither a message, nor the parent's unwritten text, nor
 * by a function that the parent calls at exit. It is the first test, because
 * others leave free memory. */
static void test_no_memory(void **state)
{
    (void)state;
    enum { Step = 1 << 17 };
    if (SANITIZED)
        SKIP("a sanitizer needs terabytes of addresses");
    Fault why;
    struct stat st;
    rlim_t more = 0;
    const char *text = long_text();
    const int before = shared_mappings();
    exits = open(in_dir("exits"), O_CREAT | O_RDWR, 0600);
    assert_int_equal(atexit(count_exit), 0);
    FILE *unwritten = fopen(in_dir("unwritten"), "w");
    fputs("once", unwritten);
    capture_stderr();
    for (; !load_with(more, text, &why); more += Step) {
        assert_int_equal(why.code, ExitResource);
        assert_non_null(strstr(why.text, "out of memory in libtcc"));
    }
    assert_string_equal(captured_stderr(a), "");
    /* the mapping for the code alone is as large */
    assert_true(more > (1 << 20) + 10 * strlen(text));
    fclose(unwritten);
    assert_int_equal(stat(in_dir("unwritten"), &st), 0);
    assert_int_equal(st.st_size, strlen("once"));
    assert_int_equal(fstat(exits, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(shared_mappings(), before);
}

static void test_no_process(void **state)
{
    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        Fault why = { 0 };
        setrlimit(RLIMIT_NPROC, &(struct rlimit){ 0, 0 });
        if (geteuid() == 0 && setuid(65534) != 0) /* root has no limit */
            _exit(77);
        const bool loaded = load_text(jit_text, &why);
        _exit(!loaded && why.code == ExitResource
                      && strstr(why.text, "cannot start a process for libtcc")
                  ? 0
                  : 1);
    }
    if (child_skips(pid))
        SKIP("root has no limit of processes");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_no_memory),     TEST(test_memory),     TEST(test_refusals),
        TEST(test_names_refused), TEST(test_forbidden),  TEST(test_threads),
        TEST(test_crash),         TEST(test_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
