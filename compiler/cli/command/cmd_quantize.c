/* cmd_quantize.c: attnc quantize. Measures the loss from storing weights in
 * fewer bits than f32: the error of each matrix and, with --text, of the
 * model's results. With --keep, finds matrices that need more bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/quantize.h"

enum { MostText = 1 << 26 };

/* Parses the value of --keep, e.g. "0.5%" or "0.5". Returns a fraction, here
 * 0.005. */
static double keep_share(const char *text)
{
    char *end;
    const double percent = strtod(text, &end);
    const bool good = end != text && (!*end || !strcmp(end, "%"))
                   && !text[strspn(text, "0123456789.%")];
    if (!good || !(percent >= 0) || percent > 100)
        fail(ExitUsage,
             "--keep '%s': percent from 0 to 100 are expected, as 0.5%%",
             quote(text));
    return percent / 100;
}

/* ---- matrices ---- */
static double error_of(const Matrix *m)
{
    const double error = relative_error(m->lost, m->squares);
    return isnan(error) ? (double)INFINITY : error;
}

static int by_error(const void *a, const void *b)
{
    const Matrix *x = *(const Matrix *const *)a;
    const Matrix *y = *(const Matrix *const *)b;
    const double d = error_of(y), e = error_of(x);
    if (d < e || d > e)
        return d < e ? -1 : 1;
    return x < y ? -1 : x > y; /* the order of equal errors stays the same,
                                * because both pointers are into one array */
}

static void find_matrices(Quantized *q)
{
    Matrices *m = &q->matrices;
    m->arena = q->arena;
    matrices_of(m, q->e);
    matrices_measure(m, q->e);
    const Matrix **worst = arena_alloc(q->arena,
                                       ((size_t)m->at.n + 1) * sizeof *worst);
    for (int i = 0; i < m->at.n; i++)
        if (matrix_dtype(&m->at.at[i]) != DtypeF32)
            worst[q->fewer++] = &m->at.at[i];
    qsort(worst, (size_t)q->fewer, sizeof *worst, by_error);
    q->worst = worst;
}

/* ---- text ---- */
static void print_step(const char *dtype, const Loss *l)
{
    if (l->kind == LossRows)
        note_once("dtype %s: error %.3g", dtype, l->error);
    else
        note_once("dtype %s: KL %.3g nats, %.3g %% flip", dtype, l->divergence,
                  100 * l->flips);
}

static int keep(Quantized *q, const Engine *f32, const Options *o)
{
    q->limit = o->keep;
    q->kept.loss = q->loss;
    const int code = keep_loss(&q->kept, f32, q->e, &q->matrices, q->text,
                               q->most, o->verbose ? print_step : NULL);
    q->met = code == ExitDone;
    return code;
}

/* Measures the losses of an open model compared with the open f32 model. */
static int compare_losses(Quantized *q, const Engine *f32, const Options *o)
{
    Fault why;
    find_matrices(q);
    if (!text_loss(&q->loss, f32, q->e, q->text, &why)) {
        error_at((Pos){ 0 }, "%s: %s", quote(o->text), why.text);
        return ExitInput;
    }
    return o->keep ? keep(q, f32, o) : ExitDone;
}

static void print(const Quantized *q, const Options *o)
{
    if (o->json)
        quantized_json(q);
    else
        quantized_print(q);
    flush_answers(stdout);
}

static void say_not_met(const Quantized *q)
{
    error_at((Pos){ 0 },
             "--keep %s is not met while any matrix has fewer bits than f32: "
             "with %d of %d in more bits it is still %.3g %%",
             quote(q->limit), q->kept.raised, q->fewer,
             100 * loss_share(&q->kept.loss));
}

/* Opens the model in f32, reads the text, opens the model with its own dtypes
 * and arithmetic, and compares the two. */
static int with_text(const Options *o, const EngineOptions *options,
                     const File *file, Quantized *q)
{
    Engine f32 = { .arena = NULL }, e = { .arena = NULL };
    EngineOptions plain = *options;
    Passages text = { .arena = q->arena };
    const char **sets = arena_alloc(q->arena,
                                    ((size_t)plain.nsets + 3) * sizeof *sets);
    for (int i = 0; i < plain.nsets; i++)
        sets[i] = plain.sets[i];
    sets[plain.nsets++] = "dtype=f32";
    sets[plain.nsets++] = "arithmetic=f32";
    sets[plain.nsets++] = "cache="; /* not a field of every kind */
    plain.sets = sets;
    int code = engine_open(&f32, &plain);
    if (!code)
        code = passages_read(&text, &f32, file, o->lines.ids);
    if (!code)
        code = open_variant(&e, options);
    if (!code) {
        q->e = &e;
        q->text = &text;
        code = compare_losses(q, &f32, o);
        if (!code || code == ExitNegative)
            print(q, o);
        if (code == ExitNegative)
            say_not_met(q);
    }
    engine_close(&e);
    engine_close(&f32);
    return code;
}

static int without_text(const Options *o, const EngineOptions *options,
                        Quantized *q)
{
    Engine e = { .arena = NULL };
    Report report = { 0 };
    int code = engine_plan(&e, options);
    if (!code)
        code = engine_file(&e, &report);
    print_report(&report);
    if (!code) {
        q->e = &e;
        find_matrices(q);
        print(q, o);
    }
    engine_close(&e);
    return code;
}

int cmd_quantize(const Options *o)
{
    File file = { .path = NULL };
    Fault why;
    Quantized q = { .most = o->keep ? keep_share(o->keep) : 0 };
    if (o->keep && !o->text)
        fail(ExitUsage, "--keep is about results: name a text to compare them "
                        "on, --text FILE");
    if (o->text && !file_read(&file, o->text, MostText, &why))
        return report_fault(&why);
    q.arena = arena_new();
    const EngineOptions options = engine_options(CmdQuantize, &o->model,
                                                 &o->code);
    const int code = o->text ? with_text(o, &options, &file, &q)
                             : without_text(o, &options, &q);
    if (o->text)
        file_close(&file);
    arena_free(q.arena);
    return code;
}
