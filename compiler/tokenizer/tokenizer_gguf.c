/* tokenizer_gguf.c: reads the tokenizer from the metadata of a llama.cpp file:
 * SentencePiece's BPE or Unigram with scores, a byte-level BPE with merges, or
 * WordPiece. The file names the rule by which a BPE splits text, and a row of
 * models/import/gguf_splitting.json defines each rule in the format of a
 * tokenizer.json. */
#include <math.h>

#include "runtime/weights/gguf.h"
#include "tokenizer/sentencepiece.h"

#define KEY(name) "tokenizer.ggml." name

typedef struct {
    Reader *r;
    const json_t *metadata;
    const json_t *tokens, *types; /* lists of n elements */
    int64_t n;
    SentencePieces pieces;            /* for "llama" and "t5" */
    int32_t begin, end, unknown, pad; /* ids; -1: none */
    bool adds_begin, adds_end;        /* defaults for values that the file does
                                       * not set */
} GgufTokens;

/* ---- lists ---- */

/* Finds a list of `n` values (n < 0: any number), without checking the
 * values. */
static bool list_of(GgufTokens *g, const char *key, int64_t n,
                    const json_t **to)
{
    *to = json_object_get(g->metadata, key);
    const int64_t has = (int64_t)json_array_size(*to);
    if (!json_is_array(*to))
        return refuse(g->r, "%s: a list is expected, and there is none", key);
    if (n >= 0 && has != n)
        return refuse(g->r, "%s has %lld values, " KEY("tokens") " %lld", key,
                      (long long)has, (long long)n);
    return true;
}

static Text gguf_text_in(const json_t *list, int64_t i)
{
    const json_t *v = json_array_get(list, (size_t)i);
    return (Text){ json_string_value(v), json_string_length(v) };
}

/* Reads and checks the lists of texts and types of all tokens. */
static bool read_lists(GgufTokens *g)
{
    if (!list_of(g, KEY("tokens"), -1, &g->tokens))
        return false;
    g->n = (int64_t)json_array_size(g->tokens);
    if (g->n < 1 || g->n > MostIds)
        return refuse(g->r, KEY("tokens") ": %lld of them: 1 to %d",
                      (long long)g->n, MostIds);
    if (!list_of(g, KEY("token_type"), g->n, &g->types))
        return false;
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *type = json_array_get(g->types, (size_t)i);
        const json_int_t kind = json_integer_value(type);
        if (!gguf_text_in(g->tokens, i).at)
            return refuse(g->r, KEY("tokens[%lld]") " must be a text",
                          (long long)i);
        if (!json_is_integer(type) || kind < 0 || kind >= PieceTypes)
            return refuse(g->r, KEY("token_type[%lld]") " must be 0 to %d",
                          (long long)i, PieceTypes - 1);
    }
    return true;
}

static int gguf_type_of(const GgufTokens *g, int64_t i)
{
    const json_t *type = json_array_get(g->types, (size_t)i);
    const int kind = (int)json_integer_value(type);
    return kind ? kind : PieceNormal; /* 0: type undefined */
}

static bool read_id(GgufTokens *g, const char *key, int32_t *id)
{
    int64_t n;
    if (!json_int(g->r, g->metadata, "the file", key, -1, &n))
        return false;
    if (n >= g->n && n != UINT32_MAX) /* UINT32_MAX means none: -1 in 32 bits */
        return refuse(g->r, "%s: %lld, and there are %lld tokens", key,
                      (long long)n, (long long)g->n);
    *id = n >= 0 && n < g->n ? (int32_t)n : -1;
    return true;
}

static bool read_ids(GgufTokens *g)
{
    return read_id(g, KEY("bos_token_id"), &g->begin)
        && read_id(g, KEY("eos_token_id"), &g->end)
        && read_id(g, KEY("unknown_token_id"), &g->unknown)
        && read_id(g, KEY("padding_token_id"), &g->pad);
}

/* ---- pieces ---- */

static bool fill_pieces(GgufTokens *g, const json_t *scores)
{
    SentencePieces *s = &g->pieces;
    s->piece = arena_alloc(g->r->arena, (size_t)g->n * sizeof *s->piece);
    s->n = g->n;
    for (int64_t i = 0; i < g->n; i++) {
        const json_t *score = json_array_get(scores, (size_t)i);
        const double x = json_number_value(score);
        if (!json_is_number(score) || !isfinite(x))
            return refuse(g->r, KEY("scores[%lld]") " must be a number",
                          (long long)i);
        s->piece[i] = (SentencePiece){ gguf_text_in(g->tokens, i), (float)x,
                                       gguf_type_of(g, i) };
        s->fallback |= gguf_type_of(g, i) == PieceByte;
        if (gguf_type_of(g, i) == PieceUnknown && g->unknown < 0)
            g->unknown = (int32_t)i;
    }
    s->unknown = g->unknown;
    return true;
}

/* Makes control tokens match in texts, because chat templates use them. */
static bool put_controls(GgufTokens *g)
{
    for (int64_t i = 0; i < g->n; i++)
        if (gguf_type_of(g, i) == PieceControl
            && !added_put(g->r, KEY("tokens"),
                          (Added){ gguf_text_in(g->tokens, i), (int32_t)i,
                                   ATTN_ADDED_SPECIAL }))
            return false;
    return true;
}

/* Reads the character map, a list of bytes, if there is one. */
static bool read_gguf_charmap(GgufTokens *g, Text *to)
{
    const json_t *list;
    if (!json_object_get(g->metadata, KEY("precompiled_charsmap")))
        return true;
    if (!list_of(g, KEY("precompiled_charsmap"), -1, &list))
        return false;
    const size_t n = json_array_size(list);
    char *at = arena_alloc(g->r->arena, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *byte = json_array_get(list, i);
        const json_int_t x = json_integer_value(byte);
        if (!json_is_integer(byte) || x < -128 || x > 255)
            return refuse(g->r, KEY("precompiled_charsmap[%zu]") " is no byte",
                          i);
        at[i] = (char)(unsigned char)x;
    }
    *to = (Text){ at, n };
    return true;
}

/* Reads pieces with scores. For merges by score, llama.cpp changes no
 * characters and drops no spaces; for Unigram, the rules are in the file. */
static bool read_gguf_pieces(GgufTokens *g, int model)
{
    const json_t *scores;
    SentencePieces *s = &g->pieces;
    const bool unigram = model == PiecesUnigram;
    *s = (SentencePieces){ .model = model,
                           .surface = text_of(" \xe2\x81\x87 "),
                           .escape = true };
    g->adds_begin = !unigram;
    g->adds_end = unigram;
    if (unigram
        && (!read_gguf_charmap(g, &s->charmap)
            || !json_flag(g->r, g->metadata, "the file",
                          KEY("remove_extra_whitespaces"), true, &s->extra)))
        return false;
    if (!json_flag(g->r, g->metadata, "the file", KEY("add_space_prefix"), true,
                   &s->dummy)
        || !list_of(g, KEY("scores"), g->n, &scores) || !fill_pieces(g, scores)
        || !sentencepiece_steps(g->r, s))
        return false;
    tokens_room(g->r, g->n);
    for (int64_t i = 0; i < g->n; i++)
        if (s->piece[i].text.n && !sentencepiece_put(g->r, s, i, i))
            return false;
    return put_controls(g);
}

/* ---- merges ---- */

static json_t *keep(Reader *r, json_t *root)
{
    if (!root)
        fail(ExitResource, "%s: out of memory", r->path);
    vec_push(r->arena, &r->json, root);
    return root;
}

/* Returns the row for the file's key "pre", or NULL with a message if the name
 * is unknown. */
static const json_t *row_of(GgufTokens *g, const VocabularyFrom *from)
{
    const char *name = json_string_value(
        json_object_get(g->metadata, KEY("pre")));
    const JsonText text = { "names of splitting", from->classes,
                            from->classes_bytes, false, false };
    json_error_t wrong;
    json_t *rows = NULL;
    if (!json_read(&rows, &text, &wrong, g->r->why))
        return NULL;
    if (!rows)
        die("names of splitting: line %d: %s", wrong.line, wrong.text);
    keep(g->r, rows);
    const json_t *row = name ? json_object_get(rows, name) : NULL;
    const char *same = json_string_value(row), *known = "", *key;
    json_t *value;
    row = same ? json_object_get(rows, same) : row;
    json_object_foreach(rows, key, value)
        known = arena_printf(g->r->arena, "%s%s%s", known, *known ? ", " : "",
                             key);
    if (!row)
        refuse(g->r,
               KEY("pre") ": '%s' is no way to cut a text that is known here; "
                          "import the folder that the file was made of; known "
                          "are %s",
               name ? quote(name) : "", known);
    return row;
}

/* Adds a token to the list of added tokens if tokens of its type are matched in
 * texts. */
static void put_added(GgufTokens *g, json_t *added, int64_t i)
{
    const int type = gguf_type_of(g, i);
    if (type == PieceControl || type == PieceUser)
        json_array_append_new(added,
                              json_pack("{s:I, s:s, s:b}", "id", (json_int_t)i,
                                        "content",
                                        gguf_text_in(g->tokens, i).at,
                                        "special", type == PieceControl));
}

/* Fills `vocab` with {"token": id}, and `added` with the added tokens. */
static bool put_tokens(GgufTokens *g, json_t *vocab, json_t *added)
{
    for (int64_t i = 0; i < g->n; i++) {
        const Text t = gguf_text_in(g->tokens, i);
        const json_t *old = json_object_get(vocab, t.at);
        if (t.n == 0)
            continue; /* no text becomes this token */
        if (memchr(t.at, 0, t.n))
            return refuse(g->r, KEY("tokens[%lld]") " has a NUL", (long long)i);
        if (old)
            return refuse(g->r,
                          KEY("tokens[%lld]") " is token %lld again, '%s'",
                          (long long)i, (long long)json_integer_value(old),
                          quote_n(t.at, t.n));
        json_object_set_new(vocab, t.at, json_integer(i));
        put_added(g, added, i);
    }
    return true;
}

/* Reads a byte-level BPE as an equivalent tokenizer.json. */
static bool read_gguf_merges(GgufTokens *g, const json_t *row)
{
    const json_t *merges;
    bool whole;
    if (!json_flag(g->r, row, "pre", "add_bos", false, &g->adds_begin)
        || !json_flag(g->r, row, "pre", "ignore_merges", false, &whole)
        || !list_of(g, KEY("merges"), -1, &merges))
        return false;
    json_t *root = keep(
        g->r, json_pack("{s:{s:s, s:{}, s:O, s:b}, s:[], s:O?, s:O, s:{s:s}}",
                        "model", "type", "BPE", "vocab", "merges", merges,
                        "ignore_merges", whole, "added_tokens", "normalizer",
                        json_object_get(row, "normalizer"), "pre_tokenizer",
                        json_object_get(row, "pre_tokenizer"), "decoder",
                        "type", "ByteLevel"));
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    if (!put_tokens(g, vocab, json_object_get(root, "added_tokens"))
        || !tokenizer_json_read(g->r, root))
        return false;
    decode_letters(g->r);
    return true;
}

/* ---- words ---- */

/* Returns a token in the format of a WordPiece vocabulary: "[CLS]" unchanged,
 * the beginning of a word without its space mark, a continuation with "##". */
static const char *word_of(GgufTokens *g, int64_t i)
{
    static const char mark[] = "\xe2\x96\x81";
    const Text t = gguf_text_in(g->tokens, i);
    const bool bracket = t.n > 1 && t.at[0] == '[' && t.at[t.n - 1] == ']';
    if (gguf_type_of(g, i) != PieceNormal || bracket)
        return t.at;
    if (t.n > 3 && !strncmp(t.at, mark, 3))
        return t.at + 3;
    return arena_printf(g->r->arena, "##%s", t.at);
}

static bool put_words(GgufTokens *g, json_t *vocab, json_t *added)
{
    for (int64_t i = 0; i < g->n; i++) {
        const Text t = gguf_text_in(g->tokens, i);
        if (t.n == 0 || memchr(t.at, 0, t.n))
            return refuse(g->r, KEY("tokens[%lld]") " is empty or has a NUL",
                          (long long)i);
        const char *word = word_of(g, i);
        const json_t *old = json_object_get(vocab, word);
        if (old)
            return refuse(g->r,
                          KEY("tokens[%lld]") " is token %lld again, '%s'",
                          (long long)i, (long long)json_integer_value(old),
                          quote(word));
        json_object_set_new(vocab, word, json_integer(i));
        put_added(g, added, i);
    }
    return true;
}

/* Finds an id by the first of two keys that is set or, if neither is, by the
 * word. Returns false after an error. */
static bool gguf_special_id(GgufTokens *g, const json_t *vocab,
                            const char *const keys[2], const char *word,
                            int32_t *id)
{
    *id = -1;
    for (int i = 0; i < 2 && *id < 0; i++)
        if (!read_id(g, keys[i], id))
            return false;
    const json_t *found = json_object_get(vocab, word);
    if (*id < 0 && found)
        *id = (int32_t)json_integer_value(found);
    return *id >= 0
        || refuse(g->r, "%s: the file names no such token, nor has it '%s'",
                  keys[0], word);
}

/* Adds the template [CLS] $A [SEP]; for a pair also $B [SEP], of type 1. */
static bool put_word_template(GgufTokens *g, const json_t *vocab)
{
    static const char *const begins[] = { KEY("cls_token_id"),
                                          KEY("bos_token_id") };
    static const char *const ends[] = { KEY("seperator_token_id"),
                                        KEY("eos_token_id") };
    if (!gguf_special_id(g, vocab, begins, "[CLS]", &g->begin)
        || !gguf_special_id(g, vocab, ends, "[SEP]", &g->end))
        return false;
    const int32_t row[] = { g->begin, -1, g->end, -2, g->end };
    for (int i = 0; i < 3; i++)
        if (!template_put(g->r, "the template", false, row[i], 0))
            return false;
    for (int i = 0; i < 5; i++)
        if (!template_put(g->r, "the template", true, row[i], i > 2))
            return false;
    return true;
}

/* Reads a WordPiece as an equivalent tokenizer.json. llama.cpp always converts
 * text to lower case. */
static bool read_gguf_words(GgufTokens *g)
{
    json_t *root = keep(
        g->r,
        json_pack("{s:{s:s, s:{}, s:s, s:s, s:i}, s:[], s:{s:s, s:b, "
                  "s:b, s:b}, s:{s:s}, s:{s:s, s:s, s:b}}",
                  "model", "type", "WordPiece", "vocab", "unk_token",
                  g->unknown < 0 ? "[UNK]" : word_of(g, g->unknown),
                  "continuing_subword_prefix", "##", "max_input_chars_per_word",
                  100, "added_tokens", "normalizer", "type", "BertNormalizer",
                  "clean_text", true, "handle_chinese_chars", true, "lowercase",
                  true, "pre_tokenizer", "type", "BertPreTokenizer", "decoder",
                  "type", "WordPiece", "prefix", "##", "cleanup", true));
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    return put_words(g, vocab, json_object_get(root, "added_tokens"))
        && tokenizer_json_read(g->r, root) && put_word_template(g, vocab);
}

/* ---- file ---- */

/* Adds the template bos $A eos. For a pair, each text is enclosed in bos and
 * eos. */
static bool put_gguf_template(GgufTokens *g)
{
    const char *const keys[] = { KEY("add_bos_token"), KEY("add_eos_token") };
    const int32_t ids[] = { g->begin, g->end };
    bool adds[2];
    for (int i = 0; i < 2; i++) {
        if (!json_flag(g->r, g->metadata, "the file", keys[i],
                       i == 0 ? g->adds_begin : g->adds_end, &adds[i]))
            return false;
        if (adds[i] && ids[i] < 0)
            return refuse(g->r, "%s: the file names no such token", keys[i]);
    }
    if (!adds[0] && !adds[1])
        return true;
    for (int row = 0; row < 3; row++) { /* single text; both of a pair */
        const bool pair = row > 0;
        const int32_t text = row == 2 ? -2 : -1;
        if ((adds[0] && !template_put(g->r, keys[0], pair, g->begin, 0))
            || !template_put(g->r, "the template", pair, text, 0)
            || (adds[1] && !template_put(g->r, keys[1], pair, g->end, 0)))
            return false;
    }
    return true;
}

static bool read_as_pieces(GgufTokens *g, const VocabularyFrom *from)
{
    (void)from;
    return read_gguf_pieces(g, PiecesMerges) && put_gguf_template(g);
}

static bool read_as_unigram(GgufTokens *g, const VocabularyFrom *from)
{
    (void)from;
    return read_gguf_pieces(g, PiecesUnigram) && put_gguf_template(g);
}

static bool read_as_merges(GgufTokens *g, const VocabularyFrom *from)
{
    const json_t *row = row_of(g, from);
    return row && read_gguf_merges(g, row) && put_gguf_template(g);
}

static bool read_as_words(GgufTokens *g, const VocabularyFrom *from)
{
    (void)from;
    return read_gguf_words(g);
}

static bool read_model(GgufTokens *g, const VocabularyFrom *from,
                       const char *model)
{
    static const struct {
        const char *name;
        bool (*read)(GgufTokens *g, const VocabularyFrom *from);
    } models[] = {
        { "llama", read_as_pieces },
        { "gpt2", read_as_merges },
        { "t5", read_as_unigram },
        { "bert", read_as_words },
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(model, models[i].name) == 0)
            return read_lists(g) && read_ids(g) && models[i].read(g, from);
    return refuse(g->r,
                  KEY("model") ": a tokenizer '%s' is not read from such a "
                               "file: import the folder that it was made "
                               "of",
                  quote(model));
}

static void fill(const GgufTokens *g, Vocabulary *v)
{
    const Tokenizer *t = &g->r->t;
    *v = (Vocabulary){ .tokens = v->tokens,
                       .size = t->tokens - t->extra,
                       .begin = g->begin,
                       .end = g->end,
                       .pad = g->pad,
                       .unknown = g->unknown,
                       .mask = -1,
                       .class_token = -1,
                       .separator = -1,
                       .language = -1,
                       .template_adds = t->singles > 1,
                       .kind = g->r->kind };
}

bool vocabulary_of_gguf(const VocabularyFrom *from, Vocabulary *v, bool *found,
                        Fault *why)
{
    Reader r;
    GgufTokens g = { .r = &r };
    *v = (Vocabulary){ 0 };
    *found = false;
    *why = (Fault){ 0 };
    json_t *metadata = gguf_metadata(from->folder, why);
    const char *model = json_string_value(
        json_object_get(metadata, KEY("model")));
    if (!metadata)
        return false;
    reader_open(&r, why);
    vec_push(r.arena, &r.json, metadata);
    r.path = r.t.path = from->folder;
    g.metadata = metadata;
    *found = model && strcmp(model, "none") != 0;
    bool ok = !*found || read_model(&g, from, model);
    v->tokens = ok ? r.t.tokens - r.t.extra : 0;
    if (ok && *found && tokens_fit(&r, from->size)) {
        r.t.special = (VocabTokens){ .split = r.t.special.split,
                                     .start = g.begin,
                                     .end = g.end,
                                     .pad = g.pad,
                                     .unknown = g.unknown,
                                     .append_end = r.t.special.append_end };
        fill(&g, v);
        v->block = tokenizer_block(&r.t, &v->bytes, why);
    }
    reader_close(&r);
    return ok && (!*found || v->block);
}
