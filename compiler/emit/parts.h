/* parts.h: the optional parts of an emitted file, one row each:
 *
 *     PART(id, "name", "roots", "what it brings")
 *
 * - roots: the functions that the part exports (runtime/exports.h). The tree
 *   shaker keeps the code of runtime/ that they call. A function of several
 *   rows is present if one of these parts is. `main` and `threads` are not
 *   functions: they mean the program, and the code that divides a call.
 *
 * `attnc compile --parts` accepts the names. Files define PART before
 * they include this one, which undefines it. */

#ifndef PART
#define PART(...)
#endif

/* clang-format off */
#define PART_SEARCH "options search_bytes search"
#define PART_STREAMS \
    "options stream_bytes stream_open stream_feed stream_next stream_fork"

PART(Text, "text",
     "vocab vocab_encode_bytes vocab_most_ids vocab_encode "
     "vocab_encode_offsets vocab_most_pair_ids vocab_encode_pair vocab_decode "
     "text_open text_add text_end",
     "the tokens of a text, and the text of tokens")
PART(Search, "search", PART_SEARCH,
     "answers of a greedy search, a beam or sampling")
PART(Streams, "streams", PART_STREAMS,
     "answers that grow token by token")
PART(States, "states",
     PART_STREAMS " state_weights state_bytes state_save state_check "
     "state_restore",
     "streams, which can be saved and restored")
PART(Handle, "handle",
     "options open memory error target close encode embed embed_as embed_pair "
     "encode_rows attend translate translate_ids generate generate_ids chat "
     "chat_begin score score_ids",
     "an open model, which maps its weights and has its own memory")
PART(Threads, "threads", "threads",
     "one call on several threads")
PART(Main, "main", "options main",
     "the program under -DATTNC_MAIN")
/* clang-format on */

#undef PART_SEARCH
#undef PART_STREAMS
#undef PART
