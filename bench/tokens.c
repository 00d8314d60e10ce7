/* tokens: how long a tokenizer takes for texts, in this process, without
 * reading or printing them.
 *
 *     tokens FILE TEXTS ..
 *
 * FILE is a tokenizer's (attnc tokens), TEXTS are as strings.py writes them:
 * for each its length, 32 bits, then its bytes. Each line of stdin asks for one
 * pass over the TEXTS of its number (from 0); the answer is its nanoseconds and
 * how many ids there were. With ":" behind the number offsets are found too. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tokenizer/tokenizer.h"

typedef struct {
    char *at;
    long bytes;
} Texts;

typedef struct {
    void *block, *memory;
    int32_t *ids, *offsets;
    int64_t cap;
} Work;

static _Noreturn void stop(const char *what, const char *path)
{
    fprintf(stderr, "tokens: %s: %s\n", path, what);
    exit(3);
}

static Texts read_texts(const char *path)
{
    FILE *f = fopen(path, "rb");
    Texts t = { NULL, 0 };
    if (!f || fseek(f, 0, SEEK_END) || (t.bytes = ftell(f)) < 0)
        stop("cannot be read", path);
    rewind(f);
    t.at = malloc((size_t)t.bytes + 1);
    if (!t.at || fread(t.at, 1, (size_t)t.bytes, f) != (size_t)t.bytes)
        stop("cannot be read", path);
    fclose(f);
    return t;
}

/* The next text at *at, its bytes; NULL: there is none. */
static const char *next_text(const Texts *t, long *at, int64_t *n)
{
    uint32_t bytes;
    const long from = *at + (long)sizeof bytes;
    if (from > t->bytes)
        return NULL;
    memcpy(&bytes, t->at + *at, sizeof bytes);
    *n = bytes;
    *at = from + (long)bytes;
    return *at <= t->bytes ? t->at + from : NULL;
}

static void make_room(Work *w, const Texts *t)
{
    int64_t n, longest = 0, need;
    for (long at = 0; next_text(t, &at, &n);)
        longest = n > longest ? n : longest;
    need = attn_vocab_encode_bytes(w->block, longest);
    n = attn_vocab_most_ids(w->block, longest);
    if (n <= w->cap)
        return;
    free(w->memory);
    free(w->ids);
    free(w->offsets);
    w->cap = n;
    w->memory = malloc((size_t)need);
    w->ids = malloc((size_t)n * sizeof *w->ids);
    w->offsets = malloc((size_t)n * 2 * sizeof *w->offsets);
    if (need < 0 || !w->memory || !w->ids || !w->offsets)
        stop("no memory for its texts", "TEXTS");
}

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pass(const Work *w, const Texts *t, bool places)
{
    int64_t n, bad, ids = 0;
    const char *text;
    const double begin = nanoseconds();
    for (long at = 0; (text = next_text(t, &at, &n));) {
        n = attn_vocab_encode_offsets(w->block, text, n, 0, w->ids,
                                      places ? w->offsets : NULL, w->cap,
                                      w->memory, &bad);
        if (n < 0)
            stop("a text that cannot be encoded", "TEXTS");
        ids += n;
    }
    printf("%.0f %" PRId64 "\n", nanoseconds() - begin, ids);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const VocabTokens none = {
        .start = -1, .end = -1, .pad = -1, .unknown = -1
    };
    Work w = { .cap = -1 };
    Fault why = { 0 };
    int64_t bytes;
    char line[32];
    Texts t[8];
    if (argc < 3 || argc > 10)
        stop("FILE TEXTS .. (8 at most)", "usage");
    w.block = vocab_load(argv[1], -1, &none, &bytes, &why);
    if (!w.block)
        stop(why.text, argv[1]);
    for (int i = 2; i < argc; i++) {
        t[i - 2] = read_texts(argv[i]);
        make_room(&w, &t[i - 2]);
    }
    while (fgets(line, sizeof line, stdin)) {
        const int i = atoi(line);
        if (i >= 0 && i < argc - 2)
            pass(&w, &t[i], strchr(line, ':') != NULL);
    }
    return 0;
}
