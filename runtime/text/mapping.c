/* mapping.c: Unicode tables for tokenizer steps (ATTN_MAPPINGS). Each step has
 * a table that maps code points to values, in pages of 256. Also contains the
 * steps that replace single characters: case, accents, spaces, removed
 * characters. */
#include "runtime/core.h"

#include <string.h>

enum {
    MAPPING_INDEX = 0x110000 / 256,
    MAPPING_TABLES = 16 /* maximum tables of a block */
};

/* Returns the row of a step in the directory of tables, or NULL. */
static const struct attn_mapping *mapping_row(const struct attn_vocab *v,
                                              int32_t op, int64_t *bytes)
{
    const struct attn_mappings *m = attn_vocab_section(v->head, ATTN_MAPPINGS,
                                                       bytes);
    if (!m || *bytes < (int64_t)sizeof *m || m->tables > MAPPING_TABLES)
        return NULL;
    const struct attn_mapping *row = (const struct attn_mapping *)(m + 1);
    if (*bytes - (int64_t)sizeof *m < (int64_t)sizeof *row * (int64_t)m->tables)
        return NULL;
    for (uint32_t i = 0; i < m->tables; i++)
        if (row[i].op == op)
            return &row[i];
    return NULL;
}

ATTN_API int attn_table_open(const struct attn_vocab *v, int32_t op,
                             struct attn_table *t)
{
    int64_t bytes = 0;
    const struct attn_mapping *row = mapping_row(v, op, &bytes);
    if (!row)
        return 0;
    const char *at = attn_vocab_section(v->head, ATTN_MAPPINGS, &bytes);
    t->index = (const uint16_t *)(at + row->index);
    t->page = (const uint16_t *)(at + row->page);
    t->record = at + row->record;
    t->records = row->records;
    t->pair = (const struct attn_composition *)(at + row->pair);
    t->pairs = row->pairs;
    return 1;
}

/* True if n items of `each` bytes at `at` lie within the section and are
 * aligned to 4 bytes. */
static int mapping_inside(uint32_t at, uint64_t n, uint64_t each, int64_t bytes)
{
    return at % 4 == 0 && (int64_t)at <= bytes
        && n <= (uint64_t)(bytes - (int64_t)at) / each;
}

ATTN_API const char *attn_table_check(const struct attn_vocab *v, int32_t op,
                                      struct attn_table *t)
{
    int64_t bytes = 0;
    const struct attn_mapping *row = mapping_row(v, op, &bytes);
    if (!row)
        return "vocabulary: a step without its table of Unicode";
    if (!mapping_inside(row->index, MAPPING_INDEX, 2, bytes)
        || !mapping_inside(row->page, 256 * (uint64_t)row->pages, 2, bytes)
        || !mapping_inside(row->record, row->records, 1, bytes)
        || !mapping_inside(row->pair, row->pairs, sizeof *t->pair, bytes))
        return "vocabulary: a table of Unicode beyond its end";
    attn_table_open(v, op, t);
    for (int64_t i = 0; i < MAPPING_INDEX; i++)
        if (t->index[i] >= row->pages)
            return "vocabulary: a table of Unicode without a page";
    t->values = 256 * (int64_t)row->pages;
    return NULL;
}

/* ---- characters, one by one ---- */

/* Checks the table of a step. A record is a length and that many bytes: the
 * replacement of a character. */
ATTN_API const char *attn_map_check(const struct attn_vocab *v,
                                    const struct attn_step *s)
{
    struct attn_table t;
    const char *wrong = attn_table_check(v, s->op, &t);
    if (wrong)
        return wrong;
    for (int64_t i = 0; i < t.values; i++) {
        int64_t at = t.page[i];
        if (at == 0)
            continue;
        if (at >= t.records)
            return "vocabulary: a table of Unicode without a record";
        int64_t n = (unsigned char)t.record[at];
        if (n > t.records - at - 1)
            return "vocabulary: a record of Unicode beyond its end";
        if (attn_utf8(t.record + at + 1, n) < n)
            return "vocabulary: a record of Unicode is not UTF-8";
    }
    return NULL;
}

ATTN_API void attn_map_most(const struct attn_vocab *v,
                            const struct attn_step *s, int64_t *times,
                            int64_t *plus)
{
    int64_t bytes = 0;
    const struct attn_mapping *row = mapping_row(v, s->op, &bytes);
    *plus = 0;
    *times = 1;
    if (row)
        *times = (int64_t)row->times;
}

ATTN_API int64_t attn_map(const struct attn_vocab *v, const struct attn_step *s,
                          const struct attn_aligned *in,
                          struct attn_aligned *out)
{
    struct attn_table t;
    int64_t at = 0, same = 0, wrong = 0;
    attn_table_open(v, s->op, &t);
    const uint16_t *ascii = t.page + 256 * t.index[0];
    while (at < in->bytes && wrong == 0) {
        unsigned char first = (unsigned char)in->text[at];
        int64_t length = 1;
        unsigned value;
        if (first < 0x80)
            value = ascii[first];
        else
            value = attn_table_value(&t,
                                     attn_code_point(in->text + at, &length));
        if (value != 0) {
            const char *text = t.record + value;
            wrong = attn_put_same(out, in, same, at - same);
            if (wrong == 0)
                wrong = attn_put(out, in, at, length, text + 1,
                                 (unsigned char)*text);
            same = at + length;
        }
        at += length;
    }
    if (wrong == 0)
        wrong = attn_put_same(out, in, same, at - same);
    return wrong;
}

/* ---- CJK, as BertNormalizer has it ---- */

/* True for ideographs. Excludes kana and Hangul, because their words have
 * spaces. */
static int mapping_is_cjk(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf)
        || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df)
        || (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf)
        || (c >= 0x2f800 && c <= 0x2fa1f);
}

ATTN_API void attn_cjk_most(const struct attn_vocab *v,
                            const struct attn_step *s, int64_t *times,
                            int64_t *plus)
{
    (void)v;
    (void)s;
    *times = 2;
    *plus = 0;
}

/* Puts a space before and after each ideograph. */
ATTN_API int64_t attn_cjk(const struct attn_vocab *v, const struct attn_step *s,
                          const struct attn_aligned *in,
                          struct attn_aligned *out)
{
    int64_t at = 0, same = 0, wrong = 0, length;
    char text[6] = " ";
    (void)v;
    (void)s;
    while (at < in->bytes && wrong == 0) {
        length = 1;
        if ((unsigned char)in->text[at] >= 0xe3
            && mapping_is_cjk(attn_code_point(in->text + at, &length))) {
            memcpy(text + 1, in->text + at, (size_t)length);
            text[length + 1] = ' ';
            wrong = attn_put_same(out, in, same, at - same);
            if (wrong == 0)
                wrong = attn_put(out, in, at, length, text, length + 2);
            same = at + length;
        }
        at += length;
    }
    if (wrong == 0)
        wrong = attn_put_same(out, in, same, at - same);
    return wrong;
}

/* ---- characters ---- */

ATTN_API int attn_is_character(uint32_t c)
{
    return c < 0x110000 && (c < 0xd800 || c > 0xdfff);
}

ATTN_API int64_t attn_character_put(char *text, uint32_t c)
{
    if (c < 0x80) {
        text[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        text[0] = (char)(0xc0 | c >> 6);
        text[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        text[0] = (char)(0xe0 | c >> 12);
        text[1] = (char)(0x80 | (c >> 6 & 0x3f));
        text[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | c >> 18);
    text[1] = (char)(0x80 | (c >> 12 & 0x3f));
    text[2] = (char)(0x80 | (c >> 6 & 0x3f));
    text[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Returns the length of the character at `at`; 0 at the end. */
static int64_t mapping_length(const struct attn_aligned *in, int64_t at)
{
    int64_t end = at + 1;
    if (at >= in->bytes)
        return 0;
    while (end < in->bytes && (in->text[end] & 0xc0) == 0x80)
        end++;
    return end - at;
}

ATTN_API int64_t attn_replaced(const struct attn_aligned *in, int64_t at,
                               int64_t tag, int32_t *from, int32_t *to)
{
    if (tag > 0) {
        int64_t before = at;
        while (before > 0 && (in->text[before - 1] & 0xc0) == 0x80)
            before--;
        if (before > 0)
            before--;
        attn_place(in, before, at - before, from, to);
        if (at == 0)
            attn_place(in, 0, 0, from, to);
        return at;
    }
    int64_t length = mapping_length(in, at);
    attn_place(in, at, length, from, to);
    at += length;
    for (int64_t i = 0; i < -tag; i++)
        at += mapping_length(in, at);
    return at;
}
