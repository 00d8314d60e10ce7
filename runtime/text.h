/* text.h: text in and out of a model: vocabularies as blocks of bytes, and the
 * kinds of tokenizers.                                                      */
#ifndef ATTN_TEXT_2
#define ATTN_TEXT_2

#include "memory.h"

/* ------------------------------------------------------------- vocab.c --- */
/* Kinds of tokenizers: each character is a token; each word between spaces;
 * pieces that are merged by score (merges.c). */
enum {
    ATTN_CHARACTERS = 0,
    ATTN_SPACES = 1,
    ATTN_MERGES = 2,
    ATTN_TOKENIZERS = 3
};
/* Kinds of pieces: text; one byte, "<0x0A>"; marks, which are no text. */
enum {
    ATTN_PIECE_NORMAL = 0,
    ATTN_PIECE_BYTE = 1,
    ATTN_PIECE_BEGIN = 2,
    ATTN_PIECE_END = 3,
    ATTN_PIECE_UNKNOWN = 4
};

/* A vocabulary as one block of bytes, made by attnc, kept in the weights file
 * or in the C file: header, offsets by id, ids in order of text, tables of its
 * kind, texts. */
struct attn_vocab_header {
    char magic[8];                    /* "ATTNVOC2" */
    int64_t bytes;                    /* of the whole block */
    int32_t size;                     /* tokens */
    int32_t kind;                     /* ATTN_CHARACTERS .. */
    int32_t start, end, pad, unknown; /* ids; -1: none */
    int32_t append_end;               /* a source line gets the end token */
    int32_t reserved;
    /* uint32_t offset[size + 1]; uint32_t sorted[size];
     * ATTN_MERGES: float score[size]; int32_t byte[256] (byte pieces, -1:
     * none); unsigned char piece[size] (ATTN_PIECE_NORMAL ..);
     * char text[];                                                          */
};
struct attn_vocab { /* the parts of a block */
    const struct attn_vocab_header *head;
    const uint32_t *offset, *sorted;
    const float *score; /* these three: ATTN_MERGES alone */
    const int32_t *byte;
    const unsigned char *piece;
    const char *text;
};
ATTN_API void attn_vocab_open(struct attn_vocab *v, const void *block);
/* Bytes of the character of UTF-8 at s; 0: none. */
ATTN_API int64_t attn_character(const char *s, int64_t left);
/* The first byte that begins no character of UTF-8; n: all are well formed. */
ATTN_API int64_t attn_utf8(const char *s, int64_t n);
/* A look at a block's first bytes: 0, or an error. */
ATTN_API int attn_check_block(const void *block);
/* NULL when well formed, else what is wrong (a static string). */
ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes);
ATTN_API int32_t attn_vocab_find(const void *block, const char *token,
                                 int64_t bytes); /* id, -1: none */
ATTN_API const char *attn_vocab_token(const void *block, int32_t id,
                                      int64_t *bytes);
/* The byte that "<0x0A>" names; -1: this names none. */
ATTN_API int attn_vocab_byte(const char *text, int64_t bytes);

/* ---------------------------------------------- merges.c, tokens.c --- */
struct attn_encoding { /* a line on its way to ids */
    struct attn_vocab vocab;
    const char *line;
    int64_t bytes;
    int32_t *ids; /* [cap], n of them found */
    int64_t cap, n;
    int64_t begun; /* the line goes on where another ended */
    int64_t bad;   /* the byte that could not be taken */
    void *memory;
};
ATTN_API int64_t attn_merges(struct attn_encoding *e);
ATTN_API int64_t attn_merges_bytes(int64_t bytes);

#endif
