/* graph_picture.h: a graph as boxes and lines on a page, which the files of
 * `attnc graph --format=svg` share. Each calls those above it here, and
 * draw_graph.c drives them:
 *
 *   graph_words.c   what a box says
 *   graph_boxes.c   layers that are alike, folded; boxes, and what they read
 *   graph_places.c  rows of boxes, and where in a row each stands
 *   graph_tracks.c  where lines go between the rows
 *   graph_lines.c   how high all stands, and where on the page
 *
 * A column is a stack of layers, from the bottom to the top as in the paper's
 * figure 1. In it x is counted from its axis to the right, and u from its lower
 * end upwards; on the page y goes down. All are pixels.                     */
#ifndef ATTNC_GRAPH_PICTURE_H
#define ATTNC_GRAPH_PICTURE_H

#include "draw/svg.h"

enum { MostLines = 4, MostColumns = 2 };

typedef struct { /* in one line: the op, then what it is called */
    const char *bold, *soft;
} BoxLine;

typedef struct {
    int node; /* of layers that are alike, the first one's */
    int column, segment, rank;
    BoxLine line[MostLines];
    int lines, weights; /* marks: inputs that are constants */
    double w, h, x, u;  /* x of its middle, u of its lower edge */
    Area area;          /* on the page, of all lines behind it too */
} Box;

typedef struct { /* a reader of a value */
    int box;
    const char *port; /* "Q"; "" */
    double x;         /* where the line comes in */
    Area label;
    Point point[6]; /* of the line, on the page */
    int points;
} Sink;

typedef struct { /* a value, and who reads it */
    int value;   /* as it is read: of a view, the view */
    int source;  /* its box */
    bool cached; /* by way of the cache */
    const char *shape;
    VEC(Sink) sink;
    double x;    /* where it leaves its box */
    int last;    /* rank of its last reader in its column; -1: none */
    double lane; /* where it goes up to readers that are not in the next
                    rank */
    Area label;
    double gutter; /* of one that leaves its column: from the gutter's x on */
} Net;

typedef struct {     /* boxes of one sublayer, or outside of the layers */
    int column, run; /* -1: outside */
    Sublayer sublayer;
    int rank[2]; /* first and last */
    bool banded; /* drawn on a band of its own */
    double left, right;
    Area area;
    Area label;
} Segment;

typedef struct { /* layers that are alike */
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
    double *left, *right; /* by rank: of what is there */
    double *u, *h;        /* by rank: of its boxes */
    double *gap;          /* by rank: u of the tracks under it */
    int *tracks;          /* by rank: how many */
    double extent[2], height, axis;
} Column;

typedef struct {
    Arena *arena;
    const Graph *g;
    int *like; /* by node: that of the first layer alike */
    int *box_of;
    VEC(Box) box;
    VEC(Net) net;
    VEC(Segment) segment;
    VEC(Run) run;
    Column column[MostColumns];
    int columns;
    int *track;    /* by column, rank and net: from 1; 0: no need of one */
    double gutter; /* between the columns */
    double width, height;
} Picture;

/* graph_words.c */
void box_words(const Picture *p, Box *b);
const char *segment_name(const Segment *s); /* "self-attention" */
void run_words(const Picture *p, Run *r);
const char *port_word(const Node *n, int input);
const char *shape_text(Arena *a, Type t); /* "[8,n,64]" */
/* A constant as the file has it: "q.weight x 0.125, k.weight". */
const char *constant_text(const Picture *p, int node);

/* graph_boxes.c */
bool is_constant(const Graph *g, int node);
void picture_boxes(Picture *p);

/* graph_places.c */
typedef struct {
    double x, weight; /* where, and how much that matters */
    double apart;     /* to the next one, at least */
} Spot;
/* Moves places apart, as little as can be: the sum of squares is least. */
void spread(Arena *a, Spot *at, int n);
void picture_places(Picture *p);

/* graph_tracks.c */
void picture_tracks(Picture *p);
/* Of a line in the gap under a rank: from 1; 0: it goes straight up. */
int picture_track(const Picture *p, int column, int rank, int net);

/* graph_lines.c */
void picture_lines(Picture *p);

/* draw_graph.c */
/* Boxes and lines with their places. */
Picture *picture_of(Arena *a, const Graph *g);
/* `stage`: "as built". */
const char *draw_graph(Arena *a, const Graph *g, const char *stage);

#endif
