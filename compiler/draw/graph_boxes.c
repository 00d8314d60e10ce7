/* graph_boxes.c: decides which nodes become boxes of the picture, and which
 * values each box reads.
 *
 * Consecutive equal layers are drawn once. A constant is a mark on the box that
 * reads it; views and cache reads are lines. */
#include <string.h>

#include "draw/graph_picture.h"

typedef VEC(int) Nodes;

static const Node *at(const Picture *p, int node)
{
    return &p->g->nodes.at[node];
}

bool is_constant(const Graph *g, int node)
{
    return g->nodes.at[node].entry == EntryNone;
}

static bool is_view(const Node *n)
{
    return op_info[n->op].op_class == ClassView || n->op == OpRecall;
}

/* Returns the stack in which a node is drawn. A node that the encoder computes
 * for a decoder layer is drawn in that layer. */
static Stack drawn_in(const Node *n)
{
    if (n->stack == StackCross)
        return StackDecoder;
    if (n->stack != StackNone)
        return n->stack;
    return n->entry == EntryDecode ? StackDecoder : StackEncoder;
}

static int column_of(const Picture *p, int node)
{
    return drawn_in(at(p, node)) != p->column[0].stack;
}

/* ---- layers alike ---- */
/* Compares everything but inputs, names and what is different in each layer. */
static bool same_op(const Node *a, const Node *b)
{
    bool same = a->op == b->op && a->entry == b->entry && a->nin == b->nin
             && a->sublayer == b->sublayer && same_type(a->type, b->type);
    Node x = *a;
    x.place = b->place;
    x.spec = b->spec;
#define ATTRIBUTE(type, member, ...) \
    same &= memcmp(&x.member, &b->member, sizeof x.member) == 0;
#include "graph/attributes.h"
    return same;
}

/* Returns the nodes of a layer in order, including constants. */
static Nodes nodes_of(const Picture *p, int column, int layer)
{
    Nodes list = { 0 };
    for (int i = 0; i < p->g->nodes.n; i++)
        if (at(p, i)->layer == layer && column_of(p, i) == column)
            vec_push(p->arena, &list, i);
    return list;
}

static int place_in(const Nodes *list, int node)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i] == node)
            return i;
    return -1;
}

/* True if a node's inputs correspond in two consecutive layers: each is the
 * same node of its own layer, or a value of the same shape from outside. */
static bool reads_alike(const Picture *p, const Nodes *a, const Nodes *b,
                        int node)
{
    const Node *x = at(p, a->at[node]), *y = at(p, b->at[node]);
    for (int k = 0; k < x->nin; k++) {
        if (x->in[k] < 0 || y->in[k] < 0) {
            if (x->in[k] != y->in[k])
                return false;
            continue;
        }
        const int i = place_in(a, x->in[k]), j = place_in(b, y->in[k]);
        if (i != j
            || (i < 0
                && !same_type(at(p, x->in[k])->type, at(p, y->in[k])->type)))
            return false;
    }
    return true;
}

static bool layers_alike(const Picture *p, const Nodes *a, const Nodes *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!same_op(at(p, a->at[i]), at(p, b->at[i]))
            || !reads_alike(p, a, b, i))
            return false;
    return true;
}

static int layers_of(const Picture *p, int column)
{
    int layers = 0;
    for (int i = 0; i < p->g->nodes.n; i++)
        if (column_of(p, i) == column && at(p, i)->layer >= layers)
            layers = at(p, i)->layer + 1;
    return layers;
}

static void fold_layers(Picture *p, int column)
{
    Nodes first = { 0 };
    const int layers = layers_of(p, column);
    for (int l = 0; l < layers; l++) {
        const Nodes list = nodes_of(p, column, l);
        if (l > 0 && layers_alike(p, &first, &list)) {
            p->run.at[p->run.n - 1].count++;
            for (int i = 0; i < list.n; i++)
                p->like[list.at[i]] = first.at[i];
            continue;
        }
        first = list;
        vec_push(p->arena, &p->run,
                 ((Run){ .column = column, .first = l, .count = 1 }));
    }
}

/* ---- segments ---- */
static int run_of(const Picture *p, int column, int layer)
{
    for (int i = 0; i < p->run.n; i++)
        if (p->run.at[i].column == column && p->run.at[i].first == layer)
            return i;
    return -1;
}

/* Returns the sublayer in which a node is drawn. In a parallel layer, attention
 * and the feed-forward network form one sublayer, because they are side by
 * side. */
static Sublayer drawn_sublayer(const Picture *p, const Node *n)
{
    const Side side = n->stack == StackEncoder ? SideEncoder : SideDecoder;
    const bool parallel = n->layer >= 0
                       && spec_is_parallel(
                              spec_layer(p->g->spec, side, n->layer));
    return parallel ? SublayerNone : n->sublayer;
}

/* True if a node belongs to the last segment of its column. */
static bool goes_on(const Picture *p, const Node *n, int column)
{
    const Segment *s = p->segment.n ? &p->segment.at[p->segment.n - 1] : NULL;
    return s && s->column == column
        && s->run == (n->layer < 0 ? -1 : run_of(p, column, n->layer))
        && s->sublayer == drawn_sublayer(p, n);
}

static int find_segment(const Picture *p, const Node *n, int column)
{
    const int run = run_of(p, column, n->layer);
    for (int i = 0; i < p->segment.n; i++)
        if (p->segment.at[i].column == column && p->segment.at[i].run == run
            && p->segment.at[i].sublayer == drawn_sublayer(p, n))
            return i;
    die("graph: %s is in no sublayer", n->name);
}

static bool is_box(const Picture *p, int node)
{
    return !is_constant(p->g, node) && p->like[node] == node
        && !is_view(at(p, node));
}

/* Makes the segments of a column. This takes two rounds, because nodes that the
 * encoder computes for the decoder need the decoder's segments. */
static void make_segments(Picture *p, int column, int *segment)
{
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = at(p, i);
        if (!is_box(p, i) || column_of(p, i) != column
            || n->stack == StackCross)
            continue;
        if (!goes_on(p, n, column)) {
            const Sublayer sublayer = drawn_sublayer(p, n);
            const int run = n->layer < 0 ? -1 : run_of(p, column, n->layer);
            vec_push(p->arena, &p->segment,
                     ((Segment){ .column = column,
                                 .run = run,
                                 .sublayer = sublayer,
                                 .banded = run >= 0 && sublayer }));
        }
        segment[i] = p->segment.n - 1;
    }
    for (int i = 0; i < p->g->nodes.n; i++)
        if (is_box(p, i) && column_of(p, i) == column
            && at(p, i)->stack == StackCross)
            segment[i] = find_segment(p, at(p, i), column);
}

/* ---- boxes ---- */
static void make_boxes(Picture *p, const int *segment)
{
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = at(p, i);
        p->box_of[i] = -1;
        if (!is_box(p, i))
            continue;
        Box b = { .node = i, .column = column_of(p, i), .segment = segment[i] };
        for (int k = 0; k < n->nin; k++)
            b.weights += n->in[k] >= 0 && is_constant(p->g, n->in[k]);
        box_words(p, &b);
        p->box_of[i] = p->box.n;
        vec_push(p->arena, &p->box, b);
    }
}

/* Returns the box that computes the value of a node. Sets *cached if a cache
 * lies between them. */
static int source_of(const Picture *p, int node, bool *cached)
{
    *cached = false;
    while (is_view(at(p, node))) {
        *cached |= at(p, node)->op == OpRecall;
        node = p->like[at(p, node)->in[0]];
    }
    return p->box_of[node];
}

static Net *net_of(Picture *p, int value)
{
    for (int i = 0; i < p->net.n; i++)
        if (p->net.at[i].value == value)
            return &p->net.at[i];
    Net net = { .value = value,
                .last = -1,
                .shape = shape_text(p->arena, at(p, value)->type) };
    net.source = source_of(p, value, &net.cached);
    vec_push(p->arena, &p->net, net);
    return &p->net.at[p->net.n - 1];
}

static void make_nets(Picture *p)
{
    for (int b = 0; b < p->box.n; b++) {
        const Node *n = at(p, p->box.at[b].node);
        for (int k = 0; k < n->nin; k++) {
            if (n->in[k] < 0 || is_constant(p->g, n->in[k]))
                continue;
            Net *net = net_of(p, p->like[n->in[k]]);
            const int last = net->sink.n - 1;
            if (last < 0 || net->sink.at[last].box != b)
                vec_push(p->arena, &net->sink,
                         ((Sink){ .box = b, .port = port_word(n, k) }));
        }
    }
}

void picture_boxes(Picture *p)
{
    const int n = p->g->nodes.n;
    int *segment = arena_alloc(p->arena, (size_t)n * sizeof *segment);
    p->like = arena_alloc(p->arena, (size_t)n * sizeof *p->like);
    p->box_of = arena_alloc(p->arena, (size_t)n * sizeof *p->box_of);
    for (int i = 0; i < n; i++) {
        const Stack stack = drawn_in(at(p, i));
        p->like[i] = i;
        if (is_constant(p->g, i))
            continue;
        if (p->columns == 0)
            p->column[p->columns++].stack = stack;
        else if (p->columns == 1 && p->column[0].stack != stack)
            p->column[p->columns++].stack = stack;
    }
    for (int c = 0; c < p->columns; c++)
        fold_layers(p, c);
    for (int c = 0; c < p->columns; c++)
        make_segments(p, c, segment);
    make_boxes(p, segment);
    make_nets(p);
}
