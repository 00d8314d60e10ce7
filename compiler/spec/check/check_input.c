/* check_input.c: checks the input of an encoder: tokens, rows of numbers,
 * frames or an image. */
#include <math.h>

#include "spec/fields/fields.h"

static const Pos nowhere;

static void check_input(Spec *s, const FieldState *state)
{
    if (is(state, "input.type", StateOff))
        return;
    if (s->input == InputTokens && s->input_width > 0) {
        error_at(spec_pos(s, "input.width"),
                 "input.width applies to input: real only");
        note_at(nowhere, "write input: {type: real, width: %lld}",
                (long long)s->input_width);
    }
    if (s->input == InputTokens && s->input_class_token) {
        error_at(spec_pos(s, "input.class_token"),
                 "input.class_token applies to input: real only");
        note_at(nowhere, "for tokens, the class token is one of the ids");
    }
    if (s->input_distillation_token && !s->input_class_token) {
        error_at(spec_pos(s, "input.distillation_token"),
                 "input.distillation_token needs a class token");
        note_at(nowhere, "write input.class_token: true too");
    }
    if (s->input == InputTokens)
        return;
    if (spec_input_learned(s) > s->side[SideEncoder].max_len)
        error_at(spec_pos(s, "max_len.source"),
                 "max_len is %lld, but there are %d learned rows",
                 (long long)s->side[SideEncoder].max_len,
                 spec_input_learned(s));
    if (s->input_width == 0) {
        error_at(spec_pos(s, "input.width"), "input.width is missing");
        note_at(nowhere, "it must be the number of columns of an input row");
    }
    if (s->embed_types > 0)
        error_at(spec_pos(s, "embedding.types"),
                 "embedding.types applies to input: tokens only");
}

/* Returns true if all numbers are integers; otherwise reports an error. */
static bool are_counts(const Spec *s, const char *key, const SpecReals *x)
{
    for (int64_t i = 0; i < x->n; i++) {
        const double n = x->at[i];
        if (n >= floor(n) && n <= floor(n))
            continue;
        error_at(spec_pos(s, key), "%s must be integers, found %g", key, n);
        return false;
    }
    return true;
}

/* because each convolution adds several steps */
enum { MostConvolutions = 64 };

/* Checks the convolutions in front of an encoder. */
static void check_front(Spec *s, const FieldState *state)
{
    const int64_t frames = spec_input_frames(s);

    if (is(state, "input.type", StateOff)
        || !are_counts(s, "input.kernels", &s->input_kernels)
        || !are_counts(s, "input.strides", &s->input_strides))
        return;
    if (s->input == InputTokens && s->input_kernels.n > 0) {
        error_at(spec_pos(s, "input.kernels"),
                 "input.kernels applies to input: real only");
        note_at(nowhere, "write input: {type: real, width: .., kernels: ..}");
    } else if (s->input_kernels.n > MostConvolutions) {
        error_at(spec_pos(s, "input.kernels"),
                 "input.kernels has %lld convolutions; at most %d are "
                 "allowed",
                 (long long)s->input_kernels.n, MostConvolutions);
    } else if (s->input_strides.n > 0
               && s->input_strides.n != s->input_kernels.n) {
        error_at(spec_pos(s, "input.strides"),
                 "there are %lld strides for %lld convolutions",
                 (long long)s->input_strides.n, (long long)s->input_kernels.n);
        note_at(spec_pos(s, "input.kernels"), "each kernel needs one stride");
    } else if (frames > 65536 || s->input_width % frames) {
        error_at(spec_pos(s, "input.width"),
                 "a row of %lld numbers cannot be split into %lld frames",
                 (long long)s->input_width, (long long)frames);
        note_at(spec_pos(s, "input.strides"),
                "the number of frames is the product of the strides");
    }
}

/* Returns true if the list consists of `n` integers; otherwise reports an error
 * that suggests `form`. */
static bool is_list(const Spec *s, const char *key, const SpecReals *x,
                    int64_t n, const char *form)
{
    if (x->n == n)
        return are_counts(s, key, x);
    if (x->n > 0)
        error_at(spec_pos(s, key), "%s has %lld numbers, not %lld", key,
                 (long long)x->n, (long long)n);
    else
        error_at(spec_pos(s, key), "%s is missing", key);
    note_at(nowhere, "write %s: %s", key, form);
    return false;
}

/* Checks that patches divide the image, are as wide as a row, and fit into
 * max_len.source. */
static void check_patches(const Spec *s)
{
    const double *image = s->input_image.at, *patch = s->input_patch.at;
    const double down = image[1] / patch[0], across = image[2] / patch[1];
    const double width = image[0] * patch[0] * patch[1];
    const double rows = down * across + spec_input_learned(s);
    const int64_t most = s->side[SideEncoder].max_len;

    if (down > floor(down) || across > floor(across)) {
        error_at(spec_pos(s, "input.patch"),
                 "patches of %g x %g do not divide an image of %g x %g",
                 patch[0], patch[1], image[1], image[2]);
        note_at(spec_pos(s, "input.image"), "the image is here");
    } else if (s->input_width > 0 && fabs(width - (double)s->input_width) > 0) {
        error_at(spec_pos(s, "input.width"),
                 "input.width is %lld, but a patch has %g x %g x %g = %g "
                 "numbers",
                 (long long)s->input_width, image[0], patch[0], patch[1],
                 width);
        note_at(spec_pos(s, "input.patch"), "the patch is here");
    } else if (rows > (double)most) {
        error_at(spec_pos(s, "max_len.source"),
                 "an image has %g rows%s, but max_len is %lld", rows,
                 s->input_class_token ? " including the learned ones" : "",
                 (long long)most);
        note_at(spec_pos(s, "input.image"), "the image is here");
    }
}

/* Checks an image, each of whose patches becomes a row. */
static void check_image(Spec *s, const FieldState *state)
{
    if (is(state, "input.type", StateOff)
        || s->input_image.n + s->input_patch.n == 0)
        return;
    if (s->input == InputTokens) {
        error_at(spec_pos(s,
                          s->input_image.n > 0 ? "input.image" : "input.patch"),
                 "an image needs input: real");
        note_at(nowhere, "write input: {type: real, width: .., image: ..}");
    } else if (s->input_kernels.n > 0) {
        error_at(spec_pos(s, "input.kernels"),
                 "input.kernels cannot be combined with an image");
    } else if (is_list(s, "input.image", &s->input_image, 3,
                       "[channels, height, width]")
               && is_list(s, "input.patch", &s->input_patch, 2,
                          "[height, width]")) {
        check_patches(s);
    }
}

/* clang-format off */
const Check input_checks[] = {
    { check_input,     { "input.type", "input.width", "input.class_token",
                         "input.distillation_token",
                         "embedding.types", "max_len.source" } },
    { check_front,     { "input.type", "input.width", "input.kernels",
                         "input.strides" } },
    { check_image,     { "input.type", "input.width", "input.kernels",
                         "input.image", "input.patch", "input.class_token",
                         "input.distillation_token",
                         "max_len.source" } },
    { NULL, { NULL } },
};
/* clang-format on */
