/* setup.c: prepares the batches for a model's workloads: lengths, ids and
 * memory. If there is only a plan, counts memory without allocating it. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

uint32_t bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* ---- lengths ---- */
static _Noreturn void bad_lengths(const char *text)
{
    fail(ExitUsage,
         "-p '%s': a length as 128, a range as 8..128, or lengths "
         "as 8,16,32",
         quote(text));
}

/* Parses an integer of at least 1, and moves *text past it. */
static int32_t length_at(const char *all, const char **text)
{
    char *end;
    if (**text < '0' || **text > '9')
        bad_lengths(all);
    const long long n = strtoll(*text, &end, 10);
    if (n < 1 || n > INT32_MAX)
        fail(ExitUsage, "-p '%s': lengths are 1 to 2147483647", quote(all));
    *text = end;
    return (int32_t)n;
}

int32_t *bench_lengths(Arena *a, const char *text, int64_t otherwise,
                       int64_t *batch)
{
    VEC(int32_t) list = { 0 };
    const char *at = text;
    int32_t most = 0;
    uint64_t state = 7;
    if (!text)
        vec_push(a, &list, (int32_t)otherwise);
    else
        vec_push(a, &list, length_at(text, &at));
    if (text && strncmp(at, "..", 2) == 0) {
        at += 2;
        most = length_at(text, &at);
        if (most < list.at[0])
            bad_lengths(text);
    }
    while (text && !most && *at == ',') {
        at++;
        vec_push(a, &list, length_at(text, &at));
    }
    if (text && *at)
        bad_lengths(text);
    if (*batch == 0)
        *batch = list.n;
    int32_t *rows = arena_alloc(a, (size_t)*batch * sizeof *rows);
    for (int64_t i = 0; i < *batch; i++)
        rows[i] = list.at[i % list.n]
                + (most ? (int32_t)(bench_random(&state)
                                    % ((uint32_t)(most - list.at[0]) + 1))
                        : 0);
    return rows;
}

/* ---- ids ---- */

/* Allocates memory, or only counts it and returns NULL. `bytes` is a size
 * computed by the runtime; -1: it overflowed. */
static void *memory_for(Setup *s, int64_t bytes)
{
    if (bytes < 0)
        fail(ExitResource, "bench: the sizes overflow");
    s->bytes += (double)bytes;
    return setup_runs(s) ? aligned_memory(s->arena, bytes) : NULL;
}

/* Returns a random id, avoiding special tokens if there is a vocabulary. */
static int32_t random_id(const Spec *spec, int64_t size, uint64_t *state)
{
    for (int tries = 0; tries < 64; tries++) {
        const int64_t id = bench_random(state) % size;
        if (id != spec->token_start && id != spec->token_end
            && id != spec->token_pad && id != spec->token_unknown)
            return (int32_t)id;
    }
    return 0;
}

static int32_t *random_ids(const Setup *s, int64_t n, int64_t size,
                           uint64_t seed)
{
    int32_t *ids = arena_alloc(s->arena, (size_t)n * sizeof *ids);
    for (int64_t i = 0; size > 0 && i < n; i++)
        ids[i] = random_id(s->spec, size, &seed);
    return ids;
}

/* Returns the index of the first row of each of `n` sequences, if sequence i
 * has rows[i / group] rows. */
static int32_t *starts(Arena *a, const int32_t *rows, int64_t n, int64_t group)
{
    int32_t *start = arena_alloc(a, (size_t)(n + 1) * sizeof *start);
    for (int64_t i = 0; i < n; i++)
        start[i + 1] = start[i] + rows[i / group];
    return start;
}

/* ---- options ---- */
bool setup_exact(const Setup *s)
{
    const SpecFix *fix = &s->spec->fix;
    return spec_generates(s->spec) && (fix->target > 1 || fix->past >= 0);
}

int64_t setup_exact_past(const Setup *s)
{
    return s->spec->fix.past > 0 ? s->spec->fix.past : 0;
}

/* True if a search can run: the source consists of ids, and the code accepts
 * calls of any length. */
bool setup_searches(const Setup *s)
{
    return s->options.steps > 0 && s->model->input_width == 0
        && !setup_exact(s);
}

/* Returns the number of target rows that the workloads need. */
static int64_t target_rows(const Setup *s, int64_t prompt)
{
    if (setup_exact(s))
        return setup_exact_past(s) + s->spec->fix.target;
    return s->options.steps + (s->spec->kind == KindDecoder ? prompt : 0);
}

static int64_t default_rows(int64_t most)
{
    return most > 0 && most < 128 ? most - most / 4 : 128;
}

static void default_lengths(Setup *s, int64_t most)
{
    BenchOptions *o = &s->options;
    const bool decoder = s->spec->kind == KindDecoder;
    const int64_t fixed = decoder ? 0 : spec_fixed_rows(s->spec, SideEncoder);
    double sum = 0.0;
    if (o->batch == 0 && s->spec->fix.batch > 0)
        o->batch = s->spec->fix.batch;
    s->rows = bench_lengths(s->arena, o->lengths,
                            fixed > 0 ? fixed
                                      : default_rows(decoder ? most / 2 : most),
                            &o->batch);
    for (int64_t i = 0; i < o->batch; i++) {
        sum += s->rows[i];
        if (s->rows[i] > s->longest)
            s->longest = s->rows[i];
    }
    if (most > 0 && s->longest > most)
        fail(ExitUsage, "bench: -p %lld: the model takes %lld rows at most",
             (long long)s->longest, (long long)most);
    if (sum * (double)o->beam > INT32_MAX)
        fail(ExitUsage, "bench: -b %lld: more than 2^31 rows in all",
             (long long)o->batch);
}

static void default_options(Setup *s)
{
    BenchOptions *o = &s->options;
    const bool decoder = s->spec->kind == KindDecoder;
    const int64_t target = s->spec->side[SideDecoder].max_len;
    default_lengths(s, decoder ? target : s->spec->side[SideEncoder].max_len);
    if (!spec_generates(s->spec))
        o->steps = 0;
    else if (o->steps < 0)
        o->steps = target / 2 < 32 ? target / 2 : 32;
    if (spec_generates(s->spec) && target_rows(s, s->longest) > target)
        fail(ExitUsage, "bench: -n %lld: the model's max_len is %lld",
             (long long)o->steps, (long long)target);
    if (o->beam > 1 && !setup_searches(s))
        fail(ExitUsage, "bench: --beam %lld: nothing is searched for",
             (long long)o->beam);
}

/* ---- caches ---- */
static void make_cache(Setup *s, int which, int64_t slots, int64_t longest)
{
    if (s->model->cache[which].page_bytes == 0)
        return;
    const struct attn_cache_size size = { which, slots, longest, 0, 0 };
    const int64_t bytes = attn_cache_bytes(s->model, &size);
    void *memory = memory_for(s, bytes);
    if (!memory)
        return;
    attn_cache_init(&s->cache[which], s->model, &size, memory);
    const struct attn_cache_group *first = &s->cache[which].group[0];
    s->cache_bytes[which] = (size_t)(first->pages * first->is.page_bytes);
}

/* Reserves `rows` more rows in a slot of the cache. */
static void grow_cache(Setup *s, int which, int64_t slot, int64_t rows)
{
    struct attn_cache *c = &s->cache[which];
    if (c->groups > 0 && attn_cache_grow(c, slot, rows) != 0)
        die("bench: no page left");
}

/* Makes both caches: one slot per sentence for encode's, one slot per
 * hypothesis for the decoder's. */
static void make_caches(Setup *s)
{
    const BenchOptions *o = &s->options;
    make_cache(s, ATTN_CROSS, o->batch, s->longest);
    make_cache(s, ATTN_SELF, o->batch * o->beam,
               target_rows(s, s->longest) + 1);
    for (int64_t i = 0; i < o->batch; i++)
        grow_cache(s, ATTN_CROSS, i, s->rows[i]);
    for (int64_t i = 0; i < o->batch * o->beam; i++)
        grow_cache(s, ATTN_SELF, i, target_rows(s, s->rows[i / o->beam]) + 1);
}

static void share_caches(const Setup *s, struct attn_batch *b)
{
    for (int c = 0; c < 2; c++)
        attn_cache_bind(&s->cache[c], 0, b);
    b->parallel = s->parallel;
}

/* ---- batches ---- */
int64_t setup_output_floats(const Setup *s)
{
    const bool all = !spec_generates(s->spec) && !s->model->output_pooled;
    return (all ? s->start[s->options.batch] : s->options.batch)
         * s->model->output_columns;
}

static void make_encode(Setup *s)
{
    struct attn_batch *b = &s->encode;
    const int64_t rows = s->start[s->options.batch];
    const int64_t size = rows * s->model->input_width;
    b->sequences = s->options.batch;
    b->rows = b->key_rows = rows;
    b->start = b->key_start = s->start;
    b->ids = s->ids;
    b->output = s->output;
    share_caches(s, b);
    if (size == 0)
        return;
    float *x = memory_for(s, size * (int64_t)sizeof *x);
    uint64_t state = 1;
    for (int64_t i = 0; x && i < size; i++)
        x[i] = (float)bench_random(&state) / 1073741824.0f - 1.0f;
    b->query = b->key = b->value = b->input = x;
}

void setup_decode(const Setup *s, struct attn_batch *b, const int32_t *rows,
                  const int32_t *past, int64_t beam)
{
    const int64_t n = s->options.batch * beam;
    const size_t bytes = (size_t)n * sizeof(int32_t);
    int32_t *start = starts(s->arena, rows, n, beam);
    int32_t *before = arena_alloc(s->arena, bytes);
    int32_t *select = arena_alloc(s->arena, bytes);
    int32_t *source = arena_alloc(s->arena, bytes);
    for (int64_t i = 0; i < n; i++) {
        before[i] = past[i / beam];
        select[i] = start[i + 1] - 1;
        source[i] = (int32_t)(i / beam);
    }
    *b = (struct attn_batch){ .sequences = n,
                              .rows = start[n],
                              .start = start,
                              .past = before,
                              .ids = random_ids(s, start[n],
                                                s->model->target_vocab, 2),
                              .select = select,
                              .selected = n,
                              .source = source,
                              .source_rows = s->rows,
                              .output = s->output };
    share_caches(s, b);
}

static void make_search(Setup *s)
{
    const BenchOptions *o = &s->options;
    const int64_t rows = s->start[o->batch];
    s->search = (struct attn_search_options){
        .beam = o->beam,
        .results = 1,
        .rule = ATTN_RULE_EXACT,
        .penalty = ATTN_PENALTY_NONE,
        .max_output = o->steps,
        .max_output_plus = -1,
        .start = (int32_t)s->spec->token_start,
        .end = (int32_t)s->spec->token_end,
        .parallel = s->parallel,
        .process = { .min_length = o->steps }
    };
    s->search_bytes = attn_search_bytes(s->model, &s->search, o->batch, rows,
                                        s->longest);
    s->search_memory = memory_for(s, s->search_bytes);
    s->found = arena_alloc(s->arena, (size_t)o->batch * sizeof *s->found);
    s->found_count = arena_alloc(s->arena,
                                 (size_t)o->batch * sizeof *s->found_count);
    s->answer = arena_alloc(s->arena,
                            (size_t)(o->batch * o->steps) * sizeof *s->answer);
}

/* ---- the whole ---- */

/* Allocates the arena for the largest call, and memory for the largest
 * result. */
static void make_output(Setup *s)
{
    const BenchOptions *o = &s->options;
    const int64_t n = o->batch * o->beam;
    const int64_t sources = s->start[o->batch],
                  most = n * target_rows(s, s->longest);
    const int64_t rows = sources > most ? sources : most;
    const int64_t encoded = setup_output_floats(s);
    const int64_t logits = spec_generates(s->spec) ? n * s->model->target_vocab
                                                   : 0;
    s->scratch = memory_for(s, s->model->arena_bytes(rows, n, s->threads));
    s->output = memory_for(s, (encoded > logits ? encoded : logits)
                                  * (int64_t)sizeof(float));
}

static void run_nothing(void *pool, int64_t parts,
                        void (*part)(void *arg, int64_t part, int64_t parts),
                        void *arg)
{
    (void)pool, (void)parts, (void)part, (void)arg;
    die("bench: a model is run that is only planned");
}

/* Sets the model to call. Without code, sets a model for which only sizes are
 * counted. */
static void find_model(Setup *s, const Engine *e)
{
    s->model = e->backend.model;
    s->parallel = e->parallel;
    if (s->model)
        return;
    s->counted = plan_counted(e->plan);
    s->counted_parallel = (struct attn_parallel){
        .parts = engine_threads(&e->options), .run = run_nothing
    };
    s->model = &s->counted;
    s->parallel = &s->counted_parallel;
}

bool setup_runs(const Setup *s)
{
    return s->model != &s->counted;
}

Setup *setup_new(const Engine *e, const BenchOptions *o)
{
    Setup *s = arena_alloc(e->arena, sizeof *s);
    s->arena = e->arena;
    s->engine = e;
    find_model(s, e);
    s->spec = e->spec;
    s->options = *o;
    s->threads = (int)attn_parts(s->parallel);
    default_options(s);
    const int64_t batch = s->options.batch;
    s->start = starts(s->arena, s->rows, batch, 1);
    s->ids = random_ids(s, s->start[batch],
                        s->spec->kind == KindDecoder ? s->model->target_vocab
                                                     : s->model->source_vocab,
                        3);
    make_caches(s);
    make_output(s);
    make_encode(s);
    if (setup_searches(s))
        make_search(s);
    return s;
}
