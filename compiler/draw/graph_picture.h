/* graph_picture.h: a graph as boxes and lines on a page, for `attnc graph
 * --format=svg`. draw_graph.c calls these files in order; each may call those
 * above it:
 *
 *   graph_words.c   texts of boxes
 *   graph_boxes.c   boxes and what they read; similar layers folded
 *   graph_places.c  rows of boxes, and places within a row
 *   graph_tracks.c  lines between the rows
 *   graph_lines.c   heights, and places on the page
 *
 * A column is a stack of layers, drawn upwards as in the paper's figure 1. In a
 * column x counts from its axis to the right and u from its lower end upwards;
 * on the page y goes down. All are in pixels. */
#ifndef ATTNC_GRAPH_PICTURE_H
#define ATTNC_GRAPH_PICTURE_H

#include "draw/svg.h"

enum { MostLines = 4, MostColumns = 2 };

typedef struct { /* one line of text: op, then name */
    const char *bold, *soft;
} BoxLine;

typedef struct {
    int node; /* the node; if layers are folded, the node of the first */
    int column, segment, rank;
    BoxLine line[MostLines];
    int lines, weights; /* numbers of lines, and of marks for constants */
    double w, h, x, u;  /* size; x of the middle and u of the lower edge */
    Area area;          /* area on the page, with all lines of text */
} Box;

typedef struct { /* a reader of a value */
    int box;
    const char *port; /* name of the input, e.g. "Q"; "": no name */
    double x;         /* x at which the line enters the box */
    Area label;
    Point point[6]; /* corners of the line, on the page */
    int points;
} Sink;

typedef struct { /* a value and its readers */
    int value;   /* the node that readers read, e.g. a view */
    int source;  /* the box that computes the value */
    bool cached; /* the value passes through the cache */
    const char *shape;
    VEC(Sink) sink;
    double x;    /* x at which the line leaves the box */
    int last;    /* rank of the last reader in the same column; -1: none */
    double lane; /* x of the line to readers above the next rank */
    Area label;
    double gutter; /* x of the line in the gutter, if it leaves its column */
} Net;

typedef struct {     /* boxes of one sublayer, or boxes outside the layers */
    int column, run; /* run: index of a run of layers; -1: outside layers */
    Sublayer sublayer;
    int rank[2]; /* first and last rank */
    bool banded; /* drawn on a band */
    double left, right;
    Area area;
    Area label;
} Segment;

typedef struct { /* similar layers, drawn once */
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
    double *left, *right; /* by rank: left and right end of the contents */
    double *u, *h;        /* by rank: lower edge and height of the boxes */
    double *gap;          /* by rank: u of the tracks below the boxes */
    int *tracks;          /* by rank: number of tracks */
    double extent[2], height, axis;
} Column;

typedef struct {
    Arena *arena;
    const Graph *g;
    int *like; /* by node: the corresponding node of the first similar layer,
                  which is drawn */
    int *box_of;
    VEC(Box) box;
    VEC(Net) net;
    VEC(Segment) segment;
    VEC(Run) run;
    Column column[MostColumns];
    int columns;
    int *track;    /* by column, rank and net: number of the track, from 1;
                      0: none needed */
    double gutter; /* width of the gutter between the columns */
    double width, height;
} Picture;

/* graph_words.c */
void box_words(const Picture *p, Box *b);
const char *segment_name(const Segment *s); /* e.g. "self-attention" */
void run_words(const Picture *p, Run *r);
const char *port_word(const Node *n, int input);
const char *shape_text(Arena *a, Type t); /* e.g. "[8,n,64]" */
/* Returns a constant by its names in the weights file, e.g. "q.weight x 0.125,
 * k.weight". */
const char *constant_text(const Picture *p, int node);

/* graph_boxes.c */
bool is_constant(const Graph *g, int node);
void picture_boxes(Picture *p);

/* graph_places.c */
typedef struct {
    double x, weight; /* wished x, and the weight of this wish */
    double apart;     /* least distance to the next spot */
} Spot;
/* Moves spots apart so that the weighted sum of squared moves is least. */
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
/* Returns the boxes and lines of a graph with their places. */
Picture *picture_of(Arena *a, const Graph *g);
/* Draws a graph. stage: e.g. "as built". */
const char *draw_graph(Arena *a, const Graph *g, const char *stage);

static inline bool in_column(const Picture *p, const Net *n, const Sink *s)
{
    return p->box.at[n->source].column == p->box.at[s->box].column;
}

#endif
