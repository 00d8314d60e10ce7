/* normal.c: Unicode's normal forms (UAX 15): NFC, NFD, NFKC, NFKD. Characters
 * that a form does not change are copied. Others are decomposed, and marks
 * after a letter are sorted by their classes; NFC and NFKC then compose them.
 *
 * Each output character has a tag, which determines its position as in the
 * `tokenizers` package. 1: inserted. 0: replaces one character. Negative: also
 * removes -tag characters after that one.
 *
 * Sorting marks needs no memory: they are scanned once for each class
 * present. */
#include "runtime/core.h"

enum {
    FORM_HANGUL = 0xac00, /* syllables; the next seven lines: number of
                             syllables; leads, vowels, tails */
    FORM_SYLLABLES = 11172,
    FORM_LEAD = 0x1100,
    FORM_VOWEL = 0x1161,
    FORM_TAIL = 0x11a7, /* one before the first: no tail */
    FORM_LEADS = 19,
    FORM_VOWELS = 21,
    FORM_TAILS = 28,
    /* head of a record: number of items; flags for forms that leave it
     * unchanged */
    FORM_COUNT = 0xff,
    FORM_COMPOSED = 0x100,
    FORM_DECOMPOSED = 0x200,
    /* an item: code point; flag: second of a pair; above these, the class */
    FORM_POINT = 0x1fffff,
    FORM_SECOND = 0x200000,
    FORM_CLASS = 24
};

struct form {
    struct attn_table table;
    const uint32_t *record;
    int compose;
    const struct attn_aligned *in;
    struct attn_aligned *out;
    int64_t at; /* position in `in` of the next character to replace */
};
struct form_item { /* an output character */
    uint32_t point;
    int32_t tag;
};
struct form_place {     /* an iterator over the items of a text */
    int64_t at, length; /* the current character; length 0: at the end */
    uint32_t c, value;
    int32_t k, n; /* index of the current item, number of items */
};

/* ---- items ---- */

static int form_is_hangul(uint32_t c)
{
    return c >= FORM_HANGUL && c < FORM_HANGUL + FORM_SYLLABLES;
}

static void form_enter(const struct form *f, struct form_place *p, int64_t at)
{
    p->at = at;
    p->length = 0;
    p->k = 0;
    p->n = 0;
    if (at == f->in->bytes)
        return;
    p->c = attn_code_point(f->in->text + at, &p->length);
    p->value = attn_table_value(&f->table, p->c);
    p->n = 1;
    if (p->value)
        p->n = (int32_t)(f->record[p->value] & FORM_COUNT);
    if (form_is_hangul(p->c))
        p->n = 2 + ((p->c - FORM_HANGUL) % FORM_TAILS != 0);
}

static void form_next(const struct form *f, struct form_place *p)
{
    p->k++;
    if (p->k == p->n)
        form_enter(f, p, p->at + p->length);
}

static uint32_t form_hangul(uint32_t c, int32_t k)
{
    uint32_t s = c - FORM_HANGUL;
    if (k == 0)
        return FORM_LEAD + s / (FORM_VOWELS * FORM_TAILS);
    if (k == 1)
        return (FORM_VOWEL + s / FORM_TAILS % FORM_VOWELS) | FORM_SECOND;
    return (FORM_TAIL + s % FORM_TAILS) | FORM_SECOND;
}

static uint32_t form_item(const struct form *f, const struct form_place *p)
{
    if (form_is_hangul(p->c))
        return form_hangul(p->c, p->k);
    if (p->value)
        return f->record[p->value + 1 + (uint32_t)p->k];
    return p->c;
}

static int form_stays(const struct form *f, uint32_t c)
{
    unsigned value = attn_table_value(&f->table, c);
    if (form_is_hangul(c))
        return f->compose;
    if (value == 0)
        return 1;
    if (f->compose)
        return (f->record[value] & FORM_COMPOSED) != 0;
    return (f->record[value] & FORM_DECOMPOSED) != 0;
}

/* ---- pairs ---- */

/* Returns the composition of a and b, or 0 if they do not compose. */
static uint32_t form_pair(const struct form *f, uint32_t a, uint32_t b)
{
    int64_t low = 0, high = f->table.pairs;
    if (a - FORM_LEAD < FORM_LEADS && b - FORM_VOWEL < FORM_VOWELS)
        return FORM_HANGUL
             + ((a - FORM_LEAD) * FORM_VOWELS + b - FORM_VOWEL) * FORM_TAILS;
    if (form_is_hangul(a) && (a - FORM_HANGUL) % FORM_TAILS == 0
        && b > FORM_TAIL && b < FORM_TAIL + FORM_TAILS)
        return a + b - FORM_TAIL;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct attn_composition *p = &f->table.pair[middle];
        if (p->first == a && p->second == b)
            return p->into;
        if (p->first < a || (p->first == a && p->second < b))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static int form_compose(const struct form *f, struct form_item *starter,
                        uint32_t item, int32_t tag)
{
    uint32_t into = 0;
    if (item & FORM_SECOND)
        into = form_pair(f, starter->point, item & FORM_POINT);
    if (into == 0)
        return 0;
    starter->point = into;
    starter->tag += tag - 1;
    return 1;
}

/* ---- marks ---- */

static int64_t form_put(struct form *f, uint32_t c, int32_t tag)
{
    char text[4];
    int32_t from = 0, to = 0;
    int64_t n = attn_character_put(text, c);
    f->at = attn_replaced(f->in, f->at, tag, &from, &to);
    return attn_put_at(f->out, text, n, from, to);
}

struct form_marks { /* marks after a starter, with the range of their classes */
    struct form_place from, to;
    unsigned least, most;
};

static void form_find_marks(const struct form *f, struct form_marks *m,
                            struct form_place p)
{
    m->from = p;
    m->least = 256;
    m->most = 0;
    while (p.length > 0) {
        unsigned class = form_item(f, &p) >> FORM_CLASS;
        if (class == 0)
            break;
        if (class < m->least)
            m->least = class;
        if (class > m->most)
            m->most = class;
        form_next(f, &p);
    }
    m->to = p;
}

static int form_same_place(const struct form_place *a,
                           const struct form_place *b)
{
    return a->at == b->at && a->k == b->k;
}

/* Visits the marks in the order of their classes. Composes them with `starter`
 * if possible (NULL: composes none), and writes the other marks if `put` is
 * set. Returns the number of other marks, or an error. */
static int64_t form_take_marks(struct form *f, const struct form_marks *m,
                               struct form_item *starter, int put)
{
    int64_t others = 0, wrong = 0;
    unsigned last = 0;
    for (unsigned class = m->least; class <= m->most; class ++) {
        struct form_place p = m->from;
        while (!form_same_place(&p, &m->to) && wrong == 0) {
            uint32_t item = form_item(f, &p);
            int32_t tag = p.k > 0;
            form_next(f, &p);
            if (item >> FORM_CLASS != class)
                continue;
            if (starter && last < class && form_compose(f, starter, item, tag))
                continue;
            last = class;
            others++;
            if (put)
                wrong = form_put(f, item & FORM_POINT, tag);
        }
    }
    return wrong < 0 ? wrong : others;
}

/* ---- a form ---- */

/* Writes the starter at p, composed with as much as possible, and its remaining
 * marks. */
static int64_t form_starter(struct form *f, struct form_place *p)
{
    struct form_item starter = { form_item(f, p) & FORM_POINT, p->k > 0 };
    struct form_item before;
    struct form_marks m;
    int64_t others = 0, wrong;
    form_next(f, p);
    for (;;) {
        form_find_marks(f, &m, *p);
        before = starter;
        *p = m.to;
        if (!f->compose)
            break;
        others = form_take_marks(f, &m, &starter, 0);
        if (others > 0 || p->length == 0)
            break;
        if (!form_compose(f, &starter, form_item(f, p), p->k > 0))
            break;
        form_next(f, p);
    }
    wrong = form_put(f, starter.point, starter.tag);
    if (wrong < 0)
        return wrong;
    if (!f->compose)
        return form_take_marks(f, &m, NULL, 1);
    if (others == 0)
        return 0;
    return form_take_marks(f, &m, &before, 1);
}

/* Normalises from `at` up to the next character that stays unchanged. */
static int64_t form_part(struct form *f, int64_t at, int64_t *end)
{
    struct form_place p;
    struct form_marks m;
    int64_t wrong = 0;
    form_enter(f, &p, at);
    f->at = at;
    do {
        if (form_item(f, &p) >> FORM_CLASS) {
            form_find_marks(f, &m, p);
            wrong = form_take_marks(f, &m, NULL, 1);
            p = m.to;
        } else {
            wrong = form_starter(f, &p);
        }
    } while (wrong >= 0 && p.length > 0 && (p.k > 0 || !form_stays(f, p.c)));
    *end = p.at;
    return wrong < 0 ? wrong : 0;
}

static int form_composes(int32_t op)
{
    return (op == ATTN_STEP_NFC) + (op == ATTN_STEP_NFKC);
}

/* Returns the step under which the form's table is stored; two forms share each
 * table. */
static int32_t form_table(int32_t op)
{
    if (op == ATTN_STEP_NFC)
        return ATTN_STEP_NFD;
    if (op == ATTN_STEP_NFKC)
        return ATTN_STEP_NFKD;
    return op;
}

ATTN_API int64_t attn_form(const struct attn_vocab *v,
                           const struct attn_step *s,
                           const struct attn_aligned *in,
                           struct attn_aligned *out)
{
    struct form f = { .in = in, .out = out };
    int64_t at = 0, begin = 0, last = -1, wrong = 0;
    attn_table_open(v, form_table(s->op), &f.table);
    f.record = (const uint32_t *)(const void *)f.table.record;
    f.compose = form_composes(s->op);
    while (at < in->bytes && wrong == 0) {
        int64_t length = 1;
        if ((signed char)in->text[at] < 0) {
            uint32_t c = attn_code_point(in->text + at, &length);
            if (!form_stays(&f, c)) {
                /* the character may compose with the previous one */
                if (f.compose && last >= begin)
                    at = last;
                wrong = attn_put_same(out, in, begin, at - begin);
                if (wrong == 0)
                    wrong = form_part(&f, at, &at);
                begin = at;
                last = -1;
                continue;
            }
        }
        last = at;
        at += length;
    }
    if (wrong == 0)
        wrong = attn_put_same(out, in, begin, at - begin);
    return wrong;
}

/* ---- check ---- */

static const char *form_check_record(const struct attn_table *t, int64_t at)
{
    const uint32_t *record = (const uint32_t *)(const void *)t->record;
    int64_t records = t->records / 4;
    if (at >= records)
        return "vocabulary: a normal form without a record";
    int64_t n = record[at] & FORM_COUNT;
    if (n == 0 || n > records - at - 1)
        return "vocabulary: a record of a normal form beyond its end";
    for (int64_t i = 0; i < n; i++)
        if (!attn_is_character(record[at + 1 + i] & FORM_POINT))
            return "vocabulary: a normal form of no character";
    return NULL;
}

ATTN_API const char *attn_form_check(const struct attn_vocab *v,
                                     const struct attn_step *s)
{
    struct attn_table t;
    const char *wrong = attn_table_check(v, form_table(s->op), &t);
    for (int64_t i = 0; !wrong && i < t.values; i++)
        if (t.page[i])
            wrong = form_check_record(&t, t.page[i]);
    for (int64_t i = 0; !wrong && i < t.pairs; i++)
        if (!attn_is_character(t.pair[i].into))
            wrong = "vocabulary: a pair makes no character";
    return wrong;
}

ATTN_API void attn_form_most(const struct attn_vocab *v,
                             const struct attn_step *s, int64_t *times,
                             int64_t *plus)
{
    struct attn_step shared = *s;
    shared.op = form_table(s->op);
    attn_map_most(v, &shared, times, plus);
}
