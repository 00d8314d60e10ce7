/* ops.h: the op table. Each op of the graph is one row, which holds all that is
 * known about it; each directory uses the columns it needs.
 *
 *  name      Op##name, and the name in dumps
 *  inputs    minimum and maximum number; the formula has them in order
 *  class     how the op relates rows, which decides scheduling:
 *              Const    known when weights are packed: never runs in the model
 *              Source   enters the entry from outside
 *              View     renames elements of its input; no code is emitted
 *              Row      row i of the result needs only row i of the inputs
 *              Position like Row, but needs the row's place in its sequence
 *              Head     mixes rows of one sequence (attention and its parts)
 *              State    writes or reads the paged cache
 *              Sink     names a result of the entry
 *  formula   one line of mathematics, shown in docs
 *
 *  shape     its rule, shape_NAME() in graph/shape.c; ops can share one
 *  in place  when the result may overwrite an input:
 *              No
 *              Elements each element is read before it is written
 *              Rows     each row is read before it is written
 *              Residual an input that is added last
 *  FLOPs     of node `n`, in the words of graph/flops.c: `out` is the size of
 *            the result. SUMS(x): x of them are sums of products, which
 *            determine how the step is divided among threads
 *
 *  value     eval_NAME() in oracle/: computes it in double precision
 *  gate      how much rounding may change it, in the words of oracle/gates.c:
 *            EXACT, ROUNDED(times) and others
 *  code      the function that emits its C, in the words of
 *            emit/step/region.c: NO_CODE, ROWS(kernel of emit/kernels/, number
 *            of inputs that are rows) and others. WHOLE(f): a STEP that can
 *            also be emitted undivided; WHOLE_OF(f, approximate bytes; 250 if
 *            WHOLE)
 *  plain     its plain C, in the words of emit/plain/plain_calls.c: NONE,
 *            PIECE(of emit/kernels/plain.c), CALLS(function)
 *  picture   text of its box, in the words of draw/graph_words.c: NAME,
 *            BOLD(text), NAMED(text, with the node's name below), say_NAME(w)
 *
 * To add an op: docs/adding.md. A file includes this after defining OP, which
 * is undefined again at the end. */
#ifndef OP
#define OP(...)
#endif

/* clang-format off */
/* name, text, inputs, class, formula
 *   shape, in place, FLOPs
 *   value, gate, code, plain, picture                                       */
OP(Weight, "weight", 0, 0, Const, "a named tensor of the weights file",
   given, No, 0, weight, EXACT, NO_CODE, NONE, NAME)
OP(Sinusoid, "sinusoid", 0, 0, Const, "sin, cos of pos / base^(2i/d)",
   given, No, 0, sinusoid, EXACT, NO_CODE, NONE, NAME)
OP(RotaryTable, "rotary_table", 0, 0, Const,
   "f cos, then f sin, of pos rate[j]",
   given, No, 0, rotary_table, EXACT, NO_CODE, NONE, NAME)
OP(Stack, "stack", 2, 4, Const, "rows of a, then of b, and so on",
   stack, No, 0, stack, EXACT, NO_CODE, NONE, NAME)
OP(Input, "input", 0, 0, Source, "token ids, their types, or rows of numbers",
   given, No, 0, input, EXACT, NO_CODE, NONE, say_input(w))
OP(Embed, "embed", 2, 3, Position, "s table[id] + positions[first+past+i]",
   embed, No, (n->nin - 1) * out, embed, SIZED(2, In0 | In2), WHOLE(embed),
   CALLS(embed), say_embed(w))
OP(Position, "position", 1, 1, Position, "positions[first+past+i]",
   position, No, 0, position, ROUNDED(1), WHOLE(position),
   CALLS(position), BOLD("position"))
OP(FirstRow, "first_row", 2, 2, Position,
   "w where first+past+i is 0, x elsewhere",
   bias, No, 0, first_row, EXACT, WHOLE(first_row), PIECE("first_row"),
   BOLD("class token first"))
OP(Matmul, "matmul", 2, 2, Row, "x W^T",
   matmul, No, SUMS(2 * out * columns(c, 1)),
   matmul, SUMMED_BY(8, linear), WHOLE(product), CALLS(product), NAME)
OP(Bias, "bias", 2, 2, Row, "x + b",
   bias, Elements, out, bias, ROUNDED(1), ROWS("bias_rows", 1),
   PIECE("add_bias"), NAME)
OP(Scale, "scale", 1, 1, Row, "s x",
   same, Elements, out, scale, ROUNDED(2), ROWS_BY("scale_rows", 1, scale),
   PIECE("scale"), NAMED(TEXT("\xc3\x97 %.5g", n->scale)))
OP(ScaleColumns, "scale_columns", 2, 2, Row, "g * x, column by column",
   scale_columns, Elements, out, scale_columns, ROUNDED(2),
   WHOLE(scale_columns), CALLS(scale_columns), NAME)
OP(Add, "add", 2, 2, Row, "a + b",
   pair, Elements, out, add, ROUNDED(1), ROWS("add_rows", 2), PIECE("add"),
   NAME)
OP(Mul, "mul", 2, 2, Row, "a * b, element by element",
   pair, Elements, out, mul, ROUNDED(1), ROWS("mul_rows", 2), PIECE("mul"),
   NAME)
OP(Activate, "activate", 1, 1, Row, "act(x)",
   same, Elements, out,
   activate, BY(FUNCTION, function), ROWS_ACT("activate_rows", 1),
   CALLS(activate), BOLD(act_text[n->act].plain))
OP(Norm, "norm", 2, 3, Row, "(x-mean)/sqrt(var+eps) gamma + beta; rms: no mean",
   norm, Rows, 8 * out, norm, BY(8, norm), WHOLE_OF(norm, 600), CALLS(norm),
   say_norm(w))
OP(HeadNorm, "head_norm", 2, 3, Row, "norm of each head's columns of x",
   head_norm, Rows, 8 * out, head_norm, BY(8, norm), WHOLE(head_norm),
   CALLS(norm), say_norm(w))
OP(Rotate, "rotate", 2, 2, Position,
   "pairs of each head's columns, turned by table[past+i]",
   rotate, Rows, 3 * turned(c), rotate, BY(4, rotate), WHOLE(rotate),
   CALLS(rotate), BOLD(n->part == PartKey ? "rotate keys" : "rotate queries"))
OP(Split, "split", 1, 1, View, "[n, h d] as h heads [h, n, d]",
   split, No, 0, split, EXACT, NO_CODE, NONE, NAME)
OP(Merge, "merge", 1, 1, View, "Concat(head_1 .. head_h)",
   merge, No, 0, merge, EXACT, NO_CODE, NONE, NAME)
OP(Slice, "slice", 1, 1, View, "columns first .. first+d of x",
   slice, No, 0, slice, EXACT, NO_CODE, PIECE("columns"), NAME)
OP(Append, "append", 1, 1, State, "the rows so far, then these",
   append, No, 0, append, EXACT, WHOLE_OF(pack_kv, 1500), CALLS(append),
   say_pages(w))
OP(Recall, "recall", 1, 1, State, "what encode appended",
   heads, No, 0, copy, EXACT, NO_CODE, NONE, NAME)
OP(PackKv, "pack_kv", 1, 1, Head, "x, laid out in pages of 64 keys",
   heads, No, 0, copy, EXACT, WHOLE_OF(pack_kv, 1500), NONE, say_pages(w))
OP(Scores, "scores", 2, 3, Head,
   "Q K^T, or v tanh(q + k); neighbouring heads of Q may share one of K",
   scores, No, SUMS(score_work(c) * scored(c) * columns(c, 1)),
   scores, SUMMED_BY(8, scores), STEP(scores), NONE, NAME)
OP(Softcap, "softcap", 1, 1, Row, "cap tanh(x / cap)",
   same, Elements, 3 * out,
   softcap, BY(FUNCTION + 2, softcap), ROWS_BY("softcap_rows", 1, cap),
   PIECE("softcap"), NAMED(TEXT("softcap %.5g", n->cap)))
OP(Clip, "clip", 1, 1, Row, "min(max(x, -cap), cap)",
   rows, Elements, 2 * out, clip, ROUNDED(1), ROWS_BY("clip_rows", 1, cap),
   PIECE("clip"), NAMED(TEXT("clip at %.5g", n->cap)))
OP(ScoreBias, "score_bias", 1, 2, Head,
   "x - slope_h |i-j|, or x + table[bucket(j-i), h]",
   score_bias, Elements, out, score_bias, BY(1, bias), SCORE_ROW(score_bias),
   NONE, NAMED(bias_text(n)))
OP(Mask, "mask", 1, 1, Head, "-inf where attention is not allowed",
   heads, Elements, out, mask, EXACT, SCORE_ROW(mask), NONE,
   NAMED(mask_text(w, n->mask)))
OP(Softmax, "softmax", 1, 2, Head,
   "exp(x - max) / sum; a sink's score is summed too",
   softmax, Rows, 4 * out, softmax, ABOVE(64, 1e-9), SCORE_ROW(weights), NONE,
   NAME)
OP(Sigmoid, "sigmoid", 1, 1, Head, "1 / (1 + exp(-x))",
   heads, Rows, 4 * out, weights, ABOVE(64, 1e-9), SCORE_ROW(weights), NONE,
   NAME)
OP(Context, "context", 2, 2, Head, "P V",
   context, No, SUMS(2 * out * keys(c)),
   context, SUMMED(64, In0 | In1), STEP(context), NONE, NAME)
OP(Recurrent, "recurrent", 2, 4, Head,
   "h[i] = cell(x[i], U h[i-1] + b), h before the first row 0, or a source's",
   recurrent, No, SUMS(2 * out * columns(c, 0)) + 8 * out,
   recurrent, BY(1, recurrent), STEP(recurrent), CALLS(recurrent),
   NAMED(cell_word[n->cell]))
OP(Join, "join", 2, 2, Row,
   "columns of a, then of b; of each head, where b may have one for all",
   join, No, 0, join, EXACT, WHOLE(join), PIECE("join"), NAME)
OP(Taps, "taps", 1, 1, Head,
   "rows first + dilation t + stride i of taps t, side by side; outside 0",
   taps, No, 0, taps, EXACT, STEP(taps), CALLS(taps), NAME)
OP(Patches, "patches", 1, 1, Head,
   "patch i - first of an image: its channels, of each its lines; others are 0",
   patches, No, 0, patches, EXACT, STEP(patches), PIECE("patches"), NAME)
OP(Depthwise, "depthwise", 2, 3, Head,
   "sum of w[., t] x[first + dilation t + i] over taps t; outside 0; + b",
   depthwise, No, SUMS(2 * out * n->taps) + (n->nin - 2) * out,
   depthwise, SIZED(8, In0 | In1 | In2), STEP(depthwise), CALLS(taps), NAME)
OP(Select, "select", 1, 1, Head, "the rows that the caller wants",
   select, No, 0, select, EXACT, WHOLE(select), CALLS(select),
   BOLD("select rows"))
OP(Pool, "pool", 1, 1, Head, "mean, sum, first, last or max of all rows",
   pool, No, pooled(c), pool, SIZED(8, In0), WHOLE(pool), CALLS(pool),
   BOLD(TEXT("pool: %s", pool_word[n->pool])))
OP(L2Norm, "l2_norm", 1, 1, Row, "x / max(|x|, eps)",
   rows, Rows, 3 * out, l2_norm, ROUNDED(8), ROWS_BY("l2_norm_rows", 1, eps),
   PIECE("l2_norm"), BOLD("L2 norm"))
OP(RowSoftmax, "row_softmax", 1, 1, Row, "exp(x - max) / sum, of each row",
   rows, Rows, 4 * out, row_softmax, ABOVE(64, 1e-9),
   ROWS("row_softmax_rows", 1), PIECE("row_softmax"), NAME)
OP(Choose, "choose", 1, 2, Row,
   "columns of the largest x + b, largest first; of equal ones the lower",
   choose, No, 2 * columns(c, 0) * out, choose, EXACT, STEP(choose),
   CALLS(choose), NAME)
OP(Weigh, "weigh", 2, 2, Row, "s x[ids], as softmax, or divided by their sum",
   weigh, No, 6 * out, weigh, ABOVE(64, 1e-9), STEP(weigh), PIECE("weigh"),
   NAME)
OP(Routes, "routes", 1, 1, Head, "ids, and where a sort by them puts the rows",
   routes, No, 0, copy, EXACT, STEP(routes), NONE, NAME)
OP(Spread, "spread", 2, 2, Head, "x of each of a row's ids",
   spread, No, 0, spread, EXACT, STEP(spread), PIECE("spread"), NAME)
OP(Combine, "combine", 3, 3, Row, "sum of weight[j] x[j] of a row's ids",
   combine, No, 2 * out * columns(c, 1), combine, SIZED(8, In0 | In1),
   STEP(combine), PIECE("combine"), NAME)
OP(RowScale, "row_scale", 2, 2, Row, "x s, of each row",
   row_scale, Elements, out, row_scale, ROUNDED(1),
   ROWS("row_scale_rows", 2), PIECE("row_scale"), NAME)
OP(Output, "output", 1, 1, Sink, "a result of the entry",
   same, No, 0, copy, EXACT, WHOLE(output), NONE, BOLD(n->word))
/* the ops below are added by passes */
OP(Linear, "linear", 2, 5, Row, "act(x W^T + b) + residual",
   linear, Residual, SUMS(2 * out * columns(c, 1)) + epilogue(n) * out,
   linear, SUMMED_BY(8, linear), WHOLE(product), CALLS(product), say_linear(w))
OP(Quantize, "quantize", 1, 1, Row,
   "round(x / s) s, s = max |x| / 127 of its row; or x as bf16",
   quantize, No, 3 * out, quantize, BY(1, quantize), WHOLE(quantize),
   CALLS(quantize), NAME)
OP(Gate, "gate", 2, 2, Row, "act(a) * b, or act(a) * other(b)",
   pair, Elements, 2 * out,
   gate, BY(FUNCTION + 1, gate), ROWS_ACT("gate_rows", 2), CALLS(gate),
   say_gate(w))
OP(AddNorm, "add_norm", 3, 4, Row, "norm(x + residual)",
   add_norm, Rows, 9 * out, add_norm, BY(8, norm), WHOLE_OF(add_norm, 600),
   CALLS(norm), say_norm(w))
OP(Attention, "attention", 3, 6, Head,
   "softmax(mask(cap(s Q K^T) + bias)) V, merged; or additive, by sigmoid",
   attention, No,
   SUMS(scored(c) * (score_work(c) * columns(c, 1) + 2 * columns(c, 2))),
   attention, BY(1, attention), WHOLE_OF(attention, 2400), CALLS(attention),
   say_attention(w))
/* clang-format on */

#undef OP
