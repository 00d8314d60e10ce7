/* trial.c: runs a compiled model on a batch and reads its values back. Each
 * array has its own allocation, filled with NaN, so that reads of unwritten
 * memory appear in the results. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "oracle/trial.h"

static void *nan_memory(int64_t bytes)
{
    size_t size = ((size_t)bytes + 63) / 64 * 64;
    void *p = bytes < 0 ? NULL : aligned_alloc(64, size ? size : 64);
    if (!p)
        fail(ExitResource, "out of memory (%zu bytes wanted)", size);
    memset(p, 0xff, size);
    return p;
}

static void free_run(Trial *t)
{
    for (int i = 0; i < 3; i++)
        free(t->work[i]);
    for (int c = 0; c < 2; c++)
        free(t->cache_memory[c]);
    free(t->output);
    *t = (Trial){ .any = t->any, .before = t->before };
}

void trial_free(Trial *t)
{
    free_run(t);
    if (t->before)
        trial_free(t->before);
    if (t->any)
        engine_close(t->any);
    free(t->before);
    free(t->any);
    *t = (Trial){ 0 };
}

/* Returns the number of rows of each target that are computed before the call
 * on trial. */
static int64_t rows_before(const Engine *e)
{
    return e->spec->fix.past > 0 ? e->spec->fix.past : 0;
}

/* Opens the model again, compiled for any lengths. */
static void open_any(Trial *t, const Engine *e)
{
    EngineOptions o = e->options;
    const char **sets = arena_alloc(e->arena,
                                    (size_t)(o.nsets + 1) * sizeof *sets);
    for (int i = 0; i < o.nsets; i++)
        sets[i] = o.sets[i];
    sets[o.nsets] = "fix=";
    o.sets = sets;
    o.nsets++;
    t->any = calloc(1, sizeof *t->any);
    t->before = calloc(1, sizeof *t->before);
    const int code = t->any && t->before ? engine_open(t->any, &o)
                                         : ExitResource;
    if (code)
        fail(code, "the model without fix does not open");
}

static int64_t longest(const Sample *x, int side)
{
    int64_t most = 0;
    for (int64_t i = 0; i < x->sequences; i++) {
        int64_t n = x->start[side][i + 1] - x->start[side][i];
        most = n > most ? n : most;
    }
    return most;
}

/* Returns true if attention scores are stored. The scores of keys outside the
 * window are then compared too, so the cache must keep these keys. */
static bool stores_scores(const Trial *t)
{
    const Graph *g = t->engine->plan->g;
    bool stores = false;
    for (int i = 0; i < g->nodes.n; i++)
        stores |= g->nodes.at[i].op == OpScores;
    return stores;
}

static void open_cache(Trial *t, int which, int64_t length)
{
    struct attn_model m = *t->engine->backend.model;
    int64_t slots = t->sample->sequences;
    if (which == CacheCross ? m.cache[which].page_bytes == 0 : !m.decode)
        return; /* a decoder's cache counts rows even if it stores none */
    const struct attn_cache_size size = { which, slots, length, 0, 0 };
    for (int64_t c = 0; stores_scores(t) && c < m.caches; c++)
        m.cache[c].window = 0; /* window 0: no page is freed */
    t->cache_memory[which] = nan_memory(attn_cache_bytes(&m, &size));
    attn_cache_init(&t->cache[which], &m, &size, t->cache_memory[which]);
}

static void grow(struct attn_cache *c, int64_t slot, int64_t rows)
{
    if (attn_cache_grow(c, slot, rows) != 0)
        die("trial: no page is left");
}

/* Returns new memory for the arena of one call of an entry. */
static void *work_for(Trial *t, Entry entry, int64_t rows, int64_t sequences)
{
    const struct attn_model *m = t->engine->backend.model;
    free(t->work[entry]);
    t->work[entry] = NULL; /* in case that no memory is left */
    t->work[entry] = nan_memory(
        m->arena_bytes(rows, sequences, attn_parts(t->engine->parallel)));
    return t->work[entry];
}

static const int32_t *prefixes(Arena *a, const Sample *x, int side)
{
    int32_t *prefix = arena_alloc(a,
                                  (size_t)(x->sequences + 1) * sizeof *prefix);
    for (int64_t i = 0; i < x->sequences; i++)
        prefix[i] = (int32_t)sample_prefix(x, side, i);
    return prefix;
}

static void encode(Trial *t, float *out)
{
    const Engine *e = t->engine;
    const Sample *x = t->sample;
    bool attention = e->spec->kind == KindAttention;
    struct attn_batch b = { .sequences = x->sequences,
                            .start = x->start[0],
                            .rows = x->start[0][x->sequences],
                            .ids = x->ids[0],
                            .output = out,
                            .parallel = e->parallel };
    int64_t rows = b.rows;
    if (attention) {
        b.query = x->rows[0];
        b.key = x->rows[1];
        b.value = x->rows[2];
        b.key_start = x->start[1];
        b.key_rows = x->start[1][x->sequences];
        rows = b.key_rows > rows ? b.key_rows : rows;
    }
    Arena *a = arena_new();
    b.types = x->types;
    b.prefix = prefixes(a, x, attention ? 1 : 0);
    if (!attention)
        b.input = x->rows[0];
    struct attn_cache *c = &t->cache[CacheCross];
    for (int64_t i = 0; c->groups > 0 && i < x->sequences; i++)
        grow(c, i, x->start[0][i + 1] - x->start[0][i]);
    attn_cache_bind(c, 0, &b);
    void *work = work_for(t, EntryEncode, rows, b.sequences);
    e->backend.model->encode(e->bound, &b, work);
    arena_free(a);
}

/* ---- decode ---- */

typedef struct { /* one call, with some rows of each open sequence */
    struct attn_batch b;
    int32_t *start, *ids, *past, *select, *source, *source_rows;
    int32_t *pages[ATTN_CACHES]; /* by group of the self cache: page tables */
    int32_t *prefix, *types;
    float *input;
    int64_t *at; /* [rows of the call]: index of the row in the sample */
} Call;

/* Returns true if decode, rather than encode, reads the token types or numeric
 * inputs. */
static bool reads_here(const Trial *t)
{
    return input_side(t->engine->spec) == 1;
}

static void *count(Arena *a, int64_t n, size_t size)
{
    return arena_alloc(a, (size_t)(n + 1) * size);
}

static void open_call(Call *c, Arena *a, const Trial *t)
{
    const Sample *x = t->sample;
    int64_t rows = x->start[1][x->sequences], n = x->sequences;
    c->start = count(a, n, sizeof *c->start);
    c->past = count(a, n, sizeof *c->past);
    c->source = count(a, n, sizeof *c->source);
    c->source_rows = count(a, n, sizeof *c->source_rows);
    const struct attn_cache *self = &t->cache[CacheSelf];
    for (int64_t i = 0; i < self->groups; i++)
        c->pages[i] = count(a, n * self->width, sizeof *c->pages[i]);
    c->prefix = count(a, n, sizeof *c->prefix);
    c->ids = count(a, rows, sizeof *c->ids);
    if (reads_here(t) && x->types)
        c->types = count(a, rows, sizeof *c->types);
    if (reads_here(t) && x->rows[0])
        c->input = count(a, rows * t->engine->spec->input_width,
                         sizeof *c->input);
    c->select = count(a, rows, sizeof *c->select);
    c->at = count(a, rows, sizeof *c->at);
}

/* Copies row `at` of the sample to row `to` of the call. */
static void add_row(Call *c, const Trial *t, int64_t at, int64_t to)
{
    const Sample *x = t->sample;
    int64_t width = t->engine->spec->input_width;
    if (x->ids[1])
        c->ids[to] = x->ids[1][at];
    if (c->types)
        c->types[to] = x->types[at];
    if (c->input)
        memcpy(c->input + to * width, x->rows[0] + at * width,
               (size_t)width * sizeof *c->input);
    c->select[to] = (int32_t)to;
    c->at[to] = at;
}

/* Adds the next `rows` rows of sequence i, after its first `past` rows. */
static void add_sequence(Call *c, Trial *t, int64_t i, int64_t past,
                         int64_t rows)
{
    const Sample *x = t->sample;
    struct attn_cache *self = &t->cache[CacheSelf];
    struct attn_batch *b = &c->b;
    int64_t s = b->sequences;
    grow(self, i, rows);
    for (int64_t k = 0; k < self->groups; k++)
        memcpy(c->pages[k] + s * self->width,
               self->group[k].table + i * self->width,
               (size_t)self->width * sizeof *c->pages[k]);
    c->past[s] = (int32_t)past;
    c->source[s] = (int32_t)i;
    c->prefix[s] = (int32_t)sample_prefix(x, 1, i);
    for (int64_t r = 0; r < rows; r++)
        add_row(c, t, x->start[1][i] + past + r, b->rows++);
    b->sequences++;
    c->start[b->sequences] = (int32_t)b->rows;
}

static void run_call(Call *c, Trial *t, float *out)
{
    const Engine *e = t->engine;
    struct attn_batch *b = &c->b;
    int64_t cols = result_columns(e->spec), bytes = b->rows * cols * 4;
    for (int64_t i = 0; i < t->sample->sequences; i++)
        c->source_rows[i] = t->sample->start[0][i + 1] - t->sample->start[0][i];
    b->parallel = e->parallel;
    b->start = c->start;
    b->ids = c->ids;
    b->types = c->types;
    b->input = c->input;
    b->prefix = c->prefix;
    b->past = c->past;
    b->select = c->select;
    b->selected = b->rows;
    b->source = c->source;
    b->source_rows = c->source_rows;
    for (int k = 0; k < 2; k++)
        attn_cache_bind(&t->cache[k], 0, b);
    for (int64_t k = 0; k < t->cache[CacheSelf].groups; k++)
        b->pages[t->cache[CacheSelf].group[k].which] = c->pages[k];
    free(t->output);
    t->output = NULL; /* in case that no memory is left */
    t->output = nan_memory(bytes);
    b->output = t->output;
    void *work = work_for(t, EntryDecode, b->rows, b->sequences);
    e->backend.model->decode(e->bound, b, work);
    for (int64_t r = 0; r < b->rows; r++)
        memcpy(out + c->at[r] * cols, b->output + r * cols, (size_t)cols * 4);
}

/* Decodes rows past .. past + chunk - 1 of all sequences that are long
 * enough. */
static void decode(Trial *t, int64_t past, int64_t chunk, float *out)
{
    const Sample *x = t->sample;
    Arena *a = arena_new();
    Call c = { .start = NULL };
    open_call(&c, a, t);
    for (int64_t i = 0; i < x->sequences; i++) {
        int64_t left = x->start[1][i + 1] - x->start[1][i] - past;
        if (left > 0)
            add_sequence(&c, t, i, past, left < chunk ? left : chunk);
    }
    run_call(&c, t, out);
    arena_free(a);
}

/* Computes the rows before the call on trial with the model compiled for any
 * lengths. Their keys and values go to the trial's cache, all values to
 * t->before. */
static void decode_before(Trial *t, const Engine *e, float *out)
{
    if (e->options.keep_all)
        trial_run(t->before, t->any, t->sample, 0, out);
    t->engine = t->any;
    decode(t, 0, rows_before(e), out);
    t->engine = e;
}

void trial_run(Trial *t, const Engine *e, const Sample *x, int64_t chunk,
               float *out)
{
    if (t->engine != e)
        trial_free(t);
    free_run(t);
    if (rows_before(e) && !t->any)
        open_any(t, e);
    t->engine = e;
    t->sample = x;
    open_cache(t, CacheCross, longest(x, 0));
    open_cache(t, CacheSelf, longest(x, 1));
    if (e->backend.model->encode)
        encode(t, out);
    int64_t most = longest(x, 1), step = chunk > 0 ? chunk : most;
    if (e->backend.model->fixed_target > 0)
        step = e->backend.model->fixed_target;
    int64_t ahead = spec_has_prefix(e->spec, SideDecoder) ? x->prefix : 0;
    if (!e->backend.model->decode || most == 0)
        return;
    int64_t p = rows_before(e);
    if (p) {
        decode_before(t, e, out);
    } else {
        p = step > ahead ? step : ahead;
        decode(t, 0, p, out);
    }
    for (; p < most; p += step)
        decode(t, p, step, out);
}

/* ---- reading back ---- */

/* Returns the number of rows of sequence i. Sets *first to the index of its
 * first row in the batch. */
static int64_t rows_by(const Sample *x, const Spec *s, Sym sym, int64_t i,
                       int64_t *first)
{
    if (sym == SymS) {
        *first = i;
        return 1;
    }
    int side = sym == SymN ? 0 : 1;
    if (s->kind == KindAttention)
        side = sym == SymM ? 1 : 0;
    *first = x->start[side][i];
    return x->start[side][i + 1] - *first;
}

static int64_t extent(const Trial *t, Dim d, int64_t sequence)
{
    int64_t first;
    if (d.times > 0)
        return d.times * extent(t, (Dim){ .c = d.c, .sym = d.sym }, sequence);
    return d.sym == SymNone
             ? d.c
             : rows_by(t->sample, t->engine->spec, d.sym, sequence, &first);
}

/* Returns the number whose nearest bf16 is *at; what that lacks is 32 behind.
 */
static double two_bf16(const uint16_t *at)
{
    return (double)bf16_float(at[0]) + (double)bf16_float(at[32]);
}

/* Reads a row of n elements at `from`, converting quantised integers to the
 * numbers that they represent. */
static void read_row(const float *from, Elem elem, int64_t n, double *out)
{
    const Arithmetic a = elem_arithmetic(elem);
    int32_t id;
    for (int64_t i = 0; i < n && elem == ElemI32; i++) {
        memcpy(&id, from + i, sizeof id);
        out[i] = id;
    }
    if (elem == ElemI32)
        return;
    const unsigned char *high = (const unsigned char *)from;
    const RowFormat *f = &row_formats[a];
    const int64_t stored = dtype_stored(f->groups, n);
    const double scale = f->scaled ? (double)from[f->planes * stored / 4] : 1;
    for (int64_t i = 0; i < n; i++) {
        if (f->scaled)
            out[i] = scale
                   * (f->planes == 2 ? 128 * (high[i] - 128) + high[stored + i]
                                     : high[i] - 128);
        else if (a == ArithmeticBf16x3)
            out[i] = two_bf16((const uint16_t *)from + i / 32 * 64 + i % 32);
        else if (f->kernel)
            out[i] = (double)bf16_float(((const uint16_t *)from)[i]);
        else
            out[i] = (double)from[i];
    }
}

/* Returns the number of rows of each sequence that the entry's last call did
 * not compute. */
static int64_t rows_left_out(const Trial *t, Entry entry)
{
    return entry == EntryDecode ? rows_before(t->engine) : 0;
}

/* Returns the address of the memory of node `owner`. */
static const float *memory_of(const Trial *t, int owner)
{
    const Plan *p = t->engine->plan;
    const Sample *x = t->sample;
    const Entry entry = p->g->nodes.at[owner].entry;
    int64_t batch = x->start[entry == EntryDecode][x->sequences]
                  - x->sequences * rows_left_out(t, entry);
    if (t->engine->spec->kind == KindAttention
        && x->start[1][x->sequences] > batch)
        batch = x->start[1][x->sequences];
    return (const float *)t->work[entry]
         + affine_at(p->slot.at[p->value[owner].slot].at, batch, x->sequences,
                     attn_parts(t->engine->parallel));
}

/* Reads dispatched rows, which are grouped by expert in memory, in the order of
 * their source rows. */
static void read_routed(const Trial *t, int node, int64_t first, int64_t rows,
                        double *out)
{
    const Plan *p = t->engine->plan;
    const Node *n = &p->g->nodes.at[node];
    const int routes = graph_routes(p->g, node);
    const Value *v = &p->value[node];
    const float *place = memory_of(t, routes)
                       + round16(p->g->nodes.at[routes].experts);
    const float *at = memory_of(t, owner_of(p, node)) + v->column;
    for (int64_t i = 0; i < rows * v->times; i++) {
        double to;
        read_row(place + first * v->times + i, ElemI32, 1, &to);
        read_row(at + (int64_t)to * v->stride, n->type.elem, n->type.dim[1].c,
                 out + i * n->type.dim[1].c);
    }
}

bool trial_value(const Trial *t, int node, int64_t sequence, double *out)
{
    const Plan *p = t->engine->plan;
    const Node *n = &p->g->nodes.at[node];
    int owner = owner_of(p, node);
    const Value *v = &p->value[node];
    const Op op = p->g->nodes.at[owner].op;
    if (p->value[owner].place != PlaceArena || op == OpPackKv || op == OpRoutes)
        return false;
    const Sample *x = t->sample;
    int64_t first, heads = 1;
    const float *at = memory_of(t, owner) + v->column;
    int64_t rows = rows_by(x, t->engine->spec, row_sym(n->type), sequence,
                           &first);
    const int64_t out_rows = rows * v->times;
    const int64_t before = rows_left_out(t, n->entry);
    if (before && row_sym(n->type) != SymS) {
        trial_value(t->before, node, sequence, out);
        first -= sequence * before;
        rows -= before;
    }
    int64_t cols = extent(t, n->type.dim[n->type.rank - 1], sequence);
    double *to = out + (out_rows - rows * v->times) * cols;
    if (graph_routes(p->g, node) >= 0) {
        read_routed(t, node, first, rows, to);
        return true;
    }
    first *= v->times;
    rows *= v->times;
    if (n->type.rank == 3)
        heads = n->type.dim[0].c;
    for (int64_t h = 0; h < heads; h++, to += out_rows * cols)
        for (int64_t r = 0; r < rows; r++)
            read_row(at + (first + r) * v->stride + h * v->head_stride,
                     n->type.elem, cols, to + r * cols);
    return true;
}

bool trial_floats(const Trial *t, int node, int64_t sequence, int64_t n,
                  float *out)
{
    Arena *a = arena_new();
    double *x = arena_alloc(a, (size_t)n * sizeof *x);
    const bool kept = trial_value(t, node, sequence, x);
    for (int64_t i = 0; kept && i < n; i++)
        out[i] = (float)x[i];
    arena_free(a);
    return kept;
}
