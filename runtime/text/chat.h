/* chat.h: conversations: what a model was trained to read around the turns of
 * those who speak.                                                          */
#ifndef ATTN_CHAT_1
#define ATTN_CHAT_1

#include "runtime/base/memory.h"

struct attn_chat_role {
    const char *prefix, *suffix; /* of a turn */
};
struct attn_chat { /* as the spec has it */
    const char *begin;
    const char *system_text; /* where no other is given; NULL: none */
    struct attn_chat_role system, user, assistant;
    int system_inside; /* within the first user's turn, before its text */
    int trim;          /* ATTN_TRIM_ALL .. */
};
/* White space at both ends of what is said goes: of turns, of the system's text
 * too. Before a text behind the system's, in one turn, it stays.            */
enum { ATTN_TRIM_NONE, ATTN_TRIM_TURNS, ATTN_TRIM_ALL };

/* What is read before an answer: a turn of n bytes with all that stands around
 * it, the end of the answer before it too. system: NULL for none, read before
 * the first turn alone. Its bytes, of which up to cap are in out[].         */
ATTN_API int64_t attn_chat_turn(const struct attn_chat *c, const char *system,
                                int first, const char *text, int64_t n,
                                char *out, int64_t cap);

#endif
