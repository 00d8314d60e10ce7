/* functions.c: the functions that expressions can call, one row of a table
 * each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "import/expr.h"

typedef struct {
    Scope *s;
    const Expr *e;
    const Datum *v;
    int n;
} Call;

static Datum none(void)
{
    return (Datum){ .kind = ValueNone };
}

/* ---- numbers ---- */
static Datum square_root(Call *c)
{
    return value_real(sqrt(value_number(&c->v[0])));
}

/* Returns x, truncated to an integer. Reports an error if it does not fit in
 * int64_t. */
static Datum whole_of(Call *c, double x)
{
    if (x >= -0x1p63 && x < 0x1p63)
        return value_integer((int64_t)x);
    const Pos pos = c->v[0].pos.src ? c->v[0].pos : c->e->in.at[0]->pos;
    return expr_error(c->s, pos, "%s() gives integers of 64 bits, found %g",
                      c->e->text, value_number(&c->v[0]));
}

static Datum rounded(Call *c)
{
    return whole_of(c, round(value_number(&c->v[0])));
}

static Datum floored(Call *c)
{
    return whole_of(c, floor(value_number(&c->v[0])));
}

static Datum natural_log(Call *c)
{
    return value_real(log(value_number(&c->v[0])));
}

static Datum smallest(Call *c)
{
    return value_number(&c->v[1]) < value_number(&c->v[0]) ? c->v[1] : c->v[0];
}

static Datum largest(Call *c)
{
    return value_number(&c->v[1]) > value_number(&c->v[0]) ? c->v[1] : c->v[0];
}

static Datum as_int(Call *c)
{
    return whole_of(c, value_number(&c->v[0]));
}

static Datum as_text(Call *c)
{
    return (Datum){ .kind = ValueText,
                    .text = value_text(c->s->arena, &c->v[0]) };
}

/* ---- tensors ---- */
static const Tensor *tensor_of(Call *c)
{
    const Safetensors *file = c->s->tensors;
    return file ? safetensors_find(file, c->v[0].text) : NULL;
}

/* Returns true if the file has a tensor whose name matches the argument; *
 * matches any text. */
static Datum has_tensor(Call *c)
{
    const Safetensors *file = c->s->tensors;
    const int n = file && strchr(c->v[0].text, '*') ? safetensors_count(file)
                                                    : 0;
    for (int i = 0; i < n; i++)
        if (glob_fits(c->v[0].text, safetensors_at(file, i)->name))
            return value_truth(true);
    return value_truth(tensor_of(c) != NULL);
}

static Datum dim(Call *c)
{
    const Tensor *t = tensor_of(c);
    const int64_t axis = c->v[1].whole;
    if (!t)
        return expr_error(c->s, c->e->pos,
                          "the weights have no tensor '%s', which tells "
                          "a size",
                          quote(c->v[0].text));
    if (axis < 0 || axis >= t->rank)
        return expr_error(c->s, c->e->pos, "tensor '%s' has %d dimensions",
                          quote(t->name), t->rank);
    return value_integer(t->dim[axis]);
}

static Datum rank(Call *c)
{
    const Tensor *t = tensor_of(c);
    return t ? value_integer(t->rank) : none();
}

/* Returns the elements of a small tensor, such as scaling factors. Each is the
 * decimal number with the fewest digits that rounds to the float. */
static Datum numbers(Call *c)
{
    enum { Most = 4096 };
    const Tensor *t = tensor_of(c);
    Datum to = { .kind = ValueList };
    if (!t || t->elements > Most || t->type == StOther)
        return expr_error(c->s, c->e->pos,
                          "the weights have no tensor '%s' of at most %d "
                          "numbers",
                          quote(c->v[0].text), (int)Most);
    Datum *at = arena_alloc(c->s->arena, (size_t)t->elements * sizeof *at + 1);
    for (int64_t i = 0; i < t->elements; i++) {
        float x;
        tensor_floats(t, i, 1, &x);
        int digits = 6;
        const char *text;
        do
            text = arena_printf(c->s->arena, "%.*g", digits, (double)x);
        while (strtof(text, NULL) != x && digits++ < 9);
        at[i] = value_real(strtod(text, NULL));
    }
    to.many.at = at;
    to.many.n = (int)t->elements;
    return to;
}

/* Returns the number of bytes of `name` that precede the last segments `tail`;
 * -1 if `name` does not end with these segments. */
static int bytes_before(const char *name, const char *tail)
{
    const size_t n = strlen(name), m = strlen(tail);
    if (n < m || strcmp(name + n - m, tail))
        return -1;
    return n == m || name[n - m - 1] == '.' ? (int)(n - m) : -1;
}

static Datum prefix(Call *c)
{
    const Safetensors *file = c->s->tensors;
    const int count = file ? safetensors_count(file) : 0;
    for (int i = 0; i < c->n; i++) {
        const char *best = NULL;
        int shortest = -1;
        for (int k = 0; k < count; k++) {
            const char *name = safetensors_at(file, k)->name;
            const int n = bytes_before(name, c->v[i].text);
            if (n >= 0 && (shortest < 0 || n < shortest)) {
                shortest = n;
                best = name;
            }
        }
        if (best)
            return (Datum){ .kind = ValueText,
                            .text = arena_strndup(c->s->arena, best,
                                                  (size_t)shortest) };
    }
    expr_error(c->s, (Pos){ 0 },
               "%s: no tensor's name ends in '%s', as in the weights of this "
               "family",
               file ? quote(safetensors_path(file)) : "the folder",
               quote(c->v[0].text));
    note_at((Pos){ 0 }, "model_type in config.json names the family: are these "
                        "its weights?");
    return (Datum){ .kind = ValueText, .text = "" };
}

/* ---- files, keys, lists ---- */
static Datum has_file(Call *c)
{
    return value_truth(
        c->s->has_file(c->s, c->v[0].text, c->n > 1 ? c->v[1].text : NULL));
}

static Datum has_key(Call *c)
{
    return value_truth(c->s->has_key(c->s, c->v[0].text));
}

static Datum length(Call *c)
{
    const Datum *v = &c->v[0];
    return v->kind == ValueText ? value_integer((int64_t)strlen(v->text))
         : v->kind & (ValueList | ValueMap) ? value_integer(v->many.n)
                                            : value_integer(0);
}

static Datum first(Call *c)
{
    const Datum *v = &c->v[0];
    if (v->kind != ValueList)
        return *v;
    return v->many.n ? v->many.at[0] : none();
}

static Datum as_list(Call *c)
{
    const Datum *v = &c->v[0];
    Datum to = { .kind = ValueList };
    if (v->kind == ValueList)
        return *v;
    Datum *at = arena_alloc(c->s->arena, sizeof *at);
    *at = *v;
    to.pos = v->pos;
    to.many.at = at;
    to.many.n = v->kind != ValueNone;
    return to;
}

static int64_t matches(const Call *c)
{
    int64_t n = 0;
    for (int i = 0; c->v[0].kind == ValueList && i < c->v[0].many.n; i++)
        n += value_same(&c->v[0].many.at[i], &c->v[1]);
    return n;
}

static Datum count(Call *c)
{
    return value_integer(matches(c));
}

static Datum any(Call *c)
{
    return value_truth(matches(c) > 0);
}

static Datum all(Call *c)
{
    return value_truth(c->v[0].kind == ValueList
                       && matches(c) == c->v[0].many.n);
}

/* Returns true if the text fits one of the patterns between bars; with a ! in
 * front, if it fits none. */
static bool one_fits(Arena *a, const char *patterns, const char *text)
{
    const bool none_fits = *patterns == '!';
    bool fits = false;
    for (const char *at = patterns + none_fits; at; at = strchr(at, '|')) {
        at += *at == '|';
        fits |= glob_fits(arena_strndup(a, at, strcspn(at, "|")), text);
    }
    return fits != none_fits;
}

static Datum find(Call *c)
{
    for (int i = 0; c->v[0].kind == ValueList && i < c->v[0].many.n; i++) {
        const Datum *v = value_get(&c->v[0].many.at[i], c->v[1].text);
        if (v && v->kind == ValueText
            && one_fits(c->s->arena, c->v[2].text, v->text))
            return c->v[0].many.at[i];
    }
    return none();
}

static Datum starts(Call *c)
{
    return value_truth(
        c->v[0].kind == ValueText
        && !strncmp(c->v[0].text, c->v[1].text, strlen(c->v[1].text)));
}

static Datum ends(Call *c)
{
    const size_t n = c->v[0].kind == ValueText ? strlen(c->v[0].text) : 0;
    const size_t m = strlen(c->v[1].text);
    return value_truth(n >= m && !strcmp(c->v[0].text + n - m, c->v[1].text));
}

/* ---- tokens ---- */
static Datum one_token(Call *c, const char *text)
{
    const int64_t id = c->s->token(c->s, text);
    return id < 0 ? none() : value_integer(id);
}

static Datum token_id(Call *c)
{
    return c->v[0].kind == ValueText ? one_token(c, c->v[0].text) : none();
}

/* Returns the ids of those tokens of a list that the tokenizer has. */
static Datum token_ids(Call *c)
{
    const Datum *v = &c->v[0];
    const int n = v->kind == ValueList ? v->many.n : 0;
    Datum to = { .kind = ValueList };
    Datum *at = arena_alloc(c->s->arena, (size_t)n * sizeof *at + 1);
    for (int i = 0; i < n; i++) {
        const Datum *text = &v->many.at[i];
        const Datum id = text->kind == ValueText ? one_token(c, text->text)
                                                 : none();
        if (id.kind != ValueNone)
            at[to.many.n++] = id;
    }
    to.many.at = at;
    return to.many.n ? to : none();
}

/* Returns a text that the chat template writes around a pair. The second
 * argument: the template begins an answer, too. */
static Datum pair_text_of(Call *c)
{
    const bool generates = c->v[1].kind == ValueBool && c->v[1].truth;
    const char *text = c->s->pair(c->s, c->v[0].text, generates);
    return text ? (Datum){ .kind = ValueText, .text = text } : none();
}

static Datum fill_token(Call *c)
{
    return one_token(c, NULL);
}

/* Returns a map if one of its texts is not empty, otherwise none. */
static Datum texts(Call *c)
{
    const Datum *v = &c->v[0];
    const int n = v->kind == ValueMap ? v->many.n : 0;
    for (int i = 0; i < n; i++)
        if (v->many.at[i].kind == ValueText && *v->many.at[i].text)
            return *v;
    return (Datum){ .kind = ValueNone };
}

/* ---- table ---- */
enum { Number = ValueInt | ValueNumber, Any = 127 };
static const struct {
    const char *name;
    Datum (*call)(Call *c);
    int least, most; /* minimum and maximum number of arguments */
    int kinds[3];    /* kinds that each argument may have */
} functions[] = {
    { "sqrt", square_root, 1, 1, { Number } },
    { "round", rounded, 1, 1, { Number } },
    { "floor", floored, 1, 1, { Number } },
    { "log", natural_log, 1, 1, { Number } },
    { "min", smallest, 2, 2, { Number, Number } },
    { "max", largest, 2, 2, { Number, Number } },
    { "int", as_int, 1, 1, { Number } },
    { "text", as_text, 1, 1, { Any } },
    { "has_tensor", has_tensor, 1, 1, { ValueText } },
    { "dim", dim, 2, 2, { ValueText, ValueInt } },
    { "rank", rank, 1, 1, { ValueText } },
    { "numbers", numbers, 1, 1, { ValueText } },
    { "prefix", prefix, 1, 3, { ValueText, ValueText, ValueText } },
    { "has_file", has_file, 1, 2, { ValueText, ValueText } },
    { "has_key", has_key, 1, 1, { ValueText } },
    { "len", length, 1, 1, { Any } },
    { "first", first, 1, 1, { Any } },
    { "list", as_list, 1, 1, { Any } },
    { "count", count, 2, 2, { Any, Any } },
    { "any", any, 2, 2, { Any, Any } },
    { "all", all, 2, 2, { Any, Any } },
    { "texts", texts, 1, 1, { Any } },
    { "token_id", token_id, 1, 1, { Any } },
    { "token_ids", token_ids, 1, 1, { Any } },
    { "pair_text", pair_text_of, 2, 2, { ValueText, Any } },
    { "fill_token", fill_token, 0, 0, { 0 } },
    { "find", find, 3, 3, { Any, ValueText, ValueText } },
    { "starts", starts, 2, 2, { Any, ValueText } },
    { "ends", ends, 2, 2, { Any, ValueText } },
};
enum { Functions = sizeof functions / sizeof *functions };

static int function_of(const char *name)
{
    for (int i = 0; i < Functions; i++)
        if (!strcmp(functions[i].name, name))
            return i;
    return -1;
}

bool expr_is_function(const char *name)
{
    return function_of(name) >= 0;
}

Datum expr_call(Scope *s, const Expr *e, const Datum *argument)
{
    Call c = { .s = s, .e = e, .v = argument, .n = e->in.n };
    const int f = function_of(e->text);
    if (f < 0)
        return expr_error(s, e->pos, "'%s' is no function", quote(e->text));
    if (c.n < functions[f].least || c.n > functions[f].most)
        return expr_error(s, e->pos, "%s() takes %d%s arguments, found %d",
                          e->text, functions[f].least,
                          functions[f].most == functions[f].least
                              ? ""
                              : arena_printf(s->arena, " to %d",
                                             functions[f].most),
                          c.n);
    for (int i = 0; i < c.n; i++)
        if (!(functions[f].kinds[i] & c.v[i].kind))
            return expr_error(s, c.v[i].pos.src ? c.v[i].pos : e->in.at[i]->pos,
                              "%s() takes %s, found %s", e->text,
                              kind_text(s->arena, functions[f].kinds[i]),
                              kind_text(s->arena, c.v[i].kind));
    return functions[f].call(&c);
}
