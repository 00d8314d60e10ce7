/* matrices.c: the matrices of a model, their formats, and the loss of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/strings.h"
#include "diff/loss.h"

/* ---- list ---- */
void matrices_of(Matrices *to, const Engine *e)
{
    const Graph *g = e->unfused;
    const PackList *list = &e->plan->pack;
    Index seen = { 0 }, items = { 0 };
    for (int64_t i = 0; i < list->count; i++)
        if (list->item[i].name)
            index_add(to->arena, &items, list->item[i].name, (int)i);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpWeight || !n->readers)
            continue;
        for (int64_t part = 0; part == 0 || part < n->parts; part++) {
            const char *name = spec_packed_name(to->arena, e->spec,
                                                weight_part(to->arena, n,
                                                            part));
            const int item = index_find(&items, name);
            if (item < 0 || index_add(to->arena, &seen, name, i) != i)
                continue;
            const size_t bytes = strlen(name) - strlen(".weight");
            vec_push(to->arena, &to->at,
                     ((Matrix){ .key = arena_strndup(to->arena, name, bytes),
                                .readers = n->readers,
                                .item = &list->item[item] }));
        }
    }
}

Dtype matrix_dtype(const Matrix *m)
{
    return m->item->dtype == DtypeBf16x2 ? DtypeF32 : m->item->dtype;
}

int64_t matrix_bytes(const Matrix *m, Dtype stored)
{
    return m->item->rows * dtype_column_bytes(stored, m->item->k);
}

/* ---- errors ---- */
static float *numbers(int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    if (!x)
        fail(ExitResource, "out of memory for a matrix of %lld numbers",
             (long long)n);
    return x;
}

static void measure(Matrix *m, const Engine *e)
{
    const int64_t n = m->item->rows * m->item->k;
    PackItem plain = *m->item;
    float *x = numbers(n), *y = numbers(n);
    plain.dtype = DtypeF32;
    weights_tensor(&plain, e->file, e->options.seed, x);
    weights_tensor(m->item, e->file, e->options.seed, y);
    m->squares = m->lost = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)y[i];
        m->squares += (double)x[i] * (double)x[i];
        m->lost += d * d;
    }
    free(x);
    free(y);
}

void matrices_measure(Matrices *m, const Engine *e)
{
    progress_begin("measuring the matrices");
    for (int i = 0; i < m->at.n; i++) {
        progress_at((double)i / m->at.n);
        if (matrix_dtype(&m->at.at[i]) != DtypeF32)
            measure(&m->at.at[i], e);
    }
    progress_end();
}

double relative_error(double lost, double squares)
{
    return lost > 0 || isnan(lost) ? sqrt(lost / squares) : 0;
}

double error_decibels(double relative)
{
    return -20 * log10(relative);
}

/* ---- dtype ---- */

/* True if `b` begins with the first n bytes of `a`, and they end at the end of
 * a segment. */
static bool begins(const char *a, size_t n, const char *b)
{
    return strncmp(a, b, n) == 0 && (b[n] == '\0' || b[n] == '.');
}

static bool same_dtypes(const Matrices *m, const Dtype *dtype, int i, size_t n)
{
    for (int k = 0; k < m->at.n; k++)
        if (dtype[k] != dtype[i] && begins(m->at.at[i].key, n, m->at.at[k].key))
            return false;
    return true;
}

/* Returns the length of the shortest prefix of matrix i's name that belongs to
 * no matrix with another format. */
static size_t beginning(const Matrices *m, const Dtype *dtype, int i)
{
    const char *key = m->at.at[i].key;
    size_t n = strcspn(key, ".");
    while (key[n] && !same_dtypes(m, dtype, i, n))
        n += 1 + strcspn(key + n + 1, ".");
    return n;
}

const char *matrices_dtype(const Matrices *m, const Dtype *dtype,
                           Dtype default_dtype)
{
    const Spec plain = { .dtype = { .default_dtype = default_dtype } };
    Buffer b = { .arena = m->arena };
    Index said = { 0 };
    buffer_printf(&b, "{default: %s", dtype_word[default_dtype]);
    for (int i = 0; i < m->at.n; i++) {
        const size_t n = beginning(m, dtype, i);
        const char *key = arena_strndup(m->arena, m->at.at[i].key, n);
        if (dtype[i] != spec_dtype(&plain, key, m->at.at[i].readers)
            && index_add(m->arena, &said, key, i) == i)
            buffer_printf(&b, ", '%s': %s", key, dtype_word[dtype[i]]);
    }
    buffer_printf(&b, "}");
    return b.at;
}
