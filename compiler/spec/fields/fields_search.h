/* fields_search.h: rows of the field table (fields.c) for search and chats. */
/* clang-format off */
ENUM("search.rule", search_rule, rules, Target_, "exact", NULL,
 "Exact stops when no open hypothesis can win any more. Recorded stops when as "
 "many hypotheses have ended as the beam is wide, and directly after a prefix "
 "only the best token may end it. The page spec-formulas has the steps."),
INT("search.beam", search_beam, 1, 1024, Target_, "4", NULL,
    "The search follows this many hypotheses; 1 is greedy."),
ENUM("search.penalty", search_penalty, penalties, Target_, "gnmt", NULL,
     "The score is log P, divided by ((5 + L) / 6)^alpha, or by L^alpha, "
     "of L tokens."),
REAL("search.alpha", search_alpha, 0.0, 10.0, Target_,
     "0.6 for gnmt, 1.0 for power", follow_alpha,
     "This is the exponent of the penalty."),
IDS("search.prefix", FieldIds, search_prefix, 0, Target_,
    "Every answer begins with these ids; --prefix takes their place."),
IDS("search.suppress", FieldSequences, suppress, 0, Target_,
    "No answer has these ids and sequences of ids; --suppress adds to "
    "them."),
IDS("search.suppress_first", FieldIds, suppress_first, 0, Target_,
    "No answer begins with one of these ids, behind the prefix."),
SPREAD("search.max_output", WORDS("search.max_output.tokens"), Target_,
       "An output has no more tokens than this; the smaller of the limits"
       " that are set, and of max_len.target, holds."),
INT("search.max_output.tokens", max_output, 1, MostRows, Target_, "", NULL,
    "An output has no more tokens than this."),
INT("search.max_output.plus", max_output_plus, 0, MostRows, Target_,
    "50 for an encoder-decoder without a limit", follow_plus,
    "An output has at most so many tokens more than the source."),

SAYS("chat.begin", begin, "A conversation begins with this text."),
SAYS("chat.system.prefix", system.prefix,
     "This stands before what the system says."),
SAYS("chat.system.suffix", system.suffix, "This stands behind it."),
SAYS("chat.system.text", system_text,
     "The system says this, where --system says nothing else."),
BOOL("chat.system.inside", chat_system_inside, Decoder, "false", NULL,
     "The system's part stands in the first turn, before its text."),
ENUM(
    "chat.trim", chat_trim, trims, Decoder, "none", NULL,
    "White space at both ends of turns goes, or of the system's text too."),
SAYS("chat.user.prefix", user.prefix, "This stands before a turn."),
SAYS("chat.user.suffix", user.suffix, "This stands behind a turn."),
SAYS("chat.assistant.prefix", assistant.prefix,
     "This stands before an answer."),
SAYS("chat.assistant.suffix", assistant.suffix,
     "This stands behind an answer, where another turn follows."),
