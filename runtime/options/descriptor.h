/* descriptor.h: names of files that stand for what is open already. */
#ifndef ATTN_DESCRIPTOR_1
#define ATTN_DESCRIPTOR_1

#include "settings.h"

/* Returns the descriptor that "-", /dev/stdout or /dev/fd/7 names, -1 for all
 * other paths. These can't be opened anew: the file behind them may be renamed
 * over, or be a socket.                                                     */
ATTN_API int attn_descriptor(const char *path);

#endif
