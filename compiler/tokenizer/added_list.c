/* added_list.c: lists the tokens that were added to a tokenizer, which are
 * matched in a text before anything else. */
#include "tokenizer/reader.h"

static void grow(Reader *r)
{
    Tokenizer *t = &r->t;
    if (t->addeds < r->added_cap)
        return;
    r->added_cap = r->added_cap ? 2 * r->added_cap : 64;
    Added *more = arena_alloc(r->arena, (size_t)r->added_cap * sizeof *more);
    if (t->addeds)
        memcpy(more, t->added, (size_t)t->addeds * sizeof *more);
    t->added = more;
}

static bool has_added(const Reader *r, int32_t id)
{
    for (int64_t i = r->t.addeds - 1; i >= 0; i--)
        if (r->t.added[i].id == id)
            return true;
    return false;
}

bool added_put(Reader *r, const char *place, Added a)
{
    const int32_t at = a.text.n ? token_find(r, a.text) : a.id;
    if (a.text.n == 0)
        return true;
    if (at >= 0 && at != a.id)
        return refuse(r, "%s: '%s' has id %d here and %d in the vocabulary",
                      place, quote_n(a.text.at, a.text.n), a.id, at);
    if (at < 0) {
        if (!token_put(r, place, a.text, a.id, 0))
            return false;
        r->t.token[a.id].piece = ATTN_PIECE_UNUSED | ATTN_PIECE_ADDED;
    } else if (has_added(r, a.id)) {
        return true;
    }
    if (a.flags & ATTN_ADDED_SPECIAL)
        r->t.token[a.id].piece |= ATTN_PIECE_SPECIAL;
    grow(r);
    r->t.added[r->t.addeds++] = a;
    return true;
}

/* Reads an added token: an object such as {"content": "[CLS]", "special":
 * true}, and its id. */
bool added_of(Reader *r, const json_t *o, const char *place, int64_t id,
              Added *to)
{
    static const char *const known[] = { "id",      "content", "single_word",
                                         "lstrip",  "rstrip",  "normalized",
                                         "special", "__type",  NULL };
    static const struct {
        const char *key;
        int flag;
    } flags[] = { { "special", ATTN_ADDED_SPECIAL },
                  { "lstrip", ATTN_ADDED_LSTRIP },
                  { "rstrip", ATTN_ADDED_RSTRIP },
                  { "single_word", ATTN_ADDED_WORD },
                  { "normalized", ATTN_ADDED_NORMALISED } };
    *to = (Added){ .id = (int32_t)id };
    if (!json_only(r, o, place, known)
        || !json_text(r, o, place, "content", NULL, &to->text))
        return false;
    if (!to->text.at)
        return refuse(r, "%s.content: a string is expected", place);
    if (id < 0 || id >= MostIds)
        return refuse(r, "%s.id: %lld: ids are 0 to %d", place, (long long)id,
                      MostIds - 1);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool on;
        if (!json_flag(r, o, place, flags[i].key, false, &on))
            return false;
        to->flags |= on ? flags[i].flag : 0;
    }
    return true;
}

bool added_read(Reader *r, const json_t *list)
{
    if (list && !json_is_null(list) && !json_is_array(list))
        return refuse(r, "added_tokens: a list is expected");
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[48];
        Added a;
        int64_t id;
        const json_t *o = json_array_get(list, i);
        snprintf(place, sizeof place, "added_tokens[%zu]", i);
        if (!json_int(r, o, place, "id", -1, &id)
            || !added_of(r, o, place, id, &a) || !added_put(r, place, a))
            return false;
    }
    return true;
}
