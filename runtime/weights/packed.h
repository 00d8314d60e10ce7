/* packed.h: the file of packed weights and vocabularies. */
#ifndef ATTN_PACKED_1
#define ATTN_PACKED_1

#include "runtime/base/memory.h"

/* The header of model.weights. The file consists of one header page, the packed
 * weights, and the vocabularies, each aligned to 64 bytes. */
struct attn_packed_header {
    char magic[8];     /* "ATTNCW03" */
    uint64_t page;     /* hash of the rest of this page */
    uint64_t contents; /* hash of everything after the page; 0 in a file
                        * embedded in a program, which is not hashed */
    uint64_t hash;     /* weights_hash of the model */
    int64_t bytes;     /* size of the file */
    int64_t weights_at, weights_bytes;
    char dtype[8]; /* format of most matrices: "f32", ... */
    int64_t source_vocab_at, source_vocab_bytes; /* bytes 0: no vocabulary */
    int64_t target_vocab_at, target_vocab_bytes;
    char name[136];  /* the model's name */
    uint64_t random; /* 1 + the seed of random weights; 0: the weights came
                        from a file */
};
enum {
    ATTN_PACKED_PAGE = 4096,
    ATTN_PACKED_TEXT = 512 /* maximum bytes of a message */
};
ATTN_API uint64_t attn_packed_page(const void *file); /* returns the hash for
                                                         `page` */
/* Returns NULL if `file` is a weights file for `m`, otherwise a message in
 * why[ATTN_PACKED_TEXT]. If `hashed` is not 0, reads the complete file to check
 * the hash of its contents. */
ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes,
                                       int64_t hashed, char *why);
/* Returns the weights in a checked file, or NULL if `file` is not a weights
 * file. */
ATTN_API const void *attn_packed_weights(const void *file);

#endif
