/* program_queue.c: answers lines, or blocks of lines, by a queue
 * (runtime/search/queue.h): a line takes the place of one whose answer has
 * ended. Answers are printed in the order of the lines, unless --unordered is
 * given. */

enum {
    QUEUE_LINES = 1024
}; /* maximum lines read whose answer is not printed */

struct queue_line {   /* a part that was read */
    int64_t number;   /* of its last line */
    int bad, done;    /* rejected, with the message in `kept`; answered */
    int64_t found;    /* answers, or an error */
    struct room kept; /* [found] answers, then their tokens */
};

static struct {
    struct attn_queue q;
    struct attn_queue_size size;
    struct room memory;  /* of the queue; p->work is the tokenizer's, too */
    int64_t first, next; /* the first line that is not printed, and the next to
                          * be read; line i is line[i % QUEUE_LINES] */
    int64_t line_of[2048]; /* of each place */
    int pending;           /* the last line waits until the queue takes it */
    struct queue_line line[QUEUE_LINES];
} queue;

static struct queue_line *queue_line(int64_t i)
{
    return &queue.line[i % QUEUE_LINES];
}

/* ---- memory ---- */

/* Returns the bytes that `mib` MiB are, by default this part of the machine's
 * memory. */
static int64_t queue_bytes(int64_t mib, int64_t part)
{
    return mib < 0 ? sysconf(_SC_PHYS_PAGES) / part * sysconf(_SC_PAGESIZE)
                   : mib << 20;
}

/* Returns how often `pages` pages of a cache fit into so many bytes. */
static int64_t queue_fits(const struct program *p, int64_t which, int64_t pages,
                          int64_t bytes)
{
    const int64_t page = attn_cache_page_bytes(p->m, which);
    return attn_min(bytes / attn_max(page * pages, 1), INT32_MAX);
}

/* Limits the places and the pages of answers to those in --memory, of which an
 * encoder's rows get half; by default to no fewer than any line needs. */
static void queue_limit(const struct program *p, struct attn_queue_size *n)
{
    const int encodes = p->m->kind == ATTN_ENCODER_DECODER;
    const int64_t bytes = queue_bytes(p->set.memory, 2) / (1 + encodes);
    const int64_t one = attn_cache_pages(p->m->max_target) * search.o.beam;
    const int64_t source = attn_cache_pages(p->m->max_source);
    const int64_t least = p->set.memory < 0 ? one : 1;

    if (encodes)
        n->places = attn_max(attn_min(n->places,
                                      queue_fits(p, ATTN_CROSS, source, bytes)),
                             1);
    n->seats = attn_min(n->seats, n->places);
    n->pages = attn_min(attn_max(queue_fits(p, ATTN_SELF, 1, bytes), least),
                        n->seats * one);
}

static int64_t queue_seats(const struct program *p)
{
#if ATTN_HAS_FIXED
    if (p->m->fixed_batch > 0)
        return attn_max(attn_min(p->set.batch,
                                 p->m->fixed_batch / search.o.beam),
                        1);
#endif
    return p->set.batch;
}

static void queue_start(struct program *p)
{
    const int64_t seats = queue_seats(p);

    queue.size = (struct attn_queue_size){
        .seats = seats,
        .places = p->m->kind == ATTN_ENCODER_DECODER ? 2 * seats : seats,
        .longest = attn_search_source(p->m),
        .call = p->set.prompt_rows,
    };
    /* ranks need the same limits, whatever memory their machines have */
    if (p->set.memory >= 0 || p->m->fixed_ranks < 2)
        queue_limit(p, &queue.size);
    if (p->set.prefix_cache >= 0 || p->m->fixed_ranks < 2)
        queue.size.prefix_pages = queue_fits(p, ATTN_SELF, 1,
                                             queue_bytes(p->set.prefix_cache,
                                                         16));
    const int64_t bytes = attn_queue_bytes(p->m, &search.o, &queue.size);
    const struct attn_queue_request r = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .size = queue.size,
        .bytes = bytes,
        .memory = program_grow(p, &queue.memory, bytes),
    };
    if (p->status == 0 && attn_queue_open(&queue.q, &r) != 0)
        program_fail(p, 70, "internal error: the search failed");
}

/* ---- lines ---- */

/* Copies the answers of a place to its line. */
static void queue_keep(struct program *p, int64_t place)
{
    const struct attn_beam *b = &queue.q.place[place].beam;
    struct queue_line *line = queue_line(queue.line_of[place]);
    const int64_t head = b->found * (int64_t)sizeof *b->best;
    int64_t tokens = 0, at = 0;

    for (int64_t i = 0; i < b->found; i++)
        tokens += b->best[i].n;
    line->done = 1;
    line->found = b->found;
    if (b->found <= 0 || !program_grow(p, &line->kept, head + tokens * 4))
        return;
    struct attn_hypothesis *h = line->kept.at;
    int32_t *ids = (int32_t *)(h + b->found);
    for (int64_t i = 0; i < b->found; i++) {
        h[i] = b->best[i];
        h[i].tokens = ids + at;
        memcpy(ids + at, b->best[i].tokens, (size_t)b->best[i].n * 4);
        at += b->best[i].n;
    }
}

/* Makes a line one that has no answers, because of p->why. */
static void queue_reject(struct program *p, struct queue_line *line)
{
    const int64_t bytes = (int64_t)strlen(p->why) + 1;

    line->bad = 1;
    line->done = 1;
    if (program_grow(p, &line->kept, bytes))
        memcpy(line->kept.at, p->why, (size_t)bytes);
}

#if ATTN_HAS_FIXED
/* Rejects a line whose length the code is not for. */
static void queue_refuse(struct program *p, struct queue_line *line, int wrong)
{
    program_wrong(p, "%s: see fix in the spec, and attnc's --fix",
                  attn_error_text(wrong));
    program_refuse(p, line->number);
    queue_reject(p, line);
}
#endif

/* Adds the part that was read to the queue. Returns 0 if it has to wait. */
static int queue_ask(struct program *p, struct queue_line *line)
{
    const char *items = p->items.at;
    const struct attn_queue_source s = {
        .ids = p->m->input_width > 0 ? NULL : (const void *)items,
        .input = p->m->input_width > 0 ? (const void *)items : NULL,
        .rows = p->start[1],
    };
    if (!attn_queue_takes(&queue.q, attn_min(s.rows, queue.q.size.longest)))
        return 0;
    const int64_t place = attn_queue_add(&queue.q, &s);
    if (place >= 0) {
        queue.line_of[place] = queue.next - 1;
    } else if (place == ATTN_ERROR_ROOM) {
        program_wrong(p,
                      "the keys and values of this line and its answer may "
                      "need more memory than --memory=%lld: give more, or "
                      "limit the answer by --max-output=N",
                      (long long)p->set.memory);
        program_refuse(p, line->number);
        queue_reject(p, line);
#if ATTN_HAS_FIXED
    } else if (place == ATTN_ERROR_FIXED) {
        queue_refuse(p, line, ATTN_ERROR_FIXED);
#endif
    } else {
        program_fail(p, 70, "internal error: the search failed");
    }
    return 1;
}

/* Takes the part that was read as a line. */
static void queue_take_line(struct program *p)
{
    struct queue_line *line = queue_line(queue.next);

    queue.next++;
    line->number = p->last[0];
    line->bad = 0;
    line->done = 0;
    line->found = 0;
    if (p->bad[0])
        queue_reject(p, line);
    else
        queue.pending = !queue_ask(p, line);
}

/* Reads lines while there is room, up to the end of a block of --shard. Waits
 * for input only if no line is left to answer. Returns 0 at its end. */
static int queue_read(struct program *p)
{
    if (queue.pending)
        queue.pending = !queue_ask(p, queue_line(queue.next - 1));
    while (!queue.pending && queue.next - queue.first < QUEUE_LINES
           && p->status <= 3) {
        const int idle = queue.next == queue.first;
        if (!idle && shard_block_ends(p))
            break;
        if (!program_read(p, 1, idle))
            return !idle;
        queue_take_line(p);
    }
    return p->status <= 3;
}

/* ---- answers ---- */

static void queue_print_line(struct program *p, struct queue_line *line)
{
    p->bad[0] = line->bad;
    p->last[0] = line->number;
#if ATTN_IN_ATTNC
    if (line->bad)
        snprintf(p->of->why[0], sizeof p->of->why[0], "%s",
                 (const char *)line->kept.at);
#endif
    print_answers(p, 0, line->bad ? NULL : line->kept.at, line->found);
    if (!line->bad)
        search.fewer += line->found > 0 && line->found < search.o.results;
    search.answered++;
}

/* Prints the lines that are done, in their order. */
static void queue_print(struct program *p)
{
    const int64_t before = search.answered;

    while (queue.first < queue.next && queue_line(queue.first)->done
           && p->status <= 3) {
        queue_print_line(p, queue_line(queue.first));
        queue.first++;
    }
    if (search.answered == before || p->status > 3)
        return;
    program_flush(p, stdout);
#if ATTN_IN_ATTNC
    answering_progress(search.answered, false);
#endif
}

#if ATTN_HAS_FIXED
/* Rejects the lines in the queue, whose lengths the code is not for, and
 * empties the queue. */
static void queue_refuse_all(struct program *p, int wrong)
{
    for (int64_t i = queue.first; i < queue.next - queue.pending; i++)
        if (!queue_line(i)->done)
            queue_refuse(p, queue_line(i), wrong);
    queue_start(p);
}
#endif

static void queue_turn(struct program *p)
{
    const int wrong = attn_queue_round(&queue.q);
    int64_t place = attn_queue_take(&queue.q);

    while (place >= 0) {
        queue_keep(p, place);
        attn_queue_free(&queue.q, place);
        place = attn_queue_take(&queue.q);
    }
#if ATTN_HAS_FIXED
    if (wrong == ATTN_ERROR_FIXED) {
        queue_refuse_all(p, wrong);
        return;
    }
#endif
    if (wrong)
        program_fail(p, 70, "internal error: the search failed");
}

static void program_lines(struct program *p)
{
    p->width = attn_max(p->m->input_width, 1);
    program_open_lines(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status == 0)
        shard_start(p);
    if (p->status == 0)
        queue_start(p);
    if (p->status != 0)
        return;
    while (p->status <= 3 && queue_read(p)) {
        queue_turn(p);
        queue_print(p);
        if (queue.first == queue.next)
            shard_answered(p);
    }
    shard_end(p);
    program_finish(p);
    for (int64_t i = 0; i < QUEUE_LINES; i++)
        free(queue.line[i].kept.at);
    free(queue.memory.at);
    memset(&queue, 0, sizeof queue);
}
