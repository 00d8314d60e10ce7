/* fields_test.c: tests the table of fields: defaults, options, every limit of
 * every number, and docs/spec*.md, which are printed from it. */
#define _POSIX_C_SOURCE 200809L
#include "support/load_spec.h"

/* ---- values ---- */
static void defaults(void **state)
{
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/good.yaml", NULL);

    (void)state;
    assert_int_equal(s->side[SideEncoder].d_k, 8);
    assert_int_equal(s->side[SideEncoder].d_v, 8);
    assert_int_equal(s->side[SideEncoder].N, 1);
    assert_int_equal(s->side[SideDecoder].max_len, 8);
    assert_true(s->vocab_shared);
    assert_int_equal(s->target.size, 12);
    assert_int_equal(s->token_pad, -1);
    assert_int_equal(s->token_unknown_target, -1);
    assert_true(s->append_end);
    assert_int_equal(s->side[SideEncoder].mask.causal, false);
    assert_int_equal(s->side[SideDecoder].mask.causal, true);
    assert_int_equal(s->positions, PosSinusoidal);
    assert_true(s->pos_base == 10000.0);
    assert_int_equal(s->norm_place, PlacePost);
    assert_true(s->norm_eps == 1.0e-6);
    assert_false(s->norm_final);
    assert_int_equal(s->activation, ActRelu);
    assert_true(s->bias_q && s->bias_k && s->bias_v && s->bias_o);
    assert_true(s->bias_ffn && !s->bias_logits);
    assert_true(s->has_q && s->has_k && s->has_v && s->has_o);
    assert_int_equal(s->embed_scale, EmbedScaleSqrt);
    assert_int_equal(s->embed_tie, 0);
    assert_int_equal(s->search_rule, SearchExact);
    assert_int_equal(s->search_beam, 4);
    assert_true(s->search_alpha == 0.6);
    assert_int_equal(s->max_output, -1);
    assert_int_equal(s->max_output_plus, 50);
    assert_null(s->weights);
    arena_free(a);
}

/* Returns a value as text after an option was set. */
static void expect(const char *set, const char *key, const char *value)
{
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/good.yaml", set);

    assert_string_equal(field_text(a, &fields[field_row(key)], s), value);
    arena_free(a);
}

static void options(void **state)
{
    (void)state;
    expect("h=4", "d_k.encoder", "4");
    expect("h=4,d_k=32", "d_k.decoder", "32");
    expect("h=4,d_k=32", "d_v.decoder", "4");
    expect("N=3", "N.decoder", "3");
    expect("N.decoder=3", "N.encoder", "1");
    expect("N={encoder: 2}", "N.encoder", "2");
    expect("N={encoder: 2},h=1", "h.decoder", "1");
    expect("embedding.tie=[target,logits]", "embedding.tie", "6");
    expect("embedding.tie=[target,logits],dtype=f32", "embedding.tie", "6");
    expect("norm.place=pre", "norm.final", "true");
    expect("norm={place: pre, final: false}", "norm.final", "false");
    expect("positions=learned", "positions.type", "learned");
    expect("bias=false", "bias.ffn", "false");
    expect("bias.logits=true", "bias.logits", "true");
    expect("search.penalty=power", "search.alpha", "1");
    expect("search.max_output=7", "search.max_output.tokens", "7");
    expect("search.max_output=7", "search.max_output.plus", "-1");
    expect("search.max_output={plus: 7}", "search.max_output.plus", "7");
    expect("vocab.tokens.unknown=3", "vocab.tokens.unknown.target", "3");
    expect("vocab.split=characters", "vocab.split.source", "characters");
    expect("weights=\"a, b\"", "weights", "a, b");
    expect("kind=encoder", "N.decoder", "0");
    expect("kind=decoder", "vocab.source.size", "0");
}

static void forms(void **state)
{
    (void)state;
    expect("h={encoder: 4, decoder: 1}", "d_k.decoder", "16");
    expect("h={encoder: 4, decoder: 1}", "h_kv.encoder", "4");
    expect("h_kv=1", "h_kv.decoder", "1");
    expect("activation=swiglu", "activation", "swiglu");
    expect("activation=gelu_tanh", "activation", "gelu_tanh");
    expect("norm.type=rms", "norm.bias", "false");
    expect("norm.type=rms", "norm.type", "rms");
    expect("positions=rotary", "positions.dims", "8");
    expect("positions=rotary,d_k={encoder: 6, decoder: 4}", "positions.dims",
           "0"); /* each side has its own */
    expect("positions={type: relative, buckets: 8}", "positions.buckets", "8");
    expect("embedding.scale=0.5", "embedding.scale", "0.5");
    expect("embedding.scale=none", "embedding.scale", "none");
    expect("attention.scale=1", "attention.scale", "1");
    expect("attention=0.25", "attention.scale", "0.25");
    expect("attention.softcap=50.0", "attention.softcap", "50");
    expect("logits={scale: 0.5, softcap: 30}", "logits.softcap", "30");
    expect("masking.encoder={window: 4}", "masking.encoder", "window 4");
    expect("masking.decoder=[causal,{window: 4, block: 2}]", "masking.decoder",
           "causal window 4 block 2");
    expect("kind=decoder,masking=[causal,prefix]", "masking.decoder",
           "causal prefix");
    expect("kind=decoder,norm.place=pre,parallel=shared", "parallel", "shared");
    expect("kind=encoder,head=pool", "head.pool", "mean");
    expect("kind=encoder,head={type: classify, classes: 3}", "head.pool",
           "class");
    expect("kind=encoder,input={type: real, width: 5}", "vocab.source.size",
           "0");
    expect("kind=encoder,head=logits,embedding.tie=[source,logits]",
           "embedding.tie", "5");
}

static void wrong_option(const char *set, const char *said_of_it)
{
    Arena *a = arena_new();
    char *text;

    assert_null(load(a, "tests/spec/good.yaml", set, &text));
    assert_string_equal(text, said_of_it);
    arena_free(a);
}

static void wrong_options(void **state)
{
    (void)state;
    wrong_option("d_modle=3", "--set:1:1: error: unknown key 'd_modle'\n"
                              "    d_modle=3\n    ^\n"
                              "attnc: note: did you mean 'd_model'?\n");
    wrong_option(
        "h=4,h",
        "--set:1:3: error: h must be an integer from 1 to 1024, found '4,h'\n"
        "    h=4,h\n      ^\n"
        "attnc: note: integers are written as 512: digits only, no leading "
        "zero\n");
    wrong_option("h",
                 "--set:1:1: error: expected key.path=value\n    h\n    ^\n");
    wrong_option("=4",
                 "--set:1:1: error: expected key.path=value\n    =4\n    ^\n");
    wrong_option("h=", "--set:1:1: error: h is missing\n    h=\n    ^\n"
                       "attnc: note: it must be an integer from 1 to 1024. A "
                       "layer has this many attention heads.\n");
    wrong_option("extends=a.yaml",
                 "--set:1:1: error: extends can only be written in a file\n"
                 "    extends=a.yaml\n    ^\n");
    wrong_option(
        "norm={place: before}",
        "--set:1:14: error: norm.place must be one of post, pre, inside, "
        "both, found "
        "'before'\n    norm={place: before}\n                 ^\n"
        "attnc: note: did you mean 'pre'?\n");
}

/* ---- limits ---- */
static bool in_range(const Field *f, uint64_t value)
{
    return (double)value >= f->least && (double)value <= f->most;
}

/* True if the message is about this value's range. */
static bool refused(const Field *f, const char *number)
{
    Arena *a = arena_new();
    char *text, *wants = field_wants(a, f);

    load(a, f->kinds & Model ? "tests/spec/good.yaml" : "models/attention.yaml",
         arena_printf(a, "%s%s=%s", f->kinds == Encoder ? "kind=encoder," : "",
                      f->key, number),
         &text);
    bool found = strstr(text, arena_printf(a, "%s must be %s, found '%s'",
                                           f->key, wants, number));
    arena_free(a);
    return found;
}

static void boundary(const Field *f, uint64_t value)
{
    char number[32];

    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    if (refused(f, number) == in_range(f, value))
        print_error("%s=%s\n", f->key, number);
    assert_true(refused(f, number) != in_range(f, value));
}

static void every_boundary(void **state)
{
    (void)state;
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (f->type != FieldInt)
            continue;
        assert_true(refused(f, "-1"));
        boundary(f, (uint64_t)f->least);
        boundary(f, (uint64_t)f->most);
        boundary(f, (uint64_t)f->most + 1);
        for (int bit = 0; bit < 64; bit += bit < 30 ? 6 : 1) {
            boundary(f, (uint64_t)1 << bit);
            boundary(f, ((uint64_t)1 << bit) - 1);
        }
        assert_true(refused(f, "18446744073709551616"));
        assert_true(refused(f, "99999999999999999999999999999999"));
    }
}

/* ---- docs ---- */
static char *page_text(Arena *a, ReferencePage page)
{
    FILE *out = tmpfile();
    char *text = arena_alloc(a, 1 << 18);

    assert_non_null(out);
    spec_print_page(out, true, page);
    rewind(out);
    assert_true(fread(text, 1, (1 << 18) - 1, out) > 1000);
    fclose(out);
    return text;
}

static void pages_are_printed(void **state)
{
    static const char *const files[] = {
        NULL,
#define REFERENCE(id, name, ...) "docs/" name ".md",
#include "spec/reference_pages.h"
    };

    (void)state;
    for (size_t i = 1; i < sizeof files / sizeof *files; i++) {
        Arena *a = arena_new();
        const char *text = page_text(a, (ReferencePage)i);

        if (getenv("ATTNC_REWRITE")) {
            FILE *out = fopen(files[i], "wb");
            assert_non_null(out);
            fputs(text, out);
            fclose(out);
        }
        assert_string_equal(text, read_text(a, files[i]));
        arena_free(a);
    }
}

/* Each field is a row of one subject. */
static void every_field_has_a_subject(void **state)
{
    Arena *a = arena_new();
    const char *text = page_text(a, ReferenceKeys);

    (void)state;
    for (int i = 0; i < n_fields; i++) {
        const char *row = arena_printf(a, "\n| `%s` |", fields[i].key);
        const char *at = strstr(text, row);
        if (!at || strstr(at + 1, row))
            fail_msg("%s: not in one subject of reference.c", fields[i].key);
    }
    arena_free(a);
}

static void every_preset_is_valid(void **state)
{
    Arena *a = arena_new();
    Spec s = { .field_pos = arena_alloc(a, (size_t)n_fields * sizeof(Pos)) };

    (void)state;
    error_reset();
    for (int i = 0; i < n_fields; i++) {
        assert_int_equal(field_find(fields[i].key), i);
        for (int j = 0; fields[i].type == FieldSpread && fields[i].words[j];
             j++)
            assert_true(field_find(fields[i].words[j]) >= 0);
        if (!fields[i].follow)
            field_default(a, &fields[i], &s);
    }
    assert_int_equal(error_count(), 0);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(options),
        cmocka_unit_test(forms),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(every_boundary),
        cmocka_unit_test(pages_are_printed),
        cmocka_unit_test(every_field_has_a_subject),
        cmocka_unit_test(every_preset_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
