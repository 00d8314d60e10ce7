/* split.c: splits a text into words: by the patterns of known tokenizers, each
 * of which is a function that finds the first match; by kinds of characters; or
 * at given texts. Also adds a prefix to a piece. */
#include "runtime/core.h"

#include <string.h>

/* Returns the class of the character at s, and the length of the character. */
static unsigned split_class(const struct attn_vocab *v, const char *s,
                            int64_t *n)
{
    const unsigned char c = (unsigned char)*s;
    if (c < 0x80) {
        *n = 1;
        return v->classes[ATTN_CLASS_INDEX + 256 * (unsigned)v->classes[0] + c];
    }
    return attn_class(v, attn_code_point(s, n));
}

/* The kinds that patterns distinguish; each character has exactly one. */
enum { SPLIT_OTHER = 1, SPLIT_LETTER = 2, SPLIT_NUMBER = 4, SPLIT_SPACE = 8 };

static int split_kind(const struct attn_vocab *v, const char *s, int64_t *n)
{
    const unsigned class = split_class(v, s, n);
    if (class & ATTN_CLASS_SPACE)
        return SPLIT_SPACE;
    if (attn_class_of(class, ATTN_LETTERS))
        return SPLIT_LETTER;
    return attn_class_of(class, ATTN_NUMBERS) ? SPLIT_NUMBER : SPLIT_OTHER;
}

/* Returns the end of the run of characters of these kinds at `at`, which has at
 * most `most` characters. */
static int64_t split_run(const struct attn_vocab *v, const char *s, int64_t n,
                         int64_t at, int kinds, int64_t most)
{
    int64_t bytes;
    while (at < n && most > 0 && split_kind(v, s + at, &bytes) & kinds) {
        at += bytes;
        most--;
    }
    return at;
}

/* Returns the length of 's, 't, 're, 've, 'm, 'll or 'd at s, or 0. If case is
 * ignored, the long s also counts. */
static int64_t split_apostrophe(const char *s, int64_t n, int any_case)
{
    char a, b;
    if (n < 2 || s[0] != '\'')
        return 0;
    if (any_case && n > 2 && memcmp(s + 1, "\xc5\xbf", 2) == 0)
        return 3;
    a = s[1];
    b = n > 2 ? s[2] : ' ';
    if (any_case && a >= 'A' && a <= 'Z')
        a = (char)(a + 'a' - 'A');
    if (any_case && b >= 'A' && b <= 'Z')
        b = (char)(b + 'a' - 'A');
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e')
        || (a == 'l' && b == 'l'))
        return 3;
    return 0;
}

/* Matches \s+(?!\S)|\s+ in the white space that ends at `end`. If more text
 * follows, the match excludes the last character. */
static int64_t split_space(const char *s, int64_t n, int64_t end)
{
    int64_t last = end - 1;
    if (end == n)
        return end;
    while (last > 0 && (s[last] & 0xc0) == 0x80)
        last--;
    return last > 0 ? last : end;
}

/* ---- patterns ---- */

static int64_t split_gpt2(const struct attn_vocab *v, const struct attn_step *s,
                          const char *text, int64_t n, int64_t *at)
{
    int64_t bytes, from = 0;
    (void)s;
    *at = 0;
    if (n == 0)
        return 0;
    bytes = split_apostrophe(text, n, 0);
    if (bytes > 0)
        return bytes;
    if (text[0] == ' ' && n > 1)
        from = 1;
    const int kind = split_kind(v, text + from, &bytes);
    if (kind != SPLIT_SPACE)
        return split_run(v, text, n, from + bytes, kind, n);
    return split_space(text, n, split_run(v, text, n, 0, SPLIT_SPACE, n));
}

/* Returns the end of the line breaks at `at`. */
static int64_t split_lines(const char *s, int64_t n, int64_t at)
{
    while (at < n && (s[at] == '\r' || s[at] == '\n'))
        at++;
    return at;
}

/* Matches \s*[\r\n]+|\s+(?!\S)|\s+ */
static int64_t split_blank(const struct attn_vocab *v, const char *s, int64_t n)
{
    const int64_t end = split_run(v, s, n, 0, SPLIT_SPACE, n);
    for (int64_t i = end; i > 0; i--)
        if (s[i - 1] == '\r' || s[i - 1] == '\n')
            return i;
    return split_space(s, n, end);
}

/* Matches cl100k's pattern, with at most `digits` digits in a piece. */
static int64_t split_cl100k(const struct attn_vocab *v, const char *s,
                            int64_t n, int64_t digits)
{
    int64_t first, second = 0;
    if (n == 0)
        return 0;
    const int64_t bytes = split_apostrophe(s, n, 1);
    if (bytes > 0)
        return bytes;
    const int kind = split_kind(v, s, &first);
    const int next = first < n ? split_kind(v, s + first, &second) : 0;
    if (kind == SPLIT_LETTER)
        return split_run(v, s, n, first, SPLIT_LETTER, n);
    if (kind == SPLIT_NUMBER)
        return split_run(v, s, n, first, SPLIT_NUMBER, digits - 1);
    if (next == SPLIT_LETTER && s[0] != '\r' && s[0] != '\n')
        return split_run(v, s, n, first, SPLIT_LETTER, n);
    if (kind == SPLIT_OTHER)
        return split_lines(s, n, split_run(v, s, n, first, SPLIT_OTHER, n));
    if (s[0] == ' ' && next == SPLIT_OTHER)
        return split_lines(s, n, split_run(v, s, n, 1, SPLIT_OTHER, n));
    return split_blank(v, s, n);
}

static int64_t split_llama3(const struct attn_vocab *v,
                            const struct attn_step *s, const char *text,
                            int64_t n, int64_t *at)
{
    (void)s;
    *at = 0;
    return split_cl100k(v, text, n, 3);
}

static int64_t split_qwen2(const struct attn_vocab *v,
                           const struct attn_step *s, const char *text,
                           int64_t n, int64_t *at)
{
    (void)s;
    *at = 0;
    return split_cl100k(v, text, n, 1);
}

/* True for characters that end a word in the pattern of split_bloom(): white
 * space and some punctuation. */
static int split_bloom_end(const struct attn_vocab *v, const char *s,
                           int64_t *n)
{
    static const uint32_t ends[] = { '(',    ')',    '|',    '.',    ',',
                                     '!',    '?',    0x2026, 0x3002, 0xff0c,
                                     0x3001, 0x0964, 0x06d4, 0x060c };
    const uint32_t c = attn_code_point(s, n);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (c == ends[i])
            return 1;
    return (split_class(v, s, n) & ATTN_CLASS_SPACE) != 0;
}

static int64_t split_bloom(const struct attn_vocab *v,
                           const struct attn_step *s, const char *text,
                           int64_t n, int64_t *at)
{
    int64_t i = 0, bytes = 0;
    (void)s;
    while (i < n && split_bloom_end(v, text + i, &bytes))
        i += bytes;
    *at = i;
    if (i == n)
        return 0;
    if (i > 0 && text[i - 1] == ' ')
        *at = i - 1;
    while (i < n && !split_bloom_end(v, text + i, &bytes))
        i += bytes;
    return i - *at;
}

/* Matches 's|'t|...|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+, which skips only white
 * space. ATTN_STEP_CLIP_MARKS first tries two marks. */
static int64_t split_clip(const struct attn_vocab *v, const struct attn_step *s,
                          const char *text, int64_t n, int64_t *at)
{
    static const char *const marks[] = { "<|startoftext|>", "<|endoftext|>" };
    const int64_t from = split_run(v, text, n, 0, SPLIT_SPACE, n);
    int64_t bytes, length;
    *at = from;
    text += from;
    n -= from;
    if (n == 0)
        return 0;
    for (int i = 0; i < 2 && s->op == ATTN_STEP_CLIP_MARKS; i++) {
        length = (int64_t)strlen(marks[i]);
        if (n >= length && memcmp(text, marks[i], (size_t)length) == 0)
            return length;
    }
    bytes = split_apostrophe(text, n, 0);
    if (bytes > 0)
        return bytes;
    const int kind = split_kind(v, text, &bytes);
    return split_run(v, text, n, bytes, kind, kind == SPLIT_NUMBER ? 0 : n);
}

/* ---- kinds ---- */

/* True for punctuation of ASCII or Unicode. */
static int split_is_punctuation(const struct attn_vocab *v, const char *s,
                                int64_t *n)
{
    const unsigned class = split_class(v, s, n);
    if (*n == 1)
        return (*s >= '!' && *s <= '/') || (*s >= ':' && *s <= '@')
            || (*s >= '[' && *s <= '`') || (*s >= '{' && *s <= '~');
    return attn_class_of(class, ATTN_PUNCTUATION);
}

static int split_is_space(const struct attn_vocab *v, const char *s, int64_t *n)
{
    return (split_class(v, s, n) & ATTN_CLASS_SPACE) != 0;
}

static int split_is_number(const struct attn_vocab *v, const char *s,
                           int64_t *n)
{
    return attn_class_of(split_class(v, s, n), ATTN_NUMBERS);
}

/* Finds the first character for which is() is true. */
static int64_t split_first(const struct attn_vocab *v, const char *text,
                           int64_t n, int64_t *at,
                           int (*is)(const struct attn_vocab *v, const char *s,
                                     int64_t *n))
{
    int64_t i = 0, bytes = 0;
    while (i < n && !is(v, text + i, &bytes))
        i += bytes;
    *at = i;
    return i < n ? bytes : 0;
}

static int64_t split_punctuation(const struct attn_vocab *v,
                                 const struct attn_step *s, const char *text,
                                 int64_t n, int64_t *at)
{
    (void)s;
    return split_first(v, text, n, at, split_is_punctuation);
}

/* Finds one white space character. If matches are dropped, finds a complete
 * run, because the result is the same. */
static int64_t split_spaces(const struct attn_vocab *v,
                            const struct attn_step *s, const char *text,
                            int64_t n, int64_t *at)
{
    int64_t bytes = split_first(v, text, n, at, split_is_space);
    if (bytes > 0 && s->flags == ATTN_SPLIT_REMOVED)
        bytes = split_run(v, text, n, *at, SPLIT_SPACE, n) - *at;
    return bytes;
}

static int64_t split_digits(const struct attn_vocab *v,
                            const struct attn_step *s, const char *text,
                            int64_t n, int64_t *at)
{
    (void)s;
    return split_first(v, text, n, at, split_is_number);
}

/* Finds a byte that byte-level text represents by a digit. These bytes include
 * Latin-1 characters of category N, and so also occur in other characters. */
static int64_t split_digit_bytes(const struct attn_vocab *v,
                                 const struct attn_step *s, const char *text,
                                 int64_t n, int64_t *at)
{
    (void)v;
    (void)s;
    for (*at = 0; *at < n; *at += 1) {
        const unsigned char c = (unsigned char)text[*at];
        if ((c >= '0' && c <= '9') || c == 0xb2 || c == 0xb3 || c == 0xb9
            || (c >= 0xbc && c <= 0xbe))
            return 1;
    }
    return 0;
}

/* Matches [0-9][0-9][0-9] */
static int64_t split_three(const struct attn_vocab *v,
                           const struct attn_step *s, const char *text,
                           int64_t n, int64_t *at)
{
    int64_t digits = 0;
    (void)v;
    (void)s;
    for (int64_t i = 0; i < n; i++) {
        digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        *at = i - 2;
        if (digits == 3)
            return 3;
    }
    return 0;
}

/* Matches \w+|[^\w\s]+ */
static int64_t split_words(const struct attn_vocab *v,
                           const struct attn_step *s, const char *text,
                           int64_t n, int64_t *at)
{
    int64_t i = split_run(v, text, n, 0, SPLIT_SPACE, n), bytes = 0;
    (void)s;
    *at = i;
    if (i == n)
        return 0;
    const int word = attn_class_word(split_class(v, text + i, &bytes));
    for (i += bytes; i < n; i += bytes) {
        const unsigned class = split_class(v, text + i, &bytes);
        if (class & ATTN_CLASS_SPACE || attn_class_word(class) != word)
            break;
    }
    return i - *at;
}

static int64_t split_text(const struct attn_vocab *v, const struct attn_step *s,
                          const char *text, int64_t n, int64_t *at)
{
    const char *wanted = v->strings + s->text.at;
    const int64_t bytes = s->text.bytes;
    int64_t i = 0;
    while (bytes <= n - i) {
        const char *next = memchr(text + i, wanted[0],
                                  (size_t)(n - i - bytes + 1));
        if (!next)
            break;
        i = next - text;
        *at = i;
        if (memcmp(next, wanted, (size_t)bytes) == 0)
            return bytes;
        i++;
    }
    return 0;
}

/* ---- prefix ---- */

static int split_begins(const struct attn_aligned *in, const char *text,
                        int64_t n)
{
    return in->bytes >= n && memcmp(in->text, text, (size_t)n) == 0;
}

/* Writes a text with the position of the piece's first character. */
static int64_t split_front(const struct attn_aligned *in,
                           struct attn_aligned *out, const char *text,
                           int64_t n)
{
    return attn_put(out, in, 0, attn_character(in->text, in->bytes), text, n);
}

static int64_t split_prefix(const struct attn_vocab *v,
                            const struct attn_step *s,
                            const struct attn_aligned *in,
                            struct attn_aligned *out)
{
    const char *text = v->strings + s->text.at;
    int64_t wrong = 0;
    if (in->begins >= 0 && !split_begins(in, text, s->text.bytes))
        wrong = split_front(in, out, text, s->text.bytes);
    if (wrong == 0)
        wrong = attn_put_same(out, in, 0, in->bytes);
    return wrong;
}

static int64_t split_metaspace(const struct attn_vocab *v,
                               const struct attn_step *s,
                               const struct attn_aligned *in,
                               struct attn_aligned *out)
{
    const char *text = v->strings + s->text.at;
    const int64_t bytes = s->text.bytes;
    int64_t wrong = 0, at = 0;
    const int front = (s->flags == ATTN_METASPACE_ALWAYS && in->begins >= 0)
                   || (s->flags == ATTN_METASPACE_FIRST && in->begins > 0);
    if (front && in->text[0] != ' ' && !split_begins(in, text, bytes))
        wrong = split_front(in, out, text, bytes);
    while (at < in->bytes && wrong == 0) {
        const char *space = memchr(in->text + at, ' ',
                                   (size_t)(in->bytes - at));
        const int64_t end = space ? space - in->text : in->bytes;
        wrong = attn_put_same(out, in, at, end - at);
        if (space && wrong == 0)
            wrong = attn_put(out, in, end, 1, text, bytes);
        at = end + 1;
    }
    return wrong;
}

/* ---- checks ---- */

static const char *split_check(const struct attn_vocab *v,
                               const struct attn_step *s)
{
    (void)s;
    return v->classes ? NULL : "vocabulary: no classes of characters";
}

static const char *split_check_text(const struct attn_vocab *v,
                                    const struct attn_step *s)
{
    (void)v;
    if (s->text.bytes == 0 || s->text.bytes > ATTN_AFFIX)
        return "vocabulary: a step's text is empty or too long";
    return NULL;
}

static void split_most_prefix(const struct attn_vocab *v,
                              const struct attn_step *s, int64_t *times,
                              int64_t *plus)
{
    (void)v;
    *times = 1;
    *plus = s->text.bytes;
}

static void split_most_metaspace(const struct attn_vocab *v,
                                 const struct attn_step *s, int64_t *times,
                                 int64_t *plus)
{
    (void)v;
    *times = s->text.bytes;
    *plus = s->text.bytes;
}

#define STEP(op, ...) [op] = { __VA_ARGS__ },
static const struct attn_op split_ops[ATTN_STEP_NORMALISERS] = {
#include "split_steps.h"
};

ATTN_API const struct attn_op *attn_split_op(int32_t op)
{
    if (op < 1 || op >= ATTN_STEP_NORMALISERS
        || (!split_ops[op].find && !split_ops[op].change))
        return NULL;
    return &split_ops[op];
}
