/* nearest.c: suggests the intended name for a misspelled one. */
#include <string.h>

#include "base/base.h"
#include "runtime/options/settings.h"

/* True if `word` is the first letter of `name` followed by some of its other
 * letters in order, as in "params" for "parameters". */
static bool abbreviates(const char *word, const char *name)
{
    size_t at = 0;

    for (size_t i = 0; name[i] && (i == 0 || at > 0); i++)
        at += word[at] == name[i];
    return !word[at];
}

/* Returns the distance of a name from a word of `length` letters: 0 if the word
 * is a prefix, 1 if it is an abbreviation, otherwise the edit distance. */
static int rank_of(const char *word, size_t length, const char *name)
{
    const size_t other = strlen(name);

    if (length > 2 && !strncmp(word, name, length))
        return 0;
    if (length > 3 && abbreviates(word, name))
        return 1;
    return attn_distance(word, length, name, other);
}

const char *nearest(const char *word, const char *const *names, int n)
{
    const size_t length = strlen(word);
    const char *best = NULL;
    int least = length < 3 ? 1 : (int)(length + 2) / 3;

    for (int i = 0; i < n; i++) {
        const int rank = rank_of(word, length, names[i]);
        const size_t other = strlen(names[i]);
        const bool shorter = !best || other < strlen(best);
        if (rank < (int)other && (rank < least || (rank == least && shorter))) {
            best = names[i];
            least = rank;
        }
    }
    return best;
}
