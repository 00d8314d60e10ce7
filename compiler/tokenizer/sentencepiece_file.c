/* sentencepiece_file.c: reads a SentencePiece .model file: the pieces with
 * their scores, and the rules that normalise a text (sentencepiece_model.proto
 * in that project). */
#include <math.h>

#include "tokenizer/sentencepiece.h"

static bool wrong_at(Reader *r, const Wire *file, const unsigned char *at)
{
    const File *f = &r->file[r->files - 1];
    (void)file;
    return fault(r->why, ExitInput,
                 "%s: byte %zu: this is no model of SentencePiece, or it is "
                 "cut: fetch the file again",
                 r->path, (size_t)(at - f->at));
}

static Text text_in(const Wire *w)
{
    return (Text){ (const char *)w->at, (size_t)(w->end - w->at) };
}

static bool piece_read(Reader *r, SentencePiece *to, Wire w)
{
    WireField f;
    *to = (SentencePiece){ .type = PieceNormal };
    while (wire_next(&w, &f)) {
        if (f.number == 1 && f.type == WireBytes)
            to->text = text_in(&f.bytes);
        if (f.number == 2 && f.type == WireShort) {
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&to->score, &bits, 4);
        }
        if (f.number == 3 && f.type == WireNumber)
            to->type = f.value < PieceTypes ? (int)f.value : 0;
    }
    if (w.wrong || to->text.n == 0 || to->type == 0 || !isfinite(to->score)
        || attn_utf8(to->text.at, (int64_t)to->text.n) < (int64_t)to->text.n)
        return wrong_at(r, &w, w.at);
    return true;
}

static bool trainer_read(Reader *r, SentencePieces *s, Wire w)
{
    WireField f;
    while (wire_next(&w, &f)) {
        const int32_t n = (int32_t)f.value;
        switch (f.type == WireNumber ? f.number : -f.number) {
        case 3:   s->model = n; break;
        case 24:  s->suffix = n != 0; break;
        case 35:  s->fallback = n != 0; break;
        case 40:  s->unknown = n; break;
        case 41:  s->begin = n; break;
        case 42:  s->end = n; break;
        case 43:  s->pad = n; break;
        case -44: s->surface = text_in(&f.bytes); break;
        }
    }
    return w.wrong ? wrong_at(r, &w, w.at) : true;
}

static bool normaliser_of(Reader *r, SentencePieces *s, Wire w)
{
    WireField f;
    while (wire_next(&w, &f)) {
        const bool on = f.value != 0;
        switch (f.type == WireNumber ? f.number : -f.number) {
        case -2: s->charmap = text_in(&f.bytes); break;
        case 3:  s->dummy = on; break;
        case 4:  s->extra = on; break;
        case 5:  s->escape = on; break;
        }
    }
    return w.wrong ? wrong_at(r, &w, w.at) : true;
}

static int64_t count_pieces(Wire w)
{
    WireField f;
    int64_t n = 0;
    while (wire_next(&w, &f))
        n += f.number == 1;
    return n;
}

bool sentencepiece_read(Reader *r, const File *file, SentencePieces *s)
{
    Wire w = { file->at, file->at + file->size, false };
    WireField f;
    *s = (SentencePieces){ .model = 1,
                           .unknown = 0,
                           .begin = 1,
                           .end = 2,
                           .pad = -1,
                           .surface = text_of(" \xe2\x81\x87 "),
                           .dummy = true,
                           .extra = true,
                           .escape = true };
    s->piece = arena_alloc(r->arena,
                           (size_t)(count_pieces(w) + 1) * sizeof *s->piece);
    while (wire_next(&w, &f)) {
        if (f.type != WireBytes)
            return wrong_at(r, &w, w.at);
        if (f.number == 1 && !piece_read(r, &s->piece[s->n++], f.bytes))
            return false;
        if (f.number == 2 && !trainer_read(r, s, f.bytes))
            return false;
        if (f.number == 3 && !normaliser_of(r, s, f.bytes))
            return false;
        s->whole = s->whole || f.number == 3;
    }
    if (w.wrong || !s->whole) /* the pieces come first in the file, the
                                 normaliser last */
        return wrong_at(r, &w, w.at);
    if (s->model != PiecesUnigram && s->model != PiecesMerges)
        return refuse(r,
                      "a model of SentencePiece of type %d (word, char): "
                      "unigram and bpe are known here",
                      s->model);
    if (s->n == 0 || s->unknown < 0 || s->unknown >= s->n)
        return refuse(r, "a model of SentencePiece without its unknown piece: "
                         "fetch the file again");
    return true;
}

/* ---- tokens ---- */

/* Sets the model and its steps, which do not depend on the ids. */
bool sentencepiece_steps(Reader *r, const SentencePieces *s)
{
    static const Text none = { "", 0 };
    Tokenizer *t = &r->t;
    const int normal = (s->charmap.n ? ATTN_SPM_CHARMAP : 0)
                     | (s->dummy ? ATTN_SPM_PREFIX : 0)
                     | (s->extra ? ATTN_SPM_TRIM : 0)
                     | (s->escape ? ATTN_SPM_ESCAPE : 0)
                     | (s->suffix ? ATTN_SPM_SUFFIX : 0);
    r->kind = s->model == PiecesUnigram ? "Unigram" : "BPE by score";
    t->kind = s->model == PiecesUnigram ? ATTN_UNIGRAM : ATTN_MERGES;
    t->flags = ATTN_MODEL_REPLACE | ATTN_MODEL_FUSE
             | (s->fallback ? ATTN_MODEL_FALLBACK : 0)
             | (s->model == PiecesUnigram ? ATTN_MODEL_FLOATS : 0);
    t->charmap = s->charmap;
    if (s->fallback
        && !step_put(r, StepsDecode, ATTN_STEP_BYTE_FALLBACK_OUT, 0, none,
                     none))
        return false;
    return step_put(r, StepsNormal, ATTN_STEP_SENTENCEPIECE, normal, none, none)
        && step_put(r, StepsDecode, ATTN_STEP_PIECES_OUT,
                    (s->dummy || s->extra) + 2 * s->extra,
                    text_of("\xe2\x96\x81"), s->surface);
}

bool sentencepiece_put(Reader *r, const SentencePieces *s, int64_t i,
                       int64_t id)
{
    static const unsigned char kinds[PieceTypes] = {
        [PieceUnknown] = ATTN_PIECE_UNKNOWN | ATTN_PIECE_UNUSED,
        [PieceControl] = ATTN_PIECE_SPECIAL | ATTN_PIECE_UNUSED,
        [PieceUser] = ATTN_PIECE_USER,
        [PieceUnused] = ATTN_PIECE_UNUSED,
        [PieceByte] = ATTN_PIECE_BYTE | ATTN_PIECE_UNUSED,
    };
    const SentencePiece *p = &s->piece[i];
    if (p->type == PieceByte
        && attn_vocab_byte(p->text.at, (int64_t)p->text.n) < 0)
        return refuse(r,
                      "piece %lld, '%s', is of a byte and names none: fetch "
                      "the file again",
                      (long long)i, quote_n(p->text.at, p->text.n));
    if (!token_put(r, "the list of pieces", p->text, id, (double)p->score))
        return false;
    r->t.token[id].piece = kinds[p->type];
    return true;
}

bool sentencepiece_load(Reader *r, const File *file)
{
    SentencePieces s;
    if (!sentencepiece_read(r, file, &s) || !sentencepiece_steps(r, &s))
        return false;
    tokens_room(r, s.n);
    for (int64_t i = 0; i < s.n; i++)
        if (!sentencepiece_put(r, &s, i, i))
            return false;
    const int32_t n = (int32_t)s.n;
    r->t.special.unknown = s.unknown;
    r->t.special.start = s.begin < n && s.begin >= 0 ? s.begin : -1;
    r->t.special.end = s.end < n && s.end >= 0 ? s.end : -1;
    r->t.special.pad = s.pad < n && s.pad >= 0 ? s.pad : -1;
    return true;
}
