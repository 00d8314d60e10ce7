/* decoder.c: turns the "decoder" of a tokenizer.json into steps. */
#include "tokenizer/reader.h"

static const Text none = { "", 0 };

static bool decode_put(Reader *r, int op, int flags, Text text, Text other)
{
    return step_put(r, StepsDecode, op, flags, text, other);
}

static bool read_plain_decoder(Reader *r, const json_t *o, const char *place,
                               int op)
{
    /* options of class ByteLevel; only "type" affects decoding */
    static const char *const known[] = { "type", "add_prefix_space",
                                         "trim_offsets", "use_regex", NULL };
    return json_only(r, o, place, known) && decode_put(r, op, 0, none, none);
}

static bool read_wordpiece(Reader *r, const json_t *o, const char *place,
                           int op)
{
    static const char *const known[] = { "type", "prefix", "cleanup", NULL };
    bool cleanup;
    Text prefix;
    return json_only(r, o, place, known)
        && json_flag(r, o, place, "cleanup", true, &cleanup)
        && json_text(r, o, place, "prefix", "##", &prefix)
        && decode_put(r, op, cleanup, prefix, none);
}

static bool read_metaspace_decoder(Reader *r, const json_t *o,
                                   const char *place, int op)
{
    Metaspace m;
    return metaspace_read(r, o, place, &m)
        && decode_put(r, op, m.scheme != 0, m.mark, none);
}

static bool read_replace_decoder(Reader *r, const json_t *o, const char *place,
                                 int op)
{
    static const char *const known[] = { "type", "pattern", "content", NULL };
    bool regex;
    Text text, content;
    if (!json_only(r, o, place, known)
        || !pattern_read(r, o, place, &text, &regex)
        || !json_text(r, o, place, "content", "", &content))
        return false;
    if (regex)
        return refuse_unknown(r, place, "regular expression",
                              arena_strndup(r->arena, text.at, text.n));
    if (text.n == 0)
        return refuse(r, "%s.pattern: an empty text is nowhere", place);
    return decode_put(r, op, 0, text, content);
}

static bool read_strip_decoder(Reader *r, const json_t *o, const char *place,
                               int op)
{
    static const char *const known[] = { "type", "content", "start", "stop",
                                         NULL };
    int64_t start, stop;
    Text content;
    if (!json_only(r, o, place, known)
        || !json_text(r, o, place, "content", " ", &content)
        || !json_int(r, o, place, "start", 0, &start)
        || !json_int(r, o, place, "stop", 0, &stop))
        return false;
    if (attn_character(content.at, (int64_t)content.n) != (int64_t)content.n
        || content.n == 0)
        return refuse(r, "%s.content: one character is expected", place);
    if (start < 0 || stop < 0 || start > 255 || stop > 255)
        return refuse(r, "%s: start and stop are 0 to 255", place);
    return decode_put(r, op, (int)(start + 256 * stop), content, none);
}

static bool read_suffix(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "suffix", NULL };
    Text suffix;
    return json_only(r, o, place, known)
        && json_text(r, o, place, "suffix", "</w>", &suffix)
        && decode_put(r, op, 0, suffix, none);
}

static bool read_decoders(Reader *r, const json_t *o, const char *place, int op)
{
    static const char *const known[] = { "type", "decoders", NULL };
    const json_t *list = json_object_get(o, "decoders");
    (void)op;
    if (!json_only(r, o, place, known))
        return false;
    if (!json_is_array(list))
        return refuse(r, "%s.decoders: a list is expected", place);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!decoder_row(r, json_array_get(list, i),
                         arena_printf(r->arena, "%s.decoders[%zu]", place, i)))
            return false;
    return true;
}

bool decoder_row(Reader *r, const json_t *o, const char *place)
{
    static const struct {
        const char *type;
        bool (*read)(Reader *r, const json_t *o, const char *place, int op);
        int op;
    } rows[] = {
        { "Sequence", read_decoders, 0 },
        { "ByteLevel", read_plain_decoder, ATTN_STEP_BYTE_LEVEL_OUT },
        { "WordPiece", read_wordpiece, ATTN_STEP_WORDPIECE_OUT },
        { "Metaspace", read_metaspace_decoder, ATTN_STEP_METASPACE_OUT },
        { "ByteFallback", read_plain_decoder, ATTN_STEP_BYTE_FALLBACK_OUT },
        { "Fuse", read_plain_decoder, ATTN_STEP_FUSE },
        { "Strip", read_strip_decoder, ATTN_STEP_STRIP_OUT },
        { "Replace", read_replace_decoder, ATTN_STEP_REPLACE_OUT },
        { "BPEDecoder", read_suffix, ATTN_STEP_SUFFIX_OUT },
    };
    const char *type = type_name(o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return rows[i].read(r, o, place, rows[i].op);
    return refuse_unknown(r, place, "type", type);
}

bool decoder_read(Reader *r, const json_t *o, const char *place)
{
    if (!o || json_is_null(o))
        return decode_put(r, ATTN_STEP_JOIN_OUT, 0, none, none);
    return decoder_row(r, o, place);
}
