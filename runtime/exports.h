/* exports.h: the functions that an emitted file exports, one row each:
 *
 *     EXPORT(when, result, name, (parameters), "comment")
 *
 * All check their arguments. In attnc and inside the file, function x is named
 * attn_x; a model called tiny exports it as tiny_x, without the parameter
 * MODEL.
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
 *   - Chats: those of AnswersText whose spec has a `chat`.
 *   - TranslatesIds: those of Answers that have an encoder.
 *   - TranslatesText: the same with vocabularies.
 *   - Texts: those with a vocabulary.
 *   - Writes: those with a vocabulary that generate.
 * - result, name: of the function.
 * - parameters: MODEL or P(type, name). REQUEST(struct, ...) encloses some of
 *   them: attn_x takes a pointer to this struct instead, whose members are the
 *   model and the enclosed names.
 * - comment: the function's comment in the header; $x becomes the exported name
 *   of x.
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
    "Opens the model and returns its handle, which the caller gives to "
    "$close(). path: the weights file; NULL: the weights are inside the C "
    "file, or there are none. o NULL: all options 0. Copies *o, but "
    "o->parallel has to stay valid until the handle is closed. Only this "
    "function allocates memory: one block of $memory() bytes, one for the ids "
    "of a text and the grammar, and threads if the options ask for them. If "
    "it fails, it still returns a handle, and $error() says why; NULL: out of "
    "memory.")

OPENED(Always, int64_t, memory,
    (MODEL, P(const struct attn_open_options *, o)),
    "Returns the bytes that $open() with these options allocates, without the "
    "block for the ids of a text and the grammar. Errors: ATTN_ERROR_OPTION, "
    "ATTN_ERROR_COUNT.")

OPENED(Always, const char *, error,
    (P(const struct attn_handle *, h)),
    "Returns in words what was wrong with the last call on this handle; \"\": "
    "nothing. If $open() failed, its message stays and all calls return "
    "ATTN_ERROR_OPEN. h NULL: out of memory. The text belongs to the handle "
    "and changes with its next call.")

OPENED(Always, const char *, target,
    (P(const struct attn_handle *, h)),
    "Returns the processors for which the code that the handle runs is made, "
    "such as \"x86-64-v4\". A file with the code for several runs the best of "
    "them that this processor has. NULL: h is NULL, or $open() failed.")

OPENED(Always, void, close, (P(struct attn_handle *, h)),
    "Frees the handle, all of its memory, and its threads. h NULL: does "
    "nothing.")

OPENED(EncodesIds, int64_t, encode,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(float *, out)),
    "Encodes ids[n]. $rows to `out`, which has $columns floats a row. Returns "
    "the number of rows. Errors: ATTN_ERROR_LENGTH if n is 0 or above "
    "max_input, ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_OPEN, "
    "ATTN_ERROR_FIXED.")

OPENED(EncodesText, int64_t, embed,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(float *, out)),
    "As $encode(), for the tokens of a text in UTF-8. bytes -1: the text ends "
    "at its NUL. Errors: those of $encode(); ATTN_ERROR_LENGTH also if the "
    "text has more than max_text bytes, ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, "
    "ATTN_ERROR_COUNT.")

OPENED(EncodesText, int64_t, embed_as,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const struct attn_text_options *, o),
     P(float *, out)),
    "As $embed(), for a text that may be a query or a document of late "
    "interaction, with a prompt of the spec before it, as --task and "
    "--prompt-name of `attnc run`. o NULL: all options 0. max_text applies to "
    "the text without the prompt. The tokens that the spec leaves out of a "
    "document have no row, so the number of rows may be smaller than that of "
    "the tokens, for which `out` needs room. Errors: those of $embed(), and "
    "ATTN_ERROR_OPTION if the task is none of the three or the spec has no "
    "prompt of this name.")

OPENED(EncodesText, int64_t, embed_pair,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const char *, other), P(int64_t, other_bytes),
     P(float *, out)),
    "As $embed(), for two texts in the vocabulary's template for pairs, such "
    "as a question and an answer to be ranked. The template gives each token "
    "its type, if the model has types. If the spec has texts around a pair "
    "(`pair`), the two become one text with these instead, and all types are "
    "0. Both texts together have at most max_text bytes. Errors: those of "
    "$embed(), and ATTN_ERROR_PAIR if the vocabulary has no such template.")

OPENED(EncodesRows, int64_t, encode_rows,
    (MODEL, P(struct attn_handle *, h), P(const float *, rows),
     P(int64_t, n), P(float *, out)),
    "Encodes rows[n] of numbers, each as wide as the spec's input.width. "
    "$rows to `out`, which has $columns floats a row. Returns the number of "
    "rows. Errors: ATTN_ERROR_LENGTH if n is 0 or above max_input, "
    "ATTN_ERROR_NULL, ATTN_ERROR_OPEN, ATTN_ERROR_FIXED.")

OPENED(Attends, int64_t, attend,
    (MODEL, P(struct attn_handle *, h), P(const float *, query),
     P(int64_t, queries), P(const float *, key), P(const float *, value),
     P(int64_t, keys), P(float *, out)),
    "Computes the attention of query[queries] to key[keys] and value[keys], "
    "which are rows of d_model floats. A row for each query goes to `out`, "
    "which has $columns floats a row. Returns the number of rows. Errors: "
    "ATTN_ERROR_LENGTH if a count is 0 or above max_input, ATTN_ERROR_NULL, "
    "ATTN_ERROR_OPEN, ATTN_ERROR_FIXED.")

OPENED(TranslatesText, int64_t, translate,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const struct attn_search_options *, o),
     P(char *, out), P(int64_t, cap)),
    "Writes the best answer to a text, as much of it as fits, into out[cap], "
    "and a NUL behind it. `out` may be NULL if cap is 0. bytes -1: the text "
    "ends at its NUL. o NULL: $options(). Returns the bytes of the complete "
    "answer without the NUL; 0 if there is none. Errors: those of the text "
    "(ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), "
    "ATTN_ERROR_OPTION, ATTN_ERROR_ROOM if the search is larger than the "
    "handle was opened for, ATTN_ERROR_NULL, ATTN_ERROR_COUNT, "
    "ATTN_ERROR_OPEN, ATTN_ERROR_FINITE.")

OPENED(TranslatesIds, int64_t, translate_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(const struct attn_search_options *, o),
     P(int32_t *, out), P(int64_t, cap)),
    "Writes the best answer to ids[n], as much of it as fits, into out[cap]. "
    "Returns the number of tokens of the complete answer. Errors: those of "
    "$search(), ATTN_ERROR_OPEN, and ATTN_ERROR_LENGTH if n is above "
    "max_input.")

OPENED(AnswersText, int64_t, generate,
    (MODEL, P(struct attn_handle *, h), P(const char *, prompt),
     P(const struct attn_search_options *, o), P(attn_take_text *, take),
     P(void *, user)),
    "Answers a prompt that ends at its NUL and passes the answer to "
    "take(user, text, bytes) as it grows, in complete characters. With a beam "
    "above 1 it passes everything when the search has ended. A decoder's "
    "answer continues the prompt, which is not passed. The answer ends early "
    "if take() returns a number other than 0. o NULL: $options(). Returns the "
    "number of tokens of the answer. Errors: those of the text "
    "(ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), "
    "ATTN_ERROR_OPTION, ATTN_ERROR_ROOM, ATTN_ERROR_NULL, ATTN_ERROR_OPEN, "
    "ATTN_ERROR_FINITE.")

OPENED(Answers, int64_t, generate_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(const struct attn_search_options *, o),
     P(attn_take_id *, take), P(void *, user)),
    "Answers ids[n] and passes each token of the answer to take(user, id). "
    "Otherwise as a call that generates text. Errors: those of $search(), "
    "ATTN_ERROR_OPEN, and ATTN_ERROR_LENGTH if n is above max_input.")

OPENED(Chats, int64_t, chat,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const struct attn_search_options *, o),
     P(attn_take_text *, take), P(void *, user)),
    "Answers the next turn of the handle's conversation, as --chat of the "
    "program does, and passes the answer to take() as $generate() does, always "
    "with a beam of 1. bytes -1: the text ends at its NUL. The model reads the "
    "turn with the texts of the spec's `chat` around it; the turns and answers "
    "before it stay read. An answer that take() ended is part of the "
    "conversation. o NULL: $options(). Returns the number of tokens of the "
    "answer. If the text or an option is wrong, or there is no room for the "
    "turn, the conversation stays as it was. After ATTN_ERROR_FINITE and "
    "ATTN_ERROR_GRAMMAR the turn and the tokens before the error are part of "
    "it; after ATTN_ERROR_FIXED begin a new one. Errors: those of the text "
    "(ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), "
    "ATTN_ERROR_LENGTH also if the conversation would be longer than `chat` of "
    "the options at open, ATTN_ERROR_OPTION, also if that was 0, "
    "ATTN_ERROR_ID, ATTN_ERROR_ROOM if `o` has more threads than the handle, "
    "ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, ATTN_ERROR_FINITE, "
    "ATTN_ERROR_GRAMMAR, ATTN_ERROR_FIXED.")

OPENED(Chats, int, chat_begin,
    (MODEL, P(struct attn_handle *, h), P(const char *, system)),
    "Begins a new conversation: the next $chat() answers its first turn. "
    "Copies `system`, the system's text, which ends at its NUL; NULL: the "
    "spec's, as in the first conversation of a handle. Returns 0. After an "
    "error the conversation stays as it was. Errors: those of a text "
    "(ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), "
    "ATTN_ERROR_OPTION if `chat` of the options at open was 0, "
    "ATTN_ERROR_OPEN, ATTN_ERROR_NULL.")

OPENED(Answers, int, drafter,
    (MODEL, P(struct attn_handle *, h), P(struct attn_drafter *, to)),
    "Sets *to, by which this model proposes tokens to a larger one, in its "
    "options at open: draft = ATTN_DRAFT_MODEL, drafter = to. Both have the "
    "same tokens. This handle has to stay open; several may use it at the same "
    "time. Returns 0 or an error: ATTN_ERROR_NULL, ATTN_ERROR_OPEN.")

OPENED(AnswersText, int64_t, submit,
    (MODEL, P(struct attn_handle *, h), P(const char *, text),
     P(int64_t, bytes), P(const struct attn_search_options *, o)),
    "Adds a request, a text that $work() will answer together with others: as "
    "it is answered alone. Bytes -1: it ends at its NUL. Copies the text and "
    "*o, but the arrays to which *o points have to stay in place. The options "
    "at open limit the number of requests. Returns the request's number, "
    "which is above 0. Errors: those of the text (ATTN_ERROR_UNKNOWN, "
    "ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), ATTN_ERROR_OPTION, "
    "ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, ATTN_ERROR_FIXED, and "
    "ATTN_ERROR_ROOM if no more are held, or if it needs more memory than the "
    "handle has.")

OPENED(Answers, int64_t, submit_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, ids),
     P(int64_t, n), P(const struct attn_search_options *, o)),
    "Adds a request of ids[n], which is copied. Otherwise as a call that adds "
    "a text. Errors: those of it but for the text, and ATTN_ERROR_ID.")

OPENED(Answers, int64_t, work,
    (MODEL, P(struct attn_handle *, h), P(struct attn_event *, events),
     P(int64_t, cap)),
    "Computes the next token of each request in turn, and parts of prompts, "
    "until an answer has grown or ended. Writes what has become of requests "
    "into events[cap]; what does not fit is written by the next call. With a "
    "beam above 1 an answer is written when it has ended. Returns the number "
    "of events; 0: every request has ended. After an error of the model all "
    "requests are gone. Errors: ATTN_ERROR_OPTION if batch of the options at "
    "open was 0, ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, "
    "ATTN_ERROR_FIXED.")

OPENED(AnswersText, int64_t, event_text,
    (MODEL, P(struct attn_handle *, h), P(const struct attn_event *, event),
     P(char *, out), P(int64_t, cap)),
    "Writes the text of an answer so far and a NUL into out[cap], as much as "
    "fits. A decoder's answer continues the text of the request. Before it "
    "has ended, the text ends with its last complete character. Call it "
    "before the next call that adds a request or works on them. Returns the "
    "bytes of the complete text, without the NUL. Errors: ATTN_ERROR_NULL, "
    "ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, ATTN_ERROR_ID, and the event's own "
    "error.")

OPENED(Answers, int, cancel,
    (MODEL, P(struct attn_handle *, h), P(int64_t, id)),
    "Ends a request, whose answer will not be complete in any event. In a C "
    "file compiled with -DATTNC_THREADS other threads may call this, and only "
    "this, while $work() runs, which may then still write that the answer has "
    "grown; so it sets no message. Returns 0. Errors: ATTN_ERROR_NULL, "
    "and ATTN_ERROR_OPEN if no request has this number, or it has ended or "
    "was cancelled before.")

OPENED(AnswersText, int, score,
    (MODEL, P(struct attn_handle *, h), P(const char *, source),
     P(int64_t, source_bytes), P(const char *, target),
     P(int64_t, target_bytes), P(double *, log_probability)),
    "Stores in *log_probability the natural logarithm of the probability that "
    "the answer to `source` is `target` and then ends. Bytes -1: that text "
    "ends at its NUL. Returns 0. Errors: those of the texts "
    "(ATTN_ERROR_UNKNOWN, ATTN_ERROR_UTF8, ATTN_ERROR_LENGTH), "
    "ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN, ATTN_ERROR_FINITE.")

OPENED(Answers, int, score_ids,
    (MODEL, P(struct attn_handle *, h), P(const int32_t *, source),
     P(int64_t, n), P(const int32_t *, target), P(int64_t, target_n),
     P(double *, log_probability)),
    "Stores in *log_probability the natural logarithm of the probability that "
    "the answer to source[n] is target[target_n] and then ends; `target` is "
    "without the end token. Returns 0. Errors: ATTN_ERROR_ID, "
    "ATTN_ERROR_LENGTH, ATTN_ERROR_COUNT, ATTN_ERROR_NULL, ATTN_ERROR_OPEN, "
    "ATTN_ERROR_FINITE.")

EXPORT(Always, const char *, error_text, (P(int64_t, error)),
    "Returns an error in words, a text that is constant; \"no error\" for a "
    "number that is none.")

EXPORT(Always, const char *, bind,
    (MODEL, P(void *, bound), P(const void *, file), P(int64_t, bytes)),
    "Checks the model.weights of `bytes` bytes that lies at `file`, at a "
    "multiple of 64 bytes, and fills `bound`, which has the model's "
    "bound_bytes at a multiple of 8 bytes. `file` has to stay in place as "
    "long as `bound` is used. Returns NULL, or what is wrong with the file, a "
    "text in `bound`. Reads the complete file, to compare its contents with "
    "their hash; weights inside a C file have no hash.")

EXPORT(Always, const char *, bind_lazily,
    (MODEL, P(void *, bound), P(const void *, file), P(int64_t, bytes)),
    "As $bind(), without comparing the hash: mapped weights come from the "
    "disk as they are used, and damage there is not noticed.")

EXPORT(Decodes, int64_t, search_bytes,
    (MODEL, P(const struct attn_search_options *, o), P(int64_t, sentences),
     P(int64_t, source_rows), P(int64_t, longest)),
    "Returns the bytes of memory that $search() needs for `sentences` sources "
    "of `source_rows` tokens together, the longest of `longest` tokens. "
    "Errors: ATTN_ERROR_OPTION, ATTN_ERROR_LENGTH, ATTN_ERROR_COUNT, "
    "ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_KIND.")

EXPORT(Decodes, int, search,
    (REQUEST(attn_search_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(int64_t, sentences),
             P(const int32_t *, ids), P(const int32_t *, start),
             P(void *, memory), P(int64_t, bytes)),
     P(struct attn_hypothesis *, out), P(int64_t *, found)),
    "Answers `sentences` sources. Source s has the tokens from ids[start[s]] "
    "to before ids[start[s + 1]]; `start` has sentences + 1 entries, the "
    "first of them 0. The o->results best answers of s go to out[s * "
    "o->results] and on, and their number to found[s], or ATTN_ERROR_FINITE or "
    "ATTN_ERROR_GRAMMAR. "
    "out[sentences * o->results] and found[sentences] belong to the caller; "
    "the tokens of the answers lie in `memory`, which has `bytes` bytes. A "
    "source of no tokens has no answer, unless a decoder has a start token. "
    "Returns 0. Errors, before anything is computed: those of "
    "$search_bytes(), ATTN_ERROR_TABLE, and ATTN_ERROR_ROOM if `bytes` is too "
    "small.")

EXPORT(Always, int64_t, batch_bytes,
    (MODEL, P(const struct attn_batch *, b)),
    "Returns the bytes of memory that a call on this batch needs, by its "
    "sizes and threads. Errors: ATTN_ERROR_NULL, ATTN_ERROR_COUNT.")

EXPORT(Encodes, int, encode_batch,
    (MODEL, P(const void *, bound), P(const struct attn_batch *, b),
     P(void *, memory), P(int64_t, bytes)),
    "Encodes all rows of a batch in `memory`, which has `bytes` bytes, at "
    "least $batch_bytes(). The result goes to b->output, or for an "
    "encoder-decoder to the cross caches. First checks all ids, lengths and "
    "tables. Returns 0. Errors, before anything is computed: ATTN_ERROR_ROOM, "
    "ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_LENGTH, ATTN_ERROR_TABLE, "
    "ATTN_ERROR_ID, ATTN_ERROR_KIND, ATTN_ERROR_ALIGNED, ATTN_ERROR_FIXED.")

EXPORT(Decodes, int, decode_batch,
    (MODEL, P(const void *, bound), P(const struct attn_batch *, b),
     P(void *, memory), P(int64_t, bytes)),
    "Decodes the new rows of a batch in `memory`, which has `bytes` bytes, at "
    "least $batch_bytes(). Their keys and values go to the pages of the "
    "caches, and the logits of the selected rows to b->output. First checks "
    "all ids, lengths and tables, but not whether two sequences write one "
    "page. Returns 0. Errors, before anything is computed: those of encoding "
    "a batch.")

EXPORT(Texts, const void *, vocab,
    (MODEL, P(const void *, file), P(int64_t, target)),
    "Returns the vocabulary of the source, or of the target (target: 1), "
    "inside a file that was bound; NULL: there is none. It is the `block` of "
    "the functions below.")

EXPORT(Texts, int64_t, vocab_encode_bytes,
    (P(const void *, block), P(int64_t, bytes)),
    "Returns the bytes of memory that $vocab_encode() needs for a text of "
    "`bytes` bytes. Errors: ATTN_ERROR_OPEN, ATTN_ERROR_COUNT, "
    "ATTN_ERROR_NULL, ATTN_ERROR_ALIGNED.")

EXPORT(Texts, int64_t, vocab_most_ids,
    (P(const void *, block), P(int64_t, bytes)),
    "Returns an upper bound of the number of ids of a text of `bytes` bytes, "
    "with those of the template. Errors: as of $vocab_encode_bytes().")

EXPORT(Texts, int64_t, vocab_encode,
    (P(const void *, block), P(const char *, line), P(int64_t, bytes),
     P(int64_t, how), P(int32_t *, ids), P(int64_t, cap),
     P(void *, memory), P(int64_t *, bad)),
    "Writes the ids of a text of `bytes` bytes into ids[cap]. `memory` has "
    "$vocab_encode_bytes(). how: 0, or a sum of 1, the text continues where "
    "another ended, so nothing is put around it; 2, no template; 4, without "
    "the start token with which the template begins. Returns the number of "
    "ids. Errors: ATTN_ERROR_UNKNOWN and ATTN_ERROR_UTF8, if no token stands "
    "for such text, and *bad is the index of the byte; ATTN_ERROR_ROOM if cap "
    "is too small; and those of $vocab_encode_bytes().")

EXPORT(Texts, int64_t, vocab_encode_offsets,
    (P(const void *, block), P(const char *, line), P(int64_t, bytes),
     P(int64_t, how), P(int32_t *, ids), P(int32_t *, offsets),
     P(int64_t, cap), P(void *, memory), P(int64_t *, bad)),
    "As $vocab_encode(). Also writes into offsets[2 cap] where each token "
    "stands in the text: ids[i] from the byte offsets[2 i] to before "
    "offsets[2 i + 1]; 0 and 0 for tokens that the template put around the "
    "text.")

EXPORT(EncodesText, int64_t, vocab_most_pair_ids,
    (P(const void *, block), P(int64_t, bytes)),
    "Returns an upper bound of the number of ids of two texts of `bytes` "
    "bytes together, with those of the template. Errors: ATTN_ERROR_PAIR if "
    "the vocabulary has no template for pairs, and those of "
    "$vocab_encode_bytes().")

EXPORT(EncodesText, int64_t, vocab_encode_pair,
    (P(const void *, block), P(const char *, text), P(int64_t, bytes),
     P(const char *, other), P(int64_t, other_bytes), P(int32_t *, ids),
     P(int32_t *, types), P(int64_t, cap), P(void *, memory),
     P(int64_t *, bad)),
    "Writes the ids of two texts in the template for pairs into ids[cap], and "
    "the type of each into types[cap], unless `types` is NULL. `memory` has "
    "$vocab_encode_bytes() of the longer text. Returns the number of ids. "
    "Errors: ATTN_ERROR_PAIR, and those of $vocab_encode(); *bad counts the "
    "bytes of `other` on from the last byte of `text`.")

EXPORT(Writes, int64_t, vocab_decode,
    (P(const void *, block), P(const int32_t *, ids), P(int64_t, n),
     P(char *, out), P(int64_t, cap)),
    "Writes the text of ids[n] and a NUL into out[cap]. Returns the bytes of "
    "the text without the NUL. Errors: ATTN_ERROR_ROOM if cap is too small, "
    "ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_COUNT, ATTN_ERROR_OPEN.")

EXPORT(Writes, int, text_open,
    (P(struct attn_text *, t), P(const void *, block),
     P(const char *const *, stop), P(int64_t, stops), P(int64_t, begun)),
    "Begins a text that grows token by token and ends before the first of "
    "stop[stops], strings of at most ATTN_STOP_BYTES bytes. *t keeps `block` "
    "and `stop`, which have to stay in place. begun: 1 if it continues where "
    "another text ended, else 0. Returns 0. Errors: ATTN_ERROR_NULL, "
    "ATTN_ERROR_COUNT, ATTN_ERROR_LENGTH of a stop string, ATTN_ERROR_OPEN.")

EXPORT(Writes, int64_t, text_add,
    (P(struct attn_text *, t), P(int32_t, id), P(char *, out),
     P(int64_t, cap)),
    "Adds a token to the text and writes into out[cap] the bytes that are "
    "complete: characters that cannot be part of a stop string. There is no "
    "NUL. Returns the number of bytes. Errors: ATTN_ERROR_ROOM if cap is too "
    "small, ATTN_ERROR_ID, ATTN_ERROR_OPEN, ATTN_ERROR_NULL, "
    "ATTN_ERROR_COUNT.")

EXPORT(Writes, int64_t, text_end,
    (P(struct attn_text *, t), P(char *, out), P(int64_t, cap)),
    "Writes the bytes that are still held back into out[cap], and returns "
    "their number. Errors: as of $text_add().")

EXPORT(Decodes, int64_t, stream_bytes,
    (MODEL, P(const struct attn_search_options *, o),
     P(int64_t, source_rows), P(int64_t, tokens), P(int64_t, streams)),
    "Returns the bytes of memory for `streams` streams of at most `tokens` "
    "tokens each, with the start token and the prompt, after a source of "
    "`source_rows` tokens (kind decoder: 0). `tokens` is at most max_target + "
    "1. Errors: ATTN_ERROR_LENGTH, ATTN_ERROR_COUNT, ATTN_ERROR_OPTION, "
    "ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_KIND.")

EXPORT(Decodes, int, stream_open,
    (P(struct attn_stream *, s),
     REQUEST(attn_stream_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(const int32_t *, ids),
             P(int64_t, n), P(int64_t, tokens), P(int64_t, streams),
             P(void *, memory), P(int64_t, bytes))),
    "Begins a stream, with the start token if there is one. ids[n] are the "
    "source, which is encoded, or for kind decoder the prompt. `memory` has "
    "`bytes` bytes, at least $stream_bytes(), and has to stay in place until "
    "the last call on *s. Copies *o, but not the arrays to which it points. "
    "Returns 0. Errors: those of $stream_bytes(), and ATTN_ERROR_ROOM if "
    "`bytes` is too small.")

EXPORT(Decodes, int, stream_feed,
    (P(struct attn_stream *, s), P(const int32_t *, ids), P(int64_t, n)),
    "Adds ids[n] that are given instead of chosen: for kind decoder to the "
    "prompt, else to the answer. Returns 0. Errors, and nothing has changed: "
    "ATTN_ERROR_ROOM, ATTN_ERROR_ID, ATTN_ERROR_COUNT, ATTN_ERROR_NULL, "
    "ATTN_ERROR_OPEN.")

EXPORT(Decodes, int64_t, stream_next, (P(struct attn_stream *, s)),
    "Returns the next token of the answer, the one that $search() with beam 1 "
    "would choose; ATTN_STREAM_END or ATTN_STREAM_FULL; or another number "
    "below 0. Errors: ATTN_ERROR_FINITE, ATTN_ERROR_GRAMMAR, "
    "ATTN_ERROR_FIXED, ATTN_ERROR_OPEN, "
    "ATTN_ERROR_ID, ATTN_ERROR_NULL, ATTN_ERROR_OPTION.")

EXPORT(Decodes, int, stream_fork,
    (P(struct attn_stream *, to), P(struct attn_stream *, from),
     P(int64_t, slot)),
    "Makes `to` continue where `from` is, in slot `slot` of the same memory, "
    "which is below the number of streams; drops what that slot held. Both "
    "share the pages of keys and values that they have in common. Change "
    "to->o.sampling.seed for another answer. Returns 0. Errors: "
    "ATTN_ERROR_OPEN if there is no such slot, ATTN_ERROR_NULL, "
    "ATTN_ERROR_ROOM.")

EXPORT(Decodes, uint64_t, state_weights, (MODEL, P(const void *, file)),
    "Returns the hash of the weights in a file that was bound, for saved "
    "states; 0: it is no such file.")

EXPORT(Decodes, int64_t, state_bytes, (P(const struct attn_stream *, s)),
    "Returns the bytes of a saved stream. Errors: ATTN_ERROR_OPEN, "
    "ATTN_ERROR_NULL.")

EXPORT(Decodes, int64_t, state_save,
    (P(const struct attn_stream *, s), P(uint64_t, weights),
     P(void *, out), P(int64_t, cap)),
    "Writes the stream into out[cap], which lies at a multiple of 8 bytes. "
    "Options are not saved. Returns the bytes written. Errors: "
    "ATTN_ERROR_ROOM if cap is below $state_bytes(), ATTN_ERROR_ALIGNED, "
    "ATTN_ERROR_NULL, ATTN_ERROR_OPEN, and ATTN_ERROR_RANKS if this is one of "
    "several ranks.")

EXPORT(Decodes, const char *, state_check,
    (MODEL, P(uint64_t, weights), P(const void *, state),
     P(int64_t, bytes)),
    "Returns NULL if this model can restore the `bytes` bytes at `state`, "
    "which lie at a multiple of 8 bytes; else what is wrong, a text that is "
    "constant. Checks all lengths and tokens in it, even if its hash is "
    "right.")

EXPORT(Decodes, int, state_restore,
    (P(struct attn_stream *, s),
     REQUEST(attn_restore_request, MODEL, P(const void *, bound),
             P(const struct attn_search_options *, o), P(uint64_t, weights),
             P(const void *, state), P(int64_t, bytes), P(int64_t, tokens),
             P(int64_t, streams), P(void *, memory),
             P(int64_t, memory_bytes))),
    "Opens a stream as it was saved, in `memory`, which has `memory_bytes` "
    "bytes, at least $stream_bytes() for the header's source_rows and "
    "`tokens`. `tokens` is at least that of the header. `state` may be freed "
    "afterwards. Returns 0. Errors: ATTN_ERROR_STATE, ATTN_ERROR_LENGTH, and "
    "those of opening a stream.")
/* clang-format on */

#undef EXPORT
#undef OPENED
#undef MODEL
#undef P
#undef REQUEST
