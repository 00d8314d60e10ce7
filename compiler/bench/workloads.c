/* workloads.c: the workloads of a model (an encode call, a prefill, a step and
 * a complete search) and their costs. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "bench/bench.h"

/* ---- the runs ---- */
static void run_encode(Setup *s)
{
    s->model->encode(s->engine->bound, &s->encode, s->scratch);
}

static void run_prefill(Setup *s)
{
    s->model->decode(s->engine->bound, &s->prefill, s->scratch);
}

static void run_step(Setup *s)
{
    s->model->decode(s->engine->bound, &s->step, s->scratch);
}

static void run_search(Setup *s)
{
    const BenchOptions *o = &s->options;
    if (attn_search(
            &(struct attn_search_request){
                .model = s->model,
                .bound = s->engine->bound,
                .o = &s->search,
                .sentences = o->batch,
                .ids = s->ids,
                .start = s->start,
                .memory = s->search_memory,
                .bytes = s->search_bytes,
            },
            s->found, s->found_count)
        != 0)
        die("bench: the search's memory is too small");
    for (int64_t i = 0; i < o->batch; i++) {
        if (s->found_count[i] < 1 || s->found[i].n != o->steps)
            die("bench: sentence %lld was not searched to the end",
                (long long)i);
        memcpy(s->answer + i * o->steps, s->found[i].tokens,
               (size_t)o->steps * sizeof *s->answer);
    }
}

uint64_t work_checksum(const Work *w)
{
    const float *x = w->result;
    for (size_t i = 0; w->floats && i < w->result_bytes / sizeof *x; i++)
        if (!isfinite(x[i]))
            die("bench: %s: number %zu of the result is not finite", w->name,
                i);
    return XXH3_64bits(w->result, w->result_bytes);
}

/* ---- costs ---- */
static EntryCall encode_call(const Setup *s)
{
    return (EntryCall){ .entry = EntryEncode,
                        .sequences = s->encode.sequences,
                        .start = s->encode.start,
                        .group = 1 };
}

static EntryCall decode_call(const Setup *s, const struct attn_batch *b)
{
    return (EntryCall){ .entry = EntryDecode,
                        .sequences = b->sequences,
                        .start = b->start,
                        .past = b->past,
                        .source = s->rows,
                        .group = b->sequences / s->options.batch };
}

/* Adds a call of the model to a workload. */
static void add_call(Setup *s, Work *w, EntryCall c)
{
    const Plan *p = s->engine->plan;
    Cost *cost = new_costs(p), sum = { 0 };
    count_call(p, &c, cost);
    for (int i = 0; i < p->g->nodes.n; i++) {
        w->cost[i] = cost_sum(w->cost[i], cost[i]);
        sum = cost_sum(sum, cost[i]);
    }
    const double set = sum.weights + sum.cached;
    w->set = set > w->set ? set : w->set;
    w->sum = cost_sum(w->sum, sum);
    vec_push(s->arena, &w->calls, sum);
    vec_push(s->arena, &w->loads, load_of(p, &c, cost));
}

/* Adds the calls of a complete search. The first step reads the prompts, once
 * per sentence; each later step reads one row per hypothesis. */
static void add_search_calls(Setup *s, Work *w)
{
    const BenchOptions *o = &s->options;
    const size_t bytes = (size_t)o->batch * sizeof(int32_t);
    int32_t *rows = arena_alloc(s->arena, bytes);
    int32_t *past = arena_alloc(s->arena, bytes);
    struct attn_batch b;
    if (s->spec->kind != KindDecoder)
        add_call(s, w, encode_call(s));
    for (int64_t step = 0; step < o->steps; step++) {
        for (int64_t i = 0; i < o->batch; i++) {
            const int64_t lead = attn_search_lead(s->model, &s->search,
                                                  s->rows[i]);
            rows[i] = step == 0 ? (int32_t)lead : 1;
            past[i] = step == 0 ? 0 : (int32_t)(lead + step - 1);
        }
        setup_decode(s, &b, rows, past, step == 0 ? 1 : o->beam);
        add_call(s, w, decode_call(s, &b));
        w->loads.at[w->loads.n - 1].count[LoadLogits] =
            (double)(b.sequences * s->model->target_vocab);
    }
}

/* ---- workloads ---- */
static void add_encode(Setup *s, Works *works)
{
    const double rows = (double)s->encode.rows;
    const bool cached = s->spec->kind == KindEncoderDecoder;
    Work w = { .name = "encode",
               .per_answer = 1,
               .rows = rows,
               .tokens = rows,
               .run = run_encode,
               .floats = true,
               .entry = EntryEncode,
               .batch = &s->encode,
               .cost = new_costs(s->engine->plan) };
    w.result = cached ? s->cache[ATTN_CROSS].group[0].pool : s->output;
    w.result_bytes = cached ? s->cache_bytes[ATTN_CROSS]
                            : (size_t)setup_output_floats(s) * sizeof(float);
    add_call(s, &w, encode_call(s));
    vec_push(s->arena, works, w);
}

static void add_decode(Setup *s, Works *works, const char *name, double runs,
                       struct attn_batch *b, void (*run)(Setup *))
{
    Work w = { .name = name,
               .rows = (double)b->rows,
               .tokens = (double)b->rows,
               .per_answer = runs,
               .run = run,
               .result = s->output,
               .floats = true,
               .entry = EntryDecode,
               .batch = b,
               .cost = new_costs(s->engine->plan) };
    w.result_bytes = (size_t)(b->sequences * s->model->target_vocab)
                   * sizeof(float);
    add_call(s, &w, decode_call(s, b));
    vec_push(s->arena, works, w);
}

static void add_search(Setup *s, Works *works)
{
    const BenchOptions *o = &s->options;
    Work w = { .name = "search",
               .tokens = (double)(o->batch * o->steps),
               .run = run_search,
               .result = s->answer,
               .of_others = true,
               .cost = new_costs(s->engine->plan) };
    w.rows = w.tokens + (double)s->start[o->batch];
    w.result_bytes = (size_t)(o->batch * o->steps) * sizeof *s->answer;
    add_search_calls(s, &w);
    vec_push(s->arena, works, w);
}

/* Returns the number of rows in each sentence's cache at half of the answer. */
static int32_t *half_way(const Setup *s)
{
    const BenchOptions *o = &s->options;
    const bool decoder = s->spec->kind == KindDecoder;
    int32_t *past = arena_alloc(s->arena, (size_t)o->batch * sizeof *past);
    for (int64_t i = 0; i < o->batch; i++)
        past[i] = (int32_t)(o->steps / 2) + (decoder ? s->rows[i] : 0);
    return past;
}

static int32_t *filled(Arena *a, int64_t n, int32_t value)
{
    int32_t *x = arena_alloc(a, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = value;
    return x;
}

/* True if the code accepts a batch of these lengths. */
static bool is_taken(const Setup *s, const struct attn_batch *b, bool decodes)
{
    return attn_check_fixed(s->model, b, decodes, 0) == 0;
}

static void need_taken(const Setup *s, const char *name,
                       const struct attn_batch *b, bool decodes)
{
    if (!is_taken(s, b, decodes))
        fail(ExitUsage,
             "bench: %s has %lld rows of %lld sequences, and the spec's fix "
             "says others: give the same by -p, -b and --beam, or other "
             "lengths by --fix",
             name, (long long)b->rows, (long long)b->sequences);
}

/* Fills the cache with the rows before the step, with the maximum number of
 * rows per call that the code accepts. */
static void fill_cache(Setup *s, const int32_t *past)
{
    const BenchOptions *o = &s->options;
    const int64_t each = s->model->fixed_target;
    int32_t *rows = arena_alloc(s->arena, (size_t)o->batch * sizeof *rows);
    int32_t *before = arena_alloc(s->arena, (size_t)o->batch * sizeof *before);
    for (int64_t at = 0; at < past[0]; at += each ? each : past[0]) {
        for (int64_t i = 0; i < o->batch; i++) {
            before[i] = (int32_t)at;
            rows[i] = (int32_t)(each ? each : past[i]);
        }
        setup_decode(s, &s->prefill, rows, before, o->beam);
        need_taken(s, "what fills the cache", &s->prefill, true);
        run_prefill(s);
    }
}

/* Fills all pages with random numbers, because code for a fixed `past` cannot
 * fill the cache itself. In bf16, both halves of a float get its upper half,
 * a number of the same size; in int8, its bytes are four numbers. */
static void make_past(Setup *s)
{
    const struct attn_cache *c = &s->cache[ATTN_SELF];
    uint64_t state = 5;
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        const int64_t floats = g->pages * g->is.page_bytes
                             / (int64_t)sizeof(float);
        for (int64_t k = 0; k < floats; k++) {
            const float x = (float)bench_random(&state) / 1073741824.0f - 1.0f;
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            if (g->is.format == ATTN_CACHE_BF16)
                bits = (bits & 0xffff0000u) | bits >> 16;
            memcpy(&g->pool[k], &bits, sizeof bits);
        }
    }
}

/* Adds the only call that decode accepts if `fix` sets its lengths. */
static void add_exact(Setup *s, Works *works)
{
    const BenchOptions *o = &s->options;
    const int64_t rows = s->spec->fix.target, past = setup_exact_past(s);
    struct attn_batch *b = rows == 1 ? &s->step : &s->prefill;
    setup_decode(s, b, filled(s->arena, o->batch, (int32_t)rows),
                 filled(s->arena, o->batch, (int32_t)past), o->beam);
    need_taken(s, "a call of decode", b, true);
    if (setup_runs(s) && past > 0)
        make_past(s);
    add_decode(s, works, rows == 1 ? "step" : "prefill", 1, b,
               rows == 1 ? run_step : run_prefill);
}

/* Lists the workloads. A single step stands for all steps of an answer: half of
 * the answer is in the cache, and no hypothesis has ended. */
void setup_works(Setup *s, Works *works)
{
    const BenchOptions *o = &s->options;
    const bool decoder = s->spec->kind == KindDecoder;
    if (!decoder) {
        need_taken(s, "a source", &s->encode, false);
        add_encode(s, works);
    }
    if (o->steps == 0 && !decoder)
        return;
    if (!decoder && setup_runs(s))
        run_encode(s);
    if (setup_exact(s)) {
        add_exact(s, works);
        return;
    }
    const int32_t *past = half_way(s);
    const int32_t *zero = filled(s->arena, o->batch, 0);
    const int32_t *one = filled(s->arena, o->batch, 1);
    const bool any = o->steps > 1 || decoder;
    setup_decode(s, &s->step, one, past, o->beam);
    need_taken(s, "a step", &s->step, true);
    if (setup_runs(s))
        fill_cache(s, any ? past : one);
    if (decoder) {
        setup_decode(s, &s->prefill, s->rows, zero, 1);
        if (is_taken(s, &s->prefill, true))
            add_decode(s, works, "prefill", 1, &s->prefill, run_prefill);
    }
    if (o->steps > 0)
        add_decode(s, works, "step", (double)o->steps, &s->step, run_step);
    if (setup_searches(s))
        add_search(s, works);
}

const int32_t *setup_source(const Setup *s, int64_t i)
{
    return s->model->input_width ? NULL : s->ids + s->start[i];
}

const int32_t *setup_answer(const Setup *s, int64_t i)
{
    return s->answer ? s->answer + i * s->options.steps : NULL;
}
