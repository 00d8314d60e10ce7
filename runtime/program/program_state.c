/* program_state.c: writes the file of --save-state, which appears complete or
 * not at all. It never replaces a file that the program reads, except the file
 * of --load-state, nor any file that is neither empty nor a saved state. */

enum {
    STATE_PATH = 4096 + 256
}; /* maximum length of a path with a temporary suffix */

static bool state_is_read(const struct program *p, const struct stat *st)
{
    struct stat in;

    if (fstat(STDIN_FILENO, &in) == 0 && in.st_dev == st->st_dev
        && in.st_ino == st->st_ino)
        return true;
    for (int i = 0; i < PROGRAM_FILES; i++)
        if (program_files[i].path != p->load_state
            && program_files[i].device == st->st_dev
            && program_files[i].inode == st->st_ino)
            return true;
    return false;
}

/* True if the file begins like a saved state of any format. */
static bool state_is_there(const char *path)
{
    char head[8];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return attn_state_begins(head, n);
}

/* If a file at the path must not be replaced, prints a message and sets
 * p->status. */
static void state_may_replace(struct program *p)
{
    const char *path = p->save_state;
    struct stat st;

    if (attn_descriptor(path) >= 0 || stat(path, &st) != 0
        || !S_ISREG(st.st_mode))
        return;
    if (state_is_read(p, &st))
        program_fail(p, 2,
                     "%s: this command reads the file and would replace it: "
                     "name another output",
                     path);
    else if (st.st_size > 0 && !state_is_there(path))
        program_fail(p, 2,
                     "%s: is not a saved state: name another output, or remove "
                     "the file",
                     path);
}

/* Writes all bytes and closes the file. Returns false with errno set. */
static bool state_write(FILE *f, const char *state, int64_t bytes, bool sync)
{
    const bool well = f && fwrite(state, 1, (size_t)bytes, f) == (size_t)bytes
                   && fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0);
    const int why = errno;

    if (f && fclose(f) != 0 && well)
        return false;
    errno = why;
    return well;
}

/* Writes a temporary file in the same directory and renames it to `path`.
 * Meanwhile, signals that would end the program are blocked. Returns false with
 * errno set. */
static bool state_replace(const char *path, const char *state, int64_t bytes)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    char beside[STATE_PATH];
    sigset_t ends, before;
    struct timespec t;
    bool well;

    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(beside, sizeof beside, "%.*s.%.200s.tmp.%ld.%09ld", folder, path,
             path + folder, (long)getpid(), (long)t.tv_nsec);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    FILE *f = fopen(beside, "wbx");
    well = state_write(f, state, bytes, true) && rename(beside, path) == 0;
    const int why = errno;
    if (f && !well)
        unlink(beside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return well;
}

/* Writes the state to the file of --save-state. Follows links, and writes to
 * pipes and devices directly. */
static void state_put(struct program *p, const char *state, int64_t bytes)
{
    const char *path = p->save_state;
    const int fd = attn_descriptor(path);
    char real[STATE_PATH];
    struct stat st;
    bool well;

    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail with EFBIG */
    if (fd == STDOUT_FILENO) {
        fwrite(state, 1, (size_t)bytes, stdout);
        program_flush(p, stdout);
        return;
    }
    state_may_replace(p); /* a file may have appeared since the answer began */
    if (p->status != 0)
        return;
    if (fd >= 0)
        well = state_write(fdopen(dup(fd), "wb"), state, bytes, false);
    else if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        well = state_replace(realpath(path, real) ? real : path, state, bytes);
    else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
        well = state_write(fopen(path, "wb"), state, bytes, false);
    else {
        program_fail(p, 4, "%s: cannot write: %s", path,
                     S_ISDIR(st.st_mode) ? "is a folder"
                                         : "is not a regular file");
        return;
    }
    if (!well)
        program_fail(p, 4, "%s: cannot write: %s", path, strerror(errno));
}
