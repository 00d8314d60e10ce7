/* library.c: the functions of attnc.h that compile. They use the commands'
 * options and the engine, inside an attempt, so that an error ends only the
 * call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/console.h"
#include "base/progress.h"
#include "import/import.h"
#include "library/library.h"

/* ---- calls ---- */

/* The engine keeps tables of the process: lazily built tables of Unicode, files
 * given in memory, outputs that are not complete. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void pass_on(void *with, const Message *m)
{
    const MessageView v = message_view(m);
    if (m->severity == SeverityLine)
        fprintf(console_log(), "%s\n", m->text);
    else
        library_tell(with, &(struct attnc_message){
                               .severity = (int)v.severity,
                               .line = v.line,
                               .column = v.col,
                               .file = v.file,
                               .text = v.text,
                               .source = v.source,
                               .source_bytes = (int64_t)v.source_bytes,
                           });
}

/* The warning of a call without a function for messages, for the next call with
 * one; "": none. Used inside one_at_a_time. */
static char pending[512];

static void hold(void *with, const Message *m)
{
    (void)with;
    if (m->severity == SeverityWarning)
        snprintf(pending, sizeof pending, "%s", m->text);
}

static void pass_pending(const Call *c)
{
    if (!pending[0] || !c->tell || c->tell == library_keep_error)
        return;
    warning_at((Pos){ 0 }, "%s", pending);
    pending[0] = '\0';
}

static void pass_progress(void *with, const ProgressState *p)
{
    const Call *c = with;
    if (!c->streams || !progress_is_off())
        library_tell(c, &(struct attnc_message){
                            .severity = ATTNC_SEVERITY_PROGRESS,
                            .text = p->text,
                            .done = p->done,
                            .seconds = p->seconds,
                            .left = p->left,
                        });
}

void attnc_interrupt(void)
{
    interrupt_ask();
}

int library_call(const Call *c, void (*what)(void *with), void *with)
{
    pthread_mutex_lock(&one_at_a_time);
    (c->streams ? progress_on : progress_off)();
    if (c->streams && c->streams->signals)
        interrupts_on();
    else
        interrupts_off();
    spec_of_checkpoint = import_in_memory;
    messages_forget();
    messages_to(pass_on, (void *)(uintptr_t)c);
    progress_to(pass_progress, (void *)(uintptr_t)c);
    pass_pending(c);
    int code = ExitUsage;
    if (!c->path)
        error_at((Pos){ 0 }, "the path is NULL: a text too has a path, its "
                             "name in messages");
    else if (library_open_log(c))
        code = library_attempt(what, with);
    else
        code = report_fault(&(Fault){ ExitResource, "out of memory" });
    library_close_log();
    interrupt_unwind();
    progress_off();
    Fault unused;
    outputs_release(false, &unused); /* of an attempt that ended */
    files_forget_given();
    messages_to(NULL, NULL);
    progress_to(NULL, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return code;
}

/* A call of a handle does not wait for one that compiles. */
static bool library_between(void (*what)(void *with), void *with)
{
    if (pthread_mutex_trylock(&one_at_a_time) != 0)
        return false;
    messages_to(hold, NULL);
    library_attempt(what, with);
    messages_to(NULL, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return true;
}

/* ---- options ---- */
Options *library_options(Arena *a, int command, const char *const *words)
{
    static char spec[] = "spec"; /* in the place of the operand */
    VEC(char *) all = { 0 };
    const Command *c = &commands[command];
    vec_push(a, &all, spec);
    for (; words && *words; words++)
        vec_push(a, &all, arena_strdup(a, *words));
    return options_parse(a, c, all.n, all.at);
}

bool option_is(const Option *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

/* Options that print while the command works. */
static bool prints(const Option *row)
{
    return option_is(row, "--explain") || option_is(row, "--dump")
        || option_is(row, "-###");
}

void library_takes(const Options *o, int command, bool is(const Option *row),
                   const char *where)
{
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if ((row->commands & 1 << command) && row->name[0] == '-'
            && (!is(row) || prints(row))
            && !option_default((const char *)o + row->at, row))
            fail(ExitUsage, "%s is not an option of %s", row->name, where);
    }
}

const Source *library_source(Arena *a, const Call *c)
{
    Source *s = arena_alloc(a, sizeof *s);
    if (!c->text)
        return NULL;
    *s = (Source){ .name = arena_strdup(a, c->path),
                   .text = arena_strdup(a, c->text),
                   .size = strlen(c->text) };
    return s;
}

/* ---- open ---- */
typedef struct {
    const Call *call;
    attnc_model *m;
} Opening;

static bool opens(const Option *row)
{
    return OPTION_IN(row, model) || OPTION_IN(row, code)
        || option_is(row, "--draft");
}

static void set_facts(attnc_model *m)
{
    const struct attn_model *x = m->e.backend.model;
    const bool generates = spec_generates(m->e.spec);
    m->facts = (struct attnc_facts){
        .name = x->name,
        .kind = x->kind,
        .d_model = x->d_model,
        .source_vocab = x->source_vocab,
        .target_vocab = x->target_vocab,
        .max_source = x->max_source,
        .max_target = x->max_target,
        .input_width = x->input_width,
        .class_token = x->class_token,
        .types = x->types,
        .columns = x->output_columns,
        .pooled = x->output_pooled,
        .generates = generates,
        .reads_text = x->kind == ATTN_DECODER ? m->e.target_vocab.block != NULL
                                              : m->e.source.block != NULL,
        .writes_text = generates && m->e.target_vocab.block != NULL,
        .weights_bytes = x->weights_bytes,
        .dtype = x->dtype,
        .threads = m->e.parallel ? m->e.parallel->parts : 1,
    };
}

static int64_t read_caller(void *with, int64_t at, void *to, int64_t size)
{
    const attnc_model *m = with;
    library_leave();
    const int64_t n = m->given.read(m->given.source, at, to, size);
    library_return();
    return n;
}

void library_weights(const attnc_model *m, EngineOptions *o)
{
    const CallersWeights *w = &m->given;
    Fault why;
    if (!w->name)
        return;
    o->weights = w->name;
    if (!(w->read
              ? file_give_read(w->name, read_caller, (void *)(uintptr_t)m, &why)
              : file_give(w->name, w->at, (size_t)w->bytes, &why)))
        end_attempt(report_fault(&why));
}

void library_open_engine(attnc_model *m)
{
    library_weights(m, &m->options);
    const int code = engine_open(&m->e, &m->options);
    if (code)
        end_attempt(code);
    m->e.to_keep = false; /* a child process would write the cache */
    set_facts(m);
    if (m->facts.generates)
        m->search = spec_search(m->e.spec, m->unwritten);
}

static void open_drafter(attnc_model *m)
{
    const int code = engine_open_drafter(&m->small, &m->e, m->draft,
                                         &m->drafter);
    m->small.to_keep = false;
    if (code)
        end_attempt(code);
}

static void open_model(void *with)
{
    const Opening *w = with;
    Arena *a = arena_new();
    const Options *o = library_options(a, NthRun, w->call->options);
    EngineOptions options = engine_options(CmdRun, &o->model, &o->code);
    library_takes(o, NthRun, opens, "attnc_open()");
    options.spec = arena_strdup(a, w->call->path);
    options.text = library_source(a, w->call);
    options.offers = 0;
    options.backend = o->code.backend ? o->code.backend : "jit";
    options.guard = library_between;
    if (w->m->given.name && o->model.weights)
        fail(ExitUsage, "--weights is not an option of %s()",
             w->m->given.read ? "attnc_open_reader" : "attnc_open_weights");
    w->m->options = options;
    library_open_engine(w->m);
    arena_owns_arena(w->m->e.arena, a);
    w->m->draft = o->search.set.draft;
    const char *wrong = w->m->draft ? attn_draft_wrong(w->m->e.backend.model)
                                    : NULL;
    if (wrong)
        fail(ExitUsage, "--draft: %s", wrong);
    if (attn_settings_draft(&o->search.set) == ATTN_DRAFT_MODEL)
        open_drafter(w->m);
}

static int open_with(attnc_model **m, CallersWeights given, const Call *c)
{
    const Opening w = { c, calloc(1, sizeof *w.m) };
    *m = NULL;
    if (!w.m)
        return ATTNC_MEMORY;
    w.m->given = given;
    const int code = library_call(c, open_model, (void *)(uintptr_t)&w);
    if (code)
        free(w.m);
    else
        *m = w.m;
    return code;
}

int attnc_open(attnc_model **m, const char *path, const char *text,
               const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    return open_with(m, (CallersWeights){ 0 }, &c);
}

int attnc_open_weights(attnc_model **m, const char *path, const char *text,
                       const void *weights, int64_t bytes,
                       const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    return open_with(m,
                     (CallersWeights){ .name = weights ? "weights in memory"
                                                       : NULL,
                                       .at = weights,
                                       .bytes = attn_max(bytes, 0) },
                     &c);
}

int attnc_open_reader(attnc_model **m, const char *path, const char *text,
                      attnc_read *read, void *source,
                      const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    return open_with(m,
                     (CallersWeights){ .name = read ? "weights of the caller"
                                                    : NULL,
                                       .read = read,
                                       .source = source },
                     &c);
}

void attnc_close(attnc_model *m)
{
    if (!m)
        return;
    if (m->hidden != m)
        attnc_close(m->hidden);
    if (m->attends)
        engine_close(&m->unfused);
    if (m->small.arena)
        engine_close(&m->small);
    engine_close(&m->e);
    free(m);
}

const struct attnc_facts *attnc_facts(const attnc_model *m)
{
    return &m->facts;
}

const char *attnc_prompt(const attnc_model *m, const char *name)
{
    return spec_prompt(m->e.spec, name);
}

const char *attnc_prompt_name(const attnc_model *m, int64_t i)
{
    const SpecTexts *all = &m->e.spec->prompts; /* names and texts */
    return i >= 0 && i < all->n / 2 ? all->at[2 * i] : NULL;
}

const char *attnc_version(void)
{
    return ATTNC_VERSION;
}
