/* skip.h: skips a test with a reason, which run.sh requires. Included after
 * cmocka.h. */
#ifndef ATTNC_SKIP_H
#define ATTNC_SKIP_H

#define SKIP(...)                                                             \
    do {                                                                      \
        print_message("skip: " __VA_ARGS__);                                  \
        print_message("\n");                                                  \
        skip();                                                               \
    } while (0)

#endif
