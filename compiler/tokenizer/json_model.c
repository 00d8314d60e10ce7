/* json_model.c: reads the "model" of a tokenizer.json: tokens and their ids,
 * ranked merges, and pieces with scores. */
#include <math.h>

#include "tokenizer/reader.h"

/* ---- BPE ---- */

static bool merge_pieces(Reader *r, const char *place, const Text *part,
                         int32_t *id)
{
    static const char *const which[] = { "the first part", "the second part",
                                         "the whole" };
    for (int i = 0; i < 3; i++) {
        id[i] = token_find(r, part[i]);
        if (id[i] < 0)
            return refuse(r, "%s: %s, '%s', is no token of the vocabulary",
                          place, which[i], quote_n(part[i].at, part[i].n));
    }
    return true;
}

static bool merge_put(Reader *r, const char *place, Text left, Text right)
{
    int32_t id[3];
    char *whole = arena_alloc(r->arena, left.n + right.n + 1);
    memcpy(whole, left.at, left.n);
    memcpy(whole + left.n, right.at, right.n);
    const Text part[] = { left, right, { whole, left.n + right.n } };
    if (!merge_pieces(r, place, part, id))
        return false;
    r->t.merge[r->t.merges++] = (Merge){ id[0], id[1], id[2] };
    return true;
}

bool merge_text(Reader *r, const char *place, Text line)
{
    const char *space = memchr(line.at, ' ', line.n);
    const size_t n = space ? (size_t)(space - line.at) : 0;
    if (!space || n == 0 || n + 1 == line.n
        || memchr(space + 1, ' ', line.n - n - 1))
        return refuse(r, "%s: '%s' is not two tokens with one space between",
                      place, quote_n(line.at, line.n));
    return merge_put(r, place, (Text){ line.at, n },
                     (Text){ space + 1, line.n - n - 1 });
}

static Text text_at(const json_t *list, size_t i)
{
    const json_t *v = json_array_get(list, i);
    return (Text){ json_string_value(v), json_string_length(v) };
}

static bool merges_read(Reader *r, const json_t *list)
{
    const size_t n = json_array_size(list);
    if (!json_is_array(list))
        return refuse(r, "model.merges: a list is expected");
    merges_room(r, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        char place[48];
        const json_t *m = json_array_get(list, i);
        snprintf(place, sizeof place, "model.merges[%zu]", i);
        if (json_is_string(m)) {
            if (!merge_text(r, place, text_at(list, i)))
                return false;
        } else if (json_array_size(m) == 2 && text_at(m, 0).at
                   && text_at(m, 1).at) {
            if (!merge_put(r, place, text_at(m, 0), text_at(m, 1)))
                return false;
        } else {
            return refuse(r, "%s: \"a b\" or [\"a\", \"b\"] is expected",
                          place);
        }
    }
    return true;
}

void merges_room(Reader *r, int64_t n)
{
    r->t.merge = arena_alloc(r->arena, (size_t)(n + 1) * sizeof *r->t.merge);
}

/* Rejects a text option that is not empty, because it would affect the
 * tokens. */
static bool must_be_empty(Reader *r, const json_t *model, const char *key)
{
    Text text;
    if (!json_text(r, model, "model", key, "", &text))
        return false;
    if (text.n == 0)
        return true;
    return refuse(r, "model.%s: '%s': a BPE with one is not known here", key,
                  quote_n(text.at, text.n));
}

static bool unknown_read(Reader *r, const json_t *model,
                         const char *default_value)
{
    Text text;
    if (!json_text(r, model, "model", "unk_token", default_value, &text))
        return false;
    if (!text.at)
        return true;
    r->t.special.unknown = token_find(r, text);
    return r->t.special.unknown >= 0 ? true
                                     : refuse(r,
                                              "model.unk_token: '%s' is no "
                                              "token of the vocabulary",
                                              quote_n(text.at, text.n));
}

static bool flag_read(Reader *r, const json_t *model, const char *key, int flag)
{
    bool on;
    if (!json_flag(r, model, "model", key, false, &on))
        return false;
    r->t.flags |= on ? flag : 0;
    return true;
}

static bool bpe_read(Reader *r, const json_t *model)
{
    static const char *const known[] = {
        "type",      "dropout",
        "unk_token", "continuing_subword_prefix",
        "fuse_unk",  "end_of_word_suffix",
        "merges",    "byte_fallback",
        "vocab",     "ignore_merges",
        NULL
    };
    const json_t *dropout = json_object_get(model, "dropout");
    r->t.kind = ATTN_RANKS;
    if (json_number_value(dropout) != 0)
        return refuse(r, "model.dropout: merges that are left out by chance "
                         "are not known here; give null");
    return json_only(r, model, "model", known)
        && must_be_empty(r, model, "continuing_subword_prefix")
        && json_text(r, model, "model", "end_of_word_suffix", "", &r->t.suffix)
        && flag_read(r, model, "fuse_unk", ATTN_MODEL_FUSE)
        && flag_read(r, model, "byte_fallback", ATTN_MODEL_FALLBACK)
        && flag_read(r, model, "ignore_merges", ATTN_MODEL_WHOLE)
        && tokens_of_map(r, json_object_get(model, "vocab"), "model.vocab")
        && unknown_read(r, model, NULL)
        && merges_read(r, json_object_get(model, "merges"));
}

/* ---- WordPiece ---- */

static bool wordpiece_read(Reader *r, const json_t *model)
{
    static const char *const known[] = { "type",
                                         "unk_token",
                                         "continuing_subword_prefix",
                                         "max_input_chars_per_word",
                                         "vocab",
                                         NULL };
    int64_t most;
    r->t.kind = ATTN_WORDPIECE;
    if (!json_only(r, model, "model", known)
        || !json_text(r, model, "model", "continuing_subword_prefix", "##",
                      &r->t.prefix)
        || !json_int(r, model, "model", "max_input_chars_per_word", 100, &most)
        || !tokens_of_map(r, json_object_get(model, "vocab"), "model.vocab"))
        return false;
    if (most < 1 || most > INT32_MAX)
        return refuse(r, "model.max_input_chars_per_word: 1 to %d, not %lld",
                      INT32_MAX, (long long)most);
    r->t.most = (int)most;
    return unknown_read(r, model, "[UNK]");
}

/* Reads a model that matches only complete words, as a WordPiece whose
 * continuing pieces would begin with a byte that occurs in no text. */
static bool wordlevel_read(Reader *r, const json_t *model)
{
    static const char *const known[] = { "type", "unk_token", "vocab", NULL };
    r->t.kind = ATTN_WORDPIECE;
    r->t.prefix = text_of("\xff");
    r->t.most = INT32_MAX;
    return json_only(r, model, "model", known)
        && tokens_of_map(r, json_object_get(model, "vocab"), "model.vocab")
        && unknown_read(r, model, "<unk>");
}

/* ---- Unigram ---- */

static bool unigram_piece(Reader *r, const json_t *list, size_t i)
{
    char place[48];
    const json_t *p = json_array_get(list, i);
    const json_t *score = json_array_get(p, 1);
    const Text text = text_at(p, 0);
    snprintf(place, sizeof place, "model.vocab[%zu]", i);
    if (json_array_size(p) != 2 || !text.at || !json_is_number(score))
        return refuse(r, "%s: [\"piece\", score] is expected", place);
    if (!isfinite(json_number_value(score)))
        return refuse(r, "%s: the score is not finite", place);
    return token_put(r, place, text, (int64_t)i, json_number_value(score));
}

static bool unigram_read(Reader *r, const json_t *model)
{
    static const char *const known[] = { "type", "unk_id", "vocab",
                                         "byte_fallback", NULL };
    const json_t *list = json_object_get(model, "vocab");
    int64_t unknown;
    r->t.kind = ATTN_UNIGRAM;
    r->t.flags |= ATTN_MODEL_FUSE;
    if (!json_only(r, model, "model", known)
        || !flag_read(r, model, "byte_fallback", ATTN_MODEL_FALLBACK)
        || !json_int(r, model, "model", "unk_id", -1, &unknown))
        return false;
    if (!json_is_array(list))
        return refuse(r, "model.vocab: a list is expected");
    tokens_room(r, (int64_t)json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!unigram_piece(r, list, i))
            return false;
    if (unknown < -1 || unknown >= r->t.tokens)
        return refuse(r, "model.unk_id: %lld, and there are %lld pieces",
                      (long long)unknown, (long long)r->t.tokens);
    r->t.special.unknown = (int32_t)unknown;
    return true;
}

/* ---- model ---- */

/* Marks the pieces of single bytes, which have texts such as "<0x0A>". */
static void mark_bytes(Reader *r)
{
    for (int64_t i = 0; i < r->t.tokens; i++) {
        Token *t = &r->t.token[i];
        if (attn_vocab_byte(t->at, (int64_t)t->n) >= 0)
            t->piece |= ATTN_PIECE_BYTE;
    }
}

/* Returns the model's type. Old files do not name the type, so it is derived
 * from the keys of the model. */
static const char *type_of(const json_t *model)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type)
        return type;
    if (json_object_get(model, "merges"))
        return "BPE";
    if (json_is_array(json_object_get(model, "vocab")))
        return "Unigram";
    return json_object_get(model, "max_input_chars_per_word") ? "WordPiece"
                                                              : "WordLevel";
}

bool model_read(Reader *r, const json_t *model, bool bytes)
{
    static const struct {
        const char *type;
        bool (*read)(Reader *r, const json_t *model);
    } models[] = { { "BPE", bpe_read },
                   { "WordPiece", wordpiece_read },
                   { "WordLevel", wordlevel_read },
                   { "Unigram", unigram_read } };
    const int n = sizeof models / sizeof *models;
    if (!json_is_object(model))
        return refuse(r, "model: an object is expected");
    const char *type = type_of(model);
    int i = 0;
    while (i < n && strcmp(models[i].type, type) != 0)
        i++;
    if (i == n)
        return refuse_unknown(r, "model", "type", type);
    r->kind = models[i].type;
    if (!models[i].read(r, model))
        return false;
    r->t.flags |= ATTN_MODEL_REPLACE;
    if (r->t.flags & ATTN_MODEL_FALLBACK)
        mark_bytes(r);
    if (!bytes)
        return true;
    if (r->t.kind != ATTN_RANKS)
        return refuse(r, "model: a %s of bytes is not known here", type);
    r->t.flags |= ATTN_MODEL_BYTES;
    return true;
}
