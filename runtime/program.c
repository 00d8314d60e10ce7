/* program.c: the program that an emitted file is under ATTNC_MAIN: lines of
 * text in on stdin, lines of text out on stdout. The file that this is pasted
 * into brings `model`, `default_options` and the embedded weights, if any.
 *
 * Exit codes: 0 done, 2 usage, 3 bad input, 4 I/O, 5 memory.                */
enum { PROGRAM_LINES = 32, PROGRAM_TEXT = 65536 };

struct program {                 /* a model ready to answer */
    const char *name;            /* argv[0] */
    const struct attn_model *m;
    struct attn_search_options o;
    const char *file;            /* packed weights, whole */
    int64_t bytes;
    void *bound;
    const void *source, *target; /* vocabularies */
    int64_t source_bytes, target_bytes;
    int64_t line;                /* number of the last line read */
    int status;
};

struct lines {                   /* encoded lines that are answered together */
    int32_t *ids;
    int32_t start[PROGRAM_LINES + 1];
    int64_t empty[PROGRAM_LINES];        /* 1: bad or empty, answered by "" */
    int64_t n, longest;
};

static int program_fail(const struct program *p, int code, const char *what,
                        const char *why)
{
    fprintf(stderr, "%s: error: %s: %s\n", p->name, what, why);
    return code;
}

static int program_map(struct program *p, const char *path)
{
    struct stat st;
    void *at;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0)
        return program_fail(p, 4, path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size < ATTN_PACKED_PAGE)
        return program_fail(p, 3, path, "not a weights file");
    at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return program_fail(p, 5, path, strerror(errno));
    close(fd);
    p->file = (const char *)at;
    p->bytes = (int64_t)st.st_size;
    return 0;
}

/* Checks the weights and vocabularies, binds the weights. */
static int program_open(struct program *p, const char *path)
{
    struct attn_packed_header h;
    const char *wrong = attn_packed_check(p->m, p->file, p->bytes);

    if (wrong)
        return program_fail(p, 3, path, wrong);
    memcpy(&h, p->file, sizeof h);
    if (h.source_vocab_bytes == 0 || h.target_vocab_bytes == 0)
        return program_fail(p, 3, path, "it holds no vocabulary: name vocab "
                            "files in the spec and compile again");
    p->source = p->file + h.source_vocab_at;
    p->target = p->file + h.target_vocab_at;
    p->source_bytes = h.source_vocab_bytes;
    p->target_bytes = h.target_vocab_bytes;
    wrong = attn_vocab_check(p->source, p->source_bytes);
    if (!wrong)
        wrong = attn_vocab_check(p->target, p->target_bytes);
    if (wrong)
        return program_fail(p, 3, path, wrong);
    p->bound = malloc((size_t)p->m->bound_bytes + 64);
    if (!p->bound)
        return program_fail(p, 5, "weights", "out of memory");
    p->m->bind(p->bound, p->file + h.weights_at);
    return 0;
}

/* One line into l; a bad one is reported and answered by an empty line. */
static void program_encode(struct program *p, struct lines *l,
                           const char *text, int64_t bytes)
{
    int64_t bad = 0;
    const int64_t at = l->start[l->n], cap = p->m->max_source;
    int64_t n = 0;

    if (bytes > 0)
        n = attn_vocab_encode(p->source, text, bytes, l->ids + at, cap, &bad);
    l->empty[l->n] = 0;
    if (n <= 0)
        l->empty[l->n] = 1;
    if (n < 0) {
        p->status = 3;
        fprintf(stderr, "stdin:%lld:%lld: error: %s\n", (long long)p->line,
                (long long)bad + 1,
                n == -1 ? "the line is longer than the model's max_len" :
                n == -2 ? "a character that the vocabulary does not have" :
                          "not UTF-8");
    }
    if (n < 0)
        n = 0;
    if (n > l->longest)
        l->longest = n;
    l->start[l->n + 1] = (int32_t)(at + n);
    l->n++;
}

static void program_print(struct program *p, const struct attn_hypothesis *h)
{
    static char text[PROGRAM_TEXT];
    const int64_t n = attn_vocab_decode(p->target, h->tokens, h->n, text,
                                        PROGRAM_TEXT);

    if (n > 0)
        fwrite(text, 1, (size_t)n, stdout);
}

/* Searches all lines that hold something at once; prints all in order. */
static int program_answer(struct program *p, struct lines *l)
{
    struct attn_hypothesis best[PROGRAM_LINES];
    int64_t found[PROGRAM_LINES], sentences = 0, k = 0;
    int32_t start[PROGRAM_LINES + 1];
    int64_t bytes;
    void *memory;

    start[0] = 0;
    for (int64_t i = 0; i < l->n; i++)
        if (l->empty[i] == 0) {
            start[sentences + 1] = l->start[i + 1];
            sentences++;
        }
    bytes = attn_search_bytes(p->m, &p->o, sentences, start[sentences],
                              l->longest, 0);
    memory = bytes < 0 ? NULL : malloc((size_t)bytes);
    if (!memory)
        return program_fail(p, 5, "search", "out of memory");
    if (sentences > 0)
        attn_search(p->m, p->bound, &p->o, sentences, l->ids, start, NULL, 0,
                    memory, bytes, best, found);
    for (int64_t i = 0; i < l->n; i++) {
        if (l->empty[i] == 0 && found[k] > 0)
            program_print(p, &best[k]);
        k += 1 - l->empty[i];
        putchar('\n');
    }
    free(memory);
    return 0;
}

static int program_lines(struct program *p)
{
    struct lines l;
    char *text = NULL;
    size_t cap = 0;
    ssize_t n = 0;
    int failed = 0;
    const int64_t at_once = isatty(0) ? (int64_t)1 : (int64_t)PROGRAM_LINES;

    l.ids = malloc((size_t)p->m->max_source * PROGRAM_LINES * sizeof *l.ids);
    if (!l.ids)
        return program_fail(p, 5, "input", "out of memory");
    while (n >= 0 && failed == 0) {
        l.n = 0;
        l.longest = 0;
        l.start[0] = 0;
        while (l.n < at_once) {
            n = getline(&text, &cap, stdin);
            if (n < 0)
                break;
            p->line++;
            if (n > 0 && text[n - 1] == '\n')
                n--;
            program_encode(p, &l, text, (int64_t)n);
        }
        if (l.n > 0)
            failed = program_answer(p, &l);
        if (fflush(stdout) != 0)
            failed = program_fail(p, 4, "stdout", strerror(errno));
    }
    free(text);
    free(l.ids);
    return failed;
}

int main(int argc, char **argv)
{
    struct program p;
    int failed;

    memset(&p, 0, sizeof p);
    p.name = argc > 0 ? argv[0] : model.name;
    p.m = &model;
    default_options(&p.o);
    p.file = embedded_weights(&p.bytes);
    if (argc != (p.file ? 1 : 2)) {
        fprintf(stderr, p.file ? "usage: %s < lines\n"
                               : "usage: %s model.weights < lines\n", p.name);
        return 2;
    }
    failed = p.file ? 0 : program_map(&p, argv[1]);
    if (failed == 0)
        failed = program_open(&p, argc > 1 ? argv[1] : model.name);
    if (failed == 0)
        failed = program_lines(&p);
    free(p.bound);
    return failed ? failed : p.status;
}
