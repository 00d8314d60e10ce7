/* text.h: text input and output of a model: vocabularies as blocks of bytes,
 * the steps from text to ids and back, and the models that split text into
 * tokens.                                                                   */
#ifndef ATTN_TEXT_3
#define ATTN_TEXT_3

#include "runtime/base/memory.h"

/* ---- vocab.c ---- */

/* Models: ATTN_CHARACTERS has one token per character; ATTN_SPACES has one per
 * word between spaces; ATTN_MERGES merges pieces by score (merges.c). The
 * others are in ranks.c, wordpiece.c and unigram.c. */
enum {
    ATTN_CHARACTERS = 0,
    ATTN_SPACES = 1,
    ATTN_MERGES = 2,
    ATTN_RANKS = 3,
    ATTN_WORDPIECE = 4,
    ATTN_UNIGRAM = 5,
    ATTN_TOKENIZERS = 6
};
/* Flags of a model, in this order: the first symbols are bytes; characters
 * without a piece use byte pieces such as "<0x0A>"; adjacent unknown tokens
 * become one; a word that is a token is not split; invalid UTF-8 becomes
 * U+FFFD, instead of an error or raw bytes; offsets exclude the spaces at a
 * token's ends; a text that does not continue another gets a space in front;
 * the first token's offsets keep one space; scores and byte pieces are as in
 * SentencePiece; no piece has a space or U+2581 after another character, so
 * words are merged separately. */
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
/* Kinds of pieces: text; one byte, such as "<0x0A>"; marks without text. */
enum {
    ATTN_PIECE_NORMAL = 0,
    ATTN_PIECE_BYTE = 1,
    ATTN_PIECE_BEGIN = 2,
    ATTN_PIECE_END = 3,
    ATTN_PIECE_UNKNOWN = 4,
    ATTN_PIECE_KIND = 15,    /* mask of the kind; the values below are flags */
    ATTN_PIECE_SPECIAL = 16, /* a token without text */
    ATTN_PIECE_ADDED = 32,   /* found before the model splits the text */
    ATTN_PIECE_UNUSED = 64,  /* no text becomes this piece */
    ATTN_PIECE_USER = 128    /* matched before all others and never merged */
};

/* The sections of a block, each at a multiple of 8 bytes. */
enum {
    ATTN_OFFSETS, /* uint32_t [size + extra + 1]: start of each text */
    ATTN_TEXTS,   /* char []: texts as in the file ("##ing"), or as bytes */
    ATTN_FIND,    /* uint32_t []: hash table from texts to id + 1; 0: empty */
    ATTN_PIECES,  /* unsigned char [size]: ATTN_PIECE_ values */
    ATTN_SCORES,  /* for merges float [size], for Unigram double [size] */
    ATTN_BYTES,   /* int32_t [256]: token of each byte; -1: none */
    ATTN_BYTES_LAST, /* int32_t [256]: token of each byte, at a word's end */
    ATTN_PAIRS,      /* struct attn_pair []: hash table of merges */
    ATTN_WORDS,      /* uint32_t []: hash table of single-token words */
    ATTN_STRINGS,    /* char []: arguments of steps, texts of added tokens */
    ATTN_NORMAL,     /* struct attn_step []: normaliser */
    ATTN_SPLIT,      /* struct attn_step []: splitting into words */
    ATTN_DECODE,     /* struct attn_step []: decoder */
    ATTN_ADDED,      /* struct attn_added []: added tokens */
    ATTN_ADDED_TRIE, /* struct attn_node []: trie of the added tokens' texts */
    ATTN_TEMPLATE,   /* int32_t single, pair; struct attn_template [] */
    ATTN_CLASSES,    /* classes of Unicode characters */
    ATTN_MAPPINGS,   /* Unicode tables of case and normal forms */
    ATTN_CHARMAP,    /* SentencePiece's map of characters */
    ATTN_MODEL_TRIE, /* the model's trie */
    ATTN_SECTIONS = 24
};
struct attn_section { /* relative to the block's start; 0, 0: no section */
    int64_t at, bytes;
};
struct attn_part { /* a range of ATTN_STRINGS */
    uint32_t at, bytes;
};

/* A vocabulary as one block of bytes. attnc makes it and stores it in the
 * weights file or in the C file. Numbers have the machine's byte order.     */
struct attn_vocab_header {
    char magic[8];                    /* "ATTNVOC3" */
    int64_t bytes;                    /* size of the complete block */
    int32_t size;                     /* number of tokens */
    int32_t kind;                     /* ATTN_CHARACTERS etc. */
    int32_t start, end, pad, unknown; /* ids; -1: none */
    int32_t append_end; /* 1: the end token is appended to a source line */
    int32_t flags;      /* ATTN_MODEL_ flags */
    struct attn_part prefix, suffix; /* prefix of tokens inside a word, e.g.
                                      * "##", and suffix of tokens at its end,
                                      * e.g. "</w>" */
    int32_t most;  /* maximum characters of a word; 0: no limit */
    int32_t extra; /* number of tokens after `size` that exist only within
                      the model; the unknown token is output in their place */
    struct attn_section section[ATTN_SECTIONS];
};
struct attn_step {
    int32_t op, flags; /* number of the step (ATTN_STEP_), and its flags */
    struct attn_part text, other;
};
struct attn_pair { /* a merge; left -1: empty slot */
    int32_t left, right, rank, into;
};
struct attn_added { /* a token that is searched for in the text */
    struct attn_part text;
    int32_t id, flags;
};
enum {
    ATTN_ADDED_SPECIAL = 1,
    ATTN_ADDED_LSTRIP = 2,
    ATTN_ADDED_RSTRIP = 4,
    ATTN_ADDED_WORD = 8,       /* matches only outside words */
    ATTN_ADDED_NORMALISED = 16 /* searched for in the normalised text */
};
struct attn_template {
    int32_t id, type; /* id of a token; -1: the text; -2: the second text */
};
struct attn_node {  /* node of ATTN_ADDED_TRIE. Node 0 is the root for tokens
                       found in the text, node 1 for those found in the
                       normalised text. */
    uint32_t child; /* first of `children` nodes, ordered by byte */
    uint16_t children;
    unsigned char byte, reserved;
    int32_t row; /* row of ATTN_ADDED whose text ends here; -1: none */
};
enum {
    ATTN_STEPS = 16,         /* maximum steps in a list */
    ATTN_CLASS_INDEX = 4352, /* bytes that precede the classes */
    ATTN_CLASS_CATEGORY = 31,
    ATTN_CLASS_SPACE = 32, /* property White_Space */
    ATTN_CLASS_WORD = 64   /* part of words, but not in L, M, Nd, Nl, Pc */
};

struct attn_vocab { /* the sections of a block; NULL or 0: no such section */
    const struct attn_vocab_header *head;
    const uint32_t *offset, *find, *word;
    const char *text, *strings;
    const unsigned char *piece;
    const void *score;
    const int32_t *byte, *byte_last;
    const struct attn_pair *pair;
    const struct attn_step *step[3]; /* steps of ATTN_NORMAL, ATTN_SPLIT,
                                        ATTN_DECODE */
    const struct attn_added *added;
    const struct attn_node *node;
    const int32_t *templates; /* number of rows for one text and for a pair;
                                 then the rows */
    const unsigned char *classes;
    int64_t finds, words, pairs, steps[3], addeds, nodes;
};
ATTN_API void attn_vocab_open(struct attn_vocab *v, const void *block);
/* Returns a section and sets *bytes to its size; NULL: no such section. */
ATTN_API const void *attn_vocab_section(const void *block, int64_t section,
                                        int64_t *bytes);
/* Returns the length of the UTF-8 character at s; 0 if it is invalid. */
ATTN_API int64_t attn_character(const char *s, int64_t left);
/* Returns the number of bytes at s, at least 1, that are an incomplete
 * character. */
ATTN_API int64_t attn_character_begun(const char *s, int64_t left);
/* Returns the length of the character with this first byte; 1 for a byte inside
 * a character. This and the next function require valid UTF-8.              */
static inline int64_t attn_length(char first)
{
    const unsigned char c = (unsigned char)first;
    return 1 + (c >= 0xc0) + (c >= 0xe0) + (c >= 0xf0);
}
/* Returns the code point of the character at s, and its length. There must be a
 * character at s. */
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
/* Returns the position of the first byte that is not valid UTF-8; n if there is
 * none. */
ATTN_API int64_t attn_utf8(const char *s, int64_t n);
/* Hash functions for the tables of a block, and the slot for a hash. The slot
 * depends on the upper half of the hash, so any number of slots works. */
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
/* Checks the first bytes of a block. Returns 0 or an error. */
ATTN_API int attn_check_block(const void *block);
ATTN_API int32_t attn_find(const struct attn_vocab *v, const char *token,
                           int64_t bytes); /* returns the id; -1: none */
ATTN_API int32_t attn_vocab_find(const void *block, const char *token,
                                 int64_t bytes);
ATTN_API const char *attn_vocab_token(const void *block, int32_t id,
                                      int64_t *bytes);
/* Returns the byte that a piece such as "<0x0A>" represents, or -1 for other
 * texts. */
ATTN_API int attn_vocab_byte(const char *text, int64_t bytes);
/* Returns the class of a code point, from ATTN_CLASSES; 0 if the block has no
 * such section. */
ATTN_API unsigned attn_class(const struct attn_vocab *v, uint32_t c);
/* True if the category of a class is in a set, with one bit for each of
 * utf8proc's categories. */
enum {
    ATTN_LETTERS = 0x3e,        /* category L */
    ATTN_MARKS = 0x1c0,         /* category M */
    ATTN_NUMBERS = 0xe00,       /* category N */
    ATTN_PUNCTUATION = 0x7f000, /* category P */
    ATTN_SYMBOLS = 0x780000,    /* category S */
    ATTN_WORDS_OF = 0x17fe      /* categories L, M, Nd, Nl, Pc */
};
ATTN_API int attn_class_of(unsigned kind, uint32_t categories);
/* True for a word character: letter, mark, number or connector. */
ATTN_API int attn_class_word(unsigned kind);

/* ---- vocab_check.c ---- */

/* Returns NULL if the block is valid, otherwise a message, which is a static
 * string. */
ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes);
/* True if the message is about a kind or a step that this program does not
 * contain. */
ATTN_API int attn_vocab_unknown(const char *wrong);

/* ---- aligned.c ---- */

/* A text that is being processed. Byte i comes from bytes from[i] .. to[i] - 1
 * of the caller's text, which are always complete characters. If `from` is
 * NULL, byte i comes from byte base + i, or positions are not needed. `begins`
 * is 1 if the text starts the caller's text, -1 if it starts a text that
 * continues another, and 0 if it is inside. */
struct attn_aligned {
    char *text;
    int64_t bytes, cap;
    int32_t *from, *to; /* [cap] positions, or NULL */
    int64_t base, begins;
};
/* These append to `out`, and return 0 or ATTN_ERROR_ROOM. attn_put_same()
 * appends bytes of `in` with their positions, attn_put() a text that replaces n
 * bytes of `in` (0: an inserted text), attn_put_at() a text with a given
 * position. */
ATTN_API int64_t attn_put_same(struct attn_aligned *out,
                               const struct attn_aligned *in, int64_t at,
                               int64_t n);
ATTN_API int64_t attn_put(struct attn_aligned *out,
                          const struct attn_aligned *in, int64_t at, int64_t n,
                          const char *text, int64_t bytes);
ATTN_API int64_t attn_put_at(struct attn_aligned *out, const char *text,
                             int64_t bytes, int32_t from, int32_t to);
/* Sets *from and *to to the position of bytes at .. at + n - 1 in the caller's
 * text. */
ATTN_API void attn_place(const struct attn_aligned *in, int64_t at, int64_t n,
                         int32_t *from, int32_t *to);
/* Returns the n bytes of a text at `at`, as a text. */
ATTN_API struct attn_aligned attn_part_of(const struct attn_aligned *in,
                                          int64_t at, int64_t n);

/* ---- added.c ---- */
struct attn_match { /* an added token in a text, and the spaces it absorbs */
    int64_t from, to;
    int64_t next; /* position of the next search, before trailing spaces */
    int32_t row;  /* row of ATTN_ADDED */
};
/* Finds the first added token at or after `at`. The token may absorb spaces
 * back to `least`. Returns 0 if there is none. */
ATTN_API int attn_added_next(const struct attn_vocab *v, int64_t normalised,
                             const char *s, int64_t n, int64_t at,
                             int64_t least, struct attn_match *m);

/* ---- tokens.c ---- */

/* Writes the normalised form of a text to out[cap]. Returns its length, or an
 * error. memory: attn_vocab_encode_bytes() bytes. */
ATTN_API int64_t attn_vocab_normalise(const void *block, const char *text,
                                      int64_t bytes, char *out, int64_t cap,
                                      void *memory);

/* ---- steps.c ---- */

/* Numbers of steps: 1 to 63 split, 64 to 127 normalise, 128 to 191 decode. */
enum {
    ATTN_STEP_GPT2 = 1, /* patterns of compiler/tokenizer/patterns.c */
    ATTN_STEP_LLAMA3 = 2,
    ATTN_STEP_QWEN2 = 3,
    ATTN_STEP_BLOOM = 4,
    ATTN_STEP_CLIP = 5,
    ATTN_STEP_CLIP_MARKS = 7,
    ATTN_STEP_THREE = 6,        /* splits off three digits */
    ATTN_STEP_TEXT = 16,        /* splits at `text` */
    ATTN_STEP_SPACE = 17,       /* splits at a white space character */
    ATTN_STEP_PUNCTUATION = 18, /* splits at ASCII punctuation or category P */
    ATTN_STEP_DIGIT = 19,       /* splits at category N */
    ATTN_STEP_WORDS = 20,       /* splits at \w+|[^\w\s]+ */
    ATTN_STEP_DIGIT_BYTES = 21, /* splits at a byte that is shown as a digit */
    ATTN_STEP_PREFIX = 32, /* prepends `text` unless the piece begins with it */
    ATTN_STEP_METASPACE = 33, /* `text` replaces spaces and is prepended */
    ATTN_STEP_NORMALISERS = 64,
    ATTN_STEP_TABLE = 192
};
/* Flags of ATTN_STEP_METASPACE: prepend a space never, only at the start of the
 * text, or always. */
enum {
    ATTN_METASPACE_NEVER = 0,
    ATTN_METASPACE_FIRST = 1,
    ATTN_METASPACE_ALWAYS = 2
};
enum { ATTN_AFFIX = 64 }; /* maximum bytes of a prefix or suffix */
/* Steps of decode.c. Each occurs at most once in a decoder. */
enum {
    ATTN_STEP_OUT = 128,
    ATTN_STEP_BYTE_LEVEL_OUT = ATTN_STEP_OUT, /* writes a token's text byte by
                                               * byte; a character may span
                                               * tokens */
    ATTN_STEP_WORDPIECE_OUT,     /* `text`: prefix of tokens that continue a
                                  * word; flags 1: clean up spaces before
                                  * punctuation */
    ATTN_STEP_METASPACE_OUT,     /* `text` becomes a space, except at the
                                  * start */
    ATTN_STEP_BYTE_FALLBACK_OUT, /* a piece such as <0x0A> becomes its byte */
    ATTN_STEP_FUSE,              /* later steps apply to the complete text */
    ATTN_STEP_STRIP_OUT,         /* removes a character, up to flags % 256
                                    times at the start and flags / 256 times
                                    at the end */
    ATTN_STEP_REPLACE_OUT,       /* `text` becomes `other` */
    ATTN_STEP_SUFFIX_OUT,        /* `text` becomes a space, except at the end */
    ATTN_STEP_JOIN_OUT,          /* adds a space between tokens */
    ATTN_STEP_PIECES_OUT,        /* `text` becomes a space, except for one
                                  * (flags 1) or all (flags 3) at the start;
                                  * unknown tokens become `other` */
    ATTN_STEP_OUT_END
};
struct attn_op { /* functions of a step; decoders: see decode.c */
    /* returns NULL, or a message if the step is invalid */
    const char *(*check)(const struct attn_vocab *v, const struct attn_step *s);
    /* the output has at most times * n + plus bytes; NULL: n */
    void (*most)(const struct attn_vocab *v, const struct attn_step *s,
                 int64_t *times, int64_t *plus);
    /* writes the changed text to `out`; returns 0 or an error */
    int64_t (*change)(const struct attn_vocab *v, const struct attn_step *s,
                      const struct attn_aligned *in, struct attn_aligned *out);
    /* returns the length of the first match, which is at *at; 0: no match */
    int64_t (*find)(const struct attn_vocab *v, const struct attn_step *s,
                    const char *text, int64_t n, int64_t *at);
};
/* Treatment of the matches of a step that splits: they are removed; are
 * separate pieces; join the text before; join the text after; or are separate
 * pieces, with adjacent matches joined. INVERT swaps matches and the texts
 * between them. */
enum {
    ATTN_SPLIT_REMOVED = 0,
    ATTN_SPLIT_ISOLATED = 1,
    ATTN_SPLIT_PREVIOUS = 2,
    ATTN_SPLIT_NEXT = 3,
    ATTN_SPLIT_CONTIGUOUS = 4,
    ATTN_SPLIT_INVERT = 8
};
/* Return the functions of a step, or NULL if there is no such step;
 * attn_split_op() knows only steps that split. */
ATTN_API const struct attn_op *attn_step_op(int32_t op);
ATTN_API const struct attn_op *attn_split_op(int32_t op);

/* ---- a trie ---- */

/* A trie of texts as a double array of 32-bit nodes. Bits 0 to 7: the node's
 * byte; bit 8: a text ends here; bits 9 and 10 to 31: the offset of its
 * children, to be XORed with its index. A child's index is the children's index
 * XOR its byte. The child for byte 0 contains the text's value in bits 0 to 30.
 */
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
/* Moves *node to its child for a byte, and sets *value to the value of the text
 * that ends there, or to -1. Returns 0 if there is no such child. */
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

/* Start of ATTN_MODEL_TRIE. The trie of texts follows; its values are ids. */
struct attn_unigram_head {
    double unknown, most; /* score of unknown characters; highest score */
};
ATTN_API const struct attn_unigram_head *
attn_unigram_head_of(const struct attn_vocab *v);
/* Returns the number of texts: of all tokens, and of those that exist only
 * within the model. */
ATTN_API int64_t attn_texts(const struct attn_vocab *v);
/* Opens the model's trie. Returns 0 if the block has none. */
ATTN_API int attn_trie_open(const struct attn_vocab *v, struct attn_trie *t);
/* Returns the length of the longest user piece at the start of s, or 0 if there
 * is none. */
ATTN_API int64_t attn_user_piece(const struct attn_vocab *v,
                                 const struct attn_trie *t, const char *s,
                                 int64_t n, int64_t *id);

/* ---- mapping.c ---- */

/* Start of ATTN_MAPPINGS. Tables follow; offsets are from this start. */
struct attn_mappings {
    uint32_t tables, reserved;
};
struct attn_mapping {
    int32_t op;      /* the step that uses the table */
    uint32_t index;  /* offset of uint16_t [0x110000 / 256]: pages */
    uint32_t page;   /* offset of uint16_t [pages][256]: values; 0: unchanged */
    uint32_t record; /* offset of the records; values are offsets in them */
    uint32_t pair;   /* offset of struct attn_composition [pairs], sorted */
    uint32_t pages, records, pairs; /* number of pages; bytes of records;
                                       number of pairs */
    uint32_t times;                 /* largest factor by which a text grows */
};
struct attn_composition { /* two characters and their composition */
    uint32_t first, second, into;
};
struct attn_table { /* an open table */
    const uint16_t *index, *page;
    const char *record;
    const struct attn_composition *pair;
    int64_t records, pairs, values;
};
/* Opens the table of a step. Returns 0 if the block has none. */
ATTN_API int attn_table_open(const struct attn_vocab *v, int32_t op,
                             struct attn_table *t);
/* Opens the table of a step. Returns NULL if all its parts are within the
 * section, otherwise a message. */
ATTN_API const char *attn_table_check(const struct attn_vocab *v, int32_t op,
                                      struct attn_table *t);
static inline unsigned attn_table_value(const struct attn_table *t, uint32_t c)
{
    return t->page[256 * (uint32_t)t->index[c >> 8] + (c & 255)];
}
/* True if the code point is a valid character. */
ATTN_API int attn_is_character(uint32_t c);
/* Writes a character as UTF-8. Returns its length, 1 to 4 bytes. */
ATTN_API int64_t attn_character_put(char *text, uint32_t c);
/* Sets *from and *to to the position of an output character. It replaces the
 * character at `at` (tag 0), also removes -tag characters after it (tag < 0),
 * or is inserted after the previous one (tag > 0). Returns the position for the
 * next character. */
ATTN_API int64_t attn_replaced(const struct attn_aligned *in, int64_t at,
                               int64_t tag, int32_t *from, int32_t *to);

/* Normalisers (steps.c), in this order: Unicode's normal forms; steps for each
 * character: lower case, no marks, BertNormalizer's (controls and spaces, CJK,
 * accents), NMT's; strip spaces (flags: 1 left, 2 right); replace `text` by
 * `other`; replace runs of at least `flags` repetitions (no text: of spaces);
 * prepend a text; the character maps of the `tokenizers` package and of
 * SentencePiece. */
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
    ATTN_SPM_PREFIX = 2,  /* adds a space in front of the text */
    ATTN_SPM_TRIM = 4,    /* strips spaces and merges those between words */
    ATTN_SPM_ESCAPE = 8,  /* spaces become U+2581 */
    ATTN_SPM_SUFFIX = 16, /* adds the space at the end, not in front */
    ATTN_SPM_NO_USER = 32 /* there are no user pieces to search for */
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
struct attn_charmap { /* an open ATTN_CHARMAP; units 0: no map */
    struct attn_trie trie;
    const char *text;
    int64_t bytes; /* size of text */
};
ATTN_API int attn_charmap_open(const struct attn_vocab *v,
                               struct attn_charmap *m);
/* Returns the replacement for the longest prefix of s that is in the map, its
 * length, and the prefix's length. Returns NULL if no prefix is in the map. */
ATTN_API const char *attn_charmap_longest(const struct attn_charmap *m,
                                          const char *s, int64_t n,
                                          int64_t *taken, int64_t *bytes);

#endif
