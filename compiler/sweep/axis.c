/* axis.c: parses the texts of --vary, such as "h=4,8,16" or "N=2..6", into the
 * axes of a grid. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep_parts.h"

/* ---- options ---- */
typedef struct AxisOption {
    const char *key, *option; /* key and option of the axis, for --vary */
    AxisKind kind;
    int64_t least, most; /* range of numbers; 0: values are texts */
    size_t at;           /* offset of the option in SweepOptions */
    bool text;           /* true: the option is a text; false: an int64_t */
    int64_t unset;       /* a number that was not given is at most this */
} AxisOption;

#define MODEL(member) offsetof(SweepOptions, model.member)
#define WORK(member) offsetof(SweepOptions, work.member)
static const AxisOption options[] = {
    { "p", "-p", AxisLengths, 1, INT32_MAX, WORK(lengths), true, 0 },
    { "n", "-n", AxisOther, 0, INT32_MAX, WORK(steps), false, -1 },
    { "b", "-b", AxisOther, 1, 1000000, WORK(batch), false, 0 },
    { "beam", "--beam", AxisOther, 1, 1024, WORK(beam), false, 1 },
    { "threads", "--threads", AxisThreads, 1, ATTN_POOL_MOST, MODEL(threads),
      false, -1 },
    { "tile", "--tile", AxisOther, 0, 0, MODEL(tile), true, 0 },
    { "backend", "--backend", AxisOther, 0, 0, MODEL(backend), true, 0 },
    { "march", "--march", AxisOther, 0, 0, MODEL(march), true, 0 },
};
enum { AxisOptions = sizeof options / sizeof *options };

static const AxisOption *find_option(const char *key)
{
    for (int i = 0; i < AxisOptions; i++)
        if (!strcmp(key, options[i].key) || !strcmp(key, options[i].option))
            return &options[i];
    return NULL;
}

/* True if the user gave the option itself rather than an axis. */
static bool is_given(const SweepOptions *o, const AxisOption *row)
{
    const void *at = (const char *)o + row->at;
    return row->text ? *(const char *const *)at != NULL
                     : *(const int64_t *)at > row->unset;
}

static bool parse_integer(const char *text, int64_t *value)
{
    char *end;
    const bool sign = *text == '-';
    *value = strtoll(text, &end, 10);
    return text[sign] >= '0' && text[sign] <= '9' && !*end;
}

int64_t axis_number(const Axis *x, const char *value)
{
    int64_t n = 0;
    const AxisOption *o = x->option;
    if (!parse_integer(value, &n) || n < o->least || n > o->most)
        fail(ExitUsage, "--vary %s: '%s' is no number from %lld to %lld",
             x->key, quote(value), (long long)o->least, (long long)o->most);
    return n;
}

void axis_set(SweepOptions *to, const Axis *x, const char *value)
{
    const AxisOption *o = x->option;
    if (o && o->text)
        *(const char **)((char *)to + o->at) = value;
    else if (o)
        *(int64_t *)((char *)to + o->at) = axis_number(x, value);
}

/* ---- values ---- */

/* one value of an axis, or an ascending range of numbers */
typedef struct {
    const char *text;
    bool range;
    int64_t from, to, step; /* bounds of the range; step added to the number */
    bool times;             /* true: the number is multiplied by the step */
} Piece;
typedef VEC(Piece) Pieces;

/* Parses a range: "2..6", "8..64..8" or "1..32..x2". Returns false if the text
 * is not a range. */
static bool read_range(Arena *a, const char *key, const char *text, Piece *p)
{
    const char *dots = strstr(text, ".."), *more;
    if (!dots)
        return false;
    more = strstr(dots + 2, "..");
    const size_t n = more ? (size_t)(more - dots) - 2 : strlen(dots + 2);
    *p = (Piece){ .range = true, .step = 1 };
    if (!parse_integer(arena_strndup(a, text, (size_t)(dots - text)), &p->from)
        || !parse_integer(arena_strndup(a, dots + 2, n), &p->to))
        return false;
    p->times = more && more[2] == 'x';
    if (more
        && (!parse_integer(more + 2 + p->times, &p->step)
            || p->step < 1 + p->times || (p->times && p->from < 1)))
        fail(ExitUsage,
             "--vary %s: '%s': a range is 2..6, 8..64..8 (steps of 8) or "
             "1..32..x2 (each twice the one before)",
             key, quote(text));
    if (p->from > p->to)
        fail(ExitUsage, "--vary %s: the range '%s' goes down: write %lld..%lld",
             key, quote(text), (long long)p->to, (long long)p->from);
    return true;
}

static double piece_count(const Piece *p)
{
    if (!p->range)
        return 1;
    const double from = (double)p->from, to = (double)p->to;
    return p->times ? 1 + floor(log(to / from) / log((double)p->step) + 1e-9)
                    : 1 + floor((to - from) / (double)p->step);
}

static void push_range(Arena *a, const Piece *p, Words *to)
{
    for (int64_t n = p->from, left = (int64_t)piece_count(p); left > 0;
         left--) {
        vec_push(a, to, arena_printf(a, "%lld", (long long)n));
        n = p->times ? n * p->step : n + p->step;
    }
}

/* Returns the comma that ends a value, or the end of the text. Commas in
 * brackets and quotes do not count. */
static const char *value_end(const char *text)
{
    int depth = 0;
    char mark = 0;
    for (; *text; text++) {
        if (mark)
            mark = *text == mark ? 0 : mark;
        else if (*text == '"' || *text == '\'')
            mark = *text;
        else if (strchr("[{", *text))
            depth++;
        else if (strchr("]}", *text))
            depth--;
        else if (*text == ',' && depth <= 0)
            return text;
    }
    return text;
}

static void split_values(Arena *a, const char *key, const char *text,
                         Pieces *to)
{
    for (const char *at = text, *end;; at = end + 1) {
        Piece p;
        end = value_end(at);
        const char *word = arena_strndup(a, at, (size_t)(end - at));
        if (!*word)
            fail(ExitUsage, "--vary %s=%s: a value is empty", key, quote(text));
        if (strchr(word, '='))
            fail(ExitUsage,
                 "--vary %s: '%s': a --vary is for one field; give another "
                 "one for each, and --zip where they go in step",
                 key, quote(word));
        if (!read_range(a, key, word, &p))
            p = (Piece){ .text = word };
        vec_push(a, to, p);
        if (!*end)
            return;
    }
}

/* ---- keys ---- */

/* True if the keys are equal or one is below the other. */
static bool overlap(const char *x, const char *y)
{
    const size_t n = strlen(x), m = strlen(y), least = n < m ? n : m;
    return !strncmp(x, y, least) && (n == m || (n < m ? y : x)[least] == '.');
}

/* True if `all` begins with `part`, e.g. "threads" with "thread". False if
 * `part` is a single letter. */
static bool begins(const char *part, const char *all)
{
    return part[0] && part[1] && !strncmp(part, all, strlen(part));
}

static _Noreturn void unknown(Arena *a, const char *key)
{
    const char *near = NULL;
    for (int i = 0; i < AxisOptions && !near; i++)
        if (begins(key, options[i].key) || begins(options[i].key, key))
            near = options[i].key;
    if (!near)
        near = spec_field_near(a, key);
    if (near)
        fail(ExitUsage, "--vary %s: there is no such field: did you mean %s?",
             quote(key), near);
    fail(ExitUsage,
         "--vary %s: there is no such field; attnc fields lists them",
         quote(key));
}

static Axis new_axis(Arena *a, const SweepOptions *o, const char *key)
{
    const AxisOption *option = find_option(key);
    if (!option && !spec_has_field(key))
        unknown(a, key);
    if (option && is_given(o, option))
        fail(ExitUsage, "%s is given, and varied: leave one of them out",
             option->option);
    return (Axis){ .kind = option ? option->kind : AxisField,
                   .option = option,
                   .key = option ? option->key : key };
}

/* Rejects a key that --set also sets, e.g. with "h=4,d_k=8". */
static void refuse_set(Arena *a, const char *key, const char *set)
{
    for (const char *at = set, *end;; at = end + 1) {
        end = value_end(at);
        const size_t n = strcspn(at, "=,");
        if (at[n] == '=' && overlap(key, arena_strndup(a, at, n)))
            fail(ExitUsage, "--vary %s: --set %s fixes it: leave one out", key,
                 quote(set));
        if (!*end)
            return;
    }
}

static void refuse_twice(Arena *a, const SweepOptions *o, const Axes *axes,
                         const Axis *x)
{
    for (int i = 0; i < axes->n; i++)
        if (overlap(x->key, axes->at[i].key))
            fail(ExitUsage,
                 "--vary %s and --vary %s are of one field: give all values "
                 "in one of them",
                 axes->at[i].key, x->key);
    for (int i = 0; x->kind == AxisField && i < o->model.nsets; i++)
        refuse_set(a, x->key, o->model.sets[i]);
}

/* ---- count ---- */

/* approximate seconds to plan a small variant */
static const double plan_seconds = 0.003;

static const char *time_text(Arena *a, double seconds)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = { { "years", 365.25 * 86400 },
                  { "days", 86400 },
                  { "hours", 3600 },
                  { "minutes", 60 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (seconds >= 2 * units[i].seconds)
            return arena_printf(a, "%.0f %s", seconds / units[i].seconds,
                                units[i].word);
    return arena_printf(a, "%.0f seconds", seconds);
}

/* Rejects more than MostVariants combinations. `count` is the number of values
 * of each axis. With --zip, the number of combinations is that of one axis. */
static void refuse_many(Arena *a, const SweepOptions *o, const Axes *axes,
                        const double *count)
{
    double all = o->nspecs > 0 ? o->nspecs : 1, longest = 1;
    for (int i = 0; i < axes->n; i++) {
        if (o->zip && count[i] != count[0])
            fail(ExitUsage,
                 "--zip: %s has %.0f values, %s %.0f: as many of "
                 "each go in step",
                 axes->at[0].key, count[0], axes->at[i].key, count[i]);
        longest = fmax(longest, count[i]);
        all *= o->zip ? 1 : count[i];
    }
    all *= o->zip ? longest : 1;
    if (all > (double)MostVariants)
        fail(ExitUsage,
             "--vary: %.0f combinations: at 3 ms each, to plan them alone "
             "would take %s; at most %d are taken: fewer values, or --zip",
             all, time_text(a, all * plan_seconds), MostVariants);
}

static void refuse_same(const Axis *x)
{
    for (int i = 0; i < x->value.n; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(x->value.at[i], x->value.at[k]))
                fail(ExitUsage, "--vary %s: '%s' is there twice", x->key,
                     quote(x->value.at[i]));
}

static void make_values(Arena *a, Axis *x, const Pieces *pieces)
{
    const AxisOption *option = x->option;
    for (int i = 0; i < pieces->n; i++) {
        const Piece *p = &pieces->at[i];
        if (p->range)
            push_range(a, p, &x->value);
        else
            vec_push(a, &x->value, p->text);
    }
    for (int i = 0; option && option->most > 0 && i < x->value.n; i++)
        axis_number(x, x->value.at[i]);
    refuse_same(x);
}

void axes_read(Arena *a, const SweepOptions *o, Axes *axes)
{
    const size_t n = (size_t)o->nvary;
    Pieces *pieces = arena_alloc(a, n * sizeof *pieces);
    double *count = arena_alloc(a, n * sizeof *count);
    for (int i = 0; i < o->nvary; i++) {
        const char *text = o->vary[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            fail(ExitUsage,
                 "--vary '%s': a field and its values, as h=4,8,16 or N=2..6",
                 quote(text));
        const Axis x = new_axis(a, o,
                                arena_strndup(a, text,
                                              (size_t)(equals - text)));
        refuse_twice(a, o, axes, &x);
        split_values(a, x.key, equals + 1, &pieces[i]);
        for (int k = 0; k < pieces[i].n; k++)
            count[i] += piece_count(&pieces[i].at[k]);
        vec_push(a, axes, x);
    }
    refuse_many(a, o, axes, count);
    for (int i = 0; i < axes->n; i++)
        make_values(a, &axes->at[i], &pieces[i]);
}
