/* tune_json.c: prints the results of a tuning as JSON, with all candidates.
 * Times are in seconds, unknown values are null. docs/tuning.md describes the
 * keys. */
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "tune/tune_report.h"

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *text(Arena *a, const char *s)
{
    return s ? json_string(plain_text(a, s)) : json_null();
}

static json_t *interval(const Interval *i)
{
    return i->middle > 0
             ? json_pack("{s:o, s:o, s:o}", "low", number(i->low), "middle",
                         number(i->middle), "high", number(i->high))
             : json_null();
}

static json_t *candidate(Arena *a, const Candidate *c)
{
    const bool known = c->seconds > 0;
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:i, s:o}", "tiling",
                     tiling_json(&c->tiling), "status", status_word[c->status],
                     "why", text(a, *c->why ? c->why : NULL), "predicted_s",
                     number(c->predicted), "seconds",
                     number(known ? c->seconds : NAN), "spread",
                     number(known ? c->spread : NAN), "samples", c->samples,
                     "rung", c->rung, "when_s",
                     number(known || was_removed(c) ? c->when : NAN));
}

static json_t *chosen(const Candidate *c)
{
    return c ? tiling_json(&c->tiling) : json_null();
}

static json_t *task(Arena *a, const TuneTask *t)
{
    const TaskKey *k = &t->task->key;
    const Candidate *best = task_stands(t), *found = task_best(t);
    json_t *all = json_array();
    for (int i = 0; i < t->candidate.n; i++)
        json_array_append_new(all, candidate(a, &t->candidate.at[i]));
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
                     " s:o, s:o, s:o, s:i, s:b, s:b, s:o}",
                     "kind", task_word[k->kind], "shape", text(a, k->shape),
                     "epilogue", text(a, k->epilogue), "dtype",
                     dtype_word[k->dtype], "share", number(t->share), "limit_s",
                     number(t->limit), "bound", text(a, t->bound), "seconds",
                     number(best ? best->seconds : NAN), "default",
                     chosen(task_default(t)), "chosen", chosen(best), "found",
                     chosen(found), "taken_back", text(a, t->taken_back),
                     "gain", interval(&t->gain), "p",
                     number(t->pairs > 0 ? t->p_value : NAN), "pairs", t->pairs,
                     "reused", t->reused, "finished", t->finished, "candidates",
                     all);
}

static json_t *end(Arena *a, const EndToEnd *e)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i}", "workload",
                     text(a, e->name), "default_s", number(e->by_default),
                     "tuned_s", number(e->tuned), "gain", interval(&e->gain),
                     "pairs", e->pairs, "comparison", e->comparison);
}

/* Returns the machine with the keys that attnc bench prints. */
static json_t *machine(Arena *a, const Machine *m)
{
    Buffer b = { .arena = a };
    machine_json(m, &b);
    json_t *o = json_loads(b.at, 0, NULL);
    return o ? o : json_null();
}

static json_t *host(Arena *a, const Host *h)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:o}", "cpu", text(a, h->cpu),
                     "caches", text(a, h->caches), "isa", text(a, h->isa),
                     "threads", h->threads, "compiler", text(a, h->compiler));
}

/* Adds the results of one backend. */
static void add_backend(json_t *to, Arena *a, const TuneReport *r)
{
    json_t *tasks = json_array(), *ends = json_array();
    for (int i = 0; i < r->task.n; i++)
        json_array_append_new(tasks, task(a, &r->task.at[i]));
    for (int i = 0; i < r->end_to_end.n; i++)
        json_array_append_new(ends, end(a, &r->end_to_end.at[i]));
    json_object_set_new(to, "host", host(a, &r->host));
    json_object_set_new(to, "rejected", json_boolean(r->rejected));
    json_object_set_new(to, "stale", json_boolean(r->stale));
    json_object_set_new(to, "tasks", tasks);
    json_object_set_new(to, "end_to_end", ends);
}

void tune_json(const TuneReport *r, FILE *out)
{
    Arena *a = arena_new();
    json_t *others = json_array();
    json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o}", "model",
                            text(a, r->engine->spec->name), "machine",
                            machine(a, &r->machine), "seconds",
                            number(r->seconds), "budget_s",
                            number(r->options->budget), "again",
                            r->options->again, "exhaustive",
                            r->options->exhaustive, "interrupted",
                            r->interrupted, "records", text(a, r->path));
    add_backend(all, a, r);
    for (const TuneReport *o = r->other; o; o = o->other) {
        json_t *one = json_object();
        add_backend(one, a, o);
        json_array_append_new(others, one);
    }
    json_object_set_new(all, "others", others);
    char *s = json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    if (!s)
        fail(ExitResource, "out of memory");
    fprintf(out, "%s\n", s);
    free(s);
    json_decref(all);
    arena_free(a);
}
