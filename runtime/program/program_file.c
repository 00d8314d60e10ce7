/* program_file.c: maps the files that the program reads: the weights and a
 * saved state. If one is truncated while in use, the program reports that and
 * exits with status 4. */

/* state of the signal handler, set before a file is used */
static struct {
    const char *name; /* name of the program, argv[0] */
    const char *path, *at;
    int64_t bytes;
    dev_t device;
    ino_t inode;
} program_files[PROGRAM_FILES];

static void file_print(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* stderr is closed */
}

/* Reports a bus error in a mapped file, with async-signal-safe calls only. Any
 * other bus error gets the default action. */
static void file_vanished(int sig, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;

    (void)context;
    for (int i = 0; i < PROGRAM_FILES; i++) {
        const uintptr_t from = (uintptr_t)program_files[i].at;
        if (from > at || at - from >= (uintptr_t)program_files[i].bytes)
            continue;
        file_print(program_files[i].name);
        file_print(": error: ");
        file_print(program_files[i].path);
        file_print(": the file was cut while it was in use\n");
        _exit(4);
    }
    signal(sig, SIG_DFL);
}

static void file_watch(const struct program *p, const char *path,
                       const char *at, const struct stat *st)
{
    struct sigaction act;
    int i = 0;

    while (program_files[i].at) /* ends: the table has a place for each file */
        i++;
    program_files[i].name = p->name;
    program_files[i].path = path;
    program_files[i].bytes = (int64_t)st->st_size;
    program_files[i].device = st->st_dev;
    program_files[i].inode = st->st_ino;
    program_files[i].at = at;
    memset(&act, 0, sizeof act);
    act.sa_sigaction = file_vanished;
    act.sa_flags = SA_SIGINFO;
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, NULL);
}

static const char *program_map(struct program *p, const char *path,
                               int64_t *bytes)
{
    static _Alignas(64) const char nothing[64]; /* contents of empty files */
    const char *file = nothing;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *bytes = 0;
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_fail(p, 4, "%s: cannot open: %s", path, strerror(errno));
        return file;
    }
    if (!S_ISREG(st.st_mode))
        program_fail(p, 4,
                     S_ISDIR(st.st_mode) ? "%s: is a folder, not a file"
                                         : "%s: is not a regular file",
                     path);
    else if (st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
                        0);
        if (at == MAP_FAILED)
            program_fail(p, 5, "%s: %s", path, strerror(errno));
        else {
            file = at;
            *bytes = (int64_t)st.st_size;
            file_watch(p, path, file, &st);
        }
    }
    close(fd);
    return file;
}

static void program_weights(struct program *p)
{
    struct attn_packed_header h;
    const char *wrong;

    if (!program_grow(p, &p->bound, p->m->bound_bytes))
        return;
    wrong = p->unchecked ? bind_file_lazily(p->bound.at, p->file, p->bytes)
                         : bind_file(p->bound.at, p->file, p->bytes);
    if (wrong) {
        program_fail(p, 3, "%s: %s", p->path ? p->path : p->m->name, wrong);
        return;
    }
    if (p->m->amx_allowed && !p->m->amx_allowed() && !p->quiet)
        program_warn(p, "this processor or its system does not allow AMX: "
                        "products take longer, with the same bits");
    memcpy(&h, p->file, sizeof h);
#if ATTN_HAS_TEXT
    p->source.block = attn_vocab(p->m, p->file, 0);
    p->target.block = attn_vocab(p->m, p->file, 1);
#endif
    p->source.size = p->m->source_vocab;
    p->target.size = p->m->target_vocab;
    if (p->m->kind == ATTN_DECODER)
        p->source = p->target; /* a decoder continues its input */
    p->packed = p->file + h.weights_at;
    if (h.random > 0 && !p->quiet)
        fprintf(stderr, "%s: weights are random (seed %llu)\n", p->name,
                (unsigned long long)(h.random - 1));
}
