/* attributes.h: the attributes of nodes, one row each, in the order of dumps.
 *
 *  type, member  the member of Node
 *  dump          how dumps show it, in the words of graph/graph_print.c:
 *                COUNT(word, when)      the word and the integer
 *                REAL(word, when)       the word and the real number
 *                WORD(key, word, when)  the word; in JSON the value of the key,
 *                                       or if that is NULL, a key of its own
 *                nothing                not shown
 *
 * `n` is the node. A file includes this after defining ATTRIBUTE, which is
 * undefined again at the end. */
#ifndef ATTRIBUTE
#define ATTRIBUTE(...)
#endif

/* clang-format off */

/* Split, Rotate, HeadNorm, Attention, Join: number of heads */
ATTRIBUTE(int64_t, heads,
          COUNT("heads", n->heads > (n->op == OpJoin) && n->op != OpScoreBias))
/* Attention: heads of keys and values; Join: heads of b */
ATTRIBUTE(int64_t, heads_kv,
          WORD(NULL, "one for all", n->op == OpJoin && n->heads_kv != n->heads)
          COUNT("kv heads", n->op == OpAttention && n->heads_kv != n->heads))
/* Scale, Embed, Attention, Weigh */
ATTRIBUTE(double, scale, REAL("scale", is_factor(n->scale)))
/* Softcap, Clip, Attention; 0: none */
ATTRIBUTE(double, cap, REAL("cap", n->cap > 0))
/* Norm, AddNorm, HeadNorm: kind of norm */
ATTRIBUTE(NormType, norm, WORD("norm", "rms", n->norm == NormRms))
/* Norm, AddNorm, HeadNorm, L2Norm */
ATTRIBUTE(double, eps, REAL("eps", n->eps > 0))
/* Slice: first column. Position, Embed: the table's row for position 0. Taps,
 * Depthwise: offset of tap 0 from the row. Patches: row of the first patch. */
ATTRIBUTE(int64_t, first, COUNT("first", n->op == OpSlice || n->first != 0))
/* Taps, Depthwise: number of taps. Weight: the same, if the file stores the
 * taps of a column together; otherwise 0 */
ATTRIBUTE(int64_t, taps, COUNT("taps", n->taps > 0))
/* Taps: input rows between two result rows; 0: 1 */
ATTRIBUTE(int64_t, stride, COUNT("stride", n->stride > 1))
/* Taps: frames side by side in an input row; 0: 1 */
ATTRIBUTE(int64_t, frames, COUNT("frames", n->frames > 1))
/* Taps: leading frames that do not belong to the sequence and are read as
 * zeros */
ATTRIBUTE(int64_t, skipped, COUNT("skipped", n->skipped > 0))
/* Patches: channels of the image, lines and columns of a patch, number of
 * patches side by side */
ATTRIBUTE(int64_t, channels, COUNT("channels", n->channels > 0))
ATTRIBUTE(int64_t, tall, COUNT("tall", n->tall > 0))
ATTRIBUTE(int64_t, wide, COUNT("wide", n->wide > 0))
ATTRIBUTE(int64_t, across, COUNT("across", n->across > 0))
/* Taps, Depthwise: rows between taps */
ATTRIBUTE(int64_t, dilation, COUNT("dilation", n->dilation > 1))
/* Rotate: rotary columns of each head, layout of the rotated pairs */
ATTRIBUTE(int64_t, dims, COUNT("dims", n->dims > 0))
ATTRIBUTE(PosLayout, layout,
          WORD("layout",
               n->layout == LayoutHalves ? "halves" : "interleaved",
               n->dims > 0))
/* Recurrent: kind of cell; starts from the last row; starts from the last state
 * of its last input */
ATTRIBUTE(CellType, cell, WORD(NULL, cell_word[n->cell], n->op == OpRecurrent))
ATTRIBUTE(bool, reversed, WORD(NULL, "backward", n->reversed))
ATTRIBUTE(bool, sourced, WORD(NULL, "from the source", n->sourced))
/* ScoreBias, Attention: kind of bias, factor of all slopes of alibi */
ATTRIBUTE(BiasKind, bias, WORD(NULL, "alibi", n->bias == BiasAlibi))
ATTRIBUTE(double, slope,
          REAL("slope", n->bias == BiasAlibi && is_factor(n->slope)))
/* ScoreBias, Attention: sizes of a relative bias; it differs by direction */
ATTRIBUTE(int64_t, buckets,
          COUNT(n->bidirectional ? "relative both ways" : "relative",
                n->bias == BiasRelative))
ATTRIBUTE(int64_t, max_distance, COUNT("to", n->bias == BiasRelative))
ATTRIBUTE(bool, bidirectional,)
/* Scores, Attention: form of a score */
ATTRIBUTE(ScoreType, score,
          WORD("score", score_form[n->score].word, n->score != ScoreDot))
/* Attention: how scores become weights */
ATTRIBUTE(Normalizer, normalizer,
          WORD("weights", normalizer_form[n->normalizer].word,
               n->normalizer != NormalizerSoftmax))
/* Softmax, Attention: the last input has a score for each head */
ATTRIBUTE(bool, sinks, WORD("softmax", "sinks", n->sinks))
/* Choose: number of groups of experts, and of groups chosen; a group's score is
 * the sum of its two best experts' scores, not the best score */
ATTRIBUTE(int64_t, groups, COUNT("groups", n->groups > 1))
ATTRIBUTE(int64_t, groups_chosen, COUNT("groups chosen", n->groups > 1))
ATTRIBUTE(bool, group_pairs,
          WORD("group score", n->group_pairs ? "pair" : "max", n->groups > 1))
/* Weigh: apply softmax to the scores; make the weights sum to 1 */
ATTRIBUTE(bool, softmax, WORD(NULL, "softmax", n->softmax))
ATTRIBUTE(bool, normalize, WORD(NULL, "normalized", n->normalize))
/* Routes: number of experts */
ATTRIBUTE(int64_t, experts, COUNT("experts", n->experts > 0))
/* Mask, Attention; NULL: none */
ATTRIBUTE(const MaskSpec *, mask, add_mask(b, n->mask);)
/* Linear, Activate, Gate, Recurrent */
ATTRIBUTE(Activation, act,
          WORD("activation", act_text[n->act].plain, n->act != ActNone))
/* Pool: kind of pool */
ATTRIBUTE(PoolType, pool, WORD("pool", pool_word[n->pool], n->pool != PoolNone))
/* Append, Recall: index in Graph.cache; index of the layer in the cache */
ATTRIBUTE(int, cache, add_cache(b, n);)
ATTRIBUTE(int64_t, place,)
/* Append, Recall, PackKv, Rotate: PartKey, PartValue or PartQuery. RotaryTable:
 * PartQuery if it is only for queries, which grow */
ATTRIBUTE(int, part,
          WORD("part", n->part == PartKey ? "keys" : "values",
               is_cached(n) || n->op == OpPackKv)
          WORD("part", "queries",
               n->op == OpRotaryTable && n->part == PartQuery))
/* Weight: ReadBy bits of a matrix; number of tensors it is assembled from,
 * numbered by {e} in its name; 0: it is one tensor */
ATTRIBUTE(int, readers,)
ATTRIBUTE(int64_t, parts,)
/* RotaryTable: spec of the layers that use it */
ATTRIBUTE(const Spec *, spec,)
/* Matmul, Linear: part of a router or a gate of experts */
ATTRIBUTE(bool, routing,)
/* Recurrent and others: floats kept in the cache for later rows of a
 * sequence */
ATTRIBUTE(int64_t, state,)
/* Linear: in[2] / in[3] is present */
ATTRIBUTE(bool, has_bias,)
ATTRIBUTE(bool, has_residual,)
/* Input: member of the batch that it reads */
ATTRIBUTE(BatchMember, member,)
/* clang-format on */

#undef ATTRIBUTE
