/* tokenizers.c: generates tokenizers of all kinds (tokenizers.h): lists of
 * tokens, pieces with scores, tokenizer.json, vocab.json with merges.txt,
 * SentencePiece models, directories of classes, llama.cpp files. */
#include <stdio.h>
#include <string.h>

#include "maker.h"
#include "tokenizers.h"

/* ---- SentencePiece ---- */
static void put_varint(Maker *m, size_t n)
{
    for (; n > 127; n >>= 7)
        put_bytes(m, &(uint8_t){ (uint8_t)(n | 128) }, 1);
    put_bytes(m, &(uint8_t){ (uint8_t)n }, 1);
}

static void put_field(Maker *m, int number, int type, const void *at, size_t n)
{
    put_varint(m, (size_t)(8 * number + type));
    if (type == 2)
        put_varint(m, n);
    put_bytes(m, at, n);
}

static void put_number(Maker *m, int number, int value)
{
    const uint8_t byte = (uint8_t)value;
    put_field(m, number, 0, &byte, 1);
}

/* Writes field `number`, whose bytes `write` makes. */
static void put_message(Maker *m, int number,
                        void (*write)(Maker *part, int with), int with)
{
    uint8_t bytes[512];
    Maker part = *m;
    part.at = bytes;
    part.n = 0;
    part.most = sizeof bytes;
    write(&part, with);
    m->choice = part.choice;
    put_field(m, number, 2, bytes, part.n < part.most ? part.n : part.most);
}

static void write_piece(Maker *m, int id)
{
    enum { Normal = 1, Unknown, Control, User, Unused, Byte };
    const float score = id < 5 ? 0 : -(float)pick(m, 40) / 4;
    const bool byte = strncmp(m->token[id], "<0x", 3) == 0;
    const int type = id == 0         ? Unknown
                   : id < 5          ? Control
                   : byte            ? Byte
                   : pick(m, 8) == 7 ? User + pick(m, 2)
                                     : Normal;
    put_field(m, 1, 2, m->token[id], strlen(m->token[id]));
    put_field(m, 2, 5, &score, sizeof score);
    put_number(m, 3, type);
}

static void write_trainer(Maker *m, int bytes)
{
    put_number(m, 3, 1 + pick(m, 2));
    put_number(m, 24, pick(m, 4) == 3);
    put_number(m, 35, bytes);
    put_number(m, 40, 0);
    put_number(m, 41, 1);
    put_number(m, 42, 2);
    put_number(m, 43, 3);
}

static void write_normaliser(Maker *m, int with)
{
    (void)with;
    for (int number = 3; number <= 5; number++)
        put_number(m, number, !pick(m, 2));
}

static void put_model(Maker *m)
{
    const bool bytes = pick(m, 2);
    add_specials(m);
    add_characters(m, Marked);
    add_merges(m, "");
    if (bytes)
        add_byte_pieces(m);
    for (int i = 0; i < m->tokens; i++)
        put_message(m, 1, write_piece, i);
    put_message(m, 2, write_trainer, bytes);
    put_message(m, 3, write_normaliser, 0);
}

/* ---- llama.cpp ---- */
enum {
    GgufNatural = 4,
    GgufSigned = 5,
    GgufReal = 6,
    GgufBool,
    GgufText,
    GgufList
};

static void put_length(Maker *m, uint64_t n)
{
    put_bytes(m, &n, sizeof n);
}

static void put_counted(Maker *m, const char *text)
{
    put_length(m, strlen(text));
    put_text(m, text);
}

static void put_key(Maker *m, const char *key, uint32_t type)
{
    char name[64];
    snprintf(name, sizeof name, "tokenizer.ggml.%s", key);
    put_counted(m, name);
    put_bytes(m, &type, sizeof type);
}

static void put_id(Maker *m, const char *key, uint32_t id)
{
    put_key(m, key, GgufNatural);
    put_bytes(m, &id, sizeof id);
}

static void put_list(Maker *m, const char *key, uint32_t type, int n)
{
    put_key(m, key, GgufList);
    put_bytes(m, &type, sizeof type);
    put_length(m, (uint64_t)n);
}

/* Writes the scores of pieces; for a BPE, merges and how it splits a text. */
static int put_scores(Maker *m)
{
    put_list(m, "scores", GgufReal, m->tokens);
    for (int i = 0; i < m->tokens; i++) {
        const float score = -(float)pick(m, 40) / 4;
        put_bytes(m, &score, sizeof score);
    }
    return 1;
}

static int put_ranks(Maker *m)
{
    static const char *const names[] = {
        "gpt-2", "llama-bpe", "qwen2", "starcoder", "mpt", "command-r"
    };
    put_key(m, "pre", GgufText);
    put_counted(m, PICK(m, names));
    put_list(m, "merges", GgufText, m->merges);
    for (int i = 0; i < m->merges; i++) {
        char both[2 * TokenBytes];
        snprintf(both, sizeof both, "%s %s", m->token[m->merge[i][0]],
                 m->token[m->merge[i][1]]);
        put_counted(m, both);
    }
    return 2;
}

static void put_gguf(Maker *m)
{
    static const struct {
        const char *model;
        Style style;
        int (*more)(Maker *m);
    } rows[] = { { "llama", Marked, put_scores },
                 { "t5", Marked, put_scores },
                 { "gpt2", Letters, put_ranks },
                 { "bert", Marked, put_scores } };
    static const char head[16] = "GGUF\3";
    const int row = pick(m, 4);
    add_specials(m);
    add_characters(m, rows[row].style);
    add_merges(m, "");
    put_bytes(m, head, sizeof head);
    put_length(m, (uint64_t)(row == 2 ? 9 : 8)); /* pairs */
    put_key(m, "model", GgufText);
    put_counted(m, rows[row].model);
    put_list(m, "tokens", GgufText, m->tokens);
    for (int i = 0; i < m->tokens; i++)
        put_counted(m, m->token[i]);
    put_list(m, "token_type", GgufSigned, m->tokens);
    for (int i = 0; i < m->tokens; i++) {
        const int32_t type = i == 0 ? 2 : i < 5 ? 3 : 1;
        put_bytes(m, &type, sizeof type);
    }
    put_id(m, "unknown_token_id", 0);
    put_id(m, "bos_token_id", 1);
    put_id(m, "eos_token_id", 2);
    put_key(m, "add_eos_token", GgufBool);
    put_bytes(m, &(uint8_t){ (uint8_t)pick(m, 2) }, 1);
    rows[row].more(m);
}

/* ---- inputs ---- */

/* Writes a text of tokens and other characters, then a stop string. */
static void put_texts(Maker *m)
{
    static const char *const texts[] = {
        " ",     "\n",           "  ",       "a",   "B",
        "12345", "\xe6\x97\xa5", "\xcc\x81", "<x>", "don't"
    };
    put_part(m);
    for (int i = 0, n = pick(m, 24); i < n; i++) {
        const int kind = pick(m, 8);
        if (kind == 7)
            put_bytes(m, &(uint8_t){ (uint8_t)pick(m, 256) }, 1);
        else
            put_text(m, kind % 2 ? PICK(m, texts) : any(m));
    }
    put_part(m);
    put_text(m, pick(m, 2) ? any(m) : "");
    put_part(m);
}

static void make_lines(Maker *m)
{
    add_characters(m, Plain);
    add_merges(m, "");
    for (int i = 0; i < m->tokens; i++)
        put(m, "%s%s", i ? "\n" : "", m->token[i]);
    put_texts(m);
}

static void make_pieces(Maker *m)
{
    static const char *const kinds[] = { "unknown", "begin", "end" };
    add_specials(m);
    add_characters(m, Plain);
    add_merges(m, "");
    add_byte_pieces(m);
    put_text(m, "{\"type\":\"bpe-by-score\",\"unk_id\":0,\"bos_id\":1,"
                "\"eos_id\":2,\"pieces\":[");
    for (int i = 0; i < m->tokens; i++) {
        put(m, "%s{\"id\":%d,\"text\":", i ? "," : "", i);
        put_string(m, m->token[i]);
        put(m, ",\"kind\":\"%s\",\"score\":-%d}",
            i < 3                            ? kinds[i]
            : strncmp(m->token[i], "<0x", 3) ? "normal"
                                             : "byte",
            pick(m, 64));
    }
    put_text(m, "]}");
    put_texts(m);
}

static void make_json(Maker *m)
{
    put_tokenizer_json(m);
    put_texts(m);
}

static void put_merges_file(Maker *m)
{
    put_text(m, pick(m, 2) ? "" : "#version: 0.2\n");
    for (int i = 0; i < m->merges; i++)
        put(m, "%s %s\n", m->token[m->merge[i][0]], m->token[m->merge[i][1]]);
}

static void make_map(Maker *m)
{
    add_specials(m);
    add_characters(m, Letters);
    add_merges(m, "");
    put_map(m);
    put_texts(m);
    put_merges_file(m);
}

static void make_model(Maker *m)
{
    put_model(m);
    put_texts(m);
}

static void put_class(Maker *m, const char *class)
{
    put(m, "{\"tokenizer_class\":\"%s\",\"model_max_length\":%d,", class,
        pick(m, 256));
    put(m, "\"do_lower_case\":%s,\"add_prefix_space\":%s,", flag(m), flag(m));
    put(m, "\"extra_ids\":%d,\"legacy_behaviour\":%s}", pick(m, 4), flag(m));
}

static void make_words_folder(Maker *m)
{
    static const char *const classes[] = { "BertTokenizer", "MPNetTokenizer",
                                           "DistilBertTokenizerFast" };
    static const char *const brackets[] = { "[UNK]", "[CLS]", "[SEP]", "##a",
                                            "##b" };
    put_class(m, PICK(m, classes));
    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++)
        add(m, brackets[i]);
    add_specials(m);
    add_characters(m, Plain);
    put_texts(m);
    for (int i = 0; i < 3; i++)
        put_part(m);
    for (int i = 0; i < m->tokens; i++)
        put(m, "%s\n", m->token[i]);
}

static void make_merges_folder(Maker *m)
{
    static const char *const classes[] = { "GPT2Tokenizer", "RobertaTokenizer",
                                           "BartTokenizerFast" };
    put_class(m, PICK(m, classes));
    add_specials(m);
    add_characters(m, Letters);
    add(m, "<|endoftext|>");
    add_merges(m, "");
    put_texts(m);
    put_merges_file(m);
    put_part(m);
    put_part(m);
    put_map(m);
}

/* Writes a model; some classes have a map of ids. */
static void make_model_folder(Maker *m)
{
    static const char *const classes[] = {
        "T5Tokenizer",      "LlamaTokenizer",  "XLMRobertaTokenizer",
        "PegasusTokenizer", "MBartTokenizer",  "NllbTokenizer",
        "MarianTokenizer",  "M2M100Tokenizer",
    };
    const int class = pick(m, 8);
    put_class(m, classes[class]);
    add_specials(m);
    put_texts(m);
    put_part(m);
    put_part(m);
    if (class >= 6) {
        add_characters(m, Marked);
        put_map(m);
    }
    put_part(m);
    put_model(m);
}

static void make_json_folder(Maker *m)
{
    put_class(m, "PreTrainedTokenizerFast");
    add_specials(m);
    put_texts(m);
    put_part(m);
    put_tokenizer_json(m);
}

static void make_gguf(Maker *m)
{
    put_gguf(m);
    put_texts(m);
}

/* Writes the kind of a file, options, and ids of special tokens for files that
 * name none; see vocab.c. */
static void put_head(Maker *m, int kind)
{
    uint8_t head[Specials] = {
        (uint8_t)(kind + 4 * pick(m, 64)), 0xff, 0xff, 0xff, 0xff,
        (uint8_t)(2 * pick(m, 2))
    };
    if (kind == Folder)
        head[1] = (uint8_t)pick(m, 3);
    else if (pick(m, 2))
        head[1 + pick(m, 4)] = (uint8_t)pick(m, 4);
    put_bytes(m, head, sizeof head);
}

size_t tokenizer_make(uint8_t *to, size_t most, const uint8_t *choices,
                      size_t n)
{
    static const struct {
        int kind;
        void (*make)(Maker *m);
    } rows[] = { { Json, make_json },
                 { Json, make_json },
                 { Json, make_json },
                 { Lines, make_lines },
                 { Json, make_pieces },
                 { Json, make_map },
                 { Lines, make_model },
                 { Folder, make_words_folder },
                 { Folder, make_merges_folder },
                 { Folder, make_model_folder },
                 { Folder, make_json_folder },
                 { Folder, make_gguf } };
    static Maker m;
    m = (Maker){
        .at = to, .most = most, .choice = choices, .end = choices + n
    };
    const int row = pick(&m, (int)(sizeof rows / sizeof *rows));
    const int bends = pick(&m, 4) == 3 ? 1 + pick(&m, 2) : 0;
    put_head(&m, rows[row].kind);
    rows[row].make(&m);
    for (int i = 0; i < bends && m.n <= most; i++)
        bend(&m, Specials);
    return m.n <= most ? m.n : 0;
}
