/* fields_ffn.h: rows of the field table (fields.c) for feed-forward
 * networks. */
/* clang-format off */
SPREAD("ffn", WORDS("ffn.type"), Model,
       "Rows go through this, each by itself."),
ENUM("ffn.type", ffn, ffns, Model, "dense", NULL,
     "The feed-forward network of a layer is one, there is none, or each "
     "row goes through some of several, d_ff wide each."),
INT("ffn.experts", ffn_experts, 1, 1024, Model, "8", NULL,
    "Experts: there are so many."),
INT("ffn.chosen", ffn_chosen, 1, 256, Model, "2", NULL,
    "Experts: a row goes through so many of them, those with the largest "
    "scores."),
ENUM("ffn.softmax", ffn_softmax, routings, Model, "before", NULL,
     "Experts: their scores are a softmax over all of them, before the "
     "choice, or over the chosen, after it, or each one's sigmoid."),
BOOL("ffn.normalize", ffn_normalize, Model, "true", NULL,
     "Experts: the scores of the chosen are divided by their sum."),
REAL("ffn.factor", ffn_factor, 1.0e-6, 1.0e6, Model, "1", NULL,
     "Experts: what they give is multiplied by this and their scores."),
BOOL("ffn.router_bias", ffn_router_bias, Model, "false", NULL,
     "Experts: the product that gives the scores adds a bias."),
BOOL("ffn.correction", ffn_correction, Model, "false", NULL,
     "Experts: a vector is added to the scores for the choice alone."),
INT("ffn.groups", ffn_groups, 1, 64, Model, "1", NULL,
    "Experts: they stand in so many groups, of which some are chosen "
    "first."),
INT("ffn.groups_chosen", ffn_groups_chosen, 1, 64, Model, "ffn.groups",
    follow_groups, "Experts: so many groups are chosen."),
ENUM("ffn.group_score", ffn_group_score, group_scores, Model, "max", NULL,
     "Experts: a group is as good as its best one, or as the sum of its "
     "best two."),
INT("ffn.shared", ffn_shared, 0, MostRows, Model, "0", NULL,
    "Experts: all rows go through one more network, of this width; 0: there "
    "is none."),
BOOL("ffn.shared_gate", ffn_shared_gate, Model, "false", NULL,
     "Experts: what the shared network gives is multiplied by a sigmoid of "
     "the row."),
