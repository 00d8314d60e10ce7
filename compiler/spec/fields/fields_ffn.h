/* fields_ffn.h: rows of the field table (fields.c) for feed-forward
 * networks. */
/* clang-format off */
SPREAD("ffn", WORDS("ffn.type"), Model,
       "The feed-forward network of a layer, which works on each row by "
       "itself."),
ENUM("ffn.type", ffn, ffns, Model, "dense", NULL,
     "The feed-forward network of a layer: dense is one network, none is "
     "none, and with experts each row goes through some of several networks "
     "of width d_ff."),
INT("ffn.experts", ffn_experts, 1, 1024, Model, "8", NULL,
    "Experts: the number of experts."),
INT("ffn.chosen", ffn_chosen, 1, 256, Model, "2", NULL,
    "Experts: each row goes through this many of them, those with the "
    "largest scores."),
ENUM("ffn.softmax", ffn_softmax, routings, Model, "before", NULL,
     "Experts: their weights are a softmax over all scores (before the "
     "choice), a softmax over the chosen scores (after it), or the sigmoid "
     "of each score."),
BOOL("ffn.normalize", ffn_normalize, Model, "true", NULL,
     "Experts: the weights of the chosen are divided by their sum."),
REAL("ffn.factor", ffn_factor, 1.0e-6, 1.0e6, Model, "1", NULL,
     "Experts: the weights of the chosen are multiplied by this."),
BOOL("ffn.router_bias", ffn_router_bias, Model, "false", NULL,
     "Experts: the product that gives the scores adds a bias."),
BOOL("ffn.correction", ffn_correction, Model, "false", NULL,
     "Experts: a vector is added to the scores, but only for the choice."),
INT("ffn.groups", ffn_groups, 1, 64, Model, "1", NULL,
    "Experts: they form this many groups, of which some are chosen first."),
INT("ffn.groups_chosen", ffn_groups_chosen, 1, 64, Model, "ffn.groups",
    follow_groups,
    "Experts: this many groups are chosen."),
ENUM("ffn.group_score", ffn_group_score, group_scores, Model, "max", NULL,
     "Experts: the score of a group is that of its best expert, or the sum "
     "of its best two."),
INT("ffn.shared", ffn_shared, 0, MostRows, Model, "0", NULL,
    "Experts: all rows also go through one more network of this width. 0: "
    "there is none."),
BOOL("ffn.shared_gate", ffn_shared_gate, Model, "false", NULL,
     "Experts: the result of the shared network is multiplied by a sigmoid "
     "of the row."),
