/* fields_ffn.h: rows of the field table, fields.c: the feed-forward networks.
 */
/* clang-format off */
SPREAD("ffn", WORDS("ffn.type"), Model,
       "Rows go through this, each by itself."),
ENUM("ffn.type", ffn, ffns, Model, "dense", NULL,
     "The feed-forward network of a layer is one of two products, or there "
     "is none."),
