/* fields_mix.h: rows of the field table (fields.c) for how a layer mixes
 * rows. */
/* clang-format off */
SPREAD("mix", WORDS("mix.type"), Model, "A layer mixes rows by this."),
ENUM("mix.type", mix, mixes, Model, "attention", NULL,
     "This is the first sublayer of a layer, which mixes the rows of a "
     "sequence: attention; a recurrent network, which goes from row to row "
     "with a state; or a convolution, of each row and those near it."),
ENUM("mix.cell", mix_cell, cells, Model, "lstm", NULL,
     "Recurrent: the next state is made so of a row and the last state, as "
     "PyTorch's RNN, GRU and LSTM have it; products give the gates one below "
     "the other in their order."),
ENUM("mix.activation", mix_act, recurrences, Model, "tanh", NULL,
     "Recurrent: this is f of the cell simple, f(W x + U h)."),
ENUM("mix.direction", mix_direction, directions, Model, "forward", NULL,
     "Recurrent: from the first row to the last, from the last to the first, "
     "or both, each with weights of its own, side by side."),
ENUM("mix.start", mix_start, starts, Seq2seq, "zeros", NULL,
     "Recurrent: before its first row the state of a decoder's layer is 0, or "
     "what the encoder's layer of its number has left after the last row."),
INT("mix.width", mix_width, 1, MostWidth, Model,
    "d_model, for both directions half of it", follow_mix_width,
    "Recurrent: the state of a direction has this width; where states are "
    "not as wide as d_model together, a product takes them there."),
INT("mix.kernel", mix_kernel, 1, 4096, Model, "3", NULL,
    "Convolution: a row is made of so many: in an encoder of itself and as "
    "many on either side, in a decoder of itself and those before it. Rows "
    "outside of the sequence are zeros."),
INT("mix.dilation", mix_dilation, 1, 4096, Model, "1", NULL,
    "Convolution: from one of these rows to the next are so many."),
BOOL("mix.depthwise", mix_depthwise, Model, "false", NULL,
     "Convolution: each column has a kernel of its own, and reads itself "
     "alone; else a column reads all."),
BOOL("mix.pointwise", mix_pointwise, Model, "false", NULL,
     "Convolution: a product stands behind the kernels of columns."),
BOOL("mix.gated", mix_gated, Model, "false", NULL,
     "Convolution: products are twice as wide, their first half times the "
     "sigmoid of the second."),
INT("mix.inner", mix_inner, 0, MostWidth, Model, "0", NULL,
    "Convolution: there are two, this wide between, where f of the "
    "activation stands, alone also of one with glu in its name; 0: one."),
