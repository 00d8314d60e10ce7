/* search_options.c: the spec's search, with what the command line changes. */
#include <string.h>

#include "cli/cli.h"

/* Where one of the others is given, tokens are drawn: as the model says, 1. */
double drawing_temperature(const Options *o)
{
    bool draws = o->top_k > 0 || o->top_p > 0 || o->min_p > 0;
    return o->temperature >= 0 ? o->temperature : draws ? 1 : 0;
}

/* The answers that are wanted widen the default alone: a beam that --beam or
 * the spec states decides what is found, and is kept.                       */
static int64_t beam_of(const Spec *s, const Options *o)
{
    if (o->beam > 0)
        return o->beam;
    if (drawing_temperature(o) > 0)
        return 1;
    return spec_says(s, "search.beam") ? s->search_beam
                                       : attn_max(s->search_beam, o->nbest);
}

static struct attn_search_options search_options(const Spec *s,
                                                 const Options *o)
{
    return (struct attn_search_options){
        .beam = beam_of(s, o),
        .results = attn_max(o->nbest, 1),
        .rule = s->search_rule == SearchRecorded ? ATTN_RULE_RECORDED
                                                 : ATTN_RULE_EXACT,
        .penalty = s->search_penalty == PenaltyGnmt ? ATTN_PENALTY_GNMT
                   : s->search_penalty == PenaltyPower ? ATTN_PENALTY_POWER
                   : ATTN_PENALTY_NONE,
        .alpha = (float)(o->alpha >= 0 ? o->alpha : s->search_alpha),
        .max_output = o->max_output > 0 ? o->max_output
                      : s->max_output > 0 ? s->max_output : 0,
        .max_output_plus = o->max_output > 0 ? -1 : s->max_output_plus,
        .max_input = o->max_input > 0 ? o->max_input : 0,
        .patience = (float)(o->patience >= 0 ? o->patience : 1),
        .start = (int32_t)s->token_start,
        .end = (int32_t)(o->end_token >= 0 ? o->end_token : s->token_end),
        .want_scores = o->scores,
        .process = {
            .min_length = o->min_length > 0 ? o->min_length : 0,
            .repetition_penalty = (float)(o->repetition_penalty > 0
                                              ? o->repetition_penalty : 0),
            .no_repeat_ngram = o->no_repeat_ngram > 0 ? o->no_repeat_ngram : 0,
        },
        .sampling = {
            .temperature = (float)drawing_temperature(o),
            .top_p = (float)(o->top_p > 0 ? o->top_p : 0),
            .min_p = (float)(o->min_p > 0 ? o->min_p : 0),
            .top_k = o->top_k > 0 ? o->top_k : 0,
            .seed = o->seed,
        },
    };
}

static int option_tokens(Arena *a, const Tokens *target, const char *option,
                         const char *text, int32_t **ids, int64_t *n)
{
    Fault why;
    size_t bytes = strlen(text);
    *ids = arena_alloc(a, (bytes + 2) * sizeof **ids);
    *n = tokens_of(target, text, bytes, *ids, &why);
    if (*n >= 0)
        return ExitDone;
    error_at((Pos){ 0 }, "%s '%s': %s", option, quote(text), why.text);
    return ExitUsage;
}

int open_search(Search *to, const Engine *e, const Options *o,
                const Tokens *target)
{
    Arena *a = e->arena;
    const Spec *s = e->spec;
    VEC(int32_t) suppress = { 0 };
    int32_t *ids;
    int64_t n = 0;
    int code = ExitDone;
    *to = (Search){ .o = search_options(s, o) };
    to->o.parallel = e->parallel;
    ids = arena_alloc(a, 2 * sizeof *ids);
    to->o.process.forbid = ids;
    to->o.process.forbid_count = spec_unwritten(s, ids);
    for (int i = 0; !code && i < o->suppress.n; i++) {
        code = option_tokens(a, target, "--suppress", o->suppress.at[i], &ids,
                             &n);
        if (!code && n > 0)
            vec_push(a, &suppress, (int32_t)n);
        for (int64_t j = 0; j < n; j++)
            vec_push(a, &suppress, ids[j]);
    }
    to->o.process.suppress = suppress.at;
    to->o.process.suppress_size = suppress.n;
    if (!code && o->prefix)
        code = option_tokens(a, target, "--prefix", o->prefix, &to->prefix,
                             &to->prefix_n);
    if (to->o.end >= s->target.size) {
        error_at((Pos){ 0 }, "--end-token %d: the target has %lld tokens",
                 to->o.end, (long long)s->target.size);
        code = ExitUsage;
    }
    return code;
}
