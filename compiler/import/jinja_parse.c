/* jinja_parse.c: parses a chat template into a tree. The operators, from lowest
 * to highest precedence: if else; or; and; not; comparisons and `in`; + -; ~;
 * * / // %; **; signs; tests and filters; calls, indices and members. */
#include <stdlib.h>
#include <string.h>

#include "import/jinja_token.h"

enum { MostDepth = 100, MostNodes = 20000 };

/* ---- expressions ---- */
static JinjaNode *expression(JinjaParser *p);
static JinjaNode *parse_unary(JinjaParser *p, bool filters);

static JinjaNode *node(JinjaParser *p, JinjaKind kind, const char *text,
                       JinjaNode *first)
{
    JinjaNode *e = arena_alloc(p->arena, sizeof *e);
    e->kind = kind;
    e->line = p->line;
    e->text = text;
    if (first)
        vec_push(p->arena, &e->in, first);
    if (++p->nodes > MostNodes)
        token_refuse(p, "the template is too long");
    return e;
}

static void append(JinjaParser *p, JinjaNode *e, JinjaNode *in)
{
    vec_push(p->arena, &e->in, in);
}

/* Adds expressions up to a closing bracket, each with its name if it has
 * one. */
static void arguments(JinjaParser *p, JinjaNode *e, const char *close)
{
    while (!p->why->why && !token_is(p, close)) {
        JinjaNode *x = expression(p);
        if (x->kind == NodeName && token_take(p, "=")) {
            const char *key = x->text;
            x = expression(p);
            x->key = key;
        }
        append(p, e, x);
        if (!token_take(p, ","))
            break;
    }
    token_expect(p, close);
}

static JinjaNode *literal(JinjaParser *p, Datum v)
{
    JinjaNode *e = node(p, NodeLiteral, NULL, NULL);
    e->value = v;
    token_next(p);
    return e;
}

static JinjaNode *name_or_constant(JinjaParser *p)
{
    static const char *const words[] = { "true",  "True", "false",
                                         "False", "none", "None" };
    for (int i = 0; i < 6; i++)
        if (!strcmp(p->word, words[i]))
            return literal(p, i < 4 ? value_truth(i < 2)
                                    : (Datum){ .kind = ValueNone });
    JinjaNode *e = node(p, NodeName, p->word, NULL);
    token_next(p);
    return e;
}

static JinjaNode *bracketed(JinjaParser *p)
{
    JinjaNode *e = node(p, token_is(p, "{") ? NodeMap : NodeList, NULL, NULL);
    if (token_take(p, "(")) {
        JinjaNode *first = token_is(p, ")") ? e : expression(p);
        if (first != e && token_take(p, ")"))
            return first;
        if (first != e)
            append(p, e, first);
        token_take(p, ",");
        arguments(p, e, ")");
    } else if (token_take(p, "[")) {
        arguments(p, e, "]");
    } else if (token_take(p, "{")) {
        while (!p->why->why && !token_is(p, "}")) {
            append(p, e, expression(p));
            token_expect(p, ":");
            append(p, e, expression(p));
            if (!token_take(p, ","))
                break;
        }
        token_expect(p, "}");
    } else {
        token_refuse(p, "a value is missing");
    }
    return e;
}

static JinjaNode *primary(JinjaParser *p)
{
    if (p->kind == TokenName)
        return name_or_constant(p);
    if (p->kind == TokenInt && strlen(p->word) < 16)
        return literal(p, value_integer(strtoll(p->word, NULL, 10)));
    if (p->kind == TokenReal)
        return literal(p, value_real(strtod(p->word, NULL)));
    if (p->kind != TokenString)
        return bracketed(p);
    JinjaNode *e = literal(p, (Datum){ .kind = ValueText, .text = p->word });
    Buffer b = { .arena = p->arena };
    buffer_printf(&b, "%s", e->value.text);
    for (; p->kind == TokenString; token_next(p)) /* 'a' 'b' is 'ab' */
        buffer_printf(&b, "%s", p->word);
    e->value.text = b.at;
    return e;
}

static JinjaNode *subscript(JinjaParser *p, JinjaNode *of)
{
    JinjaNode *e = node(p, NodeIndex, NULL, of);
    JinjaNode *part[3] = { NULL, NULL, NULL };
    int n = 0;
    for (; n < 3; n++) {
        if (!token_is(p, ":") && !token_is(p, "]"))
            part[n] = expression(p);
        if (!token_take(p, ":"))
            break;
    }
    token_expect(p, "]");
    e->kind = n ? NodeSlice : NodeIndex;
    for (int i = 0; i < (n ? 3 : 1); i++)
        append(p, e, part[i]);
    if (!n && !part[0])
        token_refuse(p, "an index is missing");
    return e;
}

static JinjaNode *postfix(JinjaParser *p, JinjaNode *e)
{
    while (!p->why->why)
        if (token_take(p, ".")) {
            e = node(p, NodeMember, token_name(p), e);
        } else if (token_take(p, "[")) {
            e = subscript(p, e);
        } else if (token_is(p, "(")
                   && (e->kind == NodeName || e->kind == NodeMember)) {
            JinjaNode *call = node(p,
                                   e->kind == NodeName ? NodeFunction
                                                       : NodeMethod,
                                   e->text, NULL);
            append(p, call, e->kind == NodeName ? NULL : e->in.at[0]);
            token_next(p);
            arguments(p, call, ")");
            e = call;
        } else {
            break;
        }
    return e;
}

static JinjaNode *test(JinjaParser *p, JinjaNode *of)
{
    const bool no = token_take(p, "not");
    JinjaNode *e = node(p, NodeTest, token_name(p), of);
    if (token_take(p, "("))
        arguments(p, e, ")");
    else if ((p->kind == TokenName && !token_is(p, "else") && !token_is(p, "or")
              && !token_is(p, "and") && !token_is(p, "is")
              && !token_is(p, "if"))
             || p->kind == TokenString || p->kind == TokenInt
             || token_is(p, "["))
        append(p, e, postfix(p, primary(p)));
    return no ? node(p, NodeUnary, "not", e) : e;
}

static JinjaNode *filtered(JinjaParser *p, JinjaNode *e)
{
    while (!p->why->why)
        if (token_take(p, "is")) {
            e = test(p, e);
        } else if (token_take(p, "|")) {
            e = node(p, NodeFilter, token_name(p), e);
            if (token_take(p, "("))
                arguments(p, e, ")");
        } else {
            break;
        }
    return e;
}

static JinjaNode *parse_unary(JinjaParser *p, bool filters)
{
    JinjaNode *e;
    if (++p->depth > MostDepth)
        token_refuse(p, "too many parts inside each other");
    if (token_is(p, "-") || token_is(p, "+")) {
        const char *sign = p->word;
        token_next(p);
        e = node(p, NodeUnary, sign, parse_unary(p, false));
    } else {
        e = postfix(p, primary(p));
    }
    p->depth--;
    return filters ? filtered(p, e) : e;
}

/* Operators by precedence. `not` stands between `and` and comparisons. */
enum { LevelNot = 2, LevelCompare = 3, Levels = 8 };
static const char *const levels[Levels][9] = {
    { "or" },
    { "and" },
    { NULL },
    { "==", "!=", "<", "<=", ">", ">=", "in", "not" },
    { "+", "-" },
    { "~" },
    { "*", "/", "//", "%" },
    { "**" },
};

static JinjaNode *level(JinjaParser *p, int i)
{
    if (i == Levels)
        return parse_unary(p, true);
    if (i == LevelNot && token_is(p, "not")) {
        if (++p->depth > MostDepth)
            token_refuse(p, "too many parts inside each other");
        token_next(p);
        JinjaNode *e = node(p, NodeUnary, "not", level(p, LevelNot));
        p->depth--;
        return e;
    }
    JinjaNode *e = level(p, i + 1);
    for (int k = 0, n = 0; levels[i][k]; k++) {
        if (!token_take(p, levels[i][k]))
            continue;
        const bool no = !strcmp(levels[i][k], "not");
        if (no)
            token_expect(p, "in");
        if (i == LevelCompare && n++)
            token_refuse(p, "a comparison of more than two values");
        e = node(p, NodeBinary, no ? "in" : levels[i][k], e);
        append(p, e, level(p, i + 1));
        if (no)
            e = node(p, NodeUnary, "not", e);
        k = -1;
    }
    return e;
}

static JinjaNode *expression(JinjaParser *p)
{
    if (++p->depth > MostDepth)
        token_refuse(p, "too many parts inside each other");
    JinjaNode *e = level(p, 0);
    while (token_take(p, "if")) {
        JinjaNode *of = node(p, NodeChoice, NULL, level(p, 0));
        append(p, of, e);
        append(p, of, token_take(p, "else") ? expression(p) : NULL);
        e = of;
    }
    p->depth--;
    return e;
}

/* ---- statements ---- */
static void body(JinjaParser *p, JinjaNodes *to, const char *const *ends);

static const char *const if_ends[] = { "elif", "else", "endif", NULL };
static const char *const for_ends[] = { "else", "endfor", NULL };

static void end_tag(JinjaParser *p)
{
    if (p->kind != TokenEnd)
        token_refuse(p, "the end of the tag is missing");
}

/* Parses the statements up to the tag `end`, after the current tag. */
static void until(JinjaParser *p, JinjaNodes *to, const char *end)
{
    const char *const ends[] = { end, NULL };
    end_tag(p);
    body(p, to, ends);
    token_next(p);
    end_tag(p);
}

static JinjaNode *if_tag(JinjaParser *p)
{
    JinjaNode *e = node(p, NodeIf, NULL, expression(p));
    end_tag(p);
    body(p, &e->body, if_ends);
    if (token_take(p, "elif")) {
        if (++p->depth > MostDepth)
            token_refuse(p, "too many parts inside each other");
        vec_push(p->arena, &e->other, if_tag(p));
        p->depth--;
        return e;
    }
    if (token_take(p, "else"))
        until(p, &e->other, "endif");
    else
        token_next(p);
    end_tag(p);
    return e;
}

static JinjaNode *for_tag(JinjaParser *p)
{
    JinjaNode *e = node(p, NodeFor, NULL, NULL);
    do
        vec_push(p->arena, &e->names, token_name(p));
    while (token_take(p, ","));
    token_expect(p, "in");
    append(p, e, level(p, 0));
    append(p, e, token_take(p, "if") ? expression(p) : NULL);
    end_tag(p);
    body(p, &e->body, for_ends);
    if (token_take(p, "else"))
        until(p, &e->other, "endfor");
    else
        token_next(p);
    end_tag(p);
    return e;
}

static JinjaNode *set_tag(JinjaParser *p)
{
    JinjaNode *e = node(p, NodeSet, token_name(p), NULL);
    if (token_take(p, "."))
        e->key = token_name(p);
    if (token_take(p, "=")) {
        append(p, e, expression(p));
        if (token_take(p, ",")) { /* a tuple */
            JinjaNode *list = node(p, NodeList, NULL, e->in.at[0]);
            do
                append(p, list, expression(p));
            while (token_take(p, ","));
            e->in.at[0] = list;
        }
    } else {
        until(p, &e->body, "endset");
    }
    end_tag(p);
    return e;
}

static JinjaNode *macro_tag(JinjaParser *p)
{
    JinjaNode *e = node(p, NodeMacro, token_name(p), NULL);
    token_expect(p, "(");
    while (p->kind == TokenName) {
        vec_push(p->arena, &e->names, token_name(p));
        append(p, e, token_take(p, "=") ? expression(p) : NULL);
        if (!token_take(p, ","))
            break;
    }
    token_expect(p, ")");
    until(p, &e->body, "endmacro");
    return e;
}

static JinjaNode *statement(JinjaParser *p)
{
    JinjaNode *e;
    if (token_take(p, "if"))
        return if_tag(p);
    if (token_take(p, "for"))
        return for_tag(p);
    if (token_take(p, "set"))
        return set_tag(p);
    if (token_take(p, "macro"))
        return macro_tag(p);
    if (token_take(p, "generation")) {
        e = node(p, NodeBody, NULL, NULL);
        until(p, &e->body, "endgeneration");
        return e;
    }
    e = node(p, token_is(p, "break") ? NodeBreak : NodeContinue, NULL, NULL);
    if (!token_take(p, "break") && !token_take(p, "continue"))
        token_refuse(p, arena_printf(p->arena, "the tag '%s' is not supported",
                                     quote(p->word)));
    end_tag(p);
    return e;
}

/* Adds the text before the next tag, at `open`, without the blanks that the tag
 * removes. */
static void put_text(JinjaParser *p, JinjaNodes *to, const char *open)
{
    const char *end = open;
    while (end > p->at && strchr(jinja_blanks, end[-1])
           && (open[0] && (open[2] == '-' || end[-1] != '\n')))
        end--;
    const bool line = end == p->at ? p->begins_line : end[-1] == '\n';
    if (!open[0]
        || (open[2] != '-' && (!line || open[1] == '{' || open[2] == '+')))
        end = open;
    token_start(p);
    if (end > p->at) {
        JinjaNode *e = node(p, NodeText, NULL, NULL);
        e->value.text = arena_strndup(p->arena, p->at, (size_t)(end - p->at));
        vec_push(p->arena, to, e);
    }
    if (!p->why->why)
        p->at = open;
}

/* Skips a comment. */
static void comment(JinjaParser *p)
{
    const char *end = strstr(p->at + 2, "#}");
    token_start(p);
    if (!end) {
        token_refuse(p, "a comment does not end");
        return;
    }
    p->at = end + 2;
    token_skip_after(p, end > p->start + 2 && end[-1] == '-', end[-1] != '+');
}

/* Returns the position of the next tag, or of the end. */
static const char *next_tag(const char *at)
{
    for (; *at; at++)
        if (*at == '{' && (at[1] == '{' || at[1] == '%' || at[1] == '#'))
            break;
    return at;
}

/* Parses statements up to a tag of `ends`, which becomes the current token;
 * NULL: up to the end of the template. */
static void body(JinjaParser *p, JinjaNodes *to, const char *const *ends)
{
    if (++p->depth > MostDepth)
        token_refuse(p, "too many parts inside each other");
    while (*p->at) {
        put_text(p, to, next_tag(p->at));
        if (!*p->at)
            break;
        if (p->at[1] == '#') {
            comment(p);
            continue;
        }
        p->close = p->at[1] == '%' ? "%}" : "}}";
        p->at += 2 + (p->at[2] == '-' || p->at[2] == '+');
        p->nest = 0;
        token_next(p);
        const bool prints = *p->close == '}';
        for (int i = 0; !prints && ends && ends[i]; i++)
            if (token_is(p, ends[i])) {
                p->depth--;
                return;
            }
        JinjaNode *e = prints ? node(p, NodePrint, NULL, expression(p))
                              : statement(p);
        if (prints)
            end_tag(p);
        vec_push(p->arena, to, e);
    }
    if (ends)
        token_refuse(p, arena_printf(p->arena, "'%s' is missing",
                                     ends[ends[1] ? ends[2] ? 2 : 1 : 0]));
    p->depth--;
}

/* Returns the text with lines that end in \n, without the last line's end. */
static const char *with_lines(Arena *a, const char *text)
{
    char *to = arena_strdup(a, text), *end = to;
    for (const char *c = text; *c; c++)
        if (*c != '\r' || c[1] != '\n')
            *end++ = *c == '\r' ? '\n' : *c;
    if (end > to && end[-1] == '\n')
        end--;
    *end = '\0';
    return to;
}

const JinjaNode *jinja_parse(Arena *a, const char *text, JinjaFault *why)
{
    text = with_lines(a, text);
    JinjaParser p = { .arena = a,
                      .at = text,
                      .start = text,
                      .line = 1,
                      .close = "%}",
                      .word = "",
                      .begins_line = true,
                      .why = why };
    JinjaNode *top = arena_alloc(a, sizeof *top);
    *why = (JinjaFault){ 0 };
    top->kind = NodeBody;
    body(&p, &top->body, NULL);
    return why->why ? NULL : top;
}
