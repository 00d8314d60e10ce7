/* bench_work.c: the workloads of one model: an encode call, a prefill, a step
 * and a whole greedy search, with the operations and bytes of each.          */
#include <string.h>

#include "bench.h"

struct Setup {
    Arena *arena;
    const Engine *engine;
    const struct attn_model *model;
    const Spec *spec;
    const BenchOptions *options;
    int32_t *ids, *start;        /* sources or prompts, and where each begins */
    struct attn_batch encode, prefill, step;
    struct attn_cache cache[2];
    size_t cache_bytes[2];
    void *scratch;               /* the model's arena */
    float *output;               /* of encode, or logits */
    struct attn_search_options search;
    void *search_memory;
    int64_t search_bytes;
    struct attn_hypothesis *found;
    int64_t *found_count;
    int32_t *answer;             /* [batch][steps] */
};

/* ------------------------------------------------------------ the runs --- */
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
    const BenchOptions *o = s->options;
    if (attn_search(s->model, s->engine->bound, &s->search,
                    o->batch, s->ids, s->start, NULL, 0, s->search_memory,
                    s->search_bytes, s->found, s->found_count) != 0)
        die("bench: the search's memory is too small");
    for (int64_t i = 0; i < o->batch; i++) {
        if (s->found_count[i] < 1 || s->found[i].n != o->steps)
            die("bench: sentence %lld was not searched to the end",
                (long long)i);
        memcpy(s->answer + i * o->steps, s->found[i].tokens,
               (size_t)o->steps * sizeof *s->answer);
    }
}

/* ---------------------------------------------------------- the memory --- */
static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* `bytes`: as the core computes sizes, -1 when they overflow. */
static void *memory_for(const Setup *s, int64_t bytes)
{
    if (bytes < 0)
        fail(ExitResource, "bench: the sizes overflow");
    return aligned_memory(s->arena, bytes);
}

/* Numbers that look random and are the same everywhere. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Ids that are no special tokens, as far as the vocabulary allows. */
static int32_t random_id(const Spec *spec, int64_t size, uint64_t *state)
{
    for (int tries = 0; tries < 64; tries++) {
        const int64_t id = next_random(state) % size;
        if (id != spec->token_start && id != spec->token_end
            && id != spec->token_pad && id != spec->token_unknown)
            return (int32_t)id;
    }
    return 0;
}

/* `rows` rows of each of `batch` sequences, one after the other. */
static int32_t *even_starts(Arena *a, int64_t batch, int64_t rows)
{
    int32_t *start = arena_alloc(a, (size_t)(batch + 1) * sizeof *start);
    for (int64_t i = 0; i <= batch; i++)
        start[i] = (int32_t)(i * rows);
    return start;
}

static int32_t *filled(Arena *a, int64_t n, int64_t value)
{
    int32_t *x = arena_alloc(a, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)value;
    return x;
}

/* A cache with room for `rows` positions of every sequence. */
static void make_cache(Setup *s, int which, int64_t rows)
{
    const int64_t batch = s->options->batch;
    if (s->model->page_floats[which] == 0)
        return;
    const int64_t bytes = attn_cache_bytes(s->model, which, batch, rows,
                                           0);
    attn_cache_init(&s->cache[which], s->model, which, batch, rows, 0,
                    memory_for(s, bytes));
    const int64_t floats = s->cache[which].pages
                           * s->model->page_floats[which];
    s->cache_bytes[which] = (size_t)floats * sizeof(float);
    for (int64_t i = 0; i < batch; i++)
        if (attn_cache_grow(&s->cache[which], i, rows) != 0)
            die("bench: no page left");
}

static void share_caches(const Setup *s, struct attn_batch *b)
{
    for (int c = 0; c < 2; c++) {
        b->pool[c] = s->cache[c].pool;
        b->pages[c] = s->cache[c].table;
        b->table[c] = s->cache[c].width;
    }
    b->parallel = s->engine->parallel;
}

static void make_encode(Setup *s)
{
    struct attn_batch *b = &s->encode;
    const int64_t rows = s->start[s->options->batch];
    const int64_t size = rows * s->model->input_width;
    b->sequences = s->options->batch;
    b->rows = b->key_rows = rows;
    b->start = b->key_start = s->start;
    b->ids = s->ids;
    b->output = s->output;
    share_caches(s, b);
    if (size == 0)
        return;
    float *x = memory_for(s, size * (int64_t)sizeof *x);
    uint64_t state = 1;
    for (int64_t i = 0; i < size; i++)
        x[i] = (float)next_random(&state) / 1073741824.0f - 1.0f;
    b->query = b->key = b->value = b->input = x;
}

/* `rows` new rows of each sequence after `past` in the cache. */
static void make_decode(const Setup *s, struct attn_batch *b,
                        int64_t past, int64_t rows)
{
    const int64_t batch = s->options->batch;
    int32_t *select = filled(s->arena, batch, 0);
    int32_t *source = filled(s->arena, batch, 0);
    for (int64_t i = 0; i < batch; i++) {
        select[i] = (int32_t)(i * rows + rows - 1);
        source[i] = (int32_t)i;
    }
    const int64_t size = s->model->target_vocab;
    int32_t *ids = filled(s->arena, batch * rows, 0);
    uint64_t state = 2;
    for (int64_t i = 0; i < batch * rows; i++)
        ids[i] = random_id(s->spec, size, &state);
    *b = (struct attn_batch){
        .sequences = batch, .rows = batch * rows, .ids = ids,
        .start = even_starts(s->arena, batch, rows),
        .past = filled(s->arena, batch, past),
        .select = select, .selected = batch, .source = source,
        .source_rows = filled(s->arena, batch, s->options->rows),
        .output = s->output };
    share_caches(s, b);
}

static void make_search(Setup *s)
{
    const BenchOptions *o = s->options;
    s->search = (struct attn_search_options){
        .beam = 1, .results = 1, .rule = ATTN_RULE_EXACT,
        .penalty = ATTN_PENALTY_NONE, .max_output = o->steps,
        .max_output_plus = -1, .start = (int32_t)s->spec->token_start,
        .end = (int32_t)s->spec->token_end,
        .parallel = s->engine->parallel,
        .process = { .min_length = o->steps } };
    s->search_bytes = attn_search_bytes(s->model, &s->search,
                                        o->batch, o->batch * o->rows,
                                        o->rows, 0);
    s->search_memory = memory_for(s, s->search_bytes);
    s->found = arena_alloc(s->arena, (size_t)o->batch * sizeof *s->found);
    s->found_count = arena_alloc(s->arena, (size_t)o->batch
                                               * sizeof *s->found_count);
    s->answer = filled(s->arena, o->batch * o->steps, 0);
}

/* ----------------------------------------------------------- the whole --- */
static bool has_decode(ModelKind kind)
{
    return kind == KindEncoderDecoder || kind == KindDecoder;
}

/* A search reads its sources as ids. */
static bool searches(const Setup *s)
{
    return s->options->steps > 0 && s->model->input_width == 0;
}

/* Floats of one call's result: decode selects a row of each sequence. */
static int64_t result_floats(const Setup *s)
{
    const bool all = !has_decode(s->spec->kind) && !s->model->output_pooled;
    const int64_t rows = s->options->batch * (all ? s->options->rows : 1);
    return rows * s->model->output_columns;
}

/* Rows of the target side that the workloads need at most. */
static int64_t target_rows(const Setup *s)
{
    const bool decoder = s->spec->kind == KindDecoder;
    return s->options->steps + (decoder ? s->options->rows : 0);
}

static int64_t default_rows(int64_t most)
{
    return most > 0 && most < 128 ? most - most / 4 : 128;
}

static void settle_options(const Setup *s, BenchOptions *o)
{
    const bool decoder = s->spec->kind == KindDecoder;
    const int64_t longest = s->spec->side[SideDecoder].max_len;
    const int64_t most = decoder ? longest : s->spec->side[SideEncoder].max_len;
    if (o->rows == 0)
        o->rows = default_rows(decoder ? most / 2 : most);
    if (!has_decode(s->spec->kind))
        o->steps = 0;
    else if (o->steps < 0)
        o->steps = longest / 2 < 32 ? longest / 2 : 32;
    if (most > 0 && o->rows > most)
        fail(ExitUsage, "bench: -p %lld: the model takes %lld rows at most",
             (long long)o->rows, (long long)most);
    if (o->rows * o->batch > INT32_MAX)
        fail(ExitUsage, "bench: -b %lld: more than 2^31 rows in all",
             (long long)o->batch);
    if (has_decode(s->spec->kind) && target_rows(s) > longest)
        fail(ExitUsage, "bench: -n %lld: the model's max_len is %lld",
             (long long)o->steps, (long long)longest);
}

static void make_ids(Setup *s)
{
    const int64_t rows = s->options->batch * s->options->rows;
    const int64_t size = s->spec->kind == KindDecoder
        ? s->model->target_vocab : s->model->source_vocab;
    uint64_t state = 3;
    s->ids = filled(s->arena, rows, 0);
    for (int64_t i = 0; size > 0 && i < rows; i++)
        s->ids[i] = random_id(s->spec, size, &state);
    s->start = even_starts(s->arena, s->options->batch, s->options->rows);
}

Setup *setup_new(const Engine *e, BenchOptions *o)
{
    Setup *s = arena_alloc(e->arena, sizeof *s);
    s->arena = e->arena;
    s->engine = e;
    s->model = e->backend.model;
    s->spec = e->spec;
    s->options = o;
    settle_options(s, o);
    make_ids(s);
    make_cache(s, ATTN_CROSS, o->rows);
    make_cache(s, ATTN_SELF, target_rows(s) + 1);
    const int64_t rows = o->batch * greater(o->rows, target_rows(s));
    s->scratch = memory_for(s, s->model->arena_bytes(rows, o->batch,
                                                  attn_parts(e->parallel)));
    s->output = memory_for(s, result_floats(s) * (int64_t)sizeof(float));
    make_encode(s);
    if (searches(s))
        make_search(s);
    return s;
}

static void add_encode(Setup *s, Works *works)
{
    const double rows = (double)s->encode.rows;
    const bool cached = s->spec->kind == KindEncoderDecoder;
    Work w = { .name = "encode", .rows = rows, .tokens = rows,
               .run = run_encode, .floats = true };
    w.result = cached ? s->cache[ATTN_CROSS].pool : s->output;
    w.result_bytes = cached ? s->cache_bytes[ATTN_CROSS]
        : (size_t)result_floats(s) * sizeof(float);
    count_encode(s->engine->graph, s->options, &w);
    vec_push(s->arena, works, w);
}

static void add_decode(Setup *s, Works *works, const char *name,
                       struct attn_batch *b, void (*run)(Setup *))
{
    const int64_t rows = b->rows / b->sequences;
    Work w = { .name = name, .rows = (double)b->rows,
               .tokens = (double)b->rows, .run = run, .result = s->output,
               .floats = true };
    w.result_bytes = (size_t)(b->sequences * s->model->target_vocab)
                     * sizeof(float);
    count_decode(s->engine->graph, s->options, b->past[0], rows, &w);
    vec_push(s->arena, works, w);
}

static void add_search(Setup *s, Works *works)
{
    const BenchOptions *o = s->options;
    Work w = { .name = "search", .tokens = (double)(o->batch * o->steps),
               .run = run_search, .result = s->answer };
    w.rows = w.tokens + (double)(o->batch * o->rows);
    w.result_bytes = (size_t)(o->batch * o->steps) * sizeof *s->answer;
    count_search(s->engine->graph, o, &w);
    vec_push(s->arena, works, w);
}

/* The step stands for all of them: half the others are in the cache. */
void setup_works(Setup *s, Works *works)
{
    const BenchOptions *o = s->options;
    const bool decoder = s->spec->kind == KindDecoder;
    if (!decoder)
        add_encode(s, works);
    if (o->steps == 0)
        return;
    const int64_t prompt = decoder ? o->rows : 0;
    const int64_t past = prompt + o->steps / 2;
    make_decode(s, &s->prefill, 0, greater(past, 1));
    make_decode(s, &s->step, past, 1);
    if (!decoder)
        run_encode(s);
    run_prefill(s);
    if (decoder) {
        make_decode(s, &s->prefill, 0, prompt);
        add_decode(s, works, "prefill", &s->prefill, run_prefill);
    }
    add_decode(s, works, "step", &s->step, run_step);
    if (searches(s))
        add_search(s, works);
}

const int32_t *setup_source(const Setup *s, int64_t i)
{
    return s->model->input_width ? NULL : s->ids + i * s->options->rows;
}

const int32_t *setup_answer(const Setup *s, int64_t i)
{
    return s->answer ? s->answer + i * s->options->steps : NULL;
}
