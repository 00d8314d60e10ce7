/* layers_test.c: tests patterns of layers: the layers that they describe, and
 * errors with their position. */
#define _POSIX_C_SOURCE 200809L
#include "support/load_spec.h"

static const char pattern[] = "tests/spec/layers.yaml";
static const char good[] = "tests/spec/good.yaml";

static const SpecSide *side_of(const Spec *s, int layer)
{
    return &spec_layer(s, SideDecoder, layer)->side[SideDecoder];
}

static void rows_go_round(void **state)
{
    static const int64_t window[] = { 4, 4, 0, 4, 4 };
    static const int64_t d_ff[] = { 64, 48, 64, 64, 48 };
    Arena *a = arena_new();
    const Spec *s = load_good(a, pattern, NULL);

    (void)state;
    for (int i = 0; i < 5; i++) {
        const Spec *layer = spec_layer(s, SideDecoder, i);
        assert_int_equal(side_of(s, i)->mask.window, window[i]);
        assert_true(side_of(s, i)->mask.causal);
        assert_int_equal(side_of(s, i)->d_ff, d_ff[i]);
        assert_int_equal(layer->positions, i == 2 ? PosNone : PosRotary);
        assert_int_equal(layer->activation, i == 2 ? ActSilu : ActRelu);
        assert_true(layer->pos_base < (i == 2 ? 1e9 : 10001));
    }
    assert_int_equal(s->side[SideDecoder].mask.window, 0);
    arena_free(a);
}

static void repeats(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, pattern,
                              "layers=[{d_ff: 8, repeat: 3}, {}, {d_ff: 16}]");

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(side_of(s, i)->d_ff, i < 3 ? 8 : i == 3 ? 64 : 16);
    assert_string_equal(s->layers, "decoder: 3 x {d_ff.decoder: 8}, 1 x {}, "
                                   "1 x {d_ff.decoder: 16}");
    arena_free(a);
}

/* Tests that one row applies to all layers, that --set changes it in all, and
 * that sides have their own. */
static void other_forms(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, good, "layers={d_ff: 8}");

    (void)state;
    assert_int_equal(spec_layer(s, SideEncoder, 0)->side[0].d_ff, 8);
    assert_int_equal(spec_layer(s, SideDecoder, 0)->side[1].d_ff, 8);
    s = load_good(a, good, "layers={encoder: {d_ff: 8}}");
    assert_int_equal(spec_layer(s, SideEncoder, 0)->side[0].d_ff, 8);
    assert_ptr_equal(spec_layer(s, SideDecoder, 0), s);
    s = load_good(a, good, "layers={d_ff: 8},layers.decoder.d_ff=9");
    assert_int_equal(spec_layer(s, SideEncoder, 0)->side[0].d_ff, 8);
    assert_int_equal(spec_layer(s, SideDecoder, 0)->side[1].d_ff, 9);
    s = load_good(a, good, "layers.decoder={d_ff: 7}");
    assert_ptr_equal(spec_layer(s, SideEncoder, 0), s);
    assert_int_equal(spec_layer(s, SideDecoder, 0)->side[1].d_ff, 7);
    s = load_good(a, good, "layers.encoder.d_ff=8,layers.d_ff=9");
    assert_int_equal(spec_layer(s, SideEncoder, 0)->side[0].d_ff, 9);
    assert_ptr_equal(spec_layer(s, SideDecoder, 0), s);
    s = load_good(a, pattern, "layers.d_ff=12");
    for (int i = 0; i < 5; i++)
        assert_int_equal(side_of(s, i)->d_ff, 12);
    assert_int_equal(side_of(s, 0)->mask.window, 4);
    s = load_good(a, pattern, "layers=");
    assert_null(s->layers);
    arena_free(a);
}

/* Tests properties of all layers, and of any layer. */
static void of_all_layers(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, pattern, NULL);

    (void)state;
    assert_int_equal(spec_of_layers(s, SideDecoder, "d_ff"), 0);
    assert_int_equal(spec_of_layers(s, SideDecoder, "h"),
                     s->side[SideDecoder].h);
    assert_false(spec_has_prefix(s, SideDecoder));
    s = load_good(a, pattern, "layers=[{}, {masking: [causal, prefix]}]");
    assert_true(spec_has_prefix(s, SideDecoder));
    s = load_good(a, pattern, "layers={d_ff: 7}");
    assert_int_equal(spec_of_layers(s, SideDecoder, "d_ff"), 7);
    arena_free(a);
}

/* Tests that without positions.dims all columns of a layer's own heads rotate.
 */
static void rotary_columns_are_of_the_layer(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, good,
                              "positions=rotary,d_k={encoder: 6, decoder: 4}");

    (void)state;
    assert_int_equal(spec_rotary_columns(s, SideEncoder), 6);
    assert_int_equal(spec_rotary_columns(s, SideDecoder), 4);
    s = load_good(a, good, "positions=rotary,layers.encoder={d_k: 6}");
    assert_int_equal(spec_rotary_columns(spec_layer(s, SideEncoder, 0),
                                         SideEncoder),
                     6);
    assert_int_equal(spec_rotary_columns(spec_layer(s, SideDecoder, 0),
                                         SideDecoder),
                     8);
    s = load_good(a, good, "positions=rotary,layers.encoder={d_k: 12}");
    assert_int_equal(spec_rotary_columns(spec_layer(s, SideEncoder, 0),
                                         SideEncoder),
                     12);
    arena_free(a);
}

/* Tests that a layer without attention has no rotated columns, so a scaling of
 * rotary positions is allowed. */
static void scaling_is_of_attention(void **state)
{
    static const char *const scaling[] = {
        "dynamic",
        "longrope, short_factor: [1, 1, 1, 1], long_factor: [1, 1, 1, 2]",
    };
    static const char *const mix[] = { "recurrent", "convolution" };

    (void)state;
    for (int i = 0; i < 4; i++) {
        Arena *a = arena_new();
        const Spec *s = load_good(
            a, pattern,
            arena_printf(a,
                         "positions.scaling={factor: 2, original_max_len: 4, "
                         "type: %s},layers=[{mix: %s}, {}]",
                         scaling[i / 2], mix[i % 2]));
        assert_int_equal(spec_layer(s, SideDecoder, 1)->scaling.type,
                         i / 2 ? ScalingLongrope : ScalingDynamic);
        arena_free(a);
    }
}

/* Tests that a key that sets only fields of layers is allowed in a row. */
static void keys_that_set_others(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, good, "layers={norm: rms, bias: false}");
    const Spec *layer = spec_layer(s, SideDecoder, 0);

    (void)state;
    assert_int_equal(layer->norm_type, NormRms);
    assert_false(layer->bias_q || layer->bias_ffn || layer->bias_mix);
    assert_true(s->bias_q && s->bias_ffn && s->bias_mix);
    arena_free(a);
}

/* Tests that rules for one stack do not apply to rows of the other. */
static void rows_are_of_their_stack(void **state)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, good,
                              "layers.encoder={mix: {type: recurrent, "
                              "direction: both}},layers.decoder={mix: {type: "
                              "convolution, kernel: 4}}");

    (void)state;
    assert_int_equal(spec_layer(s, SideEncoder, 0)->mix_direction, ScanBoth);
    assert_int_equal(spec_layer(s, SideDecoder, 0)->mix_kernel, 4);
    s = load_good(a, good,
                  "mix={type: convolution, kernel: 4},layers.encoder={mix: "
                  "{kernel: 5}}");
    assert_int_equal(spec_layer(s, SideEncoder, 0)->mix_kernel, 5);
    s = load_good(
        a, good,
        "N=2,attention.cross=false,layers.decoder=[{attention: {cross: "
        "true}}, {}]");
    const Graph *g = build_graph(a, s);
    assert_true(graph_find(g, "decoder.0.cross_attn.heads") >= 0);
    assert_true(graph_find(g, "decoder.1.cross_attn.heads") < 0);
    arena_free(a);
}

/* Tests that rows equal to the spec are not a pattern. */
static void equal_rows_are_no_pattern(void **state)
{
    Arena *a = arena_new();
    const Spec *all = load_good(a, pattern, "layers=");
    const Spec *same = load_good(a, pattern,
                                 "layers=[{}, {d_ff: 64, masking: causal}]");

    (void)state;
    assert_null(same->layers);
    assert_null(same->layer[SideDecoder]);
    assert_true(same->hash == all->hash);
    assert_true(load_good(a, pattern, NULL)->hash != all->hash);
    assert_true(load_good(a, pattern, "layers=[{d_ff: 8}, {}]")->hash
                != load_good(a, pattern, "layers=[{}, {d_ff: 8}]")->hash);
    arena_free(a);
}

/* Tests that layers with the same rotation share a table. */
static void tables_are_shared(void **state)
{
    Arena *a = arena_new();
    const Graph *g = build_graph(a, load_good(a, pattern, NULL));
    int tables = 0;

    (void)state;
    for (int i = 0; i < g->nodes.n; i++)
        tables += g->nodes.at[i].op == OpRotaryTable;
    assert_int_equal(tables, 1);
    g = build_graph(a, load_good(a, pattern,
                                 "layers=[{}, {positions: {base: 500}}]"));
    assert_true(graph_find(g, "decoder.rotary") >= 0);
    assert_true(graph_find(g, "decoder.rotary_2") >= 0);
    arena_free(a);
}

static void refuse(const char *path, const char *set, const char *message)
{
    Arena *a = arena_new();
    char *text;

    if (load(a, path, set, &text))
        fail_msg("%s: no error", set);
    if (!strstr(text, message))
        fail_msg("%s: no '%s' in: %s", set, message, text);
    arena_free(a);
}

static void errors(void **state)
{
    (void)state;
    refuse(pattern, "layers=6",
           "--set:1:8: error: layers must be a list of rows, or one row");
    refuse(pattern, "layers=6", "did you mean N: 6?");
    refuse(pattern, "layers=[]", "layers must be a list of rows");
    refuse(pattern, "layers=[causal]", "a row of layers is a map of fields");
    refuse(pattern, "layers=[{d_model: 8}]",
           "--set:1:19: error: d_model is the same for all layers");
    refuse(pattern, "layers=[{norm: {final: false}}]",
           "norm.final is the same for all layers");
    refuse(pattern, "layers=[{widow: 4}]", "widow");
    refuse(pattern, "layers=[{d_ff: 0}]", "d_ff");
    refuse(pattern, "layers=[{masking: none}]",
           "a decoder's masking must be causal");
    refuse(pattern, "layers=[{repeat: 2}, {d_ff: 8}]",
           "the rows describe 3 layers, but N is 5");
    refuse(pattern, "layers=[{repeat: 6}]",
           "repeat must be an integer from 1 "
           "to N, which is 5");
    refuse(pattern, "layers=[{repeat: two}]", "repeat must be an integer");
    refuse(pattern, "layers=[{}, {}, {}, {}, {}, {}]",
           "the rows describe 6 layers, but N is 5");
    refuse(pattern, "layers=[{positions: learned}]",
           "positions of this type are added to the embeddings");
    refuse(pattern, "layers={encoder: {d_ff: 8}}",
           "this kind of model has no encoder");
    refuse(pattern, "layers.dtype=int8",
           "--set:1:14: error: dtype is the same for all layers");
    refuse(good, "layers={encoder: {d_ff: 8}, d_ff: 9}",
           "--set:1:29: error: 'd_ff' cannot be next to encoder or decoder");
    refuse(good, "layers={encoder: {mix: {type: convolution, kernel: 4}}}",
           "--set:1:52: error: mix.kernel (4) must be odd in an encoder");
    refuse(good, "mix={type: convolution, kernel: 4},layers.encoder.d_ff=8",
           "mix.kernel (4) must be odd in an encoder");
    refuse(good, "layers={decoder: {mix: {type: recurrent, direction: both}}}",
           "--set:1:53: error: a decoder scans forward");
    refuse(good, "layers={decoder: {attention: {cross: false}}}",
           "--set:1:38: error: without cross-attention the decoder does not");
    refuse(good,
           "mix=recurrent,layers={encoder: {mix: {width: 5}}, decoder: {mix: "
           "{start: source}}}",
           "layers 0 of the encoder and decoder have different");
    refuse(pattern, "layers=[{mix: recurrent, masking: [causal, {window: 4}]}]",
           "error");
}

/* Tests a name for weights that only some layers have. */
static void names(void **state)
{
    (void)state;
    refuse(good,
           "kind=encoder,layers={mix: recurrent},names.encoder.0.self_attn.q=x",
           "encoder.0.self_attn.q");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_round),
        cmocka_unit_test(repeats),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(of_all_layers),
        cmocka_unit_test(keys_that_set_others),
        cmocka_unit_test(rotary_columns_are_of_the_layer),
        cmocka_unit_test(scaling_is_of_attention),
        cmocka_unit_test(rows_are_of_their_stack),
        cmocka_unit_test(equal_rows_are_no_pattern),
        cmocka_unit_test(tables_are_shared),
        cmocka_unit_test(errors),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
