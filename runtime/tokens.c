/* tokens.c: text in, ids out. One table of tokenizers: characters and words at
 * spaces, each of which is a token, here; merges of pieces in merges.c.     */
#include "core.h"

static int64_t tokens_no_room(int64_t bytes)
{
    (void)bytes;
    return 0;
}

/* The id of line[at .. at + length - 1], behind the others. */
static int64_t tokens_add(struct attn_encoding *e, int64_t at, int64_t length)
{
    int32_t id = attn_vocab_find(e->vocab.head, e->line + at, length);
    if (id < 0)
        id = e->vocab.head->unknown;
    e->bad = at;
    if (id < 0)
        return ATTN_ERROR_UNKNOWN;
    if (e->n == e->cap)
        return ATTN_ERROR_ROOM;
    e->ids[e->n] = id;
    e->n++;
    return 0;
}

static int64_t tokens_characters(struct attn_encoding *e)
{
    int64_t at = 0, wrong = 0;
    e->bad = attn_utf8(e->line, e->bytes);
    if (e->bad < e->bytes)
        return ATTN_ERROR_UTF8;
    while (at < e->bytes && wrong == 0) {
        int64_t n = attn_character(e->line + at, e->bytes - at);
        wrong = tokens_add(e, at, n);
        at += n;
    }
    return wrong;
}

static int64_t tokens_spaces(struct attn_encoding *e)
{
    int64_t at = 0, wrong = 0;
    e->bad = attn_utf8(e->line, e->bytes);
    if (e->bad < e->bytes)
        return ATTN_ERROR_UTF8;
    while (at < e->bytes && wrong == 0) {
        int64_t n = 0;
        while (at + n < e->bytes && e->line[at + n] != ' ')
            n++;
        if (n > 0)
            wrong = tokens_add(e, at, n);
        at += n + 1;
    }
    return wrong;
}

/* Each finds the ids of a line: 0, or an error. */
static const struct {
    int64_t (*encode)(struct attn_encoding *e);
    int64_t (*memory)(int64_t bytes);
} tokens_kinds[ATTN_TOKENIZERS] = {
    { tokens_characters, tokens_no_room },
    { tokens_spaces, tokens_no_room },
    { attn_merges, attn_merges_bytes },
};

ATTN_API int64_t attn_vocab_encode_bytes(const void *block, int64_t bytes)
{
    const struct attn_vocab_header *h = block;
    int wrong = attn_check_block(block);
    if (wrong)
        return wrong;
    if (h->kind < 0 || h->kind >= ATTN_TOKENIZERS)
        return ATTN_ERROR_OPEN;
    int64_t need = tokens_kinds[h->kind].memory(bytes);
    if (bytes < 0 || need < 0)
        return ATTN_ERROR_COUNT;
    return need;
}

ATTN_API int64_t attn_vocab_encode(const void *block, const char *line,
                                   int64_t bytes, int64_t begun, int32_t *ids,
                                   int64_t cap, void *memory, int64_t *bad)
{
    const struct attn_vocab_header *h = block;
    struct attn_encoding e;
    int64_t need = attn_vocab_encode_bytes(block, bytes);
    if (need < 0)
        return need;
    if (cap < 0)
        return ATTN_ERROR_COUNT;
    if (!bad || (bytes > 0 && !line) || (cap > 0 && !ids))
        return ATTN_ERROR_NULL;
    if (need > 0 && !memory)
        return ATTN_ERROR_NULL;
    attn_vocab_open(&e.vocab, block);
    e.line = line;
    e.bytes = bytes;
    e.begun = begun;
    e.ids = ids;
    e.cap = cap;
    e.n = 0;
    e.bad = 0;
    e.memory = memory;
    int64_t wrong = tokens_kinds[h->kind].encode(&e);
    *bad = e.bad;
    if (wrong < 0)
        return wrong;
    if (h->append_end) {
        if (e.n == cap)
            return ATTN_ERROR_ROOM;
        ids[e.n] = h->end;
        e.n++;
    }
    return e.n;
}
