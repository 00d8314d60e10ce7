/* schema_values.c: rules for objects and arrays. */
#include <string.h>

#include "base/put_json.h"
#include "schema/schema_parts.h"

/* A grammar has at most 200 groups in each other. */
enum { MostNameBytes = 190, MostLeftOut = 190 };

/* ---- objects ---- */

typedef struct {
    const char *name;
    const json_t *of;
    const char *pointer;
    bool required;
} Member;

typedef struct {
    Schema *s;
    VEC(Member) member; /* in the order in which they are written */
    int rule;           /* number of the object's rule */
    bool more;          /* other members may follow */
} Members;

static Member *find_member(Members *m, const char *name)
{
    for (int i = 0; i < m->member.n; i++)
        if (!strcmp(m->member.at[i].name, name))
            return &m->member.at[i];
    return NULL;
}

/* Marks required members. Those that `properties` lacks follow its own. */
static bool read_required(Members *m, const json_t *schema, const char *pointer,
                          const json_t *other)
{
    Schema *s = m->s;
    const json_t *list = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        Member *found = name ? find_member(m, name) : NULL;
        if (found)
            found->required = true;
        else if (name)
            vec_push(s->arena, &m->member,
                     ((Member){
                         name, other ? other : json_true(),
                         schema_below(s, pointer, "additionalProperties"),
                         true }));
        if (!name)
            list = NULL;
    }
    if (json_object_get(schema, "required") && !json_is_array(list))
        return schema_refuse(s, schema_below(s, pointer, "required"),
                             "a list of names is expected");
    return true;
}

static bool read_members(Members *m, const json_t *schema, const char *pointer)
{
    Schema *s = m->s;
    json_t *list = json_object_get(schema, "properties"), *x;
    const json_t *other = json_object_get(schema, "additionalProperties");
    const char *at = schema_below(s, pointer, "properties"), *name;
    if (list && !json_is_object(list))
        return schema_refuse(s, at, "an object of schemas is expected");
    json_object_foreach(list, name, x)
        vec_push(s->arena, &m->member,
                 ((Member){ name, x, schema_below(s, at, name), false }));
    m->more = other ? !json_is_false(other) : m->member.n == 0;
    if (!read_required(m, schema, pointer, other))
        return false;
    for (int i = 0; m->more && i < m->member.n; i++)
        if (strlen(m->member.at[i].name) > MostNameBytes)
            return schema_refuse(s, m->member.at[i].pointer,
                                 "beside other members a name has at most 190 "
                                 "bytes: shorten it, or set "
                                 "additionalProperties to false");
    return true;
}

/* Adds a member: its name and the rule of its value. */
static void put_member(Members *m, Buffer *b, int i, const char *comma)
{
    Schema *s = m->s;
    const Member *x = &m->member.at[i];
    Buffer name = { .arena = s->arena };
    buffer_printf(&name, "%s", comma);
    json_quote(&name, x->name, -1);
    buffer_add(&name, ": ", 2);
    schema_literal(b, name.at);
    buffer_printf(b, " r%d", schema_rule(s, x->of, x->pointer));
}

/* Writes the rule of other members. */
static void put_other(Members *m, const json_t *schema, const char *pointer)
{
    Schema *s = m->s;
    const json_t *other = json_object_get(schema, "additionalProperties");
    const char **name = arena_alloc(s->arena,
                                    (size_t)(m->member.n + 1) * sizeof *name);
    for (int i = 0; i < m->member.n; i++)
        name[i] = m->member.at[i].name;
    buffer_printf(s->later, "r%d-more ::= \"\\\"\" ", m->rule);
    schema_other_names(s, s->later, name, m->member.n);
    buffer_printf(s->later, " \"\\\": \" ");
    if (other && !json_is_true(other))
        buffer_printf(s->later, "r%d",
                      schema_rule(s, other,
                                  schema_below(s, pointer,
                                               "additionalProperties")));
    else
        schema_use(s, s->later, TextValue);
    buffer_printf(s->later, "\n");
}

/* Writes the rules rN-K, for what follows the first K members if something was
 * written; from the first required member on, one rule is enough. */
static void put_rest(Members *m, int least)
{
    Schema *s = m->s;
    Buffer *b = s->later;
    const int n = m->member.n, last = least < n ? least + 1 : n;
    for (int k = 1; k <= last; k++) {
        buffer_printf(b, "r%d-%d ::= ", m->rule, k);
        for (int i = k; i < (k < last ? k + 1 : n); i++) {
            const bool required = m->member.at[i].required;
            buffer_printf(b, required ? "" : "(");
            put_member(m, b, i, ", ");
            buffer_printf(b, required ? " " : ")? ");
        }
        if (k < last)
            buffer_printf(b, "r%d-%d", m->rule, k + 1);
        else if (m->more)
            buffer_printf(b, "(\", \" r%d-more)*", m->rule);
        else if (k == n)
            buffer_printf(b, "\"\"");
        buffer_printf(b, "\n");
    }
}

/* Returns the number of the rule that is being written. */
static int rule_of(const Schema *s, const json_t *schema)
{
    int i = 0;
    while (s->rule.at[i].of != schema)
        i++;
    return i;
}

bool schema_object(Schema *s, const json_t *schema, const char *pointer)
{
    Members m = { .s = s, .rule = rule_of(s, schema) };
    int least = 0;
    if (!read_members(&m, schema, pointer))
        return false;
    while (least < m.member.n && !m.member.at[least].required)
        least++;
    buffer_printf(s->to, "\"{\" (");
    for (int i = 0; i < m.member.n && i <= least; i++) {
        buffer_printf(s->to, i > 0 ? " | " : "");
        put_member(&m, s->to, i, "");
        buffer_printf(s->to, " r%d-%d", m.rule, i + 1);
    }
    if (least == m.member.n) {
        buffer_printf(s->to, least > 0 ? " | " : "");
        if (m.more)
            buffer_printf(s->to, "(r%d-more (\", \" r%d-more)*)?", m.rule,
                          m.rule);
    }
    buffer_printf(s->to, ") \"}\"");
    put_rest(&m, least);
    if (m.more)
        put_other(&m, schema, pointer);
    return true;
}

/* ---- arrays ---- */

typedef struct {
    int64_t least, most; /* most -1: any number */
    const json_t *first; /* schemas of the first items, or NULL */
    const json_t *item;  /* schema of all others; NULL: there are none */
    int64_t n;           /* number of the first items */
} Items;

static bool read_items(Schema *s, const json_t *schema, const char *pointer,
                       Items *to)
{
    const char *at = schema_below(s, pointer, "prefixItems");
    *to = (Items){ .least = 0, .most = -1 };
    to->first = json_object_get(schema, "prefixItems");
    to->item = json_object_get(schema, "items");
    to->n = (int64_t)json_array_size(to->first);
    if (to->first && !json_is_array(to->first))
        return schema_refuse(s, at, "a list of schemas is expected");
    if (!schema_count(s, schema, pointer, "minItems", &to->least)
        || !schema_count(s, schema, pointer, "maxItems", &to->most))
        return false;
    if (!to->item && !to->first)
        to->item = json_true();
    if (json_is_false(to->item))
        to->item = NULL;
    if (!to->item && (to->most < 0 || to->most > to->n))
        to->most = to->n;
    if (to->most >= 0 && to->most < to->least)
        return schema_refuse(s, pointer,
                             "no array has this many items: minItems is "
                             "greater than what maxItems or prefixItems allow");
    return true;
}

/* Adds item i and, in a group, those that follow it. */
static void put_item(Schema *s, const Items *x, const char *pointer, int64_t i)
{
    const char *key = i < x->n ? "prefixItems" : "items";
    const char *at = schema_below(s, pointer, key);
    const json_t *of = x->item;
    if (i < x->n) {
        of = json_array_get(x->first, (size_t)i);
        at = arena_printf(s->arena, "%s/%lld", at, (long long)i);
    }
    buffer_printf(s->to, "r%d", schema_rule(s, of, at));
}

bool schema_array(Schema *s, const json_t *schema, const char *pointer)
{
    Items x;
    if (!read_items(s, schema, pointer, &x))
        return false;
    /* the first items one by one, or one of `items` */
    const int64_t one = attn_max(x.n, 1);
    const int64_t n = x.most < 0 ? one : attn_min(one, x.most);
    int open = 0;
    if (n - x.least > MostLeftOut)
        return schema_refuse(s, pointer,
                             "at most 190 of the first items can be left out: "
                             "raise minItems");
    buffer_printf(s->to, "\"[\" ");
    for (int64_t i = 0; i < n; i++) {
        if (i >= x.least) {
            buffer_printf(s->to, "(");
            open++;
        }
        buffer_printf(s->to, i > 0 ? "\", \" " : "");
        put_item(s, &x, pointer, i);
        buffer_printf(s->to, " ");
    }
    if (x.item && n == one && x.most != n) {
        buffer_printf(s->to, "(\", \" ");
        put_item(s, &x, pointer, x.n + 1);
        buffer_printf(s->to, "){%lld,", (long long)attn_max(x.least - n, 0));
        if (x.most >= 0)
            buffer_printf(s->to, "%lld", (long long)(x.most - n));
        buffer_printf(s->to, "} ");
    }
    while (open-- > 0)
        buffer_printf(s->to, ")? ");
    buffer_printf(s->to, "\"]\"");
    return true;
}
