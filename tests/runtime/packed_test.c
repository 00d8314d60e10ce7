/* packed_test.c: tests rejected model.weights and their messages: changed bits,
 * truncated or forged files, other formats, versions, models and dtypes; and a
 * file truncated while an emitted program has it mapped. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

static Engine e;
static struct attn_model fits; /* the engine's, and how it was emitted */
static char *file;             /* model.weights of the engine's model */
static int64_t bytes;
static char said[ATTN_PACKED_TEXT];

static struct attn_packed_header *head(void)
{
    return (struct attn_packed_header *)file;
}

static void save(const char *path)
{
    Fault why;
    assert_true(
        weights_save(path,
                     &(PackedModel){ &e.plan->pack, e.packed, e.source.block,
                                     e.source.bytes, e.target_vocab.block,
                                     e.target_vocab.bytes, 0 },
                     &why));
}

static int open_g2p(void **state)
{
    const EngineOptions o = { .spec = g2p, .seed = 1 };
    size_t n;
    if (set_up(state) || engine_open(&e, &o) != ExitDone)
        return -1;
    fits = *e.backend.model;
    fits.command = "attnc compile g2p-en.yaml";
    save(in_dir("m.weights"));
    const char *text = text_of(in_dir("m.weights"), &n);
    file = aligned_memory(a, (int64_t)n);
    memcpy(file, text, n);
    bytes = (int64_t)n;
    return 0;
}

static int close_g2p(void **state)
{
    engine_close(&e);
    return tear_down(state);
}

static const char *check(int64_t n, int64_t hashed)
{
    return attn_packed_check(&fits, file, n, hashed, said);
}

static void assert_said(const char *wrong, const char *expected)
{
    if (!wrong || !strstr(wrong, expected))
        fail_msg("'%s' is not in: %s", expected, wrong ? wrong : "(nothing)");
}

/* ---- damage ---- */

static void flip(int64_t at, int bit)
{
    file[at] = (char)(file[at] ^ 1 << bit);
}

static void test_bits(void **state)
{
    (void)state;
    assert_null(check(bytes, 1));
    for (int64_t at = 0; at < (int64_t)sizeof *head(); at++)
        for (int bit = 0; bit < 8; bit++) {
            flip(at, bit);
            for (int hashed = 0; hashed < 2; hashed++)
                assert_non_null(check(bytes, hashed));
            flip(at, bit);
        }
    for (int64_t i = 0; i < 400; i++) {
        const int64_t at = (i * 2654435761 + 4096) % bytes;
        flip(at, (int)(i % 8));
        assert_said(check(bytes, 1), "damaged: ");
        flip(at, (int)(i % 8));
    }
    flip(head()->weights_at + 3, 6);
    assert_said(check(bytes, 1), "its contents are not what was packed (");
    assert_said(said, "); copy it again; pack it again: attnc compile g2p");
    assert_null(check(bytes, 0)); /* its contents are not checked */
    flip(head()->weights_at + 3, 6);
    flip(4000, 0); /* in the page, after the header */
    assert_said(check(bytes, 0), "damaged: its first page is not what was ");
    flip(4000, 0);
    assert_null(check(bytes, 1));
}

static void test_lengths(void **state)
{
    (void)state;
    const int64_t cuts[] = {
        8,    9,    15,   16,        100,        4095,
        4096, 4097, 8192, bytes / 2, bytes - 64, bytes - 1
    };
    for (int64_t n = 0; n < 8; n++)
        assert_said(check(n, 1), "not a weights file of attnc: too short");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_said(check(cuts[i], 1), "cut short: it has ");
        assert_said(said,
                    cuts[i] < 4096
                        ? " of more than 4096 bytes"
                        : arena_printf(a, "%lld of %lld bytes; copy it again",
                                       (long long)cuts[i], (long long)bytes));
    }
    char *longer = aligned_memory(a, bytes + 64);
    memcpy(longer, file, (size_t)bytes);
    assert_said(attn_packed_check(&fits, longer, bytes + 64, 1, said),
                "damaged: it has ");
}

/* ---- other files ---- */

/* Makes the hashes right again. */
static void hash_anew(void)
{
    head()->contents = attn_hash(file + ATTN_PACKED_PAGE,
                                 bytes - ATTN_PACKED_PAGE, 0);
    head()->page = attn_packed_page(file);
}

static void test_other_files(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *says;
    } other[] = {
        { "ATTNCW01",
          "made by another version of attnc: its format is "
          "ATTNCW01, this program's is ATTNCW03; pack it again: attnc compile "
          "g2p-en.yaml" },
        { "ATTNCW04", "its format is ATTNCW04, this program's is ATTNCW03" },
        { "ATTNST02", "not a weights file of attnc: a saved state; pack it" },
        { "\x10\0\0\0\0\0\0\0{",
          "a .safetensors file, which attnc compile "
          "packs; pack it again: attnc compile g2p-en.yaml" },
        { "attnc: 1", "its first bytes are 'attnc: 1', not 'ATTNCW03'; pack" },
        { "\x7f\x45LF\x1b[31m", "its first bytes are '?ELF?[31', not " },
    };
    char was[9];
    memcpy(was, file, 9);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        memcpy(file, other[i].begin, 9);
        assert_said(check(bytes, 1), other[i].says);
    }
    memcpy(file, was, 9);
    assert_null(check(bytes, 1));
}

/* Tests other models. The name need not match; messages mention it if something
 * else does not. */
static void test_other_models(void **state)
{
    (void)state;
    struct attn_model m = fits;
    m.name = "other";
    assert_null(attn_packed_check(&m, file, bytes, 1, said));
    m.weights_hash = 0xabcdef;
    assert_said(attn_packed_check(&m, file, bytes, 1, said),
                "made for the model 'g2p-en', this is 'other'; pack it again: "
                "attnc compile g2p-en.yaml");
    m.name = fits.name;
    assert_said(attn_packed_check(&m, file, bytes, 1, said),
                arena_printf(a,
                             "made for another form of 'g2p-en' (%llx, not "
                             "abcdef); pack it again: attnc compile g2p-en."
                             "yaml",
                             (unsigned long long)head()->hash));
    m.dtype = "bf16";
    assert_said(attn_packed_check(&m, file, bytes, 1, said),
                "its weights are f32, this program's bf16; pack it again");
    m = fits;
    m.source_vocab++;
    assert_said(attn_packed_check(&m, file, bytes, 1, said),
                "a vocabulary has not the model's number of tokens");
    m.command = arena_printf(a, "%600d", 1); /* it fits */
    m.weights_hash++;
    attn_packed_check(&m, file, bytes, 1, said);
    assert_int_equal(strlen(said), sizeof said - 1);
}

/* Tests that a header with correct hashes never leads outside the file. */
static void test_forged(void **state)
{
    (void)state;
    const struct attn_packed_header was = *head();
    for (size_t i = 16; i < offsetof(struct attn_packed_header, name); i++)
        for (int x = 0; x < 256; x++) {
            file[i] = (char)x;
            head()->page = attn_packed_page(file);
            if (!check(bytes, 0)) {
                assert_int_equal(head()->weights_at % 64, 0);
                assert_in_range(head()->weights_at, ATTN_PACKED_PAGE,
                                bytes - head()->weights_bytes);
            }
            *head() = was;
        }
    memset(head()->name, 'x', sizeof head()->name); /* without an end */
    head()->hash++;
    hash_anew();
    assert_said(check(bytes, 1), "xxx', this is 'g2p-en'");
    *head() = was;
    const int64_t vocab = head()->target_vocab_at;
    flip(vocab, 0); /* its magic */
    hash_anew();
    assert_said(check(bytes, 1), "damaged: no vocabulary: ");
    flip(vocab, 0);
    *head() = was;
    assert_null(check(bytes, 1));
}

/* ---- programs ---- */

/* Truncates the file named by CUT once it is closed, which is after mapping it.
 */
static const char cutter[] =
    "#define _GNU_SOURCE\n"
    "#include <stdlib.h>\n"
    "#include <sys/stat.h>\n"
    "#include <sys/syscall.h>\n"
    "#include <unistd.h>\n"
    "int close(int fd)\n"
    "{\n"
    "    struct stat x, y;\n"
    "    const char *cut = getenv(\"CUT\");\n"
    "    if (cut && !fstat(fd, &x) && !stat(cut, &y) && x.st_ino == y.st_ino)\n"
    "        if (truncate(cut, 0))\n"
    "            _exit(99);\n"
    "    return (int)syscall(SYS_close, fd);\n"
    "}\n";

static void build_program(const char *name, const char *spec, const char *more)
{
    Fault why;
    const char *c = arena_printf(a, "%s.c", in_dir(name));
    assert_true(
        WORKS(attnc(), "compile", spec, "--march=native", more, "-o", c));
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", c, "-lm", "-o", in_dir(name)));
    assert_true(
        write_file(in_dir("tree_shaker.c"), cutter, strlen(cutter), &why));
    assert_true(WORKS(some_clang(), "-shared", "-fPIC", in_dir("tree_shaker.c"),
                      "-o", in_dir("cut.so")));
}

/* Runs a shell line in the folder. */
static int sh(Spawned *s, const char *input, const char *line)
{
    return RUN(s, input, "/bin/sh", "-c",
               arena_printf(a, "cd %s; %s", dir, line));
}

static void assert_sh(int code, const char *input, const char *line,
                      const char *says)
{
    Spawned s;
    const int found = sh(&s, input, line);
    if (found != code || !strstr(*says ? s.tail : s.out, says))
        fail_msg("%s: %d %s%s, and not: %s", line, found, s.out, s.tail, says);
    if (*says && *s.out)
        fail_msg("%s: says %s and answers %s", line, s.tail, s.out);
}

/* Tests a changed bit of an exponent in sixty files; any change is detected. */
static void test_exponents(void)
{
    for (int i = 0; i < 60; i++) {
        Fault why;
        const int64_t n = head()->weights_bytes / 4;
        const int64_t at = head()->weights_at + i * 7919 % n * 4;
        const int bit = 23 + i % 8;
        flip(at + bit / 8, bit % 8);
        assert_true(write_file(in_dir("bad"), file, (size_t)bytes, &why));
        flip(at + bit / 8, bit % 8);
        assert_sh(3, "hello\n", "./m bad",
                  "damaged: its contents are not what "
                  "was packed");
    }
    assert_sh(0, "hello\n", "./m bad --no-check > told", "");
    assert_sh(0, "", "./m --no-check bad || test $? = 2", "");
    assert_sh(0, "", "./m bad --no-check --prompt hello -n 2 --quiet > told",
              "");
    assert_sh(2, "", "./m bad --no-check -n 2", "-n is for --prompt");
}

static void test_files_of_others(void)
{
    assert_sh(3, "x\n", "./m other.weights",
              "other.weights: made for the "
              "model 'tiny', this is 'g2p-en'; pack it again: attnc compile "
              "g2p-en.yaml --march=");
    assert_sh(3, "x\n", "./m bf16.weights",
              "bf16.weights: its weights are "
              "bf16, this program's f32; pack it again: attnc compile ");
    assert_sh(3, "x\n", "./m m.c", "m.c: not a weights file of attnc: its ");
    assert_sh(3, "x\n", ": > none; ./m none",
              "none: not a weights file of "
              "attnc: too short");
    assert_sh(3, "x\n", "head -c 9999 m.weights > x; ./m x", "x: cut short: ");
    assert_sh(3, "x\n", "{ printf ATTNCW01; tail -c +9 m.weights; } > x; ./m x",
              "its format is ATTNCW01, this program's is ATTNCW03; pack it");
}

/* Tests a file truncated when it is opened, after 32 answers, and while a state
 * is restored: the program reports it and ends. */
static void test_cut_while_mapped(void)
{
    static const char says[] = ": the file was cut while it was in use\n";
    assert_sh(4, "hello\n", "cp m.weights x; CUT=x LD_PRELOAD=./cut.so ./m x",
              arena_printf(a, "./m: error: x%s", says));
    assert_sh(4, "hello\n",
              "cp m.weights x; CUT=x LD_PRELOAD=./cut.so ./m x "
              "--no-check",
              arena_printf(a, "x%s", says));
    assert_sh(0, "",
              "./m m.weights --prompt hello -n 1 --quiet "
              "--save-state s > told",
              "");
    assert_sh(4, "", "CUT=s LD_PRELOAD=./cut.so ./m m.weights --load-state s",
              arena_printf(a, "./m: error: s%s", says));
    assert_sh(4, "",
              "cp m.weights x; mkfifo in out; ./m x < in > out & "
              "exec 3> in 4< out; yes hello | head -n 32 >&3; "
              "head -n 32 <&4 > told; : > x; echo hello >&3; exec 3>&-; "
              "wait $!",
              arena_printf(a, "./m: error: x%s", says));
    assert_sh(0, "", "sort -u told", "");
    assert_sh(0, "", "test $(wc -l < told) = 32", "");
}

static void test_programs(void **state)
{
    (void)state;
    save(in_dir("again"));
    build_program("m", g2p, "-O2");
    same_file(in_dir("m.weights"), in_dir("again"));
    assert_true(WORKS(attnc(), "compile", g2p, "--set", "dtype=bf16", "-o",
                      in_dir("bf16.c")));
    assert_true(WORKS(attnc(), "compile", g2p, "--set", "name=tiny", "--set",
                      "activation=gelu", "--set", "dtype=bf16", "-o",
                      in_dir("other.c")));
    test_exponents();
    test_files_of_others();
    test_cut_while_mapped();
}

/* Tests that weights inside a C file have no hash, and none is required; an
 * encoder's program has the option, too. */
static void test_other_programs(void **state)
{
    (void)state;
    build_program("m", g2p, "--embed");
    assert_sh(0, "hello\n", "./m", "");
    assert_sh(0, "hello\n", "./m --no-check", "");
    build_program("m", "tests/torch/classify.yaml", "-O2");
    assert_sh(0, "1 2 3\n", "./m m.weights > x", "");
    assert_sh(0, "1 2 3\n", "./m m.weights --no-check > y; cmp x y", "");
    assert_sh(2, "", "./m m.weights --no-chec", "--no-check");
    assert_sh(4, "1 2 3\n", "cp m.weights x; CUT=x LD_PRELOAD=./cut.so ./m x",
              "x: the file was cut while it was in use");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_g2p, close_g2p)
    const struct CMUnitTest tests[] = {
        TEST(test_bits),           TEST(test_lengths), TEST(test_other_files),
        TEST(test_other_models),   TEST(test_forged),  TEST(test_programs),
        TEST(test_other_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
