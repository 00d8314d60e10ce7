/* tokens.c: converts text to ids, in these steps: replaces invalid UTF-8; finds
 * added tokens; normalises the text between them; finds added tokens of the
 * normalised text; splits the text between these into pieces, step by step;
 * converts each piece to ids by the model. The template adds its tokens around
 * the result. */
#include "runtime/core.h"

#include <string.h>

/* ---- plain models ---- */

/* Adds the id for bytes at .. at + length - 1 of the piece. */
static int64_t tokens_add(struct attn_encoding *e, const char *text, int64_t at,
                          int64_t length)
{
    int32_t id = attn_find(&e->vocab, text + at, length);
    if (id < 0)
        id = e->vocab.head->unknown;
    if (id < 0)
        return attn_encode_bad(e, ATTN_ERROR_UNKNOWN, at);
    return attn_encode_put(e, id, at, at + length);
}

static int64_t tokens_characters(struct attn_encoding *e, const char *text,
                                 int64_t n)
{
    int64_t at = attn_utf8(text, n), wrong = 0;
    if (at < n)
        return attn_encode_bad(e, ATTN_ERROR_UTF8, at);
    at = 0;
    while (at < n && wrong == 0) {
        int64_t length = attn_character(text + at, n - at);
        wrong = tokens_add(e, text, at, length);
        at += length;
    }
    return wrong;
}

static int64_t tokens_spaces(struct attn_encoding *e, const char *text,
                             int64_t n)
{
    int64_t at = attn_utf8(text, n), wrong = 0;
    if (at < n)
        return attn_encode_bad(e, ATTN_ERROR_UTF8, at);
    at = 0;
    while (at < n && wrong == 0) {
        int64_t length = 0;
        while (at + length < n && text[at + length] != ' ')
            length++;
        if (length > 0)
            wrong = tokens_add(e, text, at, length);
        at += length + 1;
    }
    return wrong;
}

static const char *tokens_check(const struct attn_vocab *v)
{
    for (int64_t i = 0; i < v->head->size; i++) {
        int64_t n = (int64_t)v->offset[i + 1] - (int64_t)v->offset[i];
        if (n > 0 && attn_utf8(v->text + v->offset[i], n) != n)
            return "vocabulary: a token is not UTF-8";
    }
    return NULL;
}

static int64_t tokens_no_room(const struct attn_vocab *v, int64_t bytes)
{
    (void)v;
    (void)bytes;
    return 0;
}

/* The table of models, one row each. */
#define KIND(kind, ...) [kind] = { __VA_ARGS__ },
static const struct attn_kind tokens_kinds[ATTN_TOKENIZERS] = {
#include "kinds.h"
};

ATTN_API const struct attn_kind *attn_vocab_kind(int32_t kind)
{
    if (kind < 0 || kind >= ATTN_TOKENIZERS || !tokens_kinds[kind].encode)
        return NULL;
    return &tokens_kinds[kind];
}

/* ---- ids ---- */

/* Adds an id of the template. */
static int64_t tokens_put(struct attn_encoding *e, int32_t id)
{
    if (e->n >= e->cap)
        return ATTN_ERROR_ROOM;
    e->ids[e->n] = id;
    if (e->offsets) {
        e->offsets[2 * e->n] = 0;
        e->offsets[2 * e->n + 1] = 0;
    }
    e->n++;
    return 0;
}

/* ---- memory ---- */

struct tokens { /* state of one call */
    struct attn_encoding e;
    struct attn_aligned raw, normal[2], split[ATTN_STEPS];
};

struct tokens_growth { /* n bytes become at most times * n + plus bytes */
    int64_t times, plus;
};

enum { TOKENS_MOST = INT32_MAX / 8 }; /* maximum bytes after all steps */

static struct tokens_growth tokens_grow(const struct attn_vocab *v, int64_t at,
                                        int64_t list, struct tokens_growth have)
{
    const struct attn_step *s = &v->step[list][at];
    const struct attn_op *op = attn_step_op(s->op);
    int64_t times = 1, plus = 0;
    if (!op || !op->most)
        return have;
    op->most(v, s, &times, &plus);
    have.times = attn_min(have.times * times, TOKENS_MOST);
    have.plus = attn_min(have.plus * times + plus, TOKENS_MOST);
    return have;
}

static int64_t tokens_grown(struct tokens_growth g, int64_t bytes)
{
    if (bytes > TOKENS_MOST || g.times > TOKENS_MOST / attn_max(bytes, 1))
        return -1;
    return g.times * bytes + g.plus;
}

static void tokens_take(struct attn_memory *at, struct attn_aligned *t,
                        int64_t cap)
{
    memset(t, 0, sizeof *t);
    t->cap = cap;
    t->text = attn_take(at, cap, 1);
    t->from = attn_take(at, cap, sizeof *t->from);
    t->to = attn_take(at, cap, sizeof *t->to);
}

/* Lays out the memory for a text of `bytes` bytes. Returns 0, or -1 if the text
 * is too long. */
static int tokens_lay_out(struct tokens *t, int64_t bytes,
                          struct attn_memory *at)
{
    const struct attn_vocab *v = &t->e.vocab;
    const struct attn_kind *kind = attn_vocab_kind(v->head->kind);
    struct tokens_growth g = { 1, 0 };
    int64_t longest = 0, need, model;
    if (v->head->flags & ATTN_MODEL_REPLACE) {
        g.times = 3;
        tokens_take(at, &t->raw, tokens_grown(g, bytes));
    }
    for (int64_t i = 0; i < v->steps[0]; i++) {
        g = tokens_grow(v, i, 0, g);
        longest = attn_max(longest, tokens_grown(g, bytes));
    }
    for (int i = 0; i < 2 && v->steps[0] > 0; i++)
        tokens_take(at, &t->normal[i], longest);
    for (int64_t i = 0; i < v->steps[1]; i++) {
        g = tokens_grow(v, i, 1, g);
        if (attn_step_op(v->step[1][i].op)->change)
            tokens_take(at, &t->split[i], tokens_grown(g, bytes));
    }
    need = tokens_grown(g, bytes);
    model = need < 0 ? -1 : kind->memory(v, need);
    t->e.memory = attn_take(at, model, 1);
    return model < 0 || at->used < 0 ? -1 : 0;
}

/* Returns the maximum ids of a text, without those of the template; -1: too
 * many. */
static int64_t tokens_most(const struct attn_vocab *v, int64_t bytes)
{
    struct tokens_growth g = { 1, 0 };
    if (v->head->flags & ATTN_MODEL_REPLACE)
        g.times = 3;
    for (int64_t list = 0; list < 2; list++)
        for (int64_t i = 0; i < v->steps[list]; i++)
            g = tokens_grow(v, i, list, g);
    g.times += g.plus; /* each byte may become a piece, each piece may grow */
    g.plus = (v->head->flags & ATTN_MODEL_DUMMY) != 0;
    return tokens_grown(g, bytes);
}

static int tokens_begin(struct tokens *t, const void *block, int64_t bytes,
                        struct attn_memory *at)
{
    const struct attn_vocab_header *h = block;
    int wrong = attn_check_block(block);
    if (wrong)
        return wrong;
    if (!attn_vocab_kind(h->kind))
        return ATTN_ERROR_OPEN;
    if (bytes < 0)
        return ATTN_ERROR_COUNT;
    attn_vocab_open(&t->e.vocab, block);
    if (tokens_lay_out(t, bytes, at) < 0)
        return ATTN_ERROR_COUNT;
    return 0;
}

ATTN_API int64_t attn_vocab_encode_bytes(const void *block, int64_t bytes)
{
    struct attn_memory at;
    struct tokens t;
    attn_memory_open(&at, NULL);
    int wrong = tokens_begin(&t, block, bytes, &at);
    if (wrong)
        return wrong;
    return at.used > 0 ? attn_memory_bytes(&at) : 0;
}

ATTN_API int64_t attn_vocab_most_ids(const void *block, int64_t bytes)
{
    struct attn_memory at;
    struct tokens t;
    attn_memory_open(&at, NULL);
    int wrong = tokens_begin(&t, block, bytes, &at);
    if (wrong)
        return wrong;
    const struct attn_vocab *v = &t.e.vocab;
    int64_t n = tokens_most(v, bytes);
    if (n < 0)
        return ATTN_ERROR_COUNT;
    if (v->templates)
        n += v->templates[0];
    return n + v->head->append_end;
}

ATTN_API int64_t attn_vocab_most_pair_ids(const void *block, int64_t bytes)
{
    const int64_t one = attn_vocab_most_ids(block, bytes);
    struct attn_vocab v;
    if (one < 0)
        return one;
    attn_vocab_open(&v, block);
    if (!v.templates || v.templates[1] == 0)
        return ATTN_ERROR_PAIR;
    /* even an empty text may have ids */
    return one + tokens_most(&v, 0) - v.templates[0] + v.templates[1];
}

/* ---- steps ---- */

static int64_t tokens_piece(struct tokens *t, const struct attn_aligned *text,
                            int64_t at, int64_t n)
{
    t->e.text = text;
    t->e.at = at;
    t->e.begins = text->begins > 0 && at == 0;
    return attn_vocab_kind(t->e.vocab.head->kind)
        ->encode(&t->e, text->text + at, n);
}

enum { TOKENS_BEHAVIOUR = 7 };

/* Returns the length of the first piece that a step splits off. Sets *drop if
 * the piece is to be removed. Pieces are matches, and the texts between them;
 * INVERT swaps the two. */
static int64_t tokens_cut(const struct attn_vocab *v, const struct attn_step *s,
                          const char *text, int64_t n, int *drop)
{
    const struct attn_op *op = attn_step_op(s->op);
    const int how = s->flags & TOKENS_BEHAVIOUR;
    int64_t at = n, match = op->find(v, s, text, n, &at);
    const int64_t gap = match > 0 ? at : n;
    const int found = gap == 0;
    const int is = found != ((s->flags & ATTN_SPLIT_INVERT) != 0);
    int64_t length = found ? match : gap, next;
    *drop = how == ATTN_SPLIT_REMOVED && is;
    if ((how == ATTN_SPLIT_PREVIOUS && !is) || (how == ATTN_SPLIT_NEXT && is)) {
        if (!found)
            return length + match;
        at = 0;
        next = op->find(v, s, text + length, n - length, &at);
        return next > 0 ? length + at : n;
    }
    while (how == ATTN_SPLIT_CONTIGUOUS && found && length < n) {
        next = op->find(v, s, text + length, n - length, &at);
        if (next == 0 || at > 0)
            break;
        length += next;
    }
    return length;
}

/* Splits a piece with the steps from `level` to the last, and encodes the
 * results. */
static int64_t tokens_split(struct tokens *t, int64_t level,
                            const struct attn_aligned *text, int64_t at,
                            int64_t n)
{
    const struct attn_vocab *v = &t->e.vocab;
    int64_t wrong = 0, end = at + n;
    if (n <= 0)
        return 0;
    if (level == v->steps[1])
        return tokens_piece(t, text, at, n);
    const struct attn_step *s = &v->step[1][level];
    const struct attn_op *op = attn_step_op(s->op);
    if (op->change) {
        const struct attn_aligned in = attn_part_of(text, at, n);
        struct attn_aligned *out = &t->split[level];
        out->bytes = 0;
        out->begins = in.begins;
        wrong = op->change(v, s, &in, out);
        if (wrong < 0)
            return wrong;
        return tokens_split(t, level + 1, out, 0, out->bytes);
    }
    while (at < end && wrong == 0) {
        int drop;
        int64_t length = tokens_cut(v, s, text->text + at, end - at, &drop);
        if (!drop)
            wrong = tokens_split(t, level + 1, text, at, length);
        at += length;
    }
    return wrong;
}

/* Splits the text at added tokens of the normalised text. A token may also
 * absorb spaces that the previous token has absorbed. */
static int64_t tokens_found(struct tokens *t, const struct attn_aligned *text)
{
    const struct attn_vocab *v = &t->e.vocab;
    struct attn_match m = { 0, 0, 0, 0 };
    int64_t at = 0, wrong = 0;
    while (wrong == 0
           && attn_added_next(v, 1, text->text, text->bytes, m.next, at, &m)) {
        wrong = tokens_split(t, 0, text, at, m.from - at);
        if (wrong == 0)
            wrong = attn_encode_added(&t->e, v->added[m.row].id, text, m.from,
                                      m.to);
        at = m.to;
    }
    if (wrong == 0)
        wrong = tokens_split(t, 0, text, at, text->bytes - at);
    return wrong;
}

/* Replaces *text by its normalised form. Returns 0 or an error. */
static int64_t tokens_normal(struct tokens *t, const struct attn_aligned **text)
{
    const struct attn_vocab *v = &t->e.vocab;
    const struct attn_aligned *in = *text;
    for (int64_t i = 0; i < v->steps[0]; i++) {
        const struct attn_step *s = &v->step[0][i];
        struct attn_aligned *out = &t->normal[i % 2];
        out->bytes = 0;
        out->begins = in->begins;
        int64_t wrong = attn_step_op(s->op)->change(v, s, in, out);
        if (wrong < 0)
            return wrong;
        in = out;
    }
    *text = in;
    return 0;
}

/* Encodes the text between two added tokens: normalises it, then splits it. */
static int64_t tokens_between(struct tokens *t, struct attn_aligned text)
{
    const struct attn_aligned *in = &text;
    if (text.bytes <= 0)
        return 0;
    int64_t wrong = tokens_normal(t, &in);
    if (wrong < 0)
        return wrong;
    return tokens_found(t, in);
}

/* Copies the text, with U+FFFD for each longest invalid start of a character,
 * as UTF-8 decoders do. */
static int64_t tokens_replace(const struct attn_aligned *in,
                              struct attn_aligned *out)
{
    int64_t at = 0, wrong = 0;
    out->bytes = 0;
    out->begins = in->begins;
    while (at < in->bytes && wrong == 0) {
        int64_t good = attn_utf8(in->text + at, in->bytes - at);
        wrong = attn_put_same(out, in, at, good);
        at += good;
        if (at == in->bytes || wrong)
            break;
        int64_t n = attn_character_begun(in->text + at, in->bytes - at);
        wrong = attn_put_at(out, "\xef\xbf\xbd", 3, (int32_t)(in->base + at),
                            (int32_t)(in->base + at + n));
        at += n;
    }
    return wrong;
}

/* Encodes a text: its added tokens, and the text between them. */
static int64_t tokens_text(struct tokens *t, const char *text, int64_t bytes)
{
    const struct attn_vocab *v = &t->e.vocab;
    struct attn_aligned given, *in = &given;
    struct attn_match m = { 0, 0, 0, 0 };
    int64_t at = 0, wrong = 0;
    memset(&given, 0, sizeof given);
    given.text = (char *)text;
    given.bytes = bytes;
    given.begins = t->e.how & ATTN_BEGUN ? -1 : 1;
    t->e.text = in;
    t->e.given = text;
    if (v->head->flags & ATTN_MODEL_REPLACE && attn_utf8(text, bytes) < bytes) {
        in = &t->raw;
        wrong = tokens_replace(&given, in);
    }
    while (wrong == 0
           && attn_added_next(v, 0, in->text, in->bytes, m.next, at, &m)) {
        wrong = tokens_between(t, attn_part_of(in, at, m.from - at));
        if (wrong == 0)
            wrong = attn_encode_added(&t->e, v->added[m.row].id, in, m.from,
                                      m.to);
        at = m.to;
    }
    if (wrong == 0)
        wrong = tokens_between(t, attn_part_of(in, at, in->bytes - at));
    return wrong;
}

/* ---- encode ---- */

/* Encodes the text in its template, or without the template if the text
 * continues another or e.how requests that. */
static int64_t tokens_all(struct tokens *t, const char *text, int64_t bytes)
{
    const struct attn_vocab_header *h = t->e.vocab.head;
    const int32_t *counts = t->e.vocab.templates;
    const int plain = (t->e.how & (ATTN_BEGUN | ATTN_PLAIN)) != 0;
    int64_t wrong = 0;
    if (!counts || plain) {
        wrong = tokens_text(t, text, bytes);
    } else {
        const struct attn_template *row = (const void *)(counts + 2);
        for (int32_t i = 0; i < counts[0] && wrong == 0; i++) {
            if (row[i].id < 0)
                wrong = tokens_text(t, text, bytes);
            else if (i > 0 || row[i].id != h->start
                     || !(t->e.how & ATTN_STARTED))
                wrong = tokens_put(&t->e, row[i].id);
        }
    }
    if (wrong == 0 && h->append_end)
        wrong = tokens_put(&t->e, h->end);
    return wrong;
}

/* Turns off positions, for speed. After an error the text is encoded again with
 * positions, because the message needs one. */
static void tokens_forget(struct tokens *t)
{
    t->raw.from = NULL;
    t->normal[0].from = NULL;
    t->normal[1].from = NULL;
    for (int i = 0; i < ATTN_STEPS; i++)
        t->split[i].from = NULL;
}

/* Starts a call, for texts of up to `bytes` bytes. */
static int64_t tokens_start(struct tokens *t, const void *block, int64_t bytes,
                            int32_t *ids, int64_t cap, void *memory)
{
    struct attn_memory at;
    const int64_t need = attn_vocab_encode_bytes(block, bytes);
    if (need < 0)
        return need;
    if (cap < 0)
        return ATTN_ERROR_COUNT;
    if ((cap > 0 && !ids) || (need > 0 && !memory))
        return ATTN_ERROR_NULL;
    attn_memory_open(&at, memory);
    tokens_begin(t, block, bytes, &at);
    t->e.ids = ids;
    t->e.offsets = NULL;
    t->e.cap = cap;
    t->e.n = 0;
    t->e.how = 0;
    t->e.bad = 0;
    return 0;
}

ATTN_API int64_t attn_vocab_encode_offsets(const void *block, const char *line,
                                           int64_t bytes, int64_t how,
                                           int32_t *ids, int32_t *offsets,
                                           int64_t cap, void *memory,
                                           int64_t *bad)
{
    struct tokens t;
    int64_t wrong = tokens_start(&t, block, bytes, ids, cap, memory);
    if (wrong < 0)
        return wrong;
    if (!bad || (bytes > 0 && !line))
        return ATTN_ERROR_NULL;
    t.e.offsets = offsets;
    t.e.how = how;
    if (!offsets)
        tokens_forget(&t);
    wrong = tokens_all(&t, bytes > 0 ? line : "", bytes);
    if (wrong == ATTN_ERROR_UNKNOWN && !offsets) {
        tokens_start(&t, block, bytes, ids, cap, memory);
        t.e.how = how;
        wrong = tokens_all(&t, line, bytes);
    }
    *bad = t.e.bad;
    return wrong < 0 ? wrong : t.e.n;
}

ATTN_API int64_t attn_vocab_encode(const void *block, const char *line,
                                   int64_t bytes, int64_t begun, int32_t *ids,
                                   int64_t cap, void *memory, int64_t *bad)
{
    return attn_vocab_encode_offsets(block, line, bytes, begun, ids, NULL, cap,
                                     memory, bad);
}

/* Encodes two texts by the rows of the template for pairs, including the tokens
 * around them. */
static int64_t tokens_pair(struct tokens *t, const char *const text[2],
                           const int64_t bytes[2], int32_t *types, int64_t *bad)
{
    const int32_t *counts = t->e.vocab.templates;
    const struct attn_template *row = (const void *)(counts + 2);
    int64_t wrong = 0, from = 0;
    row += counts[0];
    for (int32_t i = 0; i < counts[1] && wrong == 0; i++) {
        const int which = row[i].id == -2;
        if (row[i].id >= 0)
            wrong = tokens_put(&t->e, row[i].id);
        else
            wrong = tokens_text(t, text[which], bytes[which]);
        for (; types && from < t->e.n; from++)
            types[from] = row[i].type;
        *bad = t->e.bad + which * bytes[0];
    }
    return wrong < 0 ? wrong : t->e.n;
}

ATTN_API int64_t attn_vocab_encode_pair(const void *block, const char *text,
                                        int64_t bytes, const char *other,
                                        int64_t other_bytes, int32_t *ids,
                                        int32_t *types, int64_t cap,
                                        void *memory, int64_t *bad)
{
    const char *const both[2] = { text, other };
    const int64_t size[2] = { bytes, other_bytes };
    struct tokens t;
    int64_t wrong = tokens_start(&t, block, attn_max(bytes, other_bytes), ids,
                                 cap, memory);
    if (wrong < 0)
        return wrong;
    if (bytes < 0 || other_bytes < 0)
        return ATTN_ERROR_COUNT;
    if (!bad || !text || !other)
        return ATTN_ERROR_NULL;
    if (!t.e.vocab.templates || t.e.vocab.templates[1] == 0)
        return ATTN_ERROR_PAIR;
    tokens_forget(&t);
    wrong = tokens_pair(&t, both, size, types, bad);
    if (wrong != ATTN_ERROR_UNKNOWN)
        return wrong;
    tokens_start(&t, block, attn_max(bytes, other_bytes), ids, cap, memory);
    return tokens_pair(&t, both, size, types, bad);
}

ATTN_API int64_t attn_vocab_normalise(const void *block, const char *text,
                                      int64_t bytes, char *out, int64_t cap,
                                      void *memory)
{
    struct attn_memory at;
    struct tokens t;
    struct attn_aligned given;
    const struct attn_aligned *in = &given;
    memset(&given, 0, sizeof given);
    given.text = (char *)text;
    given.bytes = bytes;
    given.begins = 1;
    attn_memory_open(&at, memory);
    int64_t wrong = tokens_begin(&t, block, bytes, &at);
    if (wrong < 0)
        return wrong;
    tokens_forget(&t);
    wrong = tokens_normal(&t, &in);
    if (wrong < 0)
        return wrong;
    if (in->bytes > cap)
        return ATTN_ERROR_ROOM;
    if (in->bytes > 0)
        memcpy(out, in->text, (size_t)in->bytes);
    return in->bytes;
}
