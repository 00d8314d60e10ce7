/* dtypes_test.c: tests how each matrix of a model is stored, by the words and
 * maps of `dtype`, and with which arithmetics. */
#define _POSIX_C_SOURCE 200809L
#include "support/load_spec.h"

static const char good[] = "tests/spec/good.yaml";
static const char map[] = "tests/spec/dtype-map.yaml";

/* Checks the type of the graph's matrix `name`. */
static void expect(const char *path, const char *set, const char *name,
                   const char *type)
{
    Arena *a = arena_new();
    const Graph *g = build_graph(a, load_good(a, path, set));
    const int node = graph_find(g, name);

    if (node < 0)
        fail_msg("%s, %s: there is no %s", path, set ? set : "", name);
    const char *found = print_type(a, g->nodes.at[node].type);
    if (strncmp(found, type, strlen(type)) || found[strlen(type)] != '[')
        fail_msg("%s, %s: %s is %s, not %s", path, set ? set : "", name, found,
                 type);
    arena_free(a);
}

static void a_word_is_for_all(void **state)
{
    static const char *const matrices[] = {
        "encoder.0.self_attn.q.weight",
        "encoder.0.ffn.w2.weight",
        "decoder.0.cross_attn.k.weight",
        "decoder.0.self_attn.o.weight",
        "source.weight",
        "target.weight",
        "logits.weight",
    };
    static const char *const others[] = { "encoder.0.norm1.weight",
                                          "encoder.0.norm1.bias",
                                          "encoder.0.ffn.w1.bias",
                                          "source_positions.weight" };

    (void)state;
    for (int d = 0; dtype_choices[d]; d++) {
        char set[64];
        snprintf(set, sizeof set, "dtype=%s,positions=learned", dtype_word[d]);
        for (int i = 0; i < 7; i++)
            expect(good, set, matrices[i],
                   d >= DtypeInt4 && i > 3 ? "int8" : dtype_word[d]);
        for (int i = 0; i < 4; i++)
            expect(good, set, others[i], "f32");
    }
}

static void the_longest_key_wins(void **state)
{
    (void)state;
    expect(map, NULL, "encoder.0.ffn.w2.weight", "f32");
    expect(map, NULL, "decoder.0.ffn.w2.weight", "bf16");
    expect(map, NULL, "decoder.0.ffn.w1.weight", "int4");
    expect(map, NULL, "source.weight", "int8");
    expect(map, "dtype.encoder.0.ffn.w2=int8", "encoder.0.ffn.w2.weight",
           "int8");
    expect(map, "dtype.encoder.0.ffn.w2=int8", "encoder.0.ffn.w1.weight",
           "f32");
    expect(map, "dtype.encoder.{i}=int8", "encoder.0.ffn.w1.weight", "f32");
    expect(map, "dtype.encoder.{i}.ffn=int8", "encoder.0.ffn.w1.weight",
           "int8");
    expect(map, "dtype.decoder.0.ffn.w2.weight=f32", "decoder.0.ffn.w2.weight",
           "f32");
    expect(map, "dtype.target=f32", "target.weight", "f32");
    expect(map, "dtype.target=f32", "source.weight", "int8");
    expect(map, "dtype.logits=f32", "logits.weight", "f32");
}

static void embeddings(void **state)
{
    const char *types = "embedding.types=2,dtype={default: f32, embedding: "
                        "int4}";

    (void)state;
    expect(good, types, "source.weight", "int4");
    expect(good, types, "types.weight", "int4");
    expect(good, types, "logits.weight", "f32");
    expect(good, "dtype.embedding=int8", "target.weight", "int8");
    expect(good, "dtype.embedding=int8", "encoder.0.ffn.w1.weight", "f32");
}

/* Tests that a tied table has one format, set by either use. */
static void tied_tables(void **state)
{
#define TIED "embedding.tie=[source,target,logits],"
    (void)state;
    expect(good, TIED "dtype=int4", "target.weight", "int8");
    expect(good, TIED "dtype=int4g64", "target.weight", "int8");
    expect(good, TIED "dtype=int4,dtype.logits=f32", "target.weight", "f32");
    expect(good, TIED "dtype=int8,dtype.embedding=int4", "target.weight",
           "int4");
    expect(good, TIED "dtype.target=bf16", "target.weight", "bf16");
    expect(good, TIED "dtype={embedding: bf16, logits: bf16}", "target.weight",
           "bf16");
}

static void expect_text(const char *path, const char *set, const char *text)
{
    Arena *a = arena_new();
    const Spec *s = load_good(a, path, set);

    assert_string_equal(spec_field_text(a, s, "dtype"), text);
    arena_free(a);
}

static void options(void **state)
{
#define REST "embedding: int8, encoder.0: f32"
    (void)state;
    expect_text(good, NULL, "f32");
    expect_text(good, "dtype.default=int8", "int8");
    expect_text(good, "dtype=int8,dtype.logits=f32",
                "{default: int8, logits: f32}");
    expect_text(good, "dtype={encoder: {0: {ffn: int8}}}",
                "{default: f32, encoder.0.ffn: int8}");
    expect_text(map, NULL,
                "{default: int4, 'decoder.{i}.ffn.w2': bf16, " REST
                ", logits: int8}");
    expect_text(map, "dtype=int8", "int8");
    expect_text(map, "arithmetic=,dtype=", "f32");
    expect_text(map, "dtype.decoder.{i}.ffn.w2=,dtype.logits=",
                "{default: int4, " REST "}");
    expect_text(map, "dtype={default: int8, logits: f32}",
                "{default: int8, 'decoder.{i}.ffn.w2': bf16, " REST
                ", logits: f32}");
    expect_text(map, "arithmetic=,dtype=,dtype.logits=int8",
                "{default: f32, logits: int8}");
    expect_text(good, "dtype.logits=int8,dtype.logits=", "f32");
}

/* Tests that the hash depends on the formats, not on the order of keys. */
static void hash(void **state)
{
    Arena *a = arena_new();
    const uint64_t one = load_good(a, good,
                                   "dtype={logits: int8, encoder: "
                                   "bf16}")
                             ->hash;

    (void)state;
    assert_true(load_good(a, good, "dtype.encoder=bf16,dtype.logits=int8")->hash
                == one);
    assert_true(load_good(a, good, "dtype.encoder=bf16")->hash != one);
    assert_true(load_good(a, good, "dtype=int8,arithmetic=int8")->hash
                != load_good(a, good, "dtype=int8,arithmetic=int15")->hash);
    arena_free(a);
}

/* Tests that a key that matches nothing after --set is not an error. */
static void another_model(void **state)
{
    Arena *a = arena_new();
    char *text;

    (void)state;
    assert_non_null(load(a, map, "N=2", &text));
    assert_string_equal(text, "");
    assert_non_null(load(a, map, "kind=encoder", &text));
    assert_non_null(strstr(text, "dtype-map.yaml:4:"));
    assert_non_null(strstr(text, "warning: --set leaves 2 keys of dtype "
                                 "without effect; this is the first"));
    arena_free(a);
}

/* Tests that layers that share a tensor are packed separately if their formats
 * differ. */
static void shared_layers(void **state)
{
    Arena *a = arena_new();
    const char *name = "encoder.0.ffn.w1.weight";
    const Spec *s = load_good(a, good,
                              "N=2,names={\"encoder.{i}.ffn.w1\": w1}");

    (void)state;
    assert_string_equal(spec_packed_name(a, s, name),
                        "encoder.{i}.ffn.w1.weight");
    s = load_good(a, good,
                  "N=2,names={\"encoder.{i}.ffn.w1\": w1},dtype.encoder.0="
                  "int8");
    assert_string_equal(spec_packed_name(a, s, name), name);
    arena_free(a);
}

/* ---- arithmetic ---- */

/* Arithmetic of products with weights in this format. */
static const struct {
    Dtype dtype;
    const char *arithmetic, *why; /* NULL: it may */
} pairs[] = {
    { DtypeF32, "f32", NULL },
    { DtypeF32, "int8", "needs integer weights, but dtype is f32" },
    { DtypeF32, "int15", "needs integer weights, but dtype is f32" },
    { DtypeF32, "bf16_dp", "needs bf16 weights, but dtype is f32" },
    { DtypeInt8, "bf16_amx", "needs bf16 weights, but dtype is int8" },
    { DtypeF32, "bf16x3", NULL },
    { DtypeBf16, "bf16x3", "needs f32 weights, but dtype is bf16" },
    { DtypeInt4, "bf16x3", "needs f32 weights, but dtype is int4" },
    { DtypeBf16, "f32", NULL },
    { DtypeBf16, "bf16_dp", NULL },
    { DtypeBf16, "int8", "needs integer weights, but dtype is bf16" },
    { DtypeBf16, "int15", "needs integer weights, but dtype is bf16" },
    { DtypeInt8, "f32", NULL },
    { DtypeInt8, "int8", NULL },
    { DtypeInt8, "int15", NULL },
    { DtypeInt8, "bf16_dp", "needs bf16 weights, but dtype is int8" },
    { DtypeInt4, "f32", NULL },
    { DtypeInt4, "int8", NULL },
    { DtypeInt4, "int15", NULL },
    { DtypeInt4g64, "f32", NULL },
    { DtypeInt4g64, "int8", NULL },
    { DtypeInt4g64, "int15", NULL },
};

static void every_pair(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Arena *a = arena_new();
        char *text;
        const char *set = arena_printf(a, "dtype=%s,arithmetic=%s",
                                       dtype_word[pairs[i].dtype],
                                       pairs[i].arithmetic);
        const Spec *s = load(a, good, set, &text);
        if (!pairs[i].why) {
            assert_string_equal(text, "");
            assert_string_equal(spec_field_text(a, s, "arithmetic"),
                                pairs[i].arithmetic);
        } else {
            assert_null(s);
            assert_string_equal(
                text,
                arena_printf(a,
                             "--set:1:12: error: arithmetic %s %s\n"
                             "    arithmetic=%s\n               ^\n"
                             "attnc: note: write dtype: %s, or leave "
                             "arithmetic out\n",
                             pairs[i].arithmetic, pairs[i].why,
                             pairs[i].arithmetic,
                             strstr(pairs[i].why, "bf16 weights")  ? "bf16"
                             : strstr(pairs[i].why, "f32 weights") ? "f32"
                                                                   : "int8"));
        }
        arena_free(a);
    }
}

/* Tests that a change to floats resets the arithmetic. */
static void left_behind(void **state)
{
    Arena *a = arena_new();

    (void)state;
    assert_int_equal(load_good(a, map, NULL)->arithmetic, ArithmeticInt15);
    assert_int_equal(load_good(a, map, "dtype=f32")->arithmetic, ArithmeticF32);
    arena_free(a);
}

/* Tests that floats next to integers stay unchanged. */
static void floats_beside_integers(void **state)
{
    Arena *a = arena_new();

    (void)state;
    load_good(a, good, "arithmetic=int8,dtype={encoder: int8}");
    load_good(a, good, "arithmetic=int15,dtype={default: int4, logits: f32}");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_for_all),
        cmocka_unit_test(the_longest_key_wins),
        cmocka_unit_test(embeddings),
        cmocka_unit_test(tied_tables),
        cmocka_unit_test(options),
        cmocka_unit_test(hash),
        cmocka_unit_test(another_model),
        cmocka_unit_test(shared_layers),
        cmocka_unit_test(every_pair),
        cmocka_unit_test(left_behind),
        cmocka_unit_test(floats_beside_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
