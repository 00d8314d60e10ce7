/* pool.c: threads that run the parts of a call. Parts are taken in turn by
 * whoever is free, the caller too, so that a thread which the system holds up
 * delays none but the part that it has.
 *
 * A thread without work looks for some for 50 us, then sleeps on a futex (where
 * there is none, on a condition variable): between the steps of a model it is
 * awake, while the model waits for its next line it costs nothing.          */
#define _GNU_SOURCE /* syscall */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { SpinMicroseconds = 50, StackBytes = 1 << 20, Line = 64 };

/* The turn: the number of the call, its parts, and the next one to be taken. A
 * part is taken by exchanging the whole: never one of another call. While a
 * part that was taken is not done, its call's function stays.              */
typedef uint64_t Turn;
enum { PartBits = 16 };

struct Pool {
    struct attn_parallel parallel;
    const char *refused;
    pthread_t thread[PoolMost];
    int64_t started;
    void (*part)(void *arg, int64_t part, int64_t parts);
    void *arg;
    _Alignas(Line) _Atomic Turn turn;
    _Alignas(Line) atomic_uint call; /* grows with each; sleepers' word */
    atomic_uint sleepers;
    _Alignas(Line) atomic_uint left; /* parts that are not done */
    atomic_uint waiting; /* the caller sleeps until there are none */
    _Alignas(Line) atomic_bool busy;
    atomic_bool closing;
#ifndef __linux__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
};

/* ------------------------------------------------------------- waiting --- */

#ifdef __linux__
static void word_sleep(Pool *p, atomic_uint *word, unsigned seen)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void word_wake(Pool *p, atomic_uint *word)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, PoolMost, NULL, NULL, 0);
}
#else
static void word_sleep(Pool *p, atomic_uint *word, unsigned seen)
{
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(word) == seen)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

static void word_wake(Pool *p, atomic_uint *word)
{
    (void)word;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}
#endif

static void pause_briefly(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static int64_t microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Until the word is no longer `seen`: true; false when that took too long. */
static bool spin(atomic_uint *word, unsigned seen)
{
    const int64_t until = microseconds() + SpinMicroseconds;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            pause_briefly();
        }
    } while (microseconds() < until);
    return false;
}

/* --------------------------------------------------------------- parts --- */

/* Takes the next part of the call `call` and does it; false: none is left. */
static bool do_part(Pool *p, unsigned call)
{
    Turn turn = atomic_load_explicit(&p->turn, memory_order_acquire);
    for (;;) {
        const int64_t next = turn & 0xffff;
        const int64_t parts = turn >> PartBits & 0xffff;
        if ((unsigned)(turn >> 2 * PartBits) != call || next == parts)
            return false;
        if (!atomic_compare_exchange_weak_explicit(&p->turn, &turn, turn + 1,
                                                   memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        p->part(p->arg, next, parts);
        if (atomic_fetch_sub(&p->left, 1) == 1 && atomic_load(&p->waiting))
            word_wake(p, &p->left);
        return true;
    }
}

static void wait_for_all(Pool *p)
{
    unsigned left = atomic_load(&p->left);
    while (left > 0) {
        if (!spin(&p->left, left)) {
            atomic_store(&p->waiting, 1);
            left = atomic_load(&p->left);
            if (left > 0)
                word_sleep(p, &p->left, left);
            atomic_store(&p->waiting, 0);
        }
        left = atomic_load(&p->left);
    }
}

static void run_alone(int64_t parts,
                      void (*part)(void *arg, int64_t part, int64_t parts),
                      void *arg)
{
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

static void announce(Pool *p)
{
    atomic_fetch_add(&p->call, 1);
    if (atomic_load(&p->sleepers) > 0)
        word_wake(p, &p->call);
}

static void run(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts), void *arg)
{
    Pool *p = pool;
    if (parts < 2 || parts >= 1 << PartBits || p->started == 0
        || atomic_exchange(&p->busy, true)) {
        run_alone(parts, part, arg);
        return;
    }
    const unsigned call = atomic_load(&p->call) + 1;
    p->part = part;
    p->arg = arg;
    atomic_store(&p->left, (unsigned)parts);
    atomic_store_explicit(&p->turn,
                          (Turn)call << 2 * PartBits | (Turn)parts << PartBits,
                          memory_order_release);
    announce(p);
    while (do_part(p, call))
        ;
    wait_for_all(p);
    atomic_store(&p->busy, false);
}

/* ------------------------------------------------------------- threads --- */

static void *work(void *pool)
{
    Pool *p = pool;
    unsigned seen = 0;
    while (!atomic_load(&p->closing)) {
        if (!spin(&p->call, seen)) {
            atomic_fetch_add(&p->sleepers, 1);
            if (!atomic_load(&p->closing))
                word_sleep(p, &p->call, seen);
            atomic_fetch_sub(&p->sleepers, 1);
        }
        seen = atomic_load(&p->call);
        while (do_part(p, seen))
            ;
    }
    return NULL;
}

/* Signals go to the thread that calls, but for a fault of the thread's own. */
static int start_thread(Pool *p, pthread_t *thread, pthread_attr_t *attributes)
{
    static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int error = pthread_create(thread, attributes, work, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

Pool *pool_open(int64_t threads)
{
    pthread_attr_t attributes;
    Pool *p = aligned_alloc(Line, sizeof *p);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
#ifndef __linux__
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
#endif
    int error = pthread_attr_init(&attributes);
    if (!error)
        error = pthread_attr_setstacksize(&attributes, StackBytes);
    while (!error && p->started < threads - 1) {
        error = start_thread(p, &p->thread[p->started], &attributes);
        p->started += !error;
    }
    pthread_attr_destroy(&attributes);
    p->refused = error ? strerror(error) : NULL;
    p->parallel = (struct attn_parallel){ p->started + 1, p, run };
    return p;
}

void pool_close(Pool *p)
{
    if (!p)
        return;
    atomic_store(&p->closing, true);
    announce(p);
    for (int64_t i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
#ifndef __linux__
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
#endif
    free(p);
}

const struct attn_parallel *pool_parallel(const Pool *p)
{
    return &p->parallel;
}

const char *pool_refused(const Pool *p)
{
    return p->refused;
}
