/* kept_weights_test.c: tests that large weights of a file are packed once.
 * Cached ones are used if file, layout and contents are the same, and only
 * then; if they cannot be cached, nothing else changes. */
/* limit: 300 s */
#define _GNU_SOURCE
#include "tune/tune.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/stderr_capture.h"

static Arena *a;
static const char *spec, *weights, *cache;
static bool verbose;

/* 43 MB of weights; smaller weights are not cached. */
static const char text[] = "attnc: 1\nname: large\nkind: decoder\n"
                           "d_model: 512\nh: 8\nd_ff: 2048\nN: 2\nmax_len: 16\n"
                           "vocab: {size: 8500, tokens: {start: 1, end: 2}}\n"
                           "names:\n  decoder.0: {transpose: true}\n";

typedef struct {
    float of[2]; /* an element, and what follows it */
    bool nan;    /* one weight is NaN */
} Fill;

static bool fill(void *with, int64_t first, int64_t n, float *out)
{
    const Fill *f = with;
    for (int64_t i = 0; i < n; i++)
        out[i] = f->of[0] + f->of[1] * (float)((first + i) % 1009);
    if (f->nan && first == 0)
        out[n / 2] = NAN;
    return true;
}

/* Writes a weights file for the spec, an hour old except for its change time.
 */
static void write_weights(Fill f)
{
    Engine e = { 0 };
    Fault why;
    const EngineOptions o = { .spec = spec };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const PackList *p = &e.plan->pack;
    TensorOut *t = arena_alloc(a, (size_t)p->count * sizeof *t);
    int n = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *it = &p->item[i];
        if (it->table || it->alias)
            continue;
        t[n] = (TensorOut){ .name = it->from.name, .fill = fill, .with = &f };
        t[n].rank = it->layout == PackVector ? 1 : 2;
        t[n].dim[0] = it->from.transposed ? it->k : it->rows;
        t[n].dim[1] = it->from.transposed ? it->rows : it->k;
        if (it->layout == PackVector)
            t[n].dim[0] = it->k;
        n++;
    }
    assert_true(safetensors_write(weights, t, n, &why));
    engine_close(&e);
}

/* Waits until the file's time differs from that of a later one. */
static void grow_old(void)
{
    usleep(1100000);
}

typedef struct { /* an engine that was opened with its weights */
    bool kept;
    char *packed, *said;
    int64_t bytes;
} Opened;

/* Waits for the processes that cache weights. */
static Opened open_with(const char *set)
{
    Engine e = { 0 };
    Opened x;
    const EngineOptions o = { .spec = spec,
                              .weights = weights,
                              .sets = &set,
                              .nsets = set != NULL,
                              .march = "x86-64-v3",
                              .allow_nan = true,
                              .verbose = verbose };
    capture_stderr();
    const int code = engine_open(&e, &o);
    x.said = captured_stderr(a);
    if (code)
        fail_msg("%s", x.said);
    x.kept = e.kept.at != NULL;
    x.bytes = e.plan->pack.bytes;
    x.packed = arena_alloc(a, (size_t)x.bytes);
    memcpy(x.packed, e.packed, (size_t)x.bytes);
    engine_close(&e);
    while (wait(NULL) > 0)
        ;
    return x;
}

static void assert_same(const Opened *x, const Opened *y)
{
    assert_int_equal(x->bytes, y->bytes);
    assert_memory_equal(x->packed, y->packed, (size_t)x->bytes);
}

/* Returns the path of a cached weights file, or NULL. */
static const char *kept_file(void)
{
    const char *folder = arena_printf(a, "%s/attnc", cache), *path = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *end = strrchr(e->d_name, '.');
        if (!end || strcmp(end, ".weights") != 0)
            continue;
        path = arena_printf(a, "%s/%s", folder, e->d_name);
    }
    if (d)
        closedir(d);
    return path;
}

static void forget_kept(void)
{
    for (const char *path; (path = kept_file());)
        assert_int_equal(unlink(path), 0);
}

static void change_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int c = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(c ^ 1, f);
    assert_int_equal(fclose(f), 0);
}

/* ---- tests ---- */
static void packed_once(void **state)
{
    (void)state;
    const Opened young = open_with(NULL);
    assert_false(young.kept);
    assert_null(kept_file()); /* its file could be modified without a visible
                                 change */
    grow_old();
    const Opened first = open_with(NULL), second = open_with(NULL);
    assert_false(first.kept);
    assert_true(second.kept);
    assert_same(&young, &first);
    assert_same(&first, &second);
    forget_kept();
}

static void another_layout_is_another(void **state)
{
    static const char *const sets[] = {
        "dtype=bf16",
        "names={decoder.0: {transpose: true}, decoder.1: {scale: 3}}",
        "names={decoder.0: {transpose: true}, decoder.1: {add: 1}}",
    };
    (void)state;
    open_with(NULL);
    assert_true(open_with(NULL).kept);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_false(open_with(sets[i]).kept);
    for (size_t i = 1; i < sizeof sets / sizeof *sets; i++)
        assert_true(open_with(sets[i]).kept); /* too small in bf16 */
    forget_kept();
}

/* Returns the bytes of blocks and of their hashes. */
static void damage_is_found(void **state)
{
    (void)state;
    forget_kept();
    const Opened first = open_with(NULL);
    const long places[] = { 0, 5000000, (long)first.bytes - 1,
                            (long)first.bytes + 3 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        change_byte(kept_file(), places[i]);
        verbose = i > 0;
        const Opened x = open_with(NULL);
        assert_false(x.kept);
        assert_same(&first, &x);
        if (i < 2) /* it is reported once */
            assert_int_equal(strstr(x.said, "kept weights that are damaged: "
                                            "they are packed again")
                                 != NULL,
                             verbose);
        assert_true(open_with(NULL).kept); /* they were kept again */
    }
    assert_int_equal(truncate(kept_file(), 1000000), 0);
    assert_false(open_with(NULL).kept);
    assert_true(open_with(NULL).kept);
    assert_int_equal(chmod(kept_file(), 0666), 0); /* anybody may write it */
    const Opened foreign = open_with(NULL);
    assert_false(foreign.kept);
    assert_same(&first, &foreign);
    forget_kept();
}

static void changed_file(void **state)
{
    Fault why;
    (void)state;
    const Opened first = open_with(NULL);
    assert_true(open_with(NULL).kept);
    Safetensors *s = safetensors_open(weights, &why);
    assert_true(safetensors_unchanged(s, &why));
    change_byte(weights, 20000000); /* in place: the same inode and size */
    assert_false(safetensors_unchanged(s, &why));
    assert_message(why.text,
                   "w.safetensors: was changed while it was read: run "
                   "it again when it is whole");
    assert_int_equal(why.code, ExitIO);
    safetensors_close(s);
    const Opened x = open_with(NULL);
    assert_false(x.kept);
    assert_memory_not_equal(first.packed, x.packed, (size_t)x.bytes);
    change_byte(weights, 20000000);
    forget_kept();
    /* replaced: the mapped file stays complete */
    s = safetensors_open(weights, &why);
    write_weights((Fill){ { 2, 0.5f }, false });
    assert_true(safetensors_unchanged(s, &why));
    safetensors_close(s);
    grow_old();
}

static void not_finite_is_told_each_time(void **state)
{
    (void)state;
    write_weights((Fill){ { 1, 0.25f }, true });
    grow_old();
    for (int i = 0; i < 2; i++) {
        const Opened x = open_with(NULL);
        assert_false(x.kept);
        assert_non_null(strstr(x.said, "values are NaN or infinite"));
        assert_null(kept_file());
    }
    write_weights((Fill){ { 1, 0.25f }, false });
    grow_old();
}

/* Tests that a tuning caches weights for a run, and uses those of a run. */
static void tunings_too(void **state)
{
    const TuneOptions o = { .budget = 0.2,
                            .records = scratch_path("tune.txt"),
                            .work = { .lengths = "4", .beam = 1 },
                            .model = { .spec = spec,
                                       .weights = weights,
                                       .march = "x86-64-v3",
                                       .backend = "jit",
                                       .threads = 1 } };
    FILE *out = fopen("/dev/null", "w");
    (void)state;
    forget_kept();
    assert_int_equal(tune_run(&o, out), ExitDone);
    while (wait(NULL) > 0)
        ;
    assert_true(open_with(NULL).kept);
    change_byte(kept_file(), 0);
    const char *file = kept_file();
    assert_int_equal(tune_run(&o, out), ExitDone);
    while (wait(NULL) > 0)
        ;
    fclose(out);
    assert_string_equal(kept_file(), file);
    assert_true(open_with(NULL).kept); /* it found the damage */
    forget_kept();
}

/* Tests that a run continues without a cache folder or disk space. */
static void nowhere_to_keep(void **state)
{
    (void)state;
    const Opened first = open_with(NULL);
    forget_kept();
    setenv("ATTNC_CACHE_LIMIT", "20M", 1);
    const Opened full = open_with(NULL);
    assert_null(kept_file());
    setenv("ATTNC_CACHE_LIMIT", "0", 1);
    const Opened none = open_with(NULL);
    assert_null(kept_file());
    unsetenv("ATTNC_CACHE_LIMIT");
    setenv("XDG_CACHE_HOME", "/dev/null/none", 1); /* nobody can write it */
    const Opened nowhere = open_with(NULL);
    setenv("XDG_CACHE_HOME", cache, 1);
    assert_same(&first, &full);
    assert_same(&first, &none);
    assert_same(&first, &nowhere);
    assert_false(full.kept || none.kept || nowhere.kept);
    assert_string_equal(nowhere.said, "");
}

static int begin(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    a = arena_new();
    cache = arena_printf(a, "%s-cache", scratch);
    setenv("XDG_CACHE_HOME", cache, 1);
    unsetenv("ATTNC_CACHE_LIMIT");
    spec = scratch_file("m.yaml", text, strlen(text));
    spec = arena_strdup(a, spec);
    weights = arena_strdup(a, scratch_path("w.safetensors"));
    write_weights((Fill){ { 1, 0.25f }, false });
    return 0;
}

static int end(void **state)
{
    forget_kept();
    rmdir(arena_printf(a, "%s/attnc", cache));
    rmdir(cache);
    arena_free(a);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_once),
        cmocka_unit_test(another_layout_is_another),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(changed_file),
        cmocka_unit_test(not_finite_is_told_each_time),
        cmocka_unit_test(tunings_too),
        cmocka_unit_test(nowhere_to_keep),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
