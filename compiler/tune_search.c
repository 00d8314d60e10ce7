/* tune_search.c: the best tiling of one task.
 *
 * The default and the candidates that the model ranks first run in turn; half
 * of them, by the median of their ratios to the default in the same turns, goes
 * on to twice as many turns [successive halving: Jamieson and Talwalkar, 2016],
 * until one is left. Then its neighbours, one knob away, as long as one of them
 * is faster. At the end the winner stands against the default in fresh pairs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune_parts.h"

/* Of a task alone, of a whole model. */
static const int first_turns[] = { 12, 5 }, least_pairs[] = { 24, 16 };
enum { MostTurns = 96, MostPairs = 200 };
static const double least_gain = 1.01;   /* below that nothing changes */
static const double heating = 0.3;       /* of the time; of what is left: */
static const double compiling = 0.45, deciding = 0.25;

typedef struct {                 /* the search for one task */
    Tuner *t;
    TuneTask *task;
    Model model;
    Arena *a;
    bool whole;
    Mades made;                  /* by candidate; no text: not tried */
    VEC(Times) time, ratio;      /* by candidate: seconds; default / own */
    ChildWork work;
    double begin, until;
    double hang, each;           /* seconds: limit of a step; of a run */
    int rounds;
    bool failed;                 /* the default itself does not run */
} Hunt;

static Candidate *at(const Hunt *h, int i)
{
    return &h->task->candidate.at[i];
}

static void add_candidate(Hunt *h, const Tiling *t)
{
    const Candidate c = { .tiling = *t, .fate = FateRanked,
                          .predicted = tiling_seconds(&h->model, t),
                          .seconds = NAN, .spread = NAN, .when = NAN };
    vec_push(h->a, &h->task->candidate, c);
    vec_push(h->a, &h->made, (Made){ 0 });
    vec_push(h->a, &h->time, (Times){ 0 });
    vec_push(h->a, &h->ratio, (Times){ 0 });
}

/* Its place; added where it is not there. */
static int candidate_of(Hunt *h, const Tiling *t)
{
    for (int i = 0; i < h->task->candidate.n; i++)
        if (tiling_same(&at(h, i)->tiling, t))
            return i;
    add_candidate(h, t);
    return h->task->candidate.n - 1;
}

/* ------------------------------------------------------------- building --- */
static Made text_of(Hunt *h, int i)
{
    const bool jit = h->t->shop.jit;
    Task task = *h->task->task;
    Made m = { 0 };
    task.tiling = at(h, i)->tiling;
    if (!h->whole) {
        m.text = emit_task(h->a, h->t->engine.plan, &task,
                           jit ? EmitJit : EmitAot, &m.n);
        return m;
    }
    VEC(Choice) all = { 0 };
    for (int k = 0; k < h->t->choice.n; k++)
        vec_push(h->a, &all, h->t->choice.at[k]);
    vec_push(h->a, &all, ((Choice){ task.key, task.tiling }));
    return whole_text(&h->t->engine, all.at, all.n, jit);
}

/* An earlier one with the same text; -1: none. */
static int same_code(const Hunt *h, int i)
{
    const Made *m = &h->made.at[i];
    for (int k = 0; k < h->made.n; k++)
        if (k != i && h->made.at[k].text && h->made.at[k].n == m->n
            && !memcmp(h->made.at[k].text, m->text, m->n))
            return k;
    return -1;
}

static void learn_time(Hunt *h, double each, size_t bytes)
{
    Workshop *w = &h->t->shop;
    w->each[h->whole] = each;
    w->whole_known |= h->whole;
    if (!w->whole_known)
        w->each[1] = each * (double)w->whole_bytes / (double)bytes;
}

/* Compiles those of who[] that are not tried yet; keeps those that can run. */
static int build(Hunt *h, int *who, int n)
{
    Made **made = arena_alloc(h->a, (size_t)(n + 1) * sizeof *made);
    bool *ok = arena_alloc(h->a, (size_t)n + 1);
    char (*why)[160] = arena_alloc(h->a, (size_t)(n + 1) * sizeof *why);
    int *fresh = arena_alloc(h->a, (size_t)(n + 1) * sizeof *fresh);
    const double begin = machine_seconds();
    int count = 0, kept = 0;
    for (int k = 0; k < n; k++) {
        Made *m = &h->made.at[who[k]];
        if (m->text)
            continue;
        *m = text_of(h, who[k]);
        if (same_code(h, who[k]) >= 0) {     /* timed already */
            snprintf(at(h, who[k])->why, 160, "the same code as another");
            *m = (Made){ 0 };
            who[k] = -1;
            continue;
        }
        made[count] = m;
        fresh[count++] = k;
    }
    workshop_make(&h->t->shop, h->a, made, count,
                  fmax(2, h->until - machine_seconds()), ok, why);
    if (count > 0)
        learn_time(h, (machine_seconds() - begin) / count, made[0]->n);
    for (int i = 0; i < count; i++) {
        Candidate *c = at(h, who[fresh[i]]);
        if (ok[i] || interrupted())
            continue;
        c->fate = FateFailed;
        memcpy(c->why, why[i], sizeof c->why);
        h->failed |= who[fresh[i]] == 0;
    }
    for (int k = 0; k < n; k++)
        if (who[k] >= 0 && (at(h, who[k])->fate == FateRanked
                            || at(h, who[k])->fate == FateTimed))
            who[kept++] = who[k];
    return kept;
}

/* --------------------------------------------------------------- timing --- */
static void take_verdict(Hunt *h, int i, const Verdict *v)
{
    Candidate *c = at(h, i);
    if (v->fate == FateTimed && c->samples == 0)
        c->when = machine_seconds() - h->t->begin;
    c->fate = v->fate;
    memcpy(c->why, v->why, sizeof c->why);
}

static void take_times(Hunt *h, int i)
{
    const Times *x = &h->time.at[i];
    const Interval s = median_interval(x->at, x->n);
    Candidate *c = at(h, i);
    c->samples = x->n;
    c->seconds = s.middle;
    c->spread = (s.high - s.low) / 2 / s.middle;
}

static double time_left(const Hunt *h, double part)
{
    return h->until - part * (h->until - h->begin) - machine_seconds();
}

/* Runs who[0], the default, and the others in turn. `reserve`: a part of the
 * task's time that stays for later. Returns whole turns.                     */
static int measure(Hunt *h, const int *who, int n, int turns, double reserve)
{
    Round r = { .which = who, .n = n, .turns = turns, .hang = h->hang,
                .until = machine_seconds() + fmax(0, time_left(h, reserve)),
                .order = (uint64_t)++h->rounds };
    const double begin = machine_seconds();
    child_round(h->a, &h->work, &r);
    if (r.done > 0)              /* with its part of loading and checking */
        h->each = (machine_seconds() - begin) / (r.done * n);
    for (int i = 0; i < n && !interrupted(); i++)
        take_verdict(h, who[i], &r.verdict[i]);
    h->failed |= !interrupted() && r.verdict[0].fate != FateTimed;
    for (int turn = 0; turn < r.done; turn++)
        for (int i = 0; i < n; i++) {
            const double *x = r.sample + (int64_t)turn * n;
            if (r.verdict[i].fate != FateTimed || x[i] <= 0)
                continue;
            vec_push(h->a, &h->time.at[who[i]], x[i]);
            vec_push(h->a, &h->ratio.at[who[i]], x[0] / x[i]);
        }
    for (int i = 0; i < n && r.done > 0; i++)
        if (r.verdict[i].fate == FateTimed)
            take_times(h, who[i]);
    return r.done;
}

static double ratio_of(const Hunt *h, int i)
{
    return median_of(h->ratio.at[i].at, h->ratio.at[i].n);
}

/* who[1 ..] that still run, the fastest first; returns how many with who[0]. */
static int sort_alive(const Hunt *h, int *who, int n)
{
    int kept = 1;
    for (int i = 1; i < n; i++) {
        if (at(h, who[i])->fate != FateTimed || !h->ratio.at[who[i]].n)
            continue;
        const int one = who[i];
        int k = kept++;
        for (; k > 1 && ratio_of(h, who[k - 1]) < ratio_of(h, one); k--)
            who[k] = who[k - 1];
        who[k] = one;
    }
    return kept;
}

/* The fastest of who[], or 0. */
static int halve(Hunt *h, int *who, int n)
{
    int turns = first_turns[h->whole];
    for (int round = 1; n > 1 && !h->failed && !interrupted(); round++) {
        for (int i = 0; i < n; i++)
            at(h, who[i])->round = round;
        const int done = measure(h, who, n, turns, deciding);
        n = sort_alive(h, who, n);
        if (n <= 2 || done < turns)          /* one is left, or the time over */
            break;
        n = 1 + n / 2;
        turns = turns * 2 < MostTurns ? turns * 2 : MostTurns;
    }
    return n > 1 && ratio_of(h, who[1]) > 1 ? who[1] : 0;
}

/* ----------------------------------------------------------- candidates --- */
static bool untried(const Hunt *h, int i)
{
    return i > 0 && at(h, i)->fate == FateRanked && !h->made.at[i].text
        && !*at(h, i)->why;
}

/* How many can be compiled in the time that there is for it. */
static int room(const Hunt *h)
{
    if (h->t->options->exhaustive)
        return 1 << 20;
    const double left = time_left(h, deciding) * compiling;
    const double n = left / h->t->shop.each[h->whole];
    return n < 3 ? 3 : n > 256 ? 256 : (int)n;
}

/* The untried that should be fastest, after `n` that are chosen already. */
static int add_ranked(Hunt *h, int *who, int n, int most)
{
    const int begin = n;
    for (int i = 1; i < h->task->candidate.n; i++) {
        bool chosen = !untried(h, i);
        for (int k = 0; k < begin; k++)
            chosen |= who[k] == i;
        if (chosen)
            continue;
        int k = n < most ? n++ : n;
        for (; k > begin && at(h, who[k - 1])->predicted
                            > at(h, i)->predicted; k--)
            if (k < most)
                who[k] = who[k - 1];
        if (k < most)
            who[k] = i;
    }
    return n;
}

/* A tiling that was best for another shape here may be good for this one. */
static int add_nearest(Hunt *h, int *who, int n)
{
    const Tuner *t = h->t;
    const Record *r = records_nearest(&t->records, &t->report.host,
                                      &h->task->task->key);
    if (!r || !tiling_valid(&r->tiling, r->key.kind)
        || (On(r->key.kind) & OnProducts
            && !tiling_fits(&t->engine.target, &r->tiling)))
        return n;
    const int i = candidate_of(h, &r->tiling);
    if (i > 0)
        who[n++] = i;
    return n;
}

static int first_round(Hunt *h)
{
    const int all = h->task->candidate.n + 2;
    int *who = arena_alloc(h->a, (size_t)all * sizeof *who);
    if (!h->whole && !h->t->shop.jit && h->task->candidate.n > 1 + room(h))
        tune_heats(h->t, h->task, &h->model, machine_seconds()
                                             + heating * time_left(h, 0));
    int n = 1, most = 1 + room(h);           /* who[0]: the default */
    n = add_nearest(h, who, n);
    n = add_ranked(h, who, n, most < all ? most : all);
    n = build(h, who, n);
    if (n == 1 && !h->failed && !interrupted())      /* nothing beside it */
        measure(h, who, n, first_turns[h->whole], 0);
    return h->failed || n < 2 ? 0 : halve(h, who, n);
}

/* The best of `champion` and its neighbours. */
static int around(Hunt *h, int champion)
{
    const Tilings near = tiling_neighbours(h->a, &h->model,
                                           &at(h, champion)->tiling);
    int *who = arena_alloc(h->a, (size_t)(near.n + 2) * sizeof *who);
    int n = 0, most = 1 + room(h);
    who[n++] = 0;
    if (champion > 0)
        who[n++] = champion;
    const int begin = n;
    for (int i = 0; i < near.n && n < begin + most; i++) {
        const int k = candidate_of(h, &near.at[i]);
        if (untried(h, k))
            who[n++] = k;
    }
    n = build(h, who, n);
    return n > begin ? halve(h, who, n) : champion;
}

/* ------------------------------------------------------------- deciding --- */
/* The winner against the default: in pairs that had no part in choosing it, so
 * that the test's level holds.                                               */
static void decide(Hunt *h, int champion)
{
    TuneTask *task = h->task;
    Times *ratio = &h->ratio.at[champion];
    const int who[] = { 0, champion }, before = ratio->n;
    const int least = least_pairs[h->whole];
    double log_ratio[MostPairs];
    task->gain = (Interval){ 1, 1, 1 };
    task->p_value = 1;
    if (champion == 0 || h->failed || interrupted())
        return;
    const double fit = time_left(h, 0) / (2 * h->each);
    int pairs = fit < (double)MostPairs ? (int)fit : MostPairs;
    if (pairs < least)
        pairs = least;
    pairs = measure(h, who, 2, pairs, -1);
    if (interrupted())
        return;
    const double *fresh = ratio->at + before;
    pairs = ratio->n - before;
    for (int i = 0; i < pairs; i++)
        log_ratio[i] = log(fresh[i]);
    task->pairs = pairs;
    task->gain = median_interval(fresh, pairs);
    task->p_value = signed_rank(log_ratio, pairs);
    if (pairs >= least && at(h, champion)->fate == FateTimed
        && task->p_value <= TUNE_ALPHA && task->gain.middle >= least_gain
        && task->gain.low > 1)
        task->champion = champion;
}

static ChildWork work_of(Hunt *h)
{
    Tuner *t = h->t;
    const Dtype dtype = h->task->task->key.dtype;
    ChildWork w = h->whole
        ? whole_run_work(whole_run_new(&t->report, t->setup, &t->works, false,
                                       &h->made))
        : task_run_work(task_run_new(h->a, &h->model, &t->ring[dtype], h->task,
                                     &h->made));
    w.tick = tune_tick;
    w.ticks = t;
    return w;
}

void tune_task(Tuner *t, TuneTask *task, double until)
{
    Hunt h = { .t = t, .task = task, .a = t->arena, .until = until,
               .begin = machine_seconds(), .hang = 2,
               .whole = task->task->key.kind > TaskAttention,
               .model = tune_model(t, task->task) };
    if (h.whole)
        h.hang = 20;             /* a model's first calls may take seconds */
    add_candidate(&h, &task->task->usual);
    const Tilings space = tiling_space(h.a, &h.model);
    for (int i = 0; i < space.n; i++)
        add_candidate(&h, &space.at[i]);
    h.work = work_of(&h);
    int champion = first_round(&h);
    for (int k = 0; k < 8 && !h.failed && !interrupted()
                    && time_left(&h, deciding) > 0; k++) {
        const int before = champion;
        champion = around(&h, champion);
        if (champion == before)
            break;
    }
    decide(&h, champion);
    task->finished = !h.failed && !interrupted() && at(&h, 0)->samples > 0;
}
