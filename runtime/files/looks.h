/* looks.h: guesses what an existing file is, before an output replaces it. */
#ifndef ATTN_LOOKS_1
#define ATTN_LOOKS_1

#include "runtime/base/memory.h"

/* A spec that attnc writes ends in a line with ATTN_MARK, the hash of all bytes
 * above the line as 16 hexadecimal digits, and a line feed. */
#define ATTN_MARK "# written by attnc; hash of the lines above: "
enum { ATTN_MARK_BYTES = sizeof ATTN_MARK - 1 + 16 + 1 };

/* Returns a description, such as "weights that attnc did not write", if the
 * file looks like an input of attnc. Returns NULL for all other files: empty
 * files, pictures, tables, and unedited files that attnc wrote. */
ATTN_API const char *attn_looks_like(const char *path, const char *at,
                                     int64_t bytes);

#endif
