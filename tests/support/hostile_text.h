/* hostile_text.h: the part of hostile_calls.c for models with vocabularies, and
 * text. */
#ifndef ATTNC_HOSTILE_TEXT_H
#define ATTNC_HOSTILE_TEXT_H

static void check_encoding(const char *block)
{
    const int ids = KIND == 2 ? 2 : 3; /* a decoder's text has no end */
    int32_t out[8], places[16];
    int64_t bad;
    char *other = array(4096);
    CALL(ATTN_ERROR_NULL, vocab_encode_bytes, NULL, 4);
    CALL(ATTN_ERROR_OPEN, vocab_encode_bytes, other, 4);
    CALL(ATTN_ERROR_ALIGNED, vocab_encode_bytes, other + 1, 4);
    CALL(ATTN_ERROR_NULL, vocab_most_ids, NULL, 4);
    CALL(ATTN_ERROR_OPEN, vocab_most_ids, other, 4);
    CALL(ATTN_ERROR_ALIGNED, vocab_most_ids, other + 1, 4);
    CALL(ATTN_ERROR_NULL, vocab_encode_offsets, NULL, "hi", 2, 0, out, places,
         8, other, &bad);
    CALL(ATTN_ERROR_OPEN, vocab_encode_offsets, other, "hi", 2, 0, out, places,
         8, other, &bad);
    CALL(ATTN_ERROR_NULL, vocab_encode, NULL, "hi", 2, 0, out, 8, other, &bad);
    CALL(ATTN_ERROR_OPEN, vocab_encode, other, "hi", 2, 0, out, 8, other, &bad);
    CALL(ATTN_ERROR_COUNT, vocab_encode_bytes, block, -1);
    CALL(ATTN_ERROR_COUNT, vocab_most_ids, block, -1);
#define OFFSETS(wanted, ...) CALL(wanted, vocab_encode_offsets, __VA_ARGS__)
    OFFSETS(ids, block, "hi", 2, 0, out, places, 8, other, &bad);
    OFFSETS(ids, block, "hi", 2, 0, out, NULL, 8, other, &bad);
    OFFSETS(ATTN_ERROR_NULL, block, NULL, 2, 0, out, places, 8, other, &bad);
    OFFSETS(ATTN_ERROR_COUNT, block, "hi", -1, 0, out, places, 8, other, &bad);
    OFFSETS(ATTN_ERROR_NULL, block, "hi", 2, 0, NULL, places, 8, other, &bad);
    OFFSETS(ATTN_ERROR_COUNT, block, "hi", 2, 0, out, places, -1, other, &bad);
    OFFSETS(ATTN_ERROR_ROOM, block, "hi", 2, 0, out, places, ids - 1, other,
            &bad);
    OFFSETS(ATTN_ERROR_NULL, block, "hi", 2, 0, out, places, 8, other, NULL);
    OFFSETS(ATTN_ERROR_UTF8, block, "\xff", 1, 0, out, places, 8, other, &bad);
    OFFSETS(ATTN_ERROR_UNKNOWN, block, "9", 1, 0, out, places, 8, other, &bad);
#define ENCODE(wanted, ...) CALL(wanted, vocab_encode, block, __VA_ARGS__)
    ENCODE(ids, "hi", 2, 0, out, 8, other, &bad);
    ENCODE(ATTN_ERROR_NULL, NULL, 2, 0, out, 8, other, &bad);
    ENCODE(ATTN_ERROR_COUNT, "hi", -1, 0, out, 8, other, &bad);
    ENCODE(ATTN_ERROR_NULL, "hi", 2, 0, NULL, 8, other, &bad);
    ENCODE(ATTN_ERROR_COUNT, "hi", 2, 0, out, -1, other, &bad);
    ENCODE(ATTN_ERROR_ROOM, "hi", 2, 0, out, ids - 1, other, &bad);
    ENCODE(ATTN_ERROR_NULL, "hi", 2, 0, out, 8, other, NULL);
    ENCODE(ATTN_ERROR_UTF8, "\xff", 1, 0, out, 8, other, &bad);
    ENCODE(ATTN_ERROR_UNKNOWN, "9", 1, 0, out, 8, other, &bad);
}

#if KIND == 0 || KIND == 2
static void check_decoding(const char *block)
{
    char out[64], *other = array(4096);
    const int32_t some[] = { 3, 4, 5 };
    CALL(ATTN_ERROR_NULL, vocab_decode, NULL, some, 3, out, 64);
    CALL(ATTN_ERROR_OPEN, vocab_decode, other, some, 3, out, 64);
    CALL(ATTN_ERROR_NULL, vocab_decode, block, NULL, 3, out, 64);
    CALL(ATTN_ERROR_COUNT, vocab_decode, block, some, -1, out, 64);
    CALL(ATTN_ERROR_NULL, vocab_decode, block, some, 3, NULL, 64);
    CALL(ATTN_ERROR_ROOM, vocab_decode, block, some, 0, out, 0);
    CALL(ATTN_ERROR_COUNT, vocab_decode, block, some, 3, out, -1);
    CALL(ATTN_ERROR_ID, vocab_decode, block, numbers(1, 1 << 30), 1, out, 64);
    CALL(ATTN_ERROR_ID, vocab_decode, block, numbers(1, -1), 1, out, 64);
}

static void check_texts_of(const char *block)
{
    struct attn_text good_text, t;
    char out[64], *other = array(4096), longest[ATTN_STOP_BYTES + 2];
    const char *stops[] = { "stop", NULL, "", longest };
    memset(longest, 'x', sizeof longest);
    longest[ATTN_STOP_BYTES + 1] = '\0';
    CALL(ATTN_ERROR_NULL, text_open, &t, NULL, NULL, 0, 0);
    CALL(ATTN_ERROR_OPEN, text_open, &t, other, NULL, 0, 0);
    CALL(ATTN_ERROR_OPEN, text_add, &t, 3, out, 64);
    CALL(ATTN_ERROR_OPEN, text_end, &t, out, 64);
    CALL(ATTN_ERROR_NULL, text_add, NULL, 3, out, 64);
    CALL(ATTN_ERROR_NULL, text_end, NULL, out, 64);
    CALL(ATTN_ERROR_NULL, text_open, NULL, block, stops, 1, 0);
    CALL(ATTN_ERROR_NULL, text_open, &t, block, NULL, 1, 0);
    CALL(ATTN_ERROR_COUNT, text_open, &t, block, stops, -1, 0);
    CALL(ATTN_ERROR_NULL, text_open, &t, block, stops + 1, 1, 0);
    CALL(ATTN_ERROR_LENGTH, text_open, &t, block, stops + 2, 1, 0);
    CALL(ATTN_ERROR_LENGTH, text_open, &t, block, stops + 3, 1, 0);
    CALL(ATTN_ERROR_OPEN, text_add, &t, 3, out, 64);
    CALL(0, text_open, &good_text, block, stops, 1, 0);
#define TEXTS(wanted, f, change, ...)                                         \
    WITH(wanted, change, t, good_text, f, __VA_ARGS__)
    TEXTS(ATTN_ERROR_OPEN, text_add, t.held = -1, &t, 3, out, 64);
    TEXTS(ATTN_ERROR_OPEN, text_add, t.held = 1 << 30, &t, 3, out, 64);
    TEXTS(ATTN_ERROR_OPEN, text_add, t.stops = -1, &t, 3, out, 64);
    TEXTS(ATTN_ERROR_OPEN, text_end, t.held = 1 << 30, &t, out, 64);
    CALL(ATTN_ERROR_ID, text_add, &good_text, -1, out, 64);
    CALL(ATTN_ERROR_ID, text_add, &good_text, 1 << 30, out, 64);
    CALL(ATTN_ERROR_NULL, text_add, &good_text, 3, NULL, 64);
    CALL(ATTN_ERROR_COUNT, text_add, &good_text, 3, out, -1);
    CALL(ATTN_ERROR_ROOM, text_add, &good_text, 3, out, 0);
    CALL(ATTN_ERROR_NULL, text_end, &good_text, NULL, 64);
    CALL(ATTN_ERROR_COUNT, text_end, &good_text, out, -1);
    if (m_text_add(&good_text, 3, out, 64) < 1)
        failed = 1;
}
#endif

#if KIND == 1
/* This vocabulary has no template for pairs. */
static void check_pairs(const char *block)
{
    int32_t out[8], types[8];
    int64_t bad;
    char *other = array(4096);
    CALL(ATTN_ERROR_NULL, vocab_most_pair_ids, NULL, 4);
    CALL(ATTN_ERROR_OPEN, vocab_most_pair_ids, other, 4);
    CALL(ATTN_ERROR_ALIGNED, vocab_most_pair_ids, other + 1, 4);
    CALL(ATTN_ERROR_COUNT, vocab_most_pair_ids, block, -1);
    CALL(ATTN_ERROR_PAIR, vocab_most_pair_ids, block, 4);
#define PAIR(wanted, ...) CALL(wanted, vocab_encode_pair, __VA_ARGS__)
    PAIR(ATTN_ERROR_NULL, NULL, "a", 1, "b", 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_OPEN, other, "a", 1, "b", 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_NULL, block, NULL, 1, "b", 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_COUNT, block, "a", -1, "b", 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_NULL, block, "a", 1, NULL, 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_COUNT, block, "a", 1, "b", -1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_NULL, block, "a", 1, "b", 1, NULL, types, 8, other, &bad);
    PAIR(ATTN_ERROR_COUNT, block, "a", 1, "b", 1, out, types, -1, other, &bad);
    PAIR(ATTN_ERROR_NULL, block, "a", 1, "b", 1, out, types, 8, other, NULL);
    PAIR(ATTN_ERROR_PAIR, block, "a", 1, "b", 1, out, types, 8, other, &bad);
    PAIR(ATTN_ERROR_PAIR, block, "a", 1, "b", 1, out, NULL, 8, other, &bad);
}
#endif

static void check_text(void)
{
    int64_t size;
    const void *file = m_embedded(&size);
    const char *block = m_vocab(file, 0);
    if (!block || m_vocab(NULL, 0) || m_vocab(array(4096), 1)
        || m_vocab((char *)&size + 1, 0))
        failed = 1;
    count("vocab", 1);
    check_encoding(block);
#if KIND == 1
    check_pairs(block);
#endif
#if KIND == 0 || KIND == 2
    check_decoding(m_vocab(file, 1));
    check_texts_of(m_vocab(file, 1));
#endif
}

#endif
