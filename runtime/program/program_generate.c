/* program_generate.c: the search for answers, whose settings come from the spec
 * and the options; lines as questions, and their answers. */

static struct { /* static, because only files for generation need it */
    struct attn_search_options o;
    int64_t answered, fewer; /* number of lines answered; of those with fewer
                              * than --nbest answers */
} search;

/* Returns the use that the options select, one of ATTN_FOR_LINES etc. If they
 * cannot be combined, prints a message and sets p->status. */
static int program_use(struct program *p)
{
    const int prompt = p->prompt || p->load_state;
    const int use = p->score ? ATTN_FOR_SCORE
                  : p->chat  ? ATTN_FOR_CHAT
                  : prompt   ? ATTN_FOR_PROMPT
                             : ATTN_FOR_LINES;
    const char *wrong = attn_settings_wrong(&p->set, use);

    if (p->chat && p->prompt)
        program_fail(p, 2, "--chat reads turns from stdin: leave out --prompt");
    else if (wrong)
        program_fail(p, 2, "%s", wrong);
    return use;
}

/* ---- options ---- */

/* Appends the tokens of an option's text to r, which has n tokens. Returns the
 * number of appended tokens, or prints a message and returns 0. */
static int64_t option_tokens(struct program *p, const char *option,
                             const char *text, struct room *r, int64_t n)
{
    const int64_t bytes = (int64_t)strlen(text);
    char quoted[ATTN_QUOTED];
    const int64_t most = program_most(p, &p->target, bytes);
    int32_t *ids = program_grow(p, r, (n + most) * 4);

    if (!ids)
        return 0;
    const int64_t found = program_tokens(p, &p->target, TOKENS_PLAIN, text,
                                         bytes, ids + n);
    if (found >= 0 || p->status != 0)
        return attn_max(found, 0);
    attn_quote(text, bytes, quoted);
    program_fail(p, 2, "%s '%s': %s", option, quoted, p->why);
    return 0;
}

/* Lists the suppressed sequences, each preceded by its length: those of the
 * spec, then those of --suppress. */
static void program_suppress(struct program *p)
{
    int64_t n = search.o.process.suppress_size;

    if (p->suppress.n == 0)
        return;
    if (program_grow(p, &p->suppressed, (n + 1) * 4) && n > 0)
        memcpy(p->suppressed.at, search.o.process.suppress, (size_t)n * 4);
    for (int64_t i = 0; i < p->suppress.n && p->status == 0; i++) {
        const int64_t found = option_tokens(p, "--suppress", p->suppress.at[i],
                                            &p->suppressed, n + 1);
        int32_t *ids = p->suppressed.at;
        if (found == 0)
            continue;
        ids[n] = (int32_t)found;
        n += found + 1;
    }
    search.o.process.suppress = p->suppressed.at;
    search.o.process.suppress_size = n;
}

/* Called before the first line is read. */
static void program_prepare(struct program *p)
{
    options_of_spec(&search.o);
    attn_settings_apply(&p->set, spec_states_beam, p->seed, &search.o);
    search.o.parallel = p->parallel;
    const char *wrong = search.o.draft ? attn_draft_wrong(p->m) : NULL;
    if (wrong)
        program_fail(p, 2, "--draft: %s", wrong);
#if ATTN_IN_ATTNC
    else if (search.o.draft == ATTN_DRAFT_MODEL)
        search.o.drafter = program_drafter(p);
#endif
    program_suppress(p);
    if (p->set.prefix && p->status == 0) {
        search.o.prefix_n = option_tokens(p, "--prefix", p->set.prefix,
                                          &p->prefix, 0);
        search.o.prefix = p->prefix.at;
    }
    program_grammar(p, &search.o);
    if (p->status == 0 && search.o.end >= p->m->target_vocab)
        program_fail(p, 2, "--end-token %d: the target has %lld tokens",
                     (int)search.o.end, (long long)p->m->target_vocab);
}

/* ---- lines ---- */

/* Converts a line to ids, which are appended to the batch at `ids`. Returns
 * their number, or -1. */
static int64_t program_question(struct program *p, const char *line,
                                int64_t bytes, int32_t *ids)
{
    return program_tokens(p, &p->source, TOKENS_LINE, line, bytes, ids);
}

/* Checks that the model has room for the rows of a part and an answer. Returns
 * the number of rows to keep, or -1 with p->why. */
static int64_t program_part(struct program *p, int64_t rows)
{
    const struct attn_search_options *o = &search.o;
    const int64_t cut = o->max_input > 0 ? attn_min(rows, o->max_input) : rows;
    const int64_t most = attn_search_source(p->m);
    const int64_t lead = attn_search_lead(p->m, o, cut);
    const int64_t answer = attn_max(search.o.prefix_n, 1);

    if (!attn_search_asks(p->m, o, rows))
        return rows;
    if (cut > most || lead > p->m->max_target)
        return program_wrong(
            p,
            "the %s has %lld %s, the model takes %lld "
            "(max_len%s); --max-input=N cuts it",
            p->m->input_width > 0 ? "block" : "line", (long long)rows,
            p->m->input_width > 0 ? "rows" : "tokens", (long long)most,
            p->m->class_token ? ", which counts the class token" : "");
    if (attn_search_limit(p->m, o, cut, lead) < answer)
        return program_wrong(p,
                             "no room is left for an answer of %lld tokens to "
                             "a line of %lld",
                             (long long)answer, (long long)rows);
    return rows;
}

#if ATTN_HAS_TEXT
static void print_text(struct program *p, const int32_t *ids, int64_t n,
                       FILE *to)
{
    int64_t bytes = ATTN_ERROR_ROOM, cap = attn_max(p->text.bytes, 256);

    while (bytes == ATTN_ERROR_ROOM && program_grow(p, &p->text, cap)) {
        bytes = attn_vocab_decode(p->target.block, ids, n, p->text.at, cap);
        cap = cap * 2;
    }
    if (bytes > 0)
        fwrite(p->text.at, 1, (size_t)bytes, to);
}
#endif

static void print_answer(struct program *p, const struct attn_hypothesis *h,
                         FILE *to)
{
#if ATTN_HAS_TEXT
    if (is_text(p, &p->target)) {
        print_text(p, h->tokens, h->n, to);
        return;
    }
#endif
    (void)p;
    for (int64_t i = 0; i < h->n; i++)
        fprintf(to, i > 0 ? " %d" : "%d", (int)h->tokens[i]);
}

/* Prints the `found` answers to part i. */
static void print_answers(struct program *p, int64_t i,
                          const struct attn_hypothesis *h, int64_t found)
{
    if (found < 0) {
        program_wrong(p, "%s", attn_error_text(found));
        program_refuse(p, p->last[i]);
    }
#if ATTN_IN_ATTNC
    if (p->json) {
        answers_json(p, i, h, found);
        putchar('\n');
        return;
    }
#endif
    for (int64_t k = 0; k < found; k++) {
        if (p->set.nbest > 0 || p->set.unordered)
            printf("%lld\t", (long long)p->last[i]);
        if (p->set.scores)
            printf("%.7g\t", (double)h[k].score);
        print_answer(p, &h[k], stdout);
        putchar('\n');
    }
    if (found <= 0 && p->set.nbest <= 0)
        putchar('\n');
}

/* Called after the last line. */
static void program_finish(struct program *p)
{
#if ATTN_IN_ATTNC
    answering_progress(search.answered, true);
#endif
    if (search.fewer > 0 && p->status <= 3)
        program_warn(p,
                     "--nbest %lld: fewer answers to %lld of %lld lines: a "
                     "beam of %lld found no more, a wider --beam may",
                     (long long)search.o.results, (long long)search.fewer,
                     (long long)search.answered, (long long)search.o.beam);
}
