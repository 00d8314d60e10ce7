/* packed.h: the file of packed weights, and vocabularies beside them. */
#ifndef ATTN_PACKED_1
#define ATTN_PACKED_1

#include "runtime/base/memory.h"

/* The head of model.weights: one page, then the packed weights, then the
 * vocabularies, each at a multiple of 64 bytes.                             */
struct attn_packed_header {
    char magic[8];     /* "ATTNCW03" */
    uint64_t page;     /* hash of all that follows in this page */
    uint64_t contents; /* of all behind the page; 0: of a file that
                          is inside a program, which has no hash */
    uint64_t hash;     /* weights_hash of the model it is for */
    int64_t bytes;     /* of the whole file */
    int64_t weights_at, weights_bytes;
    char dtype[8];                               /* of most matrices: "f32" */
    int64_t source_vocab_at, source_vocab_bytes; /* 0: none */
    int64_t target_vocab_at, target_vocab_bytes;
    char name[136];  /* of the model */
    uint64_t random; /* 1 + the seed of random weights; 0: a file's */
};
enum {
    ATTN_PACKED_PAGE = 4096,
    ATTN_PACKED_TEXT = 512 /* of a message, at most */
};
ATTN_API uint64_t attn_packed_page(const void *file); /* as in its header */
/* NULL when `file` is a weights file for `m`, else what is wrong, a text in
 * why[ATTN_PACKED_TEXT]. hashed: all of it is read, and its contents are held
 * to their hash.                                                            */
ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes,
                                       int64_t hashed, char *why);
/* Where the weights lie in a file that was bound; NULL: it is none. */
ATTN_API const void *attn_packed_weights(const void *file);

#endif
