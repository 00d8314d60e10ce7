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
 * interp.c, an emitter in emit_ops.c.                                       */

/*  name       text         in    class   formula                           */
OP(Weight,    "weight",     0, 0, Const,  "a named tensor of the weights file")
OP(Sinusoid,  "sinusoid",   0, 0, Const,  "sin, cos of pos / base^(2i/d)")
OP(Stack,     "stack",      2, 3, Const,  "rows of a, then of b, then of c")
OP(Input,     "input",      0, 0, Source, "token ids, or rows of numbers")
OP(Embed,     "embed",      2, 3, Row,    "s table[id] + positions[past+i]")
OP(Position,  "position",   1, 1, Row,    "positions[past+i]")
OP(Matmul,    "matmul",     2, 2, Row,    "x W^T")
OP(Bias,      "bias",       2, 2, Row,    "x + b")
OP(Scale,     "scale",      1, 1, Row,    "s x")
OP(Add,       "add",        2, 2, Row,    "a + b")
OP(Relu,      "relu",       1, 1, Row,    "max(x, 0)")
OP(Norm,      "norm",       3, 3, Row,    "(x-mean)/sqrt(var+eps) gamma + beta")
OP(Split,     "split",      1, 1, View,   "[n, h d] as h heads [h, n, d]")
OP(Merge,     "merge",      1, 1, View,   "Concat(head_1 .. head_h)")
OP(Slice,     "slice",      1, 1, View,   "columns first .. first+d of x")
OP(Append,    "append",     1, 1, State,  "the rows so far, then these")
OP(Recall,    "recall",     1, 1, State,  "what encode appended")
OP(Pages,     "pages",      1, 1, Head,   "x, laid out in pages of 64 keys")
OP(Scores,    "scores",     2, 2, Head,   "Q K^T")
OP(Mask,      "mask",       1, 1, Head,   "-inf where attention is not allowed")
OP(Softmax,   "softmax",    1, 1, Head,   "exp(x - max) / sum")
OP(Context,   "context",    2, 2, Head,   "P V")
OP(Select,    "select",     1, 1, Head,   "the rows that the caller wants")
OP(Output,    "output",     1, 1, Sink,   "a result of the entry")
/* made by passes */
OP(Linear,    "linear",     2, 4, Row,    "act(x W^T + b) + residual")
OP(AddNorm,   "add_norm",   4, 4, Row,    "norm(x + residual)")
OP(Attention, "attention",  3, 3, Head,   "softmax(mask(s Q K^T)) V, merged")
