/* sentencepiece.h: the contents of a SentencePiece .model file. */
#ifndef ATTNC_TOKENIZER_SENTENCEPIECE_H
#define ATTNC_TOKENIZER_SENTENCEPIECE_H

#include "tokenizer/reader.h"
#include "tokenizer/wire.h"

enum {
    PieceNormal = 1,
    PieceUnknown = 2,
    PieceControl = 3,
    PieceUser = 4,
    PieceUnused = 5,
    PieceByte = 6,
    PieceTypes
};
enum { PiecesUnigram = 1, PiecesMerges = 2 };

typedef struct {
    Text text;
    float score;
    int type; /* PieceNormal to PieceByte */
} SentencePiece;

typedef struct {
    SentencePiece *piece; /* array of n pieces */
    int64_t n;
    int model;                         /* PiecesUnigram or PiecesMerges */
    int32_t unknown, begin, end, pad;  /* ids; negative: none */
    bool fallback;                     /* single bytes have pieces */
    bool dummy, extra, escape, suffix; /* the normaliser adds a space in
                                          front; drops surplus spaces; writes
                                          spaces as U+2581; adds its space at
                                          the end, not in front */
    bool whole; /* the complete file was read, up to the normaliser */
    Text charmap, surface; /* table of characters; text of an unknown piece */
} SentencePieces;

bool sentencepiece_read(Reader *r, const File *file, SentencePieces *s);
/* Sets the model and its steps, but adds no tokens. */
bool sentencepiece_steps(Reader *r, const SentencePieces *s);
/* Adds piece i as token `id`. */
bool sentencepiece_put(Reader *r, const SentencePieces *s, int64_t i,
                       int64_t id);
/* Reads a complete tokenizer. The ids are the indices of the pieces. */
bool sentencepiece_load(Reader *r, const File *file);

#endif
