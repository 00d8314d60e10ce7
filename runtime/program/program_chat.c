/* program_chat.c: --chat. Each line is a turn of a conversation and is answered
 * token by token. A single stream reads the complete conversation. */
#include "runtime/text/chat.h"

/* Prints a prompt, if stdin is a terminal. */
static void chat_ask(void)
{
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fputs("> ", stderr);
}

/* Converts a turn to tokens at p->items. Returns their number, or -1 with
 * p->why. First encodes the line on its own, so that a position in an error
 * counts from the start of the line. */
static int64_t chat_tokens(struct program *p, const struct program_stream *c,
                           const char *text, int64_t n)
{
    const struct attn_chat *chat = &chat_of_spec;
    const char *system = p->system ? p->system : chat->system_text;
    const int first = !c->begun;
    const int place = first ? TOKENS_PLAIN : TOKENS_BEGUN;
    const int64_t bytes = attn_chat_turn(chat, system, first, text, n, NULL, 0);
    char *turn = program_grow(p, &p->turn, bytes + 1);
    /* chat.trim can make the turn shorter than the line */
    const int64_t most = program_most(p, &p->target, attn_max(bytes, n));
    int32_t *ids = program_grow(p, &p->items, 4 * most);

    if (!turn || !ids
        || program_tokens(p, &p->target, TOKENS_BEGUN, text, n, ids) < 0)
        return -1;
    attn_chat_turn(chat, system, first, text, n, turn, bytes);
    return program_tokens(p, &p->target, place, turn, bytes, ids);
}

/* Reads a turn. Returns 0, with p->why, if the text is invalid. */
static int chat_read(struct program *p, struct program_stream *c,
                     const char *text, int64_t bytes)
{
    const int64_t before = c->begun ? c->s.n : search.o.start >= 0;
    const int64_t n = chat_tokens(p, c, text, bytes);

    if (n < 0)
        return 0;
    if (before + n > p->m->max_target) {
        program_wrong(p,
                      "the turn has %lld tokens after %lld of the "
                      "conversation, the model takes %lld (max_len)",
                      (long long)n, (long long)before,
                      (long long)p->m->max_target);
        return 0;
    }
    c->n = n;
    const int wrong = c->begun ? attn_stream_feed(&c->s, p->items.at, n)
                               : open_stream(p, c, 0, p->m->max_target + 1);
    if (wrong && p->status <= 3)
        program_fail(p, 70, "internal error: the stream failed");
    c->begun = 1;
    return 1;
}

/* Prints the model's answer. */
static void chat_answer(struct program *p, struct program_stream *c)
{
    int64_t most = p->tokens;

    if (most < 0)
        most = attn_search_limit(p->m, &search.o, 0, c->s.n);
    if (attn_text_open(&c->text, p->target.block, p->stop.at, p->stop.n, 0)
        != 0) {
        program_fail(p, 2, "--stop takes 1 to %d bytes", ATTN_STOP_BYTES);
        return;
    }
    const int64_t token = stream_tokens(p, c, most);
    if (attn_stream_failed(token)) {
        program_wrong(p, "%s", attn_error_text(token));
        program_refuse(p, p->in.number);
    }
}

static void program_chats(struct program *p)
{
    struct program_stream c = { .to = stdout };
    const char *text = NULL;
    int64_t n = 0;

    search.o.beam = 1;
    program_open_lines(p);
    while (p->status == 0 || p->status == 3) {
        chat_ask();
        const int state = program_line(p, 1, &text, &n);
        if (state == LINE_END)
            break;
        if (state == LINE_LONG || !chat_read(p, &c, text, n)) {
            program_refuse(p, p->in.number);
            putchar('\n');
            program_flush(p, stdout);
        } else if (p->status <= 3)
            chat_answer(p, &c);
    }
}
