/* program_shard.c: --shard=I/N: answers the questions of one shard, into files
 * of its own (shard_record.h).
 *
 * A block counts as answered when its line is in the record. The line is
 * written after the answers, so a process that is killed at any moment loses at
 * most one block of answers, which --resume makes again. */
#include "program.h"
#include "runtime/options/descriptor.h"

static bool shard_wrong(struct program *p, const char *path, const char *what)
{
    program_fail(p, 4, "%s: cannot %s: %s", path, what, strerror(errno));
    return false;
}

/* Checks the options, and sets which shard this is. */
ATTN_API void shard_words(struct program *p)
{
    struct attn_shard *r = &p->own.r;

    if (p->resume && !p->shard)
        program_fail(p, 2, "--resume is for --shard=I/N; 1/1 is one shard");
    if (!p->shard)
        return;
    if (p->set.unordered)
        program_fail(p, 2,
                     "--shard keeps the order of the lines: leave out "
                     "--unordered");
    else if (!attn_shard_place(p->shard, &r->which, &r->shards, p->why))
        program_fail(p, 2, "%s", p->why);
    else if (!p->output || attn_descriptor(p->output) >= 0)
        program_fail(p, 2,
                     "--shard writes the answers to a file: name it by -o");
}

/* ---- identity ---- */

static bool shard_counts(const struct program *p,
                         const struct program_option *o)
{
    const char *at = (const char *)p + o->at, *group = o->group;

    if (o->at >= offsetof(struct program, shard)
        && o->at <= offsetof(struct program, resume))
        return false;
    for (const struct program_option *k = program_option; k < o; k++)
        if (k->at == o->at) /* another name of the same option */
            return false;
    if (strcmp(o->name, "--seed") != 0 && strcmp(group, "Lines") != 0
        && strcmp(group, "Search") != 0 && strcmp(group, "Sampling") != 0)
        return false;
    switch (o->kind) {
    case OPTION_WHOLE: return *(const int64_t *)at != (int64_t)o->default_value;
    case OPTION_REAL:  return *(const float *)at != (float)o->default_value;
    case OPTION_TEXT:  return *(const char *const *)at != NULL;
    case OPTION_LIST:  return ((const struct program_list *)at)->n > 0;
    default:           return *(const bool *)at;
    }
}

static void shard_print_name(FILE *to, const char *name)
{
    fprintf(to, "%s%s", ftell(to) > 0 ? " " : "", name);
}

/* Prints a text without control characters, so that a record has one line for
 * it. */
static void shard_print_text(FILE *to, const char *text)
{
    fputc('=', to);
    for (; *text; text++)
        fprintf(to,
                *text > ' ' && *text <= '~' && *text != '\\' ? "%c" : "\\x%02x",
                (unsigned char)*text);
}

static void shard_print_option(FILE *to, const struct program *p,
                               const struct program_option *o)
{
    const char *at = (const char *)p + o->at;
    const struct program_list *list = (const struct program_list *)at;

    if (o->kind == OPTION_LIST) {
        for (int64_t i = 0; i < list->n; i++) {
            shard_print_name(to, o->name);
            shard_print_text(to, list->at[i]);
        }
        return;
    }
    shard_print_name(to, o->name);
    if (o->kind == OPTION_WHOLE)
        fprintf(to, "=%lld", (long long)*(const int64_t *)at);
    else if (o->kind == OPTION_REAL)
        fprintf(to, "=%.9g", (double)*(const float *)at);
    else if (o->kind == OPTION_TEXT)
        shard_print_text(to, *(const char *const *)at);
}

/* Sets the options that change answers, in the order of their table. */
static bool shard_settings(struct program *p, struct shard_files *s)
{
    size_t bytes;
    FILE *f = open_memstream(&s->options, &bytes);

    for (int i = 0; f && i < PROGRAM_OPTIONS; i++)
        if (shard_counts(p, &program_option[i]))
            shard_print_option(f, p, &program_option[i]);
#if ATTN_IN_ATTNC
    if (f && p->json)
        shard_print_name(f, "--format=json");
#endif
    if (!f || fclose(f) != 0)
        program_fail(p, 5, "out of memory");
    s->r.options = s->options;
    return p->status == 0;
}

static uint64_t shard_vocabulary(const struct attn_side *side, uint64_t seed)
{
#if ATTN_HAS_TEXT
    const struct attn_vocab_header *h = side->block;
    if (h)
        return attn_hash(h, h->bytes, seed);
#endif
    (void)side;
    return seed;
}

/* Hashes what answers depend on: the spec, its constant lengths, the weights
 * and the vocabularies. */
static uint64_t shard_hash(const struct program *p)
{
    const struct attn_model *m = p->m;
    const int64_t fixed[] = { m->fixed_source, m->fixed_target, m->fixed_keys,
                              m->fixed_batch };
    uint64_t h = attn_hash(&m->spec_hash, sizeof m->spec_hash, 1);

    h = attn_hash(fixed, sizeof fixed, h);
    if (m->weights_bytes > 0)
        h = attn_hash(p->packed, m->weights_bytes, h);
    h = shard_vocabulary(&p->source, h);
    return shard_vocabulary(&p->target, h);
}

/* ---- files ---- */

/* Opens the record, and locks it as long as this process lives. */
static bool shard_open_record(struct program *p, struct shard_files *s)
{
    struct flock lock;

    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    s->record = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (s->record < 0)
        return shard_wrong(p, s->path, "open");
    if (fcntl(s->record, F_SETLK, &lock) == 0)
        return true;
    program_fail(p, 4, "%s: another process answers this shard", s->path);
    return false;
}

/* Reads by the descriptor that is locked: to close another one of the same file
 * would unlock it. */
static bool shard_take_record(struct program *p, struct shard_files *s)
{
    struct stat st;
    ssize_t n = 1;

    s->n = 0;
    if (fstat(s->record, &st) != 0)
        return shard_wrong(p, s->path, "read");
    s->text = malloc((size_t)st.st_size + 1);
    if (!s->text) {
        program_fail(p, 5, "out of memory");
        return false;
    }
    for (; n > 0 && s->n < st.st_size; s->n += n)
        n = read(s->record, s->text + s->n, (size_t)(st.st_size - s->n));
    return n >= 0 || shard_wrong(p, s->path, "read");
}

/* Begins the shard anew. */
static bool shard_begin(struct program *p, struct shard_files *s)
{
    s->answers = open(s->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->answers < 0)
        return shard_wrong(p, s->part, "open");
#if ATTN_IN_ATTNC
    char head[ATTN_NPY_HEAD];
    npy_head(head, 0, s->r.columns);
    if (s->r.columns
        && write(s->answers, head, sizeof head) != (ssize_t)sizeof head)
        return shard_wrong(p, s->part, "write");
#endif
    return (ftruncate(s->record, 0) == 0 && lseek(s->record, 0, SEEK_SET) == 0
            && dprintf(s->record,
                       "attnc shard 1\nshard %lld/%lld\nmodel %016llx\n"
                       "options %s\ncolumns %lld\n",
                       (long long)s->r.which + 1, (long long)s->r.shards,
                       (unsigned long long)s->r.model, s->options,
                       (long long)s->r.columns)
                   >= 0)
        || shard_wrong(p, s->path, "write");
}

static bool shard_same_run(struct program *p, const struct shard_files *s,
                           const struct attn_shard *before)
{
    if (s->r.model != before->model)
        program_fail(p, 3,
                     "%s: the shard was begun with another model, other "
                     "weights or another vocabulary",
                     s->path);
    else if (strcmp(s->options, before->options) != 0
             || s->r.columns != before->columns)
        program_fail(p, 3,
                     "%s: the shard was begun with the options '%s%s', not "
                     "'%s%s'",
                     s->path, before->options,
                     before->columns ? " --format=npy" : "", s->options,
                     s->r.columns ? " --format=npy" : "");
    else if (s->r.which != before->which || s->r.shards != before->shards)
        program_fail(p, 3, "%s: this is the record of shard %lld/%lld", s->path,
                     (long long)before->which + 1, (long long)before->shards);
    return p->status == 0;
}

/* Goes on behind the last complete block. */
static bool shard_go_on(struct program *p, struct shard_files *s)
{
    struct attn_shard before;
    struct stat st;

    if (!attn_shard_read(&before, s->text, s->n, NULL, p->why)) {
        program_fail(p, 3, "%s%s", s->path, p->why);
        return false;
    }
    if (!shard_same_run(p, s, &before))
        return false;
    s->r = before;
    const char *path = before.complete && access(s->part, F_OK) != 0 ? s->output
                                                                     : s->part;
    s->answers = open(path, O_RDWR | O_CLOEXEC);
    const bool missing = s->answers < 0 && errno == ENOENT;
    if (!missing && (s->answers < 0 || fstat(s->answers, &st) != 0))
        return shard_wrong(p, path, "open");
    if (missing || st.st_size < before.end) {
        program_fail(p, 3,
                     "%s: the file is %s: leave out --resume to answer the "
                     "shard anew",
                     path,
                     missing ? "missing" : "shorter than its record says");
        return false;
    }
    if (ftruncate(s->answers, before.end) != 0
        || lseek(s->answers, before.end, SEEK_SET) != before.end)
        return shard_wrong(p, path, "write");
    return (ftruncate(s->record, before.bytes) == 0
            && lseek(s->record, 0, SEEK_END) >= 0)
        || shard_wrong(p, s->path, "write");
}

static bool shard_open_files(struct program *p, struct shard_files *s)
{
    int64_t lines = 0;

    if (!shard_open_record(p, s) || !shard_take_record(p, s))
        return false;
    for (int64_t i = 0; i < s->n; i++)
        lines += s->text[i] == '\n';
    /* The head is one write: with a part of it, nothing has been answered. */
    return p->resume && lines >= ATTN_SHARD_HEAD ? shard_go_on(p, s)
                                                 : shard_begin(p, s);
}

/* Returns OUTPUT.I-of-N and the suffix. */
static char *shard_path(struct program *p, const char *suffix)
{
    char *path = NULL;

    if (asprintf(&path, "%s.%lld-of-%lld%s", p->output,
                 (long long)p->own.r.which + 1, (long long)p->own.r.shards,
                 suffix)
        < 0) {
        program_fail(p, 5, "out of memory");
        return NULL;
    }
    return path;
}

/* Opens the files of --shard, in which stdout then is. */
ATTN_API void shard_start(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!p->shard)
        return;
    s->answers = -1;
    s->record = -1;
    s->per = p->m->kind == ATTN_ATTENTION ? 3 : 1;
    s->output = shard_path(p, "");
    s->part = shard_path(p, ".part");
    s->path = shard_path(p, ".shard");
    if (!s->output || !s->part || !s->path || !shard_settings(p, s))
        return;
    s->r.model = shard_hash(p);
#if ATTN_IN_ATTNC
    s->r.columns = p->npy ? p->m->output_columns : 0;
#endif
    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail with EFBIG */
    if (shard_open_files(p, s) && dup2(s->answers, STDOUT_FILENO) < 0)
        shard_wrong(p, s->part, "write");
}

ATTN_API void shard_stop(struct program *p)
{
    struct shard_files *s = &p->own;

    if (s->per == 0) /* not opened */
        return;
    close(s->answers);
    close(s->record);
    free(s->output);
    free(s->part);
    free(s->path);
    free(s->options);
    free(s->text);
}

/* ---- lines ---- */

/* Returns the last block of the shard that is answered. */
static int64_t shard_last(const struct shard_files *s)
{
    return s->r.which + (s->r.blocks - 1) * s->r.shards;
}

/* The status alone would let the program go on, as after an invalid line. */
static void shard_fail(struct program *p, const char *was)
{
    p->own.failed = true;
    program_fail(p, 3, "%s: the shard was %s another input", p->own.path, was);
}

/* Called after the lines of the last block that was answered before. */
static void shard_same_input(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!s->checked && s->input != s->r.input && !s->r.complete)
        shard_fail(p, "begun with");
    s->checked = true;
}

/* Called for each line. Returns true if the line belongs to another shard, or
 * was answered before. is_long: only its length is known. */
ATTN_API bool shard_skips(struct program *p, const char *line, int64_t bytes,
                          bool is_long)
{
    struct shard_files *s = &p->own;
    const bool blocks = p->m->input_width > 0;

    if (!p->shard || s->failed)
        return s->failed;
    s->input = is_long ? attn_hash(&bytes, sizeof bytes, s->input)
                       : attn_hash(line, bytes, s->input + 1);
    const int64_t block = p->ended / s->per / ATTN_SHARD_BLOCK;
    const bool first = s->per > 1 ? p->ended % s->per == 0 : p->ended == 0;
    const bool counts = !blocks || bytes > 0 || !first || s->rows > 0;
    if (block % s->r.shards == s->r.which
        && block / s->r.shards >= s->r.blocks) {
        /* The answers of a complete shard are final: nothing may follow. */
        if (s->r.complete && counts)
            shard_fail(p, "complete, for");
        return s->failed;
    }
    if (blocks && bytes > 0) {
        s->rows++;
    } else if (counts) {
        s->rows = 0;
        p->ended++;
        if (s->r.blocks > 0
            && p->ended == s->per * ATTN_SHARD_BLOCK * (shard_last(s) + 1))
            shard_same_input(p);
    }
    return true;
}

/* True if a block ends after the parts so far. */
ATTN_API bool shard_block_ends(const struct program *p)
{
    return p->shard && p->ended % (p->own.per * ATTN_SHARD_BLOCK) == 0;
}

static void shard_keep(struct program *p)
{
    struct shard_files *s = &p->own;
    const int64_t end = lseek(s->answers, 0, SEEK_CUR);

    if (end < 0)
        shard_wrong(p, s->part, "write");
    else if (dprintf(s->record, "block %lld %lld %d %016llx\n",
                     (long long)(shard_last(s) + s->r.shards), (long long)end,
                     s->r.errors || p->status, (unsigned long long)s->input)
             < 0)
        shard_wrong(p, s->path, "write");
    else {
        s->r.blocks++;
        s->checked = true;
    }
}

/* Called after a batch, when its answers are flushed. */
ATTN_API void shard_answered(struct program *p)
{
    if (p->parts > 0 && p->status <= 3 && shard_block_ends(p))
        shard_keep(p);
}

/* Compares the input with that of the record. Returns false if it is another
 * one, after a message. */
static bool shard_check_end(struct program *p, int64_t questions)
{
    struct shard_files *s = &p->own;
    const int64_t blocks = (questions + ATTN_SHARD_BLOCK - 1)
                         / ATTN_SHARD_BLOCK;
    const int64_t n = s->r.shards, own = (blocks - s->r.which + n - 1) / n;

    if (s->r.blocks < own)
        shard_keep(p);
    else if (s->r.blocks > own && !s->r.complete)
        shard_fail(p, "begun with");
    else if (s->r.blocks > 0 && shard_last(s) == blocks - 1)
        shard_same_input(p); /* the input ends within that block */
    if (s->r.complete
        && (s->r.questions != questions || s->r.input != s->input))
        shard_fail(p, "complete, for");
    return !s->failed && p->status <= 3;
}

/* Writes the number of rows to the head of a .npy file, and the answers to the
 * disk. */
static bool shard_finish(struct program *p, struct shard_files *s)
{
#if ATTN_IN_ATTNC
    char head[ATTN_NPY_HEAD];
    const int64_t end = lseek(s->answers, 0, SEEK_CUR), c = s->r.columns;
    npy_head(head, c ? (end - ATTN_NPY_HEAD) / (4 * c) : 0, c);
    if (c && pwrite(s->answers, head, sizeof head, 0) != (ssize_t)sizeof head)
        return shard_wrong(p, s->part, "write");
#endif
    return fsync(s->answers) == 0 || shard_wrong(p, s->part, "write");
}

/* Called after the last batch: completes the record, and renames the file. */
ATTN_API void shard_end(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!p->shard || s->failed || p->status > 3)
        return;
    if (s->rows > 0) /* the input ends without the last empty line */
        p->ended++;
    const int64_t questions = (p->ended + s->per - 1) / s->per;
    if (!shard_check_end(p, questions))
        return;
    if (s->r.errors)
        p->status = 3;
    if (!s->r.complete) {
        if (!shard_finish(p, s))
            return;
        if (dprintf(s->record, "end %lld %016llx\n", (long long)questions,
                    (unsigned long long)s->input)
            < 0)
            shard_wrong(p, s->path, "write");
    }
    if (p->status <= 3 && access(s->part, F_OK) == 0
        && rename(s->part, s->output) != 0)
        shard_wrong(p, s->part, "rename");
}
