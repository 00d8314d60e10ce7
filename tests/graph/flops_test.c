/* flops_test.c: tests the counts of `attnc plan` and `attnc bench` for each op
 * against numbers counted by hand: 5 rows of 6 columns, 7 keys. */
#include "graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { Rows = 5, Columns = 6, Keys = 7, Out = Rows * Columns };

static Arena *arena;
static Spec spec;
static Graph graph;

static int set_up(void **state)
{
    (void)state;
    arena = arena_new();
    spec = (Spec){ .name = "flops" };
    spec.side[SideDecoder].max_len = 8;
    graph = (Graph){ .arena = arena, .spec = &spec };
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
    n.name = n.word = arena_printf(arena, "node%d", graph.nodes.n);
    n.layer = -1;
    n.entry = op_info[n.op].op_class == ClassConst ? EntryNone : EntryDecode;
    return graph_add(&graph, n);
}

static int table(int64_t rows, int64_t columns)
{
    Type t = { ElemF32, columns ? 2 : 1, { { .c = rows }, { .c = columns } } };
    return add((Node){ .op = OpWeight, .type = t });
}

static int rows_in(void)
{
    Type t = { ElemF32, 2, { { .c = 8, .sym = SymT }, { .c = Columns } } };
    return add((Node){ .op = OpInput, .type = t, .member = BatchInput });
}

static void count(int64_t want, Node n)
{
    const int node = add(n);
    const int64_t got = node_flops(&graph, node, Rows, Keys);
    if (got != want)
        fail_msg("%s: %lld, not %lld", op_info[n.op].name, (long long)got,
                 (long long)want);
}

static void test_ops_on_elements(void **state)
{
    (void)state;
    const int x = rows_in(), b = table(Columns, 0);
    count(Out, (Node){ .op = OpBias, .in = { x, b }, .nin = 2 });
    count(Out, (Node){ .op = OpScale, .in = { x }, .nin = 1, .scale = 2 });
    count(Out, (Node){ .op = OpAdd, .in = { x, x }, .nin = 2 });
    count(Out, (Node){ .op = OpMul, .in = { x, x }, .nin = 2 });
    count(2 * Out, (Node){ .op = OpClip, .in = { x }, .nin = 1, .cap = 2 });
    count(Out, (Node){ .op = OpActivate, .in = { x }, .nin = 1 });
    /* the activation, and the product with the gate */
    count(2 * Out, (Node){ .op = OpGate, .in = { x, x }, .nin = 2 });
    /* x / cap, tanh, times cap */
    count(3 * Out, (Node){ .op = OpSoftcap, .in = { x }, .nin = 1, .cap = 2 });
}

static void test_norms(void **state)
{
    (void)state;
    const int x = rows_in(), w = table(Columns, 0), head = table(3, 0);
    count(8 * Out, (Node){ .op = OpNorm, .in = { x, w }, .nin = 2 });
    count(9 * Out, (Node){ .op = OpAddNorm, .in = { x, x, w }, .nin = 3 });
    count(8 * Out,
          (Node){ .op = OpHeadNorm, .in = { x, head }, .nin = 2, .heads = 2 });
    /* a square, its sum, and the product with 1 / length */
    count(3 * Out, (Node){ .op = OpL2Norm, .in = { x }, .nin = 1 });
}

static void test_products(void **state)
{
    (void)state;
    const int x = rows_in(), w = table(4, Columns), b = table(4, 0);
    const int y = add((Node){ .op = OpMatmul, .in = { x, w }, .nin = 2 });
    count(2 * Rows * 4 * Columns,
          (Node){ .op = OpMatmul, .in = { x, w }, .nin = 2 });
    count(2 * Rows * 4 * Columns + 3 * Rows * 4,
          (Node){ .op = OpLinear,
                  .in = { x, w, b, y },
                  .nin = 4,
                  .act = ActRelu,
                  .has_bias = true,
                  .has_residual = true });
}

static void count_sums(int64_t want, Node n)
{
    assert_int_equal(node_sums(&graph, add(n), Rows, 1, 1), want);
}

/* Tests that the sums of products are a part of the FLOPs: without the
 * epilogue; for a GRU, those of its 3 gates. */
static void test_sums(void **state)
{
    (void)state;
    const int x = rows_in(), w = table(6, Columns), b = table(6, 0);
    const int gates = add((Node){ .op = OpMatmul, .in = { x, w }, .nin = 2 });
    const Node gru = { .op = OpRecurrent,
                       .in = { gates, table(6, 2) },
                       .nin = 2,
                       .cell = CellGru };
    count_sums(2 * Rows * 6 * Columns, (Node){ .op = OpLinear,
                                               .in = { x, w, b },
                                               .nin = 3,
                                               .has_bias = true });
    count_sums(0, (Node){ .op = OpScale, .in = { x }, .nin = 1 });
    count_sums(2 * Rows * 2 * 6, gru);
    count(2 * Rows * 2 * 6 + 8 * Rows * 2, gru);
}

/* Tests 2 rotated columns of 3 in 2 heads: a pair costs 4 products and 2 sums.
 */
static void test_rotate(void **state)
{
    (void)state;
    const int x = rows_in(), angles = table(8, 2);
    count(Rows * 2 * 6, (Node){ .op = OpRotate,
                                .in = { x, angles },
                                .nin = 2,
                                .heads = 2,
                                .dims = 2 });
}

static void test_pools(void **state)
{
    (void)state;
    const int x = rows_in();
    static const int64_t want[] = { [PoolMean] = Out + Columns,
                                    [PoolMax] = Out,
                                    [PoolClass] = 0,
                                    [PoolLast] = 0 };
    for (int pool = PoolMean; pool <= PoolMax; pool++)
        count(want[pool], (Node){ .op = OpPool,
                                  .in = { x },
                                  .nin = 1,
                                  .pool = (PoolType)pool });
}

/* Tests 2 heads of 3 columns with 7 keys in the cache. */
static void test_attention(void **state)
{
    (void)state;
    const int x = rows_in();
    const int q = add(
        (Node){ .op = OpSplit, .in = { x }, .nin = 1, .heads = 2 });
    const int k = add((Node){ .op = OpAppend, .in = { q }, .nin = 1 });
    const int s = add((Node){ .op = OpScores, .in = { q, k }, .nin = 2 });
    const int pairs = 2 * Rows * Keys;
    count(2 * pairs * 3, (Node){ .op = OpScores, .in = { q, k }, .nin = 2 });
    count(pairs,
          (Node){
              .op = OpScoreBias, .in = { s }, .nin = 1, .bias = BiasAlibi });
    count(pairs, (Node){ .op = OpMask, .in = { s }, .nin = 1 });
    count(4 * pairs, (Node){ .op = OpSoftmax, .in = { s }, .nin = 1 });
    count(2 * pairs * 3, (Node){ .op = OpContext, .in = { s, k }, .nin = 2 });
    count(2 * pairs * (3 + 3), (Node){ .op = OpAttention,
                                       .in = { q, k, k },
                                       .nin = 3,
                                       .heads = 2,
                                       .heads_kv = 2 });
}

/* Tests 2 heads of 3 columns: 4 operations for each column of a visible pair.
 */
static void count_masked(Entry entry, MaskSpec mask, int64_t keys, int pairs)
{
    Type t = { ElemF32,
               3,
               { { .c = 2 },
                 { .c = 8, .sym = entry == EntryDecode ? SymT : SymN },
                 { .c = 3 } } };
    const int q = add((Node){ .op = OpInput, .type = t });
    t.dim[1].sym = entry == EntryDecode ? SymPT : SymN;
    const int k = add((Node){ .op = OpInput, .type = t });
    MaskSpec *m = arena_alloc(arena, sizeof *m);
    *m = mask;
    const int node = add((Node){ .op = OpAttention,
                                 .in = { q, k, k },
                                 .nin = 3,
                                 .heads = 2,
                                 .heads_kv = 2,
                                 .mask = m });
    graph.nodes.at[node].entry = entry;
    assert_int_equal(node_pairs(&graph, node, Rows, keys), pairs);
    assert_int_equal(node_flops(&graph, node, Rows, keys), 2 * 4 * 3 * pairs);
    assert_int_equal(node_sums(&graph, node, 1, 1, 1), 2 * 4 * 3);
}

/* Tests the keys of each row: rows 0 to 4 of an encoder, 2 to 6 of a decoder.
 */
static void test_masks(void **state)
{
    static const unsigned char file[5 * 5] = { 1, 0, 0, 0, 1, 0, 0, 0, 0,
                                               0, 1, 1, 1, 1, 1, 0, 1, 0,
                                               1, 0, 0, 0, 0, 0, 1 };
    const MaskSpec causal = { .causal = true }, window = { .window = 2 },
                   past = { .causal = true, .window = 3 },
                   block = { .block = 2 }, blocks = { .block = 4 },
                   drawn = { .file = file, .file_rows = 5, .file_columns = 5 };
    (void)state;
    count_masked(EntryEncode, causal, Rows, 1 + 2 + 3 + 4 + 5);
    count_masked(EntryEncode, window, Rows, 2 + 3 + 3 + 3 + 2);
    count_masked(EntryEncode, past, Rows, 1 + 2 + 3 + 3 + 3);
    count_masked(EntryEncode, block, Rows, 2 + 2 + 2 + 2 + 1);
    count_masked(EntryEncode, drawn, Rows, 2 + 0 + 5 + 2 + 1);
    count_masked(EntryDecode, causal, Keys, 3 + 4 + 5 + 6 + 7);
    count_masked(EntryDecode, window, Keys, 3 + 3 + 3 + 3 + 2);
    count_masked(EntryDecode, past, Keys, 3 + 3 + 3 + 3 + 3);
    count_masked(EntryDecode, blocks, Keys, 4 + 4 + 3 + 3 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ops_on_elements, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_norms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rotate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pools, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attention, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_masks, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
