/* step_convolution.c: emits convolutions. Each row reads neighbouring rows of
 * its sequence, one per tap of the kernel, and zeros outside of the sequence.
 * Columns are independent, so threads divide the columns. */
#include "emit/attention/attention.h"
#include "emit/gen/c_names.h"
#include "emit/gen/step.h"

enum {
    TileRows = 4
}; /* number of rows that kernel depthwise_rows computes together */

/* Emits an array of `columns` zeros unless the array exists. Returns its
 * name. */
static const char *need_zeros(Gen *g, int64_t columns)
{
    const SharedKey key = { .kind = SharedZeros, .size = { round16(columns) } };
    bool made;
    const char *name = shared_name(g, &key,
                                   arena_printf(g->a, "zeros_%lld",
                                                (long long)round16(columns)),
                                   &made);
    if (!made) {
        let(g->shapes, "name", "%s", name);
        let(g->shapes, "columns", "%lld", (long long)round16(columns));
        put(g->shapes, "static const float $name[$columns];\n\n");
    }
    return name;
}

static const char *need_tap(Gen *g, bool decoder)
{
    const SharedKey key = { .kind = SharedTap, .size = { decoder } };
    bool made;
    const char *name = shared_name(g, &key, decoder ? "tap_before" : "tap_at",
                                   &made);
    Emit *e = g->shapes;
    if (made)
        return name;
    put(e,
        decoder
            ? "/* Returns row i of a sequence's new rows. Rows before them end at\n"
              " * `past`; past NULL: they are zeros. */\n"
              "static const float *tap_before(const float *x, int64_t ldx, int64_t i,\n"
              "                               const float *past, int64_t d,\n"
              "                               const float *zeros)\n"
              "{\n"
              "    if (i >= 0)\n"
              "        return x + i * ldx;\n"
              "    return past ? past + i * d : zeros;\n"
              "}\n\n"
            : "/* Returns row i of the n rows of a sequence; zeros outside of it. */\n"
              "static const float *tap_at(const float *x, int64_t ldx, int64_t i,\n"
              "                           int64_t n, const float *zeros)\n"
              "{\n"
              "    return i >= 0 && i < n ? x + i * ldx : zeros;\n"
              "}\n\n");
    return name;
}

/* Returns the number of frames side by side in a row of the input. */
static int64_t frames_of(const Node *n)
{
    return n->frames > 0 ? n->frames : 1;
}

static int64_t tap_columns(Gen *g, int node)
{
    const Node *n = node_at(g->p, node);
    return node_at(g->p, n->in[0])->type.dim[1].c / frames_of(n);
}

/* Returns e.g. "row", or "row * 2" if the input has two rows for each row of
 * the batch. */
static const char *times_text(Gen *g, const char *rows, int64_t times)
{
    return times > 1 ? arena_printf(g->a, "%s * %lld", rows, (long long)times)
                     : rows;
}

/* Returns C for a sum, "x + 32", or "x" if n is 0. */
static const char *plus(Gen *g, const char *x, int64_t n)
{
    return n > 0 ? arena_printf(g->a, "%s + %lld", x, (long long)n)
         : n < 0 ? arena_printf(g->a, "%s - %lld", x, -(long long)n)
                 : x;
}

/* Returns C for the address of row `i` of a sequence, counted from the first
 * row that is not skipped. */
static const char *tap_text(Gen *g, int node, const char *i)
{
    const Node *n = node_at(g->p, node);
    const bool decoder = n->entry == EntryDecode;
    const int64_t d = tap_columns(g, node);
    const int64_t ld = stride_of(g, n->in[0]) / frames_of(n);
    const char *outside = decoder && n->state
                            ? arena_printf(g->a, "past, %lld", (long long)d)
                        : decoder ? "0, 0"
                                  : plus(g, "rows", -n->skipped);
    return arena_printf(g->a, "%s(%s, %lld, %s, %s, %s)", need_tap(g, decoder),
                        plus(g, "x", n->skipped * ld), (long long)ld, i,
                        outside, need_zeros(g, d));
}

/* Begins the loop over sequences for the columns from .. to - 1 of a part.
 * Declares the rows of a sequence, and the cached rows before them. */
static void begin_columns(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    if (!g->serial)
        need_part_begin(g);
    const int64_t times = row_times(node_at(g->p, n->in[0])->type);
    let(e, "d", "%lld", (long long)tap_columns(g, node));
    let(e, "x", "%s", value_at(g, n->in[0], times_text(g, "row", times)));
    let(e, "rows", "%s",
        times_text(g,
                   times * frames_of(n) > 1 ? "(b->start[s + 1] - row)"
                                            : "b->start[s + 1] - row",
                   times * frames_of(n)));
    put(e, "const struct attn_batch *b = c->b;\n");
    put(e, g->serial
               ? "const int64_t from = 0, to = $d;\n"
               : "const int64_t from = part_begin($d, 16, part, parts);\n"
                 "const int64_t to = part_begin($d, 16, part + 1, parts);\n");
    put(e, "\n"
           "for (int64_t s = 0; s < b->sequences; s++) {\n"
           "    const int64_t row = b->start[s];\n"
           "    const int64_t rows = $rows;\n"
           "    const float *x = $x;\n");
    if (n->state) {
        let(e, "state", "%s", state_text(g, node, "b->past[s] - 1"));
        let(e, "end", "%lld", (long long)n->state);
        put(e, "const float *past = 0;\n"
               "\n"
               "if (b->past[s] > 0)\n"
               "    past = $state + $end;\n");
    }
}

/* Emits code that stores the last input rows as two states: one after the last
 * row, one after the row before it. The state whose slot does not hold the old
 * state is written first, because the old state is still being read. */
static void put_states(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = node_at(g->p, n->in[0])->type.dim[1].c;
    if (!n->state)
        return;
    let(e, "state", "%s", state_text(g, node, "b->past[s] + last"));
    let(e, "kept", "%lld", (long long)(n->state / d));
    let(e, "tap", "%s",
        tap_text(g, node,
                 arena_printf(g->a, "last + i - %lld",
                              (long long)(n->state / d) - 1)));
    put(e, "for (int64_t k = 0; k < 2; k++) {\n"
           "    const int64_t last = rows - 2 + (rows + k) % 2;\n"
           "\n"
           "    if (last < 0)\n"
           "        continue;\n"
           "    float *state = $state + from;\n"
           "\n"
           "    for (int64_t i = 0; i < $kept; i++) {\n"
           "        const float *tap = $tap;\n"
           "\n");
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             arena_printf(g->a,
                          "state + i * %lld, 0, tap + from, 0, 1, to - from",
                          (long long)d),
             ";");
    put(e, "}\n"
           "}\n");
}

/* Returns C for the address of tap t of row `row`. */
static const char *tap_of(Gen *g, int node, const char *row)
{
    const Node *n = node_at(g->p, node);
    return tap_text(g, node,
                    arena_printf(g->a, "%s + %s - %lld", row,
                                 times_text(g, "t", n->dilation),
                                 (long long)(n->skipped - n->first)));
}

void emit_taps(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t times = row_times(n->type);
    const char *row = times > 1 ? arena_printf(g->a, "(row * %lld + i)",
                                               (long long)times)
                                : "(row + i)";
    begin_columns(g, e, node);
    let(e, "taps", "%lld", (long long)n->taps);
    let(e, "y", "%s", value_at(g, node, row));
    let(e, "tap", "%s", tap_of(g, node, times_text(g, "i", n->stride)));
    let(e, "count", n->stride > 1 ? "rows / %lld" : "rows",
        (long long)n->stride);
    put(e, "\n"
           "for (int64_t i = 0; i < $count; i++) {\n"
           "    float *y = $y + from;\n"
           "\n"
           "    for (int64_t t = 0; t < $taps; t++) {\n"
           "        const float *tap = $tap;\n"
           "\n");
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             "y, 0, tap + from, 0, 1, to - from", ";");
    put(e, "y += $d;\n"
           "}\n"
           "}\n");
    put_states(g, e, node);
    put(e, "}\n");
}

/* maximum taps per kernel call; the addresses of their rows are on the stack */
enum { MostTaps = 64 };

/* Emits the convolution of rows i .. i + n - 1. A kernel with more than
 * MostTaps taps is applied in several calls. */
static void put_depthwise(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const bool longer = n->taps > MostTaps;
    const char *w = weight_of(g, n->in[1], PackPanels);
    const char *bias = n->nin > 2 ? weight_of(g, n->in[2], PackVector) : "0";
    let(e, "tile", "%d", TileRows);
    let(e, "most", "%d", longer ? MostTaps : (int)n->taps);
    let(e, "taps", "%lld", (long long)n->taps);
    let(e, "tap", "%s", tap_of(g, node, "i + min(k, n - 1)"));
    put(e, "const float *tap[$most * $tile];\n"
           "\n");
    if (longer)
        put(e, "for (int64_t first = 0; first < $taps; first += $most) {\n"
               "    const int64_t some = min($taps - first, $most);\n"
               "\n");
    put(e, longer ? "for (int64_t t = first; t < first + some; t++)\n"
                    "    for (int64_t k = 0; k < $tile; k++)\n"
                    "        tap[(t - first) * $tile + k] =\n"
                    "            $tap;\n"
                  : "for (int64_t t = 0; t < $taps; t++)\n"
                    "    for (int64_t k = 0; k < $tile; k++)\n"
                    "        tap[t * $tile + k] =\n"
                    "            $tap;\n");
    put_call(
        e, use_kernel(g->kernels, "depthwise_rows"),
        arena_printf(g->a, "%s, %lld, n, tap, %s, %s%s, %lld, %s, %s, from, to",
                     value_at(g, node, "(row + i)"), stride_of(g, node),
                     longer ? "some"
                            : arena_printf(g->a, "%lld", (long long)n->taps),
                     w, longer ? " + first * 16" : "",
                     (long long)n->taps * ATTN_PANEL,
                     longer && n->nin > 2
                         ? arena_printf(g->a, "first + some < %lld ? 0 : %s",
                                        (long long)n->taps, bias)
                         : bias,
                     longer ? "first > 0" : "0"),
        ";");
    if (longer)
        put(e, "}\n");
}

void emit_depthwise(Gen *g, Emit *e, int node)
{
    need_min(g);
    begin_columns(g, e, node);
    let(e, "tile", "%d", TileRows);
    put(e, "\n"
           "for (int64_t i = 0; i < rows; i += $tile) {\n"
           "    const int64_t n = min(rows - i, $tile);\n");
    put_depthwise(g, e, node);
    put(e, "}\n");
    put_states(g, e, node);
    put(e, "}\n");
}
