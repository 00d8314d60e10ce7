/* library_handle.c: opens and closes handles. */
#include <stdlib.h>

#include "library/library.h"

enum { MostLimit = 1 << 28 };

int attnc_handle_open(attnc_handle **h, attnc_model *m,
                      const struct attnc_limits *limits)
{
    attnc_handle *x = calloc(1, sizeof *x);
    *h = x;
    if (!x)
        return ATTNC_MEMORY;
    x->m = m;
    if (limits)
        x->limits = *limits;
    const struct attnc_limits *l = &x->limits;
    const int64_t most = attn_max(m->facts.max_source - m->facts.class_token,
                                  m->facts.max_target);
    if (l->max_input < 0 || l->max_output < 0 || l->max_text < 0 || l->beam < 0
        || l->max_input > MostLimit)
        return (int)library_error(x, ATTNC_USAGE,
                                  "a limit is below 0 or too large");
    if (!m->facts.generates && (l->max_output || l->max_text || l->beam))
        return (int)library_error(x, ATTNC_USAGE,
                                  "max_output, max_text, beam: %s generates "
                                  "nothing",
                                  m->facts.name);
    if (!m->facts.generates && l->max_input > most)
        return (int)library_error(x, ATTNC_USAGE,
                                  "max_input: 0 to %lld are taken",
                                  (long long)most);
    if (m->facts.generates && l->cut)
        return (int)library_error(x, ATTNC_USAGE,
                                  "cut is for models that encode: %s generates",
                                  m->facts.name);
    if (l->task < 0 || l->task > ATTN_TASK_DOCUMENT
        || (l->task && (m->facts.generates || !m->facts.reads_text)))
        return (int)library_error(x, ATTNC_USAGE,
                                  "task is 0 to 2, for models that encode "
                                  "texts");
    return m->facts.generates ? library_open_answers(x) : ATTNC_DONE;
}

void attnc_handle_close(attnc_handle *h)
{
    if (!h)
        return;
    attnc_handle_close(h->hidden);
    struct library_room *const rooms[] = { &h->ids,    &h->types, &h->start,
                                           &h->words,  &h->work,  &h->text,
                                           &h->memory, &h->turns, &h->said,
                                           &h->rows };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        free(rooms[i]->at);
    free(h);
}
