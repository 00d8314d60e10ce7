/* row.c: converts a row to JSON and back. A child process passes its row on in
 * this form. */
#include <math.h>
#include <string.h>

#include "sweep/sweep_parts.h"

const char *const work_word[WorkKinds] = { "encode", "prefill", "step",
                                           "search" };

int work_of(const Setup *setup, const Work *w)
{
    return w->batch == &setup->encode  ? WorkEncode
         : w->batch == &setup->prefill ? WorkPrefill
         : w->batch == &setup->step    ? WorkStep
                                       : WorkSearch;
}

const RowWork *row_main(const Row *r)
{
    static const int order[] = { WorkSearch, WorkEncode, WorkStep,
                                 WorkPrefill };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (r->work[order[i]].there)
            return &r->work[order[i]];
    return NULL;
}

/* ---- write ---- */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *text(const char *s)
{
    return s ? json_string(s) : json_null();
}

static json_t *cost_json(const Cost *c)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "flops",
                     c->flops, "dots", c->dots, "weights", c->weights, "again",
                     c->again, "scan", c->scan, "cached", c->cached, "values",
                     c->values, "written", c->written);
}

static json_t *work_json(const RowWork *w)
{
    json_t *times = json_array();
    for (int i = 0; i < w->times.n; i++)
        json_array_append_new(times,
                              json_integer(llround(1e9 * w->times.at[i])));
    json_t *load = json_array();
    for (int i = 0; i < Loads; i++)
        json_array_append_new(load, json_real(w->load[i]));
    return json_pack("{s:o, s:f, s:o, s:o, s:o, s:i, s:o, s:o}", "cost",
                     cost_json(&w->cost), "tokens", w->tokens, "estimate",
                     number(w->estimate), "load", load, "limit",
                     number(w->limit), "bound", w->bound, "results",
                     text(w->results), "times", times);
}

static json_t *mixing_json(const Mixing *m)
{
    return json_pack("{s:o, s:f, s:f, s:f, s:f}", "complexity",
                     text(m->complexity), "operations", m->operations,
                     "sequential", m->sequential, "path", m->path, "flops",
                     m->flops);
}

static json_t *size_json(const RowSize *s)
{
    json_t *list = json_array();
    for (int i = 0; i < Sizes; i++)
        json_array_append_new(list, json_integer(s->of[i]));
    return list;
}

json_t *row_json(const Row *r, int fields)
{
    json_t *words = json_array();
    json_t *o = json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:o, s:o}",
                          "hash", text(r->hash), "host", text(r->host), "size",
                          size_json(&r->size), "parameters", r->parameters,
                          "flops", r->flops, "weights", r->weights, "memory",
                          r->memory, "note", text(r->note), "fields", words,
                          "mixing", mixing_json(&r->mixing));
    for (int i = 0; i < fields; i++)
        json_array_append_new(words, text(r->fields[i]));
    for (int i = 0; i < WorkKinds; i++)
        if (r->work[i].there)
            json_object_set_new(o, work_word[i], work_json(&r->work[i]));
    return o;
}

/* ---- read ---- */
typedef struct { /* an object whose members may be missing or invalid */
    Arena *arena;
    const json_t *from;
    bool bad;
} Reader;

/* True if x is small enough that sums and quotients stay finite. */
static bool in_range(double x)
{
    return x >= 0 && x < 1e30;
}

/* Returns a number, which must not be negative; NAN for null. */
static double take_number(Reader *r, const char *key)
{
    const json_t *x = json_object_get(r->from, key);
    const double value = json_number_value(x);
    r->bad |= !json_is_number(x) && !json_is_null(x);
    r->bad |= !in_range(value);
    return json_is_number(x) ? value : NAN;
}

/* Returns a string; NULL for null. */
static const char *take_text(Reader *r, const char *key)
{
    const json_t *x = json_object_get(r->from, key);
    r->bad |= !json_is_string(x) && !json_is_null(x);
    return json_is_string(x) ? arena_strdup(r->arena, json_string_value(x))
                             : NULL;
}

static Cost take_cost(Reader *r)
{
    Reader c = { r->arena, json_object_get(r->from, "cost"), false };
    const Cost cost = {
        take_number(&c, "flops"),   take_number(&c, "dots"),
        take_number(&c, "weights"), take_number(&c, "again"),
        take_number(&c, "scan"),    take_number(&c, "cached"),
        take_number(&c, "values"),  take_number(&c, "written")
    };
    r->bad |= c.bad;
    return cost;
}

/* Reads times, which are stored in nanoseconds. */
static void read_times(Reader *r, Times *to)
{
    const json_t *list = json_object_get(r->from, "times"), *x;
    size_t i;
    r->bad |= !json_is_array(list);
    json_array_foreach(list, i, x)
    {
        r->bad |= !json_is_integer(x) || !(json_number_value(x) > 0);
        vec_push(r->arena, to, 1e-9 * json_number_value(x));
    }
}

static void take_load(Reader *r, double load[Loads])
{
    const json_t *list = json_object_get(r->from, "load");
    for (size_t i = 0; i < Loads; i++) {
        const json_t *x = json_array_get(list, i);
        r->bad |= !(json_is_real(x) && in_range(json_real_value(x)));
        load[i] = json_number_value(x);
    }
}

static bool take_work(Arena *a, RowWork *w, const json_t *from)
{
    Reader r = { a, from, false };
    const double bound = take_number(&r, "bound");
    const char *results = take_text(&r, "results");
    w->there = true;
    w->cost = take_cost(&r);
    w->tokens = take_number(&r, "tokens");
    w->estimate = take_number(&r, "estimate");
    take_load(&r, w->load);
    read_times(&r, &w->times);
    w->limit = take_number(&r, "limit");
    w->bound = bound >= 0 && bound < (double)Bounds ? (int)bound : BoundFma;
    r.bad |= w->results && results && strcmp(w->results, results) != 0;
    w->results = results ? results : w->results;
    if (w->times.n > 0 && !r.bad)
        w->time = times_summary(&w->times);
    return !r.bad;
}

static Mixing take_mixing(Reader *r)
{
    Reader m = { r->arena, json_object_get(r->from, "mixing"), false };
    const char *complexity = take_text(&m, "complexity");
    const Mixing mixing = { .complexity = complexity ? complexity : "",
                            .operations = take_number(&m, "operations"),
                            .sequential = take_number(&m, "sequential"),
                            .path = take_number(&m, "path"),
                            .flops = take_number(&m, "flops") };
    r->bad |= m.bad;
    return mixing;
}

static RowSize take_size(Reader *r)
{
    const json_t *list = json_object_get(r->from, "size");
    RowSize size;
    r->bad |= json_array_size(list) != Sizes;
    for (size_t i = 0; i < Sizes; i++) {
        r->bad |= !json_is_integer(json_array_get(list, i));
        size.of[i] = json_integer_value(json_array_get(list, i));
    }
    return size;
}

bool row_read(Arena *a, Row *row, const json_t *from, int fields)
{
    Reader r = { a, from, false };
    const json_t *words = json_object_get(from, "fields");
    const char **word = arena_alloc(a, (size_t)fields * sizeof *word + 1);
    row->hash = take_text(&r, "hash");
    row->host = take_text(&r, "host");
    row->size = take_size(&r);
    row->parameters = take_number(&r, "parameters");
    row->flops = take_number(&r, "flops");
    row->weights = take_number(&r, "weights");
    row->memory = take_number(&r, "memory");
    row->note = take_text(&r, "note");
    row->mixing = take_mixing(&r);
    r.bad |= (int)json_array_size(words) != fields;
    for (int i = 0; i < fields && !r.bad; i++) {
        const char *value = json_string_value(json_array_get(words, (size_t)i));
        word[i] = value ? arena_strdup(a, value) : "";
    }
    row->fields = word;
    row->state = RowPlanned;
    for (int i = 0; i < WorkKinds; i++) {
        const json_t *work = json_object_get(from, work_word[i]);
        if (!work)
            continue;
        r.bad |= !take_work(a, &row->work[i], work);
        if (row->work[i].time.n > 0)
            row->state = RowTimed;
    }
    return !r.bad;
}
