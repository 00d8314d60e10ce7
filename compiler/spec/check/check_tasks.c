/* check_tasks.c: checks queries, documents and scores of retrieval. */
#include "spec/fields/fields.h"

static const Pos nowhere;

/* Checks queries and documents, which the head rows alone distinguishes. */
static void check_tasks(Spec *s, const FieldState *state)
{
    const MaskSpec *m = &s->side[SideEncoder].mask;
    const bool rows = s->head == HeadRows || s->head == HeadDefault;

    if (is(state, "head.query.length", StateOff))
        return;
    const bool used = s->query_length > 0 || s->query_prefix >= 0
                   || s->document_length > 0 || s->document_prefix >= 0
                   || s->document_skip.n > 0;
    if (used && (!rows || s->input != InputTokens))
        error_at(spec_pos(s, "head.type"),
                 "head.query and head.document apply to the head rows of a "
                 "model that reads tokens only");
    if (s->query_length > s->side[SideEncoder].max_len)
        error_at(spec_pos(s, "head.query.length"),
                 "head.query.length (%lld) is longer than max_len (%lld)",
                 (long long)s->query_length,
                 (long long)s->side[SideEncoder].max_len);
    if (spec_hides_fill(s)
        && (m->causal || m->file || s->mix != MixAttention)) {
        error_at(spec_pos(s, "head.query.length"),
                 "tokens that fill a query, but are not attended to, need "
                 "attention without a causal mask or a mask from a file");
        note_at(nowhere, "set head.query.attend: true");
    }
}

static void check_score(Spec *s, const FieldState *state)
{
    (void)state;
    if (s->score.n > 0 && s->head != HeadLogits)
        error_at(spec_pos(s, "head.score"),
                 "head.score applies to the head logits only");
    if (s->score.n > 2)
        error_at(spec_pos(s, "head.score"),
                 "head.score has one id, or two whose logits are subtracted");
}

/* clang-format off */
const Check task_checks[] = {
    { check_score,     { "head.type", "head.score" } },
    { check_tasks,     { "head.type", "input.type", "max_len.source",
                         "masking.encoder", "mix.type", "head.query.length",
                         "head.query.token" } },
    { NULL, { NULL } },
};
