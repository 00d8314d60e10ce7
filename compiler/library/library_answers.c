/* library_answers.c: the functions of attnc.h for models that generate. They
 * are those of runtime/handle, which emitted files have too, on the weights of
 * an engine. This file includes their sources, as an emitted file does. */
#include "runtime/handle/handle_system.h"

#include <string.h>

#include "library/library.h"

#undef ATTN_API
#define ATTN_API __attribute__((unused)) static
struct handle_file { /* the engine has the weights */
    char none;
};
#define handle_unmap(file) ((void)(file))
#define options_of_spec(o) (*(o) = *h->engine->search)

#include "runtime/handle/handle.c"
#include "runtime/handle/handle_generate.c"

struct library_answers {
    struct attn_engine engine;
    struct attn_search_options search; /* of the spec */
    int32_t unwritten[2];              /* for spec_search() */
    struct attn_handle *h;
};

int library_open_answers(attnc_handle *h)
{
    attnc_model *m = h->m;
    const Engine *e = &m->e;
    const bool decodes = m->facts.kind == ATTNC_DECODER;
    struct library_answers *x = calloc(1, sizeof *x);
    h->answers = x;
    if (!x)
        return (int)library_error(h, ATTNC_MEMORY, "out of memory");
    x->search = spec_search(e->spec, x->unwritten);
    x->engine = (struct attn_engine){
        .bound = e->bound,
        .source = decodes ? e->target_vocab.block : e->source.block,
        .target = e->target_vocab.block,
        .search = &x->search,
    };
    const struct attn_open_options o = {
        .parallel = e->parallel,
        .max_input = h->limits.max_input,
        .max_output = h->limits.max_output,
        .max_text = h->limits.max_text,
        .beam = h->limits.beam,
        .engine = &x->engine,
    };
    x->h = attn_open(e->backend.model, NULL, &o);
    if (x->h && !x->h->failed)
        return ATTNC_DONE;
    return (int)library_error(h,
                              x->h && x->h->failed == ATTN_ERROR_OPTION
                                  ? ATTNC_USAGE
                                  : ATTNC_MEMORY,
                              "%s", attn_error(x->h));
}

void library_close_answers(attnc_handle *h)
{
    if (!h->answers)
        return;
    attn_close(h->answers->h);
    free(h->answers);
}

/* Begins a call of a model that generates. Returns 0 or an error. */
static int64_t begin(attnc_handle *h)
{
    h->why[0] = '\0';
    if (h->answers)
        return 0;
    return library_error(h, ATTNC_ERROR_KIND, "%s: %s", h->m->facts.name,
                         attn_error_text(ATTN_ERROR_KIND));
}

/* Returns `result`, with its message if it is an error. */
static int64_t ended(attnc_handle *h, int64_t result)
{
    if (result < 0)
        library_error(h, result, "%s", attn_error(h->answers->h));
    return result;
}

/* ---- options ---- */
typedef struct {
    attnc_handle *h;
    const char *const *words;
    struct attn_search_options o;
    Arena *arena; /* owns what `o` points to */
} Asked;

static void keep_message(void *with, const Message *m)
{
    attnc_handle *h = with;
    if (m->severity <= SeverityInternal && !h->why[0])
        library_error(h, 0, "%s", m->text);
}

static bool searches(const Option *row)
{
    return OPTION_IN(row, search) || option_is(row, "-n")
        || option_is(row, "--seed");
}

/* Appends the tokens of an option's text to ids[n]. Returns their number. */
static int64_t option_ids(const Asked *q, const char *name, const char *text,
                          int32_t *ids)
{
    struct attn_handle *h = q->h->answers->h;
    const int64_t n = handle_tokens(h, h->target, text, -1, ATTN_PLAIN, h->ids);
    if (n < 0)
        fail(ExitUsage, "%s: %s", name, attn_error(h));
    memcpy(ids, h->ids, (size_t)n * sizeof *ids);
    return n;
}

static int64_t most_ids(const Asked *q, const char *text)
{
    return q->h->answers->h->most + (int64_t)strlen(text);
}

/* Appends the sequences of --suppress to those of the spec. */
static void suppress(Asked *q, const Texts *texts)
{
    struct attn_process *p = &q->o.process;
    int64_t n = p->suppress_size, most = n;
    for (int i = 0; i < texts->n; i++)
        most += 1 + most_ids(q, texts->at[i]);
    int32_t *ids = arena_alloc(q->arena, (size_t)most * sizeof *ids);
    if (n > 0)
        memcpy(ids, p->suppress, (size_t)n * sizeof *ids);
    for (int i = 0; i < texts->n; i++) {
        ids[n] = (int32_t)option_ids(q, "--suppress", texts->at[i],
                                     ids + n + 1);
        n += ids[n] > 0 ? 1 + ids[n] : 0;
    }
    p->suppress = ids;
    p->suppress_size = n;
}

static void read_asked(void *with)
{
    Asked *q = with;
    const Spec *s = q->h->m->e.spec;
    Arena *a = q->arena = arena_new();
    const Options *o = library_options(a, NthRun, q->words);
    const struct attn_settings *set = &o->search.set;
    library_takes(o, NthRun, searches, "attnc_generate()");
    if (attn_settings_wrong(set, ATTN_FOR_LINES))
        fail(ExitUsage, "%s", attn_settings_wrong(set, ATTN_FOR_LINES));
    attn_settings_apply(set, spec_has(s, "search.beam"), o->model.seed, &q->o);
    if (o->search.suppress.n > 0)
        suppress(q, &o->search.suppress);
    if (set->prefix) {
        int32_t *ids = arena_alloc(a, (size_t)most_ids(q, set->prefix)
                                          * sizeof *ids);
        q->o.prefix_n = option_ids(q, "--prefix", set->prefix, ids);
        q->o.prefix = ids;
    }
    if (q->o.end >= q->h->m->facts.target_vocab)
        fail(ExitUsage, "--end-token %d: the target has %lld tokens",
             (int)q->o.end, (long long)q->h->m->facts.target_vocab);
    if (o->tokens >= 0) {
        q->o.max_output = q->o.prefix_n + o->tokens;
        q->o.max_output_plus = -1;
    }
}

/* Reads the options of an answer; arena_free(q->arena) when it has ended.
 * Returns 0 or an error. */
static int64_t ask(Asked *q)
{
    attnc_handle *h = q->h;
    q->o = h->answers->search;
    q->arena = NULL;
    if (!q->words || !*q->words)
        return 0;
    messages_to(keep_message, h);
    const int code = attempt(read_asked, q);
    messages_to(NULL, NULL);
    if (!code)
        return 0;
    q->arena = NULL;
    return code == ExitResource ? ATTNC_ERROR_MEMORY : ATTNC_ERROR_OPTION;
}

/* ---- answers ---- */
static int64_t answer(struct attn_handle *h, const char *prompt, int64_t bytes,
                      const struct attn_search_options *o,
                      attnc_take_text *take, void *user)
{
    const int wrong = handle_begin(h->model, h);
    return wrong ? wrong : handle_prompt(h, prompt, bytes, o, take, user);
}

int64_t attnc_generate(attnc_handle *h, const char *prompt, int64_t bytes,
                       const char *const *options, attnc_take_text *take,
                       void *user)
{
    Asked q = { .h = h, .words = options };
    int64_t n = begin(h);
    if (n == 0)
        n = ask(&q);
    if (n == 0)
        n = ended(h, answer(h->answers->h, prompt, bytes, &q.o, take, user));
    arena_free(q.arena);
    return n;
}

int64_t attnc_generate_ids(attnc_handle *h, const int32_t *ids, int64_t n,
                           const char *const *options, attnc_take_id *take,
                           void *user)
{
    Asked q = { .h = h, .words = options };
    int64_t found = begin(h);
    if (found == 0)
        found = ask(&q);
    if (found == 0)
        found = ended(h, attn_generate_ids(h->answers->h->model, h->answers->h,
                                           ids, n, &q.o, take, user));
    arena_free(q.arena);
    return found;
}

/* ---- scores ---- */
int64_t attnc_score(attnc_handle *h, const char *source, int64_t source_bytes,
                    const char *target, int64_t target_bytes,
                    double *log_probability)
{
    const int64_t wrong = begin(h);
    if (wrong)
        return wrong;
    struct attn_handle *x = h->answers->h;
    return ended(h, attn_score(x->model, x, source, source_bytes, target,
                               target_bytes, log_probability));
}

int64_t attnc_score_ids(attnc_handle *h, const int32_t *source, int64_t n,
                        const int32_t *target, int64_t target_n,
                        double *log_probability)
{
    const int64_t wrong = begin(h);
    if (wrong)
        return wrong;
    struct attn_handle *x = h->answers->h;
    return ended(h, attn_score_ids(x->model, x, source, n, target, target_n,
                                   log_probability));
}
