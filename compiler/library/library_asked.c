/* library_asked.c: the options of an answer. They are rows of attnc run, parsed
 * as the command parses them. */
#include <string.h>

#include "library/library.h"
#include "runtime/text/input_lines.h"

static void keep_message(void *with, const Message *m)
{
    attnc_handle *h = with;
    if (m->severity <= SeverityInternal && !h->why[0])
        library_error(h, 0, "%s", m->text);
}

static bool searches(const Option *row)
{
    return OPTION_IN(row, search) || option_is(row, "-n")
        || option_is(row, "--seed") || option_is(row, "--stop");
}

static bool searches_many(const Option *row)
{
    return searches(row) && !option_is(row, "--stop")
        && !option_is(row, "--draft");
}

static bool chats(const Option *row)
{
    return searches(row) && (row->use & ATTN_FOR_CHAT);
}

/* Appends the tokens of an option's text to ids[*n], which an arena owns; ids
 * in decimal digits if the model has no vocabulary. */
static int32_t *option_ids(const Asked *q, const char *name, const char *text,
                           int32_t *ids, int64_t *n)
{
    attnc_handle *h = q->h;
    const struct attn_side none = { .size = h->m->facts.target_vocab };
    const void *block = h->m->e.target_vocab.block;
    const int64_t bytes = (int64_t)strlen(text);
    char why[ATTN_WHY] = "";
    int64_t found;
    if (block) {
        found = library_ids(h, block, 0, text, bytes, ATTN_PLAIN);
        memcpy(why, h->why,
               sizeof h->why < ATTN_WHY ? sizeof h->why : ATTN_WHY);
        why[ATTN_WHY - 1] = '\0';
        if (found != ATTNC_ERROR_MEMORY)
            h->why[0] = '\0';
    } else {
        int32_t *at = library_room(h, &h->ids, (bytes + 2) * 4);
        found = at ? attn_line_ids(&none, text, bytes, at, why)
                   : ATTNC_ERROR_MEMORY;
    }
    if (found == ATTNC_ERROR_MEMORY)
        end_attempt(ExitResource);
    if (found < 0)
        fail(ExitUsage, "%s: %s", name, why);
    int32_t *to = arena_alloc(q->arena, (size_t)(*n + found + 1) * sizeof *to);
    if (*n > 0)
        memcpy(to, ids, (size_t)*n * sizeof *to);
    memcpy(to + *n, h->ids.at, (size_t)found * sizeof *to);
    *n += found;
    return to;
}

/* Appends the sequences of --suppress to those of the spec. */
static void suppress(Asked *q, const Texts *texts)
{
    struct attn_process *p = &q->o.process;
    for (int i = 0; i < texts->n; i++) {
        int64_t n = p->suppress_size + 1;
        int32_t *ids = arena_alloc(q->arena, (size_t)n * sizeof *ids);
        if (n > 1)
            memcpy(ids, p->suppress, (size_t)(n - 1) * sizeof *ids);
        ids = option_ids(q, "--suppress", texts->at[i], ids, &n);
        ids[p->suppress_size] = (int32_t)(n - 1 - p->suppress_size);
        if (ids[p->suppress_size] == 0)
            continue;
        p->suppress = ids;
        p->suppress_size = n;
    }
}

static void read_stops(Asked *q, const Texts *texts)
{
    int32_t *ids = NULL;
    for (int i = 0; i < texts->n; i++) {
        const size_t bytes = strlen(texts->at[i]);
        if (bytes < 1 || bytes > ATTN_STOP_BYTES)
            fail(ExitUsage, "--stop takes 1 to %d bytes", ATTN_STOP_BYTES);
        if (q->ids)
            ids = option_ids(q, "--stop", texts->at[i], ids, &q->stops_ids);
    }
    q->stop = (const char *const *)texts->at;
    q->stops = texts->n;
    q->stop_ids = ids;
}

/* Checks that the answer can have the draft that --draft asks for, here or when
 * the model was opened. `asked`: here. */
static void draft(Asked *q, const char *asked)
{
    const attnc_model *m = q->h->m;
    const char *wrong = attn_draft_wrong(m->e.backend.model);
    if (q->o.draft == ATTN_DRAFT_MODEL && asked)
        fail(ExitUsage, "--draft=%s is given when the model is opened", asked);
    q->o.drafter = &m->drafter;
    if (q->o.draft && wrong)
        fail(ExitUsage, "--draft: %s", wrong);
    if (q->o.draft && q->use == AskedPrompt && q->o.beam != 1)
        fail(ExitUsage, "--draft is for a beam of 1: add --beam=1");
}

static void read_asked(void *with)
{
    static bool (*const takes[])(const Option *row) = {
        [AskedPrompt] = searches,
        [AskedMany] = searches_many,
        [AskedChat] = chats,
    };
    Asked *q = with;
    const attnc_model *m = q->h->m;
    Arena *a = q->arena = arena_new();
    Options *o = library_options(a, NthRun, q->words);
    struct attn_settings *set = &o->search.set;
    library_takes(o, NthRun, takes[q->use], q->where);
    if (attn_settings_wrong(set, ATTN_FOR_LINES))
        fail(ExitUsage, "%s", attn_settings_wrong(set, ATTN_FOR_LINES));
    const char *asked = set->draft;
    if (!asked && q->use != AskedMany)
        set->draft = m->draft;
    attn_settings_apply(set, spec_has(m->e.spec, "search.beam"), o->model.seed,
                        &q->o);
    if (!asked && q->o.beam != 1)
        q->o.draft = ATTN_DRAFT_NONE;
    suppress(q, &o->search.suppress);
    read_stops(q, &o->stop);
    if (set->prefix) {
        q->o.prefix_n = 0;
        q->o.prefix = option_ids(q, "--prefix", set->prefix, NULL,
                                 &q->o.prefix_n);
    }
    if (q->o.end >= m->facts.target_vocab)
        fail(ExitUsage, "--end-token %d: the target has %lld tokens",
             (int)q->o.end, (long long)m->facts.target_vocab);
    if (q->h->limits.beam > 0 && q->o.beam > q->h->limits.beam)
        fail(ExitUsage, "--beam %lld: the handle was opened for at most %lld",
             (long long)q->o.beam, (long long)q->h->limits.beam);
    draft(q, asked);
    q->tokens = o->tokens;
    if (o->tokens >= 0) {
        q->o.max_output = q->o.prefix_n + o->tokens;
        q->o.max_output_plus = -1;
    }
}

int64_t library_begin(attnc_handle *h)
{
    const struct attnc_facts *f = &h->m->facts;
    h->why[0] = '\0';
    if (f->generates && f->input_width == 0)
        return 0;
    return library_error(h, ATTNC_ERROR_KIND, "%s: %s", f->name,
                         attn_error_text(ATTN_ERROR_KIND));
}

int64_t library_ask(Asked *q)
{
    attnc_handle *h = q->h;
    const int64_t most = h->limits.max_output > 0 ? h->limits.max_output
                                                  : h->m->facts.max_target;
    const int64_t wrong = library_begin(h);
    if (wrong)
        return wrong;
    if (q->use == AskedPrompt)
        h->stream.room = NULL; /* the state is never that of an older answer */
    q->o = h->m->search;
    q->arena = NULL;
    q->tokens = -1;
    if ((q->words && *q->words) || h->m->draft) {
        messages_to(keep_message, h);
        const int code = library_attempt(read_asked, q);
        messages_to(NULL, NULL);
        if (code) {
            q->arena = NULL;
            return code == ExitResource ? ATTNC_ERROR_MEMORY
                                        : ATTNC_ERROR_OPTION;
        }
    }
    if (q->o.max_output == 0 || q->o.max_output > most)
        q->o.max_output = most;
    q->o.parallel = h->m->e.parallel;
    return 0;
}
