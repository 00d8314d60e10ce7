/* rotary.c: computes the frequencies of rotary positions at compile time: a
 * table of rates and a factor, unscaled [Su et al. 2021] or scaled for texts
 * longer than the training texts. If a scaling depends on the length of the
 * text, the maximum length is used for all texts. */
#include <math.h>

#include "spec/fields/fields.h"

static const double pi = 3.14159265358979323846;

int64_t spec_rotary_columns(const Spec *s, Side side)
{
    const int64_t dims = s->pos_dims > 0 ? s->pos_dims : s->side[side].d_k;
    return dims + dims % 2;
}

/* ---- scalings ---- */
typedef struct {
    const SpecScaling *is;
    double base, dims, original; /* length of the longest training text */
    bool longer;                 /* texts may be longer than `original` */
    double max_len;
} Stretch;

static double unscaled(const Stretch *x, int64_t pair)
{
    return pow(x->base, -2 * (double)pair / x->dims);
}

/* Returns the rate of a pair if the base grows with the maximum length: the
 * slowest pair turns no further than in training, and the fastest one keeps its
 * rate. */
static double dynamic(const Stretch *x, int64_t pair)
{
    const double f = x->is->factor;
    const double grown = f * x->max_len / x->original - (f - 1);
    Stretch longer = *x;

    if (x->longer)
        longer.base = x->base * pow(grown, x->dims / (x->dims - 2));
    return unscaled(&longer, pair);
}

/* Returns the rate of a pair: divided by `factor` for long wavelengths,
 * unchanged for short ones, interpolated in between. */
static double llama3(const Stretch *x, int64_t pair)
{
    const double low = x->is->low_freq, high = x->is->high_freq;
    const double rate = unscaled(x, pair),
                 waves = x->original * rate / (2 * pi);
    const double kept = fmin(fmax((waves - low) / (high - low), 0), 1);

    return (1 - kept) * rate / x->is->factor + kept * rate;
}

/* Returns the pair, as a fractional index, that makes `turns` turns in the
 * longest training text. */
static double pair_of(const Stretch *x, double turns)
{
    return x->dims * log(x->original / (turns * 2 * pi)) / (2 * log(x->base));
}

/* Returns the rate of a pair [Peng et al. 2023]. From the pair of beta_fast to
 * that of beta_slow, the rate falls linearly to 1 / factor of its value. */
static double yarn(const Stretch *x, int64_t pair)
{
    double first = pair_of(x, x->is->beta_fast);
    double last = pair_of(x, x->is->beta_slow);

    if (x->is->truncate) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, x->dims - 1);
    if (!(first < last) && !(first > last))
        last += 0.001; /* as in other implementations, to avoid dividing by 0 */
    const double far = ((double)pair - first) / (last - first);
    const double slow = fmin(fmax(far, 0), 1), rate = unscaled(x, pair);

    return rate / x->is->factor * slow + rate * (1 - slow);
}

static double longrope(const Stretch *x, int64_t pair)
{
    const SpecReals *by = x->longer ? &x->is->long_factor
                                    : &x->is->short_factor;
    return unscaled(x, pair) / by->at[pair];
}

/* ---- factors of attention ---- */
static double one(const SpecScaling *is)
{
    (void)is;
    return 1;
}

static double log_factor(const SpecScaling *is, double scale)
{
    return is->factor > 1 ? 0.1 * scale * log(is->factor) + 1 : 1;
}

static double yarn_factor(const SpecScaling *is)
{
    if (is->mscale > 0 && is->mscale_all > 0)
        return log_factor(is, is->mscale) / log_factor(is, is->mscale_all);
    return log_factor(is, 1);
}

static double longrope_factor(const SpecScaling *is)
{
    if (is->factor <= 1)
        return 1;
    return sqrt(1 + log(is->factor) / log((double)is->original_max_len));
}

/* clang-format off */
static const struct {
    double (*rate)(const Stretch *x, int64_t pair);
    double (*factor)(const SpecScaling *is);
    const char *needs[4]; /* required keys of positions.scaling, NULL at end */
} scalings[] = {
    [ScalingNone]     = { unscaled, one,             { NULL } },
    [ScalingDynamic]  = { dynamic,  one,             { "factor" } },
    [ScalingLlama3]   = { llama3,   one,             { "factor",
                                                       "low_freq_factor",
                                                       "high_freq_factor" } },
    [ScalingYarn]     = { yarn,     yarn_factor,     { "factor" } },
    [ScalingLongrope] = { longrope, longrope_factor, { "short_factor",
                                                       "long_factor" } },
};
/* clang-format on */

double spec_rotary(const Spec *s, int64_t columns, int64_t max_len,
                   double *rate)
{
    const int64_t dims = s->pos_dims > 0 ? s->pos_dims : columns;
    const SpecScaling *is = &s->scaling;
    const Stretch x = { .is = is,
                        .base = s->pos_base,
                        .dims = (double)dims,
                        .original = (double)is->original_max_len,
                        .longer = max_len > is->original_max_len,
                        .max_len = (double)max_len };

    for (int64_t i = 0; i < columns / 2; i++)
        rate[i] = scalings[is->type].rate(&x, i) * is->step;
    return is->attention_factor > 0 ? is->attention_factor
                                    : scalings[is->type].factor(is);
}

double spec_query_growth(const Spec *s, int64_t *step)
{
    *step = s->scaling.original_max_len;
    return s->scaling.query_log;
}

/* ---- checks ---- */
#define SCALING "positions.scaling"

/* Returns true if the key has a value; otherwise reports it as missing. */
static bool is_there(const Spec *s, const FieldState *state, const char *key)
{
    Arena *a = arena_new();
    const int row = field_row(arena_printf(a, SCALING ".%s", key));

    if (state[row] == StateUnset) {
        error_at(spec_pos(s, SCALING ".type"), "%s is missing",
                 fields[row].key);
        note_at((Pos){ 0 }, "it must be %s. %s", field_wants(a, &fields[row]),
                fields[row].doc);
    }
    arena_free(a);
    return state[row] == StateSet;
}

static bool has_what_it_needs(const Spec *s, const FieldState *state)
{
    const PosScaling type = s->scaling.type;
    bool right = is_there(s, state, "original_max_len");

    for (int i = 0; scalings[type].needs[i]; i++)
        right &= is_there(s, state, scalings[type].needs[i]);
    if (type == ScalingLongrope
        && is(state, SCALING ".attention_factor", StateUnset))
        right &= is_there(s, state, "factor");
    return right;
}

static void check_count(const Spec *s, const char *key, const SpecReals *list)
{
    for (Side side = SideEncoder; side <= SideDecoder; side++) {
        const int64_t pairs = spec_rotary_columns(s, side) / 2;
        if (!has_layers(s, side) || list->n == pairs)
            continue;
        error_at(spec_pos(s, key),
                 "%s has %lld numbers; it must have %lld, one for each pair "
                 "of rotated columns",
                 key, (long long)list->n, (long long)pairs);
        return;
    }
}

static bool turns_two(const Spec *s)
{
    for (Side side = SideEncoder; side <= SideDecoder; side++)
        if (has_layers(s, side) && spec_rotary_columns(s, side) < 3)
            return true;
    return false;
}

void check_scaling(Spec *s, const FieldState *state)
{
    const SpecScaling *is = &s->scaling;

    if (s->positions != PosRotary || is->type == ScalingNone
        || !has_what_it_needs(s, state) || s->mix != MixAttention)
        return;
    if (is->type == ScalingDynamic && turns_two(s))
        error_at(spec_pos(s, SCALING ".type"),
                 "dynamic scaling needs positions.dims above 2, found 2");
    if (is->type == ScalingLlama3 && !(is->high_freq > is->low_freq))
        error_at(spec_pos(s, SCALING ".high_freq_factor"),
                 SCALING ".high_freq_factor (%g) must be more than "
                         "low_freq_factor (%g)",
                 is->high_freq, is->low_freq);
    if (is->type == ScalingYarn && !(s->pos_base > 1))
        error_at(spec_pos(s, "positions.base"),
                 "yarn scaling needs positions.base above 1");
    if (is->type != ScalingLongrope)
        return;
    check_count(s, SCALING ".short_factor", &is->short_factor);
    check_count(s, SCALING ".long_factor", &is->long_factor);
}
