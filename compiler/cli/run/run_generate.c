/* run_generate.c: the program of a model that generates, on an engine. */
#include "cli/run/answering.h"

#include "runtime/program/program.c"
#include "runtime/program/program_lines.c"
#include "runtime/program/program_generate.c"
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
    const bool decoder = p->m->kind == ATTN_DECODER;
    const bool alone = decoder && !memchr(text, '\t', (size_t)bytes);
    char *line = program_grow(p, &p->turn, bytes + 1);
    if (!line)
        return false;
    line[0] = '\t';
    memcpy(line + alone, text, (size_t)bytes);
    if (score_line(p, line, bytes + alone, x) < 0)
        return false;
    const int64_t forced = (search.o.start >= 0) + search.o.prefix_n;
    if (alone && x->n + forced < 1 && x->target_n > 1) {
        x->n++; /* the first token of what has nothing before it */
        x->target++;
        x->target_n--;
    }
    const int64_t before = decoder ? x->n + forced : forced;
    if (x->target_n > 0 && before > 0
        && before + x->target_n - 1 <= p->m->max_target
        && (decoder || (x->n > 0 && x->n <= p->m->max_source)))
        return true;
    score_refuse(p, x);
    return false;
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
