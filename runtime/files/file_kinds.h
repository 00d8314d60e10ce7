/* file_kinds.h: kinds of files: what each is, what is to be done with it where
 * something else is asked for, and whether an output may replace it. A kind is
 * a row of file_kinds.c. */
#ifndef ATTNC_FILE_KINDS_H
#define ATTNC_FILE_KINDS_H

#include <stddef.h>

typedef enum {
    AskedSpec,
    AskedWeights, /* a file of tensors */
    AskedCheckpoint,
    AskedKinds
} Asked;

#define KEPT_SPEC "a spec that attnc did not write"
#define KEPT_CONFIG "a config that attnc did not write"
#define KEPT_VOCABULARY "a vocabulary that attnc did not write"
#define KEPT_WEIGHTS "weights that attnc did not write"

typedef struct {
    int at, n; /* of the first bytes; n 0: known by its name alone */
    const char *bytes;
    const char *endings; /* between blanks; NULL: known by its bytes alone */
    const char *kept;    /* without --force, as this; NULL: it is replaced */
    const char *is;
    /* with $file and $folder; NULL: it is what is asked for */
    const char *remedy[AskedKinds];
} FileKind;

/* Returns the first row whose bytes are in the n bytes of `head`, or one of
 * whose endings the path has; NULL: there is none.                          */
const FileKind *kind_of(const char *path, const char *head, size_t n);

#endif
