/* words.c: words of messages. */
#include "settings.h"

#include <stdio.h>
#include <string.h>

ATTN_API const char *attn_use_text(int use)
{
    if (use & ATTN_FOR_LINES && use & ATTN_FOR_PROMPT)
        return "answers";
    if (use & ATTN_FOR_PROMPT)
        return "--prompt";
    if (use & ATTN_FOR_CHAT)
        return "--chat";
    if (use == ATTN_FOR_ENCODE)
        return "lines that an encoder reads";
    if (use & ATTN_FOR_LINES)
        return "lines of stdin";
    return "--score";
}

ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED])
{
    const int64_t most = ATTN_QUOTED / 4 - 2;
    char *at = out, *const end = out + ATTN_QUOTED;

    for (int64_t i = 0; i < n && i < most; i++) {
        const char *form = text[i] >= ' ' && text[i] <= '~' ? "%c" : "\\x%02x";
        at += snprintf(at, (size_t)(end - at), form, (unsigned char)text[i]);
    }
    snprintf(at, (size_t)(end - at), "%s", n > most ? "..." : "");
}

/* Levenshtein's distance, one row of its table at a time. */
static int words_distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[64];

    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int above = row[j];
            int least = corner + (a[i - 1] != b[j - 1]);
            if (above + 1 < least)
                least = above + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
            corner = above;
        }
    }
    return row[nb];
}

/* Does `word` have the first and other letters of `name`, in their order, as
 * params has of parameters?                                                 */
static bool words_abbreviates(const char *word, const char *name)
{
    size_t at = 0;

    for (size_t i = 0; name[i] && (i == 0 || at > 0); i++)
        at += word[at] == name[i];
    return !word[at];
}

/* How far a name is from a word of so many letters: 0 where it begins so, 1
 * where the word is short for it, else Levenshtein's distance.              */
static int words_rank(const char *word, size_t length, const char *name)
{
    const size_t other = strlen(name);

    if (length > 2 && !strncmp(word, name, length))
        return 0;
    if (length > 3 && words_abbreviates(word, name))
        return 1;
    return length > 63 || other > 63
             ? 64
             : words_distance(word, length, name, other);
}

ATTN_API const char *attn_nearest(const char *word, const char *const *names,
                                  int n)
{
    const size_t length = strlen(word);
    const char *best = NULL;
    int least = length < 3 ? 1 : (int)(length + 2) / 3;

    for (int i = 0; i < n; i++) {
        const int rank = words_rank(word, length, names[i]);
        const size_t other = strlen(names[i]);
        const bool shorter = !best || other < strlen(best);
        if (rank < (int)other && (rank < least || (rank == least && shorter))) {
            best = names[i];
            least = rank;
        }
    }
    return best;
}
