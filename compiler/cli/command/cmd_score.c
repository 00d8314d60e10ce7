/* cmd_score.c: attnc score. Each line of stdin is an input, a tab, and an
 * output. The answer is the output's log-probability, a tab, and the
 * log-probability of each token, including the end token. It serves to compare
 * outputs for the same input. */
#include "cli/run/answering.h"

static int score_fits(const Spec *s, const void *command)
{
    const Options *o = command;
    if (spec_generates(s))
        return need_vocabularies(s, o->lines.ids, false);
    error_at(spec_pos(s, "kind"), "this kind of model gives no probabilities");
    return ExitInput;
}

int cmd_score(const Options *o)
{
    struct answering w;
    EngineOptions options = engine_options(CmdScore, &o->model, &o->code);
    options.fits = score_fits;
    options.command = o;
    answering_begin(&w, o->lines.ids, o->json);
    w.p.use = ATTN_FOR_SCORE;
    need_lines(&o->model);
    const int code = answering_open(&w, &options);
    if (!code)
        generate_answers(&w.p);
    return answering_close(&w, code);
}
