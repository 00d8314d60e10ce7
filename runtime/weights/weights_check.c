/* weights_check.c: lists the tensors that are missing in a weights file, have a
 * wrong shape or type, or are unused. Layers with one fault share a line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rt.h"

/* ---- report ---- */
static void append_name(Report *r, const char *text)
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

void report_free(Report *r)
{
    free(r->text);
    *r = (Report){ 0 };
}

static void report_line(Report *r, const char *level, const char *text)
{
    append_name(r, level);
    append_name(r, text);
    append_name(r, "\n");
}

/* ---- findings ---- */
enum { LongName = 200, Hints = 20, ShownLines = 20, LookBack = 256 };

typedef enum { FoundError, FoundWarning, FoundNote, FoundLevels } Level;

typedef struct { /* a finding about one tensor, or about the corresponding
                  * tensors of several layers */
    Level level;
    /* texts in which {i} replaces the layer's number */
    char name[LongName], rest[LongName], hint[LongName];
    long first, last, layers; /* layers 0: not in a layer */
} Finding;

typedef struct {
    Finding *at;
    size_t n, cap;
    bool cut;
} Findings;

/* Returns the index of the first segment of a name that is a number, and sets
 * *n to its number of digits; -1: there is none. */
static int layer_at(const char *name, int *n)
{
    for (int i = 0; name[i]; i += name[i] == '.') {
        const int segment = (int)strcspn(name + i, ".");
        const int digits = (int)strspn(name + i, "0123456789");
        if (segment > 0 && segment == digits && digits < 9) {
            *n = digits;
            return i;
        }
        i += segment;
    }
    return -1;
}

/* Copies the name, with {i} for the layer's number. Returns false if the name
 * has no number. */
static bool without_layer(char out[LongName], const char *name, long layer)
{
    int n = 0, at = layer_at(name, &n);
    const bool has = at >= 0 && strtol(name + at, NULL, 10) == layer;

    if (has)
        snprintf(out, LongName, "%.*s{i}%s", at, name, name + at + n);
    else
        snprintf(out, LongName, "%s", name);
    return has;
}

static Finding *same_finding(const Findings *f, const Finding *x)
{
    const size_t stop = f->n > LookBack ? f->n - LookBack : 0;

    for (size_t i = f->n; x->layers && i > stop; i--) {
        Finding *y = &f->at[i - 1];
        if (y->level == x->level && y->layers && !strcmp(y->name, x->name)
            && !strcmp(y->rest, x->rest) && !strcmp(y->hint, x->hint))
            return y;
    }
    return NULL;
}

static void add_finding(Findings *f, const Finding *x)
{
    Finding *same = same_finding(f, x);

    if (same) {
        same->last = x->last;
        same->layers++;
        return;
    }
    if (f->n == f->cap) {
        const size_t cap = 2 * f->cap + 16;
        Finding *more = realloc(f->at, cap * sizeof *more);
        if (!more) {
            f->cut = true;
            return;
        }
        f->at = more;
        f->cap = cap;
    }
    f->at[f->n++] = *x;
}

/* Adds a finding about the tensor `name`. The formatted text follows the name
 * in the message; `hint` is the name of a similar tensor, or NULL. */
static void found(Findings *f, Level level, const char *name, const char *hint,
                  const char *fmt, ...)
{
    Finding x = { .level = level };
    int digits = 0;
    const int at = layer_at(name, &digits);
    const long layer = at < 0 ? -1 : strtol(name + at, NULL, 10);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(x.rest, sizeof x.rest, fmt, ap);
    va_end(ap);
    x.layers = without_layer(x.name, name, layer);
    x.first = x.last = layer;
    if (hint)
        without_layer(x.hint, hint, layer);
    add_finding(f, &x);
}

/* Copies a name, with the layer's number if the finding is about one layer. */
static void name_of(const Finding *x, const char *with_i, char out[LongName])
{
    const char *hole = strstr(with_i, "{i}");

    if (x->layers == 1 && hole)
        snprintf(out, LongName, "%.*s%ld%s", (int)(hole - with_i), with_i,
                 x->first, hole + 3);
    else
        snprintf(out, LongName, "%s", with_i);
}

static void print_finding(Report *r, const char *path, const Finding *x)
{
    static const char *const levels[] = { "error: ", "warning: ", "note: " };
    char name[LongName], hint[LongName], layers[80] = "", text[512];
    Fault safe;

    name_of(x, x->name, name);
    name_of(x, x->hint, hint);
    if (x->layers > 1)
        snprintf(layers, sizeof layers,
                 x->last - x->first + 1 == x->layers
                     ? " (i: %ld to %ld)"
                     : " (i: %ld to %ld, %ld of them)",
                 x->first, x->last, x->layers);
    snprintf(text, sizeof text, "%.120s: tensor '%.80s'%s%.150s", path, name,
             layers, x->rest);
    if (*hint)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "; the nearest name there is '%.80s'", hint);
    fault(&safe, 0, "%s", text);
    report_line(r, levels[x->level], safe.text);
}

/* Prints the first findings of each level, then the number of the others. */
static void print_findings(Report *r, const char *path, const Findings *f)
{
    static const char *const words[] = { "errors", "warnings", "notes" };
    int said[FoundLevels] = { 0 };
    long more[FoundLevels] = { 0 }; /* tensors in the findings not printed */

    for (size_t i = 0; i < f->n; i++) {
        const Finding *x = &f->at[i];
        if (said[x->level]++ < ShownLines)
            print_finding(r, path, x);
        else
            more[x->level] += x->layers ? x->layers : 1;
    }
    for (int level = 0; level < FoundLevels; level++) {
        char text[80];
        if (more[level] == 0)
            continue;
        snprintf(text, sizeof text, "and %ld more %s of this file", more[level],
                 words[level]);
        report_line(r, "note: ", text);
    }
}

/* ---- nearest names ---- */
static int least_of(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the Levenshtein distance of two names of at most LongName bytes. */
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
            row[j] = least_of(up + 1, row[j - 1] + 1,
                              corner + (a[i - 1] != b[j - 1]));
            corner = up;
        }
    }
    return row[n];
}

/* How the model uses a tensor of the file. */
typedef struct {
    int64_t elements; /* number of elements used */
    int64_t packed;   /* number of these elements that are packed unchanged */
    const char *integers; /* target format, if it is an integer format, which
                           * has no NaN; otherwise NULL */
    bool checked, misfit, longer; /* already reported, because several items
                                     may share the tensor */
} Use;

/* Returns the unused tensor with the most similar name, or NULL if none is
 * near. */
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

/* ---- checks ---- */
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

/* Sets the shape required of the file's tensor or slices; returns the rank. */
static int slice_shape(const PackItem *item, int64_t dim[2])
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

static int file_shape(const PackItem *item, int64_t dim[3])
{
    const bool slices = item->from.slices > 0;
    dim[0] = item->from.slices;
    return slices + slice_shape(item, dim + slices);
}

/* True for tables that may have more rows in the file; the first are used. */
static bool may_be_longer(const PackItem *item)
{
    static const char *const names[] = {
        "source.weight",           "target.weight", "source_positions.weight",
        "target_positions.weight", "logits.weight", "logits.bias",
    };
    const bool whole = !item->from.groups && !item->from.transposed;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (whole && item->name && !strcmp(item->name, names[i]))
            return true;
    return false;
}

/* Returns the number of rows of a tensor seen as a matrix of `columns` columns,
 * or as a vector. Ignores leading dimensions of 1, which some tools add, and
 * merges the last dimensions. Returns -1 if the tensor has no such shape. */
static int64_t rows_of(const Tensor *t, int rank, int64_t columns)
{
    int at = 0;
    int64_t rest = 1;

    while (t->rank - at > rank && t->dim[at] == 1)
        at++;
    if (t->rank - at < rank || (rank == 1 && t->rank - at > 1))
        return -1;
    for (int i = at + 1; i < t->rank; i++)
        rest *= t->dim[i];
    return rank == 1 || rest == columns ? t->dim[at] : -1;
}

/* Returns dim[0] if the tensor has exactly these dimensions, else -1. */
static int64_t rows_of_slices(const Tensor *t, int rank, const int64_t *dim)
{
    bool same = t->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = t->dim[i] == dim[i];
    return same ? dim[0] : -1;
}

typedef struct {
    const PackList *list;
    const Safetensors *file;
    Use *use; /* an element for each tensor of the file */
    Findings found;
    int errors;
    bool shapes; /* check only shapes: no values, no unused tensors */
    bool allow_nan;
    const bool *bad; /* member of Report; may be NULL */
} Check;

static void check_shape(Check *c, const PackItem *item, const Tensor *t,
                        Use *use)
{
    char want[64], have[256];
    int64_t dim[3];
    int rank = file_shape(item, dim);
    const int64_t rows = rank == 3 || item->from.slices
                           ? rows_of_slices(t, rank, dim)
                           : rows_of(t, rank, dim[1]);
    bool turned = t->rank == 2 && rank == 2 && t->dim[0] == dim[1]
               && t->dim[1] == dim[0];
    if (use->misfit || use->longer || rows == dim[0])
        return;
    if (rows > dim[0] && may_be_longer(item)) {
        use->longer = true;
        found(&c->found, FoundNote, t->name, NULL,
              ": has %lld rows, the first %lld are taken", (long long)rows,
              (long long)dim[0]);
        return;
    }
    use->misfit = true;
    c->errors++;
    found(&c->found, FoundError, t->name, NULL,
          ": has shape %s, %s is needed%s",
          shape_text(have, sizeof have, t->rank, t->dim),
          shape_text(want, sizeof want, rank, dim),
          turned ? "; see transpose in the spec's names" : "");
}

/* Formats the index of element i, e.g. as "[3, 17]", and the number of its
 * block in a quantised tensor. */
static void place_text(char *text, size_t size, const Tensor *t, int64_t i)
{
    const int block = tensor_block(t);
    int64_t index[8], rest = i;
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = rest % t->dim[d];
        rest /= t->dim[d];
    }
    const size_t n = strlen(shape_text(text, size, t->rank, index));
    if (block > 0)
        snprintf(text + n, size - n, " (block %lld of %s)",
                 (long long)(i / block), t->type_name);
}

static bool is_nan(float x)
{
    return isnan(x);
}

static bool not_finite(float x)
{
    return !isfinite(x);
}

/* Reports a tensor in which n > 0 values are not finite. */
static void report_not_finite(Check *c, const Tensor *t, const Use *use,
                              long long n)
{
    const long long all = t->elements;
    char place[256];
    const bool any = use->integers || c->allow_nan;
    Places p = tensor_places(t, any ? not_finite : is_nan);
    const bool allowed = !use->integers && (c->allow_nan || p.n == 0);
    if (p.n == 0)
        p = tensor_places(t, not_finite);
    place_text(place, sizeof place, t, p.first);
    c->errors += !allowed;
    if (allowed)
        found(&c->found, FoundWarning, t->name, NULL,
              ": %lld of %lld values are NaN or infinite, the first at %s", n,
              all, place);
    else if (use->integers)
        found(&c->found, FoundError, t->name, NULL,
              ": %lld of %lld values are NaN or infinite, the first at %s; %s "
              "has no such numbers",
              n, all, place, use->integers);
    else
        found(&c->found, FoundError, t->name, NULL,
              ": %lld of %lld values are NaN, the first at %s; --allow-nan "
              "permits them",
              (long long)p.n, all, place);
}

static void check_values(Check *c, const Tensor *t, Use *use)
{
    if (use->checked)
        return;
    use->checked = true;
    if (t->type == StI32 || t->type == StI64 || t->type == StOther) {
        c->errors++;
        found(&c->found, FoundError, t->name, NULL,
              ": has dtype %s; F32, F16, BF16 or F64 is needed", t->type_name);
    }
    const bool known = c->bad && use->packed == t->elements
                    && !c->bad[t - safetensors_at(c->file, 0)];
    const long long n = c->shapes || known ? 0 : tensor_not_finite(t);
    if (n)
        report_not_finite(c, t, use, n);
}

static void report_missing(Check *c, const PackItem *item)
{
    const char *name = item->from.name;
    char want[64];
    int64_t dim[3];
    int rank = file_shape(item, dim);
    shape_text(want, sizeof want, rank, dim);
    const char *hint = c->errors++ < Hints
                         ? nearest_unused(c->file, c->use, name)
                         : NULL;
    found(&c->found, FoundError, name, hint, " %s is missing", want);
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

/* Returns an array that marks the items whose tensor in the file an earlier
 * item also needs. The caller frees it. Returns NULL if memory runs out. */
static bool *find_reported(const PackList *p)
{
    size_t n = 0, count = (size_t)p->count + 1;
    const PackItem **item = calloc(count, sizeof *item);
    bool *is_reported = calloc(count, sizeof *is_reported);
    for (int64_t i = 0; item && i < p->count; i++)
        if (from_file(&p->item[i]))
            item[n++] = &p->item[i];
    if (n)
        qsort(item, n, sizeof *item, by_tensor);
    for (size_t i = 1; is_reported && i < n; i++)
        is_reported[item[i] - p->item] = !strcmp(item[i]->from.name,
                                                 item[i - 1]->from.name);
    if (!item) {
        free(is_reported);
        is_reported = NULL;
    }
    free(item);
    return is_reported;
}

static void check_items(Check *c, const bool *is_reported)
{
    for (int64_t i = 0; i < c->list->count; i++) {
        const PackItem *item = &c->list->item[i];
        if (!from_file(item))
            continue;
        const Tensor *t = safetensors_find(c->file, item->from.name);
        if (t) {
            Use *u = &c->use[t - safetensors_at(c->file, 0)];
            check_shape(c, item, t, u);
            check_values(c, t, u);
        } else if (!is_reported[i]) {
            report_missing(c, item);
        }
    }
}

static void check_unused(Check *c, const Report *r)
{
    char have[256];
    for (int i = 0; i < safetensors_count(c->file); i++) {
        const Tensor *t = safetensors_at(c->file, i);
        const Use *use = &c->use[i];
        shape_text(have, sizeof have, t->rank, t->dim);
        if (!use->elements && r->known && r->known(r->by, t->name))
            continue;
        if (!use->elements)
            found(&c->found, FoundWarning, t->name, NULL, " %s is not used",
                  have);
        else if (use->elements < t->elements && !use->misfit && !use->longer)
            found(&c->found, FoundWarning, t->name, NULL,
                  " %s: only %lld of its %lld elements are used", have,
                  (long long)use->elements, (long long)t->elements);
    }
}

static void count_uses(Check *c)
{
    for (int64_t i = 0; i < c->list->count; i++) {
        const PackItem *item = &c->list->item[i];
        const Tensor *t = !item->table && item->from.name
                            ? safetensors_find(c->file, item->from.name)
                            : NULL;
        if (!t)
            continue;
        Use *use = &c->use[t - safetensors_at(c->file, 0)];
        if (dtype_is_integer(item->dtype))
            use->integers = dtype_word[item->dtype];
        if (item->alias)
            continue;
        use->elements += item->rows * item->k;
        if (item->layout != PackDistance) /* such an item does not use all
                                             buckets */
            use->packed += item->rows * item->k;
    }
}

bool weights_check(const PackList *p, const Safetensors *file, Report *r)
{
    if (!file)
        return true; /* seeded weights always fit */
    Check c = { .list = p,
                .file = file,
                .shapes = r->shapes,
                .allow_nan = r->allow_nan,
                .bad = r->bad };
    c.use = calloc((size_t)safetensors_count(file) + 1, sizeof *c.use);
    bool *is_reported = find_reported(p);
    if (c.use && is_reported) {
        count_uses(&c);
        check_items(&c, is_reported);
        if (!r->shapes)
            check_unused(&c, r);
        print_findings(r, safetensors_path(file), &c.found);
    }
    for (size_t i = 0; i < c.found.n; i++)
        if (c.found.at[i].level == FoundWarning)
            r->warnings += c.found.at[i].layers ? (int)c.found.at[i].layers : 1;
    r->errors += c.errors;
    r->cut = r->cut || !c.use || !is_reported || c.found.cut;
    free(c.use);
    free(is_reported);
    free(c.found.at);
    return c.errors == 0 && !r->cut;
}
