/* exports.h: the functions that an emitted file exports, a row each:
 *
 *     EXPORT(when, result, name, (parameters), "comment")
 *
 * All of them check what they are given. In attnc and inside the file, x is
 * attn_x. For users of a model called tiny it is tiny_x, which has no MODEL.
 *
 * - EXPORT: a function of the lower level, the core's.
 * - OPENED: a function of an open model, a handle (handle.h). Only emitted
 *   files have it.
 * - when: the files that have the function.
 *   - Always: all.
 *   - Encodes: those that encode.
 *   - EncodesIds: encoders of ids, without a decoder.
 *   - EncodesText: the same with a vocabulary.
 *   - EncodesRows: encoders of rows of numbers.
 *   - Attends: a block of attention alone.
 *   - Decodes: those that generate.
 *   - Answers: those that generate from ids.
 *   - AnswersText: the same with vocabularies.
 *   - TranslatesIds: those of Answers that have an encoder.
 *   - TranslatesText: the same with vocabularies.
 *   - Texts: those with a vocabulary.
 *   - Writes: those with a vocabulary that generate.
 * - result, name: of the function.
 * - parameters: MODEL or P(type, name). REQUEST(struct, ..) encloses some of
 *   them: attn_x takes a pointer to this struct instead, whose members are the
 *   model and the enclosed names.
 * - comment: what the header says of the function. $x becomes the name that x
 *   has there.
 *
 * core.h makes prototypes of the rows, emit/file/exports.c the header and the
 * functions of an emitted file. Both define EXPORT, MODEL, P and REQUEST before
 * they include this file, which undefines them. */
#ifndef EXPORT
#define EXPORT(...)
#endif
#ifndef OPENED
#define OPENED(...)
#endif

/* clang-format off */
OPENED(Always, struct attn_handle *, open,
    (MODEL, P(const char *, path), P(const struct attn_open_options *, o)),
    "Opens the model. path: its weights file; NULL: they are inside of the C "
    "file, or there are none. o NULL: all 0. The only function that allocates: "
    "one block of $memory() bytes; one for the ids of a text, as the "
    "vocabularies need it; and, where they are asked for, threads. "
    "What goes wrong $error() tells, of this and of each call; NULL: there is "
    "no memory.")

OPENED(Always, int64_t, memory,
    (MODEL, P(const struct attn_open_options *, o)),
    "Bytes that $open() with these options allocates, beside those for the ids "
    "of a text; or an error.")

OPENED(Always, const char *, error,
    (P(const struct attn_handle *, h)),
    "What is wrong, in words; \"\": nothing. Of $open(), and then all calls "
    "are refused; else of the last call. h NULL: there is no memory.")

OPENED(Always, void, close, (P(struct attn_handle *, h)),
    "Gives all back. NULL: nothing to do.")

OPENED(EncodesIds, int64_t, encode,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(float *, out)),
    "Encodes n tokens. $rows to `out`: $columns numbers each. The number of "
    "rows, or an error.")

OPENED(EncodesText, int64_t, embed,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(float *, out)),
    "As $encode(), of the tokens of a text. bytes -1: up to its NUL.")

OPENED(EncodesText, int64_t, embed_pair,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const char *, other), P(int64_t, other_bytes),
     P(float *, out)),
    "As $embed(), of two texts in the vocabulary's template for pairs, which "
    "gives each token a type, where the model has types: a question and an "
    "answer to be ranked, two sentences to be compared. Both together have "
    "max_text bytes at most.")

OPENED(EncodesRows, int64_t, encode_rows,
    (MODEL, P(struct attn_handle *, h), P(const float *, rows),
     P(int64_t, n), P(float *, out)),
    "Encodes n rows of numbers. $rows to `out`: $columns numbers each. The "
    "number of rows, or an error.")

OPENED(Attends, int64_t, attend,
    (MODEL, P(struct attn_handle *, h), P(const float *, query),
     P(int64_t, queries), P(const float *, key), P(const float *, value),
     P(int64_t, keys), P(float *, out)),
    "The attention of `queries` rows to `keys` rows of keys and values. A row "
    "for each query goes to `out`: $columns numbers each. The number of rows, "
    "or an error.")

OPENED(TranslatesText, int64_t, translate,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const struct attn_search_options *, o),
     P(char *, out), P(int64_t, cap)),
    "The best answer to a text, as far as it fits into out[cap], where a NUL "
    "ends it; out may be NULL with cap 0. bytes -1: up to its NUL. o NULL: "
    "$options(). The bytes of the whole answer without NUL, or an error.")

OPENED(TranslatesIds, int64_t, translate_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(const struct attn_search_options *, o),
     P(int32_t *, out), P(int64_t, cap)),
    "The best answer to n tokens, as far as it fits into out[cap]. The tokens "
    "of the whole answer, or an error.")

OPENED(AnswersText, int64_t, generate,
    (MODEL, P(struct attn_handle *, h), P(const char *, prompt),
     P(const struct attn_search_options *, o), P(attn_take_text *, take),
     P(void *, user)),
    "Gives the answer to take(user, text, bytes) as it grows, in whole "
    "characters; with a beam above 1, when the search has ended. A decoder's "
    "goes on with the prompt, which is not given out. The number of its "
    "tokens, or an error.")

OPENED(Answers, int64_t, generate_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(const struct attn_search_options *, o),
     P(attn_take_id *, take), P(void *, user)),
    "The same for tokens: take(user, id).")

OPENED(AnswersText, int, score,
    (MODEL, P(struct attn_handle *, h), P(const char *, source),
     P(int64_t, source_bytes), P(const char *, target),
     P(int64_t, target_bytes), P(double *, log_probability)),
    "The natural logarithm of the probability that the answer to `source` is "
    "`target` and then ends. 0, or an error.")

OPENED(Answers, int, score_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, source),
     P(int64_t, n), P(const int32_t *, target), P(int64_t, target_n),
     P(double *, log_probability)),
    "The same for tokens, the end token not among them.")

EXPORT(Always, const char *, error_text, (P(int64_t, error)),
    "An error in words.")

EXPORT(Always, const char *, bind,
    (MODEL, P(void *, bound), P(const void *, file), P(int64_t, bytes)),
    "Checks model.weights, which lies at `file`, at a multiple of 64 bytes, "
    "and fills `bound`, bound_bytes of memory at a multiple of 8. NULL, or "
    "what is wrong with it, a text in `bound`. Its contents are held to their "
    "hash, for which all of it is read; inside a C file they have none.")

EXPORT(Always, const char *, bind_lazily,
    (MODEL, P(void *, bound), P(const void *, file), P(int64_t, bytes)),
    "As $bind(), without that hash: weights that are mapped come from the "
    "disk as they are used, and what was damaged there is not seen.")

EXPORT(Decodes, int64_t, search_bytes,
    (MODEL, P(const struct attn_search_options *, o), P(int64_t, sentences),
     P(int64_t, source_rows), P(int64_t, longest)),
    "Bytes of memory that $search() needs for `sentences` sources, "
    "`source_rows` tokens in all, `longest` in one; or an error.")

EXPORT(Decodes, int, search,
    (REQUEST(attn_search_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(int64_t, sentences),
             P(const int32_t *, ids), P(const int32_t *, start),
             P(void *, memory), P(int64_t, bytes)),
     P(struct attn_hypothesis *, out), P(int64_t *, found)),
    "Answers all sentences: s has the tokens from ids[start[s]] to before "
    "ids[start[s + 1]]; its o->results best answers go to "
    "out[s * o->results] and on, their number to found[s], or "
    "ATTN_ERROR_FINITE; their tokens lie in `memory`. A sentence of no tokens "
    "has no answer, but by a decoder with a start token, which goes on from "
    "that. 0, or an error.")

EXPORT(Always, int64_t, batch_bytes,
    (MODEL, P(const struct attn_batch *, b)),
    "Bytes of memory that a call on this batch needs, by its sizes and "
    "threads; or an error.")

EXPORT(Encodes, int, encode_batch,
    (MODEL, P(const void *, bound), P(const struct attn_batch *, b),
     P(void *, memory), P(int64_t, bytes)),
    "Encodes all rows of a batch in memory of $batch_bytes(), after a look at "
    "all of its ids, lengths and tables. 0; or an error, before anything is "
    "computed.")

EXPORT(Decodes, int, decode_batch,
    (MODEL, P(const void *, bound), P(const struct attn_batch *, b),
     P(void *, memory), P(int64_t, bytes)),
    "Decodes the new rows of a batch in memory of $batch_bytes(), after a look "
    "at all of its ids, lengths and tables; not at whether two sequences write "
    "one page. 0; or an error, before anything is computed.")

EXPORT(Texts, const void *, vocab,
    (MODEL, P(const void *, file), P(int64_t, target)),
    "The vocabulary of the source, or of the target (target: 1), in a file "
    "that was bound; NULL: there is none. It is the `block` of the functions "
    "below.")

EXPORT(Texts, int64_t, vocab_encode_bytes,
    (P(const void *, block), P(int64_t, bytes)),
    "Bytes of memory that $vocab_encode() needs for a text of `bytes` bytes, "
    "or an error.")

EXPORT(Texts, int64_t, vocab_most_ids,
    (P(const void *, block), P(int64_t, bytes)),
    "A text of `bytes` bytes has not more ids, those of the template counted; "
    "or an error.")

EXPORT(Texts, int64_t, vocab_encode,
    (P(const void *, block), P(const char *, line), P(int64_t, bytes),
     P(int64_t, how), P(int32_t *, ids), P(int64_t, cap),
     P(void *, memory), P(int64_t *, bad)),
    "Ids of one text. Returns their number, or an error: where it is about "
    "the text (ATTN_ERROR_UNKNOWN, and no token stands for such; "
    "ATTN_ERROR_UTF8, where no token stands for such bytes) *bad is the byte. "
    "how: 0; or the sum of 1, the text goes on where another ended: nothing "
    "is put around it; 2, no template; 4, the start token, if the template "
    "begins with it, is left out.")

EXPORT(Texts, int64_t, vocab_encode_offsets,
    (P(const void *, block), P(const char *, line), P(int64_t, bytes),
     P(int64_t, how), P(int32_t *, ids), P(int32_t *, offsets),
     P(int64_t, cap), P(void *, memory), P(int64_t *, bad)),
    "The same; where the token ids[i] stands in the text, from the byte "
    "offsets[2 i] to before offsets[2 i + 1], goes to offsets[2 cap]; 0, 0 for "
    "those that were put around it.")

EXPORT(EncodesText, int64_t, vocab_most_pair_ids,
    (P(const void *, block), P(int64_t, bytes)),
    "Two texts of `bytes` bytes together have not more ids, those of the "
    "template counted; ATTN_ERROR_PAIR: the vocabulary has no template for "
    "pairs; or another error.")

EXPORT(EncodesText, int64_t, vocab_encode_pair,
    (P(const void *, block), P(const char *, text), P(int64_t, bytes),
     P(const char *, other), P(int64_t, other_bytes), P(int32_t *, ids),
     P(int32_t *, types), P(int64_t, cap), P(void *, memory),
     P(int64_t *, bad)),
    "Ids of two texts in the template for pairs, and to types[cap], unless it "
    "is NULL, each one's type; their number, or an error, as of "
    "$vocab_encode(). `memory`: $vocab_encode_bytes() of the longer. *bad: "
    "bytes of `other` count on from the last of `text`.")

EXPORT(Writes, int64_t, vocab_decode,
    (P(const void *, block), P(const int32_t *, ids), P(int64_t, n),
     P(char *, out), P(int64_t, cap)),
    "Text of ids; NUL-terminated; returns its length without NUL, or an "
    "error.")

EXPORT(Writes, int, text_open,
    (P(struct attn_text *, t), P(const void *, block),
     P(const char *const *, stop), P(int64_t, stops), P(int64_t, begun)),
    "Begins a text that grows token by token and ends before the first of "
    "`stops` strings. begun: it goes on where another ended. 0, or an error.")

EXPORT(Writes, int64_t, text_add,
    (P(struct attn_text *, t), P(int32_t, id), P(char *, out),
     P(int64_t, cap)),
    "The bytes that a token adds to the text, as far as they can be no part "
    "of a stop string or of an unfinished character: their number, or an "
    "error.")

EXPORT(Writes, int64_t, text_end,
    (P(struct attn_text *, t), P(char *, out), P(int64_t, cap)),
    "The bytes that are still held back, or an error.")

EXPORT(Decodes, int64_t, stream_bytes,
    (MODEL, P(const struct attn_search_options *, o),
     P(int64_t, source_rows), P(int64_t, tokens), P(int64_t, streams)),
    "Memory for `streams` streams of up to `tokens` tokens each (start and "
    "prompt counted, not above max_target + 1) after a source of that many "
    "rows (kind decoder: 0); or an error.")

EXPORT(Decodes, int, stream_open,
    (P(struct attn_stream *, s),
     REQUEST(attn_stream_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(const int32_t *, ids),
             P(int64_t, n), P(int64_t, tokens), P(int64_t, streams),
             P(void *, memory), P(int64_t, bytes))),
    "Begins a stream, with the start token where there is one; `ids` are the "
    "source, which is encoded, or for kind decoder the prompt. 0, or an "
    "error.")

EXPORT(Decodes, int, stream_feed,
    (P(struct attn_stream *, s), P(const int32_t *, ids), P(int64_t, n)),
    "Tokens that are given instead of chosen: kind decoder, more of the "
    "prompt; else of the answer. 0, or an error, and nothing has changed.")

EXPORT(Decodes, int64_t, stream_next, (P(struct attn_stream *, s)),
    "The next token of the answer; ATTN_STREAM_END, ATTN_STREAM_FULL; or "
    "another number below 0, an error. Chooses what $search() with beam 1 "
    "would.")

EXPORT(Decodes, int, stream_fork,
    (P(struct attn_stream *, to), P(struct attn_stream *, from),
     P(int64_t, slot)),
    "`to` goes on where `from` is, in a slot of the same room; what is in "
    "that slot is dropped. Change to->o.sampling.seed for another answer. 0, "
    "or an error.")

EXPORT(Decodes, uint64_t, state_weights, (MODEL, P(const void *, file)),
    "The hash of the weights in a file that was bound, for states; 0: it is "
    "no such file.")

EXPORT(Decodes, int64_t, state_bytes, (P(const struct attn_stream *, s)),
    "Bytes of a saved stream, or an error.")

EXPORT(Decodes, int64_t, state_save,
    (P(const struct attn_stream *, s), P(uint64_t, weights),
     P(void *, out), P(int64_t, cap)),
    "Writes the stream to `out`, at a multiple of 8; returns its bytes, or an "
    "error. Options are not saved.")

EXPORT(Decodes, const char *, state_check,
    (MODEL, P(uint64_t, weights), P(const void *, state),
     P(int64_t, bytes)),
    "NULL when it can be restored into this model, else what is wrong: all "
    "that it says is looked at, whoever made its hash. `state` lies at a "
    "multiple of 8.")

EXPORT(Decodes, int, state_restore,
    (P(struct attn_stream *, s),
     REQUEST(attn_restore_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(uint64_t, weights),
             P(const void *, state), P(int64_t, bytes), P(int64_t, tokens),
             P(int64_t, streams), P(void *, memory),
             P(int64_t, memory_bytes))),
    "Opens a stream as it was saved, in memory of $stream_bytes() for the "
    "header's source_rows and `tokens`, not fewer than the header's. 0, or an "
    "error.")
/* clang-format on */

#undef EXPORT
#undef OPENED
#undef MODEL
#undef P
#undef REQUEST
