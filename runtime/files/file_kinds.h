/* file_kinds.h: kinds of files: what each is, what to do with it when attnc
 * expects something else, and whether an output may replace it. Each kind is a
 * row of file_kinds.c.                                                      */
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
    int at, n; /* place of the first bytes; n 0: known by its name only */
    const char *bytes;
    const char *endings; /* separated by blanks; NULL: known by its bytes
                            only */
    const char *kept;    /* description if replacing it needs --force; else
                            NULL */
    const char *is;
    /* advice with $file and $folder; NULL: the expected kind */
    const char *remedy[AskedKinds];
} FileKind;

/* Returns the first row whose bytes are in the n bytes of `head`, or one of
 * whose endings the path has. Returns NULL if no row matches.               */
const FileKind *kind_of(const char *path, const char *head, size_t n);

#endif
