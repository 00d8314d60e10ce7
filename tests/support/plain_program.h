/* plain_program.h: compiles the plain C of a spec as a library, and checks its
 * results for one sequence. Included after cmocka's headers and
 * support/scratch.h. */
#ifndef ATTNC_PLAIN_PROGRAM_H
#define ATTNC_PLAIN_PROGRAM_H

#include <dlfcn.h>

#include "emit/emit.h"
#include "oracle/trial.h"

typedef struct {
    uint64_t seed;    /* of compilers and their levels */
    const char *text; /* of the spec */
    Arena *arena;
    Engine e;     /* of the fast C, by JIT */
    Engine plain; /* its plan, without merged products */
    const Sample *sample;
} PlainCase;

static inline bool plain_case_reads(const PlainCase *c, BatchMember m)
{
    bool found = false;
    for (int i = 0; i < c->plain.graph->nodes.n; i++) {
        const Node *n = &c->plain.graph->nodes.at[i];
        found |= n->op == OpInput && n->member == m;
    }
    return found;
}

static inline bool plain_case_prefix(const PlainCase *c, Side side)
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
static inline bool plain_takes_rows(const PlainCase *c)
{
    return plain_case_prefix(c, SideDecoder)
        && c->plain.spec->side[SideDecoder].max_len > 1;
}

/* Returns the call of encode(); "" if there is none. */
static inline const char *plain_encode_call(const PlainCase *c)
{
    const Spec *s = c->plain.spec;
    const char *name = c->plain.plan->prefix;
    const char *prefix = plain_case_prefix(c, SideEncoder) ? ", prefix" : "";
    if (s->kind == KindDecoder)
        return "";
    if (s->kind == KindAttention)
        return arena_printf(
            c->arena, "y = %s_attention(w, s, input, key, value, n, m%s);",
            name, prefix);
    return arena_printf(c->arena, "%s%s_encode(w, s, %s%s, n%s);",
                        s->kind == KindEncoder ? "y = " : "", name,
                        plain_case_reads(c, BatchInput) ? "input" : "ids",
                        plain_case_reads(c, BatchTypes) ? ", types" : "",
                        prefix);
}

/* Returns the call of decode() for row i and perhaps later ones. */
static inline const char *plain_decode_call(const PlainCase *c)
{
    const Spec *s = c->plain.spec;
    const char *name = c->plain.plan->prefix;
    const bool types = s->kind == KindDecoder
                    && plain_case_reads(c, BatchTypes);
    if (s->kind != KindDecoder && s->kind != KindEncoderDecoder)
        return "";
    if (plain_takes_rows(c))
        return arena_printf(c->arena,
                            "rows = i == 0 && lead > 1 ? lead : 1;\n"
                            "y = %s_decode(w, s, target + i%s, rows, i, lead);",
                            name, types ? ", types + i" : "");
    return arena_printf(c->arena, "y = %s_decode(w, s, target[i]%s, i%s);",
                        name, types ? ", types[i]" : "",
                        plain_case_prefix(c, SideDecoder) ? ", lead" : "");
}

/* Returns the code that calls the model; it is text because it needs the
 * model's types. */
static inline const char *plain_caller(const PlainCase *c)
{
    const char *decode = plain_decode_call(c);
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
        plain_encode_call(c), *decode != 0, decode);
}

typedef void PlainRun(const void *w, void *s, const int *ids,
                      const float *input, const int *types, int n,
                      const int *target, const float *key, const float *value,
                      int m, int prefix, int lead, int columns, int results,
                      float *out);

typedef struct {
    void *library, *state, *weights;
    PlainRun *run;
    size_t state_bytes;
} PlainProgram;

static inline void plain_compile(const PlainCase *c, const char *text, size_t n)
{
    static const char *const compilers[] = { "gcc", "clang", "clang-19" };
    const char *path = scratch_file("plain.c", text, n);
    const char *only = getenv("ATTNC_CC");
    for (int i = 0; i < 3; i++) {
        const char *name = compilers[(c->seed + (size_t)i) % 3];
        const char *cc = find_program(c->arena, only ? only : name);
        Spawned out;
        Fault why;
        const char *const argv[] = { cc,
                                     "-std=c99",
                                     "-Wall",
                                     "-Wextra",
                                     "-Werror",
                                     c->seed % 4 ? "-O0" : "-O2",
                                     "-shared",
                                     "-fPIC",
                                     "-DATTNC_MAIN",
                                     "-o",
                                     scratch_path("plain.so"),
                                     path,
                                     "-lm",
                                     NULL };
        if (!cc)
            continue;
        if (!spawn(&out, argv, "", 0, 60, &why))
            fail_msg("seed %llu: %s\n%s%s", (unsigned long long)c->seed,
                     why.text, out.tail, c->text);
        return;
    }
    fail_msg("no C compiler");
}

static inline void *plain_symbol(const PlainProgram *p, const char *name)
{
    void *s = dlsym(p->library, name);
    assert_non_null(s);
    return s;
}

static inline PlainProgram plain_open(PlainCase *c)
{
    size_t n;
    PlainProgram p = { 0 };
    const EmitOptions o = { .command = "attnc compile --plain",
                            .file = "model" };
    const char *text = emit_plain(c->arena, c->plain.plan, &o, &n);
    text = arena_printf(c->arena, "%s%s", text, plain_caller(c));
    plain_compile(c, text, strlen(text));
    p.library = dlopen(scratch_path("plain.so"), RTLD_NOW | RTLD_LOCAL);
    if (!p.library)
        fail_msg("%s", dlerror());
    size_t (*size)(void);
    *(void **)&size = plain_symbol(&p, "weights_size");
    const size_t bytes = size();
    if (c->plain.plan->pack.bytes > 0)
        assert_int_equal(plain_image(NULL, c->arena, c->plain.plan, NULL),
                         bytes);
    p.weights = arena_alloc(c->arena, bytes);
    plain_image(p.weights, c->arena, c->plain.plan, c->plain.packed);
    *(void **)&size = plain_symbol(&p, "state_size");
    p.state_bytes = size();
    p.state = arena_alloc(c->arena, p.state_bytes);
    *(void **)&p.run = plain_symbol(&p, "run");
    return p;
}

static inline const float *plain_rows_at(const Sample *x, int k, int side,
                                         int64_t s, int64_t columns)
{
    return x->rows[k] ? x->rows[k] + x->start[side][s] * columns : NULL;
}

/* Checks the results of sequence i alone. */
static inline const float *plain_run(const PlainCase *c, const PlainProgram *p,
                                     int64_t i, int64_t rows)
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
           plain_rows_at(x, 0, 0, i, width),
           x->types ? x->types + x->start[side][i] : NULL, (int)n[0],
           x->ids[1] ? x->ids[1] + x->start[1][i] : NULL,
           plain_rows_at(x, 1, 1, i, width), plain_rows_at(x, 2, 1, i, width),
           (int)n[1], (int)sample_prefix(x, attention, i),
           c->e.backend.model->decode ? (int)sample_prefix(x, 1, i) : 0,
           (int)columns, (int)rows, out);
    return out;
}

/* If decode() reads several rows at once, it returns only the last one's
 * logits. */
static inline void plain_compare(const PlainCase *c, const PlainProgram *p,
                                 const float *all)
{
    const Sample *x = c->sample;
    const Spec *s = c->plain.spec;
    const int64_t columns = result_columns(s);
    for (int64_t i = 0; i < x->sequences; i++) {
        const int64_t rows = result_rows(s, sample_one(c->arena, s, x, i));
        const int64_t lead = plain_takes_rows(c) ? sample_prefix(x, 1, i) : 0;
        const float *want = all + result_first(s, x, i) * columns;
        const float *out = plain_run(c, p, i, rows);
        for (int64_t k = (lead > 1 ? lead - 1 : 0) * columns;
             k < rows * columns; k++)
            if (memcmp(out + k, want + k, sizeof *out)) {
                print_error("seed %llu: number %lld of sequence %lld (%lld "
                            "rows): %.9g, plain %.9g\n%s",
                            (unsigned long long)c->seed, (long long)k,
                            (long long)i, (long long)rows, (double)want[k],
                            (double)out[k], c->text);
                fail();
            }
    }
}

/* Fails unless plain C gives the bits of the fast C, of the JIT, for a spec of
 * these options: every row of every sequence.                                */
static inline void plain_same_bits(Arena *a, const char *text, EngineOptions o)
{
    static const int64_t source[] = { 1, 13, 1000, 2, 65 },
                         target[] = { 17, 1, 64, 1000, 3 };
    PlainCase c = { .seed = o.seed, .text = text, .arena = a };
    Trial t = { 0 };
    o.backend = "jit";
    assert_int_equal(engine_open(&c.e, &o), ExitDone);
    c.sample = sample_random(a, c.e.spec, o.seed, 5, source, target);
    const int64_t size = result_rows(c.e.spec, c.sample)
                       * result_columns(c.e.spec);
    float *want = arena_alloc(a, (size_t)size * sizeof *want);
    trial_run(&t, &c.e, c.sample, 0, want);
    o.passes.skip = plain_skip;
    o.passes.nskip = 1;
    o.march = "generic";
    assert_int_equal(engine_plan(&c.plain, &o), ExitDone);
    assert_int_equal(engine_weights(&c.plain), ExitDone);
    const PlainProgram p = plain_open(&c);
    plain_compare(&c, &p, want);
    dlclose(p.library);
    trial_free(&t);
    engine_close(&c.plain);
    engine_close(&c.e);
}

#endif
