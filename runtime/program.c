/* program.c: the program that an emitted file is under ATTNC_MAIN: lines in on
 * stdin, answers out on stdout. The model says what a line is:
 *   text, where the weights have a vocabulary, else token ids;
 *   a row of numbers, where it reads these; an empty line ends a block of
 *   them. Kind attention: three blocks (queries, keys, values) are one
 *   question.
 * Pasted behind this are program_file.c and what answers: program_generate.c,
 * program_words.c and program_stream.c, or program_rows.c where the model
 * generates nothing.
 *
 * Exit codes: 0 done, 2 usage, 3 bad input (of lines: the others are answered),
 * 4 I/O, 5 memory.                                                          */
enum {
    PROGRAM_PARTS = 32, /* lines that are answered together */
    PROGRAM_STOPS = 16, /* strings that may end an answer */
    PROGRAM_FILES = 2   /* that are mapped: weights, a state */
};
/* The numbers that words give, and the texts: program_words knows their names
 * and what they are without one.                                            */
enum {
    WORD_TOKENS,
    WORD_TEMPERATURE,
    WORD_TOP_K,
    WORD_TOP_P,
    WORD_MIN_P,
    WORD_SEED,
    WORD_REPETITION,
    WORD_THREADS,
    WORD_NUMBERS
};
enum { WORD_PROMPT, WORD_STOP, WORD_LOAD, WORD_SAVE, WORD_TEXTS };

struct room { /* memory that only grows */
    void *at;
    int64_t bytes;
};

struct program {
    const char *name; /* argv[0] */
    const struct attn_model *m;
    const char *file; /* packed weights, whole */
    int64_t bytes;
    const void *packed;          /* the weights in it */
    const void *source, *target; /* vocabularies; NULL: token ids */
    /* reads a line's items; how many, or -1: refused */
    int64_t (*read)(struct program *p, const char *line, int64_t bytes);
    int64_t width; /* items of a row: 1 token, so many numbers */
    int64_t n;     /* items of this batch so far */
    int64_t parts; /* lines, or blocks, that ended */
    int64_t ended; /* of them, in all batches */
    int32_t start[PROGRAM_PARTS + 1]; /* first row of each */
    int bad[PROGRAM_PARTS];           /* it was refused: it has no answer */
    int64_t last[PROGRAM_PARTS];      /* number of its last line */
    int begun;                        /* text goes on where another ended */
    int refused;                      /* the part that is open has a bad line */
    int64_t line;                     /* number of the last line read */
    int status; /* exit code; above 3 it ends the program */
    double number[WORD_NUMBERS];
    const char *word[WORD_TEXTS]; /* NULL: not given */
    const char *stop[PROGRAM_STOPS];
    int64_t stops;
    int quiet;
    int unchecked; /* weights are not held to their hash */
    struct room bound, items, work, text;
    struct attn_pool *pool;
    const struct attn_parallel *parallel; /* NULL: one thread */
};

/* The file, whole; where there is none, p->status says so. */
static const char *program_map(struct program *p, const char *path,
                               int64_t *bytes);
/* Checks the weights and vocabularies; binds the weights. */
static void program_weights(struct program *p, const char *path);
/* Takes a word that is about the weights' file; 0: it is another. */
static int program_file_word(struct program *p, const char *word);
/* The most rows that part i of a batch may have. */
static int64_t program_most(const struct program *p, int64_t part);
/* Prints the answers to a batch, a line or a block of them for each part. */
static void program_answer(struct program *p);
/* What the words are, as lines for the usage. */
static const char *program_help(void);
/* Takes the words behind the weights; 0: they are not understood. */
static int program_words(struct program *p, int n, char **word);
/* Answers one text as it comes, instead of stdin's lines; 0: none is asked. */
static int program_stream(struct program *p);

static void program_fail(struct program *p, int code, const char *what,
                         const char *why)
{
    fprintf(stderr, "%s: error: %s: %s\n", p->name, what, why);
    p->status = code;
}

/* A line, or the prompt, that is not answered, and why; at: the byte in it. */
static int64_t program_refuse(struct program *p, int64_t at, const char *fmt,
                              ...)
{
    va_list ap;

    if (p->line > 0)
        fprintf(stderr, "stdin:%lld:%lld: error: ", (long long)p->line,
                (long long)at + 1);
    else
        fprintf(stderr, "%s: error: --prompt: byte %lld: ", p->name,
                (long long)at + 1);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    p->status = 3;
    return -1;
}

/* The room's memory, at least that large; NULL: out of memory. */
static void *program_grow(struct program *p, struct room *r, int64_t bytes)
{
    const int64_t more = bytes + bytes / 4;
    void *at = NULL;

    if (bytes >= 0 && bytes <= r->bytes)
        return r->at;
    if (bytes >= 0)
        at = realloc(r->at, (size_t)more);
    if (!at) {
        program_fail(p, 5, p->m->name,
                     "out of memory: give fewer or shorter "
                     "lines at once");
        return NULL;
    }
    r->at = at;
    r->bytes = more;
    return at;
}

/* ------------------------------------------------------------- lines --- */

/* Memory for `more` items behind those of the batch. */
static void *program_items(struct program *p, int64_t more)
{
    char *at = program_grow(p, &p->items, (p->n + more) * 4);
    return at ? at + p->n * 4 : NULL;
}

static int64_t read_text(struct program *p, const char *line, int64_t bytes)
{
    const int64_t need = attn_vocab_encode_bytes(p->source, bytes);
    void *memory = program_grow(p, &p->work, attn_max(need, 1));
    int64_t bad = 0, n = -1;
    int32_t *ids = program_items(p, bytes + 2);

    if (need < 0)
        return program_refuse(p, 0, "%lld bytes in a line: shorten it",
                              (long long)bytes);
    if (ids && memory)
        n = attn_vocab_encode(p->source, line, bytes, p->begun, ids, bytes + 2,
                              memory, &bad);
    if (n == ATTN_ERROR_UNKNOWN)
        program_refuse(p, bad,
                       "a character or word that the vocabulary does "
                       "not have: leave it out");
    if (n == ATTN_ERROR_UTF8)
        program_refuse(p, bad, "not UTF-8: convert the text");
    return n;
}

/* Is this the end of a number: a space, or the end of the line? */
static int ends_number(const char *from, const char *end)
{
    if (end == from)
        return 0;
    return strchr(" \t\r", *end) != NULL;
}

static int64_t read_ids(struct program *p, const char *line, int64_t bytes)
{
    const char *at = line + strspn(line, " \t\r");
    int32_t *ids = program_items(p, bytes);
    int64_t n = 0, vocab = p->m->source_vocab;

    if (p->m->kind == ATTN_DECODER)
        vocab = p->m->target_vocab;
    while (ids && at < line + bytes) {
        char *end;
        const long long id = strtoll(at, &end, 10);
        if (!ends_number(at, end) || id < 0 || id >= vocab)
            return program_refuse(p, at - line,
                                  "a token id from 0 to %lld is "
                                  "expected",
                                  (long long)vocab - 1);
        ids[n] = (int32_t)id;
        n++;
        at = end + strspn(end, " \t\r");
    }
    return ids ? n : -1;
}

static int64_t read_numbers(struct program *p, const char *line, int64_t bytes)
{
    const char *at = line + strspn(line, " \t\r");
    float *x = program_items(p, bytes);
    int64_t n = 0;

    while (x && at < line + bytes) {
        char *end;
        x[n] = strtof(at, &end);
        if (!ends_number(at, end))
            return program_refuse(p, at - line, "a number is expected");
        n++;
        at = end + strspn(end, " \t\r");
    }
    if (x && n != p->width)
        return program_refuse(p, 0,
                              "a row has %lld numbers, this line has "
                              "%lld",
                              (long long)p->width, (long long)n);
    return x ? n : -1;
}

static void program_end_part(struct program *p)
{
    const int64_t first = p->start[p->parts];
    const int64_t most = program_most(p, p->parts);
    int64_t rows = p->n / p->width - first;

    if (rows > most) {
        program_refuse(p, 0,
                       "%lld %s; the model takes %lld at most (max_len%s)"
                       ": shorten it",
                       (long long)rows,
                       p->m->input_width > 0 ? "rows in a block"
                                             : "tokens in a line",
                       (long long)most,
                       p->m->class_token ? ", which counts the class token"
                                         : "");
        p->refused = 1;
    }
    p->bad[p->parts] = p->refused;
    p->last[p->parts] = p->line;
    if (p->refused)
        rows = 0;
    if (p->m->kind != ATTN_ATTENTION)
        p->refused = 0;
    p->n = (first + rows) * p->width;
    p->parts++;
    p->ended++;
    p->start[p->parts] = (int32_t)(first + rows);
}

static void program_line(struct program *p, const char *line, int64_t bytes)
{
    const int blocks = p->m->input_width > 0;
    const int64_t before = p->m->kind == ATTN_ATTENTION ? p->parts : p->ended;
    int64_t n = 0;

    if (blocks && bytes == 0 && before == 0 && p->n == 0 && !p->refused)
        return; /* empty lines before the first block */
    if (bytes > 0)
        n = p->read(p, line, bytes);
    if (n < 0)
        p->refused = 1;
    else
        p->n += n;
    if (!blocks || bytes == 0)
        program_end_part(p);
}

/* Bytes of the byte order mark that some editors put before a text. */
static int64_t program_mark(const char *text, int64_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Reads lines until there are `parts` of them; 0 at the end of the input. */
static int program_read(struct program *p, int64_t parts)
{
    char *text = p->text.at;
    size_t room = (size_t)p->text.bytes;
    ssize_t n = 0;
    int64_t mark;

    p->n = 0;
    p->parts = 0;
    p->refused = 0;
    while (p->parts < parts && p->status <= 3) {
        n = getline(&text, &room, stdin);
        if (n < 0)
            break;
        p->line++;
        if (n > 0 && text[n - 1] == '\n') {
            n--;
            text[n] = '\0';
        }
        mark = p->line == 1 ? program_mark(text, (int64_t)n) : 0;
        program_line(p, text + mark, (int64_t)n - mark);
    }
    if (n < 0 && !feof(stdin))
        program_fail(p, errno == ENOMEM ? 5 : 4, "stdin", strerror(errno));
    if (n < 0 && (p->refused || p->n > p->start[p->parts] * p->width))
        program_end_part(p);
    p->text.at = text;
    p->text.bytes = (int64_t)room;
    return n >= 0;
}

static void program_run(struct program *p)
{
    int64_t parts = PROGRAM_PARTS;
    int more = 1;

    p->read = p->source ? read_text : read_ids;
    p->width = 1;
    if (isatty(0))
        parts = 1;
    if (p->m->input_width > 0) {
        p->read = read_numbers;
        p->width = p->m->input_width;
    }
    if (p->m->kind == ATTN_ATTENTION)
        parts = 3;
    while (more && p->status <= 3) {
        more = program_read(p, parts);
        if (p->parts > 0 && p->status <= 3)
            program_answer(p);
        if (fflush(stdout) != 0 || ferror(stdout))
            program_fail(p, 4, "stdout", strerror(errno));
    }
}

/* Opens a pool of so many threads; below 0: of one a physical core. */
static void program_threads(struct program *p, int64_t threads)
{
    if (threads < 0)
        threads = attn_cores();
    if (threads < 2)
        return;
    p->pool = attn_pool_open(threads);
    if (!p->pool) {
        program_fail(p, 5, "--threads", "out of memory");
        return;
    }
    p->parallel = attn_pool_parallel(p->pool);
    if (attn_pool_refused(p->pool))
        fprintf(stderr,
                "%s: warning: --threads %lld: the system gives %lld (%s)\n",
                p->name, (long long)threads, (long long)p->parallel->parts,
                attn_pool_refused(p->pool));
}

static int program_main(int argc, char **argv)
{
    struct program p;
    const char *path = model.name;

    memset(&p, 0, sizeof p);
    p.name = argc > 0 ? argv[0] : model.name;
    p.m = &model;
    p.file = embedded_weights(&p.bytes);
    const int alone = p.file || p.m->weights_bytes == 0;
    const int words = alone ? 1 : 2;
    if (argc < words || (!alone && argv[1][0] == '-')
        || !program_words(&p, argc - words, argv + words)) {
        fprintf(stderr, "usage: %s%s < lines\n%s", p.name,
                alone ? "" : " model.weights", program_help());
        return 2;
    }
    if (!alone) {
        path = argv[1];
        p.file = program_map(&p, path, &p.bytes);
    }
    if (p.status == 0 && p.file)
        program_weights(&p, path);
    if (p.status == 0)
        program_threads(&p, (int64_t)p.number[WORD_THREADS]);
    if (p.status == 0 && !program_stream(&p))
        program_run(&p);
    attn_pool_close(p.pool);
    free(p.bound.at);
    free(p.items.at);
    free(p.work.at);
    free(p.text.at);
    return p.status;
}
