/* model_options.c: converts the options for the model and its code to options
 * of the engine. */
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

/* ---- model ---- */

/* Returns the options that a hint about tuning records may suggest because the
 * command accepts them. */
static int offers_of(int command)
{
    static const struct {
        const char *name;
        Offers offer;
    } rows[] = {
        { "--march", OfferMarch },     { "--width", OfferWidth },
        { "--threads", OfferThreads }, { "--backend", OfferBackend },
        { "--cc", OfferCc },           { "-O", OfferLevel },
    };
    int all = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (option_taken(command, rows[i].name))
            all |= rows[i].offer;
    return all;
}

const char *records_option(const CodeOptions *code)
{
    if (is_stdout(code->records))
        fail(ExitUsage, "--records -: the file is read and written, so it "
                        "can't be stdout: name a file; attnc records export "
                        "prints the records");
    return code->records;
}

void need_lines(const ModelOptions *model)
{
    if (model->text.text && !model->text.ended)
        fail(ExitUsage, "stdin has only the spec and no lines: put them "
                        "after a line of three dots, or give the spec as a "
                        "file");
}

/* Returns the name of the backend. Commands that answer lines use ATTNC_BACKEND
 * as the default, or else auto. Other commands measure one backend and reject
 * auto. */
static const char *backend_of(int command, const CodeOptions *code)
{
    BackendOptions unused;
    const char *name = code->backend;
    if (command & CmdTiers)
        name = name ? name : getenv("ATTNC_BACKEND");
    else if (backend_kind(name, &unused) == BackendAuto)
        fail(ExitUsage, "--backend=auto is for attnc run and score: name "
                        "one, such as jit or clang");
    return name || !(command & CmdTiers) ? name : "auto";
}

EngineOptions engine_options(int command, const ModelOptions *model,
                             const CodeOptions *code)
{
    EngineOptions o = {
        .spec = model->spec,
        .text = model->text.text,
        .sets = model->sets.at,
        .nsets = model->sets.n,
        .passes = { .skip = model->skip.at,
                    .nskip = model->skip.n,
                    .dump = model->dump.at,
                    .ndump = model->dump.n,
                    .after = model->after,
                    .explain = model->explain,
                    .require_fusion = model->require_fusion },
        .weights = model->weights,
        .allow_nan = model->allow_nan,
        .seed = (uint64_t)model->seed,
    };
    if (!code)
        return o;
    if (target_is_c(code->march) && command & ~(CmdCompile | CmdPlan | CmdDiff))
        fail(ExitUsage,
             "--march=%s is only for attnc compile --emit=c: leave it out "
             "here",
             code->march);
    if (is_target_list(code->march) && command != CmdCompile)
        fail(ExitUsage,
             "--march=%s: several targets are only for attnc compile: name one "
             "here",
             code->march);
    o.march = code->march;
    o.width = (int)code->width;
    o.tile = code->tile;
    o.backend = backend_of(command, code);
    o.cc = code->cc;
    o.level = code->level;
    o.threads = code->threads;
    o.perf = code->perf;
    o.verbose = code->verbose;
    o.tuned = !code->no_records;
    o.records = records_option(code);
    o.offers = offers_of(command);
    return o;
}

const char *generation_option(const Options *o)
{
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        const void *at = (const char *)o + row->at;
        if ((row->commands & CmdRun) && OPTION_IN(row, search)
            && at != &o->search.set.max_input && !option_default(at, row))
            return row->name;
    }
    return NULL;
}

/* Rejects options that do not apply to the answers of this model. */
static void check_answers(const Spec *s, const Options *o)
{
    const bool blocks = s->kind == KindAttention || s->input != InputTokens;
    const char *wrong = spec_generates(s) ? NULL : generation_option(o);
    const char *reads = o->pairs       ? "--pairs"
                      : o->prompt_name ? "--prompt-name"
                      : o->text_task   ? "--task"
                                       : NULL;

    if (reads && spec_generates(s))
        fail(ExitUsage, "%s is for %s: this model writes its answers", reads,
             attn_use_text(ATTN_FOR_ENCODE));
    if (wrong)
        fail(ExitUsage, "%s applies to answers: this model gives none", wrong);
    if (reads && blocks)
        fail(ExitInput, "%s reads texts: this model reads rows of numbers",
             reads);
    if (o->text_task && (o->pairs || o->lines.ids))
        fail(ExitUsage, "--task can't be combined with --ids or --pairs");
}

/* Checks that the model can do what the options of attnc run ask for. Returns
 * an exit code. */
static int run_fits(const Spec *s, const void *command)
{
    const Options *o = command;
    const bool prompt = (o->prompt || o->load_state || o->chat)
                     && !o->attention;

    if (o->input || o->output || o->taps.n)
        return ExitDone;
    if (prompt && !spec_generates(s)) {
        error_at(spec_pos(s, "kind"), "this kind of model can't continue a "
                                      "text");
        note_at((Pos){ 0 },
                "it answers each line of stdin: echo .. | attnc run %s",
                quote(o->model.spec));
        return ExitInput;
    }
    const int code = o->chat ? ExitDone
                             : need_vocabularies(s, o->lines.ids, !prompt);
    if (!code && !o->attention)
        check_answers(s, o);
    return code;
}

EngineOptions run_engine_options(const Options *o)
{
    EngineOptions options = engine_options(CmdRun, &o->model, &o->code);
    options.taps = o->taps.at;
    options.ntaps = o->taps.n;
    options.fits = run_fits;
    options.command = o;
    if (o->quiet)
        options.offers = 0;
    return options;
}

bool picture_asked(int format, int svg, const char **to)
{
    if (format == svg && !*to)
        *to = "-";
    return format == svg;
}
