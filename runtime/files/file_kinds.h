/* file_kinds.h: the kinds of files: what each kind is, how the user can proceed
 * if attnc expects another kind, and if an output may replace the file. Each
 * kind is a row of file_kinds.c. */
#ifndef ATTNC_FILE_KINDS_H
#define ATTNC_FILE_KINDS_H

#include <stddef.h>

typedef enum {
    AskedSpec,
    AskedWeights, /* a file of tensors was expected */
    AskedCheckpoint,
    AskedKinds
} Asked;

#define KEPT_SPEC "a spec that attnc did not write"
#define KEPT_CONFIG "a config that attnc did not write"
#define KEPT_VOCABULARY "a vocabulary that attnc did not write"
#define KEPT_WEIGHTS "weights that attnc did not write"

typedef struct {
    int at, n; /* offset and number of first bytes; n 0: only the name counts */
    const char *bytes;
    const char *endings; /* endings of names, separated by blanks; NULL: only
                          * the bytes count */
    const char *kept;    /* description, if only --force may replace it;
                          * otherwise NULL */
    const char *is;
    /* advice with $file and $folder; NULL: this is the expected kind */
    const char *remedy[AskedKinds];
} FileKind;

/* Returns the first row whose bytes occur in the n bytes of `head`, or one of
 * whose endings is that of the path. Returns NULL if there is none. */
const FileKind *kind_of(const char *path, const char *head, size_t n);

#endif
