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
    int node; /* the first one's, if layers are folded */
    int column, segment, rank;
    BoxLine line[MostLines];
    int lines, weights; /* marks for its constant inputs */
    double w, h, x, u;  /* x of the middle, u of the lower edge */
    Area area;          /* on the page, with all its lines */
} Box;

typedef struct { /* a reader of a value */
    int box;
    const char *port; /* e.g. "Q"; "": none */
    double x;         /* where the line enters */
    Area label;
    Point point[6]; /* corners of the line on the page */
    int points;
} Sink;

typedef struct { /* a value and its readers */
    int value;   /* node as read, e.g. a view */
    int source;  /* box that computes it */
    bool cached; /* it passes through the cache */
    const char *shape;
    VEC(Sink) sink;
    double x;    /* where it leaves the box */
    int last;    /* rank of the last reader in the same column; -1: none */
    double lane; /* x of the line to readers above the next rank */
    Area label;
    double gutter; /* x in the gutter, if it leaves its column */
} Net;

typedef struct {     /* boxes of one sublayer, or outside the layers */
    int column, run; /* -1: outside */
    Sublayer sublayer;
    int rank[2]; /* first and last */
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
    double *left, *right; /* by rank: extent of its contents */
    double *u, *h;        /* by rank: lower edge and height of its boxes */
    double *gap;          /* by rank: u of the tracks below it */
    int *tracks;          /* by rank: number of tracks */
    double extent[2], height, axis;
} Column;

typedef struct {
    Arena *arena;
    const Graph *g;
    int *like; /* by node: the node drawn for it, in the first similar layer */
    int *box_of;
    VEC(Box) box;
    VEC(Net) net;
    VEC(Segment) segment;
    VEC(Run) run;
    Column column[MostColumns];
    int columns;
    int *track;    /* by column, rank and net: from 1; 0: not needed */
    double gutter; /* width between the columns */
    double width, height;
} Picture;

/* graph_words.c */
void box_words(const Picture *p, Box *b);
const char *segment_name(const Segment *s); /* e.g. "self-attention" */
void run_words(const Picture *p, Run *r);
const char *port_word(const Node *n, int input);
const char *shape_text(Arena *a, Type t); /* e.g. "[8,n,64]" */
/* Returns a constant in terms of the weights file, e.g. "q.weight x 0.125,
 * k.weight". */
const char *constant_text(const Picture *p, int node);

/* graph_boxes.c */
bool is_constant(const Graph *g, int node);
void picture_boxes(Picture *p);

/* graph_places.c */
typedef struct {
    double x, weight; /* where it wants to be, and how strongly */
    double apart;     /* least distance to the next */
} Spot;
/* Moves spots apart with the least weighted sum of squared moves. */
void spread(Arena *a, Spot *at, int n);
void picture_places(Picture *p);

/* graph_tracks.c */
void picture_tracks(Picture *p);
/* Returns a net's track in the gap under a rank, from 1; 0: it goes straight
 * up. */
int picture_track(const Picture *p, int column, int rank, int net);

/* graph_lines.c */
void picture_lines(Picture *p);

/* draw_graph.c */
/* Returns boxes and lines with their places. */
Picture *picture_of(Arena *a, const Graph *g);
/* `stage`: e.g. "as built". */
const char *draw_graph(Arena *a, const Graph *g, const char *stage);

#endif
