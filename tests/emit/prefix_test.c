/* prefix_test.c: tests that any model name results in C that compiles. In an
 * emitted file the name is only a prefix of exported functions and sizes. So
 * the test declares these for thousands of names after one file, and the
 * compiler reports names that are already taken. The names are: every
 * identifier of emitted files, of the sources that go into them, of the headers
 * that they include and of the C library, and the beginning of any identifier
 * that ends in an exported function's name. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>

#include "emit/emit.h"
#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

typedef VEC(const char *) Words;

static const char *const kinds[] = { "kind=encoder-decoder", "kind=encoder",
                                     "kind=decoder", "kind=attention" };
enum { Kinds = sizeof kinds / sizeof *kinds };
static const char own[] = "qqq"; /* the name of the file around them */

/* ---- words ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the identifiers of a text. */
static void add_words(Words *to, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        while (k < n && in_word(text[k]))
            k++;
        if (k > i && k - i <= 128 && !isdigit((unsigned char)text[i]))
            vec_push(a, to, arena_strndup(a, text + i, k - i));
        i = k > i ? k - 1 : i;
    }
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* In order, each once. */
static void settle(Words *w)
{
    int n = 0;
    qsort(w->at, (size_t)w->n, sizeof *w->at, by_text);
    for (int i = 0; i < w->n; i++)
        if (n == 0 || strcmp(w->at[n - 1], w->at[i]))
            w->at[n++] = w->at[i];
    w->n = n;
}

static bool has_word(const Words *w, const char *word)
{
    return bsearch(&word, w->at, (size_t)w->n, sizeof *w->at, by_text);
}

static const char *upper(const char *s)
{
    char *u = arena_strdup(a, s);
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}

/* ---- files and headers ---- */

static void open_model(Engine *e, const char *kind)
{
    const char *sets[] = { kind, "name=qqq" };
    const bool block = strstr(kind, "attention") != NULL;
    const EngineOptions o = {
        .spec = block ? "models/attention.yaml" : "models/tiny.yaml",
        .sets = sets,
        .nsets = 2,
        .march = "x86-64-v3",
    };
    assert_int_equal(engine_plan(e, &o), ExitDone);
}

static const char *file_of(const Engine *e)
{
    const EmitOptions o = { .mode = EmitAot };
    size_t n;
    const char *text = emit_model(e->arena, e->plan, &o, &n);
    return arena_strndup(a, text, n);
}

/* Writes a header's own declarations: the lines after the types that are not
 * comments. */
static void put_header(FILE *f, const Engine *e, const char *prefix)
{
    size_t n;
    const EmitOptions o = { .mode = EmitAot };
    Arena *own_arena = arena_new();
    const char *sizes = arena_printf(own_arena, "\nenum {\n    %s_D_MODEL",
                                     upper(prefix));
    e->plan->prefix = prefix;
    const char *text = emit_header(own_arena, e->plan, &o, &n);
    text = arena_strndup(own_arena, text, n);
    const char *at = strstr(text, sizes), *end = strrchr(text, '#');
    assert_non_null(at);
    fprintf(f, "#ifdef %s_H\n#error guard\n#endif\n", upper(prefix));
    for (at++; at < end; at += n) {
        n = strcspn(at, "\n") + 1;
        if (strncmp(at, "/*", 2) && strncmp(at, " *", 2))
            fwrite(at, 1, n, f);
    }
    arena_free(own_arena);
}

/* Ends of exported functions' names: "_model", "_vocab_encode". */
static Words ends_of(const Engine *e)
{
    Words all = { 0 }, ends = { 0 };
    const size_t n = strlen(own);
    size_t bytes;
    FILE *f = fopen(in_dir("h"), "w");
    assert_non_null(f);
    put_header(f, e, own);
    assert_int_equal(fclose(f), 0);
    const char *header = text_of(in_dir("h"), &bytes);
    add_words(&all, header, bytes);
    settle(&all);
    for (int i = 0; i < all.n; i++)
        if (!strncmp(all.at[i], own, n) && all.at[i][n] == '_')
            vec_push(a, &ends, all.at[i] + n);
    return ends;
}

/* ---- names ---- */

static void add_files(Words *to, const char *pattern)
{
    glob_t found;
    size_t n;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *text = text_of(found.gl_pathv[i], &n);
        add_words(to, text, n);
    }
    globfree(&found);
}

/* Runs a line of shell whose output is words; $D is the test's folder. */
static void add_output(Words *to, const char *line)
{
    size_t n;
    assert_true(WORKS("/bin/sh", "-c",
                      arena_printf(a, "D=%s CC=%s; { %s; } > $D/words", dir,
                                   some_clang(), line)));
    const char *text = text_of(in_dir("words"), &n);
    add_words(to, text, n);
}

static Words library_words(void)
{
    Words w = { 0 };
    Dl_info libc, libm;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "shm_open"), &libc) != 0);
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "tgammaf"), &libm) != 0);
    add_output(&w, arena_printf(a, "nm -D --defined-only %s %s", libc.dli_fname,
                                libm.dli_fname));
    settle(&w);
    assert_true(has_word(&w, "shm_open") && has_word(&w, "fmaf"));
    return w;
}

/* Adds the model names for which `word` would be an exported function. */
static void add_owners(Words *to, const char *word, const Words *ends)
{
    const size_t n = strlen(word);
    for (int i = 0; i < ends->n; i++) {
        const size_t k = strlen(ends->at[i]);
        if (n > k && !strcmp(word + n - k, ends->at[i]))
            vec_push(a, to, arena_strndup(a, word, n - k));
    }
}

static Words all_names(const Words *library)
{
    static const char more[] =
        "attn ATTN attn-vocab attn-stream attn-text attn_x attn_memory program "
        "sampling search stream packed_check model model_attn model-model.attn "
        "MODEL_ATTN _ __ _x 1 1.2 - . -- main argv NULL errno linux unix "
        "auto break case char const continue default do double else enum "
        "extern float for goto if inline int long register restrict return "
        "short signed sizeof static struct switch typedef union unsigned void "
        "volatile while _Alignas _Alignof _Atomic _Bool _Complex _Generic "
        "_Imaginary _Noreturn _Static_assert _Thread_local class new template "
        "this namespace operator";
    Words w = { 0 }, ends = { 0 };
    for (int k = 0; k < Kinds; k++) {
        Engine e;
        open_model(&e, kinds[k]);
        const char *text = file_of(&e);
        if (k == 0)
            ends = ends_of(&e);
        Fault why;
        assert_true(write_file(in_dir("k.c"), text, strlen(text), &why));
        add_words(&w, text, strlen(text));
        add_output(&w, "for m in MAIN NO; do for d in '' -dM; do "
                       "$CC -std=c11 -march=x86-64-v3 -DATTNC_$m -E $d $D/k.c; "
                       "done; done");
        engine_close(&e);
    }
    add_files(&w, "runtime/*.[ch]");
    add_files(&w, "runtime/*/*.[ch]");
    add_files(&w, "compiler/emit/kernels/*.c");
    for (int i = 0; i < library->n; i++)
        vec_push(a, &w, library->at[i]);
    for (const char *at = more; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        vec_push(a, &w, arena_strndup(a, at, n));
        at += n;
    }
    for (int i = w.n - 1; i >= 0; i--)
        add_owners(&w, w.at[i], &ends);
    settle(&w);
    return w;
}

/* Returns the prefixes of the names, without that of the file. */
static Words all_prefixes(const Words *names)
{
    Words w = { 0 };
    for (int i = 0; i < names->n; i++) {
        const char *prefix = plan_prefix(a, names->at[i]);
        if (strncmp(prefix, own, strlen(own)))
            vec_push(a, &w, prefix);
    }
    settle(&w);
    return w;
}

/* Models x and x-stream would both have x_stream_open, so a name that ends in
 * more of such words is declared after another copy of the file. */
static int round_of(const char *prefix)
{
    static const char *const words[] = { "_stream", "_text",  "_state",
                                         "_vocab",  "_error", "_batch" };
    size_t n = strlen(prefix);
    int count = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t k = strlen(words[i]);
        if (n > k && !strncmp(prefix + n - k, words[i], k)) {
            n -= k;
            count++;
            i = (size_t)-1;
        }
    }
    return count;
}

/* ---- tests ---- */

/* Writes r.c: the file, then the headers of the names. */
static int write_round(Engine *e, const char *file, const Words *prefixes,
                       int round)
{
    FILE *f = fopen(in_dir("r.c"), "w");
    int n = 0;
    assert_non_null(f);
    fputs(file, f);
    for (int i = 0; i < prefixes->n; i++)
        if (round_of(prefixes->at[i]) == round) {
            put_header(f, e, prefixes->at[i]);
            n++;
        }
    assert_int_equal(fclose(f), 0);
    return n;
}

/* Checks that clang compiles it; else fails with its first message. */
static void takes(const char *define)
{
    Spawned s;
    if (RUN(&s, "", some_clang(), "-fsyntax-only", "-std=c11", "-w",
            "-march=x86-64-v3", define, "-ferror-limit=3", in_dir("r.c")))
        fail_msg("an identifier of the file ends as a function that a model "
                 "exports does; call it otherwise: %s",
                 s.tail);
}

static void test_every_name(void **state)
{
    (void)state;
    const Words library = library_words(), names = all_names(&library);
    const Words prefixes = all_prefixes(&names);
    print_message("%d names, %d prefixes\n", names.n, prefixes.n);
    assert_true(prefixes.n > 3000);
    for (int k = 0; k < Kinds; k++) {
        Engine e;
        int n = 0;
        open_model(&e, kinds[k]);
        const char *file = file_of(&e);
        for (int round = 0; n < prefixes.n; round++) {
            n += write_round(&e, file, &prefixes, round);
            takes("-DATTNC_MAIN");
            if (k == 0) /* text without it is the same in all kinds */
                takes("-DATTNC_NO");
        }
        engine_close(&e);
    }
}

/* Tests that no function of a model hides one of the C library. */
static void test_no_library_function(void **state)
{
    (void)state;
    Engine e;
    const Words library = library_words(), names = all_names(&library);
    open_model(&e, kinds[0]);
    const Words ends = ends_of(&e);
    assert_true(ends.n > 20);
    for (int i = 0; i < names.n; i++)
        for (int k = 0; k < ends.n; k++) {
            const char *prefix = plan_prefix(a, names.at[i]);
            const char *function = arena_printf(a, "%s%s", prefix, ends.at[k]);
            if (has_word(&library, function))
                fail_msg("a model '%s' would replace the C library's %s",
                         names.at[i], function);
        }
    engine_close(&e);
}

/* Tests that ordinary names stay unchanged, and different prefixes different.
 */
static void test_rule(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "tiny", "tiny" },
        { "g2p-en", "g2p_en" },
        { "Tiny.2", "tiny_2" },
        { "search", "search" },
        { "program", "program" },
        { "model", "model" },
        { "attnx", "attnx" },
        { "3b", "m_3b" },
        { "attn", "model_attn" },
        { "ATTN", "model_attn" },
        { "attn-text", "model_attn_text" },
        { "model-attn", "model_model_attn" },
        { "model_x", "model_x" },
        { "_x", "model__x" },
        { "shm", "model_shm" },
        { "pthread", "model_pthread" },
        { "shmx", "shmx" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(plan_prefix(a, rows[i][0]), rows[i][1]);
}

/* Tests names that once failed, by the command. */
static void test_by_the_command(void **state)
{
    (void)state;
    static const char *const names[] = {
        "attn",      "ATTN",    "attn-vocab",   "attn-stream",
        "attn-text", "program", "attn_memory",  "sampling",
        "search",    "stream",  "packed_check", "shm",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < 2; k++) {
            emit("models/tiny.yaml", "--march=generic",
                 arena_printf(a, "--set=name=%s", names[i]));
            assert_true(WORKS(some_clang(), "-fsyntax-only", "-std=c11",
                              k ? "-DATTNC_MAIN" : "-DX", in_dir("m.c")));
        }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_name),
        TEST(test_no_library_function),
        TEST(test_rule),
        TEST(test_by_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
