/* program_lines.c: reads lines from stdin and converts them to tokens. */

/* ---- tokens ---- */

#if ATTN_HAS_TEXT
/* True if this side reads and writes text, not ids. */
static int is_text(const struct program *p, const struct attn_side *s)
{
    return !p->ids && s->block;
}

/* Returns the flags for attn_vocab_encode(): ATTN_PLAIN, ATTN_BEGUN,
 * ATTN_STARTED or 0. A decoder's line is ATTN_STARTED because the search, not
 * the vocabulary's template, adds its start token. */
static int64_t text_how(const struct program *p, int place)
{
    if (place != TOKENS_LINE)
        return place == TOKENS_PLAIN ? ATTN_PLAIN : ATTN_BEGUN;
    return p->m->kind == ATTN_DECODER ? ATTN_STARTED : 0;
}
#endif

/* Returns an upper bound of the number of tokens in a text of `bytes` bytes. */
static int64_t program_most(const struct program *p, const struct attn_side *s,
                            int64_t bytes)
{
#if ATTN_HAS_TEXT
    if (is_text(p, s))
        return attn_max(attn_vocab_most_ids(s->block, bytes), 0);
#endif
    (void)p;
    (void)s;
    return bytes + 2;
}

#if ATTN_HAS_TEXT
static int64_t read_text(struct program *p, const struct attn_side *s,
                         int place, const char *text, int64_t bytes,
                         int32_t *ids)
{
    int64_t n, bad = 0;
    const int64_t need = attn_vocab_encode_bytes(s->block, bytes);
    void *memory = program_grow(p, &p->work, attn_max(need, 1));

    if (!memory)
        return -1;
    n = attn_vocab_encode(s->block, text, bytes, text_how(p, place), ids,
                          program_most(p, s, bytes), memory, &bad);
    return attn_line_tokens(s, text, bytes, n, bad, p->why);
}
#endif

/* Converts a text to tokens in ids[program_most()]. Returns their number, or
 * -1. `place` is TOKENS_LINE etc. */
static int64_t program_tokens(struct program *p, const struct attn_side *s,
                              int place, const char *text, int64_t bytes,
                              int32_t *ids)
{
#if ATTN_HAS_TEXT
    if (is_text(p, s))
        return read_text(p, s, place, text, bytes, ids);
#endif
    (void)place;
    return attn_line_ids(s, text, bytes, ids, p->why);
}

/* ---- lines ---- */

/* Reads the next line, like attn_next_line(). If the result is LINE_LONG, sets
 * p->why. */
static int program_line(struct program *p, int wait, const char **text,
                        int64_t *n)
{
    const int state = attn_next_line(&p->in, wait, text, n);

    if (p->in.error != 0)
        program_fail(p, 4, "cannot read stdin: %s", strerror(p->in.error));
    if (state == LINE_LONG)
        program_wrong(p, "the line has %lld bytes, at most %d are read",
                      (long long)*n, ATTN_LINE);
    return state;
}

/* Rejects a start by mpirun -n N: the processes would read the same stdin, or
 * all but one wait for a stdin that MPICH leaves open. A file as stdin was
 * given to this process alone, because mpirun forwards its own by a pipe. Rank
 * 0 prints the message; the others read nothing and succeed, because after an
 * error mpirun could end rank 0 before it prints. */
static void program_check_alone(struct program *p)
{
    struct stat st;
    int64_t rank, ranks;

    if (p->shard || p->m->fixed_ranks > 1 || !attn_mpi_place(&rank, &ranks)
        || ranks == 1 || (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)))
        return;
    p->in.over = true;
    if (rank == 0)
        program_fail(p, 2,
                     "mpirun started %lld processes of a program for one: give "
                     "--shard=mpi -o FILE, or compile it with --ranks=%lld",
                     (long long)ranks, (long long)ranks);
}

static void program_open_lines(struct program *p)
{
    program_check_alone(p);
    p->in.ending = '\n';
    p->in.buffer = malloc(ATTN_LINE + 1);
    if (!p->in.buffer)
        program_fail(p, 5, "out of memory");
}
