/* packed.c: fuzzes opening of model.weights, as a program does it: checks that
 * it is complete and of this model, and then uses its vocabularies.
 *
 * An input has a byte that tells whether it is sealed, then the file without
 * the zeros of its first page. Sealing sets the fields that a writer would
 * set. */
#define _POSIX_C_SOURCE 200809L  /* posix_memalign */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer.h"
#include "fuzz.h"

enum { BitBare = 1, BitVocab = 2, BitMore = 4, BitLazy = 8, BitOther = 16 };

static const size_t head_bytes = sizeof(struct attn_packed_header);

static void bind(void *bound, const void *packed)
{
    *(const void **)bound = packed;
}

static const char *target_of(const void *bound)
{
    return bound ? "generic" : NULL;
}

static const struct attn_model model = {
    .name = "packed",
    .command = "attnc compile",
    .bind = bind,
    .target = target_of,
    .bound_bytes = ATTN_PACKED_TEXT,
    .weights_bytes = 192,
    .dtype = "f32",
    .weights_hash = 0x1234567890abcdefu,
    .source_vocab = 3,
    .target_vocab = 4,
};

/* `other`: it may be a file of another model. */
static void seal(char *file, size_t n, bool other)
{
    struct attn_packed_header h;
    memcpy(&h, file, sizeof h);
    memcpy(h.magic, "ATTNCW03", sizeof h.magic);
    h.bytes = (int64_t)n;
    if (!other) {
        h.hash = model.weights_hash;
        h.weights_bytes = model.weights_bytes;
        memcpy(h.dtype, "f32", sizeof "f32");
    }
    if (n >= ATTN_PACKED_PAGE)
        h.contents = attn_hash(file + ATTN_PACKED_PAGE,
                               h.bytes - ATTN_PACKED_PAGE, 0);
    memcpy(file, &h, sizeof h);
    if (n >= ATTN_PACKED_PAGE)
        h.page = attn_packed_page(file);
    memcpy(file, &h, sizeof h);
}

/* ---- use ---- */
typedef struct {
    char *file;
    int64_t bytes;
    bool lazy;
} Input;

static void use_vocab(const char *block)
{
    static const char line[] = "a b ab \xc3\xa9";
    char text[256], memory[4096];
    int32_t ids[sizeof line + 2];
    int64_t bad;
    const int64_t n = attn_vocab_encode(block, line, sizeof line - 1, 0, ids,
                                        sizeof line + 1, memory, &bad);
    if (attn_vocab_encode_bytes(block, sizeof line - 1) > 4096)
        fuzz_wrong("a line takes more than a page");
    if (n > 0)
        attn_vocab_decode(block, ids, n, text, sizeof text);
}

static int run(void *with)
{
    const Input *in = with;
    uint64_t sum = 0, word, bound[ATTN_PACKED_TEXT / 8];
    const char *wrong = (in->lazy ? attn_bind_lazily : attn_bind)(&model, bound,
                                                                  in->file,
                                                                  in->bytes);
    if (wrong && strlen(wrong) >= sizeof bound)
        fuzz_wrong("a message that is too long");
    if (wrong)
        return ExitInput;
    const char *weights = attn_packed_weights(in->file);
    for (int64_t i = 0; i < model.weights_bytes; i += 8) {
        memcpy(&word, weights + i, 8);
        sum += word;
    }
    for (int target = 0; target < 2; target++) {
        const char *block = attn_vocab(&model, in->file, target);
        if (block)
            use_vocab(block);
    }
    return sum == 1 ? ExitInput : ExitDone; /* every word was read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const size_t page = ATTN_PACKED_PAGE,
                 head = size - 1 < head_bytes ? size - 1 : head_bytes;
    const size_t rest = size - 1 - head;
    Input in = { .bytes = (int64_t)(rest ? page + rest : head),
                 .lazy = data[0] & BitLazy };
    /* exactly its size, 64-byte aligned */
    void *file;
    if (posix_memalign(&file, 64, (size_t)in.bytes + (size_t)!in.bytes))
        return 0;
    in.file = file;
    memset(in.file, 0, (size_t)in.bytes);
    memcpy(in.file, data + 1, head);
    if (rest)
        memcpy(in.file + page, data + 1 + head, rest);
    if (!(data[0] & BitBare) && head == head_bytes)
        seal(in.file, (size_t)in.bytes, data[0] & BitOther);
    fuzz_run(run, &in);
    free(in.file);
    return 0;
}

/* ---- mutator ---- */
static size_t add_vocab(char *at, const char *text, bool json)
{
    const VocabTokens t = { 0, -1, -1, -1, -1, 0 };
    const char *path = json ? "v.json" : "v";
    int64_t n;
    Fault why;
    fuzz_files_clear();
    fuzz_file(path, text, strlen(text));
    void *block = vocab_load(path, -1, &t, &n, &why);
    memcpy(at, block, (size_t)n);
    free(block);
    return (size_t)n;
}

/* Makes a complete file, which random bytes would never be. */
static size_t some_file(uint8_t *data, FuzzDice *d)
{
    static const char pieces[] =
        "{\"type\":\"bpe-by-score\",\"pieces\":["
        "{\"id\":0,\"text\":\"a\",\"kind\":\"normal\",\"score\":1},"
        "{\"id\":1,\"text\":\" a\",\"kind\":\"normal\",\"score\":2},"
        "{\"id\":2,\"text\":\"b\",\"kind\":\"normal\",\"score\":3},"
        "{\"id\":3,\"text\":\"<u>\",\"kind\":\"unknown\",\"score\":0}]}";
    struct attn_packed_header h = { .weights_at = ATTN_PACKED_PAGE };
    char *body = (char *)data + 1 + head_bytes;
    size_t at = (size_t)model.weights_bytes;
    const uint8_t bits = (uint8_t)(fuzz_dice(d, 4) * 2);
    memset(data, 0, 2048);
    if (bits & BitVocab) {
        h.source_vocab_at = ATTN_PACKED_PAGE + (int64_t)at;
        const size_t n = add_vocab(body + at, "a\nb\nab\n", false);
        h.source_vocab_bytes = (int64_t)n;
        at = (at + n + 63) / 64 * 64;
    }
    if (bits & BitMore) {
        h.target_vocab_at = ATTN_PACKED_PAGE + (int64_t)at;
        const size_t n = add_vocab(body + at, pieces, true);
        h.target_vocab_bytes = (int64_t)n;
        at = (at + n + 63) / 64 * 64;
    }
    memcpy(data + 1, &h, sizeof h);
    return 1 + head_bytes + at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 256);
    const uint32_t words = (uint32_t)head_bytes / 8;
    if (most >= 4096 && (what == 0 || size < head_bytes + 1))
        return some_file(data, &d);
    if (size <= 1 + head_bytes || what < 32)
        return LLVMFuzzerMutate(data, size, most);
    if (what < 48) {
        static const uint8_t bits[] = { BitBare, BitLazy, BitOther };
        data[0] ^= bits[fuzz_dice(&d, 3)];
    } else if (what < 128) { /* a number of the head: any, or a near one */
        int64_t x;
        uint8_t *at = data + 1 + 8 * fuzz_dice(&d, words);
        memcpy(&x, at, 8);
        x = fuzz_dice(&d, 2)
              ? fuzz_number(&d)
              : (int64_t)((uint64_t)x + 64 * fuzz_dice(&d, 5) - 128);
        memcpy(at, &x, 8);
    } else {
        size = fuzz_change(data, size, most, 1 + head_bytes,
                           size - 1 - head_bytes);
    }
    return size;
}
