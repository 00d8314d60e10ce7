/* pass_test.c: tests properties of every pass on every kind of graph. Any
 * subset of the passes keeps the results; a second run changes nothing; values
 * requested by name stay; and what a pass leaves undone is reported. */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include "support/small_specs.h"
#include "passes/rewrite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const PassOptions all = { 0 };

static int output_of(const Graph *g)
{
    for (int i = g->nodes.n - 1; i >= 0; i--)
        if (g->nodes.at[i].op == OpOutput)
            return i;
    fail_msg("no output");
    return -1;
}

typedef struct {
    int spec;
    const Interp *want; /* of the graph before all passes */
} Subsets;

/* Runs the passes from `pass` on, each skipped or not, and compares the results
 * of all these graphs. A pass that rewrites nothing is the same skipped.     */
static void try_subsets(const Subsets *t, const Graph *g, int pass,
                        unsigned skipped)
{
    Arena *a = arena_new();
    if (pass == n_passes) {
        if (!same_value(t->want, output_of(t->want->g), evaluate(a, g),
                        output_of(g)))
            fail_msg("spec %d, skipped %x: another result", t->spec, skipped);
    } else {
        Graph *next = graph_copy(a, g);
        const int done = passes[pass].run(next);
        check_graph(next, passes[pass].name);
        try_subsets(t, next, pass + 1, skipped);
        if (done > 0 && !passes[pass].required)
            try_subsets(t, g, pass + 1, skipped | 1u << pass);
    }
    arena_free(a);
}

static void test_any_subset_keeps_results(void **state)
{
    (void)state;
    for (int i = 0; i < SmallSpecs; i++) {
        Arena *a = arena_new();
        Spec s = nth_spec(i);
        s.side[SideDecoder].N = 1;
        const Graph *plain = build_graph(a, &s);
        try_subsets(&(Subsets){ i, evaluate(a, plain) }, plain, 0, 0);
        arena_free(a);
    }
}

static void test_second_run_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < SmallSpecs; i++) {
        for (int p = 0; p < n_passes; p++) {
            Arena *a = arena_new();
            Spec s = nth_spec(i);
            Graph *g = build_graph(a, &s);
            PassOptions o = { .after = passes[p].name };
            run_passes(g, &o, stderr);
            const char *once = print_graph(a, g, GraphText);
            assert_int_equal(passes[p].run(g), 0);
            assert_string_equal(print_graph(a, g, GraphText), once);
            arena_free(a);
        }
    }
}

/* Tests --tap NAME for every name. */
static void test_kept_nodes_stay(void **state)
{
    (void)state;
    for (int i = 0; i < SmallSpecs; i++) {
        Arena *a = arena_new();
        Spec s = nth_spec(i);
        const Graph *plain = build_graph(a, &s);
        Interp *want = evaluate(a, plain);
        for (int node = 0; node < plain->nodes.n; node++) {
            const char *name = plain->nodes.at[node].name;
            Arena *b = arena_new();
            Graph *g = graph_copy(b, plain);
            g->nodes.at[node].keep = true;
            run_passes(g, &all, stderr);
            int kept = graph_find(g, name);
            if (kept < 0 || !same_value(want, node, evaluate(b, g), kept))
                fail_msg("spec %d: %s is lost", i, name);
            arena_free(b);
        }
        arena_free(a);
    }
}

/* Tests that the select of the rows whose logits are needed stays behind the
 * layers, even if the last one ends in a norm: within a layer nothing has that
 * number of rows. */
static void test_layers_keep_their_rows(void **state)
{
    static const char *const skip[] = { "fuse-norm" };
    const PassOptions o = { .skip = skip, .nskip = 1 };
    (void)state;
    for (int i = 0; i < SmallSpecs; i++) {
        Arena *a = arena_new();
        Spec s = nth_spec(i);
        Graph *g = build_graph(a, &s);
        assert_true(run_passes(g, &o, stderr));
        for (int n = 0; n < g->nodes.n; n++) {
            const Node *node = &g->nodes.at[n];
            for (int k = 0; k < node->type.rank && node->layer >= 0; k++)
                if (node->type.dim[k].sym == SymR)
                    fail_msg("spec %d: %s has r rows", i, node->name);
        }
        arena_free(a);
    }
}

/* ---- what is said ---- */

static char *explain(Arena *a, Graph *g, bool require, bool *passed)
{
    char *text = NULL;
    size_t size = 0;
    FILE *log = open_memstream(&text, &size);
    PassOptions o = { .explain = true, .require_fusion = require };
    *passed = run_passes(g, &o, log);
    fclose(log);
    char *copy = arena_strdup(a, text);
    free(text);
    return copy;
}

static void expect_said(int spec, const char *keep, bool passes_required,
                        const char *line)
{
    Arena *a = arena_new();
    Spec s = nth_spec(spec);
    Graph *g = build_graph(a, &s);
    bool passed;
    if (keep)
        g->nodes.at[graph_find(g, keep)].keep = true;
    const char *said = explain(a, g, false, &passed);
    assert_true(passed);
    if (!strstr(said, line))
        fail_msg("not said: %s\nbut:\n%s", line, said);
    g = build_graph(a, &s);
    if (keep)
        g->nodes.at[graph_find(g, keep)].keep = true;
    explain(a, g, true, &passed);
    assert_int_equal(passed, passes_required);
    assert_int_equal(error_count() == 0, passes_required);
    error_reset();
    arena_free(a);
}

static void test_explains(void **state)
{
    (void)state;
    expect_said(0, NULL, true, "fuse-attention: 5 rewritten\n");
    expect_said(1, NULL, true,
                "fold-scale: source.scaled_embedding stays at the reader: "
                "target.weight has several readers\n");
    expect_said(2, NULL, true,
                "fuse-norm: decoder.norm stays apart: decoder.1.ffn.residual "
                "is in another layer\n");
    expect_said(8, NULL, true,
                "fold-scale: scaled_scores stays: the query has no "
                "projection\n");
    expect_said(13, NULL, true,
                "fold-scale: decoder.0.self_attn.scaled_scores stays: the "
                "query is clipped\n");
    expect_said(4, NULL, false,
                "merge-qkv: encoder.0.self_attn.q.matmul.scaled stays apart: "
                "only one of it and encoder.0.self_attn.k has a bias\n");
    expect_said(0, "encoder.0.self_attn.weights", false,
                "fuse-attention: encoder.0.self_attn.concat stays apart: "
                "encoder.0.self_attn.weights is requested by name\n");
}

/* Tests that products are merged only if their weights have the same format. */
static void test_formats_stay_apart(void **state)
{
    (void)state;
    static const SpecDtype apart[] = {
        { .key = "decoder.0.cross_attn.v", .dtype = DtypeF32 },
        { .key = "decoder.{i}.ffn.w3", .dtype = DtypeBf16 },
        { .key = "encoder.0.self_attn.k", .dtype = DtypeInt8 },
    };
    static const char *const said[] = {
        "merge-qkv: decoder.0.cross_attn.k.matmul stays apart: its weights and "
        "those of decoder.0.cross_attn.v.matmul have different formats\n",
        "merge-qkv: decoder.1.ffn.w1.matmul stays apart: its weights and those "
        "of decoder.1.ffn.w3.matmul have different formats\n",
        "merge-qkv: encoder.0.self_attn.q.matmul.scaled stays apart: its "
        "weights and those of encoder.0.self_attn.k.matmul have different "
        "formats\n",
    };
    static const char *const merged[] = { "decoder.0.cross_attn.kv.weight",
                                          "decoder.1.ffn.w1w3.weight",
                                          "encoder.0.self_attn.qkv.weight" };
    for (int n = 0; n <= 3; n += 3) {
        Arena *a = arena_new();
        Spec s = small_spec();
        bool passed;
        s.gated = true;
        s.dtype = (SpecDtypes){ DtypeInt4, apart, n };
        Graph *g = build_graph(a, &s);
        const char *text = explain(a, g, false, &passed);
        for (int i = 0; i < 3; i++)
            if ((strstr(text, said[i]) != NULL) != (n == 3)
                || (graph_find(g, merged[i]) < 0) != (n == 3))
                fail_msg("%d formats: %s\n%s", 1 + n, merged[i], text);
        arena_free(a);
    }
}

/* Tests that integer weights take any factor, in the scales of their columns.
 */
static void test_integers_take_factors(void **state)
{
    (void)state;
    for (int d = 0; d < Dtypes; d++) {
        Arena *a = arena_new();
        Spec s = small_spec();
        PassOptions o = { .after = "fold-scale" };
        s.dtype.default_dtype = (Dtype)d;
        s.logits_scale = 0.3;
        Graph *g = build_graph(a, &s);
        assert_true(run_passes(g, &o, stderr));
        assert_int_equal(graph_find(g, "logits.weight.scaled") >= 0,
                         d != DtypeBf16);
        assert_int_equal(graph_find(g, "source.weight.scaled") >= 0,
                         d != DtypeBf16);
        arena_free(a);
    }
}

/* ---- the base model ---- */

static Spec base_spec(void)
{
    Spec s = small_spec();
    s.d_model = s.embed_width = 512;
    for (int i = 0; i < 2; i++)
        s.side[i] = (SpecSide){ .N = 6,
                                .h = 8,
                                .h_kv = 8,
                                .d_k = 64,
                                .d_v = 64,
                                .d_ff = 2048,
                                .max_len = 512,
                                .mask = s.side[i].mask };
    s.source.size = s.target.size = 37000;
    s.embed_tie = TieSource | TieTarget | TieLogits;
    return s;
}

static void test_base_is_fused(void **state)
{
    (void)state;
    static const struct {
        Op op;
        int count;
    } want[] = {
        { OpAttention, 18 },
        { OpAddNorm, 30 },
        { OpEmbed, 2 },
        /* qkv, o, w1, w2; for decoders also cross q, o, and cross kv in encode
         */
        { OpLinear, 6 * 4 + 6 * 6 + 6 },
        { OpMatmul, 1 },
        { OpBias, 0 },
        { OpActivate, 0 },
        { OpAdd, 0 },
        { OpNorm, 0 },
        { OpScores, 0 },
        { OpMask, 0 },
        { OpSoftmax, 0 },
        { OpContext, 0 },
        { OpMerge, 0 },
        { OpPosition, 0 },
        { OpScale, 18 * 2 },
        { OpPackKv, 12 },
    };
    int count[OpCount] = { 0 };
    Arena *a = arena_new();
    Spec s = base_spec();
    Graph *g = build_graph(a, &s);
    PassOptions o = { .require_fusion = true };
    assert_true(run_passes(g, &o, stderr));
    for (int i = 0; i < g->nodes.n; i++)
        count[g->nodes.at[i].op]++;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (count[want[i].op] != want[i].count)
            fail_msg("%s: %d, not %d", op_info[want[i].op].name,
                     count[want[i].op], want[i].count);
    arena_free(a);
}

/* Tests that the attention of any layer becomes one op, and that its
 * feed-forward network is completely fused. */
static void test_later_forms_are_fused(void **state)
{
    (void)state;
    static const Op gone[] = { OpScores, OpSoftcap,  OpScoreBias,
                               OpMask,   OpSoftmax,  OpContext,
                               OpMerge,  OpActivate, OpBias };
    for (int i = 10; i < SmallSpecs; i++) {
        Arena *a = arena_new();
        Spec s = nth_spec(i);
        s.logits_softcap = 0; /* that of logits is never fused */
        Graph *g = build_graph(a, &s);
        PassOptions o = { .require_fusion = true };
        assert_true(run_passes(g, &o, stderr));
        for (int n = 0; n < g->nodes.n; n++)
            for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
                if (g->nodes.at[n].op == gone[k])
                    fail_msg("spec %d: %s stays", i, g->nodes.at[n].name);
        arena_free(a);
    }
}

/* Tests that with three-way tying only the look-up multiplies by sqrt(d_model),
 * not the logits' product; without tying, the table itself is scaled. */
static void test_embedding_scale(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        Arena *a = arena_new();
        Spec s = nth_spec(tied);
        Graph *g = build_graph(a, &s);
        run_passes(g, &all, stderr);
        const Node *look_up = &g->nodes.at[graph_find(g, "target.input")];
        const Node *table = &g->nodes.at[look_up->in[0]];
        const Node *logits = &g->nodes.at[graph_find(g, "logits.matmul")];
        assert_int_equal(look_up->op, OpEmbed);
        assert_true(look_up->scale == (tied ? sqrt(8.0) : 1.0));
        assert_int_equal(table->op, tied ? OpWeight : OpScale);
        assert_int_equal(g->nodes.at[logits->in[1]].op, OpWeight);
        assert_int_equal(logits->type.dim[0].sym, SymR);
        arena_free(a);
    }
}

static void test_dead_code_goes(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec s = nth_spec(0);
    Graph *g = build_graph(a, &s);
    int before = g->nodes.n, memory = graph_find(g, "encoder.output");
    Node dead = g->nodes.at[memory];
    dead.op = OpActivate;
    dead.nin = 1;
    dead.in[0] = memory;
    dead.name = "dead";
    Node deader = dead;
    deader.in[0] = graph_add(g, dead);
    deader.name = "deader";
    graph_add(g, deader);
    assert_int_equal(dead_code(g), 2);
    assert_int_equal(g->nodes.n, before);
    arena_free(a);
}

/* Tests that an activation after a residual is not fused. No model has one, and
 * a product cannot compute it. */
static void test_nothing_follows_residual(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec s = nth_spec(9);
    Graph *plain = build_graph(a, &s);
    Node relu = plain->nodes.at[graph_find(plain, "encoder.0.ffn.residual")];
    relu.op = OpActivate;
    relu.act = ActRelu;
    relu.in[0] = graph_find(plain, "encoder.0.ffn.residual");
    relu.nin = 1;
    relu.name = "late";
    int late = graph_add(plain, relu);
    plain->nodes.at[output_of(plain)].in[0] = late;
    graph_sweep(plain);
    Graph *g = graph_copy(a, plain);
    run_passes(g, &all, stderr);
    assert_int_equal(g->nodes.at[graph_find(g, "late")].op, OpActivate);
    assert_true(same_value(evaluate(a, plain), output_of(plain), evaluate(a, g),
                           output_of(g)));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_subset_keeps_results),
        cmocka_unit_test(test_second_run_changes_nothing),
        cmocka_unit_test(test_kept_nodes_stay),
        cmocka_unit_test(test_layers_keep_their_rows),
        cmocka_unit_test(test_explains),
        cmocka_unit_test(test_formats_stay_apart),
        cmocka_unit_test(test_integers_take_factors),
        cmocka_unit_test(test_base_is_fused),
        cmocka_unit_test(test_later_forms_are_fused),
        cmocka_unit_test(test_embedding_scale),
        cmocka_unit_test(test_dead_code_goes),
        cmocka_unit_test(test_nothing_follows_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
