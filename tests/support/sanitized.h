/* sanitized.h: tells whether this program is built with a sanitizer, which
 * replaces the allocator and maps terabytes of addresses. Some tests are
 * meaningless then, and the program omits them. */
#ifndef ATTNC_SANITIZED_H
#define ATTNC_SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
