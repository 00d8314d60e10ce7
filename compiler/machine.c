/* machine.c: measures the computer: the rate of fused multiply-adds in
 * registers, and of reads from each level of memory.                         */
#define _GNU_SOURCE              /* sched_getaffinity, MADV_HUGEPAGE */
#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Here, and nowhere else in attnc, the compiler may fuse a*x+y: the loop asks
 * for the machine's best, and has no result that anyone compares.            */
#if defined __clang__
#pragma STDC FP_CONTRACT ON
#elif defined __GNUC__
#pragma GCC optimize ("fp-contract=fast")
#endif

double machine_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------- multiply-adds --- */
enum { Chains = 16 };            /* independent sums: latency times units */

#define FMA_EACH(a, x, y)                                                     \
    a##0 = a##0 * x + y, a##1 = a##1 * x + y, a##2 = a##2 * x + y,            \
    a##3 = a##3 * x + y, a##4 = a##4 * x + y, a##5 = a##5 * x + y,            \
    a##6 = a##6 * x + y, a##7 = a##7 * x + y

/* One loop for each vector width; `steps` steps of Chains vectors, named so
 * that every compiler keeps them in registers. a*x+y tends to y/(1-x) = 1, so
 * that no number becomes extreme.                                            */
#define FMA_LOOP(name, floats, target)                                        \
    typedef float name##_vector __attribute__((vector_size(4 * (floats))));   \
    target static float name(int64_t steps)                                   \
    {                                                                         \
        name##_vector x = {0}, y = {0};                                       \
        name##_vector a0 = {1}, a1 = {2}, a2 = {3}, a3 = {4};                 \
        name##_vector a4 = {5}, a5 = {6}, a6 = {7}, a7 = {8};                 \
        name##_vector b0 = -a0, b1 = -a1, b2 = -a2, b3 = -a3;                 \
        name##_vector b4 = -a4, b5 = -a5, b6 = -a6, b7 = -a7;                 \
        x += 0.75f;                                                           \
        y += 0.25f;                                                           \
        for (int64_t i = 0; i < steps; i++) {                                 \
            FMA_EACH(a, x, y);                                                \
            FMA_EACH(b, x, y);                                                \
        }                                                                     \
        a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7;                               \
        b0 += b1 + b2 + b3 + b4 + b5 + b6 + b7;                               \
        return a0[0] + b0[0];                                                 \
    }

#if defined __x86_64__
FMA_LOOP(fma_16, 16, __attribute__((target("avx512f"))))
FMA_LOOP(fma_8, 8, __attribute__((target("avx2,fma"))))
#endif
FMA_LOOP(fma_4, 4, )

typedef struct {
    float (*run)(int64_t steps);
    int floats;                  /* in a vector */
} FmaLoop;

static FmaLoop fma_loop(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return (FmaLoop){fma_16, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (FmaLoop){fma_8, 8};
#endif
    return (FmaLoop){fma_4, 4};
}

double machine_fma_rate(double seconds)
{
    const int64_t steps = 5000;  /* some 20 us: seldom interrupted */
    const FmaLoop loop = fma_loop();
    const double work = 2.0 * (double)(steps * Chains * loop.floats);
    volatile float kept = 0.0f;  /* so that the loop must run */
    double best = 0.0;
    const double begin = machine_seconds();
    double from = begin;
    do {
        kept += loop.run(steps);
        const double to = machine_seconds();
        const double rate = work / (to - from);
        best = rate > best ? rate : best;
        from = to;
    } while (from - begin < seconds);
    return best;
}

/* --------------------------------------------------------------- reads --- */
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
    memset(b->at, 1, b->bytes);  /* pages of zeros would all be one page */
    b->bytes = bytes;
    return true;
}

void read_block_free(ReadBlock *b)
{
    munmap(b->at, b->bytes);
    b->at = NULL;
}

/* One pass by two streams, half the block apart: measured faster than one. */
#define READ_LOOP(name, words, target)                                        \
    typedef uint64_t name##_vector                                            \
        __attribute__((vector_size(8 * (words))));                            \
    target static uint64_t name(const void *block, size_t bytes)              \
    {                                                                         \
        const size_t n = bytes / (2 * sizeof(name##_vector));                 \
        const name##_vector *p = block, *q = p + n;                           \
        name##_vector a = {0}, b = {0}, c = {0}, d = {0};                     \
        name##_vector e = {0}, f = {0}, g = {0}, h = {0};                     \
        for (size_t i = 0; i + 4 <= n; i += 4) {                              \
            a ^= p[i], b ^= p[i + 1], c ^= p[i + 2], d ^= p[i + 3];           \
            e ^= q[i], f ^= q[i + 1], g ^= q[i + 2], h ^= q[i + 3];           \
        }                                                                     \
        a ^= b ^ c ^ d ^ e ^ f ^ g ^ h;                                       \
        return a[0];                                                          \
    }

#if defined __x86_64__
READ_LOOP(read_8, 8, __attribute__((target("avx512f"))))
READ_LOOP(read_4, 4, __attribute__((target("avx2"))))
#endif
READ_LOOP(read_2, 2, )

typedef uint64_t ReadLoop(const void *block, size_t bytes);

static ReadLoop *read_loop(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return read_8;
    if (__builtin_cpu_supports("avx2"))
        return read_4;
#endif
    return read_2;
}

double machine_read_rate(const ReadBlock *b, double seconds)
{
    ReadLoop *const loop = read_loop();
    volatile uint64_t kept = 0;
    double best = 0.0;
    const double begin = machine_seconds();
    double from = begin;
    do {
        kept ^= loop(b->at, b->bytes);
        const double to = machine_seconds();
        const double rate = (double)b->bytes / (to - from);
        best = rate > best ? rate : best;
        from = to;
    } while (from - begin < seconds);
    return best;
}

/* ----------------------------------------------------------- the whole --- */
/* The kernel's word is better than the C library's, which multiplies a
 * shared cache by the sharers on some virtual machines.                      */
static size_t cache_bytes(int level, size_t otherwise)
{
    char path[64];
    unsigned long kib = 0;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
    FILE *f = fopen(path, "r");
    if (!f)
        return otherwise;
    const bool read = fscanf(f, "%luK", &kib) == 1 && kib > 0;
    fclose(f);
    return read ? (size_t)kib << 10 : otherwise;
}

static void find_cpu(char *name, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"),
                 colon + 2);
        break;
    }
    if (f)
        fclose(f);
}

static double read_rate_of(size_t bytes, double seconds)
{
    ReadBlock b;
    if (!read_block_make(&b, bytes))
        return 0.0;
    const double rate = machine_read_rate(&b, seconds);
    read_block_free(&b);
    return rate;
}

void machine_measure(Machine *m, double seconds)
{
    cpu_set_t set;
    memset(m, 0, sizeof *m);
    find_cpu(m->cpu, sizeof m->cpu);
    m->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                           : 1;
    m->l2 = cache_bytes(2, (size_t)1 << 20);
    m->l3 = cache_bytes(3, (size_t)32 << 20);
    m->fma = machine_fma_rate(seconds);
    /* Half of a cache stays in it; four times the last one does not. */
    m->read_l2 = read_rate_of(m->l2 / 2, seconds);
    m->read_l3 = read_rate_of(m->l3 / 2, seconds);
    m->read_memory = read_rate_of(m->l3 * 4, seconds);
}
