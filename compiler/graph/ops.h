/* ops.h: the op table. Every op of the graph is one row here; the enum, names,
 * arity check, shape rule, printer and the documentation come from this list.
 *
 *  in      number of inputs, least .. most (order is that of the formula)
 *  class   how the op relates rows, which decides scheduling:
 *            Const    known when weights are packed: never runs in the model
 *            Source   enters the entry from outside
 *            View     renames elements of its input; no code is emitted
 *            Row      row i of the result needs row i of the inputs only
 *            Head     mixes rows of one sequence (attention and its parts)
 *            State    writes or reads the paged cache
 *            Sink     names a result of the entry
 *  formula one line of mathematics, shown by `attnc graph --explain` and docs
 *
 * Adding an op: a row here, a shape rule in shape.c, an evaluation in
 * oracle/interp.c, an emitter.                                              */

/* clang-format off */
/*  name         text            in    class   formula */
OP(Weight,      "weight",       0, 0, Const,
   "a named tensor of the weights file")
OP(Sinusoid,    "sinusoid",     0, 0, Const,  "sin, cos of pos / base^(2i/d)")
OP(RotaryTable, "rotary_table", 0, 0, Const,
   "cos, then sin, of s pos base^(-2j/d)")
OP(Stack,       "stack",        2, 3, Const,  "rows of a, then of b, then of c")
OP(Input,       "input",        0, 0, Source,
   "token ids, their types, or rows of numbers")
OP(Embed,       "embed",        2, 3, Row,
   "s table[id] + positions[first+past+i]")
OP(Position,    "position",     1, 1, Row,    "positions[first+past+i]")
OP(FirstRow,    "first_row",    2, 2, Row,
   "w where first+past+i is 0, x elsewhere")
OP(Matmul,      "matmul",       2, 2, Row,    "x W^T")
OP(Bias,        "bias",         2, 2, Row,    "x + b")
OP(Scale,       "scale",        1, 1, Row,    "s x")
OP(Add,         "add",          2, 2, Row,    "a + b")
OP(Mul,         "mul",          2, 2, Row,    "a * b, element by element")
OP(Activate,    "activate",     1, 1, Row,    "act(x)")
OP(Norm,        "norm",         2, 3, Row,
   "(x-mean)/sqrt(var+eps) gamma + beta; rms: no mean")
OP(HeadNorm,    "head_norm",    2, 3, Row,
   "norm of each head's columns of x")
OP(Rotate,      "rotate",       2, 2, Row,
   "pairs of each head's columns, turned by table[past+i]")
OP(Split,       "split",        1, 1, View,   "[n, h d] as h heads [h, n, d]")
OP(Merge,       "merge",        1, 1, View,   "Concat(head_1 .. head_h)")
OP(Slice,       "slice",        1, 1, View,   "columns first .. first+d of x")
OP(Append,      "append",       1, 1, State,  "the rows so far, then these")
OP(Recall,      "recall",       1, 1, State,  "what encode appended")
OP(Pages,       "pages",        1, 1, Head,   "x, laid out in pages of 64 keys")
OP(Scores,      "scores",       2, 2, Head,
   "Q K^T; neighbouring heads of Q may share one of K")
OP(Softcap,     "softcap",      1, 1, Row,    "cap tanh(x / cap)")
OP(ScoreBias,   "score_bias",   1, 2, Head,
   "x - slope_h |i-j|, or x + table[bucket(j-i), h]")
OP(Mask,        "mask",         1, 1, Head,
   "-inf where attention is not allowed")
OP(Softmax,     "softmax",      1, 1, Head,   "exp(x - max) / sum")
OP(Context,     "context",      2, 2, Head,   "P V")
OP(Select,      "select",       1, 1, Head,   "the rows that the caller wants")
OP(Pool,        "pool",         1, 1, Head,
   "mean, first, last or max of a sequence's rows")
OP(L2Norm,      "l2_norm",      1, 1, Row,    "x / max(|x|, eps)")
OP(Output,      "output",       1, 1, Sink,   "a result of the entry")
/* made by passes */
OP(Linear,      "linear",       2, 4, Row,    "act(x W^T + b) + residual")
OP(Gate,        "gate",         2, 2, Row,    "act(a) * b")
OP(AddNorm,     "add_norm",     3, 4, Row,    "norm(x + residual)")
OP(Attention,   "attention",    3, 4, Head,
   "softmax(mask(cap(s Q K^T) + bias)) V, merged")
/* clang-format on */
