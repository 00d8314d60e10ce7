/* fake_machine.h: a simulated machine for tunings. Its clock advances by what
 * is done on it, and a run takes the time that the test sets, so results do not
 * depend on this machine's speed or load. Included after compiler/tune/tuner.h,
 * cmocka.h and fake_programs.h. */
#ifndef ATTNC_FAKE_MACHINE_H
#define ATTNC_FAKE_MACHINE_H

#include <fcntl.h>
#include <jansson.h>
#include <math.h>

static struct {
    double now;
    double compile; /* seconds per compilation, on one of two cores */
    bool children;  /* candidates run, for verdicts */
    bool compilers; /* and so do compilers */
    /* time of a candidate relative to the default's; NULL: 1 */
    double (*run)(const TuneTask *task, const Tiling *tiling);
    double (*end)(int workload, int pair); /* time of the final model */
    /* changes a candidate's result; task is NULL for the complete model */
    void (*plant)(const Task *task, int candidate, float *result);
    int pairs; /* pairs of the end-to-end test so far */
    int compiled;
    double least_limit; /* of a candidate's compilation */
    double first_done;  /* first value of the progress bar; -1: none */
    double worst;       /* lowest gain shown as the best */
    uint64_t seed;
} fake;

/* Returns a factor near 1, with noise of half a percent. */
static inline double fake_noise(void)
{
    return 1 + ((double)bench_random(&fake.seed) / 4294967296.0 - 0.5) * 0.01;
}

static inline double fake_now(void)
{
    return fake.now;
}

static inline void fake_rates(Machine *m, const Target *t, int threads,
                              double seconds)
{
    (void)t;
    machine_find(m);
    m->cores = 2;
    m->cache[LevelL1] = 32 << 10;
    m->cache[LevelL2] = 1 << 20;
    m->cache[LevelL3] = 32 << 20;
    m->rates[0] = (Rates){
        threads, 1e11, 4e11, 2e11, { 4e11, 2e11, 1e11, 3e10 }
    };
    m->counts = 1;
    fake.now += seconds;
}

/* Runs two compilers in parallel; each writes the file that it should. */
static inline void fake_compile(SpawnJob *jobs, int n, const SpawnLimits *l)
{
    if (fake.compilers)
        spawn_all(jobs, n, l);
    for (int i = 0; i < n; i++) {
        SpawnJob *j = &jobs[i];
        fake.compiled++;
        fake.now += fmin(fake.compile, j->seconds) / 2;
        if (fake.compilers)
            continue;
        j->took = fake.compile;
        j->late = fake.compile > j->seconds;
        j->ok = !j->late || fault(&j->why, ExitBackend, "ran too long");
        for (int k = 0; j->argv[k]; k++)
            if (!strcmp(j->argv[k], "-o")) {
                const int fd = open(j->argv[k + 1], O_WRONLY | O_CREAT, 0600);
                assert_int_equal(write(fd, "x", 1), 1);
                close(fd);
            }
    }
}

static inline double fake_seconds(const ChildWork *w, int candidate, int part)
{
    if (!w->task)
        return candidate && fake.end ? 0.02 * fake.end(part, fake.pairs) : 0.02;
    const double usual = w->task->task->key.kind > TaskAttention ? 0.05 : 1e-3;
    return candidate && fake.run
             ? usual
                   * fake.run(w->task, &w->task->candidate.at[candidate].tiling)
             : usual;
}

/* Does the same work, then changes its results. */
static inline bool planted_begin(void *with, Fault *why)
{
    const ChildWork *w = with;
    return w->begin(w->with, why);
}

static inline bool planted_open(void *with, int candidate, Fault *why)
{
    const ChildWork *w = with;
    return w->open(w->with, candidate, why);
}

static inline Result planted_result(void *with, int candidate, int i)
{
    const ChildWork *w = with;
    const Task *task = w->task ? w->task->task : NULL;
    const Result r = w->result(w->with, candidate, i);
    if (candidate > 0 && fake.plant)
        fake.plant(task && task->key.kind <= TaskAttention ? task : NULL,
                   candidate, r.at);
    return r;
}

static inline void planted_time(void *with, int candidate, double *seconds)
{
    const ChildWork *w = with;
    w->time(w->with, candidate, seconds);
}

static inline ChildWork plant(const ChildWork *w)
{
    ChildWork planted = *w;
    planted.with = (void *)(uintptr_t)w;
    planted.begin = planted_begin;
    planted.open = planted_open;
    planted.result = planted_result;
    planted.time = planted_time;
    return planted;
}

/* Runs complete repetitions until the time is over; only the first begins
 * later. */
static inline void fake_measure(Arena *arena, const ChildWork *w,
                                Measurement *m)
{
    const size_t n = (size_t)m->n, parts = (size_t)w->parts;
    if (fake.children) {
        const ChildWork planted = plant(w);
        child_measure(arena, &planted, m);
        fake.now += 0.01;
        if (m->done == 0)
            return;
    } else {
        m->verdict = arena_alloc(arena, n * sizeof *m->verdict);
        m->sample = arena_alloc(arena, n * (size_t)m->repetitions * parts
                                           * sizeof *m->sample);
        for (size_t i = 0; i < n; i++)
            m->verdict[i].status = StatusTimed;
    }
    for (m->done = 0; m->done < m->repetitions; m->done++) {
        if (m->done > 0 && fake.now > m->until)
            return;
        for (size_t i = 0; i < n * parts; i++) {
            const double x = fake_noise()
                           * fake_seconds(w, m->which[i / parts],
                                          (int)(i % parts));
            m->sample[(size_t)m->done * n * parts + i] = x;
            fake.now += x;
        }
        fake.pairs += !w->task;
    }
}

/* Records the progress shown for the search. */
static inline void fake_progress(Progress *p, double done)
{
    const char *at = strstr(tune_progress_text(a, p), " %");
    if (fake.first_done < 0)
        fake.first_done = done;
    while (at && at[-1] != ' ')
        at--;
    if (at && p->now)
        fake.worst = fmin(fake.worst, strtod(at, NULL));
}

/* Sets up a machine that compiles in 0.4 s, where all tilings are equally fast.
 */
static inline void fake_machine(void)
{
    memset(&fake, 0, sizeof fake);
    fake.now = 1000;
    fake.compile = 0.4;
    fake.first_done = -1;
    fake.seed = 3;
}

static const Environment fake_environment = {
    .now = fake_now,
    .rates = fake_rates,
    .compile = fake_compile,
    .measure = fake_measure,
    .progress = fake_progress,
};

/* ---- reports ---- */
static inline const char *text_in(const json_t *j, const char *name)
{
    const char *text = json_string_value(json_object_get(j, name));
    return text ? text : "";
}

static inline bool true_in(const json_t *j, const char *name)
{
    return json_is_true(json_object_get(j, name));
}

static inline double number_in(const json_t *j, const char *name)
{
    return json_number_value(json_object_get(j, name));
}

static inline int count_tasks(const json_t *j, const char *what)
{
    int n = 0;
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(j, "tasks"), i, task)
        n += true_in(task, what);
    return n;
}

/* Counts the candidates with this status and reason. */
static inline int count_status(const json_t *j, const char *status,
                               const char *why)
{
    int n = 0;
    size_t i, k;
    json_t *task, *c;
    json_array_foreach(json_object_get(j, "tasks"), i, task)
        json_array_foreach(json_object_get(task, "candidates"), k, c)
            n += !strcmp(text_in(c, "status"), status)
              && strstr(text_in(c, "why"), why) != NULL;
    return n;
}

/* Tunes models/tiny.yaml, with records in the test's folder. */
static inline json_t *fake_tune(TuneOptions o, int code)
{
    const char *path = in_dir("report.txt");
    o.records = in_dir("tune.txt");
    o.model.spec = "models/tiny.yaml";
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(tune_on(&fake_environment, &o, out), code);
    fclose(out);
    if (o.format != TuneJson)
        return NULL;
    json_t *j = json_load_file(path, 0, NULL);
    assert_non_null(j);
    return j;
}

static inline Records fake_records(void)
{
    Records r = { 0 };
    Fault why;
    assert_true(records_read(&r, a, in_dir("tune.txt"), &why));
    return r;
}

#endif
