/* gbnf.c: reads a grammar in GBNF and compiles it to ops (gbnf.h). The parser
 * runs three times: to count ops and rules, to list the names of the rules, and
 * to write the ops. */
#include "runtime/core.h"

#include <string.h>

enum {
    GBNF_COUNT,
    GBNF_NAMES,
    GBNF_WRITE,
    GBNF_DEPTH = 200,    /* maximum depth of groups */
    GBNF_TIMES = 1000000 /* maximum number in a repetition */
};

struct gbnf_parser {
    struct attn_gbnf *g;
    int64_t at;       /* place in the text */
    int64_t n, rules; /* ops and rules so far */
    int pass, depth;
};

/* Alternatives: all but the last begin with a SPLIT and end with a JUMP behind
 * the last. Until that is known, `to` of a JUMP is the JUMP before it. */
struct gbnf_choice {
    int64_t start, jump;
};

/* Stores the first error. Returns ATTN_ERROR_GRAMMAR. */
static int gbnf_fail(struct gbnf_parser *p, int64_t at, const char *why)
{
    if (!p->g->why) {
        p->g->why = why;
        p->g->at = at;
    }
    return ATTN_ERROR_GRAMMAR;
}

/* Returns the byte at the parser's place plus `ahead`; 0 at the end. */
static int gbnf_byte(const struct gbnf_parser *p, int64_t ahead)
{
    if (p->at + ahead >= p->g->bytes)
        return 0;
    return (unsigned char)p->g->text[p->at + ahead];
}

/* Skips spaces and comments, and ends of lines if `lines`. */
static void gbnf_space(struct gbnf_parser *p, int lines)
{
    for (;;) {
        const int c = gbnf_byte(p, 0);
        if (c == '#') {
            while (p->at < p->g->bytes && gbnf_byte(p, 0) != '\n')
                p->at++;
        } else if (c == ' ' || c == '\t'
                   || (lines && (c == '\n' || c == '\r'))) {
            p->at++;
        } else {
            return;
        }
    }
}

/* ---- ops ---- */

static int gbnf_room(struct gbnf_parser *p, int64_t more)
{
    if (p->n + more <= ATTN_GBNF_MOST)
        return 0;
    return gbnf_fail(p, p->at,
                     "the grammar has more than 262144 states: repeat less");
}

static int gbnf_put(struct gbnf_parser *p, int kind, int lo, int hi, int64_t to)
{
    const int wrong = gbnf_room(p, 1);
    if (wrong)
        return wrong;
    if (kind == ATTN_GBNF_BYTE)
        p->g->edge[lo] = p->g->edge[hi + 1] = 1;
    if (p->pass == GBNF_WRITE)
        p->g->op[p->n] = (struct attn_gbnf_op){ (unsigned char)kind,
                                                (unsigned char)lo,
                                                (unsigned char)hi, 0,
                                                (int32_t)to };
    p->n++;
    return 0;
}

/* Inserts a SPLIT before the ops from `at` on. */
static int gbnf_split(struct gbnf_parser *p, int64_t at, int64_t to)
{
    const int64_t moved = p->n - at;
    const int wrong = gbnf_put(p, ATTN_GBNF_SPLIT, 0, 0, to);
    if (wrong || p->pass != GBNF_WRITE)
        return wrong;
    struct attn_gbnf_op *op = p->g->op + at;
    const struct attn_gbnf_op split = op[moved];
    memmove(op + 1, op, (size_t)moved * sizeof *op);
    op[0] = split;
    return 0;
}

/* Copies the `n` ops from `at` on to the end. */
static int gbnf_copy(struct gbnf_parser *p, int64_t at, int64_t n)
{
    const int wrong = gbnf_room(p, n);
    if (wrong)
        return wrong;
    if (p->pass == GBNF_WRITE)
        memcpy(p->g->op + p->n, p->g->op + at, (size_t)n * sizeof *p->g->op);
    p->n += n;
    return 0;
}

static struct gbnf_choice gbnf_choose(const struct gbnf_parser *p)
{
    return (struct gbnf_choice){ p->n, -1 };
}

/* Ends an alternative that is not the last. */
static int gbnf_other(struct gbnf_parser *p, struct gbnf_choice *c)
{
    int wrong = gbnf_split(p, c->start, p->n - c->start + 2);
    if (wrong == 0)
        wrong = gbnf_put(p, ATTN_GBNF_JUMP, 0, 0, c->jump);
    c->jump = p->n - 1;
    c->start = p->n;
    return wrong;
}

/* Ends the last alternative. */
static void gbnf_chosen(struct gbnf_parser *p, const struct gbnf_choice *c)
{
    int64_t jump = c->jump;
    while (p->pass == GBNF_WRITE && jump >= 0) {
        struct attn_gbnf_op *op = &p->g->op[jump];
        const int64_t before = op->to;
        op->to = (int32_t)(p->n - jump);
        jump = before;
    }
}

/* Repeats the ops from `from` on; `most` -1: any number of times. */
static int gbnf_repeat(struct gbnf_parser *p, int64_t from, int64_t least,
                       int64_t most)
{
    const int64_t n = p->n - from;
    const int64_t times = attn_max(attn_max(least, most), 1);
    int wrong = gbnf_room(p, n * times - n);
    if (wrong || n == 0)
        return wrong;
    for (int64_t i = 1; i < least && wrong == 0; i++)
        wrong = gbnf_copy(p, from, n);
    if (wrong)
        return wrong;
    if (most < 0 && least > 0)
        return gbnf_put(p, ATTN_GBNF_SPLIT, 0, 0, -n);
    if (most < 0) {
        wrong = gbnf_split(p, from, n + 2);
        return wrong ? wrong : gbnf_put(p, ATTN_GBNF_JUMP, 0, 0, -n - 1);
    }
    if (most == 0) { /* jumps over it */
        wrong = gbnf_split(p, from, n + 1);
        if (wrong == 0 && p->pass == GBNF_WRITE)
            p->g->op[from].kind = ATTN_GBNF_JUMP;
        return wrong;
    }
    /* each optional copy begins with a SPLIT to the end of the last */
    const int64_t options = most - least, end = from + n * most + options;
    for (int64_t i = 0; i < options && wrong == 0; i++) {
        const int64_t at = p->n - (least == 0 && i == 0 ? n : 0);
        const int64_t text = i == 0 && least > 0 ? from : at - n;
        if (least > 0 || i > 0)
            wrong = gbnf_copy(p, text, n);
        if (wrong == 0)
            wrong = gbnf_split(p, at, end - at);
    }
    return wrong;
}

/* ---- characters ---- */

static int gbnf_hex(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Reads the `n` digits of an escape. */
static int gbnf_digits(struct gbnf_parser *p, int n, uint32_t *c)
{
    *c = 0;
    for (int i = 0; i < n; i++) {
        const int digit = gbnf_hex(gbnf_byte(p, 0));
        if (digit < 0)
            return gbnf_fail(p, p->at, "a hexadecimal digit is expected");
        *c = *c * 16 + (uint32_t)digit;
        p->at++;
    }
    if (!attn_is_character(*c))
        return gbnf_fail(p, p->at - n, "there is no such character");
    return 0;
}

/* Reads a character of a text or a class. */
static int gbnf_character(struct gbnf_parser *p, uint32_t *c)
{
    static const char names[] = "nrt\\\"[]-^/", values[] = "\n\r\t\\\"[]-^/";
    int64_t n;
    if (gbnf_byte(p, 0) != '\\') {
        *c = attn_code_point(p->g->text + p->at, &n);
        p->at += n;
        return 0;
    }
    const int name = gbnf_byte(p, 1);
    const char *at = name ? strchr(names, name) : NULL;
    p->at += 2;
    if (name == 'x')
        return gbnf_digits(p, 2, c);
    if (name == 'u')
        return gbnf_digits(p, 4, c);
    if (name == 'U')
        return gbnf_digits(p, 8, c);
    if (!at)
        return gbnf_fail(p, p->at - 2, "there is no such escape");
    *c = (unsigned char)values[at - names];
    return 0;
}

/* Writes the characters from lo to hi, whose encodings have the same length, as
 * sequences of ranges of bytes. */
static int gbnf_sequences(struct gbnf_parser *p, struct gbnf_choice *c,
                          uint32_t lo, uint32_t hi)
{
    char first[4], last[4];
    int wrong = 0;
    const int64_t n = attn_character_put(first, lo);
    for (int64_t i = 1; i < n; i++) {
        const uint32_t low = (UINT32_C(1) << 6 * i) - 1;
        if ((lo & ~low) == (hi & ~low))
            continue;
        const uint32_t middle = (lo & low) != 0 ? lo | low : (hi & ~low) - 1;
        if ((lo & low) == 0 && (hi & low) == low)
            continue;
        wrong = gbnf_sequences(p, c, lo, middle);
        return wrong ? wrong : gbnf_sequences(p, c, middle + 1, hi);
    }
    attn_character_put(last, hi);
    if (p->n > c->start)
        wrong = gbnf_other(p, c);
    for (int64_t i = 0; i < n && wrong == 0; i++)
        wrong = gbnf_put(p, ATTN_GBNF_BYTE, (unsigned char)first[i],
                         (unsigned char)last[i], 0);
    return wrong;
}

/* Writes a set of characters, without surrogates. */
static int gbnf_put_set(struct gbnf_parser *p, int64_t at,
                        const struct attn_gbnf_set *set)
{
    static const uint32_t part[][2] = { { 0, 0x7f },
                                        { 0x80, 0x7ff },
                                        { 0x800, 0xd7ff },
                                        { 0xe000, 0xffff },
                                        { 0x10000, ATTN_GBNF_LAST } };
    struct gbnf_choice c = gbnf_choose(p);
    const int64_t before = p->n;
    int wrong = 0;
    for (int64_t i = 0; i < set->n; i++)
        for (int k = 0; k < 5 && wrong == 0; k++) {
            const uint32_t lo = (uint32_t)attn_max(set->lo[i], part[k][0]);
            const uint32_t hi = (uint32_t)attn_min(set->hi[i], part[k][1]);
            if (lo <= hi)
                wrong = gbnf_sequences(p, &c, lo, hi);
        }
    if (wrong == 0 && p->n == before)
        return gbnf_fail(p, at, "no character is in this class");
    gbnf_chosen(p, &c);
    return wrong;
}

static int gbnf_class(struct gbnf_parser *p)
{
    struct attn_gbnf_set set;
    const int64_t at = p->at;
    uint32_t lo, hi;
    set.n = 0;
    p->at++;
    const int inverted = gbnf_byte(p, 0) == '^';
    p->at += inverted;
    while (gbnf_byte(p, 0) != ']') {
        const int64_t from = p->at;
        if (p->at >= p->g->bytes)
            return gbnf_fail(p, at, "this class has no closing bracket");
        int wrong = gbnf_character(p, &lo);
        hi = lo;
        if (wrong == 0 && gbnf_byte(p, 0) == '-' && gbnf_byte(p, 1) != ']') {
            p->at++;
            if (p->at >= p->g->bytes)
                return gbnf_fail(p, at, "this class has no closing bracket");
            wrong = gbnf_character(p, &hi);
        }
        if (wrong)
            return wrong;
        if (hi < lo)
            return gbnf_fail(p, from, "this range ends before it begins");
        if (!attn_gbnf_add(&set, lo, hi))
            return gbnf_fail(p, from, "a class has at most 255 ranges");
    }
    p->at++;
    if (inverted)
        attn_gbnf_invert(&set);
    return gbnf_put_set(p, at, &set);
}

static int gbnf_any(struct gbnf_parser *p)
{
    struct attn_gbnf_set set;
    set.n = 1;
    set.lo[0] = 0;
    set.hi[0] = ATTN_GBNF_LAST;
    p->at++;
    return gbnf_put_set(p, p->at - 1, &set);
}

static int gbnf_literal(struct gbnf_parser *p)
{
    const int64_t at = p->at;
    char text[4];
    uint32_t c;
    p->at++;
    while (gbnf_byte(p, 0) != '"') {
        if (p->at >= p->g->bytes)
            return gbnf_fail(p, at, "this text has no closing quote");
        int wrong = gbnf_character(p, &c);
        const int64_t n = wrong ? 0 : attn_character_put(text, c);
        for (int64_t i = 0; i < n && wrong == 0; i++)
            wrong = gbnf_put(p, ATTN_GBNF_BYTE, (unsigned char)text[i],
                             (unsigned char)text[i], 0);
        if (wrong)
            return wrong;
    }
    p->at++;
    return 0;
}

/* ---- rules ---- */

/* Returns the length of the name at the parser's place. */
static int64_t gbnf_name(const struct gbnf_parser *p)
{
    int64_t n = 0;
    for (;;) {
        const int c = gbnf_byte(p, n);
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')
            && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return n;
        n++;
    }
}

static int gbnf_reference(struct gbnf_parser *p)
{
    const int64_t n = gbnf_name(p), at = p->at;
    int64_t rule = 0;
    p->at += n;
    if (p->pass == GBNF_WRITE) {
        rule = *attn_gbnf_find(p->g, p->g->text + at, n) - 1;
        if (rule < 0)
            return gbnf_fail(p, at, "there is no rule of this name");
    }
    return gbnf_put(p, ATTN_GBNF_CALL, 0, 0, rule);
}

static int gbnf_alternatives(struct gbnf_parser *p, int nested);

static int gbnf_group(struct gbnf_parser *p)
{
    const int64_t at = p->at;
    if (p->depth == GBNF_DEPTH)
        return gbnf_fail(p, at, "more than 200 groups are in each other");
    p->depth++;
    p->at++;
    const int wrong = gbnf_alternatives(p, 1);
    p->depth--;
    if (wrong)
        return wrong;
    if (gbnf_byte(p, 0) != ')')
        return gbnf_fail(p, at, "this group has no closing parenthesis");
    p->at++;
    return 0;
}

/* Reads a number; -1: there is none. */
static int64_t gbnf_number(struct gbnf_parser *p)
{
    int64_t n = -1;
    while (gbnf_byte(p, 0) >= '0' && gbnf_byte(p, 0) <= '9') {
        n = attn_min(attn_max(n, 0) * 10 + gbnf_byte(p, 0) - '0', GBNF_TIMES);
        p->at++;
    }
    return n;
}

/* Reads {m}, {m,} or {m,n}. */
static int gbnf_braces(struct gbnf_parser *p, int64_t *least, int64_t *most)
{
    const int64_t at = p->at;
    p->at++;
    gbnf_space(p, 1);
    *least = gbnf_number(p);
    *most = *least;
    gbnf_space(p, 1);
    if (*least >= 0 && gbnf_byte(p, 0) == ',') {
        p->at++;
        gbnf_space(p, 1);
        *most = gbnf_number(p);
        gbnf_space(p, 1);
    }
    if (*least < 0 || gbnf_byte(p, 0) != '}')
        return gbnf_fail(p, at, "a repetition is {m}, {m,} or {m,n}");
    if (*most >= 0 && *most < *least)
        return gbnf_fail(p, at, "this repetition ends before it begins");
    return 0;
}

/* Reads the repetitions that follow an item, whose ops begin at `from`. */
static int gbnf_repetitions(struct gbnf_parser *p, int64_t from, int nested)
{
    for (;;) {
        gbnf_space(p, nested);
        const int c = gbnf_byte(p, 0);
        int64_t least = c == '+', most = c == '?' ? 1 : -1;
        int wrong = 0;
        if (c == '{')
            wrong = gbnf_braces(p, &least, &most);
        else if (c != '?' && c != '*' && c != '+')
            return 0;
        if (wrong == 0)
            wrong = gbnf_repeat(p, from, least, most);
        if (wrong)
            return wrong;
        p->at++;
    }
}

static int gbnf_sequence(struct gbnf_parser *p, int nested)
{
    int wrong = 0;
    gbnf_space(p, nested);
    while (wrong == 0) {
        const int c = gbnf_byte(p, 0);
        const int64_t from = p->n;
        if (c == '"')
            wrong = gbnf_literal(p);
        else if (c == '[')
            wrong = gbnf_class(p);
        else if (c == '.')
            wrong = gbnf_any(p);
        else if (c == '(')
            wrong = gbnf_group(p);
        else if (gbnf_name(p) > 0)
            wrong = gbnf_reference(p);
        else
            return 0;
        if (wrong == 0)
            wrong = gbnf_repetitions(p, from, nested);
    }
    return wrong;
}

/* True if another alternative follows, whose bar is skipped; it may be on the
 * next line. */
static int gbnf_bar(struct gbnf_parser *p)
{
    const int64_t at = p->at;
    gbnf_space(p, 1);
    if (gbnf_byte(p, 0) == '|') {
        p->at++;
        gbnf_space(p, 1);
        return 1;
    }
    p->at = at;
    return 0;
}

static int gbnf_alternatives(struct gbnf_parser *p, int nested)
{
    struct gbnf_choice c = gbnf_choose(p);
    int wrong = gbnf_sequence(p, nested);
    while (wrong == 0 && gbnf_bar(p)) {
        wrong = gbnf_other(p, &c);
        if (wrong == 0)
            wrong = gbnf_sequence(p, nested);
    }
    if (wrong == 0)
        gbnf_chosen(p, &c);
    return wrong;
}

static int gbnf_rule(struct gbnf_parser *p)
{
    const int64_t at = p->at, n = gbnf_name(p);
    if (n == 0)
        return gbnf_fail(p, at, "a rule is expected: NAME ::= ...");
    if (p->pass == GBNF_NAMES) {
        int32_t *slot = attn_gbnf_find(p->g, p->g->text + at, n);
        if (*slot != 0)
            return gbnf_fail(p, at, "a rule of this name is there already");
        *slot = (int32_t)p->rules + 1;
        p->g->rule[p->rules].at = (int32_t)at;
        p->g->rule[p->rules].bytes = (int32_t)n;
    }
    if (p->pass == GBNF_WRITE)
        p->g->rule[p->rules].start = (int32_t)p->n;
    p->rules++;
    p->at += n;
    gbnf_space(p, 0);
    if (gbnf_byte(p, 0) != ':' || gbnf_byte(p, 1) != ':'
        || gbnf_byte(p, 2) != '=')
        return gbnf_fail(p, p->at, "::= is expected after the name of a rule");
    p->at += 3;
    gbnf_space(p, 1);
    const int wrong = gbnf_alternatives(p, 0);
    if (wrong)
        return wrong;
    const int c = gbnf_byte(p, 0);
    if (p->at < p->g->bytes && c != '\n' && c != '\r')
        return gbnf_fail(p, p->at, "this is not a part of a rule");
    return gbnf_put(p, ATTN_GBNF_RETURN, 0, 0, p->rules - 1);
}

/* Runs a pass over the text. Returns 0 or an error. */
static int gbnf_pass(struct attn_gbnf *g, int pass)
{
    struct gbnf_parser p = { .g = g, .pass = pass };
    int wrong = 0;
    if (g->bytes >= 3 && memcmp(g->text, "\xef\xbb\xbf", 3) == 0)
        p.at = 3; /* a byte order mark */
    gbnf_space(&p, 1);
    while (wrong == 0 && p.at < g->bytes) {
        wrong = gbnf_rule(&p);
        gbnf_space(&p, 1);
    }
    g->ops = p.n;
    g->rules = p.rules;
    return wrong;
}

ATTN_API int attn_gbnf_parse(struct attn_gbnf *g, struct attn_memory *at)
{
    int wrong = gbnf_pass(g, GBNF_COUNT);
    if (wrong)
        return wrong;
    g->op = attn_take(at, g->ops, sizeof *g->op);
    g->rule = attn_take(at, g->rules, sizeof *g->rule);
    g->find = attn_take(at, 2 * g->rules, sizeof *g->find);
    g->mark = attn_take(at, g->ops, 1);
    g->same = attn_take(at, g->ops, sizeof *g->same);
    g->work = attn_take(at, g->ops, sizeof *g->work);
    if (!at->base)
        return 0;
    memset(g->find, 0, (size_t)(2 * g->rules) * sizeof *g->find);
    wrong = gbnf_pass(g, GBNF_NAMES);
    return wrong ? wrong : gbnf_pass(g, GBNF_WRITE);
}
