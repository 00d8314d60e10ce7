/* grid.c: makes the variants of a sweep: for each spec, all combinations of the
 * axes or, with --zip, all axes in step. Also sets the options of each
 * variant. */
#include <string.h>

#include "sweep/sweep_parts.h"

/* ---- labels ---- */

/* Returns the file name without directory and ending, e.g. "a-h1". */
static const char *short_name(Arena *a, const char *path)
{
    const char *name = base_name(path);
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? arena_strndup(a, name, (size_t)(dot - name))
                             : name;
}

/* Returns the short name of a spec or, if several specs have it, the path. */
static const char *label_of(Arena *a, const SweepOptions *o, int which)
{
    const char *label = short_name(a, o->specs[which]);
    for (int i = 0; i < o->nspecs; i++)
        if (i != which && !strcmp(label, short_name(a, o->specs[i])))
            return o->specs[which];
    return label;
}

/* ---- grid ---- */
static int64_t combinations(const Axes *axes, bool zip)
{
    int64_t n = 1;
    for (int i = 0; i < axes->n; i++)
        n *= zip && i > 0 ? 1 : axes->at[i].value.n;
    return n;
}

/* Returns the axis values of combination `which`. The last axis varies the
 * fastest. */
static const char *const *values_of(Arena *a, const Axes *axes, bool zip,
                                    int64_t which)
{
    const char **value = arena_alloc(a, (size_t)axes->n * sizeof *value);
    for (int i = axes->n - 1; i >= 0; i--) {
        const Words *w = &axes->at[i].value;
        value[i] = w->at[which % w->n];
        which /= zip ? 1 : w->n;
    }
    return value;
}

void grid_make(Arena *a, const SweepOptions *o, const Axes *axes, Variants *v)
{
    const int64_t n = combinations(axes, o->zip);
    for (int i = 0; i < o->nspecs; i++)
        for (int64_t k = 0; k < n; k++)
            vec_push(a, v,
                     ((Variant){ .spec = o->specs[i],
                                 .label = label_of(a, o, i),
                                 .value = values_of(a, axes, o->zip, k) }));
}

/* ---- options ---- */
static const char *set_of(Arena *a, const char *key, const char *value)
{
    const char *preset = preset_set(key, value);
    return preset ? preset : arena_printf(a, "%s=%s", key, value);
}

/* Returns the options, changed as the variant's axes say. */
static SweepOptions options_of(const SweepOptions *o, const Axes *axes,
                               const Variant *v)
{
    SweepOptions own = *o;
    for (int i = 0; i < axes->n; i++)
        axis_set(&own, &axes->at[i], v->value[i]);
    return own;
}

EngineOptions variant_model(Arena *a, const SweepOptions *o, const Axes *axes,
                            const Variant *v)
{
    EngineOptions m = options_of(o, axes, v).model;
    VEC(const char *) sets = { 0 };
    m.spec = v->spec;
    m.text = v->spec == o->text_of ? o->model.text : NULL;
    /* random weights, because a file would fit only one shape, and weights do
     * not affect the time */
    vec_push(a, &sets, "weights=");
    for (int i = 0; i < o->model.nsets; i++)
        vec_push(a, &sets, o->model.sets[i]);
    for (int i = 0; i < axes->n; i++)
        if (axes->at[i].kind == AxisField)
            vec_push(a, &sets, set_of(a, axes->at[i].key, v->value[i]));
    m.sets = sets.at;
    m.nsets = sets.n;
    return m;
}

BenchOptions variant_work(const SweepOptions *o, const Axes *axes,
                          const Variant *v)
{
    return options_of(o, axes, v).work;
}

const char *variant_text(Arena *a, const Axes *axes, const Variant *v)
{
    const char *text = axes->n ? "" : v->label;
    for (int i = 0; i < axes->n; i++)
        text = arena_printf(a, "%s%s%s=%s", text, i ? " " : "", axes->at[i].key,
                            v->value[i]);
    return text;
}
