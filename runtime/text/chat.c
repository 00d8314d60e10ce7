/* chat.c: formats a turn of a conversation as the model expects it. */
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

static void chat_write(struct chat_text *t, const char *text)
{
    chat_put(t, text, (int64_t)strlen(text));
}

/* Returns the length of the Unicode white space character at the start of n
 * bytes, or 0. */
static int64_t chat_space(const char *text, int64_t n)
{
    static const char wide[][4] = { "\xc2\x85",     "\xc2\xa0",
                                    "\xe1\x9a\x80", "\xe2\x80\xa8",
                                    "\xe2\x80\xa9", "\xe2\x80\xaf",
                                    "\xe2\x81\x9f", "\xe3\x80\x80" };
    const unsigned char c = n > 0 ? (unsigned char)text[0] : 0;
    int i;

    if ((c >= 9 && c <= 13) || (c >= 28 && c <= 32))
        return 1;
    for (i = 0; i < (int)(sizeof wide / sizeof *wide); i++) {
        const int64_t bytes = (int64_t)strlen(wide[i]);
        if (n >= bytes && memcmp(text, wide[i], (size_t)bytes) == 0)
            return bytes;
    }
    return n >= 3 && memcmp(text, "\xe2\x80", 2) == 0
                && (unsigned char)text[2] >= 0x80
                && (unsigned char)text[2] <= 0x8a
             ? 3
             : 0;
}

/* Appends a text without its trailing white space and, if `front` is set,
 * without its leading white space. */
static void chat_trimmed(struct chat_text *t, const char *text, int64_t n,
                         int front)
{
    int64_t bytes = 1;

    while (front && (bytes = chat_space(text, n)) > 0) {
        text += bytes;
        n -= bytes;
    }
    for (bytes = 1; bytes <= 3 && bytes <= n; bytes++)
        if (chat_space(text + n - bytes, bytes) == bytes) {
            n -= bytes;
            bytes = 0;
        }
    chat_put(t, text, n);
}

static void chat_system(struct chat_text *t, const struct attn_chat *c,
                        const char *system)
{
    chat_write(t, c->system.prefix);
    if (c->trim == ATTN_TRIM_ALL)
        chat_trimmed(t, system, (int64_t)strlen(system), 1);
    else
        chat_write(t, system);
    chat_write(t, c->system.suffix);
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
    chat_write(&t, first ? c->begin : c->assistant.suffix);
    if (said && !c->system_inside)
        chat_system(&t, c, system);
    chat_write(&t, c->user.prefix);
    if (said && c->system_inside)
        chat_system(&t, c, system);
    if (c->trim != ATTN_TRIM_NONE)
        chat_trimmed(&t, text, n, !(said && c->system_inside));
    else
        chat_put(&t, text, n);
    chat_write(&t, c->user.suffix);
    chat_write(&t, c->assistant.prefix);
    return t.n;
}
