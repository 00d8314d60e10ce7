/* search_settings.c: applies the options to the search settings of the spec. */
#include "runtime/core.h"
#include "search_settings.h"

#include <string.h>

/* Returns the temperature. Without --temperature it is 1 if any other sampling
 * option is given, otherwise 0. */
ATTN_API float attn_settings_temperature(const struct attn_settings *s)
{
    const struct attn_sampling *o = &s->sampling;
    if (o->temperature >= 0.0f)
        return o->temperature;
    return o->top_k > 0 || o->top_p > 0.0f || o->min_p > 0.0f ? 1.0f : 0.0f;
}

/* Returns the beam. --nbest widens it only if neither --beam nor the spec sets
 * it, because the beam affects the result. */
static int64_t settings_beam(const struct attn_settings *s, int stated,
                             int64_t beam)
{
    if (s->beam > 0)
        return s->beam;
    if (attn_settings_temperature(s) > 0.0f)
        return 1;
    return stated ? beam : attn_max(beam, s->nbest);
}

ATTN_API int64_t attn_settings_draft(const struct attn_settings *s)
{
    if (!s->draft)
        return ATTN_DRAFT_NONE;
    return strcmp(s->draft, "ngram") == 0 ? ATTN_DRAFT_NGRAM : ATTN_DRAFT_MODEL;
}

ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o)
{
    o->beam = settings_beam(s, stated, o->beam);
    o->results = attn_max(s->nbest, 1);
    if (s->alpha >= 0.0f)
        o->alpha = s->alpha;
    if (s->max_output > 0) {
        o->max_output = s->max_output;
        o->max_output_plus = -1;
    }
    if (s->end_token >= 0) {
        o->end = (int32_t)s->end_token;
        o->ends_count = 0;
    }
    o->max_input = s->max_input;
    o->patience = s->patience;
    o->want_scores = s->scores;
    if (s->process.min_length >= 0) {
        o->process.min_length = s->process.min_length;
        o->process.min_total = 0;
    }
    if (s->process.repetition_penalty >= 0.0f)
        o->process.repetition_penalty = s->process.repetition_penalty;
    if (s->process.no_repeat_ngram >= 0)
        o->process.no_repeat_ngram = s->process.no_repeat_ngram;
    o->draft = attn_settings_draft(s);
    o->sampling = s->sampling;
    o->sampling.temperature = attn_settings_temperature(s);
    o->sampling.seed = seed;
}

ATTN_API const char *attn_settings_wrong(const struct attn_settings *s, int use)
{
    if (use == ATTN_FOR_PROMPT && s->beam > 1)
        return "--beam is for lines of stdin, not for --prompt";
    if (use == ATTN_FOR_LINES && attn_settings_temperature(s) > 0.0f
        && (s->beam > 1 || s->nbest > 1))
        return "tokens that are drawn make one answer: leave out --beam and "
               "--nbest, or --temperature and --top-k, --top-p, --min-p";
    return NULL;
}
