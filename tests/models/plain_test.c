/* plain_test.c: plain C of random specs gives the bits of the fast C: every row
 * of every sequence, in memory full of NaN. It compiles by any C99 compiler
 * without a warning.
 *
 *     plain_test [COUNT [FIRST]]
 *
 * COUNT specs of the paper's form and as many of any form; without it
 * ATTNC_SPECS, or with ATTNC_FULL many. The processors share the specs.     */
#define _GNU_SOURCE /* mkdtemp */
#include "emit/emit.h"
#include "oracle/trial.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/form_files.h"
#include "support/scratch.h"

static long count = 16, first = 1;

typedef struct {
    uint64_t seed;
    bool form;
    Arena *arena;
    const char *path;
    Engine e;     /* of the fast C, by JIT */
    Engine plain; /* its plan, without merged products */
    const Sample *sample;
    float *want;
} Case;

static const char *text_of(const Case *c)
{
    return c->form ? random_form(c->arena, c->seed).r.text
                   : random_spec(c->arena, c->seed);
}

static void write_spec(Case *c)
{
    const char *text = text_of(c);
    c->path = c->form ? write_form(c->arena, scratch, c->seed)
                      : scratch_file("paper.yaml", text, strlen(text));
}

/* ---------------------------------------------------- the plain program */

static bool reads(const Case *c, BatchMember m)
{
    bool found = false;
    for (int i = 0; i < c->plain.graph->nodes.n; i++) {
        const Node *n = &c->plain.graph->nodes.at[i];
        found |= n->op == OpInput && n->member == m;
    }
    return found;
}

static bool has_prefix(const Case *c, Side side)
{
    for (int i = 0; i < c->plain.graph->nodes.n; i++) {
        const Node *n = &c->plain.graph->nodes.at[i];
        if (n->entry == (side == SideDecoder ? EntryDecode : EntryEncode)
            && n->mask && n->mask->prefix)
            return true;
    }
    return false;
}

/* Does decode() take several rows at once? */
static bool takes_rows(const Case *c)
{
    return has_prefix(c, SideDecoder)
        && c->plain.spec->side[SideDecoder].max_len > 1;
}

/* The call of encode(); "": there is none. */
static const char *encode_call(const Case *c)
{
    const Spec *s = c->plain.spec;
    const char *name = c->plain.plan->prefix;
    const char *prefix = has_prefix(c, SideEncoder) ? ", prefix" : "";
    if (s->kind == KindDecoder)
        return "";
    if (s->kind == KindAttention)
        return arena_printf(
            c->arena, "y = %s_attention(w, s, input, key, value, n, m%s);",
            name, prefix);
    return arena_printf(c->arena, "%s%s_encode(w, s, %s%s, n%s);",
                        s->kind == KindEncoder ? "y = " : "", name,
                        reads(c, BatchInput) ? "input" : "ids",
                        reads(c, BatchTypes) ? ", types" : "", prefix);
}

/* That of decode(), for row i and perhaps others. */
static const char *decode_call(const Case *c)
{
    const Spec *s = c->plain.spec;
    const char *name = c->plain.plan->prefix;
    const bool types = s->kind == KindDecoder && reads(c, BatchTypes);
    if (s->kind != KindDecoder && s->kind != KindEncoderDecoder)
        return "";
    if (takes_rows(c))
        return arena_printf(c->arena,
                            "rows = i == 0 && lead > 1 ? lead : 1;\n"
                            "y = %s_decode(w, s, target + i%s, rows, i, lead);",
                            name, types ? ", types + i" : "");
    return arena_printf(c->arena, "y = %s_decode(w, s, target[i]%s, i%s);",
                        name, types ? ", types[i]" : "",
                        has_prefix(c, SideDecoder) ? ", lead" : "");
}

/* What calls the model, which text alone can do: it sees its types. */
static const char *caller(const Case *c)
{
    const char *decode = decode_call(c);
    return arena_printf(
        c->arena,
        "#include <string.h>\n"
        "#define RUN void run(const struct weights *w, struct state *s,\\\n"
        "    const int *ids, const float *input, const int *types, int n,\\\n"
        "    const int *target, const float *key, const float *value, int m,\\\n"
        "    int prefix, int lead, int columns, int results, float *out)\n"
        "size_t weights_size(void);\n"
        "size_t state_size(void);\n"
        "RUN;\n"
        "size_t weights_size(void) { return sizeof(struct weights); }\n"
        "size_t state_size(void) { return sizeof(struct state); }\n"
        "RUN\n"
        "{\n"
        "    const float *y = NULL;\n"
        "    int rows = 1;\n"
        "    (void)w, (void)ids, (void)input, (void)types, (void)n, (void)lead;\n"
        "    (void)target, (void)key, (void)value, (void)m, (void)prefix;\n"
        "    %s\n"
        "    if (y)\n"
        "        memcpy(out, y, sizeof(float) * (size_t)(results * columns));\n"
        "    for (int i = 0; i < m && %d; i += rows) {\n"
        "        %s\n"
        "        memcpy(out + (i + rows - 1) * columns, y,\n"
        "               sizeof(float) * (size_t)columns);\n"
        "    }\n"
        "}\n",
        encode_call(c), *decode != 0, decode);
}

typedef void Run(const void *w, void *s, const int *ids, const float *input,
                 const int *types, int n, const int *target, const float *key,
                 const float *value, int m, int prefix, int lead, int columns,
                 int results, float *out);

typedef struct {
    void *library, *state, *weights;
    Run *run;
    size_t state_bytes;
} Program;

static void compile(const Case *c, const char *text, size_t n)
{
    static const char *const compilers[] = { "gcc", "clang", "clang-19" };
    const char *path = scratch_file("plain.c", text, n);
    for (int i = 0; i < 3; i++) {
        const char *cc = find_program(c->arena,
                                      compilers[(c->seed + (size_t)i) % 3]);
        Spawned out;
        Fault why;
        const char *const argv[] = { cc,        "-std=c99",
                                     "-Wall",   "-Wextra",
                                     "-Werror", c->seed % 4 ? "-O0" : "-O2",
                                     "-shared", "-fPIC",
                                     "-o",      scratch_path("plain.so"),
                                     path,      "-lm",
                                     NULL };
        if (!cc)
            continue;
        if (!spawn(&out, argv, "", 0, 60, &why))
            fail_msg("seed %llu: %s\n%s%s", (unsigned long long)c->seed,
                     why.text, out.tail, text_of(c));
        return;
    }
    fail_msg("no C compiler");
}

static void *symbol(const Program *p, const char *name)
{
    void *s = dlsym(p->library, name);
    assert_non_null(s);
    return s;
}

static Program open_program(Case *c)
{
    size_t n;
    Program p = { 0 };
    const EmitOptions o = { .command = "attnc compile --plain",
                            .file = "model",
                            .freestanding = true };
    const char *text = emit_plain(c->arena, c->plain.plan, &o, &n);
    text = arena_printf(c->arena, "%s%s", text, caller(c));
    compile(c, text, strlen(text));
    p.library = dlopen(scratch_path("plain.so"), RTLD_NOW | RTLD_LOCAL);
    if (!p.library)
        fail_msg("%s", dlerror());
    size_t (*size)(void);
    *(void **)&size = symbol(&p, "weights_size");
    const size_t bytes = size();
    if (c->plain.plan->pack.bytes > 0)
        assert_int_equal(plain_image(NULL, c->arena, c->plain.plan, NULL),
                         bytes);
    p.weights = arena_alloc(c->arena, bytes);
    plain_image(p.weights, c->arena, c->plain.plan, c->plain.packed);
    *(void **)&size = symbol(&p, "state_size");
    p.state_bytes = size();
    p.state = arena_alloc(c->arena, p.state_bytes);
    *(void **)&p.run = symbol(&p, "run");
    return p;
}

/* ----------------------------------------------------------- the bits */

static const float *rows_at(const Sample *x, int k, int side, int64_t s,
                            int64_t columns)
{
    return x->rows[k] ? x->rows[k] + x->start[side][s] * columns : NULL;
}

/* Results of sequence i alone. */
static const float *run_sequence(const Case *c, const Program *p, int64_t i,
                                 int64_t rows)
{
    const Sample *x = c->sample;
    const Spec *s = c->plain.spec;
    const int64_t columns = result_columns(s);
    const bool attention = s->kind == KindAttention;
    const int64_t width = attention ? s->d_model : s->input_width;
    const int side = input_side(s);
    int64_t n[2] = { 0 };
    float *out = arena_alloc(c->arena, (size_t)(rows * columns) * sizeof *out);
    for (int k = 0; k < 2; k++)
        n[k] = x->start[k] ? x->start[k][i + 1] - x->start[k][i] : 0;
    memset(p->state, 0xff, p->state_bytes);
    p->run(p->weights, p->state, x->ids[0] ? x->ids[0] + x->start[0][i] : NULL,
           rows_at(x, 0, 0, i, width),
           x->types ? x->types + x->start[side][i] : NULL, (int)n[0],
           x->ids[1] ? x->ids[1] + x->start[1][i] : NULL,
           rows_at(x, 1, 1, i, width), rows_at(x, 2, 1, i, width), (int)n[1],
           (int)sample_prefix(x, attention, i),
           c->e.backend.model->decode ? (int)sample_prefix(x, 1, i) : 0,
           (int)columns, (int)rows, out);
    return out;
}

/* Of rows that decode() takes at once it gives the last one's logits. */
static void compare(const Case *c, const Program *p)
{
    const Sample *x = c->sample;
    const Spec *s = c->plain.spec;
    const int64_t columns = result_columns(s);
    for (int64_t i = 0; i < x->sequences; i++) {
        const int64_t rows = result_rows(s, sample_one(c->arena, s, x, i));
        const int64_t lead = takes_rows(c) ? sample_prefix(x, 1, i) : 0;
        const float *want = c->want + result_first(s, x, i) * columns;
        const float *out = run_sequence(c, p, i, rows);
        for (int64_t k = (lead > 1 ? lead - 1 : 0) * columns;
             k < rows * columns; k++)
            if (memcmp(out + k, want + k, sizeof *out)) {
                print_error("seed %llu: number %lld of sequence %lld (%lld "
                            "rows): %.9g, plain %.9g\n%s",
                            (unsigned long long)c->seed, (long long)k,
                            (long long)i, (long long)rows, (double)want[k],
                            (double)out[k], text_of(c));
                fail();
            }
    }
}

/* ------------------------------------------------------------- a case */

static void run_case(uint64_t seed, bool form)
{
    static const int64_t source[] = { 1, 13, 1000, 2, 65 },
                         target[] = { 17, 1, 64, 1000, 3 };
    Case c = { .seed = seed, .form = form, .arena = arena_new() };
    Trial t = { 0 };
    write_spec(&c);
    EngineOptions o = { .spec = c.path, .seed = seed, .backend = "jit" };
    assert_int_equal(engine_open(&c.e, &o), ExitDone);
    c.sample = sample_random(c.arena, c.e.spec, seed, 5, source, target);
    const int64_t size = result_rows(c.e.spec, c.sample)
                       * result_columns(c.e.spec);
    c.want = arena_alloc(c.arena, (size_t)size * sizeof *c.want);
    trial_run(&t, &c.e, c.sample, 0, c.want);
    o.passes.skip = plain_skip;
    o.passes.nskip = 1;
    o.march = "generic";
    assert_int_equal(engine_plan(&c.plain, &o), ExitDone);
    assert_int_equal(engine_weights(&c.plain), ExitDone);
    const Program p = open_program(&c);
    compare(&c, &p);
    dlclose(p.library);
    trial_free(&t);
    engine_close(&c.plain);
    engine_close(&c.e);
    arena_free(c.arena);
}

static void run_share(long from, long of)
{
    for (long i = from; i < count; i += of) {
        run_case((uint64_t)(first + i), false);
        run_case((uint64_t)(first + i), true);
    }
}

static void test_random_specs(void **state)
{
    (void)state;
    assert_true(count > 0);
    by_processors(run_share);
}

int main(int argc, char **argv)
{
    if (getenv("ATTNC_FULL"))
        count = 400;
    else if (getenv("ATTNC_SPECS"))
        count = strtol(getenv("ATTNC_SPECS"), NULL, 10);
    if (argc > 1)
        count = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first = strtol(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_specs, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
