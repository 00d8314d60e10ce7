/* tokenizer.h: turns tokenizer files into blocks, with which runtime/ encodes
 * and decodes (runtime/text/text.h).
 *
 * In:  a file, or the files of a checkpoint folder; the spec's special tokens.
 * Out: a block ATTNVOC3 from malloc(), or a message.
 * Other public header: block.h. */
#ifndef ATTNC_TOKENIZER_H
#define ATTNC_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/rt.h"

typedef struct { /* ids from the spec, or -1; `split` and `append_end`: 0 or
                  * 1 */
    int32_t split, start, end, pad, unknown, append_end;
} VocabTokens;

/* ---- load_tokenizer.c ---- */
/* Loads a folder or a file. The contents determine the format: a list of
 * tokens, pieces with scores, a tokenizer.json, a vocab.json next to its
 * merges.txt, a SentencePiece .model, or a block. `expected` is the number of
 * tokens, or -1 for any. Returns a block from malloc(), or NULL with *why on
 * failure. */
void *vocab_load(const char *path, int64_t expected, const VocabTokens *t,
                 int64_t *bytes, Fault *why);
int64_t vocab_count(const char *path, Fault *why); /* number of tokens, or -1 */

/* ---- folder.c ---- */

/* The only vocabulary of a model or, in an encoder-decoder, the vocabulary that
 * encodes source texts or the one that decodes answers. */
typedef enum { TextAlone, TextSource, TextTarget } TextSide;

typedef struct { /* a vocabulary read from a checkpoint */
    void *block; /* from malloc() */
    int64_t bytes;
    int64_t size;   /* number of tokens in the block */
    int64_t tokens; /* number of ids that the tokenizer defines, even if they
                     * are more than the embedding table has */
    int32_t begin, end, pad, unknown, mask, class_token,
        separator;      /* ids; -1: none */
    int32_t language;   /* id of the token of this side's language; -1: none */
    int64_t length;     /* model_max_length; 0: none */
    bool template_adds; /* the template adds tokens around a text */
    const char *kind;   /* e.g. "WordPiece"; a static string */
} Vocabulary;

typedef struct {
    const char *folder;
    TextSide side;
    const char *language; /* language; NULL: as in tokenizer_config.json */
    int64_t size;         /* rows of the embedding table; ids without a token
                             are gaps; -1: unknown */
    const char *classes;  /* text of models/import/tokenizers.json; NULL:
                             tokenizer.json is required */
    size_t classes_bytes;
} VocabularyFrom;

/* Reads tokenizer.json or, if the folder has none, the files that its
 * tokenizer_class names; also reads tokenizer_config.json,
 * special_tokens_map.json and added_tokens.json. Returns false with *why on
 * failure. If the folder has no tokenizer, returns true and sets *found to
 * false. */
bool vocabulary_of_folder(const VocabularyFrom *from, Vocabulary *v,
                          bool *found, Fault *why);

/* ---- tokenizer_gguf.c ---- */
/* Reads the tokenizer of the llama.cpp file from->folder. from->classes is the
 * text of models/import/gguf_splitting.json, which defines how a byte-level BPE
 * ("gpt2") splits text. Returns false with *why on failure. If the file has no
 * tokenizer, returns true and sets *found to false. */
bool vocabulary_of_gguf(const VocabularyFrom *from, Vocabulary *v, bool *found,
                        Fault *why);

/* ---- block_file.c ---- */

/* Writes a block to a file, NAME.vocab. */
bool vocabulary_write(const char *path, const void *block, int64_t bytes,
                      Fault *why);

#endif
