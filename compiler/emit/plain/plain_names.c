/* plain_names.c: the names of values in plain C; values with the same name
 * share memory.
 *
 * The value that flows through the layers is x, from the embeddings to the end:
 * a sum or a norm takes the name of an operand that is not read again. Other
 * values are named after the weights that produced them; if a name is in use, a
 * number is appended. */
#include "emit/plain/plain.h"

typedef struct { /* names in one entry */
    Plain *p;
    int *last;      /* [nodes]: last place in the order at which the value is
                     * read */
    Index names;    /* index in `until` by name */
    VEC(int) until; /* last place at which each name is in use */
} Names;

/* ---- who reads a value last ---- */

static void read_at(const Plain *p, int *last, int node, int place)
{
    const int owner = plain_owner(p, node);
    if (last[owner] < place)
        last[owner] = place;
    if (node_at(p->g.p, owner)->op == OpSlice)
        read_at(p, last, node_at(p->g.p, owner)->in[0], place);
}

static int *last_reads(const Plain *p)
{
    const int nodes = p->g.p->g->nodes.n, result = graph_result(p->g.p->g);
    int *last = arena_alloc(p->g.a, (size_t)nodes * sizeof *last);
    for (int i = 0; i < nodes; i++)
        last[i] = -1;
    for (int o = 0; o < p->g.p->order.n; o++) {
        const Node *n = node_at(p->g.p, p->g.p->order.at[o]);
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] >= 0)
                read_at(p, last, n->in[k], o);
    }
    read_at(p, last, result, p->g.p->order.n);
    return last;
}

/* ---- what flows through the layers ---- */

/* True if the value of a node, computed at `place` in the order, can overwrite
 * operand k, because nothing reads the operand later. */
static bool takes_place(const Plain *p, const int *last, int node, int k,
                        int place)
{
    const Node *n = node_at(p->g.p, node);
    const int owner = n->in[k] < 0 ? -1 : plain_owner(p, n->in[k]);
    if (owner < 0 || last[owner] > place || p->kept_by[owner] >= 0
        || !same_type(node_at(p->g.p, owner)->type, n->type))
        return false;
    switch (op_info[n->op].in_place) {
    case InPlaceNo:       return false;
    case InPlaceElements:
    case InPlaceRows:     return true;
    case InPlaceResidual: return n->has_residual && k == 3;
    }
    return false;
}

/* Marks the values that flow through the layers, from the last one back: an
 * operand overwritten by such a value flows too. */
static void find_flow(Plain *p, const int *last)
{
    for (int o = p->g.p->order.n - 1; o >= 0; o--) {
        const int node = p->g.p->order.at[o];
        const Node *n = node_at(p->g.p, node);
        const int first = n->op == OpLinear ? 3 : 0;
        p->flows[node] |= n->type.rank == 2 && p->g.p->reads[node].elsewhere;
        if (p->flows[node] && first < n->nin
            && takes_place(p, last, node, first, o))
            p->flows[plain_owner(p, n->in[first])] = true;
    }
}

/* ---- names ---- */

static bool is_free(Names *s, const char *name, int place)
{
    const int at = index_find(&s->names, name);
    return at < 0 || s->until.at[at] < place;
}

static const char *take(Names *s, const char *name, int until)
{
    const int at = index_add(s->p->g.a, &s->names, name, s->until.n);
    if (at == s->until.n)
        vec_push(s->p->g.a, &s->until, until);
    s->until.at[at] = until;
    return name;
}

static const char *name_free_at(Names *s, const char *label, int place,
                                int until)
{
    const char *name = label;
    for (int k = 2; !is_free(s, name, place); k++)
        name = arena_printf(s->p->g.a, "%s%d", label, k);
    return take(s, name, until);
}

/* Returns the name of the operand that the node overwrites, preferably one that
 * flows through the layers. Returns NULL if none can be overwritten. */
static const char *replaced(const Names *s, int node, int place)
{
    const Node *n = node_at(s->p->g.p, node);
    const char *name = NULL;
    for (int k = 0; k < n->nin; k++) {
        if (!takes_place(s->p, s->last, node, k, place))
            continue;
        const int owner = plain_owner(s->p, n->in[k]);
        if (!name || s->p->flows[owner])
            name = s->p->name[owner];
    }
    return name;
}

static void name_value(Names *s, int node, int place)
{
    Plain *p = s->p;
    const Node *n = node_at(p->g.p, node);
    const bool residual = is_product(n) && n->has_residual;
    const char *in_place = replaced(s, node, place);
    const int until = s->last[node] < place ? place : s->last[node];
    const char *label = value_label(p->g.p, node);
    if (residual)
        p->sum[node] = name_free_at(s, label, place, place);
    if (in_place)
        p->name[node] = take(s, in_place, until);
    else
        p->name[node] = name_free_at(s, p->flows[node] ? "x" : label, place,
                                     until);
}

static bool has_value(const Plain *p, int node)
{
    const Op op = node_at(p->g.p, node)->op;
    return plain_owner(p, node) == node && op != OpAppend
        && p->kept_by[node] < 0;
}

void plain_name_values(Plain *p)
{
    const size_t nodes = (size_t)p->g.p->g->nodes.n;
    int *last;
    p->name = arena_alloc(p->g.a, nodes * sizeof *p->name);
    p->sum = arena_alloc(p->g.a, nodes * sizeof *p->sum);
    p->flows = arena_alloc(p->g.a, nodes * sizeof *p->flows);
    last = last_reads(p);
    find_flow(p, last);
    for (int e = EntryEncode; e <= EntryDecode; e++) {
        Names s = { .p = p, .last = last };
        for (int o = 0; o < p->g.p->order.n; o++) {
            const int node = p->g.p->order.at[o];
            const Node *n = node_at(p->g.p, node);
            if (n->entry != (Entry)e)
                continue;
            for (int k = 0; k < n->nin; k++) {
                const int in = n->in[k] < 0 ? -1 : plain_owner(p, n->in[k]);
                if (in >= 0 && node_at(p->g.p, in)->op == OpSlice
                    && !p->name[in])
                    name_value(&s, in, o);
            }
            if (has_value(p, node))
                name_value(&s, node, o);
        }
    }
}
