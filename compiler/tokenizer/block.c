/* block.c: turns a tokenizer that was read from a file into the block used to
 * encode and decode (runtime/text/text.h). */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/block.h"

static bool check_special(const Tokenizer *t, const char *what, int32_t id,
                          Fault *why)
{
    const int64_t n = t->tokens - t->extra;
    if (id >= -1 && id < n)
        return true;
    return fault(why, ExitInput,
                 "%s: the %s token has id %d, the file has "
                 "%lld tokens (ids from 0)",
                 t->path, what, id, (long long)n);
}

bool tokenizer_check(const Tokenizer *t, int64_t expected, Fault *why)
{
    const VocabTokens *s = &t->special;
    const int64_t n = t->tokens - t->extra;
    if (n == 0)
        return fault(why, ExitInput, "%s: has no tokens", t->path);
    if (expected >= 0 && n != expected)
        return fault(why, ExitInput, "%s: has %lld tokens, the spec says %lld",
                     t->path, (long long)n, (long long)expected);
    if (s->append_end && s->end < 0)
        return fault(why, ExitInput,
                     "%s: the end token is to be appended, and "
                     "none is defined",
                     t->path);
    return check_special(t, "start", s->start, why)
        && check_special(t, "end", s->end, why)
        && check_special(t, "pad", s->pad, why)
        && check_special(t, "unknown", s->unknown, why);
}

/* ---- maker ---- */

typedef struct {
    const Tokenizer *t;
    Fault *why;
    Bytes block;
    Bytes strings;
    struct attn_section section[ATTN_SECTIONS];
} Maker;

static bool no_memory(const Maker *m)
{
    return fault(m->why, ExitResource, "%s: out of memory", m->t->path);
}

/* Appends a section, aligned to 8 bytes. */
static bool add_part(Maker *m, int section, const void *at, size_t n)
{
    static const char zeros[8];
    if (n == 0)
        return true;
    bytes_add(&m->block, zeros, (8 - m->block.n % 8) % 8);
    m->section[section] = (struct attn_section){ (int64_t)m->block.n,
                                                 (int64_t)n };
    bytes_add(&m->block, at, n);
    return !m->block.full || no_memory(m);
}

static bool add_bytes(Maker *m, int section, Bytes *b)
{
    const bool ok = !b->full ? add_part(m, section, b->at, b->n) : no_memory(m);
    free(b->at);
    *b = (Bytes){ 0 };
    return ok;
}

static struct attn_part string(Maker *m, Text text)
{
    const uint32_t at = (uint32_t)m->strings.n;
    bytes_add(&m->strings, text.at, text.n);
    return (struct attn_part){ at, (uint32_t)text.n };
}

/* True if the token has a space or U+2581 after another character. */
static bool has_space_inside(const Token *k)
{
    bool word = false;
    for (size_t i = 0; i < k->n; i++) {
        const bool mark = k->n - i >= 3
                       && memcmp(k->at + i, "\xe2\x96\x81", 3) == 0;
        if (word && (mark || k->at[i] == ' '))
            return true;
        word = !mark && k->at[i] != ' ';
        i += mark ? 2 : 0;
    }
    return false;
}

/* True if a text can be merged word by word. For merges by rank, no merge may
 * need the complete text, and words must have no prefix or suffix. */
static bool is_apart(const Tokenizer *t)
{
    const int whole = ATTN_MODEL_BYTES | ATTN_MODEL_WHOLE;
    bool space = t->kind == ATTN_MERGES;
    if (t->kind == ATTN_RANKS
        && (t->flags & whole || t->prefix.n || t->suffix.n))
        return false;
    for (int64_t i = 0; i < t->tokens; i++) {
        const Token *k = &t->token[i];
        if (k->piece & (ATTN_PIECE_UNUSED | ATTN_PIECE_ADDED))
            continue;
        if (has_space_inside(k))
            return false;
        space = space || (k->n == 3 && memcmp(k->at, "\xe2\x96\x81", 3) == 0);
    }
    return space;
}

/* Writes the header for the sections added so far. */
static void put_head(Maker *m, struct attn_part prefix, struct attn_part suffix)
{
    const Tokenizer *t = m->t;
    const bool merges = t->kind == ATTN_MERGES || t->kind == ATTN_RANKS;
    const bool apart = merges && is_apart(t);
    struct attn_vocab_header head = {
        .magic = { 'A', 'T', 'T', 'N', 'V', 'O', 'C', '3' },
        .bytes = (int64_t)m->block.n,
        .size = (int32_t)(t->tokens - t->extra),
        .kind = t->kind,
        .start = t->special.start,
        .end = t->special.end,
        .pad = t->special.pad,
        .unknown = t->special.unknown,
        .append_end = t->special.append_end,
        .flags = t->flags | (apart ? ATTN_MODEL_APART : 0),
        .prefix = prefix,
        .suffix = suffix,
        .most = t->most,
        .extra = (int32_t)t->extra,
    };
    memcpy(head.section, m->section, sizeof head.section);
    memcpy(m->block.at, &head, sizeof head);
}

/* Updates the header with the sections that were added since. */
static void renew_head(Maker *m)
{
    const struct attn_vocab_header *h = (const void *)m->block.at;
    put_head(m, h->prefix, h->suffix);
}

/* ---- texts ---- */

static const Token *order_tokens; /* for by_text(); global, because qsort()
                                   * passes no context */

/* Orders tokens by their bytes. Equal texts are ordered by id, with the model's
 * tokens before added tokens. */
static int by_text(const void *a, const void *b)
{
    const Token *x = &order_tokens[*(const int32_t *)a];
    const Token *y = &order_tokens[*(const int32_t *)b];
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    if (order == 0)
        order = (x->piece & ATTN_PIECE_ADDED) - (y->piece & ATTN_PIECE_ADDED);
    return order ? order : x->id - y->id;
}

static bool refuse_duplicate(const Maker *m, const Token *first,
                             const Token *twice)
{
    int n = (int)(twice->n < 80 ? twice->n : 80);
    if (m->t->kind < ATTN_MERGES)
        return fault(m->why, ExitInput,
                     "%s:%d:1: token '%.*s' is on line %d already", m->t->path,
                     twice->id + 1, n, twice->at, first->id + 1);
    return fault(m->why, ExitInput, "%s: %s[%d]: '%.*s' is %s[%d] already",
                 m->t->path, m->t->kind == ATTN_MERGES ? "pieces" : "tokens",
                 twice->id, n, twice->at,
                 m->t->kind == ATTN_MERGES ? "pieces" : "tokens", first->id);
}

/* Stores the ids of tokens that are found by their text, one per text, and
 * returns their number. If a text occurs twice, reports the repeated token with
 * the lowest id and returns -1. */
static int64_t ids_to_find(const Maker *m, int32_t *id)
{
    const Token *token = m->t->token, *twice = NULL, *first = NULL;
    int64_t n = 0, kept = 0;
    for (int64_t i = 0; i < m->t->tokens; i++)
        if (token[i].n > 0 && !(token[i].piece & ATTN_PIECE_UNUSED))
            id[n++] = (int32_t)i;
    order_tokens = token;
    qsort(id, (size_t)n, sizeof *id, by_text);
    for (int64_t i = 0; i < n; i++) {
        const Token *a = kept ? &token[id[kept - 1]] : NULL, *b = &token[id[i]];
        const bool same = a && a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
        if (!same)
            id[kept++] = id[i];
        else if (!(b->piece & ATTN_PIECE_ADDED)
                 && (!twice || b->id < twice->id)) {
            twice = b;
            first = a;
        }
    }
    if (twice)
        return refuse_duplicate(m, first, twice) - 1;
    return kept;
}

static bool add_find(Maker *m)
{
    Bytes table = { 0 };
    int32_t *id = malloc((size_t)(m->t->tokens + 1) * sizeof *id);
    const int64_t n = id ? ids_to_find(m, id) : -1;
    if (n >= 0)
        table_of_texts(&table, m->t->token, id, n, 0);
    if (!id)
        no_memory(m);
    free(id);
    return n >= 0 && add_bytes(m, ATTN_FIND, &table);
}

static bool add_texts(Maker *m)
{
    Bytes offset = { 0 }, text = { 0 };
    for (int64_t i = 0; i < m->t->tokens; i++) {
        const uint32_t at = (uint32_t)text.n;
        bytes_add(&offset, &at, sizeof at);
        bytes_add(&text, m->t->token[i].at, m->t->token[i].n);
    }
    const uint32_t end = (uint32_t)text.n;
    bytes_add(&offset, &end, sizeof end);
    if (text.n > UINT32_MAX / 2) {
        free(offset.at);
        free(text.at);
        return fault(m->why, ExitInput, "%s: more text than 2 GB", m->t->path);
    }
    const bool ok = add_bytes(m, ATTN_OFFSETS, &offset);
    return add_bytes(m, ATTN_TEXTS, &text) && ok;
}

/* ---- tokens ---- */

static bool add_scores(Maker *m)
{
    Bytes b = { 0 };
    for (int64_t i = 0; i < m->t->tokens; i++) {
        const double score = m->t->token[i].score;
        const float narrow = (float)score;
        if (m->t->kind == ATTN_MERGES)
            bytes_add(&b, &narrow, sizeof narrow);
        else
            bytes_add(&b, &score, sizeof score);
    }
    return add_bytes(m, ATTN_SCORES, &b);
}

/* Adds the token for each byte: the piece "<0x0A>", or the token whose text is
 * the byte and the suffix. */
static bool add_byte_ids(Maker *m, int section, Text suffix)
{
    const Tokenizer *t = m->t;
    const bool whole = t->flags & ATTN_MODEL_BYTES;
    int32_t id[256];
    for (int i = 0; i < 256; i++)
        id[i] = -1;
    for (int64_t i = 0; i < t->tokens; i++) {
        const Token *token = &t->token[i];
        int byte = -1;
        if (!whole && (token->piece & ATTN_PIECE_KIND) == ATTN_PIECE_BYTE)
            byte = attn_vocab_byte(token->at, (int64_t)token->n);
        else if (whole && token->n == 1 + suffix.n
                 && !(token->piece & (ATTN_PIECE_UNUSED | ATTN_PIECE_ADDED))
                 && (suffix.n == 0
                     || memcmp(token->at + 1, suffix.at, suffix.n) == 0))
            byte = (unsigned char)token->at[0];
        if (byte >= 0)
            id[byte] = token->id;
    }
    return add_part(m, section, id, sizeof id);
}

static bool add_tokens(Maker *m)
{
    const Tokenizer *t = m->t;
    Bytes piece = { 0 }, pairs = { 0 };
    if (!add_texts(m) || !add_find(m))
        return false;
    if (t->kind < ATTN_MERGES)
        return true;
    for (int64_t i = 0; i < t->tokens; i++)
        bytes_add(&piece, &t->token[i].piece, 1);
    if (!add_bytes(m, ATTN_PIECES, &piece))
        return false;
    if (t->kind == ATTN_MERGES || t->kind == ATTN_UNIGRAM)
        if (!add_scores(m))
            return false;
    if (t->kind == ATTN_RANKS) {
        table_of_merges(&pairs, t->merge, t->merges);
        if (!add_bytes(m, ATTN_PAIRS, &pairs))
            return false;
    }
    const bool bytes = t->flags & (ATTN_MODEL_BYTES | ATTN_MODEL_FALLBACK);
    if (bytes || t->kind == ATTN_MERGES)
        if (!add_byte_ids(m, ATTN_BYTES, (Text){ "", 0 }))
            return false;
    return !(t->flags & ATTN_MODEL_BYTES) || t->suffix.n == 0
        || add_byte_ids(m, ATTN_BYTES_LAST, t->suffix);
}

/* ---- steps ---- */

static bool has_user_pieces(const Tokenizer *t)
{
    for (int64_t i = 0; i < t->tokens; i++)
        if (t->token[i].piece & ATTN_PIECE_USER)
            return true;
    return false;
}

static bool add_steps(Maker *m, int list)
{
    Bytes b = { 0 };
    for (int i = 0; i < m->t->steps[list]; i++) {
        const Step *from = &m->t->step[list][i];
        struct attn_step s = { .op = from->op, .flags = from->flags };
        s.text = string(m, from->text);
        s.other = string(m, from->other);
        if (s.op == ATTN_STEP_SENTENCEPIECE && !has_user_pieces(m->t))
            s.flags |= ATTN_SPM_NO_USER;
        bytes_add(&b, &s, sizeof s);
    }
    return add_bytes(m, ATTN_NORMAL + list, &b);
}

static bool add_template(Maker *m)
{
    const Tokenizer *t = m->t;
    const int32_t count[2] = { t->singles, t->pairs };
    Bytes b = { 0 };
    if (t->singles + t->pairs == 0)
        return true;
    bytes_add(&b, count, sizeof count);
    bytes_add(&b, t->single, (size_t)t->singles * sizeof *t->single);
    bytes_add(&b, t->pair, (size_t)t->pairs * sizeof *t->pair);
    return add_bytes(m, ATTN_TEMPLATE, &b);
}

/* Adds the tables of the normaliser and the model. */
static bool add_tables(Maker *m)
{
    Bytes mappings = { 0 }, trie = { 0 };
    unicode_mappings(&mappings, m->t);
    trie_of_tokens(&trie, m->t);
    const bool ok = add_bytes(m, ATTN_MAPPINGS, &mappings);
    return add_bytes(m, ATTN_MODEL_TRIE, &trie) && ok
        && add_part(m, ATTN_CHARMAP, m->t->charmap.at, m->t->charmap.n);
}

/* Adds the character classes if anything needs them: a step, the end of a word,
 * or spaces next to an added token. */
static bool add_classes(Maker *m)
{
    const Tokenizer *t = m->t;
    Bytes b = { 0 };
    if (t->steps[0] + t->steps[1] + t->addeds == 0
        && !(t->flags & ATTN_MODEL_TRIM))
        return true;
    unicode_classes(&b);
    return add_bytes(m, ATTN_CLASSES, &b);
}

enum { AddedMost = 1024 }; /* maximum bytes of an added token */

/* Stores an added token's text in the form in which it occurs in the searched
 * text, which may be normalised. */
static bool add_added_text(Maker *m, const Added *from, struct attn_added *to)
{
    char text[64 * AddedMost];
    Text found = from->text;
    if (found.n > AddedMost)
        return fault(m->why, ExitInput,
                     "%s: the added token %d has %zu bytes, at most %d are "
                     "taken",
                     m->t->path, from->id, found.n, AddedMost);
    if (from->flags & ATTN_ADDED_NORMALISED && m->t->steps[0] > 0) {
        const int64_t need = attn_vocab_encode_bytes(m->block.at,
                                                     (int64_t)found.n);
        void *memory = need > 0 ? malloc((size_t)need) : NULL;
        int64_t n = -1;
        if (memory)
            n = attn_vocab_normalise(m->block.at, found.at, (int64_t)found.n,
                                     text, sizeof text, memory);
        free(memory);
        if (n < 0)
            return fault(m->why, ExitInput,
                         "%s: the added token %d is too long", m->t->path,
                         from->id);
        found = (Text){ text, (size_t)n };
    }
    to->text = string(m, found);
    return true;
}

/* Adds the added tokens. Needs the sections of the normaliser, because it
 * normalises some of their texts. */
static bool add_added(Maker *m)
{
    const Tokenizer *t = m->t;
    Bytes rows = { 0 }, trie = { 0 };
    bool ok = true;
    for (int64_t i = 0; i < t->addeds && ok; i++) {
        struct attn_added a = { .id = t->added[i].id,
                                .flags = t->added[i].flags };
        ok = add_added_text(m, &t->added[i], &a);
        bytes_add(&rows, &a, sizeof a);
    }
    if (ok && t->addeds > 0 && !rows.full && !m->strings.full)
        trie_of_added(&trie, (const void *)rows.at, t->addeds, m->strings.at);
    ok = add_bytes(m, ATTN_ADDED, &rows) && ok;
    return add_bytes(m, ATTN_ADDED_TRIE, &trie) && ok;
}

/* ---- words ---- */

/* True if the model encodes the token's text, taken as a word, as this one
 * token. */
static bool is_word(const Maker *m, struct attn_encoding *e, const Token *token)
{
    const Text suffix = m->t->suffix;
    int32_t id;
    if (token->n <= suffix.n
        || token->piece & (ATTN_PIECE_UNUSED | ATTN_PIECE_ADDED))
        return false;
    if (m->t->flags & ATTN_MODEL_WHOLE)
        return attn_find(&e->vocab, token->at, (int64_t)token->n) == token->id;
    if (suffix.n > 0
        && memcmp(token->at + token->n - suffix.n, suffix.at, suffix.n) != 0)
        return false;
    e->ids = &id;
    e->cap = 1;
    e->n = 0;
    const int64_t wrong = attn_vocab_kind(m->t->kind)
                              ->encode(e, token->at,
                                       (int64_t)(token->n - suffix.n));
    return wrong == 0 && e->n == 1 && id == token->id;
}

/* Adds the table of words that merge into a single token. */
static bool add_words(Maker *m)
{
    const Tokenizer *t = m->t;
    const struct attn_aligned none = { .text = NULL };
    struct attn_encoding e = { .text = &none };
    Bytes table = { 0 };
    size_t longest = 1;
    int64_t n = 0;
    for (int64_t i = 0; i < t->tokens; i++)
        if (t->token[i].n > longest)
            longest = t->token[i].n;
    attn_vocab_open(&e.vocab, m->block.at);
    const int64_t need = attn_vocab_kind(t->kind)->memory(&e.vocab,
                                                          (int64_t)longest);
    int32_t *id = malloc((size_t)(t->tokens + 1) * sizeof *id);
    e.memory = need > 0 ? malloc((size_t)need) : NULL;
    if (id && e.memory) {
        for (int64_t i = 0; i < t->tokens; i++)
            if (is_word(m, &e, &t->token[i]))
                id[n++] = (int32_t)i;
        table_of_texts(&table, t->token, id, n,
                       t->flags & ATTN_MODEL_WHOLE ? 0 : t->suffix.n);
    } else {
        table.full = true;
    }
    free(e.memory);
    free(id);
    return add_bytes(m, ATTN_WORDS, &table);
}

/* Adds all pairs of pieces that join to form a piece, ranked by that piece's
 * score. */
static bool add_pairs_of_pieces(Maker *m)
{
    struct attn_vocab v;
    Bytes list = { 0 }, table = { 0 };
    attn_vocab_open(&v, m->block.at);
    for (int64_t i = 0; i < m->t->tokens; i++) {
        const Token *k = &m->t->token[i];
        const int64_t n = (int64_t)k->n;
        if (attn_piece_find(&v, k->at, n) != k->id)
            continue;
        for (int64_t at = attn_length(k->at[0]); at < n;
             at += attn_length(k->at[at])) {
            const Merge one = { attn_piece_find(&v, k->at, at),
                                attn_piece_find(&v, k->at + at, n - at),
                                k->id };
            if (one.left >= 0 && one.right >= 0)
                bytes_add(&list, &one, sizeof one);
        }
    }
    table_of_merges(&table, (const Merge *)(const void *)list.at,
                    (int64_t)(list.n / sizeof(Merge)));
    struct attn_pair *slot = (struct attn_pair *)(void *)table.at;
    for (size_t i = 0; !table.full && i < table.n / sizeof *slot; i++)
        if (slot[i].left >= 0)
            slot[i].rank = attn_piece_rank(&v, slot[i].into);
    table.full |= list.full;
    free(list.at);
    return add_bytes(m, ATTN_PAIRS, &table);
}

/* Adds the tables that speed up merging. Needs all other sections. */
static bool add_merges(Maker *m)
{
    const Tokenizer *t = m->t;
    if (t->kind == ATTN_MERGES) {
        if (!add_pairs_of_pieces(m))
            return false;
        renew_head(m);
    }
    const bool words = t->kind == ATTN_RANKS
                    || (is_apart(t) && !has_user_pieces(t));
    if (words && !add_words(m))
        return false;
    renew_head(m);
    return true;
}

/* ---- block ---- */

static bool make(Maker *m)
{
    const Tokenizer *t = m->t;
    bytes_add(&m->block, NULL, sizeof(struct attn_vocab_header));
    if (m->block.full)
        return no_memory(m);
    const struct attn_part prefix = string(m, t->prefix);
    const struct attn_part suffix = string(m, t->suffix);
    if (!add_tokens(m) || !add_classes(m) || !add_tables(m))
        return false;
    for (int list = 0; list < 3; list++)
        if (!add_steps(m, list))
            return false;
    /* the strings so far go first, because normalising needs them */
    if (m->strings.full
        || !add_part(m, ATTN_STRINGS, m->strings.at, m->strings.n))
        return no_memory(m);
    put_head(m, prefix, suffix);
    if (!add_template(m) || !add_added(m))
        return false;
    if (t->addeds > 0
        && !add_part(m, ATTN_STRINGS, m->strings.at, m->strings.n))
        return false;
    renew_head(m);
    if ((t->kind != ATTN_RANKS && t->kind != ATTN_MERGES)
        || attn_vocab_check(m->block.at, (int64_t)m->block.n))
        return true;
    return add_merges(m);
}

void *tokenizer_block(const Tokenizer *t, int64_t *bytes, Fault *why)
{
    Maker m = { .t = t, .why = why };
    bool ok = make(&m);
    const char *wrong = NULL;
    free(m.strings.at);
    if (ok)
        wrong = attn_vocab_check(m.block.at, (int64_t)m.block.n);
    if (wrong)
        ok = fault(why, ExitInput, "%s: %s", t->path, wrong);
    *bytes = (int64_t)m.block.n;
    if (ok)
        return m.block.at;
    free(m.block.at);
    return NULL;
}
