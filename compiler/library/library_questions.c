/* library_questions.c: texts to be answered: their tokens, and the limits of
 * handle and model. */
#include <string.h>

#include "library/library.h"

/* ---- limits ---- */
static bool within(attnc_handle *h, const char *name, int64_t given,
                   int64_t most)
{
    if (given <= most)
        return true;
    library_error(h, ATTNC_USAGE, "%s: 0 to %lld are taken", name,
                  (long long)most);
    return false;
}

int64_t library_most_input(const attnc_handle *h)
{
    const struct attnc_facts *f = &h->m->facts;
    if (h->limits.max_input > 0)
        return h->limits.max_input;
    return f->kind == ATTNC_DECODER ? f->max_target : f->max_source;
}

int64_t library_most_output(const attnc_handle *h)
{
    return h->limits.max_output > 0 ? h->limits.max_output
                                    : h->m->facts.max_target;
}

int library_open_answers(attnc_handle *h)
{
    const struct attnc_facts *f = &h->m->facts;
    const struct attnc_limits *l = &h->limits;
    const int64_t most = f->kind == ATTNC_DECODER ? f->max_target
                                                  : f->max_source;
    return within(h, "max_input", l->max_input, most)
                && within(h, "max_output", l->max_output, f->max_target)
                && within(h, "beam", l->beam, INT16_MAX)
                && within(h, "max_text", l->max_text, ATTN_MOST)
             ? ATTNC_DONE
             : ATTNC_USAGE;
}

/* ---- questions ---- */
int64_t library_longer(attnc_handle *h, const char *what, int64_t n,
                       int64_t most)
{
    return library_error(h, ATTNC_ERROR_LENGTH,
                         "%s: %lld, at most %lld are taken: the model's "
                         "max_len, or max_input, max_output of the handle",
                         what, (long long)n, (long long)most);
}

int64_t library_read(attnc_handle *h, int64_t n, int target, const char *text,
                     int64_t bytes, int64_t how)
{
    const void *block = library_vocabulary(h, target);
    const int64_t most = h->limits.max_text;
    if (!block)
        return ATTNC_ERROR_OPEN;
    if (!text)
        return library_error(h, ATTNC_ERROR_NULL, "the text is NULL");
    if (bytes == -1)
        bytes = (int64_t)strlen(text);
    if (most > 0 && bytes > most)
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "the text has %lld bytes, at most %lld are taken: "
                             "max_text of the handle",
                             (long long)bytes, (long long)most);
    return library_ids(h, block, n, text, bytes, how);
}

int64_t library_question(attnc_handle *h, int64_t n, const char *text,
                         int64_t bytes)
{
    if (text && (bytes == 0 || (bytes == -1 && text[0] == '\0')))
        return library_vocabulary(h, 0) ? 0 : ATTNC_ERROR_OPEN;
    return library_read(h, n, 0, text, bytes, library_how(h));
}

int64_t library_asks(attnc_handle *h, const struct attn_search_options *o,
                     int64_t *n)
{
    const struct attn_model *m = h->m->e.backend.model;
    const int64_t most = library_most_input(h);
    if (o->max_input > 0)
        *n = attn_min(*n, o->max_input);
    if (*n > most)
        return library_longer(h, "tokens of the input", *n, most);
    const int64_t lead = attn_search_lead(m, o, *n);
    if (lead > m->max_target)
        return library_longer(h, "tokens of the input", *n,
                              m->max_target - (lead - *n));
    if (!attn_search_asks(m, o, *n))
        return 0;
    if (attn_search_limit(m, o, *n, lead) < attn_max(o->prefix_n, 1))
        return library_error(h, ATTNC_ERROR_LENGTH,
                             "no room is left for an answer to %lld tokens",
                             (long long)*n);
    return 1;
}
