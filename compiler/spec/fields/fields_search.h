/* fields_search.h: rows of the field table (fields.c) for search and chats. */
/* clang-format off */
ENUM("search.rule", search_rule, rules, Target_, "exact", NULL,
 "Exact stops when no open hypothesis can win any more. Recorded stops when as "
 "many hypotheses have ended as the beam is wide, and directly after a prefix "
 "only the best token may end it. The page spec-formulas has the steps."),
INT("search.beam", search_beam, 1, 1024, Target_, "4", NULL,
    "The search follows this many hypotheses; 1 is greedy."),
ENUM("search.penalty", search_penalty, penalties, Target_, "gnmt", NULL,
     "The score is log P, divided by ((5 + L) / 6)^alpha for gnmt or by "
     "L^alpha for power, where L is the number of tokens."),
REAL("search.alpha", search_alpha, 0.0, 10.0, Target_,
     "0.6 for gnmt, 1.0 for power", follow_alpha,
     "This is the exponent of the penalty."),
IDS("search.prefix", FieldIds, search_prefix, 0, Target_,
    "Every answer begins with these ids; --prefix replaces them."),
IDS("search.suppress", FieldSequences, suppress, 0, Target_,
    "No answer contains these ids and sequences of ids; --suppress adds to "
    "them."),
IDS("search.suppress_first", FieldIds, suppress_first, 0, Target_,
    "No answer begins with one of these ids, after the prefix."),
REAL("search.repetition_penalty", repetition_penalty, 0.001, 1000.0, Target_,
     "1", NULL,
     "The logits of tokens that came already, a decoder's prompt included, are "
     "divided by this, or multiplied if they are below 0."),
INT("search.no_repeat_ngram", no_repeat_ngram, 0, 1000, Target_, "0", NULL,
    "No n-gram of this length comes twice, a decoder's prompt included."),
INT("search.min_length", min_length, 0, MostRows, Target_, "0", NULL,
    "No answer ends before it has this many tokens."),
INT("search.min_total", min_total, 0, MostRows, Target_, "0", NULL,
    "No answer ends before this many tokens, counted with the start token and "
    "a decoder's prompt; --min-length replaces it."),
ENUM("search.processors", search_processors, processors, Target_, "logits",
     NULL,
     "The fields from search.suppress to here change the logits, or, with a "
     "beam above 1, the log-probabilities, which are not normalised again. "
     "transformers does the latter."),
SPREAD("search.max_output", WORDS("search.max_output.tokens"), Target_,
       "An output has at most this many tokens. The smallest of the limits "
       "that are set, and of max_len.target, holds."),
INT("search.max_output.tokens", max_output, 1, MostRows, Target_, "", NULL,
    "An output has at most this many tokens."),
INT("search.max_output.plus", max_output_plus, 0, MostRows, Target_,
    "50 for an encoder-decoder without a limit", follow_plus,
    "An output has at most this many tokens more than the source."),

SAYS("chat.begin", begin, "A conversation begins with this text."),
SAYS("chat.system.prefix", system.prefix,
     "This text precedes the system's text."),
SAYS("chat.system.suffix", system.suffix,
     "This text follows the system's text."),
SAYS("chat.system.text", system_text,
     "The system's text, unless --system gives another."),
BOOL("chat.system.inside", chat_system_inside, Decoder, "false", NULL,
     "The system's part is inside the first turn, before its text."),
BOOL("chat.system.skip_empty", chat_system_skipped, Decoder, "false", NULL,
     "An empty text of the system has no prefix and suffix."),
ENUM(
    "chat.trim", chat_trim, trims, Decoder, "none", NULL,
     "White space is removed at both ends of turns, or, with `texts`, of the "
     "user's texts only, and with `all` of the system's text, too."),
SAYS("chat.user.prefix", user.prefix,
     "This text precedes a turn of the user."),
SAYS("chat.user.suffix", user.suffix,
     "This text follows a turn of the user."),
SAYS("chat.assistant.prefix", assistant.prefix,
     "This text precedes an answer."),
SAYS("chat.assistant.suffix", assistant.suffix,
     "This text follows an answer if another turn comes after it."),
