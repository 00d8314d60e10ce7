/* hint_words.c: looks up other tools' words in the tables of hints. */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "spec/values/hints.h"

enum { LongWord = 64 };

/* Writes a word in lower case, with _ in place of -, spaces and /. Returns
 * false if it is too long. */
static bool plain_word(const char *text, char plain[LongWord])
{
    size_t n = 0;

    for (; text[n]; n++) {
        if (n + 1 == LongWord)
            return false;
        plain[n] = (char)tolower((unsigned char)text[n]);
        if (strchr("- /", plain[n]))
            plain[n] = '_';
    }
    plain[n] = '\0';
    return true;
}

bool hint_matches(const char *theirs, const char *name)
{
    char plain[LongWord], pattern[LongWord];

    if (!plain_word(name, plain))
        return false;
    for (const char *at = theirs; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
        if (fnmatch(pattern, plain, 0) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Returns the word of a spec that `value` is a different spelling of, e.g. GELU
 * or encoder_decoder. */
static const char *same_word(const char *const *words, const char *value)
{
    char ours[LongWord], theirs[LongWord];

    if (!plain_word(value, theirs))
        return NULL;
    for (int i = 0; words && words[i]; i++)
        if (plain_word(words[i], ours) && !strcmp(ours, theirs))
            return words[i];
    return NULL;
}

static const char *same_activation(const char *value)
{
    for (int i = 0; i < ActCount; i++) {
        const char *words[] = { act_text[i].plain, act_text[i].gated, NULL };
        const char *same = same_word(words, value);
        if (same)
            return same;
    }
    return NULL;
}

/* True if the field has the words of `key`. The keys of a field's two sides
 * have the same words. */
static bool has_words_of(const Field *f, const char *key)
{
    const Field *other = &fields[field_row(key)];

    return f == other || (f->words && f->words == other->words);
}

const char *hint_word(const char *key, const char *value)
{
    const Field *f = &fields[field_row(key)];

    if (f->type == FieldSpread)
        f = &fields[field_row(f->words[0])];
    if (f->type != FieldEnum && f->type != FieldActivation
        && f->type != FieldMask && f->type != FieldScale
        && f->type != FieldFlags && f->type != FieldDtypes)
        return NULL;
    const char *same = f->type == FieldActivation ? same_activation(value)
                                                  : same_word(f->words, value);
    for (int i = 0; !same && i < n_word_hints; i++)
        if (has_words_of(f, word_hints[i].field)
            && hint_matches(word_hints[i].theirs, value))
            same = word_hints[i].ours;
    return same;
}

const char *hint_choice(const char *key, const char *value)
{
    const Field *f = &fields[field_row(key)];

    for (int i = 0; i < n_word_choices; i++)
        if (has_words_of(f, word_choices[i].field)
            && hint_matches(word_choices[i].theirs, value))
            return word_choices[i].ours;
    return NULL;
}

const Hint *hint_find(const char *name)
{
    for (int i = 0; i < n_hints; i++)
        if (hint_matches(hints[i].theirs, name))
            return &hints[i];
    return NULL;
}

const Hint *hint_near(Arena *a, const char *name)
{
    VEC(const char *) words = { 0 };

    for (int i = 0; i < n_hints; i++)
        for (const char *at = hints[i].theirs; *at; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            vec_push(a, &words, arena_strndup(a, at, n));
            at += n;
        }
    const char *near = nearest(name, words.at, words.n);
    return near ? hint_find(near) : NULL;
}

const char *hint_field(Arena *a, const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *group = dot ? arena_strndup(a, path, (size_t)(dot - path)) : "";
    VEC(const char *) all = { 0 };

    for (int i = 0; i < n_fields; i++)
        if (!field_group(group) || field_below(fields[i].key, group))
            vec_push(a, &all, fields[i].key);
    return nearest(path, all.at, all.n);
}

const char *spec_field_near(Arena *a, const char *path)
{
    const Hint *h = hint_find(path);
    const bool same = h && (h->how == HintValue || h->how == HintFactor);
    return same ? arena_strndup(a, h->ours, strcspn(h->ours, " "))
                : hint_field(a, path);
}

const char *hint_group(Arena *a, const char *path)
{
    const char *dot = strrchr(path, '.'), *text = NULL;
    const char *group = dot ? arena_strndup(a, path, (size_t)(dot - path)) : "";

    for (int i = 0; *group && i < n_fields; i++) {
        const char *rest = fields[i].key + strlen(group) + 1;
        if (field_below(fields[i].key, group) && strcmp(fields[i].key, group)
            && !strchr(rest, '.'))
            text = text ? arena_printf(a, "%s, %s", text, rest) : rest;
    }
    return text ? arena_printf(a, "keys of %s are %s", group, text) : NULL;
}
