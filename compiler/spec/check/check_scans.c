/* check_scans.c: checks the direction and the initial state of recurrent
 * layers, including those from a pattern. */
#include "spec/fields/fields.h"

static const Pos nowhere;

static void check_ahead(const Spec *s)
{
    for (int64_t i = 0; i < s->side[SideDecoder].N; i++) {
        const Spec *row = spec_layer(s, SideDecoder, i);
        if (row->mix != MixRecurrent || row->mix_direction == ScanForward)
            continue;
        error_at(spec_pos(row, "mix.direction"),
                 "a decoder scans forward: it cannot see what it has not "
                 "written yet");
        note_at(nowhere, "for other directions, use kind: encoder");
        return;
    }
}

static bool starts_with_source(const Spec *layer, Side side)
{
    (void)side;
    return layer->mix == MixRecurrent && layer->mix_start == StartSource;
}

bool spec_sourced(const Spec *s)
{
    return s->kind == KindEncoderDecoder
        && spec_any_layer(s, SideDecoder, starts_with_source);
}

static bool same_cell(const Spec *a, const Spec *b)
{
    return a->mix == MixRecurrent && a->mix_direction == ScanForward
        && a->mix_cell == b->mix_cell && a->mix_width == b->mix_width;
}

/* Checks that each decoder layer that starts with the source's state has an
 * encoder layer with the same kind of state. */
static void check_sources(const Spec *s)
{
    const int64_t n = s->side[SideEncoder].N, m = s->side[SideDecoder].N;

    if (n != m) {
        error_at(spec_pos(s, "mix.start"),
                 "a decoder of %lld layers cannot start with the states of "
                 "%lld encoder layers",
                 (long long)m, (long long)n);
        note_at(spec_pos(s, "N"), "N is here");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const Spec *b = spec_layer(s, SideDecoder, i);
        if (!starts_with_source(b, SideDecoder)
            || same_cell(spec_layer(s, SideEncoder, i), b))
            continue;
        error_at(spec_pos(b, "mix.start"),
                 "layers %lld of the encoder and decoder have different "
                 "kinds of state",
                 (long long)i);
        return;
    }
}

static bool sees_source(const Spec *layer, Side side)
{
    (void)side;
    return layer->attention_cross;
}

/* Checks that a decoder depends on its source, through its initial state or
 * cross-attention. */
static void check_start(const Spec *s)
{
    if (s->kind != KindEncoderDecoder)
        return;
    if (spec_sourced(s)) {
        check_sources(s);
    } else if (!spec_any_layer(s, SideDecoder, sees_source)) {
        error_at(spec_pos(spec_layer(s, SideDecoder, 0), "attention.cross"),
                 "without cross-attention the decoder does not see its "
                 "source");
        note_at(nowhere,
                "write mix: {type: recurrent, start: source} to pass it on");
    }
}

void check_scans(const Spec *s)
{
    check_ahead(s);
    check_start(s);
}
