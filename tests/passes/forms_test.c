/* forms_test.c: tests random specs of any form, as graphs: all are read, every
 * field and every word of a field occurs, exactly the weights have canonical
 * names, and a pass fuses what it could or reports why not, whatever the nodes'
 * names. differential_test.c runs them. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp, open_memstream */
#include "engine/engine.h"
#include "spec/fields/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/form_files.h"
#include "support/scratch.h"

enum { Forms = 1000 };

/* ---- what is spoken for ---- */

/* Fields that are not a matter of the form: files, names, the version, the
 * arithmetic of integers; constant lengths, which differential_test chooses;
 * what follows logits, of which too few forms have all words; and what lines of
 * late interaction are. */
static const char *const other[] = {
    "attnc",
    "extends",
    "name",
    "weights",
    "names",
    "arithmetic",
    "head.pool",
    "head.activation",
    "head.query.length",
    "head.query.cut",
    "head.query.token",
    "head.query.attend",
    "head.query.prefix",
    "head.document.length",
    "head.document.prefix",
};

typedef struct {
    Arena *arena;
    const char *seen[256]; /* by row: " value value" */
} Seen;

static void see(Seen *seen, const Spec *s)
{
    for (int i = 0; i < n_fields; i++) {
        if (fields[i].type >= FieldNoValue
            || !(fields[i].kinds & 1u << s->kind))
            continue;
        const char *word = arena_printf(seen->arena, " %s ",
                                        field_text(seen->arena, &fields[i], s));
        if (!seen->seen[i])
            seen->seen[i] = "";
        if (!strstr(seen->seen[i], word))
            seen->seen[i] = arena_printf(seen->arena, "%s%s", seen->seen[i],
                                         word);
    }
}

/* True if all words were seen; skips NULL words. */
static bool has_all(const char *seen, const char *const *words, size_t n,
                    const char *key)
{
    bool all = true;
    for (size_t i = 0; i < n; i++)
        if (words[i] && !strstr(seen, words[i])) {
            print_error("no form has %s: %s, only%s\n", key, words[i], seen);
            all = false;
        }
    return all;
}
#define HAS_ALL(list) has_all(seen, list, sizeof list / sizeof *list, f->key)

static const char *const activations[] = {
#define ACT(name, text, gated, other, formula) " " text " ", gated,
#include "spec/fields/activations.h"
};

/* Checks that all words, both flags, and more than one number occurred. */
static bool is_spoken_for(const Field *f, const char *seen)
{
    static const char *const masks[] = { " causal ", "prefix", "window",
                                         "block", "file" };
    static const char *const truths[] = { " true ", " false " };
    size_t words = 0;

    switch (f->type) {
    case FieldBool:       return HAS_ALL(truths);
    case FieldMask:       return HAS_ALL(masks);
    case FieldActivation: return HAS_ALL(activations);
    case FieldScale:
    case FieldEnum:
        while (f->words[words])
            words++;
        return has_all(seen, f->words, words, f->key);
    default:
        if (strstr(seen, "  "))
            return true;
        print_error("all forms have %s:%s\n", f->key, seen);
        return false;
    }
}

static void test_every_field(void **state)
{
    Seen seen = { .arena = arena_new() };
    bool all = true;

    (void)state;
    assert_true(n_fields <= 256);
    for (uint64_t seed = 0; seed < Forms; seed++) {
        Arena *a = arena_new();
        const Spec *s = spec_load(a, write_form(a, scratch, seed), NULL, 0);
        if (!s)
            fail_msg("form %d:\n%s", (int)seed, random_form(a, seed).r.text);
        see(&seen, s);
        arena_free(a);
    }
    for (int i = 0; i < n_fields; i++) {
        bool form = fields[i].type < FieldNoValue
                 && !field_below(fields[i].key, "fix");
        for (size_t k = 0; k < sizeof other / sizeof *other; k++)
            form &= strcmp(fields[i].key, other[k]) != 0;
        if (form)
            all &= is_spoken_for(&fields[i], seen.seen[i]);
    }
    assert_true(all);
    arena_free(seen.arena);
}

/* ---- canonical names ---- */

/* Returns the row of weight_names for NAME.weight or NAME.bias, or -1. */
static int canonical(const char *weight)
{
    NameMatch m;
    for (int i = 0; weight_names[i]; i++)
        if (names_match(weight_names[i], weight, &m)
            && (!strcmp(m.rest, ".weight") || !strcmp(m.rest, ".bias")))
            return i;
    return -1;
}

static void test_canonical_names(void **state)
{
    bool seen[256] = { false };
    (void)state;
    for (uint64_t seed = 0; seed < Forms; seed++) {
        Arena *a = arena_new();
        const Spec *s = spec_load(a, write_form(a, scratch, seed), NULL, 0);
        const Graph *g = build_graph(a, s);
        for (int i = 0; i < g->nodes.n; i++) {
            const Node *n = &g->nodes.at[i];
            const int row = n->op == OpWeight ? canonical(n->name) : 0;
            if (row < 0)
                fail_msg("%s is not in weight_names", n->name);
            assert_true(row < 256);
            seen[row] |= n->op == OpWeight;
        }
        arena_free(a);
    }
    for (int i = 0; weight_names[i]; i++)
        if (!seen[i])
            fail_msg("no form has a weight %s", weight_names[i]);
}

/* ---- fused or told ---- */

static bool starts_with_sum(const Graph *g, const Node *n)
{
    const Node *x = &g->nodes.at[n->in[0]];
    return x->op == OpAdd || (x->op == OpLinear && x->has_residual);
}

/* True if a pass should fuse the node in its present form. */
static bool could_be_fused(const Graph *g, const Node *n)
{
    switch (n->op) {
    case OpScores:
    case OpScoreBias:
    case OpMask:
    case OpSoftmax:
    case OpContext:
    case OpMerge:
    case OpSoftcap:
    case OpScale:
    case OpBias:
    case OpActivate:
    case OpMul:
    case OpAdd:
    case OpPosition:  return n->entry != EntryNone;
    case OpNorm:      return starts_with_sum(g, n);
    default:          return false;
    }
}

static bool told(const char *log, const Node *n)
{
    char name[256];
    snprintf(name, sizeof name, " %s ", n->name);
    return strstr(log, name) != NULL;
}

/* Checks products of one sublayer that read the same rows. */
static bool are_apart(const Graph *g, const Node *a, const Node *b,
                      const char *log)
{
    const bool products = (a->op == OpMatmul || a->op == OpLinear)
                       && (b->op == OpMatmul || b->op == OpLinear);
    if (!products || a->layer < 0 || !same_layer(a, b)
        || a->sublayer != b->sublayer || a->in[0] != b->in[0] || a->routing
        || b->routing)
        return false;
    return !strstr(log, arena_printf(g->arena, "merge-qkv: %s",
                                     graph_name(g->arena, a, "")));
}

static void check_fused(const Graph *g, const char *log, const char *text)
{
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (could_be_fused(g, n) && !told(log, n))
            fail_msg("%s is left, without a word:\n%s%s", n->name, text, log);
        for (int k = 0; k < i; k++)
            if (are_apart(g, &g->nodes.at[k], n, log))
                fail_msg("%s and %s are two, without a word:\n%s%s",
                         g->nodes.at[k].name, n->name, text, log);
    }
}

static void test_fused_or_told(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < Forms; seed++) {
        char *log = NULL;
        size_t size = 0;
        Arena *a = arena_new();
        FILE *f = open_memstream(&log, &size);
        Engine e;
        EngineOptions o = { .spec = write_form(a, scratch, seed),
                            .passes = { .explain = true } };
        assert_int_equal(engine_graph(&e, &o, f), ExitDone);
        fclose(f);
        check_fused(e.graph, log, random_form(a, seed).r.text);
        free(log);
        engine_close(&e);
        arena_free(a);
    }
}

/* Tests that passes decide by the nodes' fields: with meaningless names the
 * result is the same. */
static void test_names_decide_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < Forms / 4; seed++) {
        Arena *a = arena_new();
        const Spec *s = spec_load(a, write_form(a, scratch, seed), NULL, 0);
        Graph *named = build_graph(a, s), *numbered = graph_copy(a, named);
        for (int i = 0; i < named->nodes.n; i++)
            numbered->nodes.at[i].name = arena_printf(a, "types.attn_%d", i);
        const PassOptions all = { 0 };
        run_passes(named, &all, stderr);
        run_passes(numbered, &all, stderr);
        assert_int_equal(numbered->nodes.n, named->nodes.n);
        for (int i = 0; i < named->nodes.n; i++) {
            const Node *x = &named->nodes.at[i], *y = &numbered->nodes.at[i];
            if (x->op != y->op || memcmp(x->in, y->in, sizeof x->in) != 0)
                fail_msg("%s, once called %s, is another op:\n%s", x->name,
                         y->name, random_form(a, seed).r.text);
        }
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_field, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_canonical_names, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_fused_or_told, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_names_decide_nothing, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
