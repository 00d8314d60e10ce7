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

void generate_answers(struct program *p)
{
    memset(&search, 0, sizeof search);
    program_answers(p);
    program_free(p);
}
