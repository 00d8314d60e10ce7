/* vocab_file.h: what the readers of vocabulary files share. */
#ifndef ATTNC_VOCAB_FILE_H
#define ATTNC_VOCAB_FILE_H

#include "rt.h"

typedef struct {
    const char *at;
    size_t n; /* text */
    int32_t id;
    float score;         /* these two: of a file of merges */
    unsigned char piece; /* ATTN_PIECE_NORMAL .. */
} Token;

typedef struct { /* a file's tokens, by id */
    const File *file;
    Token *at;
    int64_t n;
    int64_t kind; /* ATTN_CHARACTERS .. */
    VocabTokens special;
} TokenList;

/* vocab_json.c: a tokenizer file; *root (of jansson) owns the texts. */
bool vocab_is_json(const char *path);
bool vocab_read_json(TokenList *l, void **root, Fault *why);
void vocab_free_json(void *root);

/* vocab_block.c: is the number of tokens right, are the special ones there? */
bool vocab_check_count(const TokenList *l, int64_t expected, Fault *why);
/* The block, malloc'd; NULL and a message when a text is there twice. Leaves
 * the tokens in order of text.                                              */
void *vocab_block(TokenList *l, int64_t *bytes, Fault *why);

#endif
