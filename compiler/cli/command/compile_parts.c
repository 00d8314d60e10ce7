/* compile_parts.c: --parts: selects the parts of the C file, which are the rows
 * of emit/parts.h. */
#include "cli/command/compile.h"

static bool part_given(const Options *o, int part)
{
    return o->parts >> (1 + part) & 1; /* bit 0 stands for the word "model" */
}

unsigned parts_left_out(const Options *o)
{
    return o->parts ? ~((unsigned)o->parts >> 1) : 0;
}

const char *parts_given(Arena *a, const Options *o)
{
    const char *words = "";
    for (int i = 0; i < FileParts; i++)
        if (part_given(o, i))
            words = arena_printf(a, "%s%s%s", words, *words ? "," : "",
                                 part_words[1 + i]);
    return *words ? words : part_words[0];
}

bool parts_fit(const Engine *e, const Options *o, const EmitOptions *emit)
{
    const char *has = part_words[0];
    int wrong = -1;
    for (int i = 0; i < FileParts; i++) {
        if (file_has_part(e->plan, emit, (FilePart)i))
            has = arena_printf(e->arena, "%s, %s", has, part_words[1 + i]);
        else if (wrong < 0 && part_given(o, i))
            wrong = 1 + i;
    }
    if (wrong >= 0)
        error_at(e->spec->top, "--parts=%s: %s has no such part: choose of %s",
                 part_words[wrong],
                 o->freestanding ? "with --freestanding this model"
                                 : "this model",
                 has);
    return wrong < 0;
}
