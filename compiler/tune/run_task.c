/* run_task.c: times one task alone, at the sizes at which its model calls it.
 * Weights, keys and values rotate through a buffer as large as the data that
 * the model reads before it reads the same data again. So they come from the
 * same cache level as in the model. Inputs and outputs stay in near caches. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

typedef void TaskFunction(void *const *at, const int64_t *n);

enum { Guard = 64 }; /* floats after a result, which must not change */
static const double least_seconds = 0.0002; /* minimum duration of one reading
                                             * of the clock */

struct TaskRun {
    Arena *arena; /* owns the operands, in the child */
    const CostModel *m;
    const RotatingBuffer *weights;
    const TuneTask *task;
    const Codes *code; /* code of the candidates */
    /* used only in the child: */
    TaskFunction **call; /* functions of the candidates */
    struct attn_pool *pool;
    const struct attn_parallel *parallel;
    float *x, *y, *bias, *residual, *scratch;
    int32_t *page;
    float *expected[8];       /* results of the default, by case */
    int64_t ldx, ldy, floats; /* strides of x and y in elements; floats in y */
    int64_t next;             /* next place in the rotating buffer */
    int64_t repeats[8];       /* calls per reading, by size; 0: not yet known */
};

/* state of one call */
typedef struct {
    TaskRun *r;
    int candidate;
    const CallSize *size;
    int64_t turn; /* place in the rotating buffer that this call reads */
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

static int64_t most_of(const CostModel *m, bool keys)
{
    int64_t most = 1;
    for (int i = 0; i < m->sizes.n; i++) {
        const CallSize *u = &m->sizes.at[i];
        const int64_t x = keys ? u->count : u->rows * u->parts;
        most = x > most ? x : most;
    }
    return most;
}

static int64_t pages_of(int64_t keys)
{
    return (keys + ATTN_PAGE - 1) / ATTN_PAGE;
}

/* Returns the number of heads that share a page of 64 keys. Long sequences get
 * fewer heads, so that the buffer stays below `far` bytes, which is more than
 * any cache holds. */
static int64_t heads_of_page(const CostModel *m)
{
    const int64_t far = (int64_t)1 << 28;
    const Plan *p = m->plan;
    const Node *k = &p->g->nodes.at[task_node(m)->in[1]];
    int64_t heads = m->shape.paged && p->cache[k->cache].blocks > 0
                      ? p->cache[k->cache].blocks
                      : k->type.dim[0].c;
    while (heads > 1
           && 4 * heads * head_floats(m) * pages_of(most_of(m, true)) > far)
        heads /= 2;
    return heads;
}

/* Returns the bytes of one place in the rotating buffer. */
static int64_t place_bytes(const CostModel *m)
{
    if (is_attention(m))
        return 4 * pages_of(most_of(m, true)) * heads_of_page(m)
             * head_floats(m);
    return round16(m->shape.n)
         * dtype_column_bytes(m->task->key.dtype, m->shape.k);
}

int64_t rotating_buffer_bytes(const CostModel *m)
{
    const double far = 3.0 * (double)m->machine->cache[LevelL3] + (1 << 20);
    double set = 0;
    for (int i = 0; i < m->sizes.n; i++)
        set = fmax(set, m->sizes.at[i].set);
    const int64_t one = place_bytes(m), most = (int64_t)fmin(set, far);
    return most > one ? most / one * one : one;
}

/* Fills the buffer with random bits that are small numbers in every dtype, like
 * weights: as f32, as pairs of bf16, as integers with scales. */
void rotating_buffer_make(RotatingBuffer *r, Arena *a, Dtype dtype,
                          int64_t bytes)
{
    uint64_t state = 5;
    r->bytes = bytes;
    r->at = aligned_memory(a, bytes);
    const int64_t n = bytes / 4;
    for (int64_t i = 0; i < n; i++) {
        const float x = (float)bench_random(&state) / 2147483648.0f - 0.5f;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (dtype == DtypeBf16)
            bits = (bits & 0xffff0000u) | bits >> 16;
        if (dtype_shared(dtype))
            bits &= 0x0f0f0f0fu;
        memcpy((char *)r->at + 4 * i, &bits, sizeof bits);
    }
}

/* ---- before the fork ---- */
TaskRun *task_run_new(Arena *a, const CostModel *m,
                      const RotatingBuffer *weights, const TuneTask *task,
                      const Codes *code)
{
    TaskRun *r = arena_alloc(a, sizeof *r);
    *r = (TaskRun){
        .arena = a, .m = m, .weights = weights, .task = task, .code = code
    };
    return r;
}

/* ---- in the child ---- */
static float *random_floats(Arena *a, int64_t n, uint64_t state)
{
    float *x = aligned_memory(a, (n + Guard) * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)bench_random(&state) / 1073741824.0f - 1.0f;
    return x;
}

/* True if the rows of x are integers; their stride is in bytes. */
static bool in_integers(const CostModel *m)
{
    const Node *x = node_at(m->plan, task_node(m)->in[0]);
    return elem_arithmetic(x->type.elem) != ArithmeticF32;
}

/* Writes packed weights to the first place of the buffer, from which results
 * are checked. Tiles differ in which parts of a panel they read, so they agree
 * only on panels that the packer made. Columns repeat after `Packed` of
 * them. */
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
    const Node *x = node_at(r->m->plan, task_node(r->m)->in[0]);
    const bool two = elem_arithmetic(x->type.elem) == ArithmeticInt15;
    void *at = kernel_find(&r->m->plan->target,
                           two ? "quantize_rows_int15" : "quantize_rows_int8");
    Quantize *quantize;
    memcpy(&quantize, &at, sizeof at);
    quantize((uint8_t *)r->x, r->ldx * (int64_t)sizeof *r->x,
             random_floats(r->arena, rows * k, 16), k, rows, k,
             dtype_stored(DtypeInt8, k));
}

static bool run_begin(void *with, Fault *why)
{
    TaskRun *r = with;
    const CostModel *m = r->m;
    const TaskShape *s = &m->shape;
    const Plan *p = m->plan;
    const int64_t rows = most_of(m, false) + 16;
    const Node *n = task_node(m);
    r->ldx = is_attention(m) || in_integers(m) ? p->value[n->in[0]].stride
                                               : row_stride(s->k);
    r->ldy = is_attention(m) ? p->value[m->task->node].stride
                             : row_stride(s->n);
    if (r->ldx < s->d_k)
        r->ldx = round16(s->d_k);
    r->floats = rows * r->ldy;
    const int64_t width = is_attention(m)
                            ? 2 * (most_of(m, true) + rows) + 2 * ATTN_PAGE
                            : round16(s->n);
    r->x = random_floats(r->arena, rows * r->ldx, 11);
    if (!is_attention(m))
        pack_weights(r);
    if (!is_attention(m) && in_integers(m))
        quantize_x(r, rows);
    r->y = random_floats(r->arena, r->floats, 12);
    r->bias = random_floats(r->arena, width, 13);
    r->residual = random_floats(r->arena, r->floats, 14);
    const int64_t pages = pages_of(most_of(m, true)) + 1;
    r->page = arena_alloc(r->arena, (size_t)pages * sizeof *r->page);
    for (int64_t i = 0; i < pages; i++)
        r->page[i] = (int32_t)i;
    r->call = arena_alloc(r->arena, (size_t)r->code->n * sizeof *r->call);
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
    const Code *code = &r->code->at[candidate];
    JitCode jit; /* not freed: needed until the child ends */
    void *at = NULL;
    if (!code->object) {
        if (!jit_function(&jit, &at, code->text, "attnc_task",
                          &r->m->plan->target, why))
            return false;
    } else {
        void *library = dlopen(code->object, RTLD_NOW | RTLD_LOCAL);
        at = library ? dlsym(library, "attnc_task") : NULL;
        if (!at)
            return fault(why, ExitBackend, "cannot load it: %s", dlerror());
    }
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
    const int64_t ldx = in_integers(r->m) ? r->ldx * (int64_t)sizeof(float)
                                          : r->ldx;
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
    const int64_t pages = pages_of(most_of(m, true));
    const int64_t place = turn / heads % places;
    float *k = (float *)r->weights->at + place * pages * page + head * one;
    const int64_t scratch = most_scratch(m);
    const int64_t row = part * c->size->rows;
    float *bias = r->bias + most_of(m, true) + most_of(m, false) + ATTN_PAGE;
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

/* Returns the number of cases to check: the sizes at which the model calls the
 * task, then 1, 3 and 17 rows, which are fewer and more than a tile has. */
static int cases_of(const CostModel *m)
{
    return m->sizes.n + 3;
}

static CallSize case_of(const CostModel *m, int i)
{
    static const int64_t odd[] = { 1, 3, 17 };
    if (i < m->sizes.n)
        return m->sizes.at[i];
    CallSize u = m->sizes.at[0];
    const int64_t keys = u.count - u.past == u.rows ? u.past : -1;
    u.rows = odd[i - m->sizes.n];
    if (u.rows > most_of(m, false) + 16)
        u.rows = 1;
    u.parts = 1;
    u.by_columns = false;
    if (is_attention(m) && keys >= 0 && u.rows > u.count)
        u.rows = u.count;
    if (is_attention(m) && keys >= 0) /* rows are the last of the keys' rows */
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
static double time_calls(TaskRun *r, int candidate, const CallSize *u,
                         int64_t n)
{
    TaskCall c = { .r = r, .candidate = candidate, .size = u };
    const double begin = seconds_now();
    for (int64_t i = 0; i < n; i++) {
        c.turn = r->next++;
        call_all(&c);
    }
    return (seconds_now() - begin) / (double)n;
}

/* Returns how many calls one reading needs to be accurate; it is the same for
 * all candidates. */
static int64_t repeats_of(TaskRun *r, int candidate, int use)
{
    const CallSize *u = &r->m->sizes.at[use];
    int64_t n = r->repeats[use];
    for (int64_t k = 1; n == 0; k *= 2)
        if (time_calls(r, candidate, u, k) * (double)k > least_seconds)
            n = k;
    return r->repeats[use] = n;
}

/* Times a run: the average over the calls of all sizes. */
static void run_time(void *with, int candidate, double *seconds)
{
    TaskRun *r = with;
    double sum = 0, calls = 0;
    for (int i = 0; i < r->m->sizes.n; i++) {
        const CallSize *u = &r->m->sizes.at[i];
        time_calls(r, candidate, u, 1);
        sum += u->calls
             * time_calls(r, candidate, u, repeats_of(r, candidate, i));
        calls += u->calls;
    }
    *seconds = sum / calls;
}

ChildWork task_run_work(TaskRun *r)
{
    return (ChildWork){ .with = r,
                        .results = cases_of(r->m),
                        .parts = 1,
                        .begin = run_begin,
                        .open = run_open,
                        .result = run_result,
                        .time = run_time };
}
