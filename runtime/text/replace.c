/* replace.c: steps that search for texts and spaces. They replace them, prepend
 * a text, or strip spaces at the ends. A replacement gets the position of the
 * last character that it replaces, as in the `tokenizers` package. */
#include "runtime/core.h"

#include <string.h>

/* True for characters with Unicode's property White_Space. */
static int replace_is_space(uint32_t c)
{
    if (c < 0x80)
        return (c == ' ') + (c >= '\t' && c <= '\r');
    if (c >= 0x2000 && c <= 0x200a)
        return 1;
    return (c == 0x85) + (c == 0xa0) + (c == 0x1680) + (c == 0x2028)
         + (c == 0x2029) + (c == 0x202f) + (c == 0x205f) + (c == 0x3000);
}

/* Returns the start of the character that ends at `end`. */
static int64_t replace_before(const char *text, int64_t end)
{
    int64_t at = end - 1;
    while (at > 0 && (text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* Returns the length of the white space at `at`, and its number of
 * characters. */
static int64_t replace_spaces(const struct attn_aligned *in, int64_t at,
                              int64_t *characters)
{
    int64_t end = at, length;
    *characters = 0;
    while (end < in->bytes
           && replace_is_space(attn_code_point(in->text + end, &length))) {
        end += length;
        (*characters)++;
    }
    return end - at;
}

/* ---- strip ---- */

enum { REPLACE_LEFT = 1, REPLACE_RIGHT = 2 };

ATTN_API int64_t attn_strip(const struct attn_vocab *v,
                            const struct attn_step *s,
                            const struct attn_aligned *in,
                            struct attn_aligned *out)
{
    int64_t from = 0, to = in->bytes, n;
    (void)v;
    if (s->flags & REPLACE_LEFT)
        from = replace_spaces(in, 0, &n);
    while ((s->flags & REPLACE_RIGHT) && to > from) {
        int64_t at = replace_before(in->text, to);
        if (!replace_is_space(attn_code_point(in->text + at, &n)))
            break;
        to = at;
    }
    return attn_put_same(out, in, from, to - from);
}

/* ---- prepend ---- */

ATTN_API void attn_prepend_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus)
{
    (void)v;
    *times = 1;
    *plus = s->text.bytes;
}

ATTN_API int64_t attn_prepend(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out)
{
    int64_t length;
    if (in->bytes == 0)
        return 0;
    attn_code_point(in->text, &length);
    int64_t wrong = attn_put(out, in, 0, length, v->strings + s->text.at,
                             s->text.bytes);
    if (wrong == 0)
        wrong = attn_put_same(out, in, 0, in->bytes);
    return wrong;
}

/* ---- replace ---- */

/* Returns the first position at or after `at` at which the text occurs, or
 * -1. */
static int64_t replace_find(const struct attn_aligned *in, int64_t at,
                            const char *text, int64_t n)
{
    while (at + n <= in->bytes) {
        const char *found = memchr(in->text + at, text[0],
                                   (size_t)(in->bytes - at - n + 1));
        if (!found)
            return -1;
        if (memcmp(found, text, (size_t)n) == 0)
            return found - in->text;
        at = found - in->text + 1;
    }
    return -1;
}

/* Replaces n bytes at `at` by the step's other text. */
static int64_t replace_put(const struct attn_vocab *v,
                           const struct attn_step *s,
                           const struct attn_aligned *in,
                           struct attn_aligned *out, int64_t at, int64_t n)
{
    int64_t last = replace_before(in->text, at + n);
    return attn_put(out, in, last, at + n - last, v->strings + s->other.at,
                    s->other.bytes);
}

ATTN_API void attn_replace_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus)
{
    int64_t least = attn_max(s->text.bytes, 1);
    if (s->op == ATTN_STEP_REPLACE_RUN)
        least = attn_max(s->flags, 1);
    (void)v;
    *plus = 0;
    *times = attn_max(1, (s->other.bytes + least - 1) / least);
}

ATTN_API int64_t attn_replace(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out)
{
    int64_t n = s->text.bytes, same = 0, wrong = 0;
    while (n > 0 && wrong == 0) {
        int64_t at = replace_find(in, same, v->strings + s->text.at, n);
        if (at < 0)
            break;
        wrong = attn_put_same(out, in, same, at - same);
        if (wrong == 0)
            wrong = replace_put(v, s, in, out, at, n);
        same = at + n;
    }
    if (wrong == 0)
        wrong = attn_put_same(out, in, same, in->bytes - same);
    return wrong;
}

/* Returns the length of the run of repetitions of the step's text at `at`, and
 * their number. If the text is empty, the run is white space. */
static int64_t replace_run(const struct attn_vocab *v,
                           const struct attn_step *s,
                           const struct attn_aligned *in, int64_t at,
                           int64_t *times)
{
    const char *text = v->strings + s->text.at;
    int64_t n = s->text.bytes, end = at;
    if (n == 0)
        return replace_spaces(in, at, times);
    *times = 0;
    while (end + n <= in->bytes
           && memcmp(in->text + end, text, (size_t)n) == 0) {
        end += n;
        (*times)++;
    }
    return end - at;
}

ATTN_API int64_t attn_replace_run(const struct attn_vocab *v,
                                  const struct attn_step *s,
                                  const struct attn_aligned *in,
                                  struct attn_aligned *out)
{
    int64_t at = 0, same = 0, wrong = 0, times;
    while (at < in->bytes && wrong == 0) {
        if (s->text.bytes > 0) {
            at = replace_find(in, at, v->strings + s->text.at, s->text.bytes);
            if (at < 0)
                break;
        }
        int64_t n = replace_run(v, s, in, at, &times);
        if (n == 0) {
            at += attn_length(in->text[at]);
            continue;
        }
        if (times >= s->flags) {
            wrong = attn_put_same(out, in, same, at - same);
            if (wrong == 0)
                wrong = replace_put(v, s, in, out, at, n);
            same = at + n;
        }
        at += n;
    }
    if (wrong == 0)
        wrong = attn_put_same(out, in, same, in->bytes - same);
    return wrong;
}
