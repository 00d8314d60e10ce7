/* thread_ranks.h: ranks of a divided model that are threads of the test. */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core.h"

enum { MostRanks = 8 };

typedef struct Ranks Ranks;

typedef struct { /* one rank */
    Ranks *all;
    struct attn_comm comm;
    const float *y; /* its columns, while the ranks gather */
    pthread_t thread;
} Rank;

struct Ranks {
    int64_t ranks;
    Rank rank[MostRanks];
    pthread_barrier_t meet;
    int64_t gathered; /* floats that rank 0 received */
    void (*run)(void *with, const struct attn_comm *comm);
    void *with;
};

static void gather_by_threads(void *with, float *y, int64_t ld, int64_t rows,
                              const int64_t *first)
{
    Rank *own = with;
    Ranks *all = own->all;

    own->y = y;
    pthread_barrier_wait(&all->meet);
    for (int64_t r = 0; r < all->ranks; r++) {
        const int64_t n = first[r + 1] - first[r];
        if (&all->rank[r] == own)
            continue;
        for (int64_t i = 0; i < rows; i++)
            memcpy(y + i * ld + first[r], all->rank[r].y + i * ld + first[r],
                   (size_t)n * sizeof *y);
        if (own->comm.rank == 0)
            all->gathered += rows * n;
    }
    pthread_barrier_wait(&all->meet);
}

static int32_t combined(int64_t how, int32_t a, int32_t b)
{
    float x, y;

    if (how == ATTN_SUM_INT32)
        return (int32_t)((uint32_t)a + (uint32_t)b);
    if (how == ATTN_MAX_INT32)
        return b > a ? b : a;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

/* Combines the numbers of all ranks in order. */
static void reduce_by_threads(void *with, int64_t how, void *x, int64_t ld,
                              int64_t rows, int64_t columns)
{
    Rank *own = with;
    Ranks *all = own->all;
    int32_t *const sum = calloc((size_t)(rows * columns), sizeof *sum);

    own->y = x;
    pthread_barrier_wait(&all->meet);
    for (int64_t r = 0; r < all->ranks; r++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                int32_t *to = &sum[i * columns + j], n;
                memcpy(&n, all->rank[r].y + i * ld + j, sizeof n);
                *to = r == 0 ? n : combined(how, *to, n);
            }
    pthread_barrier_wait(&all->meet);
    for (int64_t i = 0; i < rows; i++)
        memcpy((int32_t *)x + i * ld, sum + i * columns,
               (size_t)columns * sizeof *sum);
    if (own->comm.rank == 0)
        all->gathered += (all->ranks - 1) * rows * columns;
    free(sum);
}

static void *run_rank(void *of)
{
    const Rank *r = of;
    r->all->run(r->all->with, &r->comm);
    return NULL;
}

/* Calls run(with, comm) once for each rank, at the same time. Returns the
 * floats that rank 0 received from the others. */
static int64_t run_ranks(int64_t ranks,
                         void (*run)(void *with, const struct attn_comm *comm),
                         void *with)
{
    Ranks all = { .ranks = ranks, .run = run, .with = with };
    assert(ranks <= MostRanks);
    pthread_barrier_init(&all.meet, NULL, (unsigned)ranks);
    for (int64_t r = 0; r < ranks; r++) {
        all.rank[r].all = &all;
        all.rank[r].comm = (struct attn_comm){ .rank = r,
                                               .ranks = ranks,
                                               .with = &all.rank[r],
                                               .gather = gather_by_threads,
                                               .reduce = reduce_by_threads };
        pthread_create(&all.rank[r].thread, NULL, run_rank, &all.rank[r]);
    }
    for (int64_t r = 0; r < ranks; r++)
        pthread_join(all.rank[r].thread, NULL);
    pthread_barrier_destroy(&all.meet);
    return all.gathered;
}

#endif
