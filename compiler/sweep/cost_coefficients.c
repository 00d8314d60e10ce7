/* cost_coefficients.c: the cost model, which is fitted to the times of earlier
 * models. A workload takes the sum of c[i] x[i] seconds. For each kind of work,
 * the feature x[i] is its seconds at the machine's rates (bench/slow_work.c),
 * and the coefficient c[i] is the factor by which it runs slower. Measured
 * times and their features are cached per host; c minimises the squared
 * relative error. To keep c >= 0, the minimum is found coordinate by
 * coordinate, which is fast because there are few features; see Lawson and
 * Hanson, Solving Least Squares Problems (1974), chapter 23. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "sweep/sweep_parts.h"

/* The prior of the coefficients: the factor by which products of typical sizes
 * run slower than the machine's rates allow, and the seconds of work that no
 * rate covers. It has the weight of `worth` measured times. */
#define PRODUCTS(of, row, few, many)                                          \
    [of + LoadRow] = row, [of + LoadFew] = few, [of + LoadMany] = many
static const double guess[Loads] = {
    PRODUCTS(0, 1.2, 1.3, 1.1),
    PRODUCTS(LoadBf16, 1.5, 1.5, 1.2),
    PRODUCTS(LoadInt8, 2, 2, 1.4),
    PRODUCTS(LoadDot, 1.5, 1.5, 1.5),
    [LoadQuery] = 2,
    [LoadQueries] = 1.3,
    [LoadNorm] = 2,
    [LoadMove] = 2,
    [LoadCalls] = 2e-7,
    [LoadFunctions] = 2e-8,
    [LoadResults] = 1e-10,
    [LoadCurves] = 3e-10,
    [LoadScores] = 2e-10,
    [LoadLogits] = 1e-10,
};
static const double worth = 0.005;
enum { LeastTimes = 20, MostTimes = 1024, Sweeps = 200, Rounds = 8 };
enum { TimedNumbers = sizeof(Timed) / sizeof(double) };

/* ---- fit ---- */
typedef struct { /* normal equations; each time is divided by itself */
    double a[Loads][Loads], b[Loads];
} Normal;

/* Returns the weight of a time. It is small if the time is far from its
 * prediction, because the machine may have been busy. */
static double weight_of(const Timed *t, const double *c)
{
    const double wide = 0.05;
    const double off = fabs(coefficients_seconds(c, t->load) / t->seconds - 1);
    return off <= wide ? 1 : wide / off;
}

static void add_square(Normal *n, const double *x, double y, double weight)
{
    for (int i = 0; i < Loads; i++) {
        for (int k = 0; k < Loads; k++)
            n->a[i][k] += weight * x[i] * x[k];
        n->b[i] += weight * x[i] * y;
    }
}

static void solve(const Normal *n, double *c)
{
    for (int round = 0; round < Sweeps; round++)
        for (int i = 0; i < Loads; i++) {
            double rest = n->b[i];
            for (int k = 0; k < Loads; k++)
                rest -= k == i ? 0 : n->a[i][k] * c[k];
            c[i] = fmax(0, rest / n->a[i][i]);
        }
}

/* Fits the coefficients. Minimises relative errors, so that short and long
 * times have the same weight. */
static void fit(const TimedList *list, double c[Loads])
{
    memcpy(c, guess, sizeof guess);
    for (int round = 0; list->n && round < Rounds; round++) {
        Normal n = { 0 };
        for (int i = 0; i < list->n; i++) {
            const Timed *t = &list->at[i];
            double x[Loads];
            for (int k = 0; k < Loads; k++)
                x[k] = t->load[k] / t->seconds;
            add_square(&n, x, 1, round ? weight_of(t, c) : 1);
        }
        for (int i = 0; i < Loads; i++) {
            double x[Loads] = { 0 };
            x[i] = 1 / guess[i];
            add_square(&n, x, 1, worth);
        }
        solve(&n, c);
    }
}

double coefficients_seconds(const double c[Loads], const double load[Loads])
{
    double sum = 0;
    for (int i = 0; i < Loads; i++)
        sum += c[i] * load[i];
    return sum;
}

/* ---- kept ---- */
static CacheKey key_of(const char *what, const char *host)
{
    return cache_key((CachePiece[]){ { what, strlen(what) },
                                     { host, strlen(host) },
                                     { ATTNC_VERSION, strlen(ATTNC_VERSION) } },
                     3);
}

static json_t *cached_note(Arena *a, const char *what, const char *host)
{
    CacheEntry e;
    if (!cache_get(&e, a, CacheNote, key_of(what, host), CacheVerified))
        return NULL;
    json_t *note = json_loadb(e.at, e.bytes, 0, NULL);
    cache_close(&e);
    return note;
}

/* Caches a note. Ignores failures, because the only consequence is a missing
 * note. */
static void keep_note(Arena *a, const char *what, const char *host,
                      json_t *note)
{
    char *text = json_dumps(note, JSON_COMPACT | JSON_REAL_PRECISION(9));
    Fault unused;
    if (text)
        cache_put(a,
                  &(CachePut){ .kind = CacheNote,
                               .key = key_of(what, host),
                               .what = arena_printf(a, "%s of %s", what, host),
                               .at = text,
                               .bytes = strlen(text) },
                  &unused);
    free(text);
    json_decref(note);
}

/* The numbers change with the meaning, so that older notes are not read. */
static const char times_word[] = "times of models, 2",
                  rates_word[] = "rates of the machine, 2";

static void times_read(Arena *a, const char *host, TimedList *to)
{
    json_t *note = cached_note(a, times_word, host), *x;
    size_t i;
    json_array_foreach(note, i, x)
    {
        Timed t;
        if (json_reals_read(x, (double *)&t, TimedNumbers, 0, HUGE_VAL)
            && t.seconds > 0)
            vec_push(a, to, t);
    }
    json_decref(note);
}

/* Cross-validates the cost model: fits it to each half of the times and
 * predicts the other half. */
static void find_missed(Arena *a, const TimedList *list, Coefficients *to)
{
    const int n = list->n;
    double *missed = arena_alloc(a, (size_t)n * sizeof *missed + 1);
    if (n < LeastTimes)
        return;
    for (int half = 0; half < 2; half++) {
        TimedList others = { 0 };
        double c[Loads];
        for (int i = 1 - half; i < n; i += 2)
            vec_push(a, &others, list->at[i]);
        fit(&others, c);
        for (int i = half; i < n; i += 2)
            missed[i] = fabs(coefficients_seconds(c, list->at[i].load)
                                 / list->at[i].seconds
                             - 1);
    }
    qsort(missed, (size_t)n, sizeof *missed, by_number);
    to->missed = missed[n / 2];
    to->missed_most = missed[n * 9 / 10];
}

void coefficients_read(Arena *a, const char *host, Coefficients *to)
{
    TimedList list = { 0 };
    times_read(a, host, &list);
    *to = (Coefficients){ .host = host };
    to->times = list.n;
    fit(&list, to->c);
    find_missed(a, &list, to);
}

/* True if the features are equal in the digits that the cache has. */
static bool same_load(const double *a, const double *b)
{
    for (int i = 0; i < Loads; i++)
        if (fabs(a[i] - b[i]) > 1e-7 * fabs(a[i]))
            return false;
    return true;
}

/* Adds a time, or replaces the time of the same workload. */
static void put_time(Arena *a, TimedList *list, const Timed *t)
{
    for (int i = 0; i < list->n; i++)
        if (same_load(list->at[i].load, t->load)) {
            list->at[i] = *t;
            return;
        }
    vec_push(a, list, *t);
}

void coefficients_cache(Arena *a, const char *host, const TimedList *new)
{
    TimedList list = { 0 };
    json_t *note = json_array();
    times_read(a, host, &list);
    for (int i = 0; i < new->n; i++)
        put_time(a, &list, &new->at[i]);
    for (int i = list.n > MostTimes ? list.n - MostTimes : 0; i < list.n; i++)
        json_array_append_new(note, json_reals((const double *)&list.at[i],
                                               TimedNumbers));
    keep_note(a, times_word, host, note);
}

/* ---- rates ---- */
static const char *machine_name(Arena *a, const Machine *m, const Target *t)
{
    return arena_printf(a, "%s, %d cores, %zu %zu %zu, %s of %d", m->cpu,
                        m->cores, m->cache[0], m->cache[1], m->cache[2],
                        t->name, t->width);
}

/* a row of rates: number of threads, then all rates */
enum { RatesNumbers = Levels + 4 };

static bool rates_read(Rates *r, const json_t *from)
{
    double x[RatesNumbers];
    if (!json_reals_read(from, x, RatesNumbers, 0, 1e30))
        return false;
    *r = (Rates){ .threads = (int)fmin(x[0], INT32_MAX),
                  .fma = x[1],
                  .dot = x[2],
                  .pair = x[3] };
    memcpy(r->read, &x[4], sizeof r->read);
    return r->threads > 0 && r->fma > 0;
}

static json_t *rates_json(const Rates *r)
{
    double x[RatesNumbers] = { r->threads, r->fma, r->dot, r->pair };
    memcpy(&x[4], r->read, sizeof r->read);
    return json_reals(x, RatesNumbers);
}

bool rates_cached(Arena *a, Machine *m, const Target *t, int threads)
{
    Machine found = *m;
    json_t *x;
    size_t i;
    machine_find(&found);
    json_t *note = cached_note(a, rates_word, machine_name(a, &found, t));
    json_array_foreach(note, i, x)
    {
        if (found.counts < MostRates
            && rates_read(&found.rates[found.counts], x))
            found.counts++;
    }
    json_decref(note);
    if (found.counts == 0 || machine_rates(&found, threads)->threads != threads)
        return false;
    *m = found;
    return true;
}

void rates_cache(Arena *a, const Machine *m, const Target *t)
{
    json_t *note = json_array();
    for (int i = 0; i < m->counts; i++)
        json_array_append_new(note, rates_json(&m->rates[i]));
    keep_note(a, rates_word, machine_name(a, m, t), note);
}

void rates_find(Arena *a, Machine *m, const Target *t, int threads, bool again)
{
    static const double seconds = 0.2;
    Machine cached = { 0 };
    const bool have = rates_cached(a, &cached, t, threads);
    if (have && !again) {
        *m = cached;
        return;
    }
    machine_measure(m, t, threads, seconds);
    if (have)
        machine_keep_better(m, &cached);
    rates_cache(a, m, t);
}
