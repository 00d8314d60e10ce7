/* fields_mix.h: rows of the field table, fields.c: how a layer mixes rows. */
/* clang-format off */
SPREAD("mix", WORDS("mix.type"), Model, "A layer mixes rows by this."),
ENUM("mix.type", mix, mixes, Model, "attention", NULL,
     "This is the first sublayer of a layer, which mixes the rows of a "
     "sequence."),
