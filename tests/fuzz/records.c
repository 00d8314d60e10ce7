/* records.c: fuzzes a file of records: reads it, prints it, selects from it,
 * and writes it again. The input is the file. Its lines are sealed here: `,
 * "hash": "..."}` is appended to each, except to those that begin with `!`,
 * which are used as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "records/records.h"
#include "fuzz.h"

static const char lab[] = "/tmp/attnc_fuzz_records"; /* and its process */

/* ---- input ---- */
static size_t sealed_line(char *to, const char *line, size_t n)
{
    memcpy(to, line, n);
    return n
         + (size_t)sprintf(to + n, ", \"hash\": \"%016llx\"}",
                           (unsigned long long)XXH3_64bits(line, n));
}

/* The file's text, malloc'd. */
static char *sealed(const uint8_t *data, size_t size, size_t *n)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    char *text = malloc(size + 64 * lines + 1), *to = text;
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        if (*at == '!') {
            memcpy(to, at + 1, length - 1);
            to += length - 1;
        } else if (length) {
            to += sealed_line(to, at, length);
        }
        if (stop)
            *to++ = '\n';
        at += length + 1;
    }
    *n = (size_t)(to - text);
    return text;
}

/* ---- read ---- */
typedef struct {
    Arena *a;
    char path[64];
    bool again;
} FuzzCase;

static void nothing(Records *r, Arena *a, void *with)
{
    (void)a;
    *(int *)with = r->at.n;
}

/* Checks that each line, written and read again, is unchanged. */
static void write_again(const FuzzCase *w, const Records *r)
{
    Fault why;
    Records again;
    int n;
    remove(w->path);
    if (!records_add(w->a, w->path, r->at.at, r->at.n, &why)
        || !records_edit(w->a, w->path, nothing, &n, &why)
        || !records_read(&again, w->a, w->path, &why))
        fuzz_wrong("%s", why.text);
    if (again.passed_over || again.at.n != n || n > r->at.n)
        fuzz_wrong("%d records of %d come back", again.at.n, r->at.n);
    for (int i = 0; i < r->at.n; i++)
        if (!records_find(&again, &r->at.at[i]))
            fuzz_wrong("record %d is lost", i);
}

static void print_all(const Records *r)
{
    FILE *out = fopen("/dev/null", "w");
    records_table(r, out);
    records_json(r, out);
    records_csv(r, out);
    fclose(out);
}

static void choose(Arena *a, const Records *r)
{
    for (int i = 0; i < r->at.n && i < 8; i++) {
        const Record *at = &r->at.at[i];
        const Choices c = records_choices(a, r, &at->host);
        const Record *near = records_nearest(r, &at->host, &at->key);
        if (c.n < 1 || c.n > r->at.n || near == at)
            fuzz_wrong("%d choices of %d records", c.n, r->at.n);
        host_text(a, &at->host);
    }
}

static int run(void *with)
{
    const FuzzCase *w = with;
    Records r;
    Fault why;
    if (!records_read(&r, w->a, "r", &why))
        return why.code;
    print_all(&r);
    choose(w->a, &r);
    if (r.at.n && w->again)
        write_again(w, &r);
    return r.passed_over ? ExitInput : ExitDone;
}

static void sweep(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s.%ld", lab, (long)getpid());
    remove(path);
    snprintf(path, sizeof path, "%s.%ld.lock", lab, (long)getpid());
    remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool swept;
    size_t n;
    FuzzCase w = { .a = arena_new(), .again = size % 16 == 0 };
    if (!swept)
        atexit(sweep);
    swept = true;
    snprintf(w.path, sizeof w.path, "%s.%ld", lab, (long)getpid());
    char *text = sealed(data, size, &n);
    fuzz_files_clear();
    fuzz_file("r", text, n);
    fuzz_run(run, &w);
    free(text);
    arena_free(w.a);
    return 0;
}

/* ---- mutator ---- */
static const char usual[] =
    "{\"version\": 2, \"cpu\": \"C\", \"caches\": \"32K 1M 32M\", \"isa\": "
    "\"x86-64-v4\", \"threads\": 2, \"compiler\": \"libtcc\", \"op\": "
    "\"matmul\", \"shape\": \"512x2048\", \"dtype\": \"f32\", \"epilogue\": "
    "\"bias\", \"tile\": {\"mr\": 12, \"nr\": 32}, \"ns\": 1250000.0, "
    "\"usual_ns\": 1500000.0, \"samples\": 12, \"spread\": 0.004";

/* Returns a value that a member may have, or an invalid one. */
static void add_value(char *to, size_t room, FuzzDice *d)
{
    /* clang-format off */
    static const char *const words[] = {
        "\"small_m\"", "\"attention\"", "\"rows\"", "\"split\"", "\"matmul\"",
        "\"bf16\"", "\"f32\"", "\"\"", "\"C\"", "\"512x2048\"", "\"1x1x1\"",
        "{}", "[]", "null", "true", "1e18", "1e19", "-0.0", "1e-300",
        "{\"mr\": 6}", "{\"queries\": 32, \"keys\": 128}", "{\"rows\": 48}",
        "{\"small_m\": 5, \"streams\": 2}", "{\"work\": 750000}", "\"\\u0000\"",
        "{\"k\": 512, \"prefetch\": 2, \"panels\": 4}", "\"\\u00e9\"",
        "\"a\\\"b\""
    };
    /* clang-format on */
    const uint32_t n = sizeof words / sizeof *words, i = fuzz_dice(d, 2 * n);
    if (i < n)
        snprintf(to, room, "%s", words[i]);
    else
        snprintf(to, room, "%lld", (long long)fuzz_number(d));
}

/* Replaces the value after a random colon. */
static size_t change_member(uint8_t *data, size_t size, size_t most,
                            FuzzDice *d)
{
    char text[64];
    size_t at = fuzz_dice(d, (uint32_t)size);
    while (at < size && data[at] != ':')
        at++;
    if (at + 2 >= size)
        return size;
    at += 2;
    size_t end = at;
    while (end < size && data[end] != ',' && data[end] != '\n')
        end++;
    add_value(text, sizeof text, d);
    const size_t n = strlen(text);
    if (size - (end - at) + n > most)
        return size;
    memmove(data + at + n, data + end, size - end);
    memcpy(data + at, text, n);
    return size - (end - at) + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 16);
    const size_t n = sizeof usual - 1;
    if (size == 0 || what < 4)
        return LLVMFuzzerMutate(data, size, most);
    if (what == 4 && size + n + 1 <= most) {
        data[size] = '\n';
        memcpy(data + size + 1, usual, n);
        return size + 1 + n;
    }
    return change_member(data, size, most, &d);
}
