/* chat.h: chat templates: the texts that a model expects around the turns of a
 * conversation.                                                             */
#ifndef ATTN_CHAT_1
#define ATTN_CHAT_1

#include "runtime/base/memory.h"

struct attn_chat_role {
    const char *prefix, *suffix; /* texts before and after a turn */
};
struct attn_chat { /* a chat template */
    const char *begin;
    const char *system_text; /* default system text; NULL: none */
    struct attn_chat_role system, user, assistant;
    int system_inside;  /* 1: the system text is in the first user turn,
                           before the user's text */
    int system_skipped; /* 1: an empty system text has no turn */
    int trim;           /* one of ATTN_TRIM_ */
};
/* White space to remove: none; at both ends of turns, of which a system's part
 * inside is a part; at both ends of the user's texts; of the system's text,
 * too. */
enum { ATTN_TRIM_NONE, ATTN_TRIM_TURNS, ATTN_TRIM_TEXTS, ATTN_TRIM_ALL };

/* Removes the white space of Unicode at the front and the back of n bytes. */
struct attn_chat_part {
    const char *text;
    int64_t n;
};
ATTN_API void attn_chat_trim(struct attn_chat_part *p, int front, int back);

/* Formats the text that the model reads before an answer: a turn of n bytes
 * with the texts around it, including the end of the previous answer. `system`
 * is the system text, used only before the first turn; NULL: none. Writes up to
 * `cap` bytes to out[] and returns the full length. */
ATTN_API int64_t attn_chat_turn(const struct attn_chat *c, const char *system,
                                int first, const char *text, int64_t n,
                                char *out, int64_t cap);

#endif
