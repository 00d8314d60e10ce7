/* library.c: the functions of attnc.h that compile. They use the commands'
 * options and the engine, inside an attempt, so that an error ends only the
 * call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "import/import.h"
#include "library/library.h"

/* ---- calls ---- */

/* The engine keeps tables of the process: lazily built tables of Unicode, files
 * given in memory, outputs that are not complete. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void pass_on(void *with, const Message *m)
{
    const Call *c = with;
    const struct attnc_message message = {
        .severity = (int)m->severity,
        .line = m->pos.src ? m->pos.line : 0,
        .column = m->pos.src ? m->pos.col : 0,
        .file = m->pos.src ? m->pos.src->name : NULL,
        .text = m->text,
    };
    if (c->tell)
        c->tell(c->user, &message);
}

int library_call(const Call *c, void (*what)(void *with), void *with)
{
    pthread_mutex_lock(&one_at_a_time);
    progress_off();
    interrupts_off();
    spec_of_checkpoint = import_in_memory;
    messages_forget();
    messages_to(pass_on, (void *)(uintptr_t)c);
    int code = ExitUsage;
    if (c->path)
        code = attempt(what, with);
    else
        error_at((Pos){ 0 }, "the path is NULL: a text too has a path, its "
                             "name in messages");
    Fault unused;
    outputs_release(false, &unused); /* of an attempt that ended */
    files_forget_given();
    messages_to(NULL, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return code;
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
    return OPTION_IN(row, model) || OPTION_IN(row, code);
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

static void free_words(void *arena)
{
    arena_free(arena);
}

static void open_model(void *with)
{
    const Opening *w = with;
    BackendOptions unused;
    Arena *a = arena_new();
    const Options *o = library_options(a, NthRun, w->call->options);
    EngineOptions options = engine_options(CmdRun, &o->model, &o->code);
    library_takes(o, NthRun, opens, "attnc_open()");
    options.spec = w->call->path;
    options.text = library_source(a, w->call);
    options.offers = 0;
    options.backend = o->code.backend ? o->code.backend : "jit";
    if (backend_kind(options.backend, &unused) == BackendAuto)
        fail(ExitUsage, "--backend=auto is for attnc run: name one, such as "
                        "jit or clang");
    const int code = engine_open(&w->m->e, &options);
    if (code)
        end_attempt(code);
    w->m->e.to_keep = false; /* a child process would write the cache */
    arena_owns(w->m->e.arena, a, free_words);
    set_facts(w->m);
}

int attnc_open(attnc_model **m, const char *path, const char *text,
               const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user };
    const Opening w = { &c, calloc(1, sizeof *w.m) };
    *m = NULL;
    if (!w.m)
        return ATTNC_MEMORY;
    const int code = library_call(&c, open_model, (void *)(uintptr_t)&w);
    if (!code) {
        *m = w.m;
        return ATTNC_DONE;
    }
    free(w.m);
    return code;
}

void attnc_close(attnc_model *m)
{
    if (!m)
        return;
    engine_close(&m->e);
    free(m);
}

const struct attnc_facts *attnc_facts(const attnc_model *m)
{
    return &m->facts;
}

const char *attnc_version(void)
{
    return ATTNC_VERSION;
}
