/* program_comm.c: how the ranks of a program gather and combine numbers
 * (comm.h): in memory that they share, if they are on one machine, else by
 * MPI's collectives. Waiting has a limit, --rank-timeout: a rank that waits
 * longer ends all. */

enum {
    PROGRAM_RANKS = 64,
    PROGRAM_FLOATS = 1 << 17, /* floats that a rank sends at once */
    PROGRAM_TURNS = 2,        /* blocks of these floats that a rank shares */
    PROGRAM_ADDED = 4096,     /* numbers from which on ranks share the adding */
    PROGRAM_SPINS = 4000,     /* looks before a waiting rank yields its core */
    PROGRAM_ALIGN = 64        /* bytes of a cache line */
};

#ifdef ATTN_ATOMICS
struct mpi_shared {                           /* what a rank shows the others */
    _Alignas(PROGRAM_ALIGN) atomic_uint turn; /* blocks that it has written */
    _Alignas(PROGRAM_ALIGN) float block[PROGRAM_TURNS][PROGRAM_FLOATS];
};
#endif

static struct mpi_ranks {
    struct attn_comm comm;
    const char *name; /* of the program, for messages */
    int err;          /* stderr */
    int level;        /* the calls of threads that MPI allows */
    int ended;        /* all ranks know that one has failed */
    int64_t timeout;  /* seconds */
    double looked;    /* when this rank last looked for another, in seconds */
#ifdef ATTN_ATOMICS
    struct mpi_shared *shared[PROGRAM_RANKS]; /* by rank, on one machine; else
                                               * NULL */
    MPI_Win window;
#endif
    unsigned turn;
    float *sums, *sent, *received; /* without shared memory */
} ranks;

/* Leaves mpirun the time to forward a message: MPICH's drops what it has not
 * read when it ends a job. */
static void mpi_forward(void)
{
    static const struct timespec nap = { 0, 300000000 };

    nanosleep(&nap, NULL);
}

/* Ends all ranks. */
static void mpi_abort(int code)
{
    mpi_forward();
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code); /* not reached: MPI has ended this process */
}

/* ---- waiting ---- */

static double mpi_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints the message of the limit. Those of ranks are a second apart, so that
 * one rank prints it and ends the others. */
static void mpi_late(void)
{
    dprintf(ranks.err,
            "%s: error: rank %lld has waited %lld s for another rank, which "
            "has stopped or is slow; --rank-timeout=S sets the limit\n",
            ranks.name, (long long)ranks.comm.rank, (long long)ranks.timeout);
}

/* True if this rank, which looks often, has stood still itself, and not the one
 * it waits for: mpirun may have let it go on to end it. */
static int mpi_stood_still(double now)
{
    const double last = ranks.looked;

    ranks.looked = now;
    return now - last > 0.9;
}

static void mpi_alarmed(int number)
{
    (void)number;
    if (mpi_stood_still(mpi_seconds())) {
        ranks.looked += 1.0;
        alarm(1);
        return;
    }
    mpi_late();
    mpi_forward();
    _exit(4);
}

/* Limits a call of MPI that waits for other ranks, until mpi_limit(0). */
static void mpi_limit(int on)
{
    const int64_t limit = ranks.timeout + ranks.comm.rank;

    signal(SIGALRM, mpi_alarmed);
    ranks.looked = mpi_seconds() + (double)limit; /* when the alarm looks */
    alarm(on ? (unsigned)limit : 0);
}

/* Gives the core away while another rank is awaited since *since, which is 0 at
 * first; if that takes long, rank 0 may wait for a line. Ends all ranks after
 * the limit. */
static void mpi_pause(double *since)
{
    static const struct timespec nap = { 0, 500000 };
    const double now = mpi_seconds();

    if (mpi_stood_still(now) || *since == 0.0)
        *since = now;
    if (now - *since < 0.02)
        sched_yield();
    else
        nanosleep(&nap, NULL);
    if (now - *since < (double)(ranks.timeout + ranks.comm.rank))
        return;
    mpi_late();
    mpi_abort(4);
}

static void mpi_wait(MPI_Request *request)
{
    double since = 0.0;
    int done = 0;

    for (int64_t i = 0; !done; i++) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done && i >= PROGRAM_SPINS)
            mpi_pause(&since);
    }
}

/* ---- gathering ---- */

#ifdef ATTN_ATOMICS
/* Waits until a rank has written this turn's block. */
static void mpi_await(struct mpi_shared *s)
{
    double since = 0.0;

    for (int64_t i = 0;
         (int)(atomic_load_explicit(&s->turn, memory_order_acquire)
               - ranks.turn)
         < 0;
         i++)
        if (i >= PROGRAM_SPINS)
            mpi_pause(&since);
}
#endif

/* Sends n[rank] floats, which lie at mpi_block(). Afterwards from[r] is the
 * address of the n[r] floats of rank r. In shared memory n is not read. */
static void mpi_exchange(const int *n, const float **from)
{
    int at[PROGRAM_RANKS], sum = 0;
    MPI_Request request;

#ifdef ATTN_ATOMICS
    if (ranks.shared[0]) {
        atomic_store_explicit(&ranks.shared[ranks.comm.rank]->turn, ranks.turn,
                              memory_order_release);
        for (int64_t r = 0; r < ranks.comm.ranks; r++) {
            mpi_await(ranks.shared[r]);
            from[r] = ranks.shared[r]->block[ranks.turn % PROGRAM_TURNS];
        }
        return;
    }
#endif
    for (int64_t r = 0; r < ranks.comm.ranks; r++) {
        at[r] = sum;
        from[r] = ranks.received + sum;
        sum += n[r];
    }
    MPI_Iallgatherv(ranks.sent, n[ranks.comm.rank], MPI_FLOAT, ranks.received,
                    n, at, MPI_FLOAT, MPI_COMM_WORLD, &request);
    mpi_wait(&request);
}

/* Returns the memory for the floats of the next exchange. A rank writes to a
 * block again after PROGRAM_TURNS exchanges, when all others have read it. */
static float *mpi_block(void)
{
    ranks.turn++;
#ifdef ATTN_ATOMICS
    if (ranks.shared[0])
        return ranks.shared[ranks.comm.rank]->block[ranks.turn % PROGRAM_TURNS];
#endif
    return ranks.sent;
}

static void mpi_copy(float *to, int64_t ldt, const float *from, int64_t ldf,
                     int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * ldt, from + i * ldf, (size_t)columns * sizeof *to);
}

/* Exchanges up to `most` of each rank's columns, from its column `at` on. */
static void mpi_gather_block(float *y, int64_t ld, int64_t rows,
                             const int64_t *first, int64_t at, int64_t most)
{
    const int64_t own = ranks.comm.rank;
    const float *from[PROGRAM_RANKS];
    int n[PROGRAM_RANKS];
    int64_t columns[PROGRAM_RANKS];

    for (int64_t r = 0; r < ranks.comm.ranks; r++) {
        columns[r] = attn_min(attn_max(first[r + 1] - first[r] - at, 0), most);
        n[r] = (int)(rows * columns[r]);
    }
    mpi_copy(mpi_block(), columns[own], y + first[own] + at, ld, rows,
             columns[own]);
    mpi_exchange(n, from);
    for (int64_t r = 0; r < ranks.comm.ranks; r++)
        if (r != own)
            mpi_copy(y + first[r] + at, ld, from[r], columns[r], rows,
                     columns[r]);
}

static void mpi_gather(void *with, float *y, int64_t ld, int64_t rows,
                       const int64_t *first)
{
    int64_t widest = 1;

    (void)with;
    for (int64_t r = 0; r < ranks.comm.ranks; r++)
        widest = attn_max(widest, first[r + 1] - first[r]);
    const int64_t columns = attn_min(widest, PROGRAM_FLOATS);
    const int64_t most = PROGRAM_FLOATS / columns;
    for (int64_t i = 0; i < rows; i += most)
        for (int64_t at = 0; at < widest; at += columns)
            mpi_gather_block(y + i * ld, ld, attn_min(rows - i, most), first,
                             at, columns);
}

/* ---- adding ---- */

/* Combines the n numbers at sum with those at x. */
static void mpi_combine(void *sum, const void *x, int64_t n, int64_t how)
{
    int32_t *a = sum;
    const int32_t *b = x;
    float *c = sum;
    const float *d = x;

    for (int64_t i = 0; i < n && how == ATTN_SUM_FLOAT; i++)
        c[i] += d[i];
    for (int64_t i = 0; i < n && how == ATTN_SUM_INT32; i++)
        a[i] = (int32_t)((uint32_t)a[i] + (uint32_t)b[i]);
    for (int64_t i = 0; i < n && how == ATTN_MAX_INT32; i++)
        a[i] = b[i] > a[i] ? b[i] : a[i];
}

/* Adds floats in the order of the ranks, which MPI's own sums may change: each
 * rank adds a part of them and sends it to the others. */
static void mpi_sum_floats(float *sum, int64_t n)
{
    const int own = (int)ranks.comm.rank, all = (int)ranks.comm.ranks;
    int part[PROGRAM_RANKS], at[PROGRAM_RANKS];
    int same[PROGRAM_RANKS], to[PROGRAM_RANKS];
    MPI_Request request;

    for (int r = 0; r < all; r++) {
        at[r] = (int)(n * r / all);
        part[r] = (int)(n * (r + 1) / all) - at[r];
    }
    for (int r = 0; r < all; r++) {
        same[r] = part[own];
        to[r] = r * part[own];
    }
    MPI_Ialltoallv(ranks.sent, part, at, MPI_FLOAT, ranks.received, same, to,
                   MPI_FLOAT, MPI_COMM_WORLD, &request);
    mpi_wait(&request);
    for (int r = 1; r < all; r++)
        mpi_combine(ranks.received, ranks.received + to[r], part[own],
                    ATTN_SUM_FLOAT);
    MPI_Iallgatherv(ranks.received, part[own], MPI_FLOAT, sum, part, at,
                    MPI_FLOAT, MPI_COMM_WORLD, &request);
    mpi_wait(&request);
}

#ifdef ATTN_ATOMICS
/* Sets rows of y to the sums, or the maxima, of the rows at from[r], in the
 * order of the ranks r. */
static void mpi_combine_rows(float *y, int64_t ldy, const float *const *from,
                             int64_t ldf, int64_t rows, int64_t columns,
                             int64_t how)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(y + i * ldy, from[0] + i * ldf, (size_t)columns * sizeof *y);
        for (int64_t r = 1; r < ranks.comm.ranks; r++)
            mpi_combine(y + i * ldy, from[r] + i * ldf, columns, how);
    }
}

/* Combines rows of all ranks, which each has at mpi_block(). Of many numbers
 * each rank combines some columns, which the others then read: N ranks receive
 * 2 (1 - 1/N) of them each, instead of N - 1 times all. */
static void mpi_combine_shared(float *y, int64_t ld, int64_t rows,
                               int64_t columns, int64_t how)
{
    const int64_t own = ranks.comm.rank, all = ranks.comm.ranks;
    const float *from[PROGRAM_RANKS];
    int64_t at[PROGRAM_RANKS + 1];

    mpi_exchange(NULL, from);
    if (all < 3 || columns < all || rows * columns < PROGRAM_ADDED) {
        mpi_combine_rows(y, ld, from, columns, rows, columns, how);
        return;
    }
    for (int64_t r = 0; r <= all; r++)
        at[r] = columns * r / all;
    for (int64_t r = 0; r < all; r++)
        from[r] += at[own];
    const int64_t part = at[own + 1] - at[own];
    mpi_combine_rows(mpi_block(), part, from, columns, rows, part, how);
    mpi_exchange(NULL, from);
    for (int64_t r = 0; r < all; r++)
        mpi_copy(y + at[r], ld, from[r], at[r + 1] - at[r], rows,
                 at[r + 1] - at[r]);
}
#endif

/* Combines n numbers of all ranks, which each has at mpi_block(), by MPI. */
static void mpi_combine_all(float *sum, int64_t n, int64_t how)
{
    MPI_Request request;

    if (how == ATTN_SUM_FLOAT) {
        mpi_sum_floats(sum, n);
        return;
    }
    MPI_Iallreduce(ranks.sent, sum, (int)n, MPI_INT32_T,
                   how == ATTN_SUM_INT32 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD,
                   &request);
    mpi_wait(&request);
}

static void mpi_reduce_block(float *y, int64_t ld, int64_t rows,
                             int64_t columns, int64_t how)
{
    mpi_copy(mpi_block(), columns, y, ld, rows, columns);
#ifdef ATTN_ATOMICS
    if (ranks.shared[0]) {
        mpi_combine_shared(y, ld, rows, columns, how);
        return;
    }
#endif
    mpi_combine_all(ranks.sums, rows * columns, how);
    mpi_copy(y, ld, ranks.sums, columns, rows, columns);
}

static void mpi_reduce(void *with, int64_t how, void *x, int64_t ld,
                       int64_t rows, int64_t columns)
{
    const int64_t some = attn_min(columns, PROGRAM_FLOATS);
    const int64_t most = PROGRAM_FLOATS / some;
    float *y = x;

    (void)with;
    for (int64_t i = 0; i < rows; i += most)
        for (int64_t at = 0; at < columns; at += some)
            mpi_reduce_block(y + i * ld + at, ld, attn_min(rows - i, most),
                             attn_min(columns - at, some), how);
}
