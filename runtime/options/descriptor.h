/* descriptor.h: file names that stand for descriptors that are already open. */
#ifndef ATTN_DESCRIPTOR_1
#define ATTN_DESCRIPTOR_1

#include "settings.h"

/* Returns the descriptor that "-", /dev/stdout or /dev/fd/7 names, or -1 for
 * other paths. Write to the descriptor itself: opening the path again fails if
 * it is a socket, and reaches another file if it was renamed over. */
ATTN_API int attn_descriptor(const char *path);

#endif
