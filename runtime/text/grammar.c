/* grammar.c: forbids the tokens that a grammar does not allow next. The state
 * of an answer is computed from its tokens at each step, so that hypotheses,
 * streams that fork and states that are restored need nothing else. */
#include "runtime/core.h"

#include <math.h>
#include <string.h>

/* How the text of an answer goes on. */
enum { GRAMMAR_FIRST, GRAMMAR_LATER, GRAMMAR_GAP };

/* ---- open ---- */

static void grammar_take(struct attn_grammar *g, struct attn_memory *at)
{
    g->words = (g->vocab + 31) / 32;
    attn_automaton_take(g, at);
    attn_grammar_tokens(g, at);
    g->bits = attn_take(at, (ATTN_GRAMMAR_MASKS + 2) * g->words,
                        sizeof *g->bits);
}

static int grammar_refuse(struct attn_grammar *g, const char *why)
{
    g->is.why = why;
    g->is.at = g->is.rule[g->is.root].at;
    return ATTN_ERROR_GRAMMAR;
}

static const uint32_t *grammar_mask(struct attn_grammar *g, int32_t *state,
                                    int how);
static int32_t grammar_go(struct attn_grammar *g, int32_t state,
                          const char *text, int64_t n);
static int32_t grammar_answer(struct attn_grammar *g, const int32_t *answer,
                              int64_t prefix, int64_t n, int *how);

/* Checks that an answer can begin, after its prefix. */
static int grammar_begins(struct attn_grammar *g, const int32_t *prefix,
                          int64_t n)
{
    int how;
    int32_t state = grammar_answer(g, prefix, n, n, &how);
    if (state < 0)
        return grammar_refuse(g, "this rule needs more than 65536 states");
    if (g->state[state].n == attn_automaton_ends(g, state))
        return grammar_refuse(g, "this rule matches only the empty text");
    if (how == GRAMMAR_GAP)
        state = grammar_go(g, state, " ", 1);
    if (state == 0)
        return grammar_refuse(g, "a space comes before the next token: begin "
                                 "this rule with one");
    const uint32_t *mask = state < 0 ? NULL : grammar_mask(g, &state, how);
    if (!mask)
        return grammar_refuse(g, "this rule needs more than 8192 states for "
                                 "one token");
    for (int64_t i = 0; i < g->words; i++)
        if (mask[i] != 0)
            return 0;
    return grammar_refuse(g, "no token of the vocabulary can begin this rule");
}

ATTN_API int attn_grammar_open(struct attn_grammar *g,
                               const struct attn_grammar_request *r,
                               struct attn_memory *at)
{
    memset(g, 0, sizeof *g);
    const int wrong = attn_gbnf_read(&g->is, r->text, r->bytes, at);
    if (wrong)
        return wrong;
    attn_vocab_open(&g->v, r->block);
    if (attn_grammar_trims(&g->v)) {
        g->is.why = "this tokenizer's decoder removes characters at the end of "
                    "an answer (Strip), which a grammar can't be about";
        g->is.at = 0;
        return ATTN_ERROR_GRAMMAR;
    }
    g->vocab = r->vocab;
    g->size = attn_min(g->v.head->size, r->vocab);
    g->begun = r->begun;
    grammar_take(g, at);
    if (!at->base)
        return 0;
    g->nodes = 1;
    attn_automaton_forget(g, 0);
    return grammar_begins(g, r->prefix, r->prefix_n);
}

/* ---- masks ---- */

/* Returns the state after n bytes; -1: there is no room. */
static inline int32_t grammar_read(struct attn_grammar *g, int32_t state,
                                   const char *text, int64_t n)
{
    for (int64_t i = 0; i < n && state > 0; i++)
        state = attn_automaton_next(g, state, (unsigned char)text[i]);
    return state;
}

static void grammar_set(uint32_t *bits, int32_t id)
{
    bits[id / 32] |= UINT32_C(1) << id % 32;
}

/* Sets the bits of the tokens in a bucket; `state` is that after its bytes.
 * Returns -1 if there is no room. */
static int grammar_bucket(struct attn_grammar *g,
                          const struct attn_grammar_bucket *b, int32_t state,
                          uint32_t *bits)
{
    int64_t from = b->byte;
    for (int32_t k = b->first; k < b[1].first; k++) {
        const int32_t end = grammar_read(g, state, g->bytes + from,
                                         g->rest[k] - from);
        if (end < 0)
            return -1;
        if (end > 0)
            grammar_set(bits, g->token[k]);
        from = g->rest[k];
    }
    return 0;
}

/* Sets the bits of the tokens that may follow. Returns -1 if there is no
 * room. */
static int grammar_walk(struct attn_grammar *g, int32_t state, uint32_t *bits)
{
    int32_t one = 0;
    int byte = -1;
    memset(bits, 0, (size_t)g->words * sizeof *bits);
    for (int64_t i = 0; i < g->buckets; i++) {
        const struct attn_grammar_bucket *b = &g->bucket[i];
        const int first = b->key / 257, second = b->key % 257 - 1;
        if (first != byte)
            one = attn_automaton_next(g, state, (unsigned char)first);
        byte = first;
        int32_t two = one;
        if (one > 0 && second >= 0)
            two = attn_automaton_next(g, one, (unsigned char)second);
        if (two < 0 || (two > 0 && grammar_bucket(g, b, two, bits) < 0))
            return -1;
    }
    return 0;
}

/* The same for the first token of an answer. */
static int grammar_walk_first(struct attn_grammar *g, int32_t state,
                              uint32_t *bits)
{
    int64_t n;
    memset(bits, 0, (size_t)g->words * sizeof *bits);
    for (int64_t i = 0; i < g->size; i++) {
        if ((g->has[i] & ATTN_GRAMMAR_TEXT) == 0)
            continue;
        const char *text = attn_grammar_first(g, (int32_t)i, &n);
        const int32_t end = grammar_read(g, state, text, n);
        if (end < 0)
            return -1;
        if (end > 0 && n > 0)
            grammar_set(bits, (int32_t)i);
    }
    return 0;
}

/* Returns the mask that was not used for the longest time. */
static int64_t grammar_oldest(const struct attn_grammar *g)
{
    int64_t oldest = 0;
    for (int64_t i = 0; i < ATTN_GRAMMAR_MASKS; i++) {
        if (g->mask[i].state < 0)
            return i;
        if (g->mask[i].used < g->mask[oldest].used)
            oldest = i;
    }
    return oldest;
}

/* Makes the mask of a state, which is forgotten before if there is no room.
 * Returns 0, or -1 if there is none even then. */
static int grammar_make(struct attn_grammar *g, int32_t *state, uint32_t *bits,
                        int first)
{
    for (int tried = 0; tried < 2; tried++) {
        if ((first ? grammar_walk_first(g, *state, bits)
                   : grammar_walk(g, *state, bits))
            == 0)
            return 0;
        *state = attn_automaton_forget(g, *state);
        if (*state < 0)
            return -1;
    }
    return -1;
}

/* Returns the tokens that may follow in a state, whose number may change; NULL:
 * there is no room. */
static const uint32_t *grammar_mask(struct attn_grammar *g, int32_t *state,
                                    int how)
{
    uint32_t *bits = g->bits + ATTN_GRAMMAR_MASKS * g->words;
    if (how == GRAMMAR_FIRST && !g->raw) {
        if (!g->first && grammar_make(g, state, bits, 1) < 0)
            return NULL;
        g->first = 1;
        return bits;
    }
    int64_t i = g->state[*state].mask;
    g->uses++;
    if (i < 0) {
        i = grammar_oldest(g);
        bits = g->bits + i * g->words;
        if (g->mask[i].state >= 0)
            g->state[g->mask[i].state].mask = -1;
        g->mask[i].state = -1;
        if (grammar_make(g, state, bits, 0) < 0)
            return NULL;
        g->mask[i].state = *state;
        g->state[*state].mask = (int32_t)i;
    }
    g->mask[i].used = g->uses;
    return g->bits + i * g->words;
}

/* ---- answers ---- */

/* Reads bytes. Forgets other states if there is no room. */
static int32_t grammar_go(struct attn_grammar *g, int32_t state,
                          const char *text, int64_t n)
{
    for (int64_t i = 0; i < n && state > 0; i++) {
        const unsigned char byte = (unsigned char)text[i];
        int32_t next = attn_automaton_next(g, state, byte);
        if (next < 0) {
            state = attn_automaton_forget(g, state);
            next = state < 0 ? -1 : attn_automaton_step(g, state, byte);
        }
        state = next;
    }
    return state;
}

/* Returns the state after an answer; 0: it is not of the grammar; -1: there is
 * no room. Sets *how to how the text goes on. */
static int32_t grammar_answer(struct attn_grammar *g, const int32_t *answer,
                              int64_t prefix, int64_t n, int *how)
{
    int32_t state = attn_automaton_start(g);
    if (state < 0) { /* the first state fits when it is the only one */
        attn_automaton_forget(g, 0);
        state = attn_automaton_start(g);
    }
    *how = g->begun ? GRAMMAR_LATER : GRAMMAR_FIRST;
    for (int64_t i = 0; i < n && state > 0; i++) {
        const int32_t id = answer[i];
        const int has = id < g->size ? g->has[id] : 0;
        if (i >= prefix && (has & ATTN_GRAMMAR_TEXT)) {
            int64_t bytes = g->offset[id + 1] - g->offset[id];
            const char *text = g->text + g->offset[id];
            if (*how == GRAMMAR_FIRST)
                text = attn_grammar_first(g, id, &bytes);
            if (*how == GRAMMAR_GAP)
                state = grammar_go(g, state, " ", 1);
            state = grammar_go(g, state, text, bytes);
        }
        if (has & ATTN_GRAMMAR_GAP)
            *how = GRAMMAR_GAP;
        else if (has & ATTN_GRAMMAR_TEXT)
            *how = GRAMMAR_LATER;
    }
    return state;
}

/* Forbids what is not in the mask. Returns 0 if nothing is left. */
static int grammar_forbid(const uint32_t *mask, float *logits, int64_t vocab)
{
    int some = 0;
    for (int64_t from = 0; from < vocab; from += 32) {
        const uint32_t word = mask[from / 32];
        const int64_t n = attn_min(vocab - from, 32);
        float *x = logits + from;
        for (int64_t i = 0; i < n && word != UINT32_MAX; i++)
            if (!(word >> i & 1))
                x[i] = -INFINITY;
        for (int64_t i = 0; i < n && !some; i++)
            some = x[i] > -INFINITY;
    }
    return some;
}

static void grammar_end(struct attn_grammar *g, uint32_t *mask, int32_t id,
                        int ends)
{
    if (id < 0 || id >= g->vocab)
        return;
    mask[id / 32] &= ~(UINT32_C(1) << id % 32);
    if (ends)
        grammar_set(mask, id);
}

ATTN_API int attn_grammar_allow(void *grammar,
                                const struct attn_search_options *o,
                                const int32_t *answer, int64_t n, float *logits,
                                int64_t vocab)
{
    struct attn_grammar *g = grammar;
    int how;
    int32_t state = grammar_answer(g, answer, o->prefix_n, n, &how);
    if (state <= 0 || vocab != g->vocab)
        return ATTN_ERROR_GRAMMAR;
    const int ends = attn_automaton_ends(g, state);
    uint32_t *use = g->bits + (ATTN_GRAMMAR_MASKS + 1) * g->words;
    const size_t bytes = (size_t)g->words * sizeof *use;
    if (how == GRAMMAR_GAP)
        state = grammar_go(g, state, " ", 1);
    memset(use, 0, bytes);
    if (state > 0) {
        const uint32_t *mask = grammar_mask(g, &state, how);
        if (!mask)
            return ATTN_ERROR_GRAMMAR;
        memcpy(use, mask, bytes);
    }
    grammar_end(g, use, o->end, ends);
    for (int64_t i = 0; i < o->ends_count; i++)
        grammar_end(g, use, o->ends[i], ends);
    return grammar_forbid(use, logits, vocab) || ends ? 0 : ATTN_ERROR_GRAMMAR;
}
