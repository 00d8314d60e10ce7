/* weights_check.c: does a file of weights fit the model? Every tensor that is
 * missing, mis-shaped or of a wrong type is listed, and every one that nothing
 * reads.                                                                    */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

/* -------------------------------------------------------------- report --- */
static void append(Report *r, const char *text)
{
    size_t n = strlen(text);
    if (r->n + n + 1 > r->cap) {
        size_t cap = 2 * (r->n + n + 1);
        char *more = realloc(r->text, cap);
        if (!more)
            return;              /* the counts still tell */
        r->text = more;
        r->cap = cap;
    }
    memcpy(r->text + r->n, text, n + 1);
    r->n += n;
}

void report_add(Report *r, bool error, const char *fmt, ...)
{
    char text[sizeof ((Fault *)0)->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Fault line;                  /* makes it safe to print */
    fault(&line, 0, "%s", text);
    *(error ? &r->errors : &r->warnings) += 1;
    append(r, error ? "error: " : "warning: ");
    append(r, line.text);
    append(r, "\n");
}

void report_free(Report *r)
{
    free(r->text);
    *r = (Report){ 0 };
}

/* -------------------------------------------------------- nearest names --- */
enum { LongName = 200, Hints = 20 };

static int least(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance; both names at most LongName long. */
static int distance(const char *a, const char *b)
{
    int row[LongName + 1];
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int up = row[j];
            row[j] = least(up + 1, row[j - 1] + 1,
                           corner + (a[i - 1] != b[j - 1]));
            corner = up;
        }
    }
    return row[n];
}

/* The unused tensor whose name is nearest, NULL when none is near. */
static const char *nearest_unused(const Safetensors *file, const bool *used,
                                  const char *name)
{
    const char *best = NULL;
    int n = (int)strlen(name), limit = n / 2 + 1;
    if (n > LongName)
        return NULL;
    for (int i = 0; i < safetensors_count(file); i++) {
        const char *other = safetensors_at(file, i)->name;
        size_t m = strlen(other);
        if (used[i] || m > LongName || abs((int)m - n) >= limit)
            continue;
        int d = distance(name, other);
        if (d < limit) {
            limit = d;
            best = other;
        }
    }
    return best;
}

/* --------------------------------------------------------------- checks --- */
static const char *shape_text(char *text, size_t size, int rank,
                              const int64_t *dim)
{
    size_t n = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "",
                              (long long)dim[i]);
    snprintf(text + n, size - n, "]");
    return text;
}

static void check_found(const char *path, const PackItem *item, int rank,
                        const int64_t *dim, const Tensor *t, Report *r)
{
    char want[64], have[256];
    if (t->rank != rank || memcmp(t->dim, dim, (size_t)rank * sizeof *dim))
        report_add(r, true, "%s: tensor '%.80s': has shape %s, %s is needed",
                   path, item->file_name,
                   shape_text(have, sizeof have, t->rank, t->dim),
                   shape_text(want, sizeof want, rank, dim));
    if (t->type == StI32 || t->type == StI64 || t->type == StOther)
        report_add(r, true, "%s: tensor '%.80s': has dtype %s; F32, F16, BF16 "
                   "or F64 is needed", path, item->file_name, t->type_name);
    long long n = tensor_not_finite(t);
    if (n)
        report_add(r, false, "%s: tensor '%.80s': %lld of %lld values are NaN "
                   "or infinite", path, item->file_name, n,
                   (long long)t->elements);
}

static void check_item(const PackItem *item, const Safetensors *file,
                       const bool *used, Report *r)
{
    const char *path = safetensors_path(file), *name = item->file_name;
    int rank = item->layout == PackVector ? 1 : 2;
    int64_t both[2] = { item->rows, item->k };
    const int64_t *dim = both + 2 - rank;
    const Tensor *t = safetensors_find(file, name);
    if (t) {
        check_found(path, item, rank, dim, t, r);
        return;
    }
    char want[64];
    shape_text(want, sizeof want, rank, dim);
    const char *hint = r->errors < Hints ? nearest_unused(file, used, name)
                                         : NULL;
    if (hint)
        report_add(r, true, "%s: tensor '%.80s' %s is missing; the nearest "
                   "name there is '%.80s'", path, name, want, hint);
    else
        report_add(r, true, "%s: tensor '%.80s' %s is missing", path, name,
                   want);
}

static void check_unused(const Safetensors *file, const bool *used, Report *r)
{
    char have[256];
    for (int i = 0; i < safetensors_count(file); i++) {
        const Tensor *t = safetensors_at(file, i);
        if (!used[i])
            report_add(r, false, "%s: tensor '%.80s' %s is not used",
                       safetensors_path(file), t->name,
                       shape_text(have, sizeof have, t->rank, t->dim));
    }
}

bool weights_check(const PackList *p, const Safetensors *file, Report *r)
{
    if (!file)
        return true;             /* seeded weights fit by construction */
    int errors = r->errors;
    bool *used = calloc((size_t)safetensors_count(file) + 1, sizeof *used);
    if (!used) {
        report_add(r, true, "%s: out of memory", safetensors_path(file));
        return false;
    }
    for (int64_t i = 0; i < p->count; i++) {
        if (p->item[i].table)
            continue;
        const Tensor *t = safetensors_find(file, p->item[i].file_name);
        if (t)
            used[t - safetensors_at(file, 0)] = true;
    }
    for (int64_t i = 0; i < p->count; i++)
        if (p->item[i].table == TableNone && !p->item[i].alias)
            check_item(&p->item[i], file, used, r);
    check_unused(file, used, r);
    free(used);
    return r->errors == errors;
}
