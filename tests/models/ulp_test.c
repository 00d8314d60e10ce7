/* ulp_test.c: tests random specs of three layers; the second differs from
 * the others in one number, by one ulp of a float. No gate can detect an
 * error of one ulp, so the code itself is compared: each step of a layer has
 * the constants, and the numbers in its weights, that it has in a model whose
 * layers are all like it. The JIT's values are also held to the oracle's gates.
 * The numbers are those of the table of fields.
 *
 * ATTNC_SPECS sets the number of specs; ATTNC_FULL multiplies it by ten. The
 * processors share them. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#define READS_LAYERS

#include "base/strings.h"
#include "emit/emit.h"
#include "oracle/verify.h"
#include "spec/fields/fields.h"
#include <cmocka.h>

#include "support/form_files.h"
#include "support/scratch.h"
#include "support/stderr_capture.h"

static long count = 36;

typedef struct {
    const char *name, *from, *to; /* of the body */
    int slot;                     /* -1: no step's */
} Definition;

typedef struct { /* a model and its C text */
    Engine e;
    Arena *a;
    Timers timers;
    VEC(Definition) definition;
    Index names;
} Made;

typedef struct {
    Arena *a;
    const char *path; /* of the form */
    uint64_t seed;
    const Field *field;
    const char *first, *second; /* rows of layers */
} Case;

/* ---- the C of a model ---- */

static void tick(int64_t slot)
{
    (void)slot;
}

/* Returns the word that ends at `end`. */
static const char *word_before(Arena *a, const char *from, const char *end)
{
    const char *at = end;
    while (at > from && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
        at--;
    return arena_strndup(a, at, (size_t)(end - at));
}

/* Finds all definitions, which end with a brace in the first column. */
static void read_definitions(Made *m, const char *text)
{
    const char *head = text;
    for (const char *at = text; (at = strstr(at, "\n{\n")) != NULL;) {
        const char *end = strstr(at, "\n}"), *paren;
        for (head = at; head > text && head[-1] != '\n'; head--) {
        }
        while (*head == ' ' && head > text + 1) /* arguments on more lines */
            for (head--; head > text && head[-1] != '\n'; head--) {
            }
        paren = memchr(head, '(', (size_t)(at - head));
        assert_non_null(end);
        if (paren) {
            const char *slot = strstr(at, "SLOT = ");
            const Definition d = { .name = word_before(m->a, head, paren),
                                   .from = at,
                                   .to = end,
                                   .slot = slot && slot < end
                                             ? (int)strtol(slot + 7, NULL, 10)
                                             : -1 };
            index_add(m->a, &m->names, d.name, m->definition.n);
            vec_push(m->a, &m->definition, d);
        }
        at = end;
    }
}

/* Adds the float constants of a definition and of the functions it calls. */
static void add_constants(const Made *m, int of, bool *seen, Buffer *to)
{
    const Definition *d = &m->definition.at[of];
    seen[of] = true;
    for (const char *at = d->from; at < d->to;) {
        const char *from = at;
        while (isalnum((unsigned char)*at) || *at == '_' || *at == '.'
               || ((*at == '-' || *at == '+') && at > from && at[-1] == 'p'))
            at++;
        const char *word = arena_strndup(m->a, from, (size_t)(at - from));
        const int callee = index_find(&m->names, word);
        if (isdigit((unsigned char)*word) && strchr(word, 'p'))
            buffer_printf(to, " %s", word);
        else if (callee >= 0 && *at == '(' && !seen[callee])
            add_constants(m, callee, seen, to);
        at += at == from;
    }
}

/* ---- the numbers of a step ---- */

/* Adds the weights that are packed with a block. */
static void add_packed(const Made *m, int block, Buffer *to)
{
    const PackList *p = &m->e.plan->pack;
    for (int64_t i = 0; block >= 0 && i < p->count; i++) {
        const PackItem *it = &p->item[i];
        if (it->at != m->e.plan->block.at[block].at)
            continue;
        buffer_printf(to, " [%a %a %a", (double)it->scale, it->base,
                      it->factor);
        for (int64_t k = 0; it->rate && k < it->k / 2; k++)
            buffer_printf(to, " %a", it->rate[k]);
        buffer_printf(to, "]");
    }
}

/* Adds all numbers that a step of the plan's order computes with. */
static const char *numbers_of(const Made *m, int step)
{
    const Plan *p = m->e.plan;
    const int node = p->order.at[step];
    const Node *n = node_at(p, node);
    Buffer to = { .arena = m->a };
    bool *seen = arena_alloc(m->a, (size_t)m->definition.n * sizeof *seen);
    buffer_printf(&to, "%s", "");
    for (int i = 0; i < m->definition.n; i++)
        if (m->definition.at[i].slot == m->timers.slot[step] - 1)
            add_constants(m, i, seen, &to);
    for (int k = 0; k < n->nin; k++)
        for (int l = PackPanels; l <= PackDistance && n->in[k] >= 0; l++)
            add_packed(m, plan_block(p, n->in[k], (PackLayout)l), &to);
    if (n->op == OpAttention && n->bias != BiasNone)
        add_packed(m, plan_bias_block(p, node), &to);
    return to.at;
}

/* ---- models ---- */

/* Returns false if the form does not allow these layers. */
static bool make_model(const Case *c, Made *m, const char *layers)
{
    const char *sets[] = { "N=3", arena_printf(c->a, "layers=%s", layers) };
    const EngineOptions o = {
        .spec = c->path, .seed = c->seed, .sets = sets, .nsets = 2
    };
    *m = (Made){ .a = c->a, .timers.tick = tick };
    const EmitOptions emit = { .mode = EmitModel, .timers = &m->timers };
    size_t n;
    capture_stderr();
    const bool good = engine_plan(&m->e, &o) == ExitDone;
    captured_stderr(c->a);
    if (good)
        read_definitions(m, emit_model(c->a, m->e.plan, &emit, &n));
    else
        engine_close(&m->e);
    return good;
}

static bool same_steps(const Plan *a, const Plan *b)
{
    bool same = a->order.n == b->order.n;
    for (int i = 0; same && i < a->order.n; i++) {
        const Node *x = node_at(a, a->order.at[i]);
        const Node *y = node_at(b, b->order.at[i]);
        same = x->op == y->op && x->layer == y->layer && x->stack == y->stack;
    }
    return same;
}

/* Checks that each step of `mixed` has the numbers of its own layer. Returns
 * true if the numbers of any layer contain the field. */
static bool compare(const Case *c, Made m[3])
{
    const Plan *p = m[2].e.plan;
    bool shown = false;
    if (!same_steps(m[0].e.plan, m[1].e.plan) || !same_steps(m[0].e.plan, p))
        return false;
    for (int i = 0; i < p->order.n; i++) {
        const int layer = node_at(p, p->order.at[i])->layer;
        const char *all[3];
        for (int k = 0; k < 3; k++)
            all[k] = numbers_of(&m[k], i);
        if (layer >= 0 && strcmp(all[2], all[layer == 1]) != 0)
            fail_msg("seed %llu, %s: step %s of layer %d has\n%s\nfor\n%s\n%s",
                     (unsigned long long)c->seed, c->field->key,
                     step_name(p, p->order.at[i]), layer, all[2],
                     all[layer == 1], random_form(c->a, c->seed).r.text);
        shown |= layer >= 0 && strcmp(all[0], all[1]) != 0;
    }
    return shown;
}

/* ---- the oracle ---- */

static void check_values(const Case *c, const char *layers)
{
    static const int64_t source[] = { 5, 1, 70 }, target[] = { 3, 66, 1 };
    const char *sets[] = { "N=3", arena_printf(c->a, "layers=%s", layers) };
    const EngineOptions o = { .spec = c->path,
                              .seed = c->seed,
                              .sets = sets,
                              .nsets = 2,
                              .backend = "jit",
                              .keep_all = true };
    Engine e;
    Weights w;
    Trial t = { 0 };
    OpResults r = { 0 };
    capture_stderr();
    const int opened = engine_open(&e, &o);
    captured_stderr(c->a);
    assert_int_equal(opened, ExitDone);
    weights_open(&w, &e, e.graph);
    const Sample *x = sample_random(c->a, e.spec, c->seed, 3, source, target);
    const int64_t n = result_rows(e.spec, x) * result_columns(e.spec);
    float *out = arena_alloc(c->a, (size_t)n * sizeof *out);
    trial_run(&t, &e, x, 0, out);
    for (int64_t i = 0; i < x->sequences; i++)
        verify_ops(&r, &w, &t, i, out);
    for (int op = 0; op < OpCount; op++)
        if (r.op[op].c.failed)
            fail_msg("seed %llu, %s: %s at %s: %.9g for %.9g",
                     (unsigned long long)c->seed, c->field->key,
                     op_info[op].name, r.op[op].worst, r.op[op].c.got,
                     r.op[op].c.want);
    trial_free(&t);
    weights_close(&w);
    engine_close(&e);
}

/* ---- cases ---- */

/* Returns a row of layers with the field's number `up` ulps above the form's.
 */
static const char *row(const Case *c, const Spec *s, int up)
{
    const Field *f = c->field;
    const SpecReals *list = (const void *)((const char *)s + f->at);
    double x = *(const double *)((const char *)s + f->at);
    const char *others = "";
    if (f->type == FieldReals) {
        for (int64_t i = 0; i + 1 < list->n; i++)
            others = arena_printf(c->a, "%s%s, ", others,
                                  number_text(c->a, list->at[i]));
        x = list->n ? list->at[list->n - 1] : NAN;
    }
    if (!(x >= f->least && x <= f->most) || !(x > 0))
        x = fmin(fmax(0.7, f->least), f->most);
    x = (double)(float)x;
    if (up)
        x = (double)nextafterf((float)x, x < f->most ? INFINITY : 0);
    return f->type == FieldReals
             ? arena_printf(c->a, "{%s: [%s%s]}", f->key, others,
                            number_text(c->a, x))
             : arena_printf(c->a, "{%s: %s}", f->key, number_text(c->a, x));
}

/* Returns whether the form shows the field. */
static bool run_field(Case *c, const Spec *s)
{
    Made m[3];
    bool good = true;
    const char *first = row(c, s, 0), *second = row(c, s, 1);
    const char *layers[] = {
        arena_printf(c->a, "[%s]", first), arena_printf(c->a, "[%s]", second),
        arena_printf(c->a, "[%s, %s, %s]", first, second, first)
    };
    int made = 0;
    while (good && made < 3)
        good = make_model(c, &m[made], layers[made]) && ++made;
    const bool shown = good && compare(c, m);
    for (int i = 0; i < made; i++)
        engine_close(&m[i].e);
    if (shown)
        check_values(c, layers[2]);
    return shown;
}

static bool is_number(const Field *f)
{
    return (f->type == FieldReal || f->type == FieldReals)
        && field_of_layers(f->key);
}

/* Returns the spec's number field that was tested least and is not in `tried`,
 * or -1. */
static int next_field(Arena *a, const Spec *s, const long *shown,
                      const bool *tried)
{
    int best = -1;
    for (int i = 0; i < n_fields; i++)
        if (is_number(&fields[i]) && !tried[i]
            && (best < 0 || shown[i] < shown[best])
            && fields[i].kinds & 1u << s->kind
            && field_has_meaning(a, s, fields[i].key))
            best = i;
    return best;
}

/* Returns a field whose number appears in the code; -1: none. */
static int run_form(uint64_t seed, const long *shown)
{
    Case c = { .a = arena_new(), .seed = seed };
    bool *tried = arena_alloc(c.a, (size_t)n_fields * sizeof *tried);
    Engine e;
    int at;
    c.path = write_form(c.a, scratch, seed);
    const EngineOptions o = { .spec = c.path, .seed = seed };
    assert_int_equal(engine_graph(&e, &o, stdout), ExitDone);
    while ((at = next_field(c.a, e.spec, shown, tried)) >= 0) {
        c.field = &fields[at];
        tried[at] = true;
        if (run_field(&c, e.spec))
            break;
    }
    engine_close(&e);
    arena_free(c.a);
    return at;
}

static void run_share(long from, long of)
{
    long *shown = calloc((size_t)n_fields, sizeof *shown), all = 0;
    uint64_t seed = 1 + (uint64_t)from;
    for (; all * of < count; seed += (uint64_t)of) {
        const int at = run_form(seed, shown);
        if (at >= 0)
            shown[at]++;
        all += at >= 0;
        assert_true(seed < 100 + 10 * (uint64_t)count);
    }
    for (int i = 0; i < n_fields; i++)
        if (shown[i])
            print_message("%s: %ld\n", fields[i].key, shown[i]);
    free(shown);
}

static void test_layers_keep_their_numbers(void **state)
{
    (void)state;
    if (getenv("ATTNC_SPECS"))
        count = strtol(getenv("ATTNC_SPECS"), NULL, 10);
    if (getenv("ATTNC_FULL"))
        count *= 10;
    by_processors(run_share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layers_keep_their_numbers,
                                        scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
