/* program_generate.c: answers lines by the search that the spec asks for, all
 * lines of a batch at once.                                                 */

static void program_settings(const struct program *p,
                             struct attn_search_options *o)
{
    options_of_spec(o);
    o->parallel = p->parallel;
}

static int64_t program_most(const struct program *p, int64_t part)
{
    struct attn_search_options o;

    (void)part;
    program_settings(p, &o);
    if (p->m->kind == ATTN_DECODER)
        return p->m->max_target - attn_search_lead(p->m, &o, 0);
    return p->m->max_source;
}

static void print_text(struct program *p, const struct attn_hypothesis *h)
{
    int64_t n = ATTN_ERROR_ROOM, cap = attn_max(p->text.bytes, 256);

    while (n == ATTN_ERROR_ROOM && program_grow(p, &p->text, cap)) {
        n = attn_vocab_decode(p->target, h->tokens, h->n, p->text.at, cap);
        cap = cap * 2;
    }
    if (n > 0)
        fwrite(p->text.at, 1, (size_t)n, stdout);
}

static void print_ids(const struct attn_hypothesis *h)
{
    for (int64_t i = 0; i < h->n; i++)
        printf(i > 0 ? " %d" : "%d", (int)h->tokens[i]);
}

/* Searches the parts that are questions, one after the other in best[] and
 * found[]; asks[i]: part i is one. 0: p->status says why there is no answer. */
static int program_find(struct program *p, int *asks,
                        struct attn_hypothesis *best, int64_t *found)
{
    struct attn_search_options o;
    int64_t longest = 0, n = 0;
    int32_t start[PROGRAM_PARTS + 1];

    program_settings(p, &o);
    start[0] = 0;
    for (int64_t i = 0; i < p->parts; i++) {
        const int64_t rows = p->start[i + 1] - p->start[i];
        asks[i] = !p->bad[i];
        if (asks[i])
            asks[i] = attn_search_asks(p->m, &o, rows);
        if (asks[i]) {
            n++;
            start[n] = p->start[i + 1];
            longest = attn_max(longest, rows);
        }
    }
    if (n == 0)
        return 1;
    const int64_t bytes = attn_prefixed_search_bytes(p->m, &o, n, start[n],
                                                     longest, 0);
    if (bytes == ATTN_ERROR_KIND) {
        program_fail(p, 3, p->m->name,
                     "no answer is searched for behind rows "
                     "of numbers: attnc run --input takes them");
        return 0;
    }
    if (!program_grow(p, &p->work, bytes))
        return 0;
    const struct attn_search_request request = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &o,
        .sentences = n,
        .ids = p->items.at,
        .start = start,
        .memory = p->work.at,
        .bytes = bytes,
    };
    if (attn_search(&request, best, found) == 0)
        return 1;
    program_fail(p, 70, p->m->name, "internal error: the search failed");
    return 0;
}

/* The answer to part i, if there are `found` of them. */
static void print_answer(struct program *p, int64_t i,
                         const struct attn_hypothesis *best, int64_t found)
{
    if (found > 0 && p->target)
        print_text(p, best);
    else if (found > 0)
        print_ids(best);
    if (found != ATTN_ERROR_FINITE)
        return;
    fprintf(stderr, "stdin:%lld: error: %s\n", (long long)p->last[i],
            attn_error_text(found));
    p->status = 3;
}

static void program_answer(struct program *p)
{
    struct attn_hypothesis best[PROGRAM_PARTS];
    int64_t found[PROGRAM_PARTS], k = 0;
    int asks[PROGRAM_PARTS];

    if (!program_find(p, asks, best, found))
        return;
    for (int64_t i = 0; i < p->parts; i++) {
        if (asks[i]) {
            print_answer(p, i, &best[k], found[k]);
            k++;
        }
        putchar('\n');
    }
}
