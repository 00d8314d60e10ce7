/* machine.c: measures the rate of fused multiply-adds in registers and of reads
 * from each level of memory, with 1 .. N threads. */
#define _GNU_SOURCE /* for MADV_HUGEPAGE and pthread barriers */
#include "machine/dots.h"
#include "machine/machine.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/base.h"

const char *const level_name[Levels] = { "L1", "L2", "L3", "memory" };

/* Only in this file may the compiler fuse a*x+y: the loop measures the
 * machine's peak, and nothing compares its result. */
#if defined __clang__
#pragma STDC FP_CONTRACT ON
#elif defined __GNUC__
#pragma GCC optimize("fp-contract=fast")
#endif

/* ---- multiply-adds ---- */

/* Each loop has enough independent sums to fill all FMA units (latency times
 * units): 12, which fit in 16 registers along with x and y, or 16, which fit in
 * 32. */
#define FMA_EACH(a, x, y)                                                     \
    a##0 = a##0 * x + y, a##1 = a##1 * x + y, a##2 = a##2 * x + y,            \
    a##3 = a##3 * x + y
#define ALL_16(more) more
#define ONLY_12(more) (void)0

/* A loop for one vector width, written so that every compiler keeps the sums in
 * registers. a*x+y converges to y/(1-x) = 1, so no number becomes extreme. */
#define FMA_LOOP(name, floats, fourth, target)                                \
    typedef float name##_vector __attribute__((vector_size(4 * (floats))));   \
    target static float name(int64_t steps)                                   \
    {                                                                         \
        name##_vector x = {0}, y = {0};                                       \
        name##_vector a0 = {1}, a1 = {2}, a2 = {3}, a3 = {4};                 \
        name##_vector b0 = {5}, b1 = {6}, b2 = {7}, b3 = {8};                 \
        name##_vector c0 = -a0, c1 = -a1, c2 = -a2, c3 = -a3;                 \
        name##_vector d0 = -b0, d1 = -b1, d2 = -b2, d3 = -b3;                 \
        x += 0.75f;                                                           \
        y += 0.25f;                                                           \
        for (int64_t i = 0; i < steps; i++) {                                 \
            FMA_EACH(a, x, y);                                                \
            FMA_EACH(b, x, y);                                                \
            FMA_EACH(c, x, y);                                                \
            fourth(FMA_EACH(d, x, y));                                        \
        }                                                                     \
        a0 += a1 + a2 + a3 + b0 + b1 + b2 + b3;                               \
        c0 += c1 + c2 + c3 + d0 + d1 + d2 + d3;                               \
        return a0[0] + c0[0];                                                 \
    }

#if defined __x86_64__
FMA_LOOP(fma_16, 16, ALL_16, __attribute__((target("avx512f"))))
FMA_LOOP(fma_8, 8, ONLY_12, __attribute__((target("avx2,fma"))))
FMA_LOOP(fma_4, 4, ONLY_12, __attribute__((target("avx2,fma"))))
FMA_LOOP(base_4, 4, ONLY_12, )
#else
FMA_LOOP(base_4, 4, ALL_16, )
#endif

typedef struct {
    float (*run)(int64_t steps);
    int floats; /* multiply-adds per step */
} FmaLoop;

static FmaLoop fma_loop(const Target *t)
{
#if defined __x86_64__
    const int most = t && t->width > 1 ? t->width : 16;
    Cpu cpu;
    cpu_find(&cpu);
    const bool fused = cpu.has & ATTN_CPU_V3 && (!t || t->fma);
    if (most >= 16 && cpu.has & ATTN_CPU_V4)
        return (FmaLoop){ fma_16, 16 * 16 };
    if (most >= 8 && fused)
        return (FmaLoop){ fma_8, 8 * 12 };
    if (fused)
        return (FmaLoop){ fma_4, 4 * 12 };
    return (FmaLoop){ base_4, 4 * 12 };
#else
    (void)t;
    return (FmaLoop){ base_4, 4 * 16 };
#endif
}

/* ---- crew ---- */

/* A crew is several threads that do the same work in rounds that begin
 * together. The best round gives their rate without disturbance. */
enum { MostRounds = 256 };
static const double round_seconds = 0.0003;

/* A loop that reads `bytes` of each of two streams, `times` times. */
typedef uint64_t ReadLoop(const void *low, const void *high, size_t bytes,
                          int times);
typedef struct Crew Crew;

typedef struct { /* one thread of a crew */
    Crew *crew;
    pthread_t thread;
    /* The loop that a step runs. It is chosen before, because virtual machines
     * take as long as a step for CPUID, which the choice needs. */
    FmaLoop fma;
    DotLoop dot;
    ReadLoop *read;
    const char *block; /* block that the member reads; NULL: none */
    size_t bytes, at;  /* size of the block; offset of the next read */
    double rate[MostRounds];
} Member;

struct Crew {
    double (*step)(Member *m); /* does about 20 us of work; returns operations
                                * or bytes */
    pthread_barrier_t start;
    double until;      /* no round starts after this time */
    atomic_int rounds; /* set by member 0 after the last round */
    Member *member;
};

/* Returns the processor's seconds of this thread, so that other programs count
 * little: a round that reads memory is longer than the system lets a thread run
 * at once. */
static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs rounds of at least round_seconds. Each round reads the complete block,
 * because part of it may be in a faster cache than the rest. */
static void *member_run(void *member)
{
    Member *m = member;
    Crew *c = m->crew;
    for (int i = 0;; i++) {
        double done = 0.0, now;
        pthread_barrier_wait(&c->start);
        if (i == c->rounds)
            return NULL;
        const double begin = seconds_now(), busy = thread_seconds();
        do {
            done += c->step(m);
            now = seconds_now();
        } while (m->at > 0 || now - begin < round_seconds);
        m->rate[i] = done / (thread_seconds() - busy);
        if (m == c->member && now > c->until)
            c->rounds = i + 1;
    }
}

/* Returns the highest rate that all members together reached in one round. */
static double best_round(const Crew *c, int threads)
{
    double best = 0.0;
    for (int i = 0; i < c->rounds; i++) {
        double sum = 0.0;
        for (int k = 0; k < threads; k++)
            sum += c->member[k].rate[i];
        best = sum > best ? sum : best;
    }
    return best;
}

/* Returns the best rate of a crew whose members' blocks are set. The caller's
 * thread is the first member. */
static double crew_rate(Member *members, int threads, double step(Member *),
                        double seconds)
{
    Crew c = { .step = step,
               .member = members,
               .rounds = MostRounds,
               .until = seconds_now() + seconds };
    if (pthread_barrier_init(&c.start, NULL, (unsigned)threads) != 0)
        fail(ExitResource, "bench: no memory for %d threads", threads);
    for (int i = threads - 1; i >= 0; i--) {
        members[i].crew = &c;
        if (i > 0
            && pthread_create(&members[i].thread, NULL, member_run, &members[i])
                   != 0)
            fail(ExitResource, "bench: the system gives no %d threads",
                 threads);
    }
    member_run(&members[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(members[i].thread, NULL);
    pthread_barrier_destroy(&c.start);
    return best_round(&c, threads);
}

static double fma_step(Member *m)
{
    const int64_t steps = 5000;
    volatile float kept = m->fma.run(steps); /* a volatile result: the compiler
                                              cannot remove the loop */
    (void)kept;
    return 2.0 * (double)(steps * m->fma.floats);
}

static double dot_step(Member *m)
{
    const int64_t steps = 5000;
    volatile int kept = m->dot.run(steps);
    (void)kept;
    return 2.0 * (double)(steps * m->dot.products);
}

/* Returns the rate of a step that reads no memory, by members like this one. */
static double step_rate(const Member *like, int threads, double step(Member *),
                        double seconds)
{
    Arena *a = arena_new();
    Member *members = arena_alloc(a, (size_t)threads * sizeof *members);
    for (int i = 0; i < threads; i++)
        members[i] = *like;
    const double rate = crew_rate(members, threads, step, seconds);
    arena_free(a);
    return rate;
}

double machine_fma_rate(const Target *t, int threads, double seconds)
{
    const Member like = { .fma = fma_loop(t) };
    return step_rate(&like, threads, fma_step, seconds);
}

static double dots_rate(DotLoop loop, int threads, double seconds)
{
    const Member like = { .dot = loop };
    return loop.run ? step_rate(&like, threads, dot_step, seconds) : 0;
}

double machine_dot_rate(const Target *t, int threads, double seconds)
{
    return dots_rate(dot_loop(t), threads, seconds);
}

double machine_pair_rate(const Target *t, int threads, double seconds)
{
    return dots_rate(pair_loop(t), threads, seconds);
}

/* Measures the clock with dependent multiplications, which take 3 cycles each
 * on all x86-64 processors of the last ten years. */
#if defined __x86_64__
static double clock_step(Member *m)
{
    const int steps = 20000, cycles = 3;
    uint64_t x = 3, y = 5;
    (void)m;
    for (int i = 0; i < steps; i++) {
        x *= y;
        __asm__ volatile("" : "+r"(x), "+r"(y));
    }
    volatile uint64_t kept = x;
    (void)kept;
    return (double)cycles * steps;
}

double machine_clock(double seconds)
{
    Member member = { .crew = NULL };
    return crew_rate(&member, 1, clock_step, seconds);
}
#else
double machine_clock(double seconds)
{
    (void)seconds;
    return 0.0;
}
#endif

/* ---- reads ---- */
bool read_block_make(ReadBlock *b, size_t bytes)
{
    const size_t huge = (size_t)1 << 21;
    b->bytes = (bytes + huge - 1) / huge * huge;
    b->at = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->at == MAP_FAILED)
        return false;
#ifdef MADV_HUGEPAGE
    madvise(b->at, b->bytes, MADV_HUGEPAGE);
#endif
    memset(b->at, 1, b->bytes); /* Linux maps all untouched pages to one zero
                                 * page */
    b->bytes = bytes;
    return true;
}

void read_block_free(ReadBlock *b)
{
    munmap(b->at, b->bytes);
    b->at = NULL;
}

/* Reads a block in two streams, half a block apart, which is faster than one.
 * Adds the words, because with xor a second pass would cancel the first. */
#define READ_LOOP(name, words, target)                                        \
    typedef uint64_t name##_vector                                            \
        __attribute__((vector_size(8 * (words))));                            \
    target static uint64_t name(const void *low, const void *high,            \
                                size_t bytes, int times)                      \
    {                                                                         \
        const size_t n = bytes / sizeof(name##_vector);                       \
        const name##_vector *p = low, *q = high;                              \
        name##_vector a = {0}, b = {0}, c = {0}, d = {0};                     \
        name##_vector e = {0}, f = {0}, g = {0}, h = {0};                     \
        for (int k = 0; k < times; k++)                                       \
            for (size_t i = 0; i + 4 <= n; i += 4) {                          \
                a += p[i], b += p[i + 1], c += p[i + 2], d += p[i + 3];       \
                e += q[i], f += q[i + 1], g += q[i + 2], h += q[i + 3];       \
            }                                                                 \
        a += b + c + d + e + f + g + h;                                       \
        return a[0];                                                          \
    }

#if defined __x86_64__
READ_LOOP(read_8, 8, __attribute__((target("avx512f"))))
READ_LOOP(read_4, 4, __attribute__((target("avx2"))))
#endif
READ_LOOP(read_2, 2, )

static ReadLoop *read_loop(void)
{
#if defined __x86_64__
    Cpu cpu;
    cpu_find(&cpu);
    if (cpu.has & ATTN_CPU_V4)
        return read_8;
    if (cpu.has & ATTN_CPU_V3)
        return read_4;
#endif
    return read_2;
}

/* Reads a small block many times, or the next piece of a large one. */
static double read_step(Member *m)
{
    const size_t least = (size_t)1 << 19, half = m->bytes / 2;
    const size_t left = half - m->at;
    const size_t bytes = left < least ? left : least;
    const int times = half < least ? (int)(least / half) : 1;
    volatile uint64_t kept = m->read(m->block + m->at, m->block + half + m->at,
                                     bytes, times);
    (void)kept;
    m->at = m->at + bytes < half ? m->at + bytes : 0;
    return 2.0 * (double)bytes * times;
}

double machine_read_rate(const ReadBlock *b, int threads, size_t piece,
                         double seconds)
{
    const size_t page = 4096, apart = b->bytes / (size_t)threads / page * page;
    if (piece > apart || piece < page)
        return 0.0;
    Arena *a = arena_new();
    Member *members = arena_alloc(a, (size_t)threads * sizeof *members);
    for (int i = 0; i < threads; i++) {
        members[i].read = read_loop();
        members[i].block = (const char *)b->at + (size_t)i * apart;
        members[i].bytes = piece / page * page;
    }
    const double rate = crew_rate(members, threads, read_step, seconds);
    arena_free(a);
    return rate;
}

/* ---- the whole ---- */

/* Returns the bytes that each thread reads to measure a level. For a cache,
 * reads half of it, so that the data stays cached; each thread has its own L1
 * and L2, and all share L3. For memory, reads a share of a block 16 times as
 * large as the last cache, so that cached data hardly matters. */
static size_t piece_of(const Machine *m, Level level, int threads,
                       const ReadBlock *b)
{
    if (level == LevelMemory)
        return b->bytes / (size_t)threads / 4096 * 4096;
    if (level == LevelL3)
        return m->cache[LevelL3] / 2 / (size_t)threads;
    return m->cache[level] / 2;
}

static void measure_rates(const Machine *m, Rates *r, const Target *t,
                          const ReadBlock *b, double seconds)
{
    r->fma = machine_fma_rate(t, r->threads, seconds);
    r->dot = machine_dot_rate(t, r->threads, seconds);
    r->pair = machine_pair_rate(t, r->threads, seconds);
    for (int level = 0; b->at && level < Levels; level++)
        r->read[level] = machine_read_rate(
            b, r->threads, piece_of(m, (Level)level, r->threads, b), seconds);
}

static void add_count(Machine *m, int threads)
{
    int at = m->counts;
    while (at > 0 && m->rates[at - 1].threads >= threads)
        at--;
    if (m->counts == MostRates
        || (at < m->counts && m->rates[at].threads == threads))
        return;
    memmove(&m->rates[at + 1], &m->rates[at],
            (size_t)(m->counts - at) * sizeof m->rates[0]);
    m->rates[at] = (Rates){ .threads = threads };
    m->counts++;
}

/* Raises rates of fewer threads to their share of those of more. Alone they are
 * at least as fast, so a lower rate was disturbed. */
static void raise_shares(Machine *m)
{
    for (int i = m->counts - 2; i >= 0; i--) {
        Rates *r = &m->rates[i], share = m->rates[i + 1];
        const double part = (double)r->threads / share.threads;
        share.fma *= part;
        share.dot *= part;
        share.pair *= part;
        for (int level = 0; level < Levels; level++)
            share.read[level] *= part;
        rates_keep_better(r, &share);
    }
}

void machine_measure(Machine *m, const Target *t, int threads, double seconds)
{
    const size_t most = (size_t)1 << 30;
    ReadBlock b = { 0 };
    machine_find(m);
    add_count(m, threads);
    add_count(m, m->cores);
    for (int n = 1; n < m->cores && n < 1 << 14; n *= 2)
        add_count(m, n);
    const size_t bytes = m->cache[LevelL3] * 16;
    if (!read_block_make(&b, bytes < most ? bytes : most))
        b.at = NULL;
    const double slice = seconds / (m->counts * (3 + Levels) + 1);
    m->clock = machine_clock(slice);
    for (int i = 0; i < m->counts; i++)
        measure_rates(m, &m->rates[i], t, &b, slice);
    raise_shares(m);
    if (b.at)
        read_block_free(&b);
}

void rates_keep_better(Rates *r, const Rates *again)
{
    r->fma = fmax(r->fma, again->fma);
    r->dot = fmax(r->dot, again->dot);
    r->pair = fmax(r->pair, again->pair);
    for (int i = 0; i < Levels; i++)
        r->read[i] = fmax(r->read[i], again->read[i]);
}

void machine_keep_better(Machine *m, const Machine *again)
{
    m->clock = fmax(m->clock, again->clock);
    for (int i = 0; i < m->counts && i < again->counts; i++)
        if (m->rates[i].threads == again->rates[i].threads)
            rates_keep_better(&m->rates[i], &again->rates[i]);
}

const Rates *machine_rates(const Machine *m, int threads)
{
    int i = 0;
    while (i + 1 < m->counts && m->rates[i + 1].threads <= threads)
        i++;
    return &m->rates[i];
}

Level machine_level(const Machine *m, double bytes)
{
    int level = LevelL1;
    while (level < LevelMemory && bytes > (double)m->cache[level])
        level++;
    return (Level)level;
}
