/* looks.c: distinguishes files that attnc reads from files that attnc writes,
 * by their first bytes and their names. */
#include "looks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "file_kinds.h"

#define LOOKS_TOKENIZER "a tokenizer that attnc did not write"

/* bytes inspected; bytes at the start of an emitted file that contain its
 * title; minimum lines of a word list that may be a vocabulary */
enum { LOOKS_HEAD = 1 << 16, LOOKS_TITLE = 1 << 10, LOOKS_WORDS = 100 };

struct looks_row {
    const char *text, *kind;
};

static bool looks_begins(const char *at, int64_t bytes, const char *with)
{
    const size_t n = strlen(with);

    return bytes >= (int64_t)n && memcmp(at, with, n) == 0;
}

/* True if the text occurs anywhere in the bytes. */
static bool looks_has(const char *at, int64_t bytes, const char *text)
{
    for (int64_t i = 0; i < bytes; i++)
        if (looks_begins(at + i, bytes - i, text))
            return true;
    return false;
}

/* ---- attnc's own work ---- */

/* Returns the last mark in the last bytes of a spec, or NULL if there is none.
 * Lines that a user appended may follow it. */
static const char *looks_mark(const char *at, int64_t bytes)
{
    const int64_t last = bytes < LOOKS_HEAD ? 0 : bytes - LOOKS_HEAD;

    for (int64_t i = bytes - ATTN_MARK_BYTES; i >= last; i--)
        if (looks_begins(at + i, ATTN_MARK_BYTES, ATTN_MARK))
            return at + i;
    return NULL;
}

/* True if the mark is the end, and its hash is that of the lines above it. */
static bool looks_unedited(const char *at, int64_t bytes, const char *mark)
{
    char hash[20];

    if (mark + ATTN_MARK_BYTES != at + bytes)
        return false;
    snprintf(hash, sizeof hash, "%016llx\n",
             (unsigned long long)attn_hash(at, mark - at, 0));
    return memcmp(mark + sizeof ATTN_MARK - 1, hash, 17) == 0;
}

/* True for files that attnc writes: packed weights, vocabularies and states;
 * objects, programs and pictures; emitted C. In a file of tensors the header
 * begins at byte 8, after its length. */
static bool looks_written(const char *at, int64_t bytes)
{
    static const char *const heads[] = { "ATTN", "attnc plain weights",
                                         "\177ELF", "<svg", "<?xml" };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (looks_begins(at, bytes, heads[i]))
            return true;
    if (looks_has(at, bytes < LOOKS_TITLE ? bytes : LOOKS_TITLE,
                  "made by attnc "))
        return true;
    return bytes > 8
        && looks_begins(at + 8, bytes - 8, "{\"__metadata__\":{\"attnc\":");
}

/* ---- inputs ---- */

/* True for a long list with one word per line. Answers are shorter, and a
 * column of a table has numbers below its name. */
static bool looks_list(const char *at, int64_t bytes)
{
    static const char number[] = "+-.0123456789eE";
    int64_t line = 0; /* offset of the current line */
    int words = 0;

    for (int64_t i = 0; i < bytes; i++) {
        if (at[i] != '\n') {
            const bool alone = i == line; /* a lone space may be a token */
            if ((unsigned char)at[i] < ' ' || (!alone && strchr(" ,{", at[i])))
                return false;
            continue;
        }
        words += i > line && !strchr(number, at[line]);
        line = i + 1;
    }
    return words >= LOOKS_WORDS;
}

static const char *looks_json(const char *at, int64_t bytes)
{
    static const struct looks_row rows[] = {
        { "\"added_tokens\"", LOOKS_TOKENIZER },
        { "\"tokenizer_class\"", LOOKS_TOKENIZER },
        { "\"model_type\"", KEPT_CONFIG },
        { "\"architectures\"", KEPT_CONFIG },
        { "\"hidden_size\"", KEPT_CONFIG },
        { "\"weight_map\"", KEPT_CONFIG },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (looks_has(at, bytes, rows[i].text))
            return rows[i].kind;
    return NULL;
}

static const char *looks_content(const char *at, int64_t bytes)
{
    const int64_t head = bytes < LOOKS_HEAD ? bytes : LOOKS_HEAD;
    const bool zip = looks_begins(at, head, "PK\3\4"); /* a zip archive, as
                                                        * PyTorch writes */

    if (zip || looks_begins(at, head, "GGUF")
        || (head > 8 && looks_begins(at + 8, head - 8, "{\"")))
        return KEPT_WEIGHTS;
    if (looks_begins(at, head, "{\"attnc\":"))
        return "rows of attnc sweep --resume";
    if (at[0] == '{')
        return looks_json(at, head);
    if (looks_begins(at, head, "attnc: 1") || looks_has(at, head, "\nattnc: 1"))
        return KEPT_SPEC;
    if (looks_begins(at, head, "#version") || looks_list(at, head))
        return KEPT_VOCABULARY;
    return NULL;
}

ATTN_API const char *attn_looks_like(const char *path, const char *at,
                                     int64_t bytes)
{
    const char *mark = looks_mark(at, bytes);
    const FileKind *kind;

    if (bytes == 0 || looks_written(at, bytes))
        return NULL;
    if (mark)
        return looks_unedited(at, bytes, mark)
                 ? NULL
                 : "a spec that was edited since attnc wrote it";
    kind = kind_of(path, "", 0); /* no bytes, so that only the name counts */
    return kind && kind->kept ? kind->kept : looks_content(at, bytes);
}
