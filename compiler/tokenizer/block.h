/* block.h: a tokenizer in memory, which readers of files pass to the maker of
 * blocks. */
#ifndef ATTNC_TOKENIZER_BLOCK_H
#define ATTNC_TOKENIZER_BLOCK_H

#include "tokenizer/tokenizer.h"

typedef struct { /* bytes owned by the file or its reader */
    const char *at;
    size_t n;
} Text;

typedef struct {
    const char *at;
    size_t n; /* length of the text in bytes */
    int32_t id;
    double score;        /* used by merges by score, and by unigram */
    unsigned char piece; /* ATTN_PIECE_ flags */
} Token;

typedef struct { /* token ids; merges are sorted by rank */
    int32_t left, right, into;
} Merge;

typedef struct {
    int op, flags;
    Text text, other;
} Step;

typedef struct { /* an added token, with its text as in the file */
    Text text;
    int32_t id, flags;
} Added;

enum { TemplateRows = 32 };

typedef struct {
    const char *path; /* for messages */
    VocabTokens special;
    int kind, flags; /* model (ATTN_MERGES etc.) and its ATTN_MODEL_ flags */
    int most;        /* maximum characters of a word; 0: no limit */
    Text prefix, suffix;
    Token *token; /* by id; the last `extra` tokens exist only in the model */
    int64_t tokens, extra;
    Merge *merge;
    int64_t merges;
    Step step[3][ATTN_STEPS]; /* steps of normaliser, splitter and decoder */
    int steps[3];
    Added *added;
    int64_t addeds;
    struct attn_template single[TemplateRows], pair[TemplateRows];
    int singles, pairs;
    Text charmap;
} Tokenizer;

/* ---- block.c ---- */

/* Checks the number of tokens and the ids of special tokens. */
bool tokenizer_check(const Tokenizer *t, int64_t expected, Fault *why);
/* Returns the block, which the caller frees with free(). Returns NULL with *why
 * if a text occurs twice or memory runs out. */
void *tokenizer_block(const Tokenizer *t, int64_t *bytes, Fault *why);

/* ---- block_rows.c ---- */
/* A growing part of a block, in memory from malloc(). */
typedef struct {
    char *at;
    size_t n, cap;
    bool full; /* memory ran out */
} Bytes;
void bytes_add(Bytes *b, const void *at, size_t n);
/* Appends a hash table that maps the texts of the tokens `id[0 .. n - 1]` to
 * ids. The last `suffix` bytes of each text are left out. */
void table_of_texts(Bytes *out, const Token *token, const int32_t *id,
                    int64_t n, size_t suffix);
void table_of_merges(Bytes *out, const Merge *merge, int64_t n);
void trie_of_added(Bytes *out, const struct attn_added *row, int64_t n,
                   const char *strings);

/* ---- alphabet.c ---- */

/* Decodes a text of a byte-level vocabulary into out[n]. Returns the number of
 * bytes, or SIZE_MAX if the text does not have this form. */
size_t tokenizer_alphabet(const char *text, size_t n, char *out);

/* ---- patterns.c ---- */

/* Finds the step that splits text like a regular expression. Returns false if
 * there is none. */
bool tokenizer_pattern(Text regex, int *op);

/* ---- unicode.c ---- */

/* Appends the contents of section ATTN_CLASSES. */
void unicode_classes(Bytes *out);

/* ---- mappings.c, double_array.c ---- */
/* Append the contents of ATTN_MAPPINGS and of ATTN_MODEL_TRIE, or nothing if no
 * step needs them. */
void unicode_mappings(Bytes *out, const Tokenizer *t);
void trie_of_tokens(Bytes *out, const Tokenizer *t);

/* ---- token_list.c ---- */
bool lines_read(Tokenizer *t, const File *f, Fault *why);
int64_t lines_count(const File *f, Fault *why); /* number of tokens; -1: the
                                                   file is no token list */

/* ---- piece_file.c ---- */
bool pieces_is_json(const char *path);
/* Reads pieces. Their texts belong to *root, a json_t. */
bool pieces_read(Tokenizer *t, const File *f, void **root, Fault *why);
void pieces_free(void *root);

/* ---- block_file.c ---- */
bool block_is(const File *f);
void *block_read(const File *f, int64_t expected, int64_t *bytes, Fault *why);

#endif
