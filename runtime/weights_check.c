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
        if (!more) {
            r->cut = true;
            return;
        }
        r->text = more;
        r->cap = cap;
    }
    memcpy(r->text + r->n, text, n + 1);
    r->n += n;
}

void report_add(Report *r, bool error, const char *fmt, ...)
{
    char text[sizeof((Fault *)0)->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Fault line; /* makes it safe to print */
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

/* What the model does with a tensor of the file. */
typedef struct {
    int64_t elements;     /* that it takes */
    bool checked, misfit; /* reported once, for all that share it */
} Use;

/* The unused tensor whose name is nearest, NULL when none is near. */
static const char *nearest_unused(const Safetensors *file, const Use *use,
                                  const char *name)
{
    const char *best = NULL;
    int n = (int)strlen(name), limit = n / 2 + 1;
    if (n > LongName)
        return NULL;
    for (int i = 0; i < safetensors_count(file); i++) {
        const char *other = safetensors_at(file, i)->name;
        size_t m = strlen(other);
        if (use[i].elements || m > LongName || abs((int)m - n) >= limit)
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

/* The shape that the file's tensor must have; its rank. */
static int file_shape(const PackItem *item, int64_t dim[2])
{
    const FileTensor *f = &item->from;
    int64_t size[2] = { item->rows, item->k };
    if (f->groups)
        size[f->by_columns] = f->total;
    dim[0] = size[f->transposed];
    dim[1] = size[!f->transposed];
    if (item->layout != PackVector)
        return 2;
    dim[0] = size[1];
    return 1;
}

static void check_shape(const char *path, const PackItem *item, const Tensor *t,
                        Use *use, Report *r)
{
    char want[64], have[256];
    int64_t dim[2];
    int rank = file_shape(item, dim);
    bool fits = t->rank == rank
             && !memcmp(t->dim, dim, (size_t)rank * sizeof *dim);
    bool turned = t->rank == 2 && rank == 2 && t->dim[0] == dim[1]
               && t->dim[1] == dim[0];
    if (fits || use->misfit)
        return;
    use->misfit = true;
    report_add(r, true, "%s: tensor '%.80s': has shape %s, %s is needed%s",
               path, t->name, shape_text(have, sizeof have, t->rank, t->dim),
               shape_text(want, sizeof want, rank, dim),
               turned ? "; see transpose in the spec's names" : "");
}

static void check_values(const char *path, const Tensor *t, Use *use, Report *r)
{
    if (use->checked)
        return;
    use->checked = true;
    if (t->type == StI32 || t->type == StI64 || t->type == StOther)
        report_add(r, true,
                   "%s: tensor '%.80s': has dtype %s; F32, F16, BF16 "
                   "or F64 is needed",
                   path, t->name, t->type_name);
    long long n = tensor_not_finite(t);
    if (n)
        report_add(r, false,
                   "%s: tensor '%.80s': %lld of %lld values are NaN "
                   "or infinite",
                   path, t->name, n, (long long)t->elements);
}

static void report_missing(const PackItem *item, const Safetensors *file,
                           const Use *use, Report *r)
{
    const char *path = safetensors_path(file), *name = item->from.name;
    char want[64];
    int64_t dim[2];
    int rank = file_shape(item, dim);
    shape_text(want, sizeof want, rank, dim);
    const char *hint = r->errors < Hints ? nearest_unused(file, use, name)
                                         : NULL;
    if (hint)
        report_add(r, true,
                   "%s: tensor '%.80s' %s is missing; the nearest "
                   "name there is '%.80s'",
                   path, name, want, hint);
    else
        report_add(r, true, "%s: tensor '%.80s' %s is missing", path, name,
                   want);
}

static bool from_file(const PackItem *item)
{
    return !item->table && !item->alias && item->from.name;
}

static int by_tensor(const void *a, const void *b)
{
    const PackItem *x = *(const PackItem *const *)a;
    const PackItem *y = *(const PackItem *const *)b;
    int order = strcmp(x->from.name, y->from.name);
    return order ? order : (x > y) - (x < y);
}

/* By item: does one before it need the same tensor of the file? NULL: out of
 * memory.                                                                   */
static bool *find_told(const PackList *p)
{
    size_t n = 0, count = (size_t)p->count + 1;
    const PackItem **item = calloc(count, sizeof *item);
    bool *told = calloc(count, sizeof *told);
    for (int64_t i = 0; item && i < p->count; i++)
        if (from_file(&p->item[i]))
            item[n++] = &p->item[i];
    if (n)
        qsort(item, n, sizeof *item, by_tensor);
    for (size_t i = 1; told && i < n; i++)
        told[item[i] - p->item] = !strcmp(item[i]->from.name,
                                          item[i - 1]->from.name);
    if (!item) {
        free(told);
        told = NULL;
    }
    free(item);
    return told;
}

static void check_items(const PackList *p, const Safetensors *file, Use *use,
                        const bool *told, Report *r)
{
    const char *path = safetensors_path(file);
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *item = &p->item[i];
        if (!from_file(item))
            continue;
        const Tensor *t = safetensors_find(file, item->from.name);
        if (t) {
            Use *u = &use[t - safetensors_at(file, 0)];
            check_shape(path, item, t, u, r);
            check_values(path, t, u, r);
        } else if (!told[i]) {
            report_missing(item, file, use, r);
        }
    }
}

static void check_unused(const Safetensors *file, const Use *use, Report *r)
{
    char have[256];
    for (int i = 0; i < safetensors_count(file); i++) {
        const Tensor *t = safetensors_at(file, i);
        shape_text(have, sizeof have, t->rank, t->dim);
        if (!use[i].elements)
            report_add(r, false, "%s: tensor '%.80s' %s is not used",
                       safetensors_path(file), t->name, have);
        else if (use[i].elements < t->elements && !use[i].misfit)
            report_add(r, false,
                       "%s: tensor '%.80s' %s: only %lld of its "
                       "%lld elements are used",
                       safetensors_path(file), t->name, have,
                       (long long)use[i].elements, (long long)t->elements);
    }
}

bool weights_check(const PackList *p, const Safetensors *file, Report *r)
{
    if (!file)
        return true; /* seeded weights fit by construction */
    int errors = r->errors;
    Use *use = calloc((size_t)safetensors_count(file) + 1, sizeof *use);
    bool *told = find_told(p);
    if (!use || !told) {
        free(use);
        free(told);
        r->cut = true;
        return false;
    }
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *item = &p->item[i];
        const Tensor *t = from_file(item)
                            ? safetensors_find(file, item->from.name)
                            : NULL;
        if (t)
            use[t - safetensors_at(file, 0)].elements += item->rows * item->k;
    }
    check_items(p, file, use, told, r);
    check_unused(file, use, r);
    free(use);
    free(told);
    return r->errors == errors && !r->cut;
}
