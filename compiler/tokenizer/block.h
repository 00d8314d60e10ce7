/* block.h: what a file says of a tokenizer, as its reader hands it to the maker
 * of blocks.                                                                */
#ifndef ATTNC_TOKENIZER_BLOCK_H
#define ATTNC_TOKENIZER_BLOCK_H

#include "tokenizer/tokenizer.h"

typedef struct { /* any bytes, owned by the file or by its reader */
    const char *at;
    size_t n;
} Text;

typedef struct {
    const char *at;
    size_t n; /* text */
    int32_t id;
    double score;        /* of merges by score, of a unigram */
    unsigned char piece; /* ATTN_PIECE_NORMAL .. */
} Token;

typedef struct { /* ids, in order of their ranks */
    int32_t left, right, into;
} Merge;

typedef struct {
    int op, flags;
    Text text, other;
} Step;

typedef struct { /* `text` as the file has it */
    Text text;
    int32_t id, flags;
} Added;

enum { TemplateRows = 32 };

typedef struct {
    const char *path; /* of the file, for messages */
    VocabTokens special;
    int kind, flags; /* ATTN_CHARACTERS .., ATTN_MODEL_BYTES .. */
    int most;        /* characters of a word; 0: any */
    Text prefix, suffix;
    Token *token; /* by id; the last `extra` the model alone knows */
    int64_t tokens, extra;
    Merge *merge;
    int64_t merges;
    Step step[3][ATTN_STEPS]; /* normaliser, splitting, decoder */
    int steps[3];
    Added *added;
    int64_t addeds;
    struct attn_template single[TemplateRows], pair[TemplateRows];
    int singles, pairs;
    Text charmap;
} Tokenizer;

/* ---- block.c ---- */

/* Is the number of tokens right, are the special ones there? */
bool tokenizer_check(const Tokenizer *t, int64_t expected, Fault *why);
/* The block, malloc'd; NULL and a message when a text is there twice. */
void *tokenizer_block(const Tokenizer *t, int64_t *bytes, Fault *why);

/* ---- block_rows.c ---- */
/* Parts of a block as they grow, in memory of malloc(). */
typedef struct {
    char *at;
    size_t n, cap;
    bool full; /* there was no memory */
} Bytes;
void bytes_add(Bytes *b, const void *at, size_t n);
/* A hash table of these ids (of `n`) by their texts, without those that `skip`
 * names; words: texts are cut before a suffix of so many bytes.             */
void table_of_texts(Bytes *out, const Token *token, const int32_t *id,
                    int64_t n, size_t suffix);
void table_of_merges(Bytes *out, const Merge *merge, int64_t n);
void trie_of_added(Bytes *out, const struct attn_added *row, int64_t n,
                   const char *strings);

/* ---- alphabet.c ---- */

/* The bytes that a text of a byte-level vocabulary stands for: their number;
 * SIZE_MAX: it is no such text. out[n].                                     */
size_t tokenizer_alphabet(const char *text, size_t n, char *out);

/* ---- patterns.c ---- */

/* The step that cuts as a regular expression does; false: it is not known. */
bool tokenizer_pattern(Text regex, int *op);

/* ---- unicode.c ---- */

/* The bytes of ATTN_CLASSES. */
void unicode_classes(Bytes *out);

/* ---- mappings.c, double_array.c ---- */
/* The bytes of ATTN_MAPPINGS, of ATTN_MODEL_TRIE; none where nothing needs it.
 */
void unicode_mappings(Bytes *out, const Tokenizer *t);
void trie_of_tokens(Bytes *out, const Tokenizer *t);

/* ---- token_list.c ---- */
bool lines_read(Tokenizer *t, const File *f, Fault *why);
int64_t lines_count(const File *f, Fault *why); /* -1: they are no tokens */

/* ---- piece_file.c ---- */
bool pieces_is_json(const char *path);
/* *root (of jansson) owns the texts. */
bool pieces_read(Tokenizer *t, const File *f, void **root, Fault *why);
void pieces_free(void *root);

/* ---- block_file.c ---- */
bool block_is(const File *f);
void *block_read(const File *f, int64_t expected, int64_t *bytes, Fault *why);

#endif
