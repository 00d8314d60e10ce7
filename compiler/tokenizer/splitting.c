/* splitting.c: turns the "pre_tokenizer" of a tokenizer.json into steps. */
#include "tokenizer/reader.h"

static const Text none = { "", 0 };

static bool split_put(Reader *r, int op, int flags, Text text)
{
    return step_put(r, StepsSplit, op, flags, text, none);
}

static bool read_plain_splitter(Reader *r, const json_t *o, const char *place,
                                int op, int flags)
{
    static const char *const known[] = { "type", NULL };
    return json_only(r, o, place, known) && split_put(r, op, flags, none);
}

/* Reads ByteLevel, which prepends a space and splits by GPT-2's pattern. */
static bool read_byte_splitter(Reader *r, const json_t *o, const char *place,
                               int op, int flags)
{
    static const char *const known[] = { "type", "add_prefix_space",
                                         "trim_offsets", "use_regex", NULL };
    bool space, trim, regex;
    if (!json_only(r, o, place, known)
        || !json_flag(r, o, place, "add_prefix_space", true, &space)
        || !json_flag(r, o, place, "trim_offsets", true, &trim)
        || !json_flag(r, o, place, "use_regex", true, &regex))
        return false;
    if (space && !split_put(r, ATTN_STEP_PREFIX, 0, text_of(" ")))
        return false;
    return !regex || split_put(r, op, flags, none);
}

static bool read_bert_splitter(Reader *r, const json_t *o, const char *place,
                               int op, int flags)
{
    return read_plain_splitter(r, o, place, op, flags)
        && split_put(r, ATTN_STEP_PUNCTUATION, ATTN_SPLIT_ISOLATED, none);
}

static bool read_digits(Reader *r, const json_t *o, const char *place, int op,
                        int flags)
{
    static const char *const known[] = { "type", "individual_digits", NULL };
    bool each;
    return json_only(r, o, place, known)
        && json_flag(r, o, place, "individual_digits", false, &each)
        && split_put(r, op, each ? flags : ATTN_SPLIT_CONTIGUOUS, none);
}

static bool behaviour_read(Reader *r, const json_t *o, const char *place,
                           const char *default_value, int *flags)
{
    static const struct {
        const char *name;
        int flags;
    } rows[] = { { "Removed", ATTN_SPLIT_REMOVED },
                 { "Isolated", ATTN_SPLIT_ISOLATED },
                 { "MergedWithPrevious", ATTN_SPLIT_PREVIOUS },
                 { "MergedWithNext", ATTN_SPLIT_NEXT },
                 { "Contiguous", ATTN_SPLIT_CONTIGUOUS } };
    Text name;
    if (!json_text(r, o, place, "behavior", default_value, &name))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_is(name, rows[i].name)) {
            *flags = rows[i].flags;
            return true;
        }
    return refuse_unknown(r, place, "behavior",
                          arena_strndup(r->arena, name.at, name.n));
}

static bool read_punctuation(Reader *r, const json_t *o, const char *place,
                             int op, int flags)
{
    static const char *const known[] = { "type", "behavior", NULL };
    return json_only(r, o, place, known)
        && behaviour_read(r, o, place, "Isolated", &flags)
        && split_put(r, op, flags, none);
}

static bool read_split(Reader *r, const json_t *o, const char *place, int op,
                       int flags)
{
    static const char *const known[] = { "type", "pattern", "behavior",
                                         "invert", NULL };
    bool regex, invert;
    Text text;
    if (!json_only(r, o, place, known)
        || !pattern_read(r, o, place, &text, &regex)
        || !behaviour_read(r, o, place, NULL, &flags)
        || !json_flag(r, o, place, "invert", false, &invert))
        return false;
    if (regex && !tokenizer_pattern(text, &op))
        return refuse(r,
                      "%s.pattern: the expression %.*s is not known here; "
                      "docs/generate.md, Tokenizers, lists those that are",
                      place, (int)(text.n < 200 ? text.n : 200), text.at);
    return split_put(r, op, flags + (invert ? ATTN_SPLIT_INVERT : 0),
                     regex ? none : text);
}

static bool read_delimiter(Reader *r, const json_t *o, const char *place,
                           int op, int flags)
{
    static const char *const known[] = { "type", "delimiter", NULL };
    Text text;
    return json_only(r, o, place, known)
        && json_text(r, o, place, "delimiter", " ", &text)
        && split_put(r, op, flags, text);
}

/* ---- metaspace ---- */

bool metaspace_read(Reader *r, const json_t *o, const char *place,
                    Metaspace *to)
{
    static const char *const known[] = { "type",    "replacement",
                                         "split",   "add_prefix_space",
                                         "str_rep", "prepend_scheme",
                                         NULL };
    static const char *const schemes[] = { "never", "first", "always" };
    bool prefix;
    Text scheme;
    if (!json_only(r, o, place, known)
        || !json_text(r, o, place, "replacement", "\xe2\x96\x81", &to->mark)
        || !json_flag(r, o, place, "split", true, &to->split)
        || !json_flag(r, o, place, "add_prefix_space", true, &prefix)
        || !json_text(r, o, place, "prepend_scheme",
                      prefix ? "always" : "never", &scheme))
        return false;
    for (to->scheme = 0; to->scheme < 3; to->scheme++)
        if (text_is(scheme, schemes[to->scheme]))
            return true;
    return refuse_unknown(r, place, "prepend_scheme",
                          arena_strndup(r->arena, scheme.at, scheme.n));
}

static bool read_metaspace(Reader *r, const json_t *o, const char *place,
                           int op, int flags)
{
    Metaspace m;
    if (!metaspace_read(r, o, place, &m)
        || !split_put(r, op, flags + m.scheme, m.mark))
        return false;
    return !m.split || split_put(r, ATTN_STEP_TEXT, ATTN_SPLIT_NEXT, m.mark);
}

static bool read_splitters(Reader *r, const json_t *o, const char *place,
                           int op, int flags)
{
    static const char *const known[] = { "type", "pretokenizers", NULL };
    const json_t *list = json_object_get(o, "pretokenizers");
    (void)op;
    (void)flags;
    if (!json_only(r, o, place, known))
        return false;
    if (!json_is_array(list))
        return refuse(r, "%s.pretokenizers: a list is expected", place);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!splitting_read(r, json_array_get(list, i),
                            arena_printf(r->arena, "%s.pretokenizers[%zu]",
                                         place, i)))
            return false;
    return true;
}

bool splitting_read(Reader *r, const json_t *o, const char *place)
{
    static const struct {
        const char *type;
        bool (*read)(Reader *r, const json_t *o, const char *place, int op,
                     int flags);
        int op, flags;
    } rows[] = {
        { "Sequence", read_splitters, 0, 0 },
        { "ByteLevel", read_byte_splitter, ATTN_STEP_GPT2,
          ATTN_SPLIT_ISOLATED },
        { "Metaspace", read_metaspace, ATTN_STEP_METASPACE, 0 },
        { "Split", read_split, ATTN_STEP_TEXT, 0 },
        { "BertPreTokenizer", read_bert_splitter, ATTN_STEP_SPACE,
          ATTN_SPLIT_REMOVED },
        { "WhitespaceSplit", read_plain_splitter, ATTN_STEP_SPACE,
          ATTN_SPLIT_REMOVED },
        { "Whitespace", read_plain_splitter, ATTN_STEP_WORDS,
          ATTN_SPLIT_REMOVED + ATTN_SPLIT_INVERT },
        { "Punctuation", read_punctuation, ATTN_STEP_PUNCTUATION, 0 },
        { "Digits", read_digits, ATTN_STEP_DIGIT, ATTN_SPLIT_ISOLATED },
        { "CharDelimiterSplit", read_delimiter, ATTN_STEP_TEXT,
          ATTN_SPLIT_REMOVED },
    };
    if (!o || json_is_null(o))
        return true;
    const char *type = type_name(o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, o, place, rows[i].op, rows[i].flags);
    return refuse_unknown(r, place, "type", type);
}
