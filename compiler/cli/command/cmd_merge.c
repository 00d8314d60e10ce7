/* cmd_merge.c: attnc merge. Joins the files of --shard=I/N, of attnc run or of
 * a program. The answers are in the order of the input, and the bytes are those
 * of one run. */
#include <string.h>

#include "base/strings.h"
#include "cli/run/answering.h"

typedef struct {
    const char *path; /* of the answers; NULL: the shard is missing */
    const char *record_path;
    struct attn_shard record;
    int64_t *ends; /* end of each block of the answers, in bytes */
    File *file;
} Shard;

/* ---- reading ---- */
static int64_t all_blocks(const struct attn_shard *r)
{
    return (r->questions + ATTN_SHARD_BLOCK - 1) / ATTN_SHARD_BLOCK;
}

static int64_t blocks_of(const struct attn_shard *r)
{
    return (all_blocks(r) - r->which + r->shards - 1) / r->shards;
}

static void read_record(Arena *a, Shard *s)
{
    struct attn_shard *r = &s->record;
    const char *path = arena_printf(a, "%s.shard", s->path);
    char wrong[ATTN_WHY];
    Fault why;
    File *f = arena_file(a, path, (size_t)1 << 32, &why);
    if (!f)
        fail(why.code, "%s", why.text);
    s->record_path = path;
    s->ends = arena_alloc(a, (f->size / 8 + 1) * sizeof *s->ends);
    if (!attn_shard_read(r, arena_strndup(a, (const char *)f->at, f->size),
                         (int64_t)f->size, s->ends, wrong))
        fail(ExitInput, "%s%s", path, wrong);
    arena_closes(a, f);
    if (!r->complete)
        fail(ExitInput,
             "%s: shard %lld/%lld is not complete: run it again "
             "with --resume",
             path, (long long)r->which + 1, (long long)r->shards);
}

static void close_answers(void *file)
{
    file_close(file);
}

/* Maps the answers, which must be those of the record. */
static void read_answers(Arena *a, Shard *s)
{
    const struct attn_shard *r = &s->record;
    Fault why;
    s->file = arena_alloc(a, sizeof *s->file);
    if (!file_map(s->file, s->path, &why))
        fail(why.code, "%s", why.text);
    arena_owns(a, s->file, close_answers);
    if ((int64_t)s->file->size != r->end || r->blocks != blocks_of(r))
        fail(ExitInput,
             "%s: %zu bytes and %lld blocks of answers do not fit the "
             "record %s: run the shard again",
             s->path, s->file->size, (long long)r->blocks, s->record_path);
}

/* ---- checks ---- */
static void not_alike(const Shard *a, const Shard *b, const char *what)
{
    fail(ExitInput, "%s and %s: the shards have different %s", a->path, b->path,
         what);
}

static void compare(const Shard *a, const Shard *b)
{
    const struct attn_shard *x = &a->record, *y = &b->record;
    if (x->shards != y->shards)
        not_alike(a, b, "numbers of shards");
    if (x->model != y->model)
        not_alike(a, b, "models, weights or vocabularies");
    if (strcmp(x->options, y->options) != 0 || x->columns != y->columns)
        not_alike(a, b, "options");
    if (x->questions != y->questions || x->input != y->input)
        not_alike(a, b, "inputs");
}

/* ---- the command of a missing shard ---- */
enum { MostCommand = 1000 }; /* bytes of the options and the output */

/* Adds the options of a record, in which \xNN stands for some characters. */
static void add_options(Buffer *b, Arena *a, const struct attn_shard *r)
{
    for (const char *at = r->options; *at;) {
        const size_t n = strcspn(at, " ");
        char *word = arena_strndup(a, at, n), *to = word;
        for (const char *c = word; *c; c++) {
            unsigned byte;
            int bytes = 0;
            if (sscanf(c, "\\x%2x%n", &byte, &bytes) == 1 && bytes == 4) {
                *to++ = (char)byte;
                c += 3;
            } else {
                *to++ = *c;
            }
        }
        *to = '\0';
        buffer_printf(b, " %s", shell_word(a, word));
        at += n + (at[n] == ' ');
    }
    if (r->columns)
        buffer_printf(b, " --format=npy");
}

/* Ends with the command that makes shard i, which is missing. Its output has
 * the name of another shard's file, without the ending. */
static _Noreturn void missing(Arena *a, const Shard *other, int64_t i)
{
    const struct attn_shard *r = &other->record;
    const char *ending = arena_printf(a, ".%lld-of-%lld",
                                      (long long)r->which + 1,
                                      (long long)r->shards);
    const char *output = other->path;
    const size_t n = strlen(output), m = strlen(ending);
    if (n > m && strcmp(output + n - m, ending) == 0)
        output = arena_strndup(a, output, n - m);
    Buffer b = { .arena = a };
    add_options(&b, a, r);
    buffer_printf(&b, " --shard=%lld/%lld -o %s", (long long)i + 1,
                  (long long)r->shards, shell_word(a, output));
    error_at((Pos){ 0 }, "shard %lld/%lld is missing", (long long)i + 1,
             (long long)r->shards);
    if (b.n > MostCommand)
        note_at((Pos){ 0 },
                "make it by attnc run, with the model and the lines of the "
                "other shards, and the options of line 4 of %s",
                quote(other->record_path));
    else
        note_at((Pos){ 0 },
                "attnc run MODEL%s < LINES makes it, with the model and the "
                "lines of the other shards",
                b.at);
    end_attempt(ExitInput);
}

/* Returns the shards in order, all of which must be among the paths. */
static Shard *read_shards(Arena *a, const Texts *paths)
{
    Shard *all = NULL, one = { .path = paths->at[0] };
    read_record(a, &one);
    const int64_t n = one.record.shards;
    all = arena_alloc(a, (size_t)n * sizeof *all);
    for (int i = 0; i < paths->n; i++) {
        Shard s = { .path = paths->at[i] };
        read_record(a, &s);
        compare(&one, &s);
        Shard *to = &all[s.record.which];
        if (to->path)
            fail(ExitInput, "%s and %s: both are shard %lld/%lld", to->path,
                 s.path, (long long)s.record.which + 1, (long long)n);
        read_answers(a, &s);
        *to = s;
    }
    for (int64_t i = 0; i < n; i++)
        if (!all[i].path)
            missing(a, &one, i);
    return all;
}

/* ---- writing ---- */
static bool write_head(const Shard *all, Output *to, Fault *why)
{
    const struct attn_shard *r = &all[0].record;
    char head[ATTN_NPY_HEAD];
    int64_t bytes = 0;
    if (r->columns == 0)
        return true;
    for (int64_t i = 0; i < r->shards; i++)
        bytes += (int64_t)all[i].file->size - ATTN_NPY_HEAD;
    npy_head(head, bytes / (4 * r->columns), r->columns);
    return output_write(to, head, ATTN_NPY_HEAD, why);
}

static bool write_blocks(const Shard *all, Output *to, Fault *why)
{
    const struct attn_shard *r = &all[0].record;
    const int64_t n = r->shards;
    const int64_t blocks = all_blocks(r);
    for (int64_t b = 0; b < blocks; b++) {
        const Shard *s = &all[b % n];
        const int64_t i = b / n, *ends = s->ends;
        const int64_t from = i ? ends[i - 1] : r->columns ? ATTN_NPY_HEAD : 0;
        if (!output_write(to, s->file->at + from, (size_t)(ends[i] - from),
                          why))
            return false;
    }
    return true;
}

int cmd_merge(const Options *o)
{
    Arena *a = arena_new();
    const Shard *all = read_shards(a, &o->files);
    Output to;
    Fault why;
    bool errors = false;
    if (!output_open(&to, o->merged, &why))
        return report_fault(&why);
    if (!write_head(all, &to, &why) || !write_blocks(all, &to, &why)) {
        output_cancel(&to);
        return report_fault(&why);
    }
    if (!output_commit(&to, &why))
        return report_fault(&why);
    for (int64_t i = 0; i < all[0].record.shards; i++)
        errors |= all[i].record.errors;
    arena_free(a);
    return errors ? ExitInput : ExitDone;
}
