/* sentencepiece.c: SentencePiece's normalisation: its map of characters,
 * removal or escaping of spaces, and a space in front. The position of a byte
 * extends from the start of its source characters to the start of the next
 * ones. */
#include "runtime/core.h"

#include <string.h>

#define SPM_SPACE "\xe2\x96\x81" /* U+2581 */

struct spm {
    const struct attn_vocab *v;
    int32_t flags;
    struct attn_trie users;  /* pieces that stay unchanged; units 0: none */
    struct attn_charmap map; /* map of characters; units 0: none */
    const struct attn_aligned *in;
    struct attn_aligned *out;
};

/* Returns the number of bytes at `at` to replace, and the replacement. Returns
 * 0 if the character at `at` is not changed. */
static int64_t spm_changed(const struct spm *m, int64_t at, const char **text,
                           int64_t *bytes)
{
    const char *s = m->in->text + at;
    int64_t left = m->in->bytes - at, taken, id;
    *text = s;
    *bytes = attn_user_piece(m->v, &m->users, s, left, &id);
    if (*bytes > 0)
        return *bytes;
    if (m->map.trie.units == 0)
        return 0;
    *text = attn_charmap_longest(&m->map, s, left, &taken, bytes);
    return *text ? taken : 0;
}

/* Returns the number of bytes at `at` that become one text, and that text. */
static int64_t spm_next(const struct spm *m, int64_t at, const char **text,
                        int64_t *bytes)
{
    const int64_t n = spm_changed(m, at, text, bytes);
    if (n > 0)
        return n;
    *text = m->in->text + at;
    *bytes = attn_length(**text);
    return *bytes;
}

/* Returns the position of byte `at` in the caller's text; at the end of the
 * text, the end of the last byte. */
static int32_t spm_place(const struct spm *m, int64_t at)
{
    int32_t from = 0, to = 0;
    int64_t last = at;
    if (at < m->in->bytes) {
        attn_place(m->in, at, 1, &from, &to);
        return from;
    }
    if (last > 0)
        last--;
    attn_place(m->in, last, at - last, &from, &to);
    return to;
}

static int64_t spm_put(const struct spm *m, const char *s, int64_t n,
                       int32_t from)
{
    int64_t wrong = 0;
    if (!(m->flags & ATTN_SPM_ESCAPE))
        return attn_put_at(m->out, s, n, from, from);
    for (int64_t i = 0; i < n && wrong == 0; i++) {
        if (s[i] == ' ')
            wrong = attn_put_at(m->out, SPM_SPACE, 3, from, from);
        else
            wrong = attn_put_at(m->out, s + i, 1, from, from);
    }
    return wrong;
}

/* Returns the end of the leading spaces to remove. */
static int64_t spm_skip(const struct spm *m)
{
    const char *text;
    int64_t at = 0, bytes;
    if (!(m->flags & ATTN_SPM_TRIM))
        return 0;
    while (at < m->in->bytes) {
        int64_t n = spm_next(m, at, &text, &bytes);
        if (bytes != 1 || text[0] != ' ')
            break;
        at += n;
    }
    return at;
}

/* Removes trailing spaces. Returns the position that a following byte would
 * have. */
static int32_t spm_trim(const struct spm *m, int32_t end)
{
    struct attn_aligned *out = m->out;
    int64_t n = m->flags & ATTN_SPM_ESCAPE ? 3 : 1;
    const char *space = n == 3 ? SPM_SPACE : " ";
    if (!(m->flags & ATTN_SPM_TRIM))
        return end;
    while (out->bytes >= n
           && memcmp(out->text + out->bytes - n, space, (size_t)n) == 0) {
        out->bytes -= n;
        if (out->from)
            end = out->from[out->bytes];
    }
    return end;
}

/* Returns the end of the characters, beginning at `at`, that do not change and
 * are not spaces. The *n bytes after them become *text. */
static int64_t spm_same(const struct spm *m, int64_t at, int64_t *n,
                        const char **text, int64_t *bytes)
{
    *n = 0;
    while (at < m->in->bytes) {
        *n = spm_changed(m, at, text, bytes);
        if (*n > 0)
            return at;
        if (m->in->text[at] == ' ')
            break;
        at += attn_length(m->in->text[at]);
    }
    if (at < m->in->bytes)
        *n = spm_next(m, at, text, bytes);
    return at;
}

static int64_t spm_put_same(const struct spm *m, int64_t from, int64_t to)
{
    struct attn_aligned *out = m->out;
    const int64_t at = out->bytes;
    const int64_t wrong = attn_put_at(out, m->in->text + from, to - from, 0, 0);
    for (int64_t i = from; out->from && wrong == 0 && i < to; i++)
        out->from[at + i - from] = (m->in->text[i] & 0xc0) == 0x80 && i > from
                                     ? out->from[at + i - from - 1]
                                     : spm_place(m, i);
    return wrong;
}

static int64_t spm_characters(const struct spm *m, int64_t at)
{
    int64_t wrong = 0, bytes, n;
    const int trims = (m->flags & ATTN_SPM_TRIM) != 0;
    int after_space = trims;
    while (at < m->in->bytes && wrong == 0) {
        const char *text;
        const int64_t end = spm_same(m, at, &n, &text, &bytes);
        wrong = spm_put_same(m, at, end);
        after_space = after_space && end == at;
        at = end;
        if (n == 0 || wrong < 0)
            break;
        while (after_space && bytes > 0 && text[0] == ' ') {
            text++;
            bytes--;
        }
        if (bytes > 0) {
            wrong = spm_put(m, text, bytes, spm_place(m, at));
            after_space = trims && text[bytes - 1] == ' ';
        }
        at += n;
    }
    return wrong;
}

ATTN_API int64_t attn_sentencepiece(const struct attn_vocab *v,
                                    const struct attn_step *s,
                                    const struct attn_aligned *in,
                                    struct attn_aligned *out)
{
    struct spm m = { .v = v, .flags = s->flags, .in = in, .out = out };
    int64_t wrong = 0;
    int prefix = (s->flags & ATTN_SPM_PREFIX) != 0;
    int suffix = prefix && (s->flags & ATTN_SPM_SUFFIX);
    if (!(s->flags & ATTN_SPM_NO_USER))
        attn_trie_open(v, &m.users);
    if (s->flags & ATTN_SPM_CHARMAP)
        attn_charmap_open(v, &m.map);
    int64_t at = spm_skip(&m);
    if (at == in->bytes)
        return 0;
    if (prefix && !suffix)
        wrong = spm_put(&m, " ", 1, spm_place(&m, at));
    if (wrong == 0)
        wrong = spm_characters(&m, at);
    int32_t end = spm_trim(&m, spm_place(&m, in->bytes));
    if (wrong == 0 && suffix)
        wrong = spm_put(&m, " ", 1, end);
    for (int64_t i = 0; out->from && i < out->bytes; i++)
        out->to[i] = i + 1 < out->bytes ? out->from[i + 1] : end;
    return wrong;
}
