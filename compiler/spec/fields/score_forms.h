/* score_forms.h: the forms of attention, one row each. The enums, the words of
 * a spec, dumps, the oracle and both back ends are generated from it.
 *
 * SCORE: how the score of a query and a key is computed, as a sum over the
 * columns of a head.
 *  word     in specs, dumps and names of tasks; the first is the default
 *  vector   true if each head has a learned vector `v`; the default scale is
 *           then 1, else 1 / sqrt(d_k)
 *  flops    of one column, in the words of graph/flops.c
 *  value    of one column, from doubles v, q and k, for the oracle; linear in v
 *           or, without a vector, in q, because fold-scale multiplies them
 *  size     of that value, to which its rounding errors are relative, in the
 *           words of oracle/gates.c; and a factor for d columns
 *  title    its part of a box in pictures
 *  kernel   piece of emit/kernels/attention.c with the parameters of a product
 *           by panels, and `v` if there is one; NULL: that product
 *  formula, formula of plain C, source: for comments in emitted files
 *  plain    statement of plain C that adds column c to `score`, with `v_a` if
 *           there is a vector; and the piece that it calls as $function
 *
 * NORMALIZER: how the scores of a query become weights. Its op in graph/ops.h
 * has the same name and word. Its pieces in emit/kernels/attention.c are
 * WORD_row, WORD_begin, WORD_chunk and WORD_page.
 *  word     in specs, dumps and names of tasks; the first is the default
 *  plain    piece of emit/kernels/plain.c that turns a score into its weight;
 *           NULL: a weight depends on all scores, as in softmax
 *  weight   of a single score x, for the oracle
 *
 * Define SCORE or NORMALIZER before you include this file, which undefines
 * both. */
#ifndef SCORE
#define SCORE(...)
#endif
#ifndef NORMALIZER
#define NORMALIZER(...)
#endif

/* clang-format off */
SCORE(Dot, "dot", false, 2, q * k, q * k, 1,
      "scores", NULL, "Q K^T", "Q K^T", "(section 3.2.1)",
      "    score = fmaf(q_i[c], k_j[c], score);\n", NULL)
SCORE(Additive, "additive", true, 3 + c->tanh,
      v * tanh(q + k), v * (1 + (2 * FUNCTION + 1) / 8), 8 / fmin(8, d),
      "additive scores", "additive_scores",
      "v tanh(q + k)", "v_a tanh(q + k)", "[Bahdanau et al. 2015]",
      "    score = fmaf(v_a[h * $d_k + c], $function(q_i[c] + k_j[c]),\n"
      "                 score);\n", "tanh1")

NORMALIZER(Softmax, "softmax", NULL, x)
NORMALIZER(Sigmoid, "sigmoid", "score_sigmoid", 1 / (1 + exp(-x)))
/* clang-format on */

#undef SCORE
#undef NORMALIZER
