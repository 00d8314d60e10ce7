/* pending.c: holds back the bytes at the end of a text that are an incomplete
 * character or may begin a stop string. */
#include "runtime/core.h"

#include <string.h>

/* Returns the number of held bytes at the end that are an incomplete character.
 * Tries the smallest and the largest bytes as continuation. */
static int64_t held_open_character(const struct attn_text *t)
{
    for (int64_t n = 1; n <= 3 && n <= t->held; n++) {
        char whole[8];
        memset(whole, 0x80, 4);
        memset(whole + 4, 0xbf, 4);
        memcpy(whole, t->hold + t->held - n, (size_t)n);
        memcpy(whole + 4, t->hold + t->held - n, (size_t)n);
        if (attn_character(whole, 4) > n || attn_character(whole + 4, 4) > n)
            return n;
    }
    return 0;
}

/* Returns the number of held bytes at the end that could begin a stop
 * string. */
static int64_t held_open_stop(const struct attn_text *t, const char *stop)
{
    int64_t n = attn_min((int64_t)strlen(stop) - 1, t->held);
    while (n > 0) {
        if (memcmp(t->hold + t->held - n, stop, (size_t)n) == 0)
            break;
        n--;
    }
    return n;
}

/* Writes the first n of the held bytes. */
ATTN_API void attn_text_release(struct attn_text_out *o, int64_t n)
{
    struct attn_text *t = o->t;
    if (o->out)
        memcpy(o->out + o->n, t->hold, (size_t)n);
    o->n += n;
    t->held -= n;
    memmove(t->hold, t->hold + n, (size_t)t->held);
}

ATTN_API void attn_text_byte(struct attn_text_out *o, char c)
{
    struct attn_text *t = o->t;
    if (t->stopped)
        return;
    t->hold[t->held] = c;
    t->held++;
    int64_t keep = held_open_character(t);
    for (int64_t i = 0; i < t->stops; i++) {
        int64_t n = (int64_t)strlen(t->stop[i]);
        if (n <= t->held
            && memcmp(t->hold + t->held - n, t->stop[i], (size_t)n) == 0) {
            t->stopped = 1;
            attn_text_release(o, t->held - n);
            t->held = 0;
            return;
        }
        keep = attn_max(keep, held_open_stop(t, t->stop[i]));
    }
    attn_text_release(o, t->held - keep);
}
