/* mixed_bits.c: decides which matrices need more bits so that a model's loss is
 * within a limit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "diff/loss.h"

/* Returns the format with the next smaller loss. For an integer format, it is
 * the row before in format_rows.h. */
static Dtype more_bits(Dtype d)
{
    return dtype_is_integer(d) && dtype_is_integer(d - 1) ? d - 1 : DtypeF32;
}

typedef struct { /* a step gives more bits to one matrix */
    int matrix;
    Dtype to;
    double gain; /* loss avoided per additional byte */
} Step;

typedef struct {
    const Engine *f32, *e;
    const Matrices *m;
    const Passages *text;
    Arena *arena; /* arena of `text` */
    Dtype *dtype; /* [matrices]: formats of the current model */
    KeepProgress on_step;
    VEC(Step) step;
    Kept at; /* the last model that was tried */
    int code;
} Search;

/* ---- models ---- */
int open_variant(Engine *e, const EngineOptions *o)
{
    messages_mute(true);
    int code = engine_open(e, o);
    messages_mute(false);
    if (code) { /* opened again to print the error message */
        engine_close(e);
        code = engine_open(e, o);
    }
    return code;
}

static int run_model(Search *s, const EngineOptions *o)
{
    Engine e;
    Fault why;
    int code = open_variant(&e, o);
    e.to_keep = false; /* do not cache weights that are used once */
    if (!code && !text_loss(&s->at.loss, s->f32, &e, s->text, &why))
        code = report_fault(&why);
    if (!code) {
        s->at.dtype = arena_strdup(s->arena,
                                   spec_field_text(e.arena, e.spec, "dtype"));
        s->at.bytes = e.plan->pack.bytes;
    }
    engine_close(&e);
    return code;
}

/* Tries the model with the formats s->dtype. Returns false after printing an
 * error. */
static bool try_model(Search *s, Dtype default_dtype)
{
    EngineOptions o = s->e->options;
    const char **sets = arena_alloc(s->arena,
                                    (size_t)(o.nsets + 2) * sizeof *sets);
    for (int i = 0; i < o.nsets; i++)
        sets[i] = o.sets[i];
    sets[o.nsets++] = "dtype=f32"; /* overrides `dtype` in the spec */
    sets[o.nsets++] = arena_printf(s->arena, "dtype=%s",
                                   matrices_dtype(s->m, s->dtype,
                                                  default_dtype));
    o.sets = sets;
    s->code = run_model(s, &o);
    s->at.tried++;
    if (!s->code && s->on_step)
        s->on_step(s->at.dtype, &s->at.loss);
    return !s->code;
}

/* ---- steps ---- */

/* Returns a loss that can be added up: the sum of small losses of matrices is
 * an estimate for the model. */
static double measure_of(const Loss *l)
{
    const double x = l->kind == LossRows ? l->error * l->error : l->divergence;
    return isfinite(x) ? x : (double)INFINITY;
}

/* Sets *lost to the loss if only matrix i is stored, in format d. Returns false
 * after printing an error. */
static bool lost_alone(Search *s, int i, Dtype d, double *lost)
{
    *lost = 0;
    if (d == DtypeF32)
        return true;
    for (int k = 0; k < s->m->at.n; k++)
        s->dtype[k] = k == i ? d : DtypeF32;
    if (!try_model(s, DtypeF32))
        return false;
    *lost = measure_of(&s->at.loss);
    return true;
}

static bool add_steps(Search *s, int i)
{
    const Matrix *m = &s->m->at.at[i];
    Dtype from = matrix_dtype(m);
    double lost, then;
    if (!lost_alone(s, i, from, &lost))
        return false;
    for (; from != DtypeF32; from = more_bits(from), lost = then) {
        const Dtype to = more_bits(from);
        if (!lost_alone(s, i, to, &then))
            return false;
        const double bytes = (double)(matrix_bytes(m, to)
                                      - matrix_bytes(m, from));
        vec_push(s->arena, &s->step, ((Step){ i, to, (lost - then) / bytes }));
    }
    return true;
}

/* Sorts by gain, from the largest, then by matrix and format. */
static int by_gain(const void *a, const void *b)
{
    const Step *x = a, *y = b;
    if (x->gain < y->gain || x->gain > y->gain)
        return x->gain < y->gain ? 1 : -1;
    if (x->matrix != y->matrix)
        return x->matrix < y->matrix ? -1 : 1;
    return (x->to == DtypeF32) - (y->to == DtypeF32);
}

static bool find_steps(Search *s)
{
    const int n = s->m->at.n;
    progress_begin("each matrix alone");
    for (int i = 0; i < n && !s->code; i++) {
        progress_step(s->m->at.at[i].key, (double)i / n, (i + 1.0) / n);
        add_steps(s, i);
    }
    progress_end();
    if (s->step.n)
        qsort(s->step.at, (size_t)s->step.n, sizeof *s->step.at, by_gain);
    return !s->code;
}

/* ---- search ---- */

/* Sets the formats that result from the first n steps. Returns true if any is
 * not f32. */
static bool take_steps(Search *s, int n)
{
    bool any = false;
    for (int i = 0; i < s->m->at.n; i++)
        s->dtype[i] = matrix_dtype(&s->m->at.at[i]);
    for (int i = 0; i < n; i++) {
        Dtype *d = &s->dtype[s->step.at[i].matrix];
        *d = *d == DtypeF32 ? DtypeF32 : s->step.at[i].to;
    }
    s->at.raised = 0;
    for (int i = 0; i < s->m->at.n; i++) {
        any |= s->dtype[i] != DtypeF32;
        s->at.raised += s->dtype[i] != matrix_dtype(&s->m->at.at[i]);
    }
    return any;
}

/* True if the model after n steps is within the limit. Returns false after
 * printing an error. */
static bool fits(Search *s, int n, double limit)
{
    take_steps(s, n);
    return try_model(s, s->e->spec->dtype.default_dtype)
        && loss_share(&s->at.loss) <= limit;
}

/* Finds the minimum number of sufficient steps by bisection; `least` steps are
 * too few, `most` are enough. */
static void bisect(Search *s, Kept *to, int least, int most, double limit)
{
    while (most - least > 1 && !s->code) {
        const int n = least + (most - least) / 2;
        const bool good = fits(s, n, limit);
        *(good ? &most : &least) = n;
        if (good)
            *to = s->at;
    }
}

int keep_loss(Kept *to, const Engine *f32, const Engine *e, const Matrices *m,
              const Passages *text, double limit, KeepProgress on_step)
{
    Search s = { .f32 = f32,
                 .e = e,
                 .m = m,
                 .text = text,
                 .arena = text->arena,
                 .on_step = on_step };
    to->dtype = spec_field_text(s.arena, e->spec, "dtype");
    to->bytes = e->plan->pack.bytes;
    if (loss_share(&to->loss) <= limit)
        return ExitDone;
    s.dtype = arena_alloc(s.arena, (size_t)(m->at.n + 1) * sizeof *s.dtype);
    progress_begin("keep");
    progress_step("", 0, 0.9);
    if (find_steps(&s)) {
        int most = s.step.n;
        while (most > 0 && !take_steps(&s, most))
            most--;
        progress_step("", 0.9, 1);
        const bool can = most > 0 && fits(&s, most, limit);
        if (most > 0)
            *to = s.at;
        if (can)
            bisect(&s, to, 0, most, limit);
        else if (!s.code)
            s.code = ExitNegative;
    }
    progress_end();
    to->tried = s.at.tried;
    return s.code;
}
