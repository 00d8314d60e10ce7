/* search.c: the best tiling of one task.
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

#include "tune/search.h"

/* Of a task alone, of a whole model. */
static const int first_turns[] = { 12, 5 }, least_pairs[] = { 24, 16 };
enum { MostTurns = 96, MostPairs = 200 };
static const double least_gain = 1.01; /* below that nothing changes */
static const double deciding = DecidingPart;
static const double patience = 50; /* a hang takes so many runs */

Candidate *search_at(const TaskSearch *h, int i)
{
    return &h->task->candidate.at[i];
}

double search_left(const TaskSearch *h, double part)
{
    return h->until - part * (h->until - h->begin) - tune_now();
}

/* --------------------------------------------------------------- timing --- */
static void take_verdict(TaskSearch *h, int i, const Verdict *v)
{
    Candidate *c = search_at(h, i);
    if (v->status == StatusTimed && c->samples == 0)
        c->when = tune_now() - h->t->begin;
    c->status = v->status;
    c->tried = true;
    memcpy(c->why, v->why, sizeof c->why);
}

static void take_times(TaskSearch *h, int i)
{
    const Times *x = &h->time.at[i];
    const Interval s = median_interval(x->at, x->n);
    Candidate *c = search_at(h, i);
    c->samples = x->n;
    c->seconds = s.middle;
    c->spread = (s.high - s.low) / 2 / s.middle;
    c->gain = median_of(h->ratio.at[i].at, h->ratio.at[i].n);
}

/* Runs who[0], the default, and the others in turn until then. Returns whole
 * turns.                                                                     */
static int measure(TaskSearch *h, const int *who, int n, int turns,
                   double until)
{
    const double hang = h->whole ? 20 : 2; /* first calls are long */
    Round r = { .which = who,
                .n = n,
                .turns = turns,
                .hang = fmax(hang, patience * h->each),
                .until = until,
                .order = (uint64_t)++h->rounds };
    const double begin = tune_now();
    tune_world.round(h->a, &h->work, &r);
    if (r.done > 0) /* with its part of loading and checking */
        h->each = (tune_now() - begin) / (r.done * n);
    if (r.done > 0 && h->whole)
        h->t->run = h->each;
    for (int i = 0; i < n && !interrupted(); i++)
        take_verdict(h, who[i], &r.verdict[i]);
    h->failed |= !interrupted() && r.verdict[0].status != StatusTimed;
    for (int turn = 0; turn < r.done; turn++)
        for (int i = 0; i < n; i++) {
            const double *x = r.sample + (int64_t)turn * n;
            if (r.verdict[i].status != StatusTimed || x[i] <= 0)
                continue;
            vec_push(h->a, &h->time.at[who[i]], x[i]);
            vec_push(h->a, &h->ratio.at[who[i]], x[0] / x[i]);
        }
    for (int i = 0; i < n && r.done > 0; i++)
        if (r.verdict[i].status == StatusTimed)
            take_times(h, who[i]);
    return r.done;
}

static double ratio_of(const TaskSearch *h, int i)
{
    return i == 0 ? 1 : search_at(h, i)->gain;
}

/* who[1 ..] that still run, the fastest first; returns how many with who[0]. */
static int sort_alive(const TaskSearch *h, int *who, int n)
{
    int kept = 1;
    for (int i = 1; i < n; i++) {
        if (search_at(h, who[i])->status != StatusTimed
            || !h->ratio.at[who[i]].n)
            continue;
        const int one = who[i];
        int k = kept++;
        for (; k > 1 && ratio_of(h, who[k - 1]) < ratio_of(h, one); k--)
            who[k] = who[k - 1];
        who[k] = one;
    }
    return kept;
}

/* The fastest of who[1 ..]; 0: none of them runs. */
static int halve(TaskSearch *h, int *who, int n)
{
    int turns = first_turns[h->whole];
    for (int round = 1; n > 1 && !h->failed && !interrupted(); round++) {
        for (int i = 0; i < n; i++)
            search_at(h, who[i])->round = round;
        const double left = fmin(search_left(h, deciding),
                                 search_left(h, 0)
                                     - 2 * least_pairs[h->whole] * h->each);
        const int done = measure(h, who, n, turns, tune_now() + left);
        n = sort_alive(h, who, n);
        h->task->lead = n > 1 && ratio_of(h, who[1]) > 1 ? who[1] : 0;
        if (n <= 2 || done < turns) /* one is left, or the time over */
            break;
        n = 1 + n / 2;
        turns = turns * 2 < MostTurns ? turns * 2 : MostTurns;
    }
    return n > 1 && !h->failed ? who[1] : 0;
}

/* The fastest of the candidates that come next, and of `best`, the fastest
 * before; 0: none runs beside the default.                                   */
static int search(TaskSearch *h, int best)
{
    const int near = 2 * Knobs + 4;
    for (int k = 0; k < 9 && !h->failed && !interrupted()
                    && (k == 0 || search_left(h, deciding) > 0);
         k++) {
        const int all = h->task->candidate.n + near, before = best;
        int *who = arena_alloc(h->a, (size_t)all * sizeof *who), n = 1;
        const int centre = best > 0 && ratio_of(h, best) > 1 ? best : 0;
        who[0] = 0;
        if (best > 0)
            who[n++] = best;
        const int begin = n;
        n = k == 0 ? search_next(h, who, n)
                   : search_neighbours(h, who, n, centre);
        if (n > begin && !h->failed)
            best = halve(h, who, n);
        if (k > 0 && best == before)
            break;
    }
    return best;
}

/* ------------------------------------------------------------- deciding --- */
/* A candidate against the default: in pairs that had no part in choosing it, so
 * that the test's level holds. False: too few for that.                      */
static bool decide(TaskSearch *h, int candidate)
{
    TuneTask *task = h->task;
    Times *ratio = &h->ratio.at[candidate];
    const int who[] = { 0, candidate }, before = ratio->n;
    const int least = least_pairs[h->whole];
    double log_ratio[MostPairs];
    const double fit = search_left(h, 0) / (2 * h->each);
    int most = fit < (double)MostPairs ? (int)fit : MostPairs;
    if (most < least || ratio_of(h, candidate) < 1)
        most = least;
    /* what it took to come so far is worth the time that the least take */
    measure(h, who, 2, most,
            fmin(fmax(h->until, h->t->last), tune_now() + 4 * most * h->each));
    const double *fresh = ratio->at + before;
    const int pairs = ratio->n - before;
    for (int i = 0; i < pairs; i++)
        log_ratio[i] = log(fresh[i]);
    if (pairs < least || interrupted() || h->failed)
        return false;
    const Interval gain = median_interval(fresh, pairs);
    const double p = signed_rank(log_ratio, pairs);
    const bool faster = search_at(h, candidate)->status == StatusTimed
                     && p <= TUNE_ALPHA && gain.middle >= least_gain
                     && gain.low > 1;
    if (task->finished && !(faster && gain.middle > task->gain.middle))
        return true; /* what was found before is better */
    task->incumbent = faster ? candidate : 0;
    task->gain = faster ? gain : (Interval){ 1, 1, 1 };
    task->p_value = p;
    task->pairs = pairs;
    return true;
}

static ChildWork work_of(TaskSearch *h)
{
    Tuner *t = h->t;
    const Dtype dtype = h->task->task->key.dtype;
    ChildWork w = h->whole
                    ? whole_run_work(whole_run_new(&t->report, t->setup,
                                                   &t->works, false, &h->code))
                    : task_run_work(task_run_new(h->a, &h->model,
                                                 &t->rotating[dtype], h->task,
                                                 &h->code));
    w.task = h->task;
    w.tick = tune_tick;
    w.ticks = t;
    return w;
}

static TaskSearch *begin_search(Tuner *t, TuneTask *task)
{
    TaskSearch *h = arena_alloc(t->arena, sizeof *h);
    *h = (TaskSearch){ .t = t,
                       .task = task,
                       .a = t->arena,
                       .whole = task->task->key.kind > TaskAttention,
                       .model = cost_model(t, task->task) };
    search_candidates(h);
    h->work = work_of(h);
    return h;
}

int tune_least_pairs(TaskKind kind)
{
    return least_pairs[kind > TaskAttention];
}

void tune_task(Tuner *t, TuneTask *task, double until)
{
    if (!task->search)
        task->search = begin_search(t, task);
    TaskSearch *h = task->search;
    h->begin = tune_now();
    h->until = until;
    h->failed = false;
    if (search_at(h, h->best)->status > StatusTimed)
        h->best = 0;
    const int untried = search_untried(h), before = h->best;
    h->best = search(h, before);
    const bool ran = search_at(h, 0)->samples > 0 && !h->failed;
    const bool again = task->finished && h->best == before;
    if (ran && h->best > 0 && !again && decide(h, h->best))
        task->finished |= task->incumbent > 0 || search_covered(h);
    else if (ran && h->best == 0 && search_covered(h))
        task->finished = true; /* none of them runs */
    task->lead = task->incumbent;
    task->spent = h->failed ? search_at(h, 0)->status > StatusTimed
                            : task->finished
                                  && (search_untried(h) == 0
                                      || search_untried(h) == untried);
}
