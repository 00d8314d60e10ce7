/* parity_test.c: tests that a model's own program answers as attnc run and
 * attnc score do: the same bytes, messages and exit codes, for every row of
 * runtime/options/option_rows.h with values that are good, out of range, of
 * another type and missing, and for combinations of options. Only the program's
 * name and the reference to help differ. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"
#include "runtime/base/pool.h"
#include "runtime/options/settings.h"

#include <cmocka.h>

#include "support/aot.h"

/* ---- rows ---- */

enum { Flag, Int, Float, Text, List, Out };
typedef struct {
    int uses, kind;
    const char *name, *takes;
    double least, most;
} Row;

static const Row rows[] = {
#define OPTION(uses, of, kind, name, takes, place, member, least, most, usual, \
               help)                                                          \
    { uses, kind, name, takes, least, most },
#include "runtime/options/option_rows.h"
};
enum { Rows = sizeof rows / sizeof *rows };

/* Texts that are not numbers, or not accepted ones. */
static const char *const no_numbers[] = {
    "x", "", "1.5", "nan", "1e999", "3 ", " 3", "2", "0x2", "0", "\303\251",
};
/* Words and ids of the models here, and invalid ones. */
static const char *const texts[] = {
    "",   "AH",     "N EH", "hello", "3",  "3 5", " 4\t2 ", "he7lo",
    "99", "h\377e", "-1",   "--",    "%s", "\n",  "--beam", "Attention, please",
};
static const char *const files_[] = {
    "", "/", "$D", "/nowhere/x", "$D/none/x", "$D/kept", "$D/kept/x",
};

#define EACH(i, list) (int i = 0; i < (int)(sizeof list / sizeof *list); i++)

/* ---- command lines ---- */

/* A model: attnc's arguments, options that are always given, and lines of
 * stdin. prompt NULL: an encoder, which reads only lines; `pairs`: valid pairs.
 */
typedef struct {
    const char *spec, *always, *lines, *prompt, *pairs;
} Model;

static const char *script_text; /* a call of t for each command line */
static int script_lines;

/* Adds a line: the use's words, then these. */
static void line(const char *words)
{
    script_text = arena_printf(a, "%st %s\n", script_text, words);
    script_lines++;
}

static void number_lines(const char *begin, const Row *r)
{
    line(arena_printf(a, "%s %.17g", begin, r->least));
    line(arena_printf(a, "%s %.17g", begin, r->most));
    line(arena_printf(a, "%s %.17g", begin, r->least - 1));
    line(arena_printf(a, "%s %.17g", begin, r->most + 1));
    for
        EACH(i, no_numbers)
    line(arena_printf(a, "%s '%s'", begin, no_numbers[i]));
}

/* Adds a few lines for a use that does not have the option. */
static void row_lines(const char *use, int bit, const Row *r)
{
    const char *begin = arena_printf(a, "%s %s", use, r->name);
    const bool is_file = r->takes && !strcmp(r->takes, "FILE");
    line(begin); /* a missing value, if the option takes one */
    line(arena_printf(a, "%sx", begin));
    if (!strcmp(r->name, "--draft")) { /* only attnc takes the file of a spec */
        line(arena_printf(a, "%s=ngram", begin));
        return;
    }
    if (!is_file)
        line(arena_printf(a, "%s=1", begin));
    if (!(r->uses & bit) || r->kind == Flag)
        return;
    if (r->kind == Int || r->kind == Float)
        number_lines(begin, r);
    else if (is_file)
        for
            EACH(i, files_)
    line(arena_printf(a, "%s \"%s\"", begin, files_[i]));
    else
        for EACH (i, texts)
            line(arena_printf(a, "%s '%s'", begin, texts[i]));
}

static const char *const together[] = {
    "--beam 4 --nbest 3 --scores",
    "--beam 3 --nbest 9",
    "--nbest 2",
    "--nbest 4 --beam 2 --alpha 0 --scores --max-output 3",
    "--beam 8 --patience 2 --nbest 8 --length-penalty 1.5",
    "--suppress 3 --suppress '4 5' --suppress 'AH' --suppress 'N EH'",
    "--suppress 3 --beam 2 --scores",
    "--prefix 3 --min-length 4 --max-output 5",
    "--prefix 'AH N' --beam 3 --nbest 3 --scores",
    "--prefix '3 3 3 3 3 3 3 3 3 3 3 3'",
    "--prefix '3 3 3' --max-output 2",
    "--max-input 2 --min-length 6 --no-repeat-ngram 1",
    "--end-token 5 --scores --min-length 2",
    "--end-token 11",
    "--end-token 70",
    "--temperature 0.8 --seed 3 --scores",
    "--temperature 0.8 --beam 4",
    "--top-k 5 --nbest 3 --seed 2 --scores",
    "--top-p 0.9 --beam 1 --nbest 2",
    "--top-p 0.9 --min-p 0.1 --top-k 3 --repetition-penalty 1.2",
    "--temperature 0 --beam 4 --nbest 2",
    "--temperature 0 --top-k 3",
    "--scores --threads 2 --beam 3",
    "--ids --scores",
    "--ids --prefix AH",
    "--ids --suppress 'x y'",
    "-n 4 --stop 5 --stop '3 7'",
    "-n 4 --stop AH --stop 'L'",
    "-n 3 --prefix 3 --stop 3",
    "-n 3 --save-state \"$D/kept\" --quiet",
    "-n0 --max-output 3",
    "-n 9 --max-output 3",
    "--min-length 50 --end-token 3",
    "--quiet --quiet",
    "--save-state /dev/null",
    "--save-state /dev/full",
    "--prompt hello --nbest 2 --beam x",
    "--prompt hello --scores --temperature 1 --beam 2",
    "--beam 3 --prompt hello -n 3",
    "--threads 2 --top-p",
    "--bema 3",
    "--nothing",
    "--nothing=7",
    "-q",
    "-x=\377",
    "--suppres",
    "--beams=3",
    "--no-repeat_ngram 3",
    "--chat",
    "--chat --system x -n 3",
    "--chat --temperature 1 --seed 5 --prefix h --suppress e --min-length 2",
    "--chat --stop e --max-output 4",
    "--chat --stop ''",
    "--chat --beam 2",
    "--chat --ids",
    "--system x",
};

static const char *const of_encoders[] = {
    "--pairs --max-input 5",   "--pairs --max-input 100 --threads 2",
    "--max-input 4",           "--ids --max-input 3",
    "--ids --pairs",           "--pairs --pairs",
    "--pairs --threads 2 --x", "--pair",
    "--threads 2 --pairs=yes", "--pairs --max-input",
};

/* True for an option that only programs of specs with prompts have, and for
 * -o, which attnc run takes without --shard too. */
static bool is_apart(const char *name)
{
    return strcmp(name, "--prompt-name") == 0 || strcmp(name, "-o") == 0;
}

static void encoder_lines(void)
{
    static const char *const uses[] = { "lines", "lines --pairs", "score",
                                        "score --pairs" };
    script_text = "";
    script_lines = 0;
    for
        EACH(k, uses)
        {
            line(uses[k]);
            for (int i = 0; i < Rows; i++)
                if (rows[i].uses & ATTN_FOR_ENCODE && !is_apart(rows[i].name))
                    row_lines(uses[k], ATTN_FOR_ENCODE, &rows[i]);
            for
                EACH(i, of_encoders)
            line(arena_printf(a, "%s %s", uses[k], of_encoders[i]));
        }
}

/* Adds lines for the programs of a model that generates. */
static void all_lines(const Model *m)
{
    const int here = ATTN_FOR_LINES | ATTN_FOR_PROMPT | ATTN_FOR_SCORE
                   | ATTN_FOR_CHAT;
    const char *prompt = arena_printf(a, "prompt -n 4 --prompt '%s'",
                                      m->prompt);
    script_text = "";
    script_lines = 0;
    line("lines");
    line("score");
    line(prompt);
    for (int i = 0; i < Rows; i++) {
        if (!(rows[i].uses & here) || is_apart(rows[i].name))
            continue;
        row_lines("lines", ATTN_FOR_LINES, &rows[i]);
        row_lines(prompt, ATTN_FOR_PROMPT, &rows[i]);
        if (rows[i].uses & ATTN_FOR_SCORE)
            row_lines("score", ATTN_FOR_SCORE, &rows[i]);
    }
    for
        EACH(i, together)
        {
            line(arena_printf(a, "lines %s", together[i]));
            line(arena_printf(a, "%s %s", prompt, together[i]));
        }
    line("prompt --load-state \"$D/kept\" -n 3");
    line("prompt --load-state \"$D/kept\" --beam 3 --save-state \"$D/kept\"");
}

/* ---- logs ---- */

/* Runs the command lines by one of the two: its log, which has for each the
 * line, what came on stdout and stderr, the exit code and the state kept.   */
static const char *log_of(const Model *m, const char *functions)
{
    static const char form[] =
        "A=%s W=%s M=%s D=%s\n"
        "L='%s' P='%s'\n"
        "%s\n"
        "t() {\n"
        "  use=$1; shift\n"
        "  echo \"# $use $*\"\n"
        "  case $use in\n"
        "  lines) printf \"$L\" | run \"$@\" 2> $D/err;;\n"
        "  score) printf \"$P\" | score \"$@\" 2> $D/err;;\n"
        "  prompt) cp $D/kept.0 $D/kept\n"
        "    run --quiet \"$@\" 2> $D/err < /dev/null\n"
        "    code=$?; cksum < $D/kept; (exit $code);;\n"
        "  esac\n"
        "  echo \"= $?\"; grep -v ' tokens per ' $D/err\n"
        "}\n"
        "%s";
    Spawned s;
    Fault why;
    const char *text = arena_printf(a, form, attnc(), in_dir("m.weights"),
                                    in_dir("m"), dir, m->lines, m->pairs,
                                    functions, script_text);
    size_t n;
    assert_true(write_file(in_dir("lines.sh"), text, strlen(text), &why));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c",
                         arena_printf(a, "sh %s > %s 2>&1", in_dir("lines.sh"),
                                      in_dir("log"))),
                     0);
    return text_of(in_dir("log"), &n);
}

/* Replaces each `from` by `to`. */
static const char *instead(const char *text, const char *from, const char *to)
{
    Buffer b = { .arena = a };
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
        buffer_add(&b, text, at - text);
        buffer_add(&b, to, strlen(to));
    }
    buffer_add(&b, text, strlen(text));
    return arena_strndup(a, b.at, (size_t)b.n);
}

/* Fails at the first command line for which the two logs differ. */
static void same_logs(const char *x, const char *y)
{
    const char *head = x;
    size_t i = 0;
    while (x[i] && x[i] == y[i]) {
        i++;
        if (x[i] == '#' && x[i - 1] == '\n')
            head = x + i;
    }
    if (x[i] || y[i])
        fail_msg("attnc: %.*s\nthe program: %.*s", 600, head, 600,
                 y + (head - x));
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void check(const Model *m)
{
    const char *always = m->always, *x, *y;
    const bool encodes = !m->prompt;
    const char *first = encodes
                          ? "true"
                          : arena_printf(a,
                                         "$A run %s %s --quiet --prompt '%s' "
                                         "-n 2 --save-state $D/kept.0",
                                         m->spec, always, m->prompt);
    assert_true(
        WORKS("/bin/sh", "-c",
              arena_printf(a,
                           "A=%s D=%s && "
                           "$A compile %s --quiet "
                           "--march=native -o $D/m.c && "
                           "%s -std=c11 -O1 -march=native "
                           "-DATTNC_MAIN $D/m.c -lm -o $D/m && "
                           "%s",
                           attnc(), dir, m->spec, some_clang(), first)));
    if (encodes)
        encoder_lines();
    else
        all_lines(m);
    x = log_of(m, arena_printf(a,
                               "run() { $A run %s %s \"$@\"; }\n"
                               "score() { $A %s %s %s \"$@\"; }",
                               m->spec, always, encodes ? "run" : "score",
                               m->spec, always));
    y = log_of(m, arena_printf(a,
                               "run() { $M $W %s \"$@\"; }\n"
                               "score() { $M $W %s %s \"$@\"; }",
                               always, always, encodes ? "" : "--score"));
    x = instead(x, "attnc help run lists them", "--help lists them");
    x = instead(x, "attnc help score lists them", "--help lists them");
    y = instead(y, arena_printf(a, "%s: ", in_dir("m")), "attnc: ");
    same_logs(x, y);
    assert_int_equal(count(x, "\n= "), script_lines);
    const int most = encodes ? 10 : 100;
    assert_true(count(x, "\n= 0\n") > most && count(x, "\n= 2\n") > most
                && count(x, "\n= 3\n") > 10);
}

static void test_text(void **state)
{
    (void)state;
    check(&(Model){ g2p, "", "hello\\r\\nhe7lo\\n\\r\\nattention\\n", "hello",
                    "hello\\tHH EH L OW\\r\\nhello\\n\\tAH\\nhello\\t\\n"
                    "he7lo\\tAH\\nhello\\tXX\\n" });
}

static void test_ids(void **state)
{
    (void)state;
    check(&(Model){ "tests/torch/rotary.yaml", "--ids",
                    "5\\n11\\n\\n1 2 3 4\\n1 1 1 1 1 1 1 1 1 1 1 1 1\\n", "5 6",
                    "5\\t6 7\\n5 6\\n\\t3\\n5\\t\\n5\\t11\\nx\\t5\\n"
                    "1 1 1 1 1 1 1 1\\t1 1 1 1 1 1 1 1\\n" });
}

/* Tests a spec's ids of answers, with options that change them. */
static void test_spec_ids(void **state)
{
    (void)state;
    check(&(Model){ "tests/torch/relative.yaml --set vocab.tokens.end=[2,5] "
                    "--set search.prefix=[3,4] "
                    "--set search.suppress=[7,[8,9]] "
                    "--set search.suppress_first=[6,10]",
                    "--ids",
                    "5\\n10\\n\\n1 2 3 4\\n1 1 1 1 1 1 1 1 1 1 1 1 1\\n", "5 6",
                    "5\\t6 7\\n5 6\\t3 4 6 7\\n\\t3\\n5\\t\\n5\\t3 4\\n"
                    "5\\t11\\nx\\t5\\n"
                    "1 1 1 1 1 1 1 1\\t1 1 1 1 1 1 1 1 1 1 1 1 1\\n" });
}

static void test_chat(void **state)
{
    (void)state;
    check(&(Model){ "tests/cli/chat.yaml", "",
                    "hello\\nhole\\nHe\\n\\noh\\nh\\377e\\n"
                    "hellohellohellohellohellohellohellohellohello\\n"
                    "hellohellohellohello\\nhello\\n",
                    "hello", "h\\te\\nH\\te\\n" });
}

/* Tests a reranker: lines of texts and of pairs. */
static void test_encoder(void **state)
{
    (void)state;
    const char *spec = in_dir("reranker.yaml");
    assert_true(WORKS(attnc(), "import", "tests/families/texts/reranker", "-o",
                      spec, "--quiet"));
    check(&(Model){
        spec,
        "",
        "a file\\tthe words\\nno tab\\n\\na\\tb\\tc\\n\\t\\n"
        "3 4 5\\n3 4\\t5\\n\\377\\t\\377\\nattention attention "
        "attention attention attention attention attention\\t"
        "attention attention attention attention attention\\n",
        NULL,
        "what is it\\tThe compiler.\\n\\na\\tb\\n\\tno first\\n"
        "no second\\t\\n",
    });
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = { TEST(test_chat), TEST(test_text),
                                        TEST(test_ids), TEST(test_spec_ids),
                                        TEST(test_encoder) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
