/* workload.c: the workload for which times and FLOPs are given: lengths, tokens
 * of an answer, sentences, hypotheses, threads. The report prints the options
 * that select it. */
#include <string.h>

#include "sweep/sweep_parts.h"

/* ---- max_len ---- */

/* True if `text` is the key, or KEY=VALUE. */
static bool is_key(const char *text, const char *key)
{
    const size_t n = strlen(key);
    return !strncmp(text, key, n) && (text[n] == '\0' || text[n] == '=');
}

/* True if the user sets the key with --set or --vary. */
static bool is_chosen(const Sweep *s, const char *key)
{
    const EngineOptions *m = &s->options->model;

    for (int i = 0; i < m->nsets; i++)
        if (is_key(m->sets[i], key))
            return true;
    for (int i = 0; i < s->axes.n; i++)
        if (s->axes.at[i].kind == AxisField && is_key(s->axes.at[i].key, key))
            return true;
    return false;
}

static int64_t longest_of(Arena *a, const char *lengths)
{
    int64_t batch = 0, most = 0;
    const int32_t *rows = lengths ? bench_lengths(a, lengths, 0, &batch) : NULL;

    for (int64_t i = 0; i < batch; i++)
        most = rows[i] > most ? rows[i] : most;
    return most;
}

/* Returns a --set option that makes the maximum length of one side sufficient;
 * NULL if it is sufficient or set by the user. */
static const char *raised(const Sweep *s, const Spec *model, Side side,
                          const char *key, int64_t needed)
{
    const int64_t most = model->side[side].max_len;

    if (most <= 0 || needed <= most || is_chosen(s, "max_len")
        || is_chosen(s, key))
        return NULL;
    warning_once("%s is raised to fit -p and -n; --set %s=N chooses another",
                 key, key);
    return arena_printf(s->arena, "%s=%lld", key, (long long)needed);
}

EngineOptions workload_model(const Sweep *s, const Variant *v)
{
    Arena *a = s->arena;
    EngineOptions m = variant_model(a, s->options, &s->axes, v);
    const BenchOptions w = variant_work(s->options, &s->axes, v);
    const int64_t lengths = longest_of(a, w.lengths);

    if (lengths == 0 && w.steps <= 0)
        return m;
    messages_mute(true);
    const Spec *spec = spec_read(a, m.spec, m.text, m.sets, m.nsets);
    messages_mute(false);
    if (!spec || spec->kind == KindAttention)
        return m;
    const bool both = spec->kind == KindEncoderDecoder;
    const int64_t steps = w.steps > 0 ? w.steps : 0;
    const char *more[2] = { NULL, NULL };
    if (spec->kind != KindDecoder)
        more[0] = raised(s, spec, SideEncoder,
                         both ? "max_len.source" : "max_len", lengths);
    if (spec->kind != KindEncoder)
        more[1] = raised(s, spec, SideDecoder,
                         both ? "max_len.target" : "max_len",
                         both ? steps : lengths + steps);
    VEC(const char *) sets = { 0 };
    for (int i = 0; i < m.nsets; i++)
        vec_push(a, &sets, m.sets[i]);
    for (int i = 0; i < 2; i++)
        if (more[i])
            vec_push(a, &sets, more[i]);
    m.sets = sets.at;
    m.nsets = sets.n;
    return m;
}

/* ---- text ---- */
RowSize workload_size(const Setup *s)
{
    RowSize size = { .of = { [SizeShortest] = s->longest,
                             [SizeLongest] = s->longest,
                             [SizeSteps] = s->options.steps,
                             [SizeBatch] = s->options.batch,
                             [SizeBeam] = setup_searches(s) ? s->options.beam
                                                            : 1,
                             [SizeThreads] = s->threads } };

    for (int64_t i = 0; i < s->options.batch; i++)
        if (s->rows[i] < size.of[SizeShortest])
            size.of[SizeShortest] = s->rows[i];
    return size;
}

/* Appends an option with a value or range, such as " -n 32" or " -n 8..32";
 * nothing if it is 0. */
static const char *add(Arena *a, const char *text, const char *option,
                       int64_t least, int64_t most)
{
    if (most == 0)
        return text;
    text = arena_printf(a, "%s%s%s%lld", text, *text ? " " : "", option,
                        (long long)least);
    return least == most ? text
                         : arena_printf(a, "%s..%lld", text, (long long)most);
}

const char *workload_text(const Sweep *s, Arena *a)
{
    static const char *const options[Sizes] = {
        [SizeLongest] = "-p ",  [SizeSteps] = "-n ",   [SizeBatch] = "-b ",
        [SizeBeam] = "--beam=", [SizeThreads] = "-t ",
    };
    RowSize least, most;
    const char *text = "";
    bool any = false;

    for (int i = 0; i < s->rows.n; i++) {
        const Row *r = &s->rows.at[i];
        if (r->state == RowNew || r->state == RowRefused)
            continue;
        for (int k = 0; k < Sizes; k++) {
            const int64_t x = r->size.of[k];
            least.of[k] = !any || x < least.of[k] ? x : least.of[k];
            most.of[k] = !any || x > most.of[k] ? x : most.of[k];
        }
        any = true;
    }
    if (!any)
        return text;
    if (most.of[SizeSteps] == 0)
        most.of[SizeBeam] = 0;
    least.of[SizeLongest] = least.of[SizeShortest];
    if (!s->times && !s->estimates) /* nothing runs and nothing is predicted */
        most.of[SizeThreads] = 0;
    for (int k = SizeLongest; k < Sizes; k++)
        text = add(a, text, options[k], least.of[k], most.of[k]);
    return text;
}
