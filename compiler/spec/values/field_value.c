/* field_value.c: converts the text of a value to a member of Spec and back,
 * depending on the type of the field. */
#include <string.h>

#include "spec/fields/fields.h"

/* ---- values ---- */
static bool scalar(const Yaml *v)
{
    return v->kind == YamlScalar && !v->quoted;
}

static bool read_int(Arena *a, const Field *f, void *at, const Yaml *v)
{
    int64_t value;

    if (!scalar(v) || !parse_int(v->text, &value))
        return refuse_number(a, f, v);
    if ((double)value < f->least || (double)value > f->most)
        return refuse_value(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

static bool read_real(Arena *a, const Field *f, void *at, const Yaml *v)
{
    double value;

    if (!scalar(v) || !parse_real(v->text, &value))
        return refuse_number(a, f, v);
    if (!(value >= f->least && value <= f->most))
        return refuse_value(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

static bool read_reals(Arena *a, const Field *f, SpecReals *to, const Yaml *v)
{
    Field number = *f;
    VEC(double) list = { 0 };
    double value;

    if (v->kind != YamlList || v->items.n == 0)
        return refuse_value(a, f, v);
    number.type = FieldReal;
    for (int i = 0; i < v->items.n; i++) {
        if (!read_real(a, &number, &value, v->items.at[i]))
            return false;
        vec_push(a, &list, value);
    }
    *to = (SpecReals){ list.at, list.n };
    return true;
}

typedef VEC(int32_t) IdVec;

/* Adds an id, or each id of a list. */
static bool add_ids(Arena *a, const Field *f, IdVec *to, const Yaml *v)
{
    Field number = *f;
    int64_t value;

    number.type = FieldInt;
    if (v->kind != YamlList) {
        if (!read_int(a, &number, &value, v))
            return false;
        vec_push(a, to, (int32_t)value);
        return true;
    }
    for (int i = 0; i < v->items.n; i++)
        if (v->items.at[i]->kind == YamlList)
            return refuse_value(a, f, v->items.at[i]);
        else if (!add_ids(a, f, to, v->items.at[i]))
            return false;
    return v->items.n > 0 || refuse_value(a, f, v);
}

static bool read_ids(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    IdVec ids = { 0 };

    if (v->kind == YamlMap)
        return refuse_value(a, f, v);
    if (!add_ids(a, f, &ids, v))
        return false;
    const SpecIds list = { ids.at, ids.n };
    const int64_t first = ids.at[0];
    memcpy((char *)s + f->at, &list, sizeof list);
    if (f->also)
        memcpy((char *)s + f->also, &first, sizeof first);
    return true;
}

static bool read_sequences(Arena *a, const Field *f, SpecIds *to, const Yaml *v)
{
    IdVec ids = { 0 };

    if (v->kind != YamlList || v->items.n == 0)
        return refuse_value(a, f, v);
    for (int i = 0; i < v->items.n; i++) {
        const int at = ids.n;
        vec_push(a, &ids, 0);
        if (!add_ids(a, f, &ids, v->items.at[i]))
            return false;
        ids.at[at] = ids.n - at - 1;
    }
    *to = (SpecIds){ ids.at, ids.n };
    return true;
}

static bool read_bool(Arena *a, const Field *f, void *at, const Yaml *v)
{
    bool value = scalar(v) && !strcmp(v->text, "true");

    if (!value && !(scalar(v) && !strcmp(v->text, "false")))
        return refuse_bool(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

static bool read_enum(Arena *a, const Field *f, void *at, const Yaml *v)
{
    int value = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;

    if (value < 0)
        return refuse_word(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

/* Reads a word or a number. A number is stored with the index after the last
 * word. */
static bool read_scale(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    int value = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;
    double number = 0;

    if (value < 0) {
        if (!scalar(v) || !parse_real(v->text, &number))
            return refuse_word(a, f, v);
        if (!(number >= f->least && number <= f->most))
            return refuse_value(a, f, v);
        for (value = 0; f->words[value];)
            value++;
    }
    memcpy((char *)s + f->at, &value, sizeof value);
    memcpy((char *)s + f->also, &number, sizeof number);
    return true;
}

static bool read_activation(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    for (int i = 0; v->kind == YamlScalar && i < ActCount; i++) {
        const ActText *act = &act_text[i];
        bool gated = act->gated && !strcmp(v->text, act->gated);
        if (!gated && strcmp(v->text, act->plain))
            continue;
        memcpy((char *)s + f->at, &i, sizeof i);
        memcpy((char *)s + f->also, &gated, sizeof gated);
        return true;
    }
    return refuse_word(a, f, v);
}

static bool read_flags(Arena *a, const Field *f, void *at, const Yaml *v)
{
    int bits = 0;

    if (v->kind != YamlList)
        return refuse_value(a, f, v);
    for (int i = 0; i < v->items.n; i++) {
        const Yaml *item = v->items.at[i];
        int word = item->kind == YamlScalar ? find_word(f->words, item->text)
                                            : -1;
        if (word < 0)
            return refuse_word(a, f, item);
        if (bits & 1 << word) {
            error_at(item->pos, "%s has '%s' twice", f->key, item->text);
            return false;
        }
        bits |= 1 << word;
    }
    memcpy(at, &bits, sizeof bits);
    return true;
}

bool is_name(const char *text)
{
    static const char name_bytes[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t n = strlen(text);

    return n > 0 && n <= 128 && strspn(text, name_bytes) == n;
}

static bool read_text(Arena *a, const Field *f, void *at, const Yaml *v)
{
    size_t n = v->kind == YamlScalar ? strlen(v->text) : 0;

    if (n == 0 || n > 1024 || (f->type == FieldName && !is_name(v->text)))
        return refuse_value(a, f, v);
    if (f->type != FieldExtends)
        memcpy(at, &v->text, sizeof v->text);
    return true;
}

static bool read_any_text(Arena *a, const Field *f, void *at, const Yaml *v)
{
    if (v->kind != YamlScalar || strlen(v->text) > MostTextBytes)
        return refuse_value(a, f, v);
    memcpy(at, &v->text, sizeof v->text);
    return true;
}

static bool read_patterns(Arena *a, const Field *f, SpecTexts *to,
                          const Yaml *v)
{
    VEC(const char *) list = { 0 };

    if (v->kind != YamlList || v->items.n == 0)
        return refuse_value(a, f, v);
    for (int i = 0; i < v->items.n; i++) {
        const Yaml *item = v->items.at[i];
        if (item->kind != YamlScalar || !*item->text
            || strlen(item->text) > MostNameBytes)
            return refuse_value(a, f, item);
        vec_push(a, &list, item->text);
    }
    *to = (SpecTexts){ list.at, list.n };
    return true;
}

static bool read_prompts(Arena *a, const Field *f, SpecTexts *to, const Yaml *v)
{
    VEC(const char *) list = { 0 };

    if (v->kind != YamlMap || v->items.n == 0)
        return refuse_value(a, f, v);
    for (int i = 0; i < v->items.n; i++) {
        const Yaml *item = v->items.at[i];
        const char *name = v->keys.at[i]->text;
        if (item->kind != YamlScalar || strlen(item->text) > MostTextBytes
            || !*name || strlen(name) > MostNameBytes)
            return refuse_value(a, f, item);
        vec_push(a, &list, name);
        vec_push(a, &list, item->text);
    }
    vec_push(a, &list, NULL); /* for programs */
    *to = (SpecTexts){ list.at, list.n - 1 };
    return true;
}

bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    void *at = (char *)s + f->at;

    switch (f->type) {
    case FieldInt:        return read_int(a, f, at, v);
    case FieldReal:       return read_real(a, f, at, v);
    case FieldReals:      return read_reals(a, f, at, v);
    case FieldIds:        return read_ids(a, f, s, v);
    case FieldSequences:  return read_sequences(a, f, at, v);
    case FieldBool:       return read_bool(a, f, at, v);
    case FieldEnum:       return read_enum(a, f, at, v);
    case FieldFlags:      return read_flags(a, f, at, v);
    case FieldMask:       return read_mask(a, f, at, v);
    case FieldDtypes:     return read_dtypes(a, f, at, v);
    case FieldScale:      return read_scale(a, f, s, v);
    case FieldActivation: return read_activation(a, f, s, v);
    case FieldText:       return read_any_text(a, f, at, v);
    case FieldPrompts:    return read_prompts(a, f, at, v);
    case FieldPatterns:   return read_patterns(a, f, at, v);
    case FieldName:
    case FieldPath:
    case FieldExtends:    return read_text(a, f, at, v);
    default:              return true;
    }
}

void field_absent(const Field *f, Spec *s)
{
    const int64_t none = -1;

    if (f->type == FieldInt && f->preset && !*f->preset)
        memcpy((char *)s + f->at, &none, sizeof none);
    if (f->type == FieldIds && f->also)
        memcpy((char *)s + f->also, &none, sizeof none);
}

void field_default(Arena *a, const Field *f, Spec *s)
{
    if (f->follow)
        f->follow(s);
    else if (f->preset && *f->preset)
        field_read(a, f, s, &(Yaml){ .kind = YamlScalar, .text = f->preset });
}

static char *reals_text(Arena *a, const SpecReals *list)
{
    char *text = arena_strdup(a, "");

    for (int64_t i = 0; i < list->n; i++)
        text = arena_printf(a, "%s%s%.17g", text, i ? " " : "", list->at[i]);
    return text;
}

static char *ids_text(Arena *a, const SpecIds *list)
{
    char *text = arena_strdup(a, "");

    for (int64_t i = 0; i < list->n; i++)
        text = arena_printf(a, "%s%s%d", text, i ? " " : "", list->at[i]);
    return text;
}

static char *scale_text(Arena *a, const Field *f, const Spec *s)
{
    const char *word = f->words[*(const int *)((const char *)s + f->at)];
    const double *number = (const void *)((const char *)s + f->also);

    return word ? arena_strdup(a, word) : arena_printf(a, "%.17g", *number);
}

static char *prompts_text(Arena *a, const SpecTexts *list)
{
    char *text = arena_strdup(a, "");

    for (int64_t i = 0; i + 1 < list->n; i += 2)
        text = arena_printf(a, "%s%zu:%s=%zu:%s ", text, strlen(list->at[i]),
                            list->at[i], strlen(list->at[i + 1]),
                            list->at[i + 1]);
    return text;
}

char *field_text(Arena *a, const Field *f, const Spec *s)
{
    const void *at = (const char *)s + f->at;
    const bool *also = (const void *)((const char *)s + f->also);

    switch (f->type) {
    case FieldInt:
        return arena_printf(a, "%lld", (long long)*(const int64_t *)at);
    case FieldReal:       return arena_printf(a, "%.17g", *(const double *)at);
    case FieldReals:      return reals_text(a, at);
    case FieldIds:
    case FieldSequences:  return ids_text(a, at);
    case FieldBool:       return *(const bool *)at ? "true" : "false";
    case FieldEnum:       return arena_strdup(a, f->words[*(const int *)at]);
    case FieldFlags:      return arena_printf(a, "%d", *(const int *)at);
    case FieldScale:      return scale_text(a, f, s);
    case FieldActivation: {
        const ActText *act = &act_text[*(const int *)at];
        return arena_strdup(a, *also ? act->gated : act->plain);
    }
    case FieldMask:    return mask_text(a, at);
    case FieldDtypes:  return dtypes_text(a, at);
    case FieldPrompts: return prompts_text(a, at);
    default:           {
        const char *text = *(const char *const *)at;
        return arena_strdup(a, text ? text : "");
    }
    }
}

bool field_same(Arena *a, const Field *f, const Spec *x, const Spec *y)
{
    static const size_t bytes[FieldSpread + 1] = {
        [FieldInt] = sizeof(int64_t), [FieldReal] = sizeof(double),
        [FieldBool] = sizeof(bool),   [FieldEnum] = sizeof(int),
        [FieldFlags] = sizeof(int),
    };
    const size_t n = bytes[f->type];
    return n ? !memcmp((const char *)x + f->at, (const char *)y + f->at, n)
             : !strcmp(field_text(a, f, x), field_text(a, f, y));
}

const char *spec_prompt(const Spec *s, const char *name)
{
    name = name ? name : s->prompt;
    for (int64_t i = 0; name && i < s->prompts.n; i += 2)
        if (!strcmp(s->prompts.at[i], name))
            return s->prompts.at[i + 1];
    return NULL;
}
