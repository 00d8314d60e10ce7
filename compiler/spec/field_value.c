/* field_value.c: from the text of a value to a member of Spec and back, by the
 * type of its row in the table of fields. One strict grammar of numbers: no
 * sign but -, no leading zero, no hexadecimal, no 1e3, nothing like `yes`.  */
#include <stdlib.h>
#include <string.h>

#include "spec/fields.h"

/* ------------------------------------------------------------ numbers --- */
static const char *digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* End of -?(0|[1-9][0-9]*), NULL when s is none. */
static const char *whole_part(const char *s)
{
    s += *s == '-';
    const char *end = digits(s);
    return end == s || (*s == '0' && end > s + 1) ? NULL : end;
}

bool parse_int(const char *s, int64_t *value)
{
    const char *end = whole_part(s);
    bool negative = *s == '-';

    if (!end || *end || !strcmp(s, "-0"))
        return false;
    *value = 0;
    for (s += negative; *s; s++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_sub_overflow(*value, *s - '0', value))
            *value = INT64_MIN;  /* any number outside every range */
    if (!negative)
        *value = *value == INT64_MIN ? INT64_MAX : -*value;
    return true;
}

/* An integer, or digits.digits with an exponent or without. */
bool parse_real(const char *s, double *value)
{
    const char *end = whole_part(s);

    if (end && *end == '.') {
        const char *fraction = end + 1;
        end = digits(fraction);
        if (end == fraction)
            return false;
        if (*end == 'e') {
            const char *exponent = end + 1;
            exponent += *exponent == '-' || *exponent == '+';
            end = digits(exponent);
            if (end == exponent)
                return false;
        }
    }
    if (!end || *end)
        return false;
    *value = strtod(s, NULL);
    return true;
}

/* -------------------------------------------------------- activations --- */
static const struct { const char *plain, *gated; } acts[] = {
#define ACT(name, text, gated, ...) { text, gated },
#include "spec/activations.h"
};

/* All their words, those without a gate first. */
static const char *const *act_words(void)
{
    static const char *words[2 * ActCount + 1];
    int n = 0;

    for (int i = 0; i < ActCount; i++)
        words[n++] = acts[i].plain;
    for (int i = 0; i < ActCount; i++)
        if (acts[i].gated)
            words[n++] = acts[i].gated;
    return words;
}

/* ----------------------------------------------------------- messages --- */
static char *join_words(Arena *a, const char *const *words)
{
    char *text = arena_strdup(a, words[0]);

    for (int i = 1; words[i]; i++)
        text = arena_printf(a, "%s, %s", text, words[i]);
    return text;
}

char *field_wants(Arena *a, const Field *f)
{
    const char *what = f->type == FieldReal ? "a number" : "an integer";

    switch (f->type) {
    case FieldInt:
    case FieldReal:
        if (f->least == f->most)
            return arena_printf(a, "%.10g", f->least);
        return arena_printf(a, "%s from %.10g to %.10g", what, f->least,
                            f->most);
    case FieldBool:
        return "true or false";
    case FieldEnum:
        return f->words[1] ? arena_printf(a, "one of %s",
                                          join_words(a, f->words))
                           : arena_strdup(a, f->words[0]);
    case FieldFlags:
        return arena_printf(a, "a list of %s", join_words(a, f->words));
    case FieldScale:
        return arena_printf(a, "one of %s, or a number from %.10g to %.10g",
                            join_words(a, f->words), f->least, f->most);
    case FieldActivation:
        return arena_printf(a, "one of %s", join_words(a, act_words()));
    case FieldMask:
        return arena_printf(a, "one of %s, {window: n}, {block: n}, {file: "
                            "path}, or a list of these",
                            join_words(a, f->words));
    case FieldName:
        return "1 to 128 letters, digits and _ . -";
    case FieldPath:
    case FieldExtends:
        return "a path of 1 to 1024 bytes";
    default:
        return "a map";
    }
}

/* What was found where no text can be shown. */
static const char *found(const Field *f, const Yaml *v)
{
    bool unquoted = f->type == FieldInt || f->type == FieldReal ||
                    f->type == FieldBool;

    if (v->kind != YamlScalar)
        return v->kind == YamlList ? "a list" : "a map";
    if (!*v->text)
        return v->quoted ? "empty text" : "nothing";
    return v->quoted && unquoted ? "text in quotes" : NULL;
}

bool refuse_value(Arena *a, const Field *f, const Yaml *v)
{
    const char *what = found(f, v), *wants = field_wants(a, f);

    if (what)
        error_at(v->pos, "%s must be %s, found %s", f->key, wants, what);
    else
        error_at(v->pos, "%s must be %s, found '%s'", f->key, wants,
                 quote(v->text));
    return false;
}

static bool refuse_number(Arena *a, const Field *f, const Yaml *v)
{
    refuse_value(a, f, v);
    if (v->kind == YamlScalar && !v->quoted && *v->text)
        note_at((Pos){ 0 }, f->type == FieldInt
                ? "integers are written as 512: digits only, no leading zero"
                : "numbers are written as 512, 0.5 or 1.0e-6");
    return false;
}

/* ------------------------------------------------------------- values --- */
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

static bool read_bool(Arena *a, const Field *f, void *at, const Yaml *v)
{
    bool value = scalar(v) && !strcmp(v->text, "true");

    if (!value && !(scalar(v) && !strcmp(v->text, "false")))
        return refuse_value(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

bool refuse_word(Arena *a, const Field *f, const Yaml *v)
{
    const char *const *words = f->type == FieldActivation ? act_words()
                                                          : f->words;
    int n = 0;

    while (words[n])
        n++;
    const char *near = v->kind == YamlScalar ? nearest(v->text, words, n)
                                             : NULL;
    refuse_value(a, f, v);
    if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    return false;
}

static bool read_enum(Arena *a, const Field *f, void *at, const Yaml *v)
{
    int value = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;

    if (value < 0)
        return refuse_word(a, f, v);
    memcpy(at, &value, sizeof value);
    return true;
}

/* A word, or the number that stands for one more. */
static bool read_scale(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    int value = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;
    double number = 0;

    if (value < 0) {
        if (!scalar(v) || !parse_real(v->text, &number))
            return refuse_word(a, f, v);
        if (!(number >= f->least && number <= f->most))
            return refuse_value(a, f, v);
        for (value = 0; f->words[value]; )
            value++;
    }
    memcpy((char *)s + f->at, &value, sizeof value);
    memcpy((char *)s + f->also, &number, sizeof number);
    return true;
}

static bool read_activation(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    for (int i = 0; v->kind == YamlScalar && i < ActCount; i++) {
        bool gated = acts[i].gated && !strcmp(v->text, acts[i].gated);
        if (!gated && strcmp(v->text, acts[i].plain))
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

static bool read_text(Arena *a, const Field *f, void *at, const Yaml *v)
{
    static const char name_bytes[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    bool name = f->type == FieldName;
    size_t n = v->kind == YamlScalar ? strlen(v->text) : 0;

    if (n == 0 || n > (name ? 128 : 1024) ||
        (name && strspn(v->text, name_bytes) != n))
        return refuse_value(a, f, v);
    if (f->type != FieldExtends)
        memcpy(at, &v->text, sizeof v->text);
    return true;
}

bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *v)
{
    void *at = (char *)s + f->at;

    switch (f->type) {
    case FieldInt:   return read_int(a, f, at, v);
    case FieldReal:  return read_real(a, f, at, v);
    case FieldBool:  return read_bool(a, f, at, v);
    case FieldEnum:  return read_enum(a, f, at, v);
    case FieldFlags: return read_flags(a, f, at, v);
    case FieldMask:  return read_mask(a, f, at, v);
    case FieldScale: return read_scale(a, f, s, v);
    case FieldActivation:
                     return read_activation(a, f, s, v);
    case FieldName:
    case FieldPath:
    case FieldExtends:
                     return read_text(a, f, at, v);
    default:         return true;
    }
}

void field_absent(const Field *f, Spec *s)
{
    const int64_t none = -1;

    if (f->type == FieldInt && f->preset && !*f->preset)
        memcpy((char *)s + f->at, &none, sizeof none);
}

void field_default(Arena *a, const Field *f, Spec *s)
{
    if (f->follow)
        f->follow(s);
    else if (f->preset && *f->preset)
        field_read(a, f, s, &(Yaml){ .kind = YamlScalar, .text = f->preset });
}

static char *scale_text(Arena *a, const Field *f, const Spec *s)
{
    const char *word = f->words[*(const int *)((const char *)s + f->at)];
    const double *number = (const void *)((const char *)s + f->also);

    return word ? arena_strdup(a, word) : arena_printf(a, "%.17g", *number);
}

char *field_text(Arena *a, const Field *f, const Spec *s)
{
    const void *at = (const char *)s + f->at;
    const bool *also = (const void *)((const char *)s + f->also);

    switch (f->type) {
    case FieldInt:
        return arena_printf(a, "%lld", (long long)*(const int64_t *)at);
    case FieldReal:
        return arena_printf(a, "%.17g", *(const double *)at);
    case FieldBool:
        return *(const bool *)at ? "true" : "false";
    case FieldEnum:
        return arena_strdup(a, f->words[*(const int *)at]);
    case FieldFlags:
        return arena_printf(a, "%d", *(const int *)at);
    case FieldScale:
        return scale_text(a, f, s);
    case FieldActivation: {
        int act = *(const int *)at;
        return arena_strdup(a, *also ? acts[act].gated : acts[act].plain);
    }
    case FieldMask:
        return mask_text(a, at);
    default: {
        const char *text = *(const char *const *)at;
        return arena_strdup(a, text ? text : "");
    }
    }
}
