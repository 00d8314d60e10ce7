/* form_search.h: the fields for search and chats, for random_form.h, which
 * includes this file after its own helpers. */
#ifndef ATTNC_FORM_SEARCH_H
#define ATTNC_FORM_SEARCH_H

static inline void form_search(RandomForm *f)
{
    RandomSpec *r = &f->r;
    RandomSpec of = *r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;

    if (has_target(r))
        say(r, "search",
            TEXT(f,
                 "{rule: %s, beam: %s, penalty: %s, "
                 "alpha: %s, max_output: %s%s%s%s%s%s%s%s, processors: %s}",
                 WORD(r, "exact", "recorded"), WORD(r, "1", "3"),
                 WORD(r, "none", "gnmt", "power"), WORD(r, "0.6", "1.5"),
                 WORD(r, "1", "{plus: 7}"),
                 WORD(r, "", "", ", prefix: 3", ", prefix: [4, 2]"),
                 WORD(r, "", "", ", suppress: [4, [3, 2]]"),
                 WORD(r, "", "", ", suppress_first: [2, 3]"),
                 WORD(&of, "", "", ", repetition_penalty: 1.25"),
                 WORD(&of, "", "", ", no_repeat_ngram: 2"),
                 WORD(&of, "", "", ", min_length: 3"),
                 WORD(&of, "", "", ", min_total: 6"),
                 WORD(&of, "logits", "log_probabilities")));
}

static inline void form_chat(RandomForm *f)
{
    RandomSpec *r = &f->r;
    RandomSpec of = *r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;

    const char *trim = WORD(&of, "none", "turns", "texts", "all");

    if (r->kind == KindDecoder && coin(r))
        say(r, "chat",
            TEXT(f,
                 "{begin: \"%s\", trim: %s, system: {prefix: \"%s\", "
                 "suffix: \"%s\", "
                 "text: \"%s\", inside: %s, skip_empty: %s}, "
                 "user: {prefix: \"%s\", "
                 "suffix: \"%s\"}, assistant: {prefix: \"%s\", "
                 "suffix: \"%s\"}}",
                 WORD(r, "", "<"), trim, WORD(r, "", "t1"), WORD(r, "\\n", "?"),
                 WORD(r, "be kind", ""), yes_no(r), yes_no(&of),
                 WORD(r, "a", "\\\\"), WORD(r, "\\\"", ":"),
                 WORD(r, "x", "y: #"), WORD(r, "", "\\t")));
}

#endif
