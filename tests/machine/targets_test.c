/* targets_test.c: tests the targets: every available compiler generates code
 * for all of them, with full-width vectors; and the JIT has their tiles. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"
#include "emit/emit.h"
#include "emit/tile/needs.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/skip.h"

static const char *const compilers[] = {
    "clang-14", "clang-19", "clang", "gcc", "gcc-12", "gcc-13",
};
enum { Compilers = sizeof compilers / sizeof *compilers };

/* True if compiler number c is installed and is not an earlier one under
 * another name. */
static bool is_here(int c)
{
    const char *path = find_program(a, compilers[c]);
    char *real = path ? realpath(path, NULL) : NULL;
    bool here = real != NULL;
    for (int i = 0; i < c && here; i++) {
        const char *other = find_program(a, compilers[i]);
        char *its = other ? realpath(other, NULL) : NULL;
        here = !its || strcmp(its, real) != 0;
        free(its);
    }
    free(real);
    return here;
}

static Target target(const char *name)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, name, 0, NULL, &why));
    return t;
}

/* True if a compiler here can compile for it. */
static bool of_this_family(const Target *t)
{
    return t->triple && !target_foreign(t);
}

/* ---- compilers ---- */

/* Checks that the file names its target and how to compile it. */
static void check_text(const Target *t)
{
    size_t n;
    const char *text = text_of(in_dir("m.c"), &n);
    const char *end = strstr(text, "\n#ifdef");
    assert_non_null(end);
    text = arena_strndup(a, text, (size_t)(end - text));
    assert_non_null(strstr(text, arena_printf(a,
                                              "attnc compile attention.yaml"
                                              " --march=%s\n",
                                              t->name)));
    assert_non_null(
        strstr(text, arena_printf(a, " -std=c11 %s ", target_flags(a, t))));
    assert_non_null(
        strstr(text, arena_printf(a, "#error \"made for %s: ", t->name)));
    for (int i = 0; t->features[i]; i++) {
        char *macro = arena_printf(a, "!defined __%s__", t->features[i]);
        for (char *c = macro + strlen("!defined "); *c; c++)
            *c = (char)toupper((unsigned char)*c);
        assert_non_null(strstr(text, macro));
    }
}

/* True if no target of the list before number i has the same compiler flags. */
static bool has_new_flags(int i)
{
    const Target t = target(target_name(i));
    while (i-- > 0) {
        const Target other = target(target_name(i));
        if (of_this_family(&other)
            && !strcmp(target_flags(a, &other), target_flags(a, &t)))
            return false;
    }
    return true;
}

/* Compiles once for each set of flags: files for the same flags differ only in
 * the tiles, which test_vectors() compiles. Parts other than the model have the
 * same text for all targets. */
static void test_compilers(void **state)
{
    (void)state;
    const char *object = in_dir("m.o");
    for (int i = 0; target_name(i); i++) {
        const Target t = target(target_name(i));
        if (!of_this_family(&t))
            continue;
        emit("models/attention.yaml", "--no-records",
             arena_printf(a, "--march=%s", t.name));
        check_text(&t);
        for (int c = 0; has_new_flags(i) && c < Compilers; c++)
            if (is_here(c))
                assert_true(WORKS(attnc(), "compile", "models/attention.yaml",
                                  "--no-records", "--parts=model", "--emit=obj",
                                  "-O0", arena_printf(a, "--march=%s", t.name),
                                  "--cc", compilers[c], "-o", object));
    }
}

/* Tests that a program on a lesser processor prints a message instead of
 * crashing. */
static void test_program(void **state)
{
    (void)state;
    Spawned s;
    const Target t = target("native");
    const char *program = in_dir("m");
    const Features needs = target_needs(a, &t);
    if (needs.n == 0)
        SKIP("no processor lacks what %s has", t.name);
    assert_true(WORKS(attnc(), "compile", "models/attention.yaml",
                      "--no-records", "-o", in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", program));
    assert_int_not_equal(RUN(&s, "", program), 6);
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", "-Wno-builtin-macro-redefined",
                      "-D__builtin_cpu_supports(x)=0", in_dir("m.c"), "-lm",
                      "-o", program));
    assert_int_equal(RUN(&s, "", program), 6);
    assert_non_null(
        strstr(s.tail, arena_printf(a, "made for %s: this processor lacks %s\n",
                                    t.name, needs.at[0])));
}

/* Tests that a file for one machine is rejected for a lesser one. */
static void test_guard(void **state)
{
    (void)state;
    Spawned s;
    const Target v4 = target("x86-64-v4");
    if (!of_this_family(&v4))
        SKIP("not an x86-64 compiler");
    emit("models/attention.yaml", "--no-records", "--march=znver4");
    assert_int_not_equal(RUN(&s, "", some_clang(), "-std=c11", "-c",
                             "-march=x86-64-v4", in_dir("m.c"), "-o",
                             in_dir("m.o")),
                         0);
    assert_non_null(strstr(s.tail, "made for znver4"));
}

/* ---- tiles ---- */

typedef struct {
    int mr, nr;
} Size;

static const TaskKey floats = { .kind = TaskMatmul,
                                .shape = "",
                                .epilogue = "" };

/* Collects the tiles of a row's default tilings. */
static int default_tiles(const Target *t, Size size[4])
{
    static const int64_t sums[] = { 64, 512, 2048, 8192 };
    for (int i = 0; i < 4; i++) {
        const Tiling by = tiling_with_defaults(t, &floats, sums[i],
                                               (Tiling){ 0 });
        size[i] = (Size){ by.mr, by.nr };
    }
    return 4;
}

static void test_prebuilt(void **state)
{
    (void)state;
    static const int parts[] = { EpAny, EpAccumulate | EpPrefetch };
    for (int i = 0; target_name(i); i++) {
        const Target t = target(target_name(i));
        Size size[4];
        if (!of_this_family(&t))
            continue;
        for (int k = default_tiles(&t, size) - 1; k >= 0; k--)
            for (int mr = size[k].mr; mr > 0; mr--)
                for (int p = 0; p < 4; p++) {
                    const TileKey key = {
                        .mr = mr,
                        .nr = size[k].nr,
                        .width = t.width,
                        .dtype = p / 2 ? DtypeBf16 : DtypeF32,
                        .epilogue = parts[p % 2],
                    };
                    assert_non_null(kernel_find(&t, tile_name(a, key)));
                }
    }
}

/* Counts the lines of an assembler function that multiply and add floats or
 * integers. */
static void count_vectors(const char *text, const char *name, int *whole,
                          int *other)
{
    const char *at = strstr(text, arena_printf(a, "\n%s:", name));
    *whole = *other = 0;
    assert_non_null(at);
    for (at++; *at && strncmp(at, "\t.size", 6); at += strcspn(at, "\n") + 1) {
        const char *line = arena_strndup(a, at, strcspn(at, "\n"));
        if (!strstr(line, "vfmadd") && !strstr(line, "vpdpbusd")
            && !strstr(line, "vpmaddubsw"))
            continue;
        *whole += strstr(line, "%zmm") != NULL;
        *other += strstr(line, "%zmm") == NULL;
    }
}

/* bf16 has two k of a pair in a loop, and an odd last one behind it. */
static int steps_of(const char *tile)
{
    return strstr(tile, "bf16") ? 3 : 1;
}

/* Compilers may prefer vectors of half the width for these processors. Then
 * sums do not fit into the registers, and a tile runs at a quarter of its
 * speed. */
static void check_vectors(const Target *t, const char *compiler)
{
    Kernels *k = kernels_new(a, t, false);
    Emit *e = emit_new(a);
    Size size[4];
    const int sizes = default_tiles(t, size);
    size_t n;
    const TileKey keys[] = {
        { .epilogue = 0 },
        { .epilogue = EpAccumulate | EpPrefetch },
        { .dtype = DtypeBf16, .epilogue = EpBias | EpPrefetch },
    };
    for (int i = 0; i < sizes * 3; i++) {
        TileKey key = keys[i % 3];
        key.mr = size[i / 3].mr;
        key.nr = size[i / 3].nr;
        key.width = t->width;
        use_tile(k, key);
    }
    use_tile(k, (TileKey){ .mr = 6,
                           .nr = 64,
                           .width = t->width,
                           .dtype = DtypeInt8,
                           .arithmetic = ArithmeticInt8,
                           .epilogue = EpBias });
    emit_kernels(k, e);
    put(e, "extern void (*const table[])(void);\n"
           "void (*const table[])(void) = {\n");
    for (int i = 0; i < kernels_count(k); i++) {
        let(e, "tile", "%s", kernels_nth(k, i));
        put(e, "(void (*)(void))$tile,\n");
    }
    put(e, "};\n");
    const char *text = emit_text(e, &n);
    FILE *f = fopen(in_dir("k.c"), "w");
    assert_true(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    const char *features[2] = { "-DX", "-DY" };
    for (int i = 0; t->features[i]; i++)
        features[i] = arena_printf(a, "-m%s", t->features[i]);
    assert_true(WORKS(compiler, "-O2", "-std=c11", "-ffp-contract=off",
                      arena_printf(a, "-march=%s", t->march), features[0],
                      features[1], "-S", in_dir("k.c"), "-o", in_dir("k.s")));
    text = text_of(in_dir("k.s"), &n);
    for (int i = 0; i < kernels_count(k); i++) {
        int whole, other, mr, nr;
        const char *tile = kernels_nth(k, i);
        count_vectors(text, tile, &whole, &other);
        assert_int_equal(sscanf(tile, "tile_%dx%d", &mr, &nr), 2);
        if (whole != steps_of(tile) * mr * nr / 16 || other != 0)
            fail_msg("%s by %s for %s: %d whole vectors, %d others", tile,
                     compiler, t->name, whole, other);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    for (int i = 0; target_name(i); i++) {
        const Target t = target(target_name(i));
        for (int c = 0; c < Compilers && of_this_family(&t) && t.width == 16;
             c++)
            if (is_here(c))
                check_vectors(&t, compilers[c]);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_compilers), TEST(test_guard),   TEST(test_program),
        TEST(test_prebuilt),  TEST(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
