/* chat.h: conversations: what a model was trained to read around the turns of
 * those who speak.                                                          */
#ifndef ATTN_CHAT_1
#define ATTN_CHAT_1

#include "memory.h"

struct attn_chat_role {
    const char *prefix, *suffix; /* of a turn */
};
struct attn_chat { /* as the spec has it */
    const char *begin;
    const char *system_text; /* where no other is given; NULL: none */
    struct attn_chat_role system, user, assistant;
    int system_inside; /* within the first user's turn, before its text */
};

/* What is read before an answer: a turn of n bytes with all that stands around
 * it, the end of the answer before it too. system: NULL for none, read before
 * the first turn alone. Its bytes, of which up to cap are in out[].         */
ATTN_API int64_t attn_chat_turn(const struct attn_chat *c, const char *system,
                                int first, const char *text, int64_t n,
                                char *out, int64_t cap);

#endif
