/* graph_places.c: assigns a row (rank) and a place in it to each box, and a
 * lane to each line that passes other rows. A lane lies outside the contents of
 * all rows that it passes. The lane of a residual also lies outside the
 * sublayer's band, so that the bypass is visible. */
#include <math.h>
#include <stdlib.h>

#include "draw/graph_picture.h"

/* pixels */
static const double text_room = 9, /* from the edge of a box to its text */
    apart_room = 12,               /* between boxes in a row */
    line_step = 13,                /* between lines of text */
    one_line = 20,                 /* height of a box with one line */
    mark = 9,       /* width of the mark of a weight, with its margin */
    lane_gap = 12,  /* between a lane and the contents that it passes */
    band_room = 10, /* from the edge of a band to its contents */
    frame_room = 12, name_room = 16, /* from a name to the axis; from a name to
                                        the edge */
    label_room = 9,                  /* from the shape of a value to its line */
    least_width = 84;                /* minimum width of a box */

static const Node *picture_node(const Picture *p, int node)
{
    return &p->g->nodes.at[node];
}

/* ---- sizes ---- */
static double line_width(const BoxLine *l)
{
    const double bold = svg_width(l->bold, box_text, true);
    const double soft = svg_width(l->soft, soft_text, false);
    return bold + soft + (*l->bold && *l->soft ? 6 : 0);
}

static void measure_boxes(Picture *p)
{
    for (int i = 0; i < p->box.n; i++) {
        Box *b = &p->box.at[i];
        b->w = least_width;
        for (int k = 0; k < b->lines; k++)
            b->w = fmax(b->w, line_width(&b->line[k]) + 2 * text_room
                                  + b->weights * mark * (k == 0));
        b->h = one_line + (b->lines - 1) * line_step;
    }
    /* a box must be wide enough for the shape at each outgoing line */
    double *out = arena_alloc(p->arena, (size_t)p->box.n * sizeof *out);
    int *ways = arena_alloc(p->arena, (size_t)p->box.n * sizeof *ways);
    for (int i = 0; i < p->net.n; i++) {
        Net *n = &p->net.at[i];
        n->label.w = svg_width(n->shape, soft_text, false);
        n->label.h = soft_text;
        out[n->source] += n->label.w + label_room;
        ways[n->source]++;
    }
    for (int i = 0; i < p->box.n; i++)
        p->box.at[i].w = fmax(p->box.at[i].w, ways[i] == 1
                                                  ? 2 * out[i]
                                                  : out[i] + 2 * label_room);
}

/* ---- ranks ---- */
/* Ranks the boxes of a segment: each box is above all boxes of the segment that
 * it reads. In p->box, inputs precede their readers. */
static void rank_upwards(Picture *p, int segment, int base)
{
    for (int i = 0; i < p->box.n; i++)
        if (p->box.at[i].segment == segment)
            p->box.at[i].rank = base;
    for (int b = 0; b < p->box.n; b++)
        for (int i = 0; i < p->net.n; i++)
            for (int k = 0; k < p->net.at[i].sink.n; k++) {
                const Box *from = &p->box.at[p->net.at[i].source];
                Box *to = &p->box.at[p->net.at[i].sink.at[k].box];
                if (to == &p->box.at[b] && to->segment == segment
                    && from->segment == segment && to->rank <= from->rank)
                    to->rank = from->rank + 1;
            }
}

static int last_rank(const Picture *p, int segment)
{
    int last = 0;
    for (int i = 0; i < p->box.n; i++)
        if (p->box.at[i].segment == segment && p->box.at[i].rank > last)
            last = p->box.at[i].rank;
    return last;
}

static bool reads_any(const Picture *p, int box)
{
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++)
            if (p->net.at[i].sink.at[k].box == box)
                return true;
    return false;
}

/* Moves a box to the row just below its first reader. */
static void raise_box(Picture *p, int box)
{
    int most = -1;
    Box *b = &p->box.at[box];
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; p->net.at[i].source == box && k < p->net.at[i].sink.n;
             k++) {
            const Box *to = &p->box.at[p->net.at[i].sink.at[k].box];
            if (to->segment != b->segment)
                return;
            if (most < 0 || to->rank - 1 < most)
                most = to->rank - 1;
        }
    if (most > b->rank)
        b->rank = most;
}

/* Ranks all boxes. In layers, a box is as low as its inputs allow. Outside of
 * layers, or without inputs, it is as close to its reader as possible. */
static void rank_boxes(Picture *p)
{
    int base[MostColumns] = { 0 };
    for (int s = 0; s < p->segment.n; s++) {
        Segment *segment = &p->segment.at[s];
        int *next = &base[segment->column];
        rank_upwards(p, s, *next);
        segment->rank[0] = *next;
        segment->rank[1] = last_rank(p, s);
        *next = segment->rank[1] + 1;
        for (int i = p->box.n - 1; i >= 0; i--)
            if (p->box.at[i].segment == s
                && (segment->run < 0 || !reads_any(p, i)))
                raise_box(p, i);
    }
    for (int c = 0; c < p->columns; c++)
        p->column[c].ranks = base[c];
    for (int i = 0; i < p->run.n; i++)
        p->run.at[i].rank[0] = -1;
    for (int s = 0; s < p->segment.n; s++) {
        const Segment *segment = &p->segment.at[s];
        if (segment->run < 0)
            continue;
        Run *run = &p->run.at[segment->run];
        if (run->rank[0] < 0)
            run->rank[0] = segment->rank[0];
        run->rank[1] = segment->rank[1];
    }
}

/* Makes boxes of the same op in the same row equally wide. */
static void even_widths(Picture *p)
{
    for (int i = 0; i < p->box.n; i++)
        for (int k = 0; k < p->box.n; k++) {
            Box *a = &p->box.at[i];
            const Box *b = &p->box.at[k];
            if (a->column == b->column && a->rank == b->rank
                && picture_node(p, a->node)->op == picture_node(p, b->node)->op
                && picture_node(p, a->node)->stack
                       == picture_node(p, b->node)->stack)
                a->w = fmax(a->w, b->w);
        }
}

/* ---- in their row ---- */
typedef struct { /* adjacent spots that moved together */
    double sum, weight;
    int n;
} Block;

void spread(Arena *a, Spot *at, int n)
{
    Block *block = arena_alloc(a, (size_t)(n + 1) * sizeof *block);
    double before = 0;
    int blocks = 0;
    for (int k = 0; k < n; k++) {
        const double x = at[k].x - before, w = at[k].weight;
        block[blocks++] = (Block){ x * w, w, 1 };
        for (Block *b; blocks > 1; blocks--) {
            b = &block[blocks - 2];
            if (b[0].sum / b[0].weight < b[1].sum / b[1].weight)
                break;
            b[0] = (Block){ b[0].sum + b[1].sum, b[0].weight + b[1].weight,
                            b[0].n + b[1].n };
        }
        before += at[k].apart;
    }
    before = 0;
    for (int k = 0, i = 0; k < blocks; k++)
        for (int j = 0; j < block[k].n; j++, i++) {
            at[i].x = block[k].sum / block[k].weight + before;
            before += at[i].apart;
        }
}

static int boxes_in(const Picture *p, int column, int rank, int *list)
{
    int n = 0;
    for (int i = 0; i < p->box.n; i++)
        if (p->box.at[i].column == column && p->box.at[i].rank == rank)
            list[n++] = i;
    return n;
}

/* Sets *x to the mean place of a box's inputs in its column and, if `readers`
 * is set, of its readers. Returns false if there are none. */
static bool mean_place(const Picture *p, int box, bool readers, double *x)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            const Net *net = &p->net.at[i];
            const Sink *s = &net->sink.at[k];
            const bool reader = readers && net->source == box;
            if (!in_column(p, net, s) || (s->box != box && !reader))
                continue;
            sum += p->box.at[s->box == box ? net->source : s->box].x;
            n++;
        }
    *x = n ? sum / n : 0;
    return n > 0;
}

static double wanted(const Picture *p, int box)
{
    double x;
    return mean_place(p, box, true, &x) ? x : p->box.at[box].x;
}

/* Sorts the boxes of a row by the places of their inputs. A box without inputs
 * goes to the left end if a box with inputs follows it, otherwise to the right
 * end. */
static void order_row(const Picture *p, int *list, int n)
{
    double *key = arena_alloc(p->arena, (size_t)n * sizeof *key);
    double side = 1e6;
    for (int i = n - 1; i >= 0; i--)
        if (mean_place(p, list[i], false, &key[i]))
            side = -1e6;
        else
            key[i] = side;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && key[k] < key[k - 1] - 0.5; k--) {
            const double x = key[k];
            const int box = list[k];
            key[k] = key[k - 1];
            key[k - 1] = x;
            list[k] = list[k - 1];
            list[k - 1] = box;
        }
}

static void place_row(Picture *p, int *list, int n, bool first)
{
    order_row(p, list, n);
    Spot *row = arena_alloc(p->arena, (size_t)n * sizeof *row);
    for (int i = 0; i < n; i++) {
        row[i] = (Spot){ first || n < 2 ? 0 : wanted(p, list[i]), 1, 0 };
        if (i + 1 < n)
            row[i].apart = apart_room + p->box.at[list[i]].w / 2
                         + p->box.at[list[i + 1]].w / 2;
    }
    spread(p->arena, row, n);
    const double left = row[0].x - p->box.at[list[0]].w / 2;
    const double right = row[n - 1].x + p->box.at[list[n - 1]].w / 2;
    for (int i = 0; i < n; i++)
        p->box.at[list[i]].x = row[i].x - (left + right) / 2;
}

static void place_boxes(Picture *p)
{
    enum { Rounds = 8 };
    int *list = arena_alloc(p->arena, (size_t)p->box.n * sizeof *list);
    for (int round = 0; round < Rounds; round++)
        for (int c = 0; c < p->columns; c++)
            for (int r = 0; r < p->column[c].ranks; r++) {
                const int n = boxes_in(p, c, r, list);
                if (n)
                    place_row(p, list, n, round == 0);
            }
}

/* ---- lanes ---- */
static void widen(Column *c, int rank, double left, double right)
{
    c->left[rank] = fmin(c->left[rank], left);
    c->right[rank] = fmax(c->right[rank], right);
}

static void find_widths(Picture *p)
{
    for (int c = 0; c < p->columns; c++) {
        const size_t bytes = (size_t)p->column[c].ranks * sizeof(double);
        p->column[c].left = arena_alloc(p->arena, bytes);
        p->column[c].right = arena_alloc(p->arena, bytes);
    }
    for (int i = 0; i < p->box.n; i++) {
        const Box *b = &p->box.at[i];
        widen(&p->column[b->column], b->rank, b->x - b->w / 2, b->x + b->w / 2);
    }
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            Net *n = &p->net.at[i];
            const Sink *s = &n->sink.at[k];
            if (in_column(p, n, s) && p->box.at[s->box].rank > n->last)
                n->last = p->box.at[s->box].rank;
        }
}

static bool has_lane(const Picture *p, const Net *n)
{
    return n->last > p->box.at[n->source].rank + 1;
}

static bool stays_in_segment(const Picture *p, const Net *n)
{
    for (int k = 0; k < n->sink.n; k++)
        if (p->box.at[n->sink.at[k].box].segment
            != p->box.at[n->source].segment)
            return false;
    return true;
}

/* Returns the side of a lane: -1 for left, 1 for right. If a reader is in
 * another sublayer, it is the side nearer to the edge of the page; otherwise
 * the side of the box, or of the first input of the reader. */
static int side_of(const Picture *p, const Net *n)
{
    const Box *from = &p->box.at[n->source];
    if (!stays_in_segment(p, n))
        return from->column == 0 ? -1 : 1;
    if (from->x < -1 || from->x > 1)
        return from->x < 0 ? -1 : 1;
    for (int k = 0; k < n->sink.n; k++) {
        const Box *to = &p->box.at[n->sink.at[k].box];
        const int first = picture_node(p, to->node)->in[0];
        if (to->rank > from->rank + 1)
            return first >= 0 && p->like[first] == n->value ? -1 : 1;
    }
    return 1;
}

static void place_lane(Picture *p, Net *n)
{
    const Box *from = &p->box.at[n->source];
    Column *c = &p->column[from->column];
    const int side = side_of(p, n);
    double x = 0;
    for (int r = from->rank + 1; r < n->last; r++)
        x = side < 0 ? fmin(x, c->left[r]) : fmax(x, c->right[r]);
    n->lane = x + side * lane_gap;
    for (int r = from->rank + 1; r < n->last; r++)
        widen(c, r, n->lane, n->lane);
}

/* Places the lanes; short lanes lie inside long ones. */
static void place_lanes(Picture *p, bool inside)
{
    int longest = 0;
    for (int c = 0; c < p->columns; c++)
        longest = p->column[c].ranks > longest ? p->column[c].ranks : longest;
    for (int length = 2; length <= longest; length++)
        for (int i = 0; i < p->net.n; i++) {
            Net *n = &p->net.at[i];
            if (has_lane(p, n) && stays_in_segment(p, n) == inside
                && n->last - p->box.at[n->source].rank == length)
                place_lane(p, n);
        }
}

/* ---- bands and frames ---- */

/* Sets the width of a band or a frame such that its name fits at the left. */
static void set_width(Column *c, const int rank[2], double room, double name,
                      double *left, double *right)
{
    *left = -name - name_room;
    *right = 0;
    for (int r = rank[0]; r <= rank[1]; r++) {
        *left = fmin(*left, c->left[r] - room);
        *right = fmax(*right, c->right[r] + room);
    }
    for (int r = rank[0]; r <= rank[1]; r++)
        widen(c, r, *left, *right);
}

static void place_bands(Picture *p)
{
    for (int i = 0; i < p->segment.n; i++) {
        Segment *s = &p->segment.at[i];
        if (!s->banded)
            continue;
        s->label.w = svg_width(segment_name(s), soft_text, false);
        set_width(&p->column[s->column], s->rank, band_room, s->label.w,
                  &s->left, &s->right);
    }
}

static void place_frames(Picture *p)
{
    for (int i = 0; i < p->run.n; i++) {
        Run *run = &p->run.at[i];
        run_words(p, run);
        run->label.w = svg_width(run->times, box_text + 2, true) + 6
                     + svg_width(run->name, soft_text, false);
        set_width(&p->column[run->column], run->rank, frame_room, run->label.w,
                  &run->left, &run->right);
    }
    for (int c = 0; c < p->columns; c++)
        for (int r = 0; r < p->column[c].ranks; r++) {
            Column *column = &p->column[c];
            column->extent[0] = fmin(column->extent[0], column->left[r]);
            column->extent[1] = fmax(column->extent[1], column->right[r]);
        }
}

void picture_places(Picture *p)
{
    measure_boxes(p);
    rank_boxes(p);
    even_widths(p);
    place_boxes(p);
    find_widths(p);
    place_lanes(p, true);
    place_bands(p);
    place_lanes(p, false);
    place_frames(p);
}
