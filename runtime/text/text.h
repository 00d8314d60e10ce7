/* text.h: text in and out of a model: vocabularies as blocks of bytes, the
 * steps that a text takes to its ids and back, and the models that cut it into
 * tokens.                                                                   */
#ifndef ATTN_TEXT_3
#define ATTN_TEXT_3

#include "runtime/base/memory.h"

/* ---- vocab.c ---- */

/* Models: each character is a token; each word between spaces; pieces that are
 * merged by score (merges.c).                                               */
enum {
    ATTN_CHARACTERS = 0,
    ATTN_SPACES = 1,
    ATTN_MERGES = 2,
    ATTN_RANKS = 3,
    ATTN_WORDPIECE = 4,
    ATTN_UNIGRAM = 5,
    ATTN_TOKENIZERS = 6
};
/* What a model does beside: the first symbols are bytes; bytes have pieces,
 * "<0x0A>", for characters that have none; neighbouring unknown tokens are one;
 * a whole word that is a token is it; what is not UTF-8 becomes U+FFFD, else an
 * error or raw bytes; offsets are without the spaces at a token's ends; a text
 * that does not go on gets a space in front; the first token's offsets keep one
 * space; scores and pieces of bytes are as SentencePiece's; no piece has a
 * space, or U+2581, behind another character: words are merged one by one.   */
enum {
    ATTN_MODEL_BYTES = 1,
    ATTN_MODEL_FALLBACK = 2,
    ATTN_MODEL_FUSE = 4,
    ATTN_MODEL_WHOLE = 8,
    ATTN_MODEL_REPLACE = 16,
    ATTN_MODEL_TRIM = 32,
    ATTN_MODEL_DUMMY = 64,
    ATTN_MODEL_FLOATS = 128,
    ATTN_MODEL_KEEP_FIRST = 256,
    ATTN_MODEL_APART = 512,
    ATTN_MODEL_FLAGS = 1023
};
/* Kinds of pieces: text; one byte, "<0x0A>"; marks, which are no text. */
enum {
    ATTN_PIECE_NORMAL = 0,
    ATTN_PIECE_BYTE = 1,
    ATTN_PIECE_BEGIN = 2,
    ATTN_PIECE_END = 3,
    ATTN_PIECE_UNKNOWN = 4,
    ATTN_PIECE_KIND = 15,    /* these bits; and one for each of: */
    ATTN_PIECE_SPECIAL = 16, /* no text */
    ATTN_PIECE_ADDED = 32,   /* found in a text: the model does not make it */
    ATTN_PIECE_UNUSED = 64,  /* no text becomes it */
    ATTN_PIECE_USER = 128    /* found before all else, never merged */
};

/* The parts of a block. Each lies at a multiple of 8. */
enum {
    ATTN_OFFSETS,    /* uint32_t [size + extra + 1]: where texts begin, by id */
    ATTN_TEXTS,      /* char []: as a file has them, "##ing", or bytes */
    ATTN_FIND,       /* uint32_t []: a hash table of texts: id + 1, or 0 */
    ATTN_PIECES,     /* unsigned char [size]: ATTN_PIECE_NORMAL .. */
    ATTN_SCORES,     /* float [size] of merges, double [size] of a unigram */
    ATTN_BYTES,      /* int32_t [256]: the token of a byte, -1: none */
    ATTN_BYTES_LAST, /* the same of a word's last byte, with the suffix */
    ATTN_PAIRS,      /* struct attn_pair []: a hash table of merges */
    ATTN_WORDS,      /* uint32_t []: one of words that are tokens at once */
    ATTN_STRINGS,    /* char []: arguments of steps, added tokens, .. */
    ATTN_NORMAL,     /* struct attn_step []: the normaliser */
    ATTN_SPLIT,      /* the same: what cuts a text into words */
    ATTN_DECODE,     /* the same: from tokens to text */
    ATTN_ADDED,      /* struct attn_added [] */
    ATTN_ADDED_TRIE, /* struct attn_trie: their texts */
    ATTN_TEMPLATE,   /* int32_t single, pair; struct attn_template [] */
    ATTN_CLASSES,    /* struct attn_classes: of Unicode */
    ATTN_MAPPINGS,   /* cases and normal forms of Unicode */
    ATTN_CHARMAP,    /* a precompiled map of characters */
    ATTN_MODEL_TRIE, /* the model's own */
    ATTN_SECTIONS = 24
};
struct attn_section { /* bytes from the block's first on; 0, 0: none */
    int64_t at, bytes;
};
struct attn_part { /* of ATTN_STRINGS */
    uint32_t at, bytes;
};

/* A vocabulary as one block of bytes, made by attnc, kept in the weights file
 * or in the C file. Numbers are as the machine has them.                    */
struct attn_vocab_header {
    char magic[8];                    /* "ATTNVOC3" */
    int64_t bytes;                    /* of the whole block */
    int32_t size;                     /* tokens */
    int32_t kind;                     /* ATTN_CHARACTERS .. */
    int32_t start, end, pad, unknown; /* ids; -1: none */
    int32_t append_end;               /* a source line gets the end token */
    int32_t flags;                    /* ATTN_MODEL_BYTES .. */
    struct attn_part prefix, suffix;  /* of a token inside, at the end, of a
                                         word: "##", "</w>" */
    int32_t most;                     /* characters of a word; 0: any */
    int32_t extra; /* tokens behind `size` that the model alone knows: they
                      become the unknown one */
    struct attn_section section[ATTN_SECTIONS];
};
struct attn_step {
    int32_t op, flags; /* ATTN_STEP_.. of steps.c */
    struct attn_part text, other;
};
struct attn_pair { /* a merge; left -1: an empty slot */
    int32_t left, right, rank, into;
};
struct attn_added { /* a token that is found in the text */
    struct attn_part text;
    int32_t id, flags;
};
enum {
    ATTN_ADDED_SPECIAL = 1,
    ATTN_ADDED_LSTRIP = 2,
    ATTN_ADDED_RSTRIP = 4,
    ATTN_ADDED_WORD = 8,       /* not inside of a word */
    ATTN_ADDED_NORMALISED = 16 /* in the normalised text */
};
struct attn_template {
    int32_t id, type; /* id -1: the text, -2: the second text */
};
struct attn_node {  /* of ATTN_ADDED_TRIE: 0, 1 are the roots: of the text's and
                       of the normalised text's tokens */
    uint32_t child; /* the first of `children` nodes, in order of their bytes */
    uint16_t children;
    unsigned char byte, reserved;
    int32_t row; /* of ATTN_ADDED, whose text ends here; -1: none */
};
enum {
    ATTN_STEPS = 16,         /* of a list, at most */
    ATTN_CLASS_INDEX = 4352, /* bytes in front of the classes */
    ATTN_CLASS_CATEGORY = 31,
    ATTN_CLASS_SPACE = 32, /* White_Space */
    ATTN_CLASS_WORD = 64   /* of a word, beside L, M, N and Pc */
};

struct attn_vocab { /* the parts of a block; NULL, 0: it has none */
    const struct attn_vocab_header *head;
    const uint32_t *offset, *find, *word;
    const char *text, *strings;
    const unsigned char *piece;
    const void *score;
    const int32_t *byte, *byte_last;
    const struct attn_pair *pair;
    const struct attn_step *step[3]; /* ATTN_NORMAL, ATTN_SPLIT, ATTN_DECODE */
    const struct attn_added *added;
    const struct attn_node *node;
    const int32_t *templates; /* single, pair; then the rows */
    const unsigned char *classes;
    int64_t finds, words, pairs, steps[3], addeds, nodes;
};
ATTN_API void attn_vocab_open(struct attn_vocab *v, const void *block);
/* A part and its bytes. */
ATTN_API const void *attn_vocab_section(const void *block, int64_t section,
                                        int64_t *bytes);
/* Bytes of the character of UTF-8 at s; 0: none. */
ATTN_API int64_t attn_character(const char *s, int64_t left);
/* Bytes at s, where no character is, that begin one and are not ended; or 1. */
ATTN_API int64_t attn_character_begun(const char *s, int64_t left);
/* Bytes of the character that begins so; inside of one, where a byte cut it: 1.
 * What follows holds for UTF-8 alone.                                       */
static inline int64_t attn_length(char first)
{
    const unsigned char c = (unsigned char)first;
    return 1 + (c >= 0xc0) + (c >= 0xe0) + (c >= 0xf0);
}
/* The code point at s, and its bytes; s is not at its end. */
static inline uint32_t attn_code_point(const char *at, int64_t *bytes)
{
    const unsigned char *s = (const unsigned char *)at;
    *bytes = attn_length(*at);
    if (s[0] < 0xc0)
        return s[0];
    if (s[0] < 0xe0)
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    if (s[0] < 0xf0)
        return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6
         | (s[3] & 0x3fu);
}
/* The first byte that begins no character of UTF-8; n: all are well formed. */
ATTN_API int64_t attn_utf8(const char *s, int64_t n);
/* The hashes of the block's tables, and the slot of so many, by the upper half
 * so that any number will do.                                               */
ATTN_API uint64_t attn_text_hash(const char *s, int64_t n);
static inline uint64_t attn_mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}
static inline uint64_t attn_pair_hash(int32_t left, int32_t right)
{
    return attn_mix(attn_mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right));
}
static inline int64_t attn_slot(uint64_t hash, int64_t slots)
{
    return (int64_t)((hash >> 32) * (uint64_t)slots >> 32);
}
/* A look at a block's first bytes: 0, or an error. */
ATTN_API int attn_check_block(const void *block);
ATTN_API int32_t attn_find(const struct attn_vocab *v, const char *token,
                           int64_t bytes); /* id, -1: none */
ATTN_API int32_t attn_vocab_find(const void *block, const char *token,
                                 int64_t bytes);
ATTN_API const char *attn_vocab_token(const void *block, int32_t id,
                                      int64_t *bytes);
/* The byte that "<0x0A>" names; -1: this names none. */
ATTN_API int attn_vocab_byte(const char *text, int64_t bytes);
/* A code point's byte of ATTN_CLASSES; 0: the block has none. */
ATTN_API unsigned attn_class(const struct attn_vocab *v, uint32_t c);
/* Is it of a category of this set, a bit for each (UTF8PROC_CATEGORY_LU ..)? */
enum {
    ATTN_LETTERS = 0x3e,        /* L */
    ATTN_MARKS = 0x1c0,         /* M */
    ATTN_NUMBERS = 0xe00,       /* N */
    ATTN_PUNCTUATION = 0x7f000, /* P */
    ATTN_SYMBOLS = 0x780000,    /* S */
    ATTN_WORDS_OF = 0x17fe      /* L, M, Nd, Nl, Pc */
};
ATTN_API int attn_class_of(unsigned kind, uint32_t categories);
/* Is it a word's: a letter, a mark, a number, a connector? */
ATTN_API int attn_class_word(unsigned kind);

/* ---- vocab_check.c ---- */

/* NULL when well formed, else what is wrong (a static string). */
ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes);
/* Is it a kind or a step that this program has no code for? */
ATTN_API int attn_vocab_unknown(const char *wrong);

/* ---- aligned.c ---- */

/* A text on its way: byte i came from the bytes from[i] to before to[i] of the
 * caller's text, whole characters of it; from NULL: from base + i itself, or
 * nobody asks. begins: 1, it is the beginning of the caller's text; -1, of one
 * that goes on where another ended; 0, it is inside.                        */
struct attn_aligned {
    char *text;
    int64_t bytes, cap;
    int32_t *from, *to; /* [cap] */
    int64_t base, begins;
};
/* These write behind out's bytes, 0 or ATTN_ERROR_ROOM: bytes of `in` with
 * their places; a text that stands for n bytes of `in` (0: put in between); a
 * text at a place that is told.                                             */
ATTN_API int64_t attn_put_same(struct attn_aligned *out,
                               const struct attn_aligned *in, int64_t at,
                               int64_t n);
ATTN_API int64_t attn_put(struct attn_aligned *out,
                          const struct attn_aligned *in, int64_t at, int64_t n,
                          const char *text, int64_t bytes);
ATTN_API int64_t attn_put_at(struct attn_aligned *out, const char *text,
                             int64_t bytes, int32_t from, int32_t to);
/* Where the bytes at .. at + n - 1 came from. */
ATTN_API void attn_place(const struct attn_aligned *in, int64_t at, int64_t n,
                         int32_t *from, int32_t *to);
/* A part of a text, as a text. */
ATTN_API struct attn_aligned attn_part_of(const struct attn_aligned *in,
                                          int64_t at, int64_t n);

/* ---- added.c ---- */
struct attn_match { /* an added token in a text, with the spaces it takes */
    int64_t from, to;
    int64_t next; /* where the search goes on, in front of such spaces */
    int32_t row;  /* of ATTN_ADDED */
};
/* The next one at `at` or behind it, which takes no spaces in front of `least`;
 * 0: none.                                                                  */
ATTN_API int attn_added_next(const struct attn_vocab *v, int64_t normalised,
                             const char *s, int64_t n, int64_t at,
                             int64_t least, struct attn_match *m);

/* ---- tokens.c ---- */

/* A text as the normaliser leaves it: its bytes in out[cap], or an error.
 * `memory`: attn_vocab_encode_bytes() of it.                                */
ATTN_API int64_t attn_vocab_normalise(const void *block, const char *text,
                                      int64_t bytes, char *out, int64_t cap,
                                      void *memory);

/* ---- steps.c ---- */

/* Steps by number: splitting 1 to 63, normalisers 64 to 127, decoders 128 to
 * 191.                                                                      */
enum {
    ATTN_STEP_GPT2 = 1, /* patterns, as compiler/tokenizer/patterns.c says */
    ATTN_STEP_LLAMA3 = 2,
    ATTN_STEP_QWEN2 = 3,
    ATTN_STEP_BLOOM = 4,
    ATTN_STEP_CLIP = 5,
    ATTN_STEP_CLIP_MARKS = 7,
    ATTN_STEP_THREE = 6,        /* three digits */
    ATTN_STEP_TEXT = 16,        /* `text` */
    ATTN_STEP_SPACE = 17,       /* a character of white space */
    ATTN_STEP_PUNCTUATION = 18, /* one of ASCII's or P */
    ATTN_STEP_DIGIT = 19,       /* one of N */
    ATTN_STEP_WORDS = 20,       /* \w+|[^\w\s]+ */
    ATTN_STEP_DIGIT_BYTES = 21, /* a byte that byte levels write as one of N */
    ATTN_STEP_PREFIX = 32,      /* `text` in front, unless it is there */
    ATTN_STEP_METASPACE = 33,   /* `text` for each space, and in front */
    ATTN_STEP_NORMALISERS = 64,
    ATTN_STEP_TABLE = 192
};
/* Flags of ATTN_STEP_METASPACE: a space in front is added never, where the text
 * begins, or always. */
enum {
    ATTN_METASPACE_NEVER = 0,
    ATTN_METASPACE_FIRST = 1,
    ATTN_METASPACE_ALWAYS = 2
};
enum { ATTN_AFFIX = 64 }; /* bytes of a prefix or suffix, at most */
/* Steps of decode.c; a decoder has each once. */
enum {
    ATTN_STEP_OUT = 128,
    ATTN_STEP_BYTE_LEVEL_OUT = ATTN_STEP_OUT, /* texts are bytes */
    ATTN_STEP_WORDPIECE_OUT,     /* text: the prefix inside of a word; flags 1:
                                    no spaces before punctuation */
    ATTN_STEP_METASPACE_OUT,     /* text is a space; flags 1: but in front */
    ATTN_STEP_BYTE_FALLBACK_OUT, /* <0x0A> is its byte */
    ATTN_STEP_FUSE,              /* what follows is of the whole text */
    ATTN_STEP_STRIP_OUT,         /* text, a character: flags % 256 in front,
                                    flags / 256 behind go */
    ATTN_STEP_REPLACE_OUT,       /* text becomes other */
    ATTN_STEP_SUFFIX_OUT,        /* text is a space, but at the end */
    ATTN_STEP_JOIN_OUT,          /* a space between tokens */
    ATTN_STEP_PIECES_OUT,        /* text is a space; flags 1: but one in front,
                                    3: but all in front; an unknown token is
                                    `other` */
    ATTN_STEP_OUT_END
};
struct attn_op { /* what a step does: `change` or `find`; decoders: text.c */
    /* NULL: nothing is wrong with it, or what is */
    const char *(*check)(const struct attn_vocab *v, const struct attn_step *s);
    /* n bytes become times * n + plus at most; NULL: n */
    void (*most)(const struct attn_vocab *v, const struct attn_step *s,
                 int64_t *times, int64_t *plus);
    /* writes `out`: 0, or an error */
    int64_t (*change)(const struct attn_vocab *v, const struct attn_step *s,
                      const struct attn_aligned *in, struct attn_aligned *out);
    /* bytes of the first match, which begins at *at; 0: there is none */
    int64_t (*find)(const struct attn_vocab *v, const struct attn_step *s,
                    const char *text, int64_t n, int64_t *at);
};
/* What becomes of the matches of a step that cuts (its flags): they are
 * dropped; pieces of their own; with what is in front, or behind; neighbours
 * together. Inverted: so what is between them.                              */
enum {
    ATTN_SPLIT_REMOVED = 0,
    ATTN_SPLIT_ISOLATED = 1,
    ATTN_SPLIT_PREVIOUS = 2,
    ATTN_SPLIT_NEXT = 3,
    ATTN_SPLIT_CONTIGUOUS = 4,
    ATTN_SPLIT_INVERT = 8
};
/* NULL: there is no such step; of those that split. */
ATTN_API const struct attn_op *attn_step_op(int32_t op);
ATTN_API const struct attn_op *attn_split_op(int32_t op);

/* ---- a trie ---- */

/* Texts as a double array: a node is 32 bits: its byte in bits 0 to 7, 8: a
 * text ends here, 9 and 10 to 31: how far its children are, by exclusive or. A
 * child's place is that of the children, exclusive or its byte; the child 0 has
 * the text's value, in bits 0 to 30.                                        */
struct attn_trie {
    const uint32_t *unit;
    int64_t units;
};
static inline uint32_t attn_trie_children(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200) >> 6);
}
static inline uint32_t attn_trie_root(const struct attn_trie *t)
{
    return attn_trie_children(t->unit[0]);
}
/* From the node before to that of the next byte; 0: there is none. *value: -1:
 * no text ends here.                                                        */
static inline int attn_trie_next(const struct attn_trie *t, uint32_t *node,
                                 unsigned char byte, int64_t *value)
{
    uint32_t at = *node ^ byte;
    *value = -1;
    if (byte == 0 || at >= t->units)
        return 0;
    uint32_t unit = t->unit[at];
    if ((unit & 0x800000ff) != byte)
        return 0;
    at ^= attn_trie_children(unit);
    *node = at;
    if ((unit & 0x100) && at < t->units)
        *value = t->unit[at] & 0x7fffffff;
    return 1;
}

/* ATTN_MODEL_TRIE: this, then the trie of the texts, with ids. */
struct attn_unigram_head {
    double unknown, most; /* score of an unknown character, of the best */
};
ATTN_API const struct attn_unigram_head *
attn_unigram_head_of(const struct attn_vocab *v);
/* Texts of the block: those of tokens, and those the model alone knows. */
ATTN_API int64_t attn_texts(const struct attn_vocab *v);
/* 0: the block has none. */
ATTN_API int attn_trie_open(const struct attn_vocab *v, struct attn_trie *t);
/* Bytes of the longest of the user's pieces that s begins with, 0: none. */
ATTN_API int64_t attn_user_piece(const struct attn_vocab *v,
                                 const struct attn_trie *t, const char *s,
                                 int64_t n, int64_t *id);

/* ---- mapping.c ---- */

/* ATTN_MAPPINGS: this, then its tables; places are bytes from its first on. */
struct attn_mappings {
    uint32_t tables, reserved;
};
struct attn_mapping {
    int32_t op;      /* the step that needs it */
    uint32_t index;  /* uint16_t [0x110000 / 256]: pages */
    uint32_t page;   /* uint16_t [pages][256]: values; 0: stays as it is */
    uint32_t record; /* what values are places of */
    uint32_t pair;   /* struct attn_composition [pairs], in order */
    uint32_t pages, records, pairs; /* records: bytes */
    uint32_t times;                 /* how much longer a text may become */
};
struct attn_composition { /* two characters that make one */
    uint32_t first, second, into;
};
struct attn_table { /* one of them */
    const uint16_t *index, *page;
    const char *record;
    const struct attn_composition *pair;
    int64_t records, pairs, values;
};
/* 0: the block has no table for this step. */
ATTN_API int attn_table_open(const struct attn_vocab *v, int32_t op,
                             struct attn_table *t);
/* NULL: it is there, its parts lie inside; or what is wrong. */
ATTN_API const char *attn_table_check(const struct attn_vocab *v, int32_t op,
                                      struct attn_table *t);
static inline unsigned attn_table_value(const struct attn_table *t, uint32_t c)
{
    return t->page[256 * (uint32_t)t->index[c >> 8] + (c & 255)];
}
/* A code point that is a character. */
ATTN_API int attn_is_character(uint32_t c);
/* Its UTF-8, 1 to 4 bytes. */
ATTN_API int64_t attn_character_put(char *text, uint32_t c);
/* Where a character came from that replaces the one at `at` (tag 0) and takes
 * away -tag behind it, or comes in behind the one before (tag > 0); the place
 * of the next.                                                              */
ATTN_API int64_t attn_replaced(const struct attn_aligned *in, int64_t at,
                               int64_t tag, int32_t *from, int32_t *to);

/* Normalisers (steps.c): forms of Unicode; characters one by one: lower case,
 * without marks, BertNormalizer's (controls and spaces, CJK, without accents),
 * of translation; spaces at the ends (flags: 1 left, 2 right); a text becomes
 * `other`; so does a run of `flags` or more of it, once (no text: of spaces); a
 * text in front; maps of characters, of the package and of SentencePiece.   */
enum {
    ATTN_STEP_NFC = 64,
    ATTN_STEP_NFD = 65,
    ATTN_STEP_NFKC = 66,
    ATTN_STEP_NFKD = 67,
    ATTN_STEP_LOWERCASE = 68,
    ATTN_STEP_STRIP_ACCENTS = 69,
    ATTN_STEP_CLEAN = 70,
    ATTN_STEP_CJK = 71,
    ATTN_STEP_ACCENTS = 72,
    ATTN_STEP_NMT = 73,
    ATTN_STEP_STRIP = 74,
    ATTN_STEP_REPLACE = 75,
    ATTN_STEP_REPLACE_RUN = 76,
    ATTN_STEP_PREPEND = 77,
    ATTN_STEP_CHARMAP = 80,
    ATTN_STEP_SENTENCEPIECE = 81
};
/* Flags of ATTN_STEP_SENTENCEPIECE. */
enum {
    ATTN_SPM_CHARMAP = 1,
    ATTN_SPM_PREFIX = 2,  /* a space in front */
    ATTN_SPM_TRIM = 4,    /* no spaces at the ends, one between words */
    ATTN_SPM_ESCAPE = 8,  /* spaces are U+2581 */
    ATTN_SPM_SUFFIX = 16, /* that space is at the end */
    ATTN_SPM_NO_USER = 32 /* no piece is a user's: none is looked for */
};
ATTN_API const char *attn_map_check(const struct attn_vocab *v,
                                    const struct attn_step *s);
ATTN_API void attn_map_most(const struct attn_vocab *v,
                            const struct attn_step *s, int64_t *times,
                            int64_t *plus);
ATTN_API int64_t attn_map(const struct attn_vocab *v, const struct attn_step *s,
                          const struct attn_aligned *in,
                          struct attn_aligned *out);
ATTN_API const char *attn_form_check(const struct attn_vocab *v,
                                     const struct attn_step *s);
ATTN_API void attn_form_most(const struct attn_vocab *v,
                             const struct attn_step *s, int64_t *times,
                             int64_t *plus);
ATTN_API int64_t attn_form(const struct attn_vocab *v,
                           const struct attn_step *s,
                           const struct attn_aligned *in,
                           struct attn_aligned *out);
ATTN_API const char *attn_charmap_check(const struct attn_vocab *v,
                                        const struct attn_step *s);
ATTN_API void attn_charmap_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus);
ATTN_API int64_t attn_charmap(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out);
ATTN_API void attn_cjk_most(const struct attn_vocab *v,
                            const struct attn_step *s, int64_t *times,
                            int64_t *plus);
ATTN_API int64_t attn_cjk(const struct attn_vocab *v, const struct attn_step *s,
                          const struct attn_aligned *in,
                          struct attn_aligned *out);
ATTN_API void attn_replace_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus);
ATTN_API int64_t attn_replace(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out);
ATTN_API void attn_prepend_most(const struct attn_vocab *v,
                                const struct attn_step *s, int64_t *times,
                                int64_t *plus);
ATTN_API int64_t attn_prepend(const struct attn_vocab *v,
                              const struct attn_step *s,
                              const struct attn_aligned *in,
                              struct attn_aligned *out);
ATTN_API int64_t attn_replace_run(const struct attn_vocab *v,
                                  const struct attn_step *s,
                                  const struct attn_aligned *in,
                                  struct attn_aligned *out);
ATTN_API int64_t attn_strip(const struct attn_vocab *v,
                            const struct attn_step *s,
                            const struct attn_aligned *in,
                            struct attn_aligned *out);
ATTN_API int64_t attn_sentencepiece(const struct attn_vocab *v,
                                    const struct attn_step *s,
                                    const struct attn_aligned *in,
                                    struct attn_aligned *out);
struct attn_charmap { /* ATTN_CHARMAP, open; units 0: the block has none */
    struct attn_trie trie;
    const char *text;
    int64_t bytes; /* of text */
};
ATTN_API int attn_charmap_open(const struct attn_vocab *v,
                               struct attn_charmap *m);
/* What the longest beginning of s becomes, and its bytes; NULL: nothing. */
ATTN_API const char *attn_charmap_longest(const struct attn_charmap *m,
                                          const char *s, int64_t n,
                                          int64_t *taken, int64_t *bytes);

#endif
