/* program_mpi.c: the ranks of a program that mpirun starts. Each rank runs
 * the whole program on the same lines, computes its share of each call, and
 * gathers the others', or adds theirs (program_comm.c). Rank 0 reads stdin for
 * all and writes the answers. */

/* ---- stdin ---- */

static void mpi_broadcast(void *at, int64_t bytes)
{
    MPI_Request request;

    MPI_Ibcast(at, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    mpi_wait(&request);
}

/* Reads like read(). Returns -errno if that fails, or `most` + 1 if nothing
 * came for a while. */
static int64_t mpi_read_here(char *to, int64_t most)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    const int64_t while_ms = ranks.timeout * 250; /* a quarter of the limit */
    ssize_t n;

    if (poll(&in, 1, (int)attn_min(while_ms, 60000)) == 0)
        return most + 1;
    do
        n = read(STDIN_FILENO, to, (size_t)most);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : (int64_t)n;
}

/* Reads stdin for all ranks: rank 0 reads, the others get the same bytes. */
static int64_t mpi_read(char *to, int64_t most)
{
    int64_t n;

    do {
        if (ranks.comm.rank == 0)
            n = mpi_read_here(to, most);
        mpi_broadcast(&n, sizeof n);
    } while (n > most); /* tells the others that rank 0 still waits */
    if (n > 0)
        mpi_broadcast(to, n);
    if (n < 0)
        errno = (int)-n;
    return n < 0 ? -1 : n;
}

/* ---- begin, end ---- */

/* Agrees on the largest of all ranks' values. */
static uint64_t mpi_largest(uint64_t x)
{
    MPI_Request request;
    uint64_t largest;

    MPI_Iallreduce(&x, &largest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD,
                   &request);
    mpi_wait(&request);
    return largest;
}

static int mpi_same(uint64_t x)
{
    const uint64_t largest = mpi_largest(x), rest = mpi_largest(~x);

    return largest == x && rest == ~x;
}

/* Makes output of all ranks but 0 go nowhere, because all have the same answers
 * and messages. */
static void mpi_hush(void)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    ranks.err = dup(STDERR_FILENO);
    if (fd < 0)
        return;
    if (ranks.comm.rank > 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    close(fd);
}

/* Prints why this rank failed, if it does not print all messages. */
static void mpi_tell(const struct program *p)
{
    if (ranks.comm.rank > 0)
        dprintf(ranks.err, "%s: error: rank %lld: %s\n", p->name,
                (long long)ranks.comm.rank, p->why);
}

/* Starts MPI, which may wait for the other ranks. */
static void mpi_init(int *argc, char ***argv)
{
    static const char option[] = "--rank-timeout=";

    ranks.err = STDERR_FILENO;
    ranks.timeout = 60;
    for (int i = 1; i < *argc; i++) /* words are checked later */
        if (strncmp((*argv)[i], option, sizeof option - 1) == 0)
            ranks.timeout = attn_max(1, atoi((*argv)[i] + sizeof option - 1));
    if (!attn_mpi_place(&ranks.comm.rank, &ranks.comm.ranks))
        ranks.comm.rank = 0;
    mpi_limit(1);
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &ranks.level);
    mpi_limit(0);
}

static void program_mpi(struct program *p, int *argc, char ***argv)
{
    uint64_t words = 0;
    int rank, n;

    ranks.name = *argc > 0 ? (*argv)[0] : p->m->name;
    mpi_init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ranks.comm.rank = rank;
    ranks.comm.ranks = n;
    ranks.comm.gather = mpi_gather;
    ranks.comm.reduce = mpi_reduce;
    mpi_hush();
    for (int i = 1; i < *argc; i++)
        words = attn_hash((*argv)[i], (int64_t)strlen((*argv)[i]) + 1, words);
    if (!mpi_same(words))
        program_fail(p, 2, "the ranks have different arguments");
}

/* Checks what the words of the command line do not say. */
static void mpi_begin(struct program *p)
{
    const long long made = p->m->fixed_ranks;

    ranks.timeout = p->rank_timeout;
    if (ranks.comm.ranks != made)
        program_fail(p, 2,
                     "this program needs %lld ranks, not %lld: run mpirun -n "
                     "%lld %s",
                     made, (long long)ranks.comm.ranks, made, p->name);
    else if (p->threads > 1 && ranks.level < MPI_THREAD_FUNNELED)
        program_fail(p, 2,
                     "--threads %lld: this MPI has no MPI_THREAD_FUNNELED",
                     (long long)p->threads);
    else if (p->input && ranks.comm.rank == 0) {
        const int fd = open(p->input, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
            program_fail(p, 4, "%s: cannot open: %s", p->input,
                         strerror(errno));
        if (fd >= 0)
            close(fd);
    }
}

/* Makes memory that the ranks share, if they are on one machine. */
static void mpi_share(const struct program *p)
{
#ifdef ATTN_ATOMICS
    MPI_Comm here;
    int n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &here);
    MPI_Comm_size(here, &n);
    if (mpi_same((uint64_t)n) && n == ranks.comm.ranks && !p->collectives) {
        void *own;
        MPI_Win_allocate_shared(sizeof *ranks.shared[0] + PROGRAM_ALIGN, 1,
                                MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                                &ranks.window);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, ranks.window);
        for (int r = 0; r < n; r++) {
            MPI_Aint bytes;
            int unit;
            char *at;
            MPI_Win_shared_query(ranks.window, r, &bytes, &unit, (void *)&at);
            at += -(uintptr_t)at % PROGRAM_ALIGN;
            ranks.shared[r] = (void *)at;
        }
        atomic_store(&ranks.shared[ranks.comm.rank]->turn, 0);
    }
    MPI_Comm_free(&here);
#endif
    (void)p;
}

/* Compares the models and the weights of the ranks. */
static void mpi_compare(struct program *p)
{
    struct attn_packed_header h;
    const uint64_t version = attn_hash(PROGRAM_ATTNC, sizeof PROGRAM_ATTNC, 0);

    memcpy(&h, p->file, sizeof h);
    const int same_weights = mpi_same(h.contents) & mpi_same(h.hash);
    const int same_program = mpi_same(p->m->spec_hash) & mpi_same(version);
    if (!same_program)
        program_fail(p, 2, "the ranks are different programs");
    else if (!same_weights)
        program_fail(p, 3, "%s: the ranks have different weights",
                     p->path ? p->path : p->m->name);
}

/* Ends all ranks if one has failed; the first of these says why. */
static void mpi_agree(struct program *p)
{
    const uint64_t none = PROGRAM_RANKS;
    const uint64_t own = p->status ? (uint64_t)ranks.comm.rank : none;
    const uint64_t first = none - mpi_largest(none - own);
    const int status = (int)mpi_largest((uint64_t)p->status);

    if (first == own && p->status != 0)
        mpi_tell(p);
    p->status = status;
    ranks.ended = status != 0;
}

/* Takes memory to send and to receive, shared by all ranks if possible. */
static void mpi_room(struct program *p)
{
    const int64_t bytes = PROGRAM_FLOATS * (int64_t)sizeof(float);
    int shared = 0;

    mpi_limit(1);
    mpi_share(p);
    mpi_limit(0);
#ifdef ATTN_ATOMICS
    shared = ranks.shared[0] != 0;
#endif
    if (!shared) {
        ranks.sums = malloc((size_t)bytes);
        ranks.sent = malloc((size_t)bytes);
        ranks.received = malloc((size_t)(bytes * ranks.comm.ranks));
    }
    if (!shared && (!ranks.sums || !ranks.sent || !ranks.received))
        program_fail(p, 5, "out of memory for what the ranks exchange");
}

/* Prepares the ranks for the first call. */
static void mpi_ready(struct program *p)
{
    mpi_agree(p);
    if (p->status == 0)
        mpi_compare(p);
    if (p->status != 0)
        return;
    mpi_room(p);
    mpi_agree(p);
    p->divided = p->parallel ? *p->parallel : (struct attn_parallel){ 0 };
    p->divided.comm = &ranks.comm;
    p->parallel = &p->divided;
    p->in.read = mpi_read;
    /* the hash of the weights was read from all pages, but a rank needs few */
    if (p->path && p->bytes > 0)
        madvise((void *)(uintptr_t)p->file, (size_t)p->bytes, MADV_DONTNEED);
}

/* Ends MPI. A rank that failed alone, because memory or its output ended, ends
 * all others, which wait for it. */
static void mpi_end(struct program *p)
{
    if (p->status > 3 && !ranks.ended) {
        mpi_tell(p);
        mpi_abort(p->status);
    }
    p->status = (int)mpi_largest((uint64_t)p->status);
    mpi_limit(1);
#ifdef ATTN_ATOMICS
    if (ranks.shared[0]) {
        MPI_Win_unlock_all(ranks.window);
        MPI_Win_free(&ranks.window);
    }
#endif
    free(ranks.sums);
    free(ranks.sent);
    free(ranks.received);
    MPI_Finalize();
}
