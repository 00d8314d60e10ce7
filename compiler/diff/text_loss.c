/* text_loss.c: compares a model's results on a text with those of the model
 * with f32 weights. */
#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "diff/loss.h"

static LossKind kind_of(const Spec *s)
{
    const bool classes = s->head == HeadClassify || s->head == HeadTokenClassify
                      || s->head == HeadLogits;
    if (spec_generates(s))
        return LossTokens;
    return classes && result_columns(s) > 1 ? LossLabels : LossRows;
}

/* ---- rows ---- */
typedef struct {
    Loss *loss;
    int64_t columns;
    double surprise[2]; /* sums of -log p of the target tokens, with f32 weights
                         * and with stored ones */
    double lost, squares;
} Sums;

static int64_t largest(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

static double log_sum(const float *x, int64_t n)
{
    const double most = (double)x[largest(x, n)];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - most);
    return most + log(sum);
}

/* Adds two rows of logits. `token` is the target, or -1. */
static void add_logits(Sums *s, const float *x, const float *y, int64_t token)
{
    const double a = log_sum(x, s->columns), b = log_sum(y, s->columns);
    double sum = 0;
    for (int64_t i = 0; i < s->columns; i++) {
        const double p = (double)x[i] - a, q = (double)y[i] - b;
        sum += exp(p) * (p - q);
    }
    s->loss->divergence += sum;
    if (token >= 0) {
        s->surprise[0] += a - (double)x[token];
        s->surprise[1] += b - (double)y[token];
    }
}

static void add_row(Sums *s, const float *x, const float *y, int64_t token)
{
    double xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < s->columns; i++) {
        const double a = (double)x[i], b = (double)y[i];
        xx += a * a;
        yy += b * b;
        xy += a * b;
        s->lost += (a - b) * (a - b);
    }
    s->squares += xx;
    const double cosine = xx > 0 || yy > 0 ? xy / sqrt(xx * yy) : 1;
    s->loss->cosine += cosine;
    if (!(cosine >= s->loss->least_cosine))
        s->loss->least_cosine = cosine;
    s->loss->flips += largest(x, s->columns) != largest(y, s->columns);
    if (s->loss->kind != LossRows)
        add_logits(s, x, y, token);
    s->loss->rows++;
}

/* ---- passages ---- */
static bool all_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Returns the number of result rows that are compared, from p->first on. */
static int64_t compared(const Engine *e, const Passage *p)
{
    return p->target ? p->n : result_rows(e->spec, &p->sample);
}

static bool add_passage(Sums *s, const Engine *f32, const Engine *e,
                        const Passage *p, float *x, float *y, Fault *why)
{
    const int64_t rows = compared(e, p), skip = p->first * s->columns;
    Trial t = { 0 };
    trial_run(&t, f32, &p->sample, 0, x);
    trial_run(&t, e, &p->sample, 0, y);
    trial_free(&t);
    if (!all_finite(x + skip, rows * s->columns))
        return fault(why, ExitInput,
                     "line %lld: the results of f32 weights are not finite",
                     (long long)p->line);
    for (int64_t i = 0; i < rows; i++)
        add_row(s, x + skip + i * s->columns, y + skip + i * s->columns,
                p->target ? p->target[i] : -1);
    return true;
}

static int64_t most_numbers(const Engine *e, const Passages *text)
{
    int64_t most = 0;
    for (int i = 0; i < text->at.n; i++)
        most = attn_max(most, result_rows(e->spec, &text->at.at[i].sample));
    return most * result_columns(e->spec);
}

static void mean(Loss *l, const Sums *s)
{
    const double n = (double)l->rows;
    l->divergence /= n;
    l->flips /= n;
    l->cosine /= n;
    l->error = relative_error(s->lost, s->squares);
    for (int i = 0; i < 2; i++)
        l->perplexity[i] = exp(s->surprise[i] / n);
}

bool text_loss(Loss *to, const Engine *f32, const Engine *e,
               const Passages *text, Fault *why)
{
    *to = (Loss){ .kind = kind_of(e->spec), .least_cosine = 1 };
    Sums s = { .loss = to, .columns = result_columns(e->spec) };
    Arena *a = arena_new();
    const size_t most = (size_t)most_numbers(e, text);
    float *x = arena_alloc(a, most * sizeof *x);
    float *y = arena_alloc(a, most * sizeof *y);
    bool good = true;
    progress_begin("comparing results");
    for (int i = 0; i < text->at.n && good; i++) {
        progress_at((double)i / text->at.n);
        good = add_passage(&s, f32, e, &text->at.at[i], x, y, why);
    }
    progress_end();
    arena_free(a);
    mean(to, &s);
    return good;
}

double loss_share(const Loss *l)
{
    const double share = l->kind == LossTokens
                           ? l->perplexity[1] / l->perplexity[0] - 1
                           : l->error;
    return isfinite(share) ? share : (double)INFINITY;
}
