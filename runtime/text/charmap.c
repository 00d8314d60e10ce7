/* charmap.c: SentencePiece's precompiled map from texts to texts. It consists
 * of the size of a trie in bytes (32 bits), the trie (struct attn_trie), and
 * the replacement texts, each ended by 0. The values in the trie are offsets of
 * these texts.
 *
 * There are two readers. The reader of the `tokenizers` package looks up a
 * complete cluster of characters (UAX 29) of less than 6 bytes, and replaces it
 * by the text of its shortest prefix in the map. SentencePiece's reader takes
 * the longest prefix at each position, and handles spaces. */
#include "runtime/core.h"

#include <string.h>

enum { CHARMAP_CLUSTER = 6 };

ATTN_API int attn_charmap_open(const struct attn_vocab *v,
                               struct attn_charmap *m)
{
    int64_t bytes;
    const char *at = attn_vocab_section(v->head, ATTN_CHARMAP, &bytes);
    uint32_t trie = 0;
    m->trie.units = 0;
    if (!at || bytes < 4)
        return 0;
    memcpy(&trie, at, sizeof trie);
    if (trie % 4 != 0 || trie < 4 || (int64_t)trie > bytes - 4)
        return 0;
    m->trie.unit = (const uint32_t *)(const void *)(at + 4);
    m->trie.units = trie / 4;
    m->text = at + 4 + trie;
    m->bytes = bytes - 4 - (int64_t)trie;
    return 1;
}

/* Returns the text for a value of the trie, and its length; NULL if the value
 * is invalid. */
static const char *charmap_text(const struct attn_charmap *m, int64_t value,
                                int64_t *bytes)
{
    if (value >= m->bytes || (m->text[value] & 0xc0) == 0x80)
        return NULL;
    const char *end = memchr(m->text + value, 0, (size_t)(m->bytes - value));
    *bytes = m->bytes - value;
    if (end)
        *bytes = end - (m->text + value);
    return m->text + value;
}

/* Finds the text for the shortest or the longest prefix of s[0 .. n - 1] in the
 * map, and sets *taken to the length of the prefix. Returns NULL if no prefix
 * is in the map. */
static const char *charmap_find(const struct attn_charmap *m, const char *s,
                                int64_t n, int longest, int64_t *taken,
                                int64_t *bytes)
{
    uint32_t node = attn_trie_root(&m->trie);
    int64_t value = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t here;
        if (!attn_trie_next(&m->trie, &node, (unsigned char)s[i], &here))
            break;
        if (here < 0)
            continue;
        value = here;
        *taken = i + 1;
        if (!longest)
            break;
    }
    if (value < 0)
        return NULL;
    return charmap_text(m, value, bytes);
}

ATTN_API const char *attn_charmap_check(const struct attn_vocab *v,
                                        const struct attn_step *s)
{
    struct attn_charmap m;
    struct attn_table t;
    if (s->op == ATTN_STEP_SENTENCEPIECE && !(s->flags & ATTN_SPM_CHARMAP))
        return NULL;
    const char *wrong = attn_table_check(v, ATTN_STEP_CHARMAP, &t);
    if (wrong)
        return wrong;
    if (!attn_charmap_open(v, &m))
        return "vocabulary: its map of characters is cut off";
    if (attn_utf8(m.text, m.bytes) < m.bytes)
        return "vocabulary: its map of characters is not UTF-8";
    return NULL;
}

/* ---- clusters of UAX 29 ---- */

/* utf8proc's boundary classes of characters, in the order of its table. */
enum {
    CLUSTER_CR = 2,
    CLUSTER_LF = 3,
    CLUSTER_CONTROL = 4,
    CLUSTER_EXTEND = 5,
    CLUSTER_L = 6,
    CLUSTER_V = 7,
    CLUSTER_T = 8,
    CLUSTER_LV = 9,
    CLUSTER_LVT = 10,
    CLUSTER_FLAG = 11,
    CLUSTER_SPACING = 12,
    CLUSTER_PREPEND = 13,
    CLUSTER_JOINER = 14,
    CLUSTER_PICTURE = 19
};

struct cluster {
    unsigned last;    /* class of the previous character */
    int32_t flags;    /* number of regional indicators so far */
    int32_t pictures; /* 1: after a picture and its marks; 2: after these and
                         a joiner */
};

static int cluster_is_control(unsigned class)
{
    return class >= CLUSTER_CR && class <= CLUSTER_CONTROL;
}

static int cluster_goes_on(const struct cluster *c, unsigned class)
{
    unsigned last = c->last;
    if (last == CLUSTER_CR && class == CLUSTER_LF)
        return 1;
    if (cluster_is_control(last) || cluster_is_control(class))
        return 0;
    if (last == CLUSTER_L
        && (class == CLUSTER_L || class == CLUSTER_V || class == CLUSTER_LV
            || class == CLUSTER_LVT))
        return 1;
    if ((last == CLUSTER_LV || last == CLUSTER_V)
        && (class == CLUSTER_V || class == CLUSTER_T))
        return 1;
    if ((last == CLUSTER_LVT || last == CLUSTER_T) && class == CLUSTER_T)
        return 1;
    if (class == CLUSTER_EXTEND || class == CLUSTER_JOINER
        || class == CLUSTER_SPACING || last == CLUSTER_PREPEND)
        return 1;
    if (c->pictures == 2 && class == CLUSTER_PICTURE)
        return 1;
    return class == CLUSTER_FLAG && c->flags == 1;
}

static void cluster_take(struct cluster *c, unsigned class)
{
    if (class == CLUSTER_FLAG)
        c->flags++;
    else
        c->flags = 0;
    if (class == CLUSTER_PICTURE)
        c->pictures = 1;
    else if (class == CLUSTER_JOINER && c->pictures == 1)
        c->pictures = 2;
    else if (class != CLUSTER_EXTEND || c->pictures != 1)
        c->pictures = 0;
    c->last = class;
}

/* Returns the end of the cluster that starts at `at`. */
static int64_t cluster_end(const struct attn_table *t,
                           const struct attn_aligned *in, int64_t at)
{
    struct cluster c = { 0, 0, 0 };
    int64_t length;
    if (at + 1 == in->bytes)
        return at + 1;
    if ((signed char)(in->text[at] | in->text[at + 1]) >= 0
        && in->text[at] != '\r')
        return at + 1;
    uint32_t point = attn_code_point(in->text + at, &length);
    cluster_take(&c, attn_table_value(t, point));
    at += length;
    while (at < in->bytes) {
        point = attn_code_point(in->text + at, &length);
        unsigned class = attn_table_value(t, point);
        if (!cluster_goes_on(&c, class))
            break;
        cluster_take(&c, class);
        at += length;
    }
    return at;
}

/* ---- as the package `tokenizers` ---- */

/* Output that holds back its last character, because the number of characters
 * that it replaces may still grow. */
struct charmap_writer {
    const struct attn_aligned *in;
    struct attn_aligned *out;
    int64_t at; /* position in `in` of the next character to replace */
    char text[4];
    int64_t bytes, tag; /* length (0: none) and tag of the pending character */
    int64_t wrong;
};

static void charmap_flush(struct charmap_writer *w)
{
    int32_t from = 0, to = 0;
    if (w->bytes == 0 || w->wrong < 0)
        return;
    w->at = attn_replaced(w->in, w->at, w->tag, &from, &to);
    w->wrong = attn_put_at(w->out, w->text, w->bytes, from, to);
    w->bytes = 0;
}

static int64_t charmap_characters(const char *s, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += (s[i] & 0xc0) != 0x80;
    return count;
}

/* Replaces `were` characters by the n bytes of s. */
static void charmap_put(struct charmap_writer *w, int64_t were, const char *s,
                        int64_t n)
{
    int64_t count = charmap_characters(s, n), length;
    for (int64_t i = 0, at = 0; i < count; i++, at += length) {
        charmap_flush(w);
        attn_code_point(s + at, &length);
        memcpy(w->text, s + at, (size_t)length);
        w->bytes = length;
        w->tag = i >= were;
    }
    if (count < were && w->bytes > 0)
        w->tag -= were - count;
}

static void charmap_cluster(struct charmap_writer *w,
                            const struct attn_charmap *m, int64_t at,
                            int64_t end)
{
    const char *s = w->in->text;
    int64_t length, taken, bytes;
    const char *text = NULL;
    if (end - at < CHARMAP_CLUSTER)
        text = charmap_find(m, s + at, end - at, 0, &taken, &bytes);
    if (text) {
        charmap_put(w, charmap_characters(s + at, end - at), text, bytes);
        return;
    }
    for (; at < end; at += length) {
        attn_code_point(s + at, &length);
        text = charmap_find(m, s + at, length, 0, &taken, &bytes);
        if (text)
            charmap_put(w, 1, text, bytes);
        else
            charmap_put(w, 1, s + at, length);
    }
}

ATTN_API int64_t attn_charmap(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out)
{
    struct attn_charmap m;
    struct attn_table t;
    struct charmap_writer w = { .in = in, .out = out };
    int64_t at = 0;
    (void)s;
    if (!attn_charmap_open(v, &m) || !attn_table_open(v, ATTN_STEP_CHARMAP, &t))
        return ATTN_ERROR_OPEN;
    while (at < in->bytes && w.wrong == 0) {
        int64_t end = cluster_end(&t, in, at);
        charmap_cluster(&w, &m, at, end);
        at = end;
    }
    charmap_flush(&w);
    return w.wrong;
}

ATTN_API void attn_charmap_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus)
{
    struct attn_step shared = *s;
    shared.op = ATTN_STEP_CHARMAP;
    *times = 1;
    if (s->op == ATTN_STEP_CHARMAP || (s->flags & ATTN_SPM_CHARMAP))
        attn_map_most(v, &shared, times, plus);
    *plus = 0;
    if (s->op != ATTN_STEP_SENTENCEPIECE)
        return;
    *plus = 3;
    if (s->flags & ATTN_SPM_ESCAPE)
        *times *= 3;
}

ATTN_API const char *attn_charmap_longest(const struct attn_charmap *m,
                                          const char *s, int64_t n,
                                          int64_t *taken, int64_t *bytes)
{
    return charmap_find(m, s, n, 1, taken, bytes);
}
