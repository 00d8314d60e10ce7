/* mappings.c: builds Unicode tables from utf8proc's data, one for each
 * tokenizer step that needs one (runtime/text/mapping.c,
 * runtime/text/normal.c). */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "tokenizer/block.h"

enum { Points = 0x110000, Pages = Points / 256, Longest = 64 };

typedef struct { /* the table of one step */
    int32_t op;
    uint16_t index[Pages];
    Bytes page, record, pair;
    uint32_t pages, times;
    bool composed; /* true if second[] is used; second[c]: c is the second
                    * character of a composing pair */
    unsigned char *second;
} Table;

/* False for surrogates and for planes 4 to 13, which are empty. */
static bool is_point(uint32_t c)
{
    return (c < 0xd800 || c > 0xdfff) && (c < 0x40000 || c >= 0xe0000);
}

static size_t utf8_bytes(uint32_t c)
{
    return 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
}

static void grows(Table *t, uint32_t c, size_t bytes)
{
    const size_t from = utf8_bytes(c);
    const uint32_t times = (uint32_t)((bytes + from - 1) / from);
    if (times > t->times)
        t->times = times;
}

/* ---- characters, one by one ---- */

/* Returns the record of a text. Equal texts of at most one byte share a
 * record. */
static uint16_t text_record(Table *t, const char *text, size_t n)
{
    const char length = (char)n;
    for (size_t i = 1; n < 2 && i < t->record.n;
         i += 1 + (unsigned char)t->record.at[i])
        if ((unsigned char)t->record.at[i] == n
            && memcmp(t->record.at + i + 1, text, n) == 0)
            return (uint16_t)i;
    const size_t at = t->record.n;
    if (at > UINT16_MAX)
        t->record.full = true;
    bytes_add(&t->record, &length, 1);
    bytes_add(&t->record, text, n);
    return (uint16_t)at;
}

static uint16_t lower_case(Table *t, uint32_t c)
{
    char text[8];
    int32_t lower = utf8proc_tolower((int32_t)c);
    size_t n = 0;
    if (c == 0x130) { /* the only letter whose lower case is two characters: i
                       * and a dot above */
        text[n++] = 'i';
        lower = 0x307;
    }
    if (lower == (int32_t)c)
        return 0;
    n += (size_t)utf8proc_encode_char(lower, (utf8proc_uint8_t *)text + n);
    grows(t, c, n);
    return text_record(t, text, n);
}

static uint16_t no_marks(Table *t, uint32_t c)
{
    const utf8proc_category_t k = utf8proc_category((int32_t)c);
    return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME
             ? text_record(t, "", 0)
             : 0;
}

static uint16_t no_accents(Table *t, uint32_t c)
{
    return utf8proc_category((int32_t)c) == UTF8PROC_CATEGORY_MN
             ? text_record(t, "", 0)
             : 0;
}

/* Cleans a character like BertNormalizer: drops control characters, and turns
 * spaces into ' '. */
static uint16_t clean(Table *t, uint32_t c)
{
    const utf8proc_category_t k = utf8proc_category((int32_t)c);
    if (c == '\t' || c == '\n' || c == '\r'
        || (c != ' ' && k >= UTF8PROC_CATEGORY_ZS && k <= UTF8PROC_CATEGORY_ZP))
        return text_record(t, " ", 1);
    if (k >= UTF8PROC_CATEGORY_CC || c == 0xfffd)
        return text_record(t, "", 0);
    return 0;
}

/* Maps a character by SentencePiece's translation rules, which drop some
 * characters and turn others into spaces. */
static uint16_t translation(Table *t, uint32_t c)
{
    static const struct {
        uint32_t from, to;
        int space;
    } rows[] = {
        { 0x1, 0x8, 0 },       { 0x9, 0xa, 1 },       { 0xb, 0xb, 0 },
        { 0xc, 0xd, 1 },       { 0xe, 0x1f, 0 },      { 0x7f, 0x7f, 0 },
        { 0x8f, 0x8f, 0 },     { 0x9f, 0x9f, 0 },     { 0x1680, 0x1680, 1 },
        { 0x200b, 0x200f, 1 }, { 0x2028, 0x2029, 1 }, { 0x2581, 0x2581, 1 },
        { 0xfeff, 0xfeff, 1 }, { 0xfffd, 0xfffd, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (c >= rows[i].from && c <= rows[i].to)
            return text_record(t, " ", (size_t)rows[i].space);
    return 0;
}

/* ---- normal forms ---- */

static uint32_t combining_class(uint32_t c)
{
    return (uint32_t)utf8proc_get_property((int32_t)c)->combining_class;
}

static utf8proc_ssize_t decompose(uint32_t c, bool compatible, int32_t *to)
{
    int boundary = 0;
    return utf8proc_decompose_char((int32_t)c, to, Longest,
                                   (compatible ? UTF8PROC_COMPAT : 0)
                                       | UTF8PROC_DECOMPOSE,
                                   &boundary);
}

/* Returns the character to which the parts compose, or 0 if they compose to
 * several. */
static uint32_t compose(int32_t *part, utf8proc_ssize_t n)
{
    n = utf8proc_normalize_utf32(part, n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    return n == 1 ? (uint32_t)part[0] : 0;
}

/* Finds the pair that composes to c. Returns false if there is none. */
static bool pair_of(uint32_t c, struct attn_composition *p)
{
    int32_t part[Longest], some[Longest];
    const utf8proc_ssize_t n = decompose(c, false, part);
    if (n < 2)
        return false;
    memcpy(some, part, sizeof some);
    if (compose(some, n) != c)
        return false;
    memcpy(some, part, sizeof some);
    *p = (struct attn_composition){ compose(some, n - 1), (uint32_t)part[n - 1],
                                    c };
    return p->first != 0;
}

static int by_pair(const void *a, const void *b)
{
    const struct attn_composition *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

static bool is_hangul(uint32_t c)
{
    return c >= 0xac00 && c <= 0xd7a3;
}

static void add_pairs(Table *t)
{
    struct attn_composition p;
    for (uint32_t c = 0x80; c < Points && t->composed; c++) {
        if (!is_point(c) || is_hangul(c) || !pair_of(c, &p))
            continue;
        bytes_add(&t->pair, &p, sizeof p);
        t->second[p.second] = 1;
    }
    for (uint32_t c = 0x1161; c < 0x11c3 && t->composed; c++)
        t->second[c] |= c <= 0x1175 || c >= 0x11a8;
    if (t->pair.n > 0)
        qsort(t->pair.at, t->pair.n / sizeof p, sizeof p, by_pair);
}

/* Returns the record of a character: a number with flags for the forms that
 * keep c, then the characters to which it decomposes. */
static uint16_t form_record(Table *t, uint32_t c)
{
    int32_t part[Longest];
    uint32_t record[Longest + 1];
    size_t bytes = 0;
    const utf8proc_ssize_t n = decompose(c, t->op == ATTN_STEP_NFKD, part);
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        const uint32_t d = (uint32_t)part[i];
        record[i + 1] = d | combining_class(d) << 24
                      | (t->second[d] ? 0x200000u : 0);
        bytes += utf8_bytes(d);
    }
    const bool alone = n == 1 && (uint32_t)part[0] == c;
    const bool starts = record[1] >> 21 == 0;
    grows(t, c, bytes);
    if ((alone && starts) || n < 1 || is_hangul(c))
        return 0;
    record[0] = (uint32_t)n;
    if (compose(part, n) == c && starts)
        record[0] |= 0x100;
    if (alone && combining_class(c) == 0)
        record[0] |= 0x200;
    const size_t at = t->record.n / sizeof *record;
    if (at > UINT16_MAX)
        t->record.full = true;
    bytes_add(&t->record, record, (size_t)(n + 1) * sizeof *record);
    return (uint16_t)at;
}

/* ---- clusters ---- */

static uint16_t cluster_class(Table *t, uint32_t c)
{
    (void)t;
    return (uint16_t)utf8proc_get_property((int32_t)c)->boundclass;
}

/* Returns the largest factor by which the character map lengthens a text. Its
 * trie has no more nodes than units. Sets out->full if memory runs out. */
static uint32_t map_times(Bytes *out, const Text *map)
{
    struct {
        uint32_t node;
        uint32_t depth;
    } *stack;
    struct attn_trie trie;
    uint32_t bytes = 0, most = 1;
    size_t n = 0;
    if (map->n < 8 || (memcpy(&bytes, map->at, 4), bytes < 4)
        || bytes > map->n - 4)
        return most;
    uint32_t *unit = malloc(bytes);
    const int64_t units = bytes / 4;
    int64_t left = units;
    stack = malloc((size_t)units * sizeof *stack + 1);
    out->full |= !unit || !stack;
    if (unit && stack) {
        memcpy(unit, map->at + 4, (size_t)units * 4);
        trie = (struct attn_trie){ unit, units };
        stack[n].node = attn_trie_root(&trie);
        stack[n++].depth = 0;
    }
    while (n > 0) {
        const uint32_t node = stack[--n].node, depth = stack[n].depth + 1;
        for (unsigned byte = 1; byte < 256; byte++) {
            uint32_t next = node;
            int64_t value;
            if (!attn_trie_next(&trie, &next, (unsigned char)byte, &value))
                continue;
            const size_t at = 4 + (size_t)bytes + (size_t)attn_max(value, 0);
            if (value >= 0 && at < map->n) {
                const char *end = memchr(map->at + at, 0, map->n - at);
                const size_t length = end ? (size_t)(end - map->at) - at
                                          : map->n - at;
                const uint32_t times = (uint32_t)((length + depth - 1) / depth);
                if (times > most)
                    most = times;
            }
            if (left-- > 0) {
                stack[n].node = next;
                stack[n++].depth = depth;
            }
        }
    }
    free(unit);
    free(stack);
    return most;
}

/* ---- tables ---- */

/* The table that each step needs, and the function that computes its value for
 * a code point. */
static const struct {
    int op, table;
    uint16_t (*value)(Table *t, uint32_t c);
} rows[] = {
    { ATTN_STEP_NFC, ATTN_STEP_NFD, form_record },
    { ATTN_STEP_NFD, ATTN_STEP_NFD, form_record },
    { ATTN_STEP_NFKC, ATTN_STEP_NFKD, form_record },
    { ATTN_STEP_NFKD, ATTN_STEP_NFKD, form_record },
    { ATTN_STEP_LOWERCASE, ATTN_STEP_LOWERCASE, lower_case },
    { ATTN_STEP_STRIP_ACCENTS, ATTN_STEP_STRIP_ACCENTS, no_marks },
    { ATTN_STEP_ACCENTS, ATTN_STEP_ACCENTS, no_accents },
    { ATTN_STEP_CLEAN, ATTN_STEP_CLEAN, clean },
    { ATTN_STEP_NMT, ATTN_STEP_NMT, translation },
    { ATTN_STEP_CHARMAP, ATTN_STEP_CHARMAP, cluster_class },
    { ATTN_STEP_SENTENCEPIECE, ATTN_STEP_CHARMAP, cluster_class },
};
enum { Rows = sizeof rows / sizeof *rows };

static void fill_pages(Table *t, uint16_t (*value)(Table *t, uint32_t c))
{
    uint16_t page[256];
    for (uint32_t i = 0; i < Pages; i++) {
        size_t k = 0;
        for (uint32_t c = 0; c < 256; c++)
            page[c] = is_point(i * 256 + c) ? value(t, i * 256 + c) : 0;
        while (k < t->pages
               && memcmp(t->page.at + k * sizeof page, page, sizeof page) != 0)
            k++;
        t->index[i] = (uint16_t)k;
        if (k == t->pages) {
            bytes_add(&t->page, page, sizeof page);
            t->pages++;
        }
        if (t->page.full || t->record.full)
            return;
    }
}

static void make_table(Table *t, int row)
{
    const uint32_t zero = 0;
    t->op = rows[row].table;
    t->times = 1;
    bytes_add(&t->record, &zero,
              t->op == ATTN_STEP_NFD || t->op == ATTN_STEP_NFKD ? 4 : 1);
    if (rows[row].value == form_record) {
        t->second = calloc(Points, 1);
        t->record.full |= !t->second;
        t->composed = true;
        if (t->second)
            add_pairs(t);
    }
    if (!t->record.full)
        fill_pages(t, rows[row].value);
    free(t->second);
    t->second = NULL;
}

static void free_table(Table *t)
{
    free(t->page.at);
    free(t->record.at);
    free(t->pair.at);
    free(t);
}

/* Returns the table of a row, or NULL if memory runs out. Each table is built
 * once per process, because it depends only on Unicode. */
static const Table *table_of(int row)
{
    static Table *made[Rows];
    Table *t = made[row] ? made[row] : calloc(1, sizeof *t);
    if (!t || made[row])
        return t;
    make_table(t, row);
    if (t->page.full || t->record.full || t->pair.full) {
        free_table(t);
        return NULL;
    }
    return made[row] = t;
}

static uint32_t add_aligned(Bytes *out, const void *at, size_t n)
{
    static const char zeros[4];
    bytes_add(out, zeros, (4 - out->n % 4) % 4);
    const uint32_t place = (uint32_t)out->n;
    bytes_add(out, at, n);
    return place;
}

static void add_table(Bytes *out, const Table *t, const Text *charmap,
                      size_t directory)
{
    struct attn_mapping m = {
        .op = t->op,
        .pages = t->pages,
        .records = (uint32_t)t->record.n,
        .pairs = (uint32_t)(t->pair.n / sizeof(struct attn_composition)),
        .times = t->op == ATTN_STEP_CHARMAP ? map_times(out, charmap)
                                            : t->times,
    };
    m.index = add_aligned(out, t->index, sizeof t->index);
    m.page = add_aligned(out, t->page.at, t->page.n);
    m.record = add_aligned(out, t->record.at, t->record.n);
    m.pair = add_aligned(out, t->pair.at, t->pair.n);
    if (!out->full)
        memcpy(out->at + directory, &m, sizeof m);
}

/* Lists the rows whose tables the steps need, each table only once. */
static int needed(const Tokenizer *t, int *row)
{
    int n = 0;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < t->steps[l]; i++)
            for (int r = 0; r < Rows; r++) {
                bool there = rows[r].op != t->step[l][i].op;
                for (int k = 0; k < n; k++)
                    there |= rows[row[k]].table == rows[r].table;
                if (!there)
                    row[n++] = r;
            }
    return n;
}

void unicode_mappings(Bytes *out, const Tokenizer *t)
{
    int row[Rows];
    const int n = needed(t, row);
    const struct attn_mappings head = { (uint32_t)n, 0 };
    if (n == 0)
        return;
    bytes_add(out, &head, sizeof head);
    bytes_add(out, NULL, (size_t)n * sizeof(struct attn_mapping));
    for (int i = 0; i < n && !out->full; i++) {
        const Table *table = table_of(row[i]);
        if (table)
            add_table(out, table, &t->charmap,
                      sizeof head + (size_t)i * sizeof(struct attn_mapping));
        else
            out->full = true;
    }
}
