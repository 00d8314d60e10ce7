/* tokenizer_json.c: generates a tokenizer.json (maker.h): a model, steps, added
 * tokens, a template. */
#include <stdio.h>
#include <string.h>

#include "maker.h"

void put_map(Maker *m)
{
    put_text(m, "{");
    for (int i = 0; i < m->tokens; i++) {
        put_text(m, i ? "," : "");
        put_string(m, m->token[i]);
        put(m, ":%d", i);
    }
    put_text(m, "}");
}

static void put_merges(Maker *m)
{
    const bool pairs = pick(m, 2) || find(m, " ") >= 0;
    put_text(m, "[");
    for (int i = 0; i < m->merges; i++) {
        const char *left = m->token[m->merge[i][0]];
        const char *right = m->token[m->merge[i][1]];
        put_text(m, i ? "," : "");
        put_text(m, pairs ? "[" : "");
        if (pairs) {
            put_string(m, left);
            put_text(m, ",");
            put_string(m, right);
        } else {
            char both[2 * TokenBytes + 1];
            snprintf(both, sizeof both, "%s %s", left, right);
            put_string(m, both);
        }
        put_text(m, pairs ? "]" : "");
    }
    put_text(m, "]");
}

/* ---- steps ---- */

/* Steps of a tokenizer.json with choices: %b is true or false, %t the text of a
 * token. */
static const char *const normalizers[] = {
    "{\"type\":\"NFC\"}",
    "{\"type\":\"NFD\"}",
    "{\"type\":\"NFKC\"}",
    "{\"type\":\"NFKD\"}",
    "{\"type\":\"Nmt\"}",
    "{\"type\":\"Lowercase\"}",
    "{\"type\":\"StripAccents\"}",
    "{\"type\":\"Strip\",\"strip_left\":%b,\"strip_right\":%b}",
    "{\"type\":\"Prepend\",\"prepend\":%t}",
    "{\"type\":\"Replace\",\"pattern\":{\"String\":%t},\"content\":%t}",
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":%t}",
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" "
    "\"}",
    "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}",
    "{\"type\":\"BertNormalizer\",\"clean_text\":%b,\"handle_chinese_chars\":%"
    "b,\"strip_accents\":%b,\"lowercase\":%b}",
};
static const char *const splits[] = {
    "{\"type\":\"WhitespaceSplit\"}",
    "{\"type\":\"Whitespace\"}",
    "{\"type\":\"BertPreTokenizer\"}",
    "{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}",
    "{\"type\":\"Digits\",\"individual_digits\":%b}",
    "{\"type\":\"Metaspace\","
    "\"prepend_scheme\":\"first\",\"split\":%b}",
    "{\"type\":\"Metaspace\",\"add_prefix_space\":%b}",
    "{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"-\"}",
    "{\"type\":\"Split\",\"pattern\":{\"String\":%t},\"behavior\":"
    "\"MergedWithNext\",\"invert\":%b}",
    "{\"type\":\"Split\",\"pattern\":{\"String\":%t},\"behavior\":"
    "\"MergedWithPrevious\",\"invert\":%b}",
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{N}\"},\"behavior\":"
    "\"Removed\",\"invert\":%b}",
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[0-9][0-9][0-9]\"},"
    "\"behavior\":\"Isolated\",\"invert\":%b}",
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"'s|'t|'re|'ve|'m|'ll|'d|[\\\\"
    "p{L}]+|[\\\\p{N}]|[^\\\\s\\\\p{L}\\\\p{N}]+\"},\"behavior\":"
    "\"Removed\",\"invert\":true}",
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"'s|'t|'re|'ve|'m|'ll|'d| "
    "?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+"
    "\"},\"behavior\":\"Isolated\",\"invert\":%b}",
};
static const char *const byte_splits[] = {
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":%b,\"trim_offsets\":%b,"
    "\"use_regex\":%b}",
};
static const char *const decoders[] = {
    "{\"type\":\"ByteLevel\"}",
    "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":%b}",
    "{\"type\":\"Metaspace\",\"add_prefix_space\":%b}",
    "{\"type\":\"ByteFallback\"}",
    "{\"type\":\"Fuse\"}",
    "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":1}",
    "{\"type\":\"Replace\",\"pattern\":{\"String\":%t},\"content\":%t}",
    "{\"type\":\"BPEDecoder\",\"suffix\":%t}",
};

static void put_step(Maker *m, const char *form)
{
    for (; *form; form++) {
        if (form[0] == '%' && form[1] == 'b')
            put_text(m, flag(m));
        else if (form[0] == '%' && form[1] == 't')
            put_string(m, any(m));
        else {
            put_bytes(m, form, 1);
            continue;
        }
        form++;
    }
}

/* Writes null, a step, or a sequence of at most three; `first`: a required
 * step. */
static void put_steps(Maker *m, const char *list, const char *const *forms,
                      int n, const char *first)
{
    const int count = pick(m, 4);
    if (!first && !count) {
        put_text(m, "null");
        return;
    }
    if (!first && count == 1) {
        put_step(m, forms[pick(m, n)]);
        return;
    }
    put(m, "{\"type\":\"Sequence\",\"%s\":[", list);
    for (int i = 0; i < count; i++) {
        put_text(m, i ? "," : "");
        put_step(m, forms[pick(m, n)]);
    }
    if (first) {
        put_text(m, count ? "," : "");
        put_step(m, first);
    }
    put_text(m, "]}");
}

#define STEPS(m, list, forms, first) \
    put_steps(m, list, forms, (int)(sizeof(forms) / sizeof *(forms)), first)

/* Writes a row of a template: a token, or a text. */
static void put_row(Maker *m, const char *kind, const char *id, int type)
{
    put(m, "{\"%s\":{\"id\":", kind);
    put_string(m, id);
    put(m, ",\"type_id\":%d}}", type);
}

static void put_template(Maker *m)
{
    const char *around = any(m);
    put_text(m, "{\"type\":\"TemplateProcessing\",\"single\":[");
    put_row(m, "SpecialToken", around, 0);
    put_text(m, ",");
    put_row(m, "Sequence", "A", 0);
    put_text(m, "],\"pair\":[");
    put_row(m, "Sequence", "A", 0);
    put_text(m, ",");
    put_row(m, "SpecialToken", around, pick(m, 2));
    put_text(m, ",");
    put_row(m, "Sequence", "B", 1);
    put_text(m, "],\"special_tokens\":{");
    put_string(m, around);
    put(m, ":{\"ids\":[%d]}}}", find(m, around));
}

static void put_named(Maker *m, const char *key)
{
    const char *token = any(m);
    put(m, ",\"%s\":[", key);
    put_string(m, token);
    put(m, ",%d]", find(m, token));
}

static void put_processor(Maker *m)
{
    static const char *const types[] = { "BertProcessing",
                                         "RobertaProcessing" };
    const int kind = pick(m, 5);
    if (kind < 1)
        put_text(m, "null");
    else if (kind < 2)
        put_template(m);
    else if (kind < 3)
        put(m, "{\"type\":\"ByteLevel\",\"trim_offsets\":%s}", flag(m));
    else {
        put(m, "{\"type\":\"%s\"", types[kind - 3]);
        put_named(m, "sep");
        put_named(m, "cls");
        put_text(m, kind == 4 && pick(m, 2) ? ",\"trim_offsets\":false}" : "}");
    }
}

/* ---- tokenizer.json ---- */

/* Makes some tokens, and some further ones, added tokens. */
static void put_added(Maker *m)
{
    static const char *const texts[] = { "<x>", "[Y]", "ab ab", "\xc3\xa9z",
                                         "<|end|>" };
    const int old = pick(m, 4), more = pick(m, 4);
    int from = 0;
    for (int i = 0; i < old + more; i++) {
        const int id = i < old ? from : m->tokens;
        from += 1 + pick(m, 3);
        if (i < old && id >= m->tokens)
            continue;
        if (i >= old
            && (find(m, texts[i - old]) >= 0 || m->tokens == MostTokens))
            continue;
        if (i >= old)
            add(m, texts[i - old]);
        put_text(m, i ? "," : "");
        put(m, "{\"id\":%d,\"content\":", id);
        put_string(m, m->token[id]);
        put(m, ",\"special\":%s,\"lstrip\":%s,\"rstrip\":%s,", flag(m), flag(m),
            flag(m));
        put(m, "\"single_word\":%s,\"normalized\":%s}", flag(m), flag(m));
    }
}

static void make_bpe(Maker *m, bool bytes)
{
    static const char *const suffixes[] = { "", "", "</w>" };
    const char *suffix = bytes ? "" : PICK(m, suffixes);
    add_specials(m);
    add_characters(m, bytes ? Letters : pick(m, 2) ? Marked : Plain);
    if (*suffix) {
        add(m, "a</w>");
        add(m, "b</w>");
    }
    add_merges(m, suffix);
    put_text(m, "\"model\":{\"type\":\"BPE\",\"dropout\":null,");
    put(m, "\"unk_token\":%s,", pick(m, 2) ? "\"<unk>\"" : "null");
    put(m, "\"end_of_word_suffix\":\"%s\",\"fuse_unk\":%s,", suffix, flag(m));
    put(m, "\"byte_fallback\":%s,\"ignore_merges\":%s,\"vocab\":",
        pick(m, 4) ? "false" : "true", flag(m));
    put_map(m);
    put_text(m, ",\"merges\":");
    put_merges(m);
    put_text(m, "}");
}

static void make_words(Maker *m, bool bytes)
{
    const bool level = pick(m, 3) == 2;
    (void)bytes;
    add_specials(m);
    add_characters(m, Plain);
    add_merges(m, "");
    for (int i = 0, n = m->tokens; i < n && !level && pick(m, 4); i++) {
        char piece[TokenBytes];
        snprintf(piece, sizeof piece, "##%.20s", m->token[5 + i % (n - 5)]);
        add(m, piece);
    }
    put(m, "\"model\":{\"type\":\"%s\",", level ? "WordLevel" : "WordPiece");
    if (!level)
        put(m,
            "\"continuing_subword_prefix\":\"##\","
            "\"max_input_chars_per_word\":%d,",
            1 + pick(m, 100));
    put_text(m, "\"unk_token\":\"<unk>\",\"vocab\":");
    put_map(m);
    put_text(m, "}");
}

void add_byte_pieces(Maker *m)
{
    for (int i = 0, n = pick(m, 8); i < n; i++) {
        char piece[TokenBytes];
        snprintf(piece, sizeof piece, "<0x%02X>", pick(m, 256));
        add(m, piece);
    }
}

static void make_unigram(Maker *m, bool bytes)
{
    (void)bytes;
    add_specials(m);
    add_characters(m, Marked);
    add_merges(m, "");
    add_byte_pieces(m);
    put(m, "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":%s,",
        flag(m));
    put_text(m, "\"vocab\":[");
    for (int i = 0; i < m->tokens; i++) {
        put_text(m, i ? ",[" : "[");
        put_string(m, m->token[i]);
        put(m, ",-%d.%d]", pick(m, 20), pick(m, 10));
    }
    put_text(m, "]}");
}

void put_tokenizer_json(Maker *m)
{
    static void (*const models[])(Maker *m, bool bytes) = { make_bpe, make_bpe,
                                                            make_words,
                                                            make_unigram };
    const int kind = pick(m, 4);
    const bool bytes = kind == 1;
    put_text(m, "{\"version\":\"1.0\",");
    models[kind](m, bytes);
    put_text(m, ",\"normalizer\":");
    STEPS(m, "normalizers", normalizers, NULL);
    put_text(m, ",\"pre_tokenizer\":");
    STEPS(m, "pretokenizers", splits, bytes ? PICK(m, byte_splits) : NULL);
    put_text(m, ",\"decoder\":");
    STEPS(m, "decoders", decoders, NULL);
    put_text(m, ",\"post_processor\":");
    put_processor(m);
    put_text(m, ",\"added_tokens\":[");
    put_added(m);
    put_text(m, "]}");
}
