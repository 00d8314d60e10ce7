/* expr_parse.c: parses expressions of a rule file into trees. The operators,
 * from lowest to highest precedence: if then else; or; and; not; comparisons
 * and `in`; ??; + -; * / %; unary minus; ^; calls, indices and members. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "import/expr.h"

typedef struct {
    Arena *arena;
    const Yaml *scalar;
    const char *at;  /* the text after the current token */
    const char *tok; /* the current token, n bytes long; n is 0 at the end */
    size_t n;
    int depth;
    bool failed;
} Parser;

enum { MostDepth = 64 };

typedef struct {
    const char *word;
    int strength; /* precedence; higher binds more tightly */
    bool right;   /* right-associative: a ^ b ^ c is a ^ (b ^ c) */
} Operator;
enum { StrengthNot = 3, StrengthSign = 8 };
static const Operator operators[] = {
    { "or", 1, false }, { "and", 2, false }, { "==", 4, false },
    { "!=", 4, false }, { "<=", 4, false },  { ">=", 4, false },
    { "<", 4, false },  { ">", 4, false },   { "in", 4, false },
    { "??", 5, true },  { "+", 6, false },   { "-", 6, false },
    { "*", 7, false },  { "/", 7, false },   { "%", 7, false },
    { "^", 9, true },
};

/* ---- tokens ---- */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the position of `at` in the file. After an escape in a quoted scalar,
 * the column is wrong. */
static Pos place(const Parser *p, const char *at)
{
    Pos pos = p->scalar->pos;
    pos.col += (int)(at - p->scalar->text) + p->scalar->quoted;
    return pos;
}

static Expr *refuse(Parser *p, const char *at, const char *what)
{
    if (!p->failed)
        error_at(place(p, at), "%s", what);
    p->failed = true;
    return NULL;
}

static size_t number_bytes(const char *s)
{
    size_t n = strspn(s, "0123456789");
    if (s[n] == '.' && is_digit(s[n + 1]))
        n += 1 + strspn(s + n + 1, "0123456789");
    const size_t sign = s[n] == 'e' && (s[n + 1] == '-' || s[n + 1] == '+');
    if (s[n] == 'e' && is_digit(s[n + 1 + sign]))
        n += 1 + sign + strspn(s + n + 1 + sign, "0123456789");
    return n;
}

static size_t word_bytes(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]) || is_digit(s[n])
           || (s[n] == '.' && is_letter(s[n + 1])))
        n++;
    return n;
}

static void next(Parser *p)
{
    static const char *const pairs[] = { "==", "!=", "<=", ">=", "??" };
    p->at += strspn(p->at, " \n");
    p->tok = p->at;
    p->n = *p->at != '\0';
    if (is_letter(*p->at))
        p->n = word_bytes(p->at);
    else if (is_digit(*p->at))
        p->n = number_bytes(p->at);
    else if (*p->at == '"') {
        const char *end = strchr(p->at + 1, '"');
        if (!end)
            refuse(p, p->at, "a text ends with \"");
        p->n = end ? (size_t)(end + 1 - p->at) : strlen(p->at);
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strncmp(p->at, pairs[i], 2))
            p->n = 2;
    p->at += p->n;
}

static bool is(const Parser *p, const char *word)
{
    return p->n == strlen(word) && !strncmp(p->tok, word, p->n);
}

static bool take(Parser *p, const char *word)
{
    const bool there = is(p, word);
    if (there)
        next(p);
    return there;
}

/* ---- tree ---- */
static Expr *parse(Parser *p, int strength);

static Expr *new_expr(Parser *p, ExprKind kind, const char *at)
{
    Expr *e = arena_alloc(p->arena, sizeof *e);
    e->kind = kind;
    e->pos = place(p, at);
    return e;
}

static void add(Parser *p, Expr *to, Expr *e)
{
    if (e)
        vec_push(p->arena, &to->in, e);
}

static Expr *expect(Parser *p, Expr *e, const char *word)
{
    if (!take(p, word))
        return refuse(p, p->tok,
                      arena_printf(p->arena, "'%s' is missing here", word));
    return e;
}

/* Parses expressions separated by commas, up to `end`. */
static Expr *parse_many(Parser *p, Expr *to, const char *end)
{
    while (!p->failed && !is(p, end)) {
        add(p, to, parse(p, 0));
        if (!take(p, ","))
            break;
    }
    return expect(p, to, end);
}

static Expr *parse_number(Parser *p)
{
    Expr *e = new_expr(p, ExprLiteral, p->tok);
    const char *text = arena_strndup(p->arena, p->tok, p->n);
    char *end;
    e->value = (Datum){ .kind = ValueInt, .whole = strtoll(text, &end, 10) };
    if (*end)
        e->value = (Datum){ .kind = ValueNumber, .number = strtod(text, NULL) };
    next(p);
    return e;
}

static Expr *parse_word(Parser *p)
{
    Expr *e = new_expr(p, ExprName, p->tok);
    e->text = arena_strndup(p->arena, p->tok, p->n);
    next(p);
    if (!strcmp(e->text, "true") || !strcmp(e->text, "false")) {
        e->kind = ExprLiteral;
        e->value = (Datum){ .kind = ValueBool, .truth = *e->text == 't' };
    } else if (!strcmp(e->text, "none")) {
        e->kind = ExprLiteral;
        e->value = (Datum){ .kind = ValueNone };
    } else if (take(p, "(")) {
        e->kind = ExprCall;
        return parse_many(p, e, ")");
    }
    return e;
}

static Expr *parse_choice(Parser *p)
{
    Expr *e = new_expr(p, ExprChoice, p->tok);
    next(p);
    add(p, e, parse(p, 0));
    expect(p, e, "then");
    add(p, e, parse(p, 0));
    expect(p, e, "else");
    add(p, e, parse(p, 0));
    return e;
}

static Expr *parse_sign(Parser *p, int strength)
{
    Expr *e = new_expr(p, ExprUnary, p->tok);
    e->text = arena_strndup(p->arena, p->tok, p->n);
    next(p);
    add(p, e, parse(p, strength));
    return e;
}

static Expr *parse_first(Parser *p)
{
    if (is(p, "if"))
        return parse_choice(p);
    if (is(p, "not"))
        return parse_sign(p, StrengthNot);
    if (is(p, "-"))
        return parse_sign(p, StrengthSign);
    if (p->n && is_letter(*p->tok))
        return parse_word(p);
    if (p->n && is_digit(*p->tok))
        return parse_number(p);
    if (p->n > 1 && *p->tok == '"') {
        Expr *e = new_expr(p, ExprLiteral, p->tok);
        e->value = (Datum){ .kind = ValueText };
        e->value.text = arena_strndup(p->arena, p->tok + 1, p->n - 2);
        next(p);
        return e;
    }
    if (is(p, "[")) {
        Expr *e = new_expr(p, ExprList, p->tok);
        next(p);
        return parse_many(p, e, "]");
    }
    if (take(p, "(")) {
        Expr *e = parse(p, 0);
        return expect(p, e, ")");
    }
    return refuse(p, p->tok,
                  p->n ? "a value is missing before this"
                       : "a value is missing here");
}

/* Parses the suffixes that follow an expression, as in x[i] and f(x).key. */
static Expr *parse_behind(Parser *p, Expr *e)
{
    while (e && !p->failed && (is(p, "[") || is(p, "."))) {
        const bool index = is(p, "[");
        Expr *outer = new_expr(p, index ? ExprIndex : ExprMember, p->tok);
        next(p);
        add(p, outer, e);
        if (index) {
            add(p, outer, parse(p, 0));
            expect(p, outer, "]");
        } else {
            outer->text = arena_strndup(p->arena, p->tok, p->n);
            next(p);
        }
        e = outer;
    }
    return e;
}

static const Operator *operator_here(const Parser *p)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is(p, operators[i].word))
            return &operators[i];
    return NULL;
}

static Expr *parse_inside(Parser *p, int strength)
{
    Expr *left = parse_behind(p, parse_first(p));
    const Operator *o;
    while (left && !p->failed && (o = operator_here(p)) != NULL
           && o->strength > strength) {
        Expr *e = new_expr(p, ExprBinary, p->tok);
        e->text = o->word;
        next(p);
        add(p, e, left);
        add(p, e, parse(p, o->right ? o->strength - 1 : o->strength));
        left = e;
    }
    return left;
}

static Expr *parse(Parser *p, int strength)
{
    if (p->depth == MostDepth)
        return refuse(p, p->tok, "parts are nested more than 64 deep");
    p->depth++;
    Expr *e = parse_inside(p, strength);
    p->depth--;
    return e;
}

Expr *expr_parse(Arena *a, const Yaml *scalar, size_t start)
{
    Parser p = { .arena = a, .scalar = scalar, .at = scalar->text + start };
    next(&p);
    Expr *e = parse(&p, 0);
    if (!p.failed && p.n)
        refuse(&p, p.tok, "the expression has ended before this");
    return p.failed ? NULL : e;
}
