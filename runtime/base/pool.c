/* pool.c: threads that run the parts of a call. Each free thread, including the
 * caller, takes the next part, so a thread that the system delays holds up only
 * its own part.
 *
 * An idle thread polls for work for 50 us, then sleeps on a futex (on systems
 * without one, and with -DATTNC_NO_FUTEX, on a condition variable). So it stays
 * awake between the steps of a model, and costs nothing while the model waits
 * for its next input. */
#include "system.h"

#include "pool.h"

#ifdef ATTN_ATOMICS
enum { POOL_SPIN = 50, POOL_STACK = 1 << 20, POOL_LINE = 64 }; /* us, bytes */

/* `turn` packs three numbers: the number of the call in the upper 32 bits, then
 * its number of parts and the next part to take, POOL_BITS bits each. A thread
 * takes a part with a compare-exchange of all three, so it never takes a part
 * of another call. The function of a call stays valid until all parts are
 * done. */
enum { POOL_BITS = 16 };

struct attn_pool {
    struct attn_parallel parallel;
    const char *refused;
    pthread_t thread[ATTN_POOL_MOST];
    int64_t started;
    void (*part)(void *arg, int64_t part, int64_t parts);
    void *arg;
    _Alignas(POOL_LINE) _Atomic uint64_t turn;
    _Alignas(POOL_LINE) atomic_uint call; /* number of the current call; idle
                                             threads sleep on it */
    atomic_uint sleepers;
    _Alignas(POOL_LINE) atomic_uint left; /* number of parts not yet done */
    atomic_uint waiting; /* 1: the caller sleeps until left is 0 */
    _Alignas(POOL_LINE) atomic_int busy;
    atomic_int closing;
#ifndef ATTN_FUTEX
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
};

/* ---- waiting ---- */

#ifdef ATTN_FUTEX
static void pool_sleep(struct attn_pool *p, atomic_uint *word, unsigned seen)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void pool_wake(struct attn_pool *p, atomic_uint *word)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, ATTN_POOL_MOST, NULL, NULL, 0);
}
#else
static void pool_sleep(struct attn_pool *p, atomic_uint *word, unsigned seen)
{
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(word) == seen)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

static void pool_wake(struct attn_pool *p, atomic_uint *word)
{
    (void)word;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}
#endif

static void pool_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static int64_t pool_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Polls the word until it differs from `seen`. Returns 1 if it changed, 0 after
 * POOL_SPIN us.                                                             */
static int pool_spin(atomic_uint *word, unsigned seen)
{
    const int64_t until = pool_time() + POOL_SPIN;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return 1;
            pool_pause();
        }
    } while (pool_time() < until);
    return 0;
}

/* ---- parts ---- */

/* Takes and runs the next part of call number `call`. Returns 0 if none is
 * left.                                                                     */
static int pool_part(struct attn_pool *p, unsigned call)
{
    uint64_t turn = atomic_load_explicit(&p->turn, memory_order_acquire);
    for (;;) {
        const int64_t next = turn & 0xffff;
        const int64_t parts = turn >> POOL_BITS & 0xffff;
        if ((unsigned)(turn >> 2 * POOL_BITS) != call || next == parts)
            return 0;
        if (!atomic_compare_exchange_weak_explicit(&p->turn, &turn, turn + 1,
                                                   memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        p->part(p->arg, next, parts);
        if (atomic_fetch_sub(&p->left, 1) == 1 && atomic_load(&p->waiting))
            pool_wake(p, &p->left);
        return 1;
    }
}

static void pool_wait(struct attn_pool *p)
{
    unsigned left = atomic_load(&p->left);
    while (left > 0) {
        if (!pool_spin(&p->left, left)) {
            atomic_store(&p->waiting, 1);
            left = atomic_load(&p->left);
            if (left > 0)
                pool_sleep(p, &p->left, left);
            atomic_store(&p->waiting, 0);
        }
        left = atomic_load(&p->left);
    }
}

static void pool_alone(int64_t parts,
                       void (*part)(void *arg, int64_t part, int64_t parts),
                       void *arg)
{
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

static void pool_announce(struct attn_pool *p)
{
    atomic_fetch_add(&p->call, 1);
    if (atomic_load(&p->sleepers) > 0)
        pool_wake(p, &p->call);
}

static void pool_run(void *pool, int64_t parts,
                     void (*part)(void *arg, int64_t part, int64_t parts),
                     void *arg)
{
    struct attn_pool *p = pool;
    if (parts < 2 || parts >= 1 << POOL_BITS || p->started == 0
        || atomic_exchange(&p->busy, 1)) {
        pool_alone(parts, part, arg);
        return;
    }
    const unsigned call = atomic_load(&p->call) + 1;
    p->part = part;
    p->arg = arg;
    atomic_store(&p->left, (unsigned)parts);
    atomic_store_explicit(&p->turn,
                          (uint64_t)call << 2 * POOL_BITS
                              | (uint64_t)parts << POOL_BITS,
                          memory_order_release);
    pool_announce(p);
    while (pool_part(p, call))
        ;
    pool_wait(p);
    atomic_store(&p->busy, 0);
}

/* ---- threads ---- */

static void *pool_serve(void *pool)
{
    struct attn_pool *p = pool;
    unsigned seen = 0;
    while (!atomic_load(&p->closing)) {
        if (!pool_spin(&p->call, seen)) {
            atomic_fetch_add(&p->sleepers, 1);
            if (!atomic_load(&p->closing))
                pool_sleep(p, &p->call, seen);
            atomic_fetch_sub(&p->sleepers, 1);
        }
        seen = atomic_load(&p->call);
        while (pool_part(p, seen))
            ;
    }
    return NULL;
}

/* Blocks signals in the new thread, so that the calling thread gets them.
 * Faults that a thread itself causes stay unblocked.                        */
static int pool_start(struct attn_pool *p, pthread_t *thread,
                      pthread_attr_t *attributes)
{
    static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int error = pthread_create(thread, attributes, pool_serve, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

ATTN_API struct attn_pool *attn_pool_open(int64_t threads)
{
    pthread_attr_t attributes;
    struct attn_pool *p = aligned_alloc(POOL_LINE, sizeof *p);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
#ifndef ATTN_FUTEX
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
#endif
    int error = pthread_attr_init(&attributes);
    if (!error)
        error = pthread_attr_setstacksize(&attributes, POOL_STACK);
    while (!error && p->started < threads - 1) {
        error = pool_start(p, &p->thread[p->started], &attributes);
        p->started += !error;
    }
    pthread_attr_destroy(&attributes);
    if (error)
        p->refused = strerror(error);
    p->parallel.parts = p->started + 1;
    p->parallel.pool = p;
    p->parallel.run = pool_run;
    return p;
}

ATTN_API void attn_pool_close(struct attn_pool *p)
{
    if (!p)
        return;
    atomic_store(&p->closing, 1);
    pool_announce(p);
    for (int64_t i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
#ifndef ATTN_FUTEX
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
#endif
    free(p);
}

#else
/* Without atomics, the caller is the only thread. */
struct attn_pool {
    struct attn_parallel parallel;
    const char *refused;
};

static void pool_run(void *pool, int64_t parts,
                     void (*part)(void *arg, int64_t part, int64_t parts),
                     void *arg)
{
    (void)pool;
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

ATTN_API struct attn_pool *attn_pool_open(int64_t threads)
{
    struct attn_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->parallel.parts = 1;
    p->parallel.run = pool_run;
    if (threads > 1)
        p->refused = "the C compiler knows no atomics";
    return p;
}

ATTN_API void attn_pool_close(struct attn_pool *p)
{
    free(p);
}
#endif

ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p)
{
    return &p->parallel;
}

ATTN_API const char *attn_pool_refused(const struct attn_pool *p)
{
    return p->refused;
}
