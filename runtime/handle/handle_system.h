/* handle_system.h: the system headers for an open model. They are at the top of
 * an emitted file, because the macros must precede all headers. */
#ifndef ATTN_HANDLE_SYSTEM_1
#define ATTN_HANDLE_SYSTEM_1

#if defined __unix__ || defined __APPLE__
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* mmap */
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#endif
