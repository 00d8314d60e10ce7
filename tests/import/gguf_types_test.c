/* gguf_types_test.c: tests that a llama.cpp file with quantised tensors has the
 * logits, bit by bit, of the same file with the dequantised numbers in F32, and
 * that numbers that are not finite are reported with the place of their block.
 */
#define _GNU_SOURCE
#include "import/import.h"
#include "oracle/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define BYTES_MOST (1 << 21)
#include "support/aot.h"
#include "support/gguf_bytes.h"

enum { Width = 256, Vocab = 16, F32 = 0, Q4_K = 12, Q6_K = 14, MXFP4 = 39 };
enum { Ids = 5, NoBlock = -1 };

typedef struct { /* a tensor of the file, as llama-quantize types it */
    const char *name;
    unsigned type;
    int rows;
} Stored;
static const Stored entries[] = {
    { "token_embd.weight", Q6_K, Vocab },
    { "blk.0.attn_q.weight", Q4_K, Width },
    { "blk.0.attn_k.weight", Q4_K, Width },
    { "blk.0.attn_v.weight", Q6_K, Width },
    { "blk.0.attn_output.weight", Q4_K, Width },
    { "blk.0.ffn_gate.weight", Q4_K, Width },
    { "blk.0.ffn_up.weight", MXFP4, Width },
    { "blk.0.ffn_down.weight", Q6_K, Width },
    { "blk.0.attn_norm.weight", F32, 1 },
    { "blk.0.ffn_norm.weight", F32, 1 },
    { "output_norm.weight", F32, 1 },
};
enum { Entries = sizeof entries / sizeof *entries };

static void put_string(Bytes *b, const char *key, const char *value)
{
    put_text(b, key);
    put_number(b, 8, 4);
    put_text(b, value);
}

static void put_metadata(Bytes *b)
{
    *b = head(3, Entries, 12);
    put_string(b, "general.architecture", "llama");
    put_string(b, "tokenizer.ggml.model", "none");
    put_pair(b, "llama.context_length", 4, 16, 4);
    put_pair(b, "llama.embedding_length", 4, Width, 4);
    put_pair(b, "llama.feed_forward_length", 4, Width, 4);
    put_pair(b, "llama.block_count", 4, 1, 4);
    put_pair(b, "llama.attention.head_count", 4, 4, 4);
    put_pair(b, "llama.attention.head_count_kv", 4, 4, 4);
    put_pair(b, "llama.vocab_size", 4, Vocab, 4);
    put_pair(b, "llama.rope.dimension_count", 4, Width / 4, 4);
    put_pair(b, "llama.attention.layer_norm_rms_epsilon", 6, 0x3a800000, 4);
    put_pair(b, "llama.rope.freq_base", 6, 0x461c4000, 4); /* 10000 */
}

static size_t row_bytes(unsigned type)
{
    switch (type) {
    case Q4_K:  return 144;
    case Q6_K:  return 210;
    case MXFP4: return 8 * 17;
    default:    return 4 * Width;
    }
}

static void put_entries(Bytes *b, bool widened)
{
    size_t offset = 0;
    for (int i = 0; i < Entries; i++) {
        const unsigned type = widened ? F32 : entries[i].type;
        put_text(b, entries[i].name);
        put_number(b, entries[i].rows > 1 ? 2 : 1, 4);
        put_number(b, Width, 8);
        if (entries[i].rows > 1)
            put_number(b, (uint64_t)entries[i].rows, 8);
        put_number(b, type, 4);
        put_number(b, offset, 8);
        offset += (row_bytes(type) * (size_t)entries[i].rows + 31) / 32 * 32;
    }
    align(b, 32);
}

/* Writes random bytes whose scales give weights of about 0.1. */
static void put_row(Bytes *b, unsigned type, uint64_t *dice)
{
    unsigned char row[4 * Width];
    const float one = 1;
    for (size_t i = 0; i < row_bytes(type); i++) {
        *dice = *dice * 6364136223846793005u + 1442695040888963407u;
        row[i] = (unsigned char)(*dice >> 56);
    }
    if (type == Q4_K)
        memcpy(row, (unsigned char[]){ 0, 0x0c, 0, 0x18 }, 4);
    if (type == Q6_K)
        memcpy(row + 208, (unsigned char[]){ 0, 0x04 }, 2);
    for (int i = 0; type == MXFP4 && i < 8; i++)
        row[17 * i] = 122;
    for (size_t i = 0; type == F32 && i < Width; i++)
        memcpy(row + 4 * i, &one, sizeof one);
    put(b, row, row_bytes(type));
}

/* Writes the file; f16 scale of a block of blk.0.attn_q.weight: infinite. */
static const char *quantised_file(Bytes *b, int block)
{
    uint64_t dice = 7;
    put_metadata(b);
    put_entries(b, false);
    for (int i = 0; i < Entries; i++) {
        for (int r = 0; r < entries[i].rows; r++) {
            put_row(b, entries[i].type, &dice);
            if (i == 1 && r == block)
                b->at[b->n - 144 + 1] = 0x7c;
        }
        align(b, 32);
    }
    return in_dir("quantised.gguf");
}

/* Writes the tensors of a file as F32. */
static void widen(Bytes *b, const char *from)
{
    Fault why = { 0 };
    float x[Width * Width];
    Safetensors *s = safetensors_open(from, &why);
    assert_non_null(s);
    put_metadata(b);
    put_entries(b, true);
    for (int i = 0; i < Entries; i++) {
        const Tensor *t = safetensors_find(s, entries[i].name);
        assert_non_null(t);
        tensor_floats(t, 0, t->elements, x);
        put(b, x, (size_t)t->elements * sizeof *x);
        align(b, 32);
    }
    safetensors_close(s);
}

static void save(const Bytes *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->at, 1, b->n, f), b->n);
    assert_int_equal(fclose(f), 0);
}

/* Imports a file as a user does; computes logits [Ids, Vocab]. */
static void logits_of(const char *file, float *out)
{
    Spawned s;
    Engine e;
    Trial trial = { 0 };
    const char *spec = arena_printf(a, "%s.yaml", file);
    if (RUN(&s, "", attnc(), "import", file, "-o", spec, "--quiet"))
        fail_msg("%s", s.tail);
    const EngineOptions o = { .spec = spec, .backend = "jit" };
    const int32_t ids[Ids] = { 1, 9, 4, 15, 0 }, start[2] = { 0, Ids };
    assert_int_equal(engine_open(&e, &o), ExitDone);
    const int side = sample_side(e.spec);
    Sample x = { .sequences = 1 };
    x.ids[side] = ids;
    x.start[0] = x.start[1] = start;
    assert_int_equal(result_rows(e.spec, &x) * result_columns(e.spec),
                     Ids * Vocab);
    trial_run(&trial, &e, &x, 0, out);
    trial_free(&trial);
    engine_close(&e);
}

static void logits_equal(void **state)
{
    (void)state;
    Bytes *b = arena_alloc(a, sizeof *b);
    float x[Ids * Vocab], y[Ids * Vocab];
    const char *path = quantised_file(b, NoBlock);
    save(b, path);
    logits_of(path, x);
    widen(b, path);
    save(b, in_dir("widened.gguf"));
    logits_of(in_dir("widened.gguf"), y);
    assert_memory_equal(x, y, sizeof x);
    for (int i = 1; i < Ids * Vocab; i++)
        assert_true(isfinite(x[i]) && x[i] != x[i - 1]);
}

static void names_the_block(void **state)
{
    (void)state;
    Spawned s;
    Bytes *b = arena_alloc(a, sizeof *b);
    const char *path = quantised_file(b, 3);
    save(b, path);
    const int code = RUN(&s, "1 2\n", attnc(), "run", path, "--ids");
    assert_int_equal(code, ExitInput);
    if (!strstr(s.tail, "tensor 'blk.0.attn_q.weight': ")
        || !strstr(s.tail, " of 65536 values are NaN, the first at [3, ")
        || !strstr(s.tail, "] (block 3 of Q4_K); --allow-nan permits them"))
        fail_msg("%s", s.tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(logits_equal, set_up_sharing,
                                        tear_down),
        cmocka_unit_test_setup_teardown(names_the_block, set_up_sharing,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
