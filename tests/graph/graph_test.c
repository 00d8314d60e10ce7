/* graph_test.c: tests shapes, the verifier, fused models, and dumps. The texts
 * of graphs are in tests/graph. */
#define _POSIX_C_SOURCE 200809L  /* fork, pipe, open_memstream */
#include "support/small_specs.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- shapes ---- */

static void expect_type(const Graph *g, const char *name, const char *want)
{
    int node = graph_find(g, name);
    assert_true(node >= 0);
    assert_string_equal(print_type(g->arena, g->nodes.at[node].type), want);
}

static void test_shapes(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec s = nth_spec(0);
    const Graph *g = build_graph(a, &s);
    expect_type(g, "source.ids", "i32[n]");
    expect_type(g, "source.input", "f32[n, 8]");
    expect_type(g, "encoder.0.self_attn.q.weight", "f32[6, 8]");
    expect_type(g, "encoder.0.self_attn.v.bias", "f32[8]");
    expect_type(g, "encoder.0.self_attn.scores", "f32[2, n, n]");
    expect_type(g, "encoder.output", "f32[n, 8]");
    expect_type(g, "decoder.1.cross_attn.k.append", "f32[2, n, 3]");
    expect_type(g, "decoder.1.self_attn.k.append", "f32[2, p+t, 3]");
    expect_type(g, "decoder.1.self_attn.weights", "f32[2, t, p+t]");
    expect_type(g, "decoder.1.cross_attn.weights", "f32[2, t, n]");
    expect_type(g, "decoder.0.ffn.w1", "f32[t, 12]");
    expect_type(g, "logits", "f32[r, 11]");
    s = nth_spec(7);
    g = build_graph(a, &s);
    expect_type(g, "query", "f32[n, 8]");
    expect_type(g, "value", "f32[m, 8]");
    expect_type(g, "weights", "f32[2, n, m]");
    expect_type(g, "output", "f32[n, 8]");
    arena_free(a);
}

/* Checks that both names refer to the same memory. */
static void test_finds_memory(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec s = nth_spec(0);
    Graph *g = build_graph(a, &s);
    assert_int_equal(graph_find(g, "encoder.output"),
                     graph_find(g, "encoder.0.norm2"));
    assert_int_equal(graph_find(g, "nothing"), -1);
    assert_int_equal(graph_uses(g, graph_find(g, "encoder.output")), 4);
    arena_free(a);
}

/* ---- the verifier dies ---- */

static Node *named(Graph *g, const char *name)
{
    return &g->nodes.at[graph_find(g, name)];
}

static void break_arity(Graph *g)
{
    named(g, "logits.matmul")->nin = 1;
}
static void break_order(Graph *g)
{
    named(g, "encoder.0.self_attn.q")->in[0] = g->nodes.n - 1;
}
static void break_absent(Graph *g)
{
    named(g, "logits.matmul")->in[1] = -1;
}
static void break_width(Graph *g)
{
    named(g, "encoder.0.ffn.w2.matmul")->in[1] =
        graph_find(g, "encoder.0.self_attn.q.weight");
}
static void break_type(Graph *g)
{
    named(g, "encoder.0.norm1")->type.dim[0].sym = SymT;
}
static void break_bound(Graph *g)
{
    named(g, "encoder.0.norm1")->type.dim[0].c++;
}
static void break_heads(Graph *g)
{
    named(g, "encoder.0.self_attn.q.heads")->heads = 4;
}
static void break_entry(Graph *g)
{
    named(g, "decoder.0.self_attn.residual")->in[0] =
        graph_find(g, "encoder.output");
}
static void break_constant(Graph *g)
{
    named(g, "logits.weight")->entry = EntryDecode;
}
static void break_recall(Graph *g)
{
    named(g, "decoder.0.cross_attn.k.recall")->in[0] =
        graph_find(g, "decoder.0.cross_attn.k.heads");
}
static void break_recall_part(Graph *g)
{
    named(g, "decoder.0.cross_attn.k.recall")->part = PartValue;
}
static void break_recall_layer(Graph *g)
{
    named(g, "decoder.1.cross_attn.k.recall")->in[0] =
        graph_find(g, "decoder.0.cross_attn.k.append");
}
static void break_name(Graph *g)
{
    named(g, "encoder.0.norm1")->name = "encoder.0.norm2";
}
static void break_output(Graph *g)
{
    Node n = *named(g, "logits");
    n.name = "more";
    graph_add(g, n);
}
static void break_select(Graph *g)
{
    named(g, "logits")->in[0] = graph_find(g, "logits.matmul");
    named(g, "logits")->type = named(g, "logits.matmul")->type;
    named(g, "logits.selected")->op = OpNop;
    graph_sweep(g);
}
static void break_sweep(Graph *g)
{
    named(g, "logits.matmul")->op = OpNop;
}

/* clang-format off */
static const struct {
    void (*damage)(Graph *g);
    const char *said;
} broken[] = {
    { break_arity,        "number of inputs" },
    { break_order,        "does not come earlier" },
    { break_absent,       "does not come earlier" },
    { break_width,        "the inputs do not fit" },
    { break_heads,        "the inputs do not fit" },
    { break_type,         "not that of its inputs" },
    { break_bound,        "not that of its inputs" },
    { break_entry,        "reads across entries" },
    { break_constant,     "constant in an entry" },
    { break_recall,       "reads across entries" },
    { break_recall_part,  "reads across entries" },
    { break_recall_layer, "reads across entries" },
    { break_name,         "two nodes are named encoder.0.norm2" },
    { break_output,       "not the end of its entry" },
    { break_select,       "rows are selected once" },
    { break_sweep,        "has no op" },
};
/* clang-format on */

/* Returns the status of check_graph() for a damaged graph, in a child process.
 */
static int check_in_child(void (*damage)(Graph *g), char *said, size_t size)
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        Spec s = nth_spec(0);
        Graph *g = build_graph(arena_new(), &s);
        damage(g);
        check_graph(g, "damage");
        _exit(ExitDone);
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(ends[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void no_damage(Graph *g)
{
    (void)g;
}

static void test_verifier_dies(void **state)
{
    (void)state;
    char said[4096];
    assert_int_equal(check_in_child(no_damage, said, sizeof said), ExitDone);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        int code = check_in_child(broken[i].damage, said, sizeof said);
        if (code != ExitInternal || !strstr(said, broken[i].said))
            fail_msg("'%s' expected, exit %d: %s", broken[i].said, code, said);
    }
}

/* ---- dumps ---- */

/* Calls f for each file of a folder with that ending; their number. */
static int each_file(const char *folder, const char *ending,
                     void (*f)(const char *path))
{
    int count = 0;
    char path[512];
    DIR *d = opendir(folder);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name), m = strlen(ending);
        if (n <= m || strcmp(e->d_name + n - m, ending) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        f(path);
        count++;
    }
    closedir(d);
    return count;
}

static void check_model(const char *path)
{
    Arena *a = arena_new();
    Spec *s = spec_load(a, path, NULL, 0);
    if (!s)
        fail_msg("%s does not load", path);
    Graph *g = build_graph(a, s);
    PassOptions o = { .require_fusion = true };
    if (!run_passes(g, &o, stderr))
        fail_msg("%s is not fused", path);
    arena_free(a);
}

static void test_models_are_fused(void **state)
{
    (void)state;
    assert_true(each_file("models", ".yaml", check_model) > 0);
    assert_true(each_file("models/table3", ".yaml", check_model) > 0);
    assert_true(each_file("models/g2p-en", ".yaml", check_model) > 0);
}

static void test_dot(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Spec s = nth_spec(0);
    const char *dot = print_graph(a, build_graph(a, &s), GraphDot);
    assert_ptr_equal(strstr(dot, "digraph \"small\" {\n"), dot);
    assert_non_null(strstr(dot, "subgraph cluster_encode {"));
    assert_non_null(strstr(dot, "subgraph cluster_decode {"));
    assert_non_null(strstr(dot, "[label=\"f32[2, n, 3]\", style=dashed]"));
    assert_non_null(strstr(dot, "split, heads 2\\nencoder.0.self_attn.q."));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_finds_memory),
        cmocka_unit_test(test_verifier_dies),
        cmocka_unit_test(test_models_are_fused),
        cmocka_unit_test(test_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
