/* graph_picture.h: a graph as boxes and lines on a page, for `attnc graph
 * --format=svg`. draw_graph.c calls the files in this order; each may call
 * those above it:
 *
 *   graph_words.c   texts of boxes
 *   graph_boxes.c   boxes and what they read; equal layers drawn once
 *   graph_places.c  rows of boxes, and places within a row
 *   graph_tracks.c  lines between the rows
 *   graph_lines.c   heights, and positions on the page
 *
 * A column is a stack of layers, drawn upwards as in figure 1 of the paper.
 * Coordinates are in pixels. In a column, x is 0 at its axis and increases to
 * the right, and u is 0 at its lower edge and increases upwards. On the page, y
 * increases downwards. */
#ifndef ATTNC_GRAPH_PICTURE_H
#define ATTNC_GRAPH_PICTURE_H

#include "draw/svg.h"

enum { MostLines = 4, MostColumns = 2 };

typedef struct { /* one line of text: the op, then its name */
    const char *bold, *soft;
} BoxLine;

typedef struct {
    int node; /* the node; for layers drawn once, that of the first layer */
    int column, segment, rank;
    BoxLine line[MostLines];
    int lines, weights; /* number of lines of text; number of marks for
                           constants */
    double w, h, x, u;  /* size; x of the centre, u of the lower edge */
    Area area;          /* area on the page, including all lines of text */
} Box;

typedef struct { /* a reader of a value */
    int box;
    const char *port; /* name of the input, e.g. "Q"; "": no name */
    double x;         /* x at which the line enters the box */
    Area label;
    Point point[6]; /* corner points of the line, on the page */
    int points;
} Sink;

typedef struct { /* a value and its readers */
    int value;   /* the node that the readers name, e.g. a view */
    int source;  /* the box that computes the value */
    bool cached; /* true if a cache lies between the box and the readers */
    const char *shape;
    VEC(Sink) sink;
    double x;    /* x at which the line leaves the box */
    int last;    /* rank of the last reader in the same column; -1: no reader */
    double lane; /* x of the line to readers beyond the next rank */
    Area label;
    double gutter; /* x of the line in the gutter, if it leaves the column */
} Net;

typedef struct {     /* boxes of one sublayer, or boxes outside the layers */
    int column, run; /* run: index of the run of layers; -1: outside the
                        layers */
    Sublayer sublayer;
    int rank[2]; /* first and last rank */
    bool banded; /* drawn on a band */
    double left, right;
    Area area;
    Area label;
} Segment;

typedef struct { /* equal layers, drawn once */
    int column, first, count;
    int rank[2];
    double left, right;
    Area area;
    Area label;
    const char *times, *name;
} Run;

typedef struct {
    Stack stack;
    int ranks;
    double *left, *right; /* by rank: left and right edge of the contents */
    double *u, *h;        /* by rank: lower edge and height of the boxes */
    double *gap;          /* by rank: u of the tracks below the boxes */
    int *tracks;          /* by rank: number of tracks */
    double extent[2], height, axis;
} Column;

typedef struct {
    Arena *arena;
    const Graph *g;
    int *like; /* by node: the corresponding node in the first of equal layers,
                  which is the one drawn */
    int *box_of;
    VEC(Box) box;
    VEC(Net) net;
    VEC(Segment) segment;
    VEC(Run) run;
    Column column[MostColumns];
    int columns;
    int *track;    /* by column, rank and net: number of the track, from 1; 0:
                      no track is needed */
    double gutter; /* width of the gutter between the columns */
    double width, height;
} Picture;

/* graph_words.c */
void box_words(const Picture *p, Box *b);
const char *segment_name(const Segment *s); /* e.g. "self-attention" */
void run_words(const Picture *p, Run *r);
const char *port_word(const Node *n, int input);
const char *shape_text(Arena *a, Type t); /* e.g. "[8,n,64]" */
/* Returns the names of a constant in the weights file, e.g. "q.weight x 0.125,
 * k.weight". */
const char *constant_text(const Picture *p, int node);

/* graph_boxes.c */
bool is_constant(const Graph *g, int node);
void picture_boxes(Picture *p);

/* graph_places.c */
typedef struct {
    double x, weight; /* preferred x; weight of this preference */
    double apart;     /* minimum distance to the next spot */
} Spot;
/* Moves spots apart. Minimises the weighted sum of the squared moves. */
void spread(Arena *a, Spot *at, int n);
void picture_places(Picture *p);

/* graph_tracks.c */
void picture_tracks(Picture *p);
/* Returns the track of a net in the gap under a rank, from 1; 0: the line goes
 * straight up. */
int picture_track(const Picture *p, int column, int rank, int net);

/* graph_lines.c */
void picture_lines(Picture *p);

/* draw_graph.c */
/* Returns the boxes and lines of a graph, with their positions. */
Picture *picture_of(Arena *a, const Graph *g);
/* Draws a graph. `stage` describes it, e.g. "as built". */
const char *draw_graph(Arena *a, const Graph *g, const char *stage);

static inline bool in_column(const Picture *p, const Net *n, const Sink *s)
{
    return p->box.at[n->source].column == p->box.at[s->box].column;
}

#endif
