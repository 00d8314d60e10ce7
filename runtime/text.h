/* text.h: text in and out of a model: vocabularies as blocks of bytes, kinds of
 * tokenizers, decoding that streams; and the file that holds packed weights
 * beside them. A part of core.h, which includes it.                         */
#ifndef ATTN_TEXT_1
#define ATTN_TEXT_1

#include "core.h"

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
/* Bytes of memory for a line of that many, or an error. */
ATTN_API int64_t attn_vocab_encode_bytes(const void *block, int64_t bytes);
/* Ids of one text. Returns their number, or an error: where it is about the
 * text (ATTN_ERROR_UNKNOWN, and no token stands for such; ATTN_ERROR_UTF8, but
 * merges with byte pieces take any bytes) *bad is the byte. Not more ids than
 * the text has bytes, and two. begun: the text goes on where another ended, so
 * that merges put no space in front of it.                                  */
ATTN_API int64_t attn_vocab_encode(const void *block, const char *line,
                                   int64_t bytes, int64_t begun, int32_t *ids,
                                   int64_t cap, void *memory, int64_t *bad);

/* -------------------------------------------------------------- text.c --- */
enum { ATTN_STOP_BYTES = 240 }; /* a stop string has no more */

struct attn_text { /* a text that grows token by token */
    const void *block;
    const char *const *stop; /* strings that end it; they are not in it */
    int64_t stops;
    int64_t begun;   /* something stands before the next token */
    int64_t stopped; /* a stop string came */
    int64_t held;    /* bytes that are not given out yet */
    char hold[ATTN_STOP_BYTES + 16];
};
/* begun: the text goes on where another ended. 0, or an error. */
ATTN_API int attn_text_open(struct attn_text *t, const void *block,
                            const char *const *stop, int64_t stops,
                            int64_t begun);
/* The bytes that a token lets out, or an error. */
ATTN_API int64_t attn_text_add(struct attn_text *t, int32_t id, char *out,
                               int64_t cap);
/* The bytes that are still held, or an error. */
ATTN_API int64_t attn_text_end(struct attn_text *t, char *out, int64_t cap);
/* Text of ids; NUL-terminated; returns its length without NUL, or an error. */
ATTN_API int64_t attn_vocab_decode(const void *block, const int32_t *ids,
                                   int64_t n, char *out, int64_t cap);

/* ------------------------------------------------------------ packed.c --- */
/* The head of model.weights: one page, then the packed weights, then the
 * vocabularies, each at a multiple of 64 bytes.                             */
struct attn_packed_header {
    char magic[8];     /* "ATTNCW02" */
    uint64_t page;     /* hash of all that follows in this page */
    uint64_t contents; /* of all behind the page; 0: of a file that
                          is inside a program, which has no hash */
    uint64_t hash;     /* weights_hash of the model it is for */
    int64_t bytes;     /* of the whole file */
    int64_t weights_at, weights_bytes;
    int64_t weight_bits;                         /* as the model's */
    int64_t source_vocab_at, source_vocab_bytes; /* 0: none */
    int64_t target_vocab_at, target_vocab_bytes;
    char name[136]; /* of the model */
};
enum {
    ATTN_PACKED_PAGE = 4096,
    ATTN_PACKED_TEXT = 512 /* of a message, at most */
};
ATTN_API uint64_t attn_packed_page(const void *file); /* as in its header */
/* NULL when `file` is a weights file for `m`, else what is wrong, a text in
 * why[ATTN_PACKED_TEXT]. hashed: all of it is read, and its contents are held
 * to their hash.                                                            */
ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes,
                                       int64_t hashed, char *why);
/* Checks model.weights, which lies at `file`, at a multiple of 64 bytes, and
 * fills `bound`, bound_bytes of memory at a multiple of 8. NULL, or what is
 * wrong with it, a text in `bound`. Its contents are held to their hash, for
 * which all of it is read; inside a C file they have none.                  */
ATTN_API const char *attn_open(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes);
/* The same without that hash: weights that are mapped come from the disk as
 * they are used, and what was damaged there is not seen.                    */
ATTN_API const char *attn_open_lazily(const struct attn_model *m, void *bound,
                                      const void *file, int64_t bytes);
/* Where the weights lie in a file that was opened; NULL: it is none. */
ATTN_API const void *attn_packed_weights(const void *file);
/* The vocabulary of the source, or of the target (target: 1), in a file that
 * was opened; NULL: there is none. It is the `block` of the functions below. */
ATTN_API const void *attn_vocab(const struct attn_model *m, const void *file,
                                int64_t target);

#endif
