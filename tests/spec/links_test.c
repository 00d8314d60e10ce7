/* links_test.c: tests how a change of a field affects fields that depend on it,
 * and fields that --set removes. */
#define _GNU_SOURCE
#include <glob.h>

#include "support/load_spec.h"
#include "support/scratch.h"

static const char base[] = "models/transformer-base.yaml";
static Arena *a;
static char *text; /* messages of the last load */

static int set_up(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static Spec *load_quietly(const char *path, const char *set)
{
    Spec *s = load(a, path, set, &text);
    if (!s || *text)
        fail_msg("%s, --set %s: %s", path, set ? set : "", text);
    return s;
}

/* Writes a spec with this text, next to those with other names. */
static const char *spec_of(const char *name, const char *yaml)
{
    return arena_strdup(a, scratch_file(name, yaml, strlen(yaml)));
}

/* ---- left out ---- */
static void follows_again(void **state)
{
    (void)state;
    const Spec *s = load_quietly(base, "h=4,d_k=,d_v=");
    const Spec *row = load_quietly("models/table3/a-h4.yaml", NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s->side[i].d_k, 128);
        assert_int_equal(s->side[i].d_v, row->side[i].d_v);
    }
    s = load_quietly(base, "h.encoder=4,d_k.encoder=,d_v.encoder=");
    assert_int_equal(s->side[SideEncoder].d_k, 128);
    assert_int_equal(s->side[SideDecoder].d_k, 64);
    assert_int_equal(load_quietly(base, "d_k=,d_k=32")->side[0].d_k, 32);
    assert_int_equal(load_quietly(base, "d_k=32,d_k=")->side[0].d_k, 64);
}

static void maps_and_names(void **state)
{
    (void)state;
    const char *path =
        spec_of("names.yaml",
                "attnc: 1\nname: x\n"
                "kind: encoder\nd_model: 8\nh: 2\nd_ff: 8\nN: 2\nmax_len: 9\n"
                "vocab: {size: 9}\npositions: {type: learned, first: 3}\n"
                "names: {encoder: a, source: b}\n");
    assert_int_equal(load_quietly(path, NULL)->names.n, 2);
    assert_int_equal(load_quietly(path, "names=")->names.n, 0);
    Spec *s = load_quietly(path, "names.encoder=");
    assert_int_equal(s->names.n, 1);
    assert_string_equal(s->names.at[0].ours, "source");
    s = load_quietly(path, "positions=");
    assert_int_equal(s->positions, PosSinusoidal);
    assert_int_equal(s->pos_first, 0);
    s = load_quietly(path, "positions.first=");
    assert_int_equal(s->positions, PosLearned);
    assert_int_equal(s->pos_first, 0);
}

/* Tests that a detail of two forms stays with either of them. */
static void two_kinds_of_positions(void **state)
{
    static const struct {
        const char *set;
        BiasKind scores;
        int64_t buckets;
    } rows[] = {
        { NULL, BiasRelative, 8 },
        { "positions.type=none", BiasRelative, 8 },
        { "positions.type=relative", BiasRelative, 8 },
        { "positions.type=alibi", BiasAlibi, 32 },
        { "positions.scores=none", BiasNone, 32 },
        { "positions.scores=", BiasNone, 32 },
        { "positions=relative", BiasRelative, 32 },
    };
    (void)state;
    const char *path = spec_of("two.yaml",
                               "attnc: 1\nname: x\n"
                               "kind: encoder\nd_model: 8\nh: 2\nd_ff: 8\n"
                               "N: 2\nmax_len: 9\nvocab: {size: 9}\n"
                               "positions: {type: learned, scores: relative, "
                               "buckets: 8}\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Spec *s = load_quietly(path, rows[i].set);
        assert_int_equal(spec_score_bias(s), rows[i].scores);
        assert_int_equal(s->pos_buckets, rows[i].buckets);
    }
}

static void refuses_to_leave_out(void **state)
{
    (void)state;
    static const struct {
        const char *set, *says;
    } rows[] = {
        { "d_model=", "--set:1:1: error: d_model is missing" },
        { "h=", "--set:1:1: error: h is missing" },
        { "N.encoder=", "--set:1:1: error: N.encoder is missing" },
        { "vocab.size=", "--set:1:1: error: vocab.source.size is missing" },
        { "dk=", "--set:1:1: error: unknown key 'dk'" },
        { "d_k.x=", "--set:1:1: error: unknown key 'd_k.x'" },
        { "extends=", "extends can only be written in a file" },
        { "=", "expected key.path=value" },
        { "d_k=''", "d_k must be an integer from 1 to 65536" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_null(load(a, base, rows[i].set, &text));
        if (!strstr(text, rows[i].says))
            fail_msg("--set %s: %s", rows[i].set, text);
    }
}

/* ---- stays ---- */
static void warns_of_what_stays(void **state)
{
    (void)state;
    static const struct {
        const char *set, *says;
    } rows[] = {
        { "h=4", "warning: --set:1:3: h changes, but fields that" },
        { "h=4,d_k=", "d_v (models/transformer-base.yaml:11); --set d_v= " },
        { "d_model=256", "--set:1:9: d_model changes" },
        { "h.decoder=4", ":11: h.decoder changes" },
        { "bias.q=false", NULL },
        { "h=8", NULL },
        { "d_k=32", NULL },
        { "h=4,d_k=64,d_v=64", NULL },
        { "h=4,d_model=256", NULL },
        { "search.penalty=power", "search.alpha (models/" },
        { "search.penalty=none", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_non_null(load(a, base, rows[i].set, &text));
        if (rows[i].says ? !strstr(text, rows[i].says) : *text != '\0')
            fail_msg("--set %s: %s", rows[i].set, text);
    }
}

/* Tests that a file that extends another causes the same warning, also for
 * fields that follow. */
static void warns_of_inherited(void **state)
{
    (void)state;
    spec_of("wide.yaml",
            "attnc: 1\nname: x\nkind: encoder\nd_model: 64\n"
            "h: 4\nh_kv: 2\nd_ff: 8\nN: 1\nmax_len: 9\nvocab: {size: 9}\n"
            "positions: {type: rotary, dims: 16}\n");
    const char *path = spec_of("kid.yaml", "attnc: 1\nextends: wide.yaml\n"
                                           "name: kid\nh: 2\n");
    assert_non_null(load(a, path, NULL, &text));
    assert_non_null(strstr(text, "kid.yaml:4:4: h changes"));
    assert_non_null(strstr(text, "wide.yaml:11)"));
    assert_non_null(strstr(text, "--set positions.dims= lets"));
    load_quietly(path, "positions.dims=");
    load_quietly(path, "positions=none");
}

static void models_are_quiet(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("models/*.yaml", 0, NULL, &found), 0);
    /* files of import/ are rules */
    const char *more = "models/[!i]*/*.yaml";
    assert_int_equal(glob(more, GLOB_APPEND, NULL, &found), 0);
    assert_true(found.gl_pathc > 20);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!strstr(found.gl_pathv[i], "/import/")) /* rules, no specs */
            load_quietly(found.gl_pathv[i], NULL);
    globfree(&found);
}

/* ---- forms given up ---- */
static const char *value_of(const Field *f)
{
    if (!strcmp(f->key, "positions.scaling.type"))
        return "none"; /* others need more: scalings_go() */
    switch (f->type) {
    case FieldInt:   return "64";
    case FieldReal:  return "2.0";
    case FieldBool:  return "true";
    case FieldReals: return "[1]";
    case FieldIds:   return "[3]";
    default:         return f->words[1];
    }
}

static const char *other_word(const FieldLink *link)
{
    const char *const *words = fields[field_row(link->of)].words;
    while (find_word(link->when, *words) >= 0)
        words++;
    return *words;
}

/* Returns "key: value" as nested maps. */
static const char *lines(const char *of, const char *word, const char *key,
                         const char *value)
{
    const int group = (int)strcspn(of, ".");
    const char *more = !strcmp(word, "real")     ? ", width: 4"
                     : !strcmp(word, "classify") ? ", classes: 4"
                                                 : "";
    const bool here = key && !strncmp(key, of, (size_t)group + 1);
    if (here && strstr(more, key + group + 1))
        more = "";
    return arena_printf(a, "%.*s: {type: %s%s%s%s%s%s}\n%s%s%s", group, of,
                        word, more, here ? ", " : "",
                        here ? key + group + 1 : "", here ? ": " : "",
                        here ? value : "", key && !here ? key : "",
                        key && !here ? value : "", key && !here ? "\n" : "");
}

/* Tests that a scaling is removed with its keys, also if the positions change.
 */
static void scalings_go(void **state)
{
    static const char *const scalings[] = {
        "type: dynamic, factor: 2, original_max_len: 8",
        "type: llama3, factor: 2, original_max_len: 8, low_freq_factor: 1, "
        "high_freq_factor: 4",
        "type: yarn, factor: 2, original_max_len: 8, beta_fast: 9, "
        "beta_slow: 2, mscale: 1, mscale_all_dim: 2, truncate: false, "
        "attention_factor: 2",
        "type: longrope, factor: 2, original_max_len: 8, short_factor: [1, 2], "
        "long_factor: [3, 4]",
    };
    static const char *const sets[] = {
        "positions.scaling.type=none", "positions.scaling=0.5",
        "positions.scaling=",          "positions.type=learned",
        "positions=learned",           "positions.scaling.type=",
    };

    (void)state;
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++) {
        const char *path = spec_of(
            "scaled.yaml",
            arena_printf(a,
                         "attnc: 1\nname: x\nkind: encoder\nd_model: 8\n"
                         "h: 2\nd_ff: 8\nN: 1\nmax_len: 9\n"
                         "vocab: {size: 9}\npositions:\n  type: rotary\n"
                         "  scaling: {%s}\n",
                         scalings[i]));
        assert_int_equal(load_quietly(path, NULL)->scaling.type, i + 1);
        for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
            assert_int_equal(load_quietly(path, sets[k])->scaling.type,
                             ScalingNone);
    }
}

/* Forms that need more than one word, with all their keys, and an alternative.
 */
static const struct {
    const char *of, *form, *other;
    bool headless; /* h is set with the alternative */
} forms[] = {
    { "mix.type",
      "mix: {type: convolution, kernel: 3, dilation: 2, depthwise: true, "
      "pointwise: true, gated: true, inner: 8}",
      "attention", true },
    { "ffn.type",
      "h: 2\nffn: {type: experts, experts: 4, chosen: 2, softmax: after, "
      "normalize: false, factor: 2, router_bias: true, correction: true, "
      "groups: 2, groups_chosen: 1, group_score: pair, shared: 8, "
      "shared_gate: true}",
      "dense", false },
    { "input.type",
      "h: 2\ninput: {type: real, width: 8, class_token: true, "
      "distillation_token: true, kernels: [3], "
      "strides: [2], activation: relu}",
      "tokens", false },
    { "input.type",
      "h: 2\ninput: {type: real, width: 12, class_token: true, "
      "image: [3, 4, 4], patch: [2, 2]}",
      "tokens", false },
};
enum { Forms = sizeof forms / sizeof *forms };

/* Returns "patch" of input.patch, the key within a form. */
static bool is_in_form(const FieldLink *link)
{
    bool found = false;
    for (int i = 0; i < Forms; i++) {
        const char *key = link->key + strcspn(forms[i].of, ".") + 1;
        found |= !strcmp(link->of, forms[i].of)
              && !strncmp(link->key, link->of, strcspn(link->of, ".") + 1)
              && strstr(forms[i].form, arena_printf(a, " %s: ", key));
    }
    return found;
}

static void forms_go(void **state)
{
    (void)state;
    for (int i = 0; i < Forms; i++) {
        const char *path = spec_of(
            "form.yaml",
            arena_printf(a,
                         "attnc: 1\nname: x\nkind: encoder\nd_model: 16\n"
                         "d_ff: 8\nN: 1\nmax_len: 9\nvocab: {size: 9}\n%s\n",
                         forms[i].form));
        const char *more = forms[i].headless ? "h: 2\n" : "";
        const char *new = spec_of(
            "new.yaml", arena_printf(a,
                                     "attnc: 1\nextends: form.yaml\nname: new\n"
                                     "%.*s: {type: %s}\n%s",
                                     (int)strcspn(forms[i].of, "."),
                                     forms[i].of, forms[i].other, more));
        load_quietly(path, NULL);
        load_quietly(new, NULL);
        load_quietly(path, arena_printf(a, "%s=%s%s", forms[i].of,
                                        forms[i].other, *more ? ",h=2" : ""));
    }
}

/* Tests that all keys of a form are removed with it. */
static void details_go(void **state)
{
    (void)state;
    int count = 0;
    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        if (!link->of || !strstr(link->of, ".type")
            || !strcmp(link->of, "positions.scaling.type")
            || !strncmp(link->key, "d_ff.", 5) /* base has one value for both */
            || !strncmp(link->key, "h.", 2) || !strcmp(link->key, "mix.start")
            || is_in_form(link))
            continue;
        const Field *f = &fields[field_row(link->key)];
        const char *key = strcmp(link->key, "embedding.types")
                            ? link->key
                            : "embedding: {types: ";
        const char *value = key == link->key ? value_of(f) : "64}";
        const bool mix = !strcmp(link->of, "mix.type");
        const char *old = spec_of(
            "old.yaml",
            arena_printf(
                a,
                "attnc: 1\n"
                "name: x\nkind: encoder\nd_model: 128\n%sd_ff: 8\nN: 1\n"
                "max_len: 99\nvocab: {size: 99}\n%s",
                mix ? "" : "h: 2\n",
                lines(link->of, link->when[0], key, value)));
        const char *new = spec_of(
            "new.yaml",
            arena_printf(a,
                         "attnc: 1\n"
                         "extends: old.yaml\nname: new\n%s%s",
                         mix ? "h: 2\n" : "",
                         lines(link->of, other_word(link), NULL, NULL)));
        load_quietly(old, NULL);
        load_quietly(new, NULL);
        count++;
    }
    assert_true(count >= 12);
    load_quietly(base, "ffn=none");
}

/* Tests that they stay if they are written next to the new form, or after it.
 */
static void details_stay(void **state)
{
    (void)state;
    assert_null(load(a, base, "positions={type: alibi, base: 3.0}", &text));
    assert_non_null(strstr(text, "positions.base applies to sinusoidal "
                                 "and rotary positions only"));
    assert_null(load(a, base, "positions.type=alibi,positions.dims=4", &text));
    assert_int_equal(load_quietly(base, "positions.type=rotary")->positions,
                     PosRotary);
    const Spec *s = load_quietly("models/table3/e.yaml", "positions.type=");
    assert_int_equal(s->positions, PosSinusoidal);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        TEST(follows_again),        TEST(maps_and_names),
        TEST(two_kinds_of_positions),
        TEST(refuses_to_leave_out), TEST(warns_of_what_stays),
        TEST(warns_of_inherited),   TEST(models_are_quiet),
        TEST(details_go),           TEST(details_stay),
        TEST(scalings_go),          TEST(forms_go),
    };
    /* clang-format on */
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
