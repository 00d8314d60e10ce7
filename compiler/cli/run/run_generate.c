/* run_generate.c: the program for models that generate, with an engine as its
 * model. */
#include "cli/run/answering.h"

#include "runtime/program/program.c"
#include "runtime/program/program_lines.c"
#include "runtime/program/program_grammar.c"
#include "runtime/program/program_generate.c"
#include "runtime/program/program_parts.c"
#include "runtime/program/program_queue.c"
#include "runtime/program/program_score.c"
#include "runtime/program/program_stream.c"
#include "runtime/program/program_chat.c"
#include "runtime/program/program_answers.c"

int generate_use(struct program *p)
{
    return program_use(p);
}

int64_t generate_question(struct program *p, const char *line, int64_t bytes)
{
    int32_t *ids = program_grow(p, &p->items,
                                4 * program_most(p, &p->source, bytes));
    if (!ids || bytes == 0)
        return ids ? 0 : -1;
    return program_question(p, line, bytes, ids);
}

bool generate_pair(struct program *p, const char *text, int64_t bytes,
                   struct score_pair *x)
{
    const bool alone = p->m->kind == ATTN_DECODER
                    && !memchr(text, '\t', (size_t)bytes);
    char *line = program_grow(p, &p->turn, bytes + 1);
    if (!line)
        return false;
    line[0] = '\t';
    memcpy(line + alone, text, (size_t)bytes);
    if (score_line(p, line, bytes + alone, x) < 0)
        return false;
    const int64_t forced = (search.o.start >= 0) + search.o.prefix_n;
    if (alone && x->n + forced < 1 && x->target_n > 1) {
        x->n++; /* nothing precedes the first token, so it cannot be a target */
        x->target++;
        x->target_n--;
    }
    return score_fits(p, x) == 0;
}

bool generate_line(struct program *p, const char **text, int64_t *bytes)
{
    program_open_lines(p);
    return p->status == ExitDone
        && program_line(p, 1, text, bytes) == LINE_READ;
}

/* Sets the maximum length of the answer from --tokens. If an answer of `least`
 * tokens does not fit, reports an error and returns false. */
static bool answer_fits(struct program *p, int64_t n, int64_t least)
{
    struct attn_search_options *o = &search.o;
    const int64_t lead = attn_search_lead(p->m, o, n);
    if (p->tokens >= 0) {
        o->max_output = o->prefix_n + p->tokens;
        o->max_output_plus = -1;
    }
    if (lead <= p->m->max_target
        && (least == 0 || attn_search_limit(p->m, o, n, lead) >= least))
        return true;
    program_fail(p, ExitInput, "--attention: no room is left for an answer");
    return false;
}

/* Searches for the best answer to the n tokens at p->items. Returns false after
 * a message. */
static bool find_best(struct program *p, int64_t n,
                      struct attn_hypothesis *best)
{
    const int32_t start[] = { 0, (int32_t)n };
    const int64_t bytes = attn_search_bytes(p->m, &search.o, 1, n, n);
    int64_t found = 0;
    if (!program_grow(p, &p->work, bytes))
        return false;
    const struct attn_search_request r = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .sentences = 1,
        .ids = p->items.at,
        .start = start,
        .memory = p->work.at,
        .bytes = bytes,
    };
    int64_t wrong = attn_search(&r, best, &found);
    if (wrong == 0 && found < 0)
        wrong = found;
    if (wrong)
        program_fail(p, ExitInput, "--attention: %s", attn_error_text(wrong));
    return wrong == 0;
}

int64_t generate_best(struct program *p, int64_t n, FILE *to, int32_t **ids)
{
    struct attn_hypothesis best = { .n = 0 };
    int64_t rows = 0;
    program_prepare(p);
    const int64_t least = attn_max(search.o.prefix_n, p->tokens != 0);
    if (p->status != ExitDone || !answer_fits(p, n, least))
        return -1;
    *ids = arena_alloc(p->of->e.arena,
                       (size_t)(n + 2 + p->m->max_target) * sizeof **ids);
    if (search.o.start >= 0)
        (*ids)[rows++] = search.o.start;
    for (int64_t i = 0; p->m->kind == ATTN_DECODER && i < n; i++)
        (*ids)[rows++] = ((const int32_t *)p->items.at)[i];
    if (least == 0)
        return rows;
    if (!find_best(p, n, &best))
        return -1;
    for (int64_t i = 0; i < best.n && rows < p->m->max_target; i++)
        (*ids)[rows++] = best.tokens[i];
    print_answer(p, &best, to);
    fputc('\n', to);
    flush_answers(to);
    return rows;
}

void generate_answers(struct program *p)
{
    memset(&search, 0, sizeof search);
    program_answers(p);
    program_free(p);
}

void generate_close(struct program *p)
{
    program_free(p);
}
