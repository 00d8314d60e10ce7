/* tune_search.c: searches for the best tiling of a task. The default and the
 * candidates that the cost model ranks highest are timed together, interleaved.
 * A candidate's score is the median of its ratios to the default, each in one
 * repetition. The better half advances to the next rung, with twice the number
 * of repetitions [successive halving: Jamieson and Talwalkar, 2016], until one
 * candidate is left. Then the search tries tilings that differ from it in one
 * parameter, while one of them is faster. Finally, fresh pairs compare the best
 * one with the default; if it is faster, it becomes the incumbent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tuner.h"

/* [0]: tasks timed alone; [1]: tasks whose candidates are complete models */
static const int first_repetitions[] = { 12, 5 }, least_pairs[] = { 24, 16 };
enum { MostRepetitions = 96 };
static const double least_gain = 1.01; /* smaller gains are not recorded */
static const double deciding = 0.25;   /* fraction of the time for the pairs
                                        * that decide */
static const double patience = 50;     /* a run that takes this many times
                                        * longer than expected counts as hung */

static const double prescreening = 0.3; /* fraction of the remaining time */
static const double compiling = 0.45;   /* fraction of the time after that */
enum { LeastTried = 8, LeastWhole = 3 };
enum { ShortRuns = 3, FirstBatch = 16, MostBatch = 64 };

struct TaskSearch {
    Tuner *t;
    TuneTask *task;
    CostModel model;
    bool whole_model; /* the candidates are complete models */
    ChildWork work;
    double begin, until; /* beginning and end of this turn */
    double each;         /* seconds of a run, including loading and checking */
    int measured;
    int best;         /* index of the fastest candidate that runs; 0: only the
                       * default runs */
    bool prescreened; /* candidates are ranked, or need not be */
    bool failed;      /* the default does not run */
};

static Candidate *candidate_at(const TaskSearch *s, int i)
{
    return &s->task->candidate.at[i];
}

static int *new_indices(const TaskSearch *s, int n)
{
    return arena_alloc(s->t->arena, (size_t)n * sizeof(int));
}

static double now(const TaskSearch *s)
{
    return s->t->env->now();
}

/* Returns the seconds until only the fraction `part` of the turn is left. */
static double time_left(const TaskSearch *s, double part)
{
    return s->until - part * (s->until - s->begin) - now(s);
}

/* ---- candidates ---- */
static void add_candidate(TaskSearch *s, const Tiling *t)
{
    const Candidate c = { .tiling = *t,
                          .is_default = s->task->candidate.n == 0,
                          .status = StatusRanked,
                          .predicted = tiling_seconds(&s->model, t),
                          .seconds = NAN,
                          .spread = NAN,
                          .when = NAN,
                          .gain = NAN };
    vec_push(s->t->arena, &s->task->candidate, c);
}

/* Returns the index of the candidate with this tiling; -1: none. */
static int find_candidate(const TuneTask *task, const Tiling *t)
{
    for (int i = 0; i < task->candidate.n; i++)
        if (tiling_same(&task->candidate.at[i].tiling, t))
            return i;
    return -1;
}

/* Like find_candidate(), but adds the candidate if it is new. */
static int candidate_of(TaskSearch *s, const Tiling *t)
{
    const int i = find_candidate(s->task, t);
    if (i < 0)
        add_candidate(s, t);
    return i < 0 ? s->task->candidate.n - 1 : i;
}

/* Replaces the cost model's predictions with the times of libtcc's code. */
static void take_earlier(TaskSearch *s, const TuneTask *from)
{
    int n = 0;
    for (int i = 1; i < s->task->candidate.n; i++) {
        Candidate *c = candidate_at(s, i);
        const int k = find_candidate(from, &c->tiling);
        if (k < 1 || !(from->candidate.at[k].gain > 0))
            continue;
        c->predicted = candidate_at(s, 0)->predicted
                     / from->candidate.at[k].gain;
        c->tried = true;
        n++;
    }
    s->prescreened |= n >= LeastTried || n >= s->task->candidate.n - 1;
}

static void list_candidates(TaskSearch *s)
{
    const TuneReport *earlier = s->t->earlier;
    add_candidate(s, &s->task->task->defaults);
    const Tilings space = tiling_space(s->t->arena, &s->model);
    for (int i = 0; i < space.n; i++)
        add_candidate(s, &space.at[i]);
    for (int i = 0; earlier && i < earlier->task.n; i++)
        if (task_same(&earlier->task.at[i].task->key, &s->task->task->key))
            take_earlier(s, &earlier->task.at[i]);
    s->prescreened |= s->whole_model || s->t->builder.jit;
}

static bool untried(const TaskSearch *s, int i)
{
    const Candidate *c = candidate_at(s, i);
    return i > 0 && c->status == StatusRanked && !c->code.text && !*c->why;
}

static int count_untried(const TaskSearch *s)
{
    int n = 0;
    for (int i = 1; i < s->task->candidate.n; i++)
        n += untried(s, i);
    return n;
}

/* ---- building ---- */
static Code code_of(const TaskSearch *s, const Candidate *c, bool jit)
{
    Task task = *s->task->task;
    Code m = { 0 };
    task.tiling = c->tiling;
    if (s->whole_model)
        return model_code(s->t, tuner_choices(s->t, &(Choice){ task.key,
                                                               task.tiling }));
    m.text = emit_task(s->t->arena, s->t->engine.plan, &task,
                       jit ? EmitJit : EmitAot, &m.n);
    return m;
}

/* True if another candidate has the same text. */
static bool is_double(const TaskSearch *s, const Candidate *c)
{
    for (int k = 0; k < s->task->candidate.n; k++)
        if (candidate_at(s, k) != c
            && code_same(&candidate_at(s, k)->code, &c->code))
            return true;
    return false;
}

static double compile_time(const TaskSearch *s)
{
    return fmax(0, time_left(s, deciding)) * compiling;
}

/* Compiles the untried candidates in who[]. Removes those that cannot run from
 * who[], and returns the number of the others. */
static int build(TaskSearch *s, int *who, int n)
{
    Tuner *t = s->t;
    Candidate **jobs = arena_alloc(t->arena, (size_t)(n + 1) * sizeof *jobs);
    int count = 0, kept = 0;
    for (int k = 0; k < n; k++) {
        Candidate *c = candidate_at(s, who[k]);
        if (c->code.text)
            continue;
        c->code = code_of(s, c, t->builder.jit);
        if (!is_double(s, c)) {
            jobs[count++] = c;
            continue;
        }
        snprintf(c->why, sizeof c->why, "the same code as another");
        c->tried = true;
        c->code = (Code){ 0 };
    }
    builder_build(&t->builder, t->arena, jobs, count, s->whole_model,
                  t->options->exhaustive ? INFINITY : now(s) + compile_time(s),
                  t->last);
    s->failed |= !candidate_at(s, 0)->code.text;
    for (int k = 0; k < n; k++)
        if (candidate_at(s, who[k])->code.text
            && candidate_at(s, who[k])->status <= StatusTimed)
            who[kept++] = who[k];
    return kept;
}

/* ---- what to try next ---- */

/* True if enough candidates have been tried to record the best one. */
static bool is_covered(const TaskSearch *s)
{
    int tried = 0;
    const int all = s->task->candidate.n - 1;
    const int least = s->whole_model ? LeastWhole : LeastTried;
    for (int i = 1; i <= all; i++)
        tried += candidate_at(s, i)->tried;
    return tried >= least || tried >= all;
}

/* Returns the number of candidates for which there is time to compile. */
static int room(const TaskSearch *s)
{
    if (s->t->options->exhaustive)
        return 1 << 20;
    const double n = compile_time(s) / s->t->builder.each[s->whole_model];
    const int least = is_covered(s) ? 1 : 3; /* after enough tries, the ranks
                                              * are trusted */
    return n < least ? least : n > 256 ? 256 : (int)n;
}

/* Appends the untried candidates with the best predictions to the `n` in who[].
 * Returns their new number. */
static int add_ranked(TaskSearch *s, int *who, int n, int most)
{
    const int begin = n;
    for (int i = 1; i < s->task->candidate.n; i++) {
        bool chosen = !untried(s, i);
        for (int k = 0; k < begin; k++)
            chosen |= who[k] == i;
        if (chosen)
            continue;
        const double own = candidate_at(s, i)->predicted;
        int k = n < most ? n++ : n;
        for (; k > begin && candidate_at(s, who[k - 1])->predicted > own; k--)
            if (k < most)
                who[k] = who[k - 1];
        if (k < most)
            who[k] = i;
    }
    return n;
}

/* Stores the results of short runs. Times relative to the default replace
 * predictions. A candidate that crashes or has wrong results is removed,
 * because the same would happen with any compiler. A candidate that libtcc
 * cannot compile is kept, because another compiler may be able to. */
static void take_short_runs(TaskSearch *s, const Measurement *m)
{
    double ratio[ShortRuns];
    for (int i = 1; i < m->n; i++) {
        Candidate *c = candidate_at(s, m->which[i]);
        const Verdict *v = &m->verdict[i];
        for (int k = 0; k < m->done; k++) {
            const double *x = m->sample + (int64_t)k * m->n;
            ratio[k] = x[i] / x[0];
        }
        if (v->status == StatusTimed) {
            c->predicted = candidate_at(s, 0)->predicted
                         * median_interval(ratio, m->done).middle;
            c->tried = true;
        } else if (v->status != StatusFailed) {
            c->status = v->status;
            memcpy(c->why, v->why, sizeof c->why);
        }
    }
}

/* Ranks candidates by short runs, before a C compiler spends time on them:
 * libtcc takes milliseconds to compile a candidate's loops around tiles that
 * attnc contains. Takes the candidates in the order of the predictions. Stops
 * at `until`, or if the default does not run. */
static void prescreen(TaskSearch *s, double until)
{
    Tuner *t = s->t;
    const int all = s->task->candidate.n;
    int *order = new_indices(s, all), who[1 + MostBatch] = { 0 };
    const int n = add_ranked(s, order, 0, all);
    for (int done = 0, batch = FirstBatch; done < n && batch >= 4;) {
        const double begin = now(s);
        batch = batch < n - done ? batch : n - done;
        memcpy(who + 1, order + done, (size_t)batch * sizeof *who);
        Measurement m = { .which = who,
                          .n = 1 + batch,
                          .repetitions = ShortRuns,
                          .hang = 2,
                          .until = until,
                          .order = (uint64_t)done + 1 };
        for (int i = 0; i <= batch; i++)
            candidate_at(s, who[i])->code = code_of(s, candidate_at(s, who[i]),
                                                    true);
        t->env->measure(t->arena, &s->work, &m);
        for (int i = 0; i <= batch; i++)
            candidate_at(s, who[i])->code = (Code){ 0 };
        if (interrupted() || m.done == 0)
            return;
        take_short_runs(s, &m);
        done += batch;
        const double end = now(s), each = (end - begin) / batch;
        batch = (int)fmax(0, fmin((until - end) / each, (double)MostBatch));
    }
}

const Record *known_record(const Tuner *t, const TaskKey *key)
{
    const Record *r = records_find(&t->records,
                                   &(Record){ .host = t->report.host,
                                              .key = *key });
    return r && tiling_valid(&r->tiling, key->kind) ? r : NULL;
}

/* Adds the tiling that an earlier run found, or else the best one for a similar
 * shape. */
static int add_nearest(TaskSearch *s, int *who, int n)
{
    const Tuner *t = s->t;
    const TaskKey *key = &s->task->task->key;
    const Record *own = known_record(t, key),
                 *r = own ? own
                          : records_nearest(&t->records, &t->report.host, key);
    if (!r || !tiling_valid(&r->tiling, r->key.kind)
        || (On(r->key.kind) & OnProducts
            && !tiling_fits(&t->engine.target, &r->tiling)))
        return n;
    const int i = candidate_of(s, &r->tiling);
    if (untried(s, i))
        who[n++] = i;
    return n;
}

static int choose_next(TaskSearch *s, int *who, int n)
{
    const bool first = candidate_at(s, 0)->samples == 0;
    if (!s->prescreened && s->task->candidate.n > 1 + room(s))
        prescreen(s, now(s) + prescreening * time_left(s, 0));
    s->prescreened = true;
    const int most = n + room(s);
    if (first)
        n = add_nearest(s, who, n);
    return build(s, who, add_ranked(s, who, n, most));
}

static int choose_neighbours(TaskSearch *s, int *who, int n, int centre)
{
    const Tilings near = tiling_neighbours(s->t->arena, &s->model,
                                           &candidate_at(s, centre)->tiling);
    const int most = n + 1 + room(s);
    for (int i = 0; i < near.n && n < most; i++) {
        const int k = candidate_of(s, &near.at[i]);
        if (untried(s, k))
            who[n++] = k;
    }
    return build(s, who, n);
}

/* ---- timing ---- */
static void take_verdict(TaskSearch *s, Candidate *c, const Verdict *v)
{
    if (v->status == StatusTimed && c->samples == 0)
        c->when = now(s) - s->t->begin;
    c->status = v->status;
    c->tried = true;
    memcpy(c->why, v->why, sizeof c->why);
}

static void take_times(TaskSearch *s, const Measurement *m, int i)
{
    Candidate *c = candidate_at(s, m->which[i]);
    for (int k = 0; k < m->done; k++) {
        const double *x = m->sample + (int64_t)k * m->n;
        if (x[i] <= 0)
            continue;
        vec_push(s->t->arena, &c->time, x[i]);
        vec_push(s->t->arena, &c->ratio, x[0] / x[i]);
    }
    const Interval median = median_interval(c->time.at, c->time.n);
    c->samples = c->time.n;
    c->seconds = median.middle;
    c->spread = (median.high - median.low) / 2 / median.middle;
    c->gain = median_interval(c->ratio.at, c->ratio.n).middle;
}

/* Times the default, who[0], and the other candidates, until `until`. Returns
 * the number of complete repetitions. */
static int measure(TaskSearch *s, const int *who, int n, int repetitions,
                   double until)
{
    const double hang = s->whole_model ? 20 : 2; /* the first calls take long */
    Measurement m = { .which = who,
                      .n = n,
                      .repetitions = repetitions,
                      .hang = fmax(hang, patience * s->each),
                      .until = until,
                      .order = (uint64_t)++s->measured };
    const double begin = now(s);
    s->t->env->measure(s->t->arena, &s->work, &m);
    if (m.done > 0) /* includes the time to load and check */
        s->each = (now(s) - begin) / (m.done * n);
    if (m.done > 0 && s->whole_model)
        s->t->run = s->each;
    for (int i = 0; i < n && !interrupted(); i++)
        take_verdict(s, candidate_at(s, who[i]), &m.verdict[i]);
    s->failed |= !interrupted() && m.verdict[0].status != StatusTimed;
    for (int i = 0; i < n && m.done > 0; i++)
        if (m.verdict[i].status == StatusTimed)
            take_times(s, &m, i);
    return m.done;
}

static double ratio_of(const TaskSearch *s, int i)
{
    return i == 0 ? 1 : candidate_at(s, i)->gain;
}

/* Sorts who[1] to who[n - 1] by time, without those that do not run. Returns
 * the number of the others plus one, for who[0]. */
static int sort_alive(const TaskSearch *s, int *who, int n)
{
    int kept = 1;
    for (int i = 1; i < n; i++) {
        if (candidate_at(s, who[i])->status != StatusTimed
            || !candidate_at(s, who[i])->ratio.n)
            continue;
        const int one = who[i];
        int k = kept++;
        for (; k > 1 && ratio_of(s, who[k - 1]) < ratio_of(s, one); k--)
            who[k] = who[k - 1];
        who[k] = one;
    }
    return kept;
}

/* Returns the fastest of who[1] to who[n - 1], found by successive halving; 0
 * if none runs. */
static int halve(TaskSearch *s, int *who, int n)
{
    int repetitions = first_repetitions[s->whole_model];
    for (int rung = 1; n > 1 && !s->failed && !interrupted(); rung++) {
        for (int i = 0; i < n; i++)
            candidate_at(s, who[i])->rung = rung;
        const double left =
            fmin(time_left(s, deciding),
                 time_left(s, 0) - 2 * least_pairs[s->whole_model] * s->each);
        const int done = measure(s, who, n, repetitions, now(s) + left);
        n = sort_alive(s, who, n);
        s->task->lead = n > 1 && ratio_of(s, who[1]) > 1 ? who[1] : 0;
        if (n <= 2 || done < repetitions) /* one is left, or the time is up */
            break;
        n = 1 + n / 2;
        repetitions = repetitions * 2 < MostRepetitions ? repetitions * 2
                                                        : MostRepetitions;
    }
    return n > 1 && !s->failed ? who[1] : 0;
}

/* Tries further candidates. Returns the fastest of them and `best`, the fastest
 * until now; 0 if only the default runs. */
static int search(TaskSearch *s, int best)
{
    const int near = 2 * TilingParameters + 4;
    for (int k = 0; k < 9 && !s->failed && !interrupted()
                    && (k == 0 || time_left(s, deciding) > 0);
         k++) {
        const int all = s->task->candidate.n + near, before = best;
        int *who = new_indices(s, all), n = 1;
        const int centre = best > 0 && ratio_of(s, best) > 1 ? best : 0;
        who[0] = 0;
        if (best > 0)
            who[n++] = best;
        const int begin = n;
        n = k == 0 ? choose_next(s, who, n)
                   : choose_neighbours(s, who, n, centre);
        if (n > begin && !s->failed)
            best = halve(s, who, n);
        if (k > 0 && best == before)
            break;
    }
    return best;
}

/* ---- deciding ---- */

/* Compares a candidate with the default in fresh pairs. They must not be those
 * by which it was chosen, or the test's significance level would not hold.
 * Returns false if there were too few pairs. */
static bool decide(TaskSearch *s, int candidate)
{
    TuneTask *task = s->task;
    const Times *ratio = &candidate_at(s, candidate)->ratio;
    const int who[] = { 0, candidate }, before = ratio->n;
    const int least = least_pairs[s->whole_model];
    const double fit = time_left(s, 0) / (2 * s->each);
    int most = fit < (double)MostPairs ? (int)fit : MostPairs;
    if (most < least || ratio_of(s, candidate) < 1)
        most = least;
    /* even a late decision gets the minimum number of pairs */
    measure(s, who, 2, most,
            fmin(fmax(s->until, s->t->last), now(s) + 4 * most * s->each));
    const int pairs = ratio->n - before;
    if (pairs < least || interrupted() || s->failed)
        return false;
    const Interval gain = median_interval(ratio->at + before, pairs);
    const double p = faster_by_chance(ratio->at + before, pairs, 1);
    const bool faster = candidate_at(s, candidate)->status == StatusTimed
                     && p <= TUNE_ALPHA && gain.middle >= least_gain
                     && gain.low > 1;
    if (task->finished && !(faster && gain.middle > task->gain.middle))
        return true; /* the earlier decision is better */
    task->incumbent = faster ? candidate : 0;
    task->gain = faster ? gain : (Interval){ 1, 1, 1 };
    task->p_value = p;
    task->pairs = pairs;
    return true;
}

static TaskSearch *begin_search(Tuner *t, TuneTask *task)
{
    TaskSearch *s = arena_alloc(t->arena, sizeof *s);
    *s = (TaskSearch){ .t = t,
                       .task = task,
                       .whole_model = is_whole_model(task),
                       .model = cost_model(t, task->task) };
    list_candidates(s);
    s->work = s->whole_model ? model_work(t, task, false)
                             : task_work(t, task, &s->model);
    return s;
}

int least_pairs_of(TaskKind kind)
{
    return least_pairs[kind > TaskAttention];
}

/* True if another turn would not find anything. `untried` is the number of
 * untried candidates before this turn. */
static bool is_spent(const TaskSearch *s, int untried)
{
    const int left = count_untried(s);
    if (left == 0)
        return s->task->finished || s->best == 0;
    return s->task->finished && left == untried;
}

void search_task(Tuner *t, TuneTask *task, double until)
{
    if (!task->search)
        task->search = begin_search(t, task);
    TaskSearch *s = task->search;
    s->begin = now(s);
    s->until = until;
    s->failed = false;
    if (candidate_at(s, s->best)->status > StatusTimed)
        s->best = 0;
    const int untried = count_untried(s), before = s->best;
    s->best = search(s, before);
    const bool ran = candidate_at(s, 0)->samples > 0 && !s->failed;
    const bool again = task->finished && s->best == before;
    if (ran && s->best > 0 && !again && decide(s, s->best))
        task->finished |= task->incumbent > 0 || is_covered(s);
    else if (ran && s->best == 0 && is_covered(s))
        task->finished = true; /* no candidate runs */
    task->lead = task->incumbent;
    task->spent = s->failed ? candidate_at(s, 0)->status > StatusTimed
                            : is_spent(s, untried);
}
