/* graph_tracks.c: decides where lines leave and enter boxes, and on which
 * tracks lines run sideways in the gap below a row, such that no lines coincide
 * and all keep their distance. */
#include <math.h>
#include <stdlib.h>

#include "draw/graph_picture.h"

/* pixels */
static const double edge = 8, port_room = 18, shape_room = 9, same_line = 5,
                    track_room = 8;

static const double far_left = -1e6, far_right = 1e6;

/* ---- ports ---- */
typedef struct {
    double wish;   /* preferred x of the line */
    bool straight; /* at this x, the line needs no turn */
    double room;   /* width of the text to the right of the line */
    int net, sink; /* sink -1: the line leaves the box */
} Port;

static int by_wish(const void *a, const void *b)
{
    const Port *x = a, *y = b;
    if (x->wish < y->wish || x->wish > y->wish)
        return x->wish < y->wish ? -1 : 1;
    return x->net - y->net;
}

/* Separates the ports along one edge of a box without changing their order.
 * Lines that need no turn move the least. */
static void separate_tracks(Picture *p, const Box *b, Port *port, int n)
{
    const double left = b->x - b->w / 2 + edge, right = b->x + b->w / 2;
    Spot *at = arena_alloc(p->arena, (size_t)(n + 1) * sizeof *at);
    qsort(port, (size_t)n, sizeof *port, by_wish);
    for (int i = 0; i < n; i++)
        at[i] = (Spot){ fmin(fmax(port[i].wish, left), right - port[i].room),
                        port[i].straight ? 100 : 1,
                        fmax(port[i].room, port_room) };
    spread(p->arena, at, n);
    for (int i = 0; i < n; i++)
        at[i].x = fmax(at[i].x, i ? at[i - 1].x + at[i - 1].apart : left);
    for (int i = n - 1; i >= 0; i--)
        at[i].x = fmin(at[i].x, i + 1 < n ? at[i + 1].x - at[i].apart
                                          : right - port[i].room);
    for (int i = 0; i < n; i++) {
        Net *net = &p->net.at[port[i].net];
        if (port[i].sink < 0)
            net->x = at[i].x;
        else
            net->sink.at[port[i].sink].x = at[i].x;
    }
}

/* Returns the x nearest to `x` at which a line may enter a box and leaves room
 * for other lines at the edges. */
static double within(const Box *b, double x)
{
    const double room = fmin(34, b->w / 4);
    return fmin(fmax(x, b->x - b->w / 2 + room), b->x + b->w / 2 - room);
}

/* Returns the x at which a line leaves a box: below its reader if there is
 * exactly one in the next row, otherwise in the middle or at its lane. */
static double leaves_at(const Picture *p, const Net *n)
{
    const Box *from = &p->box.at[n->source], *reader = NULL;
    int near = 0, here = 0;
    for (int k = 0; k < n->sink.n; k++) {
        const Box *to = &p->box.at[n->sink.at[k].box];
        here += in_column(p, n, &n->sink.at[k]);
        if (in_column(p, n, &n->sink.at[k]) && to->rank == from->rank + 1) {
            near++;
            reader = to;
        }
    }
    if (near == 1)
        return within(reader, from->x);
    return near || !here ? from->x : n->lane;
}

static double comes_from(const Picture *p, const Net *n, const Sink *s)
{
    const Box *from = &p->box.at[n->source], *to = &p->box.at[s->box];
    if (!in_column(p, n, s))
        return far_left;
    return to->rank == from->rank + 1 ? n->x : n->lane;
}

static void leave(Picture *p, int box, Port *port)
{
    int n = 0;
    for (int i = 0; i < p->net.n; i++)
        if (p->net.at[i].source == box)
            port[n++] = (Port){ leaves_at(p, &p->net.at[i]), false,
                                p->net.at[i].label.w + shape_room, i, -1 };
    separate_tracks(p, &p->box.at[box], port, n);
}

static void come_in(Picture *p, int box, Port *port)
{
    int n = 0;
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            Sink *s = &p->net.at[i].sink.at[k];
            if (s->box != box)
                continue;
            s->label.w = svg_width(s->port, soft_text, false);
            s->label.h = soft_text;
            const double wish = comes_from(p, &p->net.at[i], s);
            port[n++] = (Port){ wish, fabs(wish - p->net.at[i].x) < 0.01,
                                s->label.w + edge, i, k };
        }
    separate_tracks(p, &p->box.at[box], port, n);
}

/* ---- tracks ---- */
enum { MostUp = 64 };

typedef struct { /* a line in a gap */
    int net, level;
    bool sideways, placed;
    double below; /* x at which it enters the gap from below; NAN: it enters
                     from the side */
    double left, right;
    double above[MostUp]; /* x of each part that leaves the gap upwards */
    int n;
} Way;

static void goes_to(Way *w, double x)
{
    w->left = fmin(w->left, x);
    w->right = fmax(w->right, x);
    if (fabs(x) < far_right && w->n < MostUp)
        w->above[w->n++] = x;
}

static bool passes(const Picture *p, const Net *n, int rank)
{
    return p->box.at[n->source].rank < rank && n->last >= rank;
}

/* Sets *w to the line of a net in the gap below `rank`. Returns false if the
 * net has no line there. */
static bool way_of(const Picture *p, int column, int rank, int net, Way *w)
{
    const Net *n = &p->net.at[net];
    const Box *from = &p->box.at[n->source];
    bool other = false;
    *w = (Way){
        .net = net, .below = NAN, .left = far_right, .right = far_left
    };
    for (int k = 0; k < n->sink.n; k++) {
        const Box *to = &p->box.at[n->sink.at[k].box];
        other |= to->column != from->column;
        if (to->column == column && to->rank == rank)
            goes_to(w, n->sink.at[k].x);
    }
    if (from->column != column) {
        if (w->n)
            w->left = far_left;
    } else if (from->rank == rank - 1) {
        w->below = n->x;
        if (other)
            w->right = far_right;
    } else if (passes(p, n, rank)) {
        w->below = n->lane;
    } else {
        return false;
    }
    if (from->column == column && n->last > rank)
        goes_to(w, n->lane);
    if (!isnan(w->below)) {
        w->left = fmin(w->left, w->below);
        w->right = fmax(w->right, w->below);
    }
    w->sideways = w->right - w->left > 0.5;
    return w->n > 0 || other;
}

/* True if `a` must turn below `b`, because `a` enters at an x at which `b`
 * leaves upwards. */
static bool goes_under(const Way *a, const Way *b)
{
    for (int i = 0; i < b->n; i++)
        if (fabs(a->below - b->above[i]) < same_line)
            return true;
    return false;
}

static bool overlap(const Way *a, const Way *b)
{
    return a->left < b->right + track_room && b->left < a->right + track_room;
}

static int lowest_level(const Way *way, int n, const Way *w)
{
    int level = 1;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < n; i++) {
            const Way *o = &way[i];
            if (!o->placed || o == w)
                continue;
            if ((goes_under(o, w) && level <= o->level)
                || (overlap(o, w) && level == o->level)) {
                level++;
                again = true;
            }
        }
    }
    return level;
}

/* Returns the shortest line that is not placed yet and that no other line must
 * pass under; if there is a cycle, any line that is not placed. */
static Way *next_way(Way *way, int n)
{
    Way *best = NULL, *any = NULL;
    for (int i = 0; i < n; i++) {
        Way *w = &way[i];
        bool free = true;
        if (!w->sideways || w->placed)
            continue;
        any = any ? any : w;
        for (int k = 0; k < n && free; k++)
            free = k == i || !way[k].sideways || way[k].placed
                || !goes_under(&way[k], w);
        if (free && (!best || w->right - w->left < best->right - best->left))
            best = w;
    }
    return best ? best : any;
}

static int *track_at(const Picture *p, int column, int rank, int net)
{
    const int ranks = p->column[0].ranks + p->column[1].ranks + 2;
    return &p->track[(column * ranks + rank) * p->net.n + net];
}

int picture_track(const Picture *p, int column, int rank, int net)
{
    return *track_at(p, column, rank, net);
}

static void lay_tracks(Picture *p, int column, int rank, Way *way)
{
    int n = 0;
    for (int i = 0; i < p->net.n; i++)
        n += way_of(p, column, rank, i, &way[n]);
    for (Way *w; (w = next_way(way, n));) {
        w->level = lowest_level(way, n, w);
        w->placed = true;
        *track_at(p, column, rank, w->net) = w->level;
        if (w->level > p->column[column].tracks[rank])
            p->column[column].tracks[rank] = w->level;
    }
}

void picture_tracks(Picture *p)
{
    const int ranks = p->column[0].ranks + p->column[1].ranks + 2;
    Port *port = arena_alloc(p->arena,
                             (size_t)(p->net.n + 1) * MostUp * sizeof *port);
    Way *way = arena_alloc(p->arena, (size_t)(p->net.n + 1) * sizeof *way);
    for (int i = 0; i < p->box.n; i++)
        leave(p, i, port);
    for (int i = 0; i < p->box.n; i++)
        come_in(p, i, port);
    p->track = arena_alloc(p->arena, (size_t)(MostColumns * ranks * p->net.n)
                                         * sizeof *p->track);
    for (int c = 0; c < p->columns; c++) {
        const int rows = p->column[c].ranks + 1;
        p->column[c].tracks = arena_alloc(p->arena, (size_t)rows * sizeof(int));
        for (int r = 0; r < rows; r++)
            lay_tracks(p, c, r, way);
    }
}
