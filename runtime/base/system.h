/* system.h: the system headers for threads and for the program. They are at the
 * top of an emitted file, because _GNU_SOURCE must precede all headers. */
#ifndef ATTN_SYSTEM_1
#define ATTN_SYSTEM_1

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for syscall, sched_getaffinity, getline */
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#ifndef ATTNC_NO_FUTEX
#define ATTN_FUTEX /* without this, idle threads wait on a condition variable \
                    */
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#endif
#if !defined __STDC_NO_ATOMICS__ && !defined __TINYC__
#define ATTN_ATOMICS /* without this there is only one thread */
#include <stdatomic.h>
#endif

#endif
