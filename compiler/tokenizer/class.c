/* class.c: reads a tokenizer without tokenizer.json. The row of its class in
 * models/import/tokenizers.json names its files, the ids of its special tokens,
 * and the steps that process a text. */
#include "tokenizer/folder.h"
#include "tokenizer/sentencepiece.h"

static const char *row_text(const Folder *f, const char *key)
{
    return json_string_value(json_object_get(f->class, key));
}

/* ---- pieces ---- */

/* Adds a list of tokens that precede or follow the pieces. The first token gets
 * `id`. */
static bool put_list(Folder *f, const json_t *list, int64_t id)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        const Text text = { json_string_value(v), json_string_length(v) };
        if (!token_put(f->r, "the list of pieces", text, id + (int64_t)i, 0))
            return false;
        f->r->t.token[id + (int64_t)i].piece = ATTN_PIECE_UNUSED;
    }
    return true;
}

/* Sets the id of each piece to its index plus a shift. Skips pieces that are
 * also tokens before the pieces. */
static bool put_shifted(Folder *f, const SentencePieces *s)
{
    Reader *r = f->r;
    const int64_t shift = json_integer_value(
        json_object_get(f->class, "shift"));
    if (!put_list(f, json_object_get(f->class, "first"), 0))
        return false;
    tokens_room(r, s->n + shift);
    for (int64_t i = 0; i < s->n; i++)
        if (token_find(r, s->piece[i].text) < 0
            && !sentencepiece_put(r, s, i, i + shift))
            return false;
    return true;
}

/* Sets the ids of pieces from a map. Pieces that the map lacks still split a
 * text, into unknown tokens; they exist only within the model. */
static bool put_mapped(Folder *f, const SentencePieces *s, const json_t *map)
{
    Reader *r = f->r;
    if (!tokens_of_map(r, map, "the file"))
        return false;
    const int64_t n = r->t.tokens;
    for (int64_t i = 0; i < n; i++)
        r->t.token[i].piece = ATTN_PIECE_UNUSED;
    for (int64_t i = 0; i < s->n; i++) {
        const SentencePiece *p = &s->piece[i];
        const int32_t id = token_find(r, p->text);
        const bool model = p->type != PieceControl && p->type != PieceUnknown;
        if (id >= n || (id < 0 && !model))
            continue;
        if (id < 0) {
            if (!sentencepiece_put(r, s, i, r->t.tokens))
                return false;
            r->t.extra++;
        } else {
            r->t.token[id].score = (double)p->score;
            r->t.token[id].piece = model ? 0 : ATTN_PIECE_UNUSED;
        }
    }
    return true;
}

static bool put_pieces(Folder *f, const SentencePieces *s)
{
    const char *ids = row_text(f, "ids");
    const char *path = ids ? folder_file(f, ids) : NULL;
    if (!ids)
        return put_shifted(f, s);
    if (!path)
        return refuse(f->r, "there is no %s beside it, which has the ids", ids);
    const json_t *map = reader_json(f->r, path);
    return map && put_mapped(f, s, map);
}

static bool read_pieces(Folder *f, const char *path)
{
    SentencePieces s;
    const File *file = reader_file(f->r, path);
    return file && sentencepiece_read(f->r, file, &s)
        && sentencepiece_steps(f->r, &s) && put_pieces(f, &s);
}

/* ---- words and merges ---- */

static bool words_read(Reader *r, const File *file)
{
    const char *at = (const char *)file->at, *end = at + file->size;
    for (int64_t id = 0; at < end; id++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        size_t n = (size_t)((stop ? stop : end) - at);
        n -= n > 0 && at[n - 1] == '\r';
        if (attn_utf8(at, (int64_t)n) < (int64_t)n || memchr(at, 0, n))
            return refuse(r, "line %lld: no UTF-8, or a NUL",
                          (long long)id + 1);
        if (n > 0 && !token_put(r, "the file", (Text){ at, n }, id, 0))
            return false;
        at = next;
    }
    return true;
}

static bool read_words(Folder *f, const char *path)
{
    const File *file = reader_file(f->r, path);
    f->r->kind = "WordPiece";
    f->r->t.kind = ATTN_WORDPIECE;
    f->r->t.flags |= ATTN_MODEL_REPLACE;
    f->r->t.prefix = text_of("##");
    f->r->t.most = 100;
    return file && words_read(f->r, file);
}

bool merges_file(Reader *r, const File *file)
{
    const char *at = (const char *)file->at, *const end = at + file->size;
    int64_t n = 1;
    for (const char *c = at; c < end; c++)
        n += *c == '\n';
    merges_room(r, n);
    for (int64_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t bytes = (size_t)((stop ? stop : end) - at);
        char place[32];
        snprintf(place, sizeof place, "line %lld", (long long)line);
        const bool version = bytes > 8 && memcmp(at, "#version", 8) == 0;
        if (bytes > 0 && !version && !merge_text(r, place, (Text){ at, bytes }))
            return false;
        at = stop ? stop + 1 : end;
    }
    return true;
}

static bool read_merges(Folder *f, const char *path)
{
    const char *merges = row_text(f, "merges");
    const char *beside = folder_file(f, merges);
    Reader *r = f->r;
    const char *suffix = row_text(f, "suffix");
    const json_t *map = reader_json(r, path);
    if (!map || !tokens_of_map(r, map, "the file"))
        return false;
    if (!beside)
        return refuse(r, "there is no %s beside it, which has the merges",
                      merges);
    r->kind = "BPE";
    r->t.kind = ATTN_RANKS;
    r->t.flags |= ATTN_MODEL_REPLACE | ATTN_MODEL_BYTES;
    r->t.suffix = text_of(suffix ? suffix : "");
    const File *file = reader_file(r, beside);
    return file && merges_file(r, file);
}

/* ---- steps ---- */

/* Copies JSON, replacing each string "=key" by the value of that key in the
 * config or in the row of the class. */
static json_t *filled(const Folder *f, const json_t *o)
{
    const char *text = json_string_value(o), *key;
    json_t *copy, *v;
    if (text && text[0] == '=') {
        v = (json_t *)folder_key(f, text + 1);
        return v ? json_deep_copy(v) : json_null();
    }
    if (json_is_array(o)) {
        copy = json_array();
        for (size_t i = 0; i < json_array_size(o); i++)
            json_array_append_new(copy, filled(f, json_array_get(o, i)));
        return copy;
    }
    if (!json_is_object(o))
        return json_deep_copy(o);
    copy = json_object();
    json_object_foreach((json_t *)o, key, v)
        json_object_set_new(copy, key, filled(f, v));
    return copy;
}

static bool read_steps(Folder *f)
{
    static const struct {
        const char *key;
        bool (*read)(Reader *r, const json_t *o, const char *place);
    } rows[] = { { "normalizer", normaliser_read },
                 { "pre_tokenizer", splitting_read },
                 { "post_processor", template_read },
                 { "decoder", decoder_read } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *row = json_object_get(f->class, rows[i].key);
        if (!row)
            continue;
        json_t *o = filled(f, row);
        vec_push(f->r->arena, &f->r->json, o);
        if (!rows[i].read(f->r, o, rows[i].key))
            return false;
    }
    return true;
}

/* Returns the token's id, or the next free id if the token is new. */
static int32_t special_id(Folder *f, Text text)
{
    const int32_t at = token_find(f->r, text);
    const int64_t next = f->r->t.tokens - f->r->t.extra;
    if (at < 0 && f->r->t.extra)
        tokens_move_extra(f->r, next + 1);
    return at < 0 ? (int32_t)next : at;
}

/* Adds the token for a role or a language. The token is matched in texts. */
static bool put_special(Folder *f, Text text, int flags)
{
    return added_put(f->r, "the class's tokens",
                     (Added){ text, special_id(f, text),
                              flags | ATTN_ADDED_SPECIAL });
}

/* True if the config or the special tokens map lists this token, as a string or
 * an object. */
static bool is_listed(const Folder *f, Text text)
{
    static const char *const keys[] = { "additional_special_tokens",
                                        "extra_special_tokens" };
    const json_t *const from[] = { f->config, f->map };
    for (int i = 0; i < 4; i++) {
        const json_t *list = json_object_get(from[i / 2], keys[i % 2]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const Text one = token_text(json_array_get(list, k));
            if (one.at && text_is(text, one.at))
                return true;
        }
    }
    return false;
}

/* Adds the token for a language. The token is never matched in texts. */
static bool put_hidden(Folder *f, Text text)
{
    const int32_t id = special_id(f, text);
    if (token_find(f->r, text) >= 0)
        return true;
    if (!token_put(f->r, "the class's tokens", text, id, 0))
        return false;
    f->r->t.token[id].piece = ATTN_PIECE_UNUSED | ATTN_PIECE_SPECIAL;
    return true;
}

bool class_languages(Folder *f)
{
    const json_t *codes = f->by_class ? json_object_get(f->class, "languages")
                                      : NULL;
    const char *form = row_text(f, "language");
    const char *at = form ? strchr(form, '%') : NULL;
    const bool listed = json_is_true(
        json_object_get(f->class, "languages_listed"));
    for (size_t i = 0; i < json_array_size(codes); i++) {
        const char *code = json_string_value(json_array_get(codes, i));
        const Text text = text_of(at ? arena_printf(f->r->arena, "%.*s%s%s",
                                                    (int)(at - form), form,
                                                    code, at + 1)
                                     : code);
        if (!(listed && !is_listed(f, text) ? put_hidden(f, text)
                                            : put_special(f, text, 0)))
            return false;
    }
    return true;
}

static bool put_specials(Folder *f)
{
    const bool strips = json_is_true(
        json_object_get(f->class, "mask_takes_spaces"));
    if (json_object_get(f->config, "added_tokens_decoder"))
        return true;
    if (!class_languages(f))
        return false;
    for (int i = 0; i < Roles; i++) {
        const Text text = folder_role(f, (Role)i);
        const bool mask = i == RoleMask && strips;
        if (text.at && !put_special(f, text, mask ? ATTN_ADDED_LSTRIP : 0))
            return false;
    }
    return true;
}

/* Adds numbered tokens after all others, highest number first. A match includes
 * the spaces around the token. */
static bool put_numbered(Folder *f)
{
    const char *form = row_text(f, "numbered");
    const json_t *count = folder_key(f, "extra_ids");
    const char *at = form ? strchr(form, '%') : NULL;
    const double n = json_number_value(count);
    if (!at)
        return true;
    if (n < 0 || n > 100000)
        return refuse(f->r, "extra_ids: 0 to 100000, not %g", n);
    for (int i = (int)n - 1; i >= 0; i--)
        if (!put_special(f,
                         text_of(arena_printf(f->r->arena, "%.*s%d%s",
                                              (int)(at - form), form, i,
                                              at + 1)),
                         ATTN_ADDED_LSTRIP | ATTN_ADDED_RSTRIP))
            return false;
    return true;
}

/* ---- folder ---- */

bool class_read(Folder *f, bool *found)
{
    const char *target = row_text(f, "target");
    const struct {
        const char *name;
        bool (*read)(Folder *f, const char *path);
    } rows[] = {
        { f->from->side == TextTarget && target ? target
                                                : row_text(f, "pieces"),
          read_pieces },
        { row_text(f, "words"), read_words },
        { row_text(f, "map"), read_merges },
    };
    for (int i = 0; i < 3; i++) {
        const char *path = rows[i].name ? folder_file(f, rows[i].name) : NULL;
        if (!path)
            continue;
        *found = true;
        return rows[i].read(f, path) && read_steps(f) && put_numbered(f)
            && put_specials(f);
    }
    return true;
}

/* Reads a template such as "cls $A:0 sep $B:1". */
static bool put_template(Folder *f, const char *form, bool pair)
{
    static const char *const names[Roles] = {
        [RoleBegin] = "bos",     [RoleEnd] = "eos",   [RoleUnknown] = "unk",
        [RolePad] = "pad",       [RoleMask] = "mask", [RoleClass] = "cls",
        [RoleSeparator] = "sep",
    };
    for (const char *at = form; at && *at;) {
        const size_t n = strcspn(at, " :");
        int32_t id = -3, type = 0;
        for (int i = 0; i < Roles; i++)
            if (strlen(names[i]) == n && memcmp(names[i], at, n) == 0)
                id = f->role[i];
        if (n == 2 && at[0] == '$')
            id = at[1] == 'A' ? -1 : -2;
        if (n == 4 && memcmp(at, "lang", 4) == 0)
            id = f->language;
        const bool text = n == 2 && at[0] == '$';
        if (id < 0 && !text)
            return refuse(f->r,
                          "the token that the template calls '%.*s' is "
                          "not in the vocabulary; tokenizer_config.json "
                          "names it",
                          (int)n, at);
        at += n;
        if (*at == ':')
            type = at[1] - '0';
        at += strcspn(at, " ");
        at += strspn(at, " ");
        if (!template_put(f->r, "the class's template", pair, id, type))
            return false;
    }
    return true;
}

bool class_template(Folder *f)
{
    if (!f->by_class || f->r->t.singles)
        return true;
    const bool legacy = json_is_true(folder_key(f, "legacy_behaviour"));
    const char *old = legacy ? row_text(f, "legacy_single") : NULL;
    return put_template(f, old ? old : row_text(f, "single"), false)
        && put_template(f, row_text(f, "pair"), true);
}
