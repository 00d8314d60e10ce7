/* program_grammar.c: --grammar. Answers follow a grammar in a file, or that of
 * compile --grammar. */

#if ATTN_HAS_TEXT
/* Prints what is wrong with a grammar, and where. */
static void grammar_wrong(struct program *p, const char *path,
                          const struct attn_gbnf *is)
{
    int64_t line, column;

    attn_gbnf_place(is->text, is->at, &line, &column);
    program_fail(p, 3, "%s:%lld:%lld: %s", path, (long long)line,
                 (long long)column, is->why);
}

/* Compiles the grammar for the target's tokens. */
static void grammar_open(struct program *p, const char *path, const char *text,
                         int64_t bytes, struct attn_search_options *o)
{
    struct attn_grammar_request r = {
        .bytes = bytes,
        .block = p->target.block,
        .vocab = p->m->target_vocab,
        .begun = p->m->kind == ATTN_DECODER
              && p->use == ATTN_FOR_PROMPT, /* the prompt is printed */
        .prefix = o->prefix,
        .prefix_n = o->prefix_n,
    };
    struct attn_grammar *g, counted;
    struct attn_memory at;
    char *copy = program_grow(p, &p->turn, bytes + 1);
    int wrong = 0;

    if (!copy)
        return;
    memcpy(copy, text, (size_t)bytes); /* a file may change while it is read */
    r.text = copy;
    attn_memory_open(&at, NULL);
    for (int laid = 0; laid < 2 && p->status == 0; laid++) {
        g = attn_take(&at, 1, sizeof *g);
        g = laid ? g : &counted;
        wrong = attn_grammar_open(g, &r, &at);
        if (wrong) {
            grammar_wrong(p, path, &g->is);
        } else if (laid) {
            o->process.constrain = attn_grammar_allow;
            o->process.constraint = g;
        } else {
            const int64_t size = attn_memory_bytes(&at);
            attn_memory_open(&at, program_grow(p, &p->grammar, size));
        }
    }
}
#endif

/* Sets the processor of --grammar. */
static void program_grammar(struct program *p, struct attn_search_options *o)
{
    const char *path = p->set.grammar;

    if (p->status != 0)
        return;
#if ATTN_HAS_TEXT
    const char *text = grammar_of_program;
    int64_t bytes = GRAMMAR_OF_PROGRAM;
    if (p->target.block && path)
        text = program_map(p, path, &bytes);
    if (p->target.block && text && p->status == 0)
        grammar_open(p, path ? path : "the grammar inside", text, bytes, o);
    if (p->target.block)
        return;
#endif
    (void)o;
    if (!path)
        return;
    program_fail(p, 2,
                 "--grammar: this model has no vocabulary: a grammar is about "
                 "the text of tokens");
}
