/* weights.c: reads the elements of a model's tensors: from a file, from the
 * seed, or from the formula of a position table. A tensor in the file may hold
 * several tensors of the model, or be transposed (FileTensor). */
#include "seed.h"
#include "weights.h"

/* ---- the file ---- */

/* Maps index i of an axis to the index *at in the file. Returns the number of
 * indices, of the n that begin at i, that are consecutive there. `shared` is
 * true if several of our tensors alternate along the axis. */
static int64_t run_of(const FileTensor *f, bool shared, int64_t i, int64_t n,
                      int64_t *at)
{
    *at = i;
    if (!shared)
        return n;
    *at = i / f->take * f->stride + f->first + i % f->take;
    const int64_t run = f->take - i % f->take;
    return run < n ? run : n;
}

/* Like run_of(), for columns first .. first + n - 1 of `all`, with the taps of
 * a convolution reordered. */
static int64_t columns_of(const FileTensor *f, int64_t all, int64_t first,
                          int64_t n, int64_t *at)
{
    const int64_t i = f->taps > 1 ? first % (all / f->taps) * f->taps
                                        + first / (all / f->taps)
                                  : first;
    return run_of(f, f->groups && f->by_columns, i, f->taps > 1 ? 1 : n, at);
}

/* Reads n elements that are consecutive in the file. */
static void file_floats(Elements *e, int64_t at, int64_t n, float *out)
{
    const FileTensor *f = &e->item->from;
    if (f->slices)
        at += f->slice * (e->t->elements / f->slices);
    e->loops->floats(e->t->type, e->t->at, at, n, out);
    e->bad |= e->loops->not_finite(out, n) > 0;
    if (f->changed)
        e->loops->change(out, n, f->scale, f->add);
}

static void file_row(Elements *e, int64_t row, int64_t first, int64_t n,
                     float *out)
{
    const FileTensor *f = &e->item->from;
    const bool columns = f->groups && f->by_columns;
    const int64_t width = columns ? f->total : e->item->k;
    int64_t r, c;
    run_of(f, f->groups && !f->by_columns, row, 1, &r);
    for (int64_t run; n > 0; n -= run, first += run, out += run) {
        run = columns_of(f, e->item->k, first, n, &c);
        file_floats(e, r * width + c, run, out);
    }
}

static void file_column(Elements *e, int64_t column, int64_t row, int64_t n,
                        float *out)
{
    const FileTensor *f = &e->item->from;
    const bool rows = f->groups && !f->by_columns;
    const int64_t height = rows ? f->total : e->item->rows;
    int64_t r, c;
    columns_of(f, e->item->k, column, 1, &c);
    for (int64_t run; n > 0; n -= run, row += run, out += run) {
        run = run_of(f, rows, row, n, &r);
        file_floats(e, c * height + r, run, out);
    }
}

/* Reads rows of a tensor that is transposed in the file, ATTN_PANEL rows at a
 * time, so that each cache line of the file is read once. */
static void file_transposed(Elements *e, int64_t row, int64_t rows,
                            int64_t first, int64_t n, float *out,
                            int64_t stride)
{
    float part[ATTN_PANEL];
    for (int64_t r = 0; r < rows; r += ATTN_PANEL) {
        const int64_t some = rows - r < ATTN_PANEL ? rows - r : ATTN_PANEL;
        for (int64_t c = 0; c < n; c++) {
            file_column(e, first + c, row + r, some, part);
            for (int64_t i = 0; i < some; i++)
                out[(r + i) * stride + c] = part[i];
        }
    }
}

/* ---- elements ---- */

Elements elements_of(const PackItem *item, const Safetensors *file,
                     uint64_t seed)
{
    Elements e = { .item = item, .seed = seed, .loops = loops() };
    if (file && !item->table && item->from.name)
        e.t = safetensors_find(file, item->from.name);
    return e;
}

static void read_row(Elements *e, int64_t row, int64_t first, int64_t n,
                     float *out)
{
    const PackItem *item = e->item;
    if (!item->from.name)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)item->from.fill;
    else if (e->t)
        file_row(e, row, first, n, out);
    else
        seeded_floats(item, e->seed, row * item->k + first, n, out);
}

void elements_read(Elements *e, int64_t row, int64_t rows, int64_t first,
                   int64_t n, float *out, int64_t stride)
{
    if (e->item->table)
        table_floats(e->item, row, rows, first, n, out, stride);
    else if (e->t && e->item->from.transposed)
        file_transposed(e, row, rows, first, n, out, stride);
    else
        for (int64_t r = 0; r < rows; r++)
            read_row(e, row + r, first, n, out + r * stride);
}

void elements_column(Elements *e, int64_t column, int64_t row, int64_t n,
                     float *out)
{
    if (e->t && e->item->from.transposed)
        file_column(e, column, row, n, out);
    else
        elements_read(e, row, n, column, 1, out, 1);
}
