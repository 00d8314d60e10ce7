/* worked.h: reads the examples of tests/worked (format: its README). Included
 * after cmocka's headers. */
#ifndef ATTNC_WORKED_H
#define ATTNC_WORKED_H

#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

enum { MostParts = 8 };

typedef struct {
    const char *name;
    int64_t n;
    double *x;
} Numbers;

typedef struct {
    Arena *arena;
    const char *text; /* text that is not read yet */
    const char *spec;
    const char *sets[MostParts];
    int nsets;
    TensorOut weights[MostParts];
    int nweights;
    float *rows[3]; /* query, key, value */
    int64_t row_count[3];
    Numbers nodes[MostParts];
    int nnodes;
    double *output;
    int64_t outputs;
    bool exact;
} Worked;

static inline char *next_word(Worked *e)
{
    const char *s = e->text;
    for (;;) {
        s += strspn(s, " \n");
        if (*s != '#')
            break;
        s += strcspn(s, "\n");
    }
    size_t n = strcspn(s, " \n");
    e->text = s + n;
    return n ? arena_strndup(e->arena, s, n) : NULL;
}

static inline int64_t next_count(Worked *e)
{
    return strtoll(next_word(e), NULL, 10);
}

/* Reads `: ...` with n numbers; `zeros COUNT` stands for COUNT zeros. */
static inline double *next_numbers(Worked *e, int64_t n)
{
    double *x = arena_alloc(e->arena, (size_t)n * sizeof *x);
    assert_string_equal(next_word(e), ":");
    for (int64_t i = 0; i < n;) {
        const char *word = next_word(e);
        assert_non_null(word);
        if (!strcmp(word, "zeros")) {
            i += next_count(e);
            assert_true(i <= n);
        } else {
            char *end;
            x[i++] = strtod(word, &end);
            assert_int_equal(*end, 0);
        }
    }
    return x;
}

static inline float *narrow(Arena *a, const double *x, int64_t n)
{
    float *f = arena_alloc(a, (size_t)n * sizeof *f);
    for (int64_t i = 0; i < n; i++)
        f[i] = (float)x[i];
    return f;
}

/* Multiplies x W as in the text; a file has W transposed. */
static inline void read_weight(Worked *e)
{
    const char *name = next_word(e);
    int64_t in = next_count(e), out = next_count(e);
    const double *w = next_numbers(e, in * out);
    double *t = arena_alloc(e->arena, (size_t)(in * out) * sizeof *t);
    for (int64_t i = 0; i < in; i++)
        for (int64_t o = 0; o < out; o++)
            t[o * in + i] = w[i * out + o];
    assert_true(e->nweights < MostParts);
    e->weights[e->nweights++] = (TensorOut){
        .name = arena_printf(e->arena, "%s.weight", name),
        .rank = 2,
        .dim = { out, in },
        .data = narrow(e->arena, t, in * out)
    };
}

static inline void read_rows(Worked *e, int which)
{
    int64_t rows = next_count(e), cols = next_count(e);
    e->row_count[which] = rows;
    e->rows[which] = narrow(e->arena, next_numbers(e, rows * cols),
                            rows * cols);
}

static inline void read_output(Worked *e)
{
    int64_t rows = next_count(e), cols = next_count(e);
    e->exact = !strcmp(next_word(e), "exact");
    e->outputs = rows * cols;
    e->output = next_numbers(e, e->outputs);
}

static inline void read_line(Worked *e, const char *keyword)
{
    static const char *const rows[] = { "query", "key", "value" };
    for (int i = 0; i < 3; i++)
        if (!strcmp(keyword, rows[i])) {
            read_rows(e, i);
            return;
        }
    if (!strcmp(keyword, "spec")) {
        e->spec = arena_printf(e->arena, "tests/worked/%s", next_word(e));
    } else if (!strcmp(keyword, "set")) {
        e->sets[e->nsets++] = next_word(e);
    } else if (!strcmp(keyword, "weight")) {
        read_weight(e);
    } else if (!strcmp(keyword, "output")) {
        read_output(e);
    } else if (!strcmp(keyword, "node")) {
        Numbers *n = &e->nodes[e->nnodes++];
        n->name = next_word(e);
        n->n = next_count(e);
        n->x = next_numbers(e, n->n);
    } else {
        print_error("'%s' is no keyword\n", keyword);
        fail();
    }
}

static inline void read_example(Worked *e, Arena *a, const char *name)
{
    char path[256];
    File f;
    Fault why;
    snprintf(path, sizeof path, "tests/worked/%s.txt", name);
    assert_true(file_read(&f, path, 1 << 20, &why));
    *e = (Worked){ .arena = a };
    e->text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    for (const char *word; (word = next_word(e));)
        read_line(e, word);
    assert_non_null(e->output);
}

#endif
