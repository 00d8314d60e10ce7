/* check_fix.c: checks that the constant lengths set by `fix` are possible. */
#include "spec/fields/fields.h"

static const Pos nowhere;

/* Reports an error if `key` sets more rows than `most`, the value of
 * `most_key`. */
static void check_most(const Spec *s, const char *key, const char *most_key,
                       int64_t rows, int64_t most)
{
    if (rows <= most)
        return;
    error_at(spec_pos(s, key), "%s makes %lld rows, but %s is %lld", key,
             (long long)rows, most_key, (long long)most);
    note_at(spec_pos(s, most_key),
            "lower it, or leave it out; max_len is here");
}

static void check_rows(Spec *s, const FieldState *state)
{
    const SpecFix *fix = &s->fix;
    const bool free = s->kind == KindAttention;
    const int64_t past = fix->past < 0 ? 0 : fix->past;

    (void)state;
    check_most(s, free ? "fix.query" : "fix.source",
               free ? "max_len.query" : "max_len.source",
               spec_fixed_rows(s, SideEncoder), s->side[SideEncoder].max_len);
    check_most(s, free ? "fix.key" : "fix.target",
               free ? "max_len.key" : "max_len.target",
               spec_fixed_rows(s, SideDecoder), s->side[SideDecoder].max_len);
    if (fix->past < 0)
        return;
    if (spec_fixed_rows(s, SideDecoder) < 0) {
        error_at(spec_pos(s, "fix.past"),
                 "fix.past needs a fixed number of new rows");
        note_at(nowhere, "write fix.target too, or leave fix.past out");
    } else if (spec_fixed_rows(s, SideDecoder)
               <= s->side[SideDecoder].max_len) {
        check_most(s, "fix.past", "max_len.target",
                   past + spec_fixed_rows(s, SideDecoder),
                   s->side[SideDecoder].max_len);
    }
}

/* Checks that fix.source is greater than the number of learned rows, which it
 * includes. */
static void check_learned(Spec *s, const FieldState *state)
{
    const int64_t rows = s->fix.source;

    (void)state;
    if (rows < 0 || rows > spec_input_learned(s))
        return;
    error_at(spec_pos(s, "fix.source"),
             "a source of %lld rows has only learned rows", (long long)rows);
    note_at(nowhere, "fix.source includes the class token: raise it");
}

/* Checks that fix.batch is at least the beam size, because a beam search
 * decodes all hypotheses in one call. */
static void check_batch(Spec *s, const FieldState *state)
{
    (void)state;
    if (s->fix.batch < 0 || !spec_generates(s))
        return;
    if (s->search_beam <= s->fix.batch)
        return;
    error_at(spec_pos(s, "fix.batch"),
             "search.beam (%lld) is more than fix.batch (%lld)",
             (long long)s->search_beam, (long long)s->fix.batch);
    note_at(spec_pos(s, "search.beam"),
            "lower search.beam, or leave fix.batch out");
}

/* Checks that each rank has a head to compute. */
static void check_ranks(Spec *s, const FieldState *state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        const int64_t h = s->side[side].h;
        if (h <= 0 || s->fix.ranks <= h)
            continue;
        error_at(spec_pos(s, "fix.ranks"),
                 "%lld ranks can't divide %lld heads (h)",
                 (long long)s->fix.ranks, (long long)h);
        note_at(nowhere, "1 to %lld ranks are possible", (long long)h);
        return;
    }
}

/* A model for several ranks divides its calls, whatever its caller has. */
static void check_threads(Spec *s, const FieldState *state)
{
    (void)state;
    if (s->fix.ranks <= 1 || s->fix.threads < 0)
        return;
    error_at(spec_pos(s, "fix.threads"),
             "fix.threads and fix.ranks exclude each other");
    note_at(spec_pos(s, "fix.ranks"), "leave one of them out");
}

/* clang-format off */
const Check fix_checks[] = {
    { check_rows,    { "fix.source", "fix.target", "fix.past", "fix.query",
                       "fix.key", "max_len.source", "max_len.target",
                       "max_len.key" } },
    { check_learned, { "fix.source", "input.class_token",
                       "input.distillation_token" } },
    { check_batch,   { "fix.batch", "search.beam" } },
    { check_ranks,   { "fix.ranks", "h.encoder", "h.decoder" } },
    { check_threads, { "fix.ranks", "fix.threads" } },
    { NULL, { NULL } },
};
/* clang-format on */
