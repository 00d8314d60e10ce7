/* chat_texts.h: the texts that a chat template writes around turns. */
#ifndef ATTNC_IMPORT_CHAT_TEXTS_H
#define ATTNC_IMPORT_CHAT_TEXTS_H

#include "base/base.h"
#include "runtime/text/chat.h"

enum { ChatTokens = 4 };

typedef struct {
    Arena *arena;
    const char *text;                                       /* the template */
    const char *token_name[ChatTokens], *token[ChatTokens]; /* NULL: absent */
    /* results: kinds of turns for which the texts give something else, or NULL;
     * whether the template asks for the date */
    const char *differs;
    bool dated;
} ChatTemplate;

/* Finds the texts. Returns NULL, or why they do not describe what the template
 * writes. */
const char *chat_texts(ChatTemplate *t, struct attn_chat *to);

#endif
