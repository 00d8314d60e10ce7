/* step_recurrent.c: emits scans of recurrent layers, which pass states from row
 * to row of a sequence. A step processes one row of each sequence that is long
 * enough, and reads the recurrent weights once for all of them. Threads divide
 * the sequences or, if there are few, the columns of a step; in the latter case
 * all threads finish a step before the next one begins. */
#include "emit/attention/attention.h"
#include "emit/gen/c_names.h"
#include "emit/product/products.h"
#include "emit/gen/sections.h"
#include "emit/gen/step.h"

/* minimum sequences per part; with fewer, reading the weights dominates */
enum { FewSequences = 8 };

/* ---- a scan's function ---- */

/* Returns the multiple of columns at which a gate may be divided: a full tile
 * if tiles divide the gate, otherwise the complete gate. */
static int64_t unit_of(Gen *g, int node)
{
    const int64_t d = node_at(g->p, node)->type.dim[1].c;
    const int64_t unit = ATTN_PANEL
                       * (int64_t)tiling_of(g, TaskMatmul, node)->panels;
    return d % unit ? d : unit;
}

/* Binds the layout of a scan's scratch: the states, their sums, and the
 * cells. */
static void let_scan(Gen *g, Emit *e, int node)
{
    const ScanFloats s = scan_floats(g->p, node);
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[1].c;
    let(e, "d", "%lld", (long long)d);
    let(e, "unit", "%lld", (long long)unit_of(g, node));
    let(e, "ld", "%lld", (long long)s.state);
    let(e, "sum", "%lld", (long long)s.sums);
    let(e, "cell", "%lld", (long long)s.cell);
    let(e, "after", n->reversed ? "row - 1" : "row + 1");
    let(e, "start", "%s",
        n->reversed ? "b->start[s + 1] - 1 - t" : "b->start[s] + t");
}

/* Emits a copy of the state at `from`. */
static void put_taken(Gen *g, Emit *e, bool cells, const char *from)
{
    let(e, "state", "%s", from);
    let(e, "copy", "%s", use_kernel(g->kernels, "copy_rows"));
    put(e, "const float *state =\n"
           "    $state;\n"
           "\n"
           "$copy(next + i * $ld, 0, state, 0, 1, $d);\n");
    if (cells)
        put(e, "$copy(cells + i * $cell, 0, state + $d, 0, 1, $d);\n");
}

static void put_zeros(Emit *e, bool cells)
{
    put(e, "for (int64_t j = 0; j < $d; j++)\n"
           "    next[i * $ld + j] = 0.0f;\n");
    if (cells)
        put(e, "for (int64_t j = 0; j < $d; j++)\n"
               "    cells[i * $cell + j] = 0.0f;\n");
}

/* Emits the states before the first row: the cached ones if there are earlier
 * rows, otherwise the source's final states or zeros. */
static void put_first_states(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const bool cells = n->cell == CellLstm;
    put(e, "if (t < 0) {\n"
           "    for (int64_t i = first; i < last; i++) {\n");
    if (n->entry == EntryDecode) {
        put(e, "const int64_t s = order[i];\n"
               "\n"
               "if (b->past[s] > 0) {\n");
        put_taken(g, e, cells, state_text(g, node, "b->past[s] - 1"));
        put(e, "} else {\n");
        if (n->sourced)
            put(e, "const int64_t source = b->source[s];\n");
    }
    if (n->sourced)
        put_taken(g, e, cells, source_state(g, n->in[n->nin - 1]));
    else
        put_zeros(e, cells);
    if (n->entry == EntryDecode)
        put(e, "}\n");
    put(e, "}\n"
           "continue;\n"
           "}\n");
}

/* Emits code that stores two states, after the last row and after the row
 * before it, because the last row may be decoded again. */
static void put_last_states(Gen *g, Emit *e, int node)
{
    if (!node_at(g->p, node)->state)
        return;
    let(e, "state", "%s",
        state_text(g, node,
                   node_at(g->p, node)->entry == EntryDecode ? "b->past[s] + t"
                                                             : "t"));
    let(e, "copy", "%s", use_kernel(g->kernels, "copy_rows"));
    put(e, "if (t + 2 >= length_of(b, s)) {\n"
           "    float *state =\n"
           "        $state + from;\n"
           "\n"
           "    $copy(state, 0, next + i * $ld + from, 0, 1, to - from);\n");
    if (node_at(g->p, node)->cell == CellLstm)
        put(e,
            "$copy(state + $d, 0, cells + i * $cell + from, 0, 1, to - from);\n");
    put(e, "}\n");
}

/* Emits the products of the previous states for a part's columns of each
 * gate. */
static void put_gate_sums(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[1].c, all = cell_gates(n->cell) * d;
    const ScanFloats s = scan_floats(g->p, node);
    const bool undivided = unit_of(g, node) == d;
    const char *columns = undivided ? arena_printf(g->a, "0, %lld",
                                                   (long long)round16(all))
                                    : "at + from, at + to";
    const char *args = arena_printf(
        g->a,
        "%slast - first, %s, h + first * %lld, %lld, %s, sums + first * %lld, "
        "%lld",
        amx_argument(g, node), columns, (long long)s.state, (long long)s.state,
        weight_of(g, n->in[1], PackPanels), (long long)s.sums,
        (long long)s.sums);
    let(e, "all", "%lld", (long long)all);
    if (!undivided)
        put(e, "for (int64_t at = 0; at < $all; at += $d) {\n");
    put_call(e, need_matmul(g, node), args, ";");
    if (!undivided)
        put(e, "}\n");
}

static void put_cells(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const ScanFloats s = scan_floats(g->p, node);
    const long long d = n->type.dim[1].c;
    const char *bias = n->nin - n->sourced > 2
                         ? weight_of(g, n->in[2], PackVector)
                         : "0";
    const char *last = n->cell == CellGru ? arena_printf(g->a, "h + i * %lld, ",
                                                         (long long)s.state)
                     : n->cell == CellLstm
                         ? arena_printf(g->a, "cells + i * %lld, ",
                                        (long long)s.cell)
                         : "";
    const char *kernel = n->cell == CellGru ? "gru_row"
                       : n->cell == CellLstm
                           ? "lstm_row"
                           : arena_printf(g->a, "simple_row_%s",
                                          act_text[n->act].plain);
    put(e, "for (int64_t i = first; i < last; i++) {\n"
           "    const int64_t s = order[i];\n"
           "    const int64_t row = $start;\n"
           "    const int64_t soon = t + 1 < length_of(b, s) ? $after : row;\n"
           "\n");
    put_call(e, use_kernel(g->kernels, kernel),
             arena_printf(
                 g->a,
                 "%s, next + i * %lld, %s%s, %s, sums + i * %lld, "
                 "%s, %sfrom, to",
                 value_at(g, node, "row"), (long long)s.state, last,
                 value_at(g, n->in[0], "row"), value_at(g, n->in[0], "soon"),
                 (long long)s.sums, bias,
                 n->cell == CellSimple ? "" : arena_printf(g->a, "%lld, ", d)),
             ";");
    put_last_states(g, e, node);
    put(e, "}\n");
}

/* Emits the function that sorts sequences by length, longest first, so that the
 * sequences that still have a row are contiguous. */
static void need_order(Gen *g)
{
    Emit *e = g->shapes;
    if (!first_time(g, HelperOrder, "order_sequences"))
        return;
    put(e,
        "static int64_t length_of(const struct attn_batch *b, int64_t s)\n"
        "{\n"
        "    return b->start[s + 1] - b->start[s];\n"
        "}\n"
        "\n"
        "/* Sorts sequences first .. last - 1 for a scan, the longest first. */\n"
        "static void order_sequences(const struct attn_batch *b, int32_t *order,\n"
        "                            int64_t first, int64_t last)\n"
        "{\n"
        "    for (int64_t i = first; i < last; i++)\n"
        "        order[i] = (int32_t)i;\n"
        "    for (int64_t gap = (last - first) / 2; gap > 0; gap /= 2)\n"
        "        for (int64_t i = first + gap; i < last; i++) {\n"
        "            const int32_t s = order[i];\n"
        "            int64_t k = i;\n"
        "\n"
        "            for (; k >= first + gap; k -= gap) {\n"
        "                if (length_of(b, order[k - gap]) >= length_of(b, s))\n"
        "                    break;\n"
        "                order[k] = order[k - gap];\n"
        "            }\n"
        "            order[k] = s;\n"
        "        }\n"
        "}\n\n");
}

void emit_recurrent(Gen *g, Emit *e, int node)
{
    const bool cells = node_at(g->p, node)->cell == CellLstm;
    if (!g->serial)
        need_part_begin(g);
    need_order(g);
    let_scan(g, e, node);
    put(e, "const struct attn_batch *b = c->b;\n"
           "const int64_t n = b->sequences;\n"
           "int32_t *order = c->order;\n"
           "float *states = c->scan, *sums = states + 2 * n * $ld;\n");
    if (cells)
        put(e, "float *cells = sums + n * $sum;\n");
    put(e, g->serial
               ? "const int64_t first = 0, from = 0, to = $d;\n"
                 "int64_t last = n;\n"
                 "\n"
                 "order_sequences(b, order, 0, n);\n"
                 "for (int64_t t = -1;; t++) {\n"
               : "int64_t first = 0, last = n, from = 0, to = $d;\n"
                 "\n"
                 "if (c->by_columns) {\n"
                 "    from = part_begin($d, $unit, part, parts);\n"
                 "    to = part_begin($d, $unit, part + 1, parts);\n"
                 "} else {\n"
                 "    first = part_begin(n, 1, part, parts);\n"
                 "    last = part_begin(n, 1, part + 1, parts);\n"
                 "    order_sequences(b, order, first, last);\n"
                 "}\n"
                 "for (int64_t t = c->row; t < c->row + c->rows; t++) {\n");
    put(e, "const float *h = states + (t & 1) * n * $ld;\n"
           "float *next = states + (~t & 1) * n * $ld;\n"
           "\n");
    put_first_states(g, e, node);
    put(e, "while (last > first && length_of(b, order[last - 1]) <= t)\n"
           "    last -= 1;\n");
    put(e, "if (first == last)\n"
           "    break;\n");
    put_gate_sums(g, e, node);
    put_cells(g, e, node);
    put(e, "}\n");
}

/* ---- running it ---- */

bool has_scan(const Plan *p, Entry entry)
{
    return p->scan[entry] > 0;
}

void emit_scan_head(Emit *e, Entry entry, const char *tail)
{
    Arena *a = emit_arena(e);
    put_call(e, arena_printf(a, "static void %s_scan", entry_name(entry)),
             arena_printf(a, "struct %s *c, const struct step *step",
                          entry_name(entry)),
             tail);
}

void emit_scan(Gen *g, Emit *e, Entry entry)
{
    if (!has_scan(g->p, entry))
        return;
    let(e, "few", "%d", FewSequences);
    put(e,
        "/* Runs a scan. Divides the sequences if each part has enough of them; else\n"
        " * divides the columns of each step. */\n");
    emit_scan_head(e, entry, "");
    put(e,
        "{\n"
        "    const struct attn_batch *b = c->b;\n"
        "    const int64_t n = b->sequences;\n"
        "    const int64_t parts = parts_of(b, b->rows * step->flops);\n"
        "    const int64_t columns = parts_of(b, max(n, MIN_ROWS) * step->flops);\n"
        "    int64_t longest = 0;\n"
        "\n"
        "    for (int64_t s = 0; s < n; s++)\n"
        "        longest = max(longest, length_of(b, s));\n"
        "    c->by_columns = columns > 1 && n < $few * columns;\n"
        "    c->row = -1;\n"
        "    c->rows = longest + 1;\n"
        "    if (!c->by_columns) {\n"
        "        run_parts(b, min(parts, max(n, 1)), step->run, c);\n"
        "        return;\n"
        "    }\n"
        "    order_sequences(b, c->order, 0, n);\n"
        "    c->rows = 1;\n"
        "    step->run(c, 0, 1);\n"
        "    for (c->row = 0; c->row < longest; c->row++)\n"
        "        run_parts(b, columns, step->run, c);\n"
        "}\n\n");
}
