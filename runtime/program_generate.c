/* program_generate.c: answers lines by the search that the spec asks for, all
 * lines of a batch at once.                                                 */

static int64_t program_most(const struct program *p, int64_t part)
{
    struct attn_search_options o;

    (void)part;
    options_of_spec(&o);
    if (p->m->kind == ATTN_DECODER)
        return p->m->max_target - attn_search_lead(p->m, &o, 0);
    return p->m->max_source;
}

static void print_text(struct program *p, const struct attn_hypothesis *h)
{
    int64_t n = -1, cap = attn_max(p->text.bytes, 256);

    while (n < 0 && program_grow(p, &p->text, cap)) {
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

static void program_answer(struct program *p)
{
    struct attn_hypothesis best[PROGRAM_PARTS];
    struct attn_search_options o;
    int64_t found[PROGRAM_PARTS], longest = 0, n = 0, k = 0;
    int32_t start[PROGRAM_PARTS + 1];

    options_of_spec(&o);
    start[0] = 0;
    for (int64_t i = 0; i < p->parts; i++)
        if (p->start[i + 1] > p->start[i]) {     /* empty lines ask nothing */
            n++;
            start[n] = p->start[i + 1];
            longest = attn_max(longest, start[n] - start[n - 1]);
        }
    const int64_t bytes = attn_search_bytes(p->m, &o, n, start[n], longest, 0);
    if (!program_grow(p, &p->work, bytes))
        return;
    if (n > 0 && attn_search(p->m, p->bound.at, &o, n, p->items.at, start,
                             NULL, 0, p->work.at, bytes, best, found) != 0) {
        program_fail(p, 70, p->m->name, "internal error: the search failed");
        return;
    }
    for (int64_t i = 0; i < p->parts; i++) {
        if (p->start[i + 1] > p->start[i]) {
            if (found[k] > 0 && p->target)
                print_text(p, &best[k]);
            else if (found[k] > 0)
                print_ids(&best[k]);
            k++;
        }
        putchar('\n');
    }
}
