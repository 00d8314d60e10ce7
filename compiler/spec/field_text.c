/* field_text.c: words and numbers as values have them, and what is said of
 * values that are none. One strict grammar of numbers: no sign but -, no
 * leading zero, no hexadecimal, no 1e3, nothing like `yes`.                 */
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
        if (__builtin_mul_overflow(*value, 10, value)
            || __builtin_sub_overflow(*value, *s - '0', value))
            *value = INT64_MIN; /* any number outside every range */
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
/* All their words, those without a gate first. */
static const char *const *act_words(Arena *a)
{
    const char **words = arena_alloc(a, (2 * ActCount + 1) * sizeof *words);
    int n = 0;

    for (int i = 0; i < ActCount; i++)
        words[n++] = act_text[i].plain;
    for (int i = 0; i < ActCount; i++)
        if (act_text[i].gated)
            words[n++] = act_text[i].gated;
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
    case FieldBool: return "true or false";
    case FieldEnum:
        return f->words[1]
                 ? arena_printf(a, "one of %s", join_words(a, f->words))
                 : arena_strdup(a, f->words[0]);
    case FieldFlags:
        return arena_printf(a, "a list of %s", join_words(a, f->words));
    case FieldScale:
        return arena_printf(a, "one of %s, or a number from %.10g to %.10g",
                            join_words(a, f->words), f->least, f->most);
    case FieldActivation:
        return arena_printf(a, "one of %s", join_words(a, act_words(a)));
    case FieldMask:
        return arena_printf(a,
                            "one of %s, {window: n}, {block: n}, {file: "
                            "path}, or a list of these",
                            join_words(a, f->words));
    case FieldName:    return "1 to 128 letters, digits and _ . -";
    case FieldPath:
    case FieldExtends: return "a path of 1 to 1024 bytes";
    default:           return "a map";
    }
}

/* What was found where no text can be shown. */
static const char *found(const Field *f, const Yaml *v)
{
    bool unquoted = f->type == FieldInt || f->type == FieldReal
                 || f->type == FieldBool;

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

bool refuse_number(Arena *a, const Field *f, const Yaml *v)
{
    refuse_value(a, f, v);
    if (v->kind == YamlScalar && !v->quoted && *v->text)
        note_at(
            (Pos){ 0 },
            f->type == FieldInt
                ? "integers are written as 512: digits only, no leading zero"
                : "numbers are written as 512, 0.5 or 1.0e-6");
    return false;
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
    const char *const *words = f->type == FieldActivation ? act_words(a)
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
