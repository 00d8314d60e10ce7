/* check_latent.c: checks the ranks and widths of latent attention. */
#include "spec/fields/fields.h"

static const Pos nowhere;

#define LATENT "attention.latent."

/* Reports options of latent attention if the model does not use it. Inherited
 * options are accepted if a later source turned it off. */
static void check_latent_details(const Spec *s, const FieldState *state)
{
    static const char *const details[] = { LATENT "q_rank", LATENT "rope_dims",
                                           LATENT "eps" };

    for (int i = 0; i < 3; i++) {
        const Pos at = spec_pos(s, details[i]);
        if (!is(state, details[i], StateSet)
            || (spec_has(s, LATENT "kv_rank")
                && at.src->rank < spec_pos(s, LATENT "kv_rank").src->rank))
            continue;
        error_at(at, "%s applies to latent attention only", details[i]);
        note_at(nowhere, LATENT "kv_rank turns it on");
        return;
    }
}

static void check_latent_heads(const Spec *s, Side side)
{
    const SpecSide *p = &s->side[side];
    const char *key = side_key(s, "h_kv", side);

    if (!has_layers(s, side) || p->h == 0)
        return;
    if (p->h_kv != p->h) {
        error_at(spec_pos(s, key),
                 "latent attention has keys and values for each head: %s "
                 "(%lld) must be h (%lld)",
                 key, (long long)p->h_kv, (long long)p->h);
        note_at(spec_pos(s, LATENT "kv_rank"), LATENT "kv_rank is here");
    }
    if (s->latent_rope < p->d_k)
        return;
    error_at(spec_pos(s, LATENT "rope_dims"),
             LATENT "rope_dims (%lld) must be less than d_k (%lld)",
             (long long)s->latent_rope, (long long)p->d_k);
    note_at(spec_pos(s, side_key(s, "d_k", side)),
            "d_k includes the columns that all heads share");
}

/* Checks that rotary positions rotate only those columns of a key that all
 * heads share. */
static void check_turned(const Spec *s, const FieldState *state)
{
    if (s->positions != PosRotary
        || (s->latent_rope > 0
            && spec_rotary_columns(s, SideEncoder) <= s->latent_rope))
        return;
    if (s->latent_rope == 0) {
        error_at(spec_pos(s, "positions.type"),
                 "rotary positions rotate the key columns that all heads "
                 "share, but there are none");
        note_at(spec_pos(s, LATENT "kv_rank"),
                LATENT "rope_dims sets their number; latent attention is here");
        return;
    }
    if (is(state, "positions.dims", StateUnset))
        return; /* rope_dims is odd, which check_rotary() reports */
    error_at(spec_pos(s, "positions.dims"),
             "positions.dims (%lld%s) is more than " LATENT "rope_dims (%lld)",
             (long long)s->pos_dims,
             s->pos_dims % 2 ? ", rounded up to an even number" : "",
             (long long)s->latent_rope);
}

void check_latent(Spec *s, const FieldState *state)
{
    if (s->latent_kv == 0) {
        check_latent_details(s, state);
        return;
    }
    if (s->mix != MixAttention)
        return;
    check_latent_heads(s, SideEncoder);
    check_latent_heads(s, SideDecoder);
    check_turned(s, state);
    if (s->norm_qk == QkNone)
        return;
    error_at(spec_pos(s, "norm.qk"),
             "norm.qk cannot be combined with latent attention");
    note_at(spec_pos(s, LATENT "kv_rank"),
            "leave norm.qk out; latent attention is here");
}
