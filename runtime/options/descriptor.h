/* descriptor.h: file names that refer to descriptors that are already open. */
#ifndef ATTN_DESCRIPTOR_1
#define ATTN_DESCRIPTOR_1

#include "settings.h"

/* Returns the descriptor that "-", /dev/stdout or a path like /dev/fd/7 names,
 * or -1 for other paths. The caller must write to the descriptor itself:
 * opening the path again fails if it is a socket, and opens another file if a
 * file was renamed to the path. */
ATTN_API int attn_descriptor(const char *path);

#endif
