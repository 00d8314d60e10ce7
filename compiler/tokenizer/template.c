/* template.c: reads the "post_processor" of a tokenizer.json: the tokens added
 * around a text and between two texts, and a flag that excludes spaces from
 * offsets. */
#include "tokenizer/reader.h"

enum { TextFirst = -1, TextSecond = -2 };

bool template_put(Reader *r, const char *place, bool pair, int32_t id, int type)
{
    Tokenizer *t = &r->t;
    struct attn_template *rows = pair ? t->pair : t->single;
    int *n = pair ? &t->pairs : &t->singles;
    if (*n == TemplateRows)
        return refuse(r, "%s: a template of more than %d rows", place,
                      TemplateRows);
    rows[(*n)++] = (struct attn_template){ id, type };
    return true;
}

/* Adds a template from a form such as "c1s": class token, text, separator. */
static bool put_form(Reader *r, const char *place, const char *form,
                     const int *types, int32_t class, int32_t separator)
{
    for (int i = 0; form[i]; i++) {
        int32_t id = form[i] == 'c' ? class
                   : form[i] == 's' ? separator
                                    : TextFirst - (form[i] == '2');
        if (!template_put(r, place, strchr(form, '2') != NULL, id, types[i]))
            return false;
    }
    return true;
}

static bool read_token(Reader *r, const json_t *o, const char *place,
                       const char *key, int32_t *id)
{
    const json_t *pair = json_object_get(o, key);
    const json_t *number = json_array_get(pair, 1);
    const json_int_t n = json_integer_value(number);
    if (json_array_size(pair) != 2 || !json_is_integer(number))
        return refuse(r, "%s.%s: [\"token\", id] is expected", place, key);
    if (n < 0 || n >= r->t.tokens)
        return refuse(r, "%s.%s: id %lld, and there are %lld tokens", place,
                      key, (long long)n, (long long)r->t.tokens);
    *id = (int32_t)n;
    return true;
}

static bool read_bert_template(Reader *r, const json_t *o, const char *place)
{
    static const char *const known[] = { "type", "sep", "cls", NULL };
    static const int types[] = { 0, 0, 0, 1, 1 };
    int32_t class, separator;
    return json_only(r, o, place, known)
        && read_token(r, o, place, "cls", &class)
        && read_token(r, o, place, "sep", &separator)
        && put_form(r, place, "c1s", types, class, separator)
        && put_form(r, place, "c1s2s", types, class, separator);
}

static bool read_trim(Reader *r, const json_t *o, const char *place)
{
    bool trim, space;
    if (!json_flag(r, o, place, "trim_offsets", true, &trim)
        || !json_flag(r, o, place, "add_prefix_space", true, &space))
        return false;
    r->t.flags |= trim ? ATTN_MODEL_TRIM : 0;
    r->t.flags |= trim && space ? ATTN_MODEL_KEEP_FIRST : 0;
    return true;
}

static bool read_doubled(Reader *r, const json_t *o, const char *place)
{
    static const char *const known[] = {
        "type", "sep", "cls", "trim_offsets", "add_prefix_space", NULL
    };
    static const int types[6] = { 0 };
    int32_t class, separator;
    return json_only(r, o, place, known) && read_trim(r, o, place)
        && read_token(r, o, place, "cls", &class)
        && read_token(r, o, place, "sep", &separator)
        && put_form(r, place, "c1s", types, class, separator)
        && put_form(r, place, "c1ss2s", types, class, separator);
}

static bool read_bytes(Reader *r, const json_t *o, const char *place)
{
    static const char *const known[] = { "type", "add_prefix_space",
                                         "trim_offsets", "use_regex", NULL };
    return json_only(r, o, place, known) && read_trim(r, o, place);
}

/* ---- written ---- */

/* Adds the ids of a token that a template names. */
static bool put_named(Reader *r, const json_t *o, const char *place, bool pair,
                      const char *name, int type)
{
    const json_t *token = json_object_get(json_object_get(o, "special_tokens"),
                                          name);
    const json_t *ids = json_object_get(token, "ids");
    if (!json_is_array(ids))
        return refuse(r, "%s.special_tokens: '%s' has no ids", place,
                      quote(name));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *number = json_array_get(ids, i);
        const json_int_t id = json_integer_value(number);
        if (!json_is_integer(number) || id < 0 || id >= r->t.tokens)
            return refuse(r,
                          "%s.special_tokens: '%s' has an id that is no "
                          "token's",
                          place, quote(name));
        if (!template_put(r, place, pair, (int32_t)id, type))
            return false;
    }
    return true;
}

static bool read_row(Reader *r, const json_t *o, const json_t *row,
                     const char *place, bool pair)
{
    const json_t *special = json_object_get(row, "SpecialToken");
    const json_t *sequence = json_object_get(row, "Sequence");
    const json_t *one = special ? special : sequence;
    const char *name = json_string_value(json_object_get(one, "id"));
    const json_int_t type = json_integer_value(json_object_get(one, "type_id"));
    if (!name || json_object_size(row) != 1 || type < 0 || type > 255)
        return refuse(r,
                      "%s.%s: SpecialToken or Sequence, with id and type_id "
                      "(0 to 255), is expected",
                      place, pair ? "pair" : "single");
    if (special)
        return put_named(r, o, place, pair, name, (int)type);
    const bool second = strcmp(name, "B") == 0;
    if ((!second && strcmp(name, "A") != 0) || (second && !pair))
        return refuse(r, "%s.%s: there is no sequence '%s'", place,
                      pair ? "pair" : "single", quote(name));
    return template_put(r, place, pair, second ? TextSecond : TextFirst,
                        (int)type);
}

static bool read_template(Reader *r, const json_t *o, const char *place)
{
    static const char *const known[] = { "type", "single", "pair",
                                         "special_tokens", NULL };
    if (!json_only(r, o, place, known))
        return false;
    for (int pair = 0; pair < 2; pair++) {
        const char *key = pair ? "pair" : "single";
        const json_t *rows = json_object_get(o, key);
        if (!json_is_array(rows))
            return refuse(r, "%s.%s: a list is expected", place, key);
        for (size_t i = 0; i < json_array_size(rows); i++)
            if (!read_row(r, o, json_array_get(rows, i), place, pair))
                return false;
    }
    return true;
}

static bool read_templates(Reader *r, const json_t *o, const char *place)
{
    static const char *const known[] = { "type", "processors", NULL };
    const json_t *list = json_object_get(o, "processors");
    if (!json_only(r, o, place, known))
        return false;
    if (!json_is_array(list))
        return refuse(r, "%s.processors: a list is expected", place);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!template_read(r, json_array_get(list, i),
                           arena_printf(r->arena, "%s.processors[%zu]", place,
                                        i)))
            return false;
    return true;
}

bool template_read(Reader *r, const json_t *o, const char *place)
{
    static const struct {
        const char *type;
        bool (*read)(Reader *r, const json_t *o, const char *place);
        bool around; /* true if it adds tokens around a text */
    } rows[] = { { "Sequence", read_templates, false },
                 { "TemplateProcessing", read_template, true },
                 { "BertProcessing", read_bert_template, true },
                 { "RobertaProcessing", read_doubled, true },
                 { "ByteLevel", read_bytes, false } };
    if (!o || json_is_null(o))
        return true;
    const char *type = type_name(o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].type, type) != 0)
            continue;
        if (rows[i].around && r->t.singles)
            return refuse(r, "%s: a second template around a text", place);
        return rows[i].read(r, o, place);
    }
    return refuse_unknown(r, place, "type", type);
}
