/* sentencepiece.h: what a .model of SentencePiece has in it. */
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
    int type; /* PieceNormal .. */
} SentencePiece;

typedef struct {
    SentencePiece *piece; /* [n] */
    int64_t n;
    int model;                         /* PiecesUnigram .. */
    int32_t unknown, begin, end, pad;  /* ids; below 0: none */
    bool fallback;                     /* bytes have pieces */
    bool dummy, extra, escape, suffix; /* of the normaliser: a space is put in
                         front; those too many go; spaces are U+2581; the one
                         that is put stands behind */
    bool whole;                        /* its last part was there */
    Text charmap, surface;             /* what an unknown piece is as text */
} SentencePieces;

bool sentencepiece_read(Reader *r, const File *file, SentencePieces *s);
/* The model and its steps, without tokens. */
bool sentencepiece_steps(Reader *r, const SentencePieces *s);
/* Piece i as the token `id`. */
bool sentencepiece_put(Reader *r, const SentencePieces *s, int64_t i,
                       int64_t id);
/* All of it: ids are the pieces' places. */
bool sentencepiece_load(Reader *r, const File *file);

#endif
