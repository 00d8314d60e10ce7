/* load_tokenizer.c: selects the reader for a tokenizer file from its
 * contents. */
#include <stdlib.h>
#include <unistd.h>

#include "tokenizer/reader.h"
#include "tokenizer/sentencepiece.h"

/* ---- files of other tools ---- */

/* True if the object has members, and all of them are integers. */
static bool is_map(const json_t *root)
{
    const char *key;
    json_t *id;
    json_object_foreach((json_t *)root, key,
                        id) if (!json_is_integer(id)) return false;
    return json_object_size(root) > 0;
}

/* Reads a vocab.json, whose merges are in merges.txt next to it. */
static bool read_map(Reader *r, const json_t *map)
{
    const char *path = arena_printf(r->arena, "%smerges.txt",
                                    folder_of(r->arena, r->path));
    if (access(path, F_OK) != 0)
        return refuse(r, "this is a map of tokens to ids (vocab.json), and "
                         "there is no merges.txt beside it");
    r->t.kind = ATTN_RANKS;
    r->t.flags |= ATTN_MODEL_REPLACE | ATTN_MODEL_BYTES;
    if (!tokens_of_map(r, map, "the file"))
        return false;
    const File *merges = reader_file(r, path);
    if (!merges || !merges_file(r, merges))
        return false;
    decode_letters(r);
    static const Text none = { "", 0 };
    return step_put(r, StepsSplit, ATTN_STEP_GPT2, ATTN_SPLIT_ISOLATED, none,
                    none)
        && step_put(r, StepsDecode, ATTN_STEP_BYTE_LEVEL_OUT, 0, none, none);
}

/* Reads a JSON file of another tool. Sets *is to true if the file has one of
 * these formats. Returns false if reading failed. */
static bool load_json(Reader *r, const char *path, bool *is)
{
    const json_t *root = reader_json(r, path);
    *is = true;
    if (!root)
        return false;
    if (tokenizer_json_is(root)) {
        if (!tokenizer_json_read(r, root))
            return false;
        if (r->t.flags & ATTN_MODEL_BYTES)
            decode_letters(r);
        return true;
    }
    if (is_map(root))
        return read_map(r, root);
    *is = false;
    return true;
}

/* True for a SentencePiece model. It begins with a piece: field 1, whose first
 * field is 1. */
static bool is_model(const File *f)
{
    return f->size > 2 && f->at[0] == '\n' && f->at[2] == '\n';
}

static bool read_other(Reader *r, const char *path, bool *is)
{
    *is = false;
    if (pieces_is_json(path))
        return load_json(r, path, is);
    const File *f = reader_file(r, path);
    if (!f)
        return false;
    *is = is_model(f);
    return !*is || sentencepiece_load(r, f);
}

/* ---- load ---- */

/* Replaces the file's special tokens by those of the spec. An end token is not
 * added if the template already adds it. */
static void take_special(Tokenizer *t, const VocabTokens *s)
{
    const int last = t->singles ? t->single[t->singles - 1].id : -1;
    t->special.start = s->start >= 0 ? s->start : t->special.start;
    t->special.end = s->end >= 0 ? s->end : t->special.end;
    t->special.pad = s->pad >= 0 ? s->pad : t->special.pad;
    t->special.unknown = s->unknown >= 0 ? s->unknown : t->special.unknown;
    t->special.append_end = s->append_end
                         && (last < 0 || last != t->special.end);
}

static void *load_folder(const char *path, int64_t expected, int64_t *bytes,
                         Fault *why)
{
    const VocabularyFrom from = { .folder = path, .size = expected };
    Vocabulary v;
    bool found;
    if (!vocabulary_of_folder(&from, &v, &found, why))
        return NULL;
    if (!found)
        fault(why, ExitInput,
              "%s: this folder has no tokenizer.json; name the file of its "
              "tokens, or use attnc import",
              path);
    *bytes = v.bytes;
    return v.block;
}

/* Loads a list with one token per line, or a list of pieces with scores. */
static void *load_list(const File *f, int64_t expected,
                       const VocabTokens *special, int64_t *bytes, Fault *why)
{
    Tokenizer t = { .path = f->path, .special = *special };
    void *block = NULL, *json = NULL;
    bool ok = pieces_is_json(f->path) ? pieces_read(&t, f, &json, why)
                                      : lines_read(&t, f, why);
    if (ok && tokenizer_check(&t, expected, why))
        block = tokenizer_block(&t, bytes, why);
    free(t.token);
    pieces_free(json);
    return block;
}

static void *load_file(Reader *r, const char *path, int64_t expected,
                       const VocabTokens *special, int64_t *bytes, Fault *why)
{
    bool is;
    if (!read_other(r, path, &is))
        return NULL;
    const File *f = &r->file[r->files - 1];
    if (!is && block_is(f))
        return block_read(f, expected, bytes, why);
    if (!is)
        return load_list(f, expected, special, bytes, why);
    take_special(&r->t, special);
    if (!tokens_fit(r, expected) || !tokenizer_check(&r->t, expected, why))
        return NULL;
    return tokenizer_block(&r->t, bytes, why);
}

void *vocab_load(const char *path, int64_t expected, const VocabTokens *special,
                 int64_t *bytes, Fault *why)
{
    Reader r;
    if (is_folder(path))
        return load_folder(path, expected, bytes, why);
    reader_open(&r, why);
    void *block = load_file(&r, path, expected, special, bytes, why);
    reader_close(&r);
    return block;
}

static int64_t count_file(Reader *r, const char *path, Fault *why)
{
    bool is;
    if (!read_other(r, path, &is))
        return -1;
    const File *f = &r->file[r->files - 1];
    Tokenizer t = { .path = f->path, .tokens = -1 };
    void *json = NULL;
    if (is)
        return r->t.tokens - r->t.extra;
    if (block_is(f)) {
        int64_t bytes;
        struct attn_vocab_header *h = block_read(f, -1, &bytes, why);
        t.tokens = h ? h->size : -1;
        free(h);
    } else if (!pieces_is_json(path)) {
        t.tokens = lines_count(f, why);
    } else if (!pieces_read(&t, f, &json, why)) {
        t.tokens = -1;
    }
    free(t.token);
    pieces_free(json);
    return t.tokens;
}

int64_t vocab_count(const char *path, Fault *why)
{
    Reader r;
    int64_t n;
    if (is_folder(path)) {
        void *block = load_folder(path, -1, &n, why);
        n = block ? ((const struct attn_vocab_header *)block)->size : -1;
        free(block);
        return n;
    }
    reader_open(&r, why);
    n = count_file(&r, path, why);
    reader_close(&r);
    return n;
}
