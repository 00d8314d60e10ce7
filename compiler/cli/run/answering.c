/* answering.c: connects runtime/program to an engine, and implements its
 * messages and files for attnc. */
#include "cli/run/answering.h"

#include "schema/schema.h"

/* ---- messages ---- */
/* Stores the first message about a part, for the answer. The three blocks of a
 * question for `kind: attention` share one message, that of the last bad
 * block. */
void program_refuse(struct program *p, int64_t line)
{
    const int64_t part = p->m->kind == ATTN_ATTENTION ? 0 : p->parts;
    if (p->status > ExitInput)
        return;
    line_error(line, "%s", p->why);
    if (part < PROGRAM_PARTS && !(p->refused && p->of->part == p->parts))
        memcpy(p->of->why[part], p->why, sizeof p->why);
    p->of->part = p->parts;
    p->status = ExitInput;
}

bool batch_is_large(const struct program *p)
{
    return p->m->kind == ATTN_ENCODER
        && p->m->arena_bytes(p->n, p->parts, 1) > BatchBytes;
}

void answering_progress(int64_t lines, bool end)
{
    if (lines == 0 || !isatty(STDERR_FILENO) || isatty(STDOUT_FILENO))
        return;
    if (end)
        fputc('\n', stderr);
    else
        fprintf(stderr, "\r%lld lines", (long long)lines);
}

/* ---- files ---- */
/* Compiles the schema in a file. Returns the grammar; NULL after an error. */
static const char *schema_text(struct program *p, const char *path,
                               int64_t *bytes)
{
    Fault why;
    File f;
    Buffer b = { .arena = p->of->e.arena };
    bool ok = file_read_for(UseInput, &f, path, (size_t)1 << 40, &why);
    if (ok) {
        ok = schema_grammar(&b, &f, &why);
        file_close(&f);
    }
    if (!ok)
        program_fail(p, why.code, "%s", why.text);
    *bytes = ok ? b.n : 0;
    return ok ? b.at : NULL;
}

const char *program_map(struct program *p, const char *path, int64_t *bytes)
{
    Fault why;
    const bool grammar = path == p->set.grammar;
    File *f = grammar ? &p->of->grammar : &p->of->state;
    *bytes = 0;
    if (grammar && p->of->schema)
        return schema_text(p, path, bytes);
    if (!file_read_for(grammar ? UseInput : UseState, f, path, (size_t)1 << 40,
                       &why))
        program_fail(p, why.code, "%s", why.text);
    else
        *bytes = (int64_t)f->size;
    return (const char *)f->at;
}

void state_put(struct program *p, const char *state, int64_t bytes)
{
    Fault why;
    if (!write_file_for(UseState, p->save_state, state, (size_t)bytes, &why))
        program_fail(p, why.code, "%s", why.text);
}

/* ---- draft ---- */
const struct attn_drafter *program_drafter(struct program *p)
{
    struct answering *w = p->of;
    p->status = engine_open_drafter(&w->small, &w->e, p->set.draft,
                                    &w->drafter);
    return &w->drafter;
}

/* ---- model ---- */
void answering_begin(struct answering *w, bool ids, bool json)
{
    memset(w, 0, sizeof *w);
    w->p.of = w;
    w->p.ids = ids;
    w->p.json = json;
    w->p.tokens = -1;
}

void answering_run(struct answering *w, const Options *o)
{
    struct program *p = &w->p;
    answering_begin(w, o->lines.ids, o->format == RunJson);
    p->npy = o->format == RunNpy;
    p->set = o->search.set;
    w->schema = o->search.schema != NULL;
    if (w->schema && p->set.grammar)
        fail(ExitUsage, "--grammar can't be combined with --json-schema");
    if (w->schema)
        p->set.grammar = o->search.schema;
    p->suppress = (struct program_list){ o->search.suppress.at,
                                         o->search.suppress.n };
    p->stop = (struct program_list){ o->stop.at, o->stop.n };
    p->prompt = o->prompt;
    p->load_state = o->load_state;
    p->save_state = o->save_state;
    p->system = o->system;
    p->tokens = o->tokens;
    p->seed = o->model.seed;
    p->pairs = o->pairs;
    p->prompt_name = o->prompt_name;
    p->task_name = o->text_task == ATTN_TASK_QUERY    ? "query"
                 : o->text_task == ATTN_TASK_DOCUMENT ? "document"
                                                      : NULL;
    p->quiet = o->quiet;
    p->chat = o->chat;
    p->shard = o->shard;
    p->resume = o->resume;
    p->output = o->common.output;
}

int answering_open(struct answering *w, const EngineOptions *o)
{
    const int code = engine_open(&w->e, o);
    if (code)
        return code;
    answering_with(w, &w->e);
    const Source *spec = w->e.spec->top.src;
    if (o->verbose && file_given(spec->name))
        fprintf(stderr, "--- %s, the spec of %s\n%s---\n", spec->name, o->spec,
                spec->text);
    return ExitDone;
}

void answering_with(struct answering *w, const Engine *e)
{
    struct program *p = &w->p;
    w->e = *e;
    w->object = (Buffer){ .arena = e->arena };
    w->chat = spec_chat(e->spec);
    w->texts = spec_texts(e->spec, w->task);
    w->model = *e->backend.model;
    w->model.texts = &w->texts;
    p->m = &w->model;
    p->packed = e->packed;
    p->bound.at = e->bound;
    p->parallel = e->parallel;
    p->source = (struct attn_side){ e->source.block, p->m->source_vocab };
    p->target = (struct attn_side){ e->target_vocab.block, p->m->target_vocab };
    if (p->m->kind == ATTN_DECODER)
        p->source = p->target;
    if (w->schema && !p->target.block)
        program_fail(p, ExitUsage,
                     "--json-schema: this model has no "
                     "vocabulary: JSON is the text of tokens");
}

int answering_close(struct answering *w, int code)
{
    if (w->state.at)
        file_close(&w->state);
    if (w->grammar.at)
        file_close(&w->grammar);
    if (w->text)
        fclose(w->text);
    free(w->at);
    if (w->small.arena)
        engine_close(&w->small);
    engine_close(&w->e);
    return code ? code : w->p.status;
}
