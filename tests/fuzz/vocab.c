/* vocab.c: fuzzes a vocabulary: a file of lines, a SentencePiece model, JSON,
 * the block of a weights file, or the files of a checkpoint directory. It
 * converts a text to tokens and back.
 *
 * An input has a byte for the kind and five for the special tokens, and then,
 * each after a line of `%%`, the file, the text, a stop string, and merges.txt.
 * For a directory the file is its tokenizer_config.json, and after merges.txt
 * come tokenizer.json, vocab.json, and one file under all other names that
 * classes use; a file that begins with GGUF is a llama.cpp file. For the other
 * kinds, what follows merges.txt changes the block: pairs of an offset and a
 * word, 4 bytes each.
 *
 * If the last of the first bytes is 64 to 127, the rest are choices from which
 * tokenizers.c generates an input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/text/embedded.h"
#include "tokenizer/block.h"
#include "fuzz.h"
#include "tokenizers.h"

typedef struct {
    const uint8_t *head;
    FuzzPart file, text, stop, changes;
} Input;

static void check_ids(const void *block, const int32_t *ids, int64_t n)
{
    const struct attn_vocab_header *h = block;
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= h->size)
            fuzz_wrong("id %d of %d tokens", ids[i], h->size);
}

/* Checks that positions are inside the text. */
static void check_places(const int32_t *places, int64_t n, int64_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        if (places[2 * i] < 0 || places[2 * i] > places[2 * i + 1]
            || places[2 * i + 1] > bytes)
            fuzz_wrong("token %lld is at %d to %d of %lld bytes", (long long)i,
                       places[2 * i], places[2 * i + 1], (long long)bytes);
}

/* Converts ids to text token by token, as for an answer. */
static void to_text(const void *block, const Input *in, const int32_t *ids,
                    int64_t n)
{
    const int64_t cap = 64 + 256 * n;
    char *stop = malloc(in->stop.n + 1), *out = malloc((size_t)cap);
    const char *stops[] = { stop };
    struct attn_text t;
    if (in->stop.n)
        memcpy(stop, in->stop.at, in->stop.n);
    stop[in->stop.n] = 0;
    if (attn_text_open(&t, block, stops, *stop != 0, in->head[0] / 8 % 2)
        == 0) {
        int64_t at = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t more = attn_text_add(&t, ids[i], out + at, cap - at);
            at += more > 0 ? more : 0;
        }
        attn_text_end(&t, out + at, cap - at);
    }
    attn_vocab_decode(block, ids, n, out, cap);
    free(stop);
    free(out);
}

static void use(const void *block, const Input *in)
{
    const int64_t bytes = (int64_t)in->text.n;
    const int64_t room = attn_vocab_encode_bytes(block, bytes);
    const int64_t most = attn_vocab_most_ids(block, bytes);
    const int64_t cap = in->head[0] / 16 % 2 ? bytes / 2 : attn_max(most, 0);
    const int64_t how = in->head[0] / 32 % 8;
    char *line = malloc((size_t)bytes + !bytes);
    void *memory = malloc((size_t)room + !room);
    int32_t *ids = malloc((size_t)(cap + !cap) * sizeof *ids);
    int32_t *places = malloc((size_t)(cap + !cap) * 2 * sizeof *places);
    int64_t bad = 0;
    if (bytes)
        memcpy(line, in->text.at, (size_t)bytes);
    const int64_t n = attn_vocab_encode_offsets(block, line, bytes, how, ids,
                                                places, cap, memory, &bad);
    if (n == -1 && cap == most)
        fuzz_wrong("%lld bytes have no room for their ids", (long long)bytes);
    if (n < -1 && (bad < 0 || bad > bytes))
        fuzz_wrong("the bad byte is at %lld", (long long)bad);
    if (n >= 0) {
        check_ids(block, ids, n);
        check_places(places, n, bytes);
        to_text(block, in, ids, n);
    }
    free(line);
    free(memory);
    free(ids);
    free(places);
}

/* Checks that every token of our own lists is found by its text; other tools
 * have tokens that no text produces. */
static void check_tokens(const void *block, int from)
{
    const struct attn_vocab_header *h = block;
    const bool made = from == Lines
                        ? h->kind == ATTN_CHARACTERS || h->kind == ATTN_SPACES
                        : from == Json && h->kind == ATTN_MERGES;
    for (int32_t id = 0; id < h->size; id++) {
        int64_t n;
        const char *text = attn_vocab_token(block, id, &n);
        const int32_t found = attn_vocab_find(block, text, n);
        if (found != id && made)
            fuzz_wrong("token %d is not found by its text", id);
    }
}

/* Returns a block made from others, or NULL if it is rejected. */
static void *take_block(const FuzzPart *file, int64_t *bytes)
{
    void *block = malloc(file->n + !file->n);
    *bytes = (int64_t)file->n;
    if (file->n)
        memcpy(block, file->at, file->n);
    if (!attn_vocab_check(block, *bytes))
        return block;
    free(block);
    return NULL;
}

static bool is_gguf(const FuzzPart *file)
{
    return file->n > 4 && memcmp(file->at, "GGUF", 4) == 0;
}

static void *load_folder(const Input *in, int64_t *bytes, Fault *why)
{
    const bool gguf = is_gguf(&in->file);
    VocabularyFrom from = { .folder = gguf ? "tests/fuzz/v.gguf" : "tests/fuzz",
                            .side = (TextSide)((uint8_t)in->head[1] % 3),
                            .size = (signed char)in->head[2] };
    Vocabulary v;
    bool found;
    from.classes = embedded_text(gguf ? "import/gguf_splitting.json"
                                      : "import/tokenizers.json",
                                 &from.classes_bytes);
    if (!(gguf ? vocabulary_of_gguf : vocabulary_of_folder)(&from, &v, &found,
                                                            why)
        || !found)
        return NULL;
    *bytes = v.bytes;
    return v.block;
}

static void *load(const Input *in, int64_t *bytes, int *code)
{
    Fault why = { .code = ExitInput };
    void *block = NULL;
    if (in->head[0] % Kinds == Block) {
        block = take_block(&in->file, bytes);
    } else if (in->head[0] % Kinds == Folder) {
        block = load_folder(in, bytes, &why);
    } else {
        const signed char *special = (const signed char *)in->head + 1;
        const VocabTokens t = {
            .split = in->head[0] / 4 % 2,
            .start = special[0],
            .end = special[1],
            .pad = special[2],
            .unknown = special[3],
            .append_end = special[4] & 1,
        };
        const char *path = in->head[0] % Kinds == Json ? "v.json" : "v";
        const int64_t count = vocab_count(path, &why);
        block = vocab_load(path, special[4] & 2 ? count : -1, &t, bytes, &why);
    }
    const char *wrong = block ? attn_vocab_check(block, *bytes) : NULL;
    if (wrong)
        fuzz_wrong("a block that was made is refused: %s", wrong);
    *code = block ? ExitDone : why.code;
    return block;
}

/* Changes words of the block; an odd offset is one in its head. */
static void change_words(void *block, int64_t bytes, const FuzzPart *changes)
{
    for (size_t i = 0; i + 8 <= changes->n; i += 8) {
        uint32_t at;
        memcpy(&at, changes->at + i, 4);
        const uint32_t words = at % 2 ? sizeof(struct attn_vocab_header) / 4
                                      : (uint32_t)(bytes / 4);
        memcpy((char *)block + 4 * (at / 2 % words), changes->at + i + 4, 4);
    }
}

static int run(void *with)
{
    const Input *in = with;
    int64_t bytes;
    int code, from = in->head[0] % Kinds;
    void *block = load(in, &bytes, &code);
    if (in->file.n > 4 && memcmp(in->file.at, "ATTN", 4) == 0)
        from = Block;
    if (block && in->changes.n >= 8) {
        change_words(block, bytes, &in->changes);
        from = Block;
        if (attn_vocab_check(block, bytes)) {
            free(block);
            return ExitInput;
        }
    }
    if (block) {
        check_tokens(block, from);
        use(block, in);
    }
    free(block);
    return code;
}

/* Adds the files of a directory; the last one under many names. */
static void hold_folder(const FuzzPart *part)
{
    static const struct {
        const char *path;
        int part;
    } rows[] = { { "tests/fuzz/v.gguf", 0 },
                 { "tests/fuzz/tokenizer_config.json", 0 },
                 { "tests/fuzz/merges.txt", 3 },
                 { "tests/fuzz/tokenizer.json", 4 },
                 { "tests/fuzz/vocab.json", 5 },
                 { "tests/fuzz/vocab.txt", 6 },
                 { "tests/fuzz/spiece.model", 6 },
                 { "tests/fuzz/source.spm", 6 },
                 { "tests/fuzz/target.spm", 6 },
                 { "tests/fuzz/tokenizer.model", 6 },
                 { "tests/fuzz/sentencepiece.bpe.model", 6 },
                 { "tests/fuzz/added_tokens.json", 7 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (part[rows[i].part].n)
            fuzz_file(rows[i].path, part[rows[i].part].at,
                      part[rows[i].part].n);
}

/* True if the input is generated from choices. */
static bool is_made(const uint8_t *data)
{
    return data[Specials - 1] >> 6 == 1;
}

static void test_input(const uint8_t *data, size_t size)
{
    FuzzPart part[8] = { { NULL, 0 } };
    fuzz_parts(part, data + Specials, size - Specials);
    Input in = { data, part[0], part[1], part[2], { NULL, 0 } };
    fuzz_files_clear();
    fuzz_file("v", in.file.at, in.file.n);
    fuzz_file("v.json", in.file.at, in.file.n);
    if (part[3].n)
        fuzz_file("merges.txt", part[3].at, part[3].n);
    if (*data % Kinds == Folder)
        hold_folder(part);
    else
        in.changes = part[4];
    fuzz_run(run, &in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t made[1 << 16];
    if (size < Specials)
        return -1;
    if (is_made(data)) {
        size = tokenizer_make(made, sizeof made, data + Specials,
                              size - Specials);
        data = made;
    }
    if (size)
        test_input(data, size);
    return 0;
}

/* ---- mutator ---- */

/* Numbers pieces consecutively, because random lists rarely are. */
static size_t number_pieces(uint8_t *data, size_t size, size_t most)
{
    static const char key[] = "\"id\":";
    int id = 0;
    for (size_t at = 0; at + sizeof key < size; at++) {
        char text[16];
        if (memcmp(data + at, key, sizeof key - 1) != 0)
            continue;
        at += sizeof key - 1;
        size_t end = at;
        while (end < size && data[end] >= '0' && data[end] <= '9')
            end++;
        const size_t n = (size_t)snprintf(text, sizeof text, "%d", id++);
        if (size + n > most)
            return size;
        memmove(data + at + n, data + end, size - end);
        memcpy(data + at, text, n);
        size += n - (end - at);
    }
    return size;
}

/* Inserts a piece, or a member of one, before a random one. */
static size_t add_piece(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    static const char *const kinds[] = { "normal", "normal", "normal",  "byte",
                                         "begin",  "end",    "unknown", "x" };
    static const char *const texts[] = { "a",      "b",       "ab",
                                         " ",      " a",      " ab",
                                         "ba",     "aba",     "<0x61>",
                                         "<0x0G>", "\\u00e9", "\\ud83d\\ude00",
                                         "<s>",    "",        "\\u0000" };
    char text[128];
    const size_t n = (size_t)
        snprintf(text, sizeof text,
                 "{\"id\":0,\"text\":\"%s\",\"kind\":\"%s\","
                 "\"score\":%d},",
                 texts[fuzz_dice(d, sizeof texts / sizeof *texts)],
                 kinds[fuzz_dice(d, 8)], (int)fuzz_dice(d, 5) - 2);
    size_t at = Specials + fuzz_dice(d, (uint32_t)(size - Specials));
    while (at > Specials && data[at] != '{')
        at--;
    if (size + n > most || at == Specials)
        return size;
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, text, n);
    return number_pieces(data, size + n, most);
}

/* Replaces a number in the head or the tables of a block, and corrects its
 * size. */
static size_t change_block(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    FuzzPart part[8];
    fuzz_parts(part, data + Specials, size - Specials);
    uint8_t *block = data + Specials;
    size_t n = part[0].n;
    const size_t words = n / 4;
    if (words == 0 || fuzz_dice(d, 2)) {
        size = fuzz_change(data, size, most, Specials, n);
        fuzz_parts(part, data + Specials, size - Specials);
        n = part[0].n;
    } else {
        const int32_t x = (int32_t)fuzz_number(d);
        memcpy(block + 4 * fuzz_dice(d, (uint32_t)words), &x, 4);
    }
    const int64_t bytes = (int64_t)n;
    if (n >= 16 && fuzz_dice(d, 8))
        memcpy(block + 8, &bytes, 8);
    return size;
}

/* Makes a vocabulary of ranked merges, with steps, added tokens and a template.
 */
static void *ranks_block(int64_t *n, FuzzDice *d)
{
    static Token token[] = {
        { "a", 1, 0, 0.0, 0 },    { "b", 1, 1, 0.0, 0 },
        { "ab", 2, 2, 0.0, 0 },   { " ", 1, 3, 0.0, 0 },
        { " ab", 3, 4, 0.0, 0 },  { "?", 1, 5, 0.0, 0 },
        { "<s>", 3, 6, 0.0, 48 }, { "\xc3", 1, 7, 0.0, 0 },
    };
    static Merge merge[] = { { 0, 1, 2 }, { 3, 2, 4 } };
    static Added added[] = { { { "<s>", 3 }, 6, 1 },
                             { { "ab?", 3 }, 5, ATTN_ADDED_NORMALISED } };
    Tokenizer t = { .path = "t",
                    .special = { 0, 6, -1, -1, 5, 0 },
                    .kind = ATTN_RANKS,
                    .flags = (int)fuzz_dice(d, 64) & ~ATTN_MODEL_FALLBACK,
                    .token = token,
                    .tokens = 8,
                    .merge = merge,
                    .merges = 2,
                    .added = added,
                    .addeds = 2,
                    .single = { { 6, 0 }, { -1, 0 } },
                    .singles = 2 };
    Fault why;
    t.step[1][0] = (Step){ .op = 1 + (int)fuzz_dice(d, 7),
                           .flags = (int)fuzz_dice(d, 16) };
    t.step[1][1] = (Step){ .op = ATTN_STEP_TEXT + (int)fuzz_dice(d, 6),
                           .flags = (int)fuzz_dice(d, 16),
                           .text = { "b", 1 } };
    t.step[1][2] = (Step){ .op = ATTN_STEP_PREFIX + (int)fuzz_dice(d, 2),
                           .flags = (int)fuzz_dice(d, 3),
                           .text = { "a", 1 } };
    t.steps[1] = (int)fuzz_dice(d, 4);
    return tokenizer_block(&t, n, &why);
}

/* Makes the block of a few tokens, which random bytes would never be. */
static size_t some_block(uint8_t *data, size_t most, FuzzDice *d)
{
    static const char *const files[] = {
        "a\nb\nab\n \xc3\xa9\n",
        "{\"type\":\"bpe-by-score\",\"pieces\":[{\"id\":0,\"text\":\"a\","
        "\"kind\":\"normal\",\"score\":1},{\"id\":1,\"text\":\" a\","
        "\"kind\":\"normal\",\"score\":2},{\"id\":2,\"text\":\"<s>\","
        "\"kind\":\"begin\",\"score\":0}]}"
    };
    static const char behind[] = "\n%%\na ab\n%%\nb";
    const uint32_t json = fuzz_dice(d, 2);
    const uint32_t ranks = fuzz_dice(d, 2);
    const VocabTokens t = { fuzz_dice(d, 2) == 1, -1, -1, -1, 0, 0 };
    Fault why;
    int64_t n;
    fuzz_files_clear();
    fuzz_file(json ? "v.json" : "v", files[json], strlen(files[json]));
    void *block = ranks ? ranks_block(&n, d)
                        : vocab_load(json ? "v.json" : "v", -1, &t, &n, &why);
    if (!block)
        return 0;
    const size_t size = Specials + (size_t)n + sizeof behind - 1;
    if (size <= most) {
        memset(data, 0, Specials);
        data[0] = Block;
        memcpy(data + Specials, block, (size_t)n);
        memcpy(data + Specials + n, behind, sizeof behind - 1);
    }
    free(block);
    return size <= most ? size : 0;
}

/* Changes a word of the file's block; missing parts are added empty. */
static size_t add_change(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    FuzzPart part[8];
    uint32_t at = fuzz_dice(d, UINT32_MAX);
    const int32_t x = fuzz_dice(d, 2) ? (int32_t)fuzz_number(d)
                                      : (int32_t)fuzz_dice(d, 1 << 18);
    int n = fuzz_parts(part, data + Specials, size - Specials);
    for (; n < 5 && size + 4 <= most; n++, size += 4)
        memcpy(data + size, "\n%%\n", 4);
    if (n != 5 || size + 8 > most)
        return size;
    memcpy(data + size, &at, 4);
    memcpy(data + size + 4, &x, 4);
    return size + 8;
}

/* Makes new choices, or changes some of them. */
static size_t choose(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    enum { Choices = 400 };
    if (size < Specials || !is_made(data) || fuzz_dice(d, 4) == 0) {
        size = Specials + fuzz_dice(d, Choices);
        for (size_t i = 0; i < size && i < most; i++)
            data[i] = (uint8_t)fuzz_dice(d, 256);
        data[Specials - 1] = 64;
        return size < most ? size : most;
    }
    return fuzz_change(data, size, most, Specials, size - Specials);
}

/* Makes an input of the choices; from then on the input itself is changed. */
static size_t write_made(uint8_t *data, size_t size, size_t most)
{
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    const size_t n = tokenizer_make(data, most, copy + Specials,
                                    size - Specials);
    if (!n)
        memcpy(data, copy, size);
    free(copy);
    return n ? n : size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    if (most > Specials && fuzz_dice(&d, 4))
        return choose(data, size, most, &d);
    if (size > Specials && is_made(data))
        size = write_made(data, size, most);
    const uint32_t what = fuzz_dice(&d, 256);
    if (what == 0 && most > 512)
        return some_block(data, most, &d);
    if (size <= Specials || what < 64)
        return LLVMFuzzerMutate(data, size, most);
    if (what < 96) {
        data[fuzz_dice(&d, Specials)] = (uint8_t)(fuzz_dice(&d, 10) - 1);
        return size;
    }
    if (what < 128 && data[0] % Kinds != Folder && data[0] % Kinds != Block)
        return add_change(data, size, most, &d);
    switch (data[0] % Kinds) {
    case Json:
        return what < 200
                 ? add_piece(data, size, most, &d)
                 : fuzz_change(data, size, most, Specials, size - Specials);
    case Block: return change_block(data, size, most, &d);
    default:    return fuzz_change(data, size, most, Specials, size - Specials);
    }
}
