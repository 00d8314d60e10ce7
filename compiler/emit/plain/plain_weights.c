/* plain_weights.c: emits struct weights of plain C, and writes its file, whose
 * bytes are laid out as a C compiler lays out the struct. Matrices are stored
 * row by row. */
#include "emit/plain/plain.h"

#include "emit/gen/sections.h"

#include <string.h>

/* ---- what a block is in plain C ---- */

enum { MostParts = 4 };

typedef struct { /* an array in a struct of weights */
    const char *suffix, *type;
    int64_t bytes; /* bytes per number */
    int64_t size;  /* number of elements */
} WeightArray;

/* Returns the number of rows of a block. The matrices of experts are stacked; a
 * table of biases by distance has a row per head. */
static int64_t rows_of_block(const Plan *p, const Block *b)
{
    if (b->distances)
        return b->layout == PackDistance ? b->k : b->columns;
    const Node *n = node_at(p, b->root);
    if (b->layout == PackVector)
        return n->parts ? n->parts * n->type.dim[1].c : b->columns;
    return n->parts ? n->parts * matrix_rows(n->type) : b->columns;
}

static int64_t columns_of_block(const Block *b)
{
    return b->layout == PackVector ? 1 : b->distances ? bias_width(b) : b->k;
}

/* Returns the number of groups in a row of 4-bit weights. */
static int64_t groups_of(const Block *b)
{
    const int64_t shared = dtype_shared(b->dtype);
    return (columns_of_block(b) + shared - 1) / shared;
}

/* Fills a[] with the arrays of a block. Returns their number. */
static int arrays_of(const Plan *p, const Block *b, WeightArray a[MostParts])
{
    const int64_t rows = rows_of_block(p, b), k = columns_of_block(b);
    const char *type = number_type(b->dtype);
    if (dtype_shared(b->dtype)) {
        const int64_t groups = rows * groups_of(b);
        a[0] = (WeightArray){ "", type, 1,
                              groups * dtype_shared(b->dtype) / 2 };
        a[1] = (WeightArray){ "_step", "uint8_t", 1, groups };
        a[2] = (WeightArray){ "_offset", "int8_t", 1, groups };
        a[3] = (WeightArray){ "_scale", "float", 4, rows };
        return 4;
    }
    a[0] = (WeightArray){ "", type, (int64_t)dtype_number_bytes(b->dtype),
                          rows * k };
    a[1] = (WeightArray){ "_scale", "float", 4, rows };
    return 1 + dtype_is_integer(b->dtype);
}

/* ---- structs ---- */

static const char *shape_of(Gen *g, const Block *b)
{
    const Node *n = b->root >= 0 && !b->distances ? node_at(g->p, b->root)
                                                  : NULL;
    if (n && !n->parts)
        return strchr(print_type(g->a, n->type), '[');
    if (n)
        return arena_printf(g->a, "%s, one behind the other",
                            strchr(print_type(g->a, n->type), '['));
    return arena_printf(g->a, "[%lld, %lld] by distance",
                        (long long)rows_of_block(g->p, b),
                        (long long)columns_of_block(b));
}

/* True if the vector `b` belongs to `a`: a bias to its matrix, or beta to
 * gamma. Both are then declared on one line. */
static bool go_together(const Plan *p, int a, int b)
{
    if (a < 0 || b < 0 || p->block.at[b].layout != PackVector
        || p->block.at[a].dtype != DtypeF32)
        return false;
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        for (int k = 0; k + 1 < n->nin; k++)
            if (n->in[k] == p->block.at[a].root && p->block.at[a].root >= 0
                && n->in[k + 1] == p->block.at[b].root)
                return true;
    }
    return false;
}

static const char *size_text(Gen *g, const Block *b, const WeightArray *array)
{
    const long long rows = rows_of_block(g->p, b), k = columns_of_block(b);
    return k > 1 && array->size == rows * k
             ? arena_printf(g->a, "%lld * %lld", rows, k)
             : arena_printf(g->a, "%lld", (long long)array->size);
}

/* Returns the block before this one in its layer; -1 if it is the first. */
static int block_before(const Plan *p, const Block *b)
{
    const LayerBlocks *l = plan_layer(p, b->layer < 0 ? StackNone : b->stack,
                                      b->layer);
    int before = -1;
    for (int i = l->first; &p->block.at[i] != b; i = p->block.at[i].of_layer)
        before = i;
    return before;
}

/* Returns the declarations of a block's arrays. A vector that belongs to the
 * previous block is on the same line: " float w1[64 * 32], w1_bias[64];". */
static const char *members_of(Gen *g, const Block *b)
{
    WeightArray array[MostParts], vector[MostParts];
    const int n = arrays_of(g->p, b, array), block = (int)(b - g->p->block.at);
    if (go_together(g->p, block_before(g->p, b), block))
        return "";
    const char *text = arena_printf(g->a, "    %s %s[%s]", array[0].type,
                                    b->field, size_text(g, b, array));
    if (go_together(g->p, block, b->of_layer)) {
        const Block *with = &g->p->block.at[b->of_layer];
        arrays_of(g->p, with, vector);
        text = arena_printf(g->a, "%s, %s[%s]", text, with->field,
                            size_text(g, with, vector));
    }
    text = arena_printf(g->a, "%-56s /* %s */\n",
                        arena_printf(g->a, "%s;", text), shape_of(g, b));
    for (int i = 1; i < n; i++)
        text = arena_printf(g->a, "%s    %s %s%s[%s];\n", text, array[i].type,
                            b->field, array[i].suffix,
                            size_text(g, b, &array[i]));
    return text;
}

const char *plain_block(Plain *p, int block)
{
    const Block *b = &p->g.p->block.at[block];
    p->g.uses.model = true;
    p->g.uses.weights |= b->layer >= 0;
    return arena_printf(p->g.a, b->layer >= 0 ? "layer->%s" : "w->%s",
                        b->field);
}

const char *plain_weight(Plain *p, int root, const char *part)
{
    int b = -1;
    for (int layout = PackPanels; layout <= PackVector && b < 0; layout++)
        b = plan_block(p->g.p, root, (PackLayout)layout);
    if (b < 0)
        die("node %d is not packed", root);
    return arena_printf(p->g.a, "%s%s", plain_block(p, b), part);
}

void emit_plain_weights(Plain *p, Emit *e)
{
    p->g.member = members_of;
    if (p->g.p->block.n)
        put(e,
            "/* Weights: a matrix [n, k] computes n numbers from k; biases follow. */\n");
    emit_layer_structs(&p->g, e);
}

/* ---- the file ---- */

typedef struct {
    const Plan *p;
    const unsigned char *packed;
    unsigned char *to; /* destination; NULL: only compute sizes */
    int64_t at;
    int64_t widest; /* size in bytes of the widest number in any struct */
} Image;

static void align(Image *m, int64_t to)
{
    m->at = (m->at + to - 1) / to * to;
}

/* Returns the index of row r in the panels. Each expert begins a new panel. */
static int64_t packed_row(const Plan *p, const Block *b, int64_t r)
{
    const Node *n = b->distances ? NULL : node_at(p, b->root);
    if (!n || !n->parts)
        return r;
    const int64_t d = b->layout == PackVector ? n->type.dim[1].c
                                              : matrix_rows(n->type);
    return r / d * round16(d) + r % d;
}

/* Returns the panel that contains the row, and the row's column in it. */
static const unsigned char *panel_at(const Image *m, const Block *b,
                                     int64_t row, int64_t *column)
{
    const int64_t r = packed_row(m->p, b, row);
    *column = r % ATTN_PANEL;
    return m->packed + b->at
         + r / ATTN_PANEL * ATTN_PANEL
               * dtype_column_bytes(b->dtype, columns_of_block(b));
}

/* Returns the address of element k in a row of floats. */
static const unsigned char *number_at(const Image *m, const Block *b,
                                      int64_t row, int64_t k, int64_t bytes)
{
    const int64_t r = packed_row(m->p, b, row), stored = columns_of_block(b);
    int64_t c;
    if (b->layout == PackPanels) {
        const int64_t of = b->dtype == DtypeBf16 ? 2 : 1; /* k side by side */
        return panel_at(m, b, row, &c)
             + (k / of * of * ATTN_PANEL + c * of + k % of) * bytes;
    }
    return m->packed + b->at
         + (b->layout == PackVector ? r : r * round16(stored) + k) * bytes;
}

/* Returns the address of a column's scale. Scales are stored after the groups
 * of a panel. */
static const unsigned char *scale_at(const Block *b, const unsigned char *panel,
                                     int64_t column)
{
    const int64_t k = columns_of_block(b);
    return panel + ATTN_PANEL * (dtype_column_bytes(b->dtype, k) - 8)
         + column * 4;
}

static void put_int8(const Image *m, const Block *b, int64_t rows, int64_t k,
                     unsigned char *const to[MostParts])
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t c;
        const unsigned char *panel = panel_at(m, b, r, &c);
        for (int64_t i = 0; i < k; i++)
            to[0][r * k + i] = panel[i / 4 * 64 + c * 4 + i % 4];
        memcpy(to[1] + r * 4, scale_at(b, panel, c), 4);
    }
}

/* Writes both numbers of bf16 in 32 bits, the first in the upper half. */
static void put_bf16x2(const Image *m, const Block *b, int64_t rows, int64_t k,
                       unsigned char *to)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t c;
        const unsigned char *panel = panel_at(m, b, r, &c);
        for (int64_t i = 0; i < k; i++) {
            uint16_t near, rest;
            const unsigned char *at = panel + i / 32 * 2048 + i % 32 / 2 * 64
                                    + c * 4 + i % 2 * 2;
            memcpy(&near, at, sizeof near);
            memcpy(&rest, at + 1024, sizeof rest);
            const uint32_t two = (uint32_t)near << 16 | rest;
            memcpy(to + (r * k + i) * 4, &two, sizeof two);
        }
    }
}

/* Writes rows with two numbers per byte, the first in the low half. A packed
 * panel consists of pairs of groups: their numbers, then their steps and
 * offsets. */
static void put_int4(const Image *m, const Block *b, int64_t rows,
                     unsigned char *const to[MostParts])
{
    const int64_t groups = groups_of(b), shared = dtype_shared(b->dtype);
    const int64_t size = ATTN_PANEL * shared / 2, pair = 2 * size + 64;
    for (int64_t r = 0; r < rows; r++) {
        int64_t c;
        const unsigned char *panel = panel_at(m, b, r, &c);
        for (int64_t i = 0; i < groups * shared; i++) {
            const unsigned char *group = panel + i / shared / 2 * pair
                                       + i / shared % 2 * size;
            const int64_t k = i % shared;
            const int half = group[k / 8 * 64 + c * 4 + k % 4]
                              >> (k % 8 / 4 * 4)
                           & 15;
            unsigned char *at = to[0] + (r * groups * shared + i) / 2;
            *at = (unsigned char)(i % 2 ? *at | half << 4 : half);
        }
        for (int64_t g = 0; g < groups; g++) {
            const unsigned char *step = panel + g / 2 * pair + 2 * size
                                      + g % 2 * 32 + c;
            to[1][r * groups + g] = step[0];
            to[2][r * groups + g] = step[16];
        }
        memcpy(to[3] + r * 4, scale_at(b, panel, c), 4);
    }
}

static void put_matrix_block(Image *m, const Block *b)
{
    WeightArray array[MostParts];
    unsigned char *to[MostParts] = { NULL };
    const int n = arrays_of(m->p, b, array);
    const int64_t rows = rows_of_block(m->p, b), k = columns_of_block(b);
    for (int i = 0; i < n; i++) {
        m->widest = array[i].bytes > m->widest ? array[i].bytes : m->widest;
        align(m, array[i].bytes);
        if (m->to)
            to[i] = m->to + m->at;
        m->at += array[i].bytes * array[i].size;
    }
    if (!m->to)
        return;
    if (dtype_shared(b->dtype))
        put_int4(m, b, rows, to);
    else if (dtype_is_integer(b->dtype))
        put_int8(m, b, rows, k, to);
    else if (b->dtype == DtypeBf16x2)
        put_bf16x2(m, b, rows, k, to[0]);
    else
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < k; i++)
                memcpy(to[0] + (r * k + i) * array[0].bytes,
                       number_at(m, b, r, i, array[0].bytes),
                       (size_t)array[0].bytes);
}

/* Writes a layer's struct, aligned and padded to the widest number. */
static void put_struct(Image *m, Gen *g, Stack stack, int layer)
{
    const LayerBlocks *l = plan_layer(g->p, stack, layer);
    int64_t widest = 1;
    for (int i = l ? l->first : -1; i >= 0; i = g->p->block.at[i].of_layer) {
        WeightArray array[MostParts];
        const int n = arrays_of(g->p, &g->p->block.at[i], array);
        for (int k = 0; k < n; k++)
            widest = array[k].bytes > widest ? array[k].bytes : widest;
    }
    align(m, widest);
    for (int i = l ? l->first : -1; i >= 0; i = g->p->block.at[i].of_layer)
        put_matrix_block(m, &g->p->block.at[i]);
    if (layer >= 0)
        align(m, widest);
}

int64_t plain_image(unsigned char *to, Arena *a, const Plan *p,
                    const void *packed)
{
    Gen g = { .a = a, .p = p, .member = members_of };
    Image m = { .p = p, .packed = packed, .to = to, .widest = 1 };
    emit_layer_structs(&g, emit_new(a));
    put_struct(&m, &g, StackNone, -1);
    for (int i = 0; i < Stacks; i++)
        for (int like = 0; like < g.layers[i].n; like++)
            for (int l = like; l < g.layers[i].n && *g.layers[i].members[l];
                 l++)
                if (g.layers[i].like[l] == like)
                    put_struct(&m, &g, (Stack)i, l);
    align(&m, m.widest);
    return m.at;
}
