/* fields_mix.h: rows of the field table (fields.c) that describe how a layer
 * mixes rows. */
/* clang-format off */
SPREAD("mix", WORDS("mix.type"), Model,
       "A layer mixes the rows of a sequence in this way."),
ENUM("mix.type", mix, mixes, Model, "attention", NULL,
     "The first part of a layer, in which rows read each other: attention; a "
     "recurrent network, which goes from row to row with a state; or a "
     "convolution of each row and its neighbours."),
ENUM("mix.cell", mix_cell, cells, Model, "lstm", NULL,
     "Recurrent: a row and the last state make the next state in this way, "
     "as in PyTorch's RNN, GRU and LSTM. Products give the gates in the "
     "order of PyTorch, one below the other."),
ENUM("mix.activation", mix_act, recurrences, Model, "tanh", NULL,
     "Recurrent: this is f of the simple cell, f(W x + U h)."),
ENUM("mix.direction", mix_direction, directions, Model, "forward", NULL,
     "Recurrent: from the first row to the last, from the last to the first, "
     "or both. Each direction has weights of its own, and the results of "
     "both are side by side."),
ENUM("mix.start", mix_start, starts, Seq2seq, "zeros", NULL,
     "Recurrent: the state of a decoder's layer before its first row is 0, "
     "or the last state of the encoder's layer with the same number."),
INT("mix.width", mix_width, 1, MostWidth, Model,
    "d_model, for both directions half of it", follow_mix_width,
    "Recurrent: the state of a direction has this width. If the states "
    "together are not d_model wide, a product takes them to d_model."),
INT("mix.kernel", mix_kernel, 1, 4096, Model, "3", NULL,
    "Convolution: a row is computed from this many rows. In an encoder the "
    "row is in their middle, in a decoder it is the last. Rows outside of "
    "the sequence are zeros."),
INT("mix.dilation", mix_dilation, 1, 4096, Model, "1", NULL,
    "Convolution: the distance from one of these rows to the next."),
BOOL("mix.depthwise", mix_depthwise, Model, "false", NULL,
     "Convolution: each column has a kernel of its own and reads only "
     "itself. Otherwise a column reads all columns."),
BOOL("mix.pointwise", mix_pointwise, Model, "false", NULL,
     "Convolution: a product follows the depthwise kernels."),
BOOL("mix.gated", mix_gated, Model, "false", NULL,
     "Convolution: products are twice as wide, and their first half is "
     "multiplied by the sigmoid of the second."),
INT("mix.inner", mix_inner, 0, MostWidth, Model, "0", NULL,
    "Convolution: there are two, with rows of this width between them. f of "
    "`activation` follows the first, without w3 if the activation has glu in "
    "its name. 0: there is one."),
