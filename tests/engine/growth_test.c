/* growth_test.c: tests that twice the layers cost twice the work and twice the
 * memory, in each step from the spec to C and to packed weights. Work is
 * counted, not timed: the compiler's code is instrumented to call the function
 * below at each edge (Makefile, COUNTED); memory is what the arena
 * allocates. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "emit/emit.h"
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"

enum { Layers = 64, MostPercent = 210 };

static _Atomic uint64_t edges; /* threads pack the weights */

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    edges++;
}

/* Returns a spec in which each weight has a row of `names` for its layer. */
static const char *write_spec(const char *kind, int layers)
{
    static char text[1 << 20];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "attnc: 1\nname: deep\nkind: %s\nd_model: 32\nh: 2\nd_ff: 64\n"
        "N: %d\nmax_len: 4\nvocab:\n  size: 16\n%snames:\n",
        kind, layers,
        strcmp(kind, "encoder") ? "  tokens: {start: 1, end: 2}\n" : "");
    for (int i = 0; i < layers; i++)
        for (int decoder = 0; decoder < 2; decoder++)
            if (strncmp(kind, decoder ? "encoder" : "decoder", strlen(kind)))
                n += (size_t)snprintf(text + n, sizeof text - n,
                                      "  %s.%d: %c.%d\n",
                                      decoder ? "decoder" : "encoder", i,
                                      decoder ? 'd' : 'e', i);
    return scratch_file("deep.yaml", text, n);
}

typedef struct { /* a model being compiled */
    Engine e;
    EngineOptions options;
    bool keep_all, unfused;
} Deep;

static void make_graph(Deep *d)
{
    static const char *const skip[] = { "all" };
    d->options.march = "x86-64-v3";
    d->options.keep_all = d->keep_all;
    d->options.passes.skip = skip;
    d->options.passes.nskip = d->unfused;
    assert_int_equal(engine_graph(&d->e, &d->options, stderr), ExitDone);
}

static void print_it(Deep *d)
{
    assert_non_null(print_graph(d->e.arena, d->e.graph, GraphText));
    assert_non_null(print_graph(d->e.arena, d->e.graph, GraphDot));
}

static void make_plan(Deep *d)
{
    Engine *e = &d->e;
    Fault why;
    assert_true(target_find(&e->target, d->options.march, 0, NULL, &why));
    e->plan = plan_model(e->arena, e->graph, &e->target, e->choices,
                         d->keep_all);
}

static void print_plan(Deep *d)
{
    assert_non_null(plan_text(d->e.arena, d->e.plan));
}

static void emit_c(Deep *d)
{
    const EmitOptions o = { .mode = EmitAot };
    size_t n;
    assert_non_null(emit_model(d->e.arena, d->e.plan, &o, &n));
}

/* Emits only the text, because in keep_all each layer has its own. */
static void emit_jit(Deep *d)
{
    const EmitOptions o = { .mode = EmitJit };
    size_t n;
    assert_non_null(emit_model(d->e.arena, d->e.plan, &o, &n));
}

static void pack_weights(Deep *d)
{
    assert_int_equal(engine_weights(&d->e), ExitDone);
}

static void open_oracle(Deep *d)
{
    Weights w;
    weights_open(&w, &d->e, d->e.unfused);
    weights_close(&w);
}

static const struct {
    const char *name;
    void (*run)(Deep *d);
} steps[] = {
    { "graph", make_graph },
    { "its text", print_it },
    { "plan", make_plan },
    { "report", print_plan },
    { "C", emit_c },
    { "text for the JIT", emit_jit },
    { "weights", pack_weights },
    { "oracle", open_oracle },
};
enum { Steps = sizeof steps / sizeof *steps };

typedef struct {
    uint64_t edges[Steps], bytes;
} Cost;

static Cost measure(const char *kind, bool keep_all, bool unfused, int layers)
{
    Cost c;
    Deep d = { .keep_all = keep_all, .unfused = unfused };
    d.options.spec = write_spec(kind, layers);
    for (int i = 0; i < Steps; i++) {
        const uint64_t before = edges;
        steps[i].run(&d);
        c.edges[i] = edges - before;
    }
    c.bytes = arena_bytes(d.e.arena);
    engine_close(&d.e);
    return c;
}

static void hold(const char *kind, const char *step, const char *what,
                 uint64_t one, uint64_t two)
{
    if (getenv("ATTNC_FULL"))
        fprintf(stderr, "%-16s %-16s %-5s %10llu %5.2f\n", kind, step, what,
                (unsigned long long)one, (double)two / (double)(one + !one));
    if (100 * two > MostPercent * one)
        fail_msg("%s: %s: %d layers take %llu %s, twice as many %llu", kind,
                 step, Layers, (unsigned long long)one, what,
                 (unsigned long long)two);
}

static void test_twice_the_layers(void **state)
{
    static const struct {
        const char *kind;
        bool keep_all, unfused;
    } row[] = {
        { "encoder-decoder", false, false }, { "encoder", false, false },
        { "decoder", false, false },         { "encoder-decoder", false, true },
        { "encoder-decoder", true, false },
    };
    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        const char *kind = row[r].kind;
        const Cost one = measure(kind, row[r].keep_all, row[r].unfused, Layers);
        const Cost two = measure(kind, row[r].keep_all, row[r].unfused,
                                 2 * Layers);
        for (int i = 0; i < Steps; i++) {
            assert_true(one.edges[i] > 1000);
            hold(kind, steps[i].name, "edges", one.edges[i], two.edges[i]);
        }
        hold(kind, "all", "bytes", one.bytes, two.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice_the_layers),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
