/* shard_record.c: reads the record of a shard, and the words after --shard. */
#include "runtime/base/system.h"
#include "runtime/core.h"
#include "runtime/text/shard_record.h"

/* ---- place ---- */

/* Variables that launchers set in each process: Open MPI's mpirun; that of
 * MPICH and Intel MPI; MVAPICH's; srun. */
static const char *const shard_launchers[][2] = {
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", "PMI_SIZE" },
    { "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
    { "SLURM_PROCID", "SLURM_NTASKS" },
};

enum { SHARD_LAUNCHERS = 4, SHARD_MPI = 3 /* those of MPI are the first */ };

/* Returns false if none of the first `launchers` has started this process. */
static int shard_started(int launchers, int64_t *which, int64_t *shards)
{
    for (int i = 0; i < launchers; i++) {
        const char *rank = getenv(shard_launchers[i][0]);
        const char *size = getenv(shard_launchers[i][1]);
        long long of = 0, n = 0;
        if (!rank || !size || sscanf(rank, "%lld", &of) != 1
            || sscanf(size, "%lld", &n) != 1 || of < 0 || of >= n)
            continue;
        *which = of;
        *shards = n;
        return 1;
    }
    return 0;
}

static int shard_launched(int64_t *which, int64_t *shards, char why[ATTN_WHY])
{
    if (!shard_started(SHARD_LAUNCHERS, which, shards)) {
        snprintf(why, ATTN_WHY,
                 "--shard=mpi is for processes that mpirun or srun starts; "
                 "give --shard=I/N");
        return 0;
    }
    if (*shards > ATTN_SHARDS)
        snprintf(why, ATTN_WHY,
                 "--shard=mpi: %lld processes, at most %d shards are "
                 "supported",
                 (long long)*shards, ATTN_SHARDS);
    return *shards <= ATTN_SHARDS;
}

/* Not srun's: a batch script of Slurm has its variables too. */
ATTN_API int attn_mpi_place(int64_t *rank, int64_t *ranks)
{
    return shard_started(SHARD_MPI, rank, ranks);
}

ATTN_API int attn_shard_place(const char *text, int64_t *which, int64_t *shards,
                              char why[ATTN_WHY])
{
    char quoted[ATTN_QUOTED];
    long long i = 0, n = 0;
    int end = 0;

    if (strcmp(text, "mpi") == 0)
        return shard_launched(which, shards, why);
    attn_quote(text, (int64_t)strlen(text), quoted);
    if (sscanf(text, "%lld/%lld%n", &i, &n, &end) != 2 || text[end] || i < 1
        || n < 1 || n > ATTN_SHARDS) {
        snprintf(why, ATTN_WHY,
                 "--shard=%s: I/N is expected, as 1/4, with 1 <= I <= N <= "
                 "%d; or mpi",
                 quoted, ATTN_SHARDS);
        return 0;
    }
    if (i > n)
        snprintf(why, ATTN_WHY, "--shard=%lld/%lld: there are only %lld shards",
                 i, n, n);
    *which = i - 1;
    *shards = n;
    return i <= n;
}

/* ---- record ---- */

static int shard_line_block(struct attn_shard *r, const char *line,
                            int64_t *ends)
{
    const int64_t head = r->columns ? ATTN_NPY_HEAD : 0;
    long long block, end;
    unsigned long long hash;
    int errors, n = 0;

    if (sscanf(line, "block %lld %lld %d %16llx%n", &block, &end, &errors,
               &hash, &n)
            != 4
        || line[n] || block != r->which + r->blocks * r->shards || end < r->end
        || (r->columns && (end - head) % (4 * r->columns) != 0))
        return 0;
    if (ends)
        ends[r->blocks] = end;
    r->input = hash;
    r->errors |= errors != 0;
    r->end = end;
    r->blocks++;
    return 1;
}

static int shard_line_end(struct attn_shard *r, const char *line)
{
    unsigned long long hash;
    long long n;
    int end = 0;

    if (sscanf(line, "end %lld %16llx%n", &n, &hash, &end) != 2 || line[end]
        || n < 0 || n > ATTN_SHARD_QUESTIONS)
        return 0;
    r->questions = n;
    r->input = hash;
    r->complete = true;
    return 1;
}

/* Reads one of the first five lines. */
static int shard_line_head(struct attn_shard *r, const char *line)
{
    static const char options[] = "options ";
    unsigned long long hash;
    long long i, n;
    int end = 0;

    switch (r->lines) {
    case 0: return strcmp(line, "attnc shard 1") == 0;
    case 1:
        if (sscanf(line, "shard %lld/%lld%n", &i, &n, &end) != 2 || line[end]
            || i < 1 || i > n || n > ATTN_SHARDS)
            return 0;
        r->which = i - 1;
        r->shards = n;
        return 1;
    case 2:
        if (sscanf(line, "model %16llx%n", &hash, &end) != 1 || line[end])
            return 0;
        r->model = hash;
        return 1;
    case 3:
        r->options = line + sizeof options - 1;
        return strncmp(line, options, sizeof options - 1) == 0;
    default:
        if (sscanf(line, "columns %lld%n", &n, &end) != 1 || line[end] || n < 0
            || n > ATTN_SHARD_COLUMNS)
            return 0;
        r->columns = n;
        r->end = n ? ATTN_NPY_HEAD : 0;
        return 1;
    }
}

static int shard_line(struct attn_shard *r, const char *line, int64_t *ends)
{
    if (r->lines < ATTN_SHARD_HEAD)
        return shard_line_head(r, line);
    if (r->complete)
        return 0;
    if (strncmp(line, "end ", 4) == 0)
        return shard_line_end(r, line);
    return shard_line_block(r, line, ends);
}

ATTN_API int attn_shard_read(struct attn_shard *r, char *text, int64_t n,
                             int64_t *ends, char why[ATTN_WHY])
{
    memset(r, 0, sizeof *r);
    while (r->bytes < n) {
        char *line = text + r->bytes;
        char *end = memchr(line, '\n', (size_t)(n - r->bytes));
        if (!end)
            break;
        *end = '\0';
        if (!shard_line(r, line, ends)) {
            snprintf(why, ATTN_WHY, ":%lld: this is not the record of a shard",
                     (long long)r->lines + 1);
            return 0;
        }
        r->bytes = end + 1 - text;
        r->lines++;
    }
    if (r->lines < ATTN_SHARD_HEAD)
        snprintf(why, ATTN_WHY,
                 ": this is not the record of a shard: it ends early");
    return r->lines >= ATTN_SHARD_HEAD;
}
