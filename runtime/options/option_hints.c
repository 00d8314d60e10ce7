/* option_hints.c: suggests the intended option if a command does not have the
 * given one. */
#include "settings.h"

#include <string.h>

enum { HINT_BYTES = 64 };

/* Writes a word in a normal form, so that names can be compared:
 * "-Max_Tokens=3" becomes "--max-tokens". A single letter is not changed,
 * because -V and -v are different options. */
static void hint_form(const char *word, char form[HINT_BYTES])
{
    const size_t length = strcspn(word, "=");
    size_t n = 0;

    if (length > 2 && word[0] == '-' && word[1] != '-') {
        form[n] = '-';
        n++;
    }
    for (size_t i = 0; i < length && n < HINT_BYTES - 1; i++) {
        char c = word[i];
        if (c == '_')
            c = '-';
        else if (length > 2 && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        form[n] = c;
        n++;
    }
    form[n] = '\0';
}

ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o)
{
    const size_t n = strcspn(answer, " ");

    if (*answer >= 'a' && *answer <= 'z')
        return true;
    for (int i = 0; i < o->names; i++)
        if (strncmp(o->name[i], answer, n) == 0 && !o->name[i][n])
            return true;
    return false;
}

/* Returns the maximum edit distance of a typo: two letters, one if the name has
 * three letters, none if it is shorter. */
static int hint_limit(const char *form)
{
    const size_t letters = strlen(form) - strspn(form, "-");

    return letters < 3 ? 0 : letters == 3 ? 1 : 2;
}

struct hint { /* the best match so far */
    const char *form, *answer;
    int distance;
};

/* Stores the answer if the name, of n bytes, is nearer than all previous
 * names. */
static void hint_try(struct hint *h, const char *name, size_t n,
                     const char *answer)
{
    const int distance = strlen(h->form) == n && !strncmp(h->form, name, n)
                           ? 0
                           : attn_distance(h->form, strlen(h->form), name, n);

    if (distance < h->distance) {
        h->answer = answer;
        h->distance = distance;
    }
}

/* Returns the answer for the nearest name of another tool's option, if it is at
 * most `limit` letters away. */
static const char *hint_synonym(const char *form, const struct attn_options *o,
                                int limit)
{
    struct hint h = { form, NULL, limit + 1 };

    for (int i = 0; i < o->synonyms; i++) {
        const char *at = o->synonym[i].names;
        if (!attn_hint_applies(o->synonym[i].answer, o))
            continue;
        while (*at) {
            const size_t n = strcspn(at, " ");
            hint_try(&h, at, n, o->synonym[i].answer);
            at += n + strspn(at + n, " ");
        }
    }
    return h.answer;
}

/* Returns the nearest option, if it is at most `limit` letters away. */
static const char *hint_name(const char *form, const struct attn_options *o,
                             int limit)
{
    struct hint h = { form, NULL, limit + 1 };

    for (int i = 0; i < o->names; i++)
        hint_try(&h, o->name[i], strlen(o->name[i]), o->name[i]);
    return h.answer;
}

/* Returns the shortest option whose name begins with `form`. */
static const char *hint_begun(const char *form, const struct attn_options *o)
{
    const size_t n = strlen(form);
    const char *best = NULL;

    for (int i = 0; n > 3 && i < o->names; i++)
        if (strncmp(o->name[i], form, n) == 0
            && (!best || strlen(o->name[i]) < strlen(best)))
            best = o->name[i];
    return best;
}

ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how)
{
    char form[HINT_BYTES];
    const char *hint;

    hint_form(word, form);
    hint = hint_name(form, o, 0);
    if (!hint && how >= ATTN_HINT_BEGUN)
        hint = hint_begun(form, o);
    if (!hint)
        hint = hint_synonym(form, o, 0);
    if (!hint && how >= ATTN_HINT_NEAR)
        hint = hint_name(form, o, hint_limit(form));
    if (!hint && how >= ATTN_HINT_NEAR)
        hint = hint_synonym(form, o, hint_limit(form));
    return hint;
}
