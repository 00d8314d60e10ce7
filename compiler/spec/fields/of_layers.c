/* of_layers.c: queries about one layer, or all layers of a stack, for other
 * directories. */
#include <string.h>

#include "spec/fields/fields.h"

/* ---- one layer ---- */
BiasKind spec_score_bias(const Spec *s)
{
    return s->positions == PosAlibi    ? BiasAlibi
         : s->positions == PosRelative ? BiasRelative
                                       : s->pos_scores;
}

bool spec_is_parallel(const Spec *layer)
{
    return layer->parallel != ParallelNone;
}

int64_t spec_shared_columns(const Spec *s)
{
    return s->latent_kv > 0 ? s->latent_rope : 0;
}

/* ---- all layers ---- */
bool spec_any_layer(const Spec *s, Side side, LayerTest *fits)
{
    int64_t i = 0;

    /* a model of `kind: attention` has no layers: its own spec counts as one */
    do {
        if (fits(spec_layer(s, side, i), side))
            return true;
    } while (++i < s->side[side].N);
    return false;
}

bool spec_hides_fill(const Spec *s)
{
    return s->query_length > 0 && s->query_token >= 0 && !s->query_attend;
}

static bool has_prefix(const Spec *layer, Side side)
{
    return layer->side[side].mask.prefix
        || (side == SideEncoder && spec_hides_fill(layer));
}

bool spec_has_prefix(const Spec *s, Side side)
{
    return spec_any_layer(s, side, has_prefix);
}

int64_t spec_of_layers(const Spec *s, Side side, const char *key)
{
    const size_t at = fields[field_row(key) + 1 + (int)side].at;
    const Spec *layer = spec_layer(s, side, 0);
    int64_t first, other;

    memcpy(&first, (const char *)layer + at, sizeof first);
    for (int64_t i = 1; i < s->side[side].N; i++) {
        layer = spec_layer(s, side, i);
        memcpy(&other, (const char *)layer + at, sizeof other);
        if (other != first)
            return 0;
    }
    return first;
}

bool spec_generates(const Spec *s)
{
    return s->kind == KindEncoderDecoder || s->kind == KindDecoder;
}
