/* row.c: converts a row to JSON and back. A child process passes its row to the
 * parent in this form. */
#include <math.h>
#include <string.h>

#include "base/columns.h"
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

/* ---- columns ---- */
#define MOST 1e30 /* so that sums and quotients stay finite */
#define NUMBER(of, member) COLUMN(Known, of, member, #member, .most = MOST)
#define TEXT(of, member) COLUMN(Maybe, of, member, #member)
#define COUNT(array) (int)(sizeof array / sizeof *array)

static const RowColumn cost_columns[] = { NUMBER(Cost, flops),
                                          NUMBER(Cost, dots),
                                          NUMBER(Cost, weights),
                                          NUMBER(Cost, again),
                                          NUMBER(Cost, scan),
                                          NUMBER(Cost, cached),
                                          NUMBER(Cost, values),
                                          NUMBER(Cost, written),
                                          COLUMN(Added, Cost, pairs, "pairs",
                                                 .most = MOST) };
static const RowColumn work_columns[] = {
    COLUMN(Row, RowWork, cost, "cost", .n = COUNT(cost_columns),
           .row = cost_columns),
    NUMBER(RowWork, tokens),
    NUMBER(RowWork, estimate),
    COLUMN(Reals, RowWork, load, "load", .n = Loads, .most = MOST),
    NUMBER(RowWork, limit),
    COLUMN(Int, RowWork, bound, "bound", .most = Bounds - 1),
    TEXT(RowWork, results)
};
static const RowColumn mixing_columns[] = {
    TEXT(Mixing, complexity), NUMBER(Mixing, operations),
    NUMBER(Mixing, sequential), NUMBER(Mixing, path), NUMBER(Mixing, flops)
};
static const RowColumn row_columns[] = { TEXT(Row, hash),
                                         TEXT(Row, host),
                                         COLUMN(Ints, Row, size, "size",
                                                .n = Sizes, .most = MOST),
                                         NUMBER(Row, parameters),
                                         NUMBER(Row, flops),
                                         NUMBER(Row, weights),
                                         NUMBER(Row, memory),
                                         TEXT(Row, note) };
static const RowColumn mixing_column = COLUMN(Row, Row, mixing, "mixing",
                                              .n = COUNT(mixing_columns),
                                              .row = mixing_columns);

/* ---- write ---- */

/* Times are in nanoseconds. */
static json_t *work_json(const RowWork *w)
{
    json_t *o = columns_object(work_columns, COUNT(work_columns), w);
    json_t *times = json_array();
    for (int i = 0; i < w->times.n; i++)
        json_array_append_new(times,
                              json_integer(llround(1e9 * w->times.at[i])));
    json_object_set_new(o, "times", times);
    return o;
}

json_t *row_json(const Row *r, int fields)
{
    json_t *words = json_array();
    json_t *o = columns_object(row_columns, COUNT(row_columns), r);
    for (int i = 0; i < fields; i++)
        json_array_append_new(words, json_string(r->fields[i]));
    json_object_set_new(o, "fields", words);
    columns_write(o, &mixing_column, 1, r);
    for (int i = 0; i < WorkKinds; i++)
        if (r->work[i].there)
            json_object_set_new(o, work_word[i], work_json(&r->work[i]));
    return o;
}

/* ---- read ---- */
static bool read_times(Arena *a, Times *to, const json_t *list)
{
    size_t i;
    const json_t *x;
    bool ok = json_is_array(list);
    json_array_foreach(list, i, x)
    {
        ok = ok && json_is_integer(x) && json_integer_value(x) > 0;
        vec_push(a, to, 1e-9 * json_number_value(x));
    }
    return ok;
}

static bool read_work(Arena *a, RowWork *w, const json_t *from)
{
    RowWork found = { .there = true, .times = w->times };
    bool ok = !columns_parse(a, work_columns, COUNT(work_columns), &found, from)
           && read_times(a, &found.times, json_object_get(from, "times"));
    if (w->results && found.results)
        ok = ok && strcmp(w->results, found.results) == 0;
    found.results = found.results ? found.results : w->results;
    if (found.times.n > 0 && ok)
        found.time = times_summary(&found.times);
    *w = found;
    return ok;
}

static bool read_fields(Arena *a, Row *row, const json_t *from, int fields)
{
    const char **word = arena_alloc(a, (size_t)fields * sizeof *word + 1);
    for (int i = 0; i < fields; i++) {
        const char *value = json_string_value(json_array_get(from, (size_t)i));
        word[i] = value ? arena_strdup(a, value) : "";
    }
    row->fields = word;
    return json_array_size(from) == (size_t)fields;
}

bool row_read(Arena *a, Row *row, const json_t *from, int fields)
{
    bool ok = !columns_parse(a, row_columns, COUNT(row_columns), row, from)
           && read_fields(a, row, json_object_get(from, "fields"), fields)
           && !columns_parse(a, &mixing_column, 1, row, from);
    row->mixing.complexity = row->mixing.complexity ? row->mixing.complexity
                                                    : "";
    row->state = RowPlanned;
    for (int i = 0; i < WorkKinds && ok; i++) {
        const json_t *work = json_object_get(from, work_word[i]);
        ok = !work || read_work(a, &row->work[i], work);
        if (row->work[i].time.n > 0)
            row->state = RowTimed;
    }
    return ok;
}
