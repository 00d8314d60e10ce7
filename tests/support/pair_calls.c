/* pair_calls.c: reads lines of tests/tokenizers/pairs.txt, for one tokenizer,
 * from stdin, and reports ids, types or rows of m.h's model that differ from
 * the recorded ones; prints the rows as the program does. argv[1] is the
 * weights file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holds.h"
#include "m.h"

enum { MOST = 256, IDS = 1 << 14 };

static const struct attn_model *model;

/* Reads a text in hexadecimal. */
static int64_t unhex(const char *from, char *to)
{
    int64_t n = 0;
    for (; from[0] != '-' && from[0]; from += 2) {
        unsigned byte = 0;
        HOLDS(sscanf(from, "%2x", &byte) == 1);
        to[n++] = (char)byte;
    }
    to[n] = '\0';
    return n;
}

static int64_t numbers(char *from, int32_t *to)
{
    int64_t n = 0;
    for (char *at = strtok(from, ","); at; at = strtok(NULL, ","))
        to[n++] = (int32_t)atoi(at);
    return n;
}

struct pair {
    char a[MOST], b[MOST];
    int64_t an, bn, n;
    int32_t ids[MOST], types[MOST];
};

static int read_pair(struct pair *p)
{
    char a[2 * MOST], b[2 * MOST], ids[4 * MOST], types[4 * MOST];
    if (scanf("%*s %511s %511s %1023s %1023s", a, b, ids, types) != 4)
        return 0;
    p->an = unhex(a, p->a);
    p->bn = unhex(b, p->b);
    p->n = numbers(ids, p->ids);
    HOLDS(numbers(types, p->types) == p->n);
    return 1;
}

static void check_ids(const void *block, const struct pair *p)
{
    const int64_t longer = p->an > p->bn ? p->an : p->bn;
    const int64_t most = m_vocab_most_pair_ids(block, p->an + p->bn);
    void *memory = malloc((size_t)m_vocab_encode_bytes(block, longer) + 1);
    int32_t ids[IDS], types[IDS];
    int64_t bad = 0;
    HOLDS(most >= p->n && most <= IDS);
    HOLDS(m_vocab_encode_pair(block, p->a, p->an, p->b, p->bn, ids, types, most,
                              memory, &bad)
          == p->n);
    HOLDS(!memcmp(ids, p->ids, (size_t)p->n * sizeof *ids));
    HOLDS(!memcmp(types, p->types, (size_t)p->n * sizeof *types));
    HOLDS(m_vocab_encode_pair(block, p->a, p->an, p->b, p->bn, ids, NULL, p->n,
                              memory, &bad)
          == p->n);
    HOLDS(m_vocab_encode_pair(block, p->a, p->an, p->b, p->bn, ids, types,
                              p->n - 1, memory, &bad)
          == ATTN_ERROR_ROOM);
    free(memory);
}

/* Computes rows from the recorded ids and types. */
static void encode(const void *bound, const struct pair *p, float *out)
{
    const int32_t start[2] = { 0, (int32_t)p->n };
    struct attn_batch b = { .sequences = 1,
                            .rows = p->n,
                            .start = start,
                            .ids = p->ids,
                            .types = p->types,
                            .output = out };
    const int64_t bytes = m_batch_bytes(&b);
    void *memory = malloc((size_t)bytes);
    HOLDS(m_encode_batch(bound, &b, memory, bytes) == 0);
    free(memory);
}

int main(int argc, char **argv)
{
    static float got[MOST * 64], want[MOST * 64];
    struct attn_handle *h = m_open(argc > 1 ? argv[1] : NULL, NULL);
    int64_t bytes;
    const void *file = m_embedded(&bytes);
    struct pair p;
    int pairs = 0;
    model = m_model();
    void *bound = malloc((size_t)model->bound_bytes);
    HOLDS(!*m_error(h));
    HOLDS(!m_bind(bound, file, bytes));
    while (read_pair(&p)) {
        const size_t size = (size_t)(p.n * model->output_columns) * 4;
        pairs++;
        check_ids(m_vocab(file, 0), &p);
        HOLDS(m_embed_pair(h, p.a, p.an, p.b, p.bn, got) == p.n);
        encode(bound, &p, want);
        HOLDS(!memcmp(got, want, size));
        HOLDS(m_embed_pair(h, p.a, -1, p.b, -1, got) == p.n);
        HOLDS(!memcmp(got, want, size));
        for (int64_t i = 0; i < p.n * model->output_columns; i++)
            printf("%.9g%s", (double)got[i],
                   (i + 1) % model->output_columns ? " " : "\n");
        putchar('\n');
    }
    HOLDS(pairs == 9);
    free(bound);
    m_close(h);
    return failed;
}
