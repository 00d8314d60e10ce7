/* program_main.c: the main function of the program. */

#if ATTN_HAS_THREADS
/* Opens a pool of p->threads threads or, if that is negative, of one per
 * physical core; ranks share these cores. */
static void program_threads(struct program *p)
{
#if ATTN_HAS_RANKS
    const int64_t by_default = 1;
#else
    const int64_t by_default = attn_cores();
#endif
    const int64_t threads = p->threads < 0 ? by_default : p->threads;

    if (threads < 2)
        return;
    p->pool = attn_pool_open(threads);
    if (!p->pool) {
        program_fail(p, 5, "out of memory for %lld threads",
                     (long long)threads);
        return;
    }
    p->parallel = attn_pool_parallel(p->pool);
    if (attn_pool_refused(p->pool) && p->threads > 0)
        program_warn(p, "--threads %lld: the system gives %lld (%s)",
                     (long long)threads, (long long)p->parallel->parts,
                     attn_pool_refused(p->pool));
}
#endif

static int program_main(int argc, char **argv)
{
    struct program p;

    memset(&p, 0, sizeof p);
    p.name = argc > 0 ? argv[0] : model.name;
    p.m = &model;
    p.file = embedded_weights(&p.bytes);
#if ATTN_HAS_RANKS
    program_mpi(&p, &argc, &argv);
#endif
    if (p.status == 0 && program_words(&p, argc - 1, argv + 1)
        && p.status == 0) {
#if ATTN_HAS_RANKS
        mpi_begin(&p);
#endif
        if (p.status == 0 && p.path)
            p.file = program_map(&p, p.path, &p.bytes);
        if (p.status == 0 && p.file)
            program_weights(&p);
#if ATTN_HAS_THREADS
        if (p.status == 0)
            program_threads(&p);
#endif
#if ATTN_HAS_RANKS
        mpi_ready(&p);
#endif
        if (p.status == 0)
#if ATTN_HAS_SEARCH
            program_answers(&p);
#else
            program_run(&p);
#endif
    }
#if ATTN_HAS_RANKS
    mpi_end(&p);
#endif
#if ATTN_HAS_THREADS
    attn_pool_close(p.pool);
#endif
    free(p.bound.at);
    free(p.stop.at);
    free(p.suppress.at);
    program_free(&p);
    return p.status;
}
