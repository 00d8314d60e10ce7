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

ATTN_API void attn_chat_trim(struct attn_chat_part *p, int front, int back)
{
    int64_t bytes = 1;

    while (front && (bytes = chat_space(p->text, p->n)) > 0) {
        p->text += bytes;
        p->n -= bytes;
    }
    for (bytes = 1; back && bytes <= 3 && bytes <= p->n; bytes++)
        if (chat_space(p->text + p->n - bytes, bytes) == bytes) {
            p->n -= bytes;
            bytes = 0;
        }
}

static struct attn_chat_part chat_part(const char *text)
{
    struct attn_chat_part p;

    p.text = text;
    p.n = (int64_t)strlen(text);
    return p;
}

/* Appends parts without the white space that c->trim removes: part 1 is the
 * system's text, part 3 the user's. Parts 0 to 2 are of the system's turn. */
static void chat_parts(struct chat_text *t, const struct attn_chat *c,
                       struct attn_chat_part *p, int n)
{
    int i;

    if (c->trim == ATTN_TRIM_ALL)
        attn_chat_trim(&p[1], 1, 1);
    if (c->trim >= ATTN_TRIM_TEXTS && n == 4)
        attn_chat_trim(&p[3], 1, 1);
    if (c->trim == ATTN_TRIM_TURNS && n == 4) {
        for (i = 0; i < 4 && (i == 0 || p[i - 1].n == 0); i++)
            attn_chat_trim(&p[i], 1, 0);
        for (i = 3; i >= 0 && (i == 3 || p[i + 1].n == 0); i--)
            attn_chat_trim(&p[i], 0, 1);
    }
    for (i = 0; i < n; i++)
        chat_put(t, p[i].text, p[i].n);
}

ATTN_API int64_t attn_chat_turn(const struct attn_chat *c, const char *system,
                                int first, const char *text, int64_t n,
                                char *out, int64_t cap)
{
    const int said = first && system && (*system || !c->system_skipped);
    struct chat_text t;
    struct attn_chat_part p[4];

    t.out = out;
    t.cap = cap;
    t.n = 0;
    p[0] = chat_part(said ? c->system.prefix : "");
    p[1] = chat_part(said ? system : "");
    p[2] = chat_part(said ? c->system.suffix : "");
    p[3].text = text;
    p[3].n = n;
    chat_write(&t, first ? c->begin : c->assistant.suffix);
    if (!c->system_inside)
        chat_parts(&t, c, p, 3);
    chat_write(&t, c->user.prefix);
    if (!c->system_inside)
        p[0] = p[1] = p[2] = chat_part("");
    chat_parts(&t, c, p, 4);
    chat_write(&t, c->user.suffix);
    chat_write(&t, c->assistant.prefix);
    return t.n;
}
