/* names_test.c: tests a file of weights under other tools' names: with the
 * suggested rows, a spec reads it as the spec of models/ does. */
#define _GNU_SOURCE
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/stderr_capture.h"

static Arena *a;

static int set_up(void **state)
{
    a = arena_new();
    return scratch_make(state);
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(a);
    scratch_empty();
    return rmdir(scratch);
}

static void open_plan(Engine *e, EngineOptions *o)
{
    Fault why;

    *e = (Engine){ 0 };
    assert_int_equal(engine_graph(e, o, stderr), ExitDone);
    assert_true(target_find(&e->target, "x86-64-v3", 0, NULL, &why));
    e->plan = plan_model(e->arena, e->graph, &e->target, e->choices, false);
}

/* ---- file ---- */
typedef struct {
    TensorOut at[400];
    int n;
} Tensors;

static void add_tensor(Tensors *t, const PackItem *it, const char *prefix)
{
    const FileTensor *f = &it->from;
    const bool vector = it->layout == PackVector;
    int64_t dim[2] = { it->rows, it->k };

    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].name + strlen(prefix), f->name))
            return;
    if (f->groups)
        dim[f->by_columns] = f->total;
    TensorOut *out = &t->at[t->n++];
    assert_true(t->n < 400);
    *out = (TensorOut){ .name = arena_printf(a, "%s%s", prefix, f->name),
                        .rank = vector ? 1 : 2 };
    out->dim[0] = vector ? dim[1] : dim[f->transposed];
    out->dim[1] = dim[!f->transposed];
    out->data = arena_alloc(a, (size_t)(dim[0] * dim[1]) * sizeof(float));
}

/* Writes a file that the spec of `e` reads, apart from the prefix. */
static const char *write_weights(const Engine *e, const char *prefix)
{
    Tensors *t = arena_alloc(a, sizeof *t);
    const char *path = arena_strdup(a, scratch_path("w.safetensors"));
    Fault why;

    for (int64_t i = 0; i < e->plan->pack.count; i++)
        if (e->plan->pack.item[i].from.name && !e->plan->pack.item[i].table)
            add_tensor(t, &e->plan->pack.item[i], prefix);
    assert_true(safetensors_write(path, t->at, t->n, &why));
    return path;
}

/* ---- specs ---- */

/* Returns the model's spec up to its names, followed by other names. */
static const char *spec_with(const char *model, const char *names)
{
    File f;
    Fault why;

    assert_true(file_read(&f, model, 1 << 20, &why));
    char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    char *at = strstr(text, "\nnames:\n");
    assert_non_null(at);
    at[1] = '\0';
    text = arena_printf(a, "%s%s", text, names);
    return arena_strdup(a, scratch_file("m.yaml", text, strlen(text)));
}

static void assert_same_places(const PackList *x, const PackList *y,
                               const char *prefix)
{
    assert_int_equal(x->count, y->count);
    for (int64_t i = 0; i < x->count; i++) {
        const FileTensor *f = &x->item[i].from, *g = &y->item[i].from;
        if (!x->item[i].name)
            continue;
        assert_string_equal(arena_printf(a, "%s%s", prefix, f->name), g->name);
        assert_int_equal(f->transposed, g->transposed);
        assert_int_equal(f->first, g->first);
        assert_int_equal(f->total, g->total);
    }
}

static const struct {
    const char *spec, *set, *prefix; /* of names in the file */
} models[] = {
    { "models/minilm.yaml",
      "N=3,d_model=24,h=2,d_ff=40,vocab.size=210,max_len=12", "" },
    { "models/minilm.yaml",
      "N=3,d_model=24,h=2,d_ff=40,vocab.size=210,max_len=12", "bert." },
    { "models/gpt2-small.yaml",
      "N=3,d_model=24,h=2,d_ff=40,vocab={size: 210,tokens: {end: 2}},"
      "max_len=12",
      "" },
    { "tests/engine/albert.yaml", "name=albert", "" },
    { "models/stories260K.yaml", "max_len=12", "" },
    { "models/t5-small.yaml",
      "N=3,d_model=24,h=2,d_k=12,d_v=12,d_ff=40,vocab.size=210,max_len=12,"
      "attention.scale=",
      "" },
};

static void rows_are_proposed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        EngineOptions o = { .spec = models[i].spec,
                            .sets = &models[i].set,
                            .nsets = 1 };
        Engine known, other, found;
        open_plan(&known, &o);
        o.weights = write_weights(&known, models[i].prefix);

        o.spec = spec_with(models[i].spec, "");
        open_plan(&other, &o);
        capture_stderr();
        assert_int_equal(engine_weights(&other), ExitInput);
        const char *said = captured_stderr(a);
        const char *names = strstr(said, "\nnames:\n");
        if (!names || strstr(names, "not found"))
            fail_msg("%s: %s", models[i].spec, said);

        o.spec = spec_with(models[i].spec, names + 1);
        open_plan(&found, &o);
        capture_stderr();
        const int code = engine_weights(&found);
        said = captured_stderr(a);
        assert_string_equal(said, "");
        assert_int_equal(code, ExitDone);
        assert_same_places(&known.plan->pack, &found.plan->pack,
                           models[i].prefix);
        engine_close(&known);
        engine_close(&other);
        engine_close(&found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_proposed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
