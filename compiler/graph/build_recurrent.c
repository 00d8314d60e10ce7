/* build_recurrent.c: Table 1's recurrent layer: one product for all rows, then
 * a scan, which multiplies the previous state at each row. The cells match
 * PyTorch's. */
#include "graph/build.h"

/* Returns `word`, or "backward.WORD" for a reversed scan. */
static const char *of(Build *b, bool reversed, const char *word)
{
    return build_join(b, reversed ? "backward." : "", word);
}

static int scan(Build *b, int x, bool reversed)
{
    static const Activation act[] = {
        [RecurTanh] = ActTanh, [RecurRelu] = ActRelu
    };
    const Spec *s = b->s;
    const int64_t d = s->mix_width, rows = cell_gates(s->mix_cell) * d;
    const char *word = of(b, reversed, "hidden");
    Node n = { .op = OpRecurrent,
               .cell = s->mix_cell,
               .act = s->mix_cell == CellSimple ? act[s->mix_act] : ActNone,
               .reversed = reversed,
               .nin = 2 };
    if (b->entry == EntryDecode || b->scans)
        n.state = s->mix_cell == CellLstm ? 2 * d : d;
    n.cache = b->entry == EntryDecode ? CacheSelf : CacheCross;
    b->field = "mix.cell";
    n.in[0] = put_linear(b, x, rows, s->bias_mix, of(b, reversed, "input"));
    n.in[1] = put_matrix(b, rows, d, word, ReadByScan);
    if (s->bias_mix)
        n.in[n.nin++] = put_bias(b, rows, word);
    n.sourced = b->entry == EntryDecode && s->mix_start == StartSource;
    if (n.sourced)
        n.in[n.nin++] = b->scans[b->layer];
    const int y = put_node(b, n, of(b, reversed, "states"));
    if (b->scans)
        b->scans[b->layer] = y;
    return y;
}

int build_recurrent(Build *b, int x)
{
    const Spec *s = b->s;
    int y = scan(b, x, s->mix_direction == ScanBackward);
    if (s->mix_direction == ScanBoth)
        y = put_join(b, y, scan(b, x, true), 1, 1, "both");
    return width_of(b, y) == s->d_model
             ? y
             : put_linear(b, y, s->d_model, s->bias_o, "o");
}
