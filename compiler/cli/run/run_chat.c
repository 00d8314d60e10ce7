/* run_chat.c: attnc run --chat: lines of stdin are the turns of a conversation,
 * each answered as it comes. What stands around a turn is the spec's `chat`.
 * One stream has read all that was said.                                    */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/options/options.h"
#include "runtime/text/chat.h"

typedef struct {
    const RunCommand *o;
    Engine e;
    Search search;
    Tokens tokens;
    Lines in;
    struct attn_chat chat;
    struct attn_stream s;
    struct attn_text text;
    bool begun; /* a turn was read */
    int32_t *ids;
    char *turn, *out;
    int64_t turn_cap, cap; /* of out: what a token lets out */
    int code;              /* ExitInput once a line was bad */
} Chat;

/* ---- open ---- */
static int refuse_chat(const char *what)
{
    error_at((Pos){ 0 }, "--chat: the spec has no %s", what);
    return ExitInput;
}

static int open_chat_model(Chat *c)
{
    EngineOptions options = run_engine_options(c->o);
    int code = engine_open(&c->e, &options);
    if (code)
        return code;
    const Spec *s = c->e.spec;
    c->tokens = tokens_with(c->e.target_vocab.block, s->target.size, false);
    if ((code = open_search(&c->search, &c->e, &c->o->search, &c->tokens)))
        return code;
    c->search.o.beam = 1;
    if (!spec_chats(s))
        return refuse_chat(
            "`chat`, which says what stands around the turns of a "
            "conversation");
    c->chat = spec_chat(s);
    if (!c->tokens.block)
        return refuse_chat("vocabulary");
    c->ids = arena_alloc(c->e.arena, MostTokens * sizeof *c->ids);
    c->cap = c->e.target_vocab.bytes + ATTN_STOP_BYTES + 512;
    c->out = arena_alloc(c->e.arena, (size_t)c->cap);
    lines_open(&c->in, c->e.arena, STDIN_FILENO);
    return ExitDone;
}

/* ---- turns ---- */

/* Tokens of a turn; -1: it is bad. The line alone is looked at first: what is
 * wrong is said of its bytes.                                               */
static int64_t turn_tokens(Chat *c, const char *text, size_t n, Fault *why)
{
    const char *system = c->o->system ? c->o->system : c->chat.system_text;
    const int64_t bytes = attn_chat_turn(&c->chat, system, !c->begun, text,
                                         (int64_t)n, NULL, 0);
    if (bytes > c->turn_cap) {
        c->turn_cap = 2 * bytes;
        c->turn = arena_alloc(c->e.arena, (size_t)c->turn_cap);
    }
    attn_chat_turn(&c->chat, system, !c->begun, text, (int64_t)n, c->turn,
                   bytes);
    c->tokens.how = ATTN_PLAIN | ATTN_BEGUN;
    if (tokens_of(&c->tokens, text, n, c->ids, why) < 0)
        return -1;
    c->tokens.how = ATTN_PLAIN | (c->begun ? ATTN_BEGUN : 0);
    return tokens_of(&c->tokens, c->turn, (size_t)bytes, c->ids, why);
}

static void open_stream(Chat *c, int64_t n)
{
    const struct attn_model *m = c->e.backend.model;
    const int64_t tokens = m->max_target + 1;
    const int64_t bytes = attn_stream_bytes(m, &c->search.o, 0, tokens, 1);
    if (bytes < 0)
        fail(ExitResource, "an answer of %lld tokens is too large",
             (long long)tokens);
    const struct attn_stream_request request = {
        .model = m,
        .bound = c->e.bound,
        .o = &c->search.o,
        .ids = c->ids,
        .n = n,
        .tokens = tokens,
        .streams = 1,
        .memory = aligned_memory(c->e.arena, bytes),
        .bytes = bytes,
    };
    if (attn_stream_open(&c->s, &request) != 0)
        die("the stream refused a turn that fits the model");
    c->begun = true;
}

static bool read_turn(Chat *c, const char *text, size_t bytes, Fault *why)
{
    const struct attn_model *m = c->e.backend.model;
    const int64_t before = c->begun ? c->s.n : c->search.o.start >= 0;
    const int64_t n = turn_tokens(c, text, bytes, why);
    if (n < 0)
        return false;
    if (before + n > m->max_target)
        return fault(why, ExitInput,
                     "the turn has %lld tokens after %lld of the "
                     "conversation, the model takes %lld (max_len)",
                     (long long)n, (long long)before, (long long)m->max_target);
    if (!c->begun)
        open_stream(c, n);
    else if (attn_stream_feed(&c->s, c->ids, n) != 0)
        die("the stream refused a turn that fits the model");
    return true;
}

/* ---- answers ---- */
static void print_chat_token(Chat *c, int64_t id)
{
    const int64_t n = id < 0
                        ? attn_text_end(&c->text, c->out, c->cap)
                        : attn_text_add(&c->text, (int32_t)id, c->out, c->cap);
    if (n < 0)
        die("token %lld has no text", (long long)id);
    fwrite(c->out, 1, (size_t)n, stdout);
    flush_answers(stdout);
}

static int answer_turn(Chat *c)
{
    const Texts *stop = &c->o->stop;
    const int64_t most = c->o->tokens >= 0
                           ? c->o->tokens
                           : attn_search_limit(c->e.backend.model, &c->search.o,
                                               0, c->s.n);
    int64_t token = 0;
    if (attn_text_open(&c->text, c->tokens.block, stop->at, stop->n, 0) != 0) {
        error_at((Pos){ 0 }, "--stop takes 1 to %d bytes", ATTN_STOP_BYTES);
        return ExitUsage;
    }
    for (int64_t n = 0; n < most && !c->text.stopped; n++) {
        token = attn_stream_next(&c->s);
        if (token < 0)
            break;
        print_chat_token(c, token);
    }
    print_chat_token(c, -1);
    putchar('\n');
    flush_answers(stdout);
    if (attn_stream_failed(token)) {
        line_error(c->in.number, "%s", attn_error_text(token));
        c->code = ExitInput;
    }
    return ExitDone;
}

/* Where a person writes, a sign that it is their turn. */
static void ask(void)
{
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fputs("> ", stderr);
}

int run_chat(const RunCommand *o)
{
    Chat c = { .o = o };
    const char *text = "";
    size_t n = 0;
    LineState state;
    Fault why;
    int code = open_chat_model(&c);
    while (!code
           && (ask(), state = lines_next(&c.in, true, &text, &n)) != LineEnd) {
        if (state == LineTooLong)
            fault(&why, ExitInput,
                  "the line has %zu bytes, at most %d are read", n,
                  LongestLine);
        if (state != LineTooLong && read_turn(&c, text, n, &why)) {
            code = answer_turn(&c);
            continue;
        }
        line_error(c.in.number, "%s", why.text);
        c.code = ExitInput;
        putchar('\n');
        flush_answers(stdout);
    }
    engine_close(&c.e);
    return code ? code : c.code;
}
