/* kernel_pieces.h: the pieces of the files in kernels/, as their lines say:
 *
 *     //: NAME [when: WORDS] [needs: NAMES]      a piece that others need
 *     //: kernel NAME ..                         one that emitters ask for
 *     //: type NAME ..                           one that callers see whole
 *
 * WORDS are all true of the target: w16, w8, w4, w1, its width; fma, nofma;
 * x86; vnni, avxvnni, maddubs, dotprod or plain, by what bytes are multiplied;
 * of the last three `signed`, since these take no bytes above 127, else
 * `unsigned`; wide or narrow, by target_widens().
 *
 * These lines are the only list of kernels that there is. */
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
    VEC(Piece) list; /* in the files' order: definitions precede uses */
    Index names;     /* of them: place in the list */
} Pieces;
/* Those for a target. What has _ACT in its name is there once for each
 * activation. */
Pieces pieces_of(Arena *a, const Target *t);
/* Returns the pieces that `attnc compile --plain` takes. */
Pieces plain_pieces(Arena *a);
/* Its text from behind `static` to the body. */
const char *piece_prototype(const Piece *p, size_t *n);
ParameterNames piece_parameters(Arena *a, const Piece *p);

#endif
