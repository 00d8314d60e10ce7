/* run_candidates.c: checks and times candidates in the child process.
 * Candidates are functions for a single task, or complete models.
 *
 * A task runs with the sizes with which its model calls it. Weights, keys and
 * values are read in rotation from a buffer. The buffer is as large as the data
 * that the model reads before it reads the same data again, so they come from
 * the same cache level as in the model. Inputs and outputs stay in near caches.
 *
 * Complete models run the workloads of attnc bench. They are needed for tilings
 * that cannot be timed with a single task, and for the end-to-end
 * comparison. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

/* ---- code, time ---- */
/* Loads code, which stays loaded until the process ends. Sets *at to the
 * function. */
static bool code_load(const Code *c, const char *symbol, const Target *t,
                      void **at, Fault *why)
{
    JitCode jit; /* never freed, because the child needs it until it ends */
    if (!c->object)
        return jit_function(&jit, at, c->text, symbol, t, why);
    void *library = dlopen(c->object, RTLD_NOW | RTLD_LOCAL);
    *at = library ? dlsym(library, symbol) : NULL;
    return *at || fault(why, ExitBackend, "cannot load it: %s", dlerror());
}

/* Returns the mean seconds of *n calls. If *n is 0, first sets it to a number
 * of calls that takes more than `least` seconds, so that the reading is
 * accurate. All candidates then use this number. */
static double time_calls(void call(void *with), void *with, int64_t *n,
                         double least)
{
    for (int64_t k = *n > 0 ? *n : 1;; k *= 2) {
        const double begin = seconds_now();
        for (int64_t i = 0; i < k; i++)
            call(with);
        const double took = seconds_now() - begin;
        if (k == *n)
            return took / (double)k;
        if (took <= least)
            continue;
        *n = k;
        return time_calls(call, with, n, least);
    }
}

/* ---- a task: its memory ---- */
typedef void TaskFunction(void *const *at, const int64_t *n);

enum {
    MostWorks = 4,
    Guard = 64, /* floats after the result, which must remain unchanged */
    Odd = 3     /* number of other sizes to check */
};
/* minimum seconds of one reading of the clock, for tasks and for models */
static const double least_task = 0.0002, least_model = 0.0005;

typedef struct {
    Arena *arena; /* owns the operands, in the child */
    const CostModel *m;
    const RotatingBuffer *weights;
    const TuneTask *task;
    /* only in the child: */
    TaskFunction **call; /* functions of the candidates */
    struct attn_pool *pool;
    const struct attn_parallel *parallel;
    float *x, *y, *bias, *residual, *scratch;
    int32_t *page;
    int64_t ldx, ldy, floats; /* strides of x and y in elements; floats in y */
    int64_t next;             /* next place in the rotating buffer */
    int64_t repeats[8];       /* calls per reading, by size; 0: unknown */
} TaskRun;

typedef struct { /* a call */
    TaskRun *r;
    int candidate;
    const CallSize *size;
    int64_t turn; /* place in the rotating buffer from which this call reads */
} TaskCall;

/* ---- sizes ---- */
static bool is_attention(const CostModel *m)
{
    return m->task->key.kind == TaskAttention;
}

static const Node *task_node(const CostModel *m)
{
    return &m->plan->g->nodes.at[m->task->node];
}

static int64_t head_floats(const CostModel *m)
{
    return ATTN_PAGE * (m->shape.d_k + round16(m->shape.d_v));
}

static int64_t most_scratch(const CostModel *m)
{
    return scratch_floats(tiling_parameters[Tiling_queries].most,
                          tiling_parameters[Tiling_keys].most, m->shape.d_v);
}

static int64_t pages_of(int64_t keys)
{
    return (keys + ATTN_PAGE - 1) / ATTN_PAGE;
}

/* Returns the number of heads that share a page of 64 keys. It is smaller for
 * long sequences, so that the buffer does not exceed `far` bytes, which is more
 * than any cache holds. */
static int64_t heads_of_page(const CostModel *m)
{
    const int64_t far = (int64_t)1 << 28;
    const Plan *p = m->plan;
    const Node *k = &p->g->nodes.at[task_node(m)->in[1]];
    int64_t heads = m->shape.paged && p->cache[k->cache].blocks > 0
                      ? p->cache[k->cache].blocks
                      : k->type.dim[0].c;
    while (heads > 1 && 4 * heads * head_floats(m) * pages_of(m->keys) > far)
        heads /= 2;
    return heads;
}

/* Returns the number of bytes of a place in the rotating buffer. */
static int64_t place_bytes(const CostModel *m)
{
    if (is_attention(m))
        return 4 * pages_of(m->keys) * heads_of_page(m) * head_floats(m);
    return round16(m->shape.n)
         * dtype_column_bytes(m->task->key.dtype, m->shape.k);
}

static int64_t rotating_buffer_bytes(const CostModel *m)
{
    const double far = 3.0 * (double)m->machine->cache[LevelL3] + (1 << 20);
    double set = 0;
    for (int i = 0; i < m->sizes.n; i++)
        set = fmax(set, m->sizes.at[i].set);
    const int64_t one = place_bytes(m), most = (int64_t)fmin(set, far);
    return most > one ? most / one * one : one;
}

/* Fills a buffer with random bits that are small numbers in every dtype, as
 * weights are: as f32, as pairs of bf16, and as integers with scales. */
static void *random_weights(Arena *a, Dtype dtype, int64_t bytes)
{
    uint64_t state = 5;
    uint32_t *at = aligned_memory(a, bytes);
    for (int64_t i = 0; i < bytes / 4; i++) {
        const float x = (float)bench_random(&state) / 2147483648.0f - 0.5f;
        memcpy(&at[i], &x, sizeof x);
        if (dtype == DtypeBf16 || dtype == DtypeBf16x2)
            at[i] = (at[i] & 0xffff0000u) | at[i] >> 16;
        if (dtype_shared(dtype))
            at[i] &= 0x0f0f0f0fu;
    }
    return at;
}

void rotating_buffers(Tuner *t)
{
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        if (is_whole_model(k) || k->share <= 0)
            continue;
        const CostModel m = cost_model(t, k->task);
        int64_t *most = &t->weights[k->task->key.dtype].bytes;
        const int64_t need = rotating_buffer_bytes(&m);
        *most = need > *most ? need : *most;
    }
    for (int i = 0; i < Dtypes; i++)
        if (t->weights[i].bytes > 0)
            t->weights[i].at = random_weights(t->arena, (Dtype)i,
                                              t->weights[i].bytes);
}

/* ---- in the child ---- */
static float *random_floats(Arena *a, int64_t n, uint64_t state)
{
    float *x = aligned_memory(a, (n + Guard) * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)bench_random(&state) / 1073741824.0f - 1.0f;
    return x;
}

/* Returns the format of the rows of x. */
static const RowFormat *rows_format(const CostModel *m)
{
    const Node *x = node_at(m->plan, task_node(m)->in[0]);
    return &row_formats[elem_arithmetic(x->type.elem)];
}

static bool in_floats(const CostModel *m)
{
    return !rows_format(m)->kernel;
}

/* Writes packed weights to the first place of the buffer, with which results
 * are checked. Tiles read different parts of a panel, so their results agree
 * only if the packer made the panels. The first `Packed` columns are
 * repeated. */
static void pack_weights(const TaskRun *r)
{
    enum { Packed = 1024 };
    const TaskShape *s = &r->m->shape;
    const Dtype dtype = r->m->task->key.dtype;
    const int64_t all = place_bytes(r->m), n = round16(s->n);
    PackItem item = { .name = "weights",
                      .from.name = "weights",
                      .layout = PackPanels,
                      .dtype = dtype,
                      .rows = n < Packed ? n : Packed,
                      .k = s->k };
    const int64_t some = item.rows * dtype_column_bytes(dtype, s->k);
    char *at = r->weights->at;
    memset(at, 0, (size_t)some);
    weights_pack(&(PackList){ .item = &item, .count = 1 },
                 &(WeightSource){ .seed = 5 }, at);
    for (int64_t i = some; i < all; i += some)
        memcpy(at + i, at, (size_t)(all - i < some ? all - i : some));
}

/* Quantises the rows of x in place, as the model does. */
static void quantize_x(const TaskRun *r, int64_t rows)
{
    typedef void Quantize(uint8_t *, int64_t, const float *, int64_t, int64_t,
                          int64_t, int64_t);
    const int64_t k = r->m->shape.k;
    const RowFormat *f = rows_format(r->m);
    void *at = kernel_find(&r->m->plan->target, f->kernel);
    Quantize *quantize;
    memcpy(&quantize, &at, sizeof at);
    quantize((uint8_t *)r->x, r->ldx * (int64_t)sizeof *r->x / f->bytes,
             random_floats(r->arena, rows * k, 16), k, rows, k,
             dtype_stored(f->groups, k));
}

static bool run_begin(void *with, Fault *why)
{
    TaskRun *r = with;
    const CostModel *m = r->m;
    const TaskShape *s = &m->shape;
    const Plan *p = m->plan;
    const int64_t rows = m->all_rows + 16;
    const Node *n = task_node(m);
    r->ldx = is_attention(m) || !in_floats(m) ? p->value[n->in[0]].stride
                                              : row_stride(s->k);
    r->ldy = is_attention(m) ? p->value[m->task->node].stride
                             : row_stride(s->n);
    if (r->ldx < s->d_k)
        r->ldx = round16(s->d_k);
    r->floats = rows * r->ldy;
    const int64_t width = is_attention(m) ? 2 * (m->keys + rows) + 2 * ATTN_PAGE
                                          : round16(s->n);
    r->x = random_floats(r->arena, rows * r->ldx, 11);
    if (!is_attention(m))
        pack_weights(r);
    if (!is_attention(m) && !in_floats(m))
        quantize_x(r, rows);
    r->y = random_floats(r->arena, r->floats, 12);
    r->bias = random_floats(r->arena, width, 13);
    r->residual = random_floats(r->arena, r->floats, 14);
    const int64_t pages = pages_of(m->keys) + 1;
    r->page = arena_alloc(r->arena, (size_t)pages * sizeof *r->page);
    for (int64_t i = 0; i < pages; i++)
        r->page[i] = (int32_t)i;
    r->call = arena_alloc(r->arena,
                          (size_t)r->task->candidate.n * sizeof *r->call);
    const int64_t scratch = most_scratch(m);
    if (is_attention(m))
        r->scratch = random_floats(r->arena, scratch * m->threads, 15);
    if (m->threads > 1) {
        r->pool = attn_pool_open(m->threads);
        if (!r->pool)
            return fault(why, ExitResource, "no threads");
        r->parallel = attn_pool_parallel(r->pool);
    }
    return true;
}

static bool run_open(void *with, int candidate, Fault *why)
{
    TaskRun *r = with;
    void *at;
    if (!code_load(&r->task->candidate.at[candidate].code, "attnc_task",
                   &r->m->plan->target, &at, why))
        return false;
    memcpy(&r->call[candidate], &at, sizeof at);
    return true;
}

static void call_product(const TaskCall *c, int64_t part)
{
    TaskRun *r = c->r;
    const TaskShape *s = &r->m->shape;
    const Tiling *t = &r->task->candidate.at[c->candidate].tiling;
    const int64_t n = round16(s->n), step = t->panels ? t->panels * ATTN_PANEL
                                                      : r->m->plan->target.nr;
    const int64_t steps = (n + step - 1) / step, parts = c->size->parts;
    const bool columns = c->size->by_columns;
    int64_t from = columns ? steps * part / parts * step : 0;
    int64_t to = columns ? steps * (part + 1) / parts * step : n;
    to = to < n ? to : n;
    const int64_t row = columns ? 0 : part * c->size->rows;
    const int64_t places = r->weights->bytes / place_bytes(r->m);
    char *w = (char *)r->weights->at + c->turn % places * place_bytes(r->m);
    float *y = r->y + row * r->ldy;
    void *const at[] = { r->x + row * r->ldx, w, s->bias ? r->bias : NULL, y,
                         s->residual ? r->residual + row * r->ldy : NULL };
    const int64_t ldx = r->ldx * (int64_t)sizeof(float)
                      / rows_format(r->m)->bytes;
    if (from < to)
        r->call[c->candidate](at, (int64_t[]){ c->size->rows, from, to, ldx,
                                               r->ldy, r->ldy });
}

static void call_attention(const TaskCall *c, int64_t part)
{
    TaskRun *r = c->r;
    const CostModel *m = r->m;
    const int64_t heads = heads_of_page(m), one = head_floats(m);
    const int64_t places = r->weights->bytes / place_bytes(m);
    const int64_t turn = c->turn * c->size->parts + part;
    const int64_t page = heads * one, head = turn % heads;
    const int64_t pages = pages_of(m->keys);
    const int64_t place = turn / heads % places;
    float *k = (float *)r->weights->at + place * pages * page + head * one;
    const int64_t scratch = most_scratch(m);
    const int64_t row = part * c->size->rows;
    float *bias = r->bias + m->keys + m->all_rows + ATTN_PAGE;
    void *const at[] = { r->x + row * r->ldx,
                         k,
                         k + ATTN_PAGE * m->shape.d_k,
                         r->page,
                         bias,
                         r->y + row * r->ldy,
                         r->scratch + part * scratch };
    r->call[c->candidate](at, (int64_t[]){ r->ldx, c->size->rows, page, page,
                                           c->size->count, c->size->past, 0,
                                           r->ldy });
}

static void call_part(void *call, int64_t part, int64_t parts)
{
    const TaskCall *c = call;
    (void)parts;
    if (is_attention(c->r->m))
        call_attention(c, part);
    else
        call_product(c, part);
}

static void call_all(TaskCall *c)
{
    if (c->size->parts > 1)
        c->r->parallel->run(c->r->parallel->pool, c->size->parts, call_part, c);
    else
        call_part(c, 0, 1);
}

/* ---- checking ---- */

/* Returns a case to check: first the sizes with which the model calls the task,
 * then 1, 3 and 17 rows, which is less and more than a tile has. */
static CallSize case_of(const CostModel *m, int i)
{
    static const int64_t odd[Odd] = { 1, 3, 17 };
    if (i < m->sizes.n)
        return m->sizes.at[i];
    CallSize u = m->sizes.at[0];
    const bool last = is_attention(m) && u.past >= 0
                   && u.count - u.past == u.rows;
    u.rows = odd[i - m->sizes.n];
    if (u.rows > m->all_rows + 16)
        u.rows = 1;
    u.parts = 1;
    u.by_columns = false;
    if (last && u.rows > u.count)
        u.rows = u.count;
    if (last) /* the rows are at the end of the keys */
        u.past = u.count - u.rows;
    return u;
}

static Result run_result(void *with, int candidate, int i)
{
    TaskRun *r = with;
    const CallSize u = case_of(r->m, i);
    const size_t bytes = (size_t)(r->floats + Guard) * sizeof *r->y;
    TaskCall c = { .r = r, .candidate = candidate, .size = &u };
    memset(r->y, 0x42, bytes);
    call_all(&c);
    return (Result){ .at = r->y, .bytes = bytes, .floats = true };
}

/* ---- timing ---- */
static void call_next(void *call)
{
    TaskCall *c = call;
    c->turn = c->r->next++;
    call_all(c);
}

/* Times a run: the mean over the calls of all sizes. */
static void run_time(void *with, int candidate, double *seconds)
{
    TaskRun *r = with;
    double sum = 0, calls = 0;
    for (int i = 0; i < r->m->sizes.n; i++) {
        TaskCall c = { r, candidate, &r->m->sizes.at[i], 0 };
        call_next(&c);
        sum += c.size->calls
             * time_calls(call_next, &c, &r->repeats[i], least_task);
        calls += c.size->calls;
    }
    *seconds = sum / calls;
}

ChildWork task_work(Tuner *t, const TuneTask *task, const CostModel *m)
{
    TaskRun *r = arena_alloc(t->arena, sizeof *r);
    *r = (TaskRun){ .arena = t->arena,
                    .m = m,
                    .weights = &t->weights[task->task->key.dtype],
                    .task = task };
    return (ChildWork){ .with = r,
                        .task = task,
                        .results = m->sizes.n + Odd,
                        .parts = 1,
                        .begin = run_begin,
                        .open = run_open,
                        .result = run_result,
                        .time = run_time,
                        .tuner = t };
}

/* ---- complete models ---- */
typedef struct { /* a model that is loaded in the child */
    Engine engine;
    Setup *setup;
    Works works;
} LoadedModel;

typedef struct {
    const Tuner *t;
    const TuneTask *task; /* task whose candidates these are */
    bool each;
    /* only in the child: */
    LoadedModel *at; /* models of the candidates */
    struct attn_pool *pool;
    int64_t repeats[MostWorks]; /* runs per reading; 0: unknown */
} ModelRun;

Choices tuner_choices(const Tuner *t, const Choice *one)
{
    VEC(Choice) all = { 0 };
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        const TaskKey *key = &k->task->key;
        if (task_differs(k) && !(one && task_same(key, &one->key)))
            vec_push(t->arena, &all, ((Choice){ *key, task_best(k)->tiling }));
    }
    if (one)
        vec_push(t->arena, &all, *one);
    return (Choices){ .at = all.at, .n = all.n };
}

Code model_code(const Tuner *t, Choices with)
{
    const Engine *e = &t->engine;
    const EmitOptions emit = { .mode = t->builder.jit ? EmitJit : EmitModel };
    Code m = { 0 };
    const Plan *p = plan_model(e->arena, e->graph, &e->target, with, false);
    m.text = emit_model(e->arena, p, &emit, &m.n);
    return m;
}

static bool model_begin(void *with, Fault *why)
{
    ModelRun *w = with;
    const size_t n = (size_t)w->task->candidate.n;
    w->at = arena_alloc(w->t->arena, n * sizeof *w->at);
    if (w->t->report.host.threads < 2)
        return true;
    w->pool = attn_pool_open(w->t->report.host.threads);
    return w->pool || fault(why, ExitResource, "no threads");
}

static bool model_open(void *with, int candidate, Fault *why)
{
    ModelRun *w = with;
    LoadedModel *v = &w->at[candidate];
    const struct attn_model *(*get)(void);
    void *at;
    v->engine = w->t->engine;
    Engine *e = &v->engine;
    if (!code_load(&w->task->candidate.at[candidate].code,
                   arena_printf(e->arena, "%s_model", e->plan->prefix),
                   &e->target, &at, why))
        return false;
    memcpy(&get, &at, sizeof get);
    const struct attn_model *m = get();
    if (m->weights_bytes != e->plan->pack.bytes)
        return fault(why, ExitInternal, "it takes other weights");
    e->backend = (Backend){ .model = m };
    e->bound = backend_bind(&e->backend, e->arena, e->packed);
    e->parallel = w->pool ? attn_pool_parallel(w->pool) : NULL;
    v->setup = setup_new(e, &w->t->setup->options);
    setup_works(v->setup, &v->works);
    return true;
}

static Result model_result(void *with, int candidate, int i)
{
    const ModelRun *w = with;
    const LoadedModel *one = &w->at[candidate];
    const Work *k = &one->works.at[i];
    k->run(one->setup);
    return (Result){ .name = k->name,
                     .at = (void *)(uintptr_t)k->result,
                     .bytes = k->result_bytes,
                     .floats = k->floats };
}

typedef struct {
    const Work *work;
    Setup *setup;
} ModelCall;

static void call_model(void *call)
{
    const ModelCall *c = call;
    c->work->run(c->setup);
}

static void model_time(void *with, int candidate, double *seconds)
{
    ModelRun *w = with;
    const LoadedModel *v = &w->at[candidate];
    double sum = 0;
    for (int i = 0; i < v->works.n; i++) {
        ModelCall c = { &v->works.at[i], v->setup };
        if (!w->each && c.work->per_answer <= 0)
            continue;
        const double one = time_calls(call_model, &c, &w->repeats[i],
                                      least_model);
        sum += c.work->per_answer * one;
        if (w->each)
            seconds[i] = one;
    }
    if (!w->each)
        *seconds = sum;
}

ChildWork model_work(Tuner *t, const TuneTask *task, bool each)
{
    ModelRun *w = arena_alloc(t->arena, sizeof *w);
    if (t->works.n > MostWorks)
        die("a model has %d workloads", t->works.n);
    *w = (ModelRun){ .t = t, .task = task, .each = each };
    return (ChildWork){ .with = w,
                        .task = each ? NULL : task,
                        .results = t->works.n,
                        .parts = each ? t->works.n : 1,
                        .begin = model_begin,
                        .open = model_open,
                        .result = model_result,
                        .time = model_time,
                        .tuner = t };
}
