/* automaton.c: the states of a grammar, which are made when a text first
 * reaches them. A state is a set of stacks of ops; stacks share their lower
 * parts. Calls at the end of a rule leave nothing on the stack, so that lists
 * written by recursion at their end need a finite number of states. */
#include "runtime/core.h"

#include <string.h>

enum {
    AUTOMATON_NODE_SLOTS = 2 * ATTN_GRAMMAR_NODES,
    AUTOMATON_STATE_SLOTS = 2 * ATTN_GRAMMAR_STATES
};

ATTN_API void attn_automaton_take(struct attn_grammar *g,
                                  struct attn_memory *at)
{
    const int64_t nodes = ATTN_GRAMMAR_NODES, states = ATTN_GRAMMAR_STATES;
    const int64_t word = sizeof(int32_t);
    g->classes = 0;
    for (int b = 0; b < 256; b++) {
        if (b == 0 || g->is.edge[b]) {
            g->byte_of[g->classes] = (unsigned char)b;
            g->classes++;
        }
        g->class_of[b] = (unsigned char)(g->classes - 1);
    }
    g->node = attn_take(at, nodes, sizeof *g->node);
    g->stamp = attn_take(at, nodes, word);
    g->work = attn_take(at, 2 * nodes + 2, word);
    g->set = attn_take(at, nodes, word);
    g->find_node = attn_take(at, AUTOMATON_NODE_SLOTS, word);
    g->state = attn_take(at, states, sizeof *g->state);
    g->find_state = attn_take(at, AUTOMATON_STATE_SLOTS, word);
    g->pool = attn_take(at, ATTN_GRAMMAR_POOL, word);
    g->next = attn_take(at, states * g->classes, word);
}

/* ---- nodes ---- */

/* Returns the slot of a node, which is empty if there is no such node. */
static int64_t automaton_slot(const struct attn_grammar *g, int32_t op,
                              int32_t under)
{
    int64_t at = attn_slot(attn_pair_hash(op, under), AUTOMATON_NODE_SLOTS);
    while (g->find_node[at] != 0) {
        const struct attn_grammar_node *n = &g->node[g->find_node[at]];
        if (n->op == op && n->under == under)
            break;
        at = (at + 1) % AUTOMATON_NODE_SLOTS;
    }
    return at;
}

/* Returns the node of an op on a stack; -1: there is no room. */
static int32_t automaton_node(struct attn_grammar *g, int64_t op, int32_t under)
{
    const int64_t at = automaton_slot(g, (int32_t)op, under);
    if (g->find_node[at] != 0)
        return g->find_node[at];
    if (g->nodes == ATTN_GRAMMAR_NODES)
        return -1;
    const int32_t id = (int32_t)g->nodes;
    g->nodes++;
    g->node[id] = (struct attn_grammar_node){ (int32_t)op, under };
    g->find_node[at] = id;
    return id;
}

/* Pushes a node to the work. Returns -1 if there is none. */
static int automaton_push(struct attn_grammar *g, int64_t *n, int32_t node)
{
    if (node < 0)
        return -1;
    g->work[*n] = node;
    *n += 1;
    return 0;
}

/* Pushes what follows a node that reads nothing. Returns -1 if there is no
 * room. */
static int automaton_follow(struct attn_grammar *g, int32_t id, int64_t *n)
{
    const struct attn_grammar_node at = g->node[id];
    const struct attn_gbnf_op *op = &g->is.op[at.op];
    int32_t under = at.under;
    if (op->kind == ATTN_GBNF_RETURN)
        return automaton_push(g, n, under);
    if (op->kind == ATTN_GBNF_CALL) {
        int64_t back = at.op + 1;
        while (g->is.op[back].kind == ATTN_GBNF_JUMP)
            back += g->is.op[back].to;
        if (g->is.op[back].kind != ATTN_GBNF_RETURN)
            under = automaton_node(g, back, under);
        if (under < 0)
            return -1;
        return automaton_push(g, n,
                              automaton_node(g, g->is.rule[op->to].start,
                                             under));
    }
    const int64_t other = at.op + op->to;
    if (automaton_push(g, n, automaton_node(g, other, under)) < 0)
        return -1;
    if (op->kind == ATTN_GBNF_JUMP)
        return 0;
    return automaton_push(g, n, automaton_node(g, at.op + 1, under));
}

/* Adds to the set the nodes that read a byte, and node 0, to which an op on a
 * stack leads. Returns -1 if there is no room. */
static int automaton_close(struct attn_grammar *g, int64_t op, int32_t under)
{
    int64_t n = 0;
    if (automaton_push(g, &n, automaton_node(g, op, under)) < 0)
        return -1;
    while (n > 0) {
        n--;
        const int32_t id = g->work[n];
        if (g->stamp[id] == g->time)
            continue;
        g->stamp[id] = g->time;
        if (id == 0 || g->is.op[g->node[id].op].kind == ATTN_GBNF_BYTE) {
            g->set[g->listed] = id;
            g->listed++;
        } else if (automaton_follow(g, id, &n) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- states ---- */

static void automaton_begin_set(struct attn_grammar *g)
{
    g->listed = 0;
    g->time++;
}

/* Sorts the set, by Shell's method. */
static void automaton_sort(struct attn_grammar *g)
{
    int64_t gap = 1;
    while (gap < g->listed)
        gap = gap * 3 + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t i = gap; i < g->listed; i++) {
            const int32_t x = g->set[i];
            int64_t k = i;
            for (; k >= gap && g->set[k - gap] > x; k -= gap)
                g->set[k] = g->set[k - gap];
            g->set[k] = x;
        }
}

/* Returns the state of the set; -1: there is no room. */
static int32_t automaton_state(struct attn_grammar *g)
{
    const size_t bytes = (size_t)g->listed * sizeof *g->set;
    automaton_sort(g);
    int64_t at = attn_slot(attn_hash(g->set, (int64_t)bytes, 0),
                           AUTOMATON_STATE_SLOTS);
    if (g->listed == 0)
        return 0;
    for (; g->find_state[at] != 0; at = (at + 1) % AUTOMATON_STATE_SLOTS) {
        const struct attn_grammar_state *s = &g->state[g->find_state[at]];
        if (s->n == g->listed && memcmp(g->pool + s->at, g->set, bytes) == 0)
            return g->find_state[at];
    }
    if (g->states == ATTN_GRAMMAR_STATES
        || g->pooled + g->listed > ATTN_GRAMMAR_POOL)
        return -1;
    const int32_t id = (int32_t)g->states;
    g->states++;
    g->state[id] = (struct attn_grammar_state){ (int32_t)g->pooled,
                                                (int32_t)g->listed, -1 };
    memcpy(g->pool + g->pooled, g->set, bytes);
    g->pooled += g->listed;
    for (int64_t i = 0; i < g->classes; i++)
        g->next[id * g->classes + i] = -1;
    g->find_state[at] = id;
    return id;
}

/* Makes an automaton with the first `nodes` nodes, and state 0, which no text
 * reaches. */
static void automaton_clear(struct attn_grammar *g, int64_t nodes)
{
    memset(g->find_node, 0, AUTOMATON_NODE_SLOTS * sizeof *g->find_node);
    memset(g->find_state, 0, AUTOMATON_STATE_SLOTS * sizeof *g->find_state);
    memset(g->stamp, 0, ATTN_GRAMMAR_NODES * sizeof *g->stamp);
    memset(g->next, 0, (size_t)g->classes * sizeof *g->next);
    g->node[0] = (struct attn_grammar_node){ -1, -1 };
    g->state[0] = (struct attn_grammar_state){ 0, 0, -1 };
    g->nodes = attn_max(nodes, 1);
    g->states = 1;
    g->pooled = 0;
    g->time = 0;
    g->start = -1;
    for (int64_t i = 1; i < g->nodes; i++)
        g->find_node[automaton_slot(g, g->node[i].op, g->node[i].under)] =
            (int32_t)i;
    for (int64_t i = 0; i < ATTN_GRAMMAR_MASKS; i++)
        g->mask[i].state = -1;
}

/* A node is above those under it, so that they can be moved in order. */
ATTN_API int32_t attn_automaton_forget(struct attn_grammar *g, int32_t state)
{
    const struct attn_grammar_state *s = &g->state[state];
    int32_t *to = g->work;
    int64_t nodes = 1;
    if (state == 0) {
        automaton_clear(g, 1);
        return 0;
    }
    automaton_begin_set(g);
    for (int64_t i = 0; i < s->n; i++)
        for (int32_t id = g->pool[s->at + i]; id > 0; id = g->node[id].under)
            g->stamp[id] = g->time;
    to[0] = 0;
    for (int64_t i = 1; i < g->nodes; i++) {
        if (g->stamp[i] != g->time)
            continue;
        to[i] = (int32_t)nodes;
        g->node[nodes] = (struct attn_grammar_node){ g->node[i].op,
                                                     to[g->node[i].under] };
        nodes++;
    }
    g->listed = s->n;
    for (int64_t i = 0; i < s->n; i++)
        g->set[i] = to[g->pool[s->at + i]];
    automaton_clear(g, nodes);
    return automaton_state(g);
}

ATTN_API int32_t attn_automaton_start(struct attn_grammar *g)
{
    if (g->start > 0)
        return g->start;
    automaton_begin_set(g);
    if (automaton_close(g, g->is.rule[g->is.root].start, 0) < 0)
        return -1;
    g->start = automaton_state(g);
    return g->start;
}

ATTN_API int32_t attn_automaton_step(struct attn_grammar *g, int32_t state,
                                     unsigned char byte)
{
    const struct attn_grammar_state s = g->state[state];
    const unsigned char class = g->class_of[byte];
    automaton_begin_set(g);
    for (int64_t i = 0; i < s.n; i++) {
        const int32_t id = g->pool[s.at + i];
        if (id == 0)
            continue;
        const struct attn_grammar_node n = g->node[id];
        const struct attn_gbnf_op *op = &g->is.op[n.op];
        if (byte >= op->lo && byte <= op->hi
            && automaton_close(g, n.op + 1, n.under) < 0)
            return -1;
    }
    const int32_t next = automaton_state(g);
    if (next >= 0)
        g->next[state * g->classes + class] = next;
    return next;
}

ATTN_API int attn_automaton_ends(const struct attn_grammar *g, int32_t state)
{
    const struct attn_grammar_state *s = &g->state[state];
    return s->n > 0 && g->pool[s->at] == 0;
}
