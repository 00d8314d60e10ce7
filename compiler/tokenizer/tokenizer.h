/* tokenizer.h: tokenizer files become blocks, which runtime/ encodes and
 * decodes with (runtime/text/text.h).
 *
 * In:  a file, or the files of a checkpoint's folder; what the spec says of
 *      special tokens.
 * Out: a block ATTNVOC3, malloc'd, or a message.
 * Public beside it: block.h.                                                */
#ifndef ATTNC_TOKENIZER_H
#define ATTNC_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/rt.h"

typedef struct { /* ids that the spec gives; -1: none */
    int32_t split, start, end, pad, unknown, append_end;
} VocabTokens;

/* ---- load_tokenizer.c ---- */
/* A file is told by what it has: a list of tokens, pieces with scores, a
 * tokenizer.json, a vocab.json beside its merges.txt, BERT's vocab.txt, a
 * .model of SentencePiece, a block.                                         */
/* `expected`: the spec's size or -1. The block is malloc'd. */
void *vocab_load(const char *path, int64_t expected, const VocabTokens *t,
                 int64_t *bytes, Fault *why);
int64_t vocab_count(const char *path, Fault *why); /* its tokens; -1 */

/* ---- folder.c ---- */

/* One vocabulary of the model; or, of an encoder-decoder, what a source line is
 * encoded with, what an answer becomes text with.                           */
typedef enum { TextAlone, TextSource, TextTarget } TextSide;

typedef struct { /* a vocabulary of a checkpoint */
    void *block; /* malloc'd */
    int64_t bytes;
    int64_t size; /* tokens that the block has */
    int32_t begin, end, pad, unknown, mask, class_token,
        separator;      /* ids; -1: none */
    int32_t language;   /* the id of this side's language; -1: none */
    int64_t length;     /* model_max_length; 0: none */
    bool template_adds; /* tokens stand around a text */
    const char *kind;   /* "WordPiece", "BPE", "Unigram" ..: static */
} Vocabulary;

typedef struct {
    const char *folder;
    TextSide side;
    const char *language; /* NULL: as tokenizer_config.json says */
    int64_t size;         /* rows of the embedding: those behind the tokens are
                             gaps; -1: as the files say */
    const char *classes;  /* models/import/tokenizers.json; NULL: a folder
                             without tokenizer.json is not known */
    size_t classes_bytes;
} VocabularyFrom;

/* Of tokenizer.json where the folder has it, else of the files that its
 * tokenizer_class names; with tokenizer_config.json, special_tokens_map.json,
 * added_tokens.json. True and found false: the folder has no tokenizer.     */
bool vocabulary_of_folder(const VocabularyFrom *from, Vocabulary *v,
                          bool *found, Fault *why);

/* ---- tokenizer_gguf.c ---- */
/* Of a file of llama.cpp, `folder`; `classes` is
 * models/import/gguf_splitting.json. A SentencePiece's BPE ("llama") or a BPE
 * of bytes ("gpt2"), whose way to cut a text has a row there. True and found
 * false: the file has no tokenizer. */
bool vocabulary_of_gguf(const VocabularyFrom *from, Vocabulary *v, bool *found,
                        Fault *why);

/* ---- block_file.c ---- */

/* NAME.vocab: a block as it stands. */
bool vocabulary_write(const char *path, const void *block, int64_t bytes,
                      Fault *why);

#endif
