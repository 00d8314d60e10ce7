/* kernel_pieces.h: reads the pieces of the files in kernels/, whose lines are:
 *
 *     //: NAME [when: WORDS] [needs: NAMES]      a piece that others need
 *     //: kernel NAME ...                        one that emitters ask for
 *     //: type NAME ...                          one that callers see complete
 *
 * The target matches all WORDS: w16, w8, w4, w1 (width); fma, nofma; x86,
 * other; vnni, avxvnni, maddubs, dotprod, plain (how it multiplies bytes);
 * signed for the last three of these, which accept no bytes above 127, and
 * unsigned for the others; wide, narrow (target_widens()); pairs, nopairs, amx
 * (Target).
 *
 * The lines are the only list of kernels. */
#ifndef ATTNC_EMIT_PIECES_H
#define ATTNC_EMIT_PIECES_H

#include "emit/tile/needs.h"
#include "spec/spec.h"

typedef struct {
    const char *name;
    VEC(const char *) needs;
    bool kernel, type;
    const char *text; /* without the marker and the last newline */
} Piece;
typedef struct {
    VEC(Piece) list; /* in the order of the files: definitions precede uses */
    Index names;     /* place of a name in the list */
} Pieces;
/* Returns the pieces for a target. A piece with _ACT in its name occurs once
 * for each activation. */
Pieces pieces_of(Arena *a, const Target *t);
/* Returns the pieces for `attnc compile --plain`. */
Pieces plain_pieces(Arena *a);
/* Returns the *n characters between `static` and the body. */
const char *piece_prototype(const Piece *p, size_t *n);
ParameterNames piece_parameters(Arena *a, const Piece *p);

#endif
