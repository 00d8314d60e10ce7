/* cmd_run.c: attnc run. Rejects contradictory options and selects the code that
 * answers: the program that is also in emitted files, run_input.c, or
 * run_attention.c. */
#include "cli/run/answering.h"

#include "base/progress.h"

/* Rejects options that do not apply to this use or contradict each other. */
static int check_run_use(struct program *p, const Options *o)
{
    const int use = p->use = generate_use(p);
    if (p->status == ExitDone)
        shard_words(p);
    if (p->status == ExitDone) /* the model decides which lines it answers */
        options_for(o, &commands[NthRun],
                    use == ATTN_FOR_LINES ? use | ATTN_FOR_ENCODE : use);
    if (use != ATTN_FOR_PROMPT && p->status == ExitDone)
        need_lines(&o->model);
    return p->status;
}

/* Rejects options that do not go with --shard or --format=npy. */
static void check_files(const Options *o)
{
    const bool tensors = o->attention || o->input || o->output || o->taps.n;
    if (o->format == RunNpy && tensors)
        fail(ExitUsage, "--format=npy is for lines of stdin");
    if ((o->shard || o->resume) && tensors)
        fail(ExitUsage, "--shard is for lines of stdin");
}

static int answer(const Options *o)
{
    struct answering w;
    const EngineOptions options = run_engine_options(o);
    answering_run(&w, o);
    int code = check_run_use(&w.p, o);
    if (code)
        return code;
    code = answering_open(&w, &options);
    if (!code && w.p.npy && spec_generates(w.e.spec))
        program_fail(&w.p, ExitUsage,
                     "--format=npy is for models whose "
                     "answers are rows");
    else if (!code && w.p.npy && !o->shard)
        npy_begin(&w.p);
    if (code || w.p.status)
        return answering_close(&w, code);
    if (spec_generates(w.e.spec))
        generate_answers(&w.p);
    else
        rows_answers(&w.p);
    if (w.p.npy && !o->shard)
        npy_end(&w.p);
    return answering_close(&w, code);
}

int cmd_run(const Options *o)
{
    if (o->quiet)
        quiet();
    check_files(o);
    if (o->format == RunSvg && !o->attention)
        fail(ExitUsage, "--format=svg is for --attention FILE");
    if (o->format && !o->attention && (o->input || o->output || o->taps.n))
        fail(ExitUsage, "--format=json is for lines, --prompt and "
                        "--attention; --output FILE holds tensors");
    if (o->format == RunJson && o->chat)
        fail(ExitUsage, "--format=json is for lines, --prompt and --attention, "
                        "not for --chat");
    if (o->pairs && (o->attention || o->input || o->output || o->taps.n))
        fail(ExitUsage, "--pairs is for lines of stdin: leave out --attention, "
                        "--input, --output and --tap");
    if (o->pairs && o->lines.ids)
        fail(ExitUsage, "--pairs reads texts: it can't be combined with --ids");
    if (o->attention)
        return run_attention(o);
    if (o->layer >= 0 || o->head >= 0 || o->query >= 0)
        fail(ExitUsage, "%s chooses what --attention FILE draws",
             o->layer >= 0  ? "--layer"
             : o->head >= 0 ? "--head"
                            : "--query");
    if (o->input || o->output || o->taps.n)
        return run_input(o);
    return answer(o);
}
