/* text_task.h: what some models do to texts before they read them. A prompt
 * precedes a text. In late interaction a text is a query or a document: a token
 * follows its first one, tokens fill a query, and some tokens of a document
 * have no row. A pair of texts may become one text, with the model's texts
 * around the two. */
#ifndef ATTN_TASK_1
#define ATTN_TASK_1

#include "runtime/base/compiled_model.h"
#include "runtime/base/memory.h"
#include "chat.h"

struct attn_task {       /* what becomes of a query, or of a document */
    int64_t length;      /* maximum tokens of a text; 0: any number */
    int64_t prefix;      /* token after the first one; -1: none */
    int64_t fill;        /* token that fills a text to `length`; -1: none */
    int attend;          /* 1: all rows attend to the tokens that fill it */
    int cut;             /* 1: longer texts are cut */
    const int32_t *skip; /* [skips] tokens without a row in the result */
    int64_t skips;
};
struct attn_pair_texts { /* the texts around a pair, in order; NULL: none. The
                          * first text of the pair follows `first`, the second
                          * one follows `second` */
    const char *begin, *prompt, *first, *second, *end;
};
struct attn_texts {                /* what a spec adds to texts */
    const struct attn_task *tasks; /* [3], by ATTN_TASK_NONE etc.; NULL: a task
                                    * only chooses the prompt */
    int fill_is_hidden;            /* 1: rows attend only to the tokens before
                                    * those that fill a query */
    const char *const *prompts;    /* names, each before its text, then NULL; or
                                    * NULL */
    const char *prompt;            /* name of the default prompt; NULL: none */
    struct attn_pair_texts pair;   /* `second` NULL: a pair takes the
                                    * vocabulary's template */
#if ATTN_HAS_CHAT
    const struct attn_chat *chat; /* texts of a conversation; NULL: none */
#endif
};
/* Returns the prompt of this name, which precedes a text; name "": no prompt,
 * NULL: the one named after the task, "query" or "document", or for no task the
 * default one. Returns "" if there is none, and NULL if no prompt has the name
 * that was given. */
ATTN_API const char *attn_text_prompt(const struct attn_texts *t, int64_t task,
                                      const char *name);
/* Returns how many ids attn_task_ids() may add. */
ATTN_API int64_t attn_task_room(const struct attn_task *t);
/* Returns how many tokens the template adds after a text whose first ids are
 * given. frame[n]: ids of an empty text. */
ATTN_API int64_t attn_template_tail(const int32_t *ids, const int32_t *frame,
                                    int64_t n);
/* Adds the task's token to n ids of a text, cuts them to the task's length,
 * except for the last `tail` ids, and fills them. Returns their number and sets
 * *given to the number of those that all rows attend to. */
ATTN_API int64_t attn_task_ids(const struct attn_task *t, int32_t *ids,
                               int64_t n, int64_t tail, int64_t *given);
/* Returns 1 if a token of the text has a row in the result. */
ATTN_API int attn_task_keeps(const struct attn_task *t, int32_t id);
/* Copies the rows that remain of n rows to `to`, which may be `rows`. Returns
 * their number. */
ATTN_API int64_t attn_task_rows(const struct attn_task *t, const int32_t *ids,
                                int64_t n, const float *rows, int64_t columns,
                                float *to);

/* ---- pairs ---- */

struct attn_two_texts {
    const char *first, *second;
    int64_t first_bytes, second_bytes;
};
/* Writes the text that a pair becomes to `to`, unless that is NULL. Returns its
 * bytes. */
ATTN_API int64_t attn_pair_text(const struct attn_pair_texts *p,
                                const struct attn_two_texts *t, char *to);

/* Cuts ids to `most`. The last `tail` of these are end[tail]. */
ATTN_API void attn_keep_end(int32_t *ids, int64_t most, const int32_t *end,
                            int64_t tail);

#endif
