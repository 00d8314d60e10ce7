/* step_gather.c: emits ops whose rows depend on their place in the sequence:
 * embedding look-ups, positions, pooling, and row selection. */
#include "emit/gen/length.h"
#include "emit/gen/c_names.h"
#include "emit/product/products.h"
#include "emit/gen/step.h"

/* Emits the function that returns the token type of a row; a batch may have no
 * types. */
static void need_type_of(Gen *g)
{
    if (first_time(g, HelperTypeOf, "type_of"))
        put(g->shapes,
            "static int64_t type_of(const struct attn_batch *b, int64_t row)\n"
            "{\n"
            "    if (b->types)\n"
            "        return b->types[row];\n"
            "    return 0;\n"
            "}\n\n");
}

/* the current row of a loop; NULL: row 0 */
typedef struct {
    const char *i;
    Length at; /* position of the row in its sequence */
} Row;

/* Begins the loop over all rows of a call, in a step that is never divided. */
static Row begin_whole(Gen *g, Emit *e)
{
    const Sym rows = g->entry == EntryDecode ? SymT : SymN;
    const int64_t each = plan_length(g->p, rows);
    const char *i = begin_each(g, e, "i", call_rows(g, rows));
    Row row = { i, i ? length_text(i) : length_of(0) };
    if (i && !g->alone) {
        g->sequence = arena_printf(g->a, "i / %lld", (long long)each);
        row.at = length_text(arena_printf(g->a, "i %% %lld", (long long)each));
    }
    return row;
}

static Row begin_rows(Gen *g, Emit *e)
{
    if (g->undivided)
        return begin_whole(g, e);
    if (g->serial) {
        put(e,
            "const struct attn_batch *b = c->b;\n"
            "\n"
            "for (int64_t s = 0; s < b->sequences; s++) {\n"
            "    for (int64_t i = b->start[s]; i < b->start[s + 1]; i++) {\n");
        return (Row){ "i", length_text("i - b->start[s]") };
    }
    need_part_begin(g);
    need_max(g);
    put(e, "const struct attn_batch *b = c->b;\n"
           "const int64_t first = part_begin(b->rows, 1, part, parts);\n"
           "const int64_t last = part_begin(b->rows, 1, part + 1, parts);\n"
           "\n"
           "for (int64_t s = 0; s < b->sequences; s++) {\n"
           "    const int64_t end = min(b->start[s + 1], last);\n"
           "\n"
           "    for (int64_t i = max(b->start[s], first); i < end; i++) {\n");
    return (Row){ "i", length_text("i - b->start[s]") };
}

static void end_rows(const Gen *g, Emit *e)
{
    put(e, g->undivided ? "}\n"
                        : "}\n"
                          "}\n");
}

static const char *position_at(Gen *g, int table, Length at)
{
    const Node *t = node_at(g->p, table);
    const int64_t stride = round16(t->type.dim[1].c);
    const char *w = weight_of(g, table, PackRows);
    at = length_times(g, at, stride);
    return length_is(at, 0) ? w
                            : arena_printf(g->a, "%s + %s", w, length_c(g, at));
}

/* Returns the index of the table row for the row's position. If the index is
 * not a simple term, declares it as `at`. */
static Length let_position(Gen *g, Emit *e, const Node *n, Row row)
{
    Length at = row.at;
    if (!g->undivided) {
        let(e, "row", n->entry == EntryDecode ? "b->past[s] + i" : "i");
        let(e, "first", "%lld", (long long)n->first);
        put(e, n->first ? "const int64_t at = $row - b->start[s] + $first;\n"
                        : "const int64_t at = $row - b->start[s];\n");
        return length_text("at");
    }
    if (n->entry == EntryDecode)
        at = length_add(g, call_past(g), at);
    at = length_add(g, at, length_of(n->first));
    if (!at.sum)
        return at;
    let(e, "at", "%s", length_c(g, at));
    put(e, "const int64_t at = $at;\n");
    return length_text("at");
}

/* Emits RoPE, which rotates rows by the angles of their positions in the
 * sequence. */
void emit_rotate(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const char *kernel = n->layout == LayoutHalves ? "rotate_row_halves"
                                                   : "rotate_row_interleaved";
    const Row row = begin_rows(g, e);
    const Length at = let_position(g, e, n, row);
    put(e, "\n");
    put_call(e, use_kernel(g->kernels, kernel),
             arena_printf(g->a, "%s, %s, %s, %lld, %lld, %lld",
                          value_at(g, node, row.i),
                          value_at(g, n->in[0], row.i),
                          position_at(g, n->in[1], at), (long long)n->heads,
                          (long long)(n->type.dim[1].c / n->heads),
                          (long long)n->dims),
             ";");
    end_rows(g, e);
}

/* the current sequence of a loop, with its first and last row; NULL: 0 */
typedef struct {
    const char *sequence, *row, *last;
} Pooled;

static Pooled begin_pooled(Gen *g, Emit *e)
{
    const Pooled any = { "s", "row", "(row + rows - 1)" };
    const Length rows = sequence_rows(g, SymN);
    if (!g->undivided) {
        put(e, "const struct attn_batch *b = c->b;\n"
               "\n");
        put(e,
            g->serial
                ? "for (int64_t s = 0; s < b->sequences; s++) {\n"
                : "for (int64_t s = part; s < b->sequences; s += parts) {\n");
        put(e, "const int64_t row = b->start[s];\n"
               "const int64_t rows = b->start[s + 1] - row;\n"
               "\n");
        return any;
    }
    let(e, "rows", "%s", length_c(g, rows));
    put(e, "const int64_t rows = $rows;\n"
           "\n");
    if (!begin_each(g, e, "s", call_sequences(g)))
        return (Pooled){ NULL, NULL, "(rows - 1)" };
    put(e, "const int64_t row = s * rows;\n"
           "\n");
    return any;
}

/* Emits pooling: one row per sequence, computed from all rows of the
 * sequence. */
void emit_pool(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const bool one = n->pool == PoolClass || n->pool == PoolLast;
    const char *kernel = one
                           ? "copy_rows"
                           : arena_printf(g->a, "pool_%s", pool_word[n->pool]);
    const long long d = n->type.dim[1].c;
    const Pooled at = begin_pooled(g, e);
    const char *y = value_at(g, node, at.sequence);
    const char *row = n->pool == PoolLast ? at.last : at.row;
    const char *x = value_at(g, n->in[0], row);
    if (one)
        put(e, "if (rows > 0) {\n");
    put_call(e, use_kernel(g->kernels, kernel),
             one ? arena_printf(g->a, "%s, 0, %s, 0, 1, %lld", y, x, d)
                 : arena_printf(g->a, "%s, %s, %lld, rows, %lld", y, x,
                                stride_of(g, n->in[0]), d),
             ";");
    if (one)
        put(e, "}\n");
    put(e, "}\n");
}

/* Returns C for the address of row `id` of a table, and for its stride in
 * elements. For integers and bf16x2 in panels, the address is the panel's,
 * followed by the row's place in the panel. */
static const char *token_at(Gen *g, int table)
{
    const Type *t = &node_at(g->p, table)->type;
    const int64_t d = t->dim[1].c;
    const Dtype dtype = dtype_of(*t);
    const long long panel = ATTN_PANEL * panel_column(dtype, d);
    if (plan_block(g->p, table, PackPanels) < 0)
        return arena_printf(g->a, "%s + id * %lld, 1",
                            weight_of(g, table, PackRows),
                            (long long)round16(d));
    return arena_printf(g->a,
                        dtype_is_integer(dtype) || dtype == DtypeBf16x2
                            ? "%s + id / 16 * %lld, id %% 16"
                        : dtype == DtypeBf16
                            ? "%s + id / 16 * %lld + id %% 16 * 2, 16"
                            : "%s + id / 16 * %lld + id %% 16, 16",
                        weight_of(g, table, PackPanels), panel);
}

void emit_embed(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[1].c;
    const bool positions = n->nin > 2 && n->in[2] >= 0;
    const Row row = begin_rows(g, e);
    Length at = length_of(0);
    const bool types = node_at(g->p, n->in[1])->member == BatchTypes;
    if (types)
        need_type_of(g);
    let(e, "i", "%s", row.i ? row.i : "0");
    g->uses.batch = true;
    put(e, types ? "const int64_t id = type_of(b, $i);\n"
                 : "const int64_t id = b->ids[$i];\n");
    if (positions)
        at = let_position(g, e, n, row);
    put(e, "\n");
    const Dtype dtype = dtype_of(node_at(g->p, n->in[0])->type);
    const char *kernel = dtype == DtypeF32 ? "embed_row"
                                           : arena_printf(g->a, "embed_row_%s",
                                                          dtype_word[dtype]);
    put_call(e, use_kernel(g->kernels, kernel),
             arena_printf(g->a, "%s, %s, %lld, %s, %s",
                          value_at(g, node, row.i), token_at(g, n->in[0]),
                          (long long)d, c_float(g->a, n->scale),
                          positions ? position_at(g, n->in[2], at) : "0"),
             ";");
    end_rows(g, e);
}

void emit_position(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Row row = begin_rows(g, e);
    const Length at = let_position(g, e, n, row);
    put(e, "\n");
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             arena_printf(g->a, "%s, 0, %s, 0, 1, %lld",
                          value_at(g, node, row.i),
                          position_at(g, n->in[0], at),
                          (long long)n->type.dim[1].c),
             ";");
    end_rows(g, e);
}

/* Emits a copy of all rows in which a learned weight replaces the row at one
 * position. */
void emit_first_row(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const long long d = n->type.dim[1].c;
    const char *kernel = use_kernel(g->kernels, "copy_rows");
    const Row row = begin_rows(g, e);
    const char *y = value_at(g, node, row.i);
    let(e, "row", "%s", length_c(g, row.at));
    let(e, "at", "%lld", (long long)-n->first);
    put(e, "if ($row != $at) {\n");
    put_call(e, kernel,
             arena_printf(g->a, "%s, 0, %s, 0, 1, %lld", y,
                          value_at(g, n->in[0], row.i), d),
             ";");
    put(e, "} else {\n");
    put_call(e, kernel,
             arena_printf(g->a, "%s, 0, %s, 0, 1, %lld", y,
                          weight_of(g, n->in[1], PackVector), d),
             ";");
    put(e, "}\n");
    end_rows(g, e);
}

/* Emits the copy of an image whose lines of patches are complete. Rows that are
 * not patches, such as the class token's, become zeros. */
void emit_patches(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t columns = n->across * n->wide;
    let(e, "first", n->first ? "b->start[s] + %lld" : "b->start[s]",
        (long long)n->first);
    let(e, "across", "%lld", (long long)n->across);
    let(e, "tall", "%lld", (long long)n->tall);
    let(e, "y", "%s", value_at(g, node, "i"));
    let(e, "x", "%s", value_at(g, n->in[0], "start"));
    let(e, "d", "%lld", (long long)n->type.dim[1].c);
    let(e, "columns", "%lld", (long long)columns);
    let(e, "wide", "%lld", (long long)n->wide);
    let(e, "channels", "%lld", (long long)n->channels);
    begin_rows(g, e);
    put(e,
        "const int64_t start = $first;\n"
        "const int64_t lines = (b->start[s + 1] - start) / $across * $tall;\n"
        "const int64_t at = i - start, line = at / $across * $tall;\n"
        "float *y = $y;\n"
        "\n"
        "if (at < 0 || line >= lines) {\n"
        "    for (int64_t j = 0; j < $d; j++)\n"
        "        y[j] = 0;\n"
        "    continue;\n"
        "}\n"
        "const float *x = $x + line * $columns + at % $across * $wide;\n"
        "\n"
        "for (int64_t k = 0; k < $channels; k++) {\n");
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             arena_printf(g->a,
                          "y + k * %lld, %lld, x + k * lines * %lld, "
                          "%lld, %lld, %lld",
                          (long long)(n->tall * n->wide), (long long)n->wide,
                          (long long)columns, (long long)columns,
                          (long long)n->tall, (long long)n->wide),
             ";");
    put(e, "}\n"
           "}\n"
           "}\n");
}

void emit_select(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    put(e, "const struct attn_batch *b = c->b;\n"
           "\n");
    put(e, g->undivided || g->serial
               ? "for (int64_t i = 0; i < b->selected; i++) {\n"
               : "for (int64_t i = part; i < b->selected; i += parts) {\n");
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             arena_printf(g->a, "%s, 0, %s, 0, 1, %lld", value_at(g, node, "i"),
                          value_at(g, n->in[0], "b->select[i]"),
                          (long long)n->type.dim[1].c),
             ";");
    put(e, "}\n");
}
