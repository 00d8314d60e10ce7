/* handle_queue.c: requests that a handle answers together, by a queue
 * (runtime/search/queue.h). Its memory is that of open(), so other calls do not
 * disturb it. */

#ifdef ATTN_ATOMICS
#define HANDLE_SHARED _Atomic /* another thread may cancel a request */
#else
#define HANDLE_SHARED
#endif

struct handle_asked {         /* what a place of the queue is asked */
    HANDLE_SHARED int64_t id; /* number of the request; below 0: it is
                               * cancelled; 0: the place is free, or its caller
                               * knows the whole answer */
    int64_t told;             /* tokens of the answer that the caller knows */
    int64_t ended;            /* 1: the answer has left the queue */
};

/* Changes a number of a request if it is still `from`. Returns 1 if so. */
static int handle_turn(struct handle_asked *a, int64_t from, int64_t to)
{
#ifdef ATTN_ATOMICS
    return atomic_compare_exchange_strong(&a->id, &from, to);
#else
    if (a->id != from)
        return 0;
    a->id = to;
    return 1;
#endif
}

struct handle_queue {
    struct attn_queue q;
    struct attn_search_options o; /* of the queue */
    int64_t requests;             /* number of requests so far */
    int opened;
    struct handle_asked *asked; /* [places] */
    void *memory;
    int64_t bytes;
};

/* ---- memory ---- */

/* Sets the sizes of the queue from the options of open(). Returns 0 or an
 * error. */
static int handle_queue_sizes(struct attn_handle *h,
                              const struct attn_open_options *o)
{
    const int64_t page = attn_cache_page_bytes(h->model, ATTN_SELF);
    struct attn_queue_size *n = &h->queue_size;
    int64_t seats = INT16_MAX, most = 0;

#if ATTN_HAS_FIXED
    if (h->model->fixed_batch > 0)
        seats = attn_max(h->model->fixed_batch / attn_max(h->beam, 1), 1);
#endif
    int wrong = handle_size(h, "batch", o->batch, seats, &most);

    if (wrong == 0)
        wrong = handle_size(h, "waiting", o->waiting, INT16_MAX, &most);
    if (wrong == 0)
        wrong = handle_size(h, "prompt_rows", o->prompt_rows, ATTN_MOST, &most);
    if (wrong)
        return wrong;
    if (o->waiting > 0 && o->batch == 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "waiting: with a batch of 0 no requests are held");
    if (o->cache < 0 || (o->cache > 0 && o->cache < page))
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "cache: 0, or at least the %lld bytes of a page",
                           (long long)page);
    if (o->prefix_cache < 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "prefix_cache: a number of bytes is below 0");
    n->seats = o->batch;
    n->places = o->batch > 0 ? o->batch + o->waiting : 0;
    n->call = o->prompt_rows;
    n->pages = attn_min(o->cache / attn_max(page, 1), INT32_MAX);
    n->prefix_pages = attn_min(o->prefix_cache / attn_max(page, 1), INT32_MAX);
    n->longest = h->input;
    n->draws = 1;
    return 0;
}

/* Lays out the queue. Returns 0 or an error. */
static int handle_lay_out_queue(struct attn_handle *h, struct attn_memory *at)
{
    struct handle_queue *w;

    if (h->queue_size.seats == 0 || h->model->input_width > 0)
        return 0;
    struct attn_search_options o = handle_choice(h, NULL);
    o.beam = h->beam;
    o.max_output = h->output;
    o.max_output_plus = -1;
    if (o.beam > 1)
        o.sampling.temperature = 0.0f;
    const int64_t bytes = attn_queue_bytes(h->model, &o, &h->queue_size);
    if (bytes < 0)
        return handle_fail(h, bytes, "batch, waiting, beam: %s",
                           attn_error_text(bytes));
    w = attn_take(at, 1, sizeof *w);
    struct handle_asked *asked = attn_take(at, h->queue_size.places,
                                           sizeof *asked);
    void *memory = attn_take(at, bytes, 1);
    if (!w) /* only the size is wanted */
        return 0;
    memset(w, 0, sizeof *w);
    w->o = o;
    w->asked = asked;
    w->memory = memory;
    w->bytes = bytes;
    h->queue = w;
    return 0;
}

/* ---- requests ---- */

/* Empties the queue. Returns 0 or an error. */
static int handle_open_queue(struct attn_handle *h)
{
    struct handle_queue *w = h->queue;
    const struct attn_queue_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = &w->o,
        .size = h->queue_size,
        .memory = w->memory,
        .bytes = w->bytes,
    };

    w->o.parallel = h->parallel;
    for (int64_t i = 0; i < h->queue_size.places; i++) {
        w->asked[i].id = 0;
        w->asked[i].ended = 0;
    }
    w->opened = 1;
    return attn_queue_open(&w->q, &r);
}

/* Frees the places of the answers that the caller knows. */
static void handle_free_told(struct handle_queue *w)
{
    for (int64_t i = 0; i < w->q.size.places; i++) {
        if (!w->asked[i].ended)
            continue;
        w->asked[i].ended = 0;
        attn_queue_free(&w->q, i);
    }
}

/* Begins a call that needs the queue. Returns 0 or an error. */
static int handle_begin_queued(const struct attn_model *m,
                               struct attn_handle *h)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (h->model->input_width > 0) /* the source is not tokens */
        return handle_refuse(h, ATTN_ERROR_KIND);
    if (!h->queue)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "the handle takes no requests: batch of the options "
                           "at open");
    if (!h->queue->opened)
        return handle_open_queue(h);
    handle_free_told(h->queue);
    return 0;
}

/* Says why the queue does not take a request of n tokens. Returns the error. */
static int64_t handle_not_taken(struct attn_handle *h, int64_t n, int64_t error)
{
    if (error != ATTN_ERROR_ROOM)
        return handle_refuse(h, error);
    if (!attn_queue_takes(&h->queue->q, n))
        return handle_fail(h, error,
                           "no more requests are held, or no more new ones: "
                           "work on them, or raise batch and waiting of the "
                           "options at open");
    return handle_fail(h, error,
                       "this search is larger than the handle was opened for: "
                       "beam, max_output or cache of its options, or, with a "
                       "beam, more end tokens than the spec's");
}

/* Adds a request. Returns its number, or an error. */
static int64_t handle_request(struct attn_handle *h, const int32_t *ids,
                              int64_t n,
                              const struct attn_search_options *asked)
{
    struct handle_queue *w = h->queue;
    const struct attn_search_options o = handle_choice(h, asked);
    const int asks = handle_asks(h, &o, &n);

    if (asks < 0)
        return asks;
    if (n > 0 && !ids)
        return handle_refuse(h, ATTN_ERROR_NULL);
    const int bad = attn_check_ids(ids, n,
                                   h->model->kind == ATTN_DECODER
                                       ? h->model->target_vocab
                                       : h->model->source_vocab);
    if (bad)
        return handle_refuse(h, bad);
    const struct attn_queue_source s = { .ids = ids, .rows = n, .o = &o };
    const int64_t place = attn_queue_add(&w->q, &s);
    if (place < 0)
        return handle_not_taken(h, n, place);
    w->requests++;
    const int64_t id = w->requests * w->q.size.places + place;
    w->asked[place].told = 0;
    w->asked[place].id = id;
    return id;
}

ATTN_API int64_t attn_submit(const struct attn_model *m, struct attn_handle *h,
                             const char *text, int64_t bytes,
                             const struct attn_search_options *o)
{
    const int wrong = handle_begin_queued(m, h);

    if (wrong)
        return wrong;
    const int64_t n = handle_question(h, text, bytes);
    return n < 0 ? n : handle_request(h, h->ids, n, o);
}

ATTN_API int64_t attn_submit_ids(const struct attn_model *m,
                                 struct attn_handle *h, const int32_t *ids,
                                 int64_t n, const struct attn_search_options *o)
{
    const int wrong = handle_begin_queued(m, h);

    return wrong ? wrong : handle_request(h, ids, n, o);
}

ATTN_API int attn_cancel(const struct attn_model *m, struct attn_handle *h,
                         int64_t id)
{
    if (!h)
        return ATTN_ERROR_NULL;
    if (h->failed || h->model != m || !h->queue || !h->queue->opened || id < 1)
        return ATTN_ERROR_OPEN;
    struct handle_asked *a = &h->queue->asked[id % h->queue_size.places];
    return handle_turn(a, id, -id) ? 0 : ATTN_ERROR_OPEN;
}

/* ---- answers ---- */

static void handle_drop_cancelled(struct handle_queue *w)
{
    for (int64_t i = 0; i < w->q.size.places; i++)
        if (w->asked[i].id < 0)
            attn_queue_drop(&w->q, i);
}

/* Stores the answers that have ended. Returns their number. */
static int64_t handle_ended(struct handle_queue *w, struct attn_event *events,
                            int64_t cap)
{
    int64_t n = 0;

    while (n < cap) {
        const int64_t place = attn_queue_take(&w->q);
        if (place < 0)
            break;
        struct handle_asked *a = &w->asked[place];
        const struct attn_beam *b = &w->q.place[place].beam;
        const int64_t id = a->id;
        a->ended = 1;
        if (id < 0 || !handle_turn(a, id, 0)) {
            a->id = 0;
            continue;
        }
        events[n].id = id;
        events[n].ended = 1;
        events[n].tokens = b->best[0].tokens;
        events[n].n = b->found > 0 ? b->best[0].n : b->found;
        n++;
    }
    return n;
}

/* Stores the answers that have grown and of which every token is certain.
 * Returns their number. */
static int64_t handle_grown(struct handle_queue *w, struct attn_event *events,
                            int64_t cap)
{
    int64_t n = 0;

    for (int64_t i = 0; i < w->q.seated.n && n < cap; i++) {
        const struct attn_place *p = attn_queue_seat(&w->q, i);
        struct handle_asked *a = &w->asked[w->q.seated.at[i]];
        const int64_t id = a->id;
        if (id < 0 || p->o.beam > 1 || p->beam.length <= a->told)
            continue;
        a->told = p->beam.length;
        events[n].id = id;
        events[n].ended = 0;
        events[n].tokens = p->beam.tokens;
        events[n].n = a->told;
        n++;
    }
    return n;
}

ATTN_API int64_t attn_work(const struct attn_model *m, struct attn_handle *h,
                           struct attn_event *events, int64_t cap)
{
    int wrong = handle_begin_queued(m, h);
    int64_t n = 0;

    if (wrong)
        return wrong;
    if (!events || cap < 1)
        return handle_refuse(h, events ? ATTN_ERROR_COUNT : ATTN_ERROR_NULL);
    struct handle_queue *w = h->queue;
    for (;;) {
        handle_drop_cancelled(w);
        n = handle_ended(w, events, cap);
        n += handle_grown(w, events + n, cap - n);
        if (n > 0 || !attn_queue_busy(&w->q))
            return n;
        wrong = attn_queue_round(&w->q);
        if (wrong) {
            handle_open_queue(h);
            return handle_refuse(h, wrong);
        }
    }
}

ATTN_API int64_t attn_event_text(const struct attn_model *m,
                                 struct attn_handle *h,
                                 const struct attn_event *event, char *out,
                                 int64_t cap)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!h->target)
        return handle_fail(h, ATTN_ERROR_OPEN,
                           "the weights have no vocabulary: use the ids");
    if (!event || (cap > 0 && !out) || (event->n > 0 && !event->tokens))
        return handle_refuse(h, ATTN_ERROR_NULL);
    if (cap < 0 || event->n < 0)
        return handle_refuse(h, cap < 0 ? ATTN_ERROR_COUNT : event->n);
    return handle_spell(h, event->tokens, event->n, event->ended != 0, out,
                        cap);
}
