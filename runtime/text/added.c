/* added.c: finds added tokens in a text before it is split: the leftmost match,
 * and the longest one at that position, with the adjacent spaces that the token
 * absorbs. */
#include "runtime/core.h"

#include <string.h>

/* Returns the child of a node for a byte, or 0 if it has none. */
static uint32_t added_child(const struct attn_vocab *v, uint32_t node,
                            unsigned char byte)
{
    const struct attn_node *at = &v->node[node];
    uint32_t low = at->child, high = at->child + at->children;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (v->node[middle].byte == byte)
            return middle;
        if (v->node[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* True if the n bytes at s are the text of the token at `row`. Both are valid
 * UTF-8. */
static int added_is_row(const struct attn_vocab *v, int32_t row, const char *s,
                        int64_t n)
{
    if (row < 0 || v->added[row].text.bytes != n)
        return 0;
    return memcmp(v->strings + v->added[row].text.at, s, (size_t)n) == 0;
}

/* Finds the longest token that begins at s. Returns its length in bytes and
 * sets *row, or returns 0 if there is none. */
static int64_t added_longest(const struct attn_vocab *v, uint32_t root,
                             const char *s, int64_t n, int32_t *row)
{
    int64_t found = 0;
    uint32_t node = root;
    for (int64_t i = 0; i < n; i++) {
        node = added_child(v, node, (unsigned char)s[i]);
        if (node == 0)
            break;
        if (added_is_row(v, v->node[node].row, s, i + 1)) {
            *row = v->node[node].row;
            found = i + 1;
        }
    }
    return found;
}

static int64_t added_character_before(const char *s, int64_t at)
{
    int64_t from = at - 1;
    while (from > 0 && (s[from] & 0xc0) == 0x80)
        from--;
    return from;
}

static int added_is(const struct attn_vocab *v, const char *s, int64_t *n,
                    unsigned what)
{
    const unsigned class = attn_class(v, attn_code_point(s, n));
    if (what == ATTN_CLASS_SPACE)
        return (class & ATTN_CLASS_SPACE) != 0;
    return attn_class_word(class);
}

/* True if no letter or digit is next to the match, so that it is not part of a
 * longer word. */
static int added_alone(const struct attn_vocab *v, const char *s, int64_t n,
                       int64_t from, int64_t to)
{
    int64_t bytes;
    if (from > 0
        && added_is(v, s + added_character_before(s, from), &bytes,
                    ATTN_CLASS_WORD))
        return 0;
    return to == n || !added_is(v, s + to, &bytes, ATTN_CLASS_WORD);
}

/* Extends the match over adjacent spaces, but not before `least`. */
static void added_strip(const struct attn_vocab *v, const char *s, int64_t n,
                        int64_t least, struct attn_match *m)
{
    const int32_t flags = v->added[m->row].flags;
    int64_t bytes;
    while (flags & ATTN_ADDED_LSTRIP && m->from > least) {
        const int64_t before = added_character_before(s, m->from);
        if (before < least
            || !added_is(v, s + before, &bytes, ATTN_CLASS_SPACE))
            break;
        m->from = before;
    }
    while (flags & ATTN_ADDED_RSTRIP && m->to < n) {
        if (!added_is(v, s + m->to, &bytes, ATTN_CLASS_SPACE))
            break;
        m->to += bytes;
    }
}

ATTN_API int attn_added_next(const struct attn_vocab *v, int64_t normalised,
                             const char *s, int64_t n, int64_t at,
                             int64_t least, struct attn_match *m)
{
    const uint32_t root = normalised != 0;
    if (v->nodes == 0 || v->node[root].children == 0)
        return 0;
    unsigned char only = v->node[v->node[root].child].byte;
    while (at < n) {
        if (v->node[root].children == 1) {
            const char *next = memchr(s + at, only, (size_t)(n - at));
            if (!next)
                return 0;
            at = next - s;
        }
        const int64_t found = added_longest(v, root, s + at, n - at, &m->row);
        m->from = at;
        m->to = at + found;
        at += attn_max(found, 1);
        if (found == 0)
            continue;
        if (v->added[m->row].flags & ATTN_ADDED_WORD
            && !added_alone(v, s, n, m->from, m->to))
            continue;
        m->next = m->to;
        added_strip(v, s, n, least, m);
        return 1;
    }
    return 0;
}
