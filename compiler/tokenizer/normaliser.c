/* normaliser.c: turns the "normalizer" of a tokenizer.json into steps. */
#include "tokenizer/reader.h"

const char *type_name(const json_t *o)
{
    const char *type = json_string_value(json_object_get(o, "type"));
    return type ? type : "";
}

bool step_put(Reader *r, int list, int op, int flags, Text text, Text other)
{
    Tokenizer *t = &r->t;
    if (t->steps[list] == ATTN_STEPS)
        return refuse(r, "more than %d steps of one kind are not known here",
                      ATTN_STEPS);
    t->step[list][t->steps[list]++] = (Step){ op, flags, text, other };
    return true;
}

static bool normal_put(Reader *r, int op, int flags, Text text, Text other)
{
    return step_put(r, StepsNormal, op, flags, text, other);
}

static const Text none = { "", 0 };

/* Reads a normaliser without options. */
static bool read_plain(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", NULL };
    return json_only(r, o, place, known) && normal_put(r, op, 0, none, none);
}

static bool read_bert(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = {
        "type",          "clean_text", "lowercase", "handle_chinese_chars",
        "strip_accents", NULL
    };
    bool clean, chinese, accents, lower;
    if (!json_only(r, o, place, known)
        || !json_flag(r, o, place, "clean_text", true, &clean)
        || !json_flag(r, o, place, "handle_chinese_chars", true, &chinese)
        || !json_flag(r, o, place, "lowercase", true, &lower)
        || !json_flag(r, o, place, "strip_accents", lower, &accents))
        return false;
    const struct {
        bool on;
        int op;
    } rows[] = { { clean, op },
                 { chinese, ATTN_STEP_CJK },
                 { accents, ATTN_STEP_NFD },
                 { accents, ATTN_STEP_ACCENTS },
                 { lower, ATTN_STEP_LOWERCASE } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].on && !normal_put(r, rows[i].op, 0, none, none))
            return false;
    return true;
}

static bool read_strip(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "strip_left", "strip_right",
                                         NULL };
    bool left, right;
    return json_only(r, o, place, known)
        && json_flag(r, o, place, "strip_left", true, &left)
        && json_flag(r, o, place, "strip_right", true, &right)
        && normal_put(r, op, left + 2 * right, none, none);
}

static bool read_prepend(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "prepend", NULL };
    Text text;
    return json_only(r, o, place, known)
        && json_text(r, o, place, "prepend", "", &text)
        && normal_put(r, op, 0, text, none);
}

/* Recognises a regular expression for runs by its text. Sets *text to the
 * repeated character, or to "" for white space, and *least to the minimum
 * length. Rejects other expressions. */
static bool run_of(Reader *r, const char *place, Text regex, int *least,
                   Text *text)
{
    static const struct {
        const char *regex, *text;
        int least;
    } known[] = { { " {2,}", " ", 2 }, { " +", " ", 1 }, { "\\s+", "", 1 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is(regex, known[i].regex)) {
            *least = known[i].least;
            *text = text_of(known[i].text);
            return true;
        }
    return refuse_unknown(r, place, "regular expression",
                          arena_strndup(r->arena, regex.at, regex.n));
}

/* True if an expression matches only one fixed text, which it stores in
 * *text. */
static bool is_literal(Text regex, Text *text)
{
    *text = regex;
    if (text_is(regex, "\\n")) {
        *text = text_of("\n");
        return true;
    }
    for (size_t i = 0; i < regex.n; i++)
        if (!regex.at[i] || strchr("\\^$.|?*+()[]{}", regex.at[i]))
            return false;
    return regex.n > 0;
}

bool pattern_read(Reader *r, const json_t *o, const char *place, Text *text,
                  bool *regex)
{
    static const char *const known[] = { "String", "Regex", NULL };
    const json_t *pattern = json_object_get(o, "pattern");
    if (!json_is_object(pattern))
        return refuse(r, "%s.pattern: an object is expected", place);
    *regex = json_object_get(pattern, "Regex") != NULL;
    return json_only(r, pattern, place, known)
        && json_text(r, pattern, place, *regex ? "Regex" : "String", "", text);
}

static bool read_replace(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    Text text, content;
    bool regex;
    if (!json_only(r, o, place, known)
        || !pattern_read(r, o, place, &text, &regex)
        || !json_text(r, o, place, "content", "", &content))
        return false;
    int least = 0;
    regex = regex && !is_literal(text, &text);
    if (regex && !run_of(r, place, text, &least, &text))
        return false;
    return normal_put(r, regex ? ATTN_STEP_REPLACE_RUN : op, least, text,
                      content);
}

/* ---- characters ---- */

static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes base64 [RFC 4648]. Returns false if it is invalid. */
static bool decode64(Arena *a, Text from, Text *to)
{
    char *out = arena_alloc(a, from.n / 4 * 3 + 1);
    size_t n = from.n, bytes = 0;
    if (n % 4 != 0)
        return false;
    while (n > 0 && from.n - n < 2 && from.at[n - 1] == '=')
        n--;
    uint32_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        const int d = digit64(from.at[i]);
        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 != 0)
            out[bytes++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *to = (Text){ out, bytes };
    return true;
}

static bool read_charmap(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "precompiled_charsmap", NULL };
    Text text;
    if (!json_only(r, o, place, known)
        || !json_text(r, o, place, "precompiled_charsmap", "", &text))
        return false;
    if (text.n == 0)
        return true;
    if (r->t.charmap.n)
        return refuse(r, "%s: a second map of characters", place);
    if (!decode64(r->arena, text, &r->t.charmap))
        return refuse(r, "%s.precompiled_charsmap: this is not base64", place);
    return normal_put(r, op, 0, none, none);
}

static bool read_sequence(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "normalizers", NULL };
    const json_t *list = json_object_get(o, "normalizers");
    (void)op;
    if (!json_only(r, o, place, known))
        return false;
    if (!json_is_array(list))
        return refuse(r, "%s.normalizers: a list is expected", place);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!normaliser_read(r, json_array_get(list, i),
                             arena_printf(r->arena, "%s.normalizers[%zu]",
                                          place, i)))
            return false;
    return true;
}

bool normaliser_read(Reader *r, const json_t *o, const char *place)
{
    static const struct {
        const char *type;
        bool (*read)(Reader *r, const json_t *o, const char *place, int op);
        int op;
    } rows[] = {
        { "Sequence", read_sequence, 0 },
        { "BertNormalizer", read_bert, ATTN_STEP_CLEAN },
        { "NFC", read_plain, ATTN_STEP_NFC },
        { "NFD", read_plain, ATTN_STEP_NFD },
        { "NFKC", read_plain, ATTN_STEP_NFKC },
        { "NFKD", read_plain, ATTN_STEP_NFKD },
        { "Nmt", read_plain, ATTN_STEP_NMT },
        { "Lowercase", read_plain, ATTN_STEP_LOWERCASE },
        { "StripAccents", read_plain, ATTN_STEP_STRIP_ACCENTS },
        { "Strip", read_strip, ATTN_STEP_STRIP },
        { "Prepend", read_prepend, ATTN_STEP_PREPEND },
        { "Replace", read_replace, ATTN_STEP_REPLACE },
        { "Precompiled", read_charmap, ATTN_STEP_CHARMAP },
    };
    if (!o || json_is_null(o))
        return true;
    const char *type = type_name(o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, o, place, rows[i].op);
    return refuse_unknown(r, place, "type", type);
}
