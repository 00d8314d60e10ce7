/* jinja_value.c: values of chat templates: as conditions, as text, compared,
 * indexed, and with the operators of Python. */
#include <string.h>

#include "base/strings.h"
#include "import/jinja.h"

/* One step reads so many bytes of a text, or keys. */
enum { Cheaper = 16 };

static const Datum undefined = { .kind = ValueUndefined };

Datum jinja_fault(JinjaState *s, const JinjaNode *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!s->why->why)
        *s->why = (JinjaFault){ arena_vprintf(s->arena, fmt, ap), e->line };
    va_end(ap);
    return undefined;
}

bool jinja_spend(JinjaState *s, const JinjaNode *e, int64_t n)
{
    if (!s->why->why && s->fuel < n)
        jinja_fault(s, e, "the template takes too many steps");
    s->fuel -= s->why->why ? s->fuel : n;
    return !s->why->why;
}

/* ---- conversion ---- */
bool jinja_truth(const Datum *v)
{
    switch (v->kind) {
    case ValueBool:   return v->truth;
    case ValueInt:    return v->whole != 0;
    case ValueNumber: return v->number != 0.0;
    case ValueText:   return *v->text;
    case ValueList:
    case ValueMap:    return v->many.n > 0;
    default:          return v->kind == ValueSpace;
    }
}

/* Returns true and false as the integers that Python takes them for. */
static Datum as_number(const Datum *v)
{
    return v->kind == ValueBool ? value_integer(v->truth) : *v;
}

void jinja_read(JinjaState *s, const JinjaNode *e, const Datum *v)
{
    const int64_t n = v->kind == ValueText ? (int64_t)strlen(v->text)
                    : v->kind & (ValueList | ValueMap) ? v->many.n
                                                       : 0;
    jinja_spend(s, e, 1 + n / Cheaper);
}

/* Not value_same(), because the same list may be in a list a million times. */
static bool same_elements(JinjaState *s, const JinjaNode *e, const Datum *a,
                          const Datum *b)
{
    if (a->many.n != b->many.n)
        return false;
    for (int i = 0; i < a->many.n && !s->why->why; i++) {
        jinja_read(s, e, b);
        const Datum *other = a->kind == ValueMap ? value_get(b, a->many.key[i])
                                                 : &b->many.at[i];
        if (!other || !jinja_same(s, e, &a->many.at[i], other))
            return false;
    }
    return true;
}

bool jinja_same(JinjaState *s, const JinjaNode *e, const Datum *a,
                const Datum *b)
{
    const Datum x = as_number(a), y = as_number(b);
    jinja_read(s, e, a);
    if (s->why->why || x.kind != y.kind || !(x.kind & (ValueList | ValueMap)))
        return !s->why->why && value_same(&x, &y);
    return same_elements(s, e, a, b);
}

const char *jinja_text(JinjaState *s, const JinjaNode *e, const Datum *v)
{
    switch (v->kind) {
    case ValueUndefined: return "";
    case ValueNone:      return "None";
    case ValueBool:      return v->truth ? "True" : "False";
    case ValueInt:
    case ValueText:      return value_text(s->arena, v);
    default:
        jinja_fault(s, e,
                    "a value that is neither a text nor an integer is "
                    "printed");
        return "";
    }
}

Datum jinja_words(JinjaState *s, const JinjaNode *e, const char *text,
                  int64_t n)
{
    if (!jinja_spend(s, e, n + 1))
        return undefined;
    return (Datum){ .kind = ValueText,
                    .text = arena_strndup(s->arena, text, (size_t)n) };
}

Datum jinja_map(JinjaState *s, const JinjaNode *e, const Datum *items,
                const char *const *keys, int n)
{
    const size_t count = (size_t)n;
    Datum v = { .kind = keys ? ValueMap : ValueList };
    if (!jinja_spend(s, e, (int64_t)((count + 1) * (sizeof v + 8))))
        return undefined;
    Datum *at = arena_alloc(s->arena, (count + 1) * sizeof *at);
    const char **key = arena_alloc(s->arena, (count + 1) * sizeof *key);
    if (n)
        memcpy(at, items, count * sizeof *at);
    if (n && keys)
        memcpy(key, keys, count * sizeof *key);
    v.many.at = at;
    v.many.key = key;
    v.many.n = n;
    return v;
}

Datum jinja_list(JinjaState *s, const JinjaNode *e, const Datum *items, int n)
{
    return jinja_map(s, e, items, NULL, n);
}

/* Returns the bytes of the character at the start of a text. */
static int point_bytes(const char *text)
{
    int n = 1;
    while ((text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

Datum jinja_items(JinjaState *s, const JinjaNode *e, const Datum *of)
{
    VEC(Datum) items = { NULL, 0, 0 };
    if (of->kind == ValueList)
        return *of;
    if (of->kind == ValueMap)
        for (int i = 0; i < of->many.n; i++)
            vec_push(s->arena, &items,
                     ((Datum){ .kind = ValueText, .text = of->many.key[i] }));
    else if (of->kind == ValueText)
        for (const char *c = of->text; *c && jinja_spend(s, e, 48);
             c += point_bytes(c))
            vec_push(s->arena, &items, jinja_words(s, e, c, point_bytes(c)));
    else if (of->kind != ValueUndefined)
        return jinja_fault(s, e, "a value without items is taken apart");
    return jinja_list(s, e, items.at, items.n);
}

/* ---- parts ---- */
static int64_t bound(const Datum *v, int64_t none, int64_t n, bool back)
{
    const int64_t x = v->kind != ValueInt ? none
                    : v->whole < 0        ? v->whole + n
                                          : v->whole;
    const int64_t least = back ? -1 : 0, most = back ? n - 1 : n;
    return v->kind != ValueInt ? none : x < least ? least : x > most ? most : x;
}

Datum jinja_slice(JinjaState *s, const JinjaNode *e, const Datum *of,
                  const Datum *bounds)
{
    const Datum all = jinja_items(s, e, of);
    const int64_t step = bounds[2].kind == ValueInt ? bounds[2].whole : 1;
    if (s->why->why || step == 0 || of->kind == ValueMap)
        return jinja_fault(s, e, "this slice is not supported");
    const int64_t n = all.many.n;
    const bool back = step < 0;
    const int64_t to = bound(&bounds[1], back ? -1 : n, n, back);
    VEC(Datum) items = { NULL, 0, 0 };
    Buffer text = { .arena = s->arena };
    buffer_add(&text, "", 0);
    for (int64_t i = bound(&bounds[0], back ? n - 1 : 0, n, back);
         back ? i > to : i < to; i += step) {
        vec_push(s->arena, &items, all.many.at[i]);
        if (of->kind == ValueText)
            buffer_printf(&text, "%s", all.many.at[i].text);
        if (step > n || step < -n)
            break;
    }
    return of->kind == ValueText
             ? jinja_words(s, e, text.at ? text.at : "", text.n)
             : jinja_list(s, e, items.at, items.n);
}

Datum jinja_item(JinjaState *s, const JinjaNode *e, const Datum *of,
                 const Datum *key)
{
    if (of->kind == ValueUndefined)
        return jinja_fault(s, e, "an item of an undefined value is used");
    if (of->kind == ValueSpace)
        of = &s->spaces.at[of->whole];
    if (of->kind == ValueMap && key->kind == ValueText) {
        jinja_read(s, e, of);
        const Datum *v = value_get(of, key->text);
        return v ? *v : undefined;
    }
    if ((of->kind != ValueList && of->kind != ValueText)
        || key->kind != ValueInt)
        return undefined;
    const Datum all = jinja_items(s, e, of);
    if (s->why->why)
        return undefined;
    const int64_t i = key->whole < 0 ? key->whole + all.many.n : key->whole;
    return i >= 0 && i < all.many.n ? all.many.at[i] : undefined;
}

/* ---- operators ---- */
bool jinja_in(JinjaState *s, const JinjaNode *e, const Datum *x,
              const Datum *in)
{
    if (in->kind == ValueText) {
        if (x->kind != ValueText)
            jinja_fault(s, e, "`in` looks for what is not a text in a text");
        return x->kind == ValueText && strstr(in->text, x->text);
    }
    const Datum all = jinja_items(s, e, in);
    for (int i = 0; !s->why->why && i < all.many.n; i++)
        if (jinja_same(s, e, &all.many.at[i], x))
            return true;
    return false;
}

static Datum joined_items(JinjaState *s, const JinjaNode *e, const char *x,
                          const char *y)
{
    if (!jinja_spend(s, e, (int64_t)(strlen(x) + strlen(y) + 1)))
        return undefined;
    return (Datum){ .kind = ValueText,
                    .text = arena_printf(s->arena, "%s%s", x, y) };
}

static Datum lists_joined(JinjaState *s, const JinjaNode *e, const Datum *x,
                          const Datum *y)
{
    VEC(Datum) items = { NULL, 0, 0 };
    for (int i = 0; i < x->many.n; i++)
        vec_push(s->arena, &items, x->many.at[i]);
    for (int i = 0; i < y->many.n; i++)
        vec_push(s->arena, &items, y->many.at[i]);
    return jinja_list(s, e, items.at, items.n);
}

static Datum arithmetic(JinjaState *s, const JinjaNode *e, int64_t x, int64_t y)
{
    int64_t z = 0;
    const char *op = e->text;
    bool bad = false;
    if (!strcmp(op, "+"))
        bad = __builtin_add_overflow(x, y, &z);
    else if (!strcmp(op, "-"))
        bad = __builtin_sub_overflow(x, y, &z);
    else if (!strcmp(op, "*"))
        bad = __builtin_mul_overflow(x, y, &z);
    else if (y <= 0 || !strcmp(op, "/") || !strcmp(op, "**"))
        bad = true;
    else if (!strcmp(op, "//"))
        z = x / y - (x % y < 0);
    else
        z = x % y + (x % y < 0 ? y : 0);
    return bad ? jinja_fault(s, e, "this use of '%s' is not supported", op)
               : value_integer(z);
}

static Datum compared(JinjaState *s, const JinjaNode *e, const Datum *x,
                      const Datum *y)
{
    const int numbers = ValueInt | ValueNumber;
    double order;
    if (x->kind == ValueText && y->kind == ValueText)
        order = strcmp(x->text, y->text);
    else if ((x->kind & numbers) && (y->kind & numbers))
        order = value_number(x) - value_number(y);
    else
        return jinja_fault(s, e, "values without an order are compared");
    const bool equal = e->text[1] == '=';
    return value_truth((equal && order == 0.0)
                       || (*e->text == '<' ? order < 0.0 : order > 0.0));
}

Datum jinja_binary(JinjaState *s, const JinjaNode *e, const Datum *x,
                   const Datum *y)
{
    const Datum a = as_number(x), b = as_number(y);
    jinja_read(s, e, x);
    jinja_read(s, e, y);
    if (!strcmp(e->text, "==") || !strcmp(e->text, "!="))
        return value_truth(jinja_same(s, e, x, y) == (*e->text == '='));
    if (*e->text == '<' || *e->text == '>')
        return compared(s, e, &a, &b);
    if (!strcmp(e->text, "in"))
        return value_truth(jinja_in(s, e, x, y));
    if (!strcmp(e->text, "~"))
        return joined_items(s, e, jinja_text(s, e, x), jinja_text(s, e, y));
    if (a.kind == ValueInt && b.kind == ValueInt)
        return arithmetic(s, e, a.whole, b.whole);
    if (!strcmp(e->text, "+") && a.kind == b.kind) {
        if (a.kind == ValueText)
            return joined_items(s, e, a.text, b.text);
        if (a.kind == ValueList)
            return lists_joined(s, e, x, y);
    }
    return jinja_fault(s, e, "'%s' is applied to values that it does not take",
                       e->text);
}
