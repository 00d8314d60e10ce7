/* jinja_call.c: the filters, methods, tests and functions of chat templates. */
#include <string.h>

#include "import/jinja.h"
#include "runtime/text/chat.h"

static const Datum undefined = { .kind = ValueUndefined };

typedef struct {
    JinjaState *s;
    const JinjaNode *e;
    const Datum *in; /* arguments; in[0]: what the function is applied to */
    int n;
} Call;

static Datum refuse_call(const Call *c, const char *why)
{
    return jinja_fault(c->s, c->e, "'%s' %s", quote(c->e->text), why);
}

static Datum text_of(const Call *c, const char *text, size_t n)
{
    return jinja_words(c->s, c->e, text, (int64_t)n);
}

static bool test_is(const Call *c, const char *name)
{
    return !strcmp(c->e->text, name);
}

/* Returns the argument of a name; NULL: not given. */
static const Datum *keyed(const Call *c, const char *name)
{
    for (int i = 1; i < c->n; i++)
        if (c->e->in.at[i]->key && !strcmp(c->e->in.at[i]->key, name))
            return &c->in[i];
    return NULL;
}

/* ---- texts ---- */
static Datum strip(const Call *c)
{
    const bool front = *c->e->text != 'r', back = *c->e->text != 'l';
    struct attn_chat_part p = { c->in[0].text, (int64_t)strlen(c->in[0].text) };
    if (c->n == 1) {
        attn_chat_trim(&p, front, back);
        return text_of(c, p.text, (size_t)p.n);
    }
    if (c->in[1].kind != ValueText)
        return refuse_call(c, "takes a text");
    for (const char *x = c->in[1].text; *x; x++)
        if (*x & 0x80)
            return refuse_call(c, "takes a text of ASCII");
    while (front && p.n && strchr(c->in[1].text, *p.text)) {
        p.text++;
        p.n--;
    }
    while (back && p.n && strchr(c->in[1].text, p.text[p.n - 1]))
        p.n--;
    return text_of(c, p.text, (size_t)p.n);
}

static Datum split(const Call *c)
{
    VEC(Datum) items = { NULL, 0, 0 };
    const char *at = c->in[0].text, *end;
    int64_t most = c->n > 2 && c->in[2].kind == ValueInt ? c->in[2].whole : -1;
    if (c->n < 2 || c->in[1].kind != ValueText || !*c->in[1].text)
        return refuse_call(c, "without a separator is not supported");
    while (most-- != 0 && (end = strstr(at, c->in[1].text))
           && jinja_spend(c->s, c->e, 48)) {
        vec_push(c->s->arena, &items, text_of(c, at, (size_t)(end - at)));
        at = end + strlen(c->in[1].text);
    }
    vec_push(c->s->arena, &items, text_of(c, at, strlen(at)));
    return jinja_list(c->s, c->e, items.at, items.n);
}

static Datum starts_with(const Call *c)
{
    if (c->n != 2 || c->in[1].kind != ValueText)
        return refuse_call(c, "takes a text");
    const size_t n = strlen(c->in[0].text), m = strlen(c->in[1].text);
    const size_t from = test_is(c, "endswith") && m <= n ? n - m : 0;
    return value_truth(m <= n
                       && !memcmp(c->in[0].text + from, c->in[1].text, m));
}

static Datum cased(const Call *c)
{
    char *text = arena_strdup(c->s->arena, c->in[0].text);
    bool word = false;
    for (char *x = text; *x; x++) {
        const bool letter = (*x >= 'a' && *x <= 'z')
                         || (*x >= 'A' && *x <= 'Z');
        const bool up = test_is(c, "upper") || (test_is(c, "title") && !word)
                     || (test_is(c, "capitalize") && x == text);
        if (*x & 0x80)
            return refuse_call(c, "is applied to a text that is not ASCII");
        if (letter)
            *x = (char)(up ? *x & ~32 : *x | 32);
        word = letter;
    }
    return text_of(c, text, strlen(text));
}

static Datum replace_part(const Call *c)
{
    Buffer b = { .arena = c->s->arena };
    const char *at = c->in[0].text, *end;
    if (c->n != 3 || c->in[1].kind != ValueText || c->in[2].kind != ValueText
        || !*c->in[1].text)
        return refuse_call(c, "takes two texts");
    while ((end = strstr(at, c->in[1].text))
           && jinja_spend(c->s, c->e, 1 + (int64_t)strlen(c->in[2].text))) {
        buffer_add(&b, at, (size_t)(end - at));
        buffer_printf(&b, "%s", c->in[2].text);
        at = end + strlen(c->in[1].text);
    }
    buffer_printf(&b, "%s", at);
    return text_of(c, b.at ? b.at : "", (size_t)b.n);
}

/* ---- lists and maps ---- */
static Datum items(const Call *c)
{
    VEC(Datum) all = { NULL, 0, 0 };
    for (int i = 0; i < c->in[0].many.n; i++) {
        const Datum key = { .kind = ValueText, .text = c->in[0].many.key[i] };
        const Datum pair[] = { key, c->in[0].many.at[i] };
        vec_push(c->s->arena, &all,
                 test_is(c, "keys")     ? key
                 : test_is(c, "values") ? pair[1]
                                        : jinja_list(c->s, c->e, pair, 2));
    }
    return jinja_list(c->s, c->e, all.at, all.n);
}

static Datum get(const Call *c)
{
    if (c->n < 2 || c->in[1].kind != ValueText)
        return refuse_call(c, "takes a key");
    const Datum *v = value_get(&c->in[0], c->in[1].text);
    return v ? *v : c->n > 2 ? c->in[2] : (Datum){ .kind = ValueNone };
}

static Datum count_items(const Call *c)
{
    const Datum all = jinja_items(c->s, c->e, &c->in[0]);
    return value_integer(all.many.n);
}

static Datum to_list(const Call *c)
{
    const Datum all = jinja_items(c->s, c->e, &c->in[0]);
    if (test_is(c, "list"))
        return all;
    if (c->s->why->why || !all.many.n)
        return undefined;
    return all.many.at[test_is(c, "first") ? 0 : all.many.n - 1];
}

static Datum join(const Call *c)
{
    const Datum all = jinja_items(c->s, c->e, &c->in[0]);
    Buffer b = { .arena = c->s->arena };
    const char *by = c->n > 1 && c->in[1].kind == ValueText ? c->in[1].text
                                                            : "";
    for (int i = 0; i < all.many.n; i++) {
        const char *text = jinja_text(c->s, c->e, &all.many.at[i]);
        if (!jinja_spend(c->s, c->e, (int64_t)(strlen(text) + strlen(by))))
            return undefined;
        buffer_printf(&b, "%s%s", i ? by : "", text);
    }
    return text_of(c, b.at ? b.at : "", (size_t)b.n);
}

static Datum test_of(JinjaState *s, const JinjaNode *e, const char *name,
                     const Datum *x, const Datum *y);

/* Keeps, or with `reject` removes, the items whose member passes a test; `map`
 * returns their members. */
static Datum select_items(const Call *c)
{
    const Datum all = jinja_items(c->s, c->e, &c->in[0]);
    const Datum *key = test_is(c, "map") ? keyed(c, "attribute")
                     : c->n > 1          ? &c->in[1]
                                         : NULL;
    VEC(Datum) kept = { NULL, 0, 0 };
    if (!key || key->kind != ValueText)
        return refuse_call(c, "takes the name of a member");
    for (int i = 0; i < all.many.n && !c->s->why->why; i++) {
        const Datum v = jinja_item(c->s, c->e, &all.many.at[i], key);
        const Datum ok = c->n < 3 ? value_truth(jinja_truth(&v))
                       : c->in[2].kind != ValueText
                           ? refuse_call(c, "takes the name of a test")
                           : test_of(c->s, c->e, c->in[2].text, &v,
                                     c->n > 3 ? &c->in[3] : NULL);
        if (test_is(c, "map") || jinja_truth(&ok) == test_is(c, "selectattr"))
            vec_push(c->s->arena, &kept,
                     test_is(c, "map") ? v : all.many.at[i]);
    }
    return jinja_list(c->s, c->e, kept.at, kept.n);
}

/* ---- any value ---- */
static Datum fallback(const Call *c)
{
    const bool falsy = c->n > 2 && jinja_truth(&c->in[2]);
    const Datum empty = { .kind = ValueText, .text = "" };
    if (c->in[0].kind != ValueUndefined && (!falsy || jinja_truth(&c->in[0])))
        return c->in[0];
    return c->n > 1 ? c->in[1] : empty;
}

/* Adds a text as json.dumps() of Python has it. */
static void put_quoted(Buffer *b, const char *text)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    buffer_add(b, "\"", 1);
    for (; *text; text++) {
        const char *c = strchr(from, *text);
        if (c)
            buffer_printf(b, "\\%c", to[c - from]);
        else if ((unsigned char)*text < ' ')
            buffer_printf(b, "\\u%04x", (unsigned)*text);
        else
            buffer_add(b, text, 1);
    }
    buffer_add(b, "\"", 1);
}

static void put_json(const Call *c, Buffer *b, const Datum *v)
{
    if (!jinja_spend(c->s, c->e, 16))
        return;
    if (v->kind == ValueText)
        put_quoted(b, v->text);
    else if (v->kind & (ValueBool | ValueInt | ValueNone))
        buffer_printf(b, "%s", value_text(c->s->arena, v));
    else if (!(v->kind & (ValueList | ValueMap)))
        refuse_call(c, "takes no such value");
    else {
        buffer_printf(b, v->kind == ValueMap ? "{" : "[");
        for (int i = 0; i < v->many.n; i++) {
            buffer_printf(b, "%s", i ? ", " : "");
            if (v->kind == ValueMap) {
                put_quoted(b, v->many.key[i]);
                buffer_printf(b, ": ");
            }
            put_json(c, b, &v->many.at[i]);
        }
        buffer_printf(b, v->kind == ValueMap ? "}" : "]");
    }
}

static Datum json(const Call *c)
{
    Buffer b = { .arena = c->s->arena };
    if (c->n > 1)
        return refuse_call(c, "with arguments is not supported");
    put_json(c, &b, &c->in[0]);
    return text_of(c, b.at ? b.at : "", (size_t)b.n);
}

static Datum string(const Call *c)
{
    const char *text = jinja_text(c->s, c->e, &c->in[0]);
    return text_of(c, text, strlen(text));
}

static Datum same_value(const Call *c)
{
    return c->in[0];
}

/* ---- functions ---- */
static Datum space(const Call *c)
{
    VEC(const char *) keys = { NULL, 0, 0 };
    for (int i = 1; i < c->n; i++) {
        if (!c->e->in.at[i]->key)
            return refuse_call(c, "takes names and values");
        vec_push(c->s->arena, &keys, c->e->in.at[i]->key);
    }
    const char *const none[] = { NULL };
    const Datum map = jinja_map(c->s, c->e, c->in + 1,
                                keys.n ? (const char *const *)keys.at : none,
                                keys.n);
    if (test_is(c, "dict"))
        return map;
    vec_push(c->s->arena, &c->s->spaces, map);
    return (Datum){ .kind = ValueSpace, .whole = c->s->spaces.n - 1 };
}

static Datum range(const Call *c)
{
    VEC(Datum) all = { NULL, 0, 0 };
    for (int i = 1; i < c->n; i++)
        if (c->in[i].kind != ValueInt)
            return refuse_call(c, "takes integers");
    const int64_t step = c->n > 3 ? c->in[3].whole : 1;
    const int64_t to = c->n > 2 ? c->in[2].whole
                     : c->n > 1 ? c->in[1].whole
                                : 0;
    if (c->n < 2 || step < -1000 || step > 1000 || !step || to > 100000
        || to < -100000)
        return refuse_call(c, "takes one to three integers that are not large");
    for (int64_t i = c->n > 2 ? c->in[1].whole : 0;
         (step > 0 ? i < to : i > to) && jinja_spend(c->s, c->e, 48); i += step)
        vec_push(c->s->arena, &all, value_integer(i));
    return jinja_list(c->s, c->e, all.at, all.n);
}

/* Formats the 26th of July 2024, a day that some templates name, too. */
static Datum date(const Call *c)
{
    static const char *const parts[][2] = {
        { "d", "26" },  { "m", "07" },   { "Y", "2024" },   { "y", "24" },
        { "b", "Jul" }, { "B", "July" }, { "A", "Friday" }, { "a", "Fri" },
        { "-d", "26" }, { "H", "12" },   { "M", "00" },     { "S", "00" },
        { "%", "%" },
    };
    Buffer b = { .arena = c->s->arena };
    c->s->dated = true;
    if (c->n != 2 || c->in[1].kind != ValueText)
        return refuse_call(c, "takes a format");
    for (const char *f = c->in[1].text; *f; f++) {
        const char *part = *f == '%' ? NULL : "";
        for (int i = 0; i < 13 && !part; i++)
            if (!strncmp(f + 1, parts[i][0], strlen(parts[i][0]))) {
                part = parts[i][1];
                f += strlen(parts[i][0]);
            }
        if (!part)
            return refuse_call(c, "takes another format");
        if (*part)
            buffer_printf(&b, "%s", part);
        else
            buffer_add(&b, f, 1);
    }
    return text_of(c, b.at ? b.at : "", (size_t)b.n);
}

static Datum raise(const Call *c)
{
    return jinja_fault(c->s, c->e, "the template refuses it: \"%s\"",
                       c->n > 1 && c->in[1].kind == ValueText
                           ? quote(c->in[1].text)
                           : "");
}

/* ---- tests ---- */
typedef struct {
    const char *name;
    int kinds; /* the test passes for values of these kinds */
} KindTest;
static const KindTest kind_tests[] = {
    { "undefined", ValueUndefined },
    { "defined", ~ValueUndefined },
    { "none", ValueNone },
    { "string", ValueText },
    { "boolean", ValueBool },
    { "integer", ValueInt },
    { "float", ValueNumber },
    { "number", ValueInt | ValueNumber | ValueBool },
    { "mapping", ValueMap },
    { "sequence", ValueText | ValueList | ValueMap },
    { "iterable", ValueText | ValueList | ValueMap | ValueUndefined },
};

static Datum test_of(JinjaState *s, const JinjaNode *e, const char *name,
                     const Datum *x, const Datum *y)
{
    static const char *const equal[] = { "eq", "equalto", "==", "sameas" };
    static const char *const unequal[] = { "ne", "!=" };
    for (size_t i = 0; i < sizeof kind_tests / sizeof *kind_tests; i++)
        if (!strcmp(name, kind_tests[i].name) && !y)
            return value_truth(x->kind & kind_tests[i].kinds);
    for (int i = 0; i < 4 && y; i++)
        if (!strcmp(name, equal[i]))
            return value_truth(jinja_same(s, e, x, y)
                               && (i < 3 || x->kind == y->kind));
    for (int i = 0; i < 2 && y; i++)
        if (!strcmp(name, unequal[i]))
            return value_truth(!jinja_same(s, e, x, y));
    if (!strcmp(name, "in") && y)
        return value_truth(jinja_in(s, e, x, y));
    if (x->kind == ValueBool && !y
        && (!strcmp(name, "true") || !strcmp(name, "false")))
        return value_truth(x->truth == (*name == 't'));
    if (!strcmp(name, "true") || !strcmp(name, "false"))
        return value_truth(false);
    if (x->kind == ValueInt && !y
        && (!strcmp(name, "odd") || !strcmp(name, "even")))
        return value_truth((x->whole % 2 != 0) == (*name == 'o'));
    return jinja_fault(s, e, "the test '%s' is not supported", quote(name));
}

/* ---- table ---- */
typedef struct {
    int as; /* the JinjaKinds that call it, as bits */
    const char *name;
    int takes; /* kinds that it is applied to; 0: all */
    Datum (*run)(const Call *c);
    const char *keys; /* names of arguments that it knows; "*": all */
} Function;

enum {
    Filter = 1 << NodeFilter,
    Method = 1 << NodeMethod,
    Both = Filter | Method,
    Plain = 1 << NodeFunction,
    Text = ValueText,
    Map = ValueMap,
    Many = ValueList | ValueMap | ValueText | ValueUndefined
};
/* clang-format off */
static const Function functions[] = {
    { Filter, "trim", Text, strip, "" },
    { Both, "upper", Text, cased, "" },
    { Both, "lower", Text, cased, "" },
    { Both, "title", Text, cased, "" },
    { Both, "capitalize", Text, cased, "" },
    { Both, "replace", Text, replace_part, "" },
    { Filter, "length", Many, count_items, "" },
    { Filter, "count", Many, count_items, "" },
    { Filter, "list", Many, to_list, "" },
    { Filter, "first", Many, to_list, "" },
    { Filter, "last", Many, to_list, "" },
    { Filter, "join", Many, join, "" },
    { Both, "items", Map, items, "" },
    { Filter, "selectattr", Many, select_items, "" },
    { Filter, "rejectattr", Many, select_items, "" },
    { Filter, "map", Many, select_items, "attribute" },
    { Filter, "default", 0, fallback, "boolean" },
    { Filter, "d", 0, fallback, "boolean" },
    { Filter, "tojson", 0, json, "" },
    { Filter, "string", 0, string, "" },
    { Filter, "safe", Text, same_value, "" },
    { Filter, "int", ValueInt, same_value, "" },
    { Method, "strip", Text, strip, "" },
    { Method, "lstrip", Text, strip, "" },
    { Method, "rstrip", Text, strip, "" },
    { Method, "split", Text, split, "" },
    { Method, "startswith", Text, starts_with, "" },
    { Method, "endswith", Text, starts_with, "" },
    { Method, "keys", Map, items, "" },
    { Method, "values", Map, items, "" },
    { Method, "get", Map, get, "" },
    { Plain, "namespace", 0, space, "*" },
    { Plain, "dict", 0, space, "*" },
    { Plain, "range", 0, range, "" },
    { Plain, "strftime_now", 0, date, "" },
    { Plain, "raise_exception", 0, raise, "" },
};
/* clang-format on */

static bool knows(const Function *f, const JinjaNode *e)
{
    for (int i = 1; i < e->in.n; i++)
        if (e->in.at[i]->key && strcmp(f->keys, "*") != 0
            && strcmp(f->keys, e->in.at[i]->key) != 0)
            return false;
    return true;
}

Datum jinja_call(JinjaState *s, const JinjaNode *e, const Datum *argument,
                 int n)
{
    const Call c = { s, e, argument, n };
    for (int i = 0; i < n; i++)
        jinja_read(s, e, &argument[i]);
    if (e->kind == NodeTest)
        return test_of(s, e, e->text, argument, n > 1 ? &argument[1] : NULL);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const Function *f = &functions[i];
        if (!(f->as & 1 << e->kind) || strcmp(f->name, e->text) != 0)
            continue;
        if (f->takes && !(f->takes & argument->kind))
            return refuse_call(&c,
                               "is applied to a value that it does not take");
        return knows(f, e)
                 ? f->run(&c)
                 : refuse_call(&c, "is called with an argument that is "
                                   "not supported");
    }
    return refuse_call(&c, "is not supported");
}
