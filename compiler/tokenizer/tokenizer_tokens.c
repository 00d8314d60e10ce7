/* tokenizer_tokens.c: the list of tokens that readers fill. Each id has one
 * token, and a hash table finds tokens by their text. */
#include "tokenizer/reader.h"

void tokens_room(Reader *r, int64_t n)
{
    Tokenizer *t = &r->t;
    if (n <= t->tokens)
        return;
    if (n > r->cap) {
        const int64_t cap = n > 2 * r->cap ? n : 2 * r->cap;
        Token *token = arena_alloc(r->arena, (size_t)cap * sizeof *token);
        if (t->tokens)
            memcpy(token, t->token, (size_t)t->tokens * sizeof *token);
        t->token = token;
        r->cap = cap;
    }
    for (int64_t i = t->tokens; i < n; i++)
        t->token[i] = (Token){ .at = "",
                               .id = (int32_t)i,
                               .piece = ATTN_PIECE_UNUSED };
    t->tokens = n;
}

static bool token_is_gap(const Token *t)
{
    return t->n == 0 && t->piece == ATTN_PIECE_UNUSED;
}

static uint64_t hash_of(Text text)
{
    return attn_text_hash(text.at, (int64_t)text.n);
}

static void index_one(Reader *r, int64_t id)
{
    const Token *k = &r->t.token[id];
    uint64_t at = hash_of((Text){ k->at, k->n }) & (uint64_t)(r->slots - 1);
    while (r->slot[at])
        at = (at + 1) & (uint64_t)(r->slots - 1);
    if (k->n)
        r->slot[at] = (int32_t)(id + 1);
}

static void index_tokens(Reader *r)
{
    const int64_t n = r->t.tokens;
    if (r->slots <= 2 * n) { /* also if n is 0, so that a table exists */
        for (r->slots = 1024; r->slots < 3 * n;)
            r->slots *= 2;
        r->slot = arena_alloc(r->arena, (size_t)r->slots * sizeof *r->slot);
        r->indexed = 0;
    }
    for (; r->indexed < n; r->indexed++)
        index_one(r, r->indexed);
}

int32_t token_find(Reader *r, Text text)
{
    index_tokens(r);
    uint64_t at = hash_of(text) & (uint64_t)(r->slots - 1);
    for (; r->slot[at]; at = (at + 1) & (uint64_t)(r->slots - 1)) {
        const Token *k = &r->t.token[r->slot[at] - 1];
        if (k->n == text.n && text.n && memcmp(k->at, text.at, text.n) == 0)
            return r->slot[at] - 1;
    }
    return -1;
}

bool token_put(Reader *r, const char *place, Text text, int64_t id,
               double score)
{
    if (id < 0 || id >= MostIds)
        return refuse(r, "%s: id %lld of '%s': ids are 0 to %d", place,
                      (long long)id, quote_n(text.at, text.n), MostIds - 1);
    tokens_room(r, id + 1);
    Token *t = &r->t.token[id];
    if (!token_is_gap(t))
        return refuse(r, "%s: id %lld is of '%s' and of '%s'", place,
                      (long long)id, quote_n(t->at, t->n),
                      quote_n(text.at, text.n));
    *t = (Token){
        .at = text.at, .n = text.n, .id = (int32_t)id, .score = score
    };
    if (id < r->indexed)
        index_one(r, id);
    return true;
}

bool tokens_of_map(Reader *r, const json_t *map, const char *place)
{
    const char *key;
    json_t *id;
    if (!json_is_object(map))
        return refuse(r, "%s: an object of tokens and their ids is expected",
                      place);
    tokens_room(r, (int64_t)json_object_size(map));
    json_object_foreach((json_t *)map, key, id)
    {
        if (!json_is_integer(id))
            return refuse(r, "%s: the id of '%s' is no integer", place,
                          quote(key));
        if (!token_put(r, place, text_of(key), json_integer_value(id), 0))
            return false;
    }
    return true;
}

/* Moves the last `extra` tokens up, so that they follow id `size` - 1. */
void tokens_move_extra(Reader *r, int64_t size)
{
    Tokenizer *t = &r->t;
    const int64_t from = t->tokens - t->extra, extra = t->extra;
    tokens_room(r, size + extra);
    for (int64_t i = extra - 1; i >= 0; i--) {
        t->token[size + i] = t->token[from + i];
        t->token[size + i].id = (int32_t)(size + i);
    }
    for (int64_t i = from; i < size; i++)
        t->token[i] = (Token){ .at = "",
                               .id = (int32_t)i,
                               .piece = ATTN_PIECE_UNUSED };
    r->slots = r->indexed = 0; /* ids changed: the hash table is obsolete */
}

bool tokens_fit(Reader *r, int64_t size)
{
    const int64_t n = r->t.tokens - r->t.extra;
    if (n == 0)
        return refuse(r, "has no tokens");
    if (size < 0 || size == n)
        return true;
    if (size < n)
        return refuse(r,
                      "has %lld tokens, the model %lld: is it a tokenizer "
                      "of another model?",
                      (long long)n, (long long)size);
    tokens_move_extra(r, size);
    return true;
}
