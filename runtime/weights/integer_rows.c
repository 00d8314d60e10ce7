/* integer_rows.c: quantises rows of a matrix, which are columns of its packed
 * block.
 *
 * Columns are processed in parallel lanes, one or several panels at once, in
 * blocks that fit in L1. Up to three passes find the largest magnitude, compute
 * the squared error of several steps near it, and quantise with the best step.
 * The final scale is the one with the smallest error for the resulting
 * integers: sum (x - s w)^2 is minimal for s = sum x w / sum w^2 = step + sum
 * (x - step w) w / sum w^2.
 *
 * Sums over 64 numbers are in float, sums of these in double, in the order of
 * k, so the bytes do not depend on the machine or the number of threads. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "integer_rows.h"

enum {
    Wide = 64,      /* maximum lanes at once */
    Block = 4096,   /* numbers of a block: 16 KiB */
    Kept = 1 << 16, /* numbers kept for all passes: 256 KiB, which fit in L2 */
    MostSteps = 5
};

/* The candidate steps are the largest magnitude divided by each of these
 * numbers; 0 ends the list. */
static const float divisors[Dtypes][MostSteps + 1] = {
#define STEPS(...) { __VA_ARGS__ }
#define FORMAT(name, word, group, line, ending, shared, steps, ...) steps,
#include "format_rows.h"
};

typedef struct {
    Elements *e;
    int64_t row, rows;    /* first row of the item, in lane `first`, and
                             number of rows */
    int64_t first, width; /* first lane in use; number of lanes, a multiple
                             of ATTN_PANEL */
    int pass;
    bool keeps;          /* x has all of k, so the file is read only once */
    float x[Kept];       /* [k][width], for all k or one block */
    float largest[Wide]; /* the last four members: one element per lane, step
                            one per panel */
    float factor[Wide];  /* 2^-exponent, scales the largest value below 1 */
    int exponent[Wide];
    Step step[Wide / ATTN_PANEL];
} Columns;

static bool by_columns(const Elements *e)
{
    return e->t && e->item->from.transposed;
}

/* ---- reading ---- */

/* Reads numbers k .. k + n - 1 of all columns. Unused lanes become 0. */
static void read_block(Columns *c, int64_t k, int64_t n, float *x)
{
    float rows[Block];
    if (by_columns(c->e)) {
        memset(x, 0, (size_t)(n * c->width) * sizeof *x);
        for (int64_t i = 0; i < n; i++)
            elements_column(c->e, k + i, c->row, c->rows,
                            x + i * c->width + c->first);
        return;
    }
    const int64_t columns = Block / ATTN_PANEL;
    if (c->rows < ATTN_PANEL)
        memset(rows, 0, sizeof rows);
    elements_read(c->e, c->row, c->rows, k, n, rows + c->first * columns,
                  columns);
    c->e->loops->transpose(rows, columns, n, x);
}

/* Multiplies each column by its factor, which is exact because the factor is a
 * power of two. */
static void multiply(const Columns *c, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t lane = 0; lane < c->width; lane++)
            x[i * c->width + lane] *= c->factor[lane];
}

static void look_for_largest(Columns *c, int64_t n, const float *x)
{
    for (int64_t lane = 0; lane < c->width; lane += ATTN_PANEL)
        c->e->loops->largest(x + lane, c->width, n, c->largest + lane);
}

/* Returns the numbers of the block at k: unscaled in pass 0, scaled in later
 * passes. */
static const float *block_at(Columns *c, int64_t k, int64_t n)
{
    float *x = c->keeps ? c->x + k * c->width : c->x;
    if (c->pass == 0 || !c->keeps)
        read_block(c, k, n, x);
    if (c->pass == 0)
        look_for_largest(c, n, x);
    else if (c->pass == 1 || !c->keeps)
        multiply(c, n, x);
    return x;
}

/* Numbers k .. k + n - 1 of the panel that begins at lane `lane`. */
typedef struct {
    const float *x;
    int64_t lane, k, n;
} Group;

typedef void Use(Columns *c, const Group *g, void *with);

/* Calls `use` for each group of n numbers; if n is 0, once, for an empty
 * group. */
static void use_groups(Columns *c, int64_t k, int64_t n, const float *x,
                       Use *use, void *with)
{
    for (int64_t lane = 0; lane < c->width; lane += ATTN_PANEL)
        for (int64_t i = 0; i == 0 || i < n; i += ATTN_GROUP) {
            const Group g = { x + i * c->width + lane, lane, k + i,
                              attn_min(n - i, ATTN_GROUP) };
            use(c, &g, with);
        }
}

/* Calls `use` for all groups, in the order of k. */
static void pass(Columns *c, Use *use, void *with)
{
    const int64_t all = c->e->item->k;
    const int64_t block = Block / c->width / ATTN_GROUP * ATTN_GROUP;
    for (int64_t k = 0; k < all; k += block) {
        const int64_t n = attn_min(all - k, block);
        const float *x = block_at(c, k, n);
        if (use)
            use_groups(c, k, n, x, use, with);
    }
    c->pass++;
}

/* ---- steps ---- */

/* Finds the largest magnitude of each column; 0 for a column with an infinity
 * or NaN. */
static void find_largest(Columns *c)
{
    memset(c->largest, 0, sizeof c->largest);
    pass(c, NULL, NULL);
    for (int64_t lane = 0; lane < c->width; lane++) {
        if (c->largest[lane] > FLT_MAX)
            c->largest[lane] = 0;
        frexpf(c->largest[lane], &c->exponent[lane]);
        if (c->exponent[lane] < -127) /* floats have powers of 2 up to 2^127 */
            c->exponent[lane] = -127;
        c->factor[lane] = ldexpf(1, -c->exponent[lane]);
        c->largest[lane] *= c->factor[lane];
    }
}

static void set_step(const Columns *c, int64_t lane, float divisor, Step *steps)
{
    const float largest = c->largest[lane];
    Step *s = &steps[lane / ATTN_PANEL];
    s->step[lane % ATTN_PANEL] = largest / divisor;
    s->per_step[lane % ATTN_PANEL] = largest > 0 ? divisor / largest : 0;
}

typedef struct {
    double error, along, squares;
} Sums;

static void add_sums(Sums *to, const LaneSums *s)
{
    for (int i = 0; i < ATTN_PANEL; i++) {
        to[i].error += (double)s->error[i];
        to[i].along += (double)s->along[i];
        to[i].squares += (double)s->squares[i];
    }
}

typedef struct { /* the candidate steps and their sums */
    Step step[MostSteps][Wide / ATTN_PANEL];
    Sums sums[MostSteps][Wide];
} Choice;

static void try_steps(Columns *c, const Group *g, void *choice)
{
    Choice *all = choice;
    LaneSums sums;
    for (int i = 0; divisors[c->e->item->dtype][i] > 0; i++) {
        c->e->loops->int8_sums(g->x, c->width, g->n,
                               &all->step[i][g->lane / ATTN_PANEL], &sums);
        add_sums(&all->sums[i][g->lane], &sums);
    }
}

/* Returns the squared error that remains with the best scale. */
static double error_of(const Sums *s)
{
    return s->squares > 0 ? s->error - s->along * s->along / s->squares : 0;
}

static void choose_steps(Columns *c)
{
    const float *divisor = divisors[c->e->item->dtype];
    int count = 0;
    Choice all;
    memset(&all, 0, sizeof all);
    for (; divisor[count] > 0; count++)
        for (int64_t lane = 0; lane < c->width; lane++)
            set_step(c, lane, divisor[count], all.step[count]);
    if (count > 1)
        pass(c, try_steps, &all);
    for (int64_t lane = 0; lane < c->width; lane++) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (error_of(&all.sums[i][lane]) < error_of(&all.sums[best][lane]))
                best = i;
        set_step(c, lane, divisor[best], c->step);
    }
}

/* ---- integers ---- */
typedef struct {
    const Taker *taker;
    Sums sums[Wide];
    int32_t total[Wide];
} Maker;

static LaneRange lanes_of(const Columns *c, int64_t lane)
{
    const int64_t first = lane > 0 ? 0 : c->first;
    return (LaneRange){ c->row + lane + first - c->first, first,
                        attn_min(c->first + c->rows - lane, ATTN_PANEL) };
}

static void make_group(Columns *c, const Group *g, void *maker)
{
    _Alignas(64) unsigned char lines[ATTN_GROUP * ATTN_PANEL];
    const Loops *l = c->e->loops;
    const LaneRange lanes = lanes_of(c, g->lane);
    const Step *step = &c->step[g->lane / ATTN_PANEL];
    const int shared = (int)dtype_shared(c->e->item->dtype);
    Maker *m = maker;
    LaneSums sums;
    if (shared)
        l->int4(g->x, c->width, g->n, step, shared, lines, &sums);
    else
        l->int8(g->x, c->width, g->n, step, lines, &sums);
    add_sums(&m->sums[g->lane], &sums);
    for (int i = 0; i < ATTN_PANEL; i++)
        m->total[g->lane + i] += sums.total[i];
    m->taker->lines(m->taker->to, &lanes, g->k, lines);
}

/* Pads with zeros to the stored size. */
static void make_rest(Columns *c, Maker *m)
{
    const int64_t k = c->e->item->k;
    int64_t at = (k + ATTN_GROUP - 1) / ATTN_GROUP * ATTN_GROUP;
    for (; at < dtype_stored(c->e->item->dtype, k); at += ATTN_GROUP)
        use_groups(c, at, 0, c->x, make_group, m);
}

static void make_scales(const Columns *c, const Maker *m, int64_t lane)
{
    const LaneRange lanes = lanes_of(c, lane);
    float scale[ATTN_PANEL];
    for (int i = 0; i < ATTN_PANEL; i++) {
        const Sums *s = &m->sums[lane + i];
        double x = (double)c->step[lane / ATTN_PANEL].step[i];
        x = s->squares > 0 ? x + s->along / s->squares : 0;
        scale[i] = (float)ldexp(x, c->exponent[lane + i]);
    }
    m->taker->scales(m->taker->to, &lanes, scale, m->total + lane);
}

/* Quantises rows that fit in complete panels of at most Wide lanes. */
static void make_columns(Elements *e, int64_t row, int64_t rows,
                         const Taker *taker)
{
    Columns c;
    Maker m = { .taker = taker };
    c.e = e;
    c.row = row;
    c.rows = rows;
    c.first = (e->item->first + row) % ATTN_PANEL;
    c.width = (c.first + rows + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
    c.keeps = c.width * e->item->k <= Kept;
    c.pass = 0;
    find_largest(&c);
    choose_steps(&c);
    pass(&c, make_group, &m);
    make_rest(&c, &m);
    for (int64_t lane = 0; lane < c.width; lane += ATTN_PANEL)
        make_scales(&c, &m, lane);
}

void integers_make(Elements *e, int64_t row, int64_t rows, const Taker *taker)
{
    const int64_t end = row + rows;
    const int64_t wide = by_columns(e) ? Wide : ATTN_PANEL;
    for (int64_t n; row < end; row += n) {
        n = attn_min(end - row, wide - (e->item->first + row) % ATTN_PANEL);
        make_columns(e, row, n, taker);
    }
}

/* ---- reading ---- */
GroupBytes group_bytes(Dtype d)
{
    const int64_t shared = dtype_shared(d), numbers = ATTN_GROUP * ATTN_PANEL;
    return shared ? (GroupBytes){ numbers / 2, 2 * numbers / shared }
                  : (GroupBytes){ numbers, 0 };
}

/* Decodes nibbles with the step and the offset of their block. */
static void int4_integers(const unsigned char *lines, int64_t shared,
                          int64_t lane, int8_t out[ATTN_GROUP])
{
    for (int64_t k = 0; k < ATTN_GROUP; k++) {
        const int64_t at = k / 8 * 64 + lane * 4 + k % 4;
        const unsigned char *end = lines + ATTN_GROUP / 2 * ATTN_PANEL
                                 + k / shared * 2 * ATTN_PANEL + lane;
        const int q = lines[at] >> (k / 4 % 2 * 4) & 15;
        const int offset = end[ATTN_PANEL] < 128 ? end[ATTN_PANEL]
                                                 : end[ATTN_PANEL] - 256;
        out[k] = (int8_t)((q - 8) * end[0] + offset);
    }
}

void lane_integers(Dtype d, const unsigned char *lines, int64_t lane,
                   int8_t out[ATTN_GROUP])
{
    const int64_t shared = dtype_shared(d);
    if (shared) {
        int4_integers(lines, shared, lane, out);
        return;
    }
    for (int64_t k = 0; k < ATTN_GROUP; k++)
        memcpy(&out[k], lines + k / 4 * 64 + lane * 4 + k % 4, 1);
}
