/* library_hidden.c: the rows that a model's head reads. The model is compiled a
 * second time for them, without its head. */
#include <stdlib.h>
#include <string.h>

#include "library/library.h"

/* Returns true if the rows of the result are not those of the last layer. */
static bool has_head(const Spec *s)
{
    return spec_generates(s) || s->head > HeadRows || s->head_normalize
        || s->head_width > 0;
}

static attnc_model *hidden_of(const attnc_model *m)
{
    return __atomic_load_n(&m->hidden, __ATOMIC_ACQUIRE);
}

/* ---- opening ---- */

/* Returns the path of a weights file that is not the one that `m` read; NULL:
 * there is none. */
static const char *other_weights(const Engine *m, const Engine *now)
{
    for (int i = 0; now->file && safetensors_file_at(now->file, i); i++) {
        const File *f = safetensors_file_at(now->file, i);
        const File *was = m->file ? safetensors_file_at(m->file, i) : NULL;
        if (!was || was->size != f->size
            || memcmp(&was->identity, &f->identity, sizeof f->identity) != 0)
            return f->path;
    }
    return NULL;
}

static bool same_vocab(const VocabBlock *a, const VocabBlock *b)
{
    return a->bytes == b->bytes
        && (!a->block || memcmp(a->block, b->block, (size_t)a->bytes) == 0);
}

void library_check_files(const attnc_model *of, const Engine *now)
{
    const Engine *m = &of->e;
    static const char text[] = "changed since attnc_open(): open the model "
                               "again";
    const char *weights = of->given.name ? NULL : other_weights(m, now);
    if (m->spec->hash != now->spec->hash)
        fail(ExitInput, "%s %s", quote(now->options.spec), text);
    if (weights)
        fail(ExitInput, "%s %s", quote(weights), text);
    if (!same_vocab(&m->source, &now->source)
        || !same_vocab(&m->target_vocab, &now->target_vocab))
        fail(ExitInput, "the vocabulary of %s %s", quote(now->options.spec),
             text);
}

typedef struct {
    attnc_model *m;
    attnc_model
        *hidden; /* memory for the new model; NULL: used or not needed */
} Opening;

static void open_hidden(void *with)
{
    Opening *w = with;
    if (hidden_of(w->m)) /* another thread has opened it */
        return;
    w->hidden->options = w->m->options;
    w->hidden->options.hidden = true;
    w->hidden->given = w->m->given;
    library_open_engine(w->hidden);
    library_check_files(w->m, &w->hidden->e);
    __atomic_store_n(&w->m->hidden, w->hidden, __ATOMIC_RELEASE);
    w->hidden = NULL;
}

/* Opens the model without its head. Returns 0 or an error. */
static int64_t open_without_head(attnc_handle *h)
{
    attnc_model *m = h->m;
    const Call c = { .path = m->facts.name,
                     .tell = library_keep_error,
                     .user = h };
    Opening w = { m, NULL };
    if (!has_head(m->e.spec))
        __atomic_store_n(&m->hidden, m, __ATOMIC_RELEASE);
    if (hidden_of(m))
        return 0;
    w.hidden = calloc(1, sizeof *w.hidden);
    const int code = w.hidden ? library_call(&c, open_hidden, &w)
                              : ATTNC_MEMORY;
    free(w.hidden);
    if (code == ATTNC_DONE)
        return 0;
    if (!h->why[0])
        library_error(h, 0, "out of memory");
    return code == ATTNC_MEMORY ? ATTNC_ERROR_MEMORY : ATTNC_ERROR_HIDDEN;
}

/* Begins a call, and opens what it needs. Returns 0 or an error. */
static int64_t begin_hidden(attnc_handle *h, bool target)
{
    const struct attnc_facts *f = &h->m->facts;
    h->why[0] = '\0';
    if (f->kind == ATTNC_ATTENTION || f->input_width > 0
        || (target && !f->generates))
        return library_error(h, ATTNC_ERROR_KIND, "%s: %s", f->name,
                             attn_error_text(ATTN_ERROR_KIND));
    const int64_t wrong = open_without_head(h);
    if (wrong || h->hidden)
        return wrong;
    const int code = attnc_handle_open(&h->hidden, hidden_of(h->m), &h->limits);
    return code == ATTNC_DONE ? 0
                              : library_error(h, ATTNC_ERROR_MEMORY, "%s",
                                              attnc_error(h->hidden));
}

/* Copies the message of a call of h->hidden. Returns `rows`. */
static int64_t ended(attnc_handle *h, int64_t rows)
{
    memcpy(h->why, h->hidden->why, sizeof h->why);
    return rows;
}

int64_t attnc_hidden(attnc_handle *h, const char *source, int64_t source_bytes,
                     const char *target, int64_t target_bytes, float *out,
                     int64_t cap)
{
    const int64_t wrong = begin_hidden(h, target);
    const bool none = !target;
    if (wrong)
        return wrong;
    if (h->m->facts.generates)
        return ended(h, attnc_logits(h->hidden, source, source_bytes,
                                     none ? "" : target,
                                     none ? 0 : target_bytes, 0, out, cap));
    return ended(h, attnc_embed(h->hidden, &source,
                                source_bytes == -1 ? NULL : &source_bytes, 1,
                                out, cap, NULL));
}

int64_t attnc_hidden_ids(attnc_handle *h, const int32_t *source, int64_t n,
                         const int32_t *target, int64_t target_n, float *out,
                         int64_t cap)
{
    const int64_t wrong = begin_hidden(h, target_n > 0);
    const int64_t start[] = { 0, n };
    if (wrong)
        return wrong;
    if (h->m->facts.generates)
        return ended(h, attnc_logits_ids(h->hidden, source, n, target, target_n,
                                         0, out, cap));
    return ended(h, attnc_encode(h->hidden, source, NULL, start, 1, out, cap,
                                 NULL));
}
