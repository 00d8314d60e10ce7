/* expr.c: evaluates expressions. An error is reported at the key that the value
 * came from, if it is in a file of the folder, or else at the rule. */
#include <math.h>
#include <string.h>

#include "import/expr.h"

/* Returns the position that a value came from; for a computed value, that of
 * the expression. */
static Pos origin(const Datum *v, const Expr *e)
{
    return v->pos.src ? v->pos : e->pos;
}

static Datum wrong_kind(Scope *s, const Expr *e, const Expr *at, const Datum *v,
                        const char *wanted)
{
    return expr_error(s, origin(v, at), "'%s' takes %s, found %s", e->text,
                      wanted, kind_text(s->arena, v->kind));
}

/* Computes with integers. Reports an error if a quotient is not an integer. */
static Datum compute_integer(Scope *s, const Expr *e, int64_t x, int64_t y)
{
    int64_t z = 0;
    const bool too_large = *e->text == '+' ? __builtin_add_overflow(x, y, &z)
                         : *e->text == '-' ? __builtin_sub_overflow(x, y, &z)
                         : *e->text == '*'
                             ? __builtin_mul_overflow(x, y, &z)
                             : y == 0 || (y == -1 && x == INT64_MIN);
    if (too_large)
        return expr_error(s, e->pos, "%lld %s %lld is no number here",
                          (long long)x, e->text, (long long)y);
    return value_integer(*e->text == '%' ? x % y : *e->text == '/' ? x / y : z);
}

static Datum divide(Scope *s, const Expr *e, const Datum *x, const Datum *y)
{
    if (value_number(y) == 0)
        return expr_error(s, origin(y, e->in.at[1]), "a division by 0");
    if (x->kind == ValueInt && y->kind == ValueInt
        && (y->whole == -1 || x->whole % y->whole == 0))
        return compute_integer(s, e, x->whole, y->whole);
    return value_real(value_number(x) / value_number(y));
}

static Datum joined(Scope *s, const Datum *x, const Datum *y)
{
    const size_t n = (size_t)(x->many.n + y->many.n);
    Datum to = *x;
    Datum *at = arena_alloc(s->arena, n * sizeof *at + 1);
    for (int i = 0; i < (int)n; i++)
        at[i] = i < x->many.n ? x->many.at[i] : y->many.at[i - x->many.n];
    to.many.at = at;
    to.many.n = (int)n;
    return to;
}

static Datum compute(Scope *s, const Expr *e, const Datum *x, const Datum *y)
{
    const int numbers = ValueInt | ValueNumber;
    if (*e->text == '+' && x->kind == ValueText && y->kind == ValueText) {
        const char *both = arena_printf(s->arena, "%s%s", x->text, y->text);
        return (Datum){ .kind = ValueText, .text = both };
    }
    if (*e->text == '+' && x->kind == ValueList && y->kind == ValueList)
        return joined(s, x, y);
    if (!(x->kind & numbers))
        return wrong_kind(s, e, e->in.at[0], x, "a number");
    if (!(y->kind & numbers))
        return wrong_kind(s, e, e->in.at[1], y, "a number");
    if (*e->text == '/')
        return divide(s, e, x, y);
    if (*e->text == '^')
        return value_real(pow(value_number(x), value_number(y)));
    if (x->kind == ValueInt && y->kind == ValueInt)
        return compute_integer(s, e, x->whole, y->whole);
    const double p = value_number(x), q = value_number(y);
    return value_real(*e->text == '+'   ? p + q
                      : *e->text == '-' ? p - q
                      : *e->text == '*' ? p * q
                                        : fmod(p, q));
}

static Datum compare(Scope *s, const Expr *e, const Datum *x, const Datum *y)
{
    const int numbers = ValueInt | ValueNumber;
    const bool equal = value_same(x, y);
    if (!strcmp(e->text, "=="))
        return value_truth(equal);
    if (!strcmp(e->text, "!="))
        return value_truth(!equal);
    if (!(x->kind & numbers))
        return wrong_kind(s, e, e->in.at[0], x, "a number");
    if (!(y->kind & numbers))
        return wrong_kind(s, e, e->in.at[1], y, "a number");
    const double p = value_number(x), q = value_number(y);
    return value_truth((*e->text == '<' ? p < q : p > q)
                       || (e->text[1] == '=' && equal));
}

static Datum is_in(Scope *s, const Expr *e, const Datum *x, const Datum *list)
{
    if (list->kind != ValueList)
        return wrong_kind(s, e, e->in.at[1], list, "a list");
    for (int i = 0; i < list->many.n; i++)
        if (value_same(x, &list->many.at[i]))
            return value_truth(true);
    return value_truth(false);
}

static Datum binary(Scope *s, const Expr *e)
{
    const bool is_or = !strcmp(e->text, "or");
    if (is_or || !strcmp(e->text, "and")) {
        const bool first = expr_truth(s, e->in.at[0]);
        return value_truth(first == is_or ? first : expr_truth(s, e->in.at[1]));
    }
    const Datum x = expr_value(s, e->in.at[0]);
    if (*e->text == '?')
        return x.kind == ValueNone ? expr_value(s, e->in.at[1]) : x;
    const int before = s->failures;
    const Datum y = expr_value(s, e->in.at[1]);
    if (s->failures > before)
        return (Datum){ .kind = ValueNone };
    if (!strcmp(e->text, "in"))
        return is_in(s, e, &x, &y);
    return strchr("=!<>", *e->text) ? compare(s, e, &x, &y)
                                    : compute(s, e, &x, &y);
}

static Datum unary(Scope *s, const Expr *e)
{
    if (*e->text == 'n')
        return value_truth(!expr_truth(s, e->in.at[0]));
    const Datum x = expr_value(s, e->in.at[0]);
    if (x.kind == ValueInt)
        return compute_integer(s, e, 0, x.whole);
    if (x.kind == ValueNumber)
        return value_real(-x.number);
    return wrong_kind(s, e, e->in.at[0], &x, "a number");
}

/* ---- names, lists, tables ---- */
static Datum list(Scope *s, const Expr *e)
{
    Datum *at = arena_alloc(s->arena, ((size_t)e->in.n + 1) * sizeof *at);
    for (int i = 0; i < e->in.n; i++)
        at[i] = expr_value(s, e->in.at[i]);
    Datum v = { .kind = ValueList };
    v.many.at = at;
    v.many.n = e->in.n;
    return v;
}

/* Returns the value of a name, or of a key in a map, such as "generation.x". */
static Datum named(Scope *s, const Expr *e)
{
    Datum v = { .kind = ValueNone };
    if (s->name(s, e, e->text, &v))
        return v;
    const char *dot = strrchr(e->text, '.');
    if (dot) {
        const char *map = arena_strndup(s->arena, e->text,
                                        (size_t)(dot - e->text));
        if (s->name(s, e, map, &v)) {
            const Datum *in = value_get(&v, dot + 1);
            return in ? *in : (Datum){ .kind = ValueNone };
        }
    }
    return expr_error(s, e->pos, "'%s' is no key under config, files or let",
                      quote(e->text));
}

/* Reports that a table lacks a word, and lists the words that it has. */
static Datum no_word(Scope *s, const Expr *e, const Datum *table,
                     const Datum *key)
{
    const char *words[64], *all = "", *said = value_text(s->arena, key);
    int n = 0;
    for (; n < table->many.n && n < 64; n++) {
        words[n] = table->many.key[n];
        all = arena_printf(s->arena, "%s%s%s", all, n ? ", " : "", words[n]);
    }
    const Expr *of = e->in.at[1];
    const char *near = nearest(said, words, n);
    expr_error(s, origin(key, of), "%s%s'%s' is not known here: %s",
               of->kind == ExprName ? of->text : "",
               of->kind == ExprName ? ": " : "", quote(said), all);
    if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    return (Datum){ .kind = ValueNone };
}

static Datum indexed(Scope *s, const Expr *e)
{
    const Expr *of = e->in.at[0];
    const Datum *table = of->kind == ExprName ? s->table(s, of->text) : NULL;
    const Datum from = table ? *table : expr_value(s, of);
    const Datum key = expr_value(s, e->in.at[1]);
    if (key.kind == ValueNone || from.kind == ValueNone)
        return (Datum){ .kind = ValueNone };
    if (from.kind == ValueMap) {
        const Datum *in = value_get(&from, value_text(s->arena, &key));
        return in    ? *in
             : table ? no_word(s, e, table, &key)
                     : (Datum){ .kind = ValueNone };
    }
    if (from.kind != ValueList || key.kind != ValueInt)
        return expr_error(s, origin(&from, of),
                          "[] takes a table, or a list "
                          "and a whole number");
    if (key.whole < 0 || key.whole >= from.many.n)
        return expr_error(
            s, origin(&from, of),
            "item %lld of the list is needed, and its last is item %d",
            (long long)key.whole + 1, from.many.n);
    return from.many.at[key.whole];
}

static Datum member(Scope *s, const Expr *e)
{
    const Datum from = expr_value(s, e->in.at[0]);
    const Datum *in = value_get(&from, e->text);
    return in ? *in : (Datum){ .kind = ValueNone };
}

static Datum call(Scope *s, const Expr *e)
{
    const int before = s->failures;
    Datum *v = arena_alloc(s->arena, ((size_t)e->in.n + 1) * sizeof *v);
    for (int i = 0; i < e->in.n; i++)
        v[i] = expr_value(s, e->in.at[i]);
    return s->failures > before ? (Datum){ .kind = ValueNone }
                                : expr_call(s, e, v);
}

Datum expr_value(Scope *s, const Expr *e)
{
    switch (e->kind) {
    case ExprLiteral: return e->value;
    case ExprName:    return named(s, e);
    case ExprList:    return list(s, e);
    case ExprUnary:   return unary(s, e);
    case ExprBinary:  return binary(s, e);
    case ExprChoice:
        return expr_value(s, e->in.at[expr_truth(s, e->in.at[0]) ? 1 : 2]);
    case ExprCall:   return call(s, e);
    case ExprIndex:  return indexed(s, e);
    case ExprMember: return member(s, e);
    }
    die("an expression of kind %d", (int)e->kind);
}

bool expr_truth(Scope *s, const Expr *e)
{
    const int before = s->failures;
    const Datum v = expr_value(s, e);
    if (v.kind != ValueBool && v.kind != ValueNone && s->failures == before)
        expr_error(s, origin(&v, e), "true or false is needed, found %s",
                   kind_text(s->arena, v.kind));
    return v.kind == ValueBool && v.truth;
}
