/* gbnf_test.c: tests grammars in GBNF: the messages, with their places; what
 * hand-written ones match; and random ones against a matcher of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/core.h"

/* Opens the automaton of a grammar without tokens, in memory that the caller
 * frees. Returns NULL if the grammar is wrong; then *is says why. */
static struct attn_grammar *opened(const char *text, struct attn_gbnf *is,
                                   void **memory)
{
    struct attn_memory at;
    struct attn_grammar *g = NULL, counted = { 0 };
    const int64_t bytes = (int64_t)strlen(text);
    attn_memory_open(&at, NULL);
    *memory = NULL;
    for (int laid = 0; laid < 2; laid++) {
        g = attn_take(&at, 1, sizeof *g);
        g = laid ? g : &counted;
        memset(g, 0, sizeof *g);
        const int wrong = attn_gbnf_read(&g->is, text, bytes, &at);
        *is = g->is;
        if (wrong)
            return NULL;
        attn_automaton_take(g, &at);
        if (laid == 0) {
            *memory = malloc((size_t)attn_memory_bytes(&at));
            attn_memory_open(&at, *memory);
        }
    }
    g->nodes = 1;
    attn_automaton_forget(g, 0);
    return g;
}

/* Returns 1 if the automaton accepts a text, 2 if it accepts its beginning. */
static int reads(struct attn_grammar *g, const char *text)
{
    int32_t state = attn_automaton_start(g);
    for (; *text && state > 0; text++)
        state = attn_automaton_next(g, state, (unsigned char)*text);
    return state <= 0 ? 0 : attn_automaton_ends(g, state) ? 1 : 2;
}

static void messages(void **unused)
{
    static const struct {
        const char *text;
        int line, column;
        const char *why;
    } rows[] = {
        { "", 1, 1, "no rule root" },
        { "a ::= \"b\"", 1, 1, "no rule root" },
        { "root = \"a\"", 1, 6, "::= is expected" },
        { "root ::= \"a\"\n%", 2, 1, "a rule is expected" },
        { "\xef\xbb\xbfroot = \"a\"", 1, 6, "::= is expected" },
        { "root ::= \"a\"\n\xef\xbb\xbf", 2, 1, "a rule is expected" },
        { "root ::= \"\xc3\xa9\" $", 1, 14, "not a part of a rule" },
        { "root ::= \"a", 1, 10, "no closing quote" },
        { "root ::= [a", 1, 10, "no closing bracket" },
        { "root ::= [a-", 1, 10, "no closing bracket" },
        { "root ::= (\"a\"\n", 1, 10, "no closing parenthesis" },
        { "root ::= \"\\q\"", 1, 11, "no such escape" },
        { "root ::= \"\\x4g\"", 1, 14, "a hexadecimal digit" },
        { "root ::= \"\\ud800\"", 1, 13, "no such character" },
        { "root ::= [b-a]", 1, 11, "ends before it begins" },
        { "root ::= [^\\x00-\\U0010ffff]", 1, 10, "no character" },
        { "root ::= []", 1, 10, "no character" },
        { "root ::= \"a\"{3,2}", 1, 13, "ends before it begins" },
        { "root ::= \"a\"{x}", 1, 13, "a repetition is" },
        { "root ::= \"a\"{999999}", 1, 20, "more than 262144 states" },
        { "root ::= b\n", 1, 10, "no rule of this name" },
        { "root ::= \"a\"\nroot ::= \"b\"", 2, 1, "is there already" },
        { "root ::= root \"a\" | \"b\"", 1, 1, "begins with itself" },
        { "root ::= a*\na ::= b? a \"x\"\nb ::= \"y\"", 2, 1,
          "begins with itself" },
        { "root ::= a\na ::= \"x\"? b\nb ::= a", 2, 1, "begins with itself" },
        { "root ::= \"a\" root", 1, 1, "never ends" },
        { "root ::= \"a\" | x\nx ::= \"b\" x", 2, 1, "never ends" },
        { "root ::= \"a\xff\"", 1, 12, "not UTF-8" },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_gbnf is;
        int64_t line, column;
        void *memory;
        if (opened(rows[i].text, &is, &memory))
            fail_msg("%s is taken", rows[i].text);
        attn_gbnf_place(is.text, is.at, &line, &column);
        if (!strstr(is.why, rows[i].why) || line != rows[i].line
            || column != rows[i].column)
            fail_msg("%s: %d:%d: %s", rows[i].text, (int)line, (int)column,
                     is.why);
        free(memory);
    }
}

/* The checks take time in proportion to the grammar, whatever its order is. */
static void many_rules(void **unused)
{
    enum { Rules = 60000, Bytes = 32 };
    char *text = malloc((size_t)Rules * Bytes);
    (void)unused;
    for (int circle = 0; circle < 2; circle++) {
        struct attn_gbnf is;
        void *memory;
        char *to = text;
        to += sprintf(to, "root ::= r%d\n", Rules - 1);
        to += sprintf(to, circle ? "r0 ::= r%d\n" : "r0 ::= \"a\"\n",
                      Rules - 1);
        for (int i = 1; i < Rules; i++)
            to += sprintf(to, "r%d ::= \"b\"? r%d\n", i, i - 1);
        assert_int_equal(opened(text, &is, &memory) != NULL, !circle);
        if (circle)
            assert_non_null(strstr(is.why, "begins with itself"));
        free(memory);
    }
    free(text);
}

static void deep_groups(void **unused)
{
    char text[1024] = "root ::= ";
    struct attn_gbnf is;
    void *memory;
    (void)unused;
    memset(text + 9, '(', 300);
    assert_null(opened(text, &is, &memory));
    assert_non_null(strstr(is.why, "more than 200 groups"));
    free(memory);
}

static void matches(void **unused)
{
    static const struct {
        const char *grammar, *text;
        int is;
    } rows[] = {
        { "root ::= \"ab\" | \"ac\" # b\n | \"d\"", "ac", 1 },
        { "root ::= \"ab\" | \"ac\"\n\n | \"d\"", "d", 1 },
        { "root ::= \"ab\" |\n \"ac\"", "a", 2 },
        { "root ::= (\"a\"\n \"b\")+ [c-e]?", "ababd", 1 },
        { "root ::= (\"a\" \"b\")+ [c-e]?", "abf", 0 },
        { "root ::= \"a\"{2,3} \"b\"{0,2}", "aaabb", 1 },
        { "root ::= \"a\"{2,3} \"b\"{0,2}", "aaaa", 0 },
        { "root ::= \"a\"{2,}", "aaaaa", 1 },
        { "root ::= \"a\"{2,}", "a", 2 },
        { "root ::= \"a\"{0} \"b\"{2}", "bb", 1 },
        { "root ::= [^\"\\\\\\x00-\\x1f]+", "a\xc3\xa9\xf0\x9f\x98\x80", 1 },
        { "root ::= [^\xc3\xa9]+", "\xc3\xa8", 1 },
        { "root ::= [^\xc3\xa9]+", "\xc3\xa9", 0 },
        { "root ::= .", "\xe2\x82\xac", 1 },
        { "root ::= .", "\xe2\x82", 2 },
        { "root ::= .", "\xed\xa0\x80", 0 },
        { "root ::= [\\u20ac-\\U0001f600]", "\xf0\x9f\x98\x80", 1 },
        { "root ::= [\\u20ac-\\U0001f600]", "\xf0\x9f\x98\x81", 0 },
        { "root ::= [a\\]\\-]+", "a]-", 1 },
        { "root ::= [a-]+", "a-", 1 },
        { "root ::= (\"a\"*)* \"b\"", "aab", 1 },
        { "root ::= \"(\" root \")\" | \"x\"", "((x))", 1 },
        { "root ::= \"(\" root \")\" | \"x\"", "((x)))", 0 },
        { "root ::= x-1 (\",\" x-1)*\nx-1 ::= [0-9]+", "1,22,3", 1 },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_gbnf is;
        void *memory;
        struct attn_grammar *g = opened(rows[i].grammar, &is, &memory);
        if (!g) {
            fail_msg("%s: %s", rows[i].grammar, is.why);
        } else if (reads(g, rows[i].text) != rows[i].is) {
            fail_msg("%s, %s: not %d", rows[i].grammar, rows[i].text,
                     rows[i].is);
        }
        free(memory);
    }
}

/* ---- random grammars ---- */

enum { MostNodes = 64, Rules = 4 };
typedef struct {
    enum { Range, Sequence, Choice, Repeat, Rule } kind;
    int a, b; /* nodes, the rule, or the first and the last character */
    int least, most;
} Node;
typedef struct {
    Node node[MostNodes];
    int n, root[Rules];
    char text[16384];
} Random;

static unsigned seed;
static int drawn(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 16) % (unsigned)n);
}

/* Draws a node that refers only to rules after `rule`. */
static int draw_node(Random *r, int rule, int depth)
{
    Node x = { .kind = drawn(5) };
    if (depth == 0 || r->n > MostNodes - 12 || (x.kind == Rule && rule == 3))
        x.kind = Range;
    if (x.kind == Range) {
        x.a = 'a' + drawn(3);
        x.b = x.a + drawn('d' - x.a);
    } else if (x.kind == Rule) {
        x.a = rule + 1 + drawn(Rules - 1 - rule);
    } else {
        x.a = draw_node(r, rule, depth - 1);
        x.b = x.kind == Repeat ? 0 : draw_node(r, rule, depth - 1);
        x.least = drawn(3);
        x.most = drawn(3) ? x.least + drawn(3) : -1;
    }
    r->node[r->n] = x;
    return r->n++;
}

static void spell(Random *r, int at)
{
    const Node *x = &r->node[at];
    char *end = r->text + strlen(r->text);
    if (x->kind == Range) {
        sprintf(end, x->a == x->b ? "\"%c\"" : "[%c-%c]", x->a, x->b);
    } else if (x->kind == Rule) {
        sprintf(end, x->a == 0 ? "root" : "r%d", x->a);
    } else {
        strcat(end, "(");
        spell(r, x->a);
        if (x->kind != Repeat) {
            strcat(end, x->kind == Choice ? " | " : " ");
            spell(r, x->b);
        }
        strcat(end, ")");
        end += strlen(end);
        if (x->kind == Repeat && x->most < 0)
            sprintf(end, "{%d,}", x->least);
        else if (x->kind == Repeat)
            sprintf(end, "{%d,%d}", x->least, x->most);
    }
}

/* Returns the ends, as bits, to which a node leads from places of a text. */
static unsigned ends(const Random *r, int at, const char *text, unsigned from)
{
    const Node *x = &r->node[at];
    unsigned to = 0, all = 0;
    switch (x->kind) {
    case Range:
        for (int i = 0; text[i]; i++)
            if (from >> i & 1 && text[i] >= x->a && text[i] <= x->b)
                to |= 2u << i;
        return to;
    case Rule:     return ends(r, r->root[x->a], text, from);
    case Sequence: return ends(r, x->b, text, ends(r, x->a, text, from));
    case Choice:   return ends(r, x->a, text, from) | ends(r, x->b, text, from);
    default:
        for (int i = 0; i <= (x->most < 0 ? x->least + 12 : x->most); i++) {
            if (i >= x->least)
                all |= from;
            from = ends(r, x->a, text, from);
        }
        return all;
    }
}

static void random_grammars(void **unused)
{
    static Random r;
    int matched = 0;
    (void)unused;
    for (seed = 1; seed < 400000; seed += 1000) {
        const unsigned first = seed;
        struct attn_gbnf is;
        void *memory;
        r.n = 0;
        r.text[0] = '\0';
        for (int i = Rules - 1; i >= 0; i--) {
            r.root[i] = draw_node(&r, i, 3);
            sprintf(r.text + strlen(r.text),
                    i == 0 ? "root ::= " : "r%d ::= ", i);
            spell(&r, r.root[i]);
            strcat(r.text, "\n");
        }
        struct attn_grammar *g = opened(r.text, &is, &memory);
        if (!g)
            fail_msg("%s: %s", r.text, is.why);
        for (int k = 0; k < 60; k++) {
            char text[12] = "";
            const int n = drawn(10);
            for (int i = 0; i < n; i++)
                text[i] = (char)('a' + drawn(3));
            const int is_text = ends(&r, r.root[0], text, 1) >> n & 1;
            if ((reads(g, text) == 1) != is_text)
                fail_msg("%s'%s': %d is expected", r.text, text, is_text);
            matched += is_text;
        }
        free(memory);
        seed = first;
    }
    assert_true(matched > 1000);
}

/* A list written by recursion at its end needs a finite number of states, and
 * states that are forgotten change nothing. */
static void many_states(void **unused)
{
    struct attn_gbnf is;
    void *memory;
    struct attn_grammar *g = opened("root ::= \"a\" root | \"b\"", &is,
                                    &memory);
    int32_t state = attn_automaton_start(g);
    (void)unused;
    for (int i = 0; i < 100000; i++)
        state = attn_automaton_next(g, state, 'a');
    assert_true(g->states < 8);
    free(memory);

    g = opened("root ::= \"a\" root \"b\" | \"c\"", &is, &memory);
    state = attn_automaton_start(g);
    int forgotten = 0;
    for (int i = 0; i < 20000; i++) {
        int32_t next = attn_automaton_next(g, state, 'a');
        if (next < 0) {
            forgotten++;
            state = attn_automaton_forget(g, state);
            next = attn_automaton_step(g, state, 'a');
        }
        state = next;
        assert_true(state > 0);
    }
    assert_true(forgotten > 1);
    state = attn_automaton_next(g, state, 'c');
    for (int i = 0; i < 20000; i++) {
        assert_false(attn_automaton_ends(g, state));
        int32_t next = attn_automaton_next(g, state, 'b');
        if (next < 0) {
            state = attn_automaton_forget(g, state);
            next = attn_automaton_step(g, state, 'b');
        }
        state = next;
        assert_true(state > 0);
    }
    assert_true(attn_automaton_ends(g, state));
    free(memory);
}

/* The inverse of as many ranges as a set takes has one more. */
static void inverse(void **unused)
{
    struct attn_gbnf_set set = { .n = 0 };
    (void)unused;
    for (uint32_t i = 0; i < ATTN_GBNF_RANGES - 1; i++)
        assert_int_equal(attn_gbnf_add(&set, 0x4e00 + 2 * i, 0x4e00 + 2 * i),
                         1);
    attn_gbnf_invert(&set);
    assert_int_equal(set.n, ATTN_GBNF_RANGES);
    assert_int_equal(set.lo[0], 0);
    assert_int_equal(set.hi[set.n - 1], ATTN_GBNF_LAST);
    attn_gbnf_invert(&set);
    assert_int_equal(set.n, ATTN_GBNF_RANGES - 1);
    assert_int_equal(set.lo[1], 0x4e02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse),     cmocka_unit_test(messages),
        cmocka_unit_test(many_rules),  cmocka_unit_test(deep_groups),
        cmocka_unit_test(matches),     cmocka_unit_test(random_grammars),
        cmocka_unit_test(many_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
