/* packing.c: packs tensors into the layouts that the kernels read (rt.h), at
 * about the speed of memory: in blocks that fit in L1, on all threads.
 *
 * A piece of work is several rows of one tensor, in complete panels. Rows that
 * are stored unchanged are copied. A matrix is moved into panels tile by tile
 * or, if it is transposed in the file, in runs of ATTN_PANEL numbers. */
#include <stdlib.h>
#include <string.h>

#include "integer_rows.h"

enum {
    Columns = 256,       /* columns of a block with ATTN_PANEL rows: 16 KiB */
    Wide = 256,          /* rows of a transposed matrix read at once */
    PieceSize = 1 << 17, /* approximate number of elements in a piece */
    Parts = 64,          /* parts per thread; several parts balance the load */
    Second = 32 * ATTN_PANEL /* numbers of bf16x2 before the second ones */
};

static int64_t round_up(int64_t n)
{
    return (n + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

/* ---- a block ---- */
typedef struct { /* a tensor, and the block into which it is packed */
    Elements from;
    void *block; /* destination: floats, bf16, or panels of integers */
} Way;

static void scale(const Way *w, float *x, int64_t n)
{
    if (w->from.item->scaled)
        w->from.loops->scale(x, n, w->from.item->scale);
    if (w->from.item->flushed)
        flush_small(x, n);
}

/* Replaces numbers by what their nearest bf16 lack. */
static void take_rest(const Way *w, float *x, int64_t n)
{
    w->from.loops->bf16_rest(x, n, x);
    if (w->from.item->flushed)
        flush_small(x, n);
}

/* Stores n consecutive numbers, starting at index `to` of the block; of bf16x2
 * only one. */
static void put_run(const Way *w, const float *x, int64_t n, int64_t to)
{
    const Dtype d = w->from.item->dtype;
    float rest = *x;
    if (d == DtypeBf16 || d == DtypeBf16x2)
        w->from.loops->bf16(x, n, (uint16_t *)w->block + to);
    else
        memcpy((float *)w->block + to, x, (size_t)n * sizeof *x);
    if (d == DtypeBf16x2) {
        take_rest(w, &rest, 1);
        w->from.loops->bf16(&rest, 1, (uint16_t *)w->block + to + Second);
    }
}

/* Returns how many consecutive k of a row are side by side in a panel. */
static int64_t beside(const PackItem *item)
{
    return item->dtype == DtypeBf16 || item->dtype == DtypeBf16x2 ? 2 : 1;
}

/* Returns the index, in a block of panels, of column k of row `row`. The groups
 * of bf16x2 have another number for each. */
static int64_t panel_index(const PackItem *item, int64_t row, int64_t k)
{
    const int64_t at = item->first + row, of = beside(item);
    const int64_t panel = at / ATTN_PANEL * dtype_stored(item->dtype, item->k);
    const int64_t more = item->dtype == DtypeBf16x2 ? panel + k / 32 * 32 : 0;
    return (panel + more + k / of * of) * ATTN_PANEL + at % ATTN_PANEL * of
         + k % of;
}

/* Stores n lines of a panel, from index `to` of the block on, in pairs. */
static void put_pairs(const Way *w, float *x, int64_t n, int64_t to)
{
    uint32_t *pairs = (uint32_t *)w->block + to / 2;
    if (w->from.item->dtype == DtypeBf16) {
        w->from.loops->bf16_pairs(x, n, pairs);
        return;
    }
    for (int64_t k = 0; k < n; k += 32, x += Second) {
        const int64_t some = attn_min(n - k, 32);
        w->from.loops->bf16_pairs(x, some, pairs + k * ATTN_PANEL);
        take_rest(w, x, some * ATTN_PANEL);
        w->from.loops->bf16_pairs(x, some, pairs + k * ATTN_PANEL + Second / 2);
    }
}

/* Stores n numbers of one row of a panel, from column k on. */
static void put_column(const Way *w, const float *x, int64_t n, int64_t row,
                       int64_t k)
{
    for (int64_t i = 0; i < n; i++)
        put_run(w, x + i, 1, panel_index(w->from.item, row, k + i));
}

/* Packs rows of one panel, at most ATTN_PANEL. */
static void pack_panel(Way *w, int64_t row, int64_t rows)
{
    const PackItem *item = w->from.item;
    float x[ATTN_PANEL * Columns], panel[ATTN_PANEL * Columns];
    for (int64_t k = 0; k < item->k; k += Columns) {
        const int64_t n = attn_min(item->k - k, Columns);
        const int64_t to = panel_index(item, row, k);
        elements_read(&w->from, row, rows, k, n, x, Columns);
        for (int64_t r = 0; r < rows; r++)
            scale(w, x + r * Columns, n);
        if (rows < ATTN_PANEL) {
            for (int64_t r = 0; r < rows; r++)
                put_column(w, x + r * Columns, n, row + r, k);
        } else if (beside(item) == 2) {
            w->from.loops->transpose(x, Columns, n, panel);
            put_pairs(w, panel, n, to);
        } else {
            w->from.loops->transpose(x, Columns, n, (float *)w->block + to);
        }
    }
}

/* Returns the number of rows from `row` to the end of its panel, or to
 * `end`.                                                                    */
static int64_t rows_of_panel(const PackItem *item, int64_t row, int64_t end)
{
    return attn_min(end - row, ATTN_PANEL - (item->first + row) % ATTN_PANEL);
}

static void pack_panels(Way *w, int64_t row, int64_t end)
{
    for (int64_t rows; row < end; row += rows) {
        rows = rows_of_panel(w->from.item, row, end);
        pack_panel(w, row, rows);
    }
}

/* Stores column k of n rows of one panel. */
static void put_line(const Way *w, const float *x, int64_t n, int64_t row,
                     int64_t k)
{
    const int64_t of = beside(w->from.item);
    const int64_t to = panel_index(w->from.item, row, k);
    if (of == 1)
        put_run(w, x, n, to);
    else
        for (int64_t r = 0; r < n; r++)
            put_run(w, x + r, 1, to + r * of);
}

/* Packs a matrix that is transposed in the file, column by column, in the
 * file's order. */
static void pack_transposed(Way *w, int64_t row, int64_t end)
{
    const PackItem *item = w->from.item;
    float x[Wide];
    for (int64_t n; row < end; row += n) {
        n = attn_min(end - row, Wide);
        for (int64_t k = 0; k < item->k; k++) {
            elements_column(&w->from, k, row, n, x);
            scale(w, x, n);
            for (int64_t r = 0, rows; r < n; r += rows) {
                rows = rows_of_panel(item, row + r, row + n);
                put_line(w, x + r, rows, row + r, k);
            }
        }
    }
}

/* Packs the layouts PackRows and PackVector. */
static void pack_rows(Way *w, int64_t row, int64_t end)
{
    const PackItem *item = w->from.item;
    const int64_t stride = item->layout == PackRows ? round_up(item->k) : 1;
    float x[ATTN_PANEL * Columns];
    for (int64_t rows; row < end; row += rows) {
        rows = attn_min(end - row, ATTN_PANEL);
        for (int64_t k = 0; k < item->k; k += Columns) {
            const int64_t n = attn_min(item->k - k, Columns);
            elements_read(&w->from, row, rows, k, n, x, Columns);
            for (int64_t r = 0; r < rows; r++) {
                scale(w, x + r * Columns, n);
                put_run(w, x + r * Columns, n,
                        (item->first + row + r) * stride + k);
            }
        }
    }
}

/* Expands biases per bucket to biases per distance, one row per head. */
static void pack_distances(Way *w)
{
    const PackItem *item = w->from.item;
    float *block = w->block;
    const int64_t most = item->length - 1, stride = round_up(2 * most + 1);
    for (int64_t d = -most; d <= most; d++) {
        int64_t bucket = relative_bucket(d, item->rows, item->max_distance,
                                         item->bidirectional);
        for (int64_t head = 0; head < item->k; head++)
            elements_read(&w->from, bucket, 1, head, 1,
                          block + head * stride + d + most, 1);
    }
}

/* ---- integers ---- */

/* Copies only the lanes of an item, because another thread may write the other
 * lanes. */
static void put_lanes(unsigned char *to, const void *from,
                      const LaneRange *lanes, int64_t bytes, int64_t each)
{
    const unsigned char *at = from;
    const int64_t first = lanes->first_lane * each;
    const size_t n = (size_t)((lanes->end - lanes->first_lane) * each);
    for (int64_t i = first; i < bytes; i += ATTN_PANEL * each)
        memcpy(to + i, at + i, n);
}

static unsigned char *panel_of(const Way *w, const LaneRange *lanes)
{
    const PackItem *item = w->from.item;
    const int64_t column = item->first + lanes->column - lanes->first_lane;
    return (unsigned char *)w->block
         + column * dtype_column_bytes(item->dtype, item->k);
}

/* Stores the lines of a group. In a stored group, all lines with four bytes per
 * column come first, then those with one byte per column: steps and offsets of
 * int4. */
static void put_lines(void *way, const LaneRange *lanes, int64_t k,
                      const unsigned char *from)
{
    const Way *w = way;
    const Dtype dtype = w->from.item->dtype;
    const GroupBytes bytes = group_bytes(dtype);
    const int64_t all = dtype_stored(dtype, 1), in = k % all / ATTN_GROUP;
    unsigned char *to = panel_of(w, lanes)
                      + k / all * all / ATTN_GROUP * (bytes.fours + bytes.ones);
    put_lanes(to + in * bytes.fours, from, lanes, bytes.fours, 4);
    put_lanes(to + all / ATTN_GROUP * bytes.fours + in * bytes.ones,
              from + bytes.fours, lanes, bytes.ones, 1);
}

static void put_scales(void *way, const LaneRange *lanes, const float *scale,
                       const int32_t *total)
{
    const Way *w = way;
    const PackItem *item = w->from.item;
    float scales[ATTN_PANEL];
    int32_t sums[ATTN_PANEL];
    unsigned char *to = panel_of(w, lanes)
                      + ATTN_PANEL
                            * (dtype_column_bytes(item->dtype, item->k)
                               - dtype_column_bytes(item->dtype, 0));
    for (int i = 0; i < ATTN_PANEL; i++) {
        scales[i] = item->scaled ? scale[i] * item->scale : scale[i];
        sums[i] = -128 * total[i];
    }
    put_lanes(to, scales, lanes, sizeof scales, sizeof *scales);
    put_lanes(to + sizeof scales, sums, lanes, sizeof sums, sizeof *sums);
}

static void pack_integers(Way *w, int64_t row, int64_t end)
{
    const Taker taker = { w, put_lines, put_scales };
    integers_make(&w->from, row, end - row, &taker);
}

/* ---- pieces ---- */
typedef struct {
    const PackList *list;
    const WeightSource *from;
    void *packed;
    int64_t *first; /* [list->count + 1] pieces in all earlier items */
} Work;

/* Returns the number of rows in a piece. Pieces end at the edges of panels, so
 * the first and the last one may have fewer. */
static int64_t piece_rows(const PackItem *item)
{
    const int64_t least = item->from.transposed ? Wide : ATTN_PANEL;
    const int64_t rows = round_up(PieceSize / (item->k > 0 ? item->k : 1));
    return rows < least ? least : rows;
}

static int64_t pieces_of(const PackItem *item)
{
    const int64_t rows = piece_rows(item);
    if (item->layout == PackDistance)
        return 1;
    return (item->first % ATTN_PANEL + item->rows + rows - 1) / rows;
}

static void pack_piece(const Work *w, int64_t i, int64_t piece)
{
    const PackItem *item = &w->list->item[i];
    const int64_t rows = piece_rows(item), skip = item->first % ATTN_PANEL;
    const int64_t row = piece > 0 ? piece * rows - skip : 0;
    const int64_t end = attn_min((piece + 1) * rows - skip, item->rows);
    const WeightSource *s = w->from;
    Way way = { elements_of(item, s->file, s->seed),
                (char *)w->packed + item->at };
    if (item->layout == PackDistance)
        pack_distances(&way);
    else if (item->layout != PackPanels)
        pack_rows(&way, row, end);
    else if (dtype_is_integer(item->dtype))
        pack_integers(&way, row, end);
    else if (way.from.t && item->from.transposed)
        pack_transposed(&way, row, end);
    else
        pack_panels(&way, row, end);
    if (s->bad && way.from.bad)
        __atomic_store_n(&s->bad[way.from.t - safetensors_at(s->file, 0)], true,
                         __ATOMIC_RELAXED);
}

/* Returns the index of the item that contains this piece. */
static int64_t item_of(const Work *w, int64_t piece)
{
    int64_t low = 0, high = w->list->count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (w->first[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void pack_part(void *work, int64_t part, int64_t parts)
{
    const Work *w = work;
    const int64_t all = w->first[w->list->count];
    int64_t piece = all * part / parts, end = all * (part + 1) / parts;
    int64_t i = item_of(w, piece);
    for (; piece < end; piece++) {
        while (w->first[i + 1] <= piece)
            i++;
        pack_piece(w, i, piece - w->first[i]);
    }
}

static int64_t count_pieces(Work *w)
{
    const PackList *p = w->list;
    for (int64_t i = 0; i < p->count; i++)
        w->first[i + 1] = w->first[i] + pieces_of(&p->item[i]);
    return w->first[p->count];
}

static void pack_alone(const Work *w)
{
    for (int64_t i = 0; i < w->list->count; i++)
        for (int64_t k = 0; k < pieces_of(&w->list->item[i]); k++)
            pack_piece(w, i, k);
}

void weights_pack(const PackList *p, const WeightSource *from, void *packed)
{
    const struct attn_parallel *with = from->parallel;
    Work w = { p, from, packed, NULL };
    if (with)
        w.first = calloc((size_t)p->count + 1, sizeof *w.first);
    if (w.first)
        with->run(with->pool, attn_min(count_pieces(&w), Parts * with->parts),
                  pack_part, &w);
    else
        pack_alone(&w);
    free(w.first);
}
