/* interp_test.c: tests the oracle: ops on graphs built by hand, and complete
 * models against results of PyTorch and NumPy in double. */
#include "oracle/gates.h"
#include "oracle/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/expected.h"

static Arena *arena;
static Spec spec;
static Graph graph;
static Interp in;
static const double *constant[64];
static const MaskSpec causal = { .causal = true };

static const double *constant_of(void *user, int node)
{
    (void)user;
    return constant[node];
}

static int set_up(void **state)
{
    (void)state;
    arena = arena_new();
    spec = (Spec){ .side = { { .max_len = 16 }, { .max_len = 16 } },
                   .d_model = 4 };
    graph = (Graph){ .arena = arena, .spec = &spec };
    in = (Interp){ .g = &graph, .arena = arena, .weight = constant_of };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static int add(Node n)
{
    n.name = arena_printf(arena, "node%d", graph.nodes.n);
    n.word = n.name;
    n.layer = -1;
    if (op_info[n.op].op_class != ClassConst && !n.entry)
        n.entry = EntryDecode;
    return graph_add(&graph, n);
}

static int weight(int64_t rows, int64_t cols, const double *x)
{
    Type t = { ElemF32, cols ? 2 : 1, { { .c = rows }, { .c = cols } } };
    int node = add((Node){ .op = OpWeight, .type = t });
    constant[node] = x;
    return node;
}

/* Adds the only Input: t rows of `cols` numbers. */
static int input(int64_t rows, int64_t cols, const double *x)
{
    Type t = { ElemF32,
               2,
               { { .c = spec.side[SideDecoder].max_len, .sym = SymT },
                 { .c = cols } } };
    in.length[SymT] = in.length[SymPT] = rows;
    in.rows[0] = x;
    return add((Node){ .op = OpInput, .type = t, .member = BatchInput });
}

static int unary(Op op, int x)
{
    return add((Node){ .op = op, .in = { x }, .nin = 1 });
}

static int binary(Op op, int x, int y)
{
    return add((Node){ .op = op, .in = { x, y }, .nin = 2 });
}

static int slice(int x, int64_t first, int64_t columns)
{
    return add((Node){ .op = OpSlice,
                       .in = { x },
                       .nin = 1,
                       .first = first,
                       .type = { .dim = { { .c = 0 }, { .c = columns } } } });
}

/* Adds a join of x and y; y has as many heads as x, or one. */
static int join(int x, int y, int64_t heads)
{
    return add((Node){ .op = OpJoin,
                       .in = { x, y },
                       .nin = 2,
                       .heads = 2,
                       .heads_kv = heads });
}

static void assert_near(const double *got, const double *want, int64_t n,
                        double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance)) {
            print_error("[%lld]: expected %.17g, found %.17g\n", (long long)i,
                        want[i], got[i]);
            fail();
        }
}

static void assert_value(int node, const double *want, int64_t n)
{
    interp_run(&in, EntryDecode);
    assert_int_equal(interp_size(&in, node), n);
    assert_near(in.value[node], want, n, 0);
}

/* ---- row by row ---- */

static void test_linear(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, -4 }, w[] = { 1, 1, 0, 2, -1, 0 },
                        b[] = { 10, 0, 1 }, r[] = { 1, 1, 1, 1, 1, 1 };
    int a = input(2, 2, x), k = weight(3, 2, w), c = weight(3, 0, b);
    int product = binary(OpMatmul, a, k), biased = binary(OpBias, product, c);
    int relu = add(
        (Node){ .op = OpActivate, .in = { biased }, .nin = 1, .act = ActRelu });
    int rest = binary(OpMatmul, a, weight(3, 2, r));
    int sum = binary(OpAdd, relu, rest), first = binary(OpFirstRow, product, c);
    int fused = add((Node){ .op = OpLinear,
                            .in = { a, k, c, rest },
                            .nin = 4,
                            .has_bias = true,
                            .has_residual = true,
                            .act = ActRelu });
    assert_value(product, (double[]){ 3, 4, -1, -1, -8, -3 }, 6);
    assert_value(biased, (double[]){ 13, 4, 0, 9, -8, -2 }, 6);
    assert_value(relu, (double[]){ 13, 4, 0, 9, 0, 0 }, 6);
    assert_value(sum, (double[]){ 16, 7, 3, 8, -1, -1 }, 6);
    assert_value(fused, in.value[sum], 6);
    assert_value(first, (double[]){ 10, 0, 1, -1, -8, -3 }, 6);
}

/* Tests two rows of two heads of two columns, each joined with one column: its
 * own, or one that both heads share. */
static void test_join(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const int a = input(2, 4, x);
    const int two = slice(a, 2, 2), one = slice(a, 3, 1);
    const int own = join(a, two, 2), all = join(a, one, 1);
    const int flat = add((Node){
        .op = OpJoin, .in = { one, a }, .nin = 2, .heads = 1, .heads_kv = 1 });
    assert_value(own, (double[]){ 1, 2, 3, 3, 4, 4, 5, 6, 7, 7, 8, 8 }, 12);
    assert_value(all, (double[]){ 1, 2, 4, 3, 4, 4, 5, 6, 8, 7, 8, 8 }, 12);
    assert_value(flat, (double[]){ 4, 1, 2, 3, 4, 8, 5, 6, 7, 8 }, 10);
}

/* Tests rows 1 2, 3 4, 5 6 with taps at the row two before, and at itself. With
 * the first row skipped, at the row before, and at itself. */
static void test_taps(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, 4, 5, 6 }, w[] = { 10, 1, 0, -1 },
                        b[] = { 100, 0 };
    int a = input(3, 2, x), k = weight(2, 2, w), c = weight(2, 0, b);
    Node n = { .op = OpTaps,
               .in = { a, k, c },
               .nin = 1,
               .taps = 2,
               .dilation = 2,
               .first = -2 };
    int beside = add(n);
    n.op = OpDepthwise;
    n.nin = 3;
    int sums = add(n);
    int own = add((Node){ .op = OpTaps,
                          .in = { a },
                          .nin = 1,
                          .taps = 2,
                          .dilation = 1,
                          .skipped = 1,
                          .first = -1 });
    assert_value(own, (double[]){ 0, 0, 0, 0, 0, 0, 3, 4, 3, 4, 5, 6 }, 12);
    assert_value(beside, (double[]){ 0, 0, 1, 2, 0, 0, 3, 4, 1, 2, 5, 6 }, 12);
    assert_value(sums, (double[]){ 101, -2, 103, -4, 115, -6 }, 6);
}

static void test_linear_without_bias(void **state)
{
    (void)state;
    static const double x[] = { 1, 2 }, w[] = { 1, 1, 0, 2 };
    int a = input(1, 2, x);
    int fused = add((Node){ .op = OpLinear,
                            .in = { a, weight(2, 2, w), -1, a },
                            .nin = 4,
                            .has_residual = true });
    assert_value(fused, (double[]){ 4, 6 }, 2);
}

static void test_norm(void **state)
{
    (void)state;
    static const double x[] = { 1, 3, 1, 3, 5, 5, 5, 5 }, r[] = { 1, 1, 1, 1 },
                        gamma[] = { 1, 2, 3, 4 }, beta[] = { 0, 0, 0, 10 };
    int a = input(2, 4, x), g = weight(4, 0, gamma), b = weight(4, 0, beta);
    int norm = add(
        (Node){ .op = OpNorm, .in = { a, g, b }, .nin = 3, .eps = 3 });
    int more = binary(OpBias, a, weight(4, 0, r));
    int fused = add(
        (Node){ .op = OpAddNorm, .in = { a, more, g, b }, .nin = 4, .eps = 0 });
    assert_value(norm, (double[]){ -0.5, 1, -1.5, 12, 0, 0, 0, 10 }, 8);
    interp_run(&in, EntryDecode);
    assert_near(in.value[fused], (double[]){ -1, 2, -3, 14 }, 4, 0);
}

static void test_clip(void **state)
{
    (void)state;
    static const double x[] = { 1, -2.5, 0, 7, -2, 2 };
    int a = input(2, 3, x);
    int clip = add((Node){ .op = OpClip, .in = { a }, .nin = 1, .cap = 2 });
    assert_value(clip, (double[]){ 1, -2, 0, 2, -2, 2 }, 6);
}

static void test_embed(void **state)
{
    (void)state;
    static const double table[] = { 1, 2, 3, 4, 5, 6 },
                        places[32] = { 0.5, 0.25, 0.125, 1 };
    static const int32_t ids[] = { 2, 0 };
    int t = weight(3, 2, table), p = weight(16, 2, places);
    Type type = { ElemI32, 1, { { .c = 16, .sym = SymT } } };
    int i = add((Node){ .op = OpInput, .type = type });
    in.length[SymT] = 2;
    in.ids[EntryDecode] = ids;
    int plain = add(
        (Node){ .op = OpEmbed, .in = { t, i }, .nin = 2, .scale = 1 });
    int all = add(
        (Node){ .op = OpEmbed, .in = { t, i, p }, .nin = 3, .scale = 2 });
    int position = unary(OpPosition, p);
    assert_value(plain, (double[]){ 5, 6, 1, 2 }, 4);
    assert_value(all, (double[]){ 10.5, 12.25, 2.125, 5 }, 4);
    assert_value(position, places, 4);
}

static void test_moves(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const int32_t rows[] = { 1, 1, 0 };
    int a = input(2, 4, x);
    int split = add((Node){ .op = OpSplit, .in = { a }, .nin = 1, .heads = 2 });
    int merge = unary(OpMerge, split);
    Type two = { ElemF32, 2, { { .c = 0 }, { .c = 2 } } };
    int slice = add((Node){
        .op = OpSlice, .in = { a }, .nin = 1, .first = 1, .type = two });
    int select = unary(OpSelect, a);
    int cached = unary(OpAppend, split);
    int stack = add((Node){ .op = OpStack,
                            .nin = 2,
                            .in = { weight(1, 4, x), weight(1, 4, x + 4) } });
    in.select = rows;
    in.length[SymR] = 3;
    assert_value(split, (double[]){ 1, 2, 5, 6, 3, 4, 7, 8 }, 8);
    assert_value(merge, x, 8);
    assert_value(slice, (double[]){ 2, 3, 6, 7 }, 4);
    assert_value(select, (double[]){ 5, 6, 7, 8, 5, 6, 7, 8, 1, 2, 3, 4 }, 12);
    assert_value(cached, in.value[split], 8);
    assert_value(stack, x, 8);
}

/* ---- attention ---- */

/* Adds an input [1, rows, cols]. */
static int head(int64_t rows, int64_t cols, const double *x)
{
    int a = input(rows, cols, x);
    return add((Node){ .op = OpSplit, .in = { a }, .nin = 1, .heads = 1 });
}

static void test_softmax(void **state)
{
    (void)state;
    const double inf = HUGE_VAL;
    const double x[] = { 0, log(3), -inf, -inf, -inf, -inf, 1000, 1000, -inf };
    int a = unary(OpSoftmax, head(3, 3, x));
    interp_run(&in, EntryDecode);
    assert_near(in.value[a], (double[]){ 0.25, 0.75, 0, 0, 0, 0, 0.5, 0.5, 0 },
                9, 1e-15);
}

static void test_causal(void **state)
{
    (void)state;
    static const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    int a = add((Node){
        .op = OpMask, .in = { head(3, 3, x) }, .nin = 1, .mask = &causal });
    const double inf = HUGE_VAL;
    interp_run(&in, EntryDecode);
    const double want[] = { 1, -inf, -inf, 4, 5, -inf, 7, 8, 9 };
    for (int i = 0; i < 9; i++)
        assert_true(in.value[a][i] == want[i]);
}

/* Tests that a masked key may have any value, even NaN. */
static void test_masked_values(void **state)
{
    (void)state;
    const double x[] = { 1, 2, HUGE_VAL, NAN };
    int h = head(2, 2, x);
    int out = add((Node){ .op = OpAttention,
                          .in = { h, h, h },
                          .nin = 3,
                          .heads = 1,
                          .heads_kv = 1,
                          .scale = 1,
                          .mask = &causal });
    interp_run(&in, EntryDecode);
    assert_near(in.value[out], (double[]){ 1, 2 }, 2, 0);
    assert_true(isnan(in.value[out][3]));
}

/* Tests that the fused op equals its parts. */
static void test_attention(void **state)
{
    (void)state;
    static const double x[] = {
        0.5, -1, 2, 0.25, 1, 3, -0.5, 0, -2, 0.75, 1, 1
    };
    int a = input(3, 4, x);
    int h = add((Node){ .op = OpSplit, .in = { a }, .nin = 1, .heads = 2 });
    int scaled = add((Node){ .op = OpScale,
                             .nin = 1,
                             .scale = 0.7,
                             .in = { binary(OpScores, h, h) } });
    int masked = add(
        (Node){ .op = OpMask, .in = { scaled }, .nin = 1, .mask = &causal });
    int context = binary(OpContext, unary(OpSoftmax, masked), h);
    int merged = unary(OpMerge, context);
    int fused = add((Node){ .op = OpAttention,
                            .in = { h, h, h },
                            .nin = 3,
                            .heads = 2,
                            .heads_kv = 2,
                            .scale = 0.7,
                            .mask = &causal });
    interp_run(&in, EntryDecode);
    assert_int_equal(interp_size(&in, fused), 12);
    assert_near(in.value[fused], in.value[merged], 12, 1e-15);
    assert_near(in.value[fused], x, 4, 1e-15);
}

/* ---- whole models ---- */

typedef struct {
    Engine e;
    Weights w;
    Interp in;
    Sample x;
    int32_t start[2][2];
} Model;

static void model_open(Model *m, const char *path, const char *weights)
{
    EngineOptions o = { .spec = path, .weights = weights };
    *m = (Model){ .x = { .sequences = 1 } };
    assert_int_equal(engine_plan(&m->e, &o), 0);
    assert_int_equal(engine_weights(&m->e), 0);
    weights_open(&m->w, &m->e, m->e.unfused);
}

static void model_run(Model *m, const int32_t *source, int64_t n,
                      const int32_t *target, int64_t t)
{
    m->start[0][1] = (int32_t)n;
    m->start[1][1] = (int32_t)t;
    m->x = (Sample){ .sequences = 1,
                     .ids = { source, target },
                     .start = { m->start[0], m->start[1] } };
    oracle_open(&m->in, m->e.arena, &m->w, &m->x, 0);
    oracle_result(&m->in);
}

static void model_close(Model *m)
{
    weights_close(&m->w);
    engine_close(&m->e);
}

static void assert_node(const Model *m, const char *name, const json_t *want)
{
    int node = graph_find(m->in.g, name);
    assert_true(node >= 0);
    assert_tensor(want, m->in.value[node], interp_size(&m->in, node), 1e-6);
}

/* Ids of `text`, whose tokens are separated by spaces, or are single letters.
 */
static int64_t ids_of(const json_t *vocabulary, const char *text, bool letters,
                      int32_t *ids)
{
    int64_t n = 0;
    for (size_t step; *text; text += step) {
        size_t size = letters ? 1 : strcspn(text, " ");
        step = size + (text[size] == ' ');
        for (size_t i = 0; i < json_array_size(vocabulary); i++) {
            const char *s = json_string_value(json_array_get(vocabulary, i));
            if (strlen(s) == size && !strncmp(s, text, size))
                ids[n++] = (int32_t)i;
        }
    }
    return n;
}

static void test_g2p(void **state)
{
    (void)state;
    json_t *root = json_file("models/g2p-en/expected.json");
    const json_t *t = json_object_get(root, "tensors");
    const char *word = json_string_value(json_object_get(t, "word"));
    const char *prefix = json_string_value(json_object_get(t, "target_prefix"));
    int32_t source[64], target[64];
    int64_t n = ids_of(json_object_get(root, "letters"), word, true, source);
    source[n++] = 2;
    int64_t rows = ids_of(json_object_get(root, "phones"), prefix, false,
                          target);
    Model m;
    model_open(&m, "models/g2p-en/g2p-en.yaml", NULL);
    model_run(&m, source, n, target, rows);
    assert_node(&m, m.e.unfused->memory, json_object_get(t, "encoder_output"));
    assert_node(&m, "logits", json_object_get(t, "logits"));
    model_close(&m);
    json_decref(root);
}

/* Tests pre-norm, sines and cosines in halves, a final norm, and untied tables.
 */
static void test_aren(void **state)
{
    (void)state;
    static const char aren[] = "aren-transliteration";
    json_t *root = json_file(data_file(aren, "expected.json"));
    const json_t *t = json_object_get(root, "tensors");
    int32_t source[64], target[64];
    int64_t n = json_ids(json_object_get(t, "source_ids"), source, 64);
    int64_t rows = json_ids(json_object_get(t, "decoder_input_ids"), target,
                            64);
    Model m;
    model_open(&m, "models/aren-transliteration.yaml",
               data_file(aren, "model.safetensors"));
    model_run(&m, source, n, target, rows);
    assert_node(&m, m.e.unfused->memory, json_object_get(t, "encoder_output"));
    assert_node(&m, "logits", json_object_get(t, "logits"));
    int node = graph_find(m.in.g, "decoder.5.cross_attn.weights");
    assert_tensor(json_object_get(t, "cross_attention_last_layer_head0"),
                  m.in.value[node], rows * n, 1e-6);
    model_close(&m);
    json_decref(root);
}

#define BY_HAND(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* Tests that the lower of equal scores is chosen, and groups first, by their
 * best or their best two. */
static void test_choose(void **state)
{
    (void)state;
    static const double x[] = { 1, 3, 3, 2, /* */ 0, 5, 4, 4 };
    static const double pairs[] = { 2, 3, /* */ 2, 3 };
    static const double best[] = { 1, 0, /* */ 1, 0 };
    Node n = { .op = OpChoose, .nin = 1, .groups = 1, .groups_chosen = 1 };
    n.type.dim[1].c = 2;
    n.in[0] = input(2, 4, x);
    const int plain = add(n);
    n.groups = 2;
    const int max = add(n);
    n.group_pairs = true;
    const int pair = add(n);
    static const double first[] = { 1, 2, /* */ 1, 2 };
    assert_value(plain, first, 4);
    assert_value(max, best, 4);
    assert_value(pair, pairs, 4);
}

/* Tests weights and rows of experts; the oracle keeps the order of the rows. */
static void test_experts(void **state)
{
    (void)state;
    static const double x[] = { 1, 3, /* */ 3, 1 };
    Node choose = { .op = OpChoose, .nin = 1, .groups = 1, .groups_chosen = 1 };
    choose.type.dim[1].c = 2;
    choose.in[0] = input(2, 2, x);
    const int ids = add(choose);
    const int by = add((Node){ .op = OpWeigh,
                               .in = { choose.in[0], ids },
                               .nin = 2,
                               .scale = 2,
                               .normalize = true });
    static const double shares[] = { 1.5, 0.5, 1.5, 0.5 };
    const int routes = add(
        (Node){ .op = OpRoutes, .in = { ids }, .nin = 1, .experts = 2 });
    const int rows = add(
        (Node){ .op = OpSpread, .in = { choose.in[0], routes }, .nin = 2 });
    static const double spread[] = { 1, 3, 1, 3, 3, 1, 3, 1 };
    const int sum = add(
        (Node){ .op = OpCombine, .in = { rows, by, routes }, .nin = 3 });
    static const double twice[] = { 2, 6, 6, 2 };
    assert_value(by, shares, 4);
    assert_value(rows, spread, 8);
    assert_value(sum, twice, 4);
}

/* h[t] = relu(x[t] + h[t-1] / 2). The expected error of each state adds the
 * squares of x + u, of u, and of half the error of the state before. */
static void test_recurrent(void **state)
{
    (void)state;
    static const double x[] = { 1, 1, -4 }, half[] = { 0.5 };
    static const double states[] = { 1, 1.5, 0 };
    static const double off2[] = { 1, 0.25 + 0.25 + 2.25,
                                   0.75 * 0.75 + 2.75 / 4 + 3.25 * 3.25 };
    const int rows = input(3, 1, x);
    Node scan = { .op = OpRecurrent, .nin = 2, .act = ActRelu };
    double gate[3];
    scan.in[0] = rows;
    scan.in[1] = weight(1, 1, half);
    const int h = add(scan);
    assert_value(h, states, 3);
    gate_node(&in, h, states, gate);
    for (int t = 0; t < 3; t++)
        assert_true(fabs(gate[t] / F32_EPS - sqrt(off2[t])) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY_HAND(test_linear),        BY_HAND(test_join),
        BY_HAND(test_taps),          BY_HAND(test_linear_without_bias),
        BY_HAND(test_norm),          BY_HAND(test_clip),
        BY_HAND(test_embed),         BY_HAND(test_moves),
        BY_HAND(test_softmax),       BY_HAND(test_causal),
        BY_HAND(test_masked_values), BY_HAND(test_attention),
        BY_HAND(test_choose),        BY_HAND(test_experts),
        BY_HAND(test_recurrent),     cmocka_unit_test(test_g2p),
        cmocka_unit_test(test_aren),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
