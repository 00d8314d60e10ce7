/* sanitized.h: whether this program is built with a sanitizer, which has an
 * allocator of its own and takes terabytes of addresses: then some tests have
 * no meaning, and are not among those that the program runs.                */
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
