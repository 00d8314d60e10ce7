/* piece_file.c: reads a tokenizer file with pieces that are merged by score,
 * and pieces for single bytes. docs/spec.md has an example. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/json.h"
#include "tokenizer/block.h"

bool pieces_is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

void pieces_free(void *root)
{
    json_decref(root);
}

static const char *const piece_kinds[] = {
    [ATTN_PIECE_NORMAL] = "normal",   [ATTN_PIECE_BYTE] = "byte",
    [ATTN_PIECE_BEGIN] = "begin",     [ATTN_PIECE_END] = "end",
    [ATTN_PIECE_UNKNOWN] = "unknown",
};
enum { PieceKinds = sizeof piece_kinds / sizeof *piece_kinds };

/* Reports an error in a piece. */
static bool bad_piece(const Tokenizer *l, int64_t i, Fault *why,
                      const char *what)
{
    return fault(why, ExitInput, "%s: pieces[%lld]: %s", l->path, (long long)i,
                 what);
}

static bool read_text(const Tokenizer *l, int64_t i, const json_t *text,
                      Fault *why)
{
    Token *t = &l->token[i];
    t->at = json_string_value(text);
    t->n = json_string_length(text);
    if (!t->at || t->n == 0)
        return bad_piece(l, i, why, "\"text\" is a string that is not empty");
    if (t->piece == ATTN_PIECE_BYTE
        && attn_vocab_byte(t->at, (int64_t)t->n) < 0)
        return bad_piece(l, i, why,
                         "the text of a byte piece is <0x00> to "
                         "<0xFF>");
    return true;
}

static bool read_score(const Tokenizer *l, int64_t i, const json_t *score,
                       Fault *why)
{
    l->token[i].score = json_number_value(score);
    if (!json_is_number(score) || !isfinite((float)l->token[i].score))
        return bad_piece(l, i, why, "\"score\" is a number that a float holds");
    return true;
}

static bool read_kind(const Tokenizer *l, int64_t i, const json_t *kind,
                      Fault *why)
{
    const char *word = json_string_value(kind);
    for (int k = 0; word && k < PieceKinds; k++)
        if (strcmp(word, piece_kinds[k]) == 0) {
            l->token[i].piece = (unsigned char)k;
            return true;
        }
    return bad_piece(l, i, why,
                     "\"kind\" is normal, byte, begin, end or "
                     "unknown");
}

static bool read_piece(const Tokenizer *l, int64_t i, const json_t *piece,
                       Fault *why)
{
    const json_t *id = json_object_get(piece, "id");
    l->token[i].id = (int32_t)i;
    if (!json_is_object(piece))
        return bad_piece(l, i, why, "an object is expected");
    if (!json_is_integer(id) || json_integer_value(id) != i)
        return bad_piece(l, i, why, "\"id\" is its place in the list, from 0");
    return read_kind(l, i, json_object_get(piece, "kind"), why)
        && read_score(l, i, json_object_get(piece, "score"), why)
        && read_text(l, i, json_object_get(piece, "text"), why);
}

/* Checks that an id in the file belongs to a piece of kind `piece`. */
static bool check_id(const Tokenizer *l, const json_t *root, const char *key,
                     int piece, Fault *why)
{
    const json_t *id = json_object_get(root, key);
    json_int_t at = json_integer_value(id);
    if (!id)
        return true;
    if (json_is_integer(id) && at >= 0 && at < l->tokens
        && l->token[at].piece == piece)
        return true;
    return fault(why, ExitInput,
                 "%s: \"%s\" is not the id of a piece of kind "
                 "%s",
                 l->path, key, piece_kinds[piece]);
}

/* Sets the special tokens that the spec omits, from the kinds of the pieces. */
static void take_piece_special(Tokenizer *l)
{
    for (int64_t i = l->tokens - 1; i >= 0; i--) {
        if (l->token[i].piece == ATTN_PIECE_UNKNOWN && l->special.unknown < 0)
            l->special.unknown = (int32_t)i;
        if (l->token[i].piece == ATTN_PIECE_BEGIN && l->special.start < 0)
            l->special.start = (int32_t)i;
    }
}

/* Returns a description of another tool's file, which its keys identify, or
 * NULL if it is unknown. */
static const char *other_form(const json_t *root)
{
    const json_t *model = json_object_get(root, "model"), *id;
    const char *key;

    if (json_is_object(model) && json_object_get(model, "vocab"))
        return "a tokenizer.json of Hugging Face";
    if (json_object_get(root, "tokenizer_class"))
        return "a tokenizer_config.json, which has no tokens";
    if (json_object_get(root, "model_type")
        || json_object_get(root, "architectures"))
        return "a config.json, which has no tokens";
    json_object_foreach((json_t *)root, key,
                        id) if (!json_is_integer(id)) return NULL;
    return json_object_size(root) ? "a map of tokens to ids (vocab.json)"
                                  : NULL;
}

static bool read_piece_list(Tokenizer *l, const json_t *root, Fault *why)
{
    const json_t *pieces = json_object_get(root, "pieces");
    const char *type = json_string_value(json_object_get(root, "type"));
    const char *other = type ? NULL : other_form(root);
    if (other)
        return fault(
            why, ExitInput,
            "%s: this is %s; needed is a list of tokens, one a line in "
            "the order of their ids, or pieces with scores "
            "(docs/generate.md, Tokenizers)",
            l->path, other);
    if (!type || strcmp(type, "bpe-by-score") != 0)
        return fault(why, ExitInput,
                     "%s: \"type\" is bpe-by-score, the only "
                     "one that is known",
                     l->path);
    if (!json_is_array(pieces))
        return fault(why, ExitInput, "%s: \"pieces\" is a list", l->path);
    l->kind = ATTN_MERGES;
    l->flags = ATTN_MODEL_DUMMY;
    l->tokens = (int64_t)json_array_size(pieces);
    l->token = malloc(((size_t)l->tokens + 1) * sizeof *l->token);
    if (!l->token)
        return fault(why, ExitResource, "%s: out of memory", l->path);
    for (int64_t i = 0; i < l->tokens; i++)
        if (!read_piece(l, i, json_array_get(pieces, (size_t)i), why))
            return false;
    take_piece_special(l);
    return check_id(l, root, "unk_id", ATTN_PIECE_UNKNOWN, why)
        && check_id(l, root, "bos_id", ATTN_PIECE_BEGIN, why)
        && check_id(l, root, "eos_id", ATTN_PIECE_END, why);
}

bool pieces_read(Tokenizer *l, const File *f, void **root, Fault *why)
{
    json_error_t wrong;
    json_t *read;
    const size_t mark = file_mark(f);
    const JsonText json = { l->path, (const char *)f->at + mark, f->size - mark,
                            false, false };
    if (!json_read(&read, &json, &wrong, why))
        return false;
    *root = read;
    if (!*root)
        return fault(why, ExitInput, "%s:%d:%d: %s", l->path, wrong.line,
                     wrong.column, wrong.text);
    if (!json_is_object((json_t *)*root))
        return fault(why, ExitInput, "%s: an object is expected", l->path);
    return read_piece_list(l, *root, why);
}
