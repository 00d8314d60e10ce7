/* chat.c: the text of a turn, as a model reads it. */
#include "chat.h"

#include <string.h>

struct chat_text {
    char *out;
    int64_t cap, n;
};

static void chat_put(struct chat_text *t, const char *text, int64_t n)
{
    if (t->n < t->cap && n > 0)
        memcpy(t->out + t->n, text, (size_t)attn_min(n, t->cap - t->n));
    t->n += n;
}

static void chat_say(struct chat_text *t, const char *text)
{
    chat_put(t, text, (int64_t)strlen(text));
}

static void chat_system(struct chat_text *t, const struct attn_chat *c,
                        const char *system)
{
    chat_say(t, c->system.prefix);
    chat_say(t, system);
    chat_say(t, c->system.suffix);
}

ATTN_API int64_t attn_chat_turn(const struct attn_chat *c, const char *system,
                                int first, const char *text, int64_t n,
                                char *out, int64_t cap)
{
    struct chat_text t;
    const int said = first && system;

    t.out = out;
    t.cap = cap;
    t.n = 0;
    chat_say(&t, first ? c->begin : c->assistant.suffix);
    if (said && !c->system_inside)
        chat_system(&t, c, system);
    chat_say(&t, c->user.prefix);
    if (said && c->system_inside)
        chat_system(&t, c, system);
    chat_put(&t, text, n);
    chat_say(&t, c->user.suffix);
    chat_say(&t, c->assistant.prefix);
    return t.n;
}
