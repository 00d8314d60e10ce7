/* header_programs_test.c: tests the programs in a header's first comment as
 * printed, for every kind of model, with a weights file and with embedded
 * weights, in C11 and in C++17, by clang and gcc. Each has at most six lines,
 * and answers as attnc run, attnc score or the model's own program. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static const char march[] = "--march=x86-64-v3";

enum { Programs = 4, Most = 6 };

typedef struct {
    const char *code[Programs];
    int n;
} Examples;

/* Returns the programs in a header's first comment; each begins with `//
 * description`. */
static Examples examples_of(const char *header)
{
    Examples x = { .n = 0 };
    size_t n;
    const char *at = text_of(header, &n);
    for (; strncmp(at, " * Compile it ", 14); at = strchr(at, '\n') + 1) {
        const int size = (int)strcspn(at, "\n"), skipped = size < 7 ? size : 7;
        const char *line = arena_printf(a, "%.*s\n", size - skipped,
                                        at + skipped);
        if (!strncmp(line, "// ", 3)) {
            assert_true(x.n < Programs);
            x.code[x.n++] = "";
        }
        if (x.n > 0)
            x.code[x.n - 1] = arena_printf(a, "%s%s", x.code[x.n - 1], line);
    }
    assert_true(x.n > 0);
    return x;
}

/* Checks the number of lines from main() to its last return. */
static void assert_short(const char *code)
{
    int lines = 0;
    const char *at = strchr(strstr(code, "int main("), '\n') + 1;
    for (; strncmp(at, "    return", 10); at = strchr(at, '\n') + 1)
        lines++;
    if (lines > Most)
        fail_msg("%d lines:\n%s", lines, code);
}

static void assert_same(const char *code, const char *got, const char *expected)
{
    if (strcmp(got, expected))
        fail_msg("\"%s\", not \"%s\":\n%s", got, expected, code);
}

/* Returns the stdout of a command in the folder, which must succeed. */
static const char *output_of(const char *command, const char *input)
{
    Spawned s;
    const char *line = arena_printf(a, "cd %s && %s", dir, command);
    if (RUN(&s, input, "/bin/sh", "-c", line) != 0)
        fail_msg("%s: %s%s", command, s.out, s.tail);
    return arena_strdup(a, s.out);
}

/* ---- what they should say ---- */

typedef struct {
    const char *spec, *sets[8];
    const char *text, *answer; /* arguments; NULL: token ids */
    bool decoder;
} Form;

/* Runs attnc COMMAND with the form's spec. */
static const char *attnc_says(const Form *f, const char *command,
                              const char *option, const char *input)
{
    const char *words[16] = { attnc(), command, f->spec, march };
    Spawned s;
    int n = 4;
    for (int i = 0; f->sets[i]; i++)
        words[n++] = f->sets[i];
    if (!f->text)
        words[n++] = "--ids";
    if (option)
        words[n++] = option;
    if (run(&s, input, words) != 0)
        fail_msg("attnc %s: %s", command, s.tail);
    return arena_strdup(a, s.out);
}

/* Returns up to three first numbers printed by the model's own program. */
static const char *numbers_of(const char *option, const char *input)
{
    const char *out = output_of(
        arena_printf(a, "./program %s $(ls m.weights 2>/dev/null)", option),
        input);
    size_t n = 0;
    for (int i = 0; i < 3 && out[n] && out[n] != '\n'; i++) {
        n += out[n] == ' ';
        n += strcspn(out + n, " \n");
    }
    return arena_printf(a, "%.*s\n", (int)n, out);
}

static const char *first_line(const char *text)
{
    return arena_printf(a, "%.*s", (int)strcspn(text, "\n"), text);
}

static const char *score_of(const Form *f)
{
    const char *input = f->text
                          ? arena_printf(a, "%s\t%s\n", f->text, f->answer)
                          : "3 4 5\t3\n";
    const char *out = attnc_says(f, "score", NULL, input);
    return arena_printf(a, "%.*s \n", (int)strcspn(out, "\t"), out);
}

/* Returns a decoder's answer without its prompt. */
static const char *continued(const Form *f)
{
    const char *prompt = arena_printf(a, "--prompt=%s", f->text);
    const char *out = attnc_says(f, "run", prompt, "");
    assert_memory_equal(out, f->text, strlen(f->text));
    return first_line(out + strlen(f->text));
}

static const char *expected_of(const Form *f, const char *code)
{
    const char *line = f->text ? arena_printf(a, "%s\n", f->text) : "3 4 5\n";
    if (strstr(code, "_translate("))
        return attnc_says(f, "run", NULL, line);
    if (strstr(code, "_generate(") && f->decoder)
        return continued(f);
    if (strstr(code, "_generate("))
        return first_line(attnc_says(f, "run", NULL, line));
    if (strstr(code, "_generate_ids("))
        return arena_printf(a, "%s ",
                            first_line(attnc_says(f, "run", NULL, line)));
    if (strstr(code, "_score(") || strstr(code, "_score_ids("))
        return score_of(f);
    if (strstr(code, "_embed("))
        return numbers_of("", line);
    if (strstr(code, "_encode("))
        return numbers_of(f->text ? "--ids" : "", "3 4 5\n");
    if (strstr(code, "_encode_rows("))
        return numbers_of("", "1 0 0 0 0\n0 0 0 0 0\n");
    assert_non_null(strstr(code, "_attend("));
    return numbers_of("", "1 0 0 0\n\n1 2 0 0\n0 0 0 0\n\n3 4 0 0\n0 0 0 0\n");
}

/* ---- what they say ---- */

static void run_example(const Form *f, const char *code)
{
    static const char *const compilers[] = { "gcc -std=c11 -x c",
                                             "clang -std=c11 -x c",
                                             "gcc -std=c++17 -x c++",
                                             "clang -std=c++17 -x c++" };
    const char *expected = expected_of(f, code), *args = "";
    Fault why;
    assert_short(code);
    assert_true(write_file(in_dir("x.txt"), code, strlen(code), &why));
    if (f->text && strstr(code, "_score("))
        args = arena_printf(a, "'%s' '%s'", f->text, f->answer);
    else if (f->text)
        args = arena_printf(a, "'%s'", f->text);
    for (int c = 0; c < 4; c++) {
        const char *cc = compilers[c];
        const bool clang = !strncmp(cc, "clang", 5);
        if (clang) /* by its own name, as clang-19 */
            cc = arena_printf(a, "%s%s", some_clang(), cc + 5);
        output_of(arena_printf(a,
                               "%s -Wall -Wextra -Wpedantic -Werror x.txt "
                               "-x none m.o -lm -o x",
                               cc),
                  "");
        assert_same(code, output_of(arena_printf(a, "./x %s", args), ""),
                    expected);
    }
}

/* The program with a weights file also answers for embedded weights. */
static void check_form(const Form *f, bool embed)
{
    const char *words[16] = { attnc(), "compile", f->spec, march };
    int n = 4;
    for (int i = 0; f->sets[i]; i++)
        words[n++] = f->sets[i];
    if (embed)
        words[n++] = "--embed";
    words[n++] = "-o";
    words[n++] = in_dir("m.c");
    assert_true(works(words));
    output_of(arena_printf(a, "%s -O0 -march=x86-64-v3 -c m.c", some_clang()),
              "");
    if (!embed)
        output_of(arena_printf(a,
                               "%s -O0 -march=x86-64-v3 -DATTNC_MAIN m.c -lm "
                               "-pthread -o program",
                               some_clang()),
                  "");
    const Examples x = examples_of(in_dir("m.h"));
    for (int i = 0; i < x.n; i++)
        run_example(f, x.code[i]);
}

static void check(const Form *f)
{
    check_form(f, false);
    check_form(f, true);
    unlink(in_dir("m.weights"));
}

static void test_encoder_decoder(void **state)
{
    (void)state;
    check(&(Form){ g2p, .text = "attention", .answer = "AH T EH N SH AH N" });
    check(&(Form){ .spec = "tests/torch/two_sizes.yaml" });
}

static void test_decoder(void **state)
{
    (void)state;
    check(&(Form){ g2p,
                   { "--set=kind=decoder", "--set=search.beam=1" },
                   "AH T",
                   "EH N",
                   .decoder = true });
    check(&(Form){ "tests/torch/softcap.yaml", .decoder = true });
}

static void test_encoder(void **state)
{
    (void)state;
    check(&(Form){ .spec = "tests/torch/pool_mean.yaml" });
    check(&(Form){ .spec = "tests/torch/masked_words.yaml" });
    check(&(Form){ .spec = "tests/torch/real_input.yaml" });
    check(&(Form){ .spec = "tests/torch/class_token.yaml" });
}

/* Returns a form with a vocabulary. */
static void test_text_encoder(void **state)
{
    (void)state;
    const Form f = { g2p,
                     { "--set=kind=encoder", "--set=weights=",
                       "--set=masking.decoder=", "--set=embedding.tie=",
                       "--set=search=", "--set=vocab.target=", "--seed=1" },
                     .text = "attention" };
    check(&f);
    size_t n;
    assert_non_null(strstr(text_of(in_dir("m.h"), &n), "(g2p_en_embed(h, "));
}

static void test_attention(void **state)
{
    (void)state;
    check_form(&(Form){ .spec = "models/attention.yaml",
                        .sets = { "--set=projections=false", "--set=d_model=4",
                                  "--set=h=2" } },
               false);
    check(&(Form){ .spec = "models/attention.yaml",
                   .sets = { "--set=d_model=4", "--set=h=2", "--seed=1" } });
}

/* Tests that the first program of docs/generate.md is that of the header. */
static void test_page(void **state)
{
    (void)state;
    size_t n;
    assert_true(WORKS(attnc(), "compile", g2p, march, "--embed", "-o",
                      in_dir("model.c")));
    const char *page = text_of("docs/generate.md", &n), *expected = "";
    const char *at = examples_of(in_dir("model.h")).code[0];
    for (; *at && strncmp(at, "}", 1); at = strchr(at, '\n') + 1)
        expected = arena_printf(a, "%s%s%.*s", expected,
                                *at == '\n' ? "" : "    ",
                                (int)strcspn(at, "\n") + 1, at);
    if (!strstr(page, expected))
        fail_msg("docs/generate.md does not have:\n%s", expected);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_encoder_decoder), TEST(test_decoder),   TEST(test_encoder),
        TEST(test_text_encoder),    TEST(test_attention), TEST(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
