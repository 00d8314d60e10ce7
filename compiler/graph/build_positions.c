/* build_positions.c: rotation by position, and tables of positions. Layers of a
 * stack with the same parameters share a table. */
#include <string.h>

#include "graph/build.h"

/* Returns the number of rotary columns of a head. */
static int64_t turned_columns(const Build *b)
{
    return spec_rotary_columns(b->s, (Side)(b->side - b->s->side));
}

/* True if two specs rotate n columns by the same angles at all positions. */
static bool same_angles(const Spec *a, const Spec *b, int64_t n,
                        int64_t max_len)
{
    Arena *arena = arena_new();
    double *x = arena_alloc(arena, (size_t)n * sizeof *x);
    double *y = arena_alloc(arena, (size_t)n * sizeof *y);
    const double mine = spec_rotary(a, n, max_len, x);
    const double other = spec_rotary(b, n, max_len, y);
    const bool same = memcmp(&mine, &other, sizeof mine) == 0
                   && memcmp(x, y, (size_t)(n / 2) * sizeof *x) == 0;
    arena_free(arena);
    return same;
}

/* True if rotary tables of both specs for these rows grow in the same way. */
static bool same_growth(const Spec *a, const Spec *b, int part)
{
    int64_t step, other_step;
    const double mine = spec_query_growth(a, &step);
    const double other = spec_query_growth(b, &other_step);
    return part != PartQuery
        || (memcmp(&mine, &other, sizeof mine) == 0 && step == other_step);
}

/* True if the current layer can use this table for the op. */
static bool serves(const Build *b, const Node *table, Op op, int part)
{
    const Spec *s = b->s;
    if (table->op != op)
        return false;
    const int64_t columns = table->type.dim[1].c;
    if (op == OpRotaryTable)
        return columns == turned_columns(b) && table->part == part
            && same_growth(table->spec, s, part)
            && same_angles(table->spec, s, columns, b->side->max_len);
    return table->type.dim[0].c == s->pos_buckets
        && table->type.dim[1].c == b->side->h;
}

/* Returns the stack's table for this op that fits the layer, adding it if there
 * is none. Tables are named "rotary", "rotary_2", etc., and belong to no
 * layer. */
static int position_table(Build *b, Op op, int part, int64_t rows,
                          int64_t columns, const char *word)
{
    const int layer = b->layer;
    const Sublayer sublayer = b->sublayer;
    int others = 1;
    for (int i = 0; i < b->tables.n; i++) {
        const Node *n = &b->g->nodes.at[b->tables.at[i]];
        if (serves(b, n, op, part))
            return b->tables.at[i];
        others += n->op == op;
    }
    if (others > 1)
        word = arena_printf(b->g->arena, "%s_%d", word, others);
    b->layer = -1;
    b->sublayer = SublayerNone;
    b->outside_layers = true;
    const int node = op == OpWeight ? put_weight(b, rows, columns, word)
                                    : put_table(b, op, rows, columns, word);
    b->g->nodes.at[node].spec = b->s;
    b->g->nodes.at[node].part = part;
    b->outside_layers = false;
    b->layer = layer;
    b->sublayer = sublayer;
    vec_push(b->g->arena, &b->tables, node);
    return node;
}

/* Returns the table for keys, or that for queries, which is the same unless
 * these grow. */
static int rotary_table(Build *b, int part)
{
    b->field = "positions.type";
    return position_table(b, OpRotaryTable,
                          b->s->scaling.query_log > 0 ? part : PartKey,
                          b->side->max_len, turned_columns(b), "rotary");
}

int put_biases(Build *b)
{
    return position_table(b, OpWeight, PartKey, b->s->pos_buckets, b->side->h,
                          "relative");
}

int put_turned(Build *b, int x, int64_t heads, int part, const char *word)
{
    const Spec *s = b->s;
    if (s->positions != PosRotary)
        return x;
    b->field = "positions.type";
    Node n = { .op = OpRotate,
               .in = { x, rotary_table(b, part) },
               .nin = 2,
               .heads = heads,
               .dims = turned_columns(b),
               .layout = s->pos_layout,
               .part = part };
    return put_node(b, n, build_join(b, word, ".rotated"));
}
