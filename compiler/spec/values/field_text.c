/* field_text.c: parses words and numbers, and reports wrong values. Numbers
 * follow YAML 1.2, restricted to forms that all YAML readers parse alike: no
 * sign but -, no leading zero, no hexadecimal, no 1_000. Booleans like `yes`
 * are rejected. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/values/hints.h"

/* ---- numbers ---- */
static const char *digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* Returns the end of -?(0|[1-9][0-9]*), or NULL if s does not begin with it. */
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
            *value = INT64_MIN; /* outside every field's range */
    if (!negative)
        *value = *value == INT64_MIN ? INT64_MAX : -*value;
    return true;
}

/* Returns the end of [eE][-+]?[0-9]+, s if there is no exponent, or NULL if it
 * has no digits. */
static const char *exponent(const char *s)
{
    if (*s != 'e' && *s != 'E')
        return s;
    s += 1 + (s[1] == '-' || s[1] == '+');
    const char *end = digits(s);
    return end == s ? NULL : end;
}

/* Accepts 512, 0.5, .5 and 5., each with or without an exponent. */
bool parse_real(const char *s, double *value)
{
    const char *point = s + (*s == '-'), *end = whole_part(s);

    if (!end && *point == '.' && digits(point + 1) > point + 1)
        end = point;
    if (end && *end == '.')
        end = digits(end + 1);
    end = end ? exponent(end) : NULL;
    if (!end || *end)
        return false;
    *value = strtod(s, NULL);
    return true;
}

/* ---- activations ---- */
const char *const *act_words(Arena *a)
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

/* ---- messages ---- */
static char *join_words(Arena *a, const char *const *words)
{
    char *text = arena_strdup(a, words[0]);

    for (int i = 1; words[i]; i++)
        text = arena_printf(a, "%s, %s", text, words[i]);
    return text;
}

/* Returns a description of the numbers that a field accepts. */
static char *number_wants(Arena *a, const Field *f)
{
    const char *what = f->type == FieldReal ? "a number" : "an integer";

    switch (f->type) {
    case FieldReals:
        return arena_printf(a, "a list of numbers from %.10g to %.10g",
                            f->least, f->most);
    case FieldIds:
        return arena_printf(a,
                            "an integer from %.10g to %.10g, or a list of "
                            "these",
                            f->least, f->most);
    case FieldSequences:
        return arena_printf(a,
                            "a list of integers from %.10g to %.10g and of "
                            "lists of these",
                            f->least, f->most);
    default:
        return f->least == f->most ? arena_printf(a, "%.10g", f->least)
                                   : arena_printf(a, "%s from %.10g to %.10g",
                                                  what, f->least, f->most);
    }
}

char *field_wants(Arena *a, const Field *f)
{
    switch (f->type) {
    case FieldInt:
    case FieldReal:
    case FieldReals:
    case FieldIds:
    case FieldSequences: return number_wants(a, f);
    case FieldPatterns:
        return arena_printf(a, "a list of names of 1 to %d bytes",
                            MostNameBytes);
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
    case FieldDtypes:
        return arena_printf(a, "one of %s, or a map of these by names",
                            join_words(a, f->words));
    case FieldLayers: return "a list of rows, or one row";
    case FieldPrompts:
        return arena_printf(a,
                            "a map from names of 1 to %d bytes to texts of up "
                            "to %d bytes",
                            MostNameBytes, MostTextBytes);
    case FieldText:
        return arena_printf(a, "a text of up to %d bytes", MostTextBytes);
    case FieldName:    return "1 to 128 letters, digits and _ . -";
    case FieldPath:
    case FieldExtends: return "a path of 1 to 1024 bytes";
    default:           return "a map";
    }
}

/* Returns a description of the value if its text cannot be quoted in a message,
 * else NULL. */
static const char *found(const Field *f, const Yaml *v)
{
    bool unquoted = f->type == FieldInt || f->type == FieldReal
                 || f->type == FieldBool;

    if (v->kind == YamlList)
        return v->items.n ? "a list" : "an empty list";
    if (v->kind == YamlMap)
        return "a map";
    if (!*v->text)
        return v->quoted ? "empty text" : "nothing";
    return v->quoted && unquoted ? "text in quotes" : NULL;
}

/* Adds a note if the value is a list but a single value is expected, or the
 * other way round. */
static void note_list(const Field *f, const Yaml *v)
{
    const bool list = v->kind == YamlList, wanted = f->type == FieldFlags;

    if (list && v->items.n > 0 && v->items.at[0]->kind == YamlMap)
        note_at((Pos){ 0 }, "leave out the dashes: keys of a map have none");
    else if (list && v->items.n == 1 && !wanted && f->type != FieldMask
             && v->items.at[0]->kind == YamlScalar)
        note_at((Pos){ 0 }, "did you mean %s, without brackets?",
                quote(v->items.at[0]->text));
    else if (wanted && v->kind == YamlScalar
             && find_word(f->words, v->text) < 0)
        note_at((Pos){ 0 }, "a list is written as [%s, %s]", f->words[1],
                f->words[2]);
}

bool refuse_value(Arena *a, const Field *f, const Yaml *v)
{
    const char *what = found(f, v), *wants = field_wants(a, f);

    if (what)
        error_at(v->pos, "%s must be %s, found %s", f->key, wants, what);
    else
        error_at(v->pos, "%s must be %s, found '%s'", f->key, wants,
                 quote(v->text));
    note_list(f, v);
    return false;
}

/* Returns the number in plain form, e.g. 512 for 0512, +512, 512.0 or 5.12e2,
 * and 1000 for 1_000 or 1,000; NULL if the text is not a number. */
static const char *plain_number(Arena *a, const Field *f, const char *text)
{
    char plain[32];
    size_t n = 0;
    double value;
    int64_t whole;

    text += *text == '+';
    while (*text == '0' && text[1] >= '0' && text[1] <= '9')
        text++;
    for (; *text && n + 1 < sizeof plain; text++)
        if ((*text != '_' && *text != ',') || n == 0)
            plain[n++] = *text;
    plain[n] = '\0';
    if (*text || !parse_real(plain, &value))
        return NULL;
    if (f->type != FieldInt || parse_int(plain, &whole))
        return arena_strdup(a, plain);
    if (!(value >= f->least && value <= f->most)
        || value != (double)(int64_t)value)
        return NULL;
    return arena_printf(a, "%lld", (long long)value);
}

bool refuse_number(Arena *a, const Field *f, const Yaml *v)
{
    const bool text = v->kind == YamlScalar && *v->text;
    const char *plain = text ? plain_number(a, f, v->text) : NULL;

    refuse_value(a, f, v);
    if (plain)
        note_at((Pos){ 0 }, "did you mean %s%s?", plain,
                v->quoted ? ", without quotes" : "");
    else if (text)
        note_at(
            (Pos){ 0 }, "%s",
            f->type == FieldInt
                ? "integers are written as 512: digits only, no leading zero"
                : "numbers are written as 512, 0.5 or 1e-6");
    return false;
}

bool refuse_bool(Arena *a, const Field *f, const Yaml *v)
{
    static const struct {
        const char *word, *means;
    } words[] = {
        { "true", "true" }, { "yes", "true" },    { "on", "true" },
        { "1", "true" },    { "false", "false" }, { "no", "false" },
        { "off", "false" }, { "0", "false" },
    };

    refuse_value(a, f, v);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (v->kind == YamlScalar && !strcasecmp(v->text, words[i].word))
            note_at((Pos){ 0 }, "did you mean %s%s?", words[i].means,
                    v->quoted ? ", without quotes" : "");
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
    const bool scalar = v->kind == YamlScalar;
    const char *choice = scalar ? hint_choice(f->key, v->text) : NULL;
    const char *near = scalar ? hint_word(f->key, v->text) : NULL;
    if (!near && scalar)
        near = nearest(v->text, words, n);
    refuse_value(a, f, v);
    if (choice)
        note_at((Pos){ 0 }, "%s", choice);
    else if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    return false;
}
