/* cmd_tokens.c: attnc tokens. Prints the token ids of each line of stdin or,
 * with --decode, the text of each line of ids. */
#include <stdlib.h>
#include <string.h>

#include "base/put_json.h"
#include "emit/text/embedded.h"
#include "tokenizer/tokenizer.h"
#include "cli/options/options.h"

typedef struct {
    Engine e; /* owns the arena and, for a spec, the vocabularies */
    void *block;
    struct attn_side side; /* with --decode, without the vocabulary */
    struct attn_lines in;
    int32_t *id, *offset;
    const Options *o;
    Buffer out; /* the answer to one line */
} Answering;

/* ---- vocabulary ---- */
static bool is_spec(const char *file)
{
    const char *dot = strrchr(file, '.');
    return is_stdout(file)
        || (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0));
}

static int open_spec(Answering *w)
{
    const ModelOptions *m = &w->o->model;
    w->e.spec = spec_read(w->e.arena, m->spec, m->text.text, NULL, 0);
    if (!w->e.spec)
        return ExitInput;
    int code = engine_vocab(&w->e);
    if (code)
        return code;
    const ModelKind kind = w->e.spec->kind;
    const bool target = w->o->target || kind == KindDecoder;
    w->block = target && kind != KindEncoder ? w->e.target_vocab.block
                                             : w->e.source.block;
    if (w->o->target && kind != KindEncoderDecoder)
        fail(ExitUsage, "--target: this model has one vocabulary");
    if (!w->block)
        error_at((Pos){ 0 }, "%s: the spec names no vocabulary file (%s)",
                 quote(m->spec),
                 kind != KindEncoderDecoder ? "vocab.file"
                 : target                   ? "vocab.target.file"
                                            : "vocab.source.file");
    return w->block ? ExitDone : ExitInput;
}

static void *open_folder(const Answering *w, Fault *why)
{
    VocabularyFrom from = { .folder = w->o->model.spec,
                            .side = w->o->target ? TextTarget : TextSource,
                            .size = -1 };
    Vocabulary v;
    bool found = false;
    from.classes = embedded_text("import/tokenizers.json", &from.classes_bytes);
    if (!vocabulary_of_folder(&from, &v, &found, why))
        return NULL;
    if (!found)
        fault(why, ExitInput, "%s: this folder has no tokenizer's files",
              quote(from.folder));
    return found ? v.block : NULL;
}

static int open_vocabulary(Answering *w)
{
    static const VocabTokens none = {
        .start = -1, .end = -1, .pad = -1, .unknown = -1
    };
    const char *path = w->o->model.spec;
    int64_t bytes;
    Fault why;
    if (is_spec(path))
        return open_spec(w);
    const bool folder = is_folder(path);
    if (w->o->target && !folder)
        fail(ExitUsage, "--target: a file has one vocabulary");
    void *block = folder ? open_folder(w, &why)
                         : vocab_load(path, -1, &none, &bytes, &why);
    if (!block)
        return report_fault(&why);
    arena_owns(w->e.arena, block, free);
    w->e.source.block = w->block = block;
    return ExitDone;
}

static int open_work(Answering *w)
{
    const size_t bytes = (MostTokens + 1) * sizeof *w->id;
    int code = open_vocabulary(w);
    if (code)
        return code;
    const struct attn_vocab_header *h = w->block;
    w->side = (struct attn_side){ w->o->decode ? NULL : w->block, h->size };
    w->id = arena_alloc(w->e.arena, bytes);
    w->offset = w->o->offsets ? arena_alloc(w->e.arena, 2 * bytes) : NULL;
    w->out = (Buffer){ .arena = w->e.arena };
    w->in.buffer = arena_alloc(w->e.arena, ATTN_LINE + 1);
    w->in.ending = w->o->null ? '\0' : '\n';
    return ExitDone;
}

/* ---- answers ---- */

/* Appends a token as a single word: spaces and unprintable bytes become
 * \xNN. */
static void add_piece(Buffer *b, const char *s, int64_t n)
{
    for (int64_t i = 0, k; i < n; i += k) {
        k = attn_character(s + i, n - i);
        const unsigned char c = (unsigned char)s[i];
        if (k > 1)
            buffer_add(b, s + i, (size_t)k);
        else if (c == '\\')
            buffer_add(b, "\\\\", 2);
        else if (c > ' ' && c < 0x7f)
            buffer_add(b, s + i, 1);
        else
            buffer_printf(b, "\\x%02x", c);
        k = attn_max(k, 1);
    }
}

static void add_text(Answering *w, int64_t n)
{
    Buffer *b = &w->out;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = 0;
        const char *text = attn_vocab_token(w->block, w->id[i], &bytes);
        if (i)
            buffer_add(b, " ", 1);
        if (w->o->pieces)
            add_piece(b, text, bytes);
        else
            buffer_printf(b, "%d", w->id[i]);
        if (w->o->offsets)
            buffer_printf(b, ":%d-%d", w->offset[2 * i], w->offset[2 * i + 1]);
    }
}

/* Appends the JSON members tokens, pieces and offsets; offsets are pairs, as in
 * "offsets": [[0, 1]]. */
static void add_json(Answering *w, int64_t n)
{
    Buffer *b = &w->out;
    json_ids(b, "tokens", w->id, n);
    if (w->o->pieces)
        buffer_printf(b, ", \"pieces\": [");
    for (int64_t i = 0; w->o->pieces && i < n; i++) {
        int64_t bytes = 0;
        const char *text = attn_vocab_token(w->block, w->id[i], &bytes);
        buffer_printf(b, i ? ", " : "");
        json_quote(b, text, bytes);
    }
    if (w->o->pieces)
        buffer_add(b, "]", 1);
    if (w->o->offsets)
        buffer_printf(b, ", \"offsets\": [");
    for (int64_t i = 0; w->o->offsets && i < n; i++)
        buffer_printf(b, "%s[%d, %d]", i ? ", " : "", w->offset[2 * i],
                      w->offset[2 * i + 1]);
    if (w->o->offsets)
        buffer_add(b, "]", 1);
}

/* Writes the answer for a line to w->out. Returns false, without writing, if
 * the text is invalid. */
static bool answer_text(Answering *w, const char *text, size_t n, Fault *why)
{
    Buffer *b = &w->out;
    const bool decode = w->o->decode;
    const int64_t ids = tokens_of(&w->side, w->o->plain ? ATTN_PLAIN : 0, text,
                                  n, w->id, w->offset, why);
    if (ids < 0)
        return false;
    if (decode && w->o->json)
        json_tokens(b, w->block, w->id, ids);
    else if (decode)
        add_tokens(b, w->block, w->id, ids);
    else if (w->o->json)
        add_json(w, ids);
    else
        add_text(w, ids);
    return true;
}

static void answer_line(Answering *w, int state, const char *text, size_t n,
                        int *bad)
{
    Fault why;
    Buffer *b = &w->out;
    b->n = 0;
    if (w->o->json) {
        buffer_add(b, "{", 1);
        json_put_count(b, "line", w->in.number);
    }
    if (state == LINE_LONG)
        fault(&why, ExitInput, "the line has %zu bytes, at most %d are read", n,
              ATTN_LINE);
    if (state == LINE_LONG || !answer_text(w, text, n, &why)) {
        flush_answers(stdout);
        line_error(w->in.number, "%s", why.text);
        *bad = why.code;
        if (w->o->json)
            json_put_text(b, "error", why.text);
    }
    if (w->o->json)
        buffer_add(b, "}", 1);
    fwrite(b->at, 1, (size_t)b->n, stdout);
    putchar(w->o->decode && !w->o->json ? w->in.ending : '\n');
}

static void refuse_options(const Options *o)
{
    const char *no = !o->decode ? NULL
                   : o->offsets ? "--offsets"
                   : o->pieces  ? "--pieces"
                   : o->plain   ? "--plain"
                                : NULL;
    if (no)
        fail(ExitUsage, "--decode makes text of ids: %s is about texts", no);
}

int cmd_tokens(const Options *o)
{
    Answering w = { .e.arena = arena_new(), .o = o };
    const char *text = "";
    int64_t n = 0;
    int bad = ExitDone;
    refuse_options(o);
    need_lines(&o->model);
    int code = open_work(&w);
    while (!code) {
        int state = attn_next_line(&w.in, 0, &text, &n);
        if (state == LINE_WAIT) {
            flush_answers(stdout);
            state = attn_next_line(&w.in, 1, &text, &n);
        }
        if (w.in.error)
            fail(ExitIO, "cannot read stdin: %s", strerror(w.in.error));
        if (state == LINE_END)
            break;
        answer_line(&w, state, text, (size_t)n, &bad);
    }
    flush_answers(stdout);
    engine_close(&w.e);
    return code ? code : bad;
}
