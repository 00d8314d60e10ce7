/* candidates.c: which tilings of a task are tried, in which order, and
 * their code.                                                                */
#include <math.h>
#include <string.h>

#include "tune/search.h"

static const double prescreening = 0.3; /* of the time that is left */
static const double compiling = 0.45;   /* of what is left beside deciding */
enum { LeastTried = 8, LeastWhole = 3 };

static void add_candidate(TaskSearch *h, const Tiling *t)
{
    const Candidate c = { .tiling = *t,
                          .status = StatusRanked,
                          .predicted = tiling_seconds(&h->model, t),
                          .seconds = NAN,
                          .spread = NAN,
                          .when = NAN,
                          .gain = NAN };
    vec_push(h->a, &h->task->candidate, c);
    vec_push(h->a, &h->code, (Code){ 0 });
    vec_push(h->a, &h->time, (Times){ 0 });
    vec_push(h->a, &h->ratio, (Times){ 0 });
}

/* Its place; added where it is not there. */
static int candidate_of(TaskSearch *h, const Tiling *t)
{
    for (int i = 0; i < h->task->candidate.n; i++)
        if (tiling_same(&search_at(h, i)->tiling, t))
            return i;
    add_candidate(h, t);
    return h->task->candidate.n - 1;
}

/* What libtcc's code took stands in the place of the model's prediction. */
static void take_earlier(TaskSearch *h, const TuneTask *from)
{
    int n = 0;
    const double usual = search_at(h, 0)->predicted;
    for (int i = 1; i < h->task->candidate.n; i++)
        for (int k = 1; k < from->candidate.n; k++) {
            const Candidate *c = &from->candidate.at[k];
            if (!(c->gain > 0)
                || !tiling_same(&c->tiling, &search_at(h, i)->tiling))
                continue;
            search_at(h, i)->predicted = usual / c->gain;
            search_at(h, i)->tried = true;
            n++;
        }
    h->prescreened |= n >= LeastTried || n >= h->task->candidate.n - 1;
}

static const Record *known(const TaskSearch *h)
{
    const Record like = { .host = h->t->report.host,
                          .key = h->task->task->key };
    return records_find(&h->t->records, &like);
}

void search_candidates(TaskSearch *h)
{
    const TuneReport *earlier = h->t->earlier;
    add_candidate(h, &h->task->task->usual);
    const Tilings space = tiling_space(h->a, &h->model);
    for (int i = 0; i < space.n; i++)
        add_candidate(h, &space.at[i]);
    for (int i = 0; earlier && i < earlier->task.n; i++)
        if (task_same(&earlier->task.at[i].task->key, &h->task->task->key))
            take_earlier(h, &earlier->task.at[i]);
    h->prescreened |= h->whole || h->t->builder.jit;
}

/* ------------------------------------------------------------- building --- */
static Code text_of(TaskSearch *h, int i)
{
    const bool jit = h->t->builder.jit;
    Task task = *h->task->task;
    Code m = { 0 };
    task.tiling = search_at(h, i)->tiling;
    if (!h->whole) {
        m.text = emit_task(h->a, h->t->engine.plan, &task,
                           jit ? EmitJit : EmitAot, &m.n);
        return m;
    }
    VEC(Choice) all = { 0 };
    for (int k = 0; k < h->t->choice.n; k++)
        if (!task_same(&h->t->choice.at[k].key, &task.key))
            vec_push(h->a, &all, h->t->choice.at[k]);
    vec_push(h->a, &all, ((Choice){ task.key, task.tiling }));
    return whole_text(&h->t->engine, all.at, all.n, jit);
}

/* An earlier one with the same text; -1: none. */
static int same_code(const TaskSearch *h, int i)
{
    const Code *m = &h->code.at[i];
    for (int k = 0; k < h->code.n; k++)
        if (k != i && h->code.at[k].text && h->code.at[k].n == m->n
            && !memcmp(h->code.at[k].text, m->text, m->n))
            return k;
    return -1;
}

static double compile_time(const TaskSearch *h)
{
    return fmax(0, search_left(h, DecidingPart)) * compiling;
}

/* Those of who[] that have no code yet; what is another's code was timed. */
static int without_code(TaskSearch *h, int *who, int n, BuildJob *b, int *of)
{
    int count = 0;
    for (int k = 0; k < n; k++) {
        Code *m = &h->code.at[who[k]];
        if (m->text)
            continue;
        *m = text_of(h, who[k]);
        if (same_code(h, who[k]) >= 0) {
            Candidate *c = search_at(h, who[k]);
            snprintf(c->why, sizeof c->why, "the same code as another");
            c->tried = true;
            *m = (Code){ 0 };
            who[k] = -1;
            continue;
        }
        b[count] = (BuildJob){ .code = m,
                               .whole = h->whole,
                               .usual = who[k] == 0 };
        of[count++] = who[k];
    }
    return count;
}

static void take_build(TaskSearch *h, int i, const BuildJob *b)
{
    Candidate *c = search_at(h, i);
    if (b->end != BuildDone)
        *b->code = (Code){ 0 };
    if (b->end != BuildDone && i == 0)
        h->failed = true;
    if (b->end != BuildFailed || interrupted())
        return;
    c->status = StatusFailed;
    c->tried = true;
    memcpy(c->why, b->why, sizeof c->why);
}

/* Compiles those of who[] that are not tried yet; keeps those that can run. */
static int build(TaskSearch *h, int *who, int n)
{
    BuildJob *b = arena_alloc(h->a, (size_t)(n + 1) * sizeof *b);
    int *of = arena_alloc(h->a, (size_t)(n + 1) * sizeof *of), kept = 0;
    const int count = without_code(h, who, n, b, of);
    builder_build(&h->t->builder, h->a, b, count,
                  h->t->options->exhaustive ? INFINITY
                                            : tune_now() + compile_time(h),
                  h->t->last);
    for (int i = 0; i < count; i++)
        take_build(h, of[i], &b[i]);
    for (int k = 0; k < n; k++)
        if (who[k] >= 0 && h->code.at[who[k]].text
            && (search_at(h, who[k])->status == StatusRanked
                || search_at(h, who[k])->status == StatusTimed))
            who[kept++] = who[k];
    return kept;
}

/* ----------------------------------------------------------- candidates --- */
static bool untried(const TaskSearch *h, int i)
{
    return i > 0 && search_at(h, i)->status == StatusRanked
        && !h->code.at[i].text && !*search_at(h, i)->why;
}

/* How many can be compiled in the time that there is for it. */
static int room(const TaskSearch *h)
{
    if (h->t->options->exhaustive)
        return 1 << 20;
    const double n = compile_time(h) / h->t->builder.each[h->whole];
    const int least = search_covered(h) ? 1 : 3; /* ranked by runs: the first */
    return n < least ? least : n > 256 ? 256 : (int)n;
}

/* The untried that should be fastest, after `n` that are chosen already. */
static int add_ranked(TaskSearch *h, int *who, int n, int most)
{
    const int begin = n;
    for (int i = 1; i < h->task->candidate.n; i++) {
        bool chosen = !untried(h, i);
        for (int k = 0; k < begin; k++)
            chosen |= who[k] == i;
        if (chosen)
            continue;
        int k = n < most ? n++ : n;
        for (; k > begin
               && search_at(h, who[k - 1])->predicted
                      > search_at(h, i)->predicted;
             k--)
            if (k < most)
                who[k] = who[k - 1];
        if (k < most)
            who[k] = i;
    }
    return n;
}

/* What an earlier run found, or was best for another shape here. */
static int add_nearest(TaskSearch *h, int *who, int n)
{
    const Tuner *t = h->t;
    const Record *own = known(h),
                 *r = own ? own
                          : records_nearest(&t->records, &t->report.host,
                                            &h->task->task->key);
    if (!r || !tiling_valid(&r->tiling, r->key.kind)
        || (On(r->key.kind) & OnProducts
            && !tiling_fits(&t->engine.target, &r->tiling)))
        return n;
    const int i = candidate_of(h, &r->tiling);
    if (i > 0 && untried(h, i))
        who[n++] = i;
    return n;
}

int search_next(TaskSearch *h, int *who, int n)
{
    const bool first = search_at(h, 0)->samples == 0;
    if (!h->prescreened && h->task->candidate.n > 1 + room(h))
        prescreen(h->t, h->task, &h->model,
                  tune_now() + prescreening * search_left(h, 0));
    h->prescreened = true;
    const int most = n + room(h);
    if (first)
        n = add_nearest(h, who, n);
    return build(h, who, add_ranked(h, who, n, most));
}

int search_neighbours(TaskSearch *h, int *who, int n, int centre)
{
    const Tilings near = tiling_neighbours(h->a, &h->model,
                                           &search_at(h, centre)->tiling);
    const int most = n + 1 + room(h);
    for (int i = 0; i < near.n && n < most; i++) {
        const int k = candidate_of(h, &near.at[i]);
        if (untried(h, k))
            who[n++] = k;
    }
    return build(h, who, n);
}

int search_untried(const TaskSearch *h)
{
    int n = 0;
    for (int i = 1; i < h->task->candidate.n; i++)
        n += untried(h, i);
    return n;
}

bool search_covered(const TaskSearch *h)
{
    int tried = 0;
    const int all = h->task->candidate.n - 1;
    const int least = h->whole ? LeastWhole : LeastTried;
    for (int i = 1; i <= all; i++)
        tried += search_at(h, i)->tried;
    return tried >= least || tried >= all;
}
