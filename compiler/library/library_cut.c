/* library_cut.c: cuts pairs of texts that are too long, as the `tokenizers`
 * package does with the strategy longest_first. */
#include <string.h>

#include "library/library.h"

/* Sets keep[] to the tokens that remain of two texts of n[] tokens, `most`
 * together: the longer one is cut first, and has the odd token if both are
 * cut. */
static void share(const int64_t n[2], int64_t most, int64_t keep[2])
{
    const int longer = n[0] <= n[1];
    const int64_t least = n[!longer];
    keep[!longer] = attn_min(least, most / 2);
    keep[longer] = attn_min(n[longer], most - keep[!longer]);
}

int64_t library_cut_pair(attnc_handle *h, const void *block, int64_t n,
                         int64_t found, int64_t first, int64_t most)
{
    struct attn_vocab v;
    attn_vocab_open(&v, block);
    const int32_t rows = v.templates[1];
    const struct attn_template *row = (const void *)(v.templates + 2);
    row += v.templates[0];
    int64_t added = 0, keep[2];
    for (int32_t i = 0; i < rows; i++)
        added += row[i].id >= 0;
    const int64_t is[2] = { first, found - added - first };
    share(is, attn_max(most - added, 0), keep);
    int32_t *ids = (int32_t *)h->ids.at + n;
    int32_t *types = (int32_t *)h->types.at + n;
    int64_t from = 0, to = 0;
    for (int32_t i = 0; i < rows; i++) {
        const int which = row[i].id == -2;
        const int64_t has = row[i].id >= 0 ? 1 : is[which];
        const int64_t kept = row[i].id >= 0 ? 1 : keep[which];
        memmove(ids + to, ids + from, (size_t)kept * sizeof *ids);
        memmove(types + to, types + from, (size_t)kept * sizeof *types);
        from += has;
        to += kept;
    }
    return to;
}
